"""The tables are as published; their files are as a writer promises; partitions are those of the messages."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from decoders.analysis.exchange_facts import record_totals_of_exchange
from decoders.apis import api
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.topic_arrays import TOPIC_ARRAYS, TopicArray, topic_array_paths
from decoders.messages.build_body_json import PLAIN
from decoders.messages.exchange_json import to_json_dict
from kwcli.pipeline.tables import write_parquet as write
from kwcli.pipeline.tables.arrow_schemas import OWN, ROWS, SCHEMAS, TYPES
from kwcli.pipeline.tables.split_by_table_and_date import split_by_table
from kwcli.pipeline.tables.table_columns import ALL_TABLES, MEANINGS, TABLES, TABLES_VERSION, TableColumn
from kwcli.pipeline.tables.topic_partition_rows import NAMES
from kwcli.pipeline.tables.write_parquet import TableWriter
from tests.captures.shipped import CLEAN, segments
from tests.pipeline.rows import Memory, batch_of, rows_of, settled_for_tables

ROOT: Final = Path(__file__).resolve().parents[2]
DAY_NS: Final = 86_400 * 10**9


# -- columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_TABLES)
def test_a_schema_is_its_table_of_columns(name: str) -> None:
    columns = ALL_TABLES[name]
    assert len({column.name for column in columns}) == len(columns)
    assert all(column.text and column.type in TYPES for column in columns)
    assert MEANINGS[name]
    assert [(field.name, field.type, field.nullable) for field in SCHEMAS[name]] == [
        (column.name, TYPES[column.type], column.null) for column in columns
    ]


def test_what_was_published_stays() -> None:
    """A changed column breaks its readers; a new one is another line in `published.txt`."""
    lines = (Path(__file__).parent / "published.txt").read_text().splitlines()
    assert lines == [
        f"{table} {column.name} {column.type}{'' if column.null else ' not null'}{since(column)}"
        for table, columns in ALL_TABLES.items()
        for column in columns
    ]


def since(column: TableColumn) -> str:
    """Of a column that was added later: since which version of the tables, and its value in older files."""
    return "" if column.since == 1 else f" since {column.since}{f', else {column.absent}' if column.absent else ''}"


@pytest.mark.parametrize("name", ALL_TABLES)
def test_a_column_that_was_added_later_has_a_value_in_older_files(name: str) -> None:
    for column in ALL_TABLES[name]:
        assert 1 <= column.since <= TABLES_VERSION
        if column.since == 1:
            assert column.absent is None
        elif column.absent is None:
            assert column.null
        else:
            pa.scalar(column.absent, TYPES[column.type])


def test_the_partitions_are_read_in_the_order_of_their_columns() -> None:
    assert tuple(column.name for column in OWN) == NAMES


# -- places ----------------------------------------------------------------------------------------------------------


def declared(key: int, path: str, side: str) -> bool:
    """Whether some version of a message has a field at this path."""
    fields = (api(key).request if side == "request" else api(key).response).fields
    for name in path.partition(":")[0].replace("[]", "").split("."):
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return False
        fields = field.fields
    return True


@pytest.mark.parametrize(("key", "place"), [(key, place) for key, found in TOPIC_ARRAYS.items() for place in found])
def test_places_are_in_the_declarations(key: int, place: TopicArray) -> None:
    found = topic_array_paths(key, place.side)
    assert found
    assert all(declared(key, path, place.side) for path in found)


# -- partitions ------------------------------------------------------------------------------------------------------


def named(record: dict[str, Any], place: TopicArray) -> list[tuple[Any, ...]]:
    """Topic or id, partition and error of each element of a topic array, from the record."""
    body = record[place.side]
    outers = (body or {}).get(place.outer) or [] if place.outer else [body or {}]
    found = []
    for outer in outers:
        for element in outer.get(place.topics) or []:
            topic = element.get("name") or element.get("topic") or element.get("topic_id")
            for part in element.get(place.partitions) or []:
                number = part if isinstance(part, int) else part[place.number]
                error = None if isinstance(part, int) or not place.error else part[place.error]
                found.append((topic, number, error))
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", CLEAN)
def test_partitions_are_those_of_the_messages(name: str) -> None:
    settled = [row for row in settled_for_tables(segments(name)) if isinstance(row, Exchange)]
    rows = batch_of(settled).to_pylist()
    for exchange, row in zip(settled, rows, strict=True):
        record = to_json_dict(exchange, PLAIN)
        places = TOPIC_ARRAYS.get(exchange.api_key or 0, ()) if exchange.api_key is not None else ()
        wanted: dict[tuple[Any, ...], tuple[str, Any]] = {}
        for place in places:
            for topic, number, error in named(record, place):
                side, before = wanted.get((topic, number), (place.side, None))
                wanted[topic, number] = (side if side == place.side else "both", before if error is None else error)
        parts = row["partitions"]
        found = {
            (part["topic"] if part["topic_id"] is None else part["topic_id"], part["partition"]): (
                part["side"],
                part["error_code"],
            )
            for part in parts
        }
        assert found == wanted
        contents = record_totals_of_exchange(exchange, None)
        if contents is not None:
            assert sum(part["bytes"] or 0 for part in parts) == contents.size
            assert sum(part["records"] or 0 for part in parts) == contents.records


def test_offsets_codecs_and_groups_are_those_of_the_messages() -> None:
    settled = [row for row in settled_for_tables(segments("tour.pcapng")) if isinstance(row, Exchange)]
    parts = [
        (exchange, part)
        for exchange, row in zip(settled, batch_of(settled).to_pylist(), strict=True)
        for part in row["partitions"]
    ]
    seen: Counter[str] = Counter()
    for exchange, part in parts:
        record = to_json_dict(exchange, PLAIN)
        if exchange.api == "Produce" and record["response"]:
            element = record["response"]["responses"][0]["partition_responses"][0]
            batches = record["request"]["topic_data"][0]["partition_data"][0]["records"]
            if len(record["response"]["responses"]) == 1 and len(batches) == 1:
                assert part["offset"] == element["base_offset"]
                assert (part["codec"], part["magic"]) == (batches[0]["codec"], str(batches[0]["magic"]))
                assert (part["batches"], part["bytes"]) == (1, batches[0]["size"])
                seen["produce"] += 1
        if exchange.api == "OffsetCommit":
            assert part["group"] == record["request"]["group_id"]
            assert part["offset"] in json.loads(json.dumps(_offsets(record)))
            seen["commit"] += 1
    assert seen["produce"] > 1
    assert seen["commit"] > 0


def _offsets(record: dict[str, Any]) -> list[int]:
    return [part["committed_offset"] for topic in record["request"]["topics"] for part in topic["partitions"]]


# -- files -----------------------------------------------------------------------------------------------------------


def moved(batch: pa.RecordBatch, days: int) -> pa.RecordBatch:
    """The rows, moved by so many days."""
    names = ("time_ns", "time")
    later = pa.array([at + days * DAY_NS for at in batch.column("time_ns").to_pylist()], pa.int64())
    arrays = dict(zip(names, (later, pa.compute.divide(later, 1000).cast(TYPES["timestamp"])), strict=True))
    return pa.RecordBatch.from_arrays([arrays.get(field.name, batch.column(field.name)) for field in ROWS], schema=ROWS)


@pytest.fixture(scope="module")
def rows() -> pa.RecordBatch:
    """A few rows of one day."""
    return batch_of(settled_for_tables(segments("old-clients.pcap.gz"))).slice(0, 60)


@pytest.mark.long
@pytest.mark.parametrize("most", [1, 2, 8])
def test_a_file_has_rows_of_one_date_and_files_open_are_bounded(
    rows: pa.RecordBatch, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "OPEN_MAX", most)
    memory = Memory()
    batches = [moved(rows, days) for days in (0, 1, 2, 0, 1, 5)]
    mixed = pa.Table.from_batches([moved(rows, 3), moved(rows, 0)]).combine_chunks().to_batches()[0]
    opened: list[int] = []
    with TableWriter(memory.open, tuple(TABLES)) as writer:
        for batch in [*batches, mixed]:
            writer.write(batch)
            opened.append(sum(not file.closed for file in memory.files.values()))
        written = writer.close()
    assert max(opened) <= most
    assert {file.path for file in written} == set(memory.files)
    for file in written:
        table = memory.read(file.path)
        assert table.schema.remove_metadata() == SCHEMAS[file.table]
        assert file.path.startswith(f"{file.table}/date={file.date}/")
        assert {datetime.fromtimestamp(at // 10**9, UTC).date().isoformat() for at in table["time_ns"].to_pylist()} == {
            file.date
        }
        assert (file.rows, file.size) == (table.num_rows, len(memory.files[file.path].content))
    for name in ("exchanges", "topic_partitions"):
        wanted = [part for batch in [*batches, mixed] for table, part in split_by_table(batch, [name])]
        found = [memory.read(file.path) for file in written if file.table == name]
        assert Counter(map(repr, rows_of(found))) == Counter(map(repr, rows_of(wanted)))


def test_row_groups_are_bounded(rows: pa.RecordBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(write, "GROUP_ROWS", 100)
    monkeypatch.setattr(write, "BATCH_ROWS", 50)
    memory = Memory()
    with TableWriter(memory.open, ("exchanges",)) as writer:
        for _ in range(9):
            writer.write(rows)
        (written,) = writer.close()
    metadata = pq.ParquetFile(pa.BufferReader(memory.files[written.path].content)).metadata
    count = rows.num_rows
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sum(groups) == 9 * count
    assert max(groups) < 100 + 50 + count
    assert metadata.row_group(0).column(0).compression == "ZSTD"
