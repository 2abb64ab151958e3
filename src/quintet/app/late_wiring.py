"""Parts of a core that most sessions never ask for: put together, and imported, by whoever asks first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from quintet.adapters.files.paths import Places
from quintet.domain.base.errors import UsageError
from quintet.engine.session.core import Core

if TYPE_CHECKING:
    from quintet.app.services import Opening
    from quintet.domain.permission.protected_paths import Protection
    from quintet.domain.ports.ports import Agents, Repository, ShellGrammar
    from quintet.domain.ports.tasks import Plans
    from quintet.domain.tasks.executors import Executors
    from quintet.engine.cycle.doctor import Look
    from quintet.engine.cycle.task_keeper import TaskKeeper


class Late:
    """Stands for what is not made before something of it is wanted."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


def make_grammar() -> ShellGrammar:
    def make() -> ShellGrammar:
        from quintet.adapters.shell_grammar.parse import BashGrammar

        return BashGrammar()

    return cast("ShellGrammar", Late(make))


def make_repository(opening: Opening) -> Repository:
    def make() -> Repository:
        from quintet.adapters.git.repository import GitRepository
        from quintet.features.registry import features

        found: Repository = GitRepository(opening.processes, opening.files)
        for feature in features():
            if feature.subjects:
                found = feature.load(feature.subjects)(opening, found)
        return found

    return cast("Repository", Late(make))


def make_agents(places: Places, protection: Protection, trusted: bool) -> Agents:
    def make() -> Agents:
        from quintet.adapters.agents.agents import LocalAgents

        return LocalAgents(places, protection, trusted=trusted)

    return cast("Agents", Late(make))


def make_plans(places: Places) -> Plans:
    def make() -> Plans:
        from quintet.adapters.tasks.drafts import PlanFolder

        return PlanFolder(places)

    return cast("Plans", Late(make))


def wire_late(core: Core, opening: Opening) -> None:
    """Durable tasks, the doctor's look, the AI CLIs."""

    places = opening.places

    def tasks() -> TaskKeeper:
        from quintet.app.task_wiring import make_keeper

        return make_keeper(core.store, places, core.clock, core.redactor.text)

    def look() -> Look:
        from quintet.app.task_wiring import make_look

        return make_look(places, core.settings, core.clock)

    def executors() -> Executors:
        from quintet.features.registry import features

        for feature in features():
            if feature.executors:
                made = feature.load(feature.executors)(opening)
                core.ownership.closing = (made.close, *core.ownership.closing)
                return cast("Executors", made)
        raise UsageError("no AI CLI can be started here")

    core.cycle.tasks, core.cycle.look, core.cycle.executors = cache(tasks), look, cache(executors)
