"""The toolbox: from a model's call to a result, through the gate. No exception leaves it but cancellation.

`prepare` checks the call and asks the gate; `run` carries out what was allowed. A call that cannot be taken becomes a
result the model can act on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from msgspec import Struct, structs

from quintet.domain import gate
from quintet.domain.axes import Axes, RunControl
from quintet.domain.errors import QuintetError
from quintet.domain.gate import Decision, Sandbox
from quintet.domain.messages import ToolCall, ToolSchema
from quintet.domain.nearest import nearest
from quintet.domain.ports import ShellGrammar, Workbench
from quintet.domain.shell_effects import with_lines
from quintet.domain.tool_menu import MenuManager, Presentation, toolsets_of, visible_tools
from quintet.domain.toolspec import CallStatus, ToolResult, ToolSpec, Touch


class Prepared(Struct, frozen=True):
    """A call that may go to the gate's verdict: what it is, with what arguments, and what was decided."""

    call: ToolCall
    spec: ToolSpec
    arguments: dict[str, object]
    touch: Touch
    decision: Decision


class Toolbox:
    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        bench: Workbench,
        grammar: ShellGrammar,
        sandbox: Sandbox,
        presentation: Presentation,
    ) -> None:
        self._specs = specs
        self._grammar = grammar
        self._bench = bench
        self._presentation = presentation
        self.sandbox = sandbox

    def schemas(self, axes: Axes, toolset: str) -> tuple[ToolSchema, ...]:
        """The tools a model may call now; the same mask holds again when it calls one."""
        shown = visible_tools(self._useful(axes), toolset, self._presentation)
        return tuple(spec.shown() for name, spec in self._specs.items() if name in shown)

    def _useful(self, axes: Axes) -> list[str]:
        return [name for name, spec in self._specs.items() if gate.visible(spec, axes)]

    def prepare(self, call: ToolCall, axes: Axes, toolset: str, *, person: bool) -> Prepared | ToolResult:
        spec = self._specs.get(call.name)
        if spec is None:
            close = nearest(call.name, self._specs)
            known = ", ".join(close or list(self._specs))
            return _refused(f"there is no tool {call.name}. {'Nearest' if close else 'Tools'}: {known}")
        if call.name not in visible_tools(self._specs, toolset, self._presentation):
            homes = ", ".join(toolsets_of(call.name))
            return _refused(f"{call.name} is not in this toolset; it is in: {homes}. menu_enter goes there.")
        try:
            arguments = spec.bind(call.arguments)
            touch = with_lines(spec.touch(arguments), self._grammar.parse)
        except QuintetError as error:
            return _refused(str(error))
        decision = gate.decide(spec, touch, axes, root=self._bench.root, person=person, sandbox=self.sandbox)
        return Prepared(call, spec, arguments, touch, decision)

    async def run(
        self, prepared: Prepared, axes: Axes, toolset: str, *, person: bool, progress: Callable[[str], None]
    ) -> ToolResult:
        bench = structs.replace(
            self._bench,
            grant=prepared.decision.grant,
            progress=progress,
            menu=MenuManager({name: self._specs[name].description for name in self._useful(axes)}, toolset),
            may_wait=person and axes.run_control is not RunControl.AUTONOMOUS,
        )
        try:
            result = await prepared.spec.run(bench, **prepared.arguments)
            # File names and contents may hold bytes that are no text; what is journalled and sent has to be.
            return structs.replace(result, content=result.content.encode("utf-8", "replace").decode())
        except QuintetError as error:
            return _refused(str(error))
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return _refused(f"{where}{error.strerror or error}")


def digest(prepared: Prepared, axes: Axes) -> str:
    """Names the exact call an approval is for."""
    text = f"{prepared.spec.name}\0{prepared.call.arguments}\0{axes}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _refused(text: str) -> ToolResult:
    return ToolResult(text, CallStatus.ERROR)
