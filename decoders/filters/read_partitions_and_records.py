"""An exchange in, its partitions and records out, for filters; records are read only where a filter asks for them.

Keys, values and headers are read batch by batch, decompressed within the limits of an exchange (limits.py), and no
further than the first record that passes. Filters do not see records that a limit or a broken batch leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.partitions_in_exchange import iterate_partitions_of_exchange, partition_paths
from decoders.exchanges.topic_arrays import TOPIC_ID, batch_array, has_topic_id_field, partitions_in, topic_name_field
from decoders.schema.api_declaration import Side

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange, Settled
    from decoders.records.record_and_batch import Row

# A record in the form of the readers (offset, timestamp, key, value, headers, control record).
_KEY: Final = 2
_VALUE: Final = 3
_HEADERS: Final = 4


def partition_numbers(exchange: Exchange) -> list[int]:
    """The numbers of all partitions in request and response."""
    return [number for _, _, number in iterate_partitions_of_exchange(exchange)]


def partition_number_paths(api_key: int, side: Side) -> tuple[str, ...]:
    """The paths that `partition_numbers` reads of a side of an API."""
    return tuple(partition_paths(api_key, side, topics=False))


@cache
def record_and_topic_paths(api_key: int, side: Side) -> tuple[str, ...]:
    """The paths of the records of a side of an API, and of the names or ids of their topics."""
    array = batch_array(api_key)
    found = record_paths(api_key, side)
    if not found or array is None:
        return ()
    names = (topic_name_field(api_key, array), TOPIC_ID if has_topic_id_field(api_key, array) else "")
    return (*found, *(f"{array.topics}[].{name}" for name in names if name))


@cache
def record_paths(api_key: int, side: Side) -> tuple[str, ...]:
    """The paths of the records of a side of an API: where their bytes are."""
    array = batch_array(api_key)
    if array is None or array.side != side:
        return ()
    return (f"{array.records_path}:span",)


def record_count(exchange: Exchange) -> int | None:
    """How many records are produced or fetched; None for an exchange that carries none."""
    array = batch_array(exchange.api_key)
    if array is None or exchange.view(array.side) is None:
        return None
    from decoders.analysis.exchange_facts import (
        record_totals_of_exchange,  # code that reads records is not loaded for other filters
    )

    found = record_totals_of_exchange(exchange)
    return found.records if found is not None else 0


def record_key_texts(exchange: Exchange) -> Iterator[str | None]:
    """The key of each record as text; None for a record without one."""
    return map(_text_of_bytes, _read_record_parts(exchange, _keys_of_records))


def record_value_texts(exchange: Exchange) -> Iterator[str | None]:
    """The value of each record as text; None for a record without one (a tombstone)."""
    return map(_text_of_bytes, _read_record_parts(exchange, _values_of_records))


def record_key_text(_topic: str | None, record: Row) -> tuple[str | None]:
    """The key of a record, as of `record_key_texts`."""
    return (_text_of_bytes(record[_KEY]),)


def record_value_text(_topic: str | None, record: Row) -> tuple[str | None]:
    """The value of a record, as of `record_value_texts`."""
    return (_text_of_bytes(record[_VALUE]),)


def make_record_header_getter(name: str) -> Callable[[str | None, Row], list[str | None]]:
    """A function that gives the values of all headers of this name in a record."""
    return lambda _topic, record: [_text_of_bytes(content) for key, content in record[_HEADERS] if key == name]


def make_header_getter(name: str) -> Callable[[Exchange], Iterator[str | None]]:
    """A function that gives the values of all headers of this name in all records."""

    def values_of_headers(rows: Iterator[Any]) -> list[Any]:
        return [content for row in rows for key, content in row[_HEADERS] if key == name]

    return lambda exchange: map(_text_of_bytes, _read_record_parts(exchange, values_of_headers))


def _keys_of_records(rows: Iterator[Any]) -> list[Any]:
    return [row[_KEY] for row in rows]


def _values_of_records(rows: Iterator[Any]) -> list[Any]:
    return [row[_VALUE] for row in rows]


def _text_of_bytes(data: Any) -> str | None:
    """Bytes as the text that an expression compares; bytes that are no UTF-8 are replaced."""
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data


def _read_record_parts(exchange: Exchange, part: Callable[[Iterator[Any]], list[Any]]) -> Iterator[Any]:
    """A part of each record of an exchange, batch by batch."""
    for _, found in _iterate_batches_with_topic(exchange, part):
        yield from found


def iterate_records_with_topic(exchange: Exchange, fields: Any = None) -> Iterator[tuple[str | None, Any]]:
    """Each record of an exchange with its topic.

    `fields` are those at `record_and_topic_paths`, where the exchange was read without them.
    """
    from decoders.analysis.exchange_facts import topic_of_element  # as record_totals_of_exchange

    for element, found in _iterate_batches_with_topic(exchange, list, fields):
        topic = topic_of_element(exchange, element)
        for row in found:
            yield topic, row


def _iterate_batches_with_topic(
    exchange: Exchange, part: Callable[[Iterator[Any]], list[Any]], fields: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    """For each batch: the element about its topic, and a part of each of its records."""
    array = batch_array(exchange.api_key)
    if array is None:
        return
    from decoders.records.read_batches import read_records_by_batch
    from decoders.records.record_and_batch import Budget

    view = exchange.view(array.side) if fields is None else fields
    raw, budget = exchange.raw(array.side), Budget()
    for topic, partition in partitions_in(view, array):
        records = partition.get(array.records)
        if records.__class__ is tuple and raw is not None:
            at, size = records
            for found in read_records_by_batch(raw[at : at + size], budget, part):
                yield topic, found
        elif isinstance(records, list):  # of an exchange record
            yield topic, part(row for batch in records for row in batch.get("records") or ())


def has_counts_without_records(settled: Settled) -> bool:
    """Whether an exchange that was read from an exchange record has record counts without the records."""
    if settled.kind != "exchange" or settled.record is None:
        return False
    array = batch_array(settled.api_key)
    return array is not None and any(
        batch["record_count"] and "records" not in batch
        for _, partition in partitions_in(settled.view(array.side), array)
        for batch in partition.get(array.records) or ()
    )
