"""Avro values: kw's compiled function and its walker against fastavro and against orjson, in CPU time of one process.

    python -m tests.bench.avro_values [--count 20000]

The last lines are `kw sniff --records -o ndjson` of a capture whose values are Avro, JSON and plain text: CPU time for
each record, without the start of the program. Avro is to take at most twice the time of JSON.

All sides read the same order (twelve fields, an array of three lines, a map) in turn, and the best of each counts. kw
gives the JSON form of a record, so what fastavro reads is not quite the same: its dates are objects.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import fastavro
import orjson

from decoders import Record
from decoders.values.avro.avro_decoder_codegen import compile_decoder
from decoders.values.avro.avro_schema import parse_avro_schema
from decoders.values.avro.avro_walker import AvroWalker
from tests.cli.worlds import kw
from tests.reading.captures_with_values import HandMadeCapture, prefixed, schemas_record

TURNS = 7
# Batches of the captures, and records of a batch.
BATCHES, RECORDS = 50, 100
LINE = {"type": "record", "name": "Line", "fields": [
    {"name": "sku", "type": "string"}, {"name": "count", "type": "int"}, {"name": "price", "type": "double"},
]}  # fmt: skip
SCHEMA = {"type": "record", "name": "Order", "namespace": "shop", "fields": [
    {"name": "id", "type": "long"}, {"name": "customer", "type": "string"},
    {"name": "email", "type": ["null", "string"]},
    {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SENT"]}},
    {"name": "total", "type": "double"}, {"name": "paid", "type": "boolean"}, {"name": "country", "type": "string"},
    {"name": "at", "type": "long"}, {"name": "lines", "type": {"type": "array", "items": LINE}},
    {"name": "tags", "type": {"type": "map", "values": "string"}}, {"name": "note", "type": ["null", "string"]},
    {"name": "revision", "type": "int"},
]}  # fmt: skip
ORDER = {
    "id": 4711, "customer": "Ann Example", "email": "ann@example.com", "status": "PAID", "total": 99.5, "paid": True,
    "country": "DE", "at": 1_790_000_000_000, "tags": {"channel": "web", "campaign": "autumn"}, "note": None,
    "revision": 3, "lines": [{"sku": f"A-{number}", "count": number, "price": 9.99} for number in range(3)],
}  # fmt: skip


def measure(read: Callable[[], object], count: int) -> float:
    """The CPU time of a call, in µs."""
    begin = time.process_time()
    for _ in range(count):
        read()
    return (time.process_time() - begin) / count * 1e6


def measure_sniffing(values: Mapping[str, bytes]) -> dict[str, float]:
    """The CPU time of a record in `kw sniff --records`, in µs, by the name of its value."""
    best = dict.fromkeys(values, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for name, value in values.items():
            made = HandMadeCapture().fetch("_schemas", schemas_record(17, SCHEMA))
            for _ in range(BATCHES):
                made.produce("orders", *(Record(at, 5, b"customer-%d" % at, value) for at in range(RECORDS)))
            names[name] = made.write(Path(folder) / f"{name}.pcap")
        for _ in range(TURNS):
            for name, path in names.items():
                cost = measure(lambda path=path: kw("sniff", path, "--records", "-o", "ndjson", "--jobs", "1"), 1)  # type: ignore[misc]
                best[name] = min(best[name], cost / BATCHES / RECORDS)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    count = parser.parse_args().count
    parsed = fastavro.parse_schema(SCHEMA)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, ORDER)
    packed, text = out.getvalue(), orjson.dumps(ORDER)
    kind = parse_avro_schema(json.dumps(SCHEMA))
    compiled = compile_decoder(kind)
    assert compiled is not None
    assert compiled(packed, 0) == (ORDER, len(packed))
    sides: dict[str, Callable[[], object]] = {
        "kw, compiled": lambda: compiled(packed, 0),
        "kw, walker": lambda: AvroWalker(packed).read(kind, 0),
        "fastavro": lambda: fastavro.schemaless_reader(io.BytesIO(packed), parsed, None),
        "orjson": lambda: orjson.loads(text),
    }
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(TURNS):
        for name, read in sides.items():
            best[name] = min(best[name], measure(read, count // TURNS))
    for name, cost in best.items():
        print(f"{name:14} {cost:8.2f} µs  {best['fastavro'] / cost:6.2f} × fastavro")
    plain = b"plain text of as many bytes as the JSON has, which no form explains ".ljust(len(text), b".")
    shown = measure_sniffing({"avro": prefixed(17, packed), "json": text, "text": plain})
    for name, cost in shown.items():
        print(f"sniff, {name:7} {cost:8.2f} µs  {cost / shown['json']:6.2f} × JSON")


if __name__ == "__main__":
    main()
