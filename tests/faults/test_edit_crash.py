"""A file is the old one or the new one, whatever ends the process that edits it."""

import asyncio
import itertools
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.app.open import open_session

KILLS = 80
SIZE = 300_000
# For each path it is told, a new process that edits that file for ever.
EDITOR = """
import asyncio, os, sys
from pathlib import Path
from tests.tools.calling import Caller

async def edit(path):
    tools = Caller(Path(sys.argv[1]))
    await tools.call("Read", file_path=path)
    print(os.getpid(), flush=True)
    while True:
        for old, new in ("ab", "ba"):
            await tools.call("Edit", file_path=path, old_string=old, new_string=new, replace_all=True)

print("ready", flush=True)
for line in sys.stdin:
    editor = os.fork()
    if not editor:
        asyncio.run(edit(line.strip()))
    os.waitpid(editor, 0)
    print("gone", flush=True)
"""
# Writes once, and stops where a kill would leave the most behind: everything is in the temporary file.
HALFWAY = """
import os, sys, time
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.files.write_record import WriteRecord

def stop(handle):
    print("written", flush=True)
    time.sleep(60)

os.fsync = stop
record = WriteRecord(sys.argv[3]) if sys.argv[3:] else None
ProjectFiles(sys.argv[1], record=record).replace(sys.argv[2], b"new")
"""
# Root without its rights over files is as anybody else.
CLOSED = """
import ctypes, sys
from pathlib import Path
from tests.tools.calling import Caller

header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None, use_errno=True).capset(header, nothing) == 0
print(Caller(Path(sys.argv[1])).fails("Write", file_path=sys.argv[2], content="new"))
"""
FULL = """
import resource, sys
from pathlib import Path
from tests.tools.calling import Caller

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(Caller(Path(sys.argv[1])).fails("Write", file_path="file.txt", content="n" * 5000))
"""


@contextmanager
def running(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has come to the point it reports, killed at the end of the block."""
    argv, pipe = [sys.executable, "-c", program, *arguments], subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout and child.stdout.readline()
        try:
            yield child
        finally:
            child.send_signal(signal.SIGKILL)


def left_in(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".quintet-")]


def test_an_editor_killed_at_any_moment_leaves_the_old_file_or_the_new_one(repo: Path) -> None:
    moments, longest = random.Random(7), 0.02
    path, link = repo / "tally/data.txt", repo / "link.txt"
    path.write_bytes(b"a" * SIZE)
    path.chmod(0o640)
    link.symlink_to("tally/data.txt")
    seen: set[bytes] = set()
    with running(EDITOR, str(repo)) as editors:
        assert editors.stdin and editors.stdout
        for number in itertools.count():
            if number >= KILLS:
                if seen == {b"a", b"b"}:
                    break
                longest *= 2  # on a busy machine an edit takes its time
                assert longest < 120, seen
            editors.stdin.write(b"link.txt\n" if number % 2 else b"tally/data.txt\n")
            editors.stdin.flush()
            editor = int(editors.stdout.readline())
            time.sleep(moments.uniform(0, longest))
            os.kill(editor, signal.SIGKILL)
            assert editors.stdout.readline() == b"gone\n"
            content = path.read_bytes()
            assert content in (b"a" * SIZE, b"b" * SIZE), f"kill {number}: {len(content)} bytes, {set(content)}"
            assert stat.S_IMODE(path.stat().st_mode) == 0o640
            assert link.is_symlink() and os.readlink(link) == "tally/data.txt"
            assert len(left_in(path.parent)) <= 1, "what the one before left was removed"
            seen.add(content[:1])
    ProjectFiles(str(repo)).replace("tally/other.txt", b"")
    assert left_in(path.parent) == []
    assert left_in(repo) == []


def test_what_a_killed_writer_left_is_removed_by_the_next_session_that_writes_there(repo: Path) -> None:
    (repo / "file.txt").write_text("old")
    with running(HALFWAY, str(repo), "file.txt"):
        assert len(left_in(repo)) == 1
        ProjectFiles(str(repo)).replace("other.txt", b"x")
        assert len(left_in(repo)) == 1, "its writer lives: it is not ours to remove"
    assert (repo / "file.txt").read_text() == "old" and len(left_in(repo)) == 1
    ProjectFiles(str(repo)).replace("other.txt", b"y")
    assert left_in(repo) == []


def test_what_a_killed_writer_left_is_removed_when_the_next_session_begins(repo: Path) -> None:
    places = locate(str(repo))
    seen = []

    async def begin() -> None:
        async with open_session(str(repo)):
            seen.append(len(left_in(repo / "docs/deep")))

    with running(HALFWAY, str(repo), "docs/deep/file.txt", places.writes):
        asyncio.run(begin())
    asyncio.run(begin())
    assert seen == [1, 0], "while its writer lives, it is not ours to remove"
    assert os.listdir(places.writes) == []


@pytest.mark.parametrize("name", [".quintet-notes", ".quintet-1", ".quintet", ".quintet-1-x"])
def test_a_persons_own_file_of_a_like_name_is_left_alone(repo: Path, name: str) -> None:
    (repo / name).write_text("mine")
    ProjectFiles(str(repo)).replace("other.txt", b"x")
    assert (repo / name).read_text() == "mine"


def test_a_write_into_a_folder_that_is_read_only_names_the_folder(repo: Path) -> None:
    (repo / "closed").mkdir(mode=0o555)
    for path, told in (("closed/file.txt", "closed/file.txt"), ("closed/new/file.txt", "closed/new")):
        argv = [sys.executable, "-c", CLOSED, str(repo), path]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60)
        assert done.stdout.strip() == f"{told}: the folder closed cannot be written to (Permission denied)", done


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(repo: Path) -> None:
    (repo / "file.txt").write_text("old")
    argv = [sys.executable, "-c", FULL, str(repo)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60)
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout
    assert (repo / "file.txt").read_text() == "old"
    assert left_in(repo) == []
