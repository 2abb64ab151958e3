"""What is due in the schedules, run beside a worker's tasks: in a thread of its own, neither waits for the other.

A run begins in the project; of a worker with a clone, in a second clone, brought up to date before each: the worker's
own changes with its tasks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from quintet.adapters.files.paths import locate
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import first_line
from quintet.domain.dials.axes import AxesChange
from quintet.features.registry import schedule_server
from quintet.features.workers.clone import Clone
from quintet.features.workers.shop import Shop


class Schedules:
    """A block in which they are run; what runs at its end is ended."""

    def __init__(self, shop: Shop, axes: AxesChange, model: str, tell: Callable[[str], None]) -> None:
        self._server = schedule_server()
        if self._server is None:
            raise UsageError("--schedule: there are no schedules in this Quintet")
        self._shop = shop
        self._axes = axes
        self._model = model
        self._tell = tell
        self._clone: Clone | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="quintet-schedules", daemon=True)

    def __enter__(self) -> Schedules:
        if self._shop.clone:
            self._clone = self._shop.clone.another()
            self._clone.make(self._shop.target)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._clone:
            self._clone.close()

    def _serve(self) -> None:
        assert self._server
        clone, shop = self._clone, self._shop
        places = locate(clone.root) if clone else shop.places
        try:
            self._server(
                places, shop.loaded, self._axes, self._model, self._ready if clone else None, self._tell, self._stop
            )
        except Exception as error:  # the worker's tasks go on
            self._tell(f"schedules are not run any more: {first_line(str(error)) or type(error).__name__}")

    def _ready(self) -> str:
        assert self._clone
        self._clone.update(self._shop.target)
        return self._clone.root
