"""What the terminal UI, its prompt and its pickers need of a project and its user, put together for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Any, cast

from quintet.adapters import sandbox
from quintet.adapters.files.file_finder import ProjectFinder
from quintet.adapters.files.input_history import InputHistory
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.git.repository import branch
from quintet.adapters.models.discovery import found_here
from quintet.adapters.processes.editor import edited
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.file import UserSettings
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.sqlite.database import clear_errors
from quintet.adapters.tasks.drafts import TaskInput
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.app.lookups import BUILTIN, chosen_models, lives, stored
from quintet.app.machine_parts import find_ripgrep
from quintet.app.open import Late, fork, log_crash, open_session
from quintet.app.opening_notes import sound_agents
from quintet.app.task_lookups import under_way
from quintet.app.trust_question import trust_question
from quintet.domain.base.errors import SettingsError
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Surface
from quintet.domain.ports.ports import Agents
from quintet.domain.ports.prompt import AgentChoice, ModelChoice, ModelSetup, PromptSources, SessionChoice
from quintet.domain.settings.settings import Settings
from quintet.engine.session.queries import had_by_person, status_of, summary_of
from quintet.engine.session.session import Session
from quintet.package import load
from quintet.surfaces.tui.chrome.themes import chosen
from quintet.surfaces.tui.context import TuiContext


def surroundings(path: str, options: dict[str, Any]) -> TuiContext:
    """`options` are those of `open_session`, as the command line gave them."""
    places = locate(path)
    settings = config.load(places, options.get("settings")).settings

    def opened(session: str) -> AbstractAsyncContextManager[Session]:
        wanted = {**options, "resume": session, "fork": False, "axes": None} if session else options
        return open_session(path, surface=Surface.TUI, person=True, **wanted)

    return TuiContext(
        name=places.name,
        sandbox=str(sandbox.chosen(settings.sandbox.use)),
        settings=settings,
        open=opened,
        theme=chosen(settings.display.theme, dict(os.environ), settings.display.color),
        branch=lambda: branch(places.root),
        found=found_here,
        first_time=lambda: _first_time(places),
        tour=(sys.executable, "-P", "-m", "quintet", "tour"),  # not from the folder we stand in
        under_way=lambda: under_way(places),
        at_hand=at_hand(path, options.get("settings")),
        trust=trust_question(places),
        at_terminal=sys.stdin is not None and sys.stdin.isatty(),
        log_crash=lambda error: log_crash(places, error),
    )


def _first_time(places: Places) -> bool:
    """Whether this user has never opened the screen; from now on they have."""
    marker = os.path.join(os.path.dirname(places.state), "welcomed")
    if os.path.exists(marker):
        return False
    try:
        os.makedirs(os.path.dirname(marker), mode=0o700, exist_ok=True)
        with open(marker, "x"):
            return True
    except OSError:
        return False


def at_hand(path: str = ".", flags: Mapping[str, Any] | None = None) -> PromptSources:
    """`flags` are settings that the command line gave."""
    places = locate(path)
    return PromptSources(
        finder=ProjectFinder(places.root, find_ripgrep()),
        drafts=TaskInput(TaskFolder(places.root, places.runs), places.draft_mark, _redacted(places)),
        past=past_inputs(path),
        settings=UserSettings(places, flags),
        models=lambda: _models(places),
        found_models=found_here,
        sessions=lambda: _sessions(places),
        agents=lambda: _agents(places),
        fork=lambda session: fork(path, session),
        setup=cast(ModelSetup, Late("app.model_setup:LocalModelSetup", places)),
        edited=edited,
    )


def past_inputs(path: str) -> InputHistory:
    places = locate(path)
    return InputHistory(places.inputs, _redacted(places))


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


def _models(places: Places) -> list[ModelChoice]:
    """The models one can choose, the offline rules last."""
    shown = []
    for row in chosen_models(config.load(places).settings):
        about = "offline rules" if row["name"] == BUILTIN else f"{row['model']}  {row['base_url'] or row['wire']}"
        key = row["key"]
        problem = f"{key['variable']} is not set" if key and not key["set"] else ""
        shown.append(ModelChoice(row["name"], about, tuple(row["routed"]), problem))
    return shown


def _sessions(places: Places) -> list[SessionChoice]:
    rows = stored(places)
    if rows is None:
        return []
    with clear_errors(places.database):
        found = rows.sessions()
    shown = []
    for row in found:
        summary, live = summary_of(row), lives(row)
        badge_text = badge.full(summary.axes)
        shown.append(
            SessionChoice(
                row.id,
                row.updated,
                status_of(summary, live),
                live,
                badge_text,
                summary.turns,
                row.title,
                had_by_person(summary),
            )
        )
    return shown


def _agents(places: Places) -> list[AgentChoice]:
    loaded = config.load(places)
    agents: Agents = load("adapters.agents.agents:LocalAgents")(
        places, make_terms(places, loaded.settings).protection, trusted=sound_agents(places, loaded.trust)
    )
    return [AgentChoice(agent.id, agent.title or agent.persona.role, origin) for agent, origin in agents.listed()]
