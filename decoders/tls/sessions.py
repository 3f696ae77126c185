"""Session ids and tickets of TLS 1.2 in, master secrets of the connections that resume them out.

A resumed connection has the master secret of its session. The key log has no line for it where it names secrets by
session, or comes from the side that did not make the ticket. The connection that began the session is found by the
session id that both connections share, or by the ticket that the first one was given (RFC 5246, 7.3; RFC 5077):

```
connection 1   random A, given ticket T      key log: A
connection 2   shows T, given ticket U       U → connection 2 → T → connection 1 → A
connection 3   shows U
```

No secret is kept here: tickets are kept as digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from decoders.limits import TLS_SESSIONS_MAX
from decoders.tls.key_log import MASTER_SECRET, SESSION_SECRET, KeyLog
from decoders.wire.pack import fields

__all__ = ["Origin", "Sessions", "ticket_identity"]

# Longer than any session id.
_DIGEST_SIZE: Final = 33
# The most resumptions of one session that are followed, each by the ticket that the one before was given.
_CHAIN_MAX: Final = 1000


class Origin(NamedTuple):
    """The client random and session id of a connection, the time of its hello, and the identities it resumed by."""

    client_random: bytes
    session_id: bytes
    time_ns: int
    resumed: tuple[bytes, ...] = ()

    def secret(self, keys: KeyLog) -> bytes | None:
        """The connection's master secret; None where the key log has no line for it."""
        return keys.secret(MASTER_SECRET, self.client_random) or keys.secret(SESSION_SECRET, self.session_id)


def ticket_identity(ticket: bytes) -> bytes:
    """The digest that stands for a ticket, which may be some KiB long; empty where there is no ticket."""
    from hashlib import blake2b  # most captures have no ticket

    return blake2b(ticket, digest_size=_DIGEST_SIZE).digest() if ticket else b""


class Sessions:
    """Session ids and ticket digests, and the connection that gave each; the oldest go when there are too many."""

    __slots__ = ("_origins",)

    def __init__(self) -> None:
        self._origins: dict[bytes, Origin] = {}

    def note(self, identity: bytes, origin: Origin) -> None:
        """Note a session id or ticket digest that a connection gave; of several connections the earliest counts."""
        if not identity:
            return
        known = self._origins.get(identity)
        if known is None and len(self._origins) >= TLS_SESSIONS_MAX:
            del self._origins[next(iter(self._origins))]
        if known is None or origin.time_ns < known.time_ns:
            self._origins[identity] = origin

    def secret(self, identities: Sequence[bytes], time_ns: int, keys: KeyLog) -> bytes | None:
        """The master secret of the session that a connection at this time resumes; None where it is not known."""
        for origin in self._before(identities, time_ns):
            found = origin.secret(keys)
            if found is not None:
                return found
        return None

    def lines(self, origin: Origin, keys: KeyLog) -> bytes:
        """The key log lines that open this connection, and none of another connection."""
        lines = keys.lines(origin.client_random, origin.session_id)
        master = None if lines else self.secret(origin.resumed, origin.time_ns, keys)
        if master is not None:
            lines = f"{MASTER_SECRET} {origin.client_random.hex()} {master.hex()}\n".encode()
        return lines

    def _before(self, identities: Sequence[bytes], time_ns: int) -> Iterator[Origin]:
        """The earlier connections of the session, the latest first."""
        for _ in range(_CHAIN_MAX):
            found = [self._origins[each] for each in identities if each in self._origins]
            origin = next((each for each in found if each.time_ns < time_ns), None)
            if origin is None:
                return
            yield origin
            identities, time_ns = origin.resumed, origin.time_ns

    def export(self) -> dict[bytes, list[object]]:
        """The state as built-in values, for `add`."""
        return {identity: [*origin[:3], list(origin.resumed)] for identity, origin in self._origins.items()}

    def add(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        (rows,) = fields([state], dict)
        for identity, row in rows.items():
            client_random, session_id, time_ns, resumed = fields(row, bytes, bytes, int, list)
            by = tuple(fields(resumed, *(bytes for _ in resumed)))
            (given,) = fields([identity], bytes)
            self.note(given, Origin(client_random, session_id, time_ns, by))
