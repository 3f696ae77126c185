"""A body in JSON form in, the words for its numbers by path out: `names` of the record, where asked for.

Bodies hold Kafka's own fields and nothing else, so the words stand beside them: {"isolation_level": "read_committed"},
a list of words for a set of bits or a list of numbers. An error code of 0 needs no word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from decoders.embedded import STRUCTURES, VERSION, parse_structure_declaration
from decoders.embedded.otlp_metrics import METRICS, TEMPORALITY
from decoders.exchanges.body_reader import SIDES, list_layouts
from decoders.limits import NAMES_SHOWN_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.enum_words import BITS
from decoders.protocol_facts.number_words import ERROR, number_set_of_field, word_for_number_in_set
from decoders.schema.api_declaration import Plan, PlanField, Side, resolve
from decoders.schema.body_json_form import STRUCTURE
from decoders.wire.deferred_json import DeferredList

__all__ = ["add_words_for_numbers"]

WordOrWords = str | list[str | None]
_LISTS: Final = (list, DeferredList)
_HOLDERS: Final = ("bytes", "records")
_RECORD_CONTENTS: Final = ("key", "value")


class _NamedField(NamedTuple):
    """A field whose numbers have words (`means`), or that may contain such fields (`means` is empty)."""

    field: PlanField
    means: str


def add_words_for_numbers(record: dict[str, Any]) -> None:
    """Add `names` to the record of an exchange, a message or a structure: part of the record → path → word.

    Words beyond NAMES_SHOWN_MAX are only counted, under `names_cut`.
    """
    found: dict[str, dict[str, WordOrWords]] = {}
    room = NAMES_SHOWN_MAX
    cut = 0
    for part, words in _list_parts_with_words(record):
        names: dict[str, WordOrWords] = {}
        for path, word in words:
            if room:
                names[path] = word
                room -= 1
            else:
                cut += 1
        if names:
            found[part] = names
    if found:
        record["names"] = found
    if cut:
        record["names_cut"] = cut


def _list_parts_with_words(record: Mapping[str, Any]) -> Iterator[tuple[str, Iterator[tuple[str, WordOrWords]]]]:
    """The parts of a record that have numbers with words."""
    if record["kind"] == "structure":
        yield "value", _find_number_words_in_structure(record["value"], "")
    elif record["kind"] == "message":
        yield "body", _find_number_words_in_body(record, record["side"], record["body"], record.get("layout"))
    elif record["kind"] == "exchange":
        for side in SIDES:
            early = record.get("layout")
            yield (
                side,
                _find_number_words_in_body(
                    record, side, record[side], early.get(side) if isinstance(early, dict) else None
                ),
            )


def _find_number_words_in_body(
    record: Mapping[str, Any], side: Side, body: Any, early_layout: str | None
) -> Iterator[tuple[str, WordOrWords]]:
    key, version = record["api_key"], record["api_version"]
    if key is None or version is None or not isinstance(body, dict):
        return
    plan = next(
        (layout.plan for layout in list_layouts(key, version, side) if layout.early_layout == early_layout), None
    )
    if plan is not None:
        yield from _find_number_words_in_struct(plan, body, "")


@cache
def _list_fields_with_words(plan: Plan) -> tuple[_NamedField, ...]:
    """The fields of a struct whose numbers have words, or that have such fields, or bytes with structures, in them."""
    return tuple(
        _NamedField(field, means)
        for field in (*plan.fields, *plan.tagged)
        if (means := number_set_of_field(field))
        or field.kind in _HOLDERS
        or (field.plan is not None and _list_fields_with_words(field.plan))
    )


def _find_number_words_in_struct(plan: Plan, value: Mapping[str, Any], above: str) -> Iterator[tuple[str, WordOrWords]]:
    for field, means in _list_fields_with_words(plan):
        inner = value.get(field.name)
        if inner is None:
            continue
        path = above + field.name
        if means:
            words = _find_words_of_number(means, inner)
            if words is not None:
                yield path, words
        elif field.plan is None:
            yield from _find_number_words_in_bytes(inner, path)
        elif isinstance(inner, _LISTS):
            for number, each in enumerate(inner):
                if isinstance(each, dict):
                    yield from _find_number_words_in_struct(field.plan, each, f"{path}[{number}].")
        elif isinstance(inner, dict):
            yield from _find_number_words_in_struct(field.plan, inner, path + ".")


def _find_words_of_number(means: str, value: Any) -> WordOrWords | None:
    """The word for a number, or the words for its bits or for a list of numbers; None where there is none."""
    if isinstance(value, _LISTS):
        words = [word_for_number_in_set(means, each) if isinstance(each, int) else None for each in value]
        return words if any(words) else None
    if not isinstance(value, int) or (means == ERROR and not value):
        return None
    found = word_for_number_in_set(means, value)
    return list(found.split(",")) if found and means in BITS else found


def _find_number_words_in_bytes(value: Any, path: str) -> Iterator[tuple[str, WordOrWords]]:
    """The words of structures in bytes, or in keys and values of records that are shown."""
    if isinstance(value, dict):
        yield from _find_number_words_in_structure(value, path + ".")
    elif isinstance(value, _LISTS):
        for number, batch in enumerate(value):
            records = batch.get("records") if isinstance(batch, dict) else None
            for at, record in enumerate(records if isinstance(records, _LISTS) else ()):
                for field in _RECORD_CONTENTS if isinstance(record, dict) else ():
                    if isinstance(record.get(field), dict):
                        yield from _find_number_words_in_structure(
                            record[field], f"{path}[{number}].records[{at}].{field}."
                        )


def _find_number_words_in_metrics(
    value: Mapping[str, Any], above: str, left: int = 4
) -> Iterator[tuple[str, WordOrWords]]:
    """The words of metrics, which no declaration of Kafka's describes; `left`: how many levels deeper to look."""
    if left < 0:
        return
    for name, inner in value.items():
        if name == "aggregation_temporality" and isinstance(inner, int):
            word = TEMPORALITY.get(inner)
            if word is not None:
                yield above + name, word
        elif isinstance(inner, dict):
            yield from _find_number_words_in_metrics(inner, f"{above}{name}.", left - 1)
        elif isinstance(inner, list):
            for number, each in enumerate(inner):
                if isinstance(each, dict):
                    yield from _find_number_words_in_metrics(each, f"{above}{name}[{number}].", left - 1)


def _find_number_words_in_structure(value: Mapping[str, Any], above: str) -> Iterator[tuple[str, WordOrWords]]:
    name, version = value.get(STRUCTURE), value.get(VERSION)
    if name == METRICS:
        yield from _find_number_words_in_metrics(value, above)
    if isinstance(name, str) and isinstance(version, int) and name in STRUCTURES:
        message = parse_structure_declaration(name)
        if version in message.versions:
            yield from _find_number_words_in_struct(resolve(message, version), value, above)
