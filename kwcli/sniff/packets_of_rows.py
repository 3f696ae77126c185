"""Segments on their way to an engine in; the packets and sequence numbers that hold the bytes of a settled row out.

A row is settled long after its packets were read. So the place of each segment in its stream is kept for as long as a
row may come of it: segments before all exchanges in flight and frames under way are dropped from time to time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.segments_to_exchanges import Engine
from decoders.named_tuple import NamedTuple
from decoders.tcp.connection_and_halves import MASK, Connection, Half, reverse_key, sequence_difference
from decoders.tcp.stream_chunks import Chunk, Close, Segment

if TYPE_CHECKING:
    from decoders.exchanges.exchange import ConnectionInfo
    from decoders.tls.key_log import SecretOrigin

__all__ = ["NEVER_NS", "ConnectionSide", "FrameBytes", "LoggedConnection", "LoggedEngine", "SegmentLog"]

# Segments of the log are found by the 4 KiB of sequence numbers that they are in.
_BUCKET: Final = 12
_BUCKETS: Final = (1 << 32) >> _BUCKET
# After so many segments, those of which no row can come any more are dropped from the log.
_LOGGED: Final = 200_000
NEVER_NS: Final = 1 << 63
_SYN: Final = 2
_ACK: Final = 16

# A segment with bytes: time, packet, sequence number of its first byte, size, raw acknowledgement or None.
_Logged = tuple[int, int, int, int, int | None]


class ConnectionSide:
    """One direction of a connection: where its stream is in sequence numbers."""

    __slots__ = ("base", "half")

    def __init__(self, half: Half) -> None:
        self.half = half
        self.base = 0  # place in the stream of the byte that the pairing counts as its first

    def sequence_number(self, place: int) -> int:
        """The sequence number of a place in the stream."""
        return self.half.sequence_number(place)

    def place_of_acknowledgement(self, ack: int) -> int | None:
        """The place that an acknowledgement names; None while nothing is known of the stream."""
        half = self.half
        if not half.started:
            return None
        size = half.size
        return max(size + sequence_difference(ack, half.first + size & MASK), 0)


class LoggedConnection:
    """A connection of which at least one chunk has come."""

    __slots__ = ("began_ns", "connection", "ended_ns", "latest_ns", "number", "session", "sides")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.number = connection.number
        self.began_ns = connection.began_ns
        self.ended_ns = NEVER_NS  # when another connection took its ports
        self.latest_ns = 0  # the end of its latest row that is kept
        self.sides = (ConnectionSide(connection.first), ConnectionSide(connection.second))
        self.session: SecretOrigin | None = None  # of TLS

    def side_index(self, source: str) -> int:
        """0 for the side with this address, 1 for the other one."""
        return 0 if self.sides[0].half.source == source else 1


class FrameBytes(NamedTuple):
    """`size` bytes of a frame in one packet: from `at` in the frame, from number `seq` on; `ack`: the packet's ack."""

    at: int
    size: int
    packet: int
    seq: int
    ack: int | None


