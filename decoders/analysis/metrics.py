"""Names of metrics in, what measures an exchange by them out: integers only, in nanoseconds, bytes and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.analysis.exchange_facts import RECORDS, throttle_needs, throttle_ns
from decoders.analysis.time_buckets import Join, add_amounts

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side

Measure = Callable[["Exchange"], int | None]
Wanted = Callable[[int, "Side"], frozenset[str]]


class Metric(NamedTuple):
    """`measure` gives the value of an exchange; None where it has none.

    `per_unit`: how many of what is measured make one of `unit`. `join`: how values come together over time.
    """

    text: str
    unit: str
    per_unit: int
    measure: Measure
    needs: Wanted
    join: Join = add_amounts


def _nothing(_key: int, _side: Side) -> frozenset[str]:
    return frozenset()


def _latency(exchange: Exchange) -> int | None:
    if exchange.response_ns is None or exchange.request_end_ns is None or exchange.envelope:
        return None
    return exchange.response_ns - exchange.request_end_ns


def _bytes(exchange: Exchange) -> int:
    return 0 if exchange.envelope else (exchange.request_size or 0) + (exchange.response_size or 0)


def _throttle(exchange: Exchange) -> int | None:
    return throttle_ns(exchange) or None


def _unmeasured(_exchange: Exchange) -> None:
    """Statistics count error codes and records themselves: those of each topic and partition."""


def _server(name: str, text: str) -> Metric:
    """A time that the broker's own log has."""

    def measure(exchange: Exchange) -> int | None:
        said = exchange.extra.get("server") if exchange.extra is not None else None
        took = None if said is None else said.get(name)
        return None if took is None else round(took * 1e6)

    return Metric(text, "ms", 10**6, measure, _nothing, max)


METRICS: Final[dict[str, Metric]] = {
    "latency": Metric("request's last byte to response's first", "ms", 10**6, _latency, _nothing, max),
    "bytes": Metric("bytes of request and response", "bytes", 1, _bytes, _nothing),
    "errors": Metric("error codes in responses that have any", "codes", 1, _unmeasured, _nothing),
    "records": Metric("records produced or fetched", "records", 1, _unmeasured, RECORDS.of),
    "throttle": Metric("throttle time of responses that have one", "ms", 10**6, _throttle, throttle_needs, max),
    "total": _server("total_ms", "time in the broker, by its request log"),
    "queue": _server("request_queue_ms", "time in the broker's request queue"),
    "local": _server("local_ms", "time at the leader"),
    "remote": _server("remote_ms", "time of waiting for others, such as followers"),
    "response_queue": _server("response_queue_ms", "time in the broker's response queue"),
    "send": _server("send_ms", "time of sending the response"),
}
