"""What is executed when an untrusted folder is opened, as the kernel sees it: nothing that the folder brings.

The folder brings a repository whose configuration names programs, and programs of every name that Quintet looks for,
in folders that the user's PATH names relatively, absolutely and by a link.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from quintet.adapters.processes import host_programs
from quintet.app.machine_parts import find_ripgrep
from tests.attacks.hatchery import Hatchery, me
from tests.attacks.running import Attacker, Outcome, bash
from tests.attacks.test_own_git import by_configuration, by_hooks
from tests.attacks.world import World, put

NAMES = (
    *("git", "gh", "bwrap", "rg", "bash", "sh", "python", "python3", "prlimit", "uname", "ldconfig", "gcc", "cc", "ld"),
    *("codex", "claude", "gemini", "chromium", "google-chrome", "node", "npx", "ty", "pyright-langserver", "pylsp"),
    *("quintet", "tput", "stty", "infocmp", "xdg-open", "less", "cat", "env", "true", "hostname", "ssh", "git-lfs"),
    *("pasta", "slirp4netns", "setpriv", "dbus-send", "secret-tool", "ps", "who", "id", "lsb_release", "ifconfig"),
)
SURFACES = (
    *("tui", "plain", "headless", "mcp-server", "doctor", "doctor fix", "tasks list", "status", "index map", "acp"),
)
WATCHED = "trace=execve,execveat,fork,vfork,clone,clone3"
FLAGS = ("-f", "-qq", "-v", "--seccomp-bpf", "--decode-pids=pidns", "-s", "5000", "-e", WATCHED, "-e", "signal=none")
CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += +(-?\d+)(?: /\* (\d+) in strace's PID NS \*/)?(?: .*)?")
BEGUN = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>")
RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


@functools.cache
def hindrance() -> str:
    """Why nothing can be traced here."""
    strace = shutil.which("strace")
    if not strace:
        return "needs strace"
    done = subprocess.run((strace, *FLAGS, "-o", os.devnull, "/bin/true"), capture_output=True, text=True)
    return f"needs a strace that may trace: {done.stderr.strip()}" if done.returncode else ""


class TracedRun:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    def wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> int:
        if self.wait(0) is None:
            self._process.kill()
        return self._process.wait()


class Traced:
    """In place of a hatchery: each run is a process of its own, and the kernel's word of what it executes is kept."""

    user = me()

    def __init__(self, log: Path) -> None:
        self._log = log

    def start(self, arguments: Sequence[str], cwd: Path, env: dict[str, str], handles: Sequence[int]) -> TracedRun:
        strace = shutil.which("strace")
        assert strace
        argv = (strace, *FLAGS, "-o", str(self._log), sys.executable, "-P", "-m", "quintet", *arguments)
        taken = {"stdin": handles[0], "stdout": handles[1], "stderr": handles[2]}
        env = {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **env}
        return TracedRun(subprocess.Popen(argv, cwd=cwd, env=env, start_new_session=True, **taken))

    def leftovers(self) -> list[str]:
        return []


class Execution(NamedTuple):
    pid: str
    program: str
    words: list[str]  # arguments and environment

    @property
    def variables(self) -> dict[str, str]:
        return dict(word.split("=", 1) for word in self.words if re.match(r"[A-Za-z_]+=", word))


def executed(log: Path) -> list[Execution]:
    """The programs executed on the host; what runs inside bwrap is not."""
    found: list[Execution] = []
    parents: dict[str, str] = {}
    begun: dict[tuple[str, str], str] = {}
    for line in log.read_text(errors="replace").splitlines():
        if half := BEGUN.fullmatch(line):
            begun[half[1], half[2]] = half[3]
            continue
        if rest := RESUMED.fullmatch(line):
            line = f"{rest[1]} {rest[2]}({begun.pop((rest[1], rest[2]), '')}{rest[3]}"
        call = CALL.fullmatch(line)
        if call is None or int(call[4]) < 0:
            continue
        if call[2].startswith("exec"):
            program, *words = TEXT.findall(call[3])
            found.append(Execution(call[1], program, words))
        else:
            parents[call[5] or call[4]] = call[1]
    walled = {one.pid for one in found if one.program == host_programs.program("bwrap")}

    def inside(pid: str) -> bool:
        while pid in parents:
            if pid in walled:
                return True
            pid = parents[pid]
        return False

    return [one for one in found if one.program == host_programs.program("bwrap") or not inside(one.pid)]


