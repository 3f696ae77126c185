"""Packets with notes, from a capture that was cut out of others, in; the TCP segments that they stand for out.

The problem. Only some frames of a connection are kept. The bytes between them are missing, a packet may hold the end
of a kept frame and the beginning of one that is not kept, and ports are used again. A reader that takes such a capture
for any other sees losses everywhere, and rows that nobody chose.

The idea. Each packet carries a comment (`opt_comment`, so that other tools show it and keep it) that says which parts
of its payload are kept, and their places in a stream of the kept bytes alone:

```
stream of the client   │ Metadata │ Fetch ← kept │ Heartbeat │ Fetch ← kept │
bytes                  0         60            200         240            380
stream as it is read               0 ………………… 139             140 ………… 279

a packet with the bytes 150 to 260:  kw-cut: connection 3 client; keeps 0+50@90 90+20@140; ack 77
```

Part `0+50@90`: the 50 bytes of the payload from its byte 0 on are those from byte 90 on of the stream as it is read.
`ack` is the number of bytes of the other direction, counted in the same way, that the sender had acknowledged. So each
packet can be read alone, in any order. A connection begins with two segments that open it (a SYN from each side), since
its own may not be in the capture: a stream as it is read begins at the beginning of a frame. Bytes of a kept frame that
the capture that was cut had lost are a hole here too, and reported as one.

A note without parts is on a packet of a connection of which all packets were taken, at least up to a time. It may name
the broker, so that the connection is known for Kafka without a look. It may have `rows`: then only those exchanges of
the connection were chosen whose request begins at one of the places that such notes list. The section's comments have
names of topics that were learned from bytes left out, each with the time from which on it is known.

What always holds: a note that cannot belong to its packet is ignored, and the packet is read as any other. Notes
count only in a section whose own comment is MARK.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Protocol
from uuid import UUID

from decoders.limits import CONNECTIONS_MAX
from decoders.named_tuple import NamedTuple
from decoders.tcp.stream_chunks import Segment

__all__ = [
    "MARK",
    "CutNote",
    "CutReceiver",
    "CutSegments",
    "PayloadPart",
    "TopicName",
    "client_key_of_packet",
    "format_note_comment",
    "format_topic_comments",
    "parse_note_comment",
    "parse_topic_comment",
]

# The comment of a section whose packets may carry notes.
MARK: Final = "cut out by kw sniff -w: gaps between the packets of a connection are not losses (kw help sniff)"
_START: Final = "kw-cut: "
_NOTE: Final = re.compile(
    r"kw-cut: connection (?P<connection>[0-9]{1,18}) (?P<side>client|broker)"
    r"(?:; keeps (?P<parts>[0-9]+\+[0-9]+@[0-9]+(?: [0-9]+\+[0-9]+@[0-9]+)*))?"
    r"(?:; ack (?P<ack>[0-9]{1,18}))?"
    r"(?:; broker (?P<broker>\S{1,64}))?"
    r"(?:; rows(?P<rows>(?: [0-9]{1,18})*))?"
)
_TOPICS: Final = "kw-cut: topics"
_TOPIC: Final = re.compile(r"([0-9a-f]{32})=([A-Za-z0-9._-]{1,249})@([0-9]{1,20})")
# A comment has at most 65,535 bytes.
_TOPICS_IN_COMMENT: Final = 200
_PART: Final = re.compile(r"([0-9]{1,6})\+([0-9]{1,6})@([0-9]{1,18})")
# An odd number with its bits spread: sequence numbers of two connections of the same ports begin far from each other.
_SPREAD: Final = 0x9E37_79B1
_MASK: Final = 0xFFFF_FFFF
_SYN: Final = 2
_ACK: Final = 16


class PayloadPart(NamedTuple):
    """`size` bytes of a packet's payload from byte `at` on, and their `place` in the stream as it is read."""

    at: int
    size: int
    place: int


class CutNote(NamedTuple):
    """The note on a packet.

    `ack`: None where its sender acknowledges nothing; `broker`: host:port, where it is named; `rows`: where requests of
    chosen exchanges begin, None where all exchanges of the connection are chosen.
    """

    connection: int
    client: bool
    parts: tuple[PayloadPart, ...] = ()
    ack: int | None = None
    broker: str = ""
    rows: tuple[int, ...] | None = None


class TopicName(NamedTuple):
    """The name of a topic id, and the time (ns since 1970) from which on it is known."""

    since_ns: int
    identity: UUID
    name: str


class CutReceiver(Protocol):
    """A receiver of the facts in notes other than segments (exchanges/segments_to_exchanges.py)."""

    def accept_broker(self, broker: str) -> None:
        """Take connections to this host:port for Kafka without a look."""

    def restrict_to_exchanges_at(self, client_key: bytes, request_places: Iterable[int]) -> None:
        """Choose the exchanges of the connection with this client key whose request begins at one of these places."""

    def add_topic_name(self, topic: TopicName) -> None:
        """Take over a topic's name, and the time from which on it is known."""


def format_topic_comments(names: Iterable[TopicName]) -> Iterator[str]:
    """Comments of a section that name topics; a name that no topic can have is left out."""
    words = [f"{each.identity.hex}={each.name}@{each.since_ns}" for each in names]
    words = [word for word in words if _TOPIC.fullmatch(word)]
    for at in range(0, len(words), _TOPICS_IN_COMMENT):
        yield " ".join((_TOPICS, *words[at : at + _TOPICS_IN_COMMENT]))


