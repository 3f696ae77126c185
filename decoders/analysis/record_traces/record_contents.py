"""The records of a batch of an exchange in; their rows, and what is kept of one that is asked for, out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.record_traces.record_links import RecordLink, intern_name, make_record_links, resume_links
from decoders.limits import BATCHES_KNOWN_AGAIN_MAX, TRACED_TEXT_MAX
from decoders.named_tuple import NamedTuple
from decoders.records.batch_layout import LOG_OVERHEAD, MAGIC_AT, SIZE
from decoders.records.codecs import CODEC_MASK
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.filters.decoded_value_fields import BatchTest
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.records.record_and_batch import Budget, Row
    from decoders.records.summarize_records import BatchHead

__all__ = ["BatchesWithoutFinds", "RecordContents", "hash_batch", "hash_record", "read_record_rows"]

_TIMESTAMP: Final = 1
KEY: Final = 2
VALUE: Final = 3
HEADERS: Final = 4
# Of a batch of magic 2: length, magic, attributes, producer id, base sequence.
_unpack: Final = Struct(">8xi4xb4xh20xq2xi4x").unpack_from
_MAGIC: Final = 2
_LENGTH_MIN: Final = SIZE - LOG_OVERHEAD


class BatchesWithoutFinds:
    """The batches in which one question found nothing: each is written, replicated, and read by every group.

    To know a batch again takes a tenth of the time of reading its records. It is known by its topic and Python's hash
    (64 bits, with a key that each process draws) of all that brokers do not change: what comes behind the base offset
    and the epoch of the leader, its checksum included. A cryptographic hash takes four times as long. Up to
    BATCHES_KNOWN_AGAIN_MAX are known, then none, and so on.

    `reader`: decodes the values that are asked about; None where the bytes of records alone are. Schemas that come to
    it may show more in the same bytes: then all batches are forgotten.
    """

    def __init__(self, reader: RecordValueReader | None = None) -> None:
        self._reader = reader
        self.known: set[int] = set()
        self._state = (0, 0)

    def __contains__(self, known_by: int | None) -> bool:
        return known_by in self.known

    def __len__(self) -> int:
        return len(self.known)

    def forget_where_schemas_came(self) -> None:
        """Forget all batches where schemas have come. Called before batches are identified and their records read."""
        reader = self._reader
        if reader is not None:
            state = reader.store.changes, reader.missing_so_far
            if state[0] != self._state[0]:
                self.known.clear()
            self._state = state

    def may_have_matches(
        self, topic: str | None, records: Any, raw: bytes | None, search: BatchTest | None, test: BatchTest | None
    ) -> bool:
        """Whether a records field may have what the question is about, or markers of transactions: most have none.

        Both tests are of plain batches (record_predicates.py), `search` the one that takes less time than to know a
        batch again. No header of a batch is taken apart here, and no object made of it.
        """
        if raw is None or records.__class__ is not tuple:
            return True
        at, size = records
        end, known = at + size, self.known
        self.forget_where_schemas_came()
        while end - at >= SIZE:
            length, magic, attributes, producer_id, sequence = _unpack(raw, at)
            stop = at + LOG_OVERHEAD + length
            if magic != _MAGIC or length < _LENGTH_MIN or stop > end or sequence < 0 <= producer_id:
                return True
            is_plain = not attributes & CODEC_MASK
            if search is None or not is_plain or search(raw, at, stop):
                known_by = hash_batch(topic, raw, at, stop)
                if known_by not in known:
                    if test is None or not is_plain or test(raw, at, stop):
                        return True
                    self.add(known_by)
            at = stop
        return bool(at < end)

    def identify_batch(self, topic: str | None, raw: bytes | None, head: BatchHead) -> int | None:
        """What a batch is known by; None for one that is not known again. Called before its records are read."""
        if raw is None or head.at < 0:
            return None
        self.forget_where_schemas_came()
        return hash_batch(topic, raw, head.at, head.at + head.size)

    def add(self, known_by: int | None) -> None:
        """Keep the batch that was identified last, but where a schema came or is missing, which may come."""
        reader = self._reader
        if known_by is None or (reader is not None and self._state != (reader.store.changes, reader.missing_so_far)):
            return
        if len(self.known) >= BATCHES_KNOWN_AGAIN_MAX:
            self.known.clear()
        self.known.add(known_by)


def hash_batch(topic: str | None, raw: bytes, at: int, stop: int) -> int:
    """The hash of the topic and the bytes of a whole batch of magic 2, but for what brokers change."""
    return hash(topic) ^ hash(raw[at + MAGIC_AT : stop])


def read_record_rows(records: Any, raw: bytes | None, head: BatchHead) -> Iterable[Row]:
    """The rows of the records in the batch with this header, of a view's records field (summarize_records.py)."""
    if records.__class__ is tuple and raw is not None and head.at >= 0:
        read_rows, make_budget = _load_plain_batch_reader()
        rows = read_rows(raw, head.at, head.at + head.size, make_budget())
        if rows is not None:
            return rows
    return _iterate_record_rows(records, raw, head)


