"""What the kinds of sandbox have in common: what they are built from, how a command starts, what is done after it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from shutil import copyfile, rmtree
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.python_environment import load_all, source
from quintet.adapters.sandbox.confine import NO_REPORT, WATCH
from quintet.adapters.sandbox.host_mounts import below, interpreter, sweep
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.protected_paths import Protection

if TYPE_CHECKING:
    from quintet.adapters.protected.git_watch import GitWatch
    from quintet.adapters.protected.scan import Scanner
    from quintet.adapters.sandbox.project_watch import BeforeRun, ProjectWatch

SCRIPTS = os.path.dirname(real_path(__file__))
CONFINE = os.path.join(SCRIPTS, "confine.py")
# Run by an interpreter of their own.
RUN_APART = ("confine.py", "sandbox_init.py", "kept_sandbox_init.py", "user_network.py", "lfs_filter.py")
PRLIMIT = "/usr/bin/prlimit"


class SandboxPlan(Struct, frozen=True):
    """A sandbox without a command; the same one for another command if all of this is the same."""

    argv: tuple[str, ...]
    cwd: str
    stands_on: tuple[tuple[int, int], ...]  # device and number of every file named


class SandboxedCommand(NamedTuple):
    """What is to run in a sandbox; `Containment.launch` says what each part of it means."""

    argv: Sequence[str]
    cwd: str
    grant: Grant
    held: Sequence[str]
    sealed_home: bool


class Launch(Struct, frozen=True):
    """How a command is started."""

    argv: tuple[str, ...]
    cwd: str
    variables: dict[str, str] = {}  # on top of the children's environment
    watched: tuple[GitWatch, ...] = ()  # the git folders as they are
    number: int = 0  # of a command that may write the project, while it runs
    command: tuple[str, ...] = ()  # what runs in the sandbox
    keepable: SandboxPlan | None = None  # a sandbox in which it could run as well
    notes: tuple[str, ...] = ()  # what the sandbox could not give
    reports: int = 0  # which word is for the handle on which the sandbox tells that it stands; 0 if it does not
    apart: bool = False  # whether the command is in another process group than what is started
    closed: tuple[str, ...] = ()  # files of the project that the command cannot open
    covers: tuple[tuple[str, str, str], ...] = ()  # what lies on files of the project: covers.py

    def reporting(self, handle: int) -> tuple[str, ...]:
        """The same with that report going to a handle."""
        return (*self.argv[: self.reports], str(handle), *self.argv[self.reports + 1 :])


class SandboxSetup(Struct):
    """What every sandbox of a session is built from: the project, Quintet's own folders, and a scratch folder."""

    root: str
    private: tuple[str, ...]  # Quintet's own state and settings: never seen by a command
    scratch_parent: str
    file_bytes: int  # the largest file a command may write
    protection: Protection
    networks: tuple[str, ...] = ()  # programs that give a command a network of its own; none: this machine's
    unreachable: tuple[str, ...] = ()  # folders outside the project that no command sees, wherever they lie
    own_branch: str = ""  # of a worktree of Quintet's: the one ref of the repository that commands may move
    made: str = ""  # the scratch folder, once there is one
    scripts: str = SCRIPTS
    interpreter: str = ""

    def __post_init__(self) -> None:
        """What starts a sandbox is nothing that a call can write: scripts in the project are copied at the start."""
        self.interpreter = interpreter(self.root)
        if below(SCRIPTS, self.root):
            self.scripts = self.scratch("walls/scripts")
            for name in RUN_APART:
                copyfile(os.path.join(SCRIPTS, name), os.path.join(self.scripts, name))
            source(CONFINE)
            load_all(self.root)

    def script(self, name: str) -> tuple[str, ...]:
        """The words that run one of these scripts; isolated, so that nothing beside it or in a project is loaded."""
        return (self.interpreter, "-I", "-S", self._compiled(name) or os.path.join(self.scripts, name))

    def _compiled(self, name: str) -> str:
        """What the import of a script left for the next: it is as new as what this process runs, and starts sooner."""
        module = sys.modules.get(f"{__package__}.{name.removesuffix('.py')}")
        path = getattr(module, "__cached__", None) or ""
        return path if self.scripts == SCRIPTS and below(path, SCRIPTS) and os.path.isfile(path) else ""

    def under_confine(self, argv: Sequence[str], cwd: str, *how: str) -> Launch:
        """Under a small parent that ends it when Quintet is gone; and, but for `watch`, whatever it leaves behind."""
        script = self.script("confine.py")
        return Launch((*script, NO_REPORT, *how, *argv), cwd, command=tuple(argv), reports=len(script))

    def scratch(self, name: str) -> str:
        """A folder that lives as long as the session: /tmp, an empty home."""
        if not self.made:
            self.made = os.path.join(self.scratch_parent, str(os.getpid()))
            sweep(self.scratch_parent)
        path = os.path.join(self.made, name)
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def hidden(self) -> list[str]:
        """Of Quintet's own folders, those a command would see in its project."""
        return [path for path in self.private if path.startswith(self.root + "/")]

    def bounded(self, argv: Sequence[str]) -> tuple[str, ...]:
        """With a limit on the size of files, where the machine has the program for it."""
        if not self.file_bytes or not os.path.exists(PRLIMIT):
            return tuple(argv)
        return (PRLIMIT, f"--fsize={self.file_bytes}", "--core=0", "--nproc=4096", "--", *argv)


