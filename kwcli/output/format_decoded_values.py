"""Decoded keys and values of records in, one line of text for each out: `avro #17 shop.Order {"id":41}`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.messages.decode_record_values import (
    RecordValueTexts,
    copy_exchange_with_changed_records,
    decode_values_in_reread_record,
    describe_decoded_json,
    has_own_decoded_parts,
)
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.body_printer import format_scalar
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.build_body_json import Options
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.values.schemas_and_decoded_values import DecodedValue
    from kwcli.output.output_settings import Settings

__all__ = [
    "format_decoded_field",
    "list_missing_schemas",
    "make_text_options",
    "put_decoded_texts_in_records",
    "read_decoded_value",
]

# What would help where a schema is missing.
MISSING_HINT: Final = "--schemas DIR, or -X schema.registry.url=URL"
# The ids that a sentence about them names.
_LISTED: Final = 5


def make_text_options(settings: Settings) -> Options:
    """How much the records of exchanges show in text; decoded keys and values are lines of text."""
    options = settings.make_record_options()._replace(names=False)
    return (
        options
        if settings.values is None
        else options._replace(values=RecordValueTexts(settings.values, _format_decoded_value))
    )


def put_decoded_texts_in_records(
    exchange: Exchange, record: Mapping[str, Any], reader: RecordValueReader | None
) -> dict[str, Any]:
    """The record of an exchange, read again, with the line of each decoded key and value in place of its bytes.

    Without `reader` the bytes alone. `record` stays as it is.
    """
    return copy_exchange_with_changed_records(
        exchange, record, lambda each, topic: _put_decoded_texts(each, topic, reader)
    )


def _put_decoded_texts(record: dict[str, Any], topic: str | None, reader: RecordValueReader | None) -> dict[str, Any]:
    if not has_own_decoded_parts(record):
        return {**record}
    record = {**record} if reader is None else decode_values_in_reread_record(record, topic, reader)
    for field in ("key", "value"):
        decoded = record.pop(f"{field}_decoded", None)
        text = None if decoded is None or reader is None else _format_decoded_json(decoded, record.get(field))
        if text is not None:
            record[field] = text
    return record


def list_missing_schemas(missing: Counter[str], hint: str = MISSING_HINT) -> list[str]:
    """The sentence about values whose schemas are missing, and what would help (`hint`); none where none are.

    `missing` has how many values name each id, or `fingerprint …`.
    """
    if not missing:
        return []
    ids = sorted(missing, key=lambda each: (len(each), each))
    more = f" and {len(ids) - _LISTED:,} more" if ids[_LISTED:] else ""
    numbers = sum(not each.startswith("fingerprint ") for each in ids)
    noun = ("", "id ")[numbers] if numbers < 2 else "ids "
    told = count_of(missing.total(), "value")
    return [f"{told} with a schema that was not seen ({noun}{', '.join(ids[:_LISTED])}{more}): {hint}"]


def _format_decoded_value(found: DecodedValue, shown: Any) -> str | None:
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
