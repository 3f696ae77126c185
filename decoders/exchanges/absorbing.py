"""What a split has decoded by itself, and the exact state of the connection, in; the state behind it out.

`AdoptedStretch` is a stretch (`stretch.py`): it may be taken over where the exact state agrees with what it stands on.
`AdoptedConnection` is a connection from its SYN on: it may be where nothing that is open, or known of the broker, says
otherwise.
"""

from __future__ import annotations

from typing import Any, Final

from decoders.errors import Malformed
from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled
from decoders.exchanges.fill import orphan, put_response
from decoders.exchanges.pairing import Pairing
from decoders.exchanges.partial import put, resume_pairing, resume_request, resume_undecided
from decoders.exchanges.parts import Patch
from decoders.exchanges.stage import FOREVER
from decoders.exchanges.stretch import IDS, LANE, ORPHAN, core
from decoders.limits import IN_FLIGHT_MAX
from decoders.streams.chunks import Segment
from decoders.streams.flow import Flow, TcpConnection
from decoders.streams.framing import Frame
from decoders.wire.state import fields

__all__ = ["AdoptedConnection", "AdoptedStretch"]

SEGMENT_KINDS: Final = (bytes, int, int, int, int, int, bytes, int)


class AdoptedStretch:
    """A stretch that begins where an engine, of one key, is now."""

    def __init__(self, engine: Engine, run: list[Any]) -> None:
        self._engine = engine
        self._context = engine.pairer.context
        _, self.after, self._low, self._software, self._place, self._core = fields(
            run, bool, int, int | None, dict | None, int, list
        )
        self.segments: list[Segment] = []  # of it, that are not in the capture behind `after`
        self.agreed = False
        flow = engine.reassembly.flow(self._core[0]) if self._core else None
        pairing = None if flow is None else self._context.pairings.get(flow.connection.number)
        if flow is None or pairing is None:
            return
        self._connection: TcpConnection = flow.connection
        self._pairing: Pairing = pairing
        self._added: int = pairing.client_lane.place - self._place
        self._server_place = pairing.server_lane.place
        self._client_place = pairing.client_lane.place
        self.agreed = self._agrees()

    def _agrees(self) -> bool:
        """Whether all that the stretch stands on is so."""
        pairing, software = self._pairing, self._software
        if not self._engine.reassembly.settled(self._connection) or core(self._connection, pairing) != self._core:
            return False
        if software is not None and software != pairing.software:
            return False
        waiting = pairing.in_flight
        low = self._low
        return waiting.count() < IN_FLIGHT_MAX // 2 and (
            low is None or not any(low <= correlation_id < low + IDS for correlation_id in waiting)
        )

    def patch(self) -> Patch:
        """What its rows lack."""
        return Patch(self._pairing.ends, self._added, self._pairing.software)

    def answer(self, orphans: list[Any]) -> None:
        """Responses whose request lies before it."""
        pairing = self._pairing
        for row in orphans:
            exchange = Exchange()
            put(exchange, ORPHAN, row)
            frame = _frame(exchange)
            correlation_id = exchange.correlation_id
            assert correlation_id is not None
            asked = pairing.in_flight.take(correlation_id)
            if asked is None:
                pairing.settle(orphan(pairing.ends, self._context.specs.unknown, frame, correlation_id))
            else:
                pairing.budget.held -= len(asked.request_raw or b"")
                put_response(asked, frame)
                pairing.settle(asked)

    def absorb(self, tail: list[Any]) -> None:
        """Take over what it adds. Raises DecodeError when this is no such thing."""
        pairing, connection = self._pairing, self._connection
        _, flows, lanes, waiting, names, count = fields(tail, int | None, list, list, list, list, int)
        client = connection.first if pairing.client_first else connection.second
        for flow, row in zip((client, client.peer), flows, strict=True):
            _add(flow, row)
        connection.drowsy = False
        connection.settle()
        budget, places = pairing.budget, (self._client_place, self._server_place)
        for lane, place, row in zip((pairing.client_lane, pairing.server_lane), places, lanes, strict=True):
            state, size, begun, parts = fields(row, list, int, int, list)
            budget.held -= sum(map(len, lane.parts))
            put(lane, LANE, state)
            lane.place, lane.begun, lane.parts = place + size, place + begun, parts
            budget.held += sum(map(len, parts))
        for row in waiting:
            correlation_id, saved = fields(row, int, list)
            exchange = resume_request(self._context, pairing, saved)
            exchange.place += self._added
            exchange.client_software = exchange.client_software or pairing.software
            pairing.in_flight.add(correlation_id, exchange)
            budget.held += len(exchange.request_raw or b"")
        raw, client_id, software = fields(names, bytes | None, str | None, dict | None)
        if raw is not None:
            pairing.client_raw, pairing.client_id = raw, client_id
        pairing.software = software or pairing.software
        pairing.ends.exchanges += count


