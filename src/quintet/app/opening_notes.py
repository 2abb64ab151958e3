"""What the person should know about a project when a session opens: what was left out, and where it lies."""

from __future__ import annotations

import os

from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.adapters.protected.left_behind import left_note
from quintet.adapters.sandbox.containment import installed_in
from quintet.adapters.sandbox.opened_places import opened_here
from quintet.adapters.settings.gate_terms import protection_of
from quintet.adapters.settings.layers import LoadedSettings
from quintet.adapters.settings.trust import files_below, not_loaded
from quintet.adapters.settings.user_tools import OwnTools
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.journal.protocol import Noticed
from quintet.domain.models import presets
from quintet.domain.models.model_facts import unpriced
from quintet.domain.permission.protected_paths import inside
from quintet.domain.permission.trusted_content import AGENTS, Trust
from quintet.domain.settings.settings import Settings


def opening_notes(places: Places, loaded: LoadedSettings, own: OwnTools) -> list[Noticed]:
    """What the person should know about the settings and their own tools."""
    notes = [Noticed(level="warning", code="SETTINGS", text=warning) for warning in loaded.warnings]
    opened = opened_here(loaded.settings.sandbox, places, protection_of(places, loaded.settings))
    notes += [Noticed(level="warning", code="SANDBOX_SHOW", text=warning) for warning in opened.warnings()]
    notes += [Noticed(level="warning", code="OWN_TOOLS", text=warning) for warning in own.warnings]
    warnings = {
        "INSTALLED_IN_PROJECT": installed_in(places.root),
        "HOME": at_home(places),
        "OWN_FILES_INSIDE": own_inside(places),
        "NOT_YOURS": not_yours(places),
        "LEFT_BEHIND": left_note(places, loaded.settings),
        "PRICE_UNKNOWN": price_note(loaded.settings),
        "TRUST": not_loaded(places, loaded.trust),
    }
    notes += [Noticed(level="warning", code=code, text=text) for code, text in warnings.items() if text]
    more = {"OWN_TOOLS": own.held_back, "PROJECT_ABOVE": lies_in(places), "KEY_SENT": key_note(loaded.settings)}
    notes += [Noticed(level="info", code=code, text=text) for code, text in more.items() if text]
    return notes


def key_note(settings: Settings) -> str:
    """Where a key goes for a model that was named as PRESET/MODEL and that no settings of the user's name."""
    direct = {name for name in settings.models if "/" in name}  # no table of a file is called so
    hosts = {presets.host_of(settings.models[name].base_url) for name in direct if settings.models[name].api_key_env}
    return f"sends your key to {' and '.join(sorted(hosts))}" if hosts else ""


def price_note(settings: Settings) -> str:
    """What the person should know if a limit on money cannot hold."""
    names = unpriced(settings) if settings.limits.max_cost else []
    if not names:
        return ""
    wanted = " and ".join(f"models.{names[0]}.{price}" for price in ("price_input", "price_output"))
    return (
        f"limits.max_cost cannot stop {' or '.join(names)}: the price is not known, so its requests "
        f"count as 0. Set {wanted}."
    )


def at_home(places: Places) -> str:
    """What to know where the project is the user's home, or holds it; empty elsewhere."""
    home = real_path(os.path.expanduser("~"))
    if inside(home, places.root) is None:
        return ""
    return (
        f"The project {on_one_line(places.root)} contains your home folder: commands see everything "
        "in it except known secrets and Quintet's own files. Its hidden files and `bin` are "
        "read-only for commands, and each write to one needs approval."
    )


def own_inside(places: Places) -> str:
    """What to know where Quintet's settings or state lie in a project that is not the user's home; empty elsewhere."""
    if at_home(places):
        return ""
    lying = [path for path in (places.config, os.path.dirname(places.state)) if places.holds(path)]
    if not lying:
        return ""
    named = " and ".join(real_path(path) for path in lying)
    return (
        f"Quintet's own files are in this project: {named}. Everything there counts as yours, with "
        "its hooks, tools, rules and trust, whoever wrote it. If it came with the project, set "
        "XDG_CONFIG_HOME and XDG_STATE_HOME to other folders. Commands and edits cannot access it."
    )


def not_yours(places: Places) -> str:
    """What to know where a repository above the folder does not count; empty elsewhere."""
    if not places.passed_over:
        return ""
    return (
        f"The project is only {on_one_line(places.root)}: {on_one_line(places.passed_over)} has a "
        ".git, but it or the folder belongs to another user. If you trust it, run git config "
        "--global --add safe.directory PATH to use it."
    )


def lies_in(places: Places) -> str:
    """What to know where the project is more than the folder that was opened; empty elsewhere."""
    if not places.opened:
        return ""
    return f"The project is {on_one_line(places.root)}, the repository that contains {on_one_line(places.opened)}."


def sound_agents(places: Places, trust: Trust) -> bool:
    """Whether programs of the project's agents may be run: it is trusted, and none of their files is new or changed."""
    return trust.trusted and all(trust.covers_below(folder, files_below(places.root, folder)) for folder in AGENTS)
