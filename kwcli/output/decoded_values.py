"""Decoded keys and values of records in, one line of text for each out: `avro #17 shop.Order {"id":41}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from kwcli.output.body_printer import format_scalar

if TYPE_CHECKING:
    from decoders.values import DecodedValue

__all__ = ["MISSING_HINT", "format_decoded_value"]

# What would help where a schema is missing.
MISSING_HINT: Final = "--schemas DIR, or -X schema.registry.url=URL"


def format_decoded_value(found: DecodedValue, shown: Any) -> str | None:
    """The line of a value, which `shown` is the JSON form of; None where its bytes say the same: plain JSON."""
    if found.format == "json" and found.schema_id is None and found.error is None:
        return None
    words = [found.format]
    if found.schema_id is not None:
        words.append(f"#{found.schema_id}")
    if found.name:
        words.append(found.name)
    if found.guessed:
        words.append("(guessed)")
    if found.missing_schema:
        return f"{' '.join(words)} (schema not seen yet) {format_scalar(shown)}"
    if found.error is not None:
        return f"{' '.join(words)} ({found.error}) {format_scalar(shown)}"
    return f"{' '.join(words)} {orjson.dumps(found.to_json()['value']).decode()}"
