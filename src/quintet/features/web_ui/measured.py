"""The metrics of every project, for Prometheus: `/metrics`, with a token. What was read before is not read again."""

from __future__ import annotations

from quintet.adapters.sqlite.database import clear_errors
from quintet.app.known_projects import known_projects, name_of
from quintet.app.lookups import stored
from quintet.domain.base.errors import StoreError
from quintet.domain.metrics.registry import Metrics, exposition
from quintet.engine.reports.metrics import ProjectMeter

PATH = "/metrics"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class MeasuredProjects:
    def __init__(self) -> None:
        self._meters: dict[str, ProjectMeter] = {}

    def text(self) -> str:
        """Blocks on the stores; a project whose store cannot be read now is left out."""
        found: dict[str, Metrics] = {}
        for places in known_projects():
            name = name_of(places)
            try:
                with clear_errors(places.database):
                    rows = stored(places)
                    if rows:
                        found[name] = self._meters.setdefault(name, ProjectMeter()).read(rows)
                        rows.close()
            except StoreError:
                continue
        return exposition(found)
