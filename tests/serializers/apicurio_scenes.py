"""Scenes of Apicurio's own serializers (Java, 2.6 and 3.1): ids of 4 and 8 bytes, headers, names of messages."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, Final, NamedTuple

import fastavro

from tests.broker.jars import download_jars
from tests.serializers.confluent_scenes import ADDRESS, JSON_ROWS, avro_order, avro_rows, load_protos, protobuf_rows
from tests.serializers.kafka_steps import create_topics, read_records, send_records
from tests.serializers.scene import Scene, Stage

__all__ = ["SCENES"]

Row = dict[str, Any]
Played = Generator[None, None, list[Row]]

_JARS: Final = {
    "2": (
        "apicurio-serdes-2.6.13",
        *(
            f"io.apicurio:apicurio-registry-serdes-{kind}-serde:2.6.13.Final"
            for kind in ("avro", "protobuf", "jsonschema")
        ),
        "org.apache.kafka:kafka-clients:3.9.1",
    ),
    "3": (
        "apicurio-serdes-3.1.7",
        *(f"io.apicurio:apicurio-registry-{kind}-serde-kafka:3.1.7" for kind in ("avro", "protobuf", "jsonschema")),
        "org.apache.kafka:kafka-clients:4.3.1",
    ),
}
_CLASSES: Final = {"avro": "avro.Avro", "protobuf": "protobuf.Protobuf", "json": "jsonschema.JsonSchema"}
_HEADERS: Final = "apicurio.registry.headers.enabled"
_HANDLER: Final = "apicurio.registry.id-handler"


class Way(NamedTuple):
    """A topic, and how its serializer is configured."""

    topic: str
    config: dict[str, Any]


_WAYS: Final[dict[str, list[Way]]] = {
    "2": [
        Way("headers", {}),
        Way("content-ids", {"apicurio.registry.use-id": "contentId"}),
        Way("eight-bytes", {_HEADERS: False}),
        Way("as-confluent", {_HEADERS: False, "apicurio.registry.as-confluent": True}),
    ],
    "3": [
        Way("four-bytes", {}),
        Way("headers", {_HEADERS: True}),
        Way("eight-bytes", {_HANDLER: "io.apicurio.registry.serde.Legacy8ByteIdHandler"}),
    ],
}
_MORE_WAYS: Final[dict[tuple[str, str], list[Way]]] = {
    ("2", "avro"): [Way("json-encoding", {"apicurio.registry.avro.encoding": "JSON"})],
    ("3", "avro"): [Way("global-ids", {"apicurio.registry.use-id": "globalId"})],
    ("3", "protobuf"): [
        Way("indexes", {"apicurio.registry.serde.send-indexes": True, "apicurio.registry.serde.send-type-ref": False})
    ],
}


class _Java:
    """The process of a release's serializers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, do: str, **row: Any) -> Row:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **row}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        found: Row = json.loads(line) if line else {"error": "the process ended"}
        if "error" in found:
            raise RuntimeError(f"{do} {row.get('name')}: {found['error']}")
        return found


@contextmanager
def _java(release: str) -> Iterator[_Java]:
    name, *coordinates = _JARS[release]
    command = [sys.executable, "-m", "tests.serializers.apicurio_process", *map(str, download_jars(name, coordinates))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        yield _Java(process)


def _avro_objects(release: str) -> list[tuple[Row, Row]]:
    """What the Java process needs to make each order, and what kw has to show of it."""
    left_out = ["parent"] if release == "3" else []  # 3.1 does not end with types that contain themselves
    full = json.loads(avro_order(without=left_out))
    for field in full["fields"]:
        if field["type"] == "shop.Address":
            field["type"] = ADDRESS
    text = json.dumps(full)
    schema = fastavro.parse_schema(json.loads(text))
    found = []
    for value, form in avro_rows():
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, schema, value)
        form = {name: each for name, each in form.items() if name not in left_out}
        asked = {"kind": "avro", "schema": text, "data": buffer.getvalue().hex()}
        found.append((asked, {"format": "avro", "name": "shop.Order", "value": form}))
    return found


def _protobuf_objects(_release: str) -> list[tuple[Row, Row]]:
    found = []
    for message, name, form in protobuf_rows():
        if name == "shop.Note" or "." in name[5:]:
            continue  # Apicurio's parser of files knows neither groups nor extensions, nor messages inside others
        asked = {
            "kind": "protobuf",
            "message": ["order.proto", *name.split(".")[1:]],
            "data": message.SerializeToString(deterministic=True).hex(),
        }
        found.append((asked, {"format": "protobuf", "name": name, "value": form}))
    return found


