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
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from quintet.domain.settings.settings import Settings
from quintet.domain.settings.tables import Tables
from quintet.features.feature import Feature

if TYPE_CHECKING:
    from quintet.domain.turn.tool_spec import MachinePart, ToolSpec

GROUP = "quintet.features"  # of entry points
SHIPPED: tuple[str, ...] = (
    "ai_clis",
    "browser",
    "deploy",
    "forge",
    "git_signing",
    "language_servers",
    "library",
    "mcp",
    "otel",
    "web_search",
    "web_ui",
)


class Plugin(Struct, frozen=True):
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
            (feature.commands, other.commands, "command"),
            ((*feature.settings, *feature.named), (*other.settings, *other.named), "settings table"),
        ):
            if taken := set(mine) & set(theirs):
                return f"there is already a {what} {min(taken)}, from {other.name}"
    return ""


@cache
def tables() -> Tables:
    """The tables of settings, with those of features."""

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
    return {key: tuple(one.load(name)(settings)) for one in features() for key, name in one.offers.items()}


def command(name: str) -> Callable[[list[str]], int] | None:
    """A feature's command of the command line."""
    for feature in features():
        if name in feature.commands:
            run: Callable[[list[str]], int] = feature.load(feature.commands[name])
            return run
    return None


def part(name: str) -> Callable[[Any], MachinePart] | None:
    """How an outside part that a feature's tools need is looked for."""
    for feature in features():
        if name in feature.parts:
            look: Callable[[Any], MachinePart] = feature.load(feature.parts[name])
            return look
    return None
