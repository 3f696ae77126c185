"""Chunks of all connections in; the same chunks out, with application data in place of TLS ciphertext.

The problem. TLS begins like any connection, on any port. Its keys come from elsewhere and maybe late; a capture may
lack its beginning, or records in the middle.

The idea. What stands before a connection's own bytes (protocols/read_connection_prefix.py) is cut off, and kept as
`Connection.prefix`. The first bytes behind it tell whether the connection is TLS. The chunks of a TLS connection are
taken out of the stream, with or without keys; its facts are kept in `Connection.tls` for the row that reports it. Only
a connection whose two hellos are in the capture can be decrypted, and only with a line of the key log for its client
random:

```
chunk ─► Connection.tls?
           NOT_TLS          as it is
           None, TlsLook    first bytes: a hello? no ─► NOT_TLS (the beginning was not in the capture: look on)
                                         yes ─► TlsConnection
           TlsConnection    records (tls_records.py), keys (record_ciphers.py), epochs and holes
           (decrypt_connection.py)
                            no key yet, and the key log grows ─► its chunks wait, in their order
```

What always holds: all data that comes out was authenticated, so a wrong key gives nothing. A byte has the time and
packet number of the packet in which it came encrypted. Any cut of the input gives the same output, and so do export
and resume at any cut. The exported state holds no key: keys are looked up again.

What is given up: a connection without its beginning is reported, not decrypted. Ciphertext waits for its key only
within TLS_WAIT_MAX, TLS_WAIT_ALL_MAX and TLS_WAIT_NS. Records after a hole are found within TLS_SEARCH_MAX record
numbers. TLS 1.1 and older are not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from decoders.errors import DecodeError, Malformed, Truncated
from decoders.limits import PREFIX_ALL_MAX, TLS_WAIT_ALL_MAX, TLS_WAIT_MAX, TLS_WAIT_NS
from decoders.protocols.read_connection_prefix import may_begin_prefix, read_connection_prefix
from decoders.tcp.connection_and_halves import NOT_TLS, Connection
from decoders.tcp.stream_chunks import Chunk, Close, Gap
from decoders.tls.key_log import KeyLog, TlsSessions
from decoders.wire.state_serialization import add_fields_to_older_state, pack, state_fields, unpack

if TYPE_CHECKING:  # loaded with the first connection of TLS: most captures have none
    from decoders.tcp.connection_prefix import ConnectionPrefix
    from decoders.tls.decrypt_connection import TlsConnection

__all__ = ["Decryption", "export_tls_connection", "missing_secrets_of"]

# The first bytes of a hello: the header of a handshake record, and the message type.
_HELLO: Final = re.compile(rb"\x16\x03[\x00-\x04][\x00-\x48].[\x01\x02]", re.DOTALL)
_HELLO_SIZE: Final = 6
_HELLO_START: Final = b"\x16\x03"
# A record in the middle of a stream: its type, its version, its size.
_RECORD: Final = re.compile(rb"[\x14-\x17]\x03[\x01-\x03]([\x00-\x48].)", re.DOTALL)


class PossibleTlsConnection:
    """A connection that may be TLS: its first bytes, while they are too few to tell."""

    __slots__ = ("begun", "chunks", "connection", "fresh", "heads", "sender_first", "spoken")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.begun = connection.opened  # the first bytes of the connection are in the capture
        self.chunks: list[Chunk] = []
        self.heads = {True: b"", False: b""}
        self.fresh = True  # nothing of it was given, so that a prefix may stand before what comes
        self.sender_first: bool | None = None  # which side sends what may be a prefix
        self.spoken: dict[bool, list[bytes]] = {True: [], False: []}  # what both sides said, while that is open

    def join_bytes_of_side(self, *, first: bool) -> bytes:
        """All that one side said so far."""
        parts = self.spoken[first]
        parts[:] = [b"".join(parts)]
        return parts[0]


class Decryption:
    """The stage that decrypts TLS. Where `keys` may grow meanwhile (`KeyLog.grows`), ciphertext waits for its key."""

    def __init__(self, keys: KeyLog | None = None) -> None:
        self._keys = KeyLog() if keys is None else keys
        self._version = self._keys.version
        self._open: dict[int, TlsConnection | PossibleTlsConnection] = {}  # by connection number
        self._waiting: dict[int, TlsConnection] = {}
        self.sessions = TlsSessions()
        self.lacks: dict[int, list[Any]] | None = None  # of ended connections, by number; None: not collected
        self._held = 0  # bytes of ciphertext that wait
        self._prefix_held = 0  # bytes of what may be prefixes
        # Called with a connection that has a prefix, and the bytes of both of its sides so far, the sender's first.
        self.note_prefix: Callable[[Connection, bytes, bytes], None] | None = None
        self._out: list[Chunk] = []

    def feed(self, chunks: list[Chunk], now_ns: int = 0) -> list[Chunk]:
        """Take chunks; the chunks that are settled with these, by a new key, or because the time to wait is over."""
        if self._waiting:
            return self._feed_waiting(chunks, now_ns)
        odd = [index for index, chunk in enumerate(chunks) if chunk[0].connection.tls is not NOT_TLS]
        if not odd:
            return chunks
        out = self._out = []
        at = 0
        for index in odd:
            out += chunks[at:index]
            self._take_chunk(chunks[index])
            at = index + 1
        out += chunks[at:]
        return out

    def finish(self) -> list[Chunk]:
        """Close all connections after the last chunk; the chunks that were left."""
        self._out = []
        for state in list(self._open.values()):
            if isinstance(state, PossibleTlsConnection):
                self._out += state.chunks
            else:
                self._end_connection(state, state.facts.time_ns, 0)
        self._open.clear()
        return self._out

    def _feed_waiting(self, chunks: list[Chunk], now_ns: int) -> list[Chunk]:
        """Take chunks while ciphertext waits: data that a new key opens goes first."""
        out = self._out = []
        if self._keys.version != self._version:
            self._version = self._keys.version
            for state in list(self._waiting.values()):
                self._retry_connection(state, keep_waiting=True)
        for chunk in chunks:
            if self._waiting:
                self._end_expired_waits(chunk[1])
            self._take_chunk(chunk)
        self._end_expired_waits(now_ns)
        return out

    def _end_expired_waits(self, now_ns: int) -> None:
        """End the wait of connections that have waited too long for a key."""
        for state in list(self._waiting.values()):
            if now_ns - state.since_ns < TLS_WAIT_NS:
                break  # they are (nearly) in the order in which they began to wait
            self._retry_connection(state, keep_waiting=False)

    def _retry_connection(self, state: TlsConnection, *, keep_waiting: bool) -> None:
        del self._waiting[state.connection.number]
        self._held -= state.waiting_size
        state.out = self._out
        state.retry_missing_keys(keep_waiting=keep_waiting)
        self._held += state.waiting_size
        self._register_waiting(state)

    def _register_waiting(self, state: TlsConnection) -> None:
        """Register a connection where it waits; end a wait that is beyond the limits."""
        number = state.connection.number
        if state.phase != "waiting":
            return
        self._waiting[number] = state
        if state.waiting_size > TLS_WAIT_MAX:
            self._retry_connection(state, keep_waiting=False)
        elif self._held > TLS_WAIT_ALL_MAX:
            self._retry_connection(next(iter(self._waiting.values())), keep_waiting=False)

    def _take_chunk(self, chunk: Chunk) -> None:
        """Take a chunk of a connection that is, or may be, TLS."""
        half, time_ns, packet, data = chunk
        connection = half.connection
        state = connection.tls
        if state is NOT_TLS:
            self._out.append(chunk)
            return
        if state is None:
            state = connection.tls = self._open[connection.number] = PossibleTlsConnection(connection)
        if isinstance(data, Close):
            self._open.pop(connection.number, None)
            if isinstance(state, PossibleTlsConnection):
                self._end_prefix(state)
                self._set_whether_tls(state, NOT_TLS)
            else:
                self._end_connection(state, time_ns, packet)
            self._out.append(chunk)
        elif isinstance(state, PossibleTlsConnection):
            self._decide_whether_tls_by_chunk(state, chunk)
        else:
            self._feed_connection(state, chunk)

    def _feed_connection(self, state: TlsConnection, chunk: Chunk) -> None:
        before = state.waiting_size
        state.out = self._out
        state.feed(chunk)
        self._held += state.waiting_size - before
        if state.phase == "waiting":
            self._register_waiting(state)

    def _end_connection(self, state: TlsConnection, time_ns: int, packet: int) -> None:
        self._waiting.pop(state.connection.number, None)
        self._held -= state.waiting_size
        state.out = self._out
        state.close(time_ns, packet)
        lack = state.missing_secrets()
        if self.lacks is not None and lack is not None:
            self.lacks[state.connection.number] = lack

    # Recognition by the first bytes.

    def _decide_whether_tls_by_chunk(self, look: PossibleTlsConnection, chunk: Chunk) -> None:
        half, time_ns, _, data = chunk
        connection = half.connection
        if isinstance(data, Gap):
            look.begun = False
            self._end_prefix(look)
        if not isinstance(data, bytes):
            look.chunks.append(chunk)
            self._release_undecided_chunks(look)
            return
        if look.fresh and self._read_prefix_chunk(look, chunk, data):
            return
        first = half is connection.first
        head = look.heads[first] + data[:_HELLO_SIZE] if look.begun else data[:_HELLO_SIZE]
        if look.begun and len(head) < _HELLO_SIZE and _HELLO_START.startswith(head[: len(_HELLO_START)]):
            look.heads[first] = head
            look.chunks.append(chunk)
            return
        if _HELLO.match(head):
            from decoders.tls.decrypt_connection import TlsConnection
            from decoders.tls.read_handshake import CLIENT_HELLO

            client = half if head[_HELLO_SIZE - 1] == CLIENT_HELLO else half.peer
            begun_ns = look.chunks[0][1] if look.chunks else time_ns
            state = TlsConnection(connection, client, self._keys, begun_ns, self.sessions)
            if connection.prefix is not None:
                for side in (state.client, state.server):
                    side.place = connection.prefix.size_of_half(first=side.half is connection.first)
            chunks = [*look.chunks, chunk]
            connection.tls = self._open[connection.number] = state
            for each in chunks:
                self._feed_connection(state, each)
        elif look.begun:
            look.chunks.append(chunk)
            self._set_whether_tls(look, NOT_TLS)
        else:
            self._decide_whether_tls_midstream(look, chunk, data)

    def _read_prefix_chunk(self, look: PossibleTlsConnection, chunk: Chunk, data: bytes) -> bool:
        """Take a chunk for the prefix of a connection (read_connection_prefix.py); False where there is none."""
        first = chunk[0] is look.connection.first
        if look.sender_first is None and not may_begin_prefix(data, opened=look.begun):
            self._end_prefix(look)
            return False
        sender_first = look.sender_first = first if look.sender_first is None else look.sender_first
        look.spoken[first].append(data)
        self._prefix_held += len(data)
        asked, answered = look.join_bytes_of_side(first=sender_first), look.join_bytes_of_side(first=not sender_first)
        prefix = None
        try:
            begun_ns = look.chunks[0][1] if look.chunks else chunk[1]
            prefix = read_connection_prefix(
                asked, answered, opened=look.begun, sender_first=sender_first, time_ns=begun_ns
            )
        except Truncated:
            if self._prefix_held <= PREFIX_ALL_MAX:
                look.chunks.append(chunk)
                return True
        except DecodeError:
            pass
        self._end_prefix(look)
        chunks, look.chunks = [*look.chunks, chunk], []
        look.connection.prefix = prefix
        if prefix is not None and self.note_prefix is not None:
            self.note_prefix(look.connection, asked, answered)
        for each in chunks if prefix is None else _cut_prefix(chunks, prefix):
            self._take_chunk(each)
        return True

    def _end_prefix(self, look: PossibleTlsConnection) -> None:
        """Expect no prefix of a connection any more."""
        if look.fresh:
            look.fresh = False
            self._prefix_held -= sum(len(part) for parts in look.spoken.values() for part in parts)
            for parts in look.spoken.values():
                parts.clear()

    def _decide_whether_tls_midstream(self, look: PossibleTlsConnection, chunk: Chunk, data: bytes) -> None:
        """Look at a chunk of a connection whose beginning is not in the capture; it may start inside a record."""
        half, time_ns, _, _ = chunk
        look.chunks.append(chunk)
        if half.state is not None:
            self._set_whether_tls(look, NOT_TLS)  # it was recognised as something else
        elif _begins_with_tls_record(data):
            from decoders.tls.decrypt_connection import NO_START, TlsConnection

            state = TlsConnection(look.connection, half, self._keys, time_ns)
            state.facts.problem = f"{NO_START}: neither ClientHello nor ServerHello is in the capture"
            state.phase = "over"
            chunks, look.chunks = look.chunks, []
            self._set_whether_tls(look, state)
            for each in chunks:
                self._feed_connection(state, each)
        else:
            self._release_undecided_chunks(look)

    def _release_undecided_chunks(self, look: PossibleTlsConnection) -> None:
        """Give the held chunks of a connection whose beginning is missing: they decide nothing."""
        if not look.begun:
            self._out += look.chunks
            look.chunks = []

    def _set_whether_tls(self, look: PossibleTlsConnection, state: TlsConnection | bool) -> None:
        """Set whether a connection is TLS, and give its held chunks."""
        connection = look.connection
        connection.tls = state
        self._out += look.chunks
        look.chunks = []
        if isinstance(state, bool):
            self._open.pop(connection.number, None)
        else:
            self._open[connection.number] = state

    def is_missing_secret_known(self, missing_secrets: list[Any] | None) -> bool:
        """Whether a secret is known now that a connection lacked when it was read.

        `missing_secrets` is what `missing_secrets_of` gave then. Raises DecodeError when it is something else.
        """
        if missing_secrets is None:
            return False
        self._keys.ensure_read()
        client_random, count, resumed, time_ns = state_fields(missing_secrets, bytes, int, list, int)
        by = list(state_fields(resumed, *(bytes for _ in resumed)))
        return (
            self._keys.count_secrets(client_random) > count
            or self.sessions.find_master_secret(by, time_ns, self._keys) is not None
        )

    # State.

    def export(self) -> bytes:
        """The state between two feeds, for `resume`; it holds no key."""
        rows = [[number, export_tls_connection(state)] for number, state in self._open.items()]
        return pack([rows, self.sessions.export()])

    def resume(self, state: bytes, connections: Mapping[int, Connection]) -> None:
        """Go on where `export` was called; `connections` are the open ones by number, from the stage before.

        Raises DecodeError when the state is not valid.
        """
        rows, sessions = state_fields(unpack(state), list, dict)
        self.sessions.add(sessions)
        for connection in connections.values():
            connection.tls = NOT_TLS if connection.first.size or connection.second.size else None
        for row in rows:
            number, saved = state_fields(row, int, list)
            if number not in connections:
                raise Malformed("a saved connection that reassembly does not know")
            self.resume_connection(connections[number], saved)

    def resume_connection(self, connection: Connection, state: object) -> None:
        """Take over what `export_tls_connection` gave of a connection. Raises DecodeError when it is something else."""
        from decoders.tls.decrypt_connection import TlsConnection

        kind, saved = state_fields(state, str, list)
        try:
            if kind == "tls":
                found = TlsConnection.make_resumed(saved, connection, self._keys, self.sessions)
                if found.phase == "waiting":
                    self._waiting[connection.number] = found
                    self._held += found.waiting_size
                    self._version = -1  # keys may have come meanwhile
                connection.tls = self._open[connection.number] = found
                return
            look = connection.tls = self._open[connection.number] = _resume_undecided(saved, connection)
            self._prefix_held += sum(len(part) for parts in look.spoken.values() for part in parts)
        except (TypeError, ValueError) as problem:
            raise Malformed(f"no saved TLS connection: {problem}") from None


def missing_secrets_of(connection: Connection) -> list[Any] | None:
    """The secrets that a connection lacks, as `is_missing_secret_known` takes them; None where it lacks none."""
    state = connection.tls
    return (
        cast("TlsConnection", state).missing_secrets()
        if state and not isinstance(state, PossibleTlsConnection)
        else None
    )


def export_tls_connection(tls_state: object) -> list[Any] | None:
    """The state of a connection (`Connection.tls`) as built-in values; None where it is plain, or has no state."""
    if isinstance(tls_state, PossibleTlsConnection):
        from decoders.tls.tls_records import pack_chunk_data

        first = tls_state.connection.first
        chunks = [
            [half is first, time_ns, packet, pack_chunk_data(data)] for half, time_ns, packet, data in tls_state.chunks
        ]
        heads, spoken = tls_state.heads, [tls_state.join_bytes_of_side(first=first) for first in (True, False)]
        prefix = [tls_state.fresh, tls_state.sender_first, *spoken]
        return ["look", [tls_state.begun, heads[True], heads[False], chunks, prefix]]
    return ["tls", cast("TlsConnection", tls_state).export()] if tls_state else None


def _resume_undecided(state: object, connection: Connection) -> PossibleTlsConnection:
    from decoders.tls.tls_records import unpack_chunk_data

    look = PossibleTlsConnection(connection)
    state = add_fields_to_older_state(state, 4, 4, [False, None, b"", b""])
    begun, first_head, second_head, rows, prefix = state_fields(state, bool, bytes, bytes, list, list)
    look.fresh, look.sender_first, asked, answered = state_fields(prefix, bool, bool | None, bytes, bytes)
    look.spoken = {True: [asked], False: [answered]}
    look.begun, look.heads = begun, {True: first_head, False: second_head}
    for row in rows:
        first, time_ns, packet, data = state_fields(row, bool, int, int, bytes | list)
        look.chunks.append((connection.first if first else connection.second, time_ns, packet, unpack_chunk_data(data)))
    return look


def _cut_prefix(chunks: list[Chunk], prefix: ConnectionPrefix) -> list[Chunk]:
    """The chunks of a connection without its prefix."""
    left = {first: prefix.size_of_half(first=first) for first in (True, False)}
    found: list[Chunk] = []
    for half, time_ns, packet, data in chunks:
        first = half is half.connection.first
        if isinstance(data, bytes):
            cut = min(left[first], len(data))
            left[first] -= cut
            if cut < len(data):
                found.append((half, time_ns, packet, data[cut:]))
        else:
            found.append((half, time_ns, packet, data))
    return found


def _begins_with_tls_record(data: bytes) -> bool:
    """Whether a segment begins with a TLS record that fills it, or that another record follows."""
    found = _RECORD.match(data)
    if found is None:
        return False
    end = found.end() + int.from_bytes(found[1], "big")
    return end == len(data) or (end < len(data) and _RECORD.match(data, end) is not None)
