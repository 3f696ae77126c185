"""Kafka's generated classes behind a pipe: a question in JSON on each line of stdin, its answer on a line of stdout.

Run as `python -m tests.oracle.java_process JAR…`; one process holds one JVM with one release's classes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types

_MESSAGE = "org.apache.kafka.common.message."
_PROTOCOL = "org.apache.kafka.common.protocol."
_SERVER = "org.apache.kafka.server.common."
# Packages of structures that are not in requests and responses.
_ELSEWHERE = (
    "org.apache.kafka.common.metadata.",
    "org.apache.kafka.coordinator.group.generated.",
    "org.apache.kafka.coordinator.transaction.generated.",
    "org.apache.kafka.coordinator.share.generated.",
    "org.apache.kafka.server.log.remote.metadata.storage.generated.",
    "org.apache.kafka.raft.generated.",
)


def _class_of(name: str) -> Any:
    """The class of a structure, from any package. Raises LookupError if there is none."""
    for package in (_MESSAGE, *_ELSEWHERE):
        try:
            return jpype.JClass(package + name)
        except TypeError:
            continue
    raise LookupError(
        f"no class {name} in these jars: tests/oracle/test_java_codec.py names structures that only later releases "
        "have (LATER), that the newest lacks (GONE), and files without definitions in Kafka (UNDEFINED)"
    )


class Kafka:
    """The classes of one release."""

    def __init__(self) -> None:
        self.apis = {int(api.apiKey()): api for api in jpype.JClass(_MESSAGE + "ApiMessageType").values()}
        self.accessor = jpype.JClass(_PROTOCOL + "ByteBufferAccessor")
        self.cache = jpype.JClass(_PROTOCOL + "ObjectSerializationCache")
        self.buffer = jpype.JClass("java.nio.ByteBuffer")
        self.mapper = jpype.JClass("com.fasterxml.jackson.databind.ObjectMapper")()
        self.classes = cache(self._classes)

    def _classes(self, key: int | str, side: str) -> tuple[Any, Any]:
        """The data class and the JSON converter of a side of an API, or of a structure that has a name."""
        if isinstance(key, str):
            return _class_of(key), _class_of(f"{key}JsonConverter")
        api = self.apis[key]
        kind = (api.newRequest() if side == "request" else api.newResponse()).getClass()
        name = str(kind.getName())
        return jpype.JClass(name), jpype.JClass(name + "JsonConverter")

    def inventory(self) -> Iterator[dict[str, Any]]:
        """Every API: its versions, header versions, and the layout of each version of both sides."""
        for key, api in sorted(self.apis.items()):
            low = int(api.lowestSupportedVersion())
            high = int(api.highestSupportedVersion(True))
            versions = range(low, high + 1)
            yield {
                "key": key,
                "name": str(api.name),
                "versions": [low, high],
                "headers": {
                    "request": [int(api.requestHeaderVersion(jpype.JShort(v))) for v in versions],
                    "response": [int(api.responseHeaderVersion(jpype.JShort(v))) for v in versions],
                },
                "layouts": {
                    side: [layout(self.classes(key, side)[0].SCHEMAS[v]) for v in versions]
                    for side in ("request", "response")
                },
            }

    def errors(self) -> list[list[Any]]:
        """[code, name, retriable] of every error code."""
        retriable = jpype.JClass("org.apache.kafka.common.errors.RetriableException")
        codes = jpype.JClass(_PROTOCOL + "Errors").values()
        return [[int(code.code()), str(code.name()), isinstance(code.exception(), retriable)] for code in codes]

    def features(self) -> dict[str, list[int]]:
        """Feature → the lowest and the highest level that brokers support by default."""
        levels = jpype.JClass(_SERVER + "MetadataVersion")
        found = {
            str(feature.featureName()): [int(feature.minimumProduction()), int(feature.latestProduction())]
            for feature in jpype.JClass(_SERVER + "Feature").PRODUCTION_FEATURES
        }
        lowest, highest = levels.MINIMUM_VERSION.featureLevel(), levels.LATEST_PRODUCTION.featureLevel()
        return {**found, "metadata.version": [int(lowest), int(highest)]}

    def defaults(self, key: int | str, version: int, side: str) -> str:
        """The bytes of a message with all fields at their defaults."""
        return self.write(self.classes(key, side)[0](), version)

    def message(self, key: int | str, version: int, side: str, data: str, rebuild: bool) -> dict[str, Any]:
        """Kafka's JSON for these bytes, and the bytes that it writes for the message; for its JSON too if `rebuild`."""
        kind, converter = self.classes(key, side)
        short = jpype.JShort(version)
        buffer = self._buffer(data)
        message = kind(self.accessor(buffer), short)
        try:
            node = converter.write(message, short, False)
        except TypeError:  # up to 2.7 there is no argument for records
            node = converter.write(message, short)
        answer = {
            "left": int(buffer.remaining()),
            "json": str(node.toString()),
            "again": self.write(message, version),
        }
        if rebuild:
            answer["rebuilt"] = self.write(converter.read(self.mapper.readTree(node.toString()), short), version)
        return answer

    def error_answer(self, key: int, version: int, data: str, code: int, throttle: int) -> str | None:
        """The bytes of the answer that Kafka's own classes make from a request and an error; None if they make none.

        The answer is that of AbstractRequest.getErrorResponse, which a broker calls if a request fails as a whole.
        """
        apis = jpype.JClass(_PROTOCOL + "ApiKeys").forId(key)
        buffer = self._buffer(data)
        parse = jpype.JClass("org.apache.kafka.common.requests.AbstractRequest").parseRequest
        try:
            request = parse(apis, jpype.JShort(version), buffer).request
        except TypeError:  # from 4.0 on
            request = parse(apis, jpype.JShort(version), self.accessor(buffer))
        if hasattr(request, "request"):
            request = request.request
        error = jpype.JClass(_PROTOCOL + "Errors").forCode(jpype.JShort(code))
        answer = request.getErrorResponse(throttle, error.exception())
        return None if answer is None else self.write(answer.data(), version)

    def schemas(self, where: str, names: str, data: str) -> dict[str, Any]:
        """The bytes read by schemas in the code of a class: how many are left, and the bytes that they write."""
        buffer = self._buffer(data)
        again = ""
        for name in names.split():
            slot = jpype.JClass(where).class_.getDeclaredField(name)
            slot.setAccessible(True)
            schema = slot.get(None)
            struct = schema.read(buffer)
            written = self.buffer.allocate(schema.sizeOf(struct))
            schema.write(written, struct)
            again += bytes(written.array()).hex()
        return {"left": int(buffer.remaining()), "again": again}

    def assignment_info(self, data: str) -> str:
        """The bytes that Streams writes for an assignment that it has read."""
        kind = jpype.JClass("org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo")
        return bytes(kind.decode(self._buffer(data)).encode().array()).hex()

    def metrics(self, plain: str, packed: str, codec: str) -> dict[str, str]:
        """OTLP compressed as a client does it, and the metrics that a broker reads in bytes compressed elsewhere."""
        utils = jpype.JClass("org.apache.kafka.common.telemetry.internals.ClientTelemetryUtils")
        kind = jpype.JClass("org.apache.kafka.common.record.internal.CompressionType").forName(codec)
        message = jpype.JClass("org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData")
        sent = utils.compress(message.parseFrom(self._buffer(plain)), kind)
        found = self._buffer(packed) if codec == "none" else utils.decompress(self._buffer(packed), kind, 1 << 24)
        return {"packed": _left(sent), "read": bytes(message.parseFrom(found).toByteArray()).hex()}

    def _buffer(self, data: str) -> Any:
        return self.buffer.wrap(jpype.JArray(jpype.JByte)(bytes.fromhex(data)))

    def write(self, message: Any, version: int) -> str:
        store = self.cache()
        short = jpype.JShort(version)
        buffer = self.buffer.allocate(message.size(store, short))
        message.write(self.accessor(buffer), store, short)
        return bytes(buffer.array()).hex()


