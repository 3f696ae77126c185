"""The data source `kafka_wire`: captures in, one row per TCP segment out; an ordinary DataFrame of what was captured.

    spark.read.format("kafka_wire").option("ports", "9092").load("captures/*.pcapng")

A data source cannot bring rows together that lie apart, so exchanges come from `exchanges(spark, path)`. Nothing is
pushed down: `since`, `until` (RFC 3339), `ports` and `point` are options, and columns are chosen with a schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from click import UsageError
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructType, TimestampType

from decoders.capture.merge_captures import file_index_of_packet, packet_number_in_file
from decoders.named_tuple import NamedTuple
from decoders.tcp.connection_and_halves import format_endpoints
from decoders.wire.parse_units import parse_time
from kwcli.option_types import PortList
from kwcli.pipeline.plan_splits import SPLIT_SIZE, plan_splits
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.spark.explain_failures import describe_split_place, turn_errors_into_failures
from kwcli.pipeline.tables.exchange_columns import split_address
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    import pyarrow as pa

    from decoders.tcp.stream_chunks import Segment
    from kwcli.pipeline.read.split_and_file_range import Split

__all__ = ["KafkaWire"]

# Column, type, meaning; none is ever null.
COLUMNS: Final[tuple[tuple[str, DataType, str], ...]] = (
    ("point", StringType(), "where it was captured"),
    ("source_file", StringType(), "the capture"),
    ("packet", LongType(), "number in the capture, as Wireshark counts"),
    ("time", TimestampType(), "capture time"),
    ("time_ns", LongType(), "capture time in nanoseconds since 1970"),
    ("source_ip", StringType(), "who sent it"),
    ("source_port", IntegerType(), ""),
    ("target_ip", StringType(), "to whom"),
    ("target_port", IntegerType(), ""),
    ("seq", LongType(), "TCP sequence number"),
    ("ack", LongType(), "TCP acknowledgement number"),
    ("flags", IntegerType(), "TCP flags"),
    ("payload", BinaryType(), "payload as captured"),
    ("cut", IntegerType(), "bytes of payload that were sent and not captured"),
)


MODES: Final = ("permissive", "failfast")
MEANT: Final = {
    "since": "no time, as 2026-11-21T17:34:05Z",
    "until": "no time, as 2026-11-21T17:34:05Z",
    "split_size": "no number of bytes",
}
T = TypeVar("T")


class SourceOptions(NamedTuple):
    """The captures to read, and the segments wanted; times in nanoseconds since 1970, `until` not included."""

    paths: tuple[str, ...]
    point: str = ""
    ports: frozenset[bytes] | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    split_size: int = SPLIT_SIZE
    strict: bool = False

    def is_wanted(self, segment: Segment) -> bool:
        """Whether a segment is wanted."""
        if self.since_ns is not None and segment[1] < self.since_ns:
            return False
        if self.until_ns is not None and segment[1] >= self.until_ns:
            return False
        return self.ports is None or segment[0][-4:-2] in self.ports or segment[0][-2:] in self.ports


BATCH_BYTES: Final = 4 << 20
BATCH_ROWS: Final = 8192


class KafkaWire(DataSource):
    """The data source `kafka_wire` of Spark."""

    @classmethod
    def name(cls) -> str:
        """The name of the data source in `format(…)`."""
        return "kafka_wire"

    def schema(self) -> StructType:
        """The schema with all columns."""
        schema = StructType()
        for name, kind, _ in COLUMNS:
            schema.add(name, kind, nullable=False)
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the columns asked for."""
        return _SegmentReader(parse_options(dict(self.options)), schema.fieldNames())


class _SplitPartition(InputPartition):
    def __init__(self, split: Split) -> None:
        self.split = split


