"""Segments of a capture in, the bytes that take the place of their payloads out: the first reading of `kw scrub`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import api_name
from decoders.capture.merge_captures import file_index_of_packet
from decoders.exchanges.body_reader import SIDES, Needs
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.protocol_facts.api_keys import ENVELOPE, FIND_COORDINATOR
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.scrubbing.replace_names import NameReplacer
from decoders.scrubbing.scrub_frames import Scrubber, harmless_request_start, harmless_size_field
from decoders.scrubbing.scrub_prefixes import scrub_prefix
from decoders.tcp.connection_and_halves import NOT_TLS, tls_facts_of
from decoders.tcp.stream_chunks import Chunk, Close, Gap, Retransmission, Segment
from kwcli.sniff.external_sort import BY_FILE, BY_PACKET, SortedRecords
from kwcli.sniff.packets_of_rows import LoggedConnection, LoggedEngine, SegmentLog

if TYPE_CHECKING:
    from decoders.capture.segments_of_cut_out_packets import TopicName
    from decoders.exchanges.exchange import Exchange, Settled
    from decoders.tcp.connection_and_halves import Connection, Half
    from decoders.tls.key_log import KeyLog

__all__ = [
    "FIN",
    "PAYLOAD",
    "PLAINTEXT",
    "PLAIN_SAYS",
    "RST",
    "SEQ",
    "DecryptedConnection",
    "FirstReading",
    "KeptFacts",
]

# Kinds of records by packet, and the layout of their contents.
PAYLOAD, PLAINTEXT = range(2)
SEQ: Final = Struct(">I")  # sequence number; then the bytes
PLAIN_SAYS: Final = Struct(">QBQ")  # number of the connection, side or ending, place; then the bytes
FIN, RST = 2, 3
_ENDINGS: Final = {"fin": FIN, "rst": RST}

# A record of TLS: its type, its version, its size.
_TLS_HEAD: Final = re.compile(rb"[\x14-\x18]\x03[\x00-\x04][\x00-\x48].", re.DOTALL)
_TLS_HEAD_SIZE: Final = 5
# After so many places of decrypted bytes, the places of which no row can come any more are dropped.
_PLAIN_LOGGED: Final = 10_000
_NONE: Final = -1
_MASK: Final = 0xFFFFFFFF

_KEY_AND_VERSION: Final = Struct(">hh")

# The frames of a request and of its response, None where there is none.
Frames = tuple[bytes | None, bytes | None]
# The facts of an exchange: times, ports, API, version, correlation id, sizes; then as text its two ends and errors.
_FACTS: Final = Struct(">QQQQHHiiqqq")


class KeptFacts:
    """The facts of exchanges that scrubbing promises to keep, in an order that does not depend on that of exchanges.

    With `names` the addresses of both ends are replaced by their pseudonyms, and correlation ids that spell text too.
    """

    def __init__(self, names: NameReplacer | None = None) -> None:
        self._names = names
        self._facts = SortedRecords(8)
        self.count = 0

    def add_exchange(self, row: Exchange, frames: Frames | None = None) -> None:
        """Count an exchange; `frames`: those that take the place of its own, where these lose more than their texts."""
        info = row.connection_info
        client, broker, correlation_id, key, version = (
            info.client,
            info.broker,
            row.correlation_id,
            row.api_key,
            row.api_version,
        )
        if self._names is not None:
            client, broker = self._names.replace_text("hosts", client), self._names.replace_text("hosts", broker)
            start = b""
            if row.is_orphan:
                start = _encode_size_field(row.response_size)
            elif key is not None and version is not None:
                start = harmless_request_start(
                    _encode_size_field(row.request_size) + _KEY_AND_VERSION.pack(key, version)
                )
                key, version = _KEY_AND_VERSION.unpack_from(start, 4)
            if correlation_id is not None:
                packed = correlation_id.to_bytes(4, "big", signed=True)
                packed = self._names.pseudonyms.harmless_correlation_id(packed, start)
                correlation_id = int.from_bytes(packed, "big", signed=True)
        status, codes = row.status, [(path, code) for path, code, _ in row.errors]
        if frames is not None and row.api_key is not None:
            unread, codes = _read_error_codes_of_frames(row, frames)
            status = "undecoded" if status == "complete" and unread else status
        facts = _FACTS.pack(
            row.time_ns,
            row.request_end_ns or 0,
            row.response_ns or 0,
            row.response_end_ns or 0,
            _parse_port_of_address(client),
            _parse_port_of_address(broker),
            _NONE if key is None else key,
            _NONE if version is None else version,
            _NONE if correlation_id is None else correlation_id,
            *map(_pack_frame_size, (row.request_size, row.response_size)),
        )
        errors = " ".join(f"{path}={error_name(code)}" for path, code in codes)
        words = f"{client} {broker} {row.outcome if key is None else api_name(key)} {status} {errors}"
        self._facts.add(facts + words.encode("utf-8", "surrogateescape"))
        self.count += 1

    def find_records_only_one_has(self, other: KeptFacts) -> Iterator[tuple[bytes | None, bytes | None]]:
        """The records of exchanges that only one of both has, each beside None: mine first, the other's second."""
        mine, theirs = iter(self._facts), iter(other._facts)
        first, second = next(mine, None), next(theirs, None)
        while first is not None or second is not None:
            if first == second:
                first, second = next(mine, None), next(theirs, None)
            elif second is None or (first is not None and first < second):
                yield first, None
                first = next(mine, None)
            else:
                yield None, second
                second = next(theirs, None)

    @staticmethod
    def time_and_outcome_of(facts_record: bytes) -> tuple[int, str]:
        """The time in nanoseconds of a record's exchange, and its API, or else its outcome."""
        return _FACTS.unpack_from(facts_record)[0], facts_record[_FACTS.size :].decode("utf-8", "replace").split(" ")[2]

    def close(self) -> None:
        """Delete the facts, with their temporary files."""
        self._facts.close()


