"""codex: `codex exec --json`, the assignment on stdin.

Success is `turn.completed` and nothing else. Where its server cannot be reached it would wait for ever, so the first
line that says so ends it: when to try again is ours to say.
"""

from __future__ import annotations

import os
import tomllib
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
from quintet.features.ai_clis.dialect import (
    MOST_OUTPUT,
    Dialect,
    RunOutcome,
    clipped,
    number,
    one_line,
    summary_of,
    words_of,
)

KINDS = {"add": "added", "delete": "deleted", "update": "modified"}
WAITS_FOR_EVER = "waiting for network"


class Codex(Dialect):
    cli = "codex"
    passed = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME")
    hints: ClassVar[dict[ExecutorFailure, str]] = {
        ExecutorFailure.MISSING: "install it: npm install -g @openai/codex",
        ExecutorFailure.LOGIN: "run `codex login`, or set OPENAI_API_KEY",
    }

    held: ClassVar[dict[str, str]] = {
        "config.toml": "programs to notify, MCP servers, where keys come from, what needs no approval",
        "managed_config.toml": "the same, set by an organisation",
        "requirements.toml": "the same",
        ".env": "variables for every start",
        "hooks.json": "programs run at its events",
        "hooks": "the usual folder for scripts of hooks",
        "rules": "which commands need no approval",
        "plugins": "servers and hooks from others",
        "agents": "instructions and tools of its subagents",
        "prompts": "the text of its commands",
        "skills": "instructions with scripts",
        "AGENTS.md": "its permanent instructions",
        "AGENTS.override.md": "the same",
        "packages": "the program itself, if it was installed for one user",
    }

    makes = ("skills",)

    def flags(self) -> tuple[str, ...] | None:
        allowed = self.allowed() or ()
        return ("exec", "--json", "--skip-git-repo-check", *allowed, *self.model(), *self._fewer_retries(), "-")

    def homes(self) -> tuple[str, ...]:
        return (self._home(),)

    def _home(self) -> str:
        start = self.start
        return start.settings.home or start.environment.get("CODEX_HOME") or os.path.join(start.user_home, ".codex")

    def variables(self) -> dict[str, str]:
        """Of its own settings, the names of the variables that hold its providers' keys."""
        named = [provider.get("env_key") for provider in self._providers().values()]
        held = self.start.environment
        keys = {name: held[name] for name in named if isinstance(name, str) and name in held}
        return {**keys, **({"CODEX_HOME": self.start.settings.home} if self.start.settings.home else {})}

    def _fewer_retries(self) -> tuple[str, ...]:
        """The built-in providers cannot be set; one of the user's own tries once, for the backoff is ours."""
        used = self._settings().get("model_provider")
        if used not in self._providers() or not str(used).replace("-", "").replace("_", "").isalnum():
            return ()
        names = ("request_max_retries", "stream_max_retries")
        return tuple(word for name in names for word in ("-c", f"model_providers.{used}.{name}=0"))

    def _providers(self) -> dict[str, dict[str, Any]]:
        found = self._settings().get("model_providers")
        tables = found.items() if isinstance(found, dict) else ()
        return {name: table for name, table in tables if isinstance(table, dict)}

    def _settings(self) -> dict[str, Any]:
        try:
            with open(os.path.join(self._home(), "config.toml"), "rb") as file:
                return tomllib.load(file)
        except (OSError, ValueError, RecursionError):
            return {}

    def take(self, event: dict[str, Any]) -> Iterator[ExecutorPart]:
        kind = event.get("type", "")
        item = event.get("item")
        if kind == "turn.completed":
            yield _spent(event.get("usage") or {})
            self.outcome = RunOutcome(True, self.answer)
        elif kind in ("turn.failed", "error"):
            problem = _message(event)
            self.last_problem = problem or self.last_problem
            if kind == "turn.failed":
                self.outcome = RunOutcome(False, self.answer, self.last_problem)
            elif WAITS_FOR_EVER in problem:
                self.outcome = RunOutcome(
                    False, self.answer, problem, failure=ExecutorFailure.UNREACHABLE, hopeless=True
                )
            elif problem:
                yield Printed(one_line(problem))
        elif isinstance(item, dict):
            yield from self._item(kind, item)

    def _item(self, kind: str, item: dict[str, Any]) -> Iterator[ExecutorPart]:
        what, id, done = item.get("type", ""), str(item.get("id", "")), kind == "item.completed"
        if what in ("agent_message", "reasoning"):
            if done and (text := words_of(item.get("text"))):
                if what == "agent_message":
                    self.answer = clipped(text)
                yield ExecutorMessage(clipped(text), reasoning=what == "reasoning")
        elif what == "error":
            if done:
                yield Printed(one_line(words_of(item.get("message"))))
        elif what == "file_change":
            if done:
                ok = item.get("status") != "failed"
                changes = [change for change in item.get("changes") or () if isinstance(change, dict)]
                yield CallBegan(id, what, one_line(", ".join(str(change.get("path", "")) for change in changes)))
                yield CallEnded(id, ok)
                for change in changes if ok else ():
                    yield Changed(str(change.get("path", "")), KINDS.get(str(change.get("kind")), "modified"))
        elif what != "todo_list":
            yield from self._call(kind, what, id, item)

    def _call(self, kind: str, what: str, id: str, item: dict[str, Any]) -> Iterator[ExecutorPart]:
        tool = str(item.get("tool") or what)
        about = item.get("arguments") if "arguments" in item else item
        if kind == "item.started":
            yield CallBegan(id, tool, summary_of(about))
        elif kind == "item.completed":
            if what == "web_search":  # it has no beginning
                yield CallBegan(id, tool, summary_of(about))
            ok = item.get("status") != "failed" and item.get("exit_code") in (0, None) and not item.get("error")
            output = item.get("aggregated_output") or item.get("error") or item.get("result")
            yield CallEnded(id, ok, clipped(words_of(output), MOST_OUTPUT))


def _message(event: dict[str, Any]) -> str:
    error = event.get("error")
    return str((error.get("message") if isinstance(error, dict) else error) or event.get("message") or "")


def _spent(usage: dict[str, Any]) -> Spent:
    return Spent(
        Usage(
            number(usage.get("input_tokens")),
            number(usage.get("output_tokens")),
            number(usage.get("cached_input_tokens")),
        )
    )
