"""The fields that agents have in common, in BMAD's YAML and in a package's agents.json: persona, prompts, menu.

`strict` holds a menu to BMAD's own form of triggers; a package's menu may be looser.
"""

from __future__ import annotations

import re
from typing import Any

from quintet.adapters.files.located_yaml import Checked, Place
from quintet.domain.agents.agent import Handler, HandlerKind, MenuItem, MenuPrompt, Persona

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


def read_persona(checked: Checked, place: Place) -> Persona:
    checked.fields(place, ("role", "identity", "communication_style", "principles"))
    if checked.problems and not isinstance(checked.get(place), dict):
        return Persona("")
    role, identity, style = (checked.text((*place, name)) for name in ("role", "identity", "communication_style"))
    principles = (*place, "principles")
    if isinstance(checked.get(principles), str):
        lines = (line.strip().removeprefix("- ").strip() for line in checked.text(principles).splitlines())
        return Persona(role, identity, style, tuple(line for line in lines if line))
    return Persona(role, identity, style, checked.texts(principles, least=1))


def read_prompts(checked: Checked, place: Place) -> tuple[MenuPrompt, ...]:
    prompts: dict[str, MenuPrompt] = {}
    for number in checked.items(place, required=False):
        at = (*place, number)
        checked.fields(at, ("id", "content", "description"))
        id, content = checked.text((*at, "id")), checked.text((*at, "content"))
        if id in prompts and id:
            checked.note((*at, "id"), f"{id} stands twice")
        prompts[id] = MenuPrompt(id, content, checked.text((*at, "description"), required=False))
    return tuple(prompts.values())


def read_menu(checked: Checked, place: Place, *, strict: bool) -> tuple[MenuItem, ...]:
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
                checked.note((*place, number, field), f"{name} stands twice in this menu")
            seen.add(name)
    return menu


def _item(checked: Checked, at: Place, strict: bool) -> MenuItem:
    fields = checked.fields(at)
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


def _trigger(checked: Checked, at: Place, strict: bool) -> tuple[str, str]:
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
            checked.note(place, f'"{raw}" has to read XX or fuzzy match on some-words')
            return "", ""
        opening = _CODE.match(checked.text((*at, "description")))
        if not opening or opening[1] != compound[1]:
            checked.note((*at, "description"), f"has to open with [{compound[1]}], the code of its trigger")
        return compound[2], compound[1]
    if not _KEBAB.fullmatch(raw):
        checked.note(place, f'"{raw}" has to be small letters and digits, joined by hyphens')
    return raw, ""


def _handlers(
    checked: Checked, at: Place, label: str, fields: dict[str, Any], *, required: bool
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


def _among_several(checked: Checked, at: Place, handlers: list[Handler], aliases: list[str]) -> None:
    """One of an item's triggers: another name for it, or a handler with its own phrase, in any form that is about."""
    fields = checked.fields(at)
    if fields.get("type") == "alias":
        aliases.append(checked.text((*at, "match")))
        return
    name, fields = _named(fields)
    if name and not _KEBAB.fullmatch(name):
        checked.note(at, f'"{name}" has to be small letters and digits, joined by hyphens')
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
        checked.note(at, "has no input or match: the words it goes by")
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
