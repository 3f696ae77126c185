"""Field paths in, the fields to keep out: `topics[].partitions[].records:span` → {"topics": {"partitions": …}}.

The problem. Most fields of a message are never shown: a text line needs three fields of a Fetch response with a
megabyte of records.

The idea. Each part that needs fields (line, filter, statistics, pairing) names their paths (exchanges/body_reader.py).
The union of the paths becomes a tree, and the decoder is generated for that tree:

```
{"topics": {"name": ALL, "partitions": {"records": "span"}}}
wanted field        read, and kept
unwanted fixed      stepped over: its size is added to `at`
unwanted string     its size is read and checked, its bytes are not looked at
`span`              where the bytes are, without a copy; `count`: of an array; `raw`: even a secret's value
```

What always holds: a projection fails exactly when the decoder of the whole message does, so that a text line says
`undecoded` where the record would. A field that only other versions have is left out; a field that no version has is a
ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from decoders.limits import ERRORS_SHOWN_MAX
from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import FIXED, Field, Plan, PlanField
from decoders.schema.body_json_form import redacted_json
from decoders.schema.codegen_support import Crude
from decoders.schema.plan_walker import UNKNOWN, Walker

# Wants: the fields that a decoder keeps, and in what form

# A `Want` says what is kept of a field: None skips it (its bytes are still checked), ALL keeps it whole, a dict keeps
# the named fields of a struct, a word is a form (`span`: where the bytes are; `raw`: the value even of a secret;
# `count`: the number of elements of an array).


Want = Any  # None | str | dict[str, Want]
ALL: Final = ""
# Kinds that have a size before them.
SIZED: Final = frozenset({"string", "bytes", "records"})


class Mode(NamedTuple):
    """Which values a decoder makes. A `careful` decoder reads any text and counts values; others call it where needed.

    A careful projection, used for large messages, keeps at most VIEW_ELEMENTS_MAX elements of arrays.
    """

    json: bool = False
    projection: bool = False
    errors: bool = False
    careful: bool = False
    reveal: bool = True
    raw_uuids: bool = False
    hooks: Mapping[str, str] = MappingProxyType({})


def find_want_of_field(want: Want, name: str) -> Want:
    """The Want of the field `name` in a struct whose Want is `want`."""
    return want.get(name) if isinstance(want, dict) else None if want is None else ALL


def parse_wanted_paths(plan: Plan, paths: Iterable[str]) -> Want:
    """The tree of the fields that the paths name. Raises ValueError for a path that no version of the message has.

    Paths have no indices: an array is taken with all its elements. A word after a colon picks a form (`span`, `raw`,
    `count`). Where a field and parts of it are both asked for, the whole field is kept.
    """
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        names, _, word = path.partition(":")
        _add_wanted_path(tree, plan, names.replace("[]", "").split("."), word, path)
    return tree


def _add_wanted_path(tree: dict[str, Any], plan: Plan, names: list[str], word: str, path: str) -> None:
    """Add one path to the tree; a field that only other versions have adds nothing."""
    place = tree
    for depth, name in enumerate(names):
        fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
        field = fields.get(name)
        if field is None:
            absent = plan.absent.get(name)
            if name != UNKNOWN and not (absent is not None and _field_has_path(absent, names[depth + 1 :])):
                raise ValueError(f"{plan.name} has no field {path!r}")
            if name == UNKNOWN:
                place[name] = ALL
            return
        if depth + 1 == len(names):
            _check_path_word(field, word, path)
            place[name] = word if not isinstance(place.get(name), dict) or word == ALL else place[name]
            return
        if field.plan is None:
            raise ValueError(f"{plan.name} has no field {path!r}")
        below = place.setdefault(name, {})
        if not isinstance(below, dict):
            return
        place, plan = below, field.plan


def _field_has_path(field: Field, names: list[str]) -> bool:
    for name in names:
        inner = next((child for child in field.fields if child.name == name), None)
        if inner is None:
            return False
        field = inner
    return True


def _check_path_word(field: PlanField, word: str, path: str) -> None:
    fits = {
        ALL: True,
        "raw": not field.array and field.plan is None,
        "span": field.kind in SIZED and not field.array,
        "count": field.array,
    }
    if not fits.get(word, False):
        raise ValueError(f"{path!r}: this form is not for {field.kind}{'[]' if field.array else ''}")


# Projections by the walker, for messages too rare to generate code for

# The tests compare generated projections with these.


Places = dict[str, tuple[int, int]]


def project_by_walking(
    plan: Plan, want: Want, errors: bool, buf: bytes, at: int, end: int
) -> tuple[dict[str, Any], list[tuple[str, int]] | None, int]:
    """The view, the error codes that are not 0 with their paths, and the offset after the message, as a projector gives
    them.
    """
    walker = make_walker_for_view(buf, want)
    after = walker.read(plan, at, end)
    if walker.remarks:
        raise Crude
    return *make_view_of_walker(plan, want, errors, walker), after


def make_walker_for_view(buf: bytes, want: Want, *, lenient: bool = False) -> Walker:
    """A walker that notes what a view with these fields needs."""
    return Walker(buf, [] if _wants_byte_spans(want) else None, lenient=lenient)


def make_view_of_walker(
    plan: Plan, want: Want, errors: bool, walker: Walker
) -> tuple[dict[str, Any], list[tuple[str, int]] | None]:
    """The view of what a walker has read, and the error codes that are not 0.

    Null where it is not allowed is the empty value in a view: who reads views relies on what the protocol promises.
    """
    places = {span.path: (span.at, span.end - span.at) for span in walker.spans or () if span.what == "value"}
    value = walker.root
    found = list(islice(find_error_codes(plan, value), ERRORS_SHOWN_MAX)) if errors else None
    return _project_struct(plan, value, want, "", places), found or None


def _wants_byte_spans(want: Want) -> bool:
    return any(map(_wants_byte_spans, want.values())) if isinstance(want, dict) else want == "span"


def _project_struct(plan: Plan, value: dict[str, Any], want: Want, place: str, places: Places) -> dict[str, Any]:
    fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
    view: dict[str, Any] = {}
    for name, inner in value.items():
        part = want.get(name) if isinstance(want, dict) else want
        if part is None:
            continue
        view[name] = inner if name == UNKNOWN else _project_field(fields[name], inner, part, place + name, places)
    return view


def _project_field(field: PlanField, value: Any, want: Want, place: str, places: Places) -> Any:
    if value is None:
        return None if field.nullable else _make_empty_value(field, want)
    if want == "count":
        return len(value)
    if want == "span":
        return places[place]
    if field.array:
        return [_project_element(field, each, want, f"{place}[{number}]", places) for number, each in enumerate(value)]
    return _project_element(field, value, want, place, places)


def _make_empty_value(field: PlanField, want: Want) -> Any:
    """What a view has in place of null where it is not allowed."""
    if want == "count":
        return 0
    if field.array:
        return []
    return (0, 0) if want == "span" else "" if field.kind == "string" else b""


def _project_element(field: PlanField, value: Any, want: Want, place: str, places: Places) -> Any:
    if value is None and field.plan is None:
        return "" if field.kind == "string" else b""
    if field.plan is not None:
        return _project_struct(field.plan, value, want, place + ".", places)
    return _redact_secret(field, value) if field.secret and want == ALL else value


def _redact_secret(field: PlanField, value: Any) -> dict[str, int]:
    size = len(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)
    return redacted_json(FIXED.get(field.kind, size))


def redact_secrets_in_place(plan: Plan, value: dict[str, Any], wanted: frozenset[str], place: str = "") -> None:
    """Redact the secrets in a message that was decoded in part, as a projection of a whole message does; a secret stays
    where `wanted` has `path:raw`.
    """
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        path = f"{place}{field.name}{'[]' if field.array else ''}"
        if inner is None:
            continue
        if field.plan is not None:
            for each in inner if field.array else (inner,):
                if each is not None:
                    redact_secrets_in_place(field.plan, each, wanted, path + ".")
        elif field.secret and f"{path}:raw" not in wanted:
            value[field.name] = (
                [_redact_secret(field, each) for each in inner] if field.array else _redact_secret(field, inner)
            )


def find_error_codes(plan: Plan, value: dict[str, Any], place: str = "") -> Iterator[tuple[str, int]]:
    """Every error code of a decoded message that is not 0, with its path, in wire order."""
    for field in (*plan.fields, *plan.tagged):
        inner = value.get(field.name)
        here = place + field.name
        if field.plan is not None and inner is not None:
            if field.array:
                for number, each in enumerate(inner):
                    yield from find_error_codes(field.plan, each, f"{here}[{number}].")
            else:
                yield from find_error_codes(field.plan, inner, here + ".")
        elif field.kind == "int16" and field.name.endswith("error_code") and not field.array and inner:
            yield here, inner


# Getters of paths: `a`, `a.b`, `a[].b`, `a[2].b[]`

# The value of a path through arrays is a flat list. It is None where a field on the way is missing, or has another type
# because an older version uses the name otherwise. Text lines use many getters: measured by `python -m
# tests.bench.sniff`.


Get = Callable[[Any], Any]


def make_path_getter(path: str) -> Get:
    """The function that returns the value at a path of a body."""
    head, _, rest = path.partition(".")
    name, bracket, index = head.partition("[")
    if index not in ("", "]"):
        return _make_element_getter(name, int(index[:-1]), make_path_getter(rest) if rest else None)
    if not rest:
        return lambda view: view.get(name)
    inner = make_path_getter(rest)
    return _make_array_getter(name, inner) if bracket else _make_struct_getter(name, inner)


def _make_struct_getter(name: str, inner: Get) -> Get:
    def get_inside_struct(view: Any) -> Any:
        value = view.get(name)
        return inner(value) if isinstance(value, dict) else None

    return get_inside_struct


def _make_element_getter(name: str, index: int, inner: Get | None) -> Get:
    def get_inside_element(view: Any) -> Any:
        items = view.get(name)
        if not isinstance(items, list) or index >= len(items):
            return None
        item = items[index]
        if inner is None:
            return item
        return inner(item) if isinstance(item, dict) else None

    return get_inside_element


def _make_array_getter(name: str, inner: Get) -> Get:
    def get_inside_elements(view: Any) -> Any:
        items = view.get(name)
        if not items:
            return items
        if not isinstance(items[0], dict):
            return None
        found = [value for item in items if (value := inner(item)) is not None]
        if found and isinstance(found[0], list):
            return [value for values in found for value in values]
        return found

    return get_inside_elements
