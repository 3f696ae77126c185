"""The view `records` of `kw sql`: records of captures, NDJSON and tables, with decoded keys and values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decoders import Record
from kwcli.pipeline.query_tables_and_output import ListedTables, explain_unknown_table
from kwcli.pipeline.sql_command import _asks_about_records
from kwcli.pipeline.tables.table_columns import RECORDS
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.reading.captures_with_values import ORDER, HandMadeCapture, prefixed, schemas_record

TOUR = str(FOLDER / "tour.pcapng")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Records with schemas before the capture shows one of them, and what else a record may be."""
    made = HandMadeCapture().produce(
        "orders",
        Record(0, 1_790_000_000_123, b"k", prefixed(17)),
        Record(1, 5, prefixed(17), prefixed(18)),
        Record(2, -1, b"\xff\0", b'{"a":[1]}', (("h", b"x"), ("h", None))),
        Record(3, 5, None, None),
    )
    made.add_packets_of(HandMadeCapture().fetch("_schemas", schemas_record(17)))
    return made.write(tmp_path_factory.mktemp("made") / "a.pcap")


def rows(source: str, query: str, *words: str) -> list[dict[str, Any]]:
    outcome = kw("sql", source, query, "-o", "ndjson", *words)
    assert outcome.code == Exit.DONE, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


ORDERS = "select * from records where topic = 'orders'"


def test_a_row_for_each_record(capture: str) -> None:
    found = rows(capture, ORDERS)
    assert [*found[0]] == [*(column.name for column in RECORDS), "date"]
    names = ("time", "key", "value", "headers", "format", "schema_id")
    assert [tuple(row[name] for name in names) for row in found] == [
        ("2026-09-21T14:13:20.123000Z", "k", '{"base64":"AAAAABFSBkFubg=="}', [], "avro", "17"),
        (
            *("1970-01-01T00:00:00.005000Z", '{"base64":"AAAAABFSBkFubg=="}', '{"base64":"AAAAABJSBkFubg=="}'),
            *([], "unknown", "18"),
        ),
        (
            *(None, '{"base64":"/wA="}', '{"a":[1]}', [{"key": "h", "value": "x"}, {"key": "h", "value": None}]),
            *("json", None),
        ),
        ("1970-01-01T00:00:00.005000Z", None, None, [], None, None),
    ]
    assert {(row["api"], row["client_id"], row["source_file"], row["request_packet"]) for row in found} == {
        ("Produce", "app", capture, 4)
    }
    (read,) = rows(capture, "select api, \"offset\", request_packet, response_packet from records where api = 'Fetch'")
    assert read == {"api": "Fetch", "offset": 0, "request_packet": 11, "response_packet": 12}


def test_decoded_keys_and_values_are_json_as_in_an_exchange_record(capture: str) -> None:
    shown = json.loads(kw("sniff", capture, "--records", "-o", "ndjson", "--api", "produce").out)
    records = shown["request"]["topic_data"][0]["partition_data"][0]["records"][0]["records"]
    found = rows(capture, ORDERS)
    for field in ("key_decoded", "value_decoded"):
        assert [row[field] for row in found] == [record.get(field) for record in records]
    query = "select value_decoded.value.customer as who from records where schema_id = '17'"
    assert rows(capture, query) == [{"who": "Ann"}]


def test_the_offset_of_a_produced_record_is_in_the_answer() -> None:
    query = """select p."offset" as at, p.key, f.key as read from records p join records f
      on p.topic = f.topic and p.partition = f.partition and p."offset" = f."offset" and f.api = 'Fetch'
      where p.api = 'Produce'"""
    found = rows(TOUR, query)
    assert len({row["at"] for row in found}) > 5
    assert [row for row in found if row["key"] != row["read"]] == []
    controls = rows(TOUR, "select count(*) as n from records where topic = '__transaction_state' or key like '%type%'")
    assert controls == [{"n": 0}]


