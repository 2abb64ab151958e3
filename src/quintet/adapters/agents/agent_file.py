"""One agent from one file: BMAD's YAML, or a Markdown page with frontmatter as AI CLIs keep them.

What is wrong comes back as diagnostics instead of an agent; nothing is raised. A field that nothing here uses is noted,
and the agent is read: only what would make a file mean something else is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.files.located_yaml import CheckedFields, NotReadable, Place, page_fields, read_yaml
from quintet.domain.agents.agent import RESUME, Agent, AgentProblem, Handler, HandlerKind, MenuItem, MenuPrompt, Persona
from quintet.domain.turn.tool_menu import TOOL_MODES

YAML_ENDINGS = (".agent.yaml", ".agent.yml")
_TOP = ("agent", "saved_answers", "install_config")
_AGENT = ("metadata", "persona", "critical_actions", "menu", "prompts", "memories")
_AGENT_FLAGS = ("webskip", "discussion", "conversational_knowledge")
_METADATA = ("id", "name", "title", "icon", "module", "hasSidecar", "capabilities")
_ITEM = (
    *("trigger", "description", "workflow", "exec", "action", "validate-workflow", "tmpl", "data", "cmd"),
    *("multi", "triggers", "ide-only", "web-only"),
)
# What a page may open with. Of those that AI CLIs know, name, description and the tools count here.
_PAGE = (
    *("name", "description", "tools", "disallowedTools", "model", "color", "permissionMode", "maxTurns", "skills"),
    *("mcpServers", "hooks", "memory", "background", "effort", "isolation", "initialPrompt"),
)


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
    "bashoutput": ("bash_output",),
    "killshell": ("kill_shell",),
    "notebookread": ("Read",),
    "notebookedit": ("Edit",),
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
    checked = CheckedFields(files.shown(path), read_yaml(text))
    if checked.document.value is None:
        checked.note(("agent",), "is missing: the file is empty")
        return None, checked.findings
    checked.fields((), _TOP)
    if not checked.fields(("agent",), (*_AGENT, *_AGENT_FLAGS)):
        return None, checked.findings
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
    return (None if checked.problems else agent), checked.findings


def _from_page(files: PackageFiles, path: str, text: str) -> Read:
    document, body, loose = page_fields(text, _PAGE, ("name", "tools", "disallowedTools"))
    checked = CheckedFields(files.shown(path), document)
    if not document.value:
        checked.note(("name",), "is missing: an agent file starts with --- and the fields name and description")
        return None, checked.findings
    if loose:
        problem = f"{loose.problem}; it was read line by line instead. Put a value that contains a colon in quotes"
        checked.remarks.append(AgentProblem(checked.file, loose.line, "", problem, noted=True))
    checked.fields((), _PAGE)
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
    return (None if checked.problems else agent), checked.findings


def _tools(checked: CheckedFields) -> frozenset[str] | None:
    """The tools a page keeps to, by our names; one we do not have gives nothing."""
    kept, denied = _named_tools(checked, "tools"), _named_tools(checked, "disallowedTools")
    if not denied:
        return kept
    return (frozenset(_OURS.values()) if kept is None else kept) - denied


def _named_tools(checked: CheckedFields, field: str) -> frozenset[str] | None:
    value = checked.get((field,))
    if value is None or value == "*":
        return None
    names = checked.texts((field,)) if isinstance(value, list) else checked.text((field,)).split(",")
    bare = [re.sub(r"\(.*", "", name).strip().casefold() for name in names]
    return frozenset(tool for name in bare for tool in _TOOLS.get(name) or (_OURS.get(name, name),))


MOST_ITEMS = 200
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_COMPOUND = re.compile(rf"([A-Z]{{1,3}}) or fuzzy match on ({_KEBAB.pattern})")
_LOOSE = re.compile(r"\*?\[?(\w{1,4})\]? or fuzzy match(?: on)? (.+)", re.IGNORECASE)
_CODE = re.compile(r"\[(\w{1,4})\]")
_TARGETS = (
    HandlerKind.WORKFLOW,
    HandlerKind.EXEC,
    HandlerKind.ACTION,
    HandlerKind.VALIDATE,
    HandlerKind.TEMPLATE,
)


def read_persona(checked: CheckedFields, place: Place) -> Persona:
    checked.fields(place, ("role", "identity", "communication_style", "principles"))
    if checked.problems and not isinstance(checked.get(place), dict):
        return Persona("")
    role, identity, style = (checked.text((*place, name)) for name in ("role", "identity", "communication_style"))
    principles = (*place, "principles")
    if isinstance(checked.get(principles), str):
        lines = (line.strip().removeprefix("- ").strip() for line in checked.text(principles).splitlines())
        return Persona(role, identity, style, tuple(line for line in lines if line))
    return Persona(role, identity, style, checked.texts(principles, least=1))


def read_prompts(checked: CheckedFields, place: Place) -> tuple[MenuPrompt, ...]:
    prompts: dict[str, MenuPrompt] = {}
    for number in checked.items(place, required=False):
        at = (*place, number)
        checked.fields(at, ("id", "content", "description"))
        id, content = checked.text((*at, "id")), checked.text((*at, "content"))
        if id in prompts and id:
            checked.note((*at, "id"), f"{id} appears twice")
        prompts[id] = MenuPrompt(id, content, checked.text((*at, "description"), required=False))
    return tuple(prompts.values())


def read_menu(checked: CheckedFields, place: Place, *, strict: bool) -> tuple[MenuItem, ...]:
    found = checked.items(place, required=strict, least=1 if strict else 0)
    if len(found) > MOST_ITEMS:
        checked.note(place, f"has more than {MOST_ITEMS} items")
        return ()
    menu = tuple(_item(checked, (*place, number), strict) for number in found)
    seen: set[str] = set()
    for number, item in zip(found, menu, strict=True):
        own = [("trigger", item.trigger)] if item.trigger else []
        for field, name in (*own, *(("triggers", handler.trigger) for handler in item.handlers if handler.trigger)):
            if name in seen:
                checked.note((*place, number, field), f"{name} appears twice in this menu")
            seen.add(name)
    return menu


def _item(checked: CheckedFields, at: Place, strict: bool) -> MenuItem:
    fields = checked.fields(at, _ITEM if strict else ())
    several = "multi" in fields or "triggers" in fields
    label = checked.text((*at, "multi" if "multi" in fields else "description"))
    trigger, code = _trigger(checked, at, strict) if "trigger" in fields or not several else ("", "")
    handlers = list(_handlers(checked, at, label, fields, required=not several))
    aliases: list[str] = []
    for number in checked.items((*at, "triggers"), required="multi" in fields, least=1):
        _among_several(checked, (*at, "triggers", number), handlers, aliases)
    if several and not handlers and not checked.problems:
        checked.note((*at, "triggers"), "none of them does anything: give one a workflow, exec, action or route")
    opening = _CODE.match(label)
    if not code and opening and all(handler.code != opening[1] for handler in handlers):
        code = opening[1]
    if checked.flag((*at, "ide-only")) and checked.flag((*at, "web-only")):
        checked.note((*at, "web-only"), "ide-only and web-only together would hide the item everywhere")
    return MenuItem(
        label,
        trigger,
        tuple(handlers),
        code,
        checked.text((*at, "cmd"), required=False).lstrip("*/"),
        tuple(aliases),
        checked.flag((*at, "ide-only")),
        checked.flag((*at, "web-only")),
    )


def _trigger(checked: CheckedFields, at: Place, strict: bool) -> tuple[str, str]:
    """The trigger, and the code that stands before it."""
    place = (*at, "trigger")
    raw = checked.text(place)
    if not raw:
        return "", ""
    if not strict:
        loose = _LOOSE.fullmatch(raw)
        return (loose[2].strip(), loose[1]) if loose else (raw.strip("*/[] "), "")
    if " or " in raw:
        compound = _COMPOUND.fullmatch(raw)
        if not compound:
            checked.note(place, f'"{raw}" must be XX or fuzzy match on some-words')
            return "", ""
        opening = _CODE.match(checked.text((*at, "description")))
        if not opening or opening[1] != compound[1]:
            checked.note((*at, "description"), f"must start with [{compound[1]}], the code of its trigger")
        return compound[2], compound[1]
    if not _KEBAB.fullmatch(raw):
        checked.note(place, f'"{raw}" must be lowercase letters and digits, joined by hyphens')
    return raw, ""


def _handlers(
    checked: CheckedFields, at: Place, label: str, fields: dict[str, Any], *, required: bool
) -> tuple[Handler, ...]:
    """What the item itself does; data alone is put before the model with the item's own words."""
    targets = [(kind, checked.text((*at, kind))) for kind in _TARGETS if fields.get(kind) is not None]
    data = checked.text((*at, "data"), required=False)
    if targets:
        return (Handler(targets[0][0], targets[0][1], data),)
    if data and required:
        return (Handler(HandlerKind.ACTION, label, data),)
    if required and fields:
        checked.note(at, "does nothing: give it a workflow, exec, action, validate-workflow or tmpl")
    return ()


