"""Scenes of confluent-kafka's own serializers: Avro, Protobuf, JSON Schema; ids in the value or GUIDs in headers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.serializers.kafka_steps import Headers, create_topics, read_records, send_records
from tests.serializers.scene import Scene, Stage

__all__ = [
    "ADDRESS",
    "JSON_ROWS",
    "SCENES",
    "avro_order",
    "avro_rows",
    "load_protos",
    "open_registry_client",
    "protobuf_rows",
]

Rows = list[dict[str, Any]]
Played = Generator[None, None, Rows]


def _record(value: Any, key: Any = None, topic: str = "orders") -> dict[str, Any]:
    """What kw has to show of a record."""
    return {"topic": topic, "key": key, "value": value}


def _said(form: str, name: str | None, value: Any) -> dict[str, Any]:
    """What kw has to show of a key or value."""
    return {"format": form, "name": name, "value": value}


def open_registry_client(stage: Stage) -> SchemaRegistryClient:
    """A client of the scene's registry, which is closed at its end."""
    client = SchemaRegistryClient({"url": stage.registry})
    stage.at_end.callback(client.close)
    return client


def _context(topic: str, field: Any, headers: Headers | None = None) -> SerializationContext:
    return SerializationContext(topic, field, [] if headers is None else headers)


# -- Avro -------------------------------------------------------------------------------------------------------------

ADDRESS: Final = {
    "type": "record",
    "name": "Address",
    "namespace": "shop",
    "fields": [{"name": "street", "type": "string"}, {"name": "zip", "type": ["null", "string"], "default": None}],
}
_LINE: Final = {
    "type": "record",
    "name": "Line",
    "fields": [
        {"name": "sku", "type": "string"},
        {"name": "count", "type": "int"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
    ],
}
_FIELDS: Final[list[dict[str, Any]]] = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "ship_to", "type": "shop.Address"},
    {"name": "lines", "type": {"type": "array", "items": _LINE}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID", "SENT"]}},
    {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 4}},
    {
        "name": "weight",
        "type": {
            "type": "fixed",
            "name": "Weight",
            "size": 5,
            "logicalType": "decimal",
            "precision": 9,
            "scale": 3,
        },
    },
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "open", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "shut", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "trace", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "due", "type": {"type": "fixed", "name": "Due", "size": 12, "logicalType": "duration"}},
    {"name": "tags", "type": {"type": "map", "values": ["null", "string", "long"]}},
    {"name": "parent", "type": ["null", "shop.Order"], "default": None},
    {"name": "extra", "type": ["null", "long", "string", "shop.Line", {"type": "array", "items": "double"}]},
    {"name": "ratio", "type": "double"},
    {"name": "share", "type": "float"},
    {"name": "gift", "type": "boolean"},
    {"name": "raw", "type": "bytes"},
]


