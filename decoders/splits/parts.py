"""What a splitter hands to the stitchers: parts of one key, raw segments in compact form, patches, facts."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Any, Final, NamedTuple

from decoders.errors import Malformed, Truncated
from decoders.exchanges.exchange import ClientSoftware, ConnectionInfo, Exchange, Login, Row
from decoders.tcp.chunks import Segment
from decoders.tcp.connections import endpoints, turned
from decoders.tls.sessions import Sessions
from decoders.wire.pack import fields, pack, unpack

__all__ = [
    *("END", "FACT", "ROWS", "RUN", "SEGMENTS", "Facts", "Part", "Patch"),
    *("canonical", "pack_segments", "unpack_segments"),
]

# Kinds of parts.
SEGMENTS: Final = 0  # segments that only the exact state can take
RUN: Final = 1  # what follows was decoded here: the state that this stands on
ROWS: Final = 2  # rows of the run; the blob has responses whose request lies before it, and ends of connections
END: Final = 3  # the end of the run: what it adds to the state
FACT: Final = 4  # of no connection: what others may use

# Direction (0: as in the key), time, packet, seq, ack, flags, cut, size of the payload that follows.
_SEGMENT: Final = Struct(">BqqIIHII")


class Part(NamedTuple):
    """A part of what one key sent in one split; `seq` ascends within the split, and `kind` says what the rest is.

    `key` is the canonical one of a connection's two (that of no connection is empty). Every kind may have a `blob`;
    only ROWS have `rows`, what the splitter made of exchanges and skipped runs: that a connection has ended a stitcher
    tells.
    """

    key: bytes
    seq: int
    kind: int
    blob: bytes
    rows: list[Any]


class RowCorrection(NamedTuple):
    """What the rows of a run lack that was decoded without its past: `apply` puts it in."""

    ends: ConnectionInfo
    place_added: int
    client_software: ClientSoftware | None  # of rows that have none
    login: Login | None  # likewise

    @property
    def began_ns(self) -> int:
        """The time of the connection's first packet."""
        return self.ends.began_ns

    def apply(self, rows: Iterable[Row]) -> None:
        """Complete rows of the run."""
        for row in rows:
            row.ends = self.ends
            if isinstance(row, Exchange):
                row.place += self.place_added
                if not row.envelope:  # whose client is none of this connection
                    row.client_software = row.client_software or self.client_software
                    row.login = row.login or self.login


class Facts:
    """What connections may know of one another, with the time since when: topic id → name, time; `brokers`.

    A broker's endpoint has the first two times at which it was recognised, with the different clients that showed it.

    `sessions` are those of TLS 1.2 that may be resumed.
    `last` is time and number of the capture's last packet. Facts of many splits are one by `add`, in any order.
    """

    __slots__ = ("brokers", "last", "sessions", "topics")

    def __init__(self) -> None:
        self.brokers: dict[str, list[tuple[int, str]]] = {}
        self.topics: dict[bytes, tuple[str, int]] = {}
        self.sessions = Sessions()
        self.last = (0, 0)

    def add(self, blob: bytes) -> None:
        """Take over those of a FACT part. Raises DecodeError when it is none."""
        brokers, topics, sessions, last = fields(unpack(blob), dict, dict, dict, tuple)
        last_ns, packet = fields(last, int, int)
        self.last = max(self.last, (last_ns, packet))
        self.sessions.add(sessions)
        for endpoint, rows in brokers.items():
            for row in rows:
                since_ns, client = fields(row, int, str)
                self.vouch(endpoint, since_ns, client)
        for identity, row in topics.items():
            name, since_ns = fields(row, str, int)
            known = self.topics.get(identity)
            if known is None or since_ns < known[1]:
                self.topics[identity] = (name, since_ns)

    def vouch(self, endpoint: str, since_ns: int, client: str) -> None:
        """A client has shown an endpoint to be a broker."""
        rows = self.brokers.setdefault(endpoint, [])
        if len(rows) == 2 and since_ns >= rows[1][0]:
            return
        first: dict[str, int] = {}
        for since, who in sorted([*rows, (since_ns, client)]):
            first.setdefault(who, since)
        rows[:] = [(since, who) for who, since in first.items()][:2]

    def others(self, key: bytes) -> dict[str, int]:
        """Brokers that the connections of other keys have shown, and since when."""
        own = endpoints(key)
        found = {
            endpoint: [since for since, who in rows if endpoint not in own or who not in own]
            for endpoint, rows in self.brokers.items()
        }
        return {endpoint: rows[0] for endpoint, rows in found.items() if rows}

    def pack(self) -> bytes:
        """The blob of a FACT part."""
        topics = {identity: list(row) for identity, row in self.topics.items()}
        return pack([self.brokers, topics, self.sessions.export(), self.last])


def canonical(key: bytes) -> bytes:
    """The one of a connection's two keys that stands for both."""
    return min(key, turned(key))


def pack_segments(key: bytes, segments: Iterable[Segment]) -> bytes:
    """Segments of the connections with this canonical key as bytes."""
    out: list[bytes] = []
    for its_key, time_ns, packet, seq, ack, flags, data, cut in segments:
        out.append(_SEGMENT.pack(its_key != key, time_ns, packet, seq, ack, flags, cut, len(data)))
        out.append(data)
    return b"".join(out)


def unpack_segments(key: bytes, blob: bytes) -> list[Segment]:
    """The segments back. Raises DecodeError when the bytes are none."""
    keys = (key, turned(key))
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
