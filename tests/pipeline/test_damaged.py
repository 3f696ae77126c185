"""The rows of damaged captures become tables: bytes changed, segments lost, senseless times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from decoders.exchanges.exchange import Ended, Row
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import PLAIN
from decoders.tcp.stream_chunks import Segment
from kwcli.pipeline.tables.arrow_schemas import ROWS
from kwcli.pipeline.tables.connection_columns import ConnectionColumns
from kwcli.pipeline.tables.exchange_columns import ExchangeColumns
from kwcli.pipeline.tables.split_by_table_and_date import split_by_date, split_by_table
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
from tests.captures.shipped import CLEAN, segments
from tests.exchanges.chunked import exchanges, play
from tests.exchanges.talks import framed, request
from tests.pipeline.rows import batch_of, settled_for_tables


def damaged(name: str, rng: random.Random) -> list[Segment]:
    """A capture with some bytes changed, some segments lost, some cut."""
    found: list[Segment] = []
    for segment in segments(name):
        payload, chance = segment[6], rng.random()
        if payload and chance < 0.02:
            continue
        if payload and chance < 0.12:
            data = bytearray(payload)
            for _ in range(rng.choice([1, 1, 4])):
                data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            segment = (*segment[:6], bytes(data), segment[7])
        elif len(payload) > 20 and chance < 0.14:
            segment = (*segment[:6], payload[:20], len(payload) - 20)
        found.append(segment)
    return found


def check(rows: Sequence[Row]) -> None:
    """Assert that all rows fit the schemas, in both forms."""
    columns, connections = ExchangeColumns("", ["a.pcap"], tuple(TABLES), bodies=PLAIN), ConnectionColumns("")
    for row in rows:
        if isinstance(row, Ended):
            connections.add_connection(row)
        else:
            columns.add_row(row)
    batch = columns.take_batch()
    for table, part in [*split_by_table(batch, tuple(TABLES)), ("connections", connections.take_batch())]:
        part.validate(full=True)
        assert not [field.name for field in part.schema if not field.nullable and part.column(field.name).null_count]
        assert sum(each.num_rows for _, each in split_by_date(part)) == part.num_rows, table


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CLEAN)
def test_damaged_captures_become_tables(name: str) -> None:
    seed = random.randrange(1 << 32)
    engine = Engine(needs=TableNeeds(tuple(TABLES)), connections=True)
    try:
        check([*engine.feed(damaged(name, random.Random(seed))), *engine.finish()])
    except Exception as problem:
        raise AssertionError(f"seed {seed}") from problem


@pytest.mark.parametrize("time_ns", [0, 1, 4_294_967_295 * 10**9, (1 << 63) - 1])
def test_any_time_of_a_capture_has_its_date(time_ns: int) -> None:
    engine = Engine(needs=TableNeeds(tuple(TABLES)), connections=True)
    moved: list[Segment] = [(key, time_ns, *rest) for key, _, *rest in segments("tour.pcapng")[:200]]  # type: ignore[misc]
    rows = [*engine.feed(moved), *engine.finish()]
    check(rows)
    batch = batch_of(row for row in rows if not isinstance(row, Ended))
    ((day, _),) = split_by_date(batch)
    assert day == datetime.fromtimestamp(time_ns // 10**9, UTC).date()


def test_many_dates_in_one_batch_are_parted_in_order() -> None:
    rows = batch_of(settled_for_tables(segments("tour.pcapng")))
    rng = random.Random(5)
    days = [rng.randrange(30_000) for _ in range(rows.num_rows)]
    later = pa.array([day * 86_400 * 10**9 + number for number, day in enumerate(days)], pa.int64())
    arrays = [later if field.name == "time_ns" else rows.column(field.name) for field in ROWS]
    parts = list(split_by_date(pa.RecordBatch.from_arrays(arrays, schema=ROWS)))
    assert [day.toordinal() - datetime(1970, 1, 1).toordinal() for day, _ in parts] == sorted(set(days))
    for day, part in parts:
        times = part.column("time_ns").to_pylist()
        assert times == sorted(times)
        assert {datetime.fromtimestamp(at // 10**9, UTC).date() for at in times} == {day}


def test_a_resource_cut_off_before_its_name_is_about_no_topic() -> None:
    resource = {"resource_type": 2, "resource_name": "orders", "configs": []}
    frame = request(44, 1, 7, "admin", {"resources": [resource], "validate_only": False})
    for data, topics in ((frame, ["orders"]), (framed(frame[4:-5]), [])):
        (exchange,) = exchanges(play(("c", data), ports=[9092], needs=TableNeeds(tuple(TABLES))))
        assert exchange.view("request")["resources"]
        (row,) = batch_of([exchange]).to_pylist()
        assert (row["api"], row["topics"]) == ("IncrementalAlterConfigs", topics)
