"""The hand-over between transport and protocol: who sent which bytes when, in the order of the capture.

In come segments: tuples `(key, time_ns, packet, seq, ack, flags, payload, cut)`, see `Segment`. Out go chunks: tuples
`(half, time_ns, packet, data)`; `half` is the sending side of a connection, `data` is `bytes` (the next bytes of that
direction's stream, never empty) or one of the events below; time and packet number are those of the packet that first
carried the bytes, so they need not ascend where packets were captured out of order. Chunks travel in lists.

A byte's *place* in its direction's stream counts from 0 at the first byte given, bytes of gaps included: the sum of
`len(data)` and `Gap.size` of the chunks before it.
"""

from __future__ import annotations

from typing import Final, Literal

from decoders.named_tuple import NamedTuple
from decoders.tcp.connection_and_halves import Half

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
# no key opens the TLS records that they were in. `keyless`, `renegotiated`: they are there, but not their keys.
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
    """The connection is over: the last event of both of its halves, given with `connection.first`."""

    how: How


Chunk = tuple[Half, int, int, bytes | Gap | Retransmission | Close]
