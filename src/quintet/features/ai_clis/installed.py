"""Which AI CLIs are here: their programs, their versions, and what a sandbox has to show of them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.host_programs import program
from quintet.adapters.sandbox.host_mounts import below, home
from quintet.domain.base.wording import did_you_mean
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.executors import ACP, AI_CLIS, ExecutorFailure
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.domain.tasks.roles import NATIVE
from quintet.features.ai_clis.acp import AcpAgent
from quintet.features.ai_clis.claude import Claude
from quintet.features.ai_clis.codex import Codex
from quintet.features.ai_clis.dialect import Dialect
from quintet.features.ai_clis.gemini import Gemini
from quintet.features.ai_clis.settings import ExecutorSettings

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

KINDS: dict[str, type[Dialect]] = {"codex": Codex, "claude": Claude, "gemini": Gemini}
MOST_FOLDERS_UP = 4


class Program(Struct, frozen=True):
    """An executor as it is here; `path` is empty, and `problem` says why, if it cannot be started."""

    name: str
    kind: type[Dialect]
    settings: ExecutorSettings
    argv: tuple[str, ...] = ()
    path: str = ""
    problem: str = ""

    def shown(self) -> tuple[str, ...]:
        """Folders that a sandbox has to show for it to run, besides what is on PATH."""
        real = real_path(self.path)
        folders = []
        for path in (self.path, real):
            above, found, _ = path.partition("/node_modules/")
            folder = f"{above}/node_modules" if found else os.path.dirname(path)
            folders.append(path if below(home(), folder) else folder)  # a file in the home shows itself alone
        return tuple(dict.fromkeys(folders))

    def packaged_version(self) -> str:
        """The version by the package it came in, which costs no start."""
        folder = os.path.dirname(real_path(self.path))
        for _ in range(MOST_FOLDERS_UP):
            try:
                with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
                    found = json.load(file)
                    if isinstance(found, dict) and isinstance(found.get("version"), str) and found.get("name"):
                        return str(found["version"])
            except (OSError, ValueError, RecursionError):
                pass
            folder = os.path.dirname(folder)
        return ""


def find(name: str, settings: dict[str, ExecutorSettings]) -> Program:
    """The program that a name means: codex, claude, gemini, acp:COMMAND, or a name from the settings."""
    own = settings.get(name, ExecutorSettings())
    kind = KINDS.get(name, AcpAgent)
    command = name.removeprefix(ACP) if name.startswith(ACP) else own.command or (name if name in KINDS else "")
    if not command.strip():
        known = (*AI_CLIS, *(each for each in settings if each not in AI_CLIS))
        hint = did_you_mean(name, known) or f" Use {', '.join(known)}, or acp:COMMAND."
        return Program(name, kind, own, problem=f'"{name}" is not an executor.{hint}')
    try:
        words = shlex.split(command)
    except ValueError as error:
        return Program(name, kind, own, problem=f"its command cannot be read: {error}: {command}")
    wanted = os.path.expanduser(words[0]) if words else ""
    path = program(os.path.abspath(wanted) if os.sep in wanted else wanted) if wanted else ""
    if not path:
        problem = f"{wanted or command} is not on PATH; {kind.hints[ExecutorFailure.MISSING]}"
        return Program(name, kind, own, tuple(words), problem=problem)
    return Program(name, kind, own, tuple(words), path)


def names_here(settings: Settings) -> Iterator[str]:
    """Who can plan, carry out and verify on this machine, by name."""
    yield NATIVE
    own = settings.named("executors", ExecutorSettings)
    yield from (name for name in dict.fromkeys((*AI_CLIS, *own)) if find(name, own).path)


EXECUTOR_MISSING = FindingKind(
    "EXECUTOR_MISSING",
    Severity.WARNING,
    HealthScope.MACHINE,
    "A table `[executors.NAME]` names a command that is not on PATH.",
    "Install it, or change the table in the settings.",
)
FINDING_KINDS = (EXECUTOR_MISSING,)


def configured_are_here(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor: those that the settings name can be started."""
    settings = checkup.settings.named("executors", ExecutorSettings)
    for name in settings:
        if problem := find(name, settings).problem:
            advice = f"Install it, or change executors.{name} in the settings."
            yield EXECUTOR_MISSING.of(name, f"executor {name}: {problem}", advice)
