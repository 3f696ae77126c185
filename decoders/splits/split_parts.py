"""The data that splitters hand to stitchers: parts of one key, packed segments, row corrections, facts."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Any, Final

from decoders.errors import Malformed, Truncated
from decoders.exchanges.exchange import ClientSoftware, ConnectionInfo, Exchange, Login, Row
from decoders.named_tuple import NamedTuple
from decoders.tcp.connection_and_halves import format_endpoints, reverse_key
from decoders.tcp.find_connections_captured_twice import BegunConnection, CopiesOfSplits, resume_begun
from decoders.tcp.stream_chunks import Segment
from decoders.tls.key_log import TlsSessions
from decoders.wire.state_serialization import pack, state_fields, unpack

__all__ = [
    *("END", "FACT", "ROWS", "RUN", "SEGMENTS", "SharedFacts", "Part"),
    *("canonical_connection_key", "pack_segments", "unpack_segments"),
]

# Kinds of parts.
SEGMENTS: Final = 0  # segments that need the exact state of the connection
RUN: Final = 1  # the splitter decoded what follows: the state that the run depends on
ROWS: Final = 2  # rows of the run; the blob has responses whose request is before it, and ends of connections
END: Final = 3  # the end of the run: what it adds to the state
FACT: Final = 4  # of no connection: facts that other connections may use

# Direction (0: as in the key), time, packet, seq, ack, flags, cut, size of the payload that follows.
_SEGMENT: Final = Struct(">BqqIIHII")


class Part(NamedTuple):
    """A part of one key in one split; `seq` ascends within the split, `kind` says what `blob` and `rows` hold.

    `key` is the canonical one of a connection's two keys (empty for no connection). Every kind may have a `blob`. Only
    ROWS have `rows`: the splitter's projections of exchanges and skipped runs; rows for ends of connections come from
    the stitcher.
    """

    key: bytes
    seq: int
    kind: int
    blob: bytes
    rows: list[Any]


class RowCorrection(NamedTuple):
    """The values that rows of a run lack because it was decoded without its past; `correct_rows` sets them."""

    connection_info: ConnectionInfo
    place_added: int
    client_software: ClientSoftware | None  # for rows that have none
    login: Login | None  # for rows that have none

    @property
    def connection_began_ns(self) -> int:
        """The time of the connection's first packet."""
        return self.connection_info.began_ns

    def correct_rows(self, rows: Iterable[Row]) -> None:
        """Set the missing values in rows of the run."""
        for row in rows:
            row.connection_info = self.connection_info
            if isinstance(row, Exchange):
                row.place += self.place_added
                if not row.envelope:  # its client is another one than the connection's
                    row.client_software = row.client_software or self.client_software
                    row.login = row.login or self.login


class SharedFacts:
    """Facts that connections may learn from one another, with the time since when they are known.

    `topics`: topic id → name, time. `brokers`: endpoint → the first two times at which different clients showed it to
    be a broker, with these clients. `sessions`: TLS 1.2 sessions that may be resumed. `begun`: connections that
    begin at borders of splits, `copies`: those that splits have found to be copies
    (find_connections_captured_twice.py). `last`: time and number of the capture's last packet.
    `add_fact_part` merges the facts of many splits, in any order.
    """

    __slots__ = ("_copies_of_splits", "begun", "brokers", "copies", "last", "sessions", "topics")

    def __init__(self) -> None:
        self.brokers: dict[str, list[tuple[int, str]]] = {}
        self.topics: dict[bytes, tuple[str, int]] = {}
        self.sessions = TlsSessions()
        self.begun: list[BegunConnection] = []
        self.copies: dict[Any, str] = {}
        self._copies_of_splits: CopiesOfSplits | None = None
        self.last = (0, 0)

    @property
    def copies_of_splits(self) -> CopiesOfSplits:
        """The copies of connections, once the facts of all splits are there."""
        if self._copies_of_splits is None:
            self._copies_of_splits = CopiesOfSplits(self.begun, self.copies)
        return self._copies_of_splits

    def add_fact_part(self, fact_part: bytes) -> None:
        """Add the facts of a FACT part. Raises DecodeError if the blob is no such part."""
        brokers, topics, sessions, begun, copies, last = state_fields(unpack(fact_part), *[dict] * 3, list, dict, tuple)
        last_ns, packet = state_fields(last, int, int)
        self.last = max(self.last, (last_ns, packet))
        self.sessions.add(sessions)
        self.begun += map(resume_begun, begun)
        self.copies |= copies
        for endpoint, rows in brokers.items():
            for row in rows:
                since_ns, client = state_fields(row, int, str)
                self.add_broker(endpoint, since_ns, client)
        for identity, row in topics.items():
            name, since_ns = state_fields(row, str, int)
            known = self.topics.get(identity)
            if known is None or since_ns < known[1]:
                self.topics[identity] = (name, since_ns)

    def add_broker(self, endpoint: str, since_ns: int, client_key: str) -> None:
        """Note that a client has shown an endpoint to be a broker."""
        rows = self.brokers.setdefault(endpoint, [])
        if len(rows) == 2 and since_ns >= rows[1][0]:
            return
        first: dict[str, int] = {}
        for since, who in sorted([*rows, (since_ns, client_key)]):
            first.setdefault(who, since)
        rows[:] = [(since, who) for who, since in first.items()][:2]

    def brokers_shown_by_others(self, key: bytes) -> dict[str, int]:
        """The brokers that connections of other keys have shown, and since when they are known."""
        own = format_endpoints(key)
        found = {
            endpoint: [since for since, who in rows if endpoint not in own or who not in own]
            for endpoint, rows in self.brokers.items()
        }
        return {endpoint: rows[0] for endpoint, rows in found.items() if rows}

    def pack_fact_part(self) -> bytes:
        """The blob of a FACT part."""
        topics = {identity: list(row) for identity, row in self.topics.items()}
        begun = [tuple(each) for each in self.begun]
        return pack([self.brokers, topics, self.sessions.export(), begun, self.copies, self.last])


def canonical_connection_key(key: bytes) -> bytes:
    """The canonical key of a connection: the smaller one of its two keys."""
    return min(key, reverse_key(key))


def pack_segments(key: bytes, segments: Iterable[Segment]) -> bytes:
    """The bytes of segments of the connections with this canonical key."""
    out: list[bytes] = []
    for its_key, time_ns, packet, seq, ack, flags, data, cut in segments:
        out.append(_SEGMENT.pack(its_key != key, time_ns, packet, seq, ack, flags, cut, len(data)))
        out.append(data)
    return b"".join(out)


def unpack_segments(key: bytes, blob: bytes) -> list[Segment]:
    """The segments that `pack_segments` has packed. Raises DecodeError if the bytes are no packed segments."""
    keys = (key, reverse_key(key))
    out: list[Segment] = []
    at = 0
    while at < len(blob):
        if len(blob) - at < _SEGMENT.size:
            raise Truncated("packed segments are cut off", offset=at)
        turn, time_ns, packet, seq, ack, flags, cut, size = _SEGMENT.unpack_from(blob, at)
        at += _SEGMENT.size
        if turn > 1 or size > len(blob) - at:
            raise Malformed("no packed segment", offset=at)
        out.append((keys[turn], time_ns, packet, seq, ack, flags, blob[at : at + size], cut))
        at += size
    return out