class _SegmentReader(DataSourceReader):
    def __init__(self, source_options: SourceOptions, columns: list[str]) -> None:
        self._source_options = source_options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        found = find_captures(self._source_options.paths)
        plan = plan_splits(found.files, self._source_options.split_size)
        problems = [*found.problems, *plan.problems]
        if problems and (self._source_options.strict or not plan.splits):
            raise Failure(str(problems[0]))
        return [_SplitPartition(split) for split in plan.splits]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, _SplitPartition)
        split, source_options = partition.split, self._source_options
        with turn_errors_into_failures(partial(describe_split_place, split)):
            names = {piece.file: escape_non_utf8(piece.path) for piece in split.pieces}
            rows: list[Segment] = []
            size = 0
            reading = SplitReader(split)
            for batch in reading:
                for segment in batch:
                    if source_options.is_wanted(segment):
                        rows.append(segment)
                        size += len(segment[6])
                if size >= BATCH_BYTES or len(rows) >= BATCH_ROWS:
                    yield build_segment_batch(source_options.point, names, rows, self._columns)
                    rows, size = [], 0
            if rows:
                yield build_segment_batch(source_options.point, names, rows, self._columns)
            if reading.problems and source_options.strict:
                raise Failure(str(reading.problems[0]))


def build_segment_batch(point: str, names: dict[int, str], rows: list[Segment], columns: list[str]) -> pa.RecordBatch:
    """Segments as Arrow columns, with exactly the types that Spark wants; `names` are the captures by their numbers."""
    import pyarrow as pa

    keys, times, packets, seqs, acks, flags, payloads, cuts = zip(*rows, strict=True)
    ends = [_unpack_addresses(key) for key in keys]
    values: dict[str, Any] = {
        "point": lambda: pa.array([point] * len(rows), pa.string()),
        "source_file": lambda: pa.array([names[file_index_of_packet(packet)] for packet in packets], pa.string()),
        "packet": lambda: pa.array([packet_number_in_file(packet) for packet in packets], pa.int64()),
        "time": lambda: pa.array([ns // 1000 for ns in times], pa.timestamp("us", "UTC")),
        "time_ns": lambda: pa.array(times, pa.int64()),
        "source_ip": lambda: pa.array([each[0] for each in ends], pa.string()),
        "source_port": lambda: pa.array([each[1] for each in ends], pa.int32()),
        "target_ip": lambda: pa.array([each[2] for each in ends], pa.string()),
        "target_port": lambda: pa.array([each[3] for each in ends], pa.int32()),
        "seq": lambda: pa.array(seqs, pa.int64()),
        "ack": lambda: pa.array(acks, pa.int64()),
        "flags": lambda: pa.array(flags, pa.int32()),
        "payload": lambda: pa.array(payloads, pa.binary()),
        "cut": lambda: pa.array(cuts, pa.int32()),
    }
    arrays = [values[name]() for name in columns]
    fields = [pa.field(name, array.type, nullable=False) for name, array in zip(columns, arrays, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


@lru_cache(maxsize=4096)
def _unpack_addresses(key: bytes) -> tuple[str, int, str, int]:
    """Addresses and ports of a segment's key."""
    source, target = format_endpoints(key)
    return (*split_address(source), *split_address(target))


def parse_options(options: dict[str, str]) -> SourceOptions:
    """The options of the format as values. Failure (usage) names the one that is wrong."""
    paths = json.loads(options["paths"]) if options.get("paths") else [options["path"]] if "path" in options else []
    if not paths:
        raise Failure("kafka_wire: load(…) needs the path of a capture", Exit.USAGE)
    mode = options.get("mode", "permissive").lower()
    if mode not in MODES:
        raise Failure(f"kafka_wire: mode: {mode:.40} is none of {', '.join(MODES)}", Exit.USAGE)
    return SourceOptions(
        tuple(paths),
        options.get("point", ""),
        _parse_option(options, "ports", _parse_ports),
        _parse_option(options, "since", _parse_time),
        _parse_option(options, "until", _parse_time),
        _parse_option(options, "split_size", int) or SPLIT_SIZE,
        mode == "failfast",
    )


def _parse_option(options: dict[str, str], name: str, value_of: Callable[[str], T]) -> T | None:
    text = options.get(name)
    if not text:
        return None
    try:
        return value_of(text)
    except (ValueError, OverflowError):
        raise Failure(f"kafka_wire: {name}: {text:.40} is {MEANT[name]}", Exit.USAGE) from None
    except UsageError as problem:
        raise Failure(f"kafka_wire: {name}: {problem.message}", Exit.USAGE) from None


def _parse_ports(text: str) -> frozenset[bytes]:
    return frozenset(port.to_bytes(2, "big") for port in PortList().convert(text, None, None))


def _parse_time(text: str) -> int:
    return parse_time(text.strip())