def _read_error_codes_of_frames(row: Exchange, frames: Frames) -> tuple[bool, list[tuple[str, int]]]:
    """Whether one of the frames of an exchange cannot be decoded, and the error codes in them."""
    unread, codes = False, []
    for side, data in zip(SIDES, frames, strict=True):
        if data is not None:
            found = None if side in (row.extra or {}) else row._api_reader.project_side(side, data)
            unread |= found is None
            codes += (found and found[1]) or []
    return unread, codes


def _pack_frame_size(size: int | None) -> int:
    """The size of a frame in its facts."""
    return _NONE if size is None else int.from_bytes(harmless_size_field(_encode_size_field(size)), "big")


def _encode_size_field(size: int | None) -> bytes:
    """The size field of a frame; 0 where there is none."""
    return ((size or 0) & _MASK).to_bytes(4, "big")


def _parse_port_of_address(address: str) -> int:
    port = address.rpartition(":")[2]
    return int(port) & 0xFFFF if port.isdecimal() else 0


class DecryptedConnection:
    """A connection whose TLS was decrypted: `met` tells its packets, `client` and `broker` are its two ends.

    `sender` is who sent the client's packets: another one where a prefix names the client.
    """

    __slots__ = ("broker", "client", "met", "sender")

    def __init__(self, logged: LoggedConnection) -> None:
        self.met = logged
        self.client = ""
        self.sender = ""
        self.broker = ""


