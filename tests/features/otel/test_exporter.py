"""Spans that leave: a real session, a collector on loopback that takes them, and what is said where they cannot."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.journal import protocol as p
from tests.engine.driving import Driver, drive
from tests.surfaces.program import BUILD, EDIT, Model, Program, env

ON = "\n[observability]\notel = true\n"
CONTENT = "otel_content = true\n"


class Collector:
    """Takes OTLP over HTTP, and keeps what it was sent."""

    def __init__(self, status: int = 200) -> None:
        bodies: list[tuple[str, bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing is printed."""

        self._bodies = bodies
        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def resources(self) -> list[Any]:
        """What was sent of traces, by the resource that it is about."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        assert {path for path, _ in self._bodies} <= {"/v1/traces", "/v1/metrics"}
        sent = [body for path, body in self._bodies if path == "/v1/traces"]
        return [one for body in sent for one in ExportTraceServiceRequest.FromString(body).resource_spans]

    def spans(self) -> tuple[dict[str, str], list[Any]]:
        """The resource's attributes and all spans."""
        resources = self.resources()
        about = {pair.key: pair.value.string_value for pair in resources[0].resource.attributes}
        return about, [span for one in resources for scope in one.scope_spans for span in scope.spans]

    def metrics(self) -> dict[str, list[Any]]:
        """The points of each metric, as they were sent last."""
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        sent = [body for path, body in self._bodies if path == "/v1/metrics"]
        (resource,) = ExportMetricsServiceRequest.FromString(sent[-1]).resource_metrics
        return {one.name: list(one.histogram.data_points) for scope in resource.scope_metrics for one in scope.metrics}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra quintet[otel]")
    made = Collector()
    yield made
    made.close()


def value(span: Any, name: str) -> Any:
    found = next((pair.value for pair in span.attributes if pair.key == name), None)
    return getattr(found, found.WhichOneof("value")) if found else None


@pytest.mark.parametrize("content", [False, True])
def test_a_session_arrives_at_a_collector_as_spans(
    quintet: Program, model: Model, collector: Collector, content: bool
) -> None:
    served = model(*EDIT)
    quintet.settings(served.settings() + ON + (CONTENT if content else ""))
    done = quintet.run(
        "-p", "rename it", *BUILD, "--output-format", "json", OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint
    ).clean(0)
    assert "OpenTelemetry" not in done.err
    about, spans = collector.spans()
    assert about["service.name"] == "quintet"
    schemas = {scope.schema_url for one in collector.resources() for scope in one.scope_spans}
    assert schemas == {"https://opentelemetry.io/schemas/1.37.0"}
    (turn,) = [span for span in spans if span.name == "invoke_agent quintet"]
    assert (value(turn, "gen_ai.conversation.id"), turn.parent_span_id) == (done.json()["session"], b"")
    inside = [span for span in spans if span is not turn]
    assert {span.parent_span_id for span in inside} == {turn.span_id}
    assert {span.trace_id for span in spans} == {turn.trace_id}
    assert all(turn.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in inside)
    requested = quintet.events("model_requested")
    chats = [span for span in inside if value(span, "gen_ai.operation.name") == "chat"]
    assert [value(span, "quintet.stage") for span in chats] == [event["stage"] for event in requested]
    assert {value(span, "gen_ai.usage.input_tokens") for span in chats} == {10}
    assert [span.name for span in inside if span not in chats] == ["execute_tool Read", "execute_tool Edit"]
    assert ("def tokens" in str(spans)) == content
    assert ("rename it" in str(spans)) == content
    points = collector.metrics()
    assert points.keys() == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}
    (duration,) = points["gen_ai.client.operation.duration"]
    assert duration.count == len(chats) and value(duration, "gen_ai.operation.name") == "chat"
    usage = {value(point, "gen_ai.token.type"): point.sum for point in points["gen_ai.client.token.usage"]}
    assert usage["input"] == 10 * len(chats)


def test_the_standard_variables_name_the_service_and_can_switch_it_off(quintet: Program, collector: Collector) -> None:
    quintet.settings(ON)
    quintet.run("-p", "git status", OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_SERVICE_NAME="mine").clean(0)
    assert collector.spans()[0]["service.name"] == "mine"
    before = len(collector.spans()[1])
    quintet.run("-p", "git log", OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_SDK_DISABLED="true").clean(0)
    quintet.settings("")
    quintet.run("-p", "git log", OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint).clean(0)
    assert len(collector.spans()[1]) == before


def test_a_collector_that_is_not_there_holds_up_nothing_and_is_told_in_the_log(
    quintet: Program, collector: Collector
) -> None:
    collector.close()
    quintet.settings(ON)
    done = quintet.run("-p", "git status", OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint).clean(0)
    assert done.err == ""
    (log,) = Path(env({})["XDG_STATE_HOME"]).rglob("quintet.log")
    assert log.read_text().count("OpenTelemetry: ") == 1


def test_a_protocol_that_is_not_spoken_is_said_and_spans_leave_by_the_one_that_is(
    repo: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")

    async def script(driver: Driver) -> None:
        assert (await driver.turn("hello")).status == "done"

    driver = drive(repo, script, settings={"observability.otel": True})
    (notice,) = driver.of(p.Noticed)
    assert notice.level == "warning" and "http/protobuf" in notice.text
    assert [span.name for span in collector.spans()[1] if not span.parent_span_id] == ["invoke_agent quintet"]


def test_without_the_extra_one_line_says_so_and_the_session_goes_on(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("opentelemetry", "opentelemetry.exporter.otlp.proto.http.trace_exporter"):
        monkeypatch.setitem(sys.modules, name, None)  # as Python marks a package that is not there
    monkeypatch.delitem(sys.modules, "quintet.features.otel.exporter", raising=False)

    async def script(driver: Driver) -> None:
        assert (await driver.turn("hello")).status == "done"

    driver = drive(repo, script, settings={"observability.otel": True})
    (notice,) = driver.of(p.Noticed)
    assert notice.level == "warning" and "quintet install otel" in notice.text and "\n" not in notice.text


def test_an_untrusted_project_cannot_send_its_sessions_anywhere(quintet: Program) -> None:
    quintet.settings(ON, project=True)
    done = quintet.run("settings", "--json").clean(0)
    values = {row["key"]: row["value"] for row in done.json()}
    assert values["observability.otel"] is False
    assert "observability.otel" in done.err


def test_off_nothing_of_it_is_imported_but_its_declaration(repo: Path) -> None:
    code = (
        "import asyncio, sys, quintet\n"
        "async def main():\n"
        "    async with quintet.open('.') as session: pass\n"
        "asyncio.run(main())\n"
        "print(*(name for name in sys.modules if 'opentelemetry' in name or 'otel' in name or name.endswith('spans')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repo, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["quintet.features.otel"]
