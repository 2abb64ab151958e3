"""Fake AI CLIs on PATH, and the real executors that start them."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.adapters.settings.gate_terms import make_terms
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.settings.settings import SandboxSettings, Settings
from quintet.domain.tasks.executors import Assignment, Ended, ExecutorPart, ExecutorRole
from quintet.features.ai_clis.settings import ExecutorSettings
from quintet.features.ai_clis.wiring import make_executors

AGENT = "acp:agent"
EACH = ("codex", "claude", "gemini", AGENT)
WRITING = (Effect.READ, Effect.EDIT, Effect.EXECUTE)
READING = (Effect.READ, Effect.EXECUTE)


class Executing:
    """The executors of a project behind one kind of walls."""

    def __init__(self, root: Path, walls: Sandbox, executors: dict[str, ExecutorSettings] | None = None) -> None:
        self.root = root
        self.places = locate(str(root))
        settings = Settings(
            sandbox=SandboxSettings(use=walls, loopback="open"), features={"executors": executors or {}}
        )
        self.executors = make_executors(self.places, settings, make_terms(self.places, settings))

    def assignment(self, executor: str, prompt: str, *, writes: bool = True, **others: Any) -> Assignment:
        roots = (str(self.root),) if writes else ()
        grant = others.pop("grant", Grant(WRITING if writes else READING, roots))
        profile = others.pop("profile", PermissionProfile.NORMAL)
        role = ExecutorRole.EXECUTE if writes else ExecutorRole.PLAN
        return Assignment(executor, role, prompt, grant, profile, **{"silence": 120.0, **others})

    def __call__(self, executor: str, prompt: str, **others: Any) -> tuple[list[ExecutorPart], Ended]:
        """All it says, and how it ended."""

        async def run() -> list[ExecutorPart]:
            try:
                async with aclosing(self.executors.run(self.assignment(executor, prompt, **others))) as parts:
                    return [part async for part in parts]
            finally:
                await self.executors.close()

        *parts, ended = asyncio.run(run())
        assert isinstance(ended, Ended)
        return parts, ended
