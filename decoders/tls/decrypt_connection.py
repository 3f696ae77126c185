"""One TLS connection: ciphertext of both directions in, application data out.

Keys are counted in *epochs*. In TLS 1.3 a direction goes through them one by one; a FINISHED message, the end of early
data or a key update says that the next one begins, and record numbers begin again at 0. TLS 1.2 has two epochs, with a
change of cipher between them:

```
TLS 1.3   PLAIN ─ hello ─► [EARLY ─ end of early data ─►] HANDSHAKE ─ finished ─► APPLICATION ─ key update ─► +1 …
TLS 1.2   PLAIN ─ change of cipher ─────────────────────────────────────────────► APPLICATION
```

A record carries neither its number nor its epoch. After a hole both are found by trying: the numbers that so many
missing bytes may have used up, in this epoch and the following ones (`_search`). A match is certain, for records are
authenticated. Where the size of all records in the hole is known, the size of the missing content is known too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from decoders.errors import Malformed
from decoders.limits import TLS_ALERTS_MAX, TLS_SEARCH_MAX, TLS_TRIES_MAX, TLS_UPDATED_SEARCH_MAX, TLS_UPDATES_MAX
from decoders.tcp.connection_and_halves import Connection, Half
from decoders.tcp.stream_chunks import Chunk, Gap, Retransmission, Why
from decoders.tls.cipher_suites import find_suite
from decoders.tls.key_log import APPLICATION, EARLY, HANDSHAKE, PLAIN, KeyLog, SecretOrigin, TlsSessions, secret_labels
from decoders.tls.read_handshake import (
    ALERTS,
    CERTIFICATE,
    CLIENT_HELLO,
    ENCRYPTED_EXTENSIONS,
    END_OF_EARLY_DATA,
    FINISHED,
    KEY_UPDATE,
    NEW_SESSION_TICKET,
    SERVER_HELLO,
    TLS_1_2,
    TLS_1_3,
    VERSIONS,
    read_certificate,
    read_certificate_facts,
    read_client_hello,
    read_encrypted_extensions,
    read_server_hello,
    read_session_ticket,
)
from decoders.tls.tls_facts import TlsFacts
from decoders.tls.tls_records import HEADER_SIZE, RECORD_HEADER, RECORD_MAX, TlsSide, pack_chunk_data, unpack_chunk_data
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.tls.record_ciphers import Opened, RecordCipher

    RecordKey = tuple[int, int, RecordCipher]  # epoch and number of a record, and the cipher that opens it

__all__ = ["NO_START", "TlsConnection"]

# Types of records.
CHANGE_CIPHER: Final = 20
ALERT: Final = 21
HANDSHAKE_RECORD: Final = 22
APPLICATION_DATA: Final = 23
HEARTBEAT: Final = 24

# Where a record may begin in bytes whose record boundaries are not known.
_HEADER_MARK: Final = re.compile(rb"[\x14-\x18]\x03\x03[\x00-\x48]")
# The smallest record of TLS 1.3 or of an AEAD: header, tag, content type.
_RECORD_MIN: Final = HEADER_SIZE + 17
# The largest record without compression, by version (RFC 8446, 5.2; RFC 5246, 6.2.3).
_RECORD_SIZES: Final = {TLS_1_2: HEADER_SIZE + (1 << 14) + 1024, TLS_1_3: HEADER_SIZE + (1 << 14) + 256}
_SAVED: Final = (
    *("phase", "client_first", "client_random", "server_random", "session_id", "version", "suite_number"),
    *("encrypt_then_mac", "early_pending", "retried", "impatient", "since_ns", "waiting_size", "stalled_first"),
    *("ticket", "given_ticket", "lacking"),
)
# What happens to incoming bytes: they are read, they wait for a key, they are only counted.
Phase = Literal["open", "waiting", "over"]

NO_KEY: Final = "the key log has no key of it"
WRONG_KEY: Final = "the key in the key log does not fit"
NO_START: Final = "the start is missing"
# Why a direction is not read any further.
_KEYLESS: Final[Why] = "keyless"
_RENEGOTIATED: Final[Why] = "renegotiated"
DAMAGED: Final = "records are missing or damaged"


class TlsConnection:
    """One TLS connection, fed from its first hello on; the chunks that it gives go to `out`."""

    __slots__ = ("_sides", "client", "connection", "facts", "keys", "out", "server", "sessions", "waiting", *_SAVED)

    def __init__(
        self, connection: Connection, client: Half, keys: KeyLog, time_ns: int, sessions: TlsSessions | None = None
    ) -> None:
        keys.ensure_read()
        self.connection = connection
        self.keys = keys
        self.sessions = TlsSessions() if sessions is None else sessions
        self.out: list[Chunk] = []
        self.facts = TlsFacts(time_ns)
        self.client = TlsSide(client)
        self.server = TlsSide(client.peer)
        self.phase: Phase = "open"
        self.client_first = client is connection.first
        self.client_random = b""
        self.server_random = b""
        self.session_id = b""
        self.ticket = b""  # the digest of the ticket that the client showed
        self.given_ticket = b""  # the digest of the ticket that the server gave
        self.lacking = -1  # how many of its secrets were known when a needed one was missing; -1: none was
        self.version = 0  # chosen by the server; 0 before
        self.suite_number = 0
        self.encrypt_then_mac = False
        self.early_pending = False  # it is not known yet whether the server takes early data
        self.retried = False
        self.impatient = False  # it waits for no key any more
        self.since_ns = 0  # the time at which it began to wait for a key
        self.waiting: list[Chunk] = []
        self.waiting_size = 0
        self.stalled_first = True  # the side that waits for a key is `connection.first`
        self._sides = {self.client_first: self.client, not self.client_first: self.server}

    def feed(self, chunk: Chunk) -> None:
        """Take the next chunk of the connection."""
        half, time_ns, packet, data = chunk
        size = len(data) if isinstance(data, bytes) else data.size if isinstance(data, Gap) else 0
        self.facts.size += size
        if self.phase == "waiting":
            self.waiting.append(chunk)
            self.waiting_size += size
            return
        side = self._sides[half is self.connection.first]
        if self.phase == "over" or side.dead:
            if size == HEADER_SIZE + 2 and not side.unread and isinstance(data, bytes) and data[0] == ALERT:
                self._handle_alert(side, data[HEADER_SIZE:])  # a side that has no keys yet
            side.unread += size
            return
        if isinstance(data, bytes):
            side.add_bytes(time_ns, packet, data)
            if side.have >= side.need and not side.held:
                self._process_buffered_records(side)
                self._resume_other_side(side)
        elif isinstance(data, Gap):
            self._take_gap(side, data)
        elif isinstance(data, Retransmission):
            again = side.find_retransmission(data.at, data.size)
            if again is not None:
                self.out.append((half, time_ns, packet, again))

    def close(self, time_ns: int, packet: int) -> None:
        """End the connection before its Close chunk: give the gaps for the bytes that were not read."""
        if self.phase == "waiting":
            self.retry_missing_keys(keep_waiting=False)
        if self.early_pending:
            self._resolve_early_data(accepted=False, known=False)
        if not self.facts.opened:
            self._note_why_not_decrypted()
            self.facts.note_alert_by_size(self.client.unread)
            return
        for side in (self.client, self.server):
            unread = side.unread
            if side.searching and not side.silent:
                unread += side.place + side.have - side.lost_at if side.lost_at >= 0 else side.have
            if unread:
                why = side.why if side.why in (_KEYLESS, _RENEGOTIATED) else "encrypted"
                self.out.append((side.half, time_ns, packet, Gap(unread, why)))

    def retry_missing_keys(self, *, keep_waiting: bool) -> None:
        """Try again where a key was missing; unless `keep_waiting`, the connection does not wait for keys any more."""
        self.phase = "open"
        self.impatient = self.impatient or not keep_waiting
        waiting, self.waiting, self.waiting_size = self.waiting, [], 0
        size = self.facts.size
        stalled = self._sides[self.stalled_first]
        for side in (stalled, self.server if stalled is self.client else self.client):
            if self.phase == "open":
                self._process_buffered_records(side)
                self._resume_other_side(side)
        for chunk in waiting:
            self.feed(chunk)
        self.facts.size = size  # the waiting chunks were counted when they came

    def _note_why_not_decrypted(self) -> None:
        """Note why nothing was decrypted, unless a reason is noted already."""
        if self.facts.problem:
            return
        if not self.server.hello:
            return  # nobody answered: there is nothing to decrypt
        if not self.client.hello:
            self.facts.problem = f"{NO_START}: no ClientHello in the capture"
        elif self.client.searching or self.server.searching or self.client.dead or self.server.dead:
            self.facts.problem = DAMAGED if self._find_epoch_cipher(self.server, APPLICATION) else self._why_no_key()

    def _resume_other_side(self, side: TlsSide) -> None:
        """Go on with the other side, which may have waited for a message of this side."""
        other = self.server if side is self.client else self.client
        if self.phase == "open" and not other.held and other.have >= other.need:
            self._process_buffered_records(other)

    # Records.

    def _process_buffered_records(self, side: TlsSide) -> None:
        """Take the whole records among the buffered bytes of a side."""
        if side.held or side.dead or self.phase != "open" or side.have < side.need or not side.parts:
            return
        buf = side.take_buffer()
        view = memoryview(buf)
        size, at, need = len(buf), 0, HEADER_SIZE
        while True:
            if side.searching:
                at = self._search_record_that_opens(side, buf, view, at)
                if side.searching or side.dead:
                    need = side.need
                    break
                continue
            if size - at < HEADER_SIZE:
                break
            kind, version, length = RECORD_HEADER.unpack_from(buf, at)
            if not CHANGE_CIPHER <= kind <= HEARTBEAT or version >> 8 != 3 or length > RECORD_MAX:
                self._lose_record_and_search(side, side.place + at, 0, synced=False)
                continue
            end = at + HEADER_SIZE + length
            if end > size:
                need = end - at
                break
            if not self._try_take_record(side, buf, view, at, end):
                need = end - at
                break
            at = end
            if self._is_side_over(side):
                break
        if self._is_side_over(side):
            side.unread += size - at
            at, need = size, HEADER_SIZE
        side.keep_rest(buf, at, need)

    def _is_side_over(self, side: TlsSide) -> bool:
        return side.dead or self.phase == "over"

    def _try_take_record(self, side: TlsSide, buf: bytes, view: memoryview, at: int, end: int) -> bool:
        """Take one record; False where it has to wait."""
        if side.epoch == PLAIN:
            return self._try_take_plain_record(side, buf, at, end)
        kind = buf[at]
        if self.version == TLS_1_3 and kind != APPLICATION_DATA:
            # A change of cipher for the sake of middleboxes, or an alert of a side that has no keys yet.
            if kind == ALERT and end - at == HEADER_SIZE + 2:
                self._handle_alert(side, buf[at + HEADER_SIZE : end])
            return True
        cipher = side.cipher
        if cipher is None:
            cipher = side.cipher = self._find_epoch_cipher(side, side.epoch)
            if cipher is None:
                return self._try_record_without_key(side, buf, view, at, end)
        opened = cipher.open_record(side.number, buf[at : at + HEADER_SIZE], view[at + HEADER_SIZE : end])
        if opened is None:
            self._handle_unopened_record(side, at, end)
            return True
        side.number += 1
        side.opened = True
        content, data, size = opened
        if content == APPLICATION_DATA:
            self.facts.opened = True
            if size:
                side.append_decrypted_content(self.out, data, size, at, end, at + HEADER_SIZE + cipher.ahead)
        else:
            self._handle_message_record(side, content, data[:size], at)
        return True

    def _try_take_plain_record(self, side: TlsSide, buf: bytes, at: int, end: int) -> bool:
        kind = buf[at]
        body = buf[at + HEADER_SIZE : end]
        if kind == HANDSHAKE_RECORD:
            side.discards = False
            self._handle_message_record(side, kind, body, at)
        elif kind == ALERT and len(body) == 2:
            self._handle_alert(side, body)
        elif kind == CHANGE_CIPHER:
            if side is self.server and self.client.epoch == PLAIN and self.ticket and self.version == TLS_1_2:
                self.facts.resumed = True  # in a full handshake the client's comes first (RFC 5077, 3.1)
            if self.version and self.version != TLS_1_3:
                side.epoch, side.number, side.cipher = APPLICATION, 0, None
        elif kind == APPLICATION_DATA and side is self.client and not self.version:
            if side.discards:
                return True
            side.held = True  # early data: the ServerHello tells which key opens it
            return False
        elif kind == APPLICATION_DATA:
            self._lose_record_and_search(side, side.place + at, end - at, synced=True)
        return True

    def _handle_message_record(self, side: TlsSide, content_type: int, data: bytes, at: int) -> None:
        """Take a record that holds no application data."""
        if content_type == HANDSHAKE_RECORD:
            time_ns, _ = side.time_and_packet_of(at)
            for message, body in side.messages.feed(data):
                self._handle_handshake_message(side, message, body, time_ns)
        elif content_type == ALERT:
            self._handle_alert(side, data)
        elif content_type == CHANGE_CIPHER and self.version == TLS_1_2:
            self._end_side(side, _RENEGOTIATED)

    def _handle_alert(self, side: TlsSide, data: bytes) -> None:
        """Note an alert, unless it is close_notify."""
        if len(data) == 2 and data[1] and len(self.facts.alerts) < TLS_ALERTS_MAX:
            name, whose = ALERTS.get(data[1], str(data[1])), "client" if side is self.client else "server"
            self.facts.alerts.append(f"{'fatal ' if data[0] == 2 else ''}alert {name} from the {whose}")

    # Messages.

    def _handle_handshake_message(self, side: TlsSide, handshake_type: int, body: bytes, time_ns: int) -> None:
        if side.epoch == PLAIN and handshake_type == CLIENT_HELLO and side is self.client and not self.version:
            hello = read_client_hello(body)
            self.client_random, self.session_id = hello.random, hello.session_id
            self.ticket = TlsSessions.digest_ticket(hello.ticket)
            self.facts.take_client_hello(hello, time_ns)
            side.hello = True
        elif side.epoch == PLAIN and handshake_type == SERVER_HELLO and side is self.server and not self.version:
            self._handle_server_hello(body, time_ns)
        elif handshake_type == CERTIFICATE:
            self._handle_certificate(side, body)
        elif handshake_type == NEW_SESSION_TICKET and self.version == TLS_1_2 and side is self.server:
            self.given_ticket = TlsSessions.digest_ticket(read_session_ticket(body))
        elif self.version == TLS_1_3:
            self._change_epoch_by_message(side, handshake_type, body)

    def _handle_server_hello(self, body: bytes, time_ns: int) -> None:
        hello = read_server_hello(body)
        client, server = self.client, self.server
        if hello.retry:
            self.retried = True
            if self.facts.early_data:
                self.facts.early_data = "rejected"
            client.held, client.discards = False, True
            return
        self.facts.take_server_hello(hello, time_ns)
        self.version, self.suite_number = hello.version, hello.suite
        self.server_random = hello.random
        self.encrypt_then_mac = hello.encrypt_then_mac
        self.facts.resumed = hello.resumed or (
            hello.version != TLS_1_3 and bool(hello.session_id) and hello.session_id == self.session_id
        )
        self.session_id = hello.session_id
        server.hello = True
        self.facts.offered = ()
        if self.version == TLS_1_3:
            client.epoch = server.epoch = HANDSHAKE
            if self.facts.early_data == "offered":
                self.early_pending = client.held = True
                client.epoch = EARLY

    def _handle_certificate(self, side: TlsSide, body: bytes) -> None:
        der = read_certificate(body, self.version)
        facts = read_certificate_facts(der) if der else None
        if facts is not None and side is self.client:
            self.facts.client_certificate = facts
        elif facts is not None:
            self.facts.certificate = facts

    def _change_epoch_by_message(self, side: TlsSide, handshake_type: int, body: bytes) -> None:
        """Take a TLS 1.3 message that changes the epoch, or that answers the early data."""
        if handshake_type == ENCRYPTED_EXTENSIONS and side is self.server:
            self.facts.protocol, accepted = read_encrypted_extensions(body)
            if self.early_pending:
                self._resolve_early_data(accepted=accepted, known=True)
        elif handshake_type == END_OF_EARLY_DATA and side.epoch == EARLY:
            self._enter_epoch(side, HANDSHAKE)
        elif handshake_type == FINISHED and side.epoch == HANDSHAKE:
            self._enter_epoch(side, APPLICATION)
        elif handshake_type == KEY_UPDATE and side.epoch >= APPLICATION:
            self._enter_epoch(side, side.epoch + 1)

    @staticmethod
    def _enter_epoch(side: TlsSide, epoch: int) -> None:
        side.epoch, side.number, side.cipher = epoch, 0, None

    def _resolve_early_data(self, *, accepted: bool, known: bool) -> None:
        """Go on with the client's records, with or without early data; `known` is false where the server never said."""
        client = self.client
        self.early_pending = client.held = False
        if known:
            self.facts.early_data = "accepted" if accepted else "rejected"
        if not accepted:
            client.epoch = HANDSHAKE
            self._begin_record_search(client, quietly=known)

    # Keys.

    def _find_epoch_cipher(self, side: TlsSide, epoch: int) -> RecordCipher | None:
        """The cipher of a side's epoch; None where the suite is not read or the key log lacks the secret."""
        suite = find_suite(self.suite_number)
        keys, random = self.keys, self.client_random
        if not suite.kind or not random:
            return None
        # Imported here: runs without TLS do without `cryptography`.
        from decoders.tls.record_ciphers import find_traffic_secret, make_tls12_ciphers, make_tls13_cipher

        if self.version == TLS_1_2:
            master = self._find_master_secret()
            if master is None or len(self.server_random) != len(random) or suite.number >> 8 == 0x13:
                return None
            pair = make_tls12_ciphers(suite, master, random, self.server_random, encrypt_then_mac=self.encrypt_then_mac)
            return pair[0 if side is self.client else 1]
        if self.version != TLS_1_3 or suite.number >> 8 != 0x13:
            return None
        secret = find_traffic_secret(keys, suite, random, secret_labels(epoch, client=side is self.client))
        if secret is None:
            self.lacking = keys.count_secrets(random)
            return None
        return make_tls13_cipher(suite, secret)

    def _find_master_secret(self) -> bytes | None:
        """The master secret of TLS 1.2: of the connection, or of the session that it resumes; None where not known."""
        origin = self.secret_origin()
        master = origin.find_master_secret(self.keys)
        if master is None:
            self.lacking = self.keys.count_secrets(self.client_random)
            master = self.sessions.find_master_secret(origin.resumed, origin.time_ns, self.keys)
        for given in (self.session_id, self.given_ticket) if len(self.keys) else ():
            self.sessions.note_session(given, origin)
        return master

    def secret_origin(self) -> SecretOrigin:
        """The connection by what its secrets are found: client random, session id, and the identities it resumed by."""
        resumed = (self.ticket, self.session_id) if self.facts.resumed else ()
        return SecretOrigin(self.client_random, self.session_id, self.facts.hello_ns, resumed)

    def _try_record_without_key(self, side: TlsSide, buf: bytes, view: memoryview, at: int, end: int) -> bool:
        """Handle a record without a key: wait, search for a record that another key opens, or give up. False: wait."""
        if self._lacks_only_key() and self.keys.look_for_more_secrets():
            side.cipher = self._find_epoch_cipher(side, side.epoch)
            if side.cipher is not None:
                return self._try_take_record(side, buf, view, at, end)
        if self._can_wait_for_key():
            self.phase = "waiting"
            self.since_ns, _ = side.time_and_packet_of(at)
            self.stalled_first = side.half is self.connection.first
            return False
        if side.epoch == HANDSHAKE and self._find_epoch_cipher(side, APPLICATION) is not None:
            if self.early_pending and side is self.server:
                self._resolve_early_data(accepted=False, known=False)
            self._begin_record_search(side, quietly=True)
            side.spread += 1
        elif side.epoch == EARLY:
            self._lose_record_and_search(side, side.place + at, end - at, synced=True)
        elif self.facts.opened:
            self._end_side(side, _KEYLESS)
        else:
            self._stop_decrypting(self._why_no_key())
        return True

    def _can_wait_for_key(self) -> bool:
        return self.keys.grows and not self.impatient and self._lacks_only_key()

    def _lacks_only_key(self) -> bool:
        """Whether only a key is missing to decrypt the connection."""
        return (
            bool(self.client_random) and self.version in (TLS_1_2, TLS_1_3) and bool(find_suite(self.suite_number).kind)
        )

    def _why_no_key(self) -> str:
        if self.version not in (TLS_1_2, TLS_1_3):
            return f"{VERSIONS.get(self.version, 'this version')} is not read"
        if not find_suite(self.suite_number).kind:
            return "this cipher is not read"
        if not self.client_random:
            return f"{NO_START}: no ClientHello in the capture"
        return NO_KEY if len(self.keys) else ""

    def _stop_decrypting(self, problem: str) -> None:
        """Read nothing more of the connection, and note why."""
        self.facts.problem = self.facts.problem or problem
        self.phase = "over"
        for side in (self.client, self.server):
            side.messages.drop_message()

    def _handle_unopened_record(self, side: TlsSide, at: int, end: int) -> None:
        """Handle a record that its key does not open: the key is wrong, or the record is damaged."""
        if side.opened:
            self._lose_record_and_search(side, side.place + at, end - at, synced=True)
        elif self.facts.opened:
            self._end_side(side, _KEYLESS)
        else:
            self._stop_decrypting(WRONG_KEY)

    @staticmethod
    def _end_side(side: TlsSide, why: Why) -> None:
        side.dead, side.why = True, why

    # Holes.

    def _take_gap(self, side: TlsSide, gap: Gap) -> None:
        """Handle missing bytes of a side."""
        if not side.hello:
            whose = "ClientHello" if side is self.client else "ServerHello"
            self.facts.problem = f"{NO_START}: no {whose} in the capture"
            side.dead = True
            side.drop_buffer()
            if side is self.server:
                self._stop_decrypting(self.facts.problem)
            return
        if not self.server.hello:  # early data, or records after it
            side.drop_buffer()
            side.held = False
            side.dead = True
            return
        before = side.have
        left = 0
        known = False
        if side.searching:
            left = max(side.need - before, 0) if side.synced and not side.skip else side.skip
            known = side.synced and (before >= HEADER_SIZE or side.skip > 0)
        elif before >= HEADER_SIZE:
            left, known = side.need - before, True
        begun = side.place
        side.drop_buffer()
        side.why = gap.why
        self._lose_record_and_search(side, begun, gap.size, synced=False)
        side.place += gap.size
        if gap.why == "jump":
            side.lost_at, side.spread = -1, TLS_SEARCH_MAX
        elif known and left >= gap.size:
            side.synced, side.skip = True, left - gap.size
            side.need = 1 if side.skip else HEADER_SIZE

    def _lose_record_and_search(self, side: TlsSide, stream_place: int, size: int, *, synced: bool) -> None:
        """Begin or widen a search: the record at `stream_place` cannot be read; `size` bytes from there on are lost."""
        if not side.searching:
            side.lost_at = stream_place
            self._begin_record_search(side, quietly=False)
        side.synced = synced
        side.skip = 0
        side.spread += size // _RECORD_MIN + 1

    def _begin_record_search(self, side: TlsSide, *, quietly: bool) -> None:
        side.searching, side.synced, side.silent = True, True, quietly
        side.skip = side.spread = side.tries = 0
        if quietly:
            side.lost_at = -1
        side.messages.drop_message()

    def _search_record_that_opens(self, side: TlsSide, buf: bytes, view: memoryview, at: int) -> int:
        """Search from `at` on for a record that opens; the offset after it, or that up to which bytes are skipped.

        Sets `need` of the side where more bytes are needed.
        """
        size = len(buf)
        skip = min(side.skip, size - at)
        at += skip
        side.skip -= skip
        if side.skip:
            side.need = 1
            return at
        while not side.dead:
            if not side.synced:
                found = _HEADER_MARK.search(buf, at)
                if found is None:
                    at = max(at, size - HEADER_SIZE + 1)
                    side.need = HEADER_SIZE
                    return at
                at = found.start()
            side.need = HEADER_SIZE
            if size - at < HEADER_SIZE:
                return at
            kind, version, length = RECORD_HEADER.unpack_from(buf, at)
            end: int = at + HEADER_SIZE + length
            if not CHANGE_CIPHER <= kind <= HEARTBEAT or version >> 8 != 3 or length > RECORD_MAX:
                side.synced = False
                at += 1
                continue
            if end > size:
                side.need = end - at
                return at
            if kind == CHANGE_CIPHER and length == 1:
                if self.version != TLS_1_3 and side.epoch == PLAIN:
                    self._enter_epoch(side, APPLICATION)
                    side.searching = False
                    return end
            elif self._try_open_record_after_hole(side, buf, view, at, end):
                return end
            else:
                side.spread += 1
            at = end if side.synced else at + 1
        return at

    def _possible_record_numbers(self, side: TlsSide, stream_place: int) -> list[tuple[int, range]]:
        """The epochs and record numbers that the record at `stream_place`, which follows a hole, may have."""
        epoch = side.epoch
        count = min(side.spread, TLS_SEARCH_MAX) + 1
        least = 0  # records that the missing bytes must hold
        if side.lost_at >= 0 and self.version in _RECORD_SIZES:
            least = (stream_place - side.lost_at) // _RECORD_SIZES[self.version]
        first = side.number + least
        if self.version != TLS_1_3:
            return [(APPLICATION, range(first, first + count) if epoch == APPLICATION else range(count))]
        found = [(epoch, range(first, first + count))]
        if epoch < APPLICATION:
            behind = (HANDSHAKE, APPLICATION) if epoch == EARLY else (APPLICATION,)
            return found + [(each, range(count)) for each in behind]
        found.append((epoch + 1, range(count)))
        few = range(min(count, TLS_UPDATED_SEARCH_MAX))
        return found + [(epoch + updates, few) for updates in range(2, min(side.spread, TLS_UPDATES_MAX) + 1)]

    def _try_open_record_after_hole(self, side: TlsSide, buf: bytes, view: memoryview, at: int, end: int) -> bool:
        """Try to open a record with all keys and numbers that it may have."""
        header, body = buf[at : at + HEADER_SIZE], view[at + HEADER_SIZE : end]
        for epoch, numbers in self._possible_record_numbers(side, side.place + at):
            cipher = side.cipher if epoch == side.epoch and side.cipher else self._find_epoch_cipher(side, epoch)
            if cipher is None:
                continue
            if epoch == side.epoch:
                side.cipher = cipher
            for number in numbers:
                opened = cipher.open_record(number, header, body)
                if opened is not None:
                    self._resume_at_record(side, (epoch, number, cipher), opened, at, end)
                    return True
            side.tries += len(numbers)
        if side.tries > TLS_TRIES_MAX:
            side.dead = True
            if side.lost_at >= 0:
                side.unread += side.place + at - side.lost_at
        return False

    def _resume_at_record(self, side: TlsSide, record_key: RecordKey, opened: Opened, at: int, end: int) -> None:
        """Go on at a record that opened after a hole: give the gap before it, then its content."""
        epoch, number, cipher = record_key
        if not side.silent:
            self._give_gap_before_record(side, record_key, at)
        side.epoch, side.number, side.cipher = epoch, number + 1, cipher
        side.searching, side.opened = False, True
        side.tries = side.spread = 0
        side.lost_at = -1
        content, data, size = opened
        if content != APPLICATION_DATA:
            self._handle_message_record(side, content, data[:size], at)
            return
        self.facts.opened = True
        if size:
            side.mark = 0
            side.append_decrypted_content(self.out, data, size, at, end, at + HEADER_SIZE + cipher.ahead)

    def _give_gap_before_record(self, side: TlsSide, record_key: RecordKey, at: int) -> None:
        """Give the gap in the application data before the record at `at`, where there may be one."""
        epoch, number, cipher = record_key
        time_ns, packet = side.time_and_packet_of(at)
        # Up to this record number the application has sent nothing: in TLS 1.2 the Finished message has number 0.
        first = 1 if self.version == TLS_1_2 else 0
        handshake = epoch == HANDSHAKE or (side.epoch < APPLICATION and epoch == APPLICATION and number <= first)
        if handshake and side.epoch != EARLY:
            return
        if epoch == side.epoch and cipher.overhead >= 0 and side.lost_at >= 0:
            records = number - side.number
            size = side.place + at - side.lost_at - records * (HEADER_SIZE + cipher.overhead)
            if size >= 0:
                if size:
                    self.out.append((side.half, time_ns, packet, Gap(size, cast(Why, side.why))))
                    side.plain += size
                return
        self.out.append((side.half, time_ns, packet, Gap(0, "encrypted")))

    # State.

    def missing_secrets(self) -> list[Any] | None:
        """Client random, number of known secrets, resumed identities, hello time; None where no secret was missing."""
        if self.lacking < 0:
            return None
        return [self.client_random, self.lacking, list(self.secret_origin().resumed), self.facts.hello_ns]

    def export(self) -> list[Any]:
        """The connection as built-in values, without a key, for `make_resumed`."""
        first = self.connection.first
        waiting = [
            [half is first, time_ns, packet, pack_chunk_data(data)] for half, time_ns, packet, data in self.waiting
        ]
        saved = [getattr(self, name) for name in _SAVED]
        return [saved, self.facts.export(), self.client.export(), self.server.export(), waiting]

    @classmethod
    def make_resumed(cls, state: object, connection: Connection, keys: KeyLog, sessions: TlsSessions) -> TlsConnection:
        """The connection whose `export` gave `state`. Raises DecodeError when it is something else."""
        saved, facts, client, server, waiting = state_fields(state, list, list, list, list, list)
        if len(saved) != len(_SAVED) or not isinstance(saved[1], bool) or saved[0] not in ("open", "waiting", "over"):
            raise Malformed("a saved TLS connection of another kind")
        self = cls(connection, connection.first if saved[1] else connection.second, keys, 0, sessions)
        for name, value in zip(_SAVED, saved, strict=True):
            if type(value) is not type(getattr(self, name)):
                raise Malformed(f"a saved TLS connection with another {name}")
            setattr(self, name, value)
        self.facts = TlsFacts.make_resumed(facts)
        self.client.resume(client)
        self.server.resume(server)
        for row in waiting:
            first, time_ns, packet, data = state_fields(row, bool, int, int, bytes | list)
            half = connection.first if first else connection.second
            self.waiting.append((half, time_ns, packet, unpack_chunk_data(data)))
        return self
