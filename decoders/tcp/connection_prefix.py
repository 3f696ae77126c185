"""What stands on a connection before its own bytes: a value that protocols/read_connection_prefix.py makes."""

from __future__ import annotations

from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import state_fields

__all__ = ["ConnectionPrefix"]


class ConnectionPrefix(NamedTuple):
    """What stood before a connection's own bytes, and is in none of its chunks.

    `protocol`: `PROXY 2`, `SOCKS 5`, `CONNECT` …, several with ` > ` between them. `client` and `target`: host:port of
    the client and of the other end as the prefix names them, empty where it does not. `sizes`: bytes of the side that
    sent it (the first half where `sender_first`) and of the other side. `time_ns`: of its first byte.
    """

    protocol: str
    client: str
    target: str
    sender_first: bool
    sizes: tuple[int, int]
    time_ns: int

    def size_of_half(self, *, first: bool) -> int:
        """The bytes of one half that belong to the prefix."""
        return self.sizes[first != self.sender_first]

    def describe(self, sender: str) -> str:
        """The prefix in one line; `sender` is the host:port that sent it."""
        named = f"client {self.client}" if self.client else ""
        way = f"{'from' if named else 'to'} {sender if named else self.target}" if named or self.target else ""
        return f"{self.protocol}: {' '.join(filter(None, (named, way)))}" if way else self.protocol

    def export(self) -> list[object]:
        """The fields as built-in values."""
        return list(self)

    @classmethod
    def make_resumed(cls, state: object) -> ConnectionPrefix:
        """The prefix of an `export`. Raises DecodeError when it is something else."""
        protocol, client, target, sender_first, sizes, time_ns = state_fields(state, str, str, str, bool, tuple, int)
        asked, answered = state_fields(sizes, int, int)
        return cls(protocol, client, target, sender_first, (asked, answered), time_ns)
