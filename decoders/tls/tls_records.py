"""Ciphertext of one direction of a TLS connection in, whole records out, with the packets that their bytes came in.

A record may lie in many segments, and a segment may hold many records. All ciphers read here keep the order of bytes
and the distance between them. So each byte of the content has the time and the packet number in which it came.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, cast

from decoders.errors import Malformed
from decoders.tcp.connection_and_halves import Half
from decoders.tcp.stream_chunks import Chunk, Close, Gap, Retransmission, Why
from decoders.tls.read_handshake import HandshakeMessages
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.tls.record_ciphers import RecordCipher

__all__ = ["HEADER_SIZE", "RECORD_HEADER", "RECORD_MAX", "TlsSide", "pack_chunk_data", "unpack_chunk_data"]

# Type, version, size of the body.
RECORD_HEADER: Final = Struct(">BHH")
HEADER_SIZE: Final = RECORD_HEADER.size
# The largest body of a record: 2**14 bytes and what ciphers add (RFC 5246, 6.2.3).
RECORD_MAX: Final = (1 << 14) + 2048
# Records whose places are kept, to tell which content was sent again.
_RECENT: Final = 64
# The attributes that are saved as they are.
_SAVED: Final = (
    *("marks", "have", "need", "place", "plain", "epoch", "number", "opened", "hello", "held", "dead", "discards"),
    *("searching", "synced", "skip", "lost_at", "spread", "tries", "silent", "why", "unread"),
)


class TlsSide:
    """One direction of a TLS connection: buffered bytes that are no whole record yet, the next key and number, losses.

    `parts` are the buffered bytes, `have` of them; nothing is done before there are `need`. `marks` has the offset in
    the buffer, time and packet number of each of its segments. `place` is the place of the first buffered byte in the
    direction's stream, `plain` the bytes of content given so far. `epoch` counts keys (decrypt_connection.py). While
    `searching`, bytes are missing since place `lost_at` (-1: their number is not known), at most `spread` records;
    `synced` says whether it is known where the next record begins: `skip` bytes on.
    """

    __slots__ = ("cipher", "half", "mark", "messages", "parts", "recent", *_SAVED)

    def __init__(self, half: Half) -> None:
        self.half = half
        self.parts: list[bytes] = []
        self.marks: list[tuple[int, int, int]] = []
        self.mark = 0  # the index of the mark of the record at hand
        self.have = 0
        self.need = HEADER_SIZE
        self.place = 0
        self.plain = 0
        self.messages = HandshakeMessages()
        self.epoch = 0
        self.number = 0
        self.cipher: RecordCipher | None = None  # of this epoch, once it was looked up
        self.opened = False  # a record was opened by a key
        self.hello = False  # its hello has come
        self.held = False  # it waits for a message of the other side
        self.dead = False  # nothing of it can be read any more
        self.discards = False  # its early data is passed over: the server does not take it
        self.searching = False
        self.synced = True
        self.skip = 0
        self.lost_at = -1
        self.spread = 0
        self.tries = 0
        self.silent = False  # the bytes that the search skips are no application data
        self.why: str = "lost"
        self.unread = 0  # bytes that cannot be read
        self.recent: deque[tuple[int, int, int, int]] = deque(maxlen=_RECENT)

    def add_bytes(self, time_ns: int, packet: int, data: bytes) -> None:
        """Buffer the next bytes of the stream."""
        self.marks.append((self.have, time_ns, packet))
        self.parts.append(data)
        self.have += len(data)

    def take_buffer(self) -> bytes:
        """All buffered bytes; `keep_rest` takes back those that are no whole record."""
        self.mark = 0
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)

    def keep_rest(self, buf: bytes, at: int, need_size: int) -> None:
        """Buffer the bytes of `buf` from `at` on until there are `need_size`."""
        self.need = need_size
        self.place += at
        if at == len(buf):
            self.parts, self.marks, self.have = [], [], 0
        elif at or len(self.parts) > 1:
            marks = self.marks
            index = self.find_mark_of_byte(at, 0)
            self.marks = [(max(offset - at, 0), time_ns, packet) for offset, time_ns, packet in marks[index:]]
            self.parts = [buf[at:]]
            self.have = len(buf) - at
        self.mark = 0

    def drop_buffer(self) -> None:
        """Drop the buffered bytes."""
        self.place += self.have
        self.parts, self.marks, self.have, self.need = [], [], 0, HEADER_SIZE

    def find_mark_of_byte(self, at: int, from_mark: int) -> int:
        """The index of the mark of the byte at `at`, which is not before the byte of mark `from_mark`."""
        marks = self.marks
        last = len(marks) - 1
        while from_mark < last and marks[from_mark + 1][0] <= at:
            from_mark += 1
        return from_mark

    def time_and_packet_of(self, at: int) -> tuple[int, int]:
        """Time and packet number of the buffered byte at `at`."""
        _, time_ns, packet = self.marks[self.find_mark_of_byte(at, 0)]
        return time_ns, packet

    def append_decrypted_content(self, out: list[Chunk], data: bytes, size: int, at: int, end: int, body: int) -> None:
        """Append the content of the record at `at`: the first `size` bytes of `data`, encrypted from `body` on."""
        half, marks = self.half, self.marks
        index = self.mark = self.find_mark_of_byte(body, self.mark)
        last = len(marks) - 1
        start = 0
        while index < last and marks[index + 1][0] < body + size:
            _, time_ns, packet = marks[index]
            index += 1
            cut = marks[index][0] - body
            out.append((half, time_ns, packet, data[start:cut]))
            start = cut
        _, time_ns, packet = marks[index]
        out.append((half, time_ns, packet, data[start:size] if start or size < len(data) else data))
        self.mark = index
        self.recent.append((self.place + at, self.place + end, self.plain, size))
        self.plain += size

    def find_retransmission(self, at: int, size: int) -> Retransmission | None:
        """The content that `size` bytes at place `at` of the stream sent again; None where there was none."""
        hit = [(plain, length) for begin, end, plain, length in self.recent if begin < at + size and end > at]
        if hit:
            begin = hit[0][0]
            return Retransmission(begin, hit[-1][0] + hit[-1][1] - begin)
        return Retransmission(self.plain, 1) if at + size > self.place and self.opened else None

    def export(self) -> list[Any]:
        """The side as built-in values, without a key, for `resume`."""
        return [
            [getattr(self, name) for name in _SAVED],
            b"".join(self.parts),
            [self.messages.rest, self.messages.skip],
            list(self.recent),
        ]

    def resume(self, state: object) -> None:
        """Take over what `export` gave. Raises DecodeError when it is something else."""
        saved, data, messages, recent = state_fields(state, list, bytes, list, list)
        if len(saved) != len(_SAVED):
            raise Malformed("a saved side of another kind")
        for name, value in zip(_SAVED, saved, strict=True):
            if type(value) is not type(getattr(self, name)):
                raise Malformed(f"a saved side with another {name}")
            setattr(self, name, value)
        self.parts = [data] if data else []
        self.messages.rest, self.messages.skip = state_fields(messages, bytes, int)
        for row in self.marks:
            state_fields(row, int, int, int)
        for row in recent:
            begin, end, plain, size = state_fields(row, int, int, int, int)
            self.recent.append((begin, end, plain, size))
        if len(data) != self.have or (data and not self.marks):
            raise Malformed("a saved side of another size")


def pack_chunk_data(data: bytes | Gap | Retransmission | Close) -> bytes | list[Any]:
    """The data of a chunk that is no Close, as built-in values."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, Gap):
        return [data.size, data.why]
    assert isinstance(data, Retransmission)
    return [data.at, data.size]


def unpack_chunk_data(state: bytes | list[Any]) -> bytes | Gap | Retransmission:
    """The data of a chunk from what `pack_chunk_data` gave. Raises DecodeError when it is something else."""
    if isinstance(state, bytes):
        return state
    first, second = state_fields(state, int, int | str)
    return Gap(first, cast(Why, second)) if isinstance(second, str) else Retransmission(first, second)
