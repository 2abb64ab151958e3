"""The commands that look at agents, and at which command an input would be; and the one that writes an example.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any

from quintet.adapters.agents.catalogue import (
    CatalogueEntry,
    all_agents,
    below_path,
    find_agent,
    write_example,
)
from quintet.adapters.agents.loose_ends import loose_ends
from quintet.adapters.files.paths import locate
from quintet.cli.parsing import actions, lookup
from quintet.domain.agents.agent import AgentProblem, MenuItem, visible_menu
from quintet.domain.agents.route import ResolvedCommand, resolve
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.dials.axes import Surface
from quintet.surfaces.tables import complain, room, say, say_json, say_table, table

SURFACES = ("tui", "web", "headless", "rpc")


def agents_list(arguments: Namespace) -> int:
    catalogue = all_agents(locate(arguments.directory))
    _aside(problem for problem in catalogue.problems if not problem.noted)
    if arguments.json:
        say_json([_summary(one) for one in catalogue.agents.values()])
        return 0
    rows = [
        (one.agent.id, one.agent.title or one.agent.persona.role, str(len(one.agent.menu)), one.origin)
        for one in catalogue.agents.values()
    ]
    shown = [(id, f"{what[:59]}…" if len(what) > 60 else what, items, origin) for id, what, items, origin in rows]
    say_table(shown, heading=("AGENT", "DESCRIPTION", "ITEMS", "FROM"), right=(2,))
    return 0


def agents_show(arguments: Namespace) -> int:
    one, problems = find_agent(arguments.name, locate(arguments.directory))
    surface = Surface(arguments.surface)
    if arguments.json:
        say_json(_whole(one, surface))
        return 0
    _aside(problem for problem in problems if problem.file.startswith(one.package.root) and not problem.noted)
    agent, persona = one.agent, one.agent.persona
    lines = [" ".join(filter(None, (agent.icon, agent.name, f"· {agent.title}" if agent.title else "")))]
    lines += ["", persona.role, *persona.identity.splitlines()[:8]]
    lines += [f"speaks: {persona.communication_style}"] if persona.communication_style else []
    lines += [f"– {principle}" for principle in persona.principles]
    menu = visible_menu(agent, surface)
    rows = [(str(index), item.label, ", ".join(_names(item)), _does(item)) for index, item in enumerate(menu, 1)]
    lines += ["", *table(rows, heading=("#", "ITEM", "NAMES", "DOES"), right=(0,), room=room())]
    if one.package.workflows:
        steps = [(flow.id, flow.title, f"{len(flow.graph.nodes)} nodes") for flow in one.package.workflows]
        lines += ["", *table(steps, heading=("WORKFLOW", "TITLE", "SIZE"))]
    say([*lines, "", f"from {agent.source}"])
    return 0


def agents_check(arguments: Namespace) -> int:
    """What is malformed (exit code 1), what leads nowhere when chosen, and what nothing here uses.

    Strict, for authors: each of them counts as wrong.
    """
    checked, problems = _at_paths(arguments.paths) if arguments.paths else _all(arguments.directory)
    project = locate(arguments.directory).root
    loose = [problem for one in checked for problem in _loose(one, project)]
    notes = [problem for problem in problems if problem.noted]
    malformed = [problem for problem in problems if not problem.noted]
    if arguments.json:
        ids = [one.agent.id for one in checked]
        say_json({"agents": ids, "malformed": malformed, "loose_ends": loose, "notes": notes})
    else:
        say([*map(str, malformed), *(f"{problem} (warning)" for problem in loose)])
        say([f"{problem} (note)" for problem in notes])
        counts = {"problems": malformed, "warnings": loose, "notes": notes}
        say([", ".join([f"agents read: {len(checked)}", *(f"{name}: {len(some)}" for name, some in counts.items())])])
    return 1 if malformed or (arguments.strict and (loose or notes)) else 0


def _all(directory: str) -> tuple[list[CatalogueEntry], list[AgentProblem]]:
    catalogue = all_agents(locate(directory))
    return [one for one in catalogue.agents.values() if one.origin != "shipped"], catalogue.problems


def _at_paths(paths: Iterable[str]) -> tuple[list[CatalogueEntry], list[AgentProblem]]:
    entries: list[CatalogueEntry] = []
    problems: list[AgentProblem] = []
    for path in paths:
        if not os.path.exists(path):
            raise NotFound(f"{path}: no such file or folder")
        for found in below_path(path):
            problems += found.problems
            if package := found.package:
                entries += [CatalogueEntry(agent, package, "path") for agent in package.agents]
    return entries, problems


def agents_new(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    path = write_example(arguments.name, places.user_agents if arguments.user else places.project_agents[0])
    if arguments.json:
        say_json({"agent": arguments.name, "file": path})
    else:
        say([path, f"see it: quintet agents show {arguments.name}"])
    return 0


def route(arguments: Namespace) -> int:
    """The command that an input would be; nothing is run."""
    text = " ".join(arguments.text)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError("the input is not text: it is not UTF-8")
    one, _ = find_agent(arguments.agent, locate(arguments.directory))
    command = resolve(text, one.agent, Surface(arguments.surface), arguments.active_run)
    if arguments.json:
        say_json(command)
    else:
        say(_described(command))
    return 0


def _described(command: ResolvedCommand) -> list[str]:
    number = f"{command.menu_index}. " if command.menu_index else ""
    parts = (command.kind.value, f"{number}{command.label or ''}".strip(), command.target or "")
    lines = ["  ".join(filter(None, parts)), f"{command.confidence.value}: {command.reason}"]
    lines += [f"data: {command.data_ref}"] if command.data_ref else []
    return lines + table([(str(one.index), one.label) for one in command.candidates], right=(0,))


def _aside(problems: Iterable[AgentProblem]) -> None:
    for problem in problems:
        complain(f"{problem}; ignored")


def _summary(one: CatalogueEntry) -> dict[str, Any]:
    agent = one.agent
    return {
        "id": agent.id,
        "name": agent.name,
        "title": agent.title,
        "icon": agent.icon,
        "items": len(agent.menu),
        "workflows": [workflow.id for workflow in one.package.workflows],
        "origin": one.origin,
        "source": agent.source,
        "package": one.package.root,
    }


def _whole(one: CatalogueEntry, surface: Surface) -> dict[str, Any]:
    agent = one.agent
    return {
        **_summary(one),
        "module": agent.module,
        "persona": agent.persona,
        "critical_actions": agent.critical_actions,
        "prompts": agent.prompts,
        "tools": None if agent.tools is None else sorted(agent.tools),
        "surface": surface,
        "menu": [{"index": index, **_item(item)} for index, item in enumerate(visible_menu(agent, surface), 1)],
    }


def _item(item: MenuItem) -> dict[str, Any]:
    first = item.handlers[0]
    return {
        "label": item.label,
        "trigger": item.trigger or None,
        "code": item.code or None,
        "cmd": item.cmd or None,
        "aliases": item.aliases,
        "handler": first.kind,
        "target": first.target or None,
        "data": first.data or None,
        "handlers": item.handlers if len(item.handlers) > 1 else (),
        "ide_only": item.ide_only,
        "web_only": item.web_only,
    }


def _names(item: MenuItem) -> list[str]:
    given = (item.code, item.trigger, item.cmd, *item.aliases)
    of_handlers = (name for handler in item.handlers for name in (handler.code, handler.trigger))
    return [name for name in dict.fromkeys((*given, *of_handlers)) if name]


def _does(item: MenuItem) -> str:
    """What an item does in a few words; a prompt of the author's own is cut short."""
    does = [" ".join(f"{handler.kind} {handler.target}".split()) for handler in item.handlers]
    text = "; ".join(does)
    return f"{text[:59]}…" if len(text) > 60 else text


