"""Bodies in JSON form in; the same out, with records that say more than their bytes: structures, decoded values.

The topic, by its name or by an id whose name is known, tells that the records of an internal topic hold structures. The
record itself (the type of its key, the frame of its value) tells which. Bytes that encoding the structure does not give
again stay bytes. Records of other topics may be Avro, Protobuf and the like (decode_record_values.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from decoders.embedded import TOPICS, embedded_structure_json, structures_of_record
from decoders.exchanges.topic_arrays import PIECES, RECORD_ARRAYS, TopicArray, find_topic_of_records
from decoders.messages.decode_record_values import bytes_of_json_value
from decoders.wire.deferred_json import DeferredEach, DeferredList

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordChange

__all__ = ["decode_structures_in_records"]

# A function that changes the structs of a list in place.
_Change = Callable[[list[Any]], None]


def decode_structures_in_records(
    exchange: Exchange, request: Any, response: Any, *, reveal: bool, values: RecordChange | None = None
) -> None:
    """Show what records hold, in place in the bodies; in deferred records while they are read.

    `reveal` shows the secrets of structures; `values` changes the records of topics that are not internal.
    """
    array = None if exchange.api_key is None else RECORD_ARRAYS.get(exchange.api_key)
    body = request if array is not None and array.side == "request" else response
    if array is not None and isinstance(body, dict):
        _change_each_struct(
            body, array.topics, lambda topic: _change_records_of_topic(exchange, topic, array, reveal, values)
        )


def _change_each_struct(holder: dict[str, Any], name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Apply a change to each struct of a list; of a deferred list, once the struct is read."""

    def change_all_structs(structs: list[Any]) -> None:
        for each in structs:
            if isinstance(each, dict):
                change(each)

    _change_list_of_structs(holder, name, change_all_structs)


def _change_list_of_structs(holder: dict[str, Any], name: str, change: _Change) -> None:
    """Apply a change to a list of structs; to a deferred list, a chunk at a time as it is read."""
    found = holder.get(name)
    if isinstance(found, list):  # as most are: a question about an abstract class takes a µs
        change(found)
    elif isinstance(found, DeferredList):
        holder[name] = DeferredEach(found, change)


def _change_records_of_topic(
    exchange: Exchange, topic: dict[str, Any], array: TopicArray, reveal: bool, values: RecordChange | None
) -> None:
    name = find_topic_of_records(exchange.api_key, topic, exchange.topic_name)
    if name in TOPICS:
        internal: str = name
        _change_records(topic, array, lambda records: _decode_structures_of_records(records, internal, reveal))
    elif values is not None and exchange.api_key not in PIECES:
        _change_records(topic, array, partial(values.change_records, topic=name))


def _change_records(topic: dict[str, Any], array: TopicArray, change: _Change) -> None:
    """Apply a change to the records of a topic, those of a batch at once."""
    partitions = topic.get(array.partitions)
    if partitions.__class__ is not list:
        _change_each_struct(topic, array.partitions, lambda part: _change_records_of_partition(part, array, change))
        return
    for part in partitions:
        if part.__class__ is dict:
            _change_records_of_partition(part, array, change)


def _change_records_of_partition(part: dict[str, Any], array: TopicArray, change: _Change) -> None:
    batches = part.get(array.records)
    if batches.__class__ is not list:
        _change_each_struct(part, array.records, lambda batch: _change_list_of_structs(batch, "records", change))
        return
    for batch in batches:
        if batch.__class__ is dict:
            records = batch.get("records")
            if isinstance(records, list):
                change(records)
            else:
                _change_list_of_structs(batch, "records", change)


def _decode_structures_of_records(records: list[dict[str, Any]], topic: str, reveal: bool) -> None:
    for record in records:
        _decode_structures_of_record(record, topic, reveal)


def _decode_structures_of_record(record: dict[str, Any], topic: str, reveal: bool) -> None:
    if "control_record" in record:
        return
    key, value = bytes_of_json_value(record.get("key")), bytes_of_json_value(record.get("value"))
    names = structures_of_record(topic, key, value)
    for field, data, name in (("key", key, names[0]), ("value", value, names[1])):
        shown = None if name is None else embedded_structure_json(name, data, allow_trailing=True, reveal=reveal)
        if shown is not None:
            record[field] = shown
