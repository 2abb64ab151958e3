"""Routing: from an input and a menu to a command, in a fixed order, without a model."""

import os
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.domain.agents.agent import Agent, HandlerKind, visible_menu
from quintet.domain.agents.menu import MARGIN, THRESHOLD, compiled, nearest_items
from quintet.domain.agents.route import Candidate, CommandKind, Confidence, ResolvedCommand, resolve
from quintet.domain.agents.words import MOST_LETTERS
from quintet.domain.agents.workflow import is_classic, is_workflow, names_workflow
from quintet.domain.dials.axes import Surface
from tests.domain.menus import EVERY_FORM, agent, corpus_agents, item, labels
from tests.places import ROOT

TERMINALS = (Surface.TUI, Surface.HEADLESS, Surface.RPC)


def index_of(text: str, who: Agent = EVERY_FORM, surface: Surface = Surface.TUI) -> int | None:
    return resolve(text, who, surface).menu_index


def offered(text: str, who: Agent = EVERY_FORM) -> list[int]:
    return [candidate.index for candidate in resolve(text, who).candidates]


# ── words behind a name


SPECS = agent(
    item("[WS] Write a specification", "write-spec", HandlerKind.WORKFLOW, code="WS"),
    item("[RB] Review a branch", "review", code="RB", cmd="look_over"),
    item("[CP] Create PRD", "create-prd", code="CP"),
    item("[EP] Edit PRD", "edit-prd", code="EP"),
)


@pytest.mark.parametrize(
    ("text", "index", "details"),
    [
        ("write-spec add dark mode", 3, "add dark mode"),
        ("Write-Spec: add dark mode", 3, "add dark mode"),
        ("WS: Add Dark Mode", 3, "Add Dark Mode"),
        ("ws:  what is a spec?", 3, "what is a spec?"),
        ("*ws add dark mode", 3, "add dark mode"),
        ("write spec Add dark  mode", 3, "Add dark  mode"),
        ("Create PRD for a bakery", 5, "for a bakery"),
        ("*review branch main", 4, "branch main"),
        ("look_over branch main\nand the tests", 4, "branch main\nand the tests"),
        ("write-spec add dark mode\nfor the shop", 3, "add dark mode\nfor the shop"),
    ],
)
def test_s2_words_behind_an_items_name_go_along(text: str, index: int, details: str) -> None:
    command = resolve(text, SPECS)
    assert (command.menu_index, command.details, command.confidence) == (index, details, Confidence.HIGH)


@pytest.mark.parametrize(
    "text",
    [
        "write-spec is broken",
        "write spec is broken",
        "create prd and then go home",
        "write-spec does nothing?",
        "write-spec add dark mode?",
        "review branch main and tell me what you think of it",
        "help: the build of the shop fails on Windows",
        "https://example.com/write-spec",
        "note: the spec has to be written by Friday",
    ],
)
def test_s2_a_sentence_that_holds_a_name_is_still_a_sentence(text: str) -> None:
    assert resolve(text, SPECS).kind is CommandKind.CHAT


@pytest.mark.parametrize("text", ["create prd or edit prd", "CP or EP", "edit the prd or create a prd"])
def test_s2_two_items_with_or_between_them_are_a_choice(text: str) -> None:
    assert (resolve(text, SPECS).kind, offered(text, SPECS)) == (CommandKind.CLARIFY_CHOICE, [5, 6])


def test_s2_a_huge_number_is_said_as_it_was_typed() -> None:
    assert "no number 99999999999999999999;" in resolve("9" * 20, SPECS).reason
    assert f"no number {'9' * 30}…;" in resolve("9" * 5000, SPECS).reason


# ── AC 1 and 2: the menu


def test_s2_ac1_the_menu_is_a_numbered_list_with_help_and_chat_first_and_dismiss_last() -> None:
    shown = labels(EVERY_FORM)
    assert shown[:2] == ["[MH] Redisplay Menu Help", "[CH] Chat with the Agent about anything"]
    assert shown[-1] == "[DA] Dismiss Agent"
    for number, label in enumerate(shown, 1):
        assert resolve(str(number), EVERY_FORM).label == label
    kinds = [resolve(str(number), EVERY_FORM).kind for number in (1, 2, len(shown))]
    assert kinds == [CommandKind.SHOW_MENU, CommandKind.CHAT, CommandKind.DISMISS_AGENT]


