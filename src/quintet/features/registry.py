"""Every feature there is: those that come with Quintet, a line each, then those that were installed beside it.

Somebody else's feature is an entry point of the group `quintet.features` in Quintet's own environment. One that cannot
be used is left out, and `quintet plugins` says why: it never keeps Quintet from starting.
"""

from __future__ import annotations

import os
import site
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from quintet.features.feature import Feature

if TYPE_CHECKING:
    from quintet.domain.ports.offers import AnswerPages, RemoteDevices
    from quintet.domain.ports.stores import StoreKind
    from quintet.domain.ports.trials import TrialRunner
    from quintet.domain.ports.workers import ScheduleServer, SymbolFinder
    from quintet.domain.settings.settings import Settings
    from quintet.domain.settings.tables import Tables
    from quintet.domain.turn.tool_spec import MachinePart, ToolSpec

GROUP = "quintet.features"  # of entry points
MCP_SERVER = "mcp-server"  # what a feature may offer besides settings
SESSION = "session"  # told of an Opening once the session has its owner, where something is set in its own tables
ANSWER_PAGES = "answer-pages"  # what the web surface serves by a link alone: from nothing to AnswerPages
REMOTE_DEVICES = "remote-devices"  # what the web surface lists and revokes: from nothing to RemoteDevices
RECALL = "recall"  # what is known that fits an input: from an Opening to a Recollection
LESSONS = "lessons"  # what keeps something of a run: from an Opening to Lessons
SKILL_NAMES = "skill-names"  # commands by names that nobody knows before: from an Opening to SkillNames
SKILL_USAGES = "skill-usages"  # the same, to be offered without a session: from Places and LoadedSettings
SKILLS_HEAD = "skills-head"  # the skills in the head of a conversation: from Places and LoadedSettings to a text
SYMBOL_LINES = "symbol-lines"  # where symbols stand in files: from Places and LoadedSettings to a SymbolFinder
SCHEDULES = "schedules"  # runs what is due: `ScheduleServer`
TRIALS = "trials"  # what runs a task and grades it: from Places and LoadedSettings to a TrialRunner
STORE = "store:"  # and the scheme of a database's URL: the StoreKind that opens it
_PLACES = (
    MCP_SERVER,
    ANSWER_PAGES,
    REMOTE_DEVICES,
    SESSION,
    RECALL,
    LESSONS,
    SKILL_NAMES,
    SKILL_USAGES,
    SKILLS_HEAD,
    SCHEDULES,
    SYMBOL_LINES,
    TRIALS,
)
SHIPPED: tuple[str, ...] = (
    "acp",
    "ai_clis",
    "browser",
    "deploy",
    "evals",
    "forge",
    "git_signing",
    "helpers",
    "index",
    "language_servers",
    "library",
    "mcp",
    "memory",
    "otel",
    "postgres",
    "remote",
    "schedule",
    "skills",
    "web_search",
    "web_ui",
    "workers",
)


class Plugin(NamedTuple):
    """A feature that was installed beside Quintet."""

    name: str
    package: str  # that brought it, with its version
    feature: Feature | None = None
    problem: str = ""  # why it is not used


@cache
def features() -> tuple[Feature, ...]:
    """All that are used, Quintet's own first."""
    return (*shipped(), *(plugin.feature for plugin in plugins() if plugin.feature))


@cache
def shipped() -> tuple[Feature, ...]:
    return tuple(import_module(f"quintet.features.{name}").FEATURE for name in SHIPPED)


@cache
def plugins() -> tuple[Plugin, ...]:
    found: list[Plugin] = []
    for folder in _with_features():
        from importlib.metadata import Distribution

        distribution = Distribution.at(folder)
        package = f"{distribution.metadata['Name']} {distribution.version}"
        for entry in distribution.entry_points.select(group=GROUP):
            used = [*shipped(), *(plugin.feature for plugin in found if plugin.feature)]
            try:
                feature = entry.load()
                problem = _problem(feature, entry.name, used)
            except Exception as error:  # its own code: whatever it raises must not keep us from starting
                feature, problem = None, f"it cannot be loaded: {type(error).__name__}: {error}"
            found.append(Plugin(entry.name, package, None if problem else feature, problem))
    return tuple(found)


def _with_features() -> list[str]:
    """The `.dist-info` folders of Quintet's environment that have an entry point for us.

    Only their text is looked at: to ask importlib for every entry point takes longer than a command that looks.
    """
    found = []
    for place in dict.fromkeys((*site.getsitepackages(), site.getusersitepackages() if site.ENABLE_USER_SITE else "")):
        try:
            names = sorted(name for name in os.listdir(place) if name.endswith(".dist-info")) if place else []
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(place, name, "entry_points.txt"), encoding="utf-8") as file:
                    if f"[{GROUP}]" in file.read():
                        found.append(os.path.join(place, name))
            except (OSError, UnicodeError):
                continue
    return found


