"""The hand-over between transport and protocol: who sent which bytes when, in the order of the capture.

In come segments: tuples `(key, time_ns, packet, seq, ack, flags, payload, cut)`, see `Segment`. Out go chunks: tuples
`(half, time_ns, packet, data)`; `half` is the sending side of a connection, `data` is `bytes` (the next bytes of that
direction's stream, never empty) or one of the events below; time and packet number are those of the packet that first
carried the bytes, so they need not ascend where packets were captured out of order. Chunks travel in lists.

A byte's *place* in its direction's stream counts from 0 at the first byte given, bytes of gaps included: the sum of
`len(data)` and `Gap.size` of the chunks before it.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

# key: source and target address, source and target port as on the wire (12 bytes for IPv4, 36 for IPv6);
# packet: number as Wireshark counts, from 1; seq, ack: raw; flags: the TCP flag byte, and ZERO_WINDOW;
# payload: the bytes captured;
# cut: bytes of payload that were on the wire behind them but not captured (snaplen).
Segment = tuple[bytes, int, int, int, int, int, bytes, int]
# Above the flag byte: the sender's window is 0 (no SYN, no RST), so that the other side may send nothing.
ZERO_WINDOW: Final = 0x100

# How a connection ended: FIN seen (of both sides; of one, when a new connection takes the ports), RST seen, given up
# because its ports were taken by a new connection or because it was silent for too long, end of input.
How = Literal["fin", "rst", "idle", "capture_end"]
# Why bytes are missing. `jump`: the sequence numbers go on elsewhere, farther off than any window reaches. `encrypted`:
# no key opens the TLS records that they were in. `keyless`, `renegotiated`: they are there, but its keys are not known.
Why = Literal["lost", "snaplen", "limit", "jump", "encrypted", "keyless", "renegotiated"]


class Gap(NamedTuple):
    """`size` bytes of this direction are not in the capture; 0 where nobody can know how many, if any."""

    size: int
    why: Why


class Retransmission(NamedTuple):
    """`size` bytes from place `at` of this direction's stream were sent a second time (and dropped here).

    Comes when the second copy was captured, always after the chunk with the first copy; says nothing about the next
    bytes. A packet that the capture merely holds twice (same bytes again, within a millisecond) gives none.
    """

    at: int
    size: int


class Close(NamedTuple):
    """This connection is over; the last event that either of its halves gives (it comes on `connection.first`)."""

    how: How


# `Half.shut` of a side whose window never was 0.
OPEN: Final = (0, 0)


class Half:
    """One direction of a connection; `peer` is the other one. Later stages hang their own state on `state`.

    The counters are kept by reassembly as segments pass: `packets` with this sender, `last_ns` the time of the latest
    one, `gaps` and `missing` the number of gaps and their bytes, `again` the segments sent a second time. `shut` is the
    time of the latest segment whose window was 0, and for how long (ns) it was 0 at least; `quiet_ns` is how long this
    side had sent nothing when it reset the connection, 0 where it did not, or where a FIN came before. (A `HalfStream`,
    which is what reassembly gives, has the bytes of its stream so far as `size`, those of gaps included.)
    """

    __slots__ = (
        "again",
        "connection",
        "gaps",
        "last_ns",
        "missing",
        "packets",
        "peer",
        "quiet_ns",
        "shut",
        "source",
        "state",
    )

    def __init__(self, connection: Connection, source: str) -> None:
        self.connection = connection
        self.source = source  # host:port of the sender
        self.peer: Half = self
        self.state: object = None
        self.packets = 0
        self.last_ns = 0
        self.gaps = 0
        self.missing = 0
        self.again = 0
        self.shut = OPEN
        self.quiet_ns = 0

    @property
    def target(self) -> str:
        """host:port of the other side, until the connection is untied."""
        return self.peer.source

    @property
    def size(self) -> int:
        """Bytes of the stream so far, those of gaps included; 0 where nobody counts them (a `HalfStream` does)."""
        return 0


class Connection:
    """One TCP connection as captured. `number` counts from 1 in order of appearance.

    `opened` says whether the capture has its handshake; the initiator (sender of the SYN) is then `first`, else `first`
    is the side whose segment came first. Neither changes once a chunk was given: whoever takes chunks reads them when
    it has the chunk, which is later than the next segments where many are read at a time. `began_ns` is the time of its
    first packet: with the two addresses (`first.source`, `first.target`) that is its identity. `tls` is what
    tls/decryption.py keeps.
    """

    __slots__ = ("began_ns", "first", "number", "opened", "second", "tls")

    half: type[Half] = Half  # what a direction is made of

    def __init__(self, number: int, first: str, second: str, began_ns: int, *, opened: bool) -> None:
        self.number = number
        self.began_ns = began_ns
        self.opened = opened
        self.tls: Any = None
        self.first = self.half(self, first)
        self.second = self.half(self, second)
        self.first.peer = self.second
        self.second.peer = self.first

    def untie(self) -> None:
        """Let its halves go once its Close has been taken: no chunk of theirs comes any more.

        They refer to each other and to the connection. A process that looks for cycles seldom, as kw does, would hold
        every connection that lasted long enough to grow old, to the end.
        """
        self.tls = None
        for half in (self.first, self.second):
            half.state = None
            if hasattr(half, "peer"):
                del half.peer, half.connection


Chunk = tuple[Half, int, int, bytes | Gap | Retransmission | Close]
