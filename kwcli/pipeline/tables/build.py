"""Rows as tuples with places into pools in, one record batch of the travelling form out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from decoders.exchanges.record import SCHEMA
from decoders.wire.text import json_text
from kwcli.inputs import utf8_text
from kwcli.pipeline.tables.schemas import OWN, PARTITION, ROWS, TYPES

if TYPE_CHECKING:
    from decoders.exchanges.exchange import ConnectionInfo
    from decoders.exchanges.specs import ApiVersion

# Columns with numbers of packets.
PACKETS: Final = ("request_packet", "request_packet_end", "response_packet", "response_packet_end")
# What a row begins with: places in the pools.
_PLACES: Final = ("ends", "spec", "client", "topics", "groups", "rare", "run")
# What follows in it: columns as they are, then the number of its partitions.
_PLAIN: Final = (
    *("time_ns", "request_end_ns", "response_ns", "response_end_ns", "place", "correlation_id"),
    *("request_size", "response_size", "status"),
    *PACKETS,
    *("batches", "records", "record_bytes", "throttle_time_ms", "max_wait_ms", "min_bytes", "waited_ns"),
    *("fetch_session_id", "fetch_session_epoch", "fetch_session_incremental", "request_body", "response_body"),
)
ROW: Final = len(_PLACES) + len(_PLAIN) + 1
_RARE: Final = (
    *("reason", "error_codes", "error_names", "error_paths", "error_topics", "closed", "retransmitted"),
    *("undecoded_side", "undecoded_reason", "undecoded_path", "undecoded_offset", "request_layout", "response_layout"),
)
_CLIENT: Final = ("client_id", "client_software_name", "client_software_version")
_TOPICS: Final = ("topics", "topic_ids", "topic_names")
# Packets carry the number of their file above these bits.
NUMBER_BITS: Final = 40

Arrays = dict[str, pa.Array]


def build(
    point: str,
    files: Sequence[str],
    rows: list[tuple[Any, ...]],
    parts: list[list[Any]],
    *,
    ends: list[ConnectionInfo],
    specs: list[ApiVersion],
    pools: Mapping[str, list[Any]],
) -> pa.RecordBatch:
    """The batch; `pools` are those of clients, topics, groups, rare things and runs."""
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * ROW
    count = len(rows)
    at = {name: pa.array(columns[n], pa.int32()) for n, name in enumerate(_PLACES)}
    given = columns[len(_PLACES) :]
    arrays = {name: pa.array(given[n], ROWS.field(name).type) for n, name in enumerate(_PLAIN)}
    for names, pool in ((_CLIENT, "client"), (_TOPICS, "topics"), (_RARE, "rare")):
        arrays |= _spread(names, pools[pool], at[pool])
    arrays["groups"] = pa.array(pools["groups"], TYPES["list<string>"]).take(at["groups"])
    arrays |= _of_ends(ends, at["ends"])
    arrays |= _of_specs(specs, at["spec"])
    runs = _spread(("direction", "size", "run_reason", "detail"), pools["run"], at["run"], _RUN_TYPES)
    is_run = pc.is_valid(at["run"])
    arrays["reason"] = pc.coalesce(arrays["reason"], runs.pop("run_reason"))
    arrays |= runs
    arrays["kind"] = pc.if_else(is_run, "skipped", "exchange")
    arrays["schema"] = pa.repeat(pa.scalar(SCHEMA, pa.int32()), count)
    arrays["point"] = pa.repeat(pa.scalar(point, pa.string()), count)
    _times(arrays)
    _packets(arrays, files)
    arrays["partitions"] = _partitions(given[len(_PLAIN)], parts)
    return pa.RecordBatch.from_arrays([arrays[field.name] for field in ROWS], schema=ROWS)


_RUN_TYPES: Final = {"direction": pa.string(), "size": pa.int64(), "run_reason": pa.string(), "detail": pa.string()}


def _spread(
    names: Sequence[str], pool: list[Any], at: pa.Array, types: Mapping[str, pa.DataType] | None = None
) -> Arrays:
    """The values of a pool where the rows have them."""
    columns = list(zip(*pool, strict=True)) or [()] * len(names)
    found = {}
    for name, values in zip(names, columns, strict=True):
        kind = ROWS.field(name).type if types is None else types[name]
        found[name] = pa.array(values, kind).take(at)
    return found


def shown(text: str) -> str:
    """Text as any reader takes it; of bytes that are none the JSON form."""
    form = json_text(text)
    return form if isinstance(form, str) else orjson.dumps(form).decode()


def split_address(address: str) -> tuple[str, int]:
    """`[::1]:9092` → `::1`, 9092."""
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _of_ends(ends: list[ConnectionInfo], at: pa.Array) -> Arrays:
    clients = [split_address(one.client) for one in ends]
    brokers = [split_address(one.broker) for one in ends]
    columns: dict[str, list[Any]] = {
        "client": [one.client for one in ends],
        "broker": [one.broker for one in ends],
        "client_ip": [ip for ip, _ in clients],
        "client_port": [port for _, port in clients],
        "broker_ip": [ip for ip, _ in brokers],
        "broker_port": [port for _, port in brokers],
        "connection": [one.number or None for one in ends],
        "connection_began_ns": [one.began_ns for one in ends],
    }
    return {name: pa.array(values, ROWS.field(name).type).take(at) for name, values in columns.items()}


def _of_specs(specs: list[ApiVersion], at: pa.Array) -> Arrays:
    columns: dict[str, list[Any]] = {
        "api_key": [spec.key for spec in specs],
        "api": [spec.name for spec in specs],
        "api_version": [spec.version for spec in specs],
    }
    return {name: pa.array(values, ROWS.field(name).type).take(at) for name, values in columns.items()}


def _times(arrays: Arrays) -> None:
    """The time for people, latency and duration: the arithmetic of the exchange record, a column at a time."""
    begun, sent, answered, ended = (
        arrays[name] for name in ("time_ns", "request_end_ns", "response_ns", "response_end_ns")
    )
    arrays["time"] = pc.divide(begun, 1000).cast(TYPES["timestamp"])
    arrays["latency_ms"] = _ms(pc.subtract(answered, sent))
    whole = pc.if_else(pc.is_valid(sent), ended, pa.scalar(None, pa.int64()))
    arrays["duration_ms"] = _ms(pc.subtract(whole, begun))


def _ms(ns: pa.Array) -> pa.Array:
    return pc.divide(ns.cast(pa.float64(), safe=False), 1e6)


def _packets(arrays: Arrays, files: Sequence[str]) -> None:
    """Packet numbers without their files, and the files' names."""
    names = pa.array([*map(utf8_text, files), ""], pa.string())
    numbers, places = {}, {}
    for name in PACKETS:
        packet = arrays[name]
        numbers[name] = pc.bit_wise_and(packet, (1 << NUMBER_BITS) - 1)
        places[name] = pc.shift_right(packet, NUMBER_BITS)
    arrays |= numbers
    source = pc.coalesce(places["request_packet"], places["response_packet"], pa.scalar(len(files), pa.int64()))
    arrays["source_file"] = names.take(source)
    for name, place in (
        ("request_end_file", "request_packet_end"),
        ("response_file", "response_packet"),
        ("response_end_file", "response_packet_end"),
    ):
        other = pc.if_else(pc.equal(places[place], source), pa.scalar(None, pa.int64()), places[place])
        arrays[name] = names.take(other)


def _partitions(counts: Sequence[int], parts: list[list[Any]]) -> pa.Array:
    columns = list(zip(*parts, strict=True)) or [()] * len(OWN)
    fields = [pa.field(column.name, TYPES[column.type], nullable=True) for column in OWN]
    structs = pa.StructArray.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)], fields=fields
    )
    offsets = pc.cumulative_sum(pa.array([0, *counts], pa.int32()))
    return pa.ListArray.from_arrays(offsets, structs).cast(pa.list_(pa.field("element", PARTITION, nullable=True)))
