"""A broker's request log beside the capture of the same session: a second source of the same exchanges."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pytest

from kwcli.pipeline.report.read_tables import Tables
from kwcli.pipeline.sql_views import build_view_sql
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.pipeline.jobs import rows_in
from tests.pipeline.watched import Watched, run_over, tables_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURE: Final = FOLDER / "first-steps.pcapng"
LOG: Final = gzip.decompress((FOLDER / "first-steps.requests.log.gz").read_bytes())
# The number of entries in the log.
LINES: Final = LOG.count(b"Completed request:")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a capture and of the request log of the same session."""
    path = tmp_path_factory.mktemp("both")
    (path / "broker.log").write_bytes(LOG)
    run_over([str(CAPTURE), str(path / "broker.log")], path / "tables")
    return path / "tables"


def asked(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """DuckDB's answer to a query about the exchanges of a folder."""
    database = duckdb.connect()
    database.execute("set TimeZone = 'UTC'")
    files = Tables(str(folder)).files["exchanges"]
    database.execute(f"create view exchanges as select * from read_parquet({files}, hive_partitioning = false)")
    database.execute(f"create view joined as {build_view_sql('joined')}")
    return database.execute(query).fetchall()


@pytest.mark.long
def test_every_line_of_the_log_has_its_exchange_on_the_wire_which_took_at_least_as_long(folder: Path) -> None:
    ((count, least, both),) = asked(
        folder, "select count(*), min(network_ms), count(distinct request_packet) from joined"
    )
    assert count == LINES > 200
    assert least > 0
    assert both == count
    (unlike,) = asked(
        folder,
        "select count(*) from joined where log_ms < request_queue_ms + local_ms + remote_ms or abs(apart_ms) > 5000",
    )
    assert unlike == (0,)


@pytest.mark.long
def test_both_engines_join_the_same_rows(folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.pipeline.spark.spark_sessions.session", lambda *_, **__: spark)
    query = "select * from joined"
    here = kw("sql", str(folder), query, "-o", "ndjson").out.splitlines()
    there = kw("pipeline", "sql", str(folder), query, "-o", "ndjson").out.splitlines()
    assert len(here) == LINES
    assert sorted(here) == sorted(there)


def test_the_same_request_five_seconds_away_is_another_one(tmp_path: Path) -> None:
    later = LOG.replace(b"2026-11-21T16:48:", b"2026-11-21T16:58:")
    (tmp_path / "in.log").write_bytes(later)
    run_over([str(CAPTURE), str(tmp_path / "in.log")], tmp_path / "tables")
    assert asked(tmp_path / "tables", "select count(*) from joined") == [(0,)]


@pytest.mark.long
def test_rows_of_a_log_say_so_and_analyses_take_the_wire(folder: Path, tmp_path: Path) -> None:
    run_over([str(CAPTURE)], tmp_path / "wire")
    wire = rows_in(tmp_path / "wire", "exchanges")
    rows = rows_in(folder, "exchanges")
    logged = [row for row in rows if row["source"] == "log"]
    assert len(logged) == LINES
    assert len(rows) == len(wire) + LINES
    assert {row["request_packet"] for row in logged} == {None}
    assert len({row["place"] for row in logged}) == LINES
    assert all(row["server_total_ms"] >= row["server_request_queue_ms"] >= 0 for row in logged)
    assert {row["server_total_ms"] for row in rows if row["source"] == "wire"} == {None}
    for query in ("select * from latency_by_api order by 1", "select * from topics order by 1"):
        alone, both = (kw("sql", str(place), query, "-o", "ndjson").out for place in (tmp_path / "wire", folder))
        assert alone == both != ""
    alone, both = (kw("stats", str(place), "--by", "api", "-o", "ndjson").out for place in (tmp_path / "wire", folder))
    assert alone == both != ""


@pytest.mark.long
def test_a_log_that_grows_beside_its_capture_gives_the_rows_of_a_run(tmp_path: Path) -> None:
    rng = random.Random(1)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "first-steps.pcapng").write_bytes(CAPTURE.read_bytes())
    watched = Watched([str(tmp_path / "in")], tmp_path / "out")
    at = batches = 0
    log = tmp_path / "in" / "requests.log"
    while at < len(LOG):
        step = rng.randint(1, len(LOG) // 3)
        with open(log, "ab") as file:
            file.write(LOG[at : at + step])
        at += step
        watched.clock.now += 40
        batches += watched.read()
        if at < len(LOG) < 2 * at and not log.with_suffix(".1").exists():
            log = log.rename(log.with_suffix(".1"))  # as log4j does when it begins another file
    assert batches > 3
    watched.finish()
    assert watched.said == ""
    run_over([str(tmp_path / "in")], tmp_path / "run")
    expected = tables_in(tmp_path / "run")
    for rows in (expected["exchanges"], (found := tables_in(tmp_path / "out"))["exchanges"]):
        for row in rows:
            if row["source"] == "log":
                row["connection"] = None
                row["source_file"] = "requests.log"  # the file had another name before
    assert sum(row["source"] == "log" for row in expected["exchanges"]) == LINES
    key = lambda row: repr(row)  # noqa: E731
    assert {name: sorted(rows, key=key) for name, rows in found.items()} == {
        name: sorted(rows, key=key) for name, rows in expected.items()
    }


def test_what_is_wrong_with_a_line_is_told_with_its_number(tmp_path: Path) -> None:
    first, second, *_ = LOG.splitlines(keepends=True)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "server.log").write_bytes(first + second[: len(second) // 2] + b"\n" + second)
    outcome = kw("pipeline", "run", str(tmp_path / "in"), "--out", str(tmp_path / "tables"))
    assert outcome.code == 0
    assert f"kw: {tmp_path}/in/server.log: line 2: " in outcome.err
    assert "2 in request logs" in outcome.err
    assert len(rows_in(tmp_path / "tables", "exchanges")) == 2
