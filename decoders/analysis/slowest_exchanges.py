"""Exchanges in, the few that took longest out, with the numbers of their packets in the capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.analysis.exchange_facts import WAITING, WAITS, waited_ns
from decoders.analysis.fold_interface import Row
from decoders.errors import Malformed
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

NAMES: Final = (
    *("time", "latency_ms", "client", "broker", "api_key", "api", "api_version", "correlation_id", "client_id"),
    *("request_size", "response_size", "packets"),
)
_KINDS: Final = (
    *(int, int, str, str, int | None, str | None, int | None, int | None, str | None),
    *(int | None, int | None, list),
)
# Which of equally slow exchanges comes first: the connection (4-tuple, first packet), the place in it, then all else.
_Place = tuple[str, str, int, int, int, bytes]


class _Reversed:
    """A place that compares greater the earlier it is, so that of equal latencies the earlier exchange is kept."""

    __slots__ = ("place",)

    def __init__(self, place: _Place) -> None:
        self.place = place

    def __lt__(self, other: _Reversed) -> bool:
        return self.place > other.place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.place == other.place

    __hash__ = None  # type: ignore[assignment]  # it is compared only


class Slowest:
    """The `most` exchanges with the greatest latency; those that waited by design are left out.

    `more` are names of further text attributes of exchanges to keep. `bodies` gives a JSON object as text, which is
    kept too: its keys become keys of the row.
    """

    def __init__(self, most: int, more: Sequence[str] = (), bodies: Callable[[Exchange], bytes] | None = None) -> None:
        self.most = most
        self.more = tuple(more)
        self._bodies = bodies
        self._heap: list[tuple[int, _Reversed, tuple[Any, ...]]] = []

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths read of a side of an API."""
        return WAITS.needed_paths(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Keep an exchange if it is among the slowest."""
        answered, sent = exchange.response_ns, exchange.request_end_ns
        if answered is None or sent is None or exchange.envelope:
            return
        took = answered - sent
        heap = self._heap
        if len(heap) >= self.most and took < heap[0][0]:
            return
        if exchange.api_key in WAITING and waited_ns(exchange) is not None:
            return
        info = exchange.connection_info
        where = (info.client, info.broker, info.began_ns, exchange.place, exchange.time_ns)
        if len(heap) >= self.most and took == heap[0][0] and where > heap[0][1].place[:5]:
            return
        kept = (*_make_kept_values(exchange, took), *(getattr(exchange, name) for name in self.more))
        if self._bodies is not None:
            kept = (*kept, self._bodies(exchange))
        self.add_kept_values(took, where, kept)

    def add_kept_values(self, took: int, where: tuple[str, str, int, int, int], kept_values: tuple[Any, ...]) -> None:
        """Add one exchange that did not wait by design: latency in ns, its place, and the values of NAMES and `more`.

        The place is client, broker, the time in ns at which the connection began, the place in it and the time in ns.
        """
        self._keep_if_among_slowest(took, (*where, pack(kept_values)), kept_values)

    def _keep_if_among_slowest(self, took: int, place: _Place, kept_values: tuple[Any, ...]) -> None:
        item = (took, _Reversed(place), kept_values)
        if len(self._heap) < self.most:
            heappush(self._heap, item)
        elif self._heap and self._heap[0][:2] < item[:2]:
            heappushpop(self._heap, item)

    def merge(self, other: Slowest) -> None:
        """Add the exchanges that `other` has kept. Raises ValueError when it was made with other arguments."""
        if (self.most, self.more, self._bodies is None) != (other.most, other.more, other._bodies is None):
            raise ValueError("lists of different lengths do not merge")
        for took, place, kept in other._heap:
            self._keep_if_among_slowest(took, place.place, kept)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self.most, [[took, place.place, kept] for took, place, kept in self._heap]])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        most, items = state_fields(unpack(state), int, list)
        if most != self.most:
            raise Malformed("the state of a list of another length")
        for item in items:
            took, place, kept = state_fields(item, int, tuple, tuple)
            state_fields(place, str, str, int, int, int, bytes)
            bodies = () if self._bodies is None else (bytes,)
            state_fields(kept, *_KINDS, *(str | None for _ in self.more), *bodies)
            self._keep_if_among_slowest(took, place, kept)

    def rows(self) -> list[Row]:
        """A row for each exchange, the slowest first, with keys of the exchange record."""
        ordered = sorted(self._heap, key=lambda item: (-item[0], item[1].place))
        names = (*NAMES, *self.more)
        if self._bodies is None:
            return [_make_slow_exchange_row(names, kept) for _, _, kept in ordered]
        return [_make_slow_exchange_row(names, kept[:-1]) | orjson.loads(kept[-1]) for _, _, kept in ordered]


def _make_kept_values(exchange: Exchange, took: int) -> tuple[Any, ...]:
    packets = exchange.packets
    return (
        *(
            exchange.time_ns,
            took,
            exchange.connection_info.client,
            exchange.connection_info.broker,
            exchange.api_key,
            exchange.api,
        ),
        *(exchange.api_version, exchange.correlation_id, exchange.client_id),
        *(exchange.request_size, exchange.response_size, [packets["request"], packets["response"]]),
    )


def _make_slow_exchange_row(names: Sequence[str], kept_values: tuple[Any, ...]) -> Row:
    row = dict(zip(names, kept_values, strict=True))
    row["time"] = format_rfc3339(row["time"])
    row["latency_ms"] /= 10**6
    row["packets"] = dict(zip(("request", "response"), row["packets"], strict=True))
    return row
