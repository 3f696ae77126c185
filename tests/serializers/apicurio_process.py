"""Apicurio's Java serializers of one release, in a process of its own (JPype): a JSON line in, a JSON line out.

Run as `python -m tests.serializers.apicurio_process JAR…`. Bytes are hex. `serialize` takes Avro's and Protobuf's
objects as bodies of other libraries, which Java reads into objects of its own before the serializer sees them.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types

Row = dict[str, Any]


class Serdes:
    """Serializers and deserializers by name, and the objects that they take."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}
        self.headers = jpype.JClass("org.apache.kafka.common.header.internals.RecordHeaders")
        self.files: dict[str, Any] = {}

    def make(self, row: Row) -> None:
        """A serializer or deserializer of a class, with its configuration."""
        made = jpype.JClass(row["class"])()
        config = jpype.JClass("java.util.HashMap")()
        for key, value in row["config"].items():
            config.put(key, value)
        made.configure(config, row["is_key"])
        self.made[row["name"]] = made

    def load(self, row: Row) -> None:
        """A set of Protobuf descriptors."""
        protos = jpype.JClass("com.google.protobuf.DescriptorProtos").FileDescriptorSet.parseFrom(_bytes(row["data"]))
        build = jpype.JClass("com.google.protobuf.Descriptors").FileDescriptor.buildFrom
        kind = jpype.JClass("com.google.protobuf.Descriptors").FileDescriptor
        for file in protos.getFileList():
            known = [self.files[str(name)] for name in file.getDependencyList()]
            self.files[str(file.getName())] = build(file, jpype.JArray(kind)(known))

    def serialize(self, row: Row) -> Row:
        """The bytes of an object and the headers of its record."""
        headers = self.headers()
        found = self.made[row["name"]].serialize(row["topic"], headers, self.object_of(row))
        names = [(str(each.key()), bytes(each.value()).hex()) for each in headers]
        return {"data": bytes(found).hex(), "headers": names}

    def object_of(self, row: Row) -> Any:
        """The object of an Avro body with its schema's text, of a Protobuf message with its name, or of JSON text."""
        data = _bytes(row["data"])
        if row["kind"] == "avro":
            schema = jpype.JClass("org.apache.avro.Schema").Parser().parse(row["schema"])
            decoder = jpype.JClass("org.apache.avro.io.DecoderFactory").get().binaryDecoder(data, None)
            return jpype.JClass("org.apache.avro.generic.GenericDatumReader")(schema).read(None, decoder)
        if row["kind"] == "protobuf":
            file, *names = row["message"]
            found = self.files[file].findMessageTypeByName(names[0])
            for name in names[1:]:
                found = found.findNestedTypeByName(name)
            return jpype.JClass("com.google.protobuf.DynamicMessage").parseFrom(found, data)
        return jpype.JClass("com.fasterxml.jackson.databind.ObjectMapper")().readTree(data)

    def deserialize(self, row: Row) -> Row:
        """Whether a deserializer reads a value."""
        headers = self.headers()
        for name, data in row["headers"]:
            headers.add(name, _bytes(data))
        found = self.made[row["name"]].deserialize(row["topic"], headers, _bytes(row["data"]))
        return {"read": str(found)[:200]}


def _bytes(text: str) -> Any:
    return jpype.JArray(jpype.JByte)(bytes.fromhex(text))


def main(jars: list[str]) -> None:
    """Answer the lines of stdin."""
    jpype.startJVM("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", classpath=jars)
    serdes = Serdes()
    for line in sys.stdin:
        row = json.loads(line)
        try:
            answer = getattr(serdes, row["do"])(row) or {}
        except jpype.JException as error:
            cause = error
            while cause.getCause() is not None:
                cause = cause.getCause()
            answer = {"error": f"{error} ← {cause}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
