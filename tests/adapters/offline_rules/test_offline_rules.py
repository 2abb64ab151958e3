"""The offline rules: what they take a request for, what they leave alone, and what they do and say."""

import asyncio
import json
from pathlib import Path

import pytest

from quintet.adapters.offline_rules.edits import FileEdits, prove
from quintet.adapters.offline_rules.intents import CAN_DO, Find, GitDiff, Intent, RunTests
from quintet.adapters.offline_rules.model import OfflineRules
from quintet.adapters.offline_rules.phrasing import parse
from quintet.adapters.offline_rules.program_steps import SayStep
from quintet.adapters.offline_rules.programs import program
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.messages import (
    CallPart,
    EndPart,
    EndStatus,
    Finish,
    Message,
    Request,
    Role,
    TextPart,
    ToolCall,
    ToolSchema,
)
from tests.adapters.offline_phrases import MEANT, MEANT_NOTHING
from tests.adapters.offline_running import NORMAL, calls, contents, run

pytestmark = pytest.mark.usefixtures("replays")

# ── what a request means


@pytest.mark.parametrize(("text", "intent"), MEANT.items())
def test_a_request_in_these_words_means_this(text: str, intent: Intent) -> None:
    assert parse(text) == [intent]


@pytest.mark.parametrize("text", MEANT_NOTHING)
def test_a_request_that_is_not_wholly_one_of_theirs_is_left_alone(text: str) -> None:
    assert parse(text) is None


def test_a_known_request_with_an_unknown_one_beside_it_is_left_alone() -> None:
    for wish in MEANT_NOTHING:
        if wish.strip() and wish not in ("and then", "thanks!"):  # those say nothing at all
            assert parse(f"run the tests and then {wish}") is None, wish


@pytest.mark.parametrize(
    "text",
    [
        "find load and then run the tests and then git diff",
        "find load, then run the tests; then git diff",
        "first find load, then run the tests, and then finally git diff",
        "find load\nrun the tests\ngit diff",
        "- find load\n- run the tests\n- git diff",
        "1. find load\n2) run the tests\n* please git diff",
        "\n\nFind load;  run the tests.\n\n  git diff\n",
    ],
)
def test_joined_requests_are_done_one_after_the_other(text: str) -> None:
    assert parse(text) == [Find("load", "text"), RunTests(), GitDiff()]


def test_every_example_they_give_is_one_they_take() -> None:
    for example, _ in CAN_DO:
        for text in example.split(", "):
            assert parse(text), text


# ── the model


Past = tuple[str, dict[str, object], str]  # tool, arguments, result


def reply(
    said: str, past: tuple[Past, ...] = (), tools: tuple[str, ...] = ("grep", "Read"), unasked: tuple[Effect, ...] = ()
) -> list[object]:
    messages = [Message(Role.SYSTEM, "…"), Message(Role.USER, said)]
    for number, (tool, arguments, result) in enumerate(past):
        call = ToolCall(f"c{number}", tool, json.dumps(arguments))
        messages += [Message(Role.ASSISTANT, calls=(call,)), Message(Role.TOOL, result, call_id=call.id)]
    shown = tuple(ToolSchema(name, "", {}) for name in tools)
    request = Request("builtin", tuple(messages), shown, unasked=frozenset(unasked))

    async def collect() -> list[object]:
        return [
            part
            async for part in OfflineRules(
                lambda: ["a model found here"], cli_line=lambda: "quintet flow --planner x"
            ).stream(request)
        ]

    return asyncio.run(collect())


def called(parts: list[object]) -> list[tuple[str, dict[str, object]]]:
    return [(part.call.name, json.loads(part.call.arguments)) for part in parts if isinstance(part, CallPart)]


FOUND: Past = ("grep", {"pattern": "main", "output_mode": "content"}, "a.py:1:main")


def test_the_same_request_and_results_give_the_same_reply() -> None:
    assert reply("find main") == reply("find main")
    assert called(reply("find main")) == [FOUND[:2]]
    assert reply("find main")[-1] == EndPart(Finish.TOOL_CALLS)
    (text, end) = reply("find main", (FOUND,))
    assert isinstance(text, TextPart)
    assert "a.py:1:main" in text.text
    assert end == EndPart(Finish.STOP)