@cache
def _load_plain_batch_reader() -> tuple[Callable[[bytes, int, int, Budget], list[Row] | None], Callable[[], Budget]]:
    """The reader of plain batches, which is loaded where records are read, and what makes a budget for it."""
    from decoders.records.read_batch_v2 import read_rows_of_plain_batch
    from decoders.records.record_and_batch import Budget

    return read_rows_of_plain_batch, Budget


def _iterate_record_rows(records: Any, raw: bytes | None, head: BatchHead) -> Iterator[Row]:
    """The rows of a batch of any kind."""
    if records.__class__ is tuple and raw is not None:
        from decoders.records.read_batches import read_records_by_batch
        from decoders.records.record_and_batch import Budget

        at, size = records
        if head.at >= 0:
            at, size = head.at, head.size
        elif head.size != size:
            at, size = _find_batch_offset_and_size(raw, at, at + size, head)
        for rows in read_records_by_batch(raw[at : at + size], Budget(), list):
            yield from rows
    elif isinstance(records, list):
        for batch in records:
            if batch.get("base_offset") == head.base_offset:
                yield from batch.get("records") or ()


def _find_batch_offset_and_size(raw: bytes, at: int, end: int, head: BatchHead) -> tuple[int, int]:
    """Where the batch begins in the bytes of several, and its size."""
    while at + 12 <= end:
        size = 12 + int.from_bytes(raw[at + 8 : at + 12], "big")
        if size == head.size and (head.magic < 2 or int.from_bytes(raw[at : at + 8], "big") == head.base_offset):
            return at, size
        at += max(size, 12)
    return end, 0


def hash_record(row: Row) -> int:
    """A hash (64 bits, signed) of a record's key, value and create time: the same in every process."""
    key, value = row[KEY], row[VALUE]
    parts = (
        repr(row[_TIMESTAMP]).encode(),
        b"-" if key is None else b"k%d" % len(key),
        _content_bytes(key),
        _content_bytes(value),
    )
    return int.from_bytes(blake2b(b"\0".join(parts), digest_size=8).digest(), "big", signed=True)


def _content_bytes(held: Any) -> bytes:
    return held.encode("utf-8", "surrogateescape") if isinstance(held, str) else held or b""


class RecordContents(NamedTuple):
    """What is shown of a record: its time (ms; None in magic 0), key, headers, and the bytes of its value.

    Texts are cut to TRACED_TEXT_MAX characters; what is no UTF-8 is replaced. `links`: by what records that were made
    from it are known, which have the whole values of headers.
    """

    timestamp: int | None
    key: str | None
    value_size: int | None
    headers: tuple[tuple[str, str | None], ...]
    links: tuple[RecordLink, ...] = ()

    @classmethod
    def from_row(cls, row: Row) -> RecordContents:
        """The contents of a record in the form of the readers."""
        value = row[VALUE]
        headers = tuple((intern_name(_shorten_text(name) or ""), _shorten_text(held)) for name, held in row[HEADERS])
        size = None if value is None else len(value)
        return cls(row[_TIMESTAMP], _shorten_text(row[KEY]), size, headers, make_record_links(row[HEADERS]))

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [self.timestamp, self.key, self.value_size, list(self.headers), list(self.links)]

    @classmethod
    def make_resumed(cls, state: object) -> RecordContents:
        """Contents from their `state`. Raises DecodeError."""
        timestamp, key, size, headers, links = state_fields(state, int | None, str | None, int | None, list, list)
        return cls(timestamp, key, size, tuple(_resume_headers(headers)), resume_links(links))


def _resume_headers(headers: Iterable[object]) -> Iterator[tuple[str, str | None]]:
    for each in headers:
        name, held = state_fields(each, str, str | None)
        yield name, held


def _shorten_text(data: Any) -> str | None:
    text: str | None = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return text if text is None or len(text) <= TRACED_TEXT_MAX else text[: TRACED_TEXT_MAX - 1] + "…"
