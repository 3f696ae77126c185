"""A path as people write it (`topic`, `latency_ms`, `errors[].code`, `request.topics[].name`) in, its values out.

One language for columns, fields and filters. A path is a key of the exchange record, with the names below it; or a
field of filters, which reads the same values under shorter names (`topic`, `group`, `error`, `latency`). A word that is
both means the key if the key is a scalar, else the field; with brackets (`errors[].code`) it means the key. All values
of bodies are taken from the record, so secrets are hidden as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.apis import api
from decoders.errors import FilterError
from decoders.exchanges import exchange_attribute_table
from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.exchange_attribute_table import SCALARS
from decoders.filters.filter_field_table import ALIASES, BODIES, FIELDS, PacketSpan, entity_name_paths, entity_names
from decoders.filters.parse_expression import (
    all_body_paths,
    api_keys_with_path,
    find_filter_field,
    number_word_sets_at,
    spellings_of_path,
)
from decoders.limits import CELL_MAX, MIB
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.protocol_facts.field_paths import FieldPathStep, parse_field_path, values_at_path
from decoders.protocol_facts.number_words import word_for_number_in_set
from decoders.schema.api_declaration import Side
from decoders.schema.body_json_form import json_bytes, json_text
from decoders.wire.primitive_types import format_uuid

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled

# Keys of the records of exchanges and skipped runs that are not always there, or no scalars.
KEYS: Final = (*(key for key in exchange_attribute_table.KEYS if key not in SCALARS), "direction", "detail")
# Those that are there, or have more in them, only if earlier exchanges are remembered
# (exchanges/facts_from_earlier_exchanges.py).
HISTORY: Final = frozenset(
    ["fetch_session", *(name.partition(".")[0] for name, row in FIELDS.items() if row.history and "." in name)]
)
Record = Mapping[str, Any]
_OBJECT_COST: Final = 56


class RecordPath:
    """One path. `whole`: `values` reads the record of the row, and has to be given it; `attribute`: the attribute of
    exchanges that the path is, if it is one; `history`: there may be more values if earlier exchanges are remembered.

    `set_value_reader` gives a path into decoded keys and values the schemas of a run; None for other paths.
    `needs` are the paths that have to be read of a side of an API beforehand (exchanges/body_reader.py).
    """

    __slots__ = ("_get", "_needs", "attribute", "history", "set_value_reader", "text", "whole")

    def __init__(
        self,
        text: str,
        get: Callable[[Settled, Record], list[Any]],
        *,
        whole: bool = False,
        history: bool = False,
        attribute: str = "",
        needs: Callable[[int, Side], tuple[str, ...]] | None = None,
        set_value_reader: Callable[..., None] | None = None,
    ) -> None:
        self.text = text
        self.attribute = attribute
        self.whole = whole
        self.history = history
        self.set_value_reader = set_value_reader
        self._get = get
        self._needs = needs

    def values(self, row: Settled, record: Record) -> list[Any]:
        """The values in JSON's form; empty where the row has none, or null."""
        return self._get(row, record)

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of a side that must be read."""
        return frozenset(self._needs(api_key, side)) if self._needs is not None else frozenset()


def parse_record_path(text: str, *, names: bool = False) -> RecordPath:
    """The path that a text is. With `names`, numbers of bodies have their words behind them: `1 read_committed`.

    Raises FilterError that says which paths there are, or which one may have been meant.
    """
    if text in SCALARS:
        return RecordPath(
            text,
            lambda row, _record: _to_list_without_nulls(_scalar_in_json_form(getattr(row, text, None))),
            attribute=text,
        )
    name = ALIASES.get(text, text)
    head = name.partition(".")[0]
    if head in BODIES and name != head:
        return _make_body_path(text, head, name.partition(".")[2], names=names)
    if name in KEYS and name not in FIELDS:
        return RecordPath(
            text, lambda _row, record: _to_list_without_nulls(record.get(name)), whole=True, history=name in HISTORY
        )
    try:
        steps = parse_field_path(name)
    except ValueError as problem:
        raise FilterError(f"{text!r} is no path (write topic, errors[].code or request.topics[].name)", 1) from problem
    if steps[0].name in KEYS and (len(steps) > 1 or steps[0].indices):
        from decoders.exchanges.exchange_attribute_schemas import names_below_key

        below = names_below_key(steps[0].name)
        if len(steps) > 1 and below is not None and steps[1].name not in below:
            candidates = [f"{steps[0].name}.{each}" for each in below]
            raise FilterError(f"{steps[0].name} has no {steps[1].name!r}", 1, word=text, candidates=candidates)
        history = steps[0].name in HISTORY
        return RecordPath(
            text, lambda _row, record: _flatten_lists(values_at_path(record, steps)), whole=True, history=history
        )
    return _make_path_of_filter_field(text)


def first_words_of_paths() -> list[str]:
    """Every word that a path may begin with."""
    return list(dict.fromkeys([*SCALARS, *KEYS, *FIELDS, *ALIASES]))


def _make_path_of_filter_field(text: str) -> RecordPath:
    """The path that is a field of filters. Raises FilterError."""
    try:
        field = find_filter_field(text)
    except FilterError as error:
        raise FilterError(error.text, 1, word=text, candidates=[*first_words_of_paths(), *error.candidates]) from None
    get: Any = getattr(field.row.get, "list_values", field.row.get)  # a text that is a number counts once here
    shown = _SHOWN.get(field.row.kind, _value_in_json_form)
    if field.row.entity:
        return RecordPath(text, _make_entity_reader(field.row.entity), needs=field.make_atom(None).needs)
    named = field.row.kind == "error"

    def read_filter_field(row: Settled, _record: Record) -> list[Any]:
        if row.kind != "exchange":
            return []
        found = get(row)
        if found is None:
            return []
        if isinstance(found, str | bytes | int | float | UUID):
            return [shown(found)]
        if named:
            found = dict.fromkeys(found)
        return _cut_values_to_cell_size(shown(each) for each in found if each is not None)

    set_value_reader = getattr(field.row.get, "set_value_reader", None)
    needs = field.make_atom(None).needs
    return RecordPath(
        text, read_filter_field, history=field.row.history, needs=needs, set_value_reader=set_value_reader
    )


def _cut_values_to_cell_size(found: Iterable[Any]) -> list[Any]:
    """The values that fit into a cell (CELL_MAX bytes), and a text that says so where there are more."""
    values: list[Any] = []
    room = CELL_MAX
    for value in found:
        room -= _memory_size_of(value)
        if room < 0 and values:
            return [*values, f"… (more than {CELL_MAX // MIB} MiB: the rest is left out)"]
        values.append(value)
    return values


def _memory_size_of(value: Any) -> int:
    """About how many bytes of memory a value of JSON's form takes."""
    if value.__class__ is dict:  # bytes
        return sum(map(_memory_size_of, value.values()))
    if value.__class__ is str:
        return _OBJECT_COST + len(value) * (1 if value.isascii() else 4)
    return _OBJECT_COST


