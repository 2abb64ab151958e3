"""`quintet memory`, `/memory`, the doctor and the tool: the same memories through every door."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.cli.main import main
from quintet.domain.base.errors import UsageError
from quintet.features.memory import pages
from quintet.features.memory.store import MemoryStore, database
from quintet.features.memory.values import CommandCheck, NewMemory, PathCheck, TextCheck, Tier, parse_check
from quintet.testing import ScriptedModel
from tests.engine.driving import Driver, drive
from tests.tools.calling import Caller


@pytest.fixture
def here(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(repo)
    return repo


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main([*words]) == code, capsys.readouterr().err
    told = capsys.readouterr()
    return told.err if code else told.out


def data(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(said(capsys, *words, "--json"))


def test_a_memory_is_added_shown_changed_and_forgotten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing is remembered" in said(capsys, "memory")
    said(capsys, "memory", "add", "Releases", "are cut from main", "--check", "path:tally/count.py")
    made = data(capsys, "memory", "add", "`make` builds it", "--tier", "fact", "--check", "command:make")
    assert (made["id"], made["tier"], made["check"]) == ("m2", "fact", {"kind": "command", "line": "make"})
    table = said(capsys, "memory", "list").splitlines()
    assert table[0].split() == ["ID", "TIER", "DATE", "HOLDS", "TEXT"]
    assert [line.split()[0] for line in table[1:]] == ["m1", "m2"]
    assert "yes" in table[1] and "not run" in table[2]
    assert "not run" in said(capsys, "memory", "show", "m2")
    said(capsys, "memory", "edit", "m1", "Releases are cut from stable")
    assert data(capsys, "memory", "show", "m1")["text"] == "Releases are cut from stable"
    assert data(capsys, "memory", "show", "m1")["check"] == {"kind": "path", "path": "tally/count.py"}
    assert [one["id"] for one in data(capsys, "memory", "list", "stable")] == ["m1"]
    assert "forgot m1" in said(capsys, "memory", "forget", "m1")
    assert [one["id"] for one in data(capsys, "memory", "list")] == ["m2"]


WRONG = {
    ("show", "m9"): "there is no memory m9",
    ("forget", "m9"): "there is no memory m9",
    ("add",): "a memory needs a text",
    ("add", "x" * 600): "at most 500",
    ("add", "x", "--tier", "facct"): "Did you mean fact?",
    ("add", "x", "--check", "run:make"): "path:FILE",
    ("add", "x", "--check", "path:"): "path:FILE",
    ("import", "nowhere.md"): "cannot be read",
    ("import", "tally"): "cannot be read",
    ("import", "tally/count.py"): "no memory on this page",
    ("lost",): "not one of list, show",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_what_is_wrong_is_said(here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    said(capsys, "memory", "add", "one")
    capsys.readouterr()
    assert main(["memory", *words]) in (1, 2)
    assert WRONG[words] in " ".join(capsys.readouterr().err.split())


def test_a_page_is_not_written_through_a_link_of_the_project(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "profile").write_text("mine\n")
    (here / "MEMORY.md").symlink_to(mine / "profile")
    (here / "AGENTS.md").symlink_to("tally/count.py")
    (here / "notes").symlink_to(mine)
    said(capsys, "memory", "add", "Releases are cut from main")
    before = (here / "tally/count.py").read_text()
    for name in ("MEMORY.md", "AGENTS.md", "notes/new.md"):
        assert "a link of this project leads to" in said(capsys, "memory", "export", name, code=2)
    assert [one.name for one in mine.iterdir()] == ["profile"] and (mine / "profile").read_text() == "mine\n"
    assert (here / "tally/count.py").read_text() == before
    said(capsys, "memory", "export", str(mine / "page.md"))


def test_a_page_that_was_exported_is_imported_as_it_was(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "memory", "add", "Releases are cut from main", "--check", "text:tally/count.py:def words")
    said(capsys, "memory", "add", "`make` builds it", "--tier", "fact", "--check", "command:make")
    said(capsys, "memory", "add", "gone", "--check", "path:gone.py")
    assert "2 memories; 1 that no longer holds was left out" in said(capsys, "memory", "export", "MEMORY.md")
    page = (here / "MEMORY.md").read_text()
    assert page == said(capsys, "memory", "export")
    for id in ("m1", "m2", "m3"):
        said(capsys, "memory", "forget", id)
    assert "imported 2 memories from MEMORY.md" in said(capsys, "memory", "import", "MEMORY.md")
    found = [(one["tier"], one["text"], one["check"]) for one in data(capsys, "memory", "list")]
    assert found == [
        ("fact", "`make` builds it", {"kind": "command", "line": "make"}),
        (
            "decision",
            "Releases are cut from main",
            {"kind": "text", "path": "tally/count.py", "text": "def words"},
        ),
    ]
    assert data(capsys, "memory", "show", "m4")["source"] == "MEMORY.md, which you imported"


def test_a_page_is_read_item_by_item() -> None:
    page = "# Memory\n\nwords\n\n## Facts\n\n- one\n  - check: path:a.py\n  - evidence: seen\n\n## Other\n\n- not one\n"
    assert pages.read(page) == [NewMemory(Tier.FACT, "one", "seen", PathCheck("a.py"))]
    with pytest.raises(UsageError, match="line 4"):
        pages.read("## Facts\n\n- one\n  - check: nothing\n")


@pytest.mark.parametrize("check", [PathCheck("a b.py"), TextCheck("a.py", "x: y"), CommandCheck("make -j 2")])
def test_a_check_is_read_as_it_is_shown(check: Any) -> None:
    from quintet.features.memory.values import check_words

    assert parse_check(check_words(check)) == check


def test_secrets_are_taken_out_of_what_you_add(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    assert "hunter2" not in said(capsys, "memory", "add", "the token is hunter2-hunter2")
    assert b"hunter2" not in b"".join(path.read_bytes() for path in Path(locate(str(here)).state).glob("memory.db*"))


# ── the doctor


def test_a_memory_whose_check_no_longer_holds_is_found_and_marked(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "Makefile").write_text("build:\n")
    said(capsys, "memory", "add", "the build is make", "--check", "path:Makefile")
    said(capsys, "memory", "add", "the target is build", "--check", "text:Makefile:build:")
    said(capsys, "memory", "add", "`rm Makefile` works", "--check", "command:touch ran")
    assert "MEMORY_STALE" not in said(capsys, "doctor")
    (here / "Makefile").write_text("all:\n")
    assert 'm2 (Makefile no longer contains "build:")' in said(capsys, "doctor", code=0)
    (here / "Makefile").unlink()
    found = said(capsys, "doctor")
    assert "MEMORY_STALE" in found and "m1 (Makefile no longer exists)" in found and "m3" not in found
    assert "marked memory m1" in said(capsys, "doctor", "fix")
    assert "MEMORY_STALE" not in said(capsys, "doctor")
    with closing(MemoryStore(database(locate(str(here)).state))) as store:
        assert [one.stale for one in store.entries()] == [
            "Makefile no longer exists",
            "Makefile cannot be read",
            "",
        ]
    assert not (here / "ran").exists()
    assert "no: Makefile no longer exists" in said(capsys, "memory", "list")


def test_a_damaged_file_is_found(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(database(locate(str(here)).state))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no database" * 100)
    assert "MEMORY_DAMAGED" in said(capsys, "doctor")


# ── the tool


def test_the_model_looks_things_up(repo: Path) -> None:
    tools = Caller(repo)
    assert tools.ok("recall", query="tally") == "Nothing is remembered that matches."
    with closing(MemoryStore(database(locate(str(repo)).state))) as store:
        new = [
            NewMemory(Tier.DECISION, "the tally counts words"),
            NewMemory(Tier.FACT, "the tally is in gone.py", "", PathCheck("gone.py")),
        ]
        store.add(new, "you", "2026-01-01T00:00:00.000Z")
    found = tools.ok("recall", query="what is the tally?")
    assert "- [memory m1, decision, 2026-01-01, from you] the tally counts words" in found
    assert found.count("\n") == 1 and found.endswith("(no longer holds: gone.py no longer exists)")
    assert "m2" not in tools.ok("recall", query="tally", tier="decision")
    for wrong in ({"query": "the"}, {"query": "tally", "limit": 0}):
        assert "expected" in tools.fails("recall", **wrong)


# ── in a session


def test_the_words_of_the_command_line_are_those_of_a_session(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.command("/memory add Releases are cut from main")).text.startswith("remembered m1")
        assert "Releases" in (await driver.command("/memory")).text
        assert "decision" in (await driver.command("/memory show m1")).text
        assert (await driver.command("/memory edit m1 Releases are cut by hand")).ok
        assert "by hand" in (await driver.command("/memory list --json")).text
        assert not (await driver.command("/memory import x.md")).ok
        assert not (await driver.command("/memory lst")).ok
        assert (await driver.command("/memory forget m1")).text == "forgot m1: Releases are cut by hand"

    drive(repo, script, ScriptedModel([]))
