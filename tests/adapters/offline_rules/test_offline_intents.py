"""The other things the offline rules do, for real: facts, tests, lint and format, files, git; step after step."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from tests.adapters.offline_running import CHAT, calls, contents, run

pytestmark = pytest.mark.usefixtures("replays")
RESTRICTED = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text)


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def yes(_: p.QuestionAsked) -> str:
    return "y"


def tools_run(events: list[p.Event]) -> list[str]:
    return [event.tool for event in events if isinstance(event, p.ToolStarted) and not event.tool.startswith("menu_")]


# ── facts


def test_a_summary_is_facts_and_needs_no_more_than_reading(repo: Path) -> None:
    write(repo, README__md="\n# Tally\n\nCounts.\n", pyproject__toml='[project.scripts]\ntally = "tally.main:run"\n')
    write(repo, main__go="package main\n")
    ended, events = run(repo, "summarise the project", RESTRICTED)
    assert ended.status == "done", ended
    rows = {line.split("  ")[0]: line for line in ended.answer.splitlines()}
    assert rows["name"].endswith("Tally  (README.md)")
    assert rows["size"].endswith("5 text files, 21 lines")
    assert "Python (2 files, 14 lines), Markdown (1 file, 4 lines), Go (1 file, 1 line)" in rows["languages"]
    assert rows["entries"].endswith("main.go, tally = tally.main:run")
    assert rows["tests"].endswith("1 file, 11 lines")
    assert rows["commits"].endswith("Ada Test  A small package")
    assert set(tools_run(events)) <= {"grep", "Read", "git_log"}


def test_an_empty_folder_is_summarised_too(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    ended, _ = run(folder, "summarise the project", RESTRICTED)
    assert (ended.status, ended.answer) == ("done", "The project has no text files.")


# ── the project's own runner

FOUND = "python3 -m unittest discover"


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"Cargo.toml": ""}, "cargo test"),
        ({"go.mod": ""}, "go test ./..."),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test"),
        (
            {"package.json": '{"scripts": {"test": "echo no test specified"}}', "Makefile": "test:\n\ttrue\n"},
            "make test",
        ),
        ({"package.json": "{not json", "test_a.py": "import unittest\n"}, FOUND),
        ({"Makefile": "test:\n\ttrue\n"}, "make test"),
        ({"pytest.ini": ""}, "python3 -m pytest -q"),
        ({"pkg/tests/test_a.py": "def test_a(): ...\n"}, "python3 -m pytest -q"),
        ({"pkg/tests/test_a.py": "import unittest\n"}, FOUND),
        ({"test/test_a.py": "import unittest\n"}, f"{FOUND} -s test"),
        ({"Makefile": "build:\n\ttrue\n"}, None),
        ({"notes.txt": "test: none\n"}, None),
    ],
)
def test_the_projects_own_runner_is_found_from_its_files(
    tmp_path: Path, files: dict[str, str], command: str | None
) -> None:
    root = tmp_path / "project"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    asked: list[str] = []

    def no(question: p.QuestionAsked) -> str:
        asked.append(question.text)
        return "n"

    ended, _ = run(root, "run the tests", CHAT, no)
    assert ended.status == "blocked"
    if command is None:
        assert asked == []
        assert "No tests run: found no" in ended.answer
    else:
        assert asked == [f"Run: {command}?"]
        assert ended.answer == "Tests not run: the user said no"


def test_a_runner_that_is_not_the_projects_is_not_run(repo: Path) -> None:
    ended, events = run(repo, "run cargo test")
    assert "tests run with python3 -m unittest discover -s tests, not with cargo test" in ended.answer
    assert calls(events, "bash") == []


# ── lint and format


def test_without_a_configured_tool_nothing_is_linted_or_formatted(repo: Path) -> None:
    write(repo, pyproject__toml="[project]\nname = 'x'\n")
    for request, word in (("lint the code", "linter"), ("format the code", "formatter")):
        ended, events = run(repo, request)
        assert ended.status == "blocked"
        assert f"the project configures no {word}" in ended.answer
        assert calls(events, "bash") == []


def test_ruff_formats_and_lints_where_the_project_configures_it(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    write(repo, pyproject__toml="[tool.ruff]\nfix = true\n")
    (repo / "tally/odd.py").write_text("import os\nx = {  'a':1 }\n")
    ended, events = run(repo, "lint and format")
    assert [json.loads(call)["command"] for call in calls(events, "bash")] == [
        "ruff format .",
        "ruff format --check .",
        "ruff check --no-fix .",
    ]
    assert 'x = {"a": 1}' in (repo / "tally/odd.py").read_text()
    assert "import os" in (repo / "tally/odd.py").read_text(), "linting changes nothing"
    assert "checked  ruff format --check .: nothing left to format" in ended.answer
    assert "NOT clean: ruff check --no-fix ." in ended.answer
    assert (ended.status, ended.delivery) == ("done", "NEEDS_WORK")


@pytest.mark.parametrize(
    ("files", "request_", "commands"),
    [
        ({"pyproject.toml": "[tool.black]\n[tool.ruff]\n"}, "format the code", "black -q ."),
        ({"setup.cfg": "[flake8]\n"}, "lint", "flake8 ."),
        ({"go.mod": ""}, "lint", "go vet ./..."),
        ({"Cargo.toml": ""}, "format", "cargo fmt"),
        ({"package.json": '{"scripts": {"lint": "eslint ."}, "eslintConfig": {}}'}, "lint", "npm run lint"),
        ({".prettierrc": ""}, "format", "npx --no-install prettier --write ."),
        ({"eslint.config.mjs": ""}, "lint", "npx --no-install eslint ."),
        ({"vendor/pyproject.toml": "[tool.ruff]\n"}, "lint", None),
    ],
)
def test_only_tools_that_the_project_itself_configures_are_run(
    tmp_path: Path, files: dict[str, str], request_: str, commands: str | None
) -> None:
    root = tmp_path / "project"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    asked: list[str] = []

    def no(question: p.QuestionAsked) -> str:
        asked.append(question.text.removeprefix("Run: ").removesuffix("?"))
        return "n"

    run(root, request_, CHAT, no)
    assert asked == ([commands] if commands else [])


# ── files


def test_a_file_is_added_with_its_content_and_never_over_another(repo: Path) -> None:
    ended, _ = run(repo, 'create docs/notes.txt with the text "hello there" and then create the file empty.txt')
    assert ended.status == "done", ended.answer
    assert (repo / "docs/notes.txt").read_text() == "hello there\n"
    assert (repo / "empty.txt").read_bytes() == b""
    ended, _ = run(repo, 'write "other" to docs/notes.txt')
    assert "docs/notes.txt already exists" in ended.answer
    assert (repo / "docs/notes.txt").read_text() == "hello there\n"


def test_a_python_file_that_would_not_compile_is_not_added(repo: Path) -> None:
    ended, _ = run(repo, 'create a.py with the text "def ("')
    assert ended.status == "blocked"
    assert not (repo / "a.py").exists()


def test_a_file_is_moved_and_never_over_another(repo: Path) -> None:
    write(repo, a__txt="a\n", b__txt="b\n")
    ended, _ = run(repo, "move a.txt into notes")
    assert ended.status == "done", ended.answer
    assert (repo / "notes/a.txt").read_text() == "a\n"
    for line, why in (
        ("move b.txt to notes/a.txt", "notes/a.txt already exists"),
        ("move gone.txt to x.txt", "there is no gone.txt"),
        ("move ./notes to other/", "./notes: a folder, not a file"),
        ("delete ./notes", "./notes: a folder, not a file"),
    ):
        ended, _ = run(repo, line)
        assert (ended.status, why in ended.answer) == ("blocked", True), ended.answer
    assert (repo / "b.txt").exists()


def test_moving_a_module_that_its_tests_miss_is_taken_back(repo: Path) -> None:
    before = contents(repo)
    ended, _ = run(repo, "move tally/count.py to tally/counting.py")
    assert (ended.status, ended.delivery) == ("done", "NEEDS_WORK")
    assert "The tests fail with it" in ended.answer
    assert "Rolled back" in ended.answer
    assert contents(repo) == before


def test_deleting_asks_in_chat_and_names_who_imports_it(repo: Path) -> None:
    chat = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
    ended, _ = run(repo, "delete tally/count.py", chat, lambda _: "n")
    assert ended.answer == "Nothing deleted. not run: the user said no"
    assert (repo / "tally/count.py").exists()
    ended, _ = run(repo, "delete tally/count.py")  # in build, what was kept first
    assert ended.status == "done"
    assert "tests/test_count.py:3:from tally.count import words" in ended.answer
    assert not (repo / "tally/count.py").exists()


# ── git


@pytest.fixture
def known(repo: Path) -> Path:
    """The repository with an author of its own: what is in the environment does not reach a tool."""
    git(repo, "config", "user.name", "Ada Test")
    git(repo, "config", "user.email", "ada@example.com")
    return repo


def test_a_commit_that_fails_leaves_nothing_staged_that_was_not(repo: Path) -> None:
    git(repo, "config", "user.useConfigOnly", "true")
    write(repo, a__txt="a\n")
    ended, _ = run(repo, 'commit all changes with message "By nobody"')
    assert (ended.status, "Nothing committed." in ended.answer) == ("blocked", True)
    assert git(repo, "status", "--short") == "?? a.txt\n"


def test_commit_takes_what_is_staged_and_nothing_else(known: Path) -> None:
    repo = known
    write(repo, a__txt="a\n", b__txt="b\n")
    ended, _ = run(repo, 'commit "Nothing"')
    assert ended.answer == 'Nothing committed: nothing is staged. Say: commit all changes with message "…"'
    git(repo, "add", "a.txt")
    ended, _ = run(repo, 'commit with message "Add a"')
    assert ended.status == "done", ended.answer
    assert git(repo, "show", "--format=%s", "--name-only").split() == ["Add", "a", "a.txt"]
    assert "checked  1 change left to commit" in ended.answer


def test_commit_all_stages_every_change_by_name_but_no_secret(known: Path) -> None:
    repo = known
    (repo / "new folder").mkdir()
    write(repo / "new folder", é__txt="x\n", b__txt="x\n")
    (repo / "tally/count.py").unlink()
    ended, events = run(repo, 'commit all changes with message "Everything" and then show the last commit')
    assert ended.status == "done", ended.answer
    assert git(repo, "status", "--short") == ""
    assert "checked  nothing left to commit" in ended.answer
    assert "Everything" in ended.answer.splitlines()[-1]
    assert json.loads(calls(events, "git_add")[0])["files"] == [
        "tally/count.py",
        "new folder/b.txt",
        "new folder/é.txt",
    ]
    (repo / "conf").mkdir()
    write(repo / "conf", __env="TOKEN=1\n")
    ended, _ = run(repo, 'commit everything with message "Oops"')
    assert "conf/.env is protected" in ended.answer
    assert git(repo, "log", "--format=%s", "-1") == "Everything\n"


def test_outside_a_repository_git_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    for request in ("git status", "git log", "show the diff", 'commit all changes with message "x"'):
        ended, _ = run(folder, request)
        assert (ended.status, "not a git repository" in ended.answer.lower()) == ("blocked", True), ended.answer


# ── several


def test_steps_are_done_in_order_and_stop_at_the_first_that_fails(repo: Path) -> None:
    ended, events = run(repo, "- rename words to tokens\n- delete gone.txt\n- run the tests")
    assert ended.status == "blocked"
    assert ended.answer.startswith("Renamed function words to tokens")
    assert ended.answer.endswith("Nothing deleted: there is no gone.txt")
    assert len(calls(events, "bash")) == 1, "the rename's own proof, and no more"


def test_tools_of_several_toolsets_are_reached_in_one_request(repo: Path) -> None:
    write(repo, a__txt="old\n")
    ended, _ = run(
        repo, "git log and then move a.txt to b.txt and then replace old with new in b.txt and then git diff"
    )
    assert ended.status == "done", ended.answer
    assert (repo / "b.txt").read_text() == "new\n"