def test_s2_ac2_only_what_the_surface_shows_is_considered() -> None:
    assert "Open the gallery" in labels(EVERY_FORM, Surface.WEB)
    assert "Translate a page" not in labels(EVERY_FORM, Surface.WEB)
    assert resolve("translate", EVERY_FORM, Surface.WEB).kind is CommandKind.CHAT
    for surface in TERMINALS:
        assert "Translate a page" in labels(EVERY_FORM, surface)
        assert "Open the gallery" not in labels(EVERY_FORM, surface)
        assert resolve("gallery", EVERY_FORM, surface).kind is CommandKind.CHAT


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\t", "*", "/", "** //", "\ufeff", "\u200b"])
def test_s2_ac2_empty_input_shows_the_menu(text: str) -> None:
    command = resolve(text, EVERY_FORM)
    assert (command.kind, command.confidence, command.menu_index) == (CommandKind.SHOW_MENU, Confidence.EXACT, None)


def test_s2_ac2_a_number_is_a_place_in_the_menu() -> None:
    assert [index_of(text) for text in ("3", " 3 ", "003", "*3", "/3", "３")] == [3] * 6
    assert resolve("3", EVERY_FORM).confidence is Confidence.EXACT


@pytest.mark.parametrize("text", ["0", "99", "000", "9" * 5000])
def test_s2_ac2_out_of_range_clarifies(text: str) -> None:
    command = resolve(text, EVERY_FORM)
    assert command.kind is CommandKind.CLARIFY_CHOICE
    assert "from 1 to 8" in command.reason
    assert command.candidates == tuple(Candidate(n, label) for n, label in enumerate(labels(EVERY_FORM), 1))


@pytest.mark.parametrize("text", ["3.", "#3", "-3", "3 4", "3a", "three"])
def test_s2_ac2_only_digits_are_a_number(text: str) -> None:
    assert resolve(text, EVERY_FORM).kind is CommandKind.CHAT


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("work-status", 3),  # trigger
        ("work status", 3),
        ("Work_Status", 3),
        ("spell", 5),  # cmd
        ("render into another tongue", 6),  # alias
        ("DR", 4),  # code
        ("[DR]", 4),
        ("quick-painting", 7),  # trigger of a handler
        ("qp", 7),
        ("help", 1),
        ("goodbye", 8),
    ],
)
def test_s2_ac2_exact_names(text: str, index: int) -> None:
    command = resolve(text, EVERY_FORM)
    assert (command.menu_index, command.confidence) == (index, Confidence.EXACT)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("show where the work stands", 3),  # description
        ("[WS] Show where the work stands", 3),
        ("transalte", 6),  # typo: two letters swapped
        ("tranlate", 6),  # one missing
        ("translatte", 6),  # one too many
        ("tramslate", 6),  # another one
        ("tran", 6),  # beginning
        ("spelling", 5),  # word of a description
        ("please draft the paper now", 4),
        ("could you check the spelling?", 5),
        ("paint something in oil", 7),  # phrase of a handler
        ("oil", 7),
    ],
)
def test_s2_ac2_fuzzy_matches(text: str, index: int) -> None:
    command = resolve(text, EVERY_FORM)
    assert (command.kind is not CommandKind.CHAT, command.menu_index) == (True, index)
    assert command.confidence is not Confidence.EXACT


def test_s2_ac2_a_handler_among_several_is_the_one_that_was_named() -> None:
    assert resolve("quick-painting", EVERY_FORM).target == "painting"
    assert resolve("paint in oil", EVERY_FORM).target == "painting"
    assert resolve("draw a sketch", EVERY_FORM).target == "sketch.md"
    assert resolve("7", EVERY_FORM).target == "sketch.md"
    assert resolve("quick", EVERY_FORM).menu_index == 7, "both handlers collapse to their item"


