"""Captures in, rows of the tables out, and the exchange records of the same exchanges."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from decoders.exchanges.exchange import Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import Options
from decoders.tcp.stream_chunks import Segment
from kwcli.pipeline.tables.exchange_columns import ExchangeColumns
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds

ROW_TABLES: Final = ("exchanges", "topic_partitions", "skipped")


def settled_for_tables(segments: Iterable[Segment], tables: Iterable[str] = ROW_TABLES) -> list[Settled]:
    """Everything that an engine settles with the needs of these tables."""
    engine = Engine(needs=TableNeeds(tuple(tables)))
    return [*engine.feed(list(segments)), *engine.finish()]


def batch_of(
    settled: Iterable[Settled], tables: Iterable[str] = ROW_TABLES, *, bodies: Options | None = None
) -> pa.RecordBatch:
    """A batch of rows in the form that tasks exchange."""
    columns = ExchangeColumns("here", ["a.pcap"], tuple(tables), bodies=bodies)
    for row in settled:
        columns.add_row(row)
    return columns.take_batch()


class Opened(io.BytesIO):
    """A file in memory that can be read after it was closed."""

    def close(self) -> None:
        self.content = self.getvalue()
        super().close()


class Memory:
    """A file system in memory for a writer: files by path."""

    def __init__(self) -> None:
        self.files: dict[str, Opened] = {}

    def open(self, path: str) -> Opened:
        assert path not in self.files
        file = self.files[path] = Opened()
        return file

    def read(self, path: str) -> pa.Table:
        import pyarrow.parquet as pq

        return pq.ParquetFile(pa.BufferReader(self.files[path].content)).read()


def rows_of(batches: Iterable[pa.RecordBatch | pa.Table]) -> list[dict[str, Any]]:
    """The rows of all batches as dicts."""
    return [row for batch in batches for row in batch.to_pylist()]