def _add(flow: Flow, state: list[Any]) -> None:
    packets, size, last_ns = fields(state, int, int, int)
    flow.sync()
    flow.packets += packets
    flow.place += size
    flow.last_ns = last_ns if packets else flow.last_ns


def _frame(exchange: Exchange) -> Frame:
    """The frame that a response was."""
    extra = exchange.extra or {}
    first = (exchange.response_ns or 0, exchange.response_packet or 0)
    last = (exchange.response_end_ns or 0, exchange.response_packet_end or 0)
    data, size = exchange.response_raw, exchange.response_size
    if not isinstance(data, bytes) or not isinstance(size, int):
        raise Malformed("no response")
    return Frame(data, size, first, last, 0, extra.get("response", ""), bool(extra.get("retransmitted")))


class AdoptedConnection:
    """A connection whose SYN, `segments`, is what an engine of its key takes next."""

    def __init__(self, engine: Engine, run: list[Any]) -> None:
        self._engine = engine
        _, _, segment, target, late_ns, who = fields(run, bool, bool, tuple, str, int, list)
        self._ends: ConnectionInfo
        key, time_ns, packet, seq, ack, flags, data, cut = fields(segment, *SEGMENT_KINDS)
        self.segments: list[Segment] = [(key, time_ns, packet, seq, ack, flags, data, cut)]
        self.after: int = packet
        self.rows: list[Settled] = []  # of the connection whose ports it takes
        self.agreed = engine.pairer.context.brokers.get(target, FOREVER) >= late_ns
        if self.agreed:
            self.agreed, chunks = engine.reassembly.make_way(self.segments[0])
            self.rows = engine.pairer.feed(chunks)
        self._begin(who)

    def go_on(self, run: list[Any]) -> None:
        """Another connection has taken the ports."""
        *_, who = fields(run, bool, bool, tuple, str, int, list)
        self._begin(who)

    def _begin(self, who: list[Any]) -> None:
        if not self.agreed:
            return
        reassembly = self._engine.reassembly
        reassembly.count()
        client, broker, began_ns = fields(who, str, str, int)
        number = reassembly.connection_count
        self._ends = ConnectionInfo(number, client, broker, began_ns, self._engine.pairer.context.topics)

    def patch(self) -> Patch:
        """What its rows lack."""
        return Patch(self._ends, 0, None)

    def absorb(self, tail: list[Any]) -> None:
        """Take over what it leaves. Raises DecodeError when this is no such thing."""
        _, state, pairing, undecided = fields(tail, int | None, list, list | None, list | None)
        reassembly, context = self._engine.reassembly, self._engine.pairer.context
        connection = reassembly.resume_key(self.segments[0][0], state)
        if connection is None:
            return
        if pairing is not None:
            pairing[0][0] = connection.number
            resume_pairing(context, pairing)
        elif undecided is not None:
            undecided[0] = connection.number
            resume_undecided(context, undecided, {connection.number: connection})
