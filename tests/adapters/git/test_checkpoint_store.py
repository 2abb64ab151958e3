"""The shadow repository: byte-exact trees of any project, and nothing of the project's own git touched."""

import asyncio
import contextvars
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import pytest

from quintet.adapters.files.write_record import WriteRecord
from quintet.adapters.git import run_git
from quintet.adapters.git.checkpoint_store import INTERRUPTED, ShadowCheckpoints
from quintet.adapters.git.shadow_git import ShadowGit
from quintet.adapters.git.shadow_maintenance import Roots, ShadowMaintenance
from quintet.domain.base.errors import ToolFailed
from quintet.domain.journal.file_changes import FOLDER, FileChange, RewindPlan, plan, trails

T = TypeVar("T")


def run(work: Awaitable[T]) -> T:
    async def main() -> T:
        return await work

    return asyncio.run(main())


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=root, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def opened(root: Path, tmp_path: Path) -> ShadowCheckpoints:
    return ShadowCheckpoints(str(tmp_path / "checkpoints"), str(root))


def tree(store: ShadowCheckpoints, point: str = "t") -> str:
    return run(store.snapshot(point)).tree


def planned(store: ShadowCheckpoints, before: str, after: str) -> RewindPlan:
    found = trails(run(store.compare(before, after, folders=True)).changes)
    return plan(found, run(store.now(found)))


def back(store: ShadowCheckpoints, before: str, after: str) -> None:
    """Take back what differs between two trees; nothing may be left alone."""
    wanted = planned(store, before, after)
    assert not wanted.left
    assert run(store.restore(wanted.restore)) == []


def everything(root: Path) -> dict[str, tuple[str, bytes, bool]]:
    """Every file and link below a folder, but for git's own."""
    found = {}
    for folder, folders, names in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if name != b".git"]
        for name in [*names, *(n for n in folders if os.path.islink(os.path.join(folder, n)))]:
            path = os.path.join(folder, name)
            key = os.fsdecode(os.path.relpath(path, os.fsencode(root)))
            if os.path.islink(path):
                found[key] = ("link", os.readlink(path), False)
            else:
                found[key] = ("file", Path(os.fsdecode(path)).read_bytes(), os.access(path, os.X_OK))
    return found


def git_folder(root: Path) -> dict[str, bytes]:
    """All of a repository's own files, byte by byte."""
    return {str(path): path.read_bytes() for path in sorted((root / ".git").rglob("*")) if path.is_file()}


CHANGES = """
printf more >> tally/count.py; rm tests/__init__.py; chmod +x tests/test_count.py; ln -s tally/count.py link
mkdir -p made/deep; echo new > made/deep/file; printf '\\r\\n' > crlf; mv tally/__init__.py moved.py
rm -r tests; echo file > tests; touch same
"""


