"""What an agent is: a persona and the user's numbered menu, and both in words. Never a process.

Every menu opens with Menu Help and Chat and ends with Dismiss, numbered like the rest. What a surface cannot do is
not in its menu, and the numbers are those of what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from quintet.domain.dials.axes import Surface


class HandlerKind(StrEnum):
    """What a menu item does; the values are the fields that say so in an agent's file."""

    WORKFLOW = "workflow"
    EXEC = "exec"
    ACTION = "action"
    VALIDATE = "validate-workflow"
    TEMPLATE = "tmpl"
    MENU = "menu"  # of the injected items: no file says these
    CHAT = "chat"
    DISMISS = "dismiss"


class Handler(Struct, frozen=True):
    kind: HandlerKind
    target: str = ""  # a workflow's id or path, a script's path, `#prompt`, a built-in action, or words for the model
    data: str = ""  # what is loaded and put before the model first
    trigger: str = ""  # of one handler among several in an item
    code: str = ""
    match: str = ""  # the phrase it goes by


class MenuItem(Struct, frozen=True):
    label: str  # the description, as shown
    trigger: str = ""
    handlers: tuple[Handler, ...] = ()  # the first is what the item's number does
    code: str = ""  # XX of `XX or fuzzy match on …`, or of a description that opens with [XX]
    cmd: str = ""
    aliases: tuple[str, ...] = ()
    ide_only: bool = False
    web_only: bool = False

    def shown_on(self, surface: Surface) -> bool:
        return not (self.ide_only if surface is Surface.WEB else self.web_only)


class Persona(Struct, frozen=True):
    role: str
    identity: str = ""
    communication_style: str = ""
    principles: tuple[str, ...] = ()


class MenuPrompt(Struct, frozen=True):
    """A text the menu refers to as `#id`."""

    id: str
    content: str
    description: str = ""


class Agent(Struct, frozen=True, cache_hash=True):
    id: str
    name: str
    persona: Persona
    title: str = ""
    icon: str = ""
    module: str = ""
    critical_actions: tuple[str, ...] = ()
    prompts: tuple[MenuPrompt, ...] = ()
    menu: tuple[MenuItem, ...] = ()  # its own items; `visible_menu` adds what every menu has
    tools: frozenset[str] | None = None  # the tools it keeps to; None: all
    system_prompt: str = ""  # in the place of the persona, where its file brings one
    source: str = ""  # its file
    package: str = ""  # the folder nothing of it may be read outside of, the project aside

    def prompt(self, id: str) -> MenuPrompt | None:
        return next((prompt for prompt in self.prompts if prompt.id == id), None)


# Actions that are carried out here, not by a model.
SHOW_MENU, DISMISS, RESUME, PAUSE, STOP = "menu.show", "agent.dismiss", "run.resume", "run.pause", "run.stop"

MENU_HELP = MenuItem("[MH] Redisplay Menu Help", "menu", (Handler(HandlerKind.MENU),), "MH", aliases=("help",))
CHAT = MenuItem("[CH] Chat with the Agent about anything", "chat", (Handler(HandlerKind.CHAT),), "CH")
LEAVE = MenuItem(
    "[DA] Dismiss Agent",
    "dismiss",
    (Handler(HandlerKind.DISMISS),),
    "DA",
    aliases=("exit", "leave", "goodbye", "bye"),
)


def visible_menu(agent: Agent, surface: Surface) -> tuple[MenuItem, ...]:
    """The menu as a surface shows it; an item's number is its place here, from 1."""
    return (MENU_HELP, CHAT, *(item for item in agent.menu if item.shown_on(surface)), LEAVE)


class AgentProblem(Struct, frozen=True):
    """What is wrong with a file of agents, and where."""

    file: str
    line: int
    field: str  # as `agent.menu[2].trigger`; empty where the whole file is meant
    problem: str
    noted: bool = False  # only that: the file is read all the same

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        return f"{self.file}:{self.line}: {field}{self.problem}"


def persona_prompt(agent: Agent) -> str:
    """The persona as a part of what the model is told."""
    if agent.system_prompt:
        return agent.system_prompt.strip()
    persona = agent.persona
    parts = [f"You are {headline(agent)}. {persona.role}", persona.identity]
    if persona.communication_style:
        parts.append(f"How you speak: {persona.communication_style}")
    parts += [_listed("Your principles:", persona.principles), _listed("Always:", agent.critical_actions)]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def headline(agent: Agent) -> str:
    return f"{agent.name}, {agent.title}" if agent.title else agent.name


def numbered(labels: Sequence[str]) -> str:
    """A menu as it is shown."""
    width = len(str(len(labels)))
    return "\n".join(f"{number:>{width}}. {label}" for number, label in enumerate(labels, 1))


def _listed(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([heading, *(f"- {line}" for line in lines)]) if lines else ""
