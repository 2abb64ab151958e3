"""What in an agent's menu would fail when chosen: a prompt or workflow that is not there, or a file.

Where a template leads is judged if it is the package, or the project that the package lies in; else it is not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from quintet.adapters.files.real_path import real_path
from quintet.domain.agents.agent import Agent, Handler, HandlerKind
from quintet.domain.agents.workflow import AgentPackage, MenuProblem, is_classic, menu_problems

_FILES = (HandlerKind.EXEC, HandlerKind.TEMPLATE)
_MISSING = "is not a file of the package or the project"


def loose_ends(agent: Agent, package: AgentPackage, project: str) -> Iterator[MenuProblem]:
    yield from menu_problems(agent, package)
    for handler in (handler for item in agent.menu for handler in item.handlers):
        for path in _paths(handler):
            if _is_missing(path, package.root, project) and not package.workflow(path):
                yield MenuProblem(path, _MISSING)


def _paths(handler: Handler) -> Iterator[str]:
    if handler.kind in _FILES or (handler.kind is HandlerKind.WORKFLOW and is_classic(handler.target)):
        yield handler.target
    if handler.data:
        yield handler.data


def _is_missing(path: str, package: str, project: str) -> bool:
    places = {"{package-root}": package}
    if f"{real_path(package)}/".startswith(f"{real_path(project)}/"):
        places["{project-root}"] = project
    for name, place in places.items():
        path = path.replace(name, place)
    if "{" in path:
        return False
    return not any(os.path.isfile(os.path.join(root, path)) for root in (package, project))