def avro_order(*more: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """The text of the schema of an order, evolved by fields."""
    fields = [field for field in _FIELDS if field["name"] not in without] + list(more)
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


def _avro_object(number: int, parent: Any = None, extra: Any = None) -> dict[str, Any]:
    return {
        "id": number,
        "customer": "Ann Ünal",
        "ship_to": {"street": "Long Lane 7", "zip": None if number % 2 else "10115"},
        "lines": [{"sku": f"A{at}", "count": -at, "price": Decimal(f"{at}.50")} for at in range(number % 4)],
        "state": ("NEW", "PAID", "SENT")[number % 3],
        "digest": b"\x00\x01\xfe\xff",
        "weight": Decimal("-12.345"),
        "at": datetime(2026, 11, 28, 10, 0, 0, 123456, UTC),
        "seen": datetime(1969, 12, 31, 23, 59, 59, 999000, UTC),
        "local": datetime(2026, 2, 3, 4, 5, 6),
        "day": date(2026, 11, 28),
        "open": time(8, 30, 0, 250000),
        "shut": time(20, 0, 0, 1),
        "trace": UUID("de305d54-75b4-431b-adb2-eb6b9e546014"),
        "due": (1).to_bytes(4, "little") + (2).to_bytes(4, "little") + (3000).to_bytes(4, "little"),
        "tags": {"a": "x", "b": 1 << 60, "c": None},
        "parent": parent,
        "extra": extra,
        "ratio": 0.1,
        "share": 0.25,
        "gift": number % 2 == 0,
        "raw": b"plain",
    }


def _avro_form(number: int, parent: Any = None, extra: Any = None) -> dict[str, Any]:
    """The JSON form of the same order."""
    return {
        **_avro_object(number, parent, extra),
        "lines": [{"sku": f"A{at}", "count": -at, "price": f"{at}.50"} for at in range(number % 4)],
        "digest": {"base64": "AAH+/w=="},
        "weight": "-12.345",
        "at": "2026-11-28T10:00:00.123456Z",
        "seen": "1969-12-31T23:59:59.999000Z",
        "local": "2026-02-03T04:05:06.000000",
        "day": "2026-11-28",
        "open": "08:30:00.250000",
        "shut": "20:00:00.000001",
        "trace": "de305d54-75b4-431b-adb2-eb6b9e546014",
        "due": {"months": 1, "days": 2, "milliseconds": 3000},
        "raw": "plain",
    }


_KEY: Final = json.dumps(
    {
        "type": "record",
        "name": "OrderKey",
        "namespace": "shop",
        "fields": [{"name": "id", "type": "long"}, {"name": "tenant", "type": "string"}],
    }
)


def avro_rows() -> list[tuple[Any, Any]]:
    """Objects, and their JSON forms."""
    line = {"sku": "Z", "count": 9, "price": Decimal("-0.05")}
    return [
        (_avro_object(41), _avro_form(41)),
        (_avro_object(42, _avro_object(40), 7), _avro_form(42, _avro_form(40), 7)),
        (
            _avro_object(43, None, ("shop.Line", line)),
            _avro_form(43, None, {"sku": "Z", "count": 9, "price": "-0.05"}),
        ),
        (_avro_object(0, None, [1.5, -2.25]), _avro_form(0, None, [1.5, -2.25])),
        (_avro_object(2, None, "text"), _avro_form(2, None, "text")),
    ]


def _evolve(order: dict[str, Any]) -> dict[str, Any]:
    """An order of the first schema as one of the second, and likewise its parent."""
    kept = {name: each for name, each in order.items() if name not in ("gift", "raw")}
    return {**kept, "currency": "CHF", "parent": None if order["parent"] is None else _evolve(order["parent"])}


def _avro_serializers(client: SchemaRegistryClient, conf: dict[str, Any]) -> tuple[Any, Any, Any]:
    """For keys, for values of the first schema of orders, and of the second one."""
    reference = SchemaReference("shop.Address", "address", 1)
    client.register_schema("address", Schema(json.dumps(ADDRESS), "AVRO"))
    evolved = avro_order({"name": "currency", "type": "string", "default": "EUR"}, without=["gift", "raw"])
    return (
        AvroSerializer(client, _KEY, conf=conf),
        AvroSerializer(client, Schema(avro_order(), "AVRO", [reference]), conf=conf),
        AvroSerializer(client, Schema(evolved, "AVRO", [reference]), conf=conf),
    )


def _send_avro(
    stage: Stage, client: SchemaRegistryClient, conf: dict[str, Any], *, warm: bool, topic: str = "orders"
) -> Played:
    create_topics(stage.bootstrap, topic)
    if not warm:
        yield
    keys, first, second = _avro_serializers(client, conf)
    sent, said = [], []
    for number, (value, form) in enumerate(avro_rows()):
        serializer = second if number % 2 else first
        if number % 2:
            value, form = _evolve(value), _evolve(form)
        headers: Headers = []
        key_object = {"id": number, "tenant": "berlin"}
        key = keys(key_object, _context(topic, MessageField.KEY, headers))
        sent.append((key, serializer(value, _context(topic, MessageField.VALUE, headers)), headers))
        said.append(_record(_said("avro", "shop.Order", form), _said("avro", "shop.OrderKey", key_object), topic))
    if warm:
        yield
    send_records(stage.bootstrap, topic, sent)
    fresh = open_registry_client(stage)
    read, read_key = AvroDeserializer(fresh), AvroDeserializer(fresh)
    for key, data, headers in read_records(stage.bootstrap, topic, len(sent)):
        assert read_key(key, _context(topic, MessageField.KEY, headers)) is not None
        assert read(data, _context(topic, MessageField.VALUE, headers)) is not None
    return said


def avro(stage: Stage) -> Played:
    """Avro with ids in values; the producer registers as it sends."""
    return (yield from _send_avro(stage, open_registry_client(stage), {}, warm=False))


def avro_guids(stage: Stage) -> Played:
    """Avro with GUIDs in headers; only the consumer's questions are recorded."""
    conf = {"schema.id.serializer": header_schema_id_serializer}
    return (yield from _send_avro(stage, open_registry_client(stage), conf, warm=True))


# -- Protobuf ---------------------------------------------------------------------------------------------------------

PROTOS: Final = {
    "address.proto": """syntax = "proto3";
package shop;
message Address { string street = 1; optional string zip = 2; }
""",
    "order.proto": """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "address.proto";
message Order {
  message Line {
    message Deep { int32 depth = 1; }
    string sku = 1;
    sint32 count = 2;
    repeated Deep deep = 3;
  }
  int64 id = 1;
  string customer = 2;
  Address ship_to = 3;
  repeated Line lines = 4;
  google.protobuf.Timestamp at = 5;
  google.protobuf.Duration took = 6;
  map<string, Line> by_sku = 7;
  map<int32, bool> flags = 8;
  oneof payment { string card = 9; int64 voucher = 10; }
  State state = 11;
  repeated sint64 sums = 12;
  repeated State states = 13;
  optional int32 rank = 14;
  bytes raw = 15;
  double ratio = 16;
  float share = 17;
  google.protobuf.Struct extra = 18;
  google.protobuf.Int64Value limit = 19;
  Order parent = 20;
  fixed64 mask = 21;
  sfixed32 low = 22;
  uint64 high = 23;
}
enum State { NEW = 0; PAID = 1; SENT = 5; }
message Refund { int64 order = 1; string why = 2; }
""",
    "legacy.proto": """syntax = "proto2";
package shop;
message Note {
  required int64 id = 1;
  optional string text = 2 [default = "none"];
  repeated group Part = 3 { optional string word = 4; optional int32 at = 5; }
  repeated int32 packed = 6 [packed = true];
  repeated int32 single = 7;
  extensions 100 to 200;
}
extend Note { optional string colour = 100; }
""",
}


def load_protos() -> tuple[bytes, Any, Any]:
    """The descriptors of PROTOS by protoc, a pool of them, and a function that gives the class of a message by name."""
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROTOS.items():
            (Path(folder) / name).write_text(text)
        known = Path(protoc.__file__).parent / "_proto"
        words = ["protoc", f"-I{folder}", f"-I{known}", f"--descriptor_set_out={folder}/all.desc", *PROTOS]
        if protoc.main([*words, "--include_imports"]):
            raise RuntimeError("protoc failed")
        data = (Path(folder) / "all.desc").read_bytes()
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.Add(file)
    return data, pool, lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def _fill_order(kind: Any, number: int) -> Any:
    order = kind(id=number, customer="Ann", raw=b"\xff\x00", ratio=0.1, share=0.25, mask=1 << 63, low=-5)
    order.high = (1 << 64) - 1
    order.ship_to.street = "Long Lane 7"
    order.lines.add(sku="A", count=-3).deep.add(depth=1)
    order.lines.add(sku="B")
    order.at.FromJsonString("2026-11-28T10:00:00.123456789Z")
    order.took.FromMilliseconds(-1500)
    order.by_sku["A"].count = 4
    order.flags[-1] = True
    order.flags[7] = False
    if number % 2:
        order.card = "1234"
    else:
        order.voucher = 0
    order.state = 5
    order.sums.extend([1, -1, 1 << 40])
    order.states.extend([0, 1, 5])
    order.rank = 0
    order.extra.update({"a": [1, None, {"b": "c"}], "t": True})
    order.limit.value = 0
    order.parent.id = 1
    return order


_EMPTY_ORDER: Final[dict[str, Any]] = {
    "id": 0, "customer": "", "lines": [], "by_sku": {}, "flags": {}, "state": "NEW", "sums": [], "states": [],
    "raw": "", "ratio": 0.0, "share": 0.0, "mask": 0, "low": 0, "high": 0,
}  # fmt: skip


def _order_form(number: int) -> dict[str, Any]:
    return {
        **_EMPTY_ORDER,
        "id": number,
        "customer": "Ann",
        "raw": {"base64": "/wA="},
        "ratio": 0.1,
        "share": 0.25,
        "mask": 1 << 63,
        "low": -5,
        "high": (1 << 64) - 1,
        "ship_to": {"street": "Long Lane 7"},
        "lines": [{"sku": "A", "count": -3, "deep": [{"depth": 1}]}, {"sku": "B", "count": 0, "deep": []}],
        "at": "2026-11-28T10:00:00.123456789Z",
        "took": "-1.5s",
        "by_sku": {"A": {"sku": "", "count": 4, "deep": []}},
        "flags": {"-1": True, "7": False},
        **({"card": "1234"} if number % 2 else {"voucher": 0}),
        "state": "SENT",
        "sums": [1, -1, 1 << 40],
        "states": ["NEW", "PAID", "SENT"],
        "rank": 0,
        "extra": {"a": [1.0, None, {"b": "c"}], "t": True},
        "limit": 0,
        "parent": {**_EMPTY_ORDER, "id": 1},
    }


def protobuf_rows() -> list[tuple[Any, str, Any]]:
    """Messages, with their names and JSON forms."""
    _, pool, message = load_protos()
    note = message("shop.Note")(id=1, packed=[1, 300, -1], single=[2, 3])
    note.part.add(word="a", at=1)
    note.part.add(word="b")
    note.Extensions[pool.FindExtensionByName("shop.colour")] = "red"
    note_form = {
        "id": 1,
        "part": [{"word": "a", "at": 1}, {"word": "b"}],
        "packed": [1, 300, -1],
        "single": [2, 3],
        "[shop.colour]": "red",
    }
    order = message("shop.Order")
    return [
        (_fill_order(order, 41), "shop.Order", _order_form(41)),
        (order(), "shop.Order", _EMPTY_ORDER),
        (message("shop.Refund")(order=41, why="broken"), "shop.Refund", {"order": 41, "why": "broken"}),
        (message("shop.Order.Line")(sku="A", count=2), "shop.Order.Line", {"sku": "A", "count": 2, "deep": []}),
        (message("shop.Order.Line.Deep")(depth=3), "shop.Order.Line.Deep", {"depth": 3}),
        (note, "shop.Note", note_form),
        (_fill_order(order, 42), "shop.Order", _order_form(42)),
    ]


def _name_by_record(_context: Any, record: str | None) -> str | None:
    """Each kind of message is a subject of its own."""
    return record


def _read_schemas(client: SchemaRegistryClient, data: bytes) -> None:
    """Ask for the schema of a value and for those it refers to, as consumers of most languages do.

    That of Python asks for descriptors, which Apicurio's registry does not give of what the producer registered.
    """
    schema = client.get_schema(int.from_bytes(data[1:5], "big"))
    for reference in schema.references or []:
        client.get_version(reference.subject or "", reference.version or 1)


def _send_protobuf(stage: Stage, conf: dict[str, Any], *, warm: bool) -> Played:
    topic = "orders"
    create_topics(stage.bootstrap, topic)
    client = open_registry_client(stage)
    if not warm:
        yield
    sent, said, kinds = [], [], []
    serializers: dict[str, Any] = {}
    for message, name, form in protobuf_rows():
        serializer = serializers.get(name)
        if serializer is None:
            named = {"subject.name.strategy": _name_by_record, **conf}
            serializer = serializers[name] = ProtobufSerializer(type(message), client, conf=named)
        headers: Headers = []
        data = serializer(message, _context(topic, MessageField.VALUE, headers))
        sent.append((None, data, headers))
        kinds.append(type(message))
        said.append(_record(_said("protobuf", name, form)))
    if warm:
        yield
    send_records(stage.bootstrap, topic, sent)
    fresh = open_registry_client(stage)
    for kind, (_, data, headers) in zip(kinds, read_records(stage.bootstrap, topic, len(sent)), strict=True):
        if stage.apicurio:
            _read_schemas(fresh, data or b"")
            continue
        read = ProtobufDeserializer(kind, {"subject.name.strategy": _name_by_record}, fresh)
        assert read(data, _context(topic, MessageField.VALUE, headers)) is not None
    return said


def protobuf(stage: Stage) -> Played:
    """Protobuf with ids and message indexes in values; only the consumer's questions are recorded."""
    return (yield from _send_protobuf(stage, {}, warm=True))


def protobuf_guids(stage: Stage) -> Played:
    """Protobuf with GUIDs and message indexes in headers; the producer registers as it sends."""
    return (yield from _send_protobuf(stage, {"schema.id.serializer": header_schema_id_serializer}, warm=False))


# -- JSON Schema ------------------------------------------------------------------------------------------------------

_MONEY: Final = {
    "$id": "https://shop.example/money.json",
    "title": "Money",
    "type": "object",
    "properties": {"amount": {"type": "number"}, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}},
    "required": ["amount"],
}
_JSON_ORDER: Final = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "customer": {"type": ["string", "null"]},
        "total": {"$ref": "money.json"},
        "lines": {"type": "array", "items": {"$ref": "#/definitions/line"}},
        "state": {"enum": ["NEW", "PAID"]},
    },
    "required": ["id"],
    "definitions": {"line": {"type": "object", "properties": {"sku": {"type": "string"}, "next": {"$ref": "#"}}}},
}
JSON_ROWS: Final[list[Any]] = [
    {"id": 41, "customer": "Ann", "total": {"amount": 1.5, "currency": "EUR"}, "lines": [{"sku": "A"}], "state": "NEW"},
    {"id": 1 << 60, "customer": None, "lines": [{"sku": "Ü", "next": {"id": 7}}]},
    {"id": 43, "more": [[], {}, "", 0.1, -1e300, True]},
]