def test_a_conversation_that_other_rules_led_is_not_gone_on_with() -> None:
    (text, end) = reply("find main", (("grep", {"pattern": "something else"}, "a.py:1:main"),))
    assert isinstance(text, TextPart)
    assert "a.py:1" not in text.text
    assert end == EndPart(Finish.REFUSED)


def test_what_it_cannot_do_is_said_with_the_nearest_it_can_and_how_to_connect_a_model() -> None:
    (text, end) = reply("run the tests until they pass")
    assert isinstance(text, TextPart)
    assert "Nothing was run" in text.text
    assert "Similar requests:\n  run the tests\n    run the project's tests" in text.text
    assert max(map(len, text.text.splitlines()[1:-2])) <= 64, "it stays a list on a narrow screen"
    assert all(example in text.text for example, _ in CAN_DO)
    assert "a model found here" in text.text
    assert "quintet models add" in text.text
    assert "To let an AI CLI do it: quintet flow --planner x" in text.text
    assert end == EndPart(Finish.REFUSED)


def test_a_tool_it_would_need_and_does_not_have_is_named_before_anything_is_done() -> None:
    for request, tool in (
        ("find main and then replace old with new in a.py", "Edit"),
        ("rename main to start", "Edit"),
        ("create the file a.txt", "Write"),
        ("move a.txt to b.txt", "fs_move"),
        ('commit "x"', "git_add, git_commit"),
    ):
        (text, end) = reply(request, tools=("grep", "Read"))
        assert isinstance(text, TextPart)
        assert f"Nothing was done: this needs {tool}" in text.text
        assert end == EndPart(Finish.REFUSED)


def test_it_goes_to_the_toolset_a_call_is_in_and_asks_for_the_menu_only_once() -> None:
    menu: tuple[str, ...] = ("menu_enter", "complete")
    assert called(reply("show the log", tools=menu)) == [("menu_enter", {"mode": "swe"})]
    swe: Past = ("menu_enter", {"mode": "swe"}, "In swe.")
    git: Past = ("menu_enter", {"mode": "git"}, "In git.")
    log = [("git_log", {"max_count": 10})]
    assert called(reply("show the log", (swe,), (*menu, "Read", "grep"))) == [("menu_enter", {"mode": "git"})]
    assert called(reply("show the log", (swe, git), (*menu, "git_log"))) == log
    assert called(reply("show the log", (swe, git), menu)) == []


READ: Past = ("Read", {"file_path": "a.py", "limit": 1_000_000}, "1\told = 1")
EDITED: tuple[Past, ...] = (
    ("grep", {"pattern": "old", "glob": "a.py"}, "a.py"),
    READ,
    ("Edit", {"file_path": "a.py", "old_string": "old", "new_string": "new", "replace_all": True}, "--- a/a.py"),
    ("grep", {"pattern": "old", "glob": "{a.py}"}, "no matches"),
)
TOOLS = ("grep", "glob", "Read", "Edit", "bash")


def test_tests_prove_a_change_only_where_they_run_unasked_and_a_dial_turned_since_changes_nothing_done() -> None:
    said = "replace old with new in a.py"
    (text, _) = reply(said, EDITED, TOOLS)
    assert isinstance(text, TextPart)
    assert "not verified  by tests: running them needs approval here" in text.text
    ((tool, arguments),) = called(reply(said, EDITED, TOOLS, (Effect.BUILD,)))
    assert tool == "glob"
    looked: tuple[Past, ...] = (*EDITED, (tool, arguments, "conftest.py"))
    for unasked in ((), (Effect.BUILD,)):
        ((tool, arguments),) = called(reply(said, looked, TOOLS, unasked))
        assert (tool, arguments["command"]) == ("bash", "python3 -m pytest -q")


def test_many_files_take_no_more_steps_than_a_few() -> None:
    files = [f"m{number}.py" for number in range(40)]
    parts = reply(
        "replace old with new in *.py", (("grep", {"pattern": "old", "glob": "*.py"}, "\n".join(files)),), TOOLS
    )
    assert [arguments["file_path"] for _, arguments in called(parts)] == files


