"""Hostile schemas, as a capture brings them, and values that name them, through the decoder of keys and values.

Schemas are those of recordings with odd parts in any place: types inside each other, counts and sizes out of range,
names with quotes and lines, references that lead nowhere or in circles. Values are those of recordings, cut and
damaged, and bytes that claim much: blocks of negative counts, groups in groups, maps of many entries. A value or an
error comes out, in bounded time, and never an exception.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final

import orjson

from decoders.messages.registries.learn_registry_schemas import learn_from_http, learn_from_schemas_record
from decoders.protocols.read_http_exchanges import HttpExchange
from decoders.schema.body_json_form import bytes_from_json
from decoders.values.schema_store import SchemaStore
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin, SchemaReference
from decoders.values.value_decoder import ValueDecoder
from decoders.wire.primitive_types import encode_varlong
from tests.fuzz.program import ROOT

_ORIGIN: Final = SchemaOrigin("capture", 1)
_NAMES: Final = ("a'b", '"', "\\", "\n", "{0}", "__class__", "x]\nimport os", "ü\u2028", "'''", "", "a" * 5000)
_ODD: Final[tuple[Any, ...]] = (
    None, True, -1, 0, 1 << 31, 1 << 62, -(1 << 63), 1e308, [], {}, "record", "union", "shop.Order", "#", *_NAMES,
    ["null", ["null", "int"]], {"type": "fixed", "name": "F", "size": 1 << 40}, {"$ref": "#"}, {"$ref": "http://x/y"},
    {"type": "array", "items": "null"}, {"type": "map", "values": "shop.Order"}, {"pattern": "(a*)*b"},
    {"allOf": [{"$ref": "#"}] * 9}, {"type": "enum", "name": "E", "symbols": []},
    {"type": "bytes", "logicalType": "decimal", "precision": 999, "scale": 999},
)  # fmt: skip
_TOKENS: Final = (
    "message A {", "}", "map<string, A> m = 1;", "repeated", "group G = 1 {", "oneof o {", "1 << 3;", "[x]", "-1", "'",
    'import "http://x/y";', "option map_entry = true;", "extend A {", "99999999999", '"', "//",
)  # fmt: skip
# No value takes longer, even on a busy machine; most take less than a millisecond.
_SECONDS: Final = 20
_VALUES_A_SCHEMA: Final = 12


@cache
def recorded_schemas() -> list[dict[str, Any]]:
    """The schemas of the recordings."""
    files = sorted((ROOT / "captures" / "values").glob("*.json"))
    rows = [row for file in files for row in json.loads(file.read_text())["schemas"]]
    return [*{row["schema"]: row for row in rows}.values()]


@cache
def recorded_values() -> list[bytes]:
    """The values of the recordings."""
    from tests.cli.worlds import kw

    found: set[bytes] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            if "offset" in value and value.get("value") is not None:
                found.add(bytes_from_json(value["value"], ""))
            for each in value.values():
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)

    for file in sorted((ROOT / "captures" / "values").glob("*.pcapng.zst")):
        for line in kw("sniff", str(file), "--records", "--raw-values", "-o", "ndjson").out.splitlines():
            collect(json.loads(line))
    return sorted(found)


def try_values(rng: Random) -> int:
    """Try some schemas with some values each; gives the number of values."""
    store = SchemaStore()
    for number in range(1, rng.randint(2, 6)):
        row = rng.choice(recorded_schemas())
        kind = row.get("schemaType", "AVRO")
        text = damage_schema(row["schema"], kind, rng)
        uses = tuple(
            SchemaReference(each["name"], rng.choice((each["subject"], "s1", "s2")), 1)
            for each in row.get("references", ())
        )
        store.add_schema(
            RegisteredSchema(kind, text, _ORIGIN, number, subject=f"s{number}", version=1, references=uses)
        )
        learn_odd_answer(text, kind, store.add_schema, rng)
    decoder = ValueDecoder(store)
    for _ in range(_VALUES_A_SCHEMA):
        data = make_value(rng)
        headers = [
            (name, rng.randbytes(rng.choice((0, 5, 8, 17, 20)))) for name in rng.sample(_HEADERS, rng.randint(0, 2))
        ]
        begun = time.monotonic()
        found = decoder.decode(data, headers, topic=rng.choice(("orders", "s1", None)), is_key=rng.random() < 0.3)
        assert time.monotonic() - begun < _SECONDS, data[:200]
        if found is not None:
            orjson.dumps(found.to_json())
    return _VALUES_A_SCHEMA


_HEADERS: Final = (
    "__value_schema_id", "__key_schema_id", "apicurio.value.globalId", "apicurio.value.contentId", "ce_type",
    "apicurio.protobuf.type", "ce_specversion", "content-type", "apicurio.value.encoding",
)  # fmt: skip


def damage_schema(text: str, kind: str, rng: Random) -> str:
    """A schema's text with odd parts."""
    if kind == "PROTOBUF":
        words = text.split(" ")
        for _ in range(rng.randint(0, 4)):
            words.insert(rng.randrange(len(words)), rng.choice(_TOKENS) * rng.choice((1, 1, 1, 3, 200)))
            if rng.random() < 0.4:
                del words[rng.randrange(len(words))]
        return " ".join(words)
    root = [json.loads(text)]
    for _ in range(rng.randint(0, 4)):
        places = list_places(root)
        holder, at = rng.choice(places)
        odd = deepcopy(rng.choice(_ODD))
        if rng.random() < 0.3:  # the same inside itself
            odd = json.loads(json.dumps(holder[at]))
            for _ in range(rng.choice((1, 3, 40))):
                odd = {"type": "array", "items": odd} if rng.random() < 0.5 else [odd, "null"]
        holder[at] = odd
    made = json.dumps(root[0])
    return made if rng.random() < 0.95 else made[: rng.randrange(len(made))]


