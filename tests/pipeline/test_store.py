"""A folder of tables: a run replaces the last one, one writes at a time, and files of no manifest are in no table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.replace_folders_of_tables import LOCK, TableStore, find_tables, open_store
from kwcli.pipeline.store.staging_folder import STAGING
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.run_environment import Failure
from tests.pipeline.stores import NAMES, NEW, ROWS, check_whole, put, seen, source

ROOT: Final = Path(__file__).resolve().parents[2]


def test_a_run_replaces_all_tables(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with open_store(str(folder)) as store:
        assert store.read_manifest() is None
        first = put(store, "first", 5)
        assert store.read_manifest() == first
    assert seen(folder) == {"exchanges": 5, "topic_partitions": first.tables["topic_partitions"].rows, "skipped": 0}
    with open_store(str(folder)) as store:
        second = put(store, "second", 9, ("exchanges", "skipped"))
        assert store.recovered == ""
    assert seen(folder) == {"exchanges": 9, "skipped": 0}
    root, manifest = find_tables(str(folder))
    assert (root, manifest) == (str(folder), second)
    files = {str(path.relative_to(folder)) for name in TABLES for path in (folder / name).rglob("*.parquet")}
    assert files == {path for table in manifest.tables.values() for path in table.files}
    assert not (folder / STAGING).exists()


def test_the_same_sources_and_options_are_held(tmp_path: Path) -> None:
    with open_store(str(tmp_path)) as store:
        assert not store.is_up_to_date([source("a")], {"tag": "a"})
        manifest = put(store, "a", 3)
        assert store.is_up_to_date([source("a")], {"tag": "a"})
        assert not store.is_up_to_date([source("a")], {"tag": "b"})
        assert not store.is_up_to_date([source("a"), source("b")], {"tag": "a"})
        assert not store.is_up_to_date([source("a")._replace(fingerprint="other")], {"tag": "a"})
        (tmp_path / manifest.tables["exchanges"].files[0]).unlink()
        assert not store.is_up_to_date([source("a")], {"tag": "a"})


# -- two at once -------------------------------------------------------------------------------------------------------

# It has a child that outlives it, as a pool's child does; the child prints its id itself, without the lock by then.
HOLDER: Final = """
import os, sys, time
from kwcli.pipeline.store.replace_folders_of_tables import open_store
with open_store(sys.argv[1]) as store:
    store.start_staging()
    child = os.fork()
    if not child:
        print(os.getpid(), flush=True)
        sys.stdout.close()
        os.close(1)
        time.sleep(20)
        os._exit(0)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the folder's lock."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        yield process
        process.kill()
        os.kill(child, signal.SIGKILL)


def test_a_second_run_is_refused_and_a_dead_one_does_not_count(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    with (
        pytest.raises(Failure, match=rf"another run writes to it \(process {holder.pid} on "),
        open_store(str(tmp_path)),
    ):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK).exists()
    with open_store(str(tmp_path)) as store:
        assert store.recovered == "the remains of an interrupted run were deleted"
        put(store, "new", NEW)
    assert check_whole(tmp_path) == "new"


# -- tasks that failed -------------------------------------------------------------------------------------------------


def test_files_of_tasks_that_failed_are_in_no_table(tmp_path: Path) -> None:
    def fail(staging: Any) -> None:
        with staging.make_writer(NAMES) as writer:
            writer.write(ROWS)
            raise RuntimeError

    with open_store(str(tmp_path)) as store:
        staging = store.start_staging()
        with pytest.raises(RuntimeError):
            fail(staging)
        with staging.make_writer(NAMES) as twice:
            twice.write(ROWS.slice(0, NEW))
            twice.close()
        with staging.make_writer(NAMES) as writer:
            writer.write(ROWS.slice(0, NEW))
            written = writer.close()
        store.commit(staging, written, sources=[source("new")], options={"tag": "new"}, tables=NAMES, facts={})
    assert check_whole(tmp_path) == "new"


class Haunted(OutputFolder):
    """Files with a late write: a task of a killed run writes once more while its files are deleted."""

    written = False

    def unlink(self, path: str) -> None:
        super().unlink(path)
        if "/tasks/" in path and not Haunted.written:
            Haunted.written = True
            Path(self.full_path(path)).with_name("late.parquet").write_bytes(b"late")


def test_a_late_writer_of_a_killed_run_is_outlived(tmp_path: Path) -> None:
    store = TableStore(OutputFolder(str(tmp_path)), "out")
    store.open()
    with store.start_staging().make_writer(NAMES) as writer:
        writer.write(ROWS)
        writer.close()
    store.close()
    with open_store(str(tmp_path), Haunted) as store:
        assert list(tmp_path.rglob("late.parquet"))
        put(store, "new", NEW)
    assert check_whole(tmp_path) == "new"
    assert not list(tmp_path.rglob("late.parquet"))
