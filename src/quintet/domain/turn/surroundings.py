"""What a model cannot see and has to know: machine, date, branch, the project's own page, and what needs approval.

It stands in the head of a conversation as it was when the conversation began. What has changed since is told in a
message, so that the head stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from quintet.domain.base.wording import listed
from quintet.domain.dials.axes import Axes, RunControl, WorkMode
from quintet.domain.permission import gate
from quintet.domain.permission.effects import EFFECT_ORDER, Effect, Sandbox
from quintet.domain.permission.opened_places import OpenedPlaces


class Surroundings(Struct, frozen=True, omit_defaults=True, gc=False):
    """As they were found at the beginning of a turn."""

    system: str = ""  # the operating system and its kind of machine
    shell: str = ""
    date: str = ""
    branch: str = ""  # empty outside a repository
    page: str = ""  # what the project tells agents
    skills: str = ""  # the skills there are, a line each


_EMPTY = "(now empty)"
_DOES = {
    Effect.READ: "reading the project",
    Effect.EDIT: "changing files of the project",
    Effect.EXECUTE: "running programs",
    Effect.BUILD: "building, testing and linting",
    Effect.INSTALL: "installing packages",
    Effect.COMMIT: "committing",
    Effect.FETCH: "fetching pages",
    Effect.NETWORK: "using the network",
    Effect.OUTSIDE: "anything outside the project",
    Effect.DESTROY: "what cannot be undone, for example git reset --hard",
    Effect.PUBLISH: "pushing and publishing",
}
CONTAINED = {sandbox: f"base/sandbox_{sandbox}.md" for sandbox in Sandbox}  # the page about what commands can do


def told(found: Surroundings | None, axes: Axes, contained: str) -> str:
    """The part of the head about the machine, about what commands can do, and about what needs approval."""
    facts = [f"{name}: {value}." for name, value in _facts(found) if value] if found else []
    return "\n".join([" ".join(facts), contained, _approvals(axes)]).strip()


def also_opened(places: OpenedPlaces) -> str:
    """What the user's settings add to what commands see; empty if nothing."""
    shown = f" The user's settings also let them read: {', '.join(places.shown)}." if places.shown else ""
    return shown + (f" The user's settings also let them write to: {', '.join(places.given)}." if places.given else "")


def changes(before: Surroundings, now: Surroundings) -> str:
    """What is other than at the beginning of the conversation, for the model; empty if nothing is."""
    facts = [
        f"{name} is now: {value or 'none'}."
        for (name, value), (_, old) in zip(_facts(now), _facts(before), strict=True)
        if value != old
    ]
    if now.page != before.page:
        facts.append(f"The project's instructions for agents have changed:\n\n{now.page or _EMPTY}")
    if now.skills != before.skills:
        facts += _changed_skills(before.skills.splitlines(), now.skills.splitlines())
    return "\n".join(facts)


def _changed_skills(before: list[str], now: list[str]) -> list[str]:
    """The lines that are new; of those that are gone, the names that no line has any more."""
    known, still = set(before), {_skill_name(line) for line in now}
    new = [line for line in now if line not in known]
    gone = [name for line in before if line.startswith("- ") and (name := _skill_name(line)) not in still]
    told = [f"Skills that are new or have changed:\n{chr(10).join(new)}"] if new else []
    return [*told, f"Skills that no longer exist: {', '.join(gone)}."] if gone else told


def _skill_name(line: str) -> str:
    return line.removeprefix("- ").partition(":")[0]


def _facts(found: Surroundings) -> Iterable[tuple[str, str]]:
    return (("System", found.system), ("Shell", found.shell), ("Date", found.date), ("Branch", found.branch))


def _approvals(axes: Axes) -> str:
    """From the gate's own tables."""
    if axes.run_control is RunControl.MANUAL:
        return "Every step needs the user's approval."
    goes = gate.unasked(axes)
    refused = gate.NEVER_READ_ONLY if axes.work_mode in gate.READ_ONLY_MODES else frozenset()
    asks = [effect for effect in EFFECT_ORDER if effect not in goes | refused]
    lines = [f"Without approval: {_named(goes)}.", f"With the user's approval only: {_named(asks)}."]
    if refused:
        lines.append(f"Not allowed here: {_named(refused)}.")
    if axes.work_mode is WorkMode.CHAT:
        lines.append("The user sees and approves each change first.")
    return " ".join(lines)


def _named(effects: Iterable[Effect]) -> str:
    wanted = set(effects)
    return listed([_DOES[effect] for effect in EFFECT_ORDER if effect in wanted])
