"""What an MCP client may read and begin with beside tools: sessions with their journals, tasks, and agents' menus.

All of it is as `quintet sessions`, `quintet tasks` and `quintet agents` show it. Nothing here changes anything.
Features add resources and prompts of their own (`Feature.offers`), which are asked for after these.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NoReturn, Protocol

import msgspec
from mcp import MCPError, types
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from quintet.adapters.agents.agents import LocalAgents
from quintet.adapters.files.paths import Places
from quintet.adapters.settings.trust import trust_of
from quintet.app.lookups import stored
from quintet.app.session_lists import session_rows
from quintet.app.task_lookups import tasks_here
from quintet.domain.agents.agent import Agent, MenuItem
from quintet.domain.base.errors import QuintetError
from quintet.domain.journal import protocol as p
from quintet.domain.journal.protocol import encode

OURS = "quintet://"
SESSIONS, TASKS = "quintet://sessions", "quintet://tasks"
JOURNAL = "quintet://sessions/{session}/journal"
TASK = "quintet://tasks/{task}"
JSON, LINES = "application/json", "application/x-ndjson"
MOST_EVENTS = 2_000  # of a journal, the newest
MOST_PROPOSED = 50
RESOURCE_NOT_FOUND = -32002


class Offering(Protocol):
    """What a feature lets MCP clients read and begin with. None where a name or an address is not its own."""

    def resources(self) -> list[types.Resource]: ...
    def templates(self) -> list[types.ResourceTemplate]: ...
    def read(self, uri: str) -> types.ReadResourceResult | None: ...
    def prompts(self) -> list[types.Prompt]: ...
    def prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult | None: ...


class Offers:
    """All that is offered: the project's own, then what features add. A feature that fails takes nothing else along."""

    def __init__(self, project: ProjectOffers, *others: Offering) -> None:
        self._project = project
        self._others = others

    def resources(self) -> list[types.Resource]:
        return [*self._project.resources(), *self._added("resources")]

    def templates(self) -> list[types.ResourceTemplate]:
        return [*self._project.templates(), *self._added("templates")]

    def prompts(self) -> list[types.Prompt]:
        return [*self._project.prompts(), *self._added("prompts")]

    def read(self, uri: str) -> types.ReadResourceResult:
        found = None if uri.startswith(OURS) else self._found("read", uri)
        return found or self._project.read(uri)

    def prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult:
        return self._project.prompt(name, arguments) or self._found("prompt", name, arguments) or _unknown(name)

    def proposed(self, reference: object, argument: types.CompletionArgument) -> list[str]:
        return self._project.proposed(reference, argument)

    def _added(self, what: str) -> list[Any]:
        found: list[Any] = []
        for one in self._others:
            with suppress(Exception):  # its own code
                found += getattr(one, what)()
        return found

    def _found(self, what: str, *words: Any) -> Any:
        for one in self._others:
            try:
                if found := getattr(one, what)(*words):
                    return found
            except Exception as error:  # its own code
                raise MCPError(INTERNAL_ERROR, f"{type(error).__name__}: {error}") from None
        return None


def _unknown(name: str) -> NoReturn:
    raise MCPError(INVALID_PARAMS, f"{name}: there is no such prompt")


