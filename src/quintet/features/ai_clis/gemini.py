"""gemini: `gemini --output-format stream-json`, the assignment on stdin.

Success is a `result` whose `status` is success. Its exit code is a status of its server modulo 256, or one of its own.
It is told to try once only by a settings file of ours that stands above the user's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, ClassVar

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executors import (
    CallBegan,
    CallEnded,
    Changed,
    ExecutorFailure,
    ExecutorMessage,
    ExecutorPart,
    Printed,
    Spent,
)
from quintet.domain.turn.messages import Usage
from quintet.features.ai_clis.dialect import (
    MOST_OUTPUT,
    MOST_TEXT,
    Dialect,
    RunOutcome,
    clipped,
    number,
    permission_flags,
    summary_of,
    words_of,
)
from quintet.features.ai_clis.errors import by_status

WRITERS = ("write_file", "replace", "edit")
SYSTEM_SETTINGS = "/etc/gemini-cli/settings.json"
SETTINGS_VARIABLE = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
NO_LOGIN = 41
NOT_TRUSTED = 55
FIRST_STATUS_CODE = 144  # 400 modulo 256


class Gemini(Dialect):
    cli = "gemini"
    passed = (
        *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_MODEL", "GEMINI_CLI_HOME"),
        *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_USE_GCA"),
        *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS"),
    )
    hints: ClassVar[dict[ExecutorFailure, str]] = {
        ExecutorFailure.MISSING: "install it: npm install -g @google/gemini-cli",
        ExecutorFailure.LOGIN: "run `gemini` once and sign in, or set GEMINI_API_KEY",
    }

    held: ClassVar[dict[str, str]] = {
        "settings.json": "hooks, MCP servers, tools found by a command: all can start programs",
        ".env": "variables for every start, including where its settings are",
        "trustedFolders.json": "which folders' settings are loaded",
        "trusted_hooks.json": "which hooks of projects run",
        "extensions": "servers, commands and hooks from others",
        "extension_integrity.json": "whether an extension is the one that was installed",
        "hooks": "the usual folder for scripts of hooks",
        "commands": "what its commands run",
        "agents": "instructions and tools of its subagents",
        "acknowledgments": "which agents of projects are used",
        "skills": "instructions with scripts",
        "policies": "which calls need no approval",
        "GEMINI.md": "its permanent instructions",
        "memory.md": "its permanent instructions",
        "system.md": "its permanent instructions",
        "keybindings.json": "key bindings",
        "sandbox.bashrc": "what its own sandbox runs first",
        "sandbox.Dockerfile": "what its own sandbox is",
    }

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self._saying = ""  # a message whose end has not come
        self._writing: dict[str, str] = {}

    def flags(self) -> tuple[str, ...] | None:
        allowed, folder = self.allowed(), self.start.assignment.folder
        if allowed is None and self.start.walls is Sandbox.PARTIAL:  # the kernel tells the project from its folder
            allowed = permission_flags(self.cli, PermissionProfile.NORMAL, contained=False)
        if allowed is None:
            return None
        beside = ("--include-directories", folder) if folder else ()
        return ("--output-format", "stream-json", *self.model(), *beside, *allowed)

    def homes(self) -> tuple[str, ...]:
        start = self.start
        above = start.settings.home or start.environment.get("GEMINI_CLI_HOME") or start.user_home
        return (os.path.join(above, ".gemini"),)

    def variables(self) -> dict[str, str]:
        said = {"NO_COLOR": "1"}
        if self.start.contained:
            said["GEMINI_SANDBOX"] = "false"
        if self.start.settings.home:
            said["GEMINI_CLI_HOME"] = self.start.settings.home
        if path := self._own_settings():
            said[SETTINGS_VARIABLE] = path
        return said

    def _own_settings(self) -> str:
        """The machine's settings with one attempt; none if they cannot be read, for they are not ours to drop."""
        theirs = self.start.environment.get(SETTINGS_VARIABLE) or SYSTEM_SETTINGS
        try:
            with open(theirs, encoding="utf-8") as file:
                settings = json.load(file)
        except FileNotFoundError:
            settings = {}
        except (OSError, ValueError, RecursionError):
            return ""
        if not isinstance(settings, dict) or not isinstance(settings.setdefault("general", {}), dict):
            return ""
        settings["general"] |= {"maxAttempts": 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False}
        path = os.path.join(self.start.private, "gemini-settings.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        return path

    def take(self, event: dict[str, Any]) -> Iterator[ExecutorPart]:
        kind = event.get("type", "")
        if kind == "message":
            if event.get("role") == "assistant":
                text = words_of(event.get("content"))
                if not event.get("delta"):
                    yield from self._said()
                if len(self._saying) <= MOST_TEXT:
                    self._saying += text
            return
        yield from self._said()
        if kind == "tool_use":
            id, tool, given = str(event.get("tool_id", "")), str(event.get("tool_name", "")), event.get("parameters")
            if tool in WRITERS and isinstance(given, dict):
                self._writing[id] = str(given.get("file_path") or given.get("path") or "")
            yield CallBegan(id, tool, summary_of(given))
        elif kind == "tool_result":
            id, ok = str(event.get("tool_id", "")), event.get("status") == "success"
            output = words_of(event.get("output")) or words_of(_error(event))
            yield CallEnded(id, ok, clipped(output, MOST_OUTPUT))
            if (path := self._writing.pop(id, "")) and ok:
                yield Changed(path, "added" if "created" in output else "modified")
        elif kind == "error":
            self.last_problem = words_of(event.get("message"))
            yield Printed(clipped(self.last_problem, MOST_OUTPUT))
        elif kind == "result":
            yield from self._result(event)

    def _said(self) -> Iterator[ExecutorPart]:
        if self._saying:
            self.answer, self._saying = clipped(self._saying), ""
            yield ExecutorMessage(self.answer)

    def _result(self, event: dict[str, Any]) -> Iterator[ExecutorPart]:
        stats = event.get("stats")
        if isinstance(stats, dict):
            tokens = [number(stats.get(name)) for name in ("input_tokens", "output_tokens", "cached")]
            yield Spent(Usage(*tokens))
        if event.get("status") == "success":
            self.outcome = RunOutcome(True, self.answer)
        else:
            self.outcome = RunOutcome(False, self.answer, _error(event) or self.last_problem)

    def by_exit(self, code: int) -> ExecutorFailure | None:
        if code == NO_LOGIN:
            return ExecutorFailure.LOGIN
        if code == NOT_TRUSTED:
            return ExecutorFailure.REFUSED
        return by_status(code + 256) if code >= FIRST_STATUS_CODE else None


def _error(event: dict[str, Any]) -> str:
    error = event.get("error")
    return str((error.get("message") if isinstance(error, dict) else error) or "")
