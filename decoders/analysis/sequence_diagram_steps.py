"""Exchanges in, steps of sequence diagrams out: of each connection the first exchanges, and the first that failed."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.read_dimension_values import DIMENSIONS, paths_of_dimensions
from decoders.limits import LADDER_FAILED_MAX, LADDER_FIRST_MAX, LADDERS_MAX
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["Ladders"]

# When a connection began, client, broker.
_Identity = tuple[int, str, str]
# An exchange: time in ns, place in the stream, and the values of _STEP, packed. Steps are in the order of these tuples.
_Step = tuple[int, int, bytes]
_STEP: Final = (
    *("took_ns", "api", "api_version", "correlation_id", "client_id", "request_size", "response_size", "status"),
    *("errors", "about", "first_packet", "last_packet"),
)
_KINDS: Final = (
    *(int | None, str | None, int | None, int | None, str | None, int | None, int | None, str),
    *(list, list, int | None, int | None),
)
_FAILED: Final = frozenset({"unanswered", "undecoded", "orphan_response"})
# Names of topics and groups, and of errors, that a step keeps.
_NAMED: Final = 3
_TOPICS: Final = DIMENSIONS["topic"]


class _Ladder:
    """One connection: its `number`, how many exchanges it has, how many failed, and those that are kept."""

    __slots__ = ("count", "failed", "first", "number", "trouble")

    def __init__(self, number: int) -> None:
        self.number = number
        self.count = self.failed = 0
        self.first: list[_Step] = []
        self.trouble: list[_Step] = []

    def keep_step(self, step: _Step, *, failed: bool) -> None:
        """Keep a step if it is among the earliest of its list; what is kept does not depend on the order of calls."""
        kept = self.trouble if failed else self.first
        most = LADDER_FAILED_MAX if failed else LADDER_FIRST_MAX
        if len(kept) < most or step < kept[-1]:
            insort(kept, step)
            del kept[most:]


class Ladders:
    """The LADDERS_MAX connections that began first: of each the first exchanges, and the first that failed."""

    def __init__(self) -> None:
        self._found: dict[_Identity, _Ladder] = {}
        self._last: _Identity | None = None  # the last one kept, once there are LADDERS_MAX

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of the names of topics."""
        return paths_of_dimensions(("topic",), api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Count an exchange, and keep it as a step if it is among the first, or the first failed, of its connection."""
        info = exchange.connection_info
        ladder = self._find_ladder((info.began_ns, info.client, info.broker), info.number)
        if ladder is None:
            return
        ladder.count += 1
        exchange._read_sides()
        errors, status = exchange.unexpected, exchange.status
        failed = bool(errors) or status in _FAILED
        ladder.failed += failed
        order = exchange.time_ns, exchange.place
        kept = ladder.trouble if failed else ladder.first
        if len(kept) < (LADDER_FAILED_MAX if failed else LADDER_FIRST_MAX) or order < kept[-1][:2]:
            names = [error_name(code) for _, code in errors]
            ladder.keep_step((*order, pack(_pack_exchange_values(exchange, names, status))), failed=failed)

    def _find_ladder(self, identity: _Identity, number: int) -> _Ladder | None:
        """The ladder of a connection; None where LADDERS_MAX others began before it."""
        ladder = self._found.get(identity)
        if ladder is None:
            if self._last is not None and identity > self._last:
                return None
            ladder = self._found[identity] = _Ladder(number)
            if len(self._found) > LADDERS_MAX:
                del self._found[max(self._found)]
            if len(self._found) == LADDERS_MAX:
                self._last = max(self._found)
            if identity not in self._found:
                return None
        return ladder

    def merge(self, other: Self) -> None:
        """Add the connections that `other` has kept."""
        for identity, theirs in other._found.items():
            mine = self._find_ladder(identity, theirs.number)
            if mine is not None:
                mine.number = min(mine.number, theirs.number)
                mine.count += theirs.count
                mine.failed += theirs.failed
                for step in theirs.first:
                    mine.keep_step(step, failed=False)
                for step in theirs.trouble:
                    mine.keep_step(step, failed=True)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack(
            [
                [identity, its.number, its.count, its.failed, its.first, its.trouble]
                for identity, its in self._found.items()
            ]
        )

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        (items,) = state_fields([unpack(state)], list)
        for item in items:
            identity, number, count, failed, first, trouble = state_fields(item, tuple, int, int, int, list, list)
            began, client, broker = state_fields(identity, int, str, str)
            ladder = self._find_ladder((began, client, broker), number)
            if ladder is not None:
                ladder.count, ladder.failed = count, failed
                ladder.first, ladder.trouble = list(map(_parse_step, first)), list(map(_parse_step, trouble))

    def rows(self) -> list[Row]:
        """A row for each connection, in the order of their beginnings; `steps` are in the order of their times.

        A step has `time`, `latency_ms`, API, version, correlation id, sizes, `status`, `errors`, `about` (topics) and
        the first and the last packet.
        """
        return [
            {
                "connection": its.number,
                "client": client,
                "broker": broker,
                "count": its.count,
                "failed": its.failed,
                "steps": [_make_step_row(step) for step in sorted([*its.first, *its.trouble])],
            }
            for (_, client, broker), its in sorted(self._found.items())
        ]


def _parse_step(step: object) -> _Step:
    """A step of a state. Raises DecodeError."""
    time, place, values = state_fields(step, int, int, bytes)
    state_fields(unpack(values), *_KINDS)
    return time, place, values


def _pack_exchange_values(exchange: Exchange, errors: list[str], status: str) -> tuple[Any, ...]:
    answered, sent = exchange.response_ns, exchange.request_end_ns
    about = [str(name) for name in _TOPICS.get(exchange) if name is not None]
    packets = exchange.packets
    seen = [number for pair in packets.values() if pair for number in pair]  # type: ignore[attr-defined]  # pairs of numbers
    return (
        None if answered is None or sent is None else answered - sent,
        *(exchange.api, exchange.api_version, exchange.correlation_id, exchange.client_id),
        *(exchange.request_size, exchange.response_size, status),
        list(dict.fromkeys(errors))[:_NAMED],
        list(dict.fromkeys(about))[:_NAMED],
        *((min(seen), max(seen)) if seen else (None, None)),
    )


def _make_step_row(step: _Step) -> Row:
    row = dict(zip(_STEP, state_fields(unpack(step[2]), *_KINDS), strict=True))
    took = row.pop("took_ns")
    return {"time": format_rfc3339(step[0]), "latency_ms": None if took is None else took / 1e6, **row}
