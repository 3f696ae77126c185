"""`kw pipeline watch --records`: decoded keys and values are those of `kw pipeline run --records` over all files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from decoders import Record
from kwcli.run_environment import Exit, Failure
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.pipeline.watched import Watched, run_over, tables_in
from tests.reading.captures_with_values import (
    ORDER,
    HandMadeCapture,
    http_answer,
    http_get,
    prefixed,
    schemas_record,
)

RECORDS: Final[dict[str, Any]] = {"bodies": True, "records": True}
ASKED: Final = (http_get("/schemas/ids/19"), http_answer({"schema": json.dumps(ORDER)}))


def orders(schema_id: int) -> HandMadeCapture:
    return HandMadeCapture().produce("orders", Record(0, 5, prefixed(schema_id), prefixed(schema_id)))


def decoded(out: Path) -> list[Any]:
    """The id and the name of the schema of each order's value in the tables, in the order of packets."""
    bodies = [json.loads(row["request_body"]) for row in tables_in(out)["exchanges"] if row["api"] == "Produce"]
    records = [body["topic_data"][0]["partition_data"][0]["records"][0]["records"][0] for body in bodies]
    return [(each["value_decoded"]["schema_id"], each["value_decoded"]["name"]) for each in records]


def test_one_batch_has_the_rows_of_a_run(tmp_path: Path) -> None:
    capture = orders(17)
    capture.add_packets_of(orders(18))
    capture.add_packets_of(HandMadeCapture().fetch("_schemas", schemas_record(17)))
    capture.add_packets_of(orders(19).http(ASKED))
    (tmp_path / "in").mkdir()
    capture.write(tmp_path / "in" / "a.pcap")
    orders(17).write(tmp_path / "in" / "b.pcap")
    outcome = kw("pipeline", "watch", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--once", *WORDS)
    assert outcome.code == Exit.DONE
    assert "kw: 2 values with a schema that was not seen (id 18): --schemas DIR\n" in outcome.err
    run_over([str(tmp_path / "in")], tmp_path / "run", **RECORDS)
    expected = tables_in(tmp_path / "run")
    assert tables_in(tmp_path / "out") == expected
    assert sorted(decoded(tmp_path / "out"), key=str) == [
        (17, "shop.Order"),
        (17, "shop.Order"),
        (18, None),
        (19, "shop.Order"),
    ]


WORDS: Final = ("--bodies", "--records", "--lateness", "1ms")


def test_rows_of_a_recording_are_those_of_a_run(tmp_path: Path) -> None:
    source = [str(FOLDER / "values" / "confluent-avro.pcapng.zst")]
    watched = Watched(source, tmp_path / "out", **RECORDS)
    watched.finish()
    run_over(source, tmp_path / "run", **RECORDS)
    expected = tables_in(tmp_path / "run")
    assert "schema_from" in str(expected["exchanges"])
    assert tables_in(tmp_path / "out") == expected


def test_schemas_of_batches_before_are_known_after_a_restart(tmp_path: Path) -> None:
    watched = Watched([str(tmp_path / "a.pcap")], tmp_path / "out", **RECORDS)
    grown = HandMadeCapture()
    asked = orders(19).http(ASKED)
    for more in (HandMadeCapture().fetch("_schemas", schemas_record(17)), orders(17), asked, orders(19)):
        grown.add_packets_of(more)
        grown.write(tmp_path / "a.pcap")  # packets are appended
        watched.clock.now += 1
        assert watched.read() == 1  # each batch is of a watch of its own
    assert decoded(tmp_path / "out") == [(17, "shop.Order"), (19, "shop.Order"), (19, "shop.Order")]
    (state,) = (path for path in (tmp_path / "out" / "_kw" / "states").iterdir() if b"shop" in path.read_bytes())
    state.write_bytes(b"[[1]]")
    with pytest.raises(Failure, match="the schemas of the last batch are damaged"):
        watched.read()
    state.unlink()
    with pytest.raises(Failure, match="missing: watch into another folder"):
        watched.read()


def test_a_schema_of_files_may_come_later(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "order.avsc").write_text(json.dumps(ORDER))
    capture, schemas = tmp_path / "a.pcap", (str(tmp_path / "schemas"),)
    watched = Watched([str(capture)], tmp_path / "out", schemas=schemas, **RECORDS)
    grown = HandMadeCapture()
    for _ in range(2):
        grown.add_packets_of(orders(17))
        grown.write(capture)
        watched.clock.now += 1
        assert watched.read() == 1
        (tmp_path / "schemas" / "ids.json").write_text('{"17": "order.avsc"}')
    assert decoded(tmp_path / "out") == [(17, None), (17, "shop.Order")]


def test_records_are_in_bodies(tmp_path: Path) -> None:
    words = ("pipeline", "watch", str(tmp_path), "--out", str(tmp_path / "out"), "--once")
    assert "--records needs --bodies" in kw(*words, "--records").err
    assert "--schemas needs --records" in kw(*words, "--bodies", "--schemas", str(tmp_path)).err
