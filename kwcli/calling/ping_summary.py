"""The summary of a ping, from its exchanges: how many, how many failed, the spread of the latencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoders.wire.format_and_escape_text import format_latency
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange


class Ping:
    """Counts of a ping, and every latency: a ping that runs for a day has 86,400 of them."""

    def __init__(self) -> None:
        self._latencies: list[float] = []
        self._sent = 0
        self._errors = 0
        self._lost = 0

    def count_exchange(self, exchange: Exchange) -> None:
        """Count one exchange."""
        self._sent += 1
        self._errors += bool(exchange.errors or exchange.failures)
        if exchange.latency_ms is not None:
            self._latencies.append(exchange.latency_ms)

    def count_lost_request(self) -> None:
        """Count a request that was not answered, or could not be sent."""
        self._sent += 1
        self._lost += 1

    @property
    def has_answers(self) -> bool:
        """Whether any request was answered so far."""
        return self._sent > self._lost

    def format_summary_line(self) -> str:
        """`50 requests, 2 errors · min 0.4ms · p50 0.5ms · p90 0.7ms · p99 1.2ms · max 1.3ms`."""
        errors = f", {count_of(self._errors, 'error')}" if self._errors else ""
        parts = [count_of(self._sent, "request") + errors + (f", {self._lost} lost" if self._lost else "")]
        found = sorted(self._latencies)
        if found:
            named = [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)]
            parts += [f"{name} {format_latency(find_percentile(found, share))}" for name, share in named]
        return " · ".join(parts)


def find_percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    rank = -(-len(ordered) * share // 1)
    return ordered[max(int(rank), 1) - 1]
