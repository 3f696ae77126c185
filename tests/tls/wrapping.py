"""A capture in plain text in, its conversations in TLS out: segments, a pcapng file, and the key log.

The bytes of each segment are one write of OpenSSL: the same bytes at the same times, in TLS records.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple

from decoders.capture.pcapng_writer import PcapngWriter
from decoders.capture.read_capture import CaptureReader
from decoders.tcp.connection_and_halves import Half, reverse_key
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Close, Gap, Segment
from tests.captures.plain import read_bytes
from tests.tls.conversations import Talk

FIN, SYN, RST, ACK, PSH = 1, 2, 4, 16, 8
_IP4: Final = Struct(">BBHHHBBH")
_TCP: Final = Struct(">IIBBHHH")


class Wrapped(NamedTuple):
    """Segments in order of time, and the key log of all their connections."""

    segments: list[Segment]
    key_log: bytes
    first_key_log: bytes = b""  # of the first connection


class _Wire:
    """One TLS connection as it is turned into segments."""

    def __init__(self, key: bytes, options: dict[str, Any]) -> None:
        self.keys = {True: key, False: reverse_key(key)}
        self.next = {True: 1000, False: 9000}
        self.options = options
        self.talk: Talk | None = None
        self.rows: list[tuple[Any, ...]] = []

    def put(self, time_ns: int, first: bool, flags: int, data: bytes = b"") -> None:
        """Add one segment of a side."""
        seq, ack = self.next[first], self.next[not first]
        self.rows.append((time_ns, self.keys[first], seq, 0 if flags == SYN else ack, flags, data))
        self.next[first] = seq + len(data) + bool(flags & (SYN | FIN)) & 0xFFFF_FFFF

    def begin(self, time_ns: int) -> Talk:
        """Add the handshakes of TCP and TLS; gives the TLS connection."""
        self.put(time_ns - 900_000, True, SYN)
        self.put(time_ns - 800_000, False, SYN | ACK)
        self.put(time_ns - 700_000, True, ACK)
        self.talk = Talk(**self.options)
        wire = self.talk.conversation.wire
        for number, (first, data) in enumerate(wire):
            self.send(time_ns - 600_000 + number * 1000, first, data)
        wire.clear()
        return self.talk

    def send(self, time_ns: int, first: bool, data: bytes) -> None:
        """Add bytes of a side, in segments of the usual size."""
        for at in range(0, len(data), 1448):
            self.put(time_ns, first, PSH | ACK, data[at : at + 1448])

    def say(self, time_ns: int, first: bool, data: bytes) -> None:
        """Send bytes of the application through TLS."""
        talk = self.talk or self.begin(time_ns)
        talk.say(first, data)
        for side, sent in talk.conversation.wire:
            self.send(time_ns, side, sent)
        talk.conversation.wire.clear()


def wrap(segments: list[Segment], *, resumed: bool = False, **options: Any) -> Wrapped:
    """The conversations of segments in TLS; each of their connections must begin with its handshake.

    With `resumed` all further connections resume the session of the first.
    """
    stage = Reassembly()
    wires: dict[int, _Wire] = {}
    for half, time_ns, _, data in (*stage.feed(segments), *stage.finish()):
        number = half.connection.number
        if number not in wires:
            assert isinstance(half, Half)
            begun = next((wire.talk for wire in wires.values() if wire.talk is not None), None)
            if resumed and begun is not None:
                options |= {"contexts": begun.contexts, "session": begun.client.session}
            wires[number] = _Wire(half.connection.first.key, options)
        wire = wires[number]
        first = half is half.connection.first
        if isinstance(data, bytes):
            wire.say(time_ns, first, data)
        elif isinstance(data, Close) and wire.talk is not None and data.how in ("fin", "rst"):
            last_ns = max(row[0] for row in wire.rows)
            flags = FIN | ACK if data.how == "fin" else RST
            wire.put(last_ns + 1000, True, flags)
            if data.how == "fin":
                wire.put(last_ns + 2000, False, flags)
        assert not isinstance(data, Gap), "a capture with holes"
    rows = sorted((row for wire in wires.values() for row in wire.rows), key=lambda row: row[0])
    logs = [wire.talk.log_file for wire in wires.values() if wire.talk is not None]
    made: list[Segment] = []
    for number, (time_ns, key, seq, ack, flags, data) in enumerate(rows, 1):
        made.append((key, time_ns, number, seq, ack, flags, data, 0))
    texts = [path.read_bytes() for path in logs]
    return Wrapped(made, b"".join(texts), texts[0])


def segments_of(path: Path) -> list[Segment]:
    """The segments of a capture."""
    return CaptureReader().feed(read_bytes(path))


def pcapng_of(segments: Iterable[Segment], secrets: Sequence[bytes] = ()) -> bytes:
    """A capture file (raw IP) of IPv4 segments, with key logs in it."""
    writer = PcapngWriter(101)
    out = [writer.make_file_header()]
    for text in secrets:
        pad = bytes(-len(text) % 4)
        size = (20 + len(text) + len(pad)).to_bytes(4, "little")
        out.append(b"\x0a\0\0\0" + size + b"KSLT" + len(text).to_bytes(4, "little") + text + pad + size)
    for key, time_ns, _, seq, ack, flags, data, _ in segments:
        tcp = key[8:12] + _TCP.pack(seq, ack, 0x50, flags, 0xFFFF, 0, 0) + data
        out.append(writer.make_packet_block(time_ns, _IP4.pack(0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + key[:8] + tcp))
    return b"".join(out)


TLS12: Final = ssl.TLSVersion.TLSv1_2
