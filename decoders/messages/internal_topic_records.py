"""Bodies in JSON form in; the same out, with structures in place of the bytes in records of internal topics.

The topic, by its name or by an id whose name is known, tells that its records hold structures. The record itself (the
type of its key, the frame of its value) tells which. Bytes that encoding the structure does not give again stay bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from decoders.embedded import TOPICS, embedded_structure_json, structures_of_record
from decoders.errors import EncodeError
from decoders.exchanges.topic_arrays import RECORD_ARRAYS, TopicArray, find_topic_of_records
from decoders.schema.json_form import bytes_from_json
from decoders.wire.deferred_json import DeferredEach, DeferredList

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

__all__ = ["decode_structures_in_records"]


def decode_structures_in_records(exchange: Exchange, request: Any, response: Any, *, reveal: bool) -> None:
    """Show structures in records of internal topics, in place in the bodies; in deferred records while they are read.

    `reveal` shows the secrets of structures.
    """
    array = None if exchange.api_key is None else RECORD_ARRAYS.get(exchange.api_key)
    body = request if array is not None and array.side == "request" else response
    if array is not None and isinstance(body, dict):
        _change_each_struct(body, array.topics, lambda topic: _show_structures_of_topic(exchange, topic, array, reveal))


def _change_each_struct(holder: dict[str, Any], name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Apply a change to each struct of a list; of a deferred list, once the struct is read."""
    found = holder.get(name)
    if isinstance(found, DeferredList):
        holder[name] = DeferredEach(found, change)
    elif isinstance(found, list):
        for each in found:
            if isinstance(each, dict):
                change(each)


def _show_structures_of_topic(exchange: Exchange, topic: dict[str, Any], array: TopicArray, reveal: bool) -> None:
    name = find_topic_of_records(exchange.api_key, topic, exchange.topic_name)
    if name in TOPICS:
        _change_each_struct(
            topic, array.partitions, lambda part: _show_structures_of_partition(part, array.records, name, reveal)
        )


def _show_structures_of_partition(part: dict[str, Any], records: str, topic: str, reveal: bool) -> None:
    _change_each_struct(
        part,
        records,
        lambda batch: _change_each_struct(
            batch, "records", lambda record: _show_structures_of_record(record, topic, reveal)
        ),
    )


def _show_structures_of_record(record: dict[str, Any], topic: str, reveal: bool) -> None:
    if "control_record" in record:
        return
    key, value = _bytes_of_json_value(record.get("key")), _bytes_of_json_value(record.get("value"))
    names = structures_of_record(topic, key, value)
    for field, data, name in (("key", key, names[0]), ("value", value, names[1])):
        shown = None if name is None else embedded_structure_json(name, data, allow_trailing=True, reveal=reveal)
        if shown is not None:
            record[field] = shown


def _bytes_of_json_value(value: Any) -> bytes | None:
    """The bytes that a JSON value stands for; None where they are redacted, or too long to be looked at."""
    try:
        return None if value is None else bytes_from_json(value, "")
    except EncodeError:
        return None
