"""Random Avro schemas, values that fit them, and the JSON form that kw gives such a value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from struct import pack
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from decoders.schema.body_json_form import float_json, json_bytes
from decoders.values.shortest_float import shorten_float

PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
LOGICAL = [
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
    {"type": "string", "logicalType": "uuid"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
]
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3, names: list[str] | None = None) -> Any:
    """A schema; `names` are those that are taken."""
    names = [] if names is None else names
    kinds = ["primitive", "logical", "enum", "fixed"]
    kind = draw(st.sampled_from(kinds if depth == 0 else [*kinds, "record", "record", "array", "map", "union"]))
    if kind == "primitive":
        return draw(st.sampled_from(PRIMITIVES))
    if kind == "logical":
        return draw(st.sampled_from(LOGICAL))
    if kind == "array":
        return {"type": "array", "items": draw(schemas(depth - 1, names))}
    if kind == "map":
        return {"type": "map", "values": draw(schemas(depth - 1, names))}
    if kind == "union":
        inner = draw(st.sampled_from([*PRIMITIVES[1:], {"type": "array", "items": "long"}]))
        return ["null", inner] if draw(st.booleans()) else [inner, "null"]
    name = f"N{len(names)}"
    names.append(name)
    if kind == "enum":
        return {"type": "enum", "name": name, "symbols": draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))}
    if kind == "fixed":
        return {"type": "fixed", "name": name, "size": draw(st.integers(1, 9))}
    fields = [
        {"name": field, "type": draw(schemas(depth - 1, names))}
        for field in draw(st.lists(NAMES, max_size=4, unique=True))
    ]
    if draw(st.booleans()):
        fields.append({"name": "again_", "type": ["null", name]})
    return {"type": "record", "name": name, "namespace": draw(st.sampled_from(["", "shop"])), "fields": fields}


def values(schema: Any, named: Mapping[str, Any] | None = None, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a schema, as fastavro takes them."""
    named = dict(named or {})
    if isinstance(schema, list):
        return st.one_of(*(values(branch, named, depth) for branch in schema))
    if isinstance(schema, str) and schema in named:
        return st.none() if depth > 3 else values(named[schema], named, depth + 1)
    if isinstance(schema, str):
        return _PRIMITIVE_VALUES[schema]
    kind = schema["type"]
    if "logicalType" in schema:
        return _LOGICAL_VALUES[schema["logicalType"]]
    if kind == "array":
        return st.lists(values(schema["items"], named, depth), max_size=3)
    if kind == "map":
        return st.dictionaries(st.text(max_size=5), values(schema["values"], named, depth), max_size=3)
    if kind == "enum":
        return st.sampled_from(schema["symbols"])
    if kind == "fixed":
        return st.binary(min_size=schema["size"], max_size=schema["size"])
    named[schema["name"]] = schema
    return st.fixed_dictionaries(
        {
            field["name"]: st.none()
            if field["name"] == "again_" and depth > 2
            else values(field["type"], named, depth + 1)
            for field in schema["fields"]
        }
    )


_PRIMITIVE_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "long": st.integers(-(1 << 63), (1 << 63) - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "bytes": st.binary(max_size=9),
    "string": st.text(max_size=70),
}
_LOGICAL_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "date": st.dates(),
    "timestamp-millis": st.integers(-(10**13), 10**13).map(lambda ms: _EPOCH + timedelta(milliseconds=ms)),
    "timestamp-micros": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
    "decimal": st.integers(-(10**11), 10**11).map(lambda number: Decimal(number).scaleb(-3)),
    "uuid": st.uuids(),
    "time-millis": st.times().map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)),
    "time-micros": st.times(),
    "local-timestamp-millis": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
    "local-timestamp-micros": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
}


def json_form_of(value: Any, schema: Any, named: Mapping[str, Any] | None = None) -> Any:
    """The JSON form of a value that fastavro has read."""
    named = dict(named or {})
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    if isinstance(schema, list):
        if value is None:
            return None
        return json_form_of(value, next(branch for branch in schema if branch != "null"), named)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(value, dict) and kind == "record":
        named[schema["name"]] = schema
        return {field["name"]: json_form_of(value[field["name"]], field["type"], named) for field in schema["fields"]}
    if kind == "map":
        return {key: json_form_of(each, schema["values"], named) for key, each in value.items()}
    if kind == "array":
        return [json_form_of(each, schema["items"], named) for each in value]
    return _scalar_form(value, kind)


def _scalar_form(value: Any, kind: str) -> Any:
    if isinstance(value, datetime):
        zone = "" if value.tzinfo is None else "Z"
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + zone
    if isinstance(value, clock):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:.3f}"
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return json_bytes(value)
    if isinstance(value, float):
        if kind == "float" and math.isfinite(value):
            assert pack("<f", shorten_float(value)) == pack("<f", value)
            value = shorten_float(value)
        return float_json(value)
    return value