@pytest.mark.parametrize("intent", [*dict.fromkeys(MEANT.values())], ids=str)
def test_a_call_that_was_not_run_is_never_reported_as_done(intent: Intent) -> None:
    steps = program(intent)
    step = next(steps)
    try:
        while True:
            step = steps.send(["not run: the user said no" for _ in step.calls])
    except StopIteration as end:
        said: SayStep = end.value
    assert not said.done
    assert "place" not in said.text


def test_a_form_feed_does_not_hide_the_rest_of_a_file() -> None:
    shown = ("Read", READ[1], "1\told = 1\n2\t\x0cold = 2")
    (text, _) = reply("replace old with new in a.py", (EDITED[0], shown, *EDITED[2:]), TOOLS)
    assert isinstance(text, TextPart)
    assert "2 places in 1 file" in text.text


# ── end to end, in a repository


def test_replace_and_then_test_changes_the_files_and_reports_the_evidence(repo: Path) -> None:
    before = contents(repo)
    ended, _ = run(repo, "replace words with tokens in *.py and then run the tests")
    assert ended.status == "done", ended
    assert contents(repo) == {name: data.replace(b"words", b"tokens") for name, data in before.items()}
    assert "Replaced “words” with “tokens”: 5 places in 2 files" in ended.answer
    assert "“words” was removed from them" in ended.answer
    assert "Python files still parse" in ended.answer
    assert "Tests passed: python3 -m unittest discover -s tests" in ended.answer
    assert "Ran 2 tests" in ended.answer


@pytest.mark.parametrize("where", ["tally/*.py", "tally/count.py", "./tally/count.py", "tally/", "count.py"])
def test_replace_takes_globs_files_and_folders(repo: Path, where: str) -> None:
    ended, _ = run(repo, f"replace split with rsplit in {where}", NORMAL)
    assert ended.status == "done", ended.answer
    assert "not verified  by tests: running them needs approval here" in ended.answer
    assert ".rsplit()" in (repo / "tally/count.py").read_text()


def test_a_replacement_that_breaks_python_changes_no_file_at_all(repo: Path) -> None:
    before = contents(repo)
    ended, events = run(repo, 'replace "def words(" with "def words)" in *.py')
    assert ended.status == "blocked"
    assert "tally/count.py would no longer parse as Python" in ended.answer
    assert contents(repo) == before
    assert calls(events, "Edit") == []


def test_a_file_with_a_very_long_line_is_not_called_sound_unchecked(repo: Path) -> None:
    data = f"table = [{', '.join(['0'] * 2000)}]\n\n\ndef wide() -> None: ...\n"
    (repo / "tally/wide.py").write_text(data)
    ended, _ = run(repo, 'replace "def wide(" with "def wide)" in wide.py')
    broken = (repo / "tally/wide.py").read_text() != data
    assert not (broken and "still parse" in ended.answer), ended.answer


def test_a_replacement_in_a_file_that_is_not_utf_8_keeps_its_bytes(repo: Path) -> None:
    (repo / "latin.txt").write_bytes(b"caf\xe9 old\r\n")
    ended, _ = run(repo, "replace old with new in latin.txt")
    assert ended.status == "done", ended
    assert (repo / "latin.txt").read_bytes() == b"caf\xe9 new\r\n"


def test_text_that_does_not_occur_is_said_and_nothing_is_changed(repo: Path) -> None:
    before = contents(repo)
    ended, _ = run(repo, 'replace "nowhere" with "somewhere"')
    assert ended.status == "blocked"
    assert "“nowhere” does not occur" in ended.answer
    assert contents(repo) == before


def test_failing_tests_are_reported_as_failed_and_not_delivered(repo: Path) -> None:
    _fail(repo)
    ended, events = run(repo, "run the tests")
    assert (ended.status, ended.delivery) == ("done", "NEEDS_WORK")
    assert "Tests FAILED" in ended.answer
    assert "failures=1" in ended.answer
    (check,) = [event for event in events if isinstance(event, p.DeliveryChecked)]
    assert check.reason == "it was tried and failed; see the answer"


def test_a_change_stays_that_breaks_nothing_and_the_tests_that_were_wanted_after_it_failed_all_the_same(
    repo: Path,
) -> None:
    _fail(repo)
    ended, events = run(repo, "rename words to tokens and then run the tests")
    assert (ended.status, ended.delivery) == ("done", "NEEDS_WORK")
    assert "tests fail as they did before" in ended.answer
    assert "Tests FAILED: python3 -m unittest discover -s tests" in ended.answer
    assert "def tokens" in (repo / "tally/count.py").read_text()
    assert len(calls(events, "bash")) == 2


