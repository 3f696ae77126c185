"""Lines of NSS key logs in, secrets by client random out; and by session, for the connections that resume one.

A line is `LABEL <client random in hex> <secret in hex>` (draft-ietf-tls-keylogfile). Key logs are in the file that
`SSLKEYLOGFILE` names, and in the decryption secrets blocks of pcapng. Agents for Java write
`RSA Session-ID:<hex> Master-Key:<hex>` for TLS 1.2. No secret is ever shown.

A resumed connection of TLS 1.2 has the master secret of its session. The key log has no line for it where it names
secrets by session, or comes from the side that did not make the ticket. The connection that began the session is found
(`TlsSessions`) by the session id that both connections share, or by the ticket that the first one was given (RFC
5246, 7.3; RFC 5077):

```
connection 1   random A, given ticket T      key log: A
connection 2   shows T, given ticket U       U → connection 2 → T → connection 1 → A
connection 3   shows U
```

Sessions keep no secret, and tickets as digests.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from decoders.limits import (
    KEY_LOG_LINE_MAX,
    MIB,
    TLS_SECRETS_MAX,
    TLS_SECRETS_OF_SESSION_MAX,
    TLS_SESSIONS_MAX,
)
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import state_fields

__all__ = [
    *("APPLICATION", "EARLY", "HANDSHAKE", "MASTER_SECRET", "PLAIN", "SESSION_SECRET"),
    *("KeyLog", "KeyLogFeed", "SecretOrigin", "TlsSessions", "secret_labels"),
]

# Epochs of a direction of TLS 1.3; each key update adds another one after the last.
PLAIN: Final = 0
EARLY: Final = 1
HANDSHAKE: Final = 2
APPLICATION: Final = 3

MASTER_SECRET: Final = "CLIENT_RANDOM"
# The master secret, found by the server's session id instead of the client random.
SESSION_SECRET: Final = "Session-ID"
CLIENT_EARLY: Final = "CLIENT_EARLY_TRAFFIC_SECRET"
CLIENT_HANDSHAKE: Final = "CLIENT_HANDSHAKE_TRAFFIC_SECRET"
SERVER_HANDSHAKE: Final = "SERVER_HANDSHAKE_TRAFFIC_SECRET"
# The number of the generation is appended: 0 is the first, each key update makes the next.
CLIENT_TRAFFIC: Final = "CLIENT_TRAFFIC_SECRET_"
SERVER_TRAFFIC: Final = "SERVER_TRAFFIC_SECRET_"

_USED: Final = frozenset({MASTER_SECRET, CLIENT_EARLY, CLIENT_HANDSHAKE, SERVER_HANDSHAKE})
# Labels that say nothing about records: exporters, Encrypted Client Hello, pre-master secrets.
_UNUSED: Final = frozenset({"EXPORTER_SECRET", "EARLY_EXPORTER_SECRET", "ECH_SECRET", "ECH_CONFIG"})
_RSA: Final = frozenset({"RSA", "PMS_CLIENT_RANDOM"})
_RANDOM_SIZE: Final = 32
_MASTER_SIZE: Final = 48
_SESSION_ID: Final = "Session-ID:"
_MASTER_KEY: Final = "Master-Key:"
_SESSION_ID_MAX: Final = 32
# The sizes of the hashes of TLS 1.3's suites.
_TRAFFIC_SIZES: Final = frozenset({32, 48})


def secret_labels(epoch: int, *, client: bool) -> list[str]:
    """Labels of the secrets that lead to an epoch's: its own first, then those that need more and more key updates."""
    if epoch == EARLY:
        return [CLIENT_EARLY]
    if epoch == HANDSHAKE:
        return [CLIENT_HANDSHAKE if client else SERVER_HANDSHAKE]
    prefix = CLIENT_TRAFFIC if client else SERVER_TRAFFIC
    return [f"{prefix}{generation}" for generation in range(epoch - APPLICATION, -1, -1)]


