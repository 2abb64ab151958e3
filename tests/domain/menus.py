"""Menus to route in: the five of the corpus, and one that holds every form an item can have."""

from functools import cache
from pathlib import Path

from quintet.adapters.agents.package import read_package
from quintet.domain.agents.agent import Agent, Handler, HandlerKind, MenuItem, Persona, visible_menu
from quintet.domain.dials.axes import Surface

FOLDER = Path(__file__).parent / "corpus"


@cache
def corpus_agents() -> dict[str, Agent]:
    found = read_package(str(FOLDER / "agents"))
    assert found.package and not found.problems
    return {agent.id: agent for agent in found.package.agents}


def item(label: str, trigger: str = "", kind: HandlerKind = HandlerKind.ACTION, **more: object) -> MenuItem:
    target = str(more.pop("target", trigger or label))
    data = str(more.pop("data", ""))
    return MenuItem(label, trigger, (Handler(kind, target, data),), **more)  # type: ignore[arg-type]


def agent(*items: MenuItem) -> Agent:
    return Agent("guide", "Guide", Persona("a guide"), menu=items)


def labels(agent: Agent, surface: Surface = Surface.TUI) -> list[str]:
    return [item.label for item in visible_menu(agent, surface)]


EVERY_FORM = agent(
    item("[WS] Show where the work stands", "work-status", HandlerKind.WORKFLOW, code="WS", target="status"),
    item("[DR] Draft a paper", "draft", HandlerKind.EXEC, code="DR", target="draft/workflow.md", data="notes.csv"),
    item("[CK] Check the spelling", "check", HandlerKind.EXEC, code="CK", target="check.md", cmd="spell"),
    item("Translate a page", "translate", aliases=("render into another tongue",), ide_only=True),
    item("Open the gallery", "gallery", web_only=True),
    MenuItem(
        "[QS] Quick Sketch or [QP] Quick Painting",
        handlers=(
            Handler(HandlerKind.EXEC, "sketch.md", "", "quick-sketch", "QS", "draw a quick sketch"),
            Handler(HandlerKind.WORKFLOW, "painting", "", "quick-painting", "QP", "paint something in oil"),
        ),
    ),
)
