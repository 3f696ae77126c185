"""An API version and a body (an example) in, annotated YAML to edit out: unedited, it gives the same body.

Every field of the version is there. Those that a body may leave out (tagged ones, elements of empty arrays, the inside
of a null struct) are comments that become fields when their `# ` is taken away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.convert_field_names import find_field_by_any_name, rename_to_current_names
from decoders.protocol_facts.default_array_elements import make_initial_array_element
from decoders.protocol_facts.enum_words import ENUMS
from decoders.schema.api_declaration import (
    STRUCT_DEFAULT,
    Api,
    Field,
    Message,
    Plan,
    PlanField,
    Side,
    Versions,
    resolve,
)
from decoders.schema.body_json_form import leaf_json
from kwcli.calling.words.resolve_body_paths import TAGS
from kwcli.reference.field_descriptions import read_api_abouts

# Comments begin at this column, or after the text.
_COMMENT_AT: Final = 40
_MEANINGS_MAX: Final = 60
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "infinity"})
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_RECORDS: Final = ({"codec": "none", "records": [{"key": "k", "value": "v", "headers": []}]},)
_SIZED: Final = {"bytes": 'bytes: text or {base64: "…"}', "records": "records: a list of batches"}


class SkeletonLine(NamedTuple):
    """One line: its indentation, its text, its comment, and whether the whole line is commented out."""

    depth: int
    text: str
    comment: str = ""
    off: bool = False


def format_skeleton(api: Api, version: int, value: Mapping[str, Any], *, side: Side = "request") -> str:
    """The body `value` (JSON form, of that version) as YAML with a comment at each field. Raises UnsupportedVersion."""
    message = api.message(side)
    plan = resolve(message, version)
    named = rename_to_current_names(message.fields, version, value)
    lines = list(_SkeletonWriter(api, side).format_struct_lines(plan, message, named, 0, off=False))
    head = f"# {api.name} {version}, {side}. Take a # away to send that line (and the [] or null before it)."
    if not lines:
        return f"{head}\n{{}} # it has no fields\n"
    body = "" if any(not line.off for line in lines) else "{}  # take this away with the first #\n"
    return f"{head}\n{body}" + "".join(_format_skeleton_line(line) for line in lines)


def _format_skeleton_line(line: SkeletonLine) -> str:
    text = " " * line.depth + ("# " if line.off else "") + line.text
    return f"{text:<{_COMMENT_AT}}  # {line.comment}\n" if line.comment else f"{text}\n"


class _SkeletonWriter:
    def __init__(self, api: Api, side: Side) -> None:
        self.api = api
        self.side = side
        self.abouts = read_api_abouts(api.key)

    def format_struct_lines(
        self, plan: Plan, owner: Message | Field, value: Mapping[str, Any], depth: int, *, off: bool, path: str = ""
    ) -> Iterator[SkeletonLine]:
        """The lines of a struct; `path` is the prefix of its fields' paths."""
        fields, whole = owner.fields, owner.versions
        for field in (*plan.fields, *plan.tagged):
            declared = find_field_by_any_name(fields, field.name, plan.version)
            assert declared is not None
            declared = declared._replace(versions=declared.versions & whole)
            there = field.name in value
            inner = value[field.name] if there else _convert_default_to_json(field)
            off_too = off or (field.tag is not None and not there)
            yield from self.format_field_lines(
                field, declared, whole, inner, depth, off=off_too, path=path + field.name
            )
        if value.get(TAGS):
            yield SkeletonLine(depth, f"{TAGS}:", off=off)
            yield from _format_json_as_yaml_lines(value[TAGS], depth + 2, off)

    def format_field_lines(
        self, field: PlanField, declared: Field, whole: Versions, value: Any, depth: int, *, off: bool, path: str
    ) -> Iterator[SkeletonLine]:
        """The lines of one field, whose struct is in the versions `whole`."""
        comment = _format_field_comment(field, declared, whole, ENUMS.get(declared.means))
        if about := self.abouts.get(f"{self.side}.{path}"):
            comment += f" · {about}"
        name = field.name
        if field.array:
            yield from self._format_array_lines(field, declared, value, depth, comment, off, path)
        elif field.plan is not None:
            if value is None:
                yield SkeletonLine(depth, f"{name}: null", comment, off)
                model = self._make_initial_values(field, declared)
                yield from self.format_struct_lines(field.plan, declared, model, depth + 2, off=True, path=path + ".")
            else:
                yield SkeletonLine(depth, f"{name}:", comment, off)
                inner = {} if value == STRUCT_DEFAULT else value
                yield from self.format_struct_lines(field.plan, declared, inner, depth + 2, off=off, path=path + ".")
        elif field.kind == "records" and not value:
            yield SkeletonLine(depth, f"{name}: {'null' if value is None else '[]'}", comment, off)
            yield from _format_json_as_yaml_lines(list(_RECORDS), depth + 2, True)
        elif isinstance(value, Mapping | list):
            yield SkeletonLine(depth, f"{name}:", comment, off)
            yield from _format_json_as_yaml_lines(value, depth + 2, off)
        else:
            yield SkeletonLine(depth, f"{name}: {_format_yaml_scalar(value)}", comment, off)

    def _format_array_lines(
        self, field: PlanField, declared: Field, value: Any, depth: int, comment: str, off: bool, path: str
    ) -> Iterator[SkeletonLine]:
        name = field.name
        if value:
            yield SkeletonLine(depth, f"{name}:", comment, off)
            for make_initial_array_element in value:
                yield from _indent_as_list_item(
                    self._format_element_lines(field, declared, make_initial_array_element, depth + 2, off, path)
                )
            return
        yield SkeletonLine(depth, f"{name}: {'null' if value is None else '[]'}", comment, off)
        model = (
            self._make_initial_values(field, declared) if field.plan is not None else _make_placeholder_element(field)
        )
        yield from _indent_as_list_item(self._format_element_lines(field, declared, model, depth + 2, True, path))

    def _make_initial_values(self, field: PlanField, declared: Field) -> dict[str, Any]:
        """The initial values of a struct that is not there; empty in a response, where all are at their defaults."""
        assert field.plan is not None
        return (
            make_initial_array_element(self.api, declared.fields, field.plan.version) if self.side == "request" else {}
        )

    def _format_element_lines(
        self, field: PlanField, declared: Field, value: Any, depth: int, off: bool, path: str
    ) -> Iterator[SkeletonLine]:
        if field.plan is None:
            yield SkeletonLine(
                depth,
                _format_yaml_scalar(value) if not isinstance(value, Mapping) else _format_yaml_flow(value),
                "",
                off,
            )
            return
        found = list(self.format_struct_lines(field.plan, declared, value, depth + 2, off=off, path=path + "[]."))
        if all(line.off for line in found) and not off:
            yield SkeletonLine(depth, "{}", "an element with nothing but defaults; take this away with the first #")
            yield from found
            return
        yield from (line._replace(depth=line.depth - 2) for line in found)


