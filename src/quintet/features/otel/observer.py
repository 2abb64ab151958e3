"""Whether a session's events leave as spans: only where the settings want it is the exporter imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from quintet import __version__
from quintet.domain.journal.protocol import Noticed, Recorded
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.engine.session.core import Core
from quintet.features.otel.settings import ObservabilitySettings
from quintet.features.otel.spans import Spans

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

MISSING = "observability.otel is on, but OpenTelemetry is not installed, so no spans are sent: quintet install otel"


GRPC = (
    "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but spans are sent only by HTTP: set OTEL_EXPORTER_OTLP_ENDPOINT to the "
    "collector's HTTP port, 4318, and OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf"
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
    said = [Noticed(level="warning", code="OTEL", text=GRPC)] if _wants_grpc() else []
    return said, exporter.take


def _wants_grpc() -> bool:
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    return next((os.environ[name] for name in names if os.environ.get(name)), "") == "grpc"


OTEL_MISSING = FindingKind(
    "OTEL_MISSING",
    Severity.WARNING,
    HealthScope.MACHINE,
    "`observability.otel` is on, and its packages are not installed.",
    "quintet install otel",
)
KINDS = (OTEL_MISSING,)
NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")  # other packages bring only the first name


def extra_is_installed(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor, where the settings want spans."""
    if checkup.settings.table("observability", ObservabilitySettings).otel and not all(map(_is_here, NEEDED)):
        problem, _, advice = MISSING.partition(": ")
        yield OTEL_MISSING.of("quintet[otel]", problem, advice)


def _is_here(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # what it is a part of is not there
        return False
