"""Exchanges, or rows of the table `exchanges` with bodies, in; a row for each record out: the view `records`.

Bodies are in the JSON form of an exchange record, so captures, NDJSON and tables give the same rows. Control records,
which no consumer is given, have no row. The offset of a produced record is in the answer alone: the broker counts on
from `base_offset`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from uuid import UUID

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.topic_arrays import (
    BATCH_ARRAYS,
    TOPIC_ARRAYS,
    TOPIC_ID,
    TOPIC_NAMES,
    find_topic_of_records,
    partitions_in,
)
from decoders.messages.decode_record_values import decode_missing_parts
from decoders.messages.exchange_json import to_json_dict
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.wire.deferred_json import make_json_pieces
from decoders.wire.primitive_types import format_uuid
from kwcli.output.short_texts import count_of
from kwcli.pipeline.tables.arrow_schemas import build_table_schema
from kwcli.pipeline.tables.exchange_columns import BODY_CUT
from kwcli.pipeline.tables.table_columns import RECORDS
from kwcli.reading.capture_sources import escape_non_utf8

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.build_body_json import Options
    from decoders.messages.decode_record_values import RecordChange
    from decoders.schema.api_declaration import Side

__all__ = ["STORED_COLUMNS", "RecordsFile", "list_records_of_bodies"]

_SCHEMA: Final = build_table_schema(RECORDS)
# Columns of `exchanges` that rows of records are made of.
STORED_COLUMNS: Final = (
    *("api_key", "api", "client_id", "client", "broker", "source_file", "request_packet", "response_packet"),
    *("request_body", "response_body", "topic_ids", "topic_names"),
)
_OF_EXCHANGE: Final = STORED_COLUMNS[1:8]
# A row group: rows, and bytes of keys and values; whichever comes first.
_ROWS_MAX: Final = 1 << 13
_SIZE_MAX: Final = 8 << 20
# Times that a calendar has, in ms since 1970: to the end of the year 9999.
_TIME_MAX_MS: Final = 253_402_300_799_999


class CarriedRecord(NamedTuple):
    """A record in JSON form with its topic (its id where no name is known), partition and offset in the partition."""

    topic: str | None
    partition: int
    offset: int | None
    record: dict[str, Any]


def list_records_of_bodies(
    api_key: int, bodies: Mapping[Side, Any], name_of: Callable[[UUID], str | None], lacking: Counter[str]
) -> Iterator[CarriedRecord]:
    """The records of an exchange, by its bodies in JSON form.

    `lacking` counts, as `records`, batches that have their number of records and not the records.
    """
    array = BATCH_ARRAYS[api_key]
    bases = _read_base_offsets(bodies["response"]) if api_key == PRODUCE else None
    for topic, partition in partitions_in(bodies[array.side], array):
        number = partition[array.number]
        base = None if bases is None else bases.get((_get_topic_name_or_id(topic), number))
        name = find_topic_of_records(api_key, topic, name_of) or _get_topic_name_or_id(topic)
        place = -1
        for batch in partition.get(array.records) or ():
            if batch.get("record_count") and "records" not in batch and "error" not in batch:
                lacking["records"] += 1
            for record in batch.get("records") or ():
                place += 1
                if "control_record" not in record:
                    offset = record["offset"] if bases is None else None if base is None else base + place
                    yield CarriedRecord(name, number, offset, record)


def _read_base_offsets(response: Any) -> dict[tuple[str | None, int], int]:
    """The offset of the first record of each partition, by the topic's name or id; refused ones have none."""
    _, answer = TOPIC_ARRAYS[PRODUCE]
    return {
        (_get_topic_name_or_id(topic), partition[answer.number]): partition[answer.offset]
        for topic, partition in partitions_in(response, answer)
        if partition.get(answer.offset, -1) >= 0
    }


def _get_topic_name_or_id(topic: Mapping[str, Any]) -> str | None:
    return next((topic[each] for each in (*TOPIC_NAMES, TOPIC_ID) if isinstance(topic.get(each), str)), None)


