"""A filter and the JSON of a message in, whether a record of it is one that the filter is about out."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from decoders.errors import FilterError
from decoders.filters import parse

if TYPE_CHECKING:
    from decoders.messages.decode_record_values import RecordValueReader

__all__ = ["find_json_at_path", "make_record_matcher"]

# The JSON of a record in, whether the filter is about it out.
Matcher = Callable[[dict[str, Any]], bool]
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def make_record_matcher(text: str, values: RecordValueReader | None) -> Matcher | None:
    """Whether one of the questions of a filter about keys, values and headers passes a record; None without any.

    `values`: the schemas that values are read by.
    """
    from decoders.filters.record_predicates import make_record_test

    try:
        selection = parse(text)
    except FilterError:
        return None
    selection.set_value_reader(values)
    tests = [make_record_test(atom) for atom in selection.list_atoms() if atom.row.of_record is not None]
    if not tests:
        return None

    def matches(record: dict[str, Any]) -> bool:
        row = (
            *(record.get("offset") or 0, record.get("timestamp")),
            *(_convert_json_to_bytes(record.get("key")), _convert_json_to_bytes(record.get("value"))),
            tuple(
                (str(each.get("key")), _convert_json_to_bytes(each.get("value")))
                for each in record.get("headers") or ()
            ),
            None,
        )
        return any(test(None, row) for test in tests)

    return matches


def _convert_json_to_bytes(value: Any) -> bytes | None:
    if isinstance(value, dict):
        try:
            return base64.b64decode(value.get("base64") or "")
        except (binascii.Error, TypeError, ValueError):
            return b""
    return None if value is None else str(value).encode("utf-8", "surrogateescape")


def find_json_at_path(value: Any, path: str) -> Any:
    """The value at a path with indices; None where there is none."""
    for name, index in _STEP.findall(path):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value
