"""Python values in, JSON-ready values out: the form of message bodies that contract "Bodies, as JSON" describes.

The leaf functions here are what generated JSON decoders call; `to_json` does the same to values already decoded.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from decoders.schema.model import FIXED, Plan, PlanField
from decoders.schema.walk import UNKNOWN
from decoders.wire.primitives import uuid_text
from decoders.wire.text import json_bytes

Hook = Callable[[Any], Any]
# The name in a hook table of `public(config name) -> bool`, which `secret unless FIELD` asks.
PUBLIC: Final = "public"
_INFINITY: Final = float("inf")


def base64_json(data: bytes) -> dict[str, str]:
    """Bytes that are no text."""
    return {"base64": b64encode(data).decode()}


def string_json(data: bytes) -> str | dict[str, str]:
    """The bytes of a string field: text where they are UTF-8, else base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64_json(data)


def float_json(value: float) -> float | str:
    """A number, or the word for what JSON has no number for."""
    if value != value:
        return "NaN"
    if value in (_INFINITY, -_INFINITY):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def redacted(size: int) -> dict[str, int]:
    """What stands for a secret of `size` bytes."""
    return {"redacted": size}


def is_public(table: Mapping[str, Hook], name: object) -> bool:
    """Whether a config's name is known to be public, so that its value need not be redacted."""
    public = table.get(PUBLIC)
    return public is not None and isinstance(name, str) and bool(public(name))


def to_json(
    plan: Plan,
    value: Mapping[str, Any],
    hooks: Mapping[str, str] | None = None,
    table: Mapping[str, Hook] | None = None,
    *,
    reveal: bool = False,
) -> dict[str, Any]:
    """The JSON form of a decoded message, or of the part of one that could be read.

    `hooks` gives, for a field's path without indices (`topics[].partitions[].records`), a name in `table`, whose
    function makes the JSON value of that field. `reveal` shows secrets.
    """
    return JsonForm(hooks or {}, table or {}, reveal).struct(plan, value, "")


class JsonForm:
    """Makes the JSON form of decoded fields; `path` leads to a field, without indices."""

    __slots__ = ("hooks", "reveal", "table")

    def __init__(self, hooks: Mapping[str, str], table: Mapping[str, Hook], reveal: bool) -> None:
        self.hooks = hooks
        self.table = table
        self.reveal = reveal

    def struct(self, plan: Plan, value: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        """The fields of a struct; `prefix` leads to them."""
        fields = {field.name: field for field in (*plan.fields, *plan.tagged)}
        out: dict[str, Any] = {}
        for name, inner in value.items():
            if name == UNKNOWN:
                out[name] = {str(tag): base64_json(data) for tag, data in inner.items()}
            elif name in fields:
                out[name] = self.field(fields[name], inner, prefix + name, out)
        return out

    def field(self, field: PlanField, value: Any, path: str, owner: Mapping[str, Any]) -> Any:
        """A field of the struct `owner`."""
        if field.array:
            if value is None:
                return None
            return [self.element(field, element, path + "[]", owner) for element in value]
        return self.element(field, value, path, owner)

    def element(self, field: PlanField, value: Any, path: str, owner: Mapping[str, Any]) -> Any:
        """A field that is no array, or one element of an array."""
        if field.plan is not None:
            return None if value is None else self.struct(field.plan, value, path + ".")
        public = field.unless and is_public(self.table, owner.get(field.unless))
        if field.secret and not self.reveal and value is not None and not public:
            return redacted(_size(field, value))
        hook = self.hooks.get(path) if field.kind in {"bytes", "records"} else None
        if hook is not None:
            return self.table[hook](value)
        return self.leaf(field.kind, value)

    def leaf(self, kind: str, value: Any) -> Any:
        """A primitive value."""
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
        return uuid_text(value.bytes if isinstance(value, UUID) else value)
    return float_json(value) if kind == "float64" else value


def _size(field: PlanField, value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogateescape"))
    return len(value) if isinstance(value, bytes) else FIXED.get(field.kind, 0)
