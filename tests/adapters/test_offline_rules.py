"""The offline rules: what they take a request for, what they leave alone, and what they do and say."""

import asyncio
import json
from pathlib import Path

import pytest

from quintet.adapters.offline_rules.intents import CAN_DO, Find, GitDiff, GitStatus, Intent, Replace, RunTests, parse
from quintet.adapters.offline_rules.model import OfflineRules
from quintet.adapters.offline_rules.programs import Call, Said, program
from quintet.app import open_session
from quintet.domain import protocol as p
from quintet.domain.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.messages import CallPart, EndPart, Finish, Message, Request, Role, TextPart, ToolSchema

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)

# ── what a request means


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ('replace "old text" with "new text"', Replace("old text", "new text")),
        ("replace old with new", Replace("old", "new")),
        ("Replace `a b` by 'c d' in src/*.py", Replace("a b", "c d", ("src/*.py",))),
        ("change foo to bar in a.py, b.py and docs/c.md", Replace("foo", "bar", ("a.py", "b.py", "docs/c.md"))),
        ("substitute x into y across *.py files", Replace("x", "y", ("*.py",))),
        ("replace x with y in all files", Replace("x", "y")),
        ("replace x with y in the project", Replace("x", "y")),
        ('replace "x" with ""', Replace("x", "")),
        ('replace "a; b" with "a, b"', Replace("a; b", "a, b")),
        ('replace "one and then two" with "three"', Replace("one and then two", "three")),
        ("find load_config", Find("load_config", "text")),
        ('search for "two words"', Find("two words", "text")),
        ("grep TODO", Find("TODO", "text")),
        ("look for a.b(c)", Find("a.b(c)", "text")),
        ("find undefined_names", Find("undefined_names", "text")),
        ("find whereabouts", Find("whereabouts", "text")),
        ("find the definition of main", Find("main", "definition")),
        ("where is main defined?", Find("main", "definition")),
        ("where's main", Find("main", "definition")),
        ("find all usages of main", Find("main", "usages")),
        ("list the references to main", Find("main", "usages")),
        ("run the tests", RunTests()),
        ("Run all tests.", RunTests()),
        ("please re-run the unit tests!", RunTests()),
        ("could you run the tests, please", RunTests()),
        ("git status", GitStatus()),
        ("show me the status", GitStatus()),
        ("what has changed?", GitStatus()),
        ("git diff", GitDiff()),
        ("show the diff", GitDiff()),
        ("show me the staged diff", GitDiff(staged=True)),
        ("git diff --cached", GitDiff(staged=True)),
    ],
)
def test_a_request_in_these_words_means_this(text: str, intent: Intent) -> None:
    assert parse(text) == [intent]


@pytest.mark.parametrize(
    "text",
    [
        "find a and then run the tests and then git diff",
        "find a, then run the tests; then git diff",
        "find a\nrun the tests\ngit diff",
        "- find a\n- run the tests\n- git diff",
        "1. find a\n2) run the tests\n* please git diff",
        "\n\nFind a;  run the tests.\n\n  git diff\n",
    ],
)
def test_joined_requests_are_done_one_after_the_other(text: str) -> None:
    assert parse(text) == [Find("a", "text"), RunTests(), GitDiff()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n ",
        "and then",
        "explain this code",
        "add a flag and run the tests",
        "fix the bug and then run the tests",
        "run the tests and then fix what fails",
        "run the tests and commit",
        "find out why the tests fail",
        "find a bug in the parser",
        "replace the parser with a better one",
        "replace foo with bar and run the tests",
        "replace foo with bar in a.py and run the tests",
        "replace foo with bar in a.py but not in b.py",
        "replace foo",
        "change the colour of the button to blue",
        "change how errors are shown to users",
        "what does the diff mean",
        "show me how main works",
        "git push --force",
        "git status --porcelain; rm -rf /",
        "status of the release",
        "test the parser with odd input",
        "write tests",
        "run the tests in a loop until they pass",
        "rename words to tokens",
        "delete everything",
        "hello",
    ],
)
def test_a_request_that_is_not_wholly_one_of_theirs_is_left_alone(text: str) -> None:
    assert parse(text) is None


def test_every_example_they_give_is_one_they_take() -> None:
    for example, _ in CAN_DO:
        for text in example.split(", "):
            assert parse(text), text


# ── the model


def reply(said: str, results: tuple[str, ...] = (), tools: tuple[str, ...] = ("grep", "Read")) -> list[object]:
    messages = (Message(Role.SYSTEM, "…"), Message(Role.USER, said), *(Message(Role.TOOL, r) for r in results))
    request = Request("builtin", messages, tuple(ToolSchema(name, "", {}) for name in tools))

    async def collect() -> list[object]:
        return [part async for part in OfflineRules(lambda: ["a model found here"]).stream(request)]

    return asyncio.run(collect())