def is_ours(one: Execution, project: str) -> bool:
    """Whether this is Quintet's own Python or ripgrep, bubblewrap, or git as Quintet runs it."""
    if one.program in (sys.executable, find_ripgrep(), host_programs.program("bwrap")):
        return True
    if one.program == "/usr/bin/git":
        words, set_to = " ".join(one.words), one.variables
        alone = set_to.get("GIT_CONFIG_GLOBAL") == os.devnull and set_to.get("GIT_CONFIG_NOSYSTEM") == "1"
        elsewhere = not set_to.get("GIT_DIR", project).startswith(project)
        return "--version" in one.words or (elsewhere and (alone or " config --includes --list -z" in words))
    return False


@pytest.fixture
def hostile(world: World) -> dict[str, str]:
    """The folder, and the environment of a user who has it on PATH in every way."""
    world.make_repository()
    by_configuration(world.project, world.program("configured"))
    by_hooks(world.project, world.program("hook"))
    os.utime(world.project / "a.txt", (1_600_000_000, 1_600_000_000))
    for folder in ("node_modules/.bin", ".venv/bin", "linked", "."):
        for name in NAMES:
            put(world.project / folder / name, f"#!/bin/sh\n{world.program(name)}\n", executable=True)
    put(world.project / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    put(world.project / "pytest/__main__.py", f"import os\nos.system({world.program('module')!r})\n")
    (world.folder / "tools").symlink_to(world.project / "linked")
    folders = (
        "./node_modules/.bin",
        f"{world.project}/.venv/bin",
        f"{world.folder}/tools",
        "",
        "/usr/bin",
        "/bin",
        ".",
    )
    return {"PATH": ":".join(folders), "VIRTUAL_ENV": str(world.project / ".venv")}


@pytest.mark.parametrize("kind", ["bwrap", "none"])
@pytest.mark.parametrize("surface", SURFACES)
def test_opening_an_untrusted_folder_executes_nothing_of_it(
    surface: str, kind: str, world: World, hostile: dict[str, str]
) -> None:
    outcome, programs = opened(world, surface, kind, hostile)
    assert [one for one in programs if not is_ours(one, str(world.project))] == []
    assert world.untouched(outcome.said) == []


def test_looking_for_every_part_executes_only_what_is_outside(world: World, hostile: dict[str, str]) -> None:
    """Parts are asked for their versions, and some of them are scripts of the system's."""
    outcome, programs = opened(world, "tools doctor", "bwrap", hostile)
    assert [one for one in programs if not one.program.startswith(("/usr/", "/bin/", sys.prefix))] == []
    assert world.untouched(outcome.said) == []


def opened(world: World, surface: str, kind: str, environment: dict[str, str]) -> tuple[Outcome, list[Execution]]:
    if why := hindrance():
        pytest.skip(why)
    log = world.out / "strace"
    outcome = Attacker(world, cast("Hatchery", Traced(log)), kind).opens(surface, **environment)
    assert "Traceback" not in outcome.said, outcome.said
    programs = executed(log)
    assert programs and programs[0].program == sys.executable
    return outcome, programs


@pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
def test_attributes_that_are_a_pipe_hold_nothing_up(world: World, attacker: Attacker) -> None:
    """git waits for who writes into it, for ever."""
    world.make_repository()
    os.mkfifo(world.project / ".gitattributes")
    outcome = attacker.session(bash("touch made"), profile="trusted")
    assert (world.project / "made").exists(), outcome.texts
    assert ".gitattributes is not an ordinary file, and git would wait for it" in outcome.err, outcome.err