def test_s2_ac2_several_that_are_as_good_are_offered_and_a_number_chooses() -> None:
    who = agent(item("Review the code", "code-review"), item("Review the text", "text-review"), item("Sing", "sing"))
    command = resolve("review", who)
    assert command.kind is CommandKind.CLARIFY_CHOICE
    assert command.candidates == (Candidate(3, "Review the code"), Candidate(4, "Review the text"))
    assert index_of(str(command.candidates[1].index), who) == 4
    assert offered("help", agent(item("Show help", "help"))) == [1, 3], "a name that two items share offers both"


@pytest.mark.parametrize(
    "text", ["hello", "hello there, how does this work?", "what does check do?", "🙂", "???", "/foo"]
)
def test_s2_ac2_what_matches_nothing_is_chat(text: str) -> None:
    command = resolve(text, EVERY_FORM)
    assert command == ResolvedCommand(CommandKind.CHAT, Confidence.LOW, "no menu item matches")


def test_only_the_first_line_is_matched_and_the_rest_goes_along() -> None:
    command = resolve("\n  work-status \r\nfor the north\nand the south\n", EVERY_FORM)
    assert (command.menu_index, command.details) == (3, "for the north\nand the south")
    assert resolve("draft\n\n    indented", EVERY_FORM).details == "    indented"
    assert resolve("nothing of yours\nwork-status", EVERY_FORM).kind is CommandKind.CHAT
    assert resolve("tell them\nmore", EVERY_FORM, active_run=True).details == "more"


# ── AC 3, as far as routing decides it


@pytest.mark.parametrize(
    ("kind", "target", "expected"),
    [
        (HandlerKind.WORKFLOW, "sprint", CommandKind.START_WORKFLOW),
        (HandlerKind.EXEC, "notes.md", CommandKind.EXEC_SCRIPT),
        (HandlerKind.EXEC, "{project-root}/a/workflow.md", CommandKind.START_WORKFLOW),
        (HandlerKind.VALIDATE, "sprint", CommandKind.START_WORKFLOW),
        (HandlerKind.TEMPLATE, "page.md", CommandKind.EXEC_SCRIPT),
        (HandlerKind.ACTION, "#greet", CommandKind.RUN_ACTION),
        (HandlerKind.ACTION, "run.resume", CommandKind.RUN_ACTION),
    ],
)
def test_s2_ac3_an_items_handler_says_which_command_it_is(
    kind: HandlerKind, target: str, expected: CommandKind
) -> None:
    command = resolve("go-there", agent(item("Go there", "go-there", kind, target=target)))
    assert (command.kind, command.target, command.data_ref) == (expected, target, None)


def test_s2_ac3_data_goes_along_as_a_reference() -> None:
    assert resolve("draft", EVERY_FORM).data_ref == "notes.csv"
    assert resolve("4", EVERY_FORM).data_ref == "notes.csv"


# ── AC 5: with and without a run


@pytest.mark.parametrize("mark", ["/", "*", "**", " / "])
@pytest.mark.parametrize(
    ("word", "kind", "target"),
    [
        ("menu", CommandKind.SHOW_MENU, None),
        ("dismiss", CommandKind.DISMISS_AGENT, None),
        ("pause", CommandKind.RUN_ACTION, "run.pause"),
        ("stop", CommandKind.RUN_ACTION, "run.stop"),
        ("resume", CommandKind.RESUME_RUN, None),
    ],
)
def test_s2_ac5_a_global_command_is_taken_from_a_run(mark: str, word: str, kind: CommandKind, target: str) -> None:
    for text in (f"{mark}{word}", f"{mark}{word.upper()} "):
        command = resolve(text, EVERY_FORM, active_run=True)
        assert (command.kind, command.target, command.confidence) == (kind, target, Confidence.EXACT)
    assert resolve(f"{mark}{word}", EVERY_FORM).kind is kind, "and it is one without a run too"


def test_s2_ac5_resume_may_name_a_run() -> None:
    assert resolve("/resume R17", EVERY_FORM, active_run=True).target == "R17"


