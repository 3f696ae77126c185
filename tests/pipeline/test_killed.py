"""A run killed with -9 at random moments and started again leaves the same tables as an undisturbed one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from kwcli.pipeline import local_engine
from kwcli.pipeline.read.find_captures import find_captures
from kwcli.pipeline.store.replace_folders_of_tables import JOURNAL, find_tables, open_store
from kwcli.pipeline.store.staging_folder import STAGING
from kwcli.pipeline.tables.table_columns import TABLES
from tests.captures.shipped import FOLDER
from tests.pipeline.jobs import job_of, rows_in

ROOT: Final = Path(__file__).resolve().parents[2]
OLD: Final = [str(FOLDER / "sasl-raw.pcap")]
NEW: Final = [*OLD, str(FOLDER / "tour.pcapng"), str(FOLDER / "three-nodes.pcapng.zst")]
KILLS: Final = 4
LONGEST_S: Final = 1.5


def run_over(out: str, words: list[str]) -> None:
    """Run over these captures, from the lock to the tables."""
    job = job_of(words, size=40_000)
    with open_store(out) as store:
        staging = store.start_staging()
        done = local_engine.decode_splits_into_tables(job.spec, job.pending_plan, staging)
        store.commit(staging, done.written, sources=find_captures(words).files, options={}, tables=TABLES, facts={})


def run_on(out: str) -> None:
    """Run again and again, over few captures and over all of them in turn, until killed."""
    while True:
        for words in (OLD, NEW):
            run_over(out, words)


def covered(out: Path) -> list[str]:
    """The captures that the tables cover, after a reader has opened them; row counts must be those of the manifest."""
    _, manifest = find_tables(str(out))
    assert not (out / JOURNAL).exists()
    for name in TABLES:
        assert len(rows_in(out, name)) == manifest.tables[name].rows
    return [source.path for source in manifest.sources]


@pytest.mark.long
def test_a_run_killed_at_random_moments_and_started_again_equals_an_undisturbed_one(tmp_path: Path) -> None:
    undisturbed, out = tmp_path / "undisturbed", tmp_path / "out"
    run_over(str(undisturbed), NEW)
    run_over(str(out), OLD)
    code = "import sys; from tests.pipeline.test_killed import run_on; print(1, flush=True); run_on(sys.argv[1])"
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", code, str(out)], cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"1\n"
            time.sleep(random.uniform(0, LONGEST_S))
            process.send_signal(signal.SIGKILL)
            assert process.wait(60) == -signal.SIGKILL
        assert covered(out) in (OLD, sorted(NEW))
    run_over(str(out), NEW)
    assert covered(out) == sorted(NEW)
    assert not (out / STAGING).exists()
    for name in TABLES:
        assert rows_in(out, name) == rows_in(undisturbed, name)
