"""`kw pipeline run` on Spark, killed with -9 at a random moment, started again: the tables of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from kwcli.pipeline.store.staging_folder import STAGING
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.run_environment import Exit, Failure
from tests.captures.shipped import FOLDER
from tests.pipeline.jobs import rows_in
from tests.pipeline.test_run import run
from tests.pipeline.test_run_spark import OUTSIDE

pytestmark = pytest.mark.full

ROOT: Final = Path(__file__).resolve().parents[2]
CAPTURES: Final = [str(FOLDER / name) for name in ("sasl-raw.pcap", "tour.pcapng", "zookeeper-cluster.pcap.gz")]
PATIENCE_S: Final = 120
# The most seconds from the first file of a run to its end by -9: reading, stitching, writing and the swap are in them.
LONGEST_S: Final = 5.0


@pytest.fixture(autouse=True)
def _needed() -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from kwcli.pipeline.spark.find_java import find_java

    try:
        find_java(os.environ)
    except Failure as failure:
        pytest.skip(failure.text)


@contextmanager
def started(out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, all of which is killed at the end."""
    words = ["pipeline", "run", *CAPTURES, "--out", str(out), "--engine", "stitch", "--master", "local[2]"]
    command = [sys.executable, "-m", "kwcli.main", *words, "--split-size", "60kB"]
    # A killed process leaves its temporary files; a JVM without an archive of classes ends with its driver.
    env = {**os.environ, "TMPDIR": str(out.parent), "XDG_CACHE_HOME": os.devnull}
    with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def said(process: subprocess.Popen[bytes]) -> str:
    """The standard error of a process until its end; its exit code must be 0."""
    told = process.communicate(timeout=PATIENCE_S)[1].decode()
    assert process.returncode == Exit.DONE, told
    return told


def has_begun(out: Path) -> bool:
    """Whether the run has left incomplete files."""
    return any(path.is_file() for path in (out / STAGING).rglob("*"))


def ended(group: int) -> bool:
    """Whether all processes that a run started end within a while."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_a_run_killed_at_a_random_moment_and_started_again_equals_an_undisturbed_one(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    undisturbed, out = tmp_path / "undisturbed", tmp_path / "out"
    run(*CAPTURES, "--out", undisturbed, "--engine", "local")  # Spark makes the same tables, undisturbed or not
    with started(out) as process:
        until = time.monotonic() + PATIENCE_S
        while not has_begun(out):
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0, LONGEST_S))
        process.kill()
        process.wait(PATIENCE_S)
        with started(out) as other:  # at once: processes of the first run may still be writing
            told = said(other)
        assert ended(process.pid), f"seed {seed}: something goes on without its run"
    assert "an interrupted run" in told or "nothing to do" in told, f"seed {seed}: {told}"
    assert not (out / STAGING).exists()
    for name in TABLES:
        assert without(OUTSIDE, rows_in(out, name)) == without(OUTSIDE, rows_in(undisturbed, name)), f"seed {seed}"


def without(names: Iterable[str], rows: Iterable[dict[str, Any]]) -> list[str]:
    """The rows without these columns, sorted."""
    return sorted(repr({name: value for name, value in row.items() if name not in names}) for row in rows)
