"""First bytes of connections in; out comes which connection is one that the capture has already, under other addresses.

The problem. A capture on all interfaces of a node with NAT, or on both sides of a bridge that translates, has each
packet twice: with the addresses before the translation, and with those behind it. These are two connections to anybody
who looks at addresses, and all counts double.

The idea. A translation changes addresses and ports, and not the stream. So two connections are one where the sequence
numbers of both directions are the same, as far as they are known, their first bytes too, and they begin at nearly the
same time; a sequence number is drawn at random for each connection. Of a connection whose beginning the capture does
not have, the numbers are those of its first bytes.

```
10.0.0.9:40001  → 10.0.0.2:9092   SYN 0x9f31c210, SYN 0x01c4d07e, first bytes …      an exchange each
172.17.0.5:40001 → 10.0.0.2:9092  SYN 0x9f31c210, SYN 0x01c4d07e, first bytes …      its copy
```

What always holds: two connections between the same two hosts are none of each other's copy, nor are two clients that
say the same at the same time, nor are connections whose numbers were not drawn, as in captures that a program made,
unless only the client's host differs, and by less than a millisecond.
A capture that is cut into splits has the same copies: each split finds those inside it (`CopiesInSplit`), and who knows
the connections at the borders of all splits finds the others (`CopiesOfSplits`).
What is given up: a translator that draws numbers of its own, as some firewalls do; a connection without its beginning
whose first bytes are spread over several splits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from decoders.tcp.connection_and_halves import MASK, Connection, Entry, Half, format_endpoints
from decoders.wire.state_serialization import state_fields

__all__ = ["COPY", "BegunConnection", "ConnectionCopies", "CopiesInSplit", "CopiesOfSplits", "resume_begun"]

# How the name of a copy begins, behind which is the connection that it is one of.
COPY: Final = "copy of "
# The most time (ns) between the first bytes of a connection and those of its copy.
_APART_NS: Final = 100 * 10**6
# The same of a packet that one machine sees before and behind its translation.
_AT_ONCE_NS: Final = 10**6
# The first bytes that are compared: fewer say nothing, and of more a copy may have another number in its first packet.
_COMPARED: Final = 14
_CONNECTIONS_MAX: Final = 10_000
# Programs that make captures begin all connections with small numbers; of drawn ones hardly any pair is below this.
_DRAWN_LEAST: Final = 1 << 16
# The sum of complements and 1, as they are before and behind both SYNs.
_COMPLEMENTS: Final = (0, 2)

# The speaker and the other side as host:port, and the sequence number of the speaker's first byte.
_Identity = tuple[str, str, int]


class BegunConnection(NamedTuple):
    """The first bytes of a connection, their time and packet, and its two ends as host:port.

    `number` is the sequence number of the first byte, `peer_number` that of the other side's, 0 where it is not known.
    """

    number: int
    peer_number: int
    time_ns: int
    packet: int
    data: bytes
    source: str
    target: str


class ConnectionCopies:
    """Knows the connections that have just begun."""

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun: OrderedDict[int, BegunConnection] = OrderedDict()

    def describe_original(self, half: Half, time_ns: int, packet: int, data: bytes) -> str:
        """`copy of CLIENT → BROKER` for the first bytes of a copy; empty for those of a new connection."""
        if not half.started or len(data) < _COMPARED:  # not from a capture, or too little to compare
            return ""
        peer = half.peer
        numbers = half.first & MASK, peer.first & MASK if peer.started else 0
        if _are_complementary_numbers(*numbers):
            return ""
        return self.describe_original_of(
            BegunConnection(*numbers, time_ns, packet, data[:_COMPARED], half.source, peer.source)
        )

    def describe_original_of(self, connection: BegunConnection) -> str:
        """`copy of CLIENT → BROKER` for a copy; a new connection is known from now on."""
        begun = self._begun
        while begun and connection.time_ns - next(iter(begun.values())).time_ns > _APART_NS:
            begun.popitem(last=False)
        known = begun.get(connection.number)
        if known is None or not _is_same_stream(known, connection):
            begun[connection.number] = connection
            if len(begun) > _CONNECTIONS_MAX:
                begun.popitem(last=False)
            return ""
        return f"{COPY}{known.source} → {known.target}"

    def export(self) -> list[tuple[Any, ...]]:
        """The connections known, for `resume`."""
        return [tuple(each) for each in self._begun.values()]

    def resume(self, state: list[object]) -> None:
        """Restore what `export` gave. Raises DecodeError for anything else."""
        for row in state:
            connection = resume_begun(row)
            self._begun[connection.number] = connection


class CopiesInSplit(ConnectionCopies):
    """Knows the connections of one split that have just begun, and notes what the other splits need of them.

    `found`: copies → what they are copies of. `began_ns`: the time of the first packet.
    """

    __slots__ = ("_first", "began_ns", "found")

    def __init__(self) -> None:
        super().__init__()
        self.began_ns = 0
        self.found: dict[_Identity, str] = {}
        self._first: list[BegunConnection] = []

    def describe_original_of(self, connection: BegunConnection) -> str:
        """`copy of CLIENT → BROKER` for a copy; a new connection is known from now on."""
        original = super().describe_original_of(connection)
        if original and len(self.found) < _CONNECTIONS_MAX:
            self.found[_identity_of_connection(connection)] = original
        if connection.time_ns - self.began_ns <= _APART_NS and len(self._first) < _CONNECTIONS_MAX:
            self._first.append(connection)
        return original

    def add_undelivered_connections(self, connections: Iterable[Connection]) -> None:
        """Add the first bytes of both halves of connections of which reassembly has given none yet."""
        for connection in connections:
            halves = (connection.first, connection.second)
            if any(half.started for half in halves):
                continue
            for half in halves:
                held = next((each for each in half.held if each[5]), None)
                if held is not None:
                    self._add_undelivered_half(half, held)

    def _add_undelivered_half(self, half: Half, held: Entry) -> None:
        _, end, time_ns, packet, _, data, _ = held
        for follows in half.held:
            if follows[0] == end:
                data, end = data + follows[5], follows[1]
        others = [each[0] for each in half.peer.held if each[5]]
        numbers = half.held[0][0] & MASK, others[0] & MASK if others else 0
        if len(data) >= _COMPARED and not _are_complementary_numbers(*numbers) and len(self._first) < _CONNECTIONS_MAX:
            self._first.append(
                BegunConnection(*numbers, time_ns, packet, data[:_COMPARED], half.source, half.peer.source)
            )

    def list_possible_copies_in_neighbours(self) -> list[BegunConnection]:
        """The connections that may be copies, or have copies, in the splits before and behind."""
        return list(dict.fromkeys([*self._first, *self._begun.values()]))


class CopiesOfSplits(ConnectionCopies):
    """Knows the copies of a whole capture, by what its splits have found, and by the connections at their borders."""

    __slots__ = ("_found", "_missed")

    def __init__(self, begun: Iterable[BegunConnection], found: Mapping[_Identity, str]) -> None:
        super().__init__()
        self._found = dict(found)
        self._missed: set[_Identity] = set()  # of both directions
        for each in sorted(begun, key=attrgetter("time_ns", "packet")):
            original = super().describe_original_of(each)
            if original != found.get(_identity_of_connection(each), ""):
                self._found[_identity_of_connection(each)] = original
                self._missed.add((each.source, each.target, each.number))
                self._missed.add((each.target, each.source, each.peer_number))

    def describe_original_of(self, connection: BegunConnection) -> str:
        """`copy of CLIENT → BROKER` for a copy."""
        return self._found.get(_identity_of_connection(connection), "")

    def is_missed_by_split(self, key: bytes, first: int) -> bool:
        """Whether a connection is a copy that its split did not see; `first`: the number of its first byte."""
        return bool(self._missed) and (*format_endpoints(key), first) in self._missed


def _identity_of_connection(connection: BegunConnection) -> _Identity:
    return connection.source, connection.target, connection.number


def resume_begun(row: object) -> BegunConnection:
    return BegunConnection(*state_fields(row, int, int, int, int, bytes, str, str))


def _are_complementary_numbers(one: int, other: int) -> bool:
    """Whether one sequence number is the complement of the other, as in files of `kw proxy -w`: none was drawn."""
    return (one + other + 1) & MASK in _COMPLEMENTS


def _is_copy_with_chosen_numbers(known: BegunConnection, other: BegunConnection) -> bool:
    """Whether connections whose numbers a program chose are copies: a translation of the client's host alone, at once.

    Another program may begin many connections with the same numbers: so one end and both ports have to be the same, and
    the numbers are not 0 and 1, from which the least that writes packets counts.
    """
    (host, _, port), (its_host, _, its_port) = (each.source.rpartition(":") for each in (known, other))
    (peer, _, peer_port), (its_peer, _, its_peer_port) = (each.target.rpartition(":") for each in (known, other))
    return (
        abs(other.time_ns - known.time_ns) <= _AT_ONCE_NS
        and known.peer_number == other.peer_number
        and min(known.number, known.peer_number) > 1
        and (port, peer_port) == (its_port, its_peer_port)
        and (host == its_host) != (peer == its_peer)
    )


def _is_same_stream(known: BegunConnection, other: BegunConnection) -> bool:
    if abs(other.time_ns - known.time_ns) > _APART_NS or other.data != known.data:
        return False
    if known.peer_number != other.peer_number and known.peer_number and other.peer_number:
        return False
    if max(known.number, known.peer_number) < _DRAWN_LEAST and not _is_copy_with_chosen_numbers(known, other):
        return False
    hosts, its = ([end.rpartition(":")[0] for end in (each.source, each.target)] for each in (known, other))
    return hosts != its