class ProjectOffers:
    def __init__(self, places: Places) -> None:
        self._places = places
        trust = trust_of(places.trust_file, places.root)
        self._agents = LocalAgents(places, trusted=trust.trusted)

    # ── resources

    def resources(self) -> list[types.Resource]:
        return [
            types.Resource(uri=SESSIONS, name="sessions", description="this project's sessions", mime_type=JSON),
            types.Resource(uri=TASKS, name="tasks", description="this project's tasks", mime_type=JSON),
        ]

    def templates(self) -> list[types.ResourceTemplate]:
        about = f"the journal of a session, one event per line; its last {MOST_EVENTS}"
        return [
            types.ResourceTemplate(uri_template=JOURNAL, name="journal", description=about, mime_type=LINES),
            types.ResourceTemplate(uri_template=TASK, name="task", description="one task, in full", mime_type=JSON),
        ]

    def read(self, uri: str) -> types.ReadResourceResult:
        words = uri.removeprefix("quintet://").split("/")
        try:
            text, kind = self._text(uri, words)
        except QuintetError as error:
            raise MCPError(RESOURCE_NOT_FOUND, str(error)) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=kind)])

    def _text(self, uri: str, words: list[str]) -> tuple[str, str]:
        if uri == SESSIONS:
            return _json(session_rows(self._places)), JSON
        if uri == TASKS:
            return _json([_row(one) for one in tasks_here(self._places)[0].tasks]), JSON
        match words:
            case ["sessions", session, "journal"] if rows := stored(self._places):
                found = rows.find_session(session)
                events = rows.read(found.id)[-MOST_EVENTS:]
                lines = (json.dumps({"seq": one.seq, "at": one.at, "event": _event(one.event)}) for one in events)
                return "\n".join(lines), LINES
            case ["tasks", task]:
                same = [one for one in tasks_here(self._places)[0].tasks if one.text.id == task]
                if same:
                    return _json(msgspec.to_builtins(same[0])), JSON
        raise MCPError(RESOURCE_NOT_FOUND, f"{uri}: there is no such resource")

    # ── prompts

    def prompts(self) -> list[types.Prompt]:
        argument = types.PromptArgument(name="input", description="what it is about", required=False)
        return [
            types.Prompt(name=_name(agent, item), description=f"{agent.name}: {item.label}", arguments=[argument])
            for agent, item in self._items()
        ]

    def prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult | None:
        for agent, item in self._items():
            if _name(agent, item) == name:
                said = _told(agent, item, arguments.get("input", ""))
                message = types.PromptMessage(role="user", content=types.TextContent(text=said))
                return types.GetPromptResult(description=item.label, messages=[message])
        return None

    def _items(self) -> list[tuple[Agent, MenuItem]]:
        return [(agent, item) for agent, _ in self._agents.listed() for item in agent.menu if item.trigger]

    # ── completions

    def proposed(self, reference: object, argument: types.CompletionArgument) -> list[str]:
        if not isinstance(reference, types.ResourceTemplateReference):
            return []
        found: list[str] = []
        if reference.uri == JOURNAL and argument.name == "session":
            found = [row["session"] for row in session_rows(self._places)]
        elif reference.uri == TASK and argument.name == "task":
            found = [one.text.id for one in tasks_here(self._places)[0].tasks]
        return [one for one in found if one.startswith(argument.value)][:MOST_PROPOSED]


def changed_by(event: p.Event, session: str) -> set[str]:
    """The addresses of what an event of this session changes, as far as somebody may follow it."""
    match event:
        case p.TurnFinished():
            return {SESSIONS, JOURNAL.replace("{session}", session)}
        case p.PlanAccepted(tasks=tasks):
            return {TASKS, *(TASK.replace("{task}", one) for one in tasks)}
        case p.TaskMoved(task=task):
            return {TASKS, TASK.replace("{task}", task)}
    return set()


def _row(task: Any) -> dict[str, Any]:
    return {"id": task.text.id, "title": task.text.title, "status": str(task.status)}


def _event(event: Any) -> Any:
    return json.loads(encode(event))


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def _name(agent: Agent, item: MenuItem) -> str:
    return f"{agent.id.rpartition('/')[2].removesuffix('.md')}:{item.trigger}"


def _told(agent: Agent, item: MenuItem, about: str) -> str:
    persona = agent.persona
    lines = [
        agent.system_prompt or f"Act as {agent.name}{f', {agent.title}' if agent.title else ''}: {persona.role}.",
        persona.identity,
        persona.communication_style,
        *(f"- {one}" for one in persona.principles),
        f"The task: {item.label}",
        *(one.content for one in agent.prompts if f"#{one.id}" in str(item.handlers)),
        about,
    ]
    return "\n\n".join(line for line in lines if line)
