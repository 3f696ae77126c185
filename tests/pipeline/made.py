"""Numbers in, a folder of tables out, as if written by a run: of any size, quickly, with any names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoders.apis import api
from decoders.protocol_facts.errors.error_codes import error_name
from kwcli.pipeline.store.replace_folders_of_tables import open_store
from kwcli.pipeline.store.tables_manifest import CoveredCapture
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS

BEGIN_NS: Final = 1_795_230_000 * 10**9  # 2026-11-21T03:00:00Z
TABLES: Final = ("exchanges", "topic_partitions", "connections", "skipped")
# API, version, share of the exchanges, usual latency in ms.
TRAFFIC: Final = (
    *((0, 9, 30, 2.0), (0, 2, 2, 4.0), (1, 13, 40, 1.0), (1, 3, 2, 5.0), (3, 12, 4, 0.8), (12, 4, 10, 0.5)),
    *((8, 8, 6, 1.5), (10, 4, 1, 1.0), (11, 9, 1, 90.0), (14, 5, 1, 60.0), (18, 3, 2, 0.4), (2, 0, 1, 1.1)),
)
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


class Names(NamedTuple):
    """The names of clients, topics and software, and the number of brokers."""

    clients: Sequence[str]
    topics: Sequence[str]
    software: Sequence[str] = ("apache-kafka-java", "librdkafka", "kgo")
    brokers: int = 3


def usual(clients: int = 40, topics: int = 12) -> Names:
    """Names such as people give."""
    words = ("checkout", "billing", "ledger", "fraud", "web", "audit", "search", "report")
    return Names(
        [f"{words[at % len(words)]}-{at // len(words) + 1}" for at in range(clients)],
        [
            f"{('orders', 'payments', 'metrics', 'clicks')[at % 4]}{'' if at < 4 else f'-{at // 4}'}"
            for at in range(topics)
        ],
    )


def make(folder: Path, rows: int, names: Names | None = None, *, seed: int = 1, batch: int = 1 << 16) -> Path:
    """Tables with so many exchanges over an hour; gives their folder."""
    names = names or usual()
    random = np.random.default_rng(seed)
    with open_store(str(folder)) as store:
        staging = store.start_staging()
        with staging.make_writer(TABLES) as writer:
            for at, size in _parts(rows, batch):
                exchanges = _exchanges(random, at, size, rows, names)
                writer.write_table("exchanges", exchanges)
                writer.write_table("topic_partitions", _partitions(random, exchanges))
            writer.write_table("connections", _connections(random, names))
            written = writer.close()
        source = CoveredCapture("", "/captures/made.pcap", rows * 200, "made")
        store.commit(staging, written, sources=[source], options={}, tables=TABLES, facts={})
    return folder


def _parts(rows: int, batch: int) -> Iterator[tuple[int, int]]:
    for at in range(0, rows, batch):
        yield at, min(batch, rows - at)


def _pick(values: Sequence[Any], numbers: Any, kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, kind).take(pa.array(numbers))


def _filled(name: str, columns: dict[str, Any], size: int) -> pa.RecordBatch:
    """A batch of a table with these columns, all others null; `source` is `wire`."""
    schema = SCHEMAS[name]
    columns = {"source": ["wire"] * size, **columns}
    arrays = [
        pa.array(columns[each.name], each.type) if each.name in columns else pa.nulls(size, each.type)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(
        [
            array if array.type == each.type else array.cast(each.type)
            for array, each in zip(arrays, schema, strict=True)
        ],
        schema=schema,
    )


def _exchanges(random: Any, at: int, size: int, rows: int, names: Names) -> pa.RecordBatch:
    which = random.choice(len(TRAFFIC), size, p=np.array([row[2] for row in TRAFFIC]) / 100)
    client = (len(names.clients) * random.random(size) ** 2).astype(np.int64)
    broker = random.integers(0, names.brokers, size)
    begun = BEGIN_NS + np.sort((np.arange(at, at + size) + random.random(size)) * (3600 * 10**9 / rows)).astype(
        np.int64
    )
    wave = 1 + 2 * np.exp(-(((begun - BEGIN_NS) / 3.6e12 - 0.6) ** 2) / 0.002)
    usual_ms = np.array([row[3] for row in TRAFFIC])[which]
    took = (usual_ms * wave * random.lognormal(0, 0.8, size) * 1e6).astype(np.int64)
    sent = begun + random.integers(0, 50_000, size)
    waits = (which == 2) & (random.random(size) < 0.3)
    took[waits] = 500_000_000 + random.integers(0, 3_000_000, int(waits.sum()))
    silent = random.random(size) < 0.0005
    failed = (random.random(size) < 0.01 * wave) & ~silent
    codes = [3, 6, 16, 27]
    code = random.integers(0, len(codes), size)
    topics = np.where(np.isin(which, (0, 1, 2, 3, 4, 6, 11)), random.integers(0, len(names.topics), size), -1)
    offsets = np.concatenate([[0], np.cumsum(topics >= 0)]).astype(np.int32)
    errors = np.concatenate([[0], np.cumsum(failed)]).astype(np.int32)
    about = [names.topics[each] if each >= 0 else None for each in topics[failed].tolist()]
    empty = pa.array([[]] * size, pa.list_(pa.string()))
    addresses = [f"10.0.{number // 250}.{number % 250 + 1}" for number in range(len(names.clients))]
    software = np.where(client % 5 == 0, len(names.software), client % len(names.software))
    columns = {
        "kind": _pick(["exchange"], np.zeros(size, np.int64)),
        "schema": np.ones(size, np.int32),
        "time_ns": begun,
        "time": pc.divide(pa.array(begun), 1000).cast(pa.timestamp("us", tz="UTC")),
        "request_end_ns": sent,
        "response_ns": pa.array(sent + took, mask=silent),
        "response_end_ns": pa.array(sent + took + 20_000, mask=silent),
        "latency_ms": pa.array(took / 1e6, mask=silent),
        "point": _pick([""], np.zeros(size, np.int64)),
        "client": _pick([f"{each}:40000" for each in addresses], client),
        "client_ip": _pick(addresses, client),
        "client_port": np.full(size, 40000, np.int32),
        "broker": _pick([f"10.1.0.{number + 1}:9092" for number in range(names.brokers)], broker),
        "broker_ip": _pick([f"10.1.0.{number + 1}" for number in range(names.brokers)], broker),
        "broker_port": np.full(size, 9092, np.int32),
        "connection_began_ns": np.full(size, BEGIN_NS),
        "place": np.arange(at, at + size),
        "api_key": _pick([row[0] for row in TRAFFIC], which, pa.int32()),
        "api": _pick([api(row[0]).name for row in TRAFFIC], which),
        "api_version": _pick([row[1] for row in TRAFFIC], which, pa.int32()),
        "correlation_id": pa.array(np.arange(at, at + size) & 0x7FFFFFFF).cast(pa.int32()),
        "client_id": _pick(list(names.clients), client),
        "request_size": random.integers(40, 900, size),
        "response_size": pa.array(random.integers(20, 5000, size), mask=silent),
        "status": _pick(["complete", "unanswered"], silent.astype(np.int64)),
        "error_codes": pa.ListArray.from_arrays(errors, _pick(codes, code[failed], pa.int32())),
        "error_names": pa.ListArray.from_arrays(errors, _pick([error_name(each) for each in codes], code[failed])),
        "error_paths": pa.ListArray.from_arrays(errors, _pick(["error_code"], np.zeros(int(failed.sum()), np.int64))),
        "error_topics": pa.ListArray.from_arrays(errors, pa.array(about, pa.string())),
        "error_expected": pa.ListArray.from_arrays(errors, pa.array([False] * len(about), pa.bool_())),
        "retransmitted": np.zeros(size, np.bool_),
        "client_software_name": _pick([*names.software, None], software),
        "client_software_version": _pick([*("3.9.1" for _ in names.software), None], software),
        "topics": pa.ListArray.from_arrays(offsets, _pick(list(names.topics), topics[topics >= 0])),
        **dict.fromkeys(("topic_ids", "topic_names", "groups"), empty),
        "throttle_time_ms": pa.array(random.integers(1, 400, size), mask=random.random(size) > 0.002),
        "waited_ns": pa.array(took, mask=~waits),
        "source_file": _pick(["made.pcap"], np.zeros(size, np.int64)),
        "request_packet": np.arange(2 * at + 1, 2 * (at + size) + 1, 2),
        "request_packet_end": np.arange(2 * at + 1, 2 * (at + size) + 1, 2),
        "response_packet": pa.array(np.arange(2 * at + 2, 2 * (at + size) + 2, 2), mask=silent),
        "response_packet_end": pa.array(np.arange(2 * at + 2, 2 * (at + size) + 2, 2), mask=silent),
    }
    return _filled("exchanges", columns, size)


def _partitions(random: Any, exchanges: pa.RecordBatch) -> pa.RecordBatch:
    """A row of partitions for each topic of Produce and Fetch."""
    picked = pc.and_(
        pc.less_equal(exchanges.column("api_key"), 1), pc.greater(pc.list_value_length(exchanges.column("topics")), 0)
    )
    some = exchanges.filter(picked)
    size = some.num_rows
    shared = ("time", "time_ns", "point", "client", "broker", "connection_began_ns", "place")
    columns = {name: some.column(name) for name in (*shared, "api_key", "api", "api_version", "client_id")}
    topics = some.column("topics").flatten()
    records = random.integers(1, 200, size)
    several = random.random(size) < 0.1
    return _filled(
        "topic_partitions",
        columns
        | {
            "topic": topics,
            "partition": random.integers(0, 12, size),
            "side": _pick(["both"], np.zeros(size, np.int64)),
            "error_code": np.zeros(size, np.int32),
            "batches": np.where(several, 3, 1),
            "records": records,
            "bytes": records * random.integers(20, 300, size),
            "codec": _pick(CODECS, random.integers(0, len(CODECS), size)),
            "magic": _pick(["2"], np.zeros(size, np.int64)),
        },
        size,
    )


def _connections(random: Any, names: Names) -> pa.RecordBatch:
    """Three connections of each client, and one with TLS."""
    size = 3 * len(names.clients) + 1
    client = np.arange(size) % len(names.clients)
    kafka = np.arange(size) < size - 1
    addresses = [f"10.0.{number // 250}.{number % 250 + 1}" for number in range(len(names.clients))]
    begun = BEGIN_NS + random.integers(0, 10**12, size)
    columns: dict[str, Any] = {
        "time": pc.divide(pa.array(begun), 1000).cast(pa.timestamp("us", tz="UTC")),
        "time_ns": begun,
        "last_ns": begun + 10**12,
        "point": _pick([""], np.zeros(size, np.int64)),
        "client": _pick([f"{each}:{40000}" for each in addresses], client),
        "client_ip": _pick(addresses, client),
        "client_port": np.full(size, 40000, np.int32),
        "broker": _pick(["10.1.0.1:9092"], np.zeros(size, np.int64)),
        "broker_ip": _pick(["10.1.0.1"], np.zeros(size, np.int64)),
        "broker_port": np.full(size, 9092, np.int32),
        "connection_began_ns": begun,
        "kafka": kafka,
        "reason": pa.array(np.where(kafka, "", "tls"), mask=kafka),
        "detail": pa.array(np.where(kafka, "", "TLS 1.3 for kafka.example"), mask=kafka),
        "opened": np.ones(size, np.bool_),
        "closed": _pick(["fin", "rst", "capture_end"], random.integers(0, 3, size)),
        "client_id": pa.array([names.clients[each] for each in client.tolist()], mask=~kafka),
        "exchanges": np.where(kafka, random.integers(1, 1000, size), 0),
    }
    for side in ("client", "server"):
        columns |= {f"{side}_{name}": random.integers(0, 9, size) for name in ("gaps", "missing", "retransmissions")}
        columns |= {f"{side}_{name}": random.integers(100, 99999, size) for name in ("packets", "bytes")}
    return _filled("connections", columns, size)
