"""The AI CLIs of this machine, each started behind walls built from its assignment's grant.

To the grant comes what a CLI cannot do without: its own home to write, but for what configures it there, its program to
read, and the network. Nothing else: not the home of another, not Quintet's state, and of the environment only the
variables it is known to need.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable

import msgspec

from quintet.adapters.files.real_path import real_path
from quintet.adapters.files.temporary_folders import temporary
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox.containment import Containment, Launch
from quintet.adapters.sandbox.host_mounts import below
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.redaction import Redactor
from quintet.domain.permission.effects import Effect, Grant, ordered
from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executors import AI_CLIS, Assignment, Availability, Changed, ExecutorFailure, ExecutorPart
from quintet.features.ai_clis.dialect import NETWORK_VARIABLES, Dialect, Start
from quintet.features.ai_clis.ending import concluded, failed
from quintet.features.ai_clis.installed import Program, find
from quintet.features.ai_clis.run import RunningProgram
from quintet.features.ai_clis.settings import ExecutorSettings

VERSION_SECONDS = 15.0
FLEETING = "was written inside its sandbox only and is not kept: it can write only to the project and its own home"
MOST_FLEETING = 5


class LocalExecutors:
    """`contain` makes the containment of one executor, by a name for its scratch folder; `private` is Quintet's own."""

    def __init__(
        self,
        root: str,
        private: tuple[str, ...],
        settings: dict[str, ExecutorSettings],
        contain: Callable[[str], Containment],
        redactor: Redactor,
    ) -> None:
        self._root = root
        self._private = private
        self._settings = settings
        self._contain = contain
        self._redactor = redactor
        self._containments: dict[str, Containment] = {}
        self._versions: dict[tuple[str, int], str] = {}
        self._running: set[RunningProgram] = set()

    def names(self) -> tuple[str, ...]:
        return (*AI_CLIS, *(name for name in self._settings if name not in AI_CLIS))

    async def look(self, name: str) -> Availability:
        program = find(name, self._settings)
        if not program.path:
            return Availability(name, problem=program.problem)
        return Availability(name, program.path, await self._version(program))

    async def _version(self, program: Program) -> str:
        """As its package says, else as it says itself; asked once for each file."""
        key = (program.path, os.stat(program.path).st_mtime_ns)
        if key not in self._versions:
            version = program.packaged_version()
            if not version and not program.kind.talks:  # what an agent's command would make of the question is unknown
                version = await self._asked_for_version(program)
            self._versions[key] = version
        return self._versions[key]

    async def _asked_for_version(self, program: Program) -> str:
        processes = LocalProcesses(self._containment(program.name))
        argv = (program.path, *program.argv[1:], "--version")
        grant = Grant((Effect.EXECUTE,), read_roots=program.shown())
        try:
            done = await processes.run(argv, cwd=self._root, grant=grant, timeout=VERSION_SECONDS, keep=2_000)
        except ToolFailed:
            return ""
        finally:
            await processes.close()
        lines = done.output.strip().splitlines() if done.exit_code == 0 else []
        words = [word for word in (lines[0].split() if lines else ()) if word[:1].isdigit()]
        return words[0] if words else ""

    async def run(self, assignment: Assignment) -> AsyncIterator[ExecutorPart]:
        program = find(assignment.executor, self._settings)
        containment = self._containment(program.name)
        with temporary(seen=True) as private:
            dialect = program.kind(self._start(assignment, program, containment.kind, private))
            if not program.path:
                yield failed(dialect, ExecutorFailure.MISSING, program.problem)
                return
            if problem := self._unsafe(dialect):
                yield failed(dialect, ExecutorFailure.CONTAINMENT, problem)
                return
            flags = dialect.flags()
            if flags is None:
                yield failed(
                    dialect,
                    ExecutorFailure.CONTAINMENT,
                    "without bubblewrap nothing prevents it from changing the project",
                )
                return
            argv = (program.path, *program.argv[1:], *flags)
            grant = self._grant(assignment, program, dialect, private)
            try:
                launch = await asyncio.to_thread(self._launch, containment, argv, grant, dialect)
                running = RunningProgram(launch, dialect, self._redactor)
            except (ToolFailed, OSError) as error:
                yield failed(dialect, ExecutorFailure.CONTAINMENT, str(error))
                return
            self._running.add(running)
            fleeting: dict[str, None] = {}
            try:
                async with contextlib.aclosing(running.parts()) as parts:
                    async for part in parts:
                        if isinstance(part, Changed) and dialect.start.contained and not self._lasts(part.path, grant):
                            fleeting[part.path] = None
                        yield part
                notes = await self._settled(running, containment, launch)
                notes += [f"{path} {FLEETING}" for path in list(fleeting)[:MOST_FLEETING]]
                ended = concluded(running, notes)
            finally:
                self._running.discard(running)
                await running.close()
                containment.settle(launch)
            yield ended

    async def close(self) -> None:
        for running in list(self._running):
            await running.end()
        while self._containments:
            _, containment = self._containments.popitem()
            await containment.close()

    def _containment(self, name: str) -> Containment:
        """Each has a /tmp and an empty home of its own: what one leaves there is never another's."""
        slug = "".join(c if c.isalnum() else "-" for c in name)[:40]
        if slug not in self._containments:
            self._containments[slug] = self._contain(slug)
        return self._containments[slug]

    def _start(self, assignment: Assignment, program: Program, kind: Sandbox, private: str) -> Start:
        left = Effect.OUTSIDE in assignment.grant.effects
        return Start(
            assignment,
            msgspec.structs.replace(program.settings, home=os.path.expanduser(program.settings.home)),
            self._root,
            Sandbox.NONE if left else kind,
            any(below(self._root, root) for root in assignment.grant.write_roots),
            private,
            os.environ,
            real_path(os.path.expanduser("~")),
        )

    def _unsafe(self, dialect: Dialect) -> str:
        """Why its home cannot be opened to it: that would open the project's walls, or Quintet's own folders."""
        for home in _homes(dialect):
            real = real_path(home)
            kept = (self._root, dialect.start.user_home, *(real_path(path) for path in self._private))
            if any(below(path, real) for path in kept) or any(below(real, path) for path in kept[2:]):
                return f"{home} cannot be its home: the sandbox protects that folder, or one inside it"
        return ""

    def _grant(self, assignment: Assignment, program: Program, dialect: Dialect, private: str) -> Grant:
        given = assignment.grant
        own = [home for home in _homes(dialect) if _there(home)]
        folder = (assignment.folder,) if assignment.folder else ()
        return Grant(
            ordered(frozenset({*given.effects, Effect.EXECUTE, Effect.NETWORK})),
            tuple(dict.fromkeys((*given.write_roots, *own, *folder))),
            True,
            tuple(dict.fromkeys((*given.read_roots, *program.shown(), private, *dialect.reads()))),
        )

    def _launch(self, containment: Containment, argv: tuple[str, ...], grant: Grant, dialect: Dialect) -> Launch:
        launch = containment.launch(argv, self._root, grant, _held(dialect))
        held = dialect.start.environment
        names = (*NETWORK_VARIABLES, *dialect.passed, *dialect.start.settings.pass_env)
        passed = {name: held[name] for name in names if name in held}
        home = {"HOME": dialect.start.user_home}
        return msgspec.structs.replace(
            launch, variables={**launch.variables, **home, **passed, **dialect.variables()}, keepable=None
        )

    def _lasts(self, path: str, grant: Grant) -> bool:
        """Whether a file that it says it wrote is there for others, too."""
        whole = os.path.join(self._root, os.path.expanduser(path))
        real = real_path(whole)
        return any(below(each, real_path(root)) for root in grant.write_roots for each in (whole, real))

    async def _settled(self, running: RunningProgram, containment: Containment, launch: Launch) -> list[str]:
        notes = await asyncio.to_thread(containment.settle, launch)
        running.whole.close()
        if running.whole.problem:
            notes.append(running.whole.problem)
        if running.left_out:
            notes.append(f"{running.left_out} lines came too fast to show, and are only in the file")
        return notes


def _homes(dialect: Dialect) -> tuple[str, ...]:
    return (*dialect.homes(), *map(os.path.expanduser, dialect.start.settings.folders))


def _held(dialect: Dialect) -> tuple[str, ...]:
    """What decides what runs when the user starts it: not for a session of Quintet's to change."""
    homes = [home for home in dialect.homes() if os.path.isdir(home)]
    for home in homes:
        for name in dialect.makes:
            with contextlib.suppress(OSError):
                os.mkdir(os.path.join(home, name), 0o700)
    return tuple(os.path.join(home, name) for home in homes for name in dialect.held)


def _there(home: str) -> bool:
    """Whether a home is there to be opened; a folder that is not there yet is made, so that nobody else makes it."""
    if not os.path.exists(home) and not home.endswith(".json"):
        with contextlib.suppress(OSError):
            os.makedirs(home, mode=0o700)
    return os.path.exists(home)


__all__ = ["LocalExecutors"]