def list_places(root: Any) -> list[tuple[Any, Any]]:
    """All places of values in a JSON value: what holds them, and where."""
    found: list[tuple[Any, Any]] = []
    left = [root]
    while left:
        one = left.pop()
        pairs = enumerate(one) if isinstance(one, list) else one.items()
        for at, value in list(pairs):
            found.append((one, at))
            if isinstance(value, dict | list):
                left.append(value)
    return found


def make_value(rng: Random) -> bytes:
    """The bytes of a value."""
    prefix = b"\0" + rng.randint(1, 6).to_bytes(4, "big")
    match rng.randrange(7):
        case 0:
            return prefix + rng.randbytes(rng.choice((0, 1, 9, 60, 400)))
        case 1:  # blocks of negative and of countless items
            count = rng.choice((-1, 1 << 62, -(1 << 62), 10**6, -(1 << 63)))
            return prefix + encode_varlong(count) + encode_varlong(rng.choice((0, -1, 1 << 62))) + rng.randbytes(9)
        case 2:  # groups in groups
            return prefix + b"\0" + bytes([rng.choice((0x0B, 0x13, 0x1B))]) * rng.choice((10, 100_000))
        case 3:  # a map of many entries, or a list of many messages
            return (
                prefix + b"\0" + rng.choice((b"\x3a\x00", b"\x22\x00", b"\x42\x02\x08\x01")) * rng.choice((10, 20_000))
            )
        case 4:
            return rng.randbytes(rng.choice((1, 8, 30)))
    data = bytearray(rng.choice(recorded_values()))
    if data and rng.random() < 0.3:
        data = data[: rng.randrange(len(data))]
    for _ in range(rng.choice((0, 1, 1, 3)) if data else 0):
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return prefix + data[5:] if rng.random() < 0.5 else bytes(data)


def learn_odd_answer(text: str, kind: str, learn: Callable[[RegisteredSchema], object], rng: Random) -> None:
    """A record of `_schemas` and an answer of a registry with a text, and with odd parts."""
    row: dict[str, Any] = {"subject": "orders-value", "id": 1, "version": 1, "schema": text, "schemaType": kind}
    for _ in range(rng.randint(0, 2)):
        row[rng.choice([*row, "references", "guid"])] = deepcopy(rng.choice(_ODD))
    body = json.dumps(row).encode()
    learn_from_schemas_record(b'{"keytype":"SCHEMA"}', body, learn, origin=_ORIGIN, registry="r")
    target = rng.choice(("/schemas/ids/1", "/subjects/a%2/versions/1", "/schemas/guids/" + "a" * 36))
    learn_from_http(HttpExchange("GET", target, "host", None, 200, body, 1), learn, "host")
