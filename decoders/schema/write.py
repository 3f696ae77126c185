"""Plan and values in, bytes out, slowly and exactly: fills in defaults and says which field is wrong.

Generated encoders take complete values of the right types; whatever they cannot take comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from decoders.errors import EncodeError
from decoders.schema.model import Field, Plan, PlanField
from decoders.schema.resolve import STRUCT_DEFAULT, is_default
from decoders.schema.walk import UNKNOWN
from decoders.wire.primitives import text_bytes, write_number, write_size
from decoders.wire.varints import write_uvarint

TAG_MAX: Final = (1 << 31) - 2  # Kafka refuses 2**31 - 1
BUFFERS: Final = (bytes, bytearray, memoryview)


def write(plan: Plan, value: object) -> bytes:
    """The bytes of a message whose missing fields take their defaults. Raises EncodeError."""
    out: list[bytes] = []
    _struct(plan, value, out, "")
    return b"".join(out)


def _struct(plan: Plan, value: object, out: list[bytes], path: str) -> None:
    if not isinstance(value, Mapping):
        raise EncodeError(f"a struct (dict) expected, not {value!r:.80}", path=path)
    prefix = path + "." if path else ""
    _check_names(plan, value, prefix)
    for field in plan.fields:
        _field(field, value.get(field.name, field.default), out, prefix + field.name)
    if plan.flexible:
        _tags(plan, value, out, prefix)


def _check_names(plan: Plan, value: Mapping[Any, Any], prefix: str) -> None:
    names = {field.name for field in plan.fields}
    names.update(field.name for field in plan.tagged)
    for name in value:
        if name in names:
            continue
        if name == UNKNOWN:
            if value[name] and not plan.flexible:
                raise EncodeError("this version has no tagged fields", path=prefix + UNKNOWN)
            continue
        absent = plan.absent.get(name)
        if absent is None:
            raise EncodeError(f"no such field; there are {', '.join(sorted(names)) or 'none'}", path=f"{prefix}{name}")
        if not absent.ignorable and not is_default(absent, value[name]):
            raise EncodeError(_only_in(absent, plan.version), path=prefix + absent.name)


def _only_in(field: Field, version: int) -> str:
    return f"version {version} cannot carry it; versions {field.versions} have it"


def _field(field: PlanField, value: object, out: list[bytes], path: str) -> None:
    if field.array:
        _array(field, value, out, path)
    elif field.plan is not None:
        _inner(field, value, out, path)
    else:
        _leaf(field, field.nullable, value, out, path)


def _leaf(field: PlanField, nullable: bool, value: object, out: list[bytes], path: str) -> None:
    try:
        if field.kind not in {"string", "bytes", "records"}:
            out.append(write_number(field.kind, value))
            return
        wide = field.kind != "string"
        if value is None:
            if not nullable:
                raise ValueError("null is not allowed")
            out.append(write_size(-1, wide, field.compact))
            return
        data = _data(value) if wide else text_bytes(value)
        out.append(write_size(len(data), wide, field.compact))
        out.append(data)
    except ValueError as failure:
        raise EncodeError(str(failure), path=path) from None


def _data(value: object) -> bytes:
    if isinstance(value, dict) and "redacted" in value:
        raise ValueError("a redacted secret cannot be encoded; decode with --reveal-secrets to keep its value")
    if not isinstance(value, BUFFERS):
        raise ValueError(f"bytes expected, not {value!r:.80}")
    return bytes(value)


def _array(field: PlanField, value: object, out: list[bytes], path: str) -> None:
    if value is None:
        if not field.nullable:
            raise EncodeError("null is not allowed", path=path)
        out.append(write_size(-1, True, field.compact))
        return
    if not isinstance(value, list | tuple):
        raise EncodeError(f"an array (list) expected, not {value!r:.80}", path=path)
    out.append(write_size(len(value), True, field.compact))
    for number, element in enumerate(value):
        place = f"{path}[{number}]"
        if field.plan is not None:
            _struct(field.plan, element, out, place)
        else:
            _leaf(field, False, element, out, place)


def _inner(field: PlanField, value: object, out: list[bytes], path: str) -> None:
    assert field.plan is not None
    if value == STRUCT_DEFAULT:
        value = {}
    if field.nullable:
        if value is None:
            out.append(b"\xff" if field.tag is None else b"\0")
            return
        out.append(b"\1")
    elif value is None:
        raise EncodeError("null is not allowed", path=path)
    _struct(field.plan, value, out, path)


def _tags(plan: Plan, value: Mapping[str, Any], out: list[bytes], prefix: str) -> None:
    parts: dict[int, bytes] = {}
    for field in plan.tagged:
        if field.name not in value:
            continue
        content: list[bytes] = []
        _field(field, value[field.name], content, prefix + field.name)
        data = b"".join(content)
        if data != default_bytes(field):
            parts[field.tag or 0] = data
    known = {field.tag: field.name for field in plan.tagged}
    for tag, data in unknown_tags(value.get(UNKNOWN), prefix + UNKNOWN).items():
        if tag in known:
            raise EncodeError(f"tag {tag} is {known[tag]} in this version", path=f"{prefix}{UNKNOWN}.{tag}")
        parts[tag] = data
    out.append(write_uvarint(len(parts)))
    for tag in sorted(parts):
        out += (write_uvarint(tag), write_uvarint(len(parts[tag])), parts[tag])


def default_bytes(field: PlanField) -> bytes:
    """What a tagged field has on the wire when it is at its default, which is then left out."""
    content: list[bytes] = []
    _field(field, field.default, content, "")
    return b"".join(content)


def unknown_tags(value: object, path: str) -> dict[int, bytes]:
    """What `_tagged_fields` holds, with int keys (text ones are accepted), ascending. Raises EncodeError."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise EncodeError(f"a dict of tag: bytes expected, not {value!r:.80}", path=path)
    tags: dict[int, bytes] = {}
    for name, data in value.items():
        try:
            tag = int(name)
        except (TypeError, ValueError):
            raise EncodeError("a tag is a number", path=f"{path}.{name}") from None
        if not 0 <= tag <= TAG_MAX:
            raise EncodeError(f"a tag is 0 to {TAG_MAX}", path=f"{path}.{tag}")
        if tag in tags:
            raise EncodeError("the same tag twice", path=f"{path}.{tag}")
        if not isinstance(data, BUFFERS):
            raise EncodeError(f"bytes expected, not {data!r:.80}", path=f"{path}.{tag}")
        tags[tag] = bytes(data)
    return dict(sorted(tags.items()))
