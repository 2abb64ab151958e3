"""Sends spans and metrics to an OpenTelemetry collector by OTLP over HTTP, where the setting is on: the extra `otel`.

Where to and how is said by the standard OTEL_ variables. `take` must not throw, and never waits for the collector; what
goes wrong is logged once, and the session goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

from quintet.domain.journal.protocol import Recorded
from quintet.features.otel.spans import AGENT, BOUNDS, UNITS, Span, Spans, measured

CLOSE_SECONDS = 3.0  # that the last spans get to leave
REACH_SECONDS = 0.5  # to see at the end whether anybody listens
SCHEMA = "https://opentelemetry.io/schemas/1.37.0"  # the version of the conventions that names and attributes follow


class OtelExporter:
    def __init__(self, spans: Spans, version: str, log: Callable[[str], None]) -> None:
        self._spans = spans
        self._log = log
        self._warned = False
        self._quiet()
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        about = {} if named else {"service.name": AGENT}
        timed = "OTEL_EXPORTER_OTLP_TIMEOUT" in os.environ or "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT" in os.environ
        self._wire = OTLPSpanExporter(timeout=None if timed else CLOSE_SECONDS)
        self._provider = TracerProvider(
            resource=Resource.create({**about, "service.version": version}), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(self._wire))
        self._metrics_wire = OTLPMetricExporter(timeout=None if timed else CLOSE_SECONDS)
        self._meters = MeterProvider(
            [PeriodicExportingMetricReader(self._metrics_wire)],
            resource=Resource.create({**about, "service.version": version}),
            shutdown_on_exit=False,
        )
        meter = self._meters.get_meter(AGENT, version, schema_url=SCHEMA)
        self._histograms = {
            name: meter.create_histogram(name, unit, explicit_bucket_boundaries_advisory=BOUNDS[name])
            for name, unit in UNITS.items()
        }
        self._tracer = self._provider.get_tracer(AGENT, version, schema_url=SCHEMA)
        self._begun: dict[str, Any] = {}  # turns, by key

    def take(self, recorded: Recorded) -> None:
        try:
            for span in self._spans.apply(recorded):
                self._record(span)
        except Exception as error:
            self._say(f"a span could not be created: {error}")

    def _record(self, span: Span) -> None:
        made = self._begun.pop(span.key, None)
        if made is None:
            parent = self._begun.get(span.parent)
            made = self._tracer.start_span(
                span.name,
                context=set_span_in_context(parent, Context()) if parent else Context(),
                kind=SpanKind.CLIENT if span.client else SpanKind.INTERNAL,
                attributes=span.attributes,
                start_time=span.begin,
            )
        if span.end is None:
            self._begun[span.key] = made
            return
        made.set_attributes(span.attributes)
        if span.error:
            made.set_status(Status(StatusCode.ERROR, span.error))
        made.end(span.end)
        for one in measured(span):
            self._histograms[one.metric].record(one.value, one.attributes)

    async def close(self) -> None:
        """Send what is left; a collector that does not answer is given up, one that is not there at once."""
        if not await self._reached():
            await asyncio.to_thread(self._give_up)
            self._say("the collector cannot be reached; the last spans are not sent")
        enough = threading.Timer(CLOSE_SECONDS, self._give_up)
        enough.start()
        await asyncio.to_thread(self._provider.shutdown)
        await asyncio.to_thread(self._meters.shutdown)
        enough.cancel()

    def _give_up(self) -> None:
        self._wire.shutdown()
        self._metrics_wire.shutdown()

    async def _reached(self) -> bool:
        """Whether a connection to the collector opens; by way of a proxy nobody can tell."""
        parts = urlsplit(str(getattr(self._wire, "_endpoint", "")))
        if not parts.hostname or getproxies():
            return True
        try:
            async with asyncio.timeout(REACH_SECONDS):
                port = parts.port or (443 if parts.scheme == "https" else 80)
                _, writer = await asyncio.open_connection(parts.hostname, port)
        except (OSError, TimeoutError, ValueError):
            return False
        writer.close()
        return True

    def _say(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            self._log(f"OpenTelemetry: {text}")

    def _quiet(self) -> None:
        """What the library would print into the middle of a session goes where ours goes."""
        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self._say(record.getMessage())  # type: ignore[method-assign]
        logger = logging.getLogger("opentelemetry")
        logger.propagate = False
        logger.handlers = [handler]