class _TlsRecordFinder:
    """Where the records of one direction of TLS begin."""

    __slots__ = ("next", "tail")

    def __init__(self) -> None:
        self.next: int | None = None  # place of the next header, None while it is not known
        self.tail = b""  # the bytes of that header that have come

    def find_record_headers(self, place: int, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The headers that are whole with these bytes, and their places; the bytes follow those before, or a gap."""
        if self.next is None or place - len(self.tail) > self.next:
            self.next, self.tail = place, b""
        begin, data = place - len(self.tail), self.tail + data
        while self.next is not None and self.next - begin + _TLS_HEAD_SIZE <= len(data):
            at = self.next - begin
            head = data[at : at + _TLS_HEAD_SIZE]
            if not _TLS_HEAD.match(head):
                self.next, self.tail = None, b""
                return
            yield self.next, head
            self.next += _TLS_HEAD_SIZE + int.from_bytes(head[3:], "big")
        self.tail = data[self.next - begin :] if self.next is not None and self.next - begin < len(data) else b""


class FirstReading:
    """The first reading. `placed` has the new bytes of payloads, by packet; all other bytes are overwritten.

    `tls`: connections that were decrypted, by addresses and ports, both ways. `counts`: `tls` connections that cannot
    be read, exchanges that were `decrypted`.
    """

    def __init__(self, names: NameReplacer, ports: frozenset[int] | None, keys: KeyLog) -> None:
        self.names = names
        self.scrubber = Scrubber(names)
        self.placed = SortedRecords(BY_FILE.size)
        self.tally = KeptFacts(names)
        self.tls: dict[bytes, list[DecryptedConnection]] = {}
        self.topics: list[TopicName] = []
        self.counts: Counter[str] = Counter()
        self._decrypted: dict[int, DecryptedConnection] = {}
        self._plain: dict[tuple[int, int], list[tuple[int, int, int]]] = {}  # place, size, packet of decrypted bytes
        self._plain_sizes: Counter[tuple[int, int]] = Counter()
        self._records: dict[Half, _TlsRecordFinder] = {}
        self._opens = False  # whether the last Envelope can still be opened
        self._over: list[int] = []  # connections that have ended, of which the last rows may still come
        self.log = SegmentLog(lambda _: None)
        self.engine: Engine = _ScrubEngine(self, ports=ports, needs=Needs(), keys=keys)

    def feed(self, segments: list[Segment]) -> None:
        """Decode segments, and note the new bytes of their payloads."""
        for number in self._over:
            self._decrypted.pop(number, None)
            for side in (0, 1):
                self._plain.pop((number, side), None)
                self._plain_sizes.pop((number, side), None)
        self._over.clear()
        self.log.log_segments(segments)
        for row in self.engine.feed(segments):
            self._scrub_exchange(row)

    def finish(self) -> None:
        """Settle what is open: no segment follows."""
        for row in self.engine.finish():
            self._scrub_exchange(row)

    def close(self) -> None:
        """Delete the temporary files of this reading."""
        self.placed.close()
        self.tally.close()

    def _scrub_exchange(self, row: Settled) -> None:
        if row.kind != "exchange":
            self.counts[row.reason] += 1
            return
        if row.envelope:
            self._count_enclosed_exchange(row)
            return
        met = self.log.find_connection(row.connection_info.number)
        assert met is not None  # it is forgotten when more segments are logged
        self.log.set_stream_bases(met, row.connection_info)
        client = met.side_index(row.connection_info.sender)
        lost = self.scrubber.count_lossy_frames
        request, response = self._scrub_frames_of_exchange(row)
        self.tally.add_exchange(row, (request, response) if self.scrubber.count_lossy_frames > lost else None)
        self._opens = row.api_key == ENVELOPE and request is not None and _holds_enclosed_message(row, request)
        decrypted = self._decrypted.get(met.number)
        self.counts["decrypted"] += decrypted is not None
        if decrypted is not None:
            info = row.connection_info
            decrypted.client, decrypted.sender, decrypted.broker = info.client, info.sender, info.broker
        if request is not None:
            self._place_bytes_of_frame(met, client, row.place, request, decrypted=decrypted is not None)
        if response is not None:
            self._place_bytes_of_frame(met, 1 - client, row.response_place, response, decrypted=decrypted is not None)

    def _scrub_frames_of_exchange(self, row: Exchange, depth: int = 0) -> Frames:
        """The frames that take the place of those of an exchange; `depth`: how many Envelopes are around it."""
        extra: dict[str, Any] = row.extra or {}
        request, response = row.request_raw, row.response_raw
        if row.is_sasl_token:
            request = None if request is None else self.scrubber.scrub_token_frame(request)
            response = None if response is None else self.scrubber.scrub_token_frame(response)
            return request, response
        if request is not None:
            assert row.api_key is not None
            assert row.api_version is not None
            whole = "request" not in extra
            request = self.scrubber.scrub_request(
                request, row.api_key, row.api_version, row.topic_name, whole=whole, depth=depth
            )
        if response is not None:
            asked = row.request if row.api_key in (FIND_COORDINATOR, ENVELOPE) else None
            response = self.scrubber.scrub_response(
                response,
                row.api_key,
                row.api_version,
                row.topic_name,
                request=asked if isinstance(asked, dict) else None,
                whole="response" not in extra,
                depth=depth,
            )
        return request, response

    def _count_enclosed_exchange(self, row: Exchange) -> None:
        """Count an exchange that came inside an Envelope: its frames are a part of the Envelope's."""
        if not self._opens:
            return  # the Envelope was overwritten
        counts = self.scrubber.counts.copy()
        lost = self.scrubber.count_lossy_frames
        frames = self._scrub_frames_of_exchange(row, 1)
        self.tally.add_exchange(row, frames if self.scrubber.count_lossy_frames > lost else None)
        self.scrubber.counts.clear()  # they were counted with the Envelope
        self.scrubber.counts.update(counts)

    def _place_bytes_of_frame(
        self, met: LoggedConnection, side: int, place: int, data: bytes, *, decrypted: bool
    ) -> None:
        """Note the new bytes of a frame for each packet that has a part of it."""
        if decrypted:
            for begin, size, packet in self._plain.get((met.number, side), ()):
                at, end = max(begin - place, 0), min(begin + size - place, len(data))
                if at < end:
                    head = BY_PACKET.pack(file_index_of_packet(packet), packet, PLAINTEXT)
                    self.placed.add(head + PLAIN_SAYS.pack(met.number, side, place + at) + data[at:end])
            return
        for run in self.log.find_frame_bytes(met, side, place + met.sides[side].base, len(data)):
            self._log_bytes_of_packet(run.packet, run.seq, data[run.at : run.at + run.size])

    def _log_bytes_of_packet(self, packet: int, seq: int, data: bytes) -> None:
        self.placed.add(BY_PACKET.pack(file_index_of_packet(packet), packet, PAYLOAD) + SEQ.pack(seq) + data)

    def scrub_prefix_of_connection(self, connection: Connection, asked: bytes, answered: bytes) -> None:
        """Note the new bytes of what stands before Kafka on a connection."""
        met, prefix = self.log.find_connection(connection.number), connection.prefix
        assert met is not None  # the log has just met it
        assert prefix is not None  # it has just been found
        size, answer_size = prefix.sizes
        made = scrub_prefix(self.names, asked[:size], answered[:answer_size])
        for data, first in zip(made, (prefix.sender_first, not prefix.sender_first), strict=True):
            if data:
                for run in self.log.find_frame_bytes(met, int(not first), 0, len(data)):
                    self._log_bytes_of_packet(run.packet, run.seq, data[run.at : run.at + run.size])

    # Chunks on their way to the pairing.

    def note_tls_record_headers(self, chunks: list[Chunk]) -> None:
        """See chunks as they were captured, and note the headers of TLS records, which stay as they are."""
        if all(half.connection.tls is NOT_TLS for half, *_ in chunks):
            return
        places: Counter[Half] = Counter()
        for half, _, _, data in chunks:
            places[half] -= _stream_size_of_chunk(data)
        for half in places:
            places[half] += half.size
        for half, _, _, data in chunks:
            place, connection = places[half], half.connection
            places[half] += _stream_size_of_chunk(data)
            if isinstance(data, Close):
                self._over.append(connection.number)
                for each in (connection.first, connection.second):
                    self._records.pop(each, None)
            if not isinstance(data, bytes) or connection.tls is NOT_TLS:
                continue
            met = self.log.find_connection(connection.number)
            assert met is not None  # the log has just met it
            records = self._records.setdefault(half, _TlsRecordFinder())
            side = int(half is not connection.first)
            for at, head in records.find_record_headers(place, data):
                for run in self.log.find_frame_bytes(met, side, at, len(head)):
                    self._log_bytes_of_packet(run.packet, run.seq, head[run.at : run.at + run.size])

    def note_places_of_decrypted_bytes(self, chunks: list[Chunk]) -> None:
        """See chunks as they are decoded, and note which packets had decrypted bytes, and where."""
        for half, _, packet, data in chunks:
            connection = half.connection
            if isinstance(data, Close) and connection.number in self._decrypted and data.how in _ENDINGS:
                head = BY_PACKET.pack(file_index_of_packet(packet), packet, PLAINTEXT)
                self.placed.add(head + PLAIN_SAYS.pack(connection.number, _ENDINGS[data.how], 0))
            if not connection.tls or not isinstance(data, bytes | Gap) or tls_facts_of(connection) is None:
                continue
            met = self.log.find_connection(connection.number)
            assert met is not None  # as above
            if connection.number not in self._decrypted:
                info = self._decrypted[connection.number] = DecryptedConnection(met)
                for side in met.sides:
                    self.tls.setdefault(side.half.key, []).append(info)
            key = connection.number, int(half is not connection.first)
            place = self._plain_sizes[key]
            self._plain_sizes[key] += _stream_size_of_chunk(data)
            if isinstance(data, bytes):
                logged = self._plain.setdefault(key, [])
                logged.append((place, len(data), packet))
                if len(logged) % _PLAIN_LOGGED == 0:
                    self._drop_decrypted_places(met, key)

    def _drop_decrypted_places(self, met: LoggedConnection, key: tuple[int, int]) -> None:
        """Drop the places of decrypted bytes of which no row can come any more."""
        place = self.log.oldest_needed_place(met, key[1])
        self._plain[key] = [each for each in self._plain[key] if each[0] + each[1] > place]


def _holds_enclosed_message(row: Exchange, request_frame: bytes) -> bool:
    """Whether the request of an Envelope holds a message."""
    missing = row.extra.get("request") if row.extra is not None else None
    return isinstance(
        row._api_reader.decode_fields_before_failure("request", request_frame, missing)[0].get("request_data"), bytes
    )


def _stream_size_of_chunk(chunk_data: object) -> int:
    """The number of bytes of the stream that a chunk takes up."""
    if isinstance(chunk_data, bytes):
        return len(chunk_data)
    return chunk_data.size if isinstance(chunk_data, Gap) and not isinstance(chunk_data, Retransmission) else 0


class _ScrubEngine(LoggedEngine):
    """An engine that shows its chunks to a Reading."""

    def __init__(self, reading: FirstReading, **options: Any) -> None:
        super().__init__(reading.log, **options)
        self._reading = reading
        self.decryption.note_prefix = reading.scrub_prefix_of_connection

    def _decrypt_chunks(self, chunks: list[Chunk], now_ns: int = 0) -> list[Chunk]:
        plain = super()._decrypt_chunks(chunks, now_ns)
        if chunks:
            self._reading.note_tls_record_headers(chunks)
        if plain:
            self._reading.note_places_of_decrypted_bytes(plain)
        return plain

    def add_topic_name(self, topic: TopicName) -> None:
        super().add_topic_name(topic)
        self._reading.topics.append(topic)
