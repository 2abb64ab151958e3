"""What calls learned from outside, given back from a tape: the counterpart of the hands that write it down."""

from __future__ import annotations

from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.rules import Rule
from quintet.domain.ports.ports import ShellState
from quintet.domain.turn.tool_spec import ToolResult, ToolSpec, Touch
from quintet.engine.replay.replay_ports import Tape, given
from quintet.engine.turn.hands import Hands


class ReplayHands(Hands):
    def __init__(self, recorded: Tape) -> None:
        self._tape = recorded
        self._rules: tuple[Rule, ...] = ()
        self._runs = 0
        self._looks = 0

    def rules(self) -> tuple[Rule, ...]:
        changed = self._tape.ask("rules", tuple[Rule, ...] | None, None)
        self._rules = self._rules if changed is None else changed
        return self._rules

    def digest(self, path: str) -> str:
        found: str = self._tape.ask("digest", str, "")
        return found

    def leads_to(self, path: str) -> str:
        found: str = self._tape.ask("leads_to", str, path)
        return found

    def is_there(self, path: str) -> bool:
        return bool(self._tape.ask("is_there", bool, True))

    def carried(self, touch: Touch) -> Touch:
        found: Touch = self._tape.ask("carried", Touch, touch)
        return found

    def content(self, path: str) -> str:
        found: str = self._tape.ask("content", str, "")
        return found

    def served(self, touch: Touch) -> Touch:
        found: Touch = self._tape.ask("served", Touch, touch)
        return found

    def shell(self, name: str) -> ShellState:
        found: ShellState | None = self._tape.ask("shell", ShellState, None)
        if found is None:
            raise ToolFailed(f"the recording knows no shell {name}")
        return found

    def shells(self) -> list[ShellState]:
        found: list[ShellState] = self._tape.ask("shells", list[ShellState], [])
        return found

    async def end_shell(self, name: str, why: str) -> None:
        """There is none."""

    def put_right(self) -> tuple[str, ...]:
        self._looks += 1
        kind = f"put_right.{self._looks}"
        return self._tape.ask(kind, tuple[str, ...], ()) if self._tape.holds(kind) else ()

    async def run(self, spec: ToolSpec, arguments: dict[str, Any], at_hand: dict[str, Any]) -> ToolResult:
        self._runs += 1
        result: ToolResult = given(await self._tape.wait(f"run.{self._runs}"), ToolResult)
        return result
