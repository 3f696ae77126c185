"""Rows of the tables have the values of the exchange record, for everything in the captures that ship."""

from __future__ import annotations

import json
from typing import Any

import pytest

from decoders.analysis.exchange_facts import record_totals_of_exchange, waited_ns
from decoders.analysis.read_dimension_values import DIMENSIONS
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.exchange_attribute_table import SCALARS
from decoders.messages.build_body_json import PLAIN
from decoders.messages.exchange_json import to_json_dict
from kwcli.pipeline.tables.arrow_schemas import ROWS, SCHEMAS
from kwcli.pipeline.tables.split_by_table_and_date import split_by_table
from kwcli.pipeline.tables.stored_exchanges import StoredRowReader
from kwcli.pipeline.tables.table_columns import TABLES
from tests.captures.shipped import CLEAN, NEGATIVE, segments
from tests.pipeline.rows import batch_of, settled_for_tables

ALL = [*CLEAN, *NEGATIVE]
BODY_SIDES = ("request", "response")


def test_the_scalar_keys_of_the_record_are_columns() -> None:
    assert set(SCALARS) <= set(SCHEMAS["exchanges"].names)


def _time(row: dict[str, Any]) -> str:
    from decoders.wire.format_and_escape_text import format_rfc3339

    return format_rfc3339(row["time_ns"])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ALL)
def test_a_row_is_the_record_flat(name: str) -> None:
    settled = settled_for_tables(segments(name))
    records = [to_json_dict(row) for row in settled]
    batch = batch_of(settled, bodies=PLAIN)
    batch.validate(full=True)
    rows = batch.to_pylist()
    assert [row["kind"] for row in rows] == [record["kind"] for record in records]
    for record, row in zip(records, rows, strict=True):
        assert _time(row) == record["time"]
        assert row["time_ns"] // 1000 == round(row["time"].timestamp() * 1_000_000)
        if record["kind"] == "skipped":
            assert {key: row[key] for key in record if key != "time"} == {
                key: value for key, value in record.items() if key != "time"
            }
            continue
        assert {key: row[key] for key in SCALARS if key != "time"} == {
            key: record[key] for key in SCALARS if key != "time"
        }
        _compare(record, row)


def _compare(record: dict[str, Any], row: dict[str, Any]) -> None:
    errors = zip(*(row[f"error_{name}"] for name in ("paths", "codes", "names", "expected")), strict=True)
    made = [
        {"path": path, "code": code, "name": error} | ({"expected": True} if expected else {})
        for path, code, error, expected in errors
    ]
    assert made == record["errors"]
    assert len(row["error_topics"]) == len(record["errors"])
    for side in BODY_SIDES:
        first, last = row[f"{side}_packet"], row[f"{side}_packet_end"]
        assert (None if first is None else [first, last]) == record["packets"][side]
        text = row[f"{side}_body"]
        assert (None if text is None else json.loads(text)) == json.loads(json.dumps(record[side]))
        assert row[f"{side}_layout"] == record.get("layout", {}).get(side)
    assert row["closed"] == record.get("closed")
    assert row["retransmitted"] == record.get("retransmitted", False)
    assert row["envelope"] == record.get("envelope", {}).get("correlation_id")
    software = {"name": row["client_software_name"], "version": row["client_software_version"]}
    assert software == record.get("client_software", {"name": None, "version": None})
    assert (row["user"], row["mechanism"]) == (record.get("user"), record.get("mechanism"))
    session = [row[f"fetch_session_{key}"] for key in ("id", "epoch", "incremental")]
    assert session == list(record.get("fetch_session", dict.fromkeys("abc")).values())
    names = zip(row["topic_ids"], row["topic_names"], strict=True)
    assert {identity: name for identity, name in names if name is not None} == record.get("topic_names", {})
    failed = record.get("undecoded", {})
    assert row["undecoded_side"] == ("both" if len(failed) > 1 else next(iter(failed), None))
    if failed:
        failure = next(iter(failed.values()))
        found = [row[f"undecoded_{key}"] for key in ("reason", "path", "offset")]
        assert found == [failure[key] for key in ("reason", "path", "offset")]
    assert row["client"] in (f"{row['client_ip']}:{row['client_port']}", f"[{row['client_ip']}]:{row['client_port']}")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("tables", [("exchanges",), ("exchanges", "topic_partitions")])
@pytest.mark.parametrize("name", CLEAN)
def test_a_row_has_what_the_folds_find(name: str, tables: tuple[str, ...]) -> None:
    settled = [row for row in settled_for_tables(segments(name), tables) if isinstance(row, Exchange)]
    rows = batch_of(settled, tables).to_pylist()
    for exchange, row in zip(settled, rows, strict=True):
        assert row["topics"] == list(dict.fromkeys(DIMENSIONS["topic"].get(exchange)))
        assert row["groups"] == list(dict.fromkeys(DIMENSIONS["group"].get(exchange)))
        found = record_totals_of_exchange(exchange, None)
        assert (row["batches"], row["records"], row["record_bytes"]) == (found or (None, None, None))
        assert row["waited_ns"] == waited_ns(exchange)


@pytest.mark.parametrize("name", ALL)
def test_the_tables_have_their_schemas(name: str) -> None:
    batch = batch_of(settled_for_tables(segments(name)))
    assert batch.schema == ROWS
    found = dict(split_by_table(batch, tuple(TABLES)))
    for table, part in found.items():
        assert part.schema == SCHEMAS[table]
        part.validate(full=True)
        for field in part.schema:
            assert field.nullable or not part.column(field.name).null_count
    total = sum(found[table].num_rows for table in ("exchanges", "skipped") if table in found)
    assert total == batch.num_rows


def test_columns_say_what_they_can_of_a_row_without_bodies() -> None:
    """Keys of the record that columns have are read back from them: also the early layout of a side."""
    row = next(row for row in batch_of(settled_for_tables(segments("tour.pcapng"))).to_pylist() if row["api_key"] == 1)
    said = {"request_layout": "4.0", "closed": "rst", "retransmitted": True, "envelope": 7}
    record = to_json_dict(StoredRowReader().read({**row, **said}))
    assert record["layout"] == {"request": "4.0"}
    assert (record["closed"], record["retransmitted"], record["envelope"]) == ("rst", True, {"correlation_id": 7})
    assert not {"layout", "closed", "retransmitted", "envelope"} & to_json_dict(StoredRowReader().read(row)).keys()
