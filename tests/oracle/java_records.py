"""Kafka's own record classes behind a pipe: a question in JSON on each line of stdin, its answer on a line of stdout.

Run as `python -m tests.oracle.java_records JAR…`. The answer to `["write", {…batch…}]` is the bytes in hex, to
`["read", hex]` the batches and records that Kafka can read, to `["murmur2", hex]` the hash of a key.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types

_RECORD = "org.apache.kafka.common.record."


class Records:
    """The classes of one release."""

    def __init__(self) -> None:
        self.builder = jpype.JClass(_RECORD + "MemoryRecordsBuilder")
        self.memory = jpype.JClass(_RECORD + "MemoryRecords")
        self.codec = jpype.JClass(_RECORD + "CompressionType")
        self.compression = jpype.JClass("org.apache.kafka.common.compress.Compression")
        self.time = jpype.JClass(_RECORD + "TimestampType")
        self.stream = jpype.JClass("org.apache.kafka.common.utils.ByteBufferOutputStream")
        self.buffer = jpype.JClass("java.nio.ByteBuffer")
        self.header = jpype.JClass("org.apache.kafka.common.header.Header")
        self.record_header = jpype.JClass("org.apache.kafka.common.header.internals.RecordHeader")
        self.simple = jpype.JClass(_RECORD + "SimpleRecord")
        self.utils = jpype.JClass("org.apache.kafka.common.utils.Utils")

    def write(self, batch: dict[str, Any]) -> str:
        """The bytes of one batch (or, uncompressed in magic 0 and 1, one message set)."""
        stream = self.stream(1 << 16)
        horizon = batch["delete_horizon_ms"]
        made = self.builder(
            stream,
            jpype.JByte(batch["magic"]),
            self.compression.of(self.codec.forName(batch["codec"])).build(),
            self.time.forName("LogAppendTime" if batch["append_ms"] is not None else "CreateTime"),
            jpype.JLong(batch["base_offset"]),
            jpype.JLong(-1 if batch["append_ms"] is None else batch["append_ms"]),
            jpype.JLong(batch["producer_id"]),
            jpype.JShort(batch["producer_epoch"]),
            jpype.JInt(batch["base_sequence"]),
            batch["transactional"],
            False,
            jpype.JInt(batch["leader_epoch"]),
            jpype.JInt(1 << 24),
            jpype.JLong(-1 if horizon is None else horizon),
        )
        for offset, timestamp, key, value, headers in batch["records"]:
            held = [self.record_header(name, self.java(data)) for name, data in headers]
            record = self.simple(
                jpype.JLong(timestamp), self.java(key), self.java(value), jpype.JArray(self.header)(held)
            )
            made.appendWithOffset(jpype.JLong(offset), record)
        if batch["last_offset"] is not None:
            made.overrideLastOffset(jpype.JLong(batch["last_offset"]))
        return self.hex(made.build().buffer()) or ""

    def read(self, data: str) -> list[dict[str, Any]]:
        """The batches that Kafka reads; `error` at the point where it gives up."""
        out: list[dict[str, Any]] = []
        try:
            for batch in self.memory.readableRecords(self.buffer.wrap(self.java(data))).batches():
                out.append(self.batch(batch))
        except jpype.JException as error:
            out.append({"error": str(error)})
        return out

    def batch(self, batch: Any) -> dict[str, Any]:
        horizon = batch.deleteHorizonMs()
        told: dict[str, Any] = {
            "magic": int(batch.magic()),
            "size": int(batch.sizeInBytes()),
            "codec": str(batch.compressionType().name),
            "timestamp_type": str(batch.timestampType().name),
            "max_timestamp": int(batch.maxTimestamp()),
            "last_offset": int(batch.lastOffset()),
            "valid": bool(batch.isValid()),
            "producer_id": int(batch.producerId()),
            "producer_epoch": int(batch.producerEpoch()),
            "base_sequence": int(batch.baseSequence()),
            "transactional": bool(batch.isTransactional()),
            "control": bool(batch.isControlBatch()),
            "delete_horizon_ms": int(horizon.getAsLong()) if horizon.isPresent() else None,
            "records": [],
            "error": None,
        }
        try:
            told["base_offset"] = int(batch.baseOffset())
            for record in batch:
                headers = [[str(each.key()), self.of_bytes(each.value())] for each in record.headers()]
                key, value = self.hex(record.key()), self.hex(record.value())
                told["records"].append([int(record.offset()), int(record.timestamp()), key, value, headers])
        except jpype.JException as error:
            told["error"] = str(error)
        return told

    def murmur2(self, data: str) -> int:
        """The signed hash that decides a key's partition."""
        return int(self.utils.murmur2(self.java(data)))

    def java(self, data: str | None) -> Any:
        kind = jpype.JArray(jpype.JByte)
        return jpype.JObject(None, kind) if data is None else kind(bytes.fromhex(data))

    def of_bytes(self, data: Any) -> str | None:
        return None if data is None else bytes(data).hex()

    def hex(self, buffer: Any) -> str | None:
        return None if buffer is None else bytes(self.utils.toArray(buffer)).hex()


def main(jars: list[str]) -> None:
    jpype.startJVM(classpath=jars)
    records = Records()
    for line in sys.stdin:
        ask, argument = json.loads(line)
        try:
            answer = getattr(records, ask)(argument)
        except jpype.JException as error:
            answer = {"error": str(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