class KeyLog:
    """The secrets of one run, from all sources; `version` grows with each new secret.

    `grows` says whether more may come, so that it is worth waiting for a key. `counts` are numbers of lines by outcome:
    `secrets`, `rsa` (pre-master secrets: not used), `unused` (labels of no use here), `unreadable`, `surplus` (beyond
    the secrets of one session); and `dropped`, the oldest sessions that had to go, since only the newest
    TLS_SECRETS_MAX are kept.

    `read_first` reads the key logs: most captures have no TLS, so it is called when the first TLS connection begins
    (`ensure_read`). `look_further` adds secrets from elsewhere, such as from behind the packets of a file: it takes a
    while, and is called once, when a secret is missing.
    """

    __slots__ = ("_order", "_secrets", "counts", "grows", "look_further", "read_first", "version")

    def __init__(self, *, grows: bool = False) -> None:
        self._secrets: dict[bytes, dict[str, bytes]] = {}
        self._order: deque[bytes] = deque()  # the keys of `_secrets`, the oldest first
        self.counts: Counter[str] = Counter()
        self.grows = grows
        self.read_first: Callable[[], None] | None = None
        self.look_further: Callable[[], None] | None = None
        self.version = 0

    def __repr__(self) -> str:
        return f"<KeyLog of {len(self._secrets)} sessions>"

    def ensure_read(self) -> None:
        """Call `read_first` unless it was called before."""
        if self.read_first is not None:
            self.read_first()
            self.read_first = None  # where reading failed, the next connection fails as well

    def add_lines(self, text: bytes) -> None:
        """Take over all lines of a text."""
        at = 0
        while at < len(text):  # a block of newlines alone has millions of lines
            end = text.find(b"\n", at + MIB) + 1 or len(text)
            for line in text[at:end].splitlines():
                self.add_line(line)
            at = end

    def add_line(self, line: bytes) -> None:
        """Take over one line; comments and empty lines are ignored."""
        line = line.strip(b" \t\r\n\v\f\0\xef\xbb\xbf")
        if line and not line.startswith(b"#"):
            self.counts[self._parse_and_count_line(line)] += 1

    def find_secret(self, label: str, client_random: bytes) -> bytes | None:
        """The secret with a label of a client random (SESSION_SECRET: of a session id); None where no line has it."""
        found = self._secrets.get(client_random)
        return None if found is None else found.get(label)

    def count_secrets(self, client_random: bytes) -> int:
        """The number of known secrets of a client random."""
        return len(self._secrets.get(client_random, ()))

    def look_for_more_secrets(self) -> bool:
        """Call `look_further` unless it was called before; whether new secrets were found."""
        look, self.look_further = self.look_further, None
        before = self.version
        if look is not None:
            look()
        return self.version > before

    def format_session_lines(self, client_random: bytes, session_id: bytes = b"") -> bytes:
        """The key log lines of one session, and none of another session."""
        found = self._secrets.get(client_random, {})
        lines = [f"{label} {client_random.hex()} {secret.hex()}\n" for label, secret in found.items()]
        master = self.find_secret(SESSION_SECRET, session_id)
        if master is not None and MASTER_SECRET not in found:
            lines.append(f"RSA {_SESSION_ID}{session_id.hex()} {_MASTER_KEY}{master.hex()}\n")
        return "".join(lines).encode()

    def __len__(self) -> int:
        return len(self._secrets)

    def _parse_and_count_line(self, line: bytes) -> str:
        """Take over one line; the key of `counts` under which it falls."""
        if len(line) > KEY_LOG_LINE_MAX:
            return "unreadable"
        parts = line.split()
        label = parts[0].decode("ascii", "replace")
        if label in _RSA:
            return self._parse_session_line(parts)
        if label in _UNUSED:
            return "unused"
        sizes = _secret_sizes(label)
        try:
            client_random, secret = (bytes.fromhex(part.decode("ascii")) for part in parts[1:])
        except ValueError:
            return "unreadable"
        if not sizes:
            return "unused"
        if len(client_random) != _RANDOM_SIZE or len(secret) not in sizes:
            return "unreadable"
        return self._put_secret(label, client_random, secret)

    def _parse_session_line(self, parts: list[bytes]) -> str:
        """Take over a line with a session id; all other lines labelled RSA hold pre-master secrets."""
        words = [part.decode("ascii", "replace") for part in parts[1:]]
        if len(words) != 2 or not words[0].startswith(_SESSION_ID) or not words[1].startswith(_MASTER_KEY):
            return "rsa"
        try:
            session_id = bytes.fromhex(words[0].removeprefix(_SESSION_ID))
            secret = bytes.fromhex(words[1].removeprefix(_MASTER_KEY))
        except ValueError:
            return "unreadable"
        if not 0 < len(session_id) <= _SESSION_ID_MAX or len(secret) != _MASTER_SIZE:
            return "unreadable"
        return self._put_secret(SESSION_SECRET, session_id, secret)

    def _put_secret(self, label: str, identity: bytes, secret: bytes) -> str:
        session = self._secrets.get(identity)
        if session is None:
            if len(self._secrets) >= TLS_SECRETS_MAX:
                # Not by next(iter()) of the dict, which passes over all that were removed.
                del self._secrets[self._order.popleft()]
                self.counts["dropped"] += 1
            session = self._secrets[identity] = {}
            self._order.append(identity)
        elif len(session) >= TLS_SECRETS_OF_SESSION_MAX and label not in session:
            return "surplus"
        if session.get(label) != secret:
            session[label] = secret
            self.version += 1
        return "secrets"


