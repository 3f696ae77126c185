"""Exchanges and families of numbers in, spans and metrics to an OpenTelemetry collector out, over OTLP in HTTP.

An exchange is a span of the time that it took on the wire, with attributes by OpenTelemetry's conventions for messaging
and Kafka. Records may carry the context of the trace that they belong to (`traceparent`, W3C Trace Context): where the
records of an exchange have one context, the exchange is a part of that trace; where they have several, the exchange is
a trace of its own and linked to each. The ids of a span are derived from the exchange, so that the same capture sent
twice gives the same spans.

A thread sends in batches. From a file everything is sent, however long that takes; live exchanges that come faster than
they can be sent are counted and dropped. A collector that cannot be reached is left alone for a while.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from queue import Empty, Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from decoders.analysis.dimensions import DIMENSIONS, needs_of
from decoders.analysis.exchange_facts import RECORDS, records_by_partition
from decoders.apis.error_codes import error_name
from decoders.apis.keys import FETCH, OFFSET_COMMIT, PRODUCE, SHARE_ACKNOWLEDGE, SHARE_FETCH
from decoders.filters.contents import headers_named
from decoders.limits import SPANS_HELD_MAX
from kwcli import VERSION
from kwcli.run_environment import Exit, Failure
from kwcli.telemetry.prometheus import BOUNDS_S, Family, Histogram, label_text

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side

# Spans that are sent together, and how long the first of them waits for others.
_BATCH: Final = 512
_PATIENCE_S: Final = 1.0
# How long one request may take, with OpenTelemetry's attempts; and how long nothing is sent after a failure.
_TIMEOUT_S: Final = 5.0
_REST_S: Final = 30.0
# Time between two sendings of metrics, which are also sent at the end.
_METRICS_S: Final = 10.0
# The most traces that one exchange is linked to: OpenTelemetry's own limit for a span.
_LINKS_MAX: Final = 128
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(-.*)?"
)
# API → name and type of the operation, as the conventions for messaging have them.
_OPERATIONS: Final = {
    PRODUCE: ("send", "send"),
    FETCH: ("poll", "receive"),
    SHARE_FETCH: ("poll", "receive"),
    OFFSET_COMMIT: ("commit", "settle"),
    SHARE_ACKNOWLEDGE: ("acknowledge", "settle"),
}
# Labels of our families → attributes.
_ATTRIBUTES: Final = {
    "api": "messaging.operation.name",
    "broker": "server.address",
    "topic": "messaging.destination.name",
    "group": "messaging.consumer.group.name",
    "error": "error.type",
    "status": "kw.status",
    "side": "kw.side",
    "direction": "kw.direction",
}
# Our families → the names and units of metrics.
_METRICS: Final = {
    "kw_exchange_seconds": ("messaging.client.operation.duration", "s"),
    "kw_exchanges_total": ("kw.exchanges", "{exchange}"),
    "kw_waited_total": ("kw.waited", "{exchange}"),
    "kw_errors_total": ("kw.errors", "{error}"),
    "kw_bytes_total": ("kw.bytes", "By"),
    "kw_records_total": ("kw.records", "{record}"),
    "kw_record_bytes_total": ("kw.record.bytes", "By"),
    "kw_group_lag_records": ("kw.group.lag", "{record}"),
}
_SCOPE: Final = InstrumentationScope("kw", VERSION)

_topics: Final = DIMENSIONS["topic"].get
_groups: Final = DIMENSIONS["group"].get
_traceparents: Final = headers_named("traceparent")


class Exporter:
    """Sends spans and metrics to the collector at a URL. `waits`: block, never drop. Raises Failure for a bad URL."""

    def __init__(self, url: str, say: Callable[[str], None], *, waits: bool) -> None:
        traces, metrics, self._where = _endpoints(url)
        log = logging.getLogger("opentelemetry")
        log.addHandler(logging.NullHandler())  # failures are reported in one line of kw's own
        log.propagate = False
        self._spans = OTLPSpanExporter(endpoint=traces, timeout=_TIMEOUT_S)
        self._metrics = OTLPMetricExporter(endpoint=metrics, timeout=_TIMEOUT_S)
        self._resource = _resource()
        self._say = say
        self._waits = waits
        self._queue: Queue[ReadableSpan | MetricsData | None] = Queue(SPANS_HELD_MAX)
        self._first_ns = self._last_ns = 0
        self._next_s = 0.0  # when metrics are sent next
        self._rests_s = 0.0  # until then nothing is sent
        self._failure_reported = False
        self.lost = 0  # spans that did not arrive
        self.crowded = 0  # spans that there was no room for
        self._thread = Thread(target=self._run, name="otlp", daemon=True)
        self._thread.start()

    def needs(self, key: int, side: Side) -> frozenset[str]:
        """The paths that `add` reads of a side of an API."""
        return needs_of(("topic", "partition", "group"), key, side) | RECORDS.of(key, side)

    def add(self, exchange: Exchange) -> None:
        """Send an exchange as a span."""
        self._first_ns = min(self._first_ns or exchange.time_ns, exchange.time_ns)
        span = _span(exchange, self._resource)
        self._last_ns = max(self._last_ns, span.end_time or 0)
        self._put(span)

    def send_metrics_if_due(self, families: Callable[[], list[Family]]) -> None:
        """Send metrics, if it is time to."""
        now = time.monotonic()
        if now >= self._next_s:
            if self._next_s:
                self._put(self._numbers(families()))
            self._next_s = now + _METRICS_S

    def close(self, families: list[Family]) -> None:
        """Send the spans that are left, and the last metrics; say how many spans did not arrive."""
        if self._last_ns:
            self._queue.put(self._numbers(families))
        self._queue.put(None)
        self._thread.join()
        for each in (self._spans, self._metrics):
            each.shutdown()
        if self.lost:
            self._say(f"kw: --otlp {self._where}: {self.lost:,} spans did not arrive")
        if self.crowded:
            self._say(f"kw: --otlp {self._where}: {self.crowded:,} spans came faster than they could be sent")

    def _put(self, item: ReadableSpan | MetricsData) -> None:
        try:
            self._queue.put(item, block=self._waits)
        except Full:
            self.crowded += isinstance(item, ReadableSpan)

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        for spans, metrics in self._batches():
            if time.monotonic() < self._rests_s:
                self.lost += len(spans)
                continue
            reached = True
            if spans and self._spans.export(spans) is not SpanExportResult.SUCCESS:
                reached = False
                self.lost += len(spans)
            if metrics is not None and self._metrics.export(metrics) is not MetricExportResult.SUCCESS:
                reached = False
            if not reached:
                self._rests_s = time.monotonic() + _REST_S
                if not self._failure_reported:
                    self._say(f"kw: --otlp {self._where}: the collector accepts nothing")
                self._failure_reported = True

    def _batches(self) -> Iterator[tuple[list[ReadableSpan], MetricsData | None]]:
        spans: list[ReadableSpan] = []
        until = 0.0
        while True:
            try:
                item = self._queue.get(timeout=max(until - time.monotonic(), 0) if spans else None)
            except Empty:
                yield spans, None
                spans = []
                continue
            if isinstance(item, ReadableSpan):
                until = until if spans else time.monotonic() + _PATIENCE_S
                spans.append(item)
                if len(spans) < _BATCH:
                    continue
            yield spans, item if isinstance(item, MetricsData) else None
            if item is None:
                return
            spans = []

    def _numbers(self, families: Sequence[Family]) -> MetricsData:
        scope = ScopeMetrics(_SCOPE, [self._metric(each) for each in families if each.samples], "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])

    def _metric(self, family: Family) -> Metric:
        name, unit = _METRICS[family.name]
        points: list[Any] = [self._point(labels, value) for labels, value in family.samples]
        data: HistogramData | Sum | Gauge
        if family.kind == "histogram":
            data = HistogramData(points, AggregationTemporality.CUMULATIVE)
        elif family.kind == "counter":
            data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        else:
            data = Gauge(points)
        return Metric(name, family.text, unit, data)

    def _point(self, labels: Mapping[str, str], value: float | Histogram) -> NumberDataPoint | HistogramDataPoint:
        attributes = {"messaging.system": "kafka"} | {_ATTRIBUTES[name]: text for name, text in labels.items()}
        if not isinstance(value, Histogram):
            return NumberDataPoint(attributes, self._first_ns, self._last_ns, value)
        return HistogramDataPoint(
            attributes=attributes,
            start_time_unix_nano=self._first_ns,
            time_unix_nano=self._last_ns,
            count=sum(value.counts),
            sum=value.total_ns / 1e9,
            bucket_counts=list(value.counts),
            explicit_bounds=BOUNDS_S,
            min=value.least_ns / 1e9,
            max=value.most_ns / 1e9,
        )


def _resource() -> Resource:
    """The service that sends: kw, or as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say."""
    found = Resource.create()
    named = str(found.attributes.get("service.name", "unknown_service"))
    return found.merge(Resource({"service.name": "kw"})) if named.startswith("unknown_service") else found


def _endpoints(url: str) -> tuple[str, str, str]:
    """The URLs of spans and of metrics, and the collector's name in messages, without a password. Raises Failure."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise Failure("--otlp is no URL of a collector: write http://localhost:4318", Exit.USAGE)
    base = url.rstrip("/").removesuffix("/v1/traces")
    return f"{base}/v1/traces", f"{base}/v1/metrics", f"{parts.hostname}{f':{port}' if port else ''}"


