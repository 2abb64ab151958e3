"""The index follows the project: what is new or changed goes in, what is gone or secret is out, whatever happens."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from quintet.app.machine_parts import find_ripgrep
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.features.index import build
from quintet.features.index.build import Brought, Job
from quintet.features.index.indexer import IndexTask
from quintet.features.index.search import find_symbols
from quintet.features.index.store import IndexStore, is_written, writing
from tests.features.index.made import FILES, bring, opened, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write(root, FILES)
    return root


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "state" / "index.db"


def paths(index: Path) -> set[str]:
    store = IndexStore(str(index))
    try:
        return set(store.known())
    finally:
        store.close()


def declared(index: Path, name: str) -> list[str]:
    store = IndexStore(str(index))
    try:
        return [f"{one.path}:{one.line}" for one in find_symbols(store, name) if one.name == name]
    finally:
        store.close()


def test_what_changed_goes_in_and_what_is_gone_goes_out(project: Path, index: Path) -> None:
    assert bring(project, index) == Brought(6, 6, 0)
    assert declared(index, "total_price") == ["shop/price.py:3"]
    write(project, {"shop/price.py": "\n\n\n\ndef total_price(items): pass\n", "shop/new.py": "def fresh(): pass\n"})
    (project / "web/view.ts").unlink()
    done = bring(project, index)
    assert (done.files, done.removed) == (6, 1)
    assert declared(index, "total_price") == ["shop/price.py:5"]
    assert declared(index, "fresh") == ["shop/new.py:1"]
    assert declared(index, "CartView") == []


def test_a_file_is_read_again_only_if_its_size_or_time_differ(project: Path, index: Path) -> None:
    for name in FILES:
        os.utime(project / name, (1_000_000, 1_000_000))
    bring(project, index)
    assert bring(project, index) == Brought(6, 0, 0)
    os.utime(project / "notes.md", (2_000_000, 2_000_000))
    assert bring(project, index) == Brought(6, 1, 0)


def test_what_git_ignores_and_what_is_secret_stays_out(project: Path, index: Path) -> None:
    write(project, {".gitignore": "built/\n", "built/x.py": "a = 1", ".env": "TOKEN=1", "id_rsa": "key"})
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    bring(project, index)
    assert paths(index) == {*FILES, ".gitignore"}


def test_a_submodule_and_names_that_differ_in_case_are_each_what_they_are(repo: Path, index: Path) -> None:
    write(repo, {"Shop.py": "class Shop:\n    pass\n", "shop.py": "def shop():\n    pass\n"})
    other = repo.parent / "other"
    write(other, {"till.py": "def ring(): pass\n"})
    for folder, *words in (
        (other, "init", "-q"),
        (other, "add", "."),
        (other, "commit", "-qm", "A till"),
        (repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "lib/other"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    bring(repo, index)
    assert declared(index, "Shop") == ["Shop.py:1"] and declared(index, "shop") == ["shop.py:1"]
    assert declared(index, "ring") == ["lib/other/till.py:1"]
    assert "lib/other/.git" not in paths(index)


def test_what_becomes_secret_goes_out(project: Path, index: Path) -> None:
    bring(project, index)
    assert bring(project, index, PROTECTION.with_settings(("notes.md",), ())).removed == 1
    assert paths(index) == set(FILES) - {"notes.md"}


def test_a_build_that_was_killed_is_gone_on_with(project: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in is right, and is not read again."""
    write(project, {f"many/m{number}.py": f"def made_{number}(): pass\n" for number in range(120)})
    for path in project.rglob("*.*"):
        os.utime(path, (1_000_000, 1_000_000))
    monkeypatch.setattr(build, "COMMIT_FILES", 1)

    class Killed(Exception):
        pass

    def stop(done: int, of: int) -> None:
        raise Killed

    with pytest.raises(Killed), opened(project, index) as (_, builder):
        builder.bring(stop)
    inside = paths(index)
    assert 0 < len(inside) < 126
    assert bring(project, index).read == 126 - len(inside)
    assert [declared(index, f"made_{number}") for number in range(120)] == [[f"many/m{n}.py:1"] for n in range(120)]


def test_a_file_that_ends_its_reader_goes_in_by_name_and_the_others_whole(
    project: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = build.FileReader._asked

    def ends(self: build.FileReader, batch: list[tuple[str, bytes]]) -> object:
        if any(path == "notes.md" for path, _ in batch):
            self.close()
            return None
        return asked(self, batch)

    monkeypatch.setattr(build.FileReader, "_asked", ends)
    assert bring(project, index).files == 6
    assert declared(index, "total_price") == ["shop/price.py:3"]
    assert paths(index) == set(FILES)


def test_one_process_writes_at_a_time(index: Path) -> None:
    assert not is_written(str(index))
    with writing(str(index)) as mine, writing(str(index)) as other:
        assert (mine, other) == (True, False)
        assert is_written(str(index))
    assert not is_written(str(index))


def test_the_indexer_ends_with_who_started_it_and_says_how_far_it_is(project: Path, index: Path) -> None:
    task = IndexTask(str(index), Job(str(project), PROTECTION, find_ripgrep()))
    argv = [sys.executable, "-P", "-m", "quintet.features.index.indexer"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        child.stdin.write(msgspec.json.encode(task) + b"\n")
        child.stdin.flush()
        said = [msgspec.json.decode(child.stdout.readline()) for _ in range(2)]
        assert [(one["looks"], one["done"], one["of"]) for one in said] == [(0, 6, 6), (1, 0, 0)]
        write(project, {"shop/new.py": "def fresh(): pass\n"})
        child.stdin.write(b"look\n")
        child.stdin.flush()
        while msgspec.json.decode(child.stdout.readline())["looks"] < 2:
            pass
        assert declared(index, "fresh") == ["shop/new.py:1"]
        child.stdin.close()
        assert child.wait(60) == 0


def test_an_indexer_that_is_killed_leaves_no_reader_behind(project: Path, index: Path) -> None:
    task = IndexTask(str(index), Job(str(project), PROTECTION, find_ripgrep()))
    argv = [sys.executable, "-P", "-m", "quintet.features.index.indexer"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        child.stdin.write(msgspec.json.encode(task) + b"\n")
        child.stdin.flush()
        while msgspec.json.decode(child.stdout.readline())["looks"] < 1:
            pass
        readers = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        assert len(readers) == 1
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
    while os.path.exists(f"/proc/{readers[0]}/cmdline") and Path(f"/proc/{readers[0]}/cmdline").read_bytes():
        pass  # the time limit of the suite ends this if it stays
    assert bring(project, index).files == 6


def test_no_reader_is_left_where_what_it_reads_cannot_be_taken_in(project: Path, index: Path) -> None:
    write(project, {f"many/{number}.txt": f"word{number}\n" for number in range(2_000)})

    def full(done: int, of: int) -> None:
        raise OSError("no room")

    with opened(project, index) as (_, builder), pytest.raises(OSError, match="no room"):
        builder.bring(full)
    until = time.monotonic() + 60.0
    while any(thread.name == build.READER for thread in threading.enumerate()):
        assert time.monotonic() < until, "a reader waits for somebody who is gone"
        time.sleep(0.02)
