"""A records field in, the numbers for a text line out; from batch headers alone, without checksums (0.3 µs a batch).

Only a compressed message of magic 0 or 1 does not say how many records it holds; it is decompressed to count them. The
modules that read records are not loaded unless they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from decoders.limits import BATCHES_MAX
from decoders.named_tuple import NamedTuple
from decoders.records.batch_layout import CRC_START, HEADER, LOG_OVERHEAD, SIZE
from decoders.records.codecs import CODEC_MASK, CODEC_NAMES

if TYPE_CHECKING:
    from decoders.records.record_and_batch import Budget

# base offset, length; magic, checksum; low byte of the attributes; last offset delta; record count
_HEADER: Final = Struct(">qi4xbIxBi30xi")
# A message of magic 0 or 1: offset, size; magic; attributes. Then its least bytes, and the least size field by magic.
_MESSAGE: Final = Struct(">qi4xbb")
_MESSAGE_LEAST: Final = 26
_LENGTH_MIN: Final = (14, 22)

_ALONE: Final = tuple((name,) for name in CODEC_NAMES)
_MAGIC_2: Final = (2,)
_unpack: Final = _HEADER.unpack_from
_unpack_message: Final = _MESSAGE.unpack_from


class RecordsSummary(NamedTuple):
    """The batches of a records field in numbers.

    `records` counts the records of whole batches, `size` all bytes. Codecs and magics are in order of appearance;
    codecs are without those that a batch in JSON form does not tell.
    `last_offset` is None where there is no whole batch. `truncated`: the last batch is cut off.
    """

    batches: int
    records: int
    size: int
    codecs: tuple[str, ...]
    magics: tuple[int, ...]
    last_offset: int | None
    truncated: bool


@cache
def load_crc32c() -> Callable[[bytes], int]:
    import google_crc32c  # text lines do not need it

    value: Callable[[bytes], int] = google_crc32c.value
    return value


def summarize_sole_batch(buf: bytes, at: int, size: int, *, verify_checksum: bool = False) -> tuple[int, str] | None:
    """The record count and codec of a records field that is one whole batch of magic 2, as most are; None for others.

    With `verify_checksum`, None for a batch with a wrong checksum too.
    """
    if size < SIZE:
        return None
    _, length, magic, checksum, attributes, _, count = _unpack(buf, at)
    if LOG_OVERHEAD + length != size or magic != 2 or count < 0:
        return None
    if verify_checksum and load_crc32c()(buf[at + CRC_START : at + size]) != checksum:
        return None
    return count, CODEC_NAMES[attributes & CODEC_MASK]


def summarize_records(
    buf: bytes, at: int = 0, size: int | None = None, *, verify_checksums: bool = False
) -> RecordsSummary:
    """The summary of the `size` bytes (default: the rest) of `buf` from `at` on.

    With `verify_checksums`, the records of batches with a wrong checksum do not count; the batches do.
    """
    end = len(buf) if size is None else at + size
    start = at
    batches = records = 0
    codecs: list[int] = []
    last = None
    while end - at >= SIZE:
        base, length, magic, checksum, attributes, delta, count = _unpack(buf, at)
        stop = at + LOG_OVERHEAD + length
        if magic != 2 or length < SIZE - LOG_OVERHEAD or stop > end or count < 0:
            break
        batches += 1
        records += count if not verify_checksums or load_crc32c()(buf[at + CRC_START : stop]) == checksum else 0
        at = stop
        last = base + delta
        codec = attributes & CODEC_MASK
        if codec not in codecs:
            codecs.append(codec)
    names = _ALONE[codecs[0]] if len(codecs) == 1 else tuple(CODEC_NAMES[number] for number in codecs)
    magics = _MAGIC_2 if batches else ()
    if at >= end:
        return tuple.__new__(RecordsSummary, (batches, records, end - start, names, magics, last, False))
    found = RecordsSummary(batches, records, end - start, names, magics, last, False)
    if not verify_checksums:
        found, at = _add_legacy_messages(found, buf, at, end)
        if at == end:
            return found
    return _add_unusual_batches_to_summary(found, buf[at:end], verify_checksums=verify_checksums)


def summarize_batches_json(batches: Iterable[Mapping[str, Any]], *, verify_checksums: bool = False) -> RecordsSummary:
    """The summary of a `records` value of the exchange record: the same as of the bytes that it was made from."""
    batches = list(batches)
    size = sum(batch["size"] or 0 for batch in batches)
    return _add_batches_json_to_summary(
        RecordsSummary(0, 0, size, (), (), None, False), batches, verify_checksums=verify_checksums
    )


def summarize_records_of_view(
    records: Any, raw: bytes | None, *, verify_checksums: bool = False
) -> RecordsSummary | None:
    """The summary of a view's records field: a span of bytes in `raw`, or the JSON value of an exchange record.

    None if the field is null or empty.
    """
    if not records:
        return None
    if records.__class__ is tuple:
        return (
            summarize_records(raw, *records, verify_checksums=verify_checksums)
            if raw is not None and records[1]
            else None
        )
    return summarize_batches_json(records, verify_checksums=verify_checksums) if isinstance(records, list) else None


def _add_legacy_messages(summary: RecordsSummary, buf: bytes, at: int, end: int) -> tuple[RecordsSummary, int]:
    """`summary` plus the whole messages of magic 0 and 1 from `at` on, and the offset after them."""
    batches, records, size, codecs, magics, last, truncated = summary
    budget: Budget | None = None
    most = batches + BATCHES_MAX
    while end - at >= _MESSAGE_LEAST:
        offset, length, magic, attributes = _unpack_message(buf, at)
        stop = at + LOG_OVERHEAD + length
        if not 0 <= magic <= 1 or length < _LENGTH_MIN[magic] or stop > end:
            break
        if batches == most:
            return RecordsSummary(batches, records, size, codecs, magics, last, truncated), end
        number = attributes & CODEC_MASK
        if number:
            if budget is None:
                from decoders.records.read_legacy_messages import count_records_in_wrapper
                from decoders.records.record_and_batch import Budget

                budget = Budget()
            records += count_records_in_wrapper(buf, at, stop, budget)
        else:
            records += 1
        codec = CODEC_NAMES[number]
        batches += 1
        at, last = stop, offset
        codecs = codecs if codec in codecs else (*codecs, codec)
        magics = magics if magic in magics else (*magics, magic)
    return RecordsSummary(batches, records, size, codecs, magics, last, truncated), at


def _add_unusual_batches_to_summary(summary: RecordsSummary, data: bytes, *, verify_checksums: bool) -> RecordsSummary:
    """`summary` plus the batches in `data`, which begins where no whole batch of magic 2 does."""
    from decoders.records.read_batches import batches_json

    return _add_batches_json_to_summary(summary, batches_json(data) or [], verify_checksums=verify_checksums)


def _add_batches_json_to_summary(
    summary: RecordsSummary, further_batches: Iterable[Mapping[str, Any]], *, verify_checksums: bool
) -> RecordsSummary:
    """`summary` plus batches in JSON form."""
    batches, records, size, codecs, magics, last, truncated = summary
    for fields in further_batches:
        if fields["truncated"]:
            truncated = True
            continue
        count, codec, magic = fields["record_count"], fields["codec"], fields["magic"]
        if magic is None:
            continue
        batches += 1
        records += 0 if verify_checksums and fields["crc"] == "bad" else max(count or 0, 0)
        last = fields["last_offset"]
        codecs = codecs if codec is None or codec in codecs else (*codecs, codec)
        magics = magics if magic in magics else (*magics, magic)
    return RecordsSummary(batches, records, size, codecs, magics, last, truncated)


class BatchHead(NamedTuple):
    """The header of a batch; `sound`: its checksum is right, or is not known.

    Fields that a magic lacks are -1; `crc` is None for a batch in JSON form. `offset_count`: how many offsets the batch
    takes, those of records that compaction has removed included. `at`: where a whole batch of magic 2 begins in the
    bytes; -1 for others.
    """

    magic: int
    codec: str
    records: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int | None
    sound: bool
    producer_id: int
    producer_epoch: int
    base_sequence: int
    crc: int | None
    offset_count: int
    at: int


def read_batch_heads(records: Any, raw: bytes | None, *, verify_checksums: bool = True) -> Iterable[BatchHead]:
    """The header of each whole batch of a view's records field (see `summarize_records_of_view`), in order.

    Without `verify_checksums` batches of magic 2 are sound: a third of the time, less of large batches.
    """
    if records.__class__ is tuple and raw is not None:
        at, size = records
        if not size:
            return ()
        head = _read_batch_head_at(raw, at, at + size, verify_checksums) if size >= SIZE else None
        if head is not None and head.size == size:
            return (head,)  # one batch, as most fields have: a generator would cost more than reading its header
        return _iterate_batch_heads(raw, at, at + size, head, verify_checksums)
    return _batch_heads_from_json(records) if isinstance(records, list) else ()


def _read_batch_head_at(raw: bytes, at: int, end: int, verify_checksum: bool) -> BatchHead | None:
    """The header of the whole batch of magic 2 at an offset; None if there is no such batch."""
    base, length, _, magic, crc, attributes, delta, _, newest, producer, epoch, sequence, count = HEADER.unpack_from(
        raw, at
    )
    size = LOG_OVERHEAD + length
    if magic != 2 or size < SIZE or at + size > end or count < 0:
        return None
    codec = CODEC_NAMES[attributes & CODEC_MASK]
    sound = not verify_checksum or load_crc32c()(raw[at + CRC_START : at + size]) == crc
    fields = (2, codec, count, size, base, base + delta, newest, sound, producer, epoch, sequence, crc, delta + 1, at)
    return tuple.__new__(BatchHead, fields)


def _iterate_batch_heads(
    raw: bytes, at: int, end: int, head: BatchHead | None, verify_checksums: bool
) -> Iterator[BatchHead]:
    """The header of each whole batch between two offsets; `head` is the first one, where that is of magic 2."""
    while head is not None:
        yield head
        at += head.size
        head = _read_batch_head_at(raw, at, end, verify_checksums) if end - at >= SIZE else None
    if at < end:
        from decoders.records.read_batches import batches_json
        from decoders.records.record_and_batch import Budget

        yield from _batch_heads_from_json(batches_json(raw[at:end], budget=Budget()) or [])


def _batch_heads_from_json(batches: Iterable[Mapping[str, Any]]) -> Iterator[BatchHead]:
    for batch in batches:
        magic, base, last = batch["magic"], batch["base_offset"], batch["last_offset"]
        if not batch["truncated"] and magic is not None and base is not None:
            producer, epoch, sequence = (
                -1 if batch[name] is None else batch[name]
                for name in ("producer_id", "producer_epoch", "base_sequence")
            )
            count, size = max(batch["record_count"] or 0, 0), batch["size"] or 0
            end = base if last is None else last
            newest, sound = batch["max_timestamp"], batch["crc"] != "bad"
            yield BatchHead(
                *(magic, batch["codec"] or "unknown", count, size, base, end, newest, sound),
                *(producer, epoch, sequence, None, end - base + 1, -1),
            )