def _make_entity_reader(entity: str) -> Callable[[Settled, Record], list[Any]]:
    """A function that gives the names of an entity (topics, groups …) in both sides, each once."""

    @cache
    def list_sides_with_entity(api_key: int) -> tuple[Side, ...]:
        return tuple(side for side in SIDES if entity_name_paths(api_key, side, entity))

    def read_entity_names(row: Settled, _record: Record) -> list[Any]:
        if row.kind != "exchange" or row.api_key is None:
            return []
        found = {name: None for side in list_sides_with_entity(row.api_key) for name in entity_names(row, side, entity)}
        return [_scalar_in_json_form(name) for name in found]

    return read_entity_names


def _make_body_path(text: str, head: str, path: str, *, names: bool) -> RecordPath:
    side, _ = BODIES[head]
    if not api_keys_with_path(side, _part_declared_by_kafka(path)):
        others = [f"{head}.{other}" for other in all_body_paths(side)]
        raise FilterError(f"no {head} has a field {path!r}", 1, word=text, candidates=others)

    @cache
    def list_steps_in_api(api_key: int) -> list[tuple[FieldPathStep, ...]]:
        spelt = spellings_of_path(api_key, side, _part_declared_by_kafka(path))
        rest = path[len(_part_declared_by_kafka(path)) :]
        return [parse_field_path(each.removesuffix("[]") + rest if rest else each.removesuffix("[]")) for each in spelt]

    def read_body_values(row: Settled, record: Record) -> list[Any]:
        if row.kind != "exchange" or row.api_key is None:
            return []
        found = _flatten_lists(
            value for steps in list_steps_in_api(row.api_key) for value in values_at_path(record[side], steps)
        )
        sets = set(number_word_sets_at(row.api_key, side, path).values()) if names else None
        return [_append_word_to_number(value, *sets) for value in found] if sets and len(sets) == 1 else found

    return RecordPath(text, read_body_values, whole=True)


def _append_word_to_number(value: Any, means: str) -> Any:
    if not isinstance(value, int):
        return value
    words = word_for_number_in_set(means, value)
    return f"{value} {words}" if words else value


@cache
def _part_declared_by_kafka(path: str) -> str:
    """The part of a path that Kafka declares: the keys below `records` are kw's own form of batches."""
    head, found, _ = path.partition("records")
    after = path[len(head + found) :]
    return head + found if found and after[:1] in ("[", ".") and (not head or head.endswith(".")) else path


def _flatten_lists(values: Iterable[Any]) -> list[Any]:
    """The values without null, and the elements of lists in place of the lists."""
    return _drop_nulls(each for value in values for each in (value if isinstance(value, list) else (value,)))


def _drop_nulls(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _to_list_without_nulls(value: Any) -> list[Any]:
    return [] if value is None else _drop_nulls(value) if isinstance(value, list) else [value]


def _scalar_in_json_form(value: Any) -> Any:
    return json_text(value) if isinstance(value, str) else value


def _value_in_json_form(value: Any) -> Any:
    if isinstance(value, UUID):
        return format_uuid(value.bytes)
    if isinstance(value, bytes):
        return json_bytes(value)
    return _scalar_in_json_form(value)


_SHOWN: Final[dict[str, Callable[[Any], Any]]] = {
    "api": lambda key: api(key).name,
    "error": error_name,
    "packet": PacketSpan.format_as_word,
}
