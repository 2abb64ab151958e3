"""What a prompt and its pickers get to know of a project and its user, put together when a surface asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from quintet.adapters.files.file_finder import ProjectFinder
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.files.state_files import InputHistory
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.file import UserSettings
from quintet.adapters.tasks.drafts import TaskInput
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.app.open import find_ripgrep, fork
from quintet.app.trust_question import sound_agents
from quintet.domain.base.errors import SettingsError
from quintet.domain.ports.prompt import AgentShown, AtHand, ModelShown, SessionShown
from quintet.domain.settings.settings import Settings


def at_hand(path: str = ".", flags: Mapping[str, Any] | None = None) -> AtHand:
    """`flags` are settings that the command line gave."""
    places = locate(path)
    return AtHand(
        finder=ProjectFinder(places.root, find_ripgrep()),
        drafts=TaskInput(TaskFolder(places.root, places.runs), places.draft_mark, _redacted(places)),
        past=InputHistory(places.inputs, _redacted(places)),
        settings=UserSettings(places, flags),
        models=lambda: _models(places),
        found_models=_found_models,
        sessions=lambda: _sessions(places),
        agents=lambda: _agents(places),
        fork=lambda session: fork(path, session),
    )


def _redacted(places: Places) -> Callable[[str], str]:
    """Takes known secrets out of a text; they are looked for when the first text comes."""

    @cache
    def vault() -> Vault:
        try:
            settings = config.load(places).settings
        except SettingsError:
            settings = Settings()
        return Vault(places, settings)

    def redacted(text: str) -> str:
        vault().fresh()
        return vault().text(text)

    return redacted


def _models(places: Places) -> list[ModelShown]:
    """The models one can choose, the offline rules last."""
    from quintet.cli.models import BUILTIN, chosen_models

    shown = []
    for row in chosen_models(config.load(places).settings):
        about = "offline rules" if row["name"] == BUILTIN else f"{row['model']}  {row['base_url'] or row['wire']}"
        key = row["key"]
        problem = f"{key['variable']} is not set" if key and not key["set"] else ""
        shown.append(ModelShown(row["name"], about, tuple(row["routed"]), problem))
    return shown


def _found_models() -> list[str]:
    from quintet.adapters.models.discovery import found_here

    return found_here()


def _sessions(places: Places) -> list[SessionShown]:
    from quintet.adapters.processes.system import process_start
    from quintet.adapters.sqlite.database import clear_errors
    from quintet.cli.sessions import stored
    from quintet.domain.dials import badge
    from quintet.engine.session.leases import owner_lives
    from quintet.engine.session.queries import status_of, summary_of

    rows = stored(places)
    if rows is None:
        return []
    with clear_errors(places.database):
        found = rows.sessions()
    shown = []
    for row in found:
        summary, live = summary_of(row), owner_lives(row, time.time(), process_start)
        badge_text = badge.full(summary.axes)
        shown.append(
            SessionShown(row.id, row.updated, status_of(summary, live), live, badge_text, summary.turns, row.title)
        )
    return shown


def _agents(places: Places) -> list[AgentShown]:
    from quintet.adapters.agents.agents import LocalAgents
    from quintet.adapters.settings.gate_terms import make_terms

    loaded = config.load(places)
    agents = LocalAgents(
        places, make_terms(places, loaded.settings).protection, trusted=sound_agents(places, loaded.trust)
    )
    return [AgentShown(agent.id, agent.title or agent.persona.role, origin) for agent, origin in agents.listed()]