def _format_field_comment(field: PlanField, declared: Field, whole: Versions, values: Mapping[int, str] | None) -> str:
    """Type, null, meanings, default, versions and older names of a field."""
    kind = _SIZED.get(field.kind, field.kind)
    words = [f"array of {kind}" if field.array else kind]
    if field.nullable:
        words[0] += " or null"
    if values:
        said = ", ".join(f"{number} {word}" for number, word in values.items())
        words.append(said if len(said) <= _MEANINGS_MAX else f"{said[:_MEANINGS_MAX].rpartition(',')[0]}, …")
    if field.plan is None and not field.array and field.default not in (0, "", b"", None, bytes(16)):
        words.append(f"default {_format_yaml_scalar(_convert_default_to_json(field))}")
    if field.tag is not None:
        words.append(f"tag {field.tag}")
    versions = declared.versions
    if versions != whole:
        words.append(f"since {versions.low}" if versions.high == whole.high else f"only {versions}")
    if declared.was:
        words.append(f"was {', '.join(declared.was)}")
    if declared.secret:
        words.append("secret" if not declared.unless else f"secret unless {declared.unless} is known to be public")
    return " · ".join(words)


def _convert_default_to_json(field: PlanField) -> Any:
    """A field's default in JSON form; STRUCT_DEFAULT stays."""
    if field.array:
        return None if field.default is None else []
    return field.default if field.plan is not None else leaf_json(field.kind, field.default)


def _make_placeholder_element(field: PlanField) -> Any:
    """A placeholder element of an array of primitives."""
    return {"string": "", "bytes": "", "bool": False, "uuid": "A" * 22}.get(field.kind, 0)


def _indent_as_list_item(lines: Iterator[SkeletonLine]) -> Iterator[SkeletonLine]:
    """The lines of one array element: the first begins with `- `, the others are indented by two more."""
    first = True
    for line in lines:
        yield line._replace(text=f"- {line.text}") if first else line._replace(depth=line.depth + 2)
        first = False


def _format_json_as_yaml_lines(value: Any, depth: int, off: bool) -> Iterator[SkeletonLine]:
    """The lines of a JSON object or array, one line a leaf."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, Mapping | list) and inner:
                yield SkeletonLine(depth, f"{_format_yaml_scalar(name)}:", off=off)
                yield from _format_json_as_yaml_lines(inner, depth + 2, off)
            else:
                yield SkeletonLine(depth, f"{_format_yaml_scalar(name)}: {_format_yaml_flow(inner)}", off=off)
    else:
        for inner in value:
            if isinstance(inner, Mapping | list) and inner:
                yield from _indent_as_list_item(_format_json_as_yaml_lines(inner, depth, off))
            else:
                yield SkeletonLine(depth, f"- {_format_yaml_flow(inner)}", off=off)


def _format_yaml_flow(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{_format_yaml_scalar(name)}: {_format_yaml_flow(inner)}" for name, inner in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_format_yaml_flow, value)) + "]"
    return _format_yaml_scalar(value)


def _format_yaml_scalar(value: Any) -> str:
    """A leaf as text that YAML reads back as the same value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return '"' + "".join(map(_escape_letter, value)) + '"'


def _escape_letter(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"
