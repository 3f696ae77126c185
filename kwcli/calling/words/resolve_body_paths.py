"""A path into a body in; the fields, elements, batches and records at that path out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NoReturn

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts import field_paths
from decoders.protocol_facts.convert_field_names import find_field_by_any_name
from decoders.protocol_facts.field_paths import FieldPathStep, values_at_path
from decoders.schema.api_declaration import ALL, Api, Field, Side, Versions, parse_message
from decoders.wire.suggest_similar_words import did_you_mean, nearest_words
from kwcli.run_environment import Exit, Failure

__all__ = [
    "APPEND",
    "RECORDS",
    "TAGS",
    "Step",
    "convert_to_batches_field",
    "find_field_at",
    "is_record_struct",
    "list_inner_fields",
    "parse_body_path",
    "raise_failure",
]


RECORDS: Final = "records"
# Fields that follow from the records (size, crc, record_count) are left out: they cannot be set.
_BATCH: Final = """
message Batch
versions 0
flexible none
fields
    base_offset             int64   0+
    last_offset             int64   0+
    magic                   int8    0+
    codec                   string  0+
    timestamp_type          string  0+
    base_timestamp          int64   0+
    max_timestamp           int64   0+
    partition_leader_epoch  int32   0+
    producer_id             int64   0+
    producer_epoch          int16   0+
    base_sequence           int32   0+
    transactional           bool    0+
    control                 bool    0+
    delete_horizon_ms       int64   0+
    records                 []struct  0+
        offset     int64  0+
        timestamp  int64  0+
        key        bytes  0+  null 0+
        value      bytes  0+  null 0+
        headers    []struct  0+
            key    string  0+
            value  bytes   0+  null 0+
