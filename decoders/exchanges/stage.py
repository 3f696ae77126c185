"""Chunks in, settled exchanges and skipped runs out, in the order in which they settle (a stage: feed, finish, …).

A connection is undecided until detect.py knows it for Kafka; then its chunks so far are taken as if they came now. A
connection to an endpoint that is a broker already, or to a port that was named, is Kafka from its first byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from decoders.errors import Malformed
from decoders.exchanges.context import Context
from decoders.exchanges.ended import Ended, Row
from decoders.exchanges.exchange import ConnectionInfo, Settled, Skipped
from decoders.exchanges.loop import advance
from decoders.exchanges.needs import Needs
from decoders.exchanges.pairing import Pairing
from decoders.exchanges.partial import export_context, resume_context
from decoders.exchanges.summary import Summary
from decoders.streams.chunks import Chunk, Close, Connection, Gap, Half, How, Retransmission
from decoders.streams.detect import UndecidedConnection
from decoders.streams.foreign import TLS, certain
from decoders.streams.framing import gap, jump, lose_step, take
from decoders.wire.state import pack, unpack

NOTHING_DECODES: Final = "nothing in it decodes as a request or its response"

# Later than all times: what is known at the end.
FOREVER: Final = 1 << 63


class Pairer:
    """The stage. `ports` are Kafka without a look, and all others are not looked at; `needs` is what views hold."""

    def __init__(
        self, ports: Iterable[int] | None = None, needs: Needs | None = None, *, connections: bool = False
    ) -> None:
        self.context = Context(ports, needs or Needs(), connections=connections)

    @property
    def summary(self) -> Summary:
        """The counts so far."""
        return self.context.summary

    def feed(self, chunks: list[Chunk], now_ns: int = 0) -> list[Settled]:  # noqa: ARG002 - one protocol for all stages
        """What settles with these chunks."""
        if chunks:
            summary = self.context.summary
            summary.first_ns = summary.first_ns or chunks[0][1]
            summary.last_ns = max(summary.last_ns, chunks[-1][1])
            advance(self.context, chunks, self._unusual)
        return self._given()

    def finish(self) -> list[Settled]:
        """What the end of the input settles; reassembly has closed all connections that it knows."""
        context = self.context
        for number in sorted({*context.pairings, *context.undecided}):
            undecided = context.undecided.get(number)
            if undecided is not None:
                self._end_undecided(undecided, "capture_end", FOREVER)
            else:
                self._end(context.pairings[number], "capture_end")
        return self._given()

    def export(self) -> bytes:
        """The state between two feeds, for `resume`."""
        return pack(export_context(self.context))

    def resume(self, state: bytes, connections: Mapping[int, Connection]) -> None:
        """Go on where `export` was called; `connections` are those open, as the stage before has them by number.

        Raises DecodeError when the state is none.
        """
        try:
            resume_context(self.context, unpack(state), connections)
        except (TypeError, ValueError) as problem:
            raise Malformed(f"no saved state: {problem}") from None

    def _given(self) -> list[Settled]:
        out = self.context.out[:]
        self.context.out.clear()
        if self.context.connections:
            count(out)
        self.context.summary.exchanges += len(out) - self.context.runs
        self.context.runs = 0
        return out

    def _unusual(self, half: Half, time_ns: int, packet: int, data: bytes | Gap | Retransmission | Close) -> None:
        """Events, and bytes of connections that are not, or not yet, Kafka."""
        number = half.connection.number
        if isinstance(data, Close):
            self._closed(half.connection, data.how, time_ns)
            return
        pairing = self.context.pairings.get(number)
        if pairing is not None:
            self._event(pairing, half, time_ns, packet, data)
            return
        undecided = self.context.undecided.get(number)
        if isinstance(data, Retransmission):
            return
        if undecided is None:
            undecided = self._meet(half.connection, time_ns, data)
        if not undecided.foreign:
            client = self._known(half.connection, time_ns)
            if client is not None:
                self._adopt(undecided, client, time_ns)
                self._unusual(half, time_ns, packet, data)
                return
        before = undecided.held
        found = undecided.feed((half, time_ns, packet, data))
        self.context.budget.held += undecided.held - before
        if found and undecided.client is not None:
            self._adopt(undecided, undecided.client, time_ns)
        elif self.context.budget.held > self.context.budget.most:
            self.context.shed(None)

    def _closed(self, connection: Connection, how: How, time_ns: int) -> None:
        """No chunk of a connection comes any more."""
        pairing = self.context.pairings.get(connection.number)
        undecided = self.context.undecided.get(connection.number)
        if pairing is not None:
            self._end(pairing, how, connection)
        elif undecided is not None:
            self._end_undecided(undecided, how, FOREVER if how == "capture_end" else time_ns)
        else:
            self._over(connection, how)
        connection.untie()

    def _event(
        self, pairing: Pairing, half: Half, time_ns: int, packet: int, data: bytes | Gap | Retransmission
    ) -> None:
        first = half is half.connection.first
        if pairing.resting:
            self.context.note(pairing)
        lane = pairing.client_lane if first == pairing.client_first else pairing.server_lane
        pairing.client = half if lane.request else half.peer
        half.state = lane
        if isinstance(data, bytes):
            take(lane, time_ns, packet, data)
        elif isinstance(data, Gap):
            self.context.summary.gaps += 1
            if data.why == "jump":
                jump(lane, time_ns, packet)
            else:
                gap(lane, time_ns, packet, data.size, data.why)
        else:
            pairing.again(lane, data.at, data.size)

    def _meet(self, connection: Connection, time_ns: int, data: bytes | Gap) -> UndecidedConnection:
        """The first chunk of a connection."""
        undecided = UndecidedConnection(connection, time_ns)
        self.context.undecided[connection.number] = undecided
        known = certain(data) if connection.opened and isinstance(data, bytes) else ""
        if self.context.ports is None or known == TLS:
            undecided.foreign = known
        elif self._named(connection) is None:
            undecided.foreign = "none of the ports named"
        return undecided

    def _named(self, connection: Connection) -> Half | None:
        """The half that asks, of a connection to a port that was named."""
        ports = self.context.ports or frozenset()
        if _port(connection.first.target) in ports:
            return connection.first
        return connection.second if _port(connection.second.target) in ports else None

    def _known(self, connection: Connection, time_ns: int) -> Half | None:
        """The half that asks, where that is known, at a time, without a look at the bytes."""
        if self.context.ports is not None:
            return self._named(connection)
        since = self.context.brokers.get
        if since(connection.first.target, FOREVER) < time_ns:
            return connection.first
        if not connection.opened and since(connection.second.target, FOREVER) < time_ns:
            return connection.second
        return None

    def _adopt(self, undecided: UndecidedConnection, client: Half, time_ns: int) -> None:
        """A connection is Kafka: take what it has sent so far."""
        context = self.context
        connection = undecided.connection
        del context.undecided[connection.number]
        context.budget.held -= undecided.held
        # Behind all that was looked at before: it does not vouch for itself.
        since_ns = max((time_ns, *(chunk[1] for chunk in undecided.chunks)))
        context.brokers.setdefault(client.target, since_ns)
        if context.vouching is not None:
            context.vouching.append((client.target, since_ns, client.source))
        context.summary.connection(client.source, client.target)
        ends = ConnectionInfo(connection.number, client.source, client.target, connection.began_ns, context.topics)
        first = client is connection.first
        if not first or len(undecided.chunks) > 1 or undecided.dropped:
            ends.late_ns = since_ns
        pairing = Pairing(context, ends, client_first=first, opening=connection.opened and not undecided.dropped)
        context.pairings[connection.number] = pairing
        context.note(pairing)
        pairing.client = client
        for half, lane in ((client, pairing.client_lane), (client.peer, pairing.server_lane)):
            half.state = lane
            if not connection.opened or undecided.dropped:
                size, since = undecided.dropped.get(half is connection.first, (0, undecided.since(half)))
                lose_step(lane, "midstream", "the capture begins inside the stream", since, 0, size)
        chunks, undecided.chunks = undecided.chunks, []
        advance(context, chunks, self._unusual)

    def _end(self, pairing: Pairing, how: How, connection: Connection | None = None) -> None:
        del self.context.pairings[pairing.ends.number]
        pairing.close(how)
        if self.context.connections and connection is not None:
            client = connection.first if pairing.client_first else connection.second
            ended = Ended(pairing.ends, connection, client, how)
            ended.kafka = True
            ended.client_id, ended.client_software = pairing.client_id, pairing.software
            self._give(ended)
        if not pairing.resting:
            del pairing.client_lane, pairing.server_lane  # they refer to it: see Connection.untie
        pairing.client = None

    def _over(self, connection: Connection, how: How, undecided: UndecidedConnection | None = None) -> None:
        """A connection that is no Kafka, or none of whose bytes came, has ended."""
        if not self.context.connections:
            return
        first = connection.first
        ends = ConnectionInfo(connection.number, first.source, first.target, connection.began_ns, self.context.topics)
        ended = Ended(ends, connection, first, how)
        if undecided is not None:
            ends.late_ns = doubtful(undecided)
            ended.reason, ended.detail = undecided.reason, undecided.detail() or NOTHING_DECODES
        self._give(ended)

    def _give(self, ended: Ended) -> None:
        self.context.out.append(ended)  # type: ignore[arg-type]  # who asks for connections expects a Row
        self.context.runs += 1

    def _end_undecided(self, undecided: UndecidedConnection, how: How, time_ns: int) -> None:
        """A connection is over that has not shown to be Kafka; brokers known until then still vouch for it."""
        context = self.context
        connection = undecided.connection
        client = None if undecided.foreign else self._known(connection, time_ns)
        if client is not None:
            self._adopt(undecided, client, time_ns)
            self._end(context.pairings[connection.number], how, connection)
            return
        del context.undecided[connection.number]
        context.budget.held -= undecided.held
        size = sum(undecided.sizes.values())
        if size:
            first = connection.first
            ends = ConnectionInfo(connection.number, first.source, first.target, connection.began_ns, context.topics)
            detail = undecided.detail() or NOTHING_DECODES
            ends.late_ns = doubtful(undecided)
            context.skip(Skipped(ends, None, size, undecided.reason, detail, undecided.time_ns))
        self._over(connection, how, undecided)


def doubtful(undecided: UndecidedConnection) -> int:
    """Until when it would be Kafka if only its broker were known."""
    connection = undecided.connection
    return 0 if undecided.foreign == TLS else max(connection.first.last_ns, connection.second.last_ns) + 1


def count(rows: Iterable[Row]) -> None:
    """Count the exchanges of each connection, up to its end."""
    for row in rows:
        if row.kind == "exchange":
            row.ends.exchanges += 1
        elif row.kind == "connection":
            row.exchanges = row.ends.exchanges


def _port(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])