# -- spans -------------------------------------------------------------------------------------------------------------


def _span(exchange: Exchange, resource: Resource) -> ReadableSpan:
    """The span of an exchange."""
    key = exchange.api_key
    operation, kind = _OPERATIONS.get(-1 if key is None else key, (exchange.api or "token", ""))
    attributes = _attributes(exchange, operation, kind)
    destination = attributes.get("messaging.destination.name")
    trace, parent, links = _trace(exchange)
    context = SpanContext(trace, _number(exchange, 8), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    ended_ns = exchange.response_end_ns or exchange.response_ns or exchange.request_end_ns or exchange.time_ns
    return ReadableSpan(
        name=f"{operation} {destination}" if destination else operation,
        context=context,
        parent=parent,
        resource=resource,
        attributes=attributes,
        links=links,
        kind=SpanKind.CLIENT,
        status=_status(attributes),
        start_time=exchange.time_ns,
        end_time=max(ended_ns, exchange.time_ns),
        instrumentation_scope=_SCOPE,
    )


def _attributes(exchange: Exchange, operation: str, kind: str) -> dict[str, str | int | float]:
    """The attributes of an exchange's span; unknown ones are left out."""
    ends = exchange.ends
    (client, client_port), (broker, broker_port) = (each.rpartition(":")[::2] for each in (ends.client, ends.broker))
    topics, groups = (list(dict.fromkeys(its(exchange))) for its in (_topics, _groups))
    held = records_by_partition(exchange)
    places = {number for _, number in held if number is not None}
    errors = [error_name(code) for _, code in exchange.unexpected]
    software = exchange.client_software
    said: dict[str, str | int | float | None] = {
        "messaging.system": "kafka",
        "messaging.operation.name": operation,
        "messaging.operation.type": kind or None,
        "messaging.client.id": exchange.client_id,
        "messaging.destination.name": topics[0] if len(topics) == 1 else None,
        "messaging.destination.partition.id": str(*places) if len(places) == 1 and len(topics) == 1 else None,
        "messaging.consumer.group.name": groups[0] if len(groups) == 1 else None,
        "messaging.batch.message_count": sum(each.records for each in held.values()) if held else None,
        "messaging.message.body.size": sum(each.size for each in held.values()) if held else None,
        "error.type": errors[0] if errors else None if exchange.status != "unanswered" else "unanswered",
        "server.address": broker.strip("[]"),
        "server.port": int(broker_port or 0),
        "client.address": client.strip("[]"),
        "client.port": int(client_port or 0),
        "user_agent.original": f"{software['name']}/{software['version']}" if software else None,
        "kafka.api.name": exchange.api,
        "kafka.api.key": exchange.api_key,
        "kafka.api.version": exchange.api_version,
        "kafka.correlation_id": exchange.correlation_id,
        "kafka.request.size": exchange.request_size,
        "kafka.response.size": exchange.response_size,
        "kw.status": exchange.status,
        "kw.latency_ms": exchange.latency_ms,
    }
    return {
        name: label_text(value) if isinstance(value, str) else value
        for name, value in said.items()
        if value is not None
    }


def _status(attributes: Mapping[str, Any]) -> Status:
    failed = attributes.get("error.type")
    return Status(StatusCode.ERROR, str(failed)) if failed else Status(StatusCode.UNSET)


def _trace(exchange: Exchange) -> tuple[int, SpanContext | None, list[Link]]:
    """The trace id of an exchange, the span that it is a part of, and the spans that it is linked to."""
    found: dict[str, SpanContext] = {}
    for value in _traceparents(exchange):
        match = _TRACEPARENT.fullmatch(value or "")
        if match is not None and match[0] not in found:
            trace, span, flags = (int(match[name], 16) for name in ("trace", "span", "flags"))
            sampled = TraceFlags(flags & TraceFlags.SAMPLED)
            found[match[0]] = SpanContext(trace, span, is_remote=True, trace_flags=sampled)
        if len(found) > _LINKS_MAX:
            break
    if len(found) == 1:
        (parent,) = found.values()
        return parent.trace_id, parent, []
    return _number(exchange, 16), None, [Link(each) for each in islice(found.values(), _LINKS_MAX)]


def _number(exchange: Exchange, size: int) -> int:
    """An id of `size` bytes derived from an exchange: the same each time, and never 0."""
    ends = exchange.ends
    where = (ends.client, ends.broker, exchange.time_ns, exchange.place, exchange.correlation_id, exchange.api_key)
    digest = blake2b(repr(where).encode("utf-8", "backslashreplace"), digest_size=size, person=b"kw span").digest()
    return int.from_bytes(digest) or 1
