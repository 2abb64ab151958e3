"""What the toolbox reaches outside with: files and shells as they are now, the user's rules, and the tools themselves.

Everything the engine learns about a call from the outside comes through here, and nothing else does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from msgspec import structs

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.redaction import Redaction, Redactor
from quintet.domain.permission.rules import Rule
from quintet.domain.ports.ports import RuleBook, ShellState, Workbench
from quintet.domain.turn.tool_spec import CallStatus, ToolResult, ToolSpec, Touch


class Hands:
    def __init__(
        self,
        bench: Workbench,
        rule_book: RuleBook | None = None,
        redactor: Redactor | None = None,
        log_crash: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._bench = bench
        self._redactor = redactor or Redaction()
        self._rule_book = rule_book
        self._log_crash = log_crash

    def rules(self) -> tuple[Rule, ...]:
        return self._rule_book.rules() if self._rule_book else ()

    def digest(self, path: str) -> str:
        """Names a file's content; empty where there is none to be read."""
        try:
            return hashlib.sha256(self._bench.files.read(path)).hexdigest()
        except (OSError, QuintetError):
            return ""

    def leads_to(self, path: str) -> str:
        """Where a path really is, links followed."""
        return self._bench.files.leads_to(path)

    def carried(self, touch: Touch) -> Touch:
        """What a move does by what lies below; where it cannot be looked at, carrying it out says why."""
        try:
            found = self._bench.files.carried(*(touch.moves or ("", "")))
        except (OSError, QuintetError):
            return touch
        writes = tuple(dict.fromkeys((*touch.writes, *found.asked)))
        return structs.replace(touch, writes=writes, refused=found.refused, asks=touch.asks or found.asks)

    def is_there(self, path: str) -> bool:
        """Whether this machine has something at a path outside the project."""
        return self._bench.files.is_there(path)

    def content(self, path: str) -> str:
        """A file as it is now; empty where there is none to be read."""
        try:
            return self._redactor.text(self._bench.files.read(path).decode("utf-8", "replace"))
        except (OSError, QuintetError):
            return ""

    def served(self, spec: ToolSpec, touch: Touch) -> Touch:
        """What a call does by the server it looks at, as the tool's service knows."""
        service = self._bench.services.get(spec.service)
        return service.touched(touch) if service else touch

    def shell(self, name: str) -> ShellState:
        return self._bench.shells.state(name)

    def shells(self) -> list[ShellState]:
        """The background shells that run."""
        return self._bench.shells.running()

    async def end_shell(self, name: str, why: str) -> None:
        await self._bench.shells.kill(name, why)

    def put_right(self) -> tuple[str, ...]:
        """What was done to the project's files after commands, since this was last asked."""
        return tuple(self._redactor.text(text) for text in self._bench.put_right())

    async def run(self, spec: ToolSpec, arguments: dict[str, Any], at_hand: dict[str, Any]) -> ToolResult:
        """Carry a call out; `at_hand` are the fields of the workbench that are this call's own."""
        result = await self._ran(spec, arguments, at_hand)
        self._redactor.fresh()
        return self._redactor.clean(result)

    async def _ran(self, spec: ToolSpec, arguments: dict[str, Any], at_hand: dict[str, Any]) -> ToolResult:
        try:
            result = await spec.run(structs.replace(self._bench, **at_hand), **arguments)
            # File names and contents may hold bytes that are no text; what is journalled and sent has to be.
            return structs.replace(result, content=result.content.encode("utf-8", "replace").decode())
        except QuintetError as error:
            return refused(str(error))
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return refused(f"{where}{error.strerror or error}")
        except Exception as error:  # a fault of ours: the call is lost, the run is not
            self._log_crash(error)
            said = f"{spec.name} broke: {type(error).__name__}: {error}"
            return refused(f"{said}. That is a fault of the tool, not of the call; the log has it. Try another way.")


def refused(text: str) -> ToolResult:
    return ToolResult(text, CallStatus.ERROR)
