"""The data source `kafka_wire`: the rows of a capture that Spark reads, and the options."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from decoders.capture.read_capture import CaptureReader
from kwcli.pipeline.spark.explain_failures import make_failure_of_exception
from kwcli.pipeline.spark.find_java import find_java
from tests.captures.shipped import segments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.long

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TOUR = CAPTURES / "tour.pcapng"


def read(spark: SparkSession, path: Path | list[Path], **options: str) -> DataFrame:
    paths = [str(each) for each in path] if isinstance(path, list) else str(path)
    return spark.read.format("kafka_wire").options(**options).load(paths)


def test_rows_are_the_segments(spark: SparkSession) -> None:
    columns = ("packet", "time_ns", "seq", "ack", "flags", "payload", "cut")
    rows = read(spark, TOUR).select(*columns).collect()
    assert [tuple(row) for row in rows] == [
        segment[2:3] + segment[1:2] + segment[3:] for segment in segments(TOUR.name)
    ]


def test_endpoints_time_and_file(spark: SparkSession) -> None:
    row = read(spark, TOUR, point="left").orderBy("packet").first()
    assert row is not None
    assert (row["point"], row["source_file"]) == ("left", str(TOUR))
    assert {row["source_ip"], row["target_ip"]} == {"127.0.0.1"}
    assert 9092 in (row["source_port"], row["target_port"])
    assert round(row["time"].timestamp() * 1e6) == row["time_ns"] // 1000


def test_options_narrow(spark: SparkSession) -> None:
    found = segments(TOUR.name)
    times = sorted(segment[1] // 1000 for segment in found)
    since, until = (datetime.fromtimestamp(times[len(times) * part // 4] / 1e6, UTC).isoformat() for part in (1, 3))
    narrow = read(spark, TOUR, since=since, until=until, ports="1,9092").select("packet").collect()
    expected = [
        segment[2]
        for segment in found
        if times[len(times) // 4] <= segment[1] // 1000 < times[len(times) * 3 // 4]
        and b"\x23\x84" in (segment[0][-4:-2], segment[0][-2:])
    ]
    assert [row[0] for row in narrow] == expected
    assert 0 < len(expected) < len(found) // 2


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
        ("tour.pcapng", {"ports": "9092,x"}, "kafka_wire: ports: 'x' is no port"),
        ("tour.pcapng", {"split_size": "big"}, "kafka_wire: split_size: big is no number of bytes"),
        ("tour.pcapng", {"mode": "strict"}, "kafka_wire: mode: strict is none of permissive, failfast"),
    ],
)
def test_what_is_wrong_is_one_line(spark: SparkSession, path: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match="Traceback") as raised:
        read(spark, CAPTURES / path, **options).count()
    text = make_failure_of_exception(raised.value).text
    assert said in text
    assert "\n" not in text


def test_of_a_damaged_capture_the_good_part_or_nothing(spark: SparkSession, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "sasl-raw.pcap").read_bytes()[:-1000])
    reader = CaptureReader()
    assert read(spark, [cut, CAPTURES / "README.md"]).count() == len(reader.feed(cut.read_bytes())) > 100
    with pytest.raises(Exception, match="Traceback") as raised:
        read(spark, cut, mode="failfast").count()
    assert "cut.pcap: cut off at byte 138,598 inside a packet" in make_failure_of_exception(raised.value).text


@pytest.mark.full
def test_a_session_of_ones_own_is_told_of_the_format() -> None:
    code = (
        "from pyspark.sql import SparkSession\n"
        "from kwcli.pipeline.spark import register\n"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()\n"
        "register(spark)\n"
        "print(spark.read.format('kafka_wire').load('captures/tour.pcapng').where('length(payload) > 0').count())\n"
    )
    java_home = str(find_java(os.environ).resolve().parents[1])
    path = os.pathsep.join(each for each in sys.path if not each.endswith("registered"))
    variables = {**os.environ, "PYTHONPATH": path, "JAVA_HOME": java_home, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, cwd=CAPTURES.parent, capture_output=True, text=True, check=False
    )
    with_payload = sum(bool(segment[6]) for segment in CaptureReader().feed(TOUR.read_bytes()))
    assert done.stdout == f"{with_payload}\n", done.stderr


def test_spark_finds_the_format_by_its_name() -> None:
    """The package beside kw's own ones, at the place that pyproject.toml gives, makes the format known to Spark."""
    settings = tomllib.loads((CAPTURES.parent / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    (place,) = (name for name in settings["where"] if name != ".")
    (package,) = (name for name in settings["include"] if name.startswith("pyspark_"))
    spec = importlib.util.spec_from_file_location(package, CAPTURES.parent / place / package / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.DefaultSource.name() == "kafka_wire"
