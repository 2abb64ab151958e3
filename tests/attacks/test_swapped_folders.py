"""A folder that a command in the background swaps for a link while a file tool is at work leads nowhere.

ripgrep is held at the ignore file of a folder, which is a pipe: whoever opens its other end knows that the folder has
been looked at and its files have not been opened. That is where a second process makes the swap.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