def _problem(feature: object, name: str, used: list[Feature]) -> str:
    """Why an entry point's value cannot be used; empty if it can."""
    if not isinstance(feature, Feature):
        return f"its entry point is not a quintet.Feature but {type(feature).__name__}"
    if feature.name != name:
        return f'its entry point is named "{name}" and its feature "{feature.name}": use the same name'
    if taken := {one.name for one in feature.slash} & {one.name for other in used for one in other.slash}:
        return f"there is already a command /{min(taken)}"
    for other in used:
        for mine, theirs, what in (
            ((feature.name,), (other.name,), "feature"),
            ([one.name for one in feature.commands], [one.name for one in other.commands], "command"),
            ((*feature.settings, *feature.named), (*other.settings, *other.named), "settings table"),
        ):
            if taken := set(mine) & set(theirs):
                return f"there is already a {what} {min(taken)}, from {other.name}"
    return ""


@cache
def tables() -> Tables:
    """The tables of settings, with those of features."""
    from quintet.domain.settings.tables import Tables

    def more() -> tuple[Mapping[str, Callable[[], Any]], Mapping[str, Callable[[], Any]]]:
        plain = {key: partial(one.load, name) for one in features() for key, name in one.settings.items()}
        named = {key: partial(one.load, name) for one in features() for key, name in one.named.items()}
        return plain, named

    return Tables(more)


def tools(settings: Settings) -> Iterator[tuple[ToolSpec, Feature]]:
    """The tools of the features that come with Quintet, made for these settings."""
    for feature in shipped():
        for name in feature.tools:
            found = feature.load(name)
            made = found(settings) if callable(found) else found
            if made is not None:
                yield made, feature


def plugin_tools(plugin: Plugin, settings: Settings) -> tuple[list[ToolSpec], str]:
    """The tools of somebody else's feature, or why there are none."""
    from quintet.domain.turn.tool_spec import ToolSpec

    found: list[ToolSpec] = []
    for name in plugin.feature.tools if plugin.feature else ():
        try:
            made = plugin.feature.load(name)  # type: ignore[union-attr]
            made = made(settings) if callable(made) else made
        except Exception as error:  # its own code
            return [], f"{name} cannot be loaded: {type(error).__name__}: {error}"
        if not isinstance(made, ToolSpec):
            return [], f"{name} is not a tool: use `@tool(effects=…)` on an async function"
        found.append(made)
    return found, ""


def offered(settings: Settings) -> dict[str, tuple[str, ...]]:
    """What features have to choose from here for settings of the core's, by their keys."""
    return {
        key: tuple(one.load(name)(settings))
        for one in features()
        for key, name in one.offers.items()
        if key not in _PLACES and not key.startswith(STORE)
    }


def answer_pages() -> AnswerPages | None:
    """What is served by a link alone, of the first feature that has any."""
    opened: AnswerPages | None = _first_offer(ANSWER_PAGES)
    return opened


def remote_devices() -> RemoteDevices | None:
    """The paired accounts, of the first feature that has any."""
    opened: RemoteDevices | None = _first_offer(REMOTE_DEVICES)
    return opened


def _first_offer(place: str) -> Any:
    named = next(((one, one.offers[place]) for one in features() if place in one.offers), None)
    return named[0].load(named[1])() if named else None


def offering(place: str) -> tuple[Callable[..., Any], ...]:
    """What features have for a place of the registry's."""
    return tuple(one.load(one.offers[place]) for one in features() if place in one.offers)


def trial_runner(places: Any, loaded: Any) -> TrialRunner | None:
    """What runs trials, of the first feature that has any."""
    makers = offering(TRIALS)
    return makers[0](places, loaded) if makers else None


def schedule_server() -> ScheduleServer | None:
    """What runs a project's schedules, of the first feature that does."""
    found = offering(SCHEDULES)
    return found[0] if found else None


def symbol_finder(places: Any, loaded: Any) -> SymbolFinder | None:
    """What knows where symbols stand, of the first feature that does."""
    makers = offering(SYMBOL_LINES)
    return makers[0](places, loaded) if makers else None


def mcp_offers(settings: Settings) -> Iterator[tuple[str, Any]]:
    """What features let MCP clients read and begin with, each by the feature's name; one that fails is left out."""
    for feature in features():
        if MCP_SERVER in feature.offers:
            try:
                yield feature.name, feature.load(feature.offers[MCP_SERVER])(settings)
            except Exception as error:  # its own code
                yield feature.name, error


def command(name: str) -> Callable[[list[str]], int] | None:
    """A feature's command of the command line."""
    for feature in features():
        for one in feature.commands:
            if one.name == name:
                run: Callable[[list[str]], int] = feature.load(one.run)
                return run
    return None


def store_kind(scheme: str) -> StoreKind | None:
    """What opens databases whose URL begins so."""
    for feature in features():
        if name := feature.offers.get(STORE + scheme):
            kind: StoreKind = feature.load(name)
            return kind
    return None


def part(name: str) -> Callable[[Any], MachinePart] | None:
    """How an outside part that a feature's tools need is looked for."""
    for feature in features():
        if name in feature.parts:
            look: Callable[[Any], MachinePart] = feature.load(feature.parts[name])
            return look
    return None