@pytest.mark.parametrize(
    "text", ["menu", "3", "", "99", "work-status", "*work-status", "/foo", "/stop the press", "hello", "*menu*"]
)
def test_s2_ac5_everything_else_belongs_to_the_run(text: str) -> None:
    command = resolve(text, EVERY_FORM, active_run=True)
    assert (command.kind, command.menu_index, command.candidates) == (CommandKind.CONTINUE_RUN, None, ())


def test_s2_ac5_without_a_run_the_menu_comes_before_chat() -> None:
    assert resolve("work-status", EVERY_FORM).kind is CommandKind.START_WORKFLOW
    own = agent(item("Stop the music", "stop"))
    assert resolve("*stop", own).menu_index == 3, "an agent's own word is the agent's"
    assert resolve("/stop", own).target == "run.stop", "a slash is not"
    assert resolve("*stop", own, active_run=True).target == "run.stop"


# ── what the contract asks to be verified


def test_s2_verification_empty_input() -> None:
    assert resolve("", EVERY_FORM).kind is CommandKind.SHOW_MENU


def test_s2_verification_numeric_in_range_is_exact() -> None:
    command = resolve("4", EVERY_FORM)
    assert (command.label, command.confidence) == ("[DR] Draft a paper", Confidence.EXACT)


def test_s2_verification_numeric_out_of_range_has_candidates() -> None:
    assert offered("9") == list(range(1, 9))


@pytest.mark.parametrize(
    "text", ["*WORK-STATUS", "Work-Status", "  *work-status  ", "*Ws", "*SPELL", "ｗｏｒｋ－ｓｔａｔｕｓ"]
)
def test_s2_verification_trigger_and_cmd_whatever_the_case_and_the_star(text: str) -> None:
    assert resolve(text, EVERY_FORM).confidence is Confidence.EXACT


def test_s2_verification_a_trigger_beats_a_description() -> None:
    who = agent(item("Polish the lantern glass", "glass"), item("Trim the wick", "lantern-trim"))
    assert index_of("lantern", who) == 4
    by_cmd = agent(item("Polish the lantern glass", "glass"), item("Trim the wick", "wick", cmd="lantern-trim"))
    assert index_of("lantern", by_cmd) == 4


def test_s2_verification_gating_changes_candidates_and_numbers() -> None:
    assert index_of("qs") == 7
    assert index_of("qs", surface=Surface.WEB) == 7
    gated = agent(item("One", "one", ide_only=True), item("Two", "two"), item("Three", "three", web_only=True))
    assert [index_of("two", gated, surface) for surface in (Surface.TUI, Surface.WEB)] == [4, 3]
    assert [resolve("4", gated, surface).label for surface in (Surface.TUI, Surface.WEB)] == ["Two", "Three"]


@pytest.mark.parametrize("ref", ["workflow.yaml", "a/b.YML", "{project-root}/x.xml", " x.yaml "])
def test_s2_verification_classic_references_are_told_apart(ref: str) -> None:
    assert is_classic(ref)
    assert not is_classic(ref.strip() + ".md")


def test_a_script_is_a_workflow_by_its_name_or_by_its_frontmatter() -> None:
    assert names_workflow("{package-root}/x/Workflow.md")
    assert not names_workflow("x/my-workflow.md")
    assert is_workflow("x/notes.md", {"currentNodeId": ""})
    assert not is_workflow("x/notes.md", {"name": "notes"})


# ── ranks, threshold and margin


@pytest.mark.parametrize(
    ("better", "worse", "text"),
    [
        # whole phrase > whole word > beginning > part
        (item("One", "harbour-light"), item("Two", "light-of-the-harbour"), "harbour light please"),
        (item("One", "harbour"), item("Two", "harbourmaster"), "harbours"),
        (item("One", "light-house"), item("Two", "sun-lighter"), "light"),
        (item("One", "big-lighter"), item("Two", "moonlight"), "light"),
        # within a rank: name > handler's phrase > description
        (item("One", "light-house"), item("The house with a light", "tower"), "light"),
        # how much is covered
        (item("One", "dev-story"), item("Two", "dev-story-with-long-tail"), "dev stroy"),
        # a word of a description is better than the beginning of a name
        (item("Mend the lamp", "mend"), item("Two", "lampoon"), "lamp"),
    ],
)
def test_what_is_met_better_wins(better: object, worse: object, text: str) -> None:
    for menu, index in (((better, worse), 3), ((worse, better), 4)):
        command = resolve(text, agent(*menu))  # type: ignore[arg-type]
        assert (command.menu_index, command.candidates) == (index, ())


