"""Calls tools as a model does: JSON arguments, through the toolbox and its gate."""

import asyncio
import json
from collections import ChainMap
from pathlib import Path
from typing import Any, NoReturn, cast

from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.background_shells import BackgroundShells
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.machine_parts import find_ripgrep
from quintet.app.models import SessionModels
from quintet.app.open import make_containment
from quintet.app.prompts import PROMPTS
from quintet.app.services import Services
from quintet.app.tool_registry import tools_for
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.ports.ports import Model, Workbench
from quintet.domain.settings.settings import SandboxSettings, Settings, ToolSettings
from quintet.domain.turn.messages import ToolCall
from quintet.domain.turn.stage_policy import CallContext
from quintet.domain.turn.swe_phases import PhaseState
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_menu import Presentation
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.engine.turn.prompts import Prompts
from quintet.engine.turn.toolbox import Prepared, ToolAccess, Toolbox

BUILD = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)


def _no_session(order: object) -> NoReturn:
    raise AssertionError("tools by themselves open no session")


class Caller:
    """A project's tools, and a person who says yes to whatever may be asked."""

    def __init__(
        self,
        root: Path,
        sandbox: Sandbox | None = None,
        *,
        model: Model | None = None,
        tables: dict[str, Any] | None = None,
        **services: Any,
    ) -> None:
        """`services` stand in for those of features, by their names; `tables` are settings of features."""
        self.root = root
        self.swe: PhaseState | None = None  # the SWE phase the calls are made in
        self.todos: dict[str, Todo] = {}  # the checklist they are made with
        places = locate(str(root))
        contained = SandboxSettings(use=sandbox or "auto", loopback="open")  # where a test's servers listen
        settings = Settings(sandbox=contained, features=tables or {})
        terms = make_terms(places, settings)
        self.containment = make_containment(places, settings, terms)
        self.shells = BackgroundShells(self.containment, places.outputs)
        self.processes = LocalProcesses(self.containment)
        vault = Vault(places, settings)
        files = ProjectFiles(str(root), terms.protection, self.containment)
        around = (files, self.processes, self.containment, vault)
        own = Services(places, LoadedSettings(settings), terms, *around, lambda: None, _no_session)
        bench = Workbench(
            str(root),
            files,
            self.processes,
            self.shells,
            find_ripgrep(),
            places.outputs,
            services=ChainMap(services, cast("dict[str, Any]", own)),
            secrets=vault,
            advisers=SessionModels(settings, vault, Prompts(PROMPTS).page, model).advisers,
        )
        self.toolbox = Toolbox(
            tools_for(settings),
            ToolAccess(bench, redactor=vault),
            BashGrammar(),
            terms,
            ToolSettings(presentation=Presentation.FLAT),
        )

    def prepare(self, tool: str, arguments: str, axes: Axes = BUILD) -> Prepared | ToolResult:
        return self.toolbox.prepare(
            ToolCall("call-1", tool, arguments), CallContext(axes, swe=self.swe, todos=self.todos), person=True
        )

    def verdict(self, tool: str, axes: Axes = BUILD, /, **arguments: Any) -> Verdict:
        prepared = self.prepare(tool, json.dumps(arguments), axes)
        assert isinstance(prepared, Prepared), prepared
        return prepared.decision.verdict

    def __call__(self, tool: str, /, **arguments: Any) -> ToolResult:
        """The result of a call; a denied one gives a result that says so."""

        async def once() -> ToolResult:
            try:
                return await self.call(tool, **arguments)
            finally:
                await self.processes.close()

        return asyncio.run(once())

    async def call(self, tool: str, /, **arguments: Any) -> ToolResult:
        prepared = self.prepare(tool, json.dumps(arguments))
        if isinstance(prepared, ToolResult):
            return prepared
        if prepared.decision.verdict is Verdict.DENY:
            return ToolResult(prepared.decision.reason, CallStatus.DENIED)
        return await self.toolbox.run(
            prepared, CallContext(BUILD, swe=self.swe, todos=self.todos), person=True, progress=lambda text: None
        )

    def ok(self, tool: str, /, **arguments: Any) -> str:
        """What a call that must succeed says."""
        result = self(tool, **arguments)
        assert result.status is CallStatus.OK, result.content
        return result.content

    def fails(self, tool: str, /, **arguments: Any) -> str:
        """What a call that must not succeed says."""
        result = self(tool, **arguments)
        assert result.status in (CallStatus.ERROR, CallStatus.DENIED), result.content
        return result.content