class RecordsFile:
    """Writes rows of records as one Parquet file; `count` of them once it is closed.

    `lacking` counts batches without their records (`records`), and bodies that were too long for a table (`bodies`).
    """

    def __init__(self, stream: BinaryIO, change: RecordChange | None = None) -> None:
        """`change` decodes keys and values of rows, of tables or NDJSON, that were written without that."""
        self.lacking: Counter[str] = Counter()
        self.count = 0
        self._change = change
        self._writer = pq.ParquetWriter(stream, _SCHEMA, compression="zstd")
        self._stream = stream
        self._rows: list[tuple[Any, ...]] = []
        self._size = 0

    def add_exchange(
        self, exchange: Exchange, options: Options, source_file: str, packets: Sequence[int | None]
    ) -> None:
        """Add the records of an exchange; `packets` are the first ones of its request and response, in their files."""
        if exchange.api_key not in BATCH_ARRAYS:
            return
        shown = to_json_dict(exchange, options)
        bodies = {side: shown[side] for side in SIDES}
        about = (
            *(shown["api"], shown["client_id"], exchange.client, exchange.broker),
            *(escape_non_utf8(source_file), *packets),
        )
        found = list_records_of_bodies(exchange.api_key, bodies, exchange.topic_name, self.lacking)
        self._add_records(found, about, None if exchange.record is None else self._change)

    def add_stored_rows(self, rows: pa.RecordBatch) -> None:
        """Add the records of rows of the table `exchanges` (STORED_COLUMNS)."""
        for row in rows.to_pylist():
            if row["api_key"] not in BATCH_ARRAYS:
                continue
            side = BATCH_ARRAYS[row["api_key"]].side
            texts = {each: row[f"{each}_body"] for each in SIDES}
            if texts[side] is None and row[f"{side}_packet"] is not None:
                self.lacking["records"] += 1
            elif texts[side] == BODY_CUT:
                self.lacking["bodies"] += 1
            else:
                bodies = {each: None if text is None else orjson.loads(text) for each, text in texts.items()}
                names = dict(zip(row["topic_ids"] or (), row["topic_names"] or (), strict=False))
                found = list_records_of_bodies(
                    row["api_key"],
                    bodies,
                    lambda identity, names=names: names.get(format_uuid(identity.bytes)),  # type: ignore[misc]
                    self.lacking,
                )
                self._add_records(found, tuple(row[name] for name in _OF_EXCHANGE), self._change)

    def _add_records(
        self, carried: Iterable[CarriedRecord], about: tuple[Any, ...], change: RecordChange | None
    ) -> None:
        for topic, partition, offset, record in carried:
            if change is not None:
                decode_missing_parts(record, topic, change)
            decoded = [record.get(f"{field}_decoded") for field in ("key", "value")]
            said = decoded[1] or {}
            identity = said.get("schema_id")
            texts = [_format_cell(record[field]) for field in ("key", "value")]
            shown = [None if each is None else _dump_json(each) for each in decoded]
            headers = _dump_json(record.get("headers") or [])
            self._size += sum(len(text) for text in (*texts, *shown, headers) if text is not None)
            self._rows.append(
                (
                    *(topic, partition, offset, _get_record_time_us(record.get("timestamp")), *texts, headers),
                    *(said.get("format"), None if identity is None else str(identity), *shown, *about),
                )
            )
            if len(self._rows) >= _ROWS_MAX or self._size >= _SIZE_MAX:
                self._flush_rows()

    def _flush_rows(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
            self.count += len(self._rows)
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))
        self._rows, self._size = [], 0

    def describe_lacking(self) -> list[str]:
        """Sentences about what had no records."""
        said = []
        if self.lacking["records"]:
            said.append(f"{count_of(self.lacking['records'], 'batch')} without records")
        if self.lacking["bodies"]:
            said.append(f"{count_of(self.lacking['bodies'], 'message')} too long for a table, and so without records")
        return said

    def close(self) -> None:
        """Write the remaining rows, and finish the file."""
        self._flush_rows()
        self._writer.close()
        self._stream.close()


def _get_record_time_us(timestamp: Any) -> int | None:
    """The time of a record in µs; None for a record without one."""
    return timestamp * 1000 if timestamp is not None and 0 <= timestamp <= _TIME_MAX_MS else None


def _dump_json(value: Any) -> str:
    return b"".join(make_json_pieces(value)).decode()


def _format_cell(value: Any) -> str | None:
    """A key or value as a cell: text as it is, anything else as JSON."""
    if value is None or value.__class__ is str:
        return value
    text = _dump_json(value)
    return orjson.loads(text) if text[:1] == '"' else text  # long text is deferred
