"""A folder of agents with the workflows they share: a package with bmad.json, or agents with `workflows/` beside them.

What is malformed is left out and said; the rest of the package is still read.
"""

from __future__ import annotations

import os
import posixpath

from msgspec import Struct

from quintet.adapters.agents.agent_file import YAML_ENDINGS, read_agent, read_menu, read_persona, read_prompts, short_id
from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.agents.workflow_files import read_workflow
from quintet.adapters.files.located_yaml import CheckedFields, NotReadable, Place, read_json, read_yaml
from quintet.domain.agents.agent import Agent, AgentProblem
from quintet.domain.agents.workflow import AgentPackage, Workflow
from quintet.domain.turn.tool_menu import TOOL_MODES

MANIFEST = "bmad.json"
MOST_AGENTS = 100
MOST_OPENING = 20_000  # characters of a page that are looked at to see whether it is an agent's
_NO_AGENTS = frozenset({".git", "node_modules", "__pycache__", "skills", "commands", "workflows", "tasks", "templates"})
_NO_PAGES = frozenset({"readme.md", "skill.md", "changelog.md"})
_INSTALLED = ("_bmad", ".bmad", "bmad")  # folders of a project that BMAD is installed in
_OPENS = ("name:", "description:")
_TOOLS = frozenset(name for toolset in TOOL_MODES.values() for name in toolset.tool_list)
_FILE_TOOLS = frozenset(
    name for name in _TOOLS if name.startswith("fs_") or name in ("Read", "Edit", "Write", "grep", "glob", "bash")
)


class FoundPackage(Struct):
    package: AgentPackage | None
    problems: list[AgentProblem]


def read_package(root: str) -> FoundPackage:
    """The package a folder is."""
    files = PackageFiles(root)
    return _from_manifest(files) if files.exists(MANIFEST) else _from_folder(files)


def read_below(root: str) -> list[FoundPackage]:
    """What a folder and all folders below it hold: packages, agents' YAML files, and pages of agents."""
    found: list[FoundPackage] = []
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name not in _NO_AGENTS)
        files = PackageFiles(folder)
        if files.exists(MANIFEST) or agent_files(files):
            found.append(read_package(folder))
        if not files.exists(MANIFEST):
            pages = [name for name in sorted(names) if name.endswith(".md") and _is_page(files, name)]
            found += [read_single(files.root, name) for name in pages]
    if not found:
        problem = "no agent found: no bmad.json, no *.agent.yaml, no Markdown file with the fields name and description"
        found.append(FoundPackage(None, [AgentProblem(os.path.abspath(root), 1, "", problem)]))
    return found


def _is_page(files: PackageFiles, name: str) -> bool:
    """Whether a page is an agent's: in the folder of agents of a CLI every one, elsewhere what opens as one does."""
    if name.casefold() in _NO_PAGES:
        return False
    above, own = posixpath.split(files.root)
    if own == "agents" and posixpath.basename(above).startswith("."):
        return True
    try:
        opening = files.text(name)[:MOST_OPENING].split("\n---", 1)[0]
    except NotReadable:
        return False
    lines = opening.splitlines()
    return lines[:1] == ["---"] and all(any(line.startswith(field) for line in lines) for field in _OPENS)


def read_single(root: str, path: str) -> FoundPackage:
    """One file of agents, with the workflows that lie beside it."""
    files = PackageFiles(root)
    if path.endswith(".json"):
        problems: list[AgentProblem] = []
        return _gathered(files, short_id(path), _agents(files, path, problems), problems)
    agent, problems = read_agent(files, path)
    return _gathered(files, agent.id if agent else "", [agent] if agent else [], problems)


def agent_files(files: PackageFiles) -> list[str]:
    """The agents' YAML files of a folder."""
    return [entry.name for entry in files.entries(".") if entry.name.endswith(YAML_ENDINGS)]


def _from_folder(files: PackageFiles) -> FoundPackage:
    problems: list[AgentProblem] = []
    agents: dict[str, Agent] = {}
    for path in agent_files(files)[:MOST_AGENTS]:
        agent, wrong = read_agent(files, path)
        problems += wrong
        if agent and agent.id in agents:
            problems.append(
                AgentProblem(agent.source, 1, "agent.metadata.id", f"{agent.id} appears twice in this folder")
            )
        elif agent:
            agents[agent.id] = agent
    if not agents and not problems:
        problems.append(AgentProblem(files.root, 1, "", "no agent found: there is no bmad.json and no *.agent.yaml"))
    return _gathered(files, posixpath.basename(files.root), list(agents.values()), problems)


def _gathered(files: PackageFiles, name: str, agents: list[Agent], problems: list[AgentProblem]) -> FoundPackage:
    if not agents:
        return FoundPackage(None, problems)
    workflows, variables = _beside(files, problems), _variables(files, problems)
    return FoundPackage(AgentPackage(files.root, name, tuple(agents), workflows, variables=variables), problems)


def _beside(files: PackageFiles, problems: list[AgentProblem]) -> tuple[Workflow, ...]:
    """The workflows of `workflows/NAME/workflow.md`."""
    found = []
    for entry in files.entries("workflows"):
        path = f"workflows/{entry.name}/workflow.md"
        if entry.kind == "folder" and files.exists(path):
            workflow, wrong = read_workflow(files, path, entry.name)
            problems += wrong
            found += [workflow] if workflow else []
    return tuple(found)