def _left(buffer: Any) -> str:
    at = int(buffer.arrayOffset()) + int(buffer.position())
    return bytes(buffer.array())[at : at + int(buffer.remaining())].hex()


def layout(schema: Any) -> list[list[Any]]:
    """[name, type as in the protocol guide, nullable, tag, layout of a struct's fields] of each field."""
    rows = []
    for bound in schema.fields():
        kind = bound.def_.type
        if str(kind.getClass().getSimpleName()) == "TaggedFields":
            for tag, field in _tagged(kind).items():
                rows.append(_row(str(field.name), field.type, int(tag)))
        else:
            rows.append(_row(str(bound.def_.name), kind, None))
    return rows


def _tagged(kind: Any) -> Any:
    """The map of tags to fields, which 3.9 keeps private."""
    slot = kind.getClass().getDeclaredField("fields")
    slot.setAccessible(True)
    return slot.get(kind)


def _row(name: str, kind: Any, tag: int | None) -> list[Any]:
    nullable = bool(kind.isNullable())
    inner, array = kind, ""
    if kind.isArray():
        array = "COMPACT_ARRAY of " if kind.getClass().getSimpleName() == "CompactArrayOf" else "ARRAY of "
        inner = kind.arrayElementType().get()
    if str(inner.getClass().getSimpleName()) in ("Schema", "NullableSchema"):
        return [name, array + "STRUCT", nullable, tag, layout(inner)]
    return [name, array + str(inner.typeName()), nullable, tag, []]


def main(jars: list[str]) -> None:
    jpype.startJVM(classpath=jars)
    kafka = Kafka()
    for line in sys.stdin:
        ask, *arguments = json.loads(line)
        answer: Any
        try:
            answer = list(kafka.inventory()) if ask == "inventory" else getattr(kafka, ask)(*arguments)
        except jpype.JException as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)  # noqa: T201  # the pipe is what this program is for


if __name__ == "__main__":
    main(sys.argv[1:])
