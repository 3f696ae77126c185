"""The data source `kafka_wire`: the rows of a capture as Spark gives them, and its options."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from decoders.capture.reader import CaptureReader
from kwcli.pipeline.spark.failures import failure_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TOUR = CAPTURES / "tour.pcapng"


def read(spark: SparkSession, path: Path | list[Path], **options: str) -> DataFrame:
    paths = [str(each) for each in path] if isinstance(path, list) else str(path)
    return spark.read.format("kafka_wire").options(**options).load(paths)


def test_rows_are_the_segments(spark: SparkSession) -> None:
    reader = CaptureReader()
    segments = reader.feed(TOUR.read_bytes()) + reader.finish()
    columns = ("packet", "time_ns", "seq", "ack", "flags", "payload", "cut")
    rows = read(spark, TOUR).select(*columns).collect()
    assert [tuple(row) for row in rows] == [segment[2:3] + segment[1:2] + segment[3:] for segment in segments]


def test_endpoints_time_and_file(spark: SparkSession) -> None:
    row = read(spark, TOUR, point="left").orderBy("packet").first()
    assert row is not None
    assert (row["point"], row["source_file"]) == ("left", str(TOUR))
    assert {row["source_ip"], row["target_ip"]} == {"127.0.0.1"}
    assert 9092 in (row["source_port"], row["target_port"])
    assert round(row["time"].timestamp() * 1e6) == row["time_ns"] // 1000


def test_options_narrow(spark: SparkSession) -> None:
    whole = read(spark, TOUR)
    times = [row["time_ns"] for row in whole.select("time_ns").collect()]
    middle_us = times[len(times) // 2] // 1000
    since = datetime.fromtimestamp(middle_us / 1e6, UTC).isoformat()
    count = sum(each >= middle_us * 1000 for each in times)
    assert 0 < count < len(times)
    assert read(spark, TOUR, since=since).count() == count
    assert read(spark, TOUR, until=since).count() == len(times) - count
    assert read(spark, TOUR, ports="1,2").count() == 0
    other = whole.where("source_port not in (9092, 1) and target_port not in (9092, 1)").count()
    assert 0 < other < len(times)
    assert read(spark, TOUR, ports="1,9092").count() == len(times) - other


def test_several_paths_and_globs(spark: SparkSession) -> None:
    first, second = TOUR, CAPTURES / "sasl-raw.pcap"
    found = read(spark, [first, CAPTURES / "sasl-r*.pcap"]).select("source_file").distinct().collect()
    assert {row[0] for row in found} == {str(first), str(second)}


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        ("nosuch*.pcap", {}, "nosuch*.pcap: no such file"),
        ("README.md", {}, "README.md: not a capture"),
        ("tour.pcapng", {"since": "yesterday"}, "kafka_wire: since: yesterday is no time"),
        ("tour.pcapng", {"until": "2026-11-21T03:04:05"}, "has no time zone"),
        ("tour.pcapng", {"ports": "9092,x"}, "invalid literal for int"),
    ],
)
def test_what_is_wrong_is_one_line(spark: SparkSession, path: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match="Traceback") as raised:
        read(spark, CAPTURES / path, **options).count()
    text = failure_of(raised.value).text
    assert said in text
    assert "\n" not in text
