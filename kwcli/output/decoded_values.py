"""Decoded keys and values of records in, one line of text for each out: `avro #17 shop.Order {"id":41}`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.exchanges.topic_arrays import batch_array, find_topic_of_records
from decoders.messages.decode_record_values import RecordValueTexts, decode_missing_parts, describe_decoded_json
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.body_printer import format_scalar
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.build_body_json import Options
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.values.model import DecodedValue
    from kwcli.output.settings import Settings

__all__ = [
    "format_decoded_field",
    "list_missing_schemas",
    "make_text_options",
    "put_decoded_texts_in_records",
    "read_decoded_value",
]

# What would help where a schema is missing.
MISSING_HINT: Final = "--schemas DIR, or -X schema.registry.url=URL"
_DECODED: Final = ("key_decoded", "value_decoded")
_DECODED_KEYS: Final = frozenset({"format", "schema_id", "name", "value"})
# The ids that a sentence about them names.
_LISTED: Final = 5


def make_text_options(settings: Settings) -> Options:
    """How much the records of exchanges show in text; decoded keys and values are lines of text."""
    options = settings.make_record_options()._replace(names=False)
    return (
        options
        if settings.values is None
        else options._replace(values=RecordValueTexts(settings.values, _format_value))
    )


def put_decoded_texts_in_records(
    exchange: Exchange, record: Mapping[str, Any], reader: RecordValueReader | None
) -> dict[str, Any]:
    """The record of an exchange, read again, with the line of each decoded key and value in place of its bytes.

    Without `reader` the bytes alone. `record` stays as it is.
    """
    array = batch_array(exchange.api_key)
    if array is None:
        return {**record}

    def change_topic(topic: dict[str, Any]) -> dict[str, Any]:
        name = find_topic_of_records(exchange.api_key, topic, exchange.topic_name)

        def change_batch(batch: dict[str, Any]) -> dict[str, Any]:
            return _change_structs(batch, "records", lambda each: _put_decoded_texts(each, name, reader))

        def change_partition(partition: dict[str, Any]) -> dict[str, Any]:
            return _change_structs(partition, array.records, change_batch)

        return _change_structs(topic, array.partitions, change_partition)

    body = record.get(array.side)
    if not isinstance(body, dict):
        return {**record}
    return {**record, array.side: _change_structs(body, array.topics, change_topic)}


def _change_structs(
    holder: dict[str, Any], name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """A copy of a struct with the structs of a list changed; the struct itself where it has no such list."""
    found = holder.get(name)
    if not isinstance(found, list):
        return holder
    return {**holder, name: [change(each) if isinstance(each, dict) else each for each in found]}


def _put_decoded_texts(record: dict[str, Any], topic: str | None, reader: RecordValueReader | None) -> dict[str, Any]:
    record = {**record}
    if not all(map(_is_decoded_json, (record[name] for name in _DECODED if name in record))):
        return record  # somebody else's field
    if reader is not None and {"key", "value", "headers"} <= record.keys():
        decode_missing_parts(record, topic, reader)
    for field in ("key", "value"):
        decoded = record.pop(f"{field}_decoded", None)
        text = None if decoded is None or reader is None else _format_decoded_json(decoded, record.get(field))
        if text is not None:
            record[field] = text
    return record


def _is_decoded_json(decoded: Any) -> bool:
    return isinstance(decoded, dict) and decoded.keys() >= _DECODED_KEYS


def list_missing_schemas(missing: Counter[str]) -> list[str]:
    """The sentence about values whose schemas are missing, and what would help; none where none are.

    `missing` has how many values name each id.
    """
    if not missing:
        return []
    ids = sorted(missing, key=lambda each: (len(each), each))
    more = f" and {len(ids) - _LISTED:,} more" if ids[_LISTED:] else ""
    noun = "id" if len(ids) == 1 else "ids"
    told = count_of(missing.total(), "value")
    return [f"{told} with a schema that was not seen ({noun} {', '.join(ids[:_LISTED])}{more}): {MISSING_HINT}"]


def _format_value(found: DecodedValue, shown: Any) -> str | None:
    return _format_decoded_json(found.to_json(), shown)


def format_decoded_field(record: Mapping[str, Any], field: str) -> str:
    """The line of the `key` or `value` of a record in JSON form: decoded where it is, else its bytes."""
    decoded, shown = record.get(f"{field}_decoded"), record[field]
    text = None if decoded is None else _format_decoded_json(decoded, shown)
    return format_scalar(shown) if text is None else escape_text(text)


def read_decoded_value(record: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """The decoded form of a key or value whose bytes do not say the same; None where there is none to show."""
    decoded: Mapping[str, Any] | None = record.get(f"{field}_decoded")
    if decoded is None or "error" in decoded or decoded["value"] is None or _says_what_bytes_say(decoded):
        return None
    return decoded


def _says_what_bytes_say(decoded: Mapping[str, Any]) -> bool:
    return decoded["format"] == "json" and decoded["schema_id"] is None and "error" not in decoded


def _format_decoded_json(decoded: Mapping[str, Any], shown: Any) -> str | None:
    """The line of a value in JSON form, whose bytes are `shown`; None where these say the same: plain JSON."""
    if _says_what_bytes_say(decoded):
        return None
    head = describe_decoded_json(decoded)
    if "error" in decoded or (decoded["value"] is None and "missing_schema" in decoded):
        return f"{head} {format_scalar(shown)}"
    return f"{head} {orjson.dumps(decoded['value']).decode()}"
