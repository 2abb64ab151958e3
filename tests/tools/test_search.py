"""grep and glob, with the ripgrep that ships with Quintet."""

from pathlib import Path

import pytest
from msgspec import structs

from quintet.adapters.processes.processes import LocalProcesses
from quintet.domain.ports.ports import Finished
from quintet.engine.turn.toolbox import ToolAccess
from tests.tools.calling import Caller


def test_grep_lists_files_lines_or_counts(tools: Caller) -> None:
    assert tools.ok("grep", pattern="words") == "tally/count.py\ntests/test_count.py"
    assert (
        tools.ok("grep", pattern="def words", output_mode="content") == "tally/count.py:1:def words(text: str) -> int:"
    )
    assert tools.ok("grep", pattern="words", output_mode="count") == "tally/count.py:2\ntests/test_count.py:3"
    assert tools.ok("grep", pattern="nowhere") == "no matches"


@pytest.mark.parametrize(
    ("flags", "lines"),
    [
        ({"-i": True, "pattern": "DEF WORDS"}, ["1:def words(text: str) -> int:"]),
        ({"-n": False, "pattern": "def words"}, ["def words(text: str) -> int:"]),
        (
            {"-A": 1, "pattern": "def words"},
            ["1:def words(text: str) -> int:", '2-    """How many words `text` has."""'],
        ),
        ({"-B": 1, "pattern": "return"}, ['2-    """How many words `text` has."""', "3:    return len(text.split())"]),
        (
            {"multiline": True, "pattern": "int:.*How many"},
            ["1:def words(text: str) -> int:", '2:    """How many words `text` has."""'],
        ),
    ],
    ids=["-i", "-n", "-A", "-B", "multiline"],
)
def test_grep_takes_the_flags_a_model_knows_from_ripgrep(
    tools: Caller, flags: dict[str, object], lines: list[str]
) -> None:
    said = tools.ok("grep", output_mode="content", path="tally", **flags)
    shown = [line.removeprefix("tally/count.py")[1:] for line in said.splitlines()]
    assert shown == lines


def test_grep_narrows_by_path_glob_and_type(tools: Caller) -> None:
    (tools.root / "notes.md").write_text("words\n")
    assert tools.ok("grep", pattern="words", path="tests") == "tests/test_count.py"
    assert tools.ok("grep", pattern="words", glob="*.md") == "notes.md"
    assert tools.ok("grep", pattern="words", type="py") == "tally/count.py\ntests/test_count.py"
    assert tools.ok("grep", pattern="words", head_limit=1) == "notes.md\n(2 more)"


def test_a_pattern_or_path_that_looks_like_a_flag_is_none(tools: Caller) -> None:
    (tools.root / "dash.txt").write_text("--version\n")
    assert tools.ok("grep", pattern="--version") == "dash.txt"
    assert tools.ok("glob", pattern="--version") == "no files match"
    assert "No such file" in tools.fails("grep", pattern="x", path="--version")


def test_a_pattern_that_is_no_regular_expression_is_explained(tools: Caller) -> None:
    assert "unclosed group" in tools.fails("grep", pattern="(")
    assert "unrecognized file type" in tools.fails("grep", pattern="x", type="nonsense")


def test_ignored_files_are_left_alone(tools: Caller) -> None:
    (tools.root / ".gitignore").write_text("build/\n")
    (tools.root / "build").mkdir()
    (tools.root / "build/out.py").write_text("words\n")
    assert tools.ok("grep", pattern="words") == "tally/count.py\ntests/test_count.py"
    assert tools.ok("glob", pattern="**/*.py").splitlines() == [
        "tally/__init__.py",
        "tally/count.py",
        "tests/__init__.py",
        "tests/test_count.py",
    ]


def test_the_persons_own_ripgrep_configuration_changes_nothing(tools: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tools.root.parent / "ripgreprc"
    config.write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert tools.ok("grep", pattern="nowhere") == "no matches"


def test_glob_finds_hidden_files_but_not_gits_own(tools: Caller) -> None:
    (tools.root / ".github").mkdir()
    (tools.root / ".github/ci.yml").write_text("")
    assert tools.ok("glob", pattern="**/*.yml") == ".github/ci.yml"
    assert ".git/config" not in tools.ok("glob", pattern="**")


def test_a_long_list_of_files_is_cut_between_names_and_counted(tools: Caller) -> None:
    folder = tools.root / "many"
    folder.mkdir()
    names = [f"a-rather-long-name-for-a-small-file-{number:04}.txt" for number in range(1500)]
    for name in names:
        (folder / name).touch()
    *listed, more = tools.ok("glob", pattern="many/*.txt").splitlines()
    assert listed == [f"many/{name}" for name in names[: len(listed)]]
    assert more == f"({1500 - len(listed)} more)"


class Cut(LocalProcesses):
    """Stops every search before its end, with some of what ripgrep would have said."""

    said = ""

    async def run(self, *arguments: object, **options: object) -> Finished:  # type: ignore[override]
        return Finished(-15, self.said, timed_out=True)


@pytest.mark.parametrize(
    ("tool", "mode", "said", "shown"),
    [
        ("grep", "files_with_matches", "./b.py\0./a.py\0./half a na", ["a.py", "b.py"]),
        ("grep", "content", "./a.py\x001:one\n./a.py\x002:half a li", ["a.py:1:one"]),
        ("glob", "", "./a.py\0./ha", ["a.py"]),
    ],
)
def test_a_search_that_takes_too_long_shows_what_it_found_and_says_so(
    tools: Caller, tool: str, mode: str, said: str, shown: list[str]
) -> None:
    cut = Cut(tools.containment)
    cut.said = said
    bench = structs.replace(tools.toolbox.outside._bench, processes=cut)
    tools.toolbox = tools.toolbox.with_access(ToolAccess(bench), tools.toolbox.specs)
    found = tools.ok(tool, pattern="*" if tool == "glob" else "o", **({"output_mode": mode} if mode else {}))
    *lines, note = found.splitlines()
    assert lines == shown and "there may be more" in note


def test_a_search_that_would_never_end_is_stopped(
    tools: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = tmp_path / "ripgrep"
    endless.write_text("#!/bin/sh\nexec sleep 3600\n")
    endless.chmod(0o755)
    monkeypatch.setattr("quintet.tools.search.SEARCH_SECONDS", 0.1)
    bench = structs.replace(tools.toolbox.outside._bench, ripgrep=str(endless))
    tools.toolbox = tools.toolbox.with_access(ToolAccess(bench), tools.toolbox.specs)
    assert "more than 0.1 s and found nothing" in tools("grep", pattern="o").content


def test_a_folder_that_cannot_be_read_is_named_beside_what_was_found(tools: Caller, blind_ripgrep: str) -> None:
    unreadable = tools.root / "pgdata"
    unreadable.mkdir(mode=0)
    bench = structs.replace(tools.toolbox.outside._bench, ripgrep=blind_ripgrep)
    tools.toolbox = tools.toolbox.with_access(ToolAccess(bench), tools.toolbox.specs)
    note = "(not searched: pgdata (Permission denied))"
    assert tools.ok("grep", pattern="words") == f"tally/count.py\ntests/test_count.py\n{note}"
    assert tools.ok("grep", pattern="words", output_mode="count") == (
        f"tally/count.py:2\ntests/test_count.py:3\n{note}"
    )
    assert tools.ok("grep", pattern="nowhere") == f"no matches\n{note}"
    assert tools.ok("glob", pattern="tally/*.py") == f"tally/__init__.py\ntally/count.py\n{note}"
    assert "Permission denied" in tools.fails("grep", pattern="words", path="pgdata")
