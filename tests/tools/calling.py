"""Calls tools as a model does: JSON arguments, through the toolbox and its gate."""

import asyncio
import json
from pathlib import Path
from typing import Any

from quintet.adapters.filesystem import ProjectFiles
from quintet.adapters.places import locate
from quintet.adapters.processes import LocalProcesses
from quintet.adapters.shell_grammar import BashGrammar
from quintet.adapters.shells import BackgroundShells
from quintet.adapters.terms import make_terms
from quintet.app import find_ripgrep, make_containment
from quintet.domain.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.deploy_settings import DeploySettings
from quintet.domain.gate import Sandbox, Verdict
from quintet.domain.messages import ToolCall
from quintet.domain.ports import LanguageServers, Model, Workbench
from quintet.domain.settings import SandboxSettings, Settings
from quintet.domain.standing import Standing
from quintet.domain.swe_phases import PhaseState
from quintet.domain.tool_menu import Presentation
from quintet.domain.toolspec import CallStatus, ToolResult
from quintet.engine.hands import Hands
from quintet.engine.prompting import Prompts
from quintet.engine.toolbox import Prepared, Toolbox
from quintet.outside_wiring import Outside
from quintet.places_of_prompts import PROMPTS
from quintet.tools.registry import BY_NAME

BUILD = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)


class Caller:
    """A project's tools, and a person who says yes to whatever may be asked."""

    def __init__(
        self,
        root: Path,
        sandbox: Sandbox | None = None,
        *,
        servers: LanguageServers | None = None,
        model: Model | None = None,
        deploy: dict[str, DeploySettings] | None = None,
        **at_hand: Any,
    ) -> None:
        self.root = root
        self.swe: PhaseState | None = None  # the SWE phase the calls are made in
        places = locate(str(root))
        contained = SandboxSettings(use=sandbox or "auto", loopback="open")  # where a test's servers listen
        settings = Settings(sandbox=contained, deploy=deploy or {})
        terms = make_terms(places, settings)
        self.containment = make_containment(places, settings, terms)
        self.shells = BackgroundShells(self.containment, places.outputs)
        self.processes = LocalProcesses(self.containment)
        self.outside = Outside(places, settings, ProjectFiles(str(root)), Prompts(PROMPTS).page, model)
        bench = Workbench(
            str(root),
            ProjectFiles(str(root), terms.protection, self.containment.ground),
            self.processes,
            self.shells,
            find_ripgrep(),
            places.outputs,
            servers=servers,
            **{**self.outside.at_hand(), **at_hand},
        )
        self.toolbox = Toolbox(
            BY_NAME, Hands(bench, redactor=self.outside.vault), BashGrammar(), terms, Presentation.FLAT
        )

    def prepare(self, tool: str, arguments: str, axes: Axes = BUILD) -> Prepared | ToolResult:
        return self.toolbox.prepare(ToolCall("call-1", tool, arguments), Standing(axes, swe=self.swe), person=True)

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
        return await self.toolbox.run(prepared, Standing(BUILD, swe=self.swe), person=True, progress=lambda text: None)

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
