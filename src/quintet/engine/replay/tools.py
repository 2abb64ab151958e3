"""What tool calls learn from outside, recorded and replayed, and the user's own tools without their code."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from quintet.domain.helpers.bounds import Bounds
from quintet.domain.journal.recording import OwnTool
from quintet.domain.permission.rules import Rule
from quintet.domain.turn.tool_spec import CallCourse, CallStatus, ToolResult, ToolSpec, Touch
from quintet.engine.replay.player import Player
from quintet.engine.replay.ports import PortForm, RecordedPort, ReplayedPort
from quintet.engine.replay.recorder import Recorder
from quintet.engine.turn.toolbox import ToolAccess

TOOL_ACCESS = PortForm(unrecorded={"end_shell": None, "drop": None})


class RecordedToolAccess(RecordedPort):
    def __init__(self, access: ToolAccess, recorder: Recorder) -> None:
        super().__init__(access, TOOL_ACCESS, recorder)
        self._rules: tuple[Rule, ...] = ()
        self._bounds: Bounds | None = None
        self._held = 0
        self._looks = 0
        self._fitted = 0

    def rules(self) -> tuple[Rule, ...]:
        try:
            rules: tuple[Rule, ...] = self._port.rules()
        except Exception as error:
            self._recorder.add("rules", error=error)
            raise
        self._recorder.add("rules", None if rules == self._rules else rules)  # nothing: as before
        self._rules = rules
        return rules

    def bounds(self) -> Bounds | None:
        found: Bounds | None = self._port.bounds()
        self._held += 1
        if found != self._bounds:  # never, in a session of the user's
            self._bounds = found
            self._recorder.add(f"bounds.{self._held}", found)
        return found

    def put_right(self) -> tuple[str, ...]:
        self._looks += 1
        found: tuple[str, ...] = self._port.put_right()
        if found:  # most often there is nothing
            self._recorder.add(f"put_right.{self._looks}", found)
        return found

    def unfit(self, spec: ToolSpec, arguments: dict[str, Any]) -> ToolResult | None:
        self._fitted += 1
        found: ToolResult | None = self._port.unfit(spec, arguments)
        if found:  # most calls can be done
            self._recorder.add(f"unfit.{self._fitted}", found)
        return found


class ReplayedToolAccess(ReplayedPort):
    def __init__(self, player: Player) -> None:
        super().__init__(ToolAccess, TOOL_ACCESS, player)
        self._rules: tuple[Rule, ...] = ()
        self._bounds: Bounds | None = None
        self._held = 0
        self._looks = 0
        self._fitted = 0

    def rules(self) -> tuple[Rule, ...]:
        changed = self._player.ask("rules", tuple[Rule, ...] | None)
        self._rules = self._rules if changed is None else changed
        return self._rules

    def bounds(self) -> Bounds | None:
        self._held += 1
        kind = f"bounds.{self._held}"
        if self._player.holds(kind):
            self._bounds = self._player.ask(kind, Bounds | None)
        return self._bounds

    def put_right(self) -> tuple[str, ...]:
        self._looks += 1
        kind = f"put_right.{self._looks}"
        return self._player.ask(kind, tuple[str, ...]) if self._player.holds(kind) else ()

    def unfit(self, spec: ToolSpec, arguments: dict[str, Any]) -> ToolResult | None:
        self._fitted += 1
        kind = f"unfit.{self._fitted}"
        return self._player.ask(kind, ToolResult) if self._player.holds(kind) else None


def recorded_tool(spec: ToolSpec, recorder: Recorder) -> ToolSpec:
    """A user's own tool: what it makes of arguments is its own code, and comes from outside."""

    def bind(arguments: str) -> dict[str, Any]:
        return recorder.asked("bind", lambda: spec.bind(arguments))

    return structs.replace(spec, bind=bind, touch=lambda values: recorder.asked("touch", lambda: spec.touch(values)))


def replayed_tool(own: OwnTool, player: Player) -> ToolSpec:
    async def run(*_: Any, **__: Any) -> ToolResult:
        return ToolResult("a replay runs no tool", CallStatus.ERROR)

    return ToolSpec(
        name=own.name,
        description=own.description,
        profile=own.profile,
        effects=frozenset(own.effects),
        schema=lambda: own.parameters,
        bind=lambda arguments: player.ask("bind", dict[str, Any]),
        touch=lambda values: player.ask("touch", Touch),
        run=run,
        needs=own.needs,
        toolset=own.toolset,
        confined=own.confined,
        asks=own.asks,
        course=CallCourse(own.pauses, cut_short=own.cut_short),
    )
