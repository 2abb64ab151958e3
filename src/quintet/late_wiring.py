"""Parts of a core that most sessions never ask for: put together, and imported, by whoever asks first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from quintet.adapters.places import Places
from quintet.domain.gate import Terms
from quintet.engine.core import Core

if TYPE_CHECKING:
    from quintet.adapters.filesystem import ProjectFiles
    from quintet.adapters.processes import LocalProcesses
    from quintet.domain.executors import Executors
    from quintet.domain.outside_ports import Forge
    from quintet.domain.ports import Agents, Repository, ShellGrammar
    from quintet.domain.protected import Protection
    from quintet.domain.task_ports import Plans
    from quintet.engine.doctor import Look
    from quintet.engine.task_keeper import TaskKeeper


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
        from quintet.adapters.shell_grammar import BashGrammar

        return BashGrammar()

    return cast("ShellGrammar", Late(make))


def make_repository(processes: LocalProcesses, files: ProjectFiles, forge: Forge) -> Repository:
    def make() -> Repository:
        from quintet.adapters.forge_repository import ForgeRepository
        from quintet.adapters.repository import GitRepository

        return ForgeRepository(GitRepository(processes, files), forge)

    return cast("Repository", Late(make))


def make_agents(places: Places, protection: Protection, trusted: bool) -> Agents:
    def make() -> Agents:
        from quintet.adapters.agent_source import LocalAgents

        return LocalAgents(places, protection, trusted=trusted)

    return cast("Agents", Late(make))


def make_plans(places: Places) -> Plans:
    def make() -> Plans:
        from quintet.adapters.plan_folder import PlanFolder

        return PlanFolder(places)

    return cast("Plans", Late(make))


def wire_late(core: Core, places: Places, terms: Terms) -> None:
    """Durable tasks, the doctor's look, the AI CLIs."""

    def tasks() -> TaskKeeper:
        from quintet.task_wiring import make_keeper

        return make_keeper(core.store, places, core.clock, core.redactor.text)

    def look() -> Look:
        from quintet.task_wiring import make_look

        return make_look(places, core.settings, core.clock)

    def executors() -> Executors:
        from quintet.executor_wiring import make_executors

        made = make_executors(places, core.settings, terms, core.redactor)
        core.closing = (made.close, *core.closing)
        return made

    core.tasks, core.look, core.executors = cache(tasks), look, cache(executors)