class Containment(ABC):
    """Port `Looks` too: file tools have it look before they write, and after they moved a folder.

    `scanner` may be shared; `records` is the folder for what stands in the project while commands run.
    """

    kind: Sandbox
    covers_git = False  # whether only a command that commits can write git's folders

    def __init__(self, setup: SandboxSetup, scanner: Scanner | None = None, records: str = "") -> None:
        self.setup = setup
        self._scanner = scanner
        self._records = records
        self._watch: ProjectWatch | None = None
        self._making = threading.Lock()

    @property
    def watch(self) -> ProjectWatch:
        """Made, and loaded, for the first command or the first write."""
        with self._making:
            if self._watch is None:
                from quintet.adapters.sandbox.project_watch import ProjectWatch

                setup, covers = self.setup, self.covers_git
                self._watch = ProjectWatch(
                    setup.root, setup.protection, setup.scratch_parent, self._scanner, self._records, covers_git=covers
                )
            return self._watch

    def launch(
        self, argv: Sequence[str], cwd: str, grant: Grant, held: Sequence[str] = (), *, sealed_home: bool = False
    ) -> Launch:
        """`held`, in what it may write outside the project, stays as it is and is not made. To be settled.

        `sealed_home`: the empty home of the sandbox cannot be written, for a program that would think it lasts.
        """
        if Effect.OUTSIDE in grant.effects:  # a person has said yes to leaving the sandbox
            return self.watched(argv, cwd)
        begun = self.watch.begin(grant, held, argv)
        try:
            return self.contained(SandboxedCommand(argv, cwd, grant, held, sealed_home), begun)
        except BaseException:
            self.settle(Launch((), cwd, watched=begun.watched, number=begun.number))
            raise

    @abstractmethod
    def contained(self, command: SandboxedCommand, begun: BeforeRun) -> Launch:
        """How the command is started in this kind of sandbox."""

    def settle(self, launch: Launch) -> list[str]:
        """After the command, or in place of it: put aside what appeared in a protected place, and say so."""
        if not launch.number:
            return list(launch.notes)
        try:
            return self.watch.settle(launch.number, launch.watched, launch.command, launch.notes)
        except OSError as error:
            raise ToolFailed(
                f"what the command changed cannot be checked: {error.filename}: {error.strerror}; look at the project "
                "before you run git in it; it is checked again when the next session begins"
            ) from None

    def hidden(self, launch: Launch, text: str) -> tuple[str, ...]:
        """What a program that has failed could not open because this hides it, by what it printed: notes to show."""
        return ()

    def watched(self, argv: Sequence[str], cwd: str) -> Launch:
        """As it is, without a sandbox; it ends with Quintet."""
        return self.setup.under_confine(argv, cwd, WATCH)

    def put_right(self) -> list[str]:
        """What was said so since the last time that somebody asked."""
        return self._watch.put_right() if self._watch else []

    def commands_run(self) -> bool:
        """Whether a command may change the project now: of this session or of another one here."""
        return self._watch is not None and self._watch.commands_run()

    def before_writing(self) -> None:
        self.watch.before_writing()

    def moved(self, source: str, destination: str, asked: Sequence[str]) -> None:
        self.watch.moved(source, destination, asked)

    async def close(self) -> None:
        if self._watch:
            self._watch.close()
        if self.setup.made:
            await asyncio.to_thread(rmtree, self.setup.made, ignore_errors=True)


def installed_in(root: str) -> str:
    """What to say if Quintet itself, or the Python it runs on, lies in the project; empty if not."""
    places = (SCRIPTS, sys.prefix, sys.executable, real_path(sys.executable))
    if not any(below(path, root) for path in places):
        return ""
    return (
        "Quintet or its Python is in this project: what changes there runs with your rights at the "
        "next start. An environment that Quintet runs from is read-only for commands; to allow them "
        "to install into it, install Quintet elsewhere, for example with pipx"
    )
