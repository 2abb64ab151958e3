"""Completion for shells: the script has every command and flag there is, and works in the shell it is for."""

import shutil
import subprocess
from pathlib import Path

import pexpect
import pytest

from quintet.cli import commands
from quintet.cli.completion.scripts import SHELLS
from quintet.cli.completion.shapes import shapes
from tests.surfaces.program import PROGRAM, Program, env

pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")


@pytest.fixture
def on_path(tmp_path: Path) -> Path:
    """A folder with the program under its own name."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/quintet").write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} "$@"\n')
    (tmp_path / "bin/quintet").chmod(0o755)
    return tmp_path / "bin"


def offered(quintet: Program, on_path: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    script = quintet.run("completion", "bash").clean(0).out
    given = " ".join(f"'{word}'" for word in words)
    line = f'{script}\nCOMP_WORDS=({given})\nCOMP_CWORD={len(words) - 1}\n_quintet\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    around = env({"PATH": f"{on_path}:{env({})['PATH']}"})
    done = subprocess.run(
        ["bash", "-c", line], cwd=quintet.root, capture_output=True, text=True, env=around, timeout=120, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_every_command_has_its_words() -> None:
    found = shapes()
    assert set(commands.names()) <= set(found[""].words)
    assert {path.split()[0] for path in found if path} == set(commands.names())
    leaves = {path for path in found if not any(other.startswith(f"{path} ") for other in found)}
    assert all("--help" in found[path].words for path in leaves), "each is read from a real parser"
    assert "--permission-profile" in found["headless"].words and found["why"].kind == ""


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (("quintet", "sess"), ["sessions"]),
        (("quintet", "sessions", "ex"), ["export"]),
        (("quintet", "--mode", ""), ["chat", "plan", "build", "review", "repair", "research"]),
        (("quintet", "-p", "hello", "--permission-profile", "t"), ["trusted"]),
        (("quintet", "--output-format", "j"), ["json"]),
        (("quintet", "tools", "do"), ["doctor"]),
        (("quintet", "sessions", "export", "--ht"), ["--html"]),
        (("quintet", "mcp", "doc"), ["doctor"]),
        (("quintet", "tasks", "move", "task-001", "bl"), ["blocked"]),
        (("quintet", "completion", "z"), ["zsh"]),
    ],
    ids=lambda given: " ".join(given),
)
def test_bash_completes(quintet: Program, on_path: Path, words: tuple[str, ...], offers: list[str]) -> None:
    assert offered(quintet, on_path, *words) == offers


def test_bash_completes_ids_that_it_asks_for_when_they_are_wanted(quintet: Program, on_path: Path) -> None:
    quintet.run("-p", "find words").clean(0)
    session = quintet.sessions()[0]["session"]
    for words in (("sessions", "show", "q5"), ("--resume", ""), ("status", "--session", "q")):
        assert session in offered(quintet, on_path, "quintet", *words)
    (quintet.root / "t.md").write_text("---\nid: task-001\ntitle: paint the boat\n---\nPaint it.\n")
    quintet.run("tasks", "add", "t.md").clean(0)
    assert offered(quintet, on_path, "quintet", "tasks", "show", "task") == ["task-001"]
    assert "builtin" in offered(quintet, on_path, "quintet", "--model", "")


def test_bash_completes_at_a_terminal(quintet: Program, on_path: Path) -> None:
    around = env({"PATH": f"{on_path}:{env({})['PATH']}", "PS1": "ready> ", "TERM": "dumb"})
    child = pexpect.spawn(
        "bash", ["--norc", "--noprofile"], cwd=str(quintet.root), env=around, encoding="utf-8", timeout=60
    )
    try:
        child.sendline("PS1='ready'\"> \"")
        child.expect_exact("ready> ")
        child.sendline('eval "$(quintet completion bash)"')
        child.expect_exact("ready> ")
        child.send("quintet sess\t")
        child.expect_exact("quintet sessions ")
        child.send("li\t")
        child.expect_exact("list ")
    finally:
        child.close(force=True)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_complete_where_they_are_here(quintet: Program, on_path: Path, shell: str) -> None:
    found = shutil.which(shell)
    script = quintet.run("completion", shell).clean(0).out
    assert "'sessions export'" in script and "quintet" in script.splitlines()[-1]
    if found is None:
        pytest.skip(f"no {shell} here")
    (on_path / "script").write_text(script)
    lines = {
        "fish": f"source {on_path}/script; complete -C 'quintet sess'",
        "zsh": f"compdef() {{ }}; compadd() {{ print -l $found }}; source {on_path}/script; "
        "words=(quintet sessions ''); CURRENT=3; _quintet",
    }
    around = env({"PATH": f"{on_path}:{env({})['PATH']}"})
    done = subprocess.run([found, "-c", lines[shell]], cwd=quintet.root, capture_output=True, text=True, env=around)
    assert ("sessions" if shell == "fish" else "export") in done.stdout, done.stderr
    assert set(SHELLS) == {"bash", "zsh", "fish"}