def test_ndjson_and_tables_have_the_same_rows(capture: str, tmp_path: Path) -> None:
    wanted = rows(capture, ORDERS)
    (tmp_path / "orders.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "ids.json").write_text('{"17": "orders.avsc"}')
    for words, more in (((), ()), (("--raw-values",), ("--schemas", str(tmp_path))), (("--raw-values",), ())):
        file = tmp_path / "kept.ndjson"
        file.write_text(kw("sniff", capture, "--records", "-o", "ndjson", *words).out)
        found = rows(str(file), ORDERS, *more)
        assert list(map(plain, found)) == list(map(plain, wanted))


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the place of the record in its file, and the origin of the schema."""
    row = {
        name: value for name, value in row.items() if name not in ("source_file", "request_packet", "response_packet")
    }
    for field in ("key_decoded", "value_decoded"):
        if row[field] is not None:
            row[field] = {**row[field], "schema_from": None}
    return row


def test_input_without_records_is_told(capture: str, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(kw("sniff", capture, "-o", "ndjson").out)
    outcome = kw("sql", str(tmp_path / "a.ndjson"), "select * from records")
    assert "2 batches without records: kw sniff --records -o ndjson keeps them" in outcome.err
    assert "batches without" not in kw("sql", str(tmp_path / "a.ndjson"), "select sum(records) from exchanges").err


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("select * from records", True),
        ("summarize Records", True),
        ("with x as (select topic from records) select * from x join topic_partitions using (topic)", True),
        ("select api from exchanges where api in (select api from records)", True),
        ("pivot records on api using count(*)", True),  # DuckDB does not say
        ("select sum(records) from exchanges", False),
        ("select records from topics", False),
        ("with records as (select 1 as a) select * from records", False),
        ("describe records", False),
        ("select 1", False),
    ],
)
def test_records_are_read_only_where_a_query_asks_for_them(query: str, asks: bool) -> None:
    assert _asks_about_records(query) is asks


def test_bodies_of_ndjson_are_shown(capture: str, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(kw("sniff", capture, "-o", "ndjson").out)
    query = "select request_body from exchanges order by api"
    assert rows(str(tmp_path / "a.ndjson"), query) == rows(capture, query)


def test_an_engine_without_the_view_is_told_which_has_it() -> None:
    tables = ListedTables("tables", {"exchanges": ()})
    assert explain_unknown_table("Records", tables) == "records is a view of kw sql alone: kw sql tables QUERY"
    assert "which tables does not have" in explain_unknown_table("records", ListedTables("tables", {"skipped": ()}))


def test_tables_hold_records_and_what_they_mean(capture: str, tmp_path: Path) -> None:
    wanted = list(map(plain, rows(capture, ORDERS)))
    out = str(tmp_path / "tables")
    assert kw("pipeline", "run", capture, "--out", out, "--bodies", "--records", "-q").code == Exit.DONE
    assert list(map(plain, rows(out, ORDERS))) == wanted
    query = "select value_decoded.schema_from as origin from records where schema_id = '17'"
    assert rows(out, query) == rows(capture, query) == [{"origin": {"kind": "capture", "packet": 12}}]
    (tmp_path / "other.avsc").write_text(json.dumps({**ORDER, "name": "Other"}))
    (tmp_path / "ids.json").write_text('{"18": "other.avsc"}')
    named = "select value_decoded.name as name from records where schema_id = '18'"
    assert rows(out, named, "--schemas", str(tmp_path)) == [{"name": "shop.Other"}]


def test_tables_decode_by_files_of_schemas(capture: str, tmp_path: Path) -> None:
    (tmp_path / "other.avsc").write_text(json.dumps({**ORDER, "name": "Other"}))
    (tmp_path / "ids.json").write_text('{"18": "other.avsc"}')
    out = str(tmp_path / "tables")
    words = ("pipeline", "run", capture, "--out", out, "--bodies", "-q")
    assert "--records needs --bodies" in kw(*words[:-2], "--records").err
    assert "--schemas needs --records" in kw(*words, "--schemas", str(tmp_path)).err
    assert kw(*words, "--records", "--schemas", str(tmp_path)).code == Exit.DONE
    assert rows(out, "select value_decoded.name as name from records where schema_id = '18'") == [
        {"name": "shop.Other"}
    ]


def test_tables_without_records_say_what_keeps_them(capture: str, tmp_path: Path) -> None:
    out = str(tmp_path / "tables")
    assert kw("pipeline", "run", capture, "--out", out, "--bodies", "-q").code == Exit.DONE
    outcome = kw("sql", out, "select * from records")
    assert (outcome.code, "kw pipeline run --bodies --records keeps them" in outcome.err) == (Exit.FAILURE, True)
    assert kw("sql", out, "describe records").code == Exit.DONE
