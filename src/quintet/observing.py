"""Puts the OpenTelemetry exporter on a session's feed where the settings want it; else nothing of it is imported."""

from __future__ import annotations

from quintet.domain.protocol import Noticed
from quintet.engine.core import Core
from quintet.engine.owner import Owner


def observe(core: Core, owner: Owner) -> list[Noticed]:
    """Send what the session does as spans, if the settings want it; what keeps them from leaving is returned."""
    wanted = core.settings.observability
    if not wanted.otel:
        return []
    from quintet import __version__
    from quintet.adapters.otel import MISSING, OtelExporter
    from quintet.domain.spans import Spans

    spans = Spans(owner.state.session, core.settings.models, __version__, content=wanted.otel_content)
    try:
        exporter = OtelExporter(spans, __version__, core.log)
    except ImportError:
        return [Noticed(level="warning", code="OTEL", text=MISSING)]
    owner.feed.listen(exporter.take)
    core.closing = (exporter.close, *core.closing)
    return []
