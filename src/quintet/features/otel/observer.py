"""Whether a session's events leave as spans: only where the settings want it is the exporter imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from quintet import __version__
from quintet.domain.journal.protocol import Noticed, Recorded
from quintet.domain.tasks.health import Finding, HealthScope, Severity
from quintet.engine.session.core import Core
from quintet.features.otel.settings import ObservabilitySettings
from quintet.features.otel.spans import Spans

if TYPE_CHECKING:
    from quintet.app.services import Checkup

MISSING = (
    "observability.otel is on, but the extra that brings OpenTelemetry is not installed, so no spans are sent: "
    "pip install 'quintet[otel]'"
)


def observer(core: Core, session: str) -> tuple[list[Noticed], Callable[[Recorded], None] | None]:
    """What sends a session's events as spans, if the settings want it; what keeps them from leaving comes first."""
    wanted = core.settings.table("observability", ObservabilitySettings)
    if not wanted.otel:
        return [], None
    try:
        from quintet.features.otel.exporter import OtelExporter
    except ImportError:
        return [Noticed(level="warning", code="OTEL", text=MISSING)], None
    spans = Spans(session, core.settings.models, __version__, content=wanted.otel_content)
    exporter = OtelExporter(spans, __version__, core.log.note)
    core.ownership.closing = (exporter.close, *core.ownership.closing)
    return [], exporter.take


def extra_is_installed(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor, where the settings want spans."""
    if checkup.settings.table("observability", ObservabilitySettings).otel and find_spec("opentelemetry") is None:
        problem, _, advice = MISSING.partition(": ")
        yield Finding("OTEL_MISSING", Severity.WARNING, HealthScope.MACHINE, "quintet[otel]", problem, advice)
