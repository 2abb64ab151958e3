"""Parts of a core that most sessions never ask for: put together, and imported, by whoever asks first."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from quintet.adapters.places import Places
from quintet.domain.gate import Terms
from quintet.engine.core import Core

if TYPE_CHECKING:
    from quintet.domain.executors import Executors
    from quintet.engine.doctor import Look
    from quintet.engine.task_keeper import TaskKeeper


def wire_late(core: Core, places: Places, terms: Terms) -> None:
    """Durable tasks, the doctor's look, the AI CLIs."""

    def tasks() -> TaskKeeper:
        from quintet.task_wiring import make_keeper

        return make_keeper(core.store, places, core.clock)

    def look() -> Look:
        from quintet.task_wiring import make_look

        return make_look(places, core.settings, core.clock)

    def executors() -> Executors:
        from quintet.executor_wiring import make_executors

        made = make_executors(places, core.settings, terms)
        core.closing = (made.close, *core.closing)
        return made

    core.tasks, core.look, core.executors = cache(tasks), look, cache(executors)
