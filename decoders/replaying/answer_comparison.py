"""A recorded answer and a new one in JSON form in, their differences out, and the verdict on them.

The problem. Two clusters never answer with the same bytes: each has its own ids, offsets, addresses and times. A
difference that matters must not be lost among these.

The idea. Both answers are walked side by side by their declaration. Elements of arrays are matched by what they are
about (a topic, a partition, an API), not by their index. Each field is the same, or differs because each cluster has
its own value (field_roles.py), or differs otherwise:

```
same       no difference, except in fields that never agree (throttle times, wordings)
other_ids  ids, offsets, epochs, addresses, times alone: expected
refused    an error where the recorded answer has none
different  anything else: another error, another value, something missing or more
```

Fields that one of two versions lacks are not compared. Records are compared by keys, values and headers where both
sides have them, else by their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from decoders.apis import NAMES, api, api_name
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.replaying.field_roles import Role, find_field_role
from decoders.replaying.version_conversion import convert_answer_to_newest
from decoders.schema.api_declaration import Field, Versions

__all__ = ["Answer", "Difference", "Verdict", "compare_answers", "judge_differences", "merge_answers"]

Verdict = Literal["same", "other_ids", "different", "refused", "uncompared"]
Kind = Literal["ids", "error", "value", "missing", "extra"]

# The fields that say what an element of an array is about: the first row whose fields the element has.
LIST_KEYS: Final[tuple[tuple[str, ...], ...]] = (
    ("api_key",),
    ("resource_type", "resource_name"),
    ("config_name",),
    ("name",),
    ("topic",),
    ("topic_name",),
    ("topic_id",),
    ("partition_index",),
    ("partition",),
    ("partition_id",),
    ("index",),
    ("key",),
    ("group_id",),
    ("transactional_id",),
    ("member_id",),
    ("user",),
    ("node_id",),
    ("broker_id",),
    ("feature",),
)
# Kafka's internal topics.
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
_ERROR: Final = "error_code"
_NO_NAME: Final = (None, "")
_TOPIC_NAMES: Final = ("name", "topic", "topic_name")
# Fields of a batch that are compared besides its records, and fields for which each cluster has its own values.
_OF_BATCHES: Final = ("codec", "magic", "transactional", "control", "crc", "timestamp_type", "record_count")
_OWN_OF_BATCHES: Final = (
    *("base_offset", "last_offset", "base_timestamp", "max_timestamp", "partition_leader_epoch"),
    *("producer_id", "producer_epoch", "base_sequence"),
)


class IdTranslator(Protocol):
    """Translates recorded ids into ids of the other cluster (IdMap in id_map.py)."""

    def translate_id(self, role: Role, recorded_id: Any, group: str | None) -> Any:
        """The other cluster's id for a recorded id."""

    def translate_topic(self, name_or_id: str) -> tuple[str, str]:
        """The name and id in the other cluster of a topic given by its recorded name or id."""


class Answer(NamedTuple):
    """A body in JSON form, its version, and the request that it answers."""

    body: Mapping[str, Any]
    version: int
    asked: Mapping[str, Any]


class Difference(NamedTuple):
    """A difference of two answers. `path` is the field's path in the recorded answer (in the new one, if only that has
    it), `about` names what the field belongs to. Missing and extra elements have a short form as their value.
    """

    path: str
    about: str
    kind: Kind
    recorded: Any
    new: Any


def compare_answers(api_key: int, recorded: Answer, new: Answer, translator: IdTranslator) -> list[Difference]:
    """All differences of two answers, in the order of the recorded one; `translator` translates the ids of elements."""
    message = api(api_key).response
    shapes = [each.body for each in (recorded, new)]
    versions = (recorded.version, new.version)
    if recorded.version != new.version:
        shapes = [convert_answer_to_newest(api_key, each.body, each.asked) for each in (recorded, new)]
        if any(shape.keys() != each.body.keys() for shape, each in zip(shapes, (recorded, new), strict=True)):
            versions = _find_versions_of_shapes(message.versions, versions, shapes, recorded, new)
    walk = _AnswerComparison(versions, translator)
    group = recorded.asked.get("group_id")
    return list(walk.compare_structs(message.fields, shapes[0], shapes[1], _FieldPlace("", "", message.name, group)))