def _loose(one: CatalogueEntry, project: str) -> Iterable[AgentProblem]:
    try:
        with open(one.agent.source, encoding="utf-8-sig") as file:
            lines = file.read().splitlines()
    except OSError:
        lines = []
    for end in loose_ends(one.agent, one.package, project):
        line = next((number for number, text in enumerate(lines, 1) if end.target in text), 1)
        yield AgentProblem(one.agent.source, line, end.target, end.problem)


def _surface(parser: ArgumentParser) -> object:
    return parser.add_argument(
        "--surface", choices=SURFACES, default="tui", help="the surface of the menu (default: tui)"
    )


def _route(parser: ArgumentParser) -> None:
    parser.add_argument("--agent", required=True, metavar="NAME|PATH", help="the agent with the menu")
    _surface(parser)
    parser.add_argument("--active-run", action="store_true", help="as if a run was active")
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the input; put -- before it")


AGENTS = actions(
    "agents",
    {
        "list": lookup("agents list", "Agents: from this project, your own, and the built-in ones.", agents_list),
        "show": lookup(
            "agents show",
            "One agent: its persona and its numbered menu.",
            agents_show,
            lambda p: (p.add_argument("name", metavar="NAME|PATH", help="its id, file or folder"), _surface(p)),
        ),
        "check": lookup(
            "agents check",
            "Check the files of agents: problems by file, line and field; exit code 1 if a file is malformed.",
            agents_check,
            lambda p: (
                p.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: all agents)"),
                p.add_argument(
                    "--strict", action="store_true", help="count warnings and notes as errors (for authors)"
                ),
            ),
        ),
        "new": lookup(
            "agents new",
            "Write an example agent into .quintet/agents.",
            agents_new,
            lambda p: (
                p.add_argument("name", help="the new agent's name"),
                p.add_argument("--user", action="store_true", help="into your own folder, for all projects"),
            ),
        ),
    },
)
ROUTE = lookup("route", "Show how an agent's session would interpret an input.", route, _route)
