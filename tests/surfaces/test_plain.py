"""The plain surface, at a real terminal: line by line, works in any terminal and for screen readers."""

import os
import re
import time
from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.looking import a_while, alive
from tests.surfaces.program import EDIT, PROGRAM, Model, Program, Terminal, call, stuck_after

pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")

HEADER = "chat │ assisted │ normal │ smart"
COUNT = "tally/count.py"


def test_it_opens_with_the_badge_the_model_and_a_title(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("\x1b]0;Quintet[chat|As|normal|smart] repo\x07", "QUINTET", HEADER, "offline rules", "sandbox", "› ")
    terminal.types("/mode build --autonomous")
    terminal.sees("build │ autonomous │ normal │ smart", "chat → build, assisted → autonomous, by user, now (/mode)")
    terminal.sees("\x1b]0;Quintet[build|A|normal|smart] repo\x07", "› ")


def test_text_appears_while_the_model_is_still_speaking(quintet: Program, model: Model) -> None:
    model(stuck_after("The first half, "))
    terminal = quintet.plain()
    terminal.types("hello")
    terminal.sees("The first half, ")


def test_the_answer_of_a_model_is_shown_once_and_whole(quintet: Program, model: Model) -> None:
    model(Reply(text=["Eins, ", "zwei, ", "drei — ", "größer."]))
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("zähl")
    shown = terminal.sees("größer.", "› ")
    assert shown.count("Eins") == 1
    assert "Eins, zwei, drei — größer." in shown


def test_a_tools_result_stands_before_the_answer_that_follows_it(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("find the definition of words")
    shown = terminal.sees("definition of words: 1 place", "› ")
    assert re.search(r"▸ grep.*1 line.*definition of words", shown, re.S), shown


def test_an_unknown_command_is_answered_with_the_nearest_and_no_model_hears_of_it(
    quintet: Program, model: Model
) -> None:
    server = model(Reply(text="should not be asked"))
    terminal = quintet.plain()
    terminal.types("/moed build")
    terminal.sees("/moed is not a command.", "/mode")
    terminal.types("/mode bild")
    terminal.sees('mode "bild": not one of', "Did you mean build?")
    assert server.server.requests == []


def test_a_picture_from_elsewhere_is_taken_when_its_path_is_typed_and_not_from_a_pipe(
    quintet: Program, model: Model, tmp_path: Path
) -> None:
    (tmp_path / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    model(Reply(text="A dot."), Reply(text="Nothing."))
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types(f"what is in {tmp_path}/shot.png ?")
    terminal.sees(f"shown to the model: {tmp_path}/shot.png", "A dot.")
    terminal.types("/quit")
    terminal.leaves()
    done = quintet.run("--plain", stdin=f"what is in {tmp_path}/shot.png ?\n").clean(0)
    assert "not shown to the model" in done.out + done.err


# ── questions


@pytest.mark.parametrize(
    ("typed", "word", "answer"), [("y", "def tokens", "Renamed."), ("n not that one", "def words", "Renamed.")]
)
def test_in_chat_an_edit_is_made_only_after_a_yes(
    quintet: Program, model: Model, typed: str, word: str, answer: str
) -> None:
    server = model(*EDIT)
    terminal = quintet.plain()
    terminal.types("rename it")
    terminal.sees("Edit tally/count.py?", "Reason", "in chat every change needs approval", "[y] yes", "[n] no")
    assert "def words" in (quintet.root / COUNT).read_text()
    terminal.types("perhaps")
    terminal.sees("Edit tally/count.py?", "[n] no")
    terminal.types(typed)
    terminal.sees(answer, "› ")
    assert word in (quintet.root / COUNT).read_text()
    told = server.said[2][-1]
    assert ("the user said no: not that one" in told[1]) == typed.startswith("n")


def at_question(quintet: Program, model: Model) -> Terminal:
    """A terminal where an edit waits for its answer."""
    model(*EDIT)
    terminal = quintet.plain()
    terminal.types("rename it")
    terminal.sees("[n] no")
    return terminal


def test_a_command_runs_while_a_question_stands(quintet: Program, model: Model) -> None:
    terminal = at_question(quintet, model)
    terminal.types("/model-mode deep")
    terminal.sees("smart → deep, by user, now (/model-mode)")
    terminal.types("y")
    terminal.sees("Renamed.")
    assert "def tokens" in (quintet.root / COUNT).read_text()


def test_who_ends_the_input_at_a_question_leaves_and_can_come_back_to_it(quintet: Program, model: Model) -> None:
    terminal = at_question(quintet, model)
    terminal.child.sendeof()
    assert terminal.leaves()[0] == 0
    assert "def words" in (quintet.root / COUNT).read_text()


def test_a_question_is_closed_by_an_interrupt_and_nothing_is_done(quintet: Program, model: Model) -> None:
    terminal = at_question(quintet, model)
    terminal.interrupts()
    terminal.sees("interrupted", "› ")
    terminal.types("/status")
    terminal.sees("session", "interrupted")
    assert "def words" in (quintet.root / COUNT).read_text()


@pytest.mark.parametrize(
    ("typed", "badge"), [("d", "review │ assisted │ normal │ deep"), ("g", "review │ assisted │ normal │ smart")]
)
def test_review_asks_once_whether_to_go_deep_and_changes_nothing_unasked(
    quintet: Program, typed: str, badge: str
) -> None:
    terminal = quintet.plain()
    terminal.types("/mode review")
    terminal.sees("review │ assisted │ normal │ smart", "Switch to deep?", "[d] switch to deep", "[g] stay at smart")
    terminal.types(typed)
    terminal.types("/status")
    terminal.sees(f"/repo   {badge}")
    terminal.types("/mode review")
    assert "Switch to deep?" not in terminal.sees("unchanged", "› ")


# ── Ctrl+C


def test_ctrl_c_interrupts_the_turn_and_the_session_goes_on(quintet: Program, model: Model) -> None:
    server = model(stuck_after("Half an ans"), Reply(text="A whole answer."))
    terminal = quintet.plain()
    terminal.types("first")
    terminal.sees("Half an ans")
    terminal.interrupts()
    assert terminal.sees("interrupted", "› ").count("interrupted") == 1
    terminal.types("second")
    assert "interrupted" not in terminal.sees("A whole answer.", "› ")
    assert server.said[1][1:] == [("user", "first"), ("assistant", "Half an ans"), ("user", "second")]
    assert [event["partial"] for event in quintet.events("model_replied")] == [True, False]


def _received(quintet: Program, number: int) -> None:
    """Wait until so many inputs have arrived."""
    until = time.monotonic() + 120
    while len(quintet.events("input_received")) < number:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_ctrl_c_interrupts_a_hook_that_runs_before_the_turn(quintet: Program) -> None:
    os.mkfifo(quintet.root / "ready")
    quintet.settings('[hooks]\nuser_prompt_submit = ["echo go > ready; sleep 600"]\n')
    terminal = quintet.plain()
    terminal.types("first")
    assert (quintet.root / "ready").read_text() == "go\n"
    terminal.interrupts()
    terminal.sees("the turn did not start: interrupted")


def test_ctrl_c_holds_what_is_queued_and_lists_it(quintet: Program, model: Model) -> None:
    model(stuck_after("Half an ans"), Reply(text="To the second."), Reply(text="To the third."))
    terminal = quintet.plain()
    terminal.types("first")
    terminal.sees("Half an ans")
    for number, text in enumerate(("second", "third"), 2):
        terminal.types(text)
        _received(quintet, number)  # lines that come at once are one input
    terminal.types("/queued")
    terminal.sees("1  second", "2  third")
    terminal.interrupts()
    hint = "held     2 queued inputs; /queued run starts them, /resume first continues the interrupted turn"
    terminal.sees(hint, "1  second  held", "2  third   held", "/queued run", "› ")
    terminal.types("/queued run")
    terminal.sees("To the second.", "To the third.", "› ")


def test_ctrl_c_ends_the_command_that_runs(quintet: Program) -> None:
    os.mkfifo(quintet.root / "ready")
    long = a_while()
    (quintet.root / "slow.mk").write_text(f"all:\n\t@echo go > ready; sleep {long}\n")
    terminal = quintet.plain("--mode", "build", "--permission-profile", "trusted")
    terminal.types("! make -f slow.mk")
    terminal.confirms()
    (quintet.root / "ready").read_text()
    terminal.interrupts()
    assert terminal.sees("outcome unknown", "interrupted", "› ").count("interrupted") == 1
    assert not alive("sleep", long)


def test_ctrl_c_at_the_prompt_does_not_leave(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.interrupts()
    terminal.sees("Ctrl+C again to leave", "› ")
    terminal.types("/cost")
    terminal.sees("tokens in")


def test_ctrl_c_twice_at_the_prompt_leaves(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.interrupts()
    terminal.sees("Ctrl+C again to leave")
    terminal.interrupts()
    code, rest = terminal.leaves()
    assert "Traceback" not in rest
    assert code == 0


def test_quit_and_the_end_of_input_leave(quintet: Program) -> None:
    first, second = quintet.plain(), quintet.plain()
    first.sees("› ")
    first.child.sendeof()
    assert first.leaves()[0] == 0
    second.types("/quit")
    assert second.leaves()[0] == 0


def test_a_terminal_that_goes_away_ends_the_session_and_keeps_it(quintet: Program, model: Model) -> None:
    model(stuck_after("Half an ans"), Reply(text="after"))
    terminal = quintet.plain()
    terminal.types("first")
    terminal.sees("Half an ans")
    terminal.goes_away()
    assert quintet.run("-p", "second", "--resume").clean(0).out == "after\n"


# ── output that could do harm


CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"  # all but tab, newline and the return a terminal adds
HOSTILE = "\x1b]0;pwned\x07\x1b[2J\x1b[31mred\x9b0m\x08\x7f\rover"


def test_escape_sequences_of_a_model_are_shown_and_not_executed(quintet: Program, model: Model) -> None:
    model(Reply(text=["An answer " + HOSTILE[:3], HOSTILE[3:] + " to show."]))
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("hello")
    shown = terminal.sees("to show.", "› ")
    assert not re.search(CONTROL, shown), repr(shown)
    assert "␛]0;pwned␇␛[2J␛[31mred" in shown


@pytest.mark.parametrize(
    ("tool", "arguments", "asks"),
    [
        ("bash", {"command": "x\x1bcy\x07 --flag"}, True),
        ("bash", {"command": f"git {HOSTILE}"}, True),
        ("Read", {"file_path": f"/etc/{HOSTILE}"}, True),
        ("Read", {"file_path": f".ssh/{HOSTILE}"}, False),
        ("Write", {"file_path": f"{HOSTILE}.txt", "content": HOSTILE}, True),
        (f"Read{HOSTILE}", {}, False),
    ],
    ids=["program", "argument", "outside", "secret", "write", "tool"],
)
def test_escape_sequences_in_a_call_and_its_question_are_shown_and_not_executed(
    quintet: Program, model: Model, tool: str, arguments: dict[str, str], asks: bool
) -> None:
    model(call(tool, **arguments), Reply(text="The end."))
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("hello")
    shown = ""
    if asks:
        shown += terminal.sees("[n] no")
        terminal.types("n")
    shown += terminal.sees("The end.", "› ")
    assert not re.search(CONTROL, shown), repr(shown)
    decided = next((event for event in quintet.journal() if event["type"] == "call_decided"), None)
    if decided:
        assert not re.search(CONTROL, quintet.run("why", str(decided["seq"])).clean(0).out)


def test_colours_are_used_where_wanted_and_nowhere_else(quintet: Program) -> None:
    quintet.settings('[display]\ncolor = "always"\n')
    coloured = quintet.plain(TERM="dumb")
    assert "\x1b[" in coloured.sees(HEADER[-5:], "› ")
    quintet.settings('[display]\ncolor = "never"\n')
    bare = quintet.plain(command=["env", "-u", "NO_COLOR", *PROGRAM, "--plain"])
    assert "\x1b[" not in bare.sees(HEADER, "› ")


def test_what_goes_into_a_pipe_is_plain_text_even_from_a_terminal(quintet: Program) -> None:
    terminal = quintet.plain(command=["bash", "-c", f"{' '.join(PROGRAM)} --plain | cat > out.txt"])
    terminal.child.sendeof()
    terminal.leaves()
    text = (quintet.root / "out.txt").read_text()
    assert "QUINTET" in text
    assert "\x1b" not in text


# ── without a terminal


def test_piped_input_is_taken_line_by_line_to_its_end(quintet: Program) -> None:
    script = "find the definition of words\n/moed\n\n/mode build\nfind usages of words"
    done = quintet.run("--plain", stdin=script).clean(0)
    assert "\x1b" not in done.out
    where = [
        done.out.index(text)
        for text in (
            "QUINTET  chat │ autonomous │ restricted │ smart",
            "tally/count.py:1:def words",
            "/moed is not a command.",
            "build │ autonomous │ restricted │ smart",
            "usages of words: 5 places",
        )
    ]
    assert where == sorted(where)


def test_both_ends_of_what_a_command_printed_are_shown_with_how_many_more_there_are(
    quintet: Program, model: Model
) -> None:
    calls = [call("bash", command=f"seq -f 'row %g' {last}") for last in (20, 6)]
    model(*calls, Reply(text="Seen."))
    done = quintet.run("--plain", "--permission-profile", "trusted", stdin="count\n").clean(0)
    printed = [line for line in done.out.split("\n") if line.startswith("    ")]
    rows = [f"    row {number}" for number in range(1, 21)]
    assert printed == [*rows[:2], "    … 15 more lines", *rows[-3:], *rows[:6]]


def test_piped_input_has_nobody_to_ask_so_nothing_is_changed(quintet: Program, model: Model) -> None:
    model(*EDIT)
    done = quintet.run("--plain", "--permission-profile", "normal", stdin="rename it\n").clean(0)
    assert "Skipped: Edit tally/count.py needs approval" in done.out
    assert "def words" in (quintet.root / COUNT).read_text()


def test_piped_input_waits_for_a_turn_that_it_lets_go_on(quintet: Program, model: Model) -> None:
    model(stuck_after("Half an ans"), Reply(text="A whole answer."))
    terminal = quintet.plain()
    terminal.types("first")
    terminal.sees("Half an ans")
    terminal.interrupts()
    terminal.sees("interrupted", "› ")
    terminal.types("/quit")
    assert terminal.leaves()[0] == 0
    assert "A whole answer." in quintet.run("--plain", "--resume", stdin="/resume\n").clean(0).out


# ── trust


@pytest.mark.parametrize(("typed", "badge"), [("y", "chat │ assisted │ trusted │ smart"), ("", HEADER)])
def test_a_folder_with_settings_of_its_own_is_asked_about_once(quintet: Program, typed: str, badge: str) -> None:
    quintet.settings('[dials]\npermission_profile = "trusted"\n', project=True)
    terminal = quintet.plain()
    terminal.sees("has its own settings", "Trust this folder? [y/N]")
    terminal.types(typed)
    terminal.sees("QUINTET", badge, "› ")
    again = quintet.plain()
    assert "Trust this folder?" not in again.sees("QUINTET", badge, "› ")


def test_a_resumed_session_shows_the_question_it_stands_at(quintet: Program, model: Model) -> None:
    model(*EDIT)
    first = quintet.plain()
    first.types("rename it")
    first.sees("[n] no")
    second = quintet.plain("--resume")
    second.sees("Edit tally/count.py?", "[n] no")
    second.types("y")
    first.sees("Renamed.")
    assert "def tokens" in (quintet.root / COUNT).read_text()


# ── pastes, answers, Markdown


def test_an_answer_that_ends_in_a_newline_is_shown_once(quintet: Program, model: Model) -> None:
    model(Reply(text=["Hello ", "once.\n\n"]))
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types("hello")
    shown = terminal.sees("once.", "› ")
    assert shown.count("Hello once.") == 1


def test_the_header_names_the_model_of_the_command_line(quintet: Program, model: Model) -> None:
    model(Reply(text="unused"))
    assert "builtin" not in quintet.plain().sees("QUINTET", "m · sandbox", "› ")
    quintet.plain("--model", "builtin").sees("QUINTET", "offline rules · sandbox", "› ")


@pytest.mark.parametrize(
    "pasted",
    ["one\ntwo\nthree\n", "one\ntwo\nthr", "\x1b[200~one\ntwo\nthree\x1b[201~\n"],
    ids=["with its last Enter", "cut within a line", "marked"],
)
def test_a_paste_is_one_turn(quintet: Program, model: Model, pasted: str) -> None:
    server = model(Reply(text="Three lines."), Reply(text="should not be asked"))
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.child.send(pasted)
    if not pasted.endswith("\n"):
        time.sleep(0.5)  # the rest is typed after a while
        terminal.child.send("ee\n")
    terminal.sees("Three lines.", "› ")
    assert [said[-1][1] for said in server.said] == ["one\ntwo\nthree"]


@pytest.mark.parametrize(("typed", "word"), [("yes", "def tokens"), ("No not that one", "def words")])
def test_a_question_takes_words_too(quintet: Program, model: Model, typed: str, word: str) -> None:
    terminal = at_question(quintet, model)
    terminal.types(typed)
    terminal.sees("Renamed.", "› ")
    assert word in (quintet.root / COUNT).read_text()


def test_markdown_is_rendered_where_there_are_colours_and_stays_as_it_is_elsewhere(
    quintet: Program, model: Model
) -> None:
    text = [
        "# Ti",
        "tle\n\n- one **bo",
        "ld** word\n- `co",
        "de`\n\n```python\nx = ",
        "1\n```\n| a | b |\n|---|--:|\n| 1 |",
        " 22 |\n",
    ]
    model(Reply(text=text), Reply(text=text))
    quintet.settings(
        Path(os.environ["XDG_CONFIG_HOME"], "quintet/settings.toml").read_text() + '[display]\ncolor = "always"\n'
    )
    coloured = quintet.plain()
    coloured.sees("› ")
    coloured.types("hello")
    shown = coloured.sees("22", "› ")
    assert "\x1b[1;36mTitle" in shown
    assert "• \x1b[0mone " in shown
    assert "\x1b[1mbold\x1b[0m word" in shown
    assert "─┼─" in shown
    assert "│ \x1b[0mx" in shown
    coloured.types("/quit")
    coloured.leaves()
    done = quintet.run("--plain", stdin="hello\n").clean(0)
    assert "".join(text).strip() in done.out


def test_what_is_typed_is_in_the_history_of_the_project(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.types("find the definition of words")
    terminal.sees("definition of words: 1 place", "› ")
    terminal.types("/quit")
    terminal.leaves()
    kept = [path.read_text() for path in Path(os.environ["XDG_STATE_HOME"]).rglob("inputs*")]
    assert any("find the definition of words" in text for text in kept)


def test_resuming_shows_the_last_exchange_and_no_answer_as_if_typed(quintet: Program) -> None:
    quintet.run("-p", "! echo what was printed", "--permission-profile", "trusted").clean(0)
    terminal = quintet.plain("--resume")
    shown = terminal.sees("resumed", "! echo what was printed", "  what was printed", "› ")
    assert "› what was printed" not in shown


def test_a_plan_is_asked_about_without_a_prompt_before_the_question(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types('/plan replace "words" with "tokens" in *.py')
    shown = terminal.sees("the plan needs your approval", "Build this plan?", "[n] not now")
    assert "›" not in shown.partition("the plan needs your approval")[2]
    terminal.types("n")
    terminal.sees("› ")
