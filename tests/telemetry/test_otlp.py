"""The requests to an OpenTelemetry collector, decoded by OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from decoders.wire.units import parse_time
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world

if find_spec("opentelemetry.sdk") is None and not os.environ.get("CI"):
    pytest.skip("the extra otel is not installed", allow_module_level=True)

TOUR = str(FOLDER / "tour.pcapng")
FIRST = str(FOLDER / "first-steps.pcapng")
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


class Collector(ThreadingHTTPServer):
    """A collector that keeps the requests; `status` is the status of its answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.traces: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> list[Span]:
        return [
            span for request in self.traces for its in request.resource_spans for each in its.scope_spans
            for span in each.spans
        ]  # fmt: skip


class Asked(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:  # the library's name
        data = self.rfile.read(int(self.headers["Content-Length"]))
        data = gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data
        if self.path == "/v1/traces":
            self.server.traces.append(ExportTraceServiceRequest.FromString(data))
        elif self.path == "/v1/metrics":
            self.server.metrics.append(ExportMetricsServiceRequest.FromString(data))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def values(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        assert isinstance(pair, KeyValue)
        found[pair.key] = getattr(pair.value, str(pair.value.WhichOneof("value")))
    return found


def records(name: str, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kw("sniff", name, "-o", "ndjson", *words).out.splitlines()]


def test_every_exchange_is_a_span(collector: Collector) -> None:
    outcome = kw("sniff", TOUR, "--otlp", collector.url, "-o", "ndjson", "-q")
    assert (outcome.code, outcome.err) == (Exit.DONE, "")
    spans = {span.span_id: span for span in collector.spans()}
    written = records(TOUR)
    assert len(spans) == len(collector.spans()) == len(written) == len(outcome.out.splitlines())
    told = Counter(
        (its["kafka.api.name"], its.get("messaging.client.id"), its["kw.status"], span.start_time_unix_nano,
         (span.end_time_unix_nano - span.start_time_unix_nano))
        for span in spans.values()
        for its in [values(span.attributes)]
    )  # fmt: skip
    assert told == Counter(
        (row["api"], row["client_id"], row["status"], parse_time(row["time"]), round((row["duration_ms"] or 0) * 1e6))
        for row in written
    )
    assert all(span.kind == Span.SPAN_KIND_CLIENT and len(span.trace_id) == 16 for span in spans.values())
    (resource,) = {its.resource.SerializeToString() for request in collector.traces for its in request.resource_spans}
    assert b"service.name" in resource


def test_spans_have_the_names_of_the_conventions(collector: Collector) -> None:
    assert kw("stats", TOUR, "--otlp", collector.url).code == Exit.DONE
    spans = [(span, values(span.attributes)) for span in collector.spans()]
    (first, its), *_ = [each for each in spans if each[1]["kafka.api.name"] == "Produce"]
    assert first.name == f"send {its['messaging.destination.name']}"
    assert {name: its[name] for name in ("messaging.system", "messaging.operation.type")} == {
        "messaging.system": "kafka",
        "messaging.operation.type": "send",
    }
    assert its["messaging.batch.message_count"] > 0
    assert its["server.port"] in (9092, 9093, 9094)
    assert its["messaging.destination.partition.id"].isdecimal()
    failed = [(span.status.code, its["error.type"]) for span, its in spans if "error.type" in its]
    assert {code for code, _ in failed} == {2}
    errors = [row["errors"][0]["name"] for row in records(TOUR, "--errors") if row["errors"]]
    assert Counter(error for _, error in failed if error != "unanswered") == Counter(errors)
    groups = {its["messaging.consumer.group.name"] for _, its in spans if "messaging.consumer.group.name" in its}
    assert "billing" in groups


def test_the_same_capture_is_the_same_spans(collector: Collector) -> None:
    for _ in range(2):
        assert kw("doctor", TOUR, "--otlp", collector.url, "--fail-on", "never").code == Exit.DONE
    counts = Counter((span.trace_id, span.span_id) for span in collector.spans())
    assert set(counts.values()) == {2}


def with_headers(*parents: list[str]) -> bytes:
    """A capture's exchanges as records; the first record of the n-th Produce has the n-th of these headers."""
    lines, left = [], list(parents)
    for row in records(TOUR, "--records", "--sort", "time"):
        batches = (
            [batch for topic in row["request"]["topic_data"] for part in topic["partition_data"]
             for batch in part["records"] or [] if batch.get("records")]
            if row["api"] == "Produce" and row["request"] else []
        )  # fmt: skip
        if batches and left:
            headers = [{"key": "traceparent", "value": value} for value in left.pop(0)]
            batches[0]["records"][0]["headers"] = headers
        lines.append(json.dumps(row))
    assert not left
    return "\n".join(lines).encode()


def test_a_produced_record_joins_its_exchange_to_its_trace(collector: Collector) -> None:
    other = f"01-{'c' * 32}-{'d' * 16}-00-more"
    broken = ["nonsense", f"00-{'0' * 32}-{SPAN}-01", f"ff-{TRACE}-{SPAN}-01", PARENT.upper(), f"00-{TRACE}-{SPAN}"]
    data = with_headers([PARENT], [PARENT, other], [PARENT, PARENT], broken)
    assert kw("sniff", "-", "--otlp", collector.url, "-q", env=world(data)).code == Exit.DONE
    sent = [span for span in collector.spans() if span.name.startswith("send")]
    first, second, third, fourth, *rest = sorted(sent, key=lambda span: span.start_time_unix_nano)
    for span in (first, third):
        assert (span.trace_id.hex(), span.parent_span_id.hex(), len(span.links)) == (TRACE, SPAN, 0)
        assert span.span_id.hex() != SPAN
    assert second.parent_span_id == b""
    assert second.trace_id.hex() not in (TRACE, "c" * 32)
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in second.links] == [
        (TRACE, SPAN),
        ("c" * 32, "d" * 16),
    ]
    for span in (fourth, *rest):
        assert (span.parent_span_id, len(span.links)) == (b"", 0)


def test_links_have_an_end(collector: Collector) -> None:
    parents = [f"00-{number:032x}-{SPAN}-01" for number in range(1, 300)]
    assert kw("sniff", "-", "--otlp", collector.url, "-q", env=world(with_headers(parents))).code == Exit.DONE
    assert max(len(span.links) for span in collector.spans()) == 128


def test_metrics_are_those_of_prometheus(collector: Collector) -> None:
    assert kw("sniff", FIRST, "--otlp", collector.url, "-q").code == Exit.DONE
    (request,) = collector.metrics
    (its,) = request.resource_metrics
    found = {metric.name: metric for scope in its.scope_metrics for metric in scope.metrics}
    rows = json.loads(kw("stats", FIRST, "--by", "api", "-o", "json").out)
    counts: Counter[str] = Counter()
    for point in found["kw.exchanges"].sum.data_points:
        counts[values(point.attributes)["messaging.operation.name"]] += point.as_int
    assert counts == {row["api"]: row["count"] for row in rows}
    assert found["kw.exchanges"].sum.is_monotonic
    durations = found["messaging.client.operation.duration"]
    assert durations.unit == "s"
    assert {len(point.bucket_counts) - len(point.explicit_bounds) for point in durations.histogram.data_points} == {1}
    slowest = max(point.max for point in durations.histogram.data_points)
    assert slowest == pytest.approx(max(row["max"] for row in rows if row["max"] is not None) / 1000)
    lags = {values(point.attributes)["messaging.consumer.group.name"]: point.as_int
            for point in found["kw.group.lag"].gauge.data_points}  # fmt: skip
    assert {group: lag for group, lag in lags.items() if lag} == {"billing": 4, "ledger": 25}
    times = [parse_time(row["time"]) for row in records(FIRST)]
    points = found["kw.exchanges"].sum.data_points
    assert {point.start_time_unix_nano for point in points} == {min(times)}
    assert min(point.time_unix_nano for point in points) >= max(times)


def test_hostile_names_arrive_as_text(collector: Collector) -> None:
    name = 'a"b\x1b[31m,\nü'
    row = records(TOUR)[0] | {"client_id": name}
    raw = records(TOUR)[1] | {"client_id": {"base64": "/w=="}}
    data = "\n".join(map(json.dumps, (row, raw))).encode()
    assert kw("sniff", "-", "--otlp", collector.url, "-q", env=world(data)).code == Exit.DONE
    names = {values(span.attributes)["messaging.client.id"] for span in collector.spans()}
    assert names == {'a"b\\x1b[31m,\\nü', "\\xff"}


def test_a_collector_that_takes_nothing_is_told_once(collector: Collector) -> None:
    collector.status = 400
    outcome = kw("sniff", TOUR, "--otlp", collector.url.replace("http://", "http://me:geheim@"), "-o", "csv", "-q")
    assert outcome.code == Exit.DONE
    where = collector.url.removeprefix("http://")
    assert outcome.err.splitlines() == [
        f"kw: --otlp {where}: the collector accepts nothing",
        f"kw: --otlp {where}: 193 spans did not arrive",
    ]
    assert len(outcome.out.splitlines()) == 194


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://localhost", "http://", "http://localhost:port", ""])
def test_what_is_no_url_is_refused(url: str) -> None:
    outcome = kw("sniff", TOUR, "--otlp", url)
    assert outcome.code == Exit.USAGE
    assert outcome.err == "kw: --otlp is no URL of a collector: write http://localhost:4318\n"


def test_without_the_extra_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kwcli.telemetry.otlp", None)
    outcome = kw("sniff", TOUR, "--otlp", "http://localhost:4318")
    assert outcome.code == Exit.FAILURE
    assert outcome.err == 'kw: --otlp needs OpenTelemetry, which is not installed: install "kw[otel]"\n'


def test_no_record_value_and_no_secret_is_in_a_span(collector: Collector) -> None:
    assert kw("sniff", str(FOLDER / "sasl-framed.pcapng"), "--otlp", collector.url, "-q").code == Exit.DONE
    sent = b"".join(request.SerializeToString() for request in collector.traces)
    assert b"alice-secret" not in sent
    names = {name for span in collector.spans() for name in values(span.attributes)}
    assert not {name for name in names if "body" in name and not name.endswith("size")}
    assert Path(TOUR).exists()
