"""The requests to an OpenTelemetry collector, decoded by OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import json
import os
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from decoders import read_exchanges
from decoders.limits import HTTP_ANSWER_MAX, HTTP_HEAD_MAX, MIB
from decoders.wire.parse_units import parse_time
from kwcli.pip_extras import pip_command_for_extra
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world
from tests.net import hostile_http as servers
from tests.net.hostile_http import HostileServer, hostile
from tests.net.responder import unheard_address
from tests.net.test_unreachable import unresolvable
from tests.waiting import until

if find_spec("opentelemetry.sdk") is None and not os.environ.get("CI"):
    pytest.skip("the extra otel is not installed", allow_module_level=True)

from kwcli.telemetry import otlp_exporter, send_to_otlp_collector

Behave = Callable[[HostileServer, socket.socket], None]
TOUR = str(FOLDER / "tour.pcapng")
FIRST = str(FOLDER / "first-steps.pcapng")
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


class Collector(ThreadingHTTPServer):
    """A collector that keeps the requests and their headers; `body` is the body of its answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.traces: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.statuses: list[int] = []  # of the next answers; then 200
        self.body = b""
        self.headers: list[tuple[str, Message]] = []

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
        self.server.headers.append((self.path, self.headers))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.end_headers()
        self.wfile.write(self.server.body)

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


def lost(where: str, reason: str) -> list[str]:
    """What is said where nothing of the tour arrived."""
    return [f"kw: --otlp {where}: 193 spans and 1 metrics report did not arrive: {reason}"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (servers.endless_body, "its answer is longer than 1.0MB"),
        (servers.endless_headers, "its headers are longer than 65.5kB"),
        (servers.endless_interim, "its answer is longer than 1.0MB"),
        (servers.huge_length, "its answer is longer than 1.0MB"),
        (servers.no_http, "it does not speak HTTP"),
        (servers.closed, "it closed the connection without an answer"),
        (servers.cut, "it broke off within its answer"),
        (servers.answering(b"302 Found", b"Location: /x"), "it answered 302 Found, and kw follows no redirect"),
        (servers.answering(b"307 X"), "it answered 307 Temporary Redirect, and kw follows no redirect"),
        (servers.answering(b"400 Bad"), "it answered 400 Bad Request"),
        (servers.answering(b"500 Bad"), "it answered 500 Internal Server Error"),
        (servers.answering(b"599 \x1b[2J"), "it answered 599"),
        (servers.answering(b"503 Busy", b"Retry-After: 3600"), "it answered 503 Service Unavailable"),
        (
            servers.answering(b"429 X", b"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"),
            "it answered 429 Too Many Requests",
        ),
    ],
)
def test_what_did_not_arrive_is_told_once_with_the_reason(
    behave: Behave, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwcli.telemetry.send_to_otlp_collector._FIRST_RETRY_S", 60.0)
    with hostile(behave) as server:
        outcome = kw("sniff", TOUR, "--otlp", server.url.replace("http://", "http://me:geheim@"), "-o", "csv", "-q")
    assert outcome.code == Exit.DONE
    assert outcome.err.splitlines() == lost(f"127.0.0.1:{server.port}", reason)
    assert len(outcome.out.splitlines()) == 194
    assert server.sent <= HTTP_ANSWER_MAX + HTTP_HEAD_MAX + 16 * MIB
    assert server.asked == 1  # nothing is sent for a while after a failure


@pytest.mark.parametrize("behave", [servers.dripping_head, servers.dripping_body, servers.silent])
def test_a_collector_that_drips_is_given_up(behave: Behave, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("net.http_client", "telemetry.send_to_otlp_collector"):
        monkeypatch.setattr(f"kwcli.{module}.HTTP_ANSWER_S", 0.25)
    with hostile(behave) as server:
        outcome = kw("sniff", TOUR, "--otlp", server.url, "-o", "csv", "-q")
    assert outcome.err.splitlines() == lost(f"127.0.0.1:{server.port}", "it did not answer within 0.25 s")
    assert len(outcome.out.splitlines()) == 194


def test_a_collector_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with unheard_address() as (host, port):
        where = f"{host}:{port}"
        outcome = kw("sniff", TOUR, "--otlp", f"http://{where}", "-o", "csv", "-q")
    assert outcome.err.splitlines() == lost(where, "it cannot be reached: connection refused")
    # What no name server has to be asked for, and no slow one says late.
    monkeypatch.setattr("kwcli.net.open_connections.socket.getaddrinfo", unresolvable(socket.EAI_NONAME))
    assert kw("sniff", TOUR, "--otlp", "http://no.such.host.invalid", "-q").err.splitlines() == lost(
        "no.such.host.invalid", "no address for 'no.such.host.invalid'; is it spelt right? (containers and"
        " port-forwards: --dial-map)"
    )  # fmt: skip


def test_tls_of_a_collector(collector: Collector, tmp_path: Path) -> None:
    write_tls_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "broker.pem")
    collector.socket = context.wrap_socket(collector.socket, server_side=True)
    where = f"localhost:{collector.server_address[1]}"
    refused = kw("sniff", TOUR, "--otlp", f"https://{where}", "-q")
    assert not collector.headers
    variables = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "ca.pem")}
    assert kw("sniff", TOUR, "--otlp", f"https://{where}", "-q", env=world(variables=variables)).err == ""
    assert len(collector.spans()) == 193
    assert refused.err.splitlines() == lost(
        where,
        "its certificate is not trusted: self-signed certificate in certificate chain"
        " (OTEL_EXPORTER_OTLP_CERTIFICATE=FILE)",
    )


