"""Scenes of an older client, of the topic `_schemas`, and of contexts, whose ids are their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.broker.jars import Missing
from tests.broker.wheels import fetched_once
from tests.serializers.confluent_scenes import (
    ADDRESS,
    JSON_ROWS,
    PROTOS,
    avro_order,
    avro_rows,
    load_protos,
    open_registry_client,
    protobuf_rows,
)
from tests.serializers.kafka_steps import create_topics, read_records, send_records
from tests.serializers.registry_double import RegistryDouble
from tests.serializers.scene import Scene, Stage

__all__ = ["SCENES"]

Played = Generator[None, None, list[dict[str, Any]]]
_OLD: Final = ("confluent-kafka==2.6.1", "protobuf", "requests")


def _old_client() -> Path:
    """The packages of the older release. Raises Missing if pip cannot fetch them."""

    def fetch(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), *_OLD]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"pip could not fetch {_OLD[0]}: {done.stderr.strip()[-500:]}")

    return fetched_once("confluent-kafka-2.6.1-schemas", fetch)


def old_protobuf(stage: Stage) -> Played:
    """Protobuf whose message indexes are plain varints; only the consumer's questions are recorded."""
    create_topics(stage.bootstrap, "orders")
    rows = protobuf_rows()
    asked = {
        "url": stage.registry,
        "set": load_protos()[0].hex(),
        "rows": [(name, message.SerializeToString(deterministic=True).hex()) for message, name, _ in rows],
    }
    command = [sys.executable, "-m", "tests.serializers.old_protobuf_process"]
    done = subprocess.run(
        command,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": f"{_old_client()}:{Path(__file__).parents[2]}"},
    )
    values = [bytes.fromhex(value) for value in json.loads(done.stdout)]
    yield
    send_records(stage.bootstrap, "orders", [(None, value, []) for value in values])
    client = open_registry_client(stage)
    for _, data, _ in read_records(stage.bootstrap, "orders", len(values)):
        schema = client.get_schema(int.from_bytes((data or b"")[1:5], "big"))
        for reference in schema.references or []:
            client.get_version(reference.subject or "", reference.version or 1)
    return [
        {"topic": "orders", "key": None, "value": {"format": "protobuf", "name": name, "value": form}}
        for _, name, form in rows
    ]


def _serialize_all(stage: Stage) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """Records of three topics, of which one has the schemas of a context, and what kw has to show of them."""
    client = open_registry_client(stage)
    client.register_schema("address", Schema(json.dumps(ADDRESS), "AVRO"))
    orders = Schema(avro_order(), "AVRO", [SchemaReference("shop.Address", "address", 1)])
    # The context has ids of its own: this one is 1, as that of the address.
    team = json.dumps({"type": "record", "name": "Parcel", "fields": [{"name": "weight", "type": "string"}]})
    in_context = {"subject.name.strategy": lambda _context, _record: ":.team-a:parcels-value"}
    sent: dict[str, list[Any]] = {"orders": [], "parcels": [], "carts": [], "refunds": []}
    said = []

    def add(topic: str, value: bytes, form: str, name: str, shown: Any) -> None:
        sent[topic].append((None, value, []))
        said.append({"topic": topic, "key": None, "value": {"format": form, "name": name, "value": shown}})

    def context(topic: str) -> SerializationContext:
        return SerializationContext(topic, MessageField.VALUE, [])

    avro = AvroSerializer(client, orders)
    for value, form in avro_rows():
        add("orders", avro(value, context("orders")) or b"", "avro", "shop.Order", form)
    parcels = AvroSerializer(client, team, conf=in_context)
    for weight in ("light", "heavy"):
        add("parcels", parcels({"weight": weight}, context("parcels")) or b"", "avro", "Parcel", {"weight": weight})
    schema = {"title": "Cart", "type": "object", "properties": {"id": {"type": "integer"}}}
    carts = JSONSerializer(json.dumps(schema), client, conf={"validate": False})
    for row in JSON_ROWS:
        add("carts", carts(row, context("carts")) or b"", "json-schema", "Cart", row)
    # The text of a file, as Java's and Go's clients register it; the message is the second one of the file.
    client.register_schema("address.proto", Schema(PROTOS["address.proto"], "PROTOBUF"))
    uses = [SchemaReference("address.proto", "address.proto", 1)]
    number = client.register_schema("refunds-value", Schema(PROTOS["order.proto"], "PROTOBUF", uses))
    for message, name, form in protobuf_rows():
        if name in ("shop.Order", "shop.Refund"):
            path = b"\0" if name == "shop.Order" else b"\2\2"
            value = b"\0" + number.to_bytes(4, "big") + path + message.SerializeToString(deterministic=True)
            add("refunds", value, "protobuf", name, form)
    return sent, said


def _play_schemas_topic(stage: Stage, double: RegistryDouble, *, first: bool) -> Played:
    sent, said = _serialize_all(stage)
    create_topics(stage.bootstrap, "_schemas", *sent)
    yield

    def send_schemas() -> None:
        rows = double.schemas_topic()
        send_records(stage.bootstrap, "_schemas", [(key, value or None, []) for key, value in rows], "registry")

    if first:
        send_schemas()
    for topic, records in sent.items():
        send_records(stage.bootstrap, topic, records)
    if not first:
        send_schemas()
        read_records(stage.bootstrap, "_schemas", len(double.rows) + 1, "other-registry")
    return said


def schemas_topic(stage: Stage, double: RegistryDouble) -> Played:
    """A registry writes its schemas into `_schemas`, and then values come."""
    return (yield from _play_schemas_topic(stage, double, first=True))


def schemas_topic_later(stage: Stage, double: RegistryDouble) -> Played:
    """Values come before another registry reads `_schemas`."""
    return (yield from _play_schemas_topic(stage, double, first=False))


SCENES: Final[dict[str, Scene]] = {
    "confluent-old-protobuf": Scene(old_protobuf, "double", schema_comes="after"),
    "schemas-topic": Scene(schemas_topic, "double", http=False),
    "schemas-topic-later": Scene(schemas_topic_later, "double", http=False, schema_comes="after"),
}
