"""A workflow from its files: workflow.md with its graph, or with step files in a row, or alone.

Paths are relative to the package. What is wrong comes back as diagnostics instead of a workflow.
"""

from __future__ import annotations

import posixpath
import re
from itertools import pairwise
from typing import Any

from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.files.located_yaml import CheckedFields, Located, NotReadable, frontmatter, read_json
from quintet.domain.agents.agent import AgentProblem
from quintet.domain.agents.workflow import Edge, Graph, Node, NodeKind, Workflow
from quintet.domain.base.lazy_regex import regex

GRAPH = "workflow.graph.json"
MOST_NODES = 500
_STEP = regex(r"step-?\d+[-_.].*\.md", re.IGNORECASE)
_RANK = regex(r"(step-?\d+)([a-z]?)[-_.]", re.IGNORECASE)
_NODE_KINDS = tuple(NodeKind)


def read_workflow(
    files: PackageFiles, path: str, id: str = "", graph: str = "", title: str = "", description: str = ""
) -> tuple[Workflow | None, list[AgentProblem]]:
    """The workflow whose workflow.md this is; `graph` where the package says which file holds it."""
    shown = files.shown(path)
    try:
        document, _ = frontmatter(files.text(path))
    except NotReadable as error:
        return None, [AgentProblem(shown, error.line, "", error.problem)]
    folder = posixpath.dirname(path)
    beside = posixpath.join(folder, GRAPH)
    graph = graph or (beside if files.exists(beside) else "")
    name = id or posixpath.basename(folder) or str(document.value.get("name") or "workflow")
    if graph:
        found, problems = _graph(files, graph, name)
    else:
        found, problems = _row(files, path)
    if found is None or problems:
        return None, problems
    state = document.value
    about = description or _text(state, "description")
    return Workflow(name, path, found, title or _text(state, "name") or name, about, state, graph), []


def _text(state: dict[str, Any], field: str) -> str:
    value = state.get(field)
    return value.strip() if isinstance(value, str) else ""


def _graph(files: PackageFiles, path: str, id: str) -> tuple[Graph | None, list[AgentProblem]]:
    try:
        checked = CheckedFields(files.shown(path), read_json(files.text(path)))
    except NotReadable as error:
        return None, [AgentProblem(files.shown(path), error.line, "", error.problem)]
    if not checked.fields(()):
        return None, checked.problems or [AgentProblem(checked.file, 1, "", "the graph is empty")]
    entry = checked.text(("entryNodeId",))
    nodes = checked.items(("nodes",), least=1)
    if len(nodes) > MOST_NODES:
        checked.note(("nodes",), f"has more than {MOST_NODES} nodes")
        return None, checked.problems
    read = tuple(_node(checked, number, files, posixpath.dirname(path)) for number in nodes)
    ids = {node.id for node in read}
    if len(ids) < len(read):
        twice = next(number for number in nodes if read[number].id in {node.id for node in read[:number]})
        checked.note(("nodes", twice, "id"), f"{read[twice].id} appears twice")
    if entry and entry not in ids:
        checked.note(("entryNodeId",), f"{entry} is not a node")
    edges = tuple(_edge(checked, number, ids) for number in checked.items(("edges",), required=False))
    return Graph(entry, read, edges), checked.problems


def _node(checked: CheckedFields, number: int, files: PackageFiles, folder: str) -> Node:
    at = ("nodes", number)
    fields = checked.fields(at)
    kind = checked.text((*at, "type"))
    if kind and kind not in _NODE_KINDS:
        checked.note((*at, "type"), f"{kind} is not one of {', '.join(_NODE_KINDS)}")
    needed = kind in (NodeKind.STEP, NodeKind.DECISION)
    file = checked.text((*at, "file"), required=needed)
    if file:
        found = next((p for p in (posixpath.join(folder, file), file) if files.exists(p)), None)
        if found is None:
            checked.note((*at, "file"), f"{file} is not a file of the package")
        file = posixpath.normpath(found or file)
    called = next((str(fields[name]) for name in ("workflowId", "workflow", "subworkflow") if fields.get(name)), "")
    return Node(
        checked.text((*at, "id")),
        NodeKind(kind) if kind in _NODE_KINDS else NodeKind.STEP,
        file,
        checked.text((*at, "title"), required=False),
        checked.text((*at, "description"), required=False),
        checked.text((*at, "agentId"), required=False),
        called,
        checked.texts((*at, "inputs"), required=False),
        checked.texts((*at, "outputs"), required=False),
    )


def _edge(checked: CheckedFields, number: int, ids: set[str]) -> Edge:
    at = ("edges", number)
    checked.fields(at)
    ends = checked.text((*at, "from")), checked.text((*at, "to"))
    for field, end in zip(("from", "to"), ends, strict=True):
        if end and end not in ids:
            checked.note((*at, field), f"{end} is not a node")
    condition = checked.text((*at, "conditionText"), required=False)
    return Edge(*ends, checked.text((*at, "label")), checked.flag((*at, "isDefault")), condition)


def _row(files: PackageFiles, path: str) -> tuple[Graph | None, list[AgentProblem]]:
    """The step files beside a workflow.md in a row: as each names the next, else by name; itself if there are none.

    By name, one of those that share a number and differ in a letter (02a, 02b) is chosen.
    """
    folder = posixpath.join(posixpath.dirname(path), "steps")
    pages = [entry.name for entry in files.entries(folder) if entry.kind == "file" and entry.name.endswith(".md")]
    numbered = [name for name in pages if _STEP.fullmatch(name)] or pages
    steps: dict[str, Located] = {}
    name = ""
    try:
        following = numbered[0] if numbered else ""
        while following in pages and following not in steps:
            name = following
            steps[name] = frontmatter(files.text(posixpath.join(folder, name)))[0]
            following = posixpath.basename(str(steps[name].value.get("nextStepFile") or ""))
        ranks = [[name] for name in steps]
        if len(steps) == 1:
            ranks = _ranks(pages, numbered)
            for name in (name for rank in ranks[1:] for name in rank):
                steps[name] = frontmatter(files.text(posixpath.join(folder, name)))[0]
    except NotReadable as error:
        return None, [AgentProblem(files.shown(posixpath.join(folder, name)), error.line, "", error.problem)]
    if not steps:
        return Graph("workflow", (Node("workflow", NodeKind.STEP, path),)), []
    nodes = tuple(
        Node(name.removesuffix(".md"), NodeKind.STEP, posixpath.join(folder, name), _text(page.value, "name"))
        for name, page in steps.items()
    )
    edges = tuple(
        Edge(one.removesuffix(".md"), other, "next" if len(after) == 1 else other, len(after) == 1)
        for before, after in pairwise(ranks)
        for one in before
        for other in (name.removesuffix(".md") for name in after)
    )
    return Graph(nodes[0].id, nodes, edges), []


def _ranks(pages: list[str], numbered: list[str]) -> list[list[str]]:
    """The steps by their names; those that only a letter tells apart, and no page without one, stand side by side."""
    plain = {found[1] for name in numbered if (found := _RANK.match(name)) and not found[2]}
    ranks: dict[str, list[str]] = {}
    for name in pages:
        found = _RANK.match(name)
        if name in numbered:
            ranks[name] = [name]
        elif found and found[2] and found[1] not in plain:
            ranks.setdefault(found[1], []).append(name)
    return list(ranks.values())