def test_what_is_retried_arrives(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.telemetry.send_to_otlp_collector._FIRST_RETRY_S", 0.01)
    collector.statuses = [503, 429, 200, 504]
    outcome = kw("sniff", TOUR, "--otlp", collector.url, "-q")
    assert outcome.err == ""
    assert (len(collector.traces), len(collector.metrics)) == (3, 2)


def test_what_a_collector_rejects_in_part_is_told(collector: Collector) -> None:
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 7
    answer.partial_success.error_message = "no\x1b[31m room\nhere"
    collector.body = answer.SerializeToString()
    outcome = kw("sniff", TOUR, "--otlp", collector.url, "-q")
    where = collector.url.removeprefix("http://")
    assert outcome.err.splitlines() == [
        f"kw: --otlp {where}: 7 spans and 1 metrics report did not arrive: it rejected them: no\\x1b[31m room here"
    ]


def test_the_variables_of_opentelemetry_are_honoured(collector: Collector) -> None:
    variables = {
        "OTEL_EXPORTER_OTLP_HEADERS": "X-Tenant=a%20b,Authorization=Bearer%20t",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-only=traces",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
    }
    url = collector.url.replace("http://", "http://me:pw@")
    assert kw("sniff", TOUR, "--otlp", url, "-q", env=world(variables=variables)).err == ""
    (traces,), (metrics,) = (
        [each for path, each in collector.headers if path == f"/v1/{kind}"] for kind in ("traces", "metrics")
    )
    assert (traces["x-only"], traces["Authorization"], traces["X-Tenant"]) == ("traces", "Basic bWU6cHc=", None)
    assert (metrics["x-only"], metrics["Authorization"], metrics["X-Tenant"]) == (None, "Bearer t", "a b")
    assert traces["Content-Encoding"] == metrics["Content-Encoding"] == "gzip"
    assert len(collector.spans()) == 193


def test_a_header_that_is_none_is_told_without_its_text(collector: Collector) -> None:
    variables = {"OTEL_EXPORTER_OTLP_HEADERS": "x=1,api-key: hunter2"}
    outcome = kw("sniff", TOUR, "--otlp", collector.url, "-q", env=world(variables=variables))
    assert (outcome.code, outcome.err) == (
        *(Exit.USAGE, "kw: OTEL_EXPORTER_OTLP_HEADERS: a part of it is no NAME=VALUE\n"),
    )


def test_a_user_that_is_no_utf8_is_sent_as_it_is(collector: Collector) -> None:
    url = collector.url.replace("http://", "http://u:%FF@").replace("%FF", "\udcff")
    assert kw("sniff", TOUR, "--otlp", url, "-q").err == ""
    assert {each["Authorization"] for _, each in collector.headers} == {"Basic dTr/"}


def test_a_span_that_has_no_form_does_not_take_others_along(collector: Collector) -> None:
    said: list[str] = []
    exporter = otlp_exporter.Exporter(send_to_otlp_collector.Collector(collector.url, {}), said.append, waits=True)
    with open(TOUR, "rb") as capture:
        for number, exchange in enumerate(read_exchanges(capture)):
            if number in (3, 100, 192):
                exchange.time_ns = -(10**9)  # before 1970
            exporter.add(exchange)
    exporter.close([])
    where = collector.url.removeprefix("http://")
    assert said == [f"kw: --otlp {where}: 3 spans did not arrive: OpenTelemetry has no form for a value (ValueError)"]
    assert len(collector.spans()) == 190


def test_of_live_traffic_it_is_told_at_once_that_nothing_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_exporter, "_BATCH", 10)
    said: list[str] = []
    with hostile(servers.answering(b"403 No")) as server:
        exporter = otlp_exporter.Exporter(send_to_otlp_collector.Collector(server.url, {}), said.append, waits=False)
        for row in list(read_exchanges(Path(TOUR).read_bytes()))[:15]:
            exporter.add(row)
        until(lambda: said)
        what, reason = f"kw: --otlp 127.0.0.1:{server.port}: ", "it answered 403 Forbidden"
        assert said == [f"{what}nothing arrives: {reason}"]
        exporter.close([])
        assert said[1:] == [f"{what}15 spans and 1 metrics report did not arrive: {reason}"]


