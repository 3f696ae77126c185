"""A value's bytes that are JSON text in, its value out."""

from __future__ import annotations

from typing import Any

import orjson

from decoders.errors import LimitExceeded, Malformed
from decoders.limits import VALUE_NESTING_MAX
from decoders.schema.json_form import has_at_most_levels


def read_json(data: bytes) -> Any:
    """The value of a JSON text, which is all of `data`. Raises DecodeError."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as failure:
        raise Malformed(f"no JSON: {failure.msg}", offset=failure.pos) from None
    if not has_at_most_levels(found, VALUE_NESTING_MAX):
        raise LimitExceeded(f"JSON of more than {VALUE_NESTING_MAX} levels")
    return found
