"""`kw pipeline run` on Spark: the tables, messages and exit codes of one process."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline import choose_engine
from kwcli.pipeline.spark import spark_engine as spark_engine
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.run_environment import Exit
from tests.bench.volume import write
from tests.cli.worlds import kw, world
from tests.pipeline.odd import odd_capture
from tests.pipeline.test_run import CAPTURES, RAW, TOUR, known, rows, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Columns left out of the comparison: numbers for people, and values learnt from other connections.
OUTSIDE = ("connection", "topics", "topic_names", "error_topics", "topic")


def compared(folder: Path) -> dict[str, Counter[str]]:
    """The rows of each table without the columns that may differ."""
    return {
        table: Counter(
            str({name: value for name, value in row.items() if name not in OUTSIDE}) for row in rows(folder, table)
        )
        for table in TABLES
    }


@pytest.mark.long
@pytest.mark.parametrize("raw", [False, pytest.param(True, marks=pytest.mark.long)], ids=["stitch", "shuffle"])
def test_spark_gives_the_same_tables(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bool
) -> None:
    monkeypatch.setattr(spark_engine, "run_job", partial(spark_engine.run_job, raw=raw))
    damaged = tmp_path / "cut.pcap"
    damaged.write_bytes(RAW.read_bytes()[:-1000])
    words: list[str | Path] = [damaged, "--point", f"tour={TOUR}", "--split-size", "100kB", "--out"]
    one = run(*words, tmp_path / "one", "--engine", "local", "--strict", code=Exit.LOSSY)
    other = run(*words, tmp_path / "two", "--engine", "stitch", "--master", "local[2]", "--strict", code=Exit.LOSSY)
    assert spark.version
    assert compared(tmp_path / "one") == compared(tmp_path / "two")
    assert other.err.splitlines()[0] == one.err.splitlines()[0]
    summaries = [outcome.err.splitlines()[1].partition(" · engine ") for outcome in (one, other)]
    assert summaries[0][0] == summaries[1][0]
    assert summaries[1][2].startswith("stitch (as asked) · ")
    assert "nothing to do" in run(damaged, "--out", tmp_path / "two").err


@pytest.mark.long
def test_a_connection_in_the_oddest_state_at_a_border(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "odd.pcap").write_bytes(odd_capture())
    words: list[str | Path] = [tmp_path / "odd.pcap", "--port", "9092", "--split-size", "8kB", "--out"]
    run(*words, tmp_path / "one", "--engine", "local")
    run(*words, tmp_path / "two", "--engine", "stitch", "--master", "local[2]")
    assert spark.version
    assert len(rows(tmp_path / "one", "connections")) == 2
    assert compared(tmp_path / "one") == compared(tmp_path / "two")


@pytest.mark.long
@pytest.mark.parametrize("cut", [0, 5000])
def test_one_large_capture_is_read_while_it_is_cut(spark: SparkSession, tmp_path: Path, cut: int) -> None:
    capture = tmp_path / "large.pcap"
    data = RAW.read_bytes()
    capture.write_bytes(data[: len(data) - cut])
    assert spark.version
    words: list[str | Path] = [capture, "--split-size", "20kB", "--out"]
    one = run(*words, tmp_path / "one", "--engine", "local")
    other = run(*words, tmp_path / "two", "--engine", "stitch", "--master", "local[2]")
    for table in TABLES:
        found = [rows(tmp_path / folder, table) for folder in ("one", "two")]
        assert len(found[0]) == len(found[1])
        for name in ("time_ns", "place", "request_packet", "response_packet_end"):
            assert Counter(row.get(name) for row in found[0]) == Counter(row.get(name) for row in found[1])
    assert one.err.count("cut off at byte") == other.err.count("cut off at byte") == bool(cut)


@pytest.mark.long
@pytest.mark.parametrize("raw", [False, True], ids=["stitch", "shuffle"])
@pytest.mark.parametrize("damage", [False, True], ids=["sound", "damaged"])
def test_a_large_capture_that_may_be_damaged_inside(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bool, raw: bool
) -> None:
    monkeypatch.setattr(spark_engine, "run_job", partial(spark_engine.run_job, raw=raw))
    assert spark.version
    capture = tmp_path / "large.pcap"
    write(capture, 20_000_000, profile="mixed", connections=12)
    if damage:
        data = capture.read_bytes()
        at = 24
        while at < 7_500_000:  # between two cuts, and far from both
            at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        capture.write_bytes(data[:at] + b"\xff" * 16 + data[at + 16 :])
    words: list[str | Path] = [capture, "--split-size", "6.5MB", "--out"]
    one = run(*words, tmp_path / "one", "--engine", "local")
    other = run(*words, tmp_path / "two", "--engine", "stitch", "--master", "local[2]")
    assert compared(tmp_path / "one") == compared(tmp_path / "two")
    assert [line.partition(" · engine ")[0] for line in other.err.splitlines()[:-1]] == [
        line.partition(" · engine ")[0] for line in one.err.splitlines()[:-1]
    ]
    assert one.err.count("no packet record") == damage


@pytest.mark.long
def test_what_is_no_capture_behind_its_head_leaves_no_tables(spark: SparkSession, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(RAW.read_bytes()[:24] + b"\xff" * 100_000)
    assert spark.version
    for engine in ("local", "stitch"):
        words: list[str | Path] = [broken, "--out", tmp_path / "out", "--split-size", "20kB", "--engine", engine]
        outcome = run(*words, code=Exit.FAILURE)
        assert f"{broken}: " in outcome.err
        assert "none of the inputs is a capture that can be read: no tables were written" in outcome.err
        assert not (tmp_path / "out" / "exchanges").exists()


@pytest.mark.long
def test_a_master_asks_for_spark(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.version
    outcome = run(TOUR, "--out", tmp_path / "out", "--master", "local[2]", "--api", "Fetch")
    assert "engine stitch (--master names a Spark)" in outcome.err
    assert known(rows(tmp_path / "out"))


def test_much_goes_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose_engine, "LOCAL_MAX", 300_000)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    said = run(TOUR, RAW, "--out", tmp_path / "out", "--explain").out
    assert "engine   stitch: 311.1kB of captures, more than 300.0kB, on local[*]" in said.splitlines()
    said = run(TOUR, "--out", tmp_path / "out", "--explain").out
    assert "engine   local: 171.5kB of captures, Spark from 300.0kB on" in said.splitlines()
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    said = run(TOUR, RAW, "--out", tmp_path / "out", "--explain").out
    assert "engine   local: 1 core here, Spark from 2 on" in said.splitlines()


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A JAVA_HOME with an old Java, on a machine without another."""
    from kwcli.pipeline.spark import find_java as java

    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    return str(old.parent.parent)


def test_without_java_one_line_says_what_to_install(tmp_path: Path, no_java: str) -> None:
    env = world(variables={"JAVA_HOME": no_java})
    outcome = kw("pipeline", "run", str(TOUR), "--out", str(tmp_path / "out"), "--engine", "stitch", env=env)
    assert outcome.code == Exit.FAILURE
    assert outcome.err == (
        f"kw: Spark needs Java 17 or newer (JAVA_HOME={no_java} is Java 11): set JAVA_HOME, or "
        f"{pip_command_for_extra('spark')}, which brings one\n"
    )
    assert not (tmp_path / "out" / "exchanges").exists()


def test_without_java_much_is_done_in_one_process(
    tmp_path: Path, no_java: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose_engine, "LOCAL_MAX", 1000)
    monkeypatch.setattr(choose_engine, "CORES_MIN", 1)
    env = world(variables={"JAVA_HOME": no_java})
    outcome = kw("pipeline", "run", str(CAPTURES / "tour.pcapng"), "--out", str(tmp_path / "out"), env=env)
    assert outcome.code == Exit.DONE
    assert "engine local (no Spark: Spark needs Java 17 or newer" in outcome.err
    assert len(rows(tmp_path / "out")) == 193
