"""A standalone master with two workers without kw: the tables are those of one process, whichever process dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwcli.pipeline.spark.find_java import find_java
from kwcli.run_environment import Failure
from tests.captures.shipped import FOLDER, segments
from tests.pipeline.cluster import cluster
from tests.pipeline.jobs import job_of, rows_in
from tests.pipeline.jobs import run as run_local

pytestmark = pytest.mark.full

NAMES = ("tour.pcapng",)
ROOT = FOLDER.parent
OUTSIDE = ("connection", "topics", "topic_names", "error_topics", "topic")


def rows(folder: Path, table: str) -> list[str]:
    """The rows of a table without the columns that may differ, sorted."""
    return sorted(
        repr({name: value for name, value in row.items() if name not in OUTSIDE}) for row in rows_in(folder, table)
    )


def test_the_same_tables_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        find_java(os.environ)
    except Failure as failure:
        pytest.skip(failure.text)
    captures = [str(FOLDER / name) for name in NAMES]
    job = job_of([], points=list(zip(NAMES, captures, strict=True)), size=60_000)
    run_local(tmp_path / "local", job)
    with cluster(tmp_path) as made:
        done = subprocess.run(
            [sys.executable, "-m", "tests.pipeline.driving", made.master, tmp_path, "60000", *captures],
            cwd=ROOT,
            env={**os.environ, "PYSPARK_PYTHON": str(made.python)},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    place, count = done.stdout.splitlines()
    assert "/kw-" in place
    assert ".zip/kwcli/" in place
    assert str(ROOT) not in place
    assert int(count) == len(segments(NAMES[0]))
    assert all((tmp_path / f"{name}.killed").exists() for name in ("worker", "executor"))
    for table in ("exchanges", "topic_partitions", "connections", "skipped"):
        expected = rows(tmp_path / "local", table)
        for name in ("plain", "worker", "executor"):
            assert rows(tmp_path / name, table) == expected