def installed_variables(project: str, module: str) -> dict[str, str]:
    """What BMAD's installer wrote down in a project, for templates: `_bmad/**/config.yaml`, the agent's module last.

    One that cannot be read gives nothing.
    """
    files = PackageFiles(project)
    found: dict[str, str] = {}
    for folder in _INSTALLED:
        modules = [entry.name for entry in files.entries(folder) if entry.kind == "folder"]
        modules.sort(key=lambda name: (name == module, name != "core", name))
        for place in (folder, *(f"{folder}/{name}" for name in modules)):
            found |= _variables(files, [], f"{place}/config.yaml")
    return found


def _variables(files: PackageFiles, problems: list[AgentProblem], path: str = "config.yaml") -> dict[str, str]:
    """The package's own configuration, for templates: the plain values of its config.yaml."""
    if not files.exists(path):
        return {}
    try:
        value = read_yaml(files.text(path)).value
    except NotReadable as error:
        problems.append(AgentProblem(files.shown(path), error.line, "", error.problem))
        return {}
    pairs = value.items() if isinstance(value, dict) else ()
    return {name: str(plain) for name, plain in pairs if isinstance(plain, str | int | float)}


def _from_manifest(files: PackageFiles) -> FoundPackage:
    try:
        checked = CheckedFields(files.shown(MANIFEST), read_json(files.text(MANIFEST)))
    except NotReadable as error:
        return FoundPackage(None, [AgentProblem(files.shown(MANIFEST), error.line, "", error.problem)])
    checked.fields(())
    name = checked.text(("name",))
    entry = checked.fields(("entry",), required=False)
    if checked.problems:
        return FoundPackage(None, checked.findings)
    agents = _agents(files, checked.text(("entry", "agents"), required=False) or "agents.json", checked.problems)
    if not agents:
        return FoundPackage(None, checked.findings)
    workflows, first = _workflows(files, checked, bool(entry))
    package = AgentPackage(
        files.root,
        name,
        tuple(agents),
        tuple(workflows),
        first,
        checked.text(("version",), required=False),
        checked.text(("description",), required=False),
        _variables(files, checked.problems),
    )
    return FoundPackage(package, checked.findings)


def _workflows(files: PackageFiles, checked: CheckedFields, entered: bool) -> tuple[list[Workflow], str]:
    """The workflows that the manifest lists, and the id of the one it opens with."""
    found: list[Workflow] = []
    listed: set[str] = set()
    for number in checked.items(("workflows",), required=False):
        at: Place = ("workflows", number)
        checked.fields(at)
        id, path = checked.text((*at, "id")), checked.text((*at, "workflow"))
        if any(workflow.id == id for workflow in found):
            checked.note((*at, "id"), f"{id} appears twice")
        elif id and path:
            graph = checked.text((*at, "graph"), required=False)
            title = checked.text((*at, "displayName"), required=False)
            about = checked.text((*at, "description"), required=False)
            listed.add(posixpath.normpath(path))
            _take(files, found, checked.problems, path, id, graph, title, about)
    path = posixpath.normpath(checked.text(("entry", "workflow"), required=False)) if entered else ""
    first = next((workflow.id for workflow in found if workflow.path == path), "")
    if path not in ("", ".", *listed) and files.exists(path):
        graph = checked.text(("entry", "graph"), required=False)
        first = _take(files, found, checked.problems, path, "", graph)
    return found, first


def _take(
    files: PackageFiles,
    found: list[Workflow],
    problems: list[AgentProblem],
    path: str,
    id: str,
    graph: str,
    title: str = "",
    description: str = "",
) -> str:
    path = posixpath.normpath(path)
    workflow, wrong = read_workflow(files, path, id, graph and posixpath.normpath(graph), title, description)
    problems += wrong
    if workflow is None:
        return ""
    found.append(workflow)
    return workflow.id


def _agents(files: PackageFiles, path: str, problems: list[AgentProblem]) -> list[Agent]:
    try:
        document = read_json(files.text(path))
    except NotReadable as error:
        problems.append(AgentProblem(files.shown(path), error.line, "", error.problem))
        return []
    whole = CheckedFields(files.shown(path), document)
    numbers = whole.items(("agents",), least=1)
    problems += whole.problems
    agents: dict[str, Agent] = {}
    for number in numbers[:MOST_AGENTS]:
        one = CheckedFields(whole.file, document)
        agent = _agent(one, ("agents", number), files.root)
        if agent.id in agents and agent.id:
            one.note(("agents", number, "id"), f"{agent.id} appears twice")
        problems += one.findings
        if not one.problems:
            agents[agent.id] = agent
    return list(agents.values())


def _agent(checked: CheckedFields, at: Place, root: str) -> Agent:
    checked.fields(at)
    about = (*at, "metadata")
    checked.fields(about)
    name, title = checked.text((*about, "name")), checked.text((*about, "title"))
    return Agent(
        short_id(checked.text((*at, "id"))),
        name,
        read_persona(checked, (*at, "persona")),
        title,
        checked.text((*about, "icon"), required=False),
        checked.text((*about, "module"), required=False),
        checked.texts((*at, "critical_actions"), required=False),
        read_prompts(checked, (*at, "prompts")),
        read_menu(checked, (*at, "menu"), strict=False),
        _policy(checked, (*at, "tools")),
        checked.text((*at, "systemPrompt"), required=False),
        checked.file,
        root,
    )


def _policy(checked: CheckedFields, at: Place) -> frozenset[str] | None:
    """The tools an agent keeps to: all, but for the files or the servers that it is denied."""
    policy = checked.fields(at, required=False)
    denied: frozenset[str] = frozenset()
    for name, tools in (("fs", _FILE_TOOLS), ("mcp", frozenset({"mcp_tool"}))):
        if name in policy and checked.get((*at, name, "enabled")) is False:
            denied |= tools
    return _TOOLS - denied if denied else None