class SegmentLog:
    """The log of one reading. `begun` gets each new connection; without `places` only connections are logged."""

    def __init__(self, begun: Callable[[LoggedConnection], None], *, places: bool = True) -> None:
        self._begun = begun
        self._places = places
        self._connections: dict[int, LoggedConnection] = {}
        self._by_key: dict[bytes, LoggedConnection] = {}
        self._closed: list[tuple[int, int]] = []  # numbers, with the time of their end
        self._log: dict[bytes, dict[int, list[_Logged]]] = {}
        self._logged = 0
        self._log_most = _LOGGED
        self.engine: Engine | None = None

    def find_connection(self, number: int) -> LoggedConnection | None:
        """The connection with this number, while it is open."""
        return self._connections.get(number)

    def log_segments(self, segments: list[Segment]) -> None:
        """Log segments that the engine gets next."""
        for number, time_ns in self._closed:
            self._forget_connection(number, time_ns)
        self._closed = []
        if not self._places:
            return
        log = self._log
        for key, time_ns, packet, seq, ack, flags, data, cut in segments:
            size = len(data) + cut
            if not size:
                continue
            first = seq + (flags & _SYN == _SYN) & MASK
            entry = (time_ns, packet, first, size, ack if flags & _ACK else None)
            buckets = log.get(key)
            if buckets is None:
                buckets = log[key] = {}
            for bucket in range(first >> _BUCKET, (first + size - 1 >> _BUCKET) + 1):
                buckets.setdefault(bucket % _BUCKETS, []).append(entry)
            self._logged += 1
        if self._logged > self._log_most:
            self._clear_log()

    def log_connections(self, chunks: list[Chunk]) -> None:
        """Log the connections of chunks on their way to the pairing."""
        for half, time_ns, _, data in chunks:
            connection = half.connection
            if connection.number not in self._connections:
                self._add_connection(connection, time_ns)
            if isinstance(data, Close):
                self._closed.append((connection.number, time_ns))

    def log_tls_sessions(self, chunks: list[Chunk]) -> None:
        """Note the TLS sessions of open connections, by which a key log names them."""
        for half, *_ in chunks:
            state = half.connection.tls
            if getattr(state, "client_random", b""):
                self._connections[half.connection.number].session = state.secret_origin()

    def _add_connection(self, connection: Connection, time_ns: int) -> None:
        logged = self._connections[connection.number] = LoggedConnection(connection)
        logged.began_ns = min(logged.began_ns, time_ns)  # what came far off may be older than what it was found by
        key = logged.sides[0].half.key
        for each in (key, reverse_key(key)):
            before = self._by_key.get(each)
            if before is not None:
                before.ended_ns = logged.began_ns
            self._by_key[each] = logged
        self._begun(logged)

    def _forget_connection(self, number: int, time_ns: int) -> None:
        logged = self._connections.pop(number)
        key = logged.sides[0].half.key
        for each in (key, reverse_key(key)):
            if self._by_key.get(each) is logged:
                del self._by_key[each]
                buckets = self._log.pop(each, {})
                # Another connection may have begun on these ports, of which no chunk has come yet.
                left = {at: [entry for entry in entries if entry[0] > time_ns] for at, entries in buckets.items()}
                if any(left.values()):
                    self._log[each] = {at: entries for at, entries in left.items() if entries}

    def set_engine(self, engine: Engine) -> None:
        """Set the engine whose state says which segments are still needed."""
        self.engine = engine

    def _clear_log(self) -> None:
        """Drop segments of which no row can come any more: those before all exchanges in flight, frames under way."""
        assert self.engine is not None
        context = self.engine.pairer.context
        for logged in self._connections.values():
            pairing = context.pairings.get(logged.number)
            undecided = context.undecided.get(logged.number)
            if self._by_key.get(logged.sides[0].half.key) is not logged:
                continue
            if (undecided is not None and undecided.foreign) or logged.connection.tls:
                self._clear_before(logged, (logged.sides[0].half.size, logged.sides[1].half.size))
            elif pairing is not None:
                self.set_stream_bases(logged, pairing.connection_info)
                client = logged.side_index(pairing.connection_info.sender)
                asked, answered = _find_oldest_needed_places(pairing)
                places = asked + logged.sides[client].base, answered + logged.sides[1 - client].base
                self._clear_before(logged, places if not client else places[::-1])
        self._logged = sum(len(entries) for buckets in self._log.values() for entries in buckets.values())
        self._log_most = max(_LOGGED, 2 * self._logged)

    def oldest_needed_place(self, logged: LoggedConnection, index: int) -> int:
        """The place in a side's stream, as the pairing counts, before which no row can come any more."""
        assert self.engine is not None
        pairing = self.engine.pairer.context.pairings.get(logged.number)
        if pairing is None:
            return 0
        return _find_oldest_needed_places(pairing)[index != logged.side_index(pairing.connection_info.sender)]

    def _clear_before(self, logged: LoggedConnection, places: tuple[int, int]) -> None:
        """Drop the segments of both sides before these places."""
        for side, place in zip(logged.sides, places, strict=True):
            first = side.sequence_number(place) >> _BUCKET
            buckets = self._log.get(side.half.key, {})
            for bucket in [each for each in buckets if (each - first) % _BUCKETS > _BUCKETS >> 1]:
                del buckets[bucket]

    @staticmethod
    def set_stream_bases(logged: LoggedConnection, info: ConnectionInfo) -> None:
        """Set the place in each stream that the pairing counts as the first: it may not have seen the beginning."""
        client = logged.side_index(info.sender)
        logged.sides[client].base, logged.sides[1 - client].base = info.uncounted

    def find_frame_bytes(self, logged: LoggedConnection, index: int, place: int, size: int) -> Iterator[FrameBytes]:
        """The parts of packets that hold `size` bytes of a side's stream, from a place on."""
        first = logged.sides[index].sequence_number(place)
        buckets = self._log.get(logged.sides[index].half.key, {})
        found: dict[_Logged, None] = {}
        for bucket in range(first >> _BUCKET, (first + size - 1 >> _BUCKET) + 1):
            found.update(dict.fromkeys(buckets.get(bucket % _BUCKETS, ())))
        for time_ns, packet, seq, length, ack in found:
            step = sequence_difference(seq, first)
            begin, end = max(step, 0), min(step + length, size)
            if begin < end and logged.began_ns <= time_ns < logged.ended_ns:
                yield FrameBytes(begin, end - begin, packet, first + begin & MASK, ack)


class LoggedEngine(Engine):
    """An engine that shows its chunks to a log, before TLS is decrypted and after."""

    def __init__(self, log: SegmentLog, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._log = log
        log.set_engine(self)

    def _decrypt_chunks(self, chunks: list[Chunk], now_ns: int = 0) -> list[Chunk]:
        self._log.log_connections(chunks)
        plain = super()._decrypt_chunks(chunks, now_ns)
        self._log.log_tls_sessions(chunks)
        return plain


def _find_oldest_needed_places(pairing: Any) -> tuple[int, int]:
    """The places of both directions before which no exchange is in flight and no frame under way."""
    if pairing.resting:
        return pairing.client_place, pairing.server_place
    waiting = [exchange.place for exchange in (*pairing.in_flight.waiting(), *pairing.sasl.tokens)]
    places = [_find_place_of_incomplete_frame(pairing.requests), _find_place_of_incomplete_frame(pairing.responses)]
    early = [frame.place for frame in pairing.early.values()]
    return min(places[0], *waiting) if waiting else places[0], min(places[1], *early) if early else places[1]


def _find_place_of_incomplete_frame(direction: Any) -> int:
    """The place where the frame under way begins, or bytes that may be the head of one."""
    if direction.need:
        return int(direction.begun)
    return int(direction.place) - sum(map(len, direction.parts))