def through(server: HostileServer, link: socket.socket) -> None:
    """A proxy: tunnels, or answers a plain request itself."""
    asked = server.requests[-1]
    if not asked.startswith(b"CONNECT "):
        server.send(link, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return
    host, _, port = asked.split()[1].decode().partition(":")
    with socket.create_connection((host, int(port))) as further:
        server.send(link, b"HTTP/1.1 200 Connected\r\n\r\n")

        def back() -> None:
            with suppress(OSError):
                while data := further.recv(65536):
                    link.sendall(data)
                link.shutdown(socket.SHUT_WR)

        thread = Thread(target=back)
        thread.start()
        while data := link.recv(65536):
            further.sendall(data)
        with suppress(OSError):
            further.shutdown(socket.SHUT_WR)
        thread.join()


def test_proxies_of_the_variables(collector: Collector, tmp_path: Path) -> None:
    write_tls_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "broker.pem")
    collector.socket = context.wrap_socket(collector.socket, server_side=True)
    where = f"localhost:{collector.server_address[1]}"
    with hostile(through) as proxy:
        named = proxy.url.replace("http://", "http://me:p%40ss@")
        variables = {
            "https_proxy": named,
            "HTTP_PROXY": named,
            "OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "ca.pem"),
        }
        assert kw("sniff", TOUR, "--otlp", f"https://{where}", "-q", env=world(variables=variables)).err == ""
        assert len(collector.spans()) == 193
        assert {each.split(b"\r\n")[0] for each in proxy.requests} == {f"CONNECT {where} HTTP/1.1".encode()}
        assert all(b"Proxy-Authorization: Basic bWU6cEBzcw==" in each for each in proxy.requests)
        proxy.requests.clear()
        assert kw("sniff", TOUR, "--otlp", "http://far.invalid", "-q", env=world(variables=variables)).err == ""
        assert {each.split(b"\r\n")[0] for each in proxy.requests} == {
            f"POST http://far.invalid:80/v1/{kind} HTTP/1.1".encode() for kind in ("traces", "metrics")
        }
        asked = proxy.asked
        variables["no_proxy"] = "example.org,localhost"
        assert kw("sniff", TOUR, "--otlp", f"https://{where}", "-q", env=world(variables=variables)).err == ""
        assert proxy.asked == asked
    with hostile(servers.answering(b"407 Who")) as proxy:
        outcome = kw(
            "sniff", TOUR, "--otlp", "https://far.invalid", "-q", env=world(variables={"ALL_PROXY": proxy.url})
        )
        assert outcome.err.splitlines() == lost("far.invalid", "its proxy refuses the connection with 407")
    odd = kw("sniff", TOUR, "--otlp", "http://far.invalid", "-q", env=world(variables={"all_proxy": "socks5://x:1"}))
    assert (odd.code, odd.err.count("\n")) == (Exit.USAGE, 1)


