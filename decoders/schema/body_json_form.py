"""The values of a message in, its JSON form out; and back (contract, "Bodies, as JSON")."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from decoders.errors import EncodeError
from decoders.limits import UNNAMED_NESTING_MAX
from decoders.mypyc_modules import mypyc_attr
from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import FIXED, Field, Plan, PlanField
from decoders.schema.plan_walker import UNKNOWN
from decoders.wire.format_and_escape_text import CONTROLS, PLAIN, has_control_characters
from decoders.wire.primitive_types import RANGES, encode_text, format_uuid, uuid_to_bytes
from decoders.wire.redact_text import has_redaction

Hook = Callable[..., Any]
# The key in a hook table of the function `public(config name) -> bool`, which `secret unless FIELD` calls.
PUBLIC: Final = "public"
_INFINITY: Final = float("inf")


def base64_json(data: bytes) -> dict[str, str]:
    """The JSON form of bytes that are no text."""
    return {"base64": b2a_base64(data, newline=False).decode()}


def string_json(data: bytes) -> str | dict[str, str]:
    """The JSON form of a string field's bytes: text where they are UTF-8, else base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64_json(data)


def json_bytes(data: bytes) -> str | dict[str, str]:
    """The JSON form of bytes: a string, or {"base64": "..."} where they are no readable text."""
    if data.translate(PLAIN).isascii():
        return data.decode("ascii")
    if len(data.translate(None, CONTROLS)) < len(data):  # most bytes that are no text: an exception takes longer
        return base64_json(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        pass
    else:
        if not has_control_characters(text):
            return text
    return base64_json(data)


def json_text(text: str) -> str | dict[str, str]:
    """The JSON form of a string in which surrogateescape stands for bytes that are no UTF-8."""
    if text.isprintable():
        return text
    return json_bytes(text.encode("utf-8", "surrogateescape"))


def text_of_json(form: Any) -> str:
    """The string that `json_text` gave this form. Raises KeyError, TypeError, ValueError for what is no such form."""
    return form if isinstance(form, str) else a2b_base64(form[BASE64]).decode("utf-8", "surrogateescape")


# How the text of a cell begins that stands for other bytes.
CELL_FORM: Final = '{"base64":"'


def encode_text_for_cell(text: str) -> str:
    """The form of a text where only a string may stand: as the key of an object, in a cell of a table.

    It is the text itself, or the JSON of its JSON form as a string: `{"base64":"b3JkZXL/"}`. A text that only looks so
    is written in base64 as well, so that `decode_text_of_cell` gives every text back.
    """
    if not text.startswith(CELL_FORM):
        form = json_text(text)
        if isinstance(form, str):
            return form
    return f'{CELL_FORM}{b64encode(text.encode("utf-8", "surrogateescape")).decode()}"}}'


def decode_text_of_cell(cell: str) -> str:
    """The text that `encode_text_for_cell` made a cell of; a cell of another form is the text itself."""
    if not (cell.startswith(CELL_FORM) and cell.endswith('"}')):
        return cell
    try:
        return b64decode(cell[len(CELL_FORM) : -2], validate=True).decode("utf-8", "surrogateescape")
    except Error:
        return cell


def cell_to_json(cell: str | None) -> str | dict[str, str] | None:
    """The JSON form of the text in a cell that `encode_text_for_cell` made; None for None."""
    return None if cell is None else cell if not cell.startswith(CELL_FORM) else json_text(decode_text_of_cell(cell))


def row_json(value: Any) -> Any:
    """A row of Python values with all its texts, keys of objects too, in a form that any reader of JSON takes."""
    if isinstance(value, str):
        return json_text(value)
    if isinstance(value, dict):
        return {
            encode_text_for_cell(name) if isinstance(name, str) else name: row_json(each)
            for name, each in value.items()
        }
    return [row_json(each) for each in value] if isinstance(value, list) else value


def float_json(value: float) -> float | str:
    """The JSON form of a float64: a number, or the word `NaN`, `Infinity` or `-Infinity`."""
    if value != value:
        return "NaN"
    if value in (_INFINITY, -_INFINITY):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def redacted_json(size: int) -> dict[str, int]:
    """The JSON form that stands for a secret of `size` bytes."""
    return {"redacted": size}


def sibling_of_hook(hook: str) -> str:
    """The sibling field that a hook needs besides its own: `compression_type` for `MetricsData(compression_type)`."""
    return hook.partition("(")[2].rstrip(")")


def is_public_config_name(table: Mapping[str, Hook], name: object) -> bool:
    """Whether a config's name is known to be public, so that its value need not be redacted."""
    public = table.get(PUBLIC)
    return public is not None and isinstance(name, str) and bool(public(name))


def body_to_json(
    plan: Plan,
    value: Mapping[str, Any],
    hooks: Mapping[str, str] | None = None,
    table: Mapping[str, Hook] | None = None,
    *,
    reveal: bool = False,
) -> dict[str, Any]:
    """The JSON form of a decoded message, or of the part of a message that could be read.

    `hooks` maps a field's path without indices (`topics[].partitions[].records`) to a name in `table`, whose function
    makes the JSON value of that field; the function of `NAME(FIELD)` also gets the value of the sibling FIELD, which
    comes before. `reveal` shows secrets.
    """
    return JsonForm(hooks or {}, table or {}, reveal).struct_json(plan, value, "")


@mypyc_attr(allow_interpreted_subclasses=True)
class JsonForm:
    """Makes the JSON form of decoded fields; `path` is the path of a field, without indices."""

    __slots__ = ("hooks", "reveal", "table")

    def __init__(self, hooks: Mapping[str, str], table: Mapping[str, Hook], reveal: bool) -> None:
        self.hooks = hooks
        self.table = table
        self.reveal = reveal

    def struct_json(self, plan: Plan, value: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        """The JSON form of a struct; `prefix` is the start of its fields' paths."""
        fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
        out: dict[str, Any] = {}
        for name, inner in value.items():
            if name == UNKNOWN:
                out[name] = {str(tag): base64_json(data) for tag, data in inner.items()}
            elif name in fields:
                out[name] = self.field_json(fields[name], inner, prefix + name, out)
        return out

    def field_json(self, field: PlanField, value: Any, path: str, owner: Mapping[str, Any]) -> Any:
        """The JSON form of a field of the struct `owner`."""
        if field.array:
            if value is None:
                return None
            return [self.element_json(field, element, path + "[]", owner) for element in value]
        return self.element_json(field, value, path, owner)

    def element_json(self, field: PlanField, value: Any, path: str, owner: Mapping[str, Any]) -> Any:
        """The JSON form of a field that is no array, or of one element of an array."""
        if field.plan is not None:
            return None if value is None else self.struct_json(field.plan, value, path + ".")
        public = field.unless and is_public_config_name(self.table, owner.get(field.unless))
        if field.secret and not self.reveal and value is not None and not public:
            return redacted_json(_size_on_the_wire(field, value))
        hook = self.hooks.get(path) if field.kind in {"bytes", "records"} else None
        if hook is not None:
            return self.hook_json(field.kind, hook, value, owner)
        return self.leaf_json(field.kind, value)

    def hook_json(self, kind: str, hook: str, value: Any, owner: Mapping[str, Any]) -> Any:  # noqa: ARG002  # see defer_long_arrays
        """The JSON form of a field with a hook, as the hook's function makes it."""
        beside = sibling_of_hook(hook)
        return self.table[hook](value, owner.get(beside)) if beside else self.table[hook](value)

    def leaf_json(self, kind: str, value: Any) -> Any:
        """The JSON form of a primitive value."""
        return leaf_json(kind, value)


def leaf_json(kind: str, value: Any) -> Any:
    """The JSON form of one primitive value."""
    if value is None:
        return None
    if kind == "string":
        return string_json(value.encode("utf-8", "surrogateescape"))
    if kind in {"bytes", "records"}:
        return json_bytes(value)
    if kind == "uuid":
        return format_uuid(value.bytes if isinstance(value, UUID) else value)
    return float_json(value) if kind == "float64" else value


def _size_on_the_wire(field: PlanField, value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogateescape"))
    return len(value) if isinstance(value, bytes) else FIXED.get(field.kind, 0)


# Values from JSON form

# A bytes or records field may hold batches or a structure instead of text and base64: the caller's `Makers` encode
# these. The JSON value itself shows which one it is, so that no table of fields is needed on the way back.


# JSON value and the path of its field in, bytes out.
Maker = Callable[[Any, str], bytes]
BASE64: Final = "base64"
REDACTED: Final = "redacted"
# Stands beside the base64 of bytes that could not be read, and says why.
ERROR: Final = "error"
# Brokers repeat refused values in this field, so secrets are removed from its text.
MESSAGE: Final = "error_message"
_HIDDEN: Final = "a redacted secret cannot be encoded; --reveal-secrets keeps its value"
STRUCTURE: Final = "$type"
FLOAT_WORDS: Final = ("NaN", "Infinity", "-Infinity")
_SHOWN_MAX: Final = 60
_NUMBER_BITS: Final = 256
_KINDS: Final = {
    "bytes": 'bytes (text or {"base64": …})',
    "bool": "true or false",
    "uuid": "uuid (22 characters of URL-safe base64, or hex)",
}


class Makers(NamedTuple):
    """The functions that encode a list of batches, and a structure with its `$type`."""

    records: Maker
    structure: Maker


def body_from_json(plan: Plan, value: object, makers: Makers) -> dict[str, Any]:
    """The Python values of a body in JSON form, for encode(); missing fields stay missing. Raises EncodeError.

    Fields that this version lacks are kept for encode() to judge.
    """
    return _Reading(makers).read_struct(plan, value, "")


class _Reading:
    __slots__ = ("makers",)

    def __init__(self, makers: Makers) -> None:
        self.makers = makers

    def read_struct(self, plan: Plan, value: object, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise EncodeError(f"an object expected, not {quote_json(value)}", path=path)
        prefix = path + "." if path else ""
        fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
        out: dict[str, Any] = {}
        for name, inner in value.items():
            field = fields.get(name)
            if field is not None:
                out[name] = self.read_field(field, inner, prefix + name)
            elif name == UNKNOWN:
                out[name] = tags_from_json(inner, prefix + UNKNOWN)
            else:
                absent = plan.absent.get(name)
                out[name] = inner if absent is None else self.read_absent_field(absent, inner, prefix + name)
        return out

    def read_absent_field(self, field: Field, value: object, path: str) -> object:
        """The value of a field that this version lacks: encode() accepts it if it is the default."""
        if field.array or field.fields or value is None:
            return value
        return self.read_leaf(field.kind, value, path)

    def read_field(self, field: PlanField, value: object, path: str) -> object:
        if value is None:
            if not field.nullable:
                raise EncodeError("null is not allowed", path=path)
            return None
        if not field.array:
            return (
                self.read_leaf(field.kind, value, path)
                if field.plan is None
                else self.read_struct(field.plan, value, path)
            )
        if not isinstance(value, list | tuple):
            raise EncodeError(f"an array expected, not {quote_json(value)}", path=path)
        plan = field.plan
        if plan is not None:
            return [self.read_struct(plan, element, f"{path}[{index}]") for index, element in enumerate(value)]
        return [self.read_leaf(field.kind, element, f"{path}[{index}]") for index, element in enumerate(value)]

    def read_leaf(self, kind: str, value: object, path: str) -> object:
        if kind in {"bytes", "records"}:
            if isinstance(value, list):
                if kind == "records":
                    return self.makers.records(value, path)
            elif isinstance(value, Mapping) and STRUCTURE in value:
                return self.makers.structure(value, path)
        return leaf_from_json(kind, value, path)


def leaf_from_json(kind: str, value: object, path: str) -> object:
    """The Python value of one primitive that is not null. Raises EncodeError, which names the type and the value."""
    if kind in RANGES:
        if not isinstance(value, int) or isinstance(value, bool):
            low, high = RANGES[kind]
            raise _misfit_error(f"{kind} ({low} to {high})", value, path)
        low, high = RANGES[kind]
        if not low <= value <= high:
            raise EncodeError(f"{quote_json(value)} is outside {kind} ({low} to {high})", path=path)
        return value
    if kind == "string":
        return text_from_json(value, path)
    if kind in {"bytes", "records"}:
        return bytes_from_json(value, path, kind)
    if kind == "bool":
        if isinstance(value, bool):
            return value
    elif kind == "uuid":
        with suppress(ValueError):
            return uuid_to_bytes(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise EncodeError(f"{quote_json(value)} is outside float64", path=path) from None
    elif value in FLOAT_WORDS:
        return float(str(value))
    raise _misfit_error(_KINDS.get(kind, kind), value, path)


def text_from_json(value: object, path: str) -> str:
    """A string from text, or from base64 where its bytes are no UTF-8 (decoded with surrogateescape)."""
    if isinstance(value, str):
        try:
            encode_text(value)
        except ValueError as failure:
            raise EncodeError(str(failure), path=path) from None
        if path.endswith(MESSAGE) and has_redaction(value):
            raise EncodeError(_HIDDEN, path=path)
        return value
    if isinstance(value, Mapping):
        return _decode_base64_json(value, path, "string").decode("utf-8", "surrogateescape")
    raise _misfit_error("string", value, path)


def bytes_from_json(value: object, path: str, kind: str = "bytes") -> bytes:
    """Bytes from text, or from {"base64": "…"}."""
    if isinstance(value, str):
        try:
            return encode_text(value)
        except ValueError as failure:
            raise EncodeError(str(failure), path=path) from None
    if isinstance(value, Mapping):
        return _decode_base64_json(value, path, kind)
    raise _misfit_error("records (a list of batches)" if kind == "records" else _KINDS["bytes"], value, path)


def tags_from_json(value: object, path: str) -> dict[int, bytes]:
    """The bytes by tag from the JSON form of `_tagged_fields`: {"7": {"base64": "…"}}."""
    if not isinstance(value, Mapping):
        raise EncodeError(f"an object of tag: bytes expected, not {quote_json(value)}", path=path)
    tags: dict[int, bytes] = {}
    for name, data in value.items():
        text = str(name)
        if not text.isascii() or not text.isdecimal() or len(text) > 10:
            raise EncodeError(f"a tag is a number, not {quote_json(name)}", path=path)
        if int(text) in tags:
            raise EncodeError("the same tag twice", path=f"{path}.{text}")
        tags[int(text)] = bytes_from_json(data, f"{path}.{text}")
    return tags


def quote_json(value: object) -> str:
    """A JSON value as an error line quotes it, cut short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > _NUMBER_BITS:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _SHOWN_MAX else f'"{value[:_SHOWN_MAX]}…"'
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array"
    return f"{value!r:.{_SHOWN_MAX}}"


def has_at_most_levels(value: object, most: int = UNNAMED_NESTING_MAX) -> bool:
    """Whether a JSON value has no more than so many levels of arrays and objects."""
    level: list[Any] = [value]
    for _ in range(most + 1):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return True
    return False


def _decode_base64_json(value: Mapping[Any, Any], path: str, kind: str) -> bytes:
    if REDACTED in value:
        raise EncodeError(_HIDDEN, path=path)
    text = value.get(BASE64)
    if not {BASE64, ERROR}.issuperset(value) or not isinstance(text, str):
        raise EncodeError(f'{kind} expected (text or {{"base64": "…"}}), not another object', path=path)
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        raise EncodeError("no base64", path=path) from None


def _misfit_error(expected: str, value: object, path: str) -> EncodeError:
    if isinstance(value, Mapping) and REDACTED in value:
        return EncodeError(_HIDDEN, path=path)
    return EncodeError(f"{expected} expected, not {quote_json(value)}", path=path)
