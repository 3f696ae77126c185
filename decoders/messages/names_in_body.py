"""A body in JSON form in, the words for its numbers by path out: `names` of the record, where it is asked for.

Bodies hold Kafka's own fields and nothing else, so the words stand beside them: {"isolation_level": "read_committed"},
a list of words for a set of bits or a list of numbers. Error codes are in `errors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from decoders.apis.enums import BITS, words_of
from decoders.embedded import STRUCTURES, structure
from decoders.errors import DecodeError
from decoders.exchanges.api_versions import SIDES, ApiVersion
from decoders.limits import ERRORS_SHOWN_MAX
from decoders.schema.json_form import STRUCTURE
from decoders.schema.model import Plan, PlanField, Side, resolve
from decoders.wire.deferred import DeferredList

Words = str | list[str | None]
_LISTS: Final = (list, DeferredList)


class _Named(NamedTuple):
    """A field with words, and one in which there are such fields."""

    field: PlanField
    below: Plan | None


def names_of_record(spec: ApiVersion, record: dict[str, Any]) -> dict[str, dict[str, Words]]:
    """`names` of an exchange record: for each side that has numbers with words, path → word."""
    found = {side: names_in(spec, side, record[side]) for side in SIDES}
    return {side: names for side, names in found.items() if names}


def names_in(spec: ApiVersion, side: Side, body: Any) -> dict[str, Words]:
    """The words for the numbers of one body; so many at most as error codes are listed."""
    layouts = spec.layouts(side)
    names: dict[str, Words] = {}
    if layouts and isinstance(body, dict):
        for path, words in _struct(layouts[0].plan, body, ""):
            names[path] = words
            if len(names) == ERRORS_SHOWN_MAX:
                break
    return names


def names_in_structure(value: dict[str, Any]) -> dict[str, Words]:
    """The words for the numbers of a structure with its `$type` and `$version`."""
    return dict(_structure(value, ""))


@cache
def _telling(plan: Plan) -> tuple[_Named, ...]:
    """The fields of a struct that have words, or have such fields below them, or bytes that may."""
    return tuple(
        _Named(field, field.plan)
        for field in (*plan.fields, *plan.tagged)
        if field.means or field.kind in ("bytes", "records") or (field.plan is not None and _telling(field.plan))
    )


def _struct(plan: Plan, value: dict[str, Any], above: str) -> Iterator[tuple[str, Words]]:
    for field, below in _telling(plan):
        inner = value.get(field.name)
        if inner is None:
            continue
        path = above + field.name
        if field.means:
            words = _words(field, inner)
            if words is not None:
                yield path, words
        elif below is None:
            yield from _bytes(inner, path)
        elif isinstance(inner, _LISTS):
            for number, each in enumerate(inner):
                if each is not None:
                    yield from _struct(below, each, f"{path}[{number}].")
        else:
            yield from _struct(below, inner, path + ".")


def _words(field: PlanField, value: Any) -> Words | None:
    """The word for a number, those of its bits, those of a list; None where there is none."""
    if isinstance(value, _LISTS):
        words = [words_of(field.means, each) for each in value]
        return words if any(words) else None
    found = words_of(field.means, value) if isinstance(value, int) else None
    return list(found.split(",")) if found and field.means in BITS else found


def _bytes(value: Any, path: str) -> Iterator[tuple[str, Words]]:
    """What structures in bytes say, and in records that are shown."""
    if isinstance(value, dict):
        yield from _structure(value, path + ".")
    elif isinstance(value, _LISTS):
        for number, batch in enumerate(value):
            records = batch.get("records") if isinstance(batch, dict) else None
            for at, record in enumerate(records or ()):
                for held in ("key", "value"):
                    if isinstance(record.get(held), dict):
                        yield from _structure(record[held], f"{path}[{number}].records[{at}].{held}.")


def _structure(value: dict[str, Any], above: str) -> Iterator[tuple[str, Words]]:
    plan = _plan(value.get(STRUCTURE), value.get("$version"))
    if plan is not None:
        yield from _struct(plan, value, above)


@cache
def _plan(name: Any, version: Any) -> Plan | None:
    if name not in STRUCTURES:
        return None
    try:
        return resolve(structure(name), version)
    except DecodeError:
        return None