@pytest.mark.parametrize(
    ("text", "reaches"),
    [
        ("draft plan", True),
        ("please draft the plan", True),
        ("draft plan quickly for north", False),  # a third of the words is unknown
        ("draft plan for the whole northern coast", False),
        ("draft", True),
        ("sell draft of the plan", False),
        ("write a draft plan", True),  # a verb that makes things is no part of its name
        ("raft", True),  # part of a name
        ("lan", False),  # part of a name, too short
        ("unrelated", False),
        ("not draft plan", False),
        ("no draft plan today", False),
        ("thanks for the draft plan", False),
        ("good draft plan", False),
        ("what draft plan", False),
        ("is the draft plan", False),
        ("you draft plan", False),
    ],
)
def test_the_threshold(text: str, reaches: bool) -> None:
    best = nearest_items(text, compiled(agent(item("Sing", "draft-plan"), item("Hum", "other")), Surface.TUI))
    assert bool(best) is reaches
    assert all(match.score >= THRESHOLD for match in best)


@pytest.mark.parametrize(
    ("first", "second", "text", "tie"),
    [
        ("red-apple", "red-plum", "red", True),
        ("red-apple", "red-plum-tree", "red", True),  # nearly as much of it is covered
        ("red", "red-plum-tree-garden-wall", "reds", False),
        ("red-apple", "plum", "red", False),
        ("apple-red", "plum-red", "red", True),
        ("redstart", "big-redwood", "reds", False),  # a name begins with it, only
    ],
)
def test_the_margin(first: str, second: str, text: str, tie: bool) -> None:
    who = agent(item("One", first), item("Two", second))
    assert (resolve(text, who).kind is CommandKind.CLARIFY_CHOICE) is tie


@pytest.mark.parametrize("no", ["don't", "don’t", "DON'T", "do not", "never", "please don’t"])
def test_what_is_forbidden_is_not_done(no: str) -> None:
    who = agent(item("Sing", "send-all-drafts-to-the-printer"))
    assert index_of("send all drafts to printer", who) == 3
    assert resolve(f"{no} send all drafts to the printer", who).kind is CommandKind.CHAT


def test_the_two_constants() -> None:
    assert (THRESHOLD, MARGIN) == (0.27, 0.02)


@pytest.mark.parametrize("text", ["tes", "tset", "cehck", "chek", "wrok-status"])
def test_a_typo_is_forgiven_from_five_letters_on(text: str) -> None:
    who = agent(item("One", "test"), item("Two", "check"), item("Three", "work-status"))
    expected = {"tes": 3, "tset": None, "cehck": 4, "chek": None, "wrok-status": 5}
    assert index_of(text, who) == expected[text]


# ── properties

