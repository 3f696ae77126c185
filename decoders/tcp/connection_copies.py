"""First bytes of connections in; out comes which connection is one that the capture has already, under other addresses.

The problem. A capture on all interfaces of a node with NAT, or on both sides of a bridge that translates, has each
packet twice: with the addresses before the translation, and with those behind it. These are two connections to anybody
who looks at addresses, and all counts double.

The idea. A translation changes addresses and ports, and not the stream. So two connections are one where the sequence
numbers of both directions are the same, their first bytes too, and they begin at nearly the same time; a sequence
number is drawn at random for each connection. Of a connection whose beginning the capture does not have, the numbers
are those of its first bytes.

```
10.0.0.9:40001  → 10.0.0.2:9092   SYN 0x9f31c210, SYN 0x01c4d07e, first bytes …      an exchange each
172.17.0.5:40001 → 10.0.0.2:9092  SYN 0x9f31c210, SYN 0x01c4d07e, first bytes …      its copy
```

What always holds: two connections between the same two hosts are none of each other's copy, nor are two clients that
say the same at the same time, nor are connections whose numbers were not drawn, as in captures that a program made.
What is given up: a translator that draws numbers of its own, as some firewalls do.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from decoders.named_tuple import NamedTuple
from decoders.tcp.connections import MASK, Half

__all__ = ["COPY", "ConnectionCopies"]

# How the name of a copy begins, behind which is the connection that it is one of.
COPY: Final = "copy of "
# The most time (ns) between the first bytes of a connection and those of its copy.
_APART_NS: Final = 100 * 10**6
# Bytes that are compared; fewer than the least say nothing.
_COMPARED: Final = 256
_LEAST: Final = 14
_CONNECTIONS_MAX: Final = 10_000
# Programs that make captures begin all connections with small numbers; of drawn ones hardly any pair is below this.
_DRAWN_LEAST: Final = 1 << 16
# The sum of complements and 1, as they are before and behind both SYNs.
_COMPLEMENTS: Final = (0, 2)

# The sequence numbers of the first bytes of the speaker and of the other side (0: not known), and whether both SYNs are
# in the capture.
_Numbers = tuple[int, int, bool]


class _FirstBytes(NamedTuple):
    """The first bytes of a connection, their time, and its two ends as host:port."""

    time_ns: int
    data: bytes
    source: str
    target: str


class ConnectionCopies:
    """Knows the connections that have just begun."""

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun: OrderedDict[_Numbers, _FirstBytes] = OrderedDict()

    def find_original(self, half: Half, time_ns: int, data: bytes) -> str:
        """`copy of CLIENT → BROKER` for the first bytes of a copy; empty for those of a new connection."""
        if not half.started or len(data) < _LEAST:  # not from a capture, or too little to compare
            return ""
        peer = half.peer
        numbers = (half.first & MASK, peer.first & MASK if peer.started else 0, half.syn and peer.syn)
        if not _may_be_drawn(*numbers[:2]):
            return ""
        begun = self._begun
        while begun and time_ns - next(iter(begun.values())).time_ns > _APART_NS:
            begun.popitem(last=False)
        known = begun.get(numbers)
        if known is None or not _is_same_stream(known, half, time_ns, data):
            begun[numbers] = _FirstBytes(time_ns, data[:_COMPARED], half.source, peer.source)
            if len(begun) > _CONNECTIONS_MAX:
                begun.popitem(last=False)
            return ""
        return f"{COPY}{known.source} → {known.target}"


def _may_be_drawn(one: int, other: int) -> bool:
    """Whether sequence numbers may have been drawn; in files of `kw proxy -w` one is the complement of the other."""
    return max(one, other) >= _DRAWN_LEAST and (one + other + 1) & MASK not in _COMPLEMENTS


def _is_same_stream(known: _FirstBytes, half: Half, time_ns: int, data: bytes) -> bool:
    if abs(time_ns - known.time_ns) > _APART_NS:
        return False
    size = min(len(data), len(known.data))
    hosts = [end.rpartition(":")[0] for end in (half.source, half.target)]
    others = [end.rpartition(":")[0] for end in (known.source, known.target)]
    return hosts != others and data[:size] == known.data[:size]