@pytest.mark.parametrize("large", [True, False])
def test_what_a_command_did_is_taken_back_byte_by_byte_and_the_projects_git_is_untouched(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr("quintet.adapters.git.shadow_git.LARGE_INDEX", 0 if large else 1_000_000)
    (repo / "same").write_text("touched and not changed")
    git(repo, "add", "-N", "same")
    store, own, files = opened(repo, tmp_path), git_folder(repo), everything(repo)
    before = tree(store)
    subprocess.run(["bash", "-c", CHANGES], cwd=repo, check=True)
    after = tree(store)
    assert everything(repo) != files
    back(store, before, after)
    assert everything(repo) == files
    assert not (repo / "made").exists() and (repo / "tests").is_dir()
    assert git_folder(repo) == own
    back(store, after, tree(store))  # and the taking back can be taken back
    assert (repo / "made/deep/file").read_text() == "new\n"


@pytest.mark.parametrize(
    "attributes", ["* text eol=crlf ident", "* text=auto", "* filter=loud", "*.txt working-tree-encoding=UTF-16"]
)
@pytest.mark.parametrize("autocrlf", ["true", "input", "false"])
def test_attributes_convert_nothing_and_no_filter_runs(
    repo: Path, tmp_path: Path, attributes: str, autocrlf: str
) -> None:
    ran = tmp_path / "ran"
    for side in ("clean", "smudge"):
        git(repo, "config", f"filter.loud.{side}", f"touch {ran}; cat")
    git(repo, "config", "filter.loud.process", f"touch {ran}; false")
    git(repo, "config", "core.fsmonitor", f"touch {ran}; false")
    git(repo, "config", "core.autocrlf", autocrlf)
    (repo / ".gitattributes").write_text(attributes + "\n")
    (repo / "both.txt").write_bytes("unix\nwindows\r\n$Id$\n".encode("utf-16" if "UTF-16" in attributes else "utf-8"))
    (repo / "windows.md").write_bytes(b"a\r\nb\r\n")
    git(repo, "-c", "filter.loud.process=", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false", "add", ".")
    ran.unlink(missing_ok=True)
    files = everything(repo)
    store = opened(repo, tmp_path)
    before = tree(store)
    for name in files:
        (repo / name).write_bytes(b"changed")
    back(store, before, tree(store))
    assert everything(repo) == files
    assert not ran.exists()


def test_files_that_git_is_told_not_to_look_at_are_looked_at(repo: Path, tmp_path: Path) -> None:
    git(repo, "update-index", "--assume-unchanged", "tally/count.py")
    git(repo, "update-index", "--skip-worktree", "tests/test_count.py")
    store, files = opened(repo, tmp_path), everything(repo)
    before = tree(store)
    for name in ("tally/count.py", "tests/test_count.py"):
        (repo / name).write_text("changed")
    back(store, before, tree(store))
    assert everything(repo) == files


def test_a_worktree_borrows_from_the_repository_it_belongs_to(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", str(other), "-b", "side")
    store, files = opened(other, tmp_path), everything(other)
    before = tree(store)
    (other / "tally/count.py").write_text("changed")
    back(store, before, tree(store))
    assert everything(other) == files
    assert git(other, "status", "--porcelain") == ""


def test_repositories_inside_are_named_and_left_to_themselves(repo: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "lib.c").write_text("int x;")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        git(library, *command)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    git(repo, "init", "-q", "empty")
    git(repo, "clone", "-q", str(library), "cloned")
    (repo / "empty/file").write_text("in a repository without commits")
    store = opened(repo, tmp_path)
    taken = run(store.snapshot("t"))
    assert set(taken.lacking) == {"sub/", "empty/", "cloned/"}
    (repo / "sub/lib.c").write_text("changed")
    (repo / "tally/count.py").write_text("changed")
    assert [c.path for c in run(store.compare(taken.tree, tree(store))).changes] == ["tally/count.py"]


def test_a_folder_without_git_is_kept_as_well_and_its_ignored_files_are_not(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / ".gitignore").write_text("*.log\n")
    (root / "a").write_text("a")
    (root / "b.log").write_text("b")
    store = opened(root, tmp_path)
    before = tree(store)
    (root / "a").write_text("changed")
    (root / "b.log").write_text("changed")
    back(store, before, tree(store))
    assert (root / "a").read_text() == "a" and (root / "b.log").read_text() == "changed"
    assert not (root / ".git").exists()


def test_names_that_are_no_text_come_back(repo: Path, tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(repo), b'caf\xe9 \n\t"x')
    Path(os.fsdecode(odd)).write_text("odd")
    store, files = opened(repo, tmp_path), everything(repo)
    before = tree(store)
    os.rename(odd, odd + b"2")
    back(store, before, tree(store))
    assert everything(repo) == files


def test_what_the_projects_and_the_users_git_ignore_is_ignored(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    (tmp_path / "mine").write_text("*.mine\n")
    (tmp_path / "home/.gitconfig").write_text(f"[core]\n\texcludesFile = {tmp_path}/mine\n")
    (repo / ".git/info/exclude").write_text("*.theirs\n")
    store = opened(repo, tmp_path)
    before = tree(store)
    for name in ("a.mine", "a.theirs"):
        (repo / name).write_text("x")
    assert tree(store) == before


def test_the_users_gc_takes_nothing_that_a_tidied_store_needs(repo: Path, tmp_path: Path) -> None:
    (repo / "staged.txt").write_text("only in the index\n")
    git(repo, "add", "staged.txt")
    store, files = opened(repo, tmp_path), everything(repo)
    before = tree(store)
    run(store.tidy(200))
    git(repo, "rm", "-q", "--cached", "staged.txt")
    git(repo, "checkout", "-q", "--orphan", "fresh")
    git(repo, "rm", "-rqf", "--cached", ".")
    git(repo, "branch", "-D", "main")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    for name in files:
        (repo / name).write_text("changed")
    back(store, before, tree(store))
    assert everything(repo) == files


def test_only_so_many_are_kept_and_the_disk_gets_its_space_back(repo: Path, tmp_path: Path) -> None:
    store = opened(repo, tmp_path)
    for number in range(20):
        (repo / "big.bin").write_bytes(random.Random(number).randbytes(20_000))
        tree(store, f"turn-{number}")
    run(store.tidy(0))
    size = _size(tmp_path / "checkpoints")
    run(store.tidy(5))
    assert run(store.kept()) == {f"turn-{number}" for number in range(15, 20)}
    assert _size(tmp_path / "checkpoints") < size / 2
    before = tree(store)
    (repo / "big.bin").write_bytes(b"")
    back(store, before, tree(store))
    assert (repo / "big.bin").stat().st_size == 20_000


def test_packing_leaves_no_loose_objects_and_loses_none(repo: Path, tmp_path: Path) -> None:
    store = opened(repo, tmp_path)
    trees = []
    for number in range(5):
        (repo / "tally/count.py").write_text(f"{number}\n")
        trees.append(tree(store))
        run(store.tidy(200))
    loose = list((tmp_path / "checkpoints/objects").glob("??/*"))
    assert loose == []
    for number, one in enumerate(trees):
        back(store, one, tree(store))
        assert (repo / "tally/count.py").read_text() == f"{number}\n"


def test_tidying_that_is_stopped_while_its_git_starts_does_not_wait_for_that_git(repo: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"

    class StoppedAtStart(ShadowGit):
        """One whose tidying is stopped after the last look whether it is, and before git is there."""

        def environment(self) -> dict[str, str]:
            maintenance.stop()
            return {**super().environment(), "GIT_TRACE2_EVENT": str(trace)}

    (repo / "new.txt").write_text("new\n")
    tree(opened(repo, tmp_path))
    folder = str(tmp_path / "checkpoints")
    (tmp_path / "checkpoints/index.tree").unlink()  # so that listing what is kept is the first thing git is for
    maintenance = ShadowMaintenance(StoppedAtStart(folder, str(repo)), Roots(folder))
    contextvars.copy_context().run(maintenance.run, 200)
    ended = [json.loads(line) for line in trace.read_text().splitlines()] if trace.exists() else []
    assert "exit" not in [event["event"] for event in ended]
    assert list((tmp_path / "checkpoints/objects").glob("??/*"))  # nothing is packed, nothing is gone


def test_two_processes_on_one_project_do_not_break_each_others_store(repo: Path, tmp_path: Path) -> None:
    program = """
import asyncio, pathlib, sys
from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
async def main(folder, root, name):
    store = ShadowCheckpoints(folder, root)
    for number in range(12):
        pathlib.Path(root, name).write_text(f"{name} {number}\\n")
        before = (await store.snapshot(f"{name}-{number}")).tree
        found = await store.compare(before, before)
        if number % 4 == 3:
            await store.tidy(6)
asyncio.run(main(*sys.argv[1:]))
"""
    folder = tmp_path / "checkpoints"
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), str(repo), name], stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    for process in both:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    store = opened(repo, tmp_path)
    before = tree(store)
    (repo / "one").write_text("changed")
    back(store, before, tree(store))
    assert (repo / "one").read_text() == "one 11\n"


def test_a_restore_that_is_interrupted_stops_and_says_what_it_left(repo: Path, tmp_path: Path) -> None:
    class Interrupting(WriteRecord):
        """Somebody interrupts while the second file is written."""

        def note(self, folder: str) -> None:
            written.append(folder)
            if len(written) == 2:
                store.stop_restoring()

    written: list[str] = []
    record = Interrupting(str(tmp_path / "writes"))
    store = ShadowCheckpoints(str(tmp_path / "checkpoints"), str(repo), record=record)
    names = [f"f{number}.txt" for number in range(5)]
    for name in names:
        (repo / name).write_text(name)
    before = tree(store)
    for name in names:
        (repo / name).unlink()
    after = tree(store)
    wanted = planned(store, before, after).restore
    left = run(store.restore(wanted))
    assert [(one.path, one.reason) for one in left] == [(name, INTERRUPTED) for name in names[2:]]
    assert [name for name in names if (repo / name).exists()] == names[:2]
    store.stop_restoring(False)
    rest = planned(store, before, after)
    assert run(store.restore(rest.restore)) == [] and all((repo / name).exists() for name in names)


def test_a_restore_that_is_killed_leaves_old_or_new_files_and_can_be_repeated(repo: Path, tmp_path: Path) -> None:
    names = [f"many/{number:03d}.txt" for number in range(400)]
    (repo / "many").mkdir()
    for name in names:
        (repo / name).write_text(f"old {name}\n" * 200)
    store = opened(repo, tmp_path)
    before, files = tree(store), everything(repo)
    for name in names:
        (repo / name).write_text(f"new {name}\n" * 300)
    after = tree(store)
    program = """
import asyncio, sys
from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
from quintet.domain.journal.file_changes import plan, trails
async def main(folder, root, before, after):
    store = ShadowCheckpoints(folder, root)
    found = trails((await store.compare(before, after)).changes)
    await store.restore(plan(found, await store.now(found)).restore)
asyncio.run(main(*sys.argv[1:]))
"""
    arguments = [str(tmp_path / "checkpoints"), str(repo), before, after]
    child = subprocess.Popen([sys.executable, "-c", program, *arguments])
    while (repo / names[3]).read_text().startswith("new") and child.poll() is None:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    child.wait()
    for name in names:
        assert (repo / name).read_text() in (f"old {name}\n" * 200, f"new {name}\n" * 300)
    again = planned(store, before, after)
    assert not again.left
    run(store.restore(again.restore))
    assert everything(repo) == files


def test_a_killed_git_leaves_no_lock_that_stands_in_the_way(repo: Path, tmp_path: Path) -> None:
    store = opened(repo, tmp_path)
    before = tree(store)
    (tmp_path / "checkpoints/index.lock").write_text("")
    (repo / "new").write_text("x")
    assert tree(store) != before


def test_a_damaged_index_is_made_anew(repo: Path, tmp_path: Path) -> None:
    store = opened(repo, tmp_path)
    before = tree(store)
    (tmp_path / "checkpoints/index").write_bytes(b"no index at all")
    assert tree(opened(repo, tmp_path)) == before


def test_a_link_that_took_a_folders_place_is_not_followed(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "count.py").write_text("not the project's")
    store, files = opened(repo, tmp_path), everything(repo)
    before = tree(store)
    subprocess.run(["bash", "-c", f"rm -r tally && ln -s {outside} tally"], cwd=repo, check=True)
    back(store, before, tree(store))
    assert everything(repo) == files
    assert (outside / "count.py").read_text() == "not the project's"


def test_access_bits_that_git_does_not_know_come_back_for_files_kept_one_by_one(repo: Path, tmp_path: Path) -> None:
    secret = repo / "key"
    secret.write_text("k")
    secret.chmod(0o600)
    store = opened(repo, tmp_path)
    before = run(store.keep("t", ["key"]))["key"]
    secret.unlink()
    wanted = plan(trails([FileChange("key", before, "")]), {"key": ""})
    run(store.restore(wanted.restore))
    assert secret.stat().st_mode & 0o777 == 0o600


def test_folders_are_states_of_their_own(repo: Path, tmp_path: Path) -> None:
    store = opened(repo, tmp_path)
    assert store.touched(["a/b/c.txt"]) == ["a", "a/b", "a/b/c.txt"]
    (repo / "a").mkdir()
    assert run(store.now(["a", "a/b"])) == {"a": FOLDER, "a/b": ""}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def many(root: Path, count: int) -> None:
    root.mkdir()
    for number in range(count):
        (root / f"f{number}.txt").write_text(f"file {number}\n")


def test_many_small_files_are_kept_in_one_pack_and_come_back(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    many(root, 1500)
    store = opened(root, tmp_path)
    before = tree(store)
    kept = [path for path in (tmp_path / "checkpoints/objects").rglob("*") if path.is_file()]
    assert len(kept) < 20
    (root / "f7.txt").write_text("changed\n")
    (root / "f8.txt").unlink()
    back(store, before, tree(store))
    assert (root / "f7.txt").read_text() == "file 7\n" and (root / "f8.txt").read_text() == "file 8\n"


@pytest.mark.parametrize(("bound", "most"), [("MOST_FILES", 10), ("MOST_BYTES", 50)])
def test_more_than_is_kept_of_a_project_is_said_before_anything_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(f"quintet.adapters.git.shadow_git.{bound}", most)
    many(tmp_path / "plain", 20)
    with pytest.raises(ToolFailed, match=r"and the limit is .*; open a smaller folder, or exclude files"):
        tree(opened(tmp_path / "plain", tmp_path))
    assert not [
        path for path in (tmp_path / "checkpoints/objects").rglob("*") if path.is_file() and path.stat().st_size
    ]


def test_a_snapshot_that_is_left_kills_its_git_and_the_next_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, programs = tmp_path / "plain", tmp_path / "slow-programs"
    many(root, 5)
    programs.mkdir()
    slow = programs / "git"
    real = run_git.git_program()
    slow.write_text(
        f'#!/bin/sh\necho $$ > {tmp_path}/pid\ncase "$*" in *update-index*) exec sleep 3600;; esac\nexec {real} "$@"\n'
    )
    slow.chmod(0o755)
    store = opened(root, tmp_path)

    async def left() -> None:
        work = asyncio.create_task(store.snapshot("t"))
        while not (tmp_path / "pid").exists() or "sleep" not in _command(int((tmp_path / "pid").read_text() or 0)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    monkeypatch.setattr("quintet.adapters.git.shadow_git.git_program", lambda: str(slow))
    run(left())  # which waits for its threads
    assert "sleep" not in _command(int((tmp_path / "pid").read_text()))
    monkeypatch.undo()
    assert len(git(root, f"--git-dir={tmp_path}/checkpoints", "ls-tree", "-r", tree(store)).splitlines()) == 5


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