"""


@cache
def _declare_batch_fields() -> tuple[Field, ...]:
    return parse_message(_BATCH).fields


def list_inner_fields(field: Field) -> Sequence[Field]:
    """The fields inside a field: of a struct, or of the batches of a records field."""
    return _declare_batch_fields() if field.kind == RECORDS else field.fields


def convert_to_batches_field(field: Field) -> Field:
    """A records field as an array of structs, which is its JSON form."""
    return field._replace(kind="struct", array=True, fields=_declare_batch_fields())


def is_record_struct(field: Field) -> bool:
    """Whether a field is the struct of a batch, record or header, whose JSON form is checked as a whole elsewhere."""
    return field.fields != () and any(field.fields is known for known in _list_record_structs())


@cache
def _list_record_structs() -> tuple[tuple[Field, ...], ...]:
    records = _declare_batch_fields()[-1].fields
    return _declare_batch_fields(), records, records[-1].fields


# Paths like `topics[0].name`


# The index that stands for `[]`.
APPEND: Final = -1
TAGS: Final = "_tagged_fields"
_LISTED: Final = 12


class Step(NamedTuple):
    """One name of a path; `at` is None without brackets, APPEND for `[]`."""

    name: str
    at: int | None

    def __str__(self) -> str:
        if self.at is None:
            return self.name
        return f"{self.name}[]" if self.at == APPEND else f"{self.name}[{self.at}]"


def raise_failure(text: str, code: Exit = Exit.USAGE) -> NoReturn:
    """Raise Failure with one line of text."""
    raise Failure(text, code)


def parse_body_path(text: str) -> tuple[Step, ...]:
    """The steps of a path. Raises Failure."""
    try:
        steps = field_paths.parse_field_path(text)
    except ValueError:
        steps = ()
    if not steps or any(len(step.indices) > 1 for step in steps):
        raise_failure(f'"{text}" is no path (write topics[0].name=… or topics[].name=…)')
    return tuple(
        Step(name, None if not indices else APPEND if indices[0] is None else indices[0]) for name, indices in steps
    )


def find_field_at(api: Api, side: Side, steps: Sequence[Step], *, version: int | None = None) -> Field:
    """The field at the end of a path, in one version or in any.

    Raises Failure that says where the field is, or what may have been meant.
    """
    fields: Sequence[Field] = api.message(side).fields
    found: Field | None = None
    for number, step in enumerate(steps):
        if number and not fields:
            _refuse_path_into_leaf(found, steps, number)
        found = find_field_by_any_name(fields, step.name, version)
        if found is None:
            raise_unknown_field(api, side, [str(each) for each in steps[:number]], step.name, version)
        if found.kind == RECORDS and (step.at is not None or number + 1 < len(steps)):
            found = convert_to_batches_field(found)
        if step.at is not None and not found.array:
            raise_failure(f"{_format_path(steps[: number + 1])}: {found.name} is no array, leave out the brackets")
        if step.at is None and found.array and number + 1 < len(steps):
            raise_failure(f"{_format_path(steps)}: {found.name} is an array, write {found.name}[0] or {found.name}[]")
        fields = found.fields
    assert found is not None
    return found


def _refuse_path_into_leaf(field: Field | None, steps: Sequence[Step], number: int) -> NoReturn:
    assert field is not None
    place = _format_path(steps[:number])
    if field.kind == "bytes":
        raise_failure(
            f"{_format_path(steps)}: {place} is {field.kind}, write {place}:=JSON, {place}:=@file or {place}=@file"
        )
    raise_failure(f'{_format_path(steps)}: {place} is {field.kind}, it has no field "{steps[number].name}"')


def raise_unknown_field(api: Api, side: Side, before: Sequence[str], name: str, version: int | None = None) -> NoReturn:
    """Raise Failure: the struct at `before` (its steps as text) has no field of this name."""
    fields, whole = find_struct_at(api, side, before)
    place = ".".join([*before, name])
    what = api.name if side == "request" else f"{api.name} response"
    elsewhere = find_field_by_any_name(fields, name)
    if elsewhere is not None and version is not None:
        versions = _format_versions(elsewhere.versions & whole & api.message(side).versions)
        raise_failure(f'{what} {version} has no field "{place}": it is in {versions}')
    folded = name.replace("_", "").replace("-", "").lower()
    deep = next(
        (path for path in _list_fields_at_any_depth(fields) if path[0][-1][0] == folded and len(path[0]) > 1), None
    )
    if deep is not None:
        steps, versions_of = deep
        meant = ".".join(text for _, text in steps)
    else:
        found = nearest_words(name, [spelling for field in fields for spelling in (field.name, *field.was)])
        field = find_field_by_any_name(fields, found[0]) if found else None
        if field is None:
            raise_failure(f'{what} has no field "{place}" ({_format_field_names(fields)})')
        meant, versions_of = field.name, field.versions
    versions = _format_versions(versions_of & whole & api.message(side).versions)
    raise_failure(f'{what} has no field "{place}" (did you mean "{meant}"? it is in {versions})')


def find_struct_at(api: Api, side: Side, before: Sequence[str]) -> tuple[Sequence[Field], Versions]:
    """The fields of the struct at a path whose names are known, and the versions that have the struct."""
    fields: Sequence[Field] = api.message(side).fields
    whole = ALL
    for text in before:
        field = find_field_by_any_name(fields, text.partition("[")[0])
        if field is None:
            break
        fields, whole = list_inner_fields(field), whole & field.versions
    return fields, whole


def _list_fields_at_any_depth(
    fields: Sequence[Field], before: tuple[tuple[str, str], ...] = (), whole: Versions = ALL
) -> Iterator[tuple[tuple[tuple[str, str], ...], Versions]]:
    """Every field, at any depth: its steps as (folded name, text), and its versions."""
    for field in fields:
        steps = (*before, (field.name.replace("_", ""), field.name + ("[]" if field.array else "")))
        versions = whole & field.versions
        yield steps, versions
        yield from _list_fields_at_any_depth(field.fields, steps, versions)


def _format_field_names(fields: Sequence[Field]) -> str:
    names = list(dict.fromkeys(field.name for field in fields))
    if not names:
        return "there are none"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"there are {', '.join(names[:_LISTED])}{more}" if len(names) > 1 else f"there is only {names[0]}"


def _format_versions(versions: Versions) -> str:
    return f"version {versions}" if versions.low == versions.high else f"versions {versions}"


def _format_path(steps: Sequence[Step]) -> str:
    return ".".join(map(str, steps))


# Kinds of fields whose contents a declaration does not describe.
_OPAQUE: Final = ("bytes", "records")


class SelectPath:
    """A path of names with indices; `[]`, or no index at an array, means every element."""

    def __init__(self, text: str, steps: Sequence[FieldPathStep], versions: Versions) -> None:
        self.text = text
        self.versions = versions  # the versions that have this path
        self._steps = tuple(steps)

    @classmethod
    def parse(cls, text: str, api: Api, side: Side) -> SelectPath:
        """A path that some version of this side has. Raises Failure (usage)."""
        steps: list[FieldPathStep] = []
        message = api.message(side)
        fields: tuple[Field, ...] | None = message.fields
        versions = message.versions
        try:
            written = field_paths.parse_field_path(text)
        except ValueError as problem:
            raise Failure(
                f"--select {text!r}: {problem.args[0]!r} is no field (write topics[].name)", Exit.USAGE
            ) from None
        for name, indices in written:
            if fields is not None:
                field = find_field_by_any_name(fields, name)
                if field is None:
                    hint = did_you_mean(name, [each.name for each in fields])
                    raise Failure(f"--select: the {side} of {api.name} has no field {name!r}{hint}", Exit.USAGE)
                name = field.name
                versions &= field.versions
                fields = None if field.kind in _OPAQUE else field.fields
            steps.append(FieldPathStep(name, indices))
        return cls(text, steps, versions)

    def find_values(self, body: Any) -> Iterator[Any]:
        """The values at this path of `body`; nothing where the path ends early."""
        yield from values_at_path(body, self._steps)