def parse_topic_comment(comment: bytes) -> Iterator[TopicName]:
    """The topic names in a comment of a section; none in any other comment."""
    if comment.startswith(_TOPICS.encode()):
        for word in comment.decode("utf-8", "replace").split()[2:]:
            found = _TOPIC.fullmatch(word)
            if found is not None:
                yield TopicName(int(found[3]), UUID(hex=found[1]), found[2])


def format_note_comment(note: CutNote) -> str:
    """The comment of a note, which `parse_note_comment` reads."""
    words = [f"{_START}connection {note.connection} {'client' if note.client else 'broker'}"]
    if note.parts:
        words.append("keeps " + " ".join(f"{part.at}+{part.size}@{part.place}" for part in note.parts))
    if note.ack is not None:
        words.append(f"ack {note.ack}")
    if note.broker:
        words.append(f"broker {note.broker}")
    if note.rows is not None:
        words.append(" ".join(("rows", *map(str, note.rows))))
    return "; ".join(words)


def parse_note_comment(comment: bytes) -> CutNote | None:
    """The note in a comment; None for any other comment."""
    if not comment.startswith(_START.encode()):
        return None
    found = _NOTE.fullmatch(comment.decode("utf-8", "replace"))
    if found is None:
        return None
    words = (found["parts"] or "").split()
    parts = [_PART.fullmatch(word) for word in words]
    if not all(parts):
        return None
    return CutNote(
        int(found["connection"]),
        found["side"] == "client",
        tuple(PayloadPart(*map(int, part.groups())) for part in parts if part is not None),
        int(found["ack"]) if found["ack"] else None,
        found["broker"] or "",
        tuple(map(int, found["rows"].split())) if found["rows"] is not None else None,
    )


class CutSegments:
    """Segments of packets with notes in, the segments that are meant out. `count`: packets of which a part is kept."""

    def __init__(self) -> None:
        self.count = 0
        # Client key → the connection that was met last. A connection that is forgotten is opened again, which changes
        # nothing for a reader that knows it.
        self._met: dict[bytes, int] = {}

    @staticmethod
    def pass_topic_names_to_receiver(comments: Iterable[bytes], receiver: CutReceiver | None) -> None:
        """Give the topic names in comments of a section to the receiver."""
        if receiver is not None:
            for comment in comments:
                for topic in parse_topic_comment(comment):
                    receiver.add_topic_name(topic)

    @staticmethod
    def find_note_in_comments(comments: Iterable[bytes]) -> CutNote | None:
        """The note among the comments of a packet; None where there is none."""
        return next(filter(None, map(parse_note_comment, comments)), None)

    def replace_by_noted_segments(self, segment: Segment, note: CutNote, receiver: CutReceiver | None) -> list[Segment]:
        """The segments that a packet with this note stands for; the other facts of the note go to the receiver."""
        if receiver is not None and note.broker:
            receiver.accept_broker(note.broker)
        if receiver is not None and note.rows is not None:
            receiver.restrict_to_exchanges_at(client_key_of_packet(segment[0], note), note.rows)
        return self.make_segments_of_note(segment, note)

    def make_segments_of_note(self, segment: Segment, note: CutNote) -> list[Segment]:
        """The segments that a packet with this note stands for; its own where the packet lacks a part of the note."""
        key, time_ns, packet, _, _, flags, payload, cut = segment
        size = len(payload) + cut
        if not note.parts or any(part.at + part.size > size for part in note.parts):
            return [segment]
        self.count += 1
        begin = note.connection * _SPREAD & _MASK
        first = begin + 1
        out = self._segments_opening_connection(key, time_ns, packet, note, begin)
        flags &= ~7  # no FIN, SYN or RST: the kept bytes do not end the connection
        ack = 0
        if note.ack is None:
            flags &= ~_ACK
        else:
            ack = first + note.ack & _MASK
        for at, part_size, place in note.parts:
            data = payload[at : at + part_size]
            seq = first + place & _MASK
            out.append((key, time_ns, packet, seq, ack, flags, data, part_size - len(data)))
        return out

    def _segments_opening_connection(
        self, key: bytes, time_ns: int, packet: int, note: CutNote, begin: int
    ) -> list[Segment]:
        """The segments that open the connection; none where it was met before."""
        client = client_key_of_packet(key, note)
        broker = _key_of_other_direction(client)
        if self._met.get(client) == note.connection:
            return []
        if len(self._met) >= CONNECTIONS_MAX:
            self._met.clear()
        self._met[client] = note.connection
        return [
            (client, time_ns, packet, begin, 0, _SYN, b"", 0),
            (broker, time_ns, packet, begin, begin + 1 & _MASK, _SYN | _ACK, b"", 0),
        ]


def client_key_of_packet(key: bytes, note: CutNote) -> bytes:
    """The client key of a packet with this note: addresses and ports as in the client's segments."""
    return key if note.client else _key_of_other_direction(key)


def _key_of_other_direction(key: bytes) -> bytes:
    """The addresses and ports of the other direction."""
    size = (len(key) - 4) // 2
    return key[size:-4] + key[:size] + key[-2:] + key[-4:-2]