def _find_versions_of_shapes(
    served_versions: Versions,
    versions: tuple[int, int],
    shapes: Sequence[Mapping[str, Any]],
    recorded: Answer,
    new: Answer,
) -> tuple[int, int]:
    """The versions whose fields the shapes have: the newest one for a shape that was changed."""
    first = served_versions.high if shapes[0].keys() != recorded.body.keys() else versions[0]
    second = served_versions.high if shapes[1].keys() != new.body.keys() else versions[1]
    return first, second


def judge_differences(differences: Sequence[Difference]) -> Verdict:
    """The verdict on the differences of two answers."""
    kinds = {difference.kind for difference in differences}
    if any(each.kind == "error" and not each.recorded and each.new for each in differences):
        return "refused"
    if kinds - {"ids"}:
        return "different"
    return "other_ids" if kinds else "same"


def merge_answers(api_key: int, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One answer from the answers to the parts of a request that was split among nodes."""
    first, *others = answers
    made = dict(first)
    for other in others:
        _merge_arrays_into(api(api_key).response.fields, made, other)
    return made


def _merge_arrays_into(fields: Sequence[Field], merged: dict[str, Any], other: Mapping[str, Any]) -> None:
    for field in fields:
        if not field.array or not field.fields or field.name not in other:
            continue
        have = [dict(each) for each in merged.get(field.name) or ()]
        known = {_values_of_naming_fields(each): each for each in have}
        for each in other[field.name] or ():
            mine = known.get(_values_of_naming_fields(each))
            if mine is None:
                have.append(dict(each))
            else:
                _merge_arrays_into(field.fields, mine, each)
        merged[field.name] = have


def _values_of_naming_fields(element: Mapping[str, Any]) -> tuple[Any, ...] | None:
    names = _find_naming_fields(element)
    return tuple(element[name] for name in names) if names else None


class _FieldPlace(NamedTuple):
    """The place of the walk: the path, the names on the way, the array or struct around it, the group it belongs to."""

    path: str
    about: str
    owner: str
    group: str | None

    def format_field_path(self, name: str) -> str:
        """The path of a field of this struct."""
        return f"{self.path}.{name}" if self.path else name


class _AnswerComparison:
    def __init__(self, versions: tuple[int, int], translator: IdTranslator) -> None:
        self._versions = versions
        self._there = translator

    def compare_structs(
        self, fields: Sequence[Field], recorded: Any, new: Any, place: _FieldPlace
    ) -> Iterator[Difference]:
        group = recorded.get("group_id")
        if isinstance(group, str):
            place = place._replace(group=group)
        first, second = self._versions
        for field in fields:
            name = field.name
            if first in field.versions and second in field.versions and (name in recorded or name in new):
                yield from self._compare_field(
                    field,
                    recorded.get(name, _default_of_absent_field(field)),
                    new.get(name, _default_of_absent_field(field)),
                    place,
                )

    def _compare_field(self, field: Field, recorded: Any, new: Any, place: _FieldPlace) -> Iterator[Difference]:
        role = find_field_role(place.owner, field.name)
        if role == "volatile" or recorded == new or (field.array and not recorded and not new):
            return
        path = place.format_field_path(field.name)
        own = role is not None
        if recorded is None or new is None or role in ("nodes", "address"):
            yield Difference(
                path, place.about, "ids" if own else "value", _shorten_value(recorded), _shorten_value(new)
            )
        elif field.kind == "records":
            yield from _compare_records(recorded, new, path, place.about)
        elif field.fields and field.array:
            yield from self._compare_arrays(field, recorded, new, path, place)
        elif field.fields:
            yield from self.compare_structs(
                field.fields, recorded, new, _FieldPlace(path, place.about, field.name, place.group)
            )
        elif field.array:
            if sorted(map(repr, recorded)) != sorted(map(repr, new)):
                yield Difference(path, place.about, "ids" if own else "value", recorded, new)
        elif field.name.endswith(_ERROR):
            yield Difference(path, place.about, "error", recorded, new)
        else:
            yield Difference(path, place.about, "ids" if own else "value", recorded, new)

    def _compare_arrays(self, field: Field, was: Any, now: Any, path: str, at: _FieldPlace) -> Iterator[Difference]:
        found = _UnmatchedElements(now)
        pairs = [
            (element, found.take_first_named(self._translate_element_names(field, element, at.group)))
            for element in was
        ]
        left = found.list_unmatched()
        for place, (element, other) in enumerate(pairs):
            inner = _FieldPlace(
                f"{path}[{place}]", self._describe_element(at.about, field, element), field.name, at.group
            )
            if other is None and left and not self._has_naming_fields(field, element):
                other = left.pop(0)  # elements that say nothing are matched in order
            if other is None:
                kind: Kind = "ids" if _is_about_internal_topic(element) else "missing"
                yield Difference(inner.path, inner.about, kind, _shorten_value(element), None)
            else:
                yield from self.compare_structs(field.fields, element, now[other], inner)
        for other in left:
            about = self._describe_element(at.about, field, now[other])
            kind = "ids" if _is_about_internal_topic(now[other]) else "extra"
            yield Difference(f"{path}[{other}]", about, kind, None, _shorten_value(now[other]))

    def _translate_element_names(
        self, field: Field, element: Mapping[str, Any], group: str | None
    ) -> list[dict[str, Any]]:
        """The possible names, in the other cluster, of what an element is about; empty if its fields do not say."""
        names = _find_naming_fields(element)
        if not names:
            return []
        if find_field_role(field.name, names[0]) not in ("topic", "topic_id"):
            return [{name: self._translate_field_value(field, name, element[name], group) for name in names}]
        name, identity = self._there.translate_topic(element[names[0]])
        return [*({each: name} for each in _TOPIC_NAMES), *([{"topic_id": identity}] if identity else [])]

    def _translate_field_value(self, field: Field, name: str, value: Any, group: str | None) -> Any:
        role = find_field_role(field.name, name)
        return value if role is None else self._there.translate_id(role, value, group)

    def _describe_element(self, names_so_far: str, field: Field, element: Mapping[str, Any]) -> str:
        """The names on the way to an element: `orders`, then `orders 2`."""
        names = [name for name in _find_naming_fields(element) if name != "resource_type"] or ["resource_type"]
        said = [self._format_naming_field(field, name, element[name]) for name in names if name in element] or [
            field.name
        ]
        return " ".join([names_so_far, *said]).lstrip()

    def _format_naming_field(self, field: Field, name: str, value: Any) -> str:
        if name == "api_key" and value in NAMES:
            return api_name(value)
        return self._there.translate_topic(value)[0] if find_field_role(field.name, name) == "topic_id" else str(value)

    def _has_naming_fields(self, field: Field, element: Mapping[str, Any]) -> bool:
        """Whether an element says what it is about, by more than a member id, which its cluster gave out."""
        names = _find_naming_fields(element)
        return bool(names) and find_field_role(field.name, names[0]) != "member"


class _UnmatchedElements:
    """The elements of an array of a new answer, each to be matched once, by what it is about."""

    def __init__(self, elements: Sequence[Mapping[str, Any]]) -> None:
        self._elements = elements
        self._taken: set[int] = set()
        self._by_names: dict[tuple[str, ...], dict[tuple[Any, ...], list[int]]] = {}

    def take_first_named(self, possible_names: Sequence[Mapping[str, Any]]) -> int | None:
        """Take the first element that has one of the possible names; returns its index, None if there is none."""
        for names in possible_names:
            known = self._by_names.get(tuple(names))
            if known is None:
                known = self._by_names[tuple(names)] = {}
                for place, each in enumerate(self._elements):
                    known.setdefault(tuple(map(each.get, names)), []).append(place)
            for place in known.get(tuple(names.values()), ()):
                if place not in self._taken:
                    self._taken.add(place)
                    return place
        return None

    def list_unmatched(self) -> list[int]:
        """The indices of the elements that were not taken."""
        return [place for place in range(len(self._elements)) if place not in self._taken]


def _is_about_internal_topic(element: Mapping[str, Any]) -> bool:
    """Whether an element is about an internal topic, which brokers create when they first need it."""
    return any(element.get(name) in INTERNAL_TOPICS for name in _TOPIC_NAMES)


def _find_naming_fields(element: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the fields that say what an element is about; empty if there are none."""
    for names in LIST_KEYS:
        if all(element.get(name) not in _NO_NAME for name in names):
            return names
    return ()


def _default_of_absent_field(field: Field) -> Any:
    """The value of a tagged field that is not on the wire."""
    return [] if field.array else {} if field.fields else field.default


def _shorten_value(value: Any) -> Any:
    """The short form of a struct or an array: its scalars, or its number of elements."""
    if isinstance(value, list):
        return value if not any(isinstance(each, dict | list) for each in value) else f"{len(value)} elements"
    if isinstance(value, dict):
        return {name: each for name, each in value.items() if not isinstance(each, dict | list)}
    return value


def _compare_records(recorded: Any, new: Any, path: str, about: str) -> Iterator[Difference]:
    if isinstance(recorded, list) and isinstance(new, list):
        held, holds = _list_record_contents(recorded), _list_record_contents(new)
        if held is not None and holds is not None:
            if held != holds:
                yield Difference(path, about, "value", *_describe_first_differing_record(held, holds))
        elif (had := _count_records(recorded)) != (has := _count_records(new)):
            yield Difference(path, about, "value", f"{had:,} records", f"{has:,} records")
        if len(recorded) == len(new):
            for place, (one, other) in enumerate(zip(recorded, new, strict=True)):
                for name in _OF_BATCHES:
                    if one.get(name) != other.get(name):
                        yield Difference(f"{path}[{place}].{name}", about, "value", one.get(name), other.get(name))
                for name in _OWN_OF_BATCHES:
                    if one.get(name) != other.get(name):
                        yield Difference(f"{path}[{place}].{name}", about, "ids", one.get(name), other.get(name))
    else:
        yield Difference(path, about, "value", _shorten_value(recorded), _shorten_value(new))


def _list_record_contents(batches: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any, Any]] | None:
    """Key, value and headers of all records except control records; None if a batch lacks some of its records."""
    found: list[tuple[Any, Any, Any]] = []
    for batch in batches:
        records = batch.get("records")
        if batch.get("control"):
            continue
        if records is None or len(records) != batch.get("record_count"):
            return None
        found += [(record["key"], record["value"], record["headers"]) for record in records]
    return found


def _count_records(batches: Sequence[Mapping[str, Any]]) -> int:
    return sum(batch.get("record_count") or 0 for batch in batches if not batch.get("control"))


def _describe_first_differing_record(held: Sequence[Any], holds: Sequence[Any]) -> tuple[str, str]:
    """In a few words for each list, where two lists of records differ first."""
    if len(held) != len(holds):
        return f"{len(held):,} records", f"{len(holds):,} records"
    place = next(place for place, (one, other) in enumerate(zip(held, holds, strict=True)) if one != other)
    which = next(name for name, one, other in zip(_PARTS, held[place], holds[place], strict=True) if one != other)
    return f"the {which} of record {place}", f"another {which}"


_PARTS: Final = ("key", "value", "headers")


def format_error_code(code: Any) -> Any:
    """The name of the error code in a difference, or `no error`."""
    return error_name(code) if isinstance(code, int) and code else "no error"