def _fail(repo: Path) -> None:
    test = repo / "tests/test_count.py"
    test.write_text(test.read_text().replace(", 2)", ", 3)"))


@pytest.mark.parametrize("then", ["", " and then run the tests"])
def test_a_replacement_that_the_tests_refute_is_rolled_back(repo: Path, then: str) -> None:
    before = contents(repo)
    ended, events = run(repo, f'replace "len(text.split())" with "len(text)" in count.py{then}')
    assert (ended.status, ended.delivery) == ("done", "NEEDS_WORK")
    assert "The tests fail with it: python3 -m unittest discover -s tests" in ended.answer
    assert "Rolled back: nothing is changed." in ended.answer
    assert contents(repo) == before
    assert len(calls(events, "Edit")) == 2


def test_a_replacement_that_breaks_no_more_than_was_broken_stays(repo: Path) -> None:
    _fail(repo)
    ended, _ = run(repo, 'replace "len(text.split())" with "len(text.split(None))" in count.py')
    assert ended.status == "done", ended.answer
    assert "tests fail as they did before" in ended.answer
    assert "split(None)" in (repo / "tally/count.py").read_text()


@pytest.mark.parametrize("said", ["/usr/bin/python3: No module named pytest\nexit 1", "sh: cargo: not found\nexit 127"])
def test_a_change_is_not_verified_where_the_tests_cannot_run(said: str) -> None:
    steps = prove([FileEdits("a.py", (), ())], "a", "b")
    next(steps)
    steps.send(["Cargo.toml"])
    with pytest.raises(StopIteration) as ended:
        steps.send([said])
    assert ended.value.value.not_verified == f"by tests: cargo test cannot run here ({said.splitlines()[0]})"


def test_tests_prove_a_replacement_where_they_may_run(repo: Path) -> None:
    ended, _ = run(repo, "replace split() with rsplit() in count.py")
    assert "tests pass: python3 -m unittest discover -s tests (OK)" in ended.answer


def test_a_change_of_prose_alone_runs_no_tests(repo: Path) -> None:
    (repo / "notes.md").write_text("old news\n")
    ended, events = run(repo, "replace old with new in notes.md")
    assert (ended.status, calls(events, "bash")) == ("done", [])
    assert (repo / "notes.md").read_text() == "new news\n"


def test_find_shows_places_definitions_and_usages(repo: Path) -> None:
    ended, _ = run(repo, "find the definition of words and then find usages of words")
    assert ended.status == "done"
    assert "definition of words: 1 place\ntally/count.py:1:def words(text: str) -> int:" in ended.answer
    assert "usages of words: 5 places" in ended.answer


def test_status_and_diff_show_what_changed(repo: Path) -> None:
    (repo / "tally/count.py").write_text("gone = True\n")
    ended, _ = run(repo, "git status and then show the diff")
    assert " M tally/count.py" in ended.answer
    assert "+gone = True" in ended.answer


@pytest.mark.parametrize("text", ["explain this code", "add a flag and run the tests"])
def test_a_request_they_do_not_understand_runs_no_tool(repo: Path, text: str) -> None:
    ended, events = run(repo, text)
    assert ended.status == "blocked"
    touched = (p.ToolStarted, p.ToolFinished, p.CallDecided)
    assert [event for event in events if isinstance(event, touched)] == []


def test_replacing_and_finding_go_past_a_folder_that_cannot_be_read(
    repo: Path, blind_ripgrep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "pgdata").mkdir(mode=0)
    monkeypatch.setattr("quintet.app.open.find_ripgrep", lambda: blind_ripgrep)
    found, _ = run(repo, 'find "How many"')
    assert found.answer.startswith("How many: 1 place\ntally/count.py:2:")
    assert found.answer.endswith("\n(not searched: pgdata (Permission denied))")
    end, _ = run(repo, 'replace "How many" with "The number of" in *.py')
    assert end.status is EndStatus.DONE, end
    assert "The number of words" in (repo / "tally/count.py").read_text()
    assert "(not searched: pgdata (Permission denied))" in end.answer
