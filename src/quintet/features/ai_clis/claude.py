"""claude: `claude -p --output-format stream-json --verbose`, the assignment on stdin.

Success is a `result` whose `is_error` is false; its `subtype` says success on errors of the server, too, and on SIGINT
it ends with exit code 0 and no result at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

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
from quintet.features.ai_clis.dialect import MOST_OUTPUT, Dialect, RunOutcome, clipped, number, summary_of, words_of

WRITERS = ("Write", "Edit", "MultiEdit", "NotebookEdit")


class Claude(Dialect):
    cli = "claude"
    passed = (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"),
        *("ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"),
        *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION"),
        *("AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"),
    )
    hints: ClassVar[dict[ExecutorFailure, str]] = {
        ExecutorFailure.MISSING: "install it: npm install -g @anthropic-ai/claude-code",
        ExecutorFailure.LOGIN: "run `claude` and then /login, or set ANTHROPIC_API_KEY",
    }

    held: ClassVar[dict[str, str]] = {
        "settings.json": "hooks, key scripts, the status line, permissions and variables: all can start programs",
        "settings.local.json": "the same",
        "remote-settings.json": "the same, set by an organisation",
        ".claude.json": "MCP servers, and which folders are trusted",
        ".mcp.json": "MCP servers",
        "plugins": "hooks, commands and servers from others",
        "hooks": "the usual folder for scripts of hooks",
        "agents": "instructions and tools of its subagents",
        "commands": "what its commands run",
        "skills": "instructions with scripts",
        "output-styles": "its permanent instructions",
        "rules": "its permanent instructions",
        "CLAUDE.md": "its permanent instructions",
        "keybindings.json": "key bindings",
        "local": "the program itself, if it was installed for one user",
    }

    makes = ("plugins",)

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self._writing: dict[str, str] = {}  # calls under way that write, by id

    def flags(self) -> tuple[str, ...] | None:
        return ("-p", "--output-format", "stream-json", "--verbose", *self.model(), *(self.allowed() or ()))

    def homes(self) -> tuple[str, ...]:
        start = self.start
        if own := start.settings.home or start.environment.get("CLAUDE_CONFIG_DIR"):
            return (own,)
        return (os.path.join(start.user_home, ".claude"),)

    def reads(self) -> tuple[str, ...]:
        """It names MCP servers, so it is not written back; the login is in the folder."""
        own = self.start.settings.home or self.start.environment.get("CLAUDE_CONFIG_DIR")
        return () if own else (os.path.join(self.start.user_home, ".claude.json"),)

    def variables(self) -> dict[str, str]:
        said = {"CLAUDE_CODE_MAX_RETRIES": "0", "DISABLE_AUTOUPDATER": "1"}
        if self.start.contained:
            said["IS_SANDBOX"] = "1"  # so that it lets go of its own protection as root, too
        if self.start.settings.home:
            said["CLAUDE_CONFIG_DIR"] = self.start.settings.home
        return said

    def take(self, event: dict[str, Any]) -> Iterator[ExecutorPart]:
        kind = event.get("type", "")
        if kind == "result":
            yield from self._result(event)
        elif kind == "rate_limit_event":
            info = event.get("rate_limit_info")
            if isinstance(info, dict) and info.get("status") == "rejected":
                self.resets_at = float(number(info.get("resetsAt")))
        elif kind == "system" and event.get("subtype") == "api_retry":
            self.last_problem = f"{event.get('error')} (status {event.get('error_status')})"
            yield Printed(f"{self.last_problem}, attempt {event.get('attempt')}")
        elif kind in ("assistant", "user"):
            message = event.get("message")
            blocks = message.get("content") if isinstance(message, dict) else None
            synthetic = isinstance(message, dict) and message.get("model") == "<synthetic>"
            for block in blocks if isinstance(blocks, list) else ():
                if isinstance(block, dict) and not synthetic:  # its own words for an error: the result repeats them
                    yield from self._block(block, event.get("tool_use_result"))

    def _block(self, block: dict[str, Any], made: Any) -> Iterator[ExecutorPart]:
        what = block.get("type")
        if what == "text" and (text := str(block.get("text") or "")):
            self.answer = clipped(text)
            yield ExecutorMessage(self.answer)
        elif what == "thinking" and (text := str(block.get("thinking") or "")):
            yield ExecutorMessage(clipped(text), reasoning=True)
        elif what in ("tool_use", "server_tool_use"):
            id, tool, given = str(block.get("id", "")), str(block.get("name", "")), block.get("input")
            if tool in WRITERS and isinstance(given, dict):
                self._writing[id] = str(given.get("file_path") or given.get("notebook_path") or "")
            yield CallBegan(id, tool, summary_of(given))
        elif what == "tool_result":
            id, ok = str(block.get("tool_use_id", "")), not block.get("is_error")
            yield CallEnded(id, ok, clipped(words_of(block.get("content")), MOST_OUTPUT))
            if (path := self._writing.pop(id, "")) and ok:
                created = isinstance(made, dict) and made.get("type") == "create"
                yield Changed(path, "added" if created else "modified")

    def _result(self, event: dict[str, Any]) -> Iterator[ExecutorPart]:
        usage = event.get("usage")
        if isinstance(usage, dict):
            cost = event.get("total_cost_usd")
            yield Spent(_usage(usage), float(cost) if isinstance(cost, int | float) else 0.0)
        said = words_of(event.get("result")) or words_of(event.get("errors"))
        if event.get("is_error") is False:
            self.outcome = RunOutcome(True, clipped(said) or self.answer)
        else:
            problem = said or self.last_problem or str(event.get("subtype") or "an unnamed error")
            self.outcome = RunOutcome(False, self.answer, problem, number(event.get("api_error_status")))


def _usage(usage: dict[str, Any]) -> Usage:
    cached = number(usage.get("cache_read_input_tokens"))
    new = number(usage.get("input_tokens")) + number(usage.get("cache_creation_input_tokens"))
    return Usage(new + cached, number(usage.get("output_tokens")), cached)
