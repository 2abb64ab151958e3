"""Runs the user's hooks at a place of the session, one after the other, each on record.

The first that says no is the last that runs. What goes wrong with a hook is a warning and stops nothing.
"""

from __future__ import annotations

from typing import Any

from msgspec import json, structs, to_builtins

from quintet.domain.journal.protocol import HookRan, Noticed
from quintet.domain.settings import hooks as hook_places
from quintet.domain.settings.hooks import HookPlace, HookVerdict
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal


class Hooks:
    def __init__(self, core: Core, journal: Journal) -> None:
        self._core = core
        self._journal = journal

    def at(self, place: HookPlace) -> tuple[str, ...]:
        commands: tuple[str, ...] = getattr(self._core.settings.hooks, place.setting)
        return commands if self._core.turn.hook_runner else ()

    async def run(self, place: HookPlace, **about: Any) -> HookVerdict:
        """What the hooks at this place say; `about` is what they are told beside where the session stands."""
        said = HookVerdict()
        for command in self.at(place):
            said = hook_places.stricter(said, await self._run(place, command, about))
            if said.blocked:
                break
        return said

    async def _run(self, place: HookPlace, command: str, about: dict[str, Any]) -> HookVerdict:
        state, clock = self._journal.state, self._core.clock
        told = {
            "hook_event_name": place,
            "session_id": state.session,
            "cwd": self._core.project,
            "axes": to_builtins(state.axes),
            **about,
        }
        assert self._core.turn.hook_runner
        began = clock.monotonic()
        end = await self._core.turn.hook_runner.run(
            command, json.encode(told), self._core.project, hook_places.TIMEOUT_SECONDS
        )
        said = hook_places.verdict_of(place, end)
        ran = HookRan(
            place=place,
            command=command,
            exit_code=end.exit_code,
            blocked=said.blocked,
            reason=said.reason,
            seconds=round(clock.monotonic() - began, 3),
            context=said.context,
        )
        warned = Noticed(level="warning", code="HOOK", text=f"hook {place}: {command}: {said.warning}")
        self._journal.post(ran, *([warned] if said.warning else ()))
        return structs.replace(said, reason=f"your hook `{command}`: {said.reason}" if said.reason else "")