class Held:
    """A collector in the place of a real one: it takes requests when it is told to."""

    where = "there"

    def __init__(self) -> None:
        self.go = Event()
        self.waiting = Event()
        self.taken = 0

    def deliver(self, _signal: str, _data: bytes) -> None:
        self.waiting.set()
        self.go.wait()
        self.taken += 1

    def stop(self) -> None:
        """Nothing to stop."""


@pytest.mark.parametrize("waits", [True, False])
def test_rows_do_not_wait_for_a_collector(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_exporter, "_PATIENCE_S", 60.0)
    monkeypatch.setattr(otlp_exporter, "_ROOM_S", 0.05)
    monkeypatch.setattr(otlp_exporter, "_END_S", 0.1)
    monkeypatch.setattr(otlp_exporter, "SPANS_HELD_MAX", 50)
    monkeypatch.setattr(otlp_exporter, "_BATCH", 10)
    said: list[str] = []
    collector = Held()
    exporter = otlp_exporter.Exporter(collector, said.append, waits=waits)  # type: ignore[arg-type]  # a stand-in
    rows = list(read_exchanges(Path(TOUR).read_bytes()))
    for row in rows[:10]:
        exporter.add(row)
    assert collector.waiting.wait(20)
    for row in rows[10:]:  # would never end if each of them waited for the collector
        exporter.add(row)
    exporter.close([])
    assert collector.taken == 0
    assert said == [
        f"kw: --otlp there: 193 spans and 1 metrics report did not arrive: they came faster than it took them"
        f" ({193 - 60}); it had not taken them in time at the end (61)"
    ]
    collector.go.set()


def test_a_full_queue_of_a_file_waits_for_a_collector_that_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_exporter, "_PATIENCE_S", 60.0)
    monkeypatch.setattr(otlp_exporter, "_ROOM_S", 60.0)
    monkeypatch.setattr(otlp_exporter, "SPANS_HELD_MAX", 5)
    monkeypatch.setattr(otlp_exporter, "_BATCH", 3)
    said: list[str] = []
    collector = Held()
    collector.go.set()
    exporter = otlp_exporter.Exporter(collector, said.append, waits=True)  # type: ignore[arg-type]  # a stand-in
    for row in read_exchanges(Path(TOUR).read_bytes()):
        exporter.add(row)
    exporter.close([])
    assert (said, collector.taken) == ([], 66)


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://localhost", "http://", "http://localhost:port", ""])
def test_what_is_no_url_is_refused(url: str) -> None:
    outcome = kw("sniff", TOUR, "--otlp", url)
    assert outcome.code == Exit.USAGE
    assert outcome.err == "kw: --otlp is no URL of a collector: write http://localhost:4318\n"


def test_without_the_extra_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kwcli.telemetry.otlp_exporter", None)
    outcome = kw("sniff", TOUR, "--otlp", "http://localhost:4318")
    assert outcome.code == Exit.FAILURE
    assert outcome.err == f"kw: --otlp needs OpenTelemetry, which is not installed: {pip_command_for_extra('otel')}\n"


@pytest.mark.long
def test_no_record_value_and_no_secret_is_in_a_span(collector: Collector) -> None:
    assert kw("sniff", str(FOLDER / "sasl-framed.pcapng"), "--otlp", collector.url, "-q").code == Exit.DONE
    sent = b"".join(request.SerializeToString() for request in collector.traces)
    assert b"alice-secret" not in sent
    names = {name for span in collector.spans() for name in values(span.attributes)}
    assert not {name for name in names if "body" in name and not name.endswith("size")}
    assert Path(TOUR).exists()