def _secret_sizes(label: str) -> frozenset[int]:
    """The sizes that a secret with this label may have; empty for a label that is not used."""
    if label == MASTER_SECRET:
        return frozenset({_MASTER_SIZE})
    if label in _USED:
        return _TRAFFIC_SIZES
    for prefix in (CLIENT_TRAFFIC, SERVER_TRAFFIC):
        generation = label.removeprefix(prefix)
        if generation != label and generation.isascii() and generation.isdigit():
            return _TRAFFIC_SIZES
    return frozenset()


class KeyLogFeed:
    """One source of key log lines that comes in pieces, such as a file that is written while it is read.

    `within`: the source begins somewhere in a line, which is passed over.
    """

    __slots__ = ("_rest", "_within", "key_log")

    def __init__(self, key_log: KeyLog, *, within: bool = False) -> None:
        self.key_log = key_log
        self._rest = b""
        self._within = within

    def feed(self, data: bytes) -> None:
        """Take over the lines that these bytes complete."""
        if self._within:
            _, newline, data = data.partition(b"\n")
            self._within = not newline
        whole, newline, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest[-KEY_LOG_LINE_MAX:] if newline else (self._rest + data)[-KEY_LOG_LINE_MAX:]
        if newline:
            self.key_log.add_lines(whole)

    def finish(self) -> None:
        """End the source: its last line needs no newline."""
        rest, self._rest = self._rest, b""
        self.key_log.add_lines(rest)


# Longer than any session id.
_DIGEST_SIZE: Final = 33
# The most resumptions of one session that are followed, each by the ticket that the one before was given.
_CHAIN_MAX: Final = 1000


class SecretOrigin(NamedTuple):
    """The client random and session id of a connection, the time of its hello, and the identities it resumed by."""

    client_random: bytes
    session_id: bytes
    time_ns: int
    resumed: tuple[bytes, ...] = ()

    def find_master_secret(self, keys: KeyLog) -> bytes | None:
        """The connection's master secret; None where the key log has no line for it."""
        return keys.find_secret(MASTER_SECRET, self.client_random) or keys.find_secret(SESSION_SECRET, self.session_id)


class TlsSessions:
    """Session ids and ticket digests, and the connection that gave each; the oldest go when there are too many."""

    __slots__ = ("_origins",)

    def __init__(self) -> None:
        self._origins: dict[bytes, SecretOrigin] = {}

    @staticmethod
    def digest_ticket(ticket: bytes) -> bytes:
        """The digest that stands for a ticket, which may be some KiB long; empty where there is no ticket."""
        from hashlib import blake2b  # most captures have no ticket

        return blake2b(ticket, digest_size=_DIGEST_SIZE).digest() if ticket else b""

    def note_session(self, identity: bytes, origin: SecretOrigin) -> None:
        """Note a session id or ticket digest that a connection gave; of several connections the earliest counts."""
        if not identity:
            return
        known = self._origins.get(identity)
        if known is None and len(self._origins) >= TLS_SESSIONS_MAX:
            del self._origins[next(iter(self._origins))]
        if known is None or origin.time_ns < known.time_ns:
            self._origins[identity] = origin

    def find_master_secret(self, identities: Sequence[bytes], time_ns: int, keys: KeyLog) -> bytes | None:
        """The master secret of the session that a connection at this time resumes; None where it is not known."""
        for origin in self._earlier_connections_of_session(identities, time_ns):
            found = origin.find_master_secret(keys)
            if found is not None:
                return found
        return None

    def format_lines_of_connection(self, origin: SecretOrigin, keys: KeyLog) -> bytes:
        """The key log lines that open this connection, and none of another connection."""
        lines = keys.format_session_lines(origin.client_random, origin.session_id)
        master = None if lines else self.find_master_secret(origin.resumed, origin.time_ns, keys)
        if master is not None:
            lines = f"{MASTER_SECRET} {origin.client_random.hex()} {master.hex()}\n".encode()
        return lines

    def _earlier_connections_of_session(self, identities: Sequence[bytes], time_ns: int) -> Iterator[SecretOrigin]:
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
        (rows,) = state_fields([state], dict)
        for identity, row in rows.items():
            client_random, session_id, time_ns, resumed = state_fields(row, bytes, bytes, int, list)
            by = tuple(state_fields(resumed, *(bytes for _ in resumed)))
            (given,) = state_fields([identity], bytes)
            self.note_session(given, SecretOrigin(client_random, session_id, time_ns, by))
