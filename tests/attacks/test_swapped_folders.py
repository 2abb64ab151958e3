"""A folder that a command in the background swaps for a link leads nowhere: no file tool, and no checkpoint.

ripgrep is held at the ignore file of a folder, which is a pipe: whoever opens its other end knows that the folder has
been looked at and its files have not been opened. git is held at the lease of a file, before it opens the next one.
That is where a second process makes the swap.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
from quintet.domain.permission.gate import Sandbox
from tests.attacks.world import put
from tests.tools.calling import Caller

KEY = "the-real-key"
SWAP = """
import ctypes, os, sys
held, one, other = sys.argv[1:]
handle = os.open(held, os.O_WRONLY)
assert ctypes.CDLL(None).renameat2(-100, one.encode(), -100, other.encode(), 2) == 0  # exchanged, in one step
os.close(handle)
"""
SWAP_AT_READING = """
import ctypes, fcntl, os, signal, sys
read, one, other = sys.argv[1:]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
handle = os.open(read, os.O_RDONLY)
fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)  # whoever opens it now waits
print(flush=True)
signal.sigwait([signal.SIGIO])
assert ctypes.CDLL(None).renameat2(-100, one.encode(), -100, other.encode(), 2) == 0
fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
"""
HELD = pytest.mark.parametrize("held", [".ignore", "sub/.ignore"])
WALLED = pytest.mark.parametrize(
    "kind", [pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap")), Sandbox.PARTIAL]
)


def _swapped(tools: Caller, held: str, one: str, other: str) -> "subprocess.Popen[bytes]":
    os.mkfifo(tools.root / held)
    return subprocess.Popen((sys.executable, "-c", SWAP, held, one, other), cwd=tools.root)


@WALLED
@HELD
def test_grep_reads_nothing_outside_through_a_swapped_folder(repo: Path, kind: Sandbox, held: str) -> None:
    put(Path(os.environ["HOME"]) / "letters/bank.txt", KEY)
    put(repo / "sub/bank.txt", "nothing")
    (repo / "link").symlink_to(Path(os.environ["HOME"]) / "letters")
    tools = Caller(repo, kind)
    with _swapped(tools, held, "sub", "link"):
        said = tools("grep", pattern=".+", path="sub", output_mode="content").content
    assert (repo / "sub").is_symlink()  # it came to the swap
    assert KEY not in said


@WALLED
@HELD
def test_glob_lists_nothing_outside_through_a_swapped_folder(repo: Path, kind: Sandbox, held: str) -> None:
    put(Path(os.environ["HOME"]) / "letters/bank.txt", KEY)
    put(repo / "sub/one.txt", "nothing")
    (repo / "link").symlink_to(Path(os.environ["HOME"]) / "letters")
    tools = Caller(repo, kind)
    with _swapped(tools, held, "sub", "link"):
        said = tools("glob", pattern="**", path="sub").content
    assert (repo / "sub").is_symlink()
    assert "bank" not in said


@pytest.mark.system("bwrap")
def test_grep_reads_no_secret_of_the_project_through_a_swapped_file(repo: Path) -> None:
    put(repo / "id_rsa", KEY)
    put(repo / "sub/a.txt", "nothing")
    os.mkdir(repo / "links")
    (repo / "links/a.txt").symlink_to("../id_rsa")
    tools = Caller(repo, Sandbox.BWRAP)
    with _swapped(tools, "sub/.ignore", "sub", "links"):
        said = tools("grep", pattern=".+", path="sub", output_mode="content").content
    assert (repo / "sub/a.txt").is_symlink()
    assert KEY not in said


def test_a_checkpoint_takes_in_nothing_outside_through_a_swapped_folder(repo: Path, tmp_path: Path) -> None:
    """git looks at a folder once for all the files in it that come one after the other."""
    put(Path(os.environ["HOME"]) / "letters/b.txt", KEY)
    for name in ("a.txt", "b.txt"):
        put(repo / f"sub/{name}", "nothing of the letters")
    (repo / "link").symlink_to(Path(os.environ["HOME"]) / "letters")
    words = (sys.executable, "-c", SWAP_AT_READING, "sub/a.txt", "sub", "link")
    checkpoints = ShadowCheckpoints(str(tmp_path / "shadow"), str(repo))
    with subprocess.Popen(words, cwd=repo, stdout=subprocess.PIPE) as swaps:
        assert swaps.stdout and swaps.stdout.readline()
        tree = asyncio.run(checkpoints.snapshot("one")).tree
    assert (repo / "sub").is_symlink()
    git = ("git", f"--git-dir={tmp_path / 'shadow'}")
    listed = subprocess.run((*git, "ls-tree", "-r", tree), check=True, capture_output=True, text=True).stdout
    assert "tally/count.py" in listed
    held = subprocess.run((*git, "grep", "-h", "-e", "", tree), check=True, capture_output=True, text=True).stdout
    assert KEY not in held
