"""A connection that a capture has twice under other addresses counts once in tables, of each engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.worlds import kw
from tests.exchanges.test_find_connections_captured_twice import TALK, together, translated
from tests.pipeline.jobs import job_of
from tests.pipeline.test_spark_engines import run_spark
from tests.pipeline.watched import Watched
from tests.splits.cut_captures import cut
from tests.tls.wrapping import pcapng_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def in_three_files(folder: Path) -> list[str]:
    """A connection and its copy in files of one capture; the first ends between the first bytes of the two."""
    every = together(TALK, translated(TALK))
    folder.mkdir()
    for number, segments in enumerate(cut(every, [7, 24])):
        (folder / f"{number}.pcapng").write_bytes(pcapng_of(segments))
    return [str(folder)]


def count_exchanges_and_copies(tables: str) -> list[int]:
    rows = [json.loads(line) for line in kw("sniff", tables, "-o", "ndjson").out.splitlines()]
    return [sum(row["kind"] == "exchange" for row in rows), sum(row.get("reason") == "copy" for row in rows)]


def test_tables_count_it_once_and_say_so(tmp_path: Path) -> None:
    sources, out = in_three_files(tmp_path / "in"), str(tmp_path / "tables")
    outcome = kw("pipeline", "run", *sources, "--out", out)
    assert "1 connection is in the capture a second time with other addresses: NAT or a bridge" in outcome.err
    assert count_exchanges_and_copies(out) == [3, 1]


def test_a_watch_counts_it_once(tmp_path: Path) -> None:
    (folder,) = in_three_files(tmp_path / "in")
    watched = Watched([folder], tmp_path / "tables")
    aside = [path.rename(tmp_path / path.name) for path in sorted(Path(folder).iterdir())]
    for path in aside:
        path.rename(Path(folder) / path.name)
        watched.clock.now += 1
        watched.read()
    watched.finish()
    assert count_exchanges_and_copies(str(tmp_path / "tables")) == [3, 1]


@pytest.mark.long
def test_spark_counts_it_once(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    run_spark(spark, out, job_of(in_three_files(tmp_path / "in"), size=2000, bodies=False), raw=False)
    assert count_exchanges_and_copies(str(out)) == [3, 1]
