"""Packages of agents for tests, written as their authors would: an agent's YAML, workflows beside it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PERSONA = {
    "role": "Keeps the tally",
    "identity": "Has counted for years.",
    "communication_style": "Short.",
    "principles": ["Count twice."],
}


def agent(id: str, menu: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    metadata = {"id": id, "name": id.title(), "title": f"The {id}", "icon": "*"}
    return {"agent": {"metadata": metadata, "persona": PERSONA, "menu": menu, **more}}


def item(trigger: str, **fields: Any) -> dict[str, Any]:
    return {"trigger": trigger, "description": f"Item {trigger.replace('-', ' ')}", **fields}


def write(
    folder: Path, id: str, menu: Sequence[dict[str, Any]], files: dict[str, str] | None = None, **more: Any
) -> Path:
    """The agent's file in `folder`, with other files of its package; JSON is YAML too."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{id}.agent.yaml"
    path.write_text(json.dumps(agent(id, menu, **more)))
    for name, text in (files or {}).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return path


def row(id: str, *steps: str) -> dict[str, str]:
    """The files of a workflow whose steps are in a row."""
    folder = f"workflows/{id}"
    files = {f"{folder}/workflow.md": f"---\nname: {id}\n---\n\n# {id}\n"}
    for number, text in enumerate(steps, 1):
        following = f"nextStepFile: ./step-{number + 1:02}-s.md\n" if number < len(steps) else ""
        files[f"{folder}/steps/step-{number:02}-s.md"] = f"---\nname: Step {number}\n{following}---\n\n{text}\n"
    return files


def graph(id: str, nodes: Sequence[dict[str, Any]], edges: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The files of a workflow with a graph; each node with a `text` has a file of that."""
    folder = f"workflows/{id}"
    files = {f"{folder}/workflow.md": f"---\nschemaVersion: '1.1'\nworkflowType: {id}\n---\n\n# {id}\n"}
    told = []
    for node in nodes:
        node = dict(node)
        if text := node.pop("text", ""):
            node["file"] = f"steps/{node['id']}.md"
            files[f"{folder}/steps/{node['id']}.md"] = text
        told.append({"title": node["id"].title(), **node})
    drawn = [{"from": source, "to": target, "label": label} for source, target, label in edges]
    body = {"schemaVersion": "1.1", "entryNodeId": nodes[0]["id"], "nodes": told, "edges": drawn}
    files[f"{folder}/workflow.graph.json"] = json.dumps(body)
    return files


# A look at something, a choice, and two ends; the work is done by another agent.
CHOICE = graph(
    "choice",
    [
        {"id": "look", "type": "step", "text": "Look at {project-root}."},
        {"id": "choose", "type": "decision", "text": "Is it good?"},
        {"id": "mend", "type": "step", "text": "Mend it.", "agentId": "mender"},
        {"id": "join", "type": "merge"},
        {"id": "end", "type": "end"},
    ],
    [
        ("look", "choose", "next"),
        ("choose", "join", "good"),
        ("choose", "mend", "bad"),
        ("mend", "join", "mended"),
        ("join", "end", "next"),
    ],
)