def _send_json(stage: Stage, conf: dict[str, Any], *, warm: bool) -> Played:
    topic = "orders"
    create_topics(stage.bootstrap, topic)
    client = open_registry_client(stage)
    if not warm:
        yield
    client.register_schema("money", Schema(json.dumps(_MONEY), "JSON"))
    schema = Schema(json.dumps(_JSON_ORDER), "JSON", [SchemaReference("money.json", "money", 1)])
    serializer = JSONSerializer(schema, client, conf={"validate": False, **conf})
    sent, said = [], []
    for value in JSON_ROWS:
        headers: Headers = []
        sent.append((b"k", serializer(value, _context(topic, MessageField.VALUE, headers)), headers))
        said.append(_record(_said("json-schema", "Order", value)))
    if warm:
        yield
    send_records(stage.bootstrap, topic, sent)
    read = JSONDeserializer(None, schema_registry_client=open_registry_client(stage), conf={"validate": False})
    for _, data, headers in read_records(stage.bootstrap, topic, len(sent)):
        assert read(data, _context(topic, MessageField.VALUE, headers)) is not None
    return said


def json_schema(stage: Stage) -> Played:
    """JSON with ids in values; only the consumer's questions are recorded."""
    return (yield from _send_json(stage, {}, warm=True))


def json_guids(stage: Stage) -> Played:
    """JSON with GUIDs in headers; the producer registers as it sends."""
    return (yield from _send_json(stage, {"schema.id.serializer": header_schema_id_serializer}, warm=False))


SCENES: Final[dict[str, Scene]] = {
    "confluent-avro": Scene(avro, "apicurio"),
    "confluent-avro-guids": Scene(avro_guids, "double", schema_comes="after"),
    "confluent-protobuf": Scene(protobuf, "apicurio", schema_comes="after"),
    "confluent-protobuf-guids": Scene(protobuf_guids, "double"),
    "confluent-json": Scene(json_schema, "apicurio", schema_comes="after"),
    "confluent-json-guids": Scene(json_guids, "double"),
}