def _among_several(checked: CheckedFields, at: Place, handlers: list[Handler], aliases: list[str]) -> None:
    """One of an item's triggers: another name for it, or a handler with its own phrase, in any form that is about."""
    fields = checked.fields(at)
    if fields.get("type") == "alias":
        aliases.append(checked.text((*at, "match")))
        return
    name, fields = _named(fields)
    if name and not _KEBAB.fullmatch(name):
        checked.note(at, f'"{name}" must be lowercase letters and digits, joined by hyphens')
    phrase = str(fields.get("match") or fields.get("input") or "")
    loose = _LOOSE.fullmatch(phrase)
    code, match = (loose[1], loose[2]) if loose else ("", phrase)
    target = next(((kind, str(fields[kind])) for kind in _TARGETS if fields.get(kind) and kind != "action"), None)
    if fields.get("route"):
        kind = HandlerKind.WORKFLOW if fields.get("type") == "workflow" else HandlerKind.EXEC
        target = (kind, str(fields["route"]))
    if target is None and fields.get("action"):
        target = (HandlerKind.ACTION, str(fields["action"]))
    if not phrase:
        checked.note(at, "has no input or match: the words that choose it")
    elif target is None:
        checked.note(at, "does nothing: give it a route, workflow, exec or action")
    else:
        handlers.append(Handler(*target, str(fields.get("data") or ""), name, code, match))


def _named(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A handler's name and fields, whether the name is a field, or the key above them, or a key beside them."""
    if "trigger" in fields:
        return str(fields["trigger"]), fields
    if len(fields) == 1:
        ((name, below),) = fields.items()
        parts = below if isinstance(below, list) else [below]
        return name, {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
    name = next((key for key, value in fields.items() if value is None), "")
    return name, fields
