"""The hand-over between transport and protocol: who sent which bytes when, in the order of the capture.

A chunk is a tuple `(half, time_ns, packet, data)`. `half` is the sending side of a connection, `data` is `bytes` (the
next bytes of that direction's stream, never empty) or one of the events below. Chunks travel in lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# How a connection ended: both FIN or RST seen, replaced by a new SYN (idle: given up for a limit), end of input.
How = Literal["fin", "rst", "idle", "capture_end"]
# Why bytes of known length are missing.
Why = Literal["lost", "snaplen", "limit"]


@dataclass(frozen=True, slots=True)
class Gap:
    """`size` bytes of this direction are not in the capture."""

    size: int
    why: Why


@dataclass(frozen=True, slots=True)
class Close:
    """This connection is over; the last event that either of its halves gives."""

    how: How


class Half:
    """One direction of a connection; `peer` is the other one. Later stages hang their own state on `state`."""

    __slots__ = ("connection", "peer", "source", "state", "target")

    def __init__(self, connection: Connection, source: str, target: str) -> None:
        self.connection = connection
        self.source = source  # host:port of the sender
        self.target = target
        self.peer: Half = self
        self.state: object = None


class Connection:
    """One TCP connection as captured. `number` counts from 1 in order of appearance.

    `opened` says whether the capture has its handshake; the initiator (sender of the SYN) is then `first`, else `first`
    is the side whose segment came first. `key` is the 4-tuple as text, `began_ns` the time of its first packet.
    """

    __slots__ = ("began_ns", "first", "number", "opened", "second")

    def __init__(self, number: int, first: str, second: str, began_ns: int, *, opened: bool) -> None:
        self.number = number
        self.began_ns = began_ns
        self.opened = opened
        self.first = Half(self, first, second)
        self.second = Half(self, second, first)
        self.first.peer = self.second
        self.second.peer = self.first


Chunk = tuple[Half, int, int, bytes | Gap | Close]