def test_the_same_request_and_results_give_the_same_reply() -> None:
    assert reply("find main") == reply("find main")
    (call, end) = reply("find main")
    assert isinstance(call, CallPart)
    assert (call.call.name, json.loads(call.call.arguments)["pattern"]) == ("grep", "main")
    assert end == EndPart(Finish.TOOL_CALLS)
    (text, end) = reply("find main", ("a.py:1:main",))
    assert isinstance(text, TextPart)
    assert "a.py:1:main" in text.text
    assert end == EndPart(Finish.STOP)


def test_what_it_cannot_do_is_said_with_what_it_can_and_how_to_connect_a_model() -> None:
    (text, end) = reply("explain this code")
    assert isinstance(text, TextPart)
    assert "Nothing was run" in text.text
    assert all(example in text.text for example, _ in CAN_DO)
    assert "a model found here" in text.text
    assert "quintet settings" in text.text
    assert end == EndPart(Finish.REFUSED)


def test_a_tool_it_would_need_and_does_not_have_is_named_before_anything_is_done() -> None:
    (text, end) = reply("replace a with b", tools=("grep", "Read"))
    assert isinstance(text, TextPart)
    assert "Nothing was done: this needs Edit" in text.text
    assert end == EndPart(Finish.REFUSED)


@pytest.mark.parametrize("intent", [Find("main", "text"), GitStatus(), GitDiff(), RunTests(), Replace("a", "b")])
def test_a_call_that_was_not_run_is_never_reported_as_a_result(intent: Intent) -> None:
    steps = program(intent)
    next(steps)
    try:
        while True:
            steps.send("not run: the user said no")
    except StopIteration as end:
        said: Said = end.value
    assert not said.done
    assert "1 place" not in said.text


def test_a_form_feed_does_not_hide_the_rest_of_a_file() -> None:
    steps = program(Replace("old", "new"))
    next(steps)
    steps.send("a.py")
    call = steps.send("1\told = 1\n2\t\x0cold = 2")
    assert isinstance(call, Call)
    with pytest.raises(StopIteration) as end:
        steps.send("--- a/a.py")
        steps.send("no matches")
    assert "2 places in 1 file" in end.value.value.text


# ── end to end, in a repository


def run(root: Path, text: str, axes: AxesChange = BUILD) -> tuple[p.TurnFinished, list[p.Event]]:
    async def turn() -> tuple[p.TurnFinished, list[p.Event]]:
        seen: list[p.Event] = []
        async with asyncio.timeout(30), open_session(str(root), axes=axes) as session:
            await session.say(text)
            async for item in session.events():
                if isinstance(item, p.Recorded):
                    seen.append(item.event)
                    if isinstance(item.event, p.TurnFinished):
                        return item.event, seen
        raise AssertionError("no end")

    return asyncio.run(turn())


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.parts and path.suffix != ".pyc"
    }


def test_replace_and_then_test_changes_the_files_and_reports_the_evidence(repo: Path) -> None:
    before = contents(repo)
    ended, _ = run(repo, "replace words with tokens in *.py and then run the tests")
    assert ended.status == "done", ended
    assert contents(repo) == {name: data.replace(b"words", b"tokens") for name, data in before.items()}
    assert "Replaced “words” with “tokens”: 5 places in 2 files" in ended.answer
    assert "“words” is gone from them" in ended.answer
    assert "Python files still parse" in ended.answer
    assert "Tests passed: python3 -m unittest discover -s tests" in ended.answer
    assert "Ran 2 tests" in ended.answer


@pytest.mark.parametrize("where", ["tally/*.py", "tally/count.py", "./tally/count.py", "tally/", "count.py"])
def test_replace_takes_globs_files_and_folders(repo: Path, where: str) -> None:
    ended, _ = run(repo, f"replace split with rsplit in {where}")
    assert ended.status == "done", ended.answer
    assert ".rsplit()" in (repo / "tally/count.py").read_text()


def test_a_replacement_that_breaks_python_changes_no_file_at_all(repo: Path) -> None:
    before = contents(repo)
    ended, events = run(repo, 'replace "def words(" with "def words)" in *.py')
    assert ended.status == "blocked"
    assert "tally/count.py would no longer parse as Python" in ended.answer
    assert contents(repo) == before
    assert not [event for event in events if isinstance(event, p.ToolStarted) and event.tool == "Edit"]


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
    ended, _ = run(repo, "replace nowhere with somewhere")
    assert ended.status == "blocked"
    assert "“nowhere” does not occur" in ended.answer
    assert contents(repo) == before


def test_failing_tests_are_reported_as_failed(repo: Path) -> None:
    ended, _ = run(repo, 'replace "len(text.split())" with "0" in count.py and then run the tests')
    assert ended.status == "blocked"
    assert "Tests FAILED" in ended.answer
    assert "failures=1" in ended.answer


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
