"""A classic BMAD workflow: a workflow.yaml that names its instructions, whose steps stand in tags in Markdown or XML.

Each step becomes a node. They follow one another by their numbers; a `goto` is one more way on. What is not of this
form is no workflow here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from msgspec import Struct

from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.files.located_yaml import NotReadable, read_yaml
from quintet.domain.agents.workflow import Edge, Graph, Node, NodeKind, Workflow, filled, own_variables
from quintet.domain.base.lazy_regex import regex

MOST_STEPS = 100
_TAG = regex(r"<(/?)step\b([^<>]*?)(/?)>", re.IGNORECASE)
_NUMBER = regex(r"""\bn\s*=\s*["']([^"']{1,20})["']""")
_GOAL = regex(r"""\b(?:goal|title)\s*=\s*["']([^"']{1,200})["']""")
_GOTO = regex(r"""<goto\s+(step|anchor)\s*=\s*["']([^"']{1,60})["']""", re.IGNORECASE)
_ANCHOR = regex(r"""<anchor\s+id\s*=\s*["']([^"']{1,60})["']""", re.IGNORECASE)


class NotClassic(Exception):
    """Why a file cannot be run as a classic workflow."""


class _Step(Struct):
    number: str
    title: str
    text: str

    @property
    def id(self) -> str:
        return f"step-{self.number}"


def read_classic(
    files: PackageFiles, path: str, render: Callable[[str], str], place: Callable[[str], tuple[PackageFiles, str]]
) -> Workflow:
    """The workflow whose workflow.yaml this is. `render` fills in places and configuration; `place` finds a path."""
    value, text = _described(files, path)
    values = own_variables(value)
    named = render(filled(str(value["instructions"]), values))
    try:
        source, inside = place(posixpath.join(posixpath.dirname(path), named) if named[:1] == "." else named)
        instructions = source.text(inside)
    except NotReadable as error:
        raise NotClassic(f"its instructions, {named}, are not read: {error.problem}") from None
    graph = _graph(_steps(instructions)[0], values)
    name = posixpath.basename(posixpath.dirname(path)) or str(value.get("name") or "workflow")
    about = filled(f"{text.strip()}\n\n{_steps(instructions)[1]}", values)
    title = value.get("name") if isinstance(value.get("name"), str) else name
    return Workflow(name, path, graph, title or name, about, {}, path)


def _described(files: PackageFiles, path: str) -> tuple[dict[str, Any], str]:
    try:
        text = files.text(path)
        value = read_yaml(text, twice=True).value
    except NotReadable as error:
        raise NotClassic(f"it is not read: {error.problem}") from None
    if not isinstance(value, dict) or not isinstance(value.get("instructions"), str):
        raise NotClassic("it names no instructions file")
    return value, text


def _steps(text: str) -> tuple[list[_Step], str]:
    """The outermost steps, in their order, and all that stands around them."""
    steps: list[_Step] = []
    around: list[str] = []
    depth = begun = behind = 0
    attributes = ""
    for tag in _TAG.finditer(text):
        if tag[3] or (tag[1] and not depth):
            continue
        if tag[1]:
            depth -= 1
            if not depth:
                number, goal = _NUMBER.search(attributes), _GOAL.search(attributes)
                label = number[1].strip() if number else str(len(steps) + 1)
                steps.append(_Step(label, goal[1] if goal else "", text[begun : tag.end()].strip()))
                behind = tag.end()
        else:
            if not depth:
                begun, attributes = tag.start(), tag[2]
                around.append(text[behind : tag.start()].strip())
            depth += 1
    around.append(text[behind:].strip())
    if not steps:
        return [_Step("1", "", text.strip())], ""
    return _ordered(steps[:MOST_STEPS]), "\n\n".join(part for part in around if part)


def _ordered(steps: list[_Step]) -> list[_Step]:
    seen: set[str] = set()
    for step in steps:
        while step.number in seen:
            step.number += "+"
        seen.add(step.number)
    try:
        return sorted(steps, key=lambda step: float(step.number))
    except ValueError:
        return steps


def _graph(steps: list[_Step], values: dict[str, str]) -> Graph:
    anchors = {anchor: step.id for step in steps for anchor in _ANCHOR.findall(step.text)}
    ids = {step.number: step.id for step in steps}
    nodes = tuple(
        Node(step.id, NodeKind.STEP, title=step.title, description=filled(step.text, values)) for step in steps
    )
    following = {one.id: other.id for one, other in pairwise(steps)}
    edges = [Edge(one, other, "next", True) for one, other in following.items()]
    for step in steps:
        for kind, wanted in dict.fromkeys(_GOTO.findall(step.text)):
            target = (ids if kind == "step" else anchors).get(wanted)
            if target and target not in (step.id, following.get(step.id)):
                edges.append(Edge(step.id, target, f"{kind} {wanted}"))
    return Graph(steps[0].id, nodes, tuple(dict.fromkeys(edges)))
