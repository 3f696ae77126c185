"""Exchanges and families of numbers in, spans and metrics to an OpenTelemetry collector out, over OTLP in HTTP.

An exchange is a span of the time that it took on the wire, with attributes by OpenTelemetry's conventions for messaging
and Kafka. Records may carry the context of the trace that they belong to (`traceparent`, W3C Trace Context): where the
records of an exchange have one context, the exchange is a part of that trace; where they have several, the exchange is
a trace of its own and linked to each. The ids of a span are derived from the exchange, so that the same capture sent
twice gives the same spans.

A thread sends in batches, and the rows do not wait for it: a queue holds what is to be sent. Where it is full, the
spans of a file wait, once for each batch and not for long, so that a collector that takes them is sent everything;
those of live traffic are dropped at once. A collector that fails is left alone for a while. However slow or hostile it
is, the end comes in a bounded time, and everything that did not arrive is counted with its reason.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from decoders.analysis.exchange_facts import RECORDS, record_totals_by_partition
from decoders.analysis.read_dimension_values import DIMENSIONS, paths_of_dimensions
from decoders.filters.read_partitions_and_records import make_header_getter
from decoders.limits import SPANS_HELD_MAX
from decoders.protocol_facts.api_keys import FETCH, OFFSET_COMMIT, PRODUCE, SHARE_ACKNOWLEDGE, SHARE_FETCH
from decoders.protocol_facts.errors.error_codes import error_name
from kwcli import VERSION
from kwcli.output.short_texts import count_of
from kwcli.telemetry.prometheus import BOUNDS_S, Family, Histogram, clean_label
from kwcli.telemetry.send_to_otlp_collector import Collector, NotDelivered

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side
    from kwcli.telemetry.send_to_otlp_collector import Signal

# Spans that are sent together, and how long the first of them waits for others.
_BATCH: Final = 512
_PATIENCE_S: Final = 1.0
# How long nothing is sent after a failure.
_REST_S: Final = 30.0
# How long the rows of a file wait for room in the queue, once for each batch that is sent.
_ROOM_S: Final = 2.0
# How long the end waits for what is still to be sent: ten seconds more than one delivery may take.
_END_S: Final = 20.0
# Reasons that are told, and that are counted one by one: a collector may give another one each time.
_REASONS_MAX: Final = 3
_REASONS_KEPT: Final = 100
_OTHER: Final = "other reasons"
_TOO_FAST: Final = "they came faster than it took them"
_TOO_LATE: Final = "it had not taken them in time at the end"
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
# What is counted, in messages.
_SPAN_NOUN: Final = "span"
_METRICS_NOUN: Final = "metrics report"
_SCOPE: Final = InstrumentationScope("kw", VERSION)

_topics: Final = DIMENSIONS["topic"].get
_groups: Final = DIMENSIONS["group"].get
_traceparents: Final = make_header_getter("traceparent")


class Exporter:
    """Sends spans and metrics to a collector, live or from a file (`waits`: for room in the queue)."""

    def __init__(self, collector: Collector, say: Callable[[str], None], *, waits: bool) -> None:
        self._collector = collector
        self._resource = _make_service_resource()
        self._say = say
        self._waits = waits
        self._queue: Queue[ReadableSpan | MetricsData | None] = Queue(SPANS_HELD_MAX)
        self._first_ns = self._last_ns = 0
        self._next_s = 0.0  # when metrics are sent next
        self._rests_s = 0.0  # until then nothing is sent
        self._failed = ""  # the last reason, and why nothing is sent while the collector rests
        self._told = False  # of live traffic: that nothing arrives
        self._had_room = True  # a batch was sent since the rows last waited in vain
        self._ended = Event()  # the end has waited long enough: nothing more is sent
        self._counting = Lock()
        self._given: Counter[str] = Counter()  # what was to be sent, by its kind
        self._settled: Counter[str] = Counter()  # what arrived, or is counted below
        self._lost: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._thread = Thread(target=self._send_until_closed, name="otlp", daemon=True)
        self._thread.start()

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths that `add` reads of a side of an API."""
        return paths_of_dimensions(("topic", "partition", "group"), api_key, side) | RECORDS.needed_paths(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Send an exchange as a span."""
        self._first_ns = min(self._first_ns or exchange.time_ns, exchange.time_ns)
        span = _make_span(exchange, self._resource)
        self._last_ns = max(self._last_ns, span.end_time or 0)
        self._queue_or_count_lost(span)

    def send_metrics_if_due(self, families: Callable[[], list[Family]]) -> None:
        """Send metrics, if it is time to."""
        now = time.monotonic()
        if now >= self._next_s:
            if self._next_s:
                self._queue_or_count_lost(self._make_metrics_data(families()))
            self._next_s = now + _METRICS_S

    def close(self, families: list[Family]) -> None:
        """Send what is left, and the last metrics, in a bounded time; say what did not arrive, and why."""
        until = time.monotonic() + _END_S
        try:
            last = [self._make_metrics_data(families)] if self._last_ns else []
            self._given[_METRICS_NOUN] += len(last)
            for item in (*last, None):
                with suppress(Full):
                    self._queue.put(item, timeout=max(until - time.monotonic(), 0))
            self._thread.join(max(until - time.monotonic(), 0))
        finally:
            self._ended.set()
            self._collector.stop()
            with self._counting:  # the thread may be busy still
                for noun, count in (self._given - self._settled).items():
                    self._count_lost(noun, count, _TOO_LATE)
            if self._lost:
                self._say(f"kw: --otlp {self._collector.where}: {self._describe_losses()}")

    def _describe_losses(self) -> str:
        """What did not arrive, and why: one line."""
        what = " and ".join(
            count_of(self._lost[noun], noun) for noun in (_SPAN_NOUN, _METRICS_NOUN) if self._lost[noun]
        )
        most = self._reasons.most_common(_REASONS_MAX)
        why = most[0][0] if len(self._reasons) == 1 else "; ".join(f"{reason} ({count:,})" for reason, count in most)
        return f"{what} did not arrive: {why}"

    def _queue_or_count_lost(self, item: ReadableSpan | MetricsData) -> None:
        noun = _SPAN_NOUN if isinstance(item, ReadableSpan) else _METRICS_NOUN
        self._given[noun] += 1
        waits = self._waits and self._had_room
        try:
            self._queue.put(item, block=waits, timeout=_ROOM_S if waits else None)
        except Full:
            self._had_room = False
            with self._counting:
                self._count_lost(noun, 1, self._failed or _TOO_FAST)

    def _count_lost(self, noun: str, count: int, reason: str) -> None:
        """Count what did not arrive; `_counting` is held."""
        if reason not in self._reasons and len(self._reasons) >= _REASONS_KEPT:
            reason = _OTHER
        self._settled[noun] += count
        self._lost[noun] += count
        self._reasons[reason] += count

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _send_until_closed(self) -> None:
        for spans, metrics in self._take_batches():
            if spans:
                self._send_request("traces", encode_spans, spans, _SPAN_NOUN, len(spans))
            if metrics is not None:
                self._send_request("metrics", encode_metrics, metrics, _METRICS_NOUN, 1)
            self._had_room = True
            if self._ended.is_set():
                return

    def _send_request(self, signal: Signal, encode: Callable[[Any], Any], items: Any, noun: str, count: int) -> None:
        """Send a request unless the collector rests, and count how it ended."""
        if time.monotonic() < self._rests_s:
            self._count_sent_and_lost(noun, count, count, self._failed)
            return
        try:
            data: bytes = encode(items).SerializePartialToString()
        except Exception as error:
            # The library's own and protobuf's: a value fits no field, such as a time before 1970.
            if count > 1:  # the others arrive
                half = count // 2
                self._send_request(signal, encode, items[:half], noun, half)
                self._send_request(signal, encode, items[half:], noun, count - half)
            else:
                self._count_sent_and_lost(noun, 1, 1, f"OpenTelemetry has no form for a value ({type(error).__name__})")
            return
        try:
            self._collector.deliver(signal, data)
            self._failed = ""
            self._count_sent_and_lost(noun, count)
        except NotDelivered as problem:
            if problem.rejected is not None:
                self._count_sent_and_lost(noun, count, min(problem.rejected, count), problem.reason)
                return
            self._rests_s = time.monotonic() + _REST_S
            self._failed = problem.reason
            if not self._waits and not self._told:
                self._told = True
                self._say(f"kw: --otlp {self._collector.where}: nothing arrives: {problem.reason}")
            self._count_sent_and_lost(noun, count, count, problem.reason)

    def _count_sent_and_lost(self, noun: str, count: int, lost: int = 0, reason: str = "") -> None:
        """Count what was sent, and how much of it did not arrive; the end has counted what is sent after it."""
        with self._counting:
            if not self._ended.is_set():
                self._settled[noun] += count - lost
                if lost:
                    self._count_lost(noun, lost, reason)

    def _take_batches(self) -> Iterator[tuple[list[ReadableSpan], MetricsData | None]]:
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

    def _make_metrics_data(self, families: Sequence[Family]) -> MetricsData:
        scope = ScopeMetrics(_SCOPE, [self._make_metric(each) for each in families if each.samples], "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])

    def _make_metric(self, family: Family) -> Metric:
        name, unit = _METRICS[family.name]
        points: list[Any] = [self._make_data_point(labels, value) for labels, value in family.samples]
        data: HistogramData | Sum | Gauge
        if family.kind == "histogram":
            data = HistogramData(points, AggregationTemporality.CUMULATIVE)
        elif family.kind == "counter":
            data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        else:
            data = Gauge(points)
        return Metric(name, family.text, unit, data)

    def _make_data_point(
        self, labels: Mapping[str, str], value: float | Histogram
    ) -> NumberDataPoint | HistogramDataPoint:
        attributes = {"messaging.system": "kafka"} | {_ATTRIBUTES[name]: text for name, text in labels.items()}
        begun_ns = max(self._first_ns, 0)  # the protocol has no times before 1970
        if not isinstance(value, Histogram):
            return NumberDataPoint(attributes, begun_ns, self._last_ns, value)
        return HistogramDataPoint(
            attributes=attributes,
            start_time_unix_nano=begun_ns,
            time_unix_nano=self._last_ns,
            count=sum(value.counts),
            sum=value.total_ns / 1e9,
            bucket_counts=list(value.counts),
            explicit_bounds=BOUNDS_S,
            min=value.least_ns / 1e9,
            max=value.most_ns / 1e9,
        )


def _make_service_resource() -> Resource:
    """The service that sends: kw, or as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say."""
    found = Resource.create()
    named = str(found.attributes.get("service.name", "unknown_service"))
    return found.merge(Resource({"service.name": "kw"})) if named.startswith("unknown_service") else found


# -- spans -------------------------------------------------------------------------------------------------------------


def _make_span(exchange: Exchange, resource: Resource) -> ReadableSpan:
    """The span of an exchange."""
    key = exchange.api_key
    operation, kind = _OPERATIONS.get(-1 if key is None else key, (exchange.api or "token", ""))
    attributes = _make_span_attributes(exchange, operation, kind)
    destination = attributes.get("messaging.destination.name")
    trace, parent, links = _find_trace_context(exchange)
    context = SpanContext(
        trace, _derive_span_id(exchange, 8), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    ended_ns = exchange.response_end_ns or exchange.response_ns or exchange.request_end_ns or exchange.time_ns
    return ReadableSpan(
        name=f"{operation} {destination}" if destination else operation,
        context=context,
        parent=parent,
        resource=resource,
        attributes=attributes,
        links=links,
        kind=SpanKind.CLIENT,
        status=_make_span_status(attributes),
        start_time=exchange.time_ns,
        end_time=max(ended_ns, exchange.time_ns),
        instrumentation_scope=_SCOPE,
    )


def _make_span_attributes(exchange: Exchange, operation: str, kind: str) -> dict[str, str | int | float]:
    """The attributes of an exchange's span; unknown ones are left out."""
    info = exchange.connection_info
    (client, client_port), (broker, broker_port) = (each.rpartition(":")[::2] for each in (info.client, info.broker))
    topics, groups = (list(dict.fromkeys(its(exchange))) for its in (_topics, _groups))
    held = record_totals_by_partition(exchange)
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
        name: clean_label(value) if isinstance(value, str) else value
        for name, value in said.items()
        if value is not None
    }


def _make_span_status(attributes: Mapping[str, Any]) -> Status:
    failed = attributes.get("error.type")
    return Status(StatusCode.ERROR, str(failed)) if failed else Status(StatusCode.UNSET)


def _find_trace_context(exchange: Exchange) -> tuple[int, SpanContext | None, list[Link]]:
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
    return _derive_span_id(exchange, 16), None, [Link(each) for each in islice(found.values(), _LINKS_MAX)]


def _derive_span_id(exchange: Exchange, size: int) -> int:
    """An id of `size` bytes derived from an exchange: the same each time, and never 0."""
    info = exchange.connection_info
    where = (info.client, info.broker, exchange.time_ns, exchange.place, exchange.correlation_id, exchange.api_key)
    digest = blake2b(repr(where).encode("utf-8", "backslashreplace"), digest_size=size, person=b"kw span").digest()
    return int.from_bytes(digest) or 1