_JSON_SCHEMA: Final = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "customer": {"type": ["string", "null"]}},
    "required": ["id"],
}


def _json_objects(_release: str) -> list[tuple[Row, Row]]:
    return [
        (
            {"kind": "json", "data": json.dumps(value, ensure_ascii=False).encode().hex()},
            {"format": "json-schema", "name": "Order", "value": value},
        )
        for value in JSON_ROWS
    ]


_OBJECTS: Final = {"avro": _avro_objects, "protobuf": _protobuf_objects, "json": _json_objects}


def _post(url: str, body: str) -> None:
    """Make an artifact in Apicurio's registry, so that global ids and content ids of others differ."""
    headers = {"Content-Type": "application/json", "X-Registry-ArtifactType": "AVRO"}
    with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers), timeout=10) as answer:
        answer.read()


def _play(release: str, kind: str, warm: bool, stage: Stage) -> Played:
    ways = _WAYS[release] + _MORE_WAYS.get((release, kind), [])
    create_topics(stage.bootstrap, *(way.topic for way in ways))
    for _ in range(3):
        _post(f"{stage.apicurio}/apis/registry/v2/groups/default/artifacts", '"long"')
    with _java(release) as java:
        prefix = f"io.apicurio.registry.serde.{_CLASSES[kind]}Kafka"
        common: dict[str, Any] = {"apicurio.registry.url": f"{stage.apicurio}/apis/registry/v{release}"}
        if kind == "json":
            common |= {"apicurio.registry.artifact.artifact-id": "order", "apicurio.registry.find-latest": True}
            common |= {"apicurio.registry.serde.validation-enabled": False}
            java_url = f"{stage.apicurio}/apis/registry/v2/groups/default/artifacts"
            headers = {
                "Content-Type": "application/json", "X-Registry-ArtifactType": "JSON", "X-Registry-ArtifactId": "order",
            }  # fmt: skip
            asked = urllib.request.Request(java_url, json.dumps(_JSON_SCHEMA).encode(), headers)
            with urllib.request.urlopen(asked, timeout=10) as answer:
                answer.read()
        else:
            common |= {"apicurio.registry.auto-register": True}
        if kind == "protobuf":
            java.ask("load", data=load_protos()[0].hex())
        if not warm:
            yield
        objects = _OBJECTS[kind](release)
        sent: dict[str, list[Any]] = {}
        said = []
        for way in ways:
            name = f"to {way.topic}"
            java.ask(
                "make", **{"name": name, "class": f"{prefix}Serializer", "is_key": False}, config=common | way.config
            )
            rows = sent.setdefault(way.topic, [])
            for asked_of, form in objects:
                made = java.ask("serialize", name=name, topic=way.topic, **asked_of)
                rows.append(
                    (None, bytes.fromhex(made["data"]), [(key, bytes.fromhex(data)) for key, data in made["headers"]])
                )
                said.append({"topic": way.topic, "key": None, "value": form})
        if warm:
            yield
        for way in ways:
            send_records(stage.bootstrap, way.topic, sent[way.topic])
            name = f"of {way.topic}"
            java.ask(
                "make", **{"name": name, "class": f"{prefix}Deserializer", "is_key": False}, config=common | way.config
            )
            for _, data, found in read_records(stage.bootstrap, way.topic, len(sent[way.topic])):
                headers_hex = [(key, value.hex()) for key, value in found]
                # A reader of Protobuf wants classes that were compiled; it has asked for the schema by then.
                with suppress(RuntimeError) if kind == "protobuf" else nullcontext():
                    java.ask("deserialize", name=name, topic=way.topic, data=(data or b"").hex(), headers=headers_hex)
    return said


SCENES: Final[dict[str, Scene]] = {
    f"apicurio-{release}-{kind}": Scene(
        partial(_play, release, kind, warm), "apicurio", schema_comes="after" if warm else "before"
    )
    for release, kind, warm in (
        ("2", "avro", False),
        ("2", "protobuf", True),
        ("2", "json", False),
        ("3", "avro", True),
        ("3", "protobuf", False),
        ("3", "json", True),
    )
}
