"""A records field in, the field with its keys, values and headers overwritten out: same length, new checksums.

Structures in the records of internal topics keep their shape; names in them are replaced. Bytes that cannot be read are
overwritten, and so is a batch with a wrong checksum whose numbers spell text (find_text_spelled_by_numbers.py). A batch
is compressed again to the size that it had (compress_to_exact_size.py). If it becomes too large, because names that
were alike no longer are, its structures are overwritten as well. If it is still too large it is emptied: it keeps its
header, offsets and size, and has no records.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

import google_crc32c

from decoders.embedded import TOPICS, structures_of_record
from decoders.errors import DecodeError, Malformed
from decoders.limits import BATCH_INFLATED_MAX
from decoders.records.batch_layout import CONTROL, CRC_START, LOG_OVERHEAD, MAGIC_AT, SIZE
from decoders.records.codecs import CODEC_MASK, inflate
from decoders.records.records_as_json import control_record_structures
from decoders.scrubbing.compress_to_exact_size import compress_to_exact_size
from decoders.scrubbing.find_text_spelled_by_numbers import SPELLED, still_spells_text
from decoders.scrubbing.replace_names import FILLER
from decoders.wire.primitive_types import read_varint, read_varlong

__all__ = ["GARBAGE", "BatchScrubber", "inflate_batches_anywhere"]

# Replaces bytes that could not be read: no size and no length begins with it.
GARBAGE: Final = b"\xff"
# A function: name and bytes of a structure in, its bytes with names replaced out; None if they hold no such structure.
Rewrite = Callable[[str, bytes], bytes | None]
# A function that remembers the value of a record, which must not be found in the output.
Sample = Callable[[bytes], None]
# Where a part of the bytes begins and ends.
_Range = tuple[int, int]

_INT32: Final = Struct(">i")
_UINT32: Final = Struct(">I")
_COUNT_AT: Final = SIZE - 4
_SIZE_MIN: Final = {0: 14, 1: 22, 2: SIZE - LOG_OVERHEAD}
_HEADER_SIZES: Final = {0: 18, 1: 26, 2: SIZE}
# By magic: the header fields whose first two bytes are zeros or those of -1, as their numbers are below 2**48 (2**16 in
# four bytes): offset, epoch, last offset delta, both timestamps, producer id, record count; in messages offset and
# timestamp.
_HIGH_BYTES: Final = {0: (0,), 1: (0, 18), 2: (0, 12, 23, 27, 35, 43, 57)}
_SMALL, _MINUS = b"\0\0", b"\xff\xff"
# Offsets in a message of magic 0 and 1.
_MESSAGE_CRC_AT: Final = 12
_MESSAGE_CRC_START: Final = 16
_MESSAGE_ATTRIBUTES_AT: Final = 17
_ATTRIBUTES_AT: Final = {0: _MESSAGE_ATTRIBUTES_AT, 1: _MESSAGE_ATTRIBUTES_AT, 2: CRC_START + 1}
# Compressed messages of magic 0 and 1, from the magic on: a codec, of magic 1 a timestamp, and a key that is null.
_WRAPPERS: Final = re.compile(rb"(?=\x00[\x01-\x03]\xff{4}|\x01[\x01-\x03\x09-\x0b].{8}\xff{4})", re.DOTALL)


class _OverwrittenBytes:
    """Bytes with overwritten parts; `make_bytes` makes some of the overwritten bytes letters without a pattern."""

    def __init__(self, data: bytes, noise: bytes) -> None:
        self.data = bytearray(data)
        self.ranges: list[_Range] = []
        self._noise = noise

    def overwrite_and_note_range(self, at: int, end: int) -> None:
        if at < end:
            self.data[at:end] = FILLER * (end - at)
            self.ranges.append((at, end))

    @property
    def overwritten_size(self) -> int:
        return sum(end - at for at, end in self.ranges)

    def make_bytes(self, letter_count: int) -> bytes:
        if not letter_count:
            return bytes(self.data)
        out, taken = bytearray(self.data), 0
        for at, end in self.ranges:
            size = min(end - at, letter_count - taken)
            if size <= 0:
                break
            out[at : at + size] = self._letters_without_pattern(taken, size)
            taken += size
        return bytes(out)

    def _letters_without_pattern(self, at: int, size: int) -> bytes:
        """`size` letters without a pattern, from place `at` on; they repeat too far apart for a codec to see it."""
        at %= len(self._noise)
        found = self._noise[at : at + size]
        while len(found) < size:
            found += self._noise[: size - len(found)]
        return found


class _FieldScrubber:
    def __init__(self, topic: str | None, rewrite: Rewrite, sample: Sample, noise: bytes, counts: Counter[str]) -> None:
        self._topic = topic if topic in TOPICS else None
        self._rewrite = rewrite
        self._sample = sample
        self._noise = noise
        self._counts = counts

    def scrub_records_field(self, data: bytes) -> bytes:
        out, at, end = bytearray(data), 0, len(data)
        while at < end:
            magic = data[at + MAGIC_AT] if end - at > MAGIC_AT else -1
            length = _INT32.unpack_from(data, at + 8)[0] if end - at >= LOG_OVERHEAD else -1
            if magic not in _SIZE_MIN or length < _SIZE_MIN[magic] or not is_plausible_batch(data, at, magic, length):
                begun = at
                shown = data[at : at + LOG_OVERHEAD]
                if magic < 0 and not any(shown[:2] + shown[8:9]) and not SPELLED.search(shown):
                    begun = at + len(shown)  # a cut-off batch keeps its length, which shows this
                out[begun:end] = GARBAGE * (end - begun)
                break
            stop = at + LOG_OVERHEAD + length
            if stop > end:
                body = min(at + _HEADER_SIZES[magic], end)
                if SPELLED.search(data, at, body):
                    out[at:body] = GARBAGE * (body - at)
                out[body:end] = FILLER * (end - body)
                break
            new = self._scrub_batch(data[at:stop]) if magic == 2 else self._scrub_outer_message(data[at:stop], magic)
            if not _has_right_checksum(data, at, stop, magic) and _batch_still_spells_text(data[at:stop], new, magic):
                new = GARBAGE * len(new)
            out[at:stop] = new
            self._counts["batches"] += 1
            at = stop
        return bytes(out)

    def _scrub_batch(self, data: bytes) -> bytes:
        attributes = data[CRC_START + 1]
        (count,) = _INT32.unpack_from(data, _COUNT_AT)
        right = google_crc32c.value(data[CRC_START:]) == _UINT32.unpack_from(data, CRC_START - 4)[0]
        packed = data[SIZE:]
        codec = attributes & CODEC_MASK
        out = bytearray(data)
        if not codec:
            out[SIZE:] = self._overwrite_records(packed, count, control=bool(attributes & CONTROL)).data
        else:
            try:
                plain = inflate(codec, memoryview(packed), BATCH_INFLATED_MAX, 2) if count else b""
            except DecodeError:
                self._counts["overwritten"] += 1
                out[SIZE:] = FILLER * len(packed)
            else:
                found, topic = None, self._topic
                for self._topic in dict.fromkeys((topic, None)) if count else ():
                    made = self._overwrite_records(plain, count, control=bool(attributes & CONTROL))
                    found = compress_to_exact_size(
                        codec, (made.make_bytes, made.overwritten_size), len(packed), packed, 2
                    )
                    if found is not None:
                        if self._topic != topic:
                            self._counts["blanked"] += 1
                        break
                self._topic = topic
                if found is None:
                    if count:
                        self._counts["emptied"] += 1
                    _INT32.pack_into(out, _COUNT_AT, 0)
                    found = FILLER * len(packed)
                out[SIZE:] = found
        crc = google_crc32c.value(bytes(out[CRC_START:]))
        _UINT32.pack_into(out, CRC_START - 4, crc if right else crc ^ 1)
        return bytes(out)

    def _overwrite_records(self, plain: bytes, count: int, *, control: bool) -> _OverwrittenBytes:
        """The overwritten records of a batch; from the first record that cannot be read on, all bytes are garbage."""
        made = _OverwrittenBytes(plain, self._noise)
        at, stop = 0, len(plain)
        try:
            for _ in range(count):
                at = self._overwrite_record(made, plain, at, stop, control=control)
                self._counts["records"] += 1
        except DecodeError:
            pass
        made.data[at:] = GARBAGE * (stop - at)
        return made

    def _overwrite_record(
        self, overwritten: _OverwrittenBytes, data: bytes, at: int, stop: int, *, control: bool
    ) -> int:
        size, start = read_varint(data, at, stop)
        end = start + size
        if size < 1 or end > stop:
            raise Malformed("a record that cannot be", offset=at)
        _, at = read_varlong(data, start + 1, end)
        _, at = read_varint(data, at, end)
        key = _locate_varint_sized(data, at, end)
        value = _locate_varint_sized(data, key[1], end)
        parts = [key, value]
        count, at = read_varint(data, value[1], end)
        for _ in range(count):
            for _ in range(2):
                parts.append(_locate_varint_sized(data, at, end))
                at = parts[-1][1]
        if at != end:
            raise Malformed("a record that does not end where it says", offset=at)
        if self._topic is not None or control:
            self._scrub_key_and_value(overwritten, data, key, value, control=control)
            del parts[:2]
        else:
            self._sample(data[slice(*value)])
        for begin, finish in parts:
            overwritten.overwrite_and_note_range(begin, finish)
        return end

    def _scrub_key_and_value(
        self, overwritten: _OverwrittenBytes, data: bytes, key: _Range, value: _Range, *, control: bool
    ) -> None:
        """Replace the names in the structures of key and value; overwrite a key or value that is no structure."""
        texts = data[slice(*key)], data[slice(*value)]
        found: tuple[str | None, str | None] = (
            control_record_structures(texts[0])
            if control
            else structures_of_record(self._topic or "", texts[0] or None, texts[1] or None)
        )
        for (at, end), name, text in zip((key, value), found, texts, strict=True):
            new = self._rewrite(name, text) if name is not None and text else None
            if new is None:
                overwritten.overwrite_and_note_range(at, end)
            else:
                overwritten.data[at:end] = new

    # Magic 0 and 1.

    def _scrub_outer_message(self, data: bytes, magic: int) -> bytes:
        """An outer message with its contents overwritten."""
        codec = data[_MESSAGE_ATTRIBUTES_AT] & CODEC_MASK
        made = _OverwrittenMessageSet(data, self._noise)
        if not codec:
            self._overwrite_message_set(made, magic)
            return made.make_bytes(0)
        try:
            value = next(_locate_messages(data))[2]
            packed = data[slice(*value)]
            inner = _OverwrittenMessageSet(inflate(codec, memoryview(packed), BATCH_INFLATED_MAX, magic), self._noise)
        except DecodeError:
            self._overwrite_message_set(made, magic)
            return made.make_bytes(0)
        self._overwrite_message_set(inner, magic)
        made.note_message(next(_locate_messages(data)))
        found = compress_to_exact_size(codec, (inner.make_bytes, inner.overwritten_size), len(packed), packed, magic)
        if found is None:
            self._counts["emptied"] += 1
            made.data[_MESSAGE_ATTRIBUTES_AT] &= ~CODEC_MASK
            found = FILLER * len(packed)
        made.data[slice(*value)] = found
        return made.make_bytes(0)

    def _overwrite_message_set(self, overwritten: _OverwrittenMessageSet, magic: int) -> None:
        """Overwrite the messages of a set; from the first message that cannot be read on, all bytes become garbage."""
        at, data = 0, bytes(overwritten.data)
        try:
            for each in _locate_messages(data):
                overwritten.note_message(each)
                keyed, valued = each[1:3]
                if data[each[0][0] + _MESSAGE_ATTRIBUTES_AT] & CODEC_MASK:  # a nested wrapper
                    overwritten.data[each[0][0] + _MESSAGE_ATTRIBUTES_AT] &= ~CODEC_MASK
                if self._topic is not None:
                    self._scrub_key_and_value(overwritten, data, keyed, valued, control=False)
                else:
                    self._sample(data[slice(*valued)])
                    overwritten.overwrite_and_note_range(*keyed)
                    overwritten.overwrite_and_note_range(*valued)
                self._counts["records"] += 1
                at = each[0][1]
        except DecodeError:
            pass
        if at < len(data):
            begun = min(at + _HEADER_SIZES[magic], len(data))
            overwritten.data[begun:] = GARBAGE * (len(data) - begun)


def _batch_still_spells_text(before: bytes, after: bytes, magic: int) -> bool:
    """Whether a rewritten batch still spells text; behind the header of a compressed one its codec alone does."""
    size = _HEADER_SIZES[magic] if after[_ATTRIBUTES_AT[magic]] & CODEC_MASK else len(before)
    return still_spells_text(before[:size], after[:size])


def is_plausible_batch(data: bytes, at: int, magic: int, length: int) -> bool:
    """Whether a batch begins at `at`: its checksum is right, or the numbers of its header are plausible, as far as the
    header is there. Text has no zeros in it.
    """
    stop = at + LOG_OVERHEAD + length
    return (stop <= len(data) and _has_right_checksum(data, at, stop, magic)) or all(
        data[begun : begun + 2] in (_SMALL[: max(len(data) - begun, 0)], _MINUS[: max(len(data) - begun, 0)])
        for begun in (at + place for place in _HIGH_BYTES[magic])
    )


def _has_right_checksum(data: bytes, at: int, stop: int, magic: int) -> bool:
    """Whether the checksum of the batch or message from `at` to `stop` is that of its bytes."""
    if magic == 2:
        begin, crc_at, find = CRC_START, CRC_START - 4, google_crc32c.value
    else:
        begin, crc_at, find = _MESSAGE_CRC_START, _MESSAGE_CRC_AT, zlib.crc32
    return bool(find(data[at + begin : stop]) == _UINT32.unpack_from(data, at + crc_at)[0])


class _OverwrittenMessageSet(_OverwrittenBytes):
    """Messages of magic 0 and 1 with overwritten parts; `make_bytes` sets their checksums."""

    def __init__(self, data: bytes, noise: bytes) -> None:
        super().__init__(data, noise)
        self._messages: list[tuple[int, int, bool]] = []

    def note_message(self, message: tuple[_Range, _Range, _Range]) -> None:
        """Note a message, and whether its checksum is right: `make_bytes` keeps that."""
        at, stop = message[0]
        crc = zlib.crc32(memoryview(bytes(self.data[at + _MESSAGE_CRC_START : stop])))
        self._messages.append((at, stop, crc == _UINT32.unpack_from(self.data, at + _MESSAGE_CRC_AT)[0]))

    def make_bytes(self, letter_count: int) -> bytes:
        out = bytearray(super().make_bytes(letter_count))
        for at, stop, right in self._messages:
            crc = zlib.crc32(bytes(out[at + _MESSAGE_CRC_START : stop]))
            _UINT32.pack_into(out, at + _MESSAGE_CRC_AT, crc if right else crc ^ 1)
        return bytes(out)


def _locate_messages(data: bytes) -> Iterator[tuple[_Range, _Range, _Range]]:
    """Where each message, its key and its value begin and end. Raises DecodeError."""
    at, end = 0, len(data)
    while at < end:
        if end - at <= MAGIC_AT:
            raise Malformed("a message that is cut", offset=at)
        magic = data[at + MAGIC_AT]
        stop = at + LOG_OVERHEAD + _INT32.unpack_from(data, at + 8)[0]
        if magic > 1 or stop > end or stop < at + LOG_OVERHEAD + _SIZE_MIN[magic]:
            raise Malformed("no message", offset=at)
        key = _locate_int32_sized(data, at + _HEADER_SIZES[magic], stop)
        value = _locate_int32_sized(data, key[1], stop)
        if value[1] != stop:
            raise Malformed("bytes behind a message", offset=value[1])
        yield (at, stop), key, value
        at = stop


def _locate_int32_sized(data: bytes, at: int, stop: int) -> _Range:
    if at + 4 > stop:
        raise Malformed("a message that is cut", offset=at)
    size = max(_INT32.unpack_from(data, at)[0], 0)
    if at + 4 + size > stop:
        raise Malformed("longer than its message", offset=at)
    return at + 4, at + 4 + size


def _locate_varint_sized(data: bytes, at: int, end: int) -> _Range:
    size, start = read_varint(data, at, end)
    if start + size > end:
        raise Malformed("longer than its record", offset=at)
    return start, start + max(size, 0)


class BatchScrubber:
    """Scrubs records fields. `counts` gets `batches`, `records`, and batches that were `emptied`, `blanked` (their
    structures overwritten) and `overwritten` (compressed bytes that could not be read).
    """

    def __init__(self, rewrite: Rewrite, sample: Sample, noise: bytes, counts: Counter[str]) -> None:
        self._given = rewrite, sample, noise, counts

    def scrub_records_field(self, data: bytes, topic: str | None) -> bytes:
        """A records field, scrubbed; `topic` is None where the topic is not known."""
        return _FieldScrubber(topic, *self._given).scrub_records_field(data)


def inflate_batches_anywhere(data: bytes, size_max: int) -> Iterator[bytes]:
    """The plain records of compressed batches and messages, wherever they begin in `data`; each at most `size_max`."""
    at = data.find(b"\2", MAGIC_AT)
    while at >= 0:
        begin = at - MAGIC_AT
        plain = _inflate_batch(data, begin, size_max) if begin + SIZE <= len(data) else None
        if plain is not None:
            yield plain
        at = data.find(b"\2", at + 1)
    for found in _WRAPPERS.finditer(data, MAGIC_AT):
        plain = _inflate_message(data, found.start() - MAGIC_AT, size_max)
        if plain is not None:
            yield plain


def _inflate_batch(data: bytes, at: int, size_max: int) -> bytes | None:
    """The plain records of the compressed batch of magic 2 at `at`; None if there is none, or it cannot be read."""
    stop = at + LOG_OVERHEAD + _INT32.unpack_from(data, at + 8)[0]
    codec = data[at + CRC_START + 1] & CODEC_MASK
    if not codec or not at + SIZE <= stop <= len(data):
        return None
    if not _has_right_checksum(data, at, stop, 2):
        return None
    return _inflate_or_none(codec, memoryview(data)[at + SIZE : stop], size_max, 2)


def _inflate_message(data: bytes, at: int, size_max: int) -> bytes | None:
    """The plain messages of the compressed message at `at`; None if there is none, or it cannot be read."""
    stop = at + LOG_OVERHEAD + _INT32.unpack_from(data, at + 8)[0]
    magic = data[at + MAGIC_AT]
    if stop > len(data) or not _has_right_checksum(data, at, stop, magic):
        return None
    value = at + _HEADER_SIZES[magic] + 8  # behind the sizes of the key, which is null, and of itself
    return _inflate_or_none(
        data[at + _MESSAGE_ATTRIBUTES_AT] & CODEC_MASK, memoryview(data)[value:stop], size_max, magic
    )


def _inflate_or_none(codec: int, packed: memoryview, size_max: int, magic: int) -> bytes | None:
    try:
        return inflate(codec, packed, size_max, magic)
    except DecodeError:
        return None