TEXTS = st.text(max_size=300) | st.lists(
    st.sampled_from(["work", "status", "draft", "*", "/", "\n", "quick", "не", "🙂", "\u202e", "\0", "translate", "3"]),
    max_size=30,
).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, surface=st.sampled_from(Surface), active=st.booleans())
def test_every_input_has_one_answer_that_keeps_its_promises(text: str, surface: Surface, active: bool) -> None:
    command = resolve(text, EVERY_FORM, surface, active)
    assert command == resolve(text, EVERY_FORM, surface, active)
    menu = visible_menu(EVERY_FORM, surface)
    if command.menu_index is not None:
        assert command.label == menu[command.menu_index - 1].label
        assert not command.candidates
    for candidate in command.candidates:
        assert candidate.label == menu[candidate.index - 1].label
    assert bool(command.candidates) == (command.kind is CommandKind.CLARIFY_CHOICE)
    if active:
        assert command.kind is not CommandKind.CHAT


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet="workstadrfchelp -", min_size=1, max_size=40), marks=st.text(alphabet="*/ ", max_size=30))
def test_marks_space_and_case_in_front_change_nothing(text: str, marks: str) -> None:
    plain = resolve(text, EVERY_FORM)
    for other in (f"  {text}\n", text.upper(), f"\u200f{text}\u202c"):
        assert resolve(other, EVERY_FORM) == plain
    marked = resolve(marks + text, EVERY_FORM)
    assert marked == plain or plain.kind is CommandKind.CHAT


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60))
def test_forms_of_the_same_characters_are_the_same_input(text: str) -> None:
    whole, parts = (
        unicodedata.normalize("NFKC", text),
        unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text)),
    )
    one, other = resolve(whole, EVERY_FORM), resolve(parts, EVERY_FORM)
    assert (one.kind, one.menu_index, one.candidates) == (other.kind, other.menu_index, other.candidates)


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x" * MEGABYTE, CommandKind.CHAT),
        ("work status " * (MEGABYTE // 12), CommandKind.CHAT),
        ("*" * MEGABYTE, CommandKind.SHOW_MENU),
        ("/" * MEGABYTE + "work-status", CommandKind.START_WORKFLOW),
        ("work-status\n" + "x" * MEGABYTE, CommandKind.START_WORKFLOW),
        ("9" * MEGABYTE, CommandKind.CLARIFY_CHOICE),
        ("9" * MEGABYTE + "x", CommandKind.CHAT),
        ("\n" * MEGABYTE, CommandKind.SHOW_MENU),
        ("\0" * MEGABYTE, CommandKind.CHAT),
        ("ﷺ" * MEGABYTE, CommandKind.CHAT),
        ("שלום " * (MEGABYTE // 5), CommandKind.CHAT),
    ],
    ids=lambda value: value if isinstance(value, CommandKind) else repr(value[:6]),
)
def test_a_megabyte_is_answered_like_anything_else(text: str, kind: CommandKind) -> None:
    assert resolve(text, EVERY_FORM).kind is kind
    assert resolve(text, EVERY_FORM, active_run=True).kind is CommandKind.CONTINUE_RUN


def steps_taken(text: str) -> int:
    """The calls that are made to answer an input, Python's and C's."""
    count = 0

    def watch(*_: object) -> None:
        nonlocal count
        count += 1

    resolve(text, EVERY_FORM)  # compiles the menu
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        resolve(text, EVERY_FORM)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("unit", ["x", "work ", "*", "draft the quick status ", "🙂", "ab\n"])
def test_a_longer_input_takes_no_more_steps(unit: str) -> None:
    enough = unit * (2 * MOST_LETTERS)
    assert steps_taken(enough * 50) <= steps_taken(enough) + 5


SCRIPT = """
import hashlib, json, locale
from tests.domain.menus import FOLDER, corpus_agents
from quintet.domain.agents.route import resolve
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
files = [FOLDER / "free_sentences.jsonl", FOLDER / "sloppy_commands.jsonl"]
rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
rows += [{"agent": "coder", "text": text} for text in ("CODE-REVİEW", "FIX BUG", "STRASSE", "ı")]
agents = corpus_agents()
answers = repr([resolve(row["text"], agents[row["agent"]]) for row in rows])
print(hashlib.sha256(answers.encode()).hexdigest())
"""


def test_the_answer_does_not_depend_on_locale_or_hash_seed() -> None:
    def run(**environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=ROOT,
            env={**os.environ, "PYTHONUTF8": "1", **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    first = run(LC_ALL="C", PYTHONHASHSEED="1")
    assert len(first.strip()) == 64
    assert run(LC_ALL="tr_TR.UTF-8", PYTHONHASHSEED="2") == first
    assert run(LC_ALL="C.UTF-8", LANG="de_DE.UTF-8", PYTHONHASHSEED="77") == first


def test_an_agent_is_compiled_once_per_surface() -> None:
    who = corpus_agents()["coder"]
    assert compiled(who, Surface.TUI) is compiled(who, Surface.TUI)
    assert compiled(who, Surface.TUI) is not compiled(who, Surface.WEB)
