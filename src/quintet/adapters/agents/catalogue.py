"""Every agent there is here: the project's, the user's, and those that come with Quintet; or one by its path.

An agent is called by its id. The first of a name is the one that is meant, the project's before the user's before
ours. What is malformed is left out and said, and never stands in the way of the rest.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from msgspec import Struct, field

from quintet.adapters.agents.package import (
    MANIFEST,
    FoundPackage,
    agent_files,
    read_below,
    read_package,
    read_single,
)
from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.domain.agents.agent import Agent, AgentProblem
from quintet.domain.agents.workflow import AgentPackage
from quintet.domain.base.errors import NotFound, StoreUnwritable, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.package import FOLDER

SHIPPED = os.path.join(FOLDER, "agents")
TEMPLATE = os.path.join(FOLDER, "agent_template")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ENDINGS = (".yaml", ".yml", ".md", ".json")


class CatalogueEntry(Struct, frozen=True):
    agent: Agent
    package: AgentPackage
    origin: str  # project, user, shipped, or path


class Catalogue(Struct):
    agents: dict[str, CatalogueEntry] = field(default_factory=dict)
    problems: list[AgentProblem] = field(default_factory=list)

    def add(self, found: FoundPackage, origin: str) -> None:
        self.problems += found.problems
        for agent in found.package.agents if found.package else ():
            before = self.agents.get(agent.id)
            if before is None and found.package:
                self.agents[agent.id] = CatalogueEntry(agent, found.package, origin)
            elif before and origin != "shipped":
                problem = f"there is already an agent {agent.id}, in {before.agent.source}; this one is not used"
                self.problems.append(AgentProblem(agent.source, 1, "", problem))


def all_agents(places: Places) -> Catalogue:
    catalogue = Catalogue()
    for folder in places.project_agents:
        if _leads_out(folder, places.root):
            catalogue.problems.append(AgentProblem(folder, 1, "", "leads out of the project"))
        else:
            _fill(catalogue, folder, "project")
    _fill(catalogue, places.user_agents, "user")
    ours = _shipped()
    catalogue.agents.update({id: entry for id, entry in ours.agents.items() if id not in catalogue.agents})
    catalogue.problems += ours.problems
    return catalogue


@lru_cache(maxsize=1)
def _shipped() -> Catalogue:
    """Those that come with Quintet, which stay as they are while it runs. Nobody changes this catalogue."""
    catalogue = Catalogue()
    _fill(catalogue, SHIPPED, "shipped")
    return catalogue


def find_agent(name: str, places: Places) -> tuple[CatalogueEntry, list[AgentProblem]]:
    """An agent by its id or its name, or by the path of its file or folder; and what is wrong around it."""
    if _is_path(name):
        return _by_path(name, places.opened or places.root)
    catalogue = all_agents(places)
    found = catalogue.agents.get(name)
    if found is None:
        wanted = name.casefold()
        called = [
            one for one in catalogue.agents.values() if wanted in (one.agent.id.casefold(), one.agent.name.casefold())
        ]
        if len(called) > 1:
            raise UsageError(
                f"several agents have the name {name}", hint=f"By id: {', '.join(o.agent.id for o in called)}."
            )
        if not called:
            names = ", ".join(catalogue.agents)
            raise NotFound(
                f"there is no agent {name}.{did_you_mean(name, catalogue.agents)}", hint=f"Available: {names}."
            )
        found = called[0]
    return found, catalogue.problems


def below_path(path: str) -> list[FoundPackage]:
    """What a file holds, or a folder with all below it."""
    return read_below(path) if os.path.isdir(path) else [at_path(path)]


def at_path(path: str) -> FoundPackage:
    """What a file or a folder holds."""
    if os.path.isdir(path):
        return read_package(path)
    folder, name = os.path.split(os.path.abspath(path))
    return read_package(folder) if name == MANIFEST else read_single(folder, name)


def _by_path(given: str, folder: str) -> tuple[CatalogueEntry, list[AgentProblem]]:
    """A path is one from here, else one from the folder of the project that was named."""
    beside = os.path.join(folder, given)
    if not _there(given) and _there(beside):
        given = beside
    path, id = given, ""
    if not os.path.exists(path):
        path, _, id = given.rpartition(":")
        if not path or not os.path.exists(path):
            raise NotFound(f"{given}: there is no such file or folder")
    found = at_path(path)
    if found.package is None:
        first, *more = sorted(found.problems, key=lambda problem: problem.noted)
        raise UsageError(str(first), hint="\n".join(map(str, more)))
    agents = {agent.id: agent for agent in found.package.agents}
    if not id and len(agents) > 1:
        raise UsageError(f"{path} contains several agents", hint=f"Name one: {path}:{'|'.join(agents)}")
    if id and id not in agents:
        raise NotFound(f"{path} contains no agent {id}.{did_you_mean(id, agents)}")
    agent = agents[id] if id else found.package.agents[0]
    return CatalogueEntry(agent, found.package, "path"), found.problems


def _there(given: str) -> bool:
    path, _, id = given.rpartition(":")
    return os.path.exists(given) or bool(path and id and os.path.exists(path))


def _is_path(name: str) -> bool:
    return os.sep in name or name.endswith(_ENDINGS) or os.path.isfile(name)


def _leads_out(folder: str, root: str) -> bool:
    return os.path.commonpath((real_path(folder), root)) != root


def _fill(catalogue: Catalogue, folder: str, origin: str) -> None:
    """The agents of a folder: packages in folders of their own, YAML files, Markdown pages."""
    if not os.path.isdir(folder):
        return
    files = PackageFiles(folder)
    for name in agent_files(files):
        catalogue.add(read_single(files.root, name), origin)
    _pages(catalogue, files, origin)
    for entry in files.entries("."):
        inner = os.path.join(files.root, entry.name)
        if entry.kind not in ("folder", "link") or not os.path.isdir(inner):
            continue
        if _leads_out(inner, files.root):
            catalogue.problems.append(AgentProblem(inner, 1, "", "leads out of the folder of agents"))
            continue
        within = PackageFiles(inner)
        if within.exists(MANIFEST) or agent_files(within):
            catalogue.add(read_package(inner), origin)
        else:
            _pages(catalogue, within, origin)


def _pages(catalogue: Catalogue, files: PackageFiles, origin: str) -> None:
    for entry in files.entries("."):
        if entry.kind in ("file", "link") and entry.name.endswith(".md") and entry.name.casefold() != "readme.md":
            catalogue.add(read_single(files.root, entry.name), origin)


def write_example(name: str, folder: str) -> str:
    """Write what `quintet agents new NAME` writes, as `folder/name`: an agent with a persona, a menu, a prompt and a
    workflow. The path of its file."""
    if not _NAME.fullmatch(name) or len(name) > 64:
        raise UsageError(f'agents new "{name}": a name has lowercase letters and digits, joined by hyphens')
    target = os.path.join(folder, name)
    if os.path.lexists(target):
        raise UsageError(f"{target}: already exists; nothing was written")
    try:
        for place, _, files in os.walk(TEMPLATE):
            into = os.path.normpath(os.path.join(target, os.path.relpath(place, TEMPLATE)))
            os.makedirs(into)
            for file in sorted(files):
                with open(os.path.join(place, file), encoding="utf-8") as source:
                    text = source.read()
                with open(os.path.join(into, file.replace("NAME", name)), "x", encoding="utf-8") as written:
                    written.write(text.replace("NAME", name))
    except OSError as error:
        raise StoreUnwritable(f"{error.filename or target}: cannot be written ({error.strerror})") from error
    return os.path.join(target, f"{name}.agent.yaml")
