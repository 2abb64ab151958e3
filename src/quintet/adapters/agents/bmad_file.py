"""One agent from one file: BMAD's YAML, or a Markdown page with frontmatter as AI CLIs keep them.

What is wrong comes back as diagnostics instead of an agent; nothing is raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from quintet.adapters.agents.fields import read_menu, read_persona, read_prompts
from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.files.located_yaml import Checked, NotReadable, Place, frontmatter, read_yaml
from quintet.domain.agents.agent import RESUME, Agent, AgentProblem, Handler, HandlerKind, MenuItem, Persona
from quintet.domain.turn.tool_menu import TOOL_MODES

YAML_ENDINGS = (".agent.yaml", ".agent.yml")
_TOP = ("agent", "saved_answers", "install_config")
_AGENT = ("metadata", "persona", "critical_actions", "menu", "prompts", "memories")
_AGENT_FLAGS = ("webskip", "discussion", "conversational_knowledge")
_METADATA = ("id", "name", "title", "icon", "module", "hasSidecar")


def _does(label: str, trigger: str, code: str, action: str) -> MenuItem:
    return MenuItem(f"[{code}] {label}", trigger, (Handler(HandlerKind.ACTION, action),), code)


# What a page that brings no menu gets.
DEFAULT_MENU = (
    _does(
        "Say what this agent does", "about", "AB", "Say in a few lines what you do, and three things I could ask you."
    ),
    _does(
        "Look at the uncommitted changes",
        "look-at-changes",
        "LC",
        "Look at the uncommitted changes of this project and say what you, in your role, think of them.",
    ),
    _does("Resume the latest run", "resume", "RR", RESUME),
)

# The tools of an AI CLI by the names of ours.
_TOOLS = {
    "bash": ("bash", "bash_output", "write_to_shell", "kill_shell", "wait"),
    "multiedit": ("Edit",),
    "ls": ("fs_list_directory",),
    "webfetch": ("web_get_contents",),
    "websearch": ("web_search",),
    "todowrite": ("TodoCreate", "TodoRead", "TodoStart", "TodoClaim", "TodoVerify"),
}
_OURS = {name.casefold(): name for toolset in TOOL_MODES.values() for name in toolset.tool_list}

Read = tuple[Agent | None, list[AgentProblem]]


def read_agent(files: PackageFiles, path: str) -> Read:
    """The agent of a file, or what is wrong with it."""
    shown = files.shown(path)
    try:
        text = files.text(path)
        return _from_page(files, path, text) if path.endswith(".md") else _from_yaml(files, path, text)
    except NotReadable as error:
        return None, [AgentProblem(shown, error.line, "", error.problem)]


def short_id(id: str, endings: Iterable[str] = (*YAML_ENDINGS, ".md", ".yaml", ".yml")) -> str:
    """What an agent is called by: the last part of an id that is a path, without its ending."""
    last = id.rstrip("/").rpartition("/")[2]
    return next((last.removesuffix(ending) for ending in endings if last.endswith(ending)), last)


def _from_yaml(files: PackageFiles, path: str, text: str) -> Read:
    checked = Checked(files.shown(path), read_yaml(text))
    if checked.document.value is None:
        checked.note(("agent",), "is missing: the file is empty")
        return None, checked.problems
    checked.fields((), _TOP)
    if not checked.fields(("agent",), (*_AGENT, *_AGENT_FLAGS)):
        return None, checked.problems
    about: Place = ("agent", "metadata")
    metadata = checked.fields(about, _METADATA)
    id, name, title, icon = (checked.text((*about, field)) if metadata else "" for field in _METADATA[:4])
    agent = Agent(
        short_id(id),
        name,
        read_persona(checked, ("agent", "persona")),
        title,
        icon,
        checked.text((*about, "module"), required=False),
        checked.texts(("agent", "critical_actions"), required=False),
        read_prompts(checked, ("agent", "prompts")),
        read_menu(checked, ("agent", "menu"), strict=True),
        source=checked.file,
        package=files.root,
    )
    return (None if checked.problems else agent), checked.problems


def _from_page(files: PackageFiles, path: str, text: str) -> Read:
    document, body = frontmatter(text)
    checked = Checked(files.shown(path), document)
    if not document.value:
        checked.note(("name",), "is missing: an agent's page opens with --- and the fields name and description")
        return None, checked.problems
    name, description = checked.text(("name",)), checked.text(("description",))
    agent = Agent(
        short_id(name),
        name,
        Persona(description, body.strip()),
        menu=DEFAULT_MENU,
        tools=_tools(checked),
        source=checked.file,
        package=files.root,
    )
    return (None if checked.problems else agent), checked.problems


def _tools(checked: Checked) -> frozenset[str] | None:
    """The tools a page keeps to, by our names; one we do not have gives nothing."""
    value = checked.get(("tools",))
    if value is None or value == "*":
        return None
    names = checked.texts(("tools",)) if isinstance(value, list) else checked.text(("tools",)).split(",")
    bare = [re.sub(r"\(.*", "", name).strip().casefold() for name in names]
    return frozenset(tool for name in bare for tool in _TOOLS.get(name) or (_OURS.get(name, name),))
