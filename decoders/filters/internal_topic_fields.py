"""A path such as `record.group` in, the values of its fields in the records of internal topics out.

Records of `__consumer_offsets`, `__cluster_metadata` and other internal topics are read as
`messages/internal_topic_records.py` shows them, with secrets redacted. A path is the names of fields with dots between
them; brackets make no difference, and a list stands for each of its elements. Records that are no structure have no
field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.embedded import (
    STRUCTURES,
    TOPICS,
    embedded_structure_json,
    parse_structure_declaration,
    structures_of_record,
)
from decoders.filters.read_partitions_and_records import iterate_records_with_topic

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.records.record_and_batch import Row
    from decoders.schema.api_declaration import Field

__all__ = ["list_internal_topic_field_paths", "make_internal_topic_getter", "make_internal_topic_record_getter"]

_KEY: Final = 2
_VALUE: Final = 3
_CONTROL: Final = 5


@cache
def list_internal_topic_field_paths() -> tuple[str, ...]:
    """The paths of all fields of all structures in records of internal topics, in order."""
    modules = {module for those in TOPICS.values() for module in those}
    found: dict[str, None] = {}
    for name, row in STRUCTURES.items():
        if row.module in modules:
            found.update(dict.fromkeys(_list_declared_paths(parse_structure_declaration(name).fields, "")))
    return tuple(sorted(found))


def _list_declared_paths(fields: Iterable[Field], above: str) -> Iterator[str]:
    for field in fields:
        yield above + field.name
        yield from _list_declared_paths(field.fields, f"{above}{field.name}.")


def make_internal_topic_getter(path: str) -> Callable[[Exchange], list[Any]]:
    """A function that gives the values of the fields at a path in all records of an exchange; a secret has none."""
    of_record = make_internal_topic_record_getter(path)
    return lambda exchange: [
        each for topic, row in iterate_records_with_topic(exchange) for each in of_record(topic, row)
    ]


def make_internal_topic_record_getter(path: str) -> Callable[[str | None, Row], Iterable[Any]]:
    """A function that gives the values of the fields at a path in one record; a secret has none."""
    steps = path.split(".")

    def values_of_record(topic: str | None, row: Row) -> Iterable[Any]:
        if topic not in TOPICS or len(row) <= _CONTROL or row[_CONTROL] is not None:
            return ()
        structures = _decode_record_structures(topic, row[_KEY], row[_VALUE])
        return (each for shown in structures for each in _values_on_path(shown, steps))

    return values_of_record


def _decode_record_structures(topic: str, key: Any, value: Any) -> Iterator[dict[str, Any]]:
    names = structures_of_record(topic, *(each if isinstance(each, bytes) else None for each in (key, value)))
    for name, content in zip(names, (key, value), strict=True):
        if name is not None and isinstance(content, bytes):
            shown = embedded_structure_json(name, content, allow_trailing=True)
            if shown is not None:
                yield shown


def _values_on_path(value: Any, steps: list[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for each in value:
            yield from _values_on_path(each, steps)
    elif isinstance(value, dict):
        if steps and steps[0] in value:
            yield from _values_on_path(value[steps[0]], steps[1:])
    elif not steps and value is not None:
        yield value
