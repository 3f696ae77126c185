"""The Protobuf serializer of confluent-kafka 2.6.1 with its older form of message indexes, in a process of its own.

Run with that release on PYTHONPATH: a JSON object on stdin (`url`, `set`: descriptors in hex, `rows`: names and
messages in hex), a list of values in hex out.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def main(asked: Any) -> list[str]:
    """The values of messages."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(bytes.fromhex(asked["set"])).file:
        pool.Add(file)
    client = SchemaRegistryClient({"url": asked["url"]})
    conf = {"use.deprecated.format": True, "subject.name.strategy": lambda _context, record: record}
    found = []
    for name, data in asked["rows"]:
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        context = SerializationContext("orders", MessageField.VALUE)
        value = ProtobufSerializer(kind, client, conf=conf)(kind.FromString(bytes.fromhex(data)), context)
        found.append((value or b"").hex())
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(json.load(sys.stdin))))
