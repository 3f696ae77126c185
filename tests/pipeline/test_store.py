"""A folder of tables is the old one or the new one, whenever a run is stopped and whatever stops it."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow.parquet as pq
import pytest

from kwcli.exits import Failure
from kwcli.pipeline.store.files import Files
from kwcli.pipeline.store.manifest import Manifest, Source
from kwcli.pipeline.store.reading import tables_at
from kwcli.pipeline.store.staging import STAGING
from kwcli.pipeline.store.store import JOURNAL, LOCK, Store, opened
from kwcli.pipeline.tables.columns import TABLES
from tests.captures.shipped import segments
from tests.pipeline.rows import batch_of, settled_for_tables

ROOT: Final = Path(__file__).resolve().parents[2]
ROWS: Final = batch_of(settled_for_tables(segments("sasl-raw.pcap"))[:20])
NAMES: Final = ("exchanges", "topic_partitions", "skipped")


def source(name: str) -> Source:
    return Source("here", f"/captures/{name}", 100, f"fingerprint of {name}")


def put(store: Store, tag: str, count: int, tables: tuple[str, ...] = NAMES) -> Manifest:
    """A run whose tables hold the first `count` rows, and whose manifest has the tag."""
    staging = store.staging()
    with staging.writer(tables) as writer:
        writer.write(ROWS.slice(0, count))
        written = writer.close()
    return store.commit(
        staging, written, sources=[source(tag)], options={"tag": tag}, tables=tables, facts={"told": [tag]}
    )


def seen(folder: Path) -> dict[str, int]:
    """The rows that any reader finds, by table."""
    return {
        name: sum(pq.ParquetFile(path).metadata.num_rows for path in (folder / name).rglob("*.parquet"))
        for name in TABLES
        if (folder / name).exists()
    }


def test_a_run_replaces_all_tables(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with opened(str(folder)) as store:
        assert store.manifest() is None
        first = put(store, "first", 5)
        assert store.manifest() == first
    assert seen(folder) == {"exchanges": 5, "topic_partitions": first.tables["topic_partitions"].rows, "skipped": 0}
    with opened(str(folder)) as store:
        second = put(store, "second", 9, ("exchanges", "skipped"))
        assert store.recovered == ""
    assert seen(folder) == {"exchanges": 9, "skipped": 0}
    root, manifest = tables_at(str(folder))
    assert (root, manifest) == (str(folder), second)
    files = {str(path.relative_to(folder)) for name in TABLES for path in (folder / name).rglob("*.parquet")}
    assert files == {path for table in manifest.tables.values() for path in table.files}
    assert not (folder / STAGING).exists()


def test_the_same_sources_and_options_are_held(tmp_path: Path) -> None:
    with opened(str(tmp_path)) as store:
        assert not store.holds([source("a")], {"tag": "a"})
        manifest = put(store, "a", 3)
        assert store.holds([source("a")], {"tag": "a"})
        assert not store.holds([source("a")], {"tag": "b"})
        assert not store.holds([source("a"), source("b")], {"tag": "a"})
        assert not store.holds([source("a")._replace(fingerprint="other")], {"tag": "a"})
        (tmp_path / manifest.tables["exchanges"].files[0]).unlink()
        assert not store.holds([source("a")], {"tag": "a"})


# -- stopped ---------------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process is gone."""


class Quick(Files):
    """Waits for no disk."""

    def sync(self, path: str) -> None:
        assert self.exists(path)


class Crashing(Quick):
    """Stops at the step with this number: before it, or in the middle of what it writes."""

    left = 0

    def _step(self) -> None:
        Crashing.left -= 1
        if Crashing.left < 0:
            raise Crash

    def make_folder(self, path: str) -> None:
        self._step()
        super().make_folder(path)

    def open_new(self, path: str) -> BinaryIO:
        if Crashing.left == 0:
            super().make_folder(os.path.dirname(path))
            Path(self.path(path)).write_bytes(b"{torn")
        self._step()
        return super().open_new(path)

    def rename(self, path: str, to: str) -> None:
        self._step()
        super().rename(path, to)

    def unlink(self, path: str) -> None:
        self._step()
        super().unlink(path)

    def remove_folder(self, path: str) -> None:
        self._step()
        super().remove_folder(path)

    def sync(self, path: str) -> None:
        self._step()
        super().sync(path)


def stopped_at(folder: Path, step: int, work: Callable[[Store], object]) -> bool:
    """Whether work on a folder was stopped at this step, as a killed process is: nothing is tidied up but its lock."""
    store = Store(Crashing(str(folder)), str(folder))
    Crashing.left = step
    try:
        store.open()
        work(store)
    except Crash:
        return True
    finally:
        store.close()
    return False


OLD: Final = 4
NEW: Final = 11


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    with opened(str(folder)) as store:
        put(store, "old", OLD, (*NAMES, "connections"))
    return folder


def check_whole(folder: Path) -> str:
    """The next start leaves the tables of one run; gives its tag."""
    with opened(str(folder), Quick) as store:
        manifest = store.manifest()
        assert not store.files.exists(JOURNAL)
        assert not store.files.exists(STAGING)
    found = seen(folder)
    if manifest is None:
        assert found == {}
        return ""
    assert found == {name: table.rows for name, table in manifest.tables.items()}
    tag: str = manifest.options["tag"]
    assert found["exchanges"] == (OLD if tag == "old" else NEW)
    assert [source.path for source in manifest.sources] == [f"/captures/{tag}"]
    return tag


@pytest.mark.parametrize("before", [True, False], ids=["over old tables", "into a new folder"])
def test_a_run_that_is_killed_at_any_step_leaves_the_old_or_the_new_tables(
    tmp_path: Path, old: Path, before: bool
) -> None:
    tags = []
    for step in range(1000):
        folder = tmp_path / "out"
        shutil.rmtree(folder, ignore_errors=True)
        if before:
            shutil.copytree(old, folder)
        killed = stopped_at(folder, step, lambda store: put(store, "new", NEW))
        tags.append(check_whole(folder))
        if not killed:
            break
    assert len(tags) > 40
    assert tags == sorted(tags, key=["old", "", "new"].index)
    assert set(tags) == {"old" if before else "", "new"}


def test_who_mends_may_be_killed_at_any_step_too(tmp_path: Path, old: Path) -> None:
    def overdue(folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(old, folder)
        for step in range(1000):
            stopped_at(folder, step, lambda store: put(store, "new", NEW))
            if (folder / JOURNAL).exists():
                return

    kept = tmp_path / "kept"
    overdue(kept)
    for step in range(1000):
        folder = tmp_path / "out"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept, folder)
        killed = stopped_at(folder, step, lambda _: None)
        assert check_whole(folder) == "new"
        if not killed:
            break
    assert step > 10


def test_a_reader_ends_what_a_killed_run_had_begun(old: Path) -> None:
    for step in range(1000):
        stopped_at(old, step, lambda store: put(store, "new", NEW))
        if (old / JOURNAL).exists():
            break
    _, manifest = tables_at(str(old))
    assert manifest.options["tag"] == "new"
    assert seen(old)["exchanges"] == NEW


# -- refused ---------------------------------------------------------------------------------------------------------


def _file(folder: Path) -> None:
    folder.write_text("no folder")


def _captures(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.pcap").write_bytes(b"")


def _control(folder: Path) -> None:
    (folder / "_kw").mkdir(parents=True)
    (folder / "_kw" / "notes.txt").write_text("mine")


def _later(folder: Path) -> None:
    (folder / "_kw").mkdir(parents=True)
    (folder / "_kw" / "kw.json").write_text('{"kw": "99.0", "format": 99}')


def _stranger(folder: Path) -> None:
    with opened(str(folder)) as store:
        put(store, "a", 3)
    (folder / "exchanges" / "mine.parquet").write_bytes(b"")


def _damaged(folder: Path) -> None:
    with opened(str(folder)) as store:
        put(store, "a", 3)
        (folder / "_kw" / "manifest.json").write_bytes(b"{")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_file, "not a folder"),
        (_captures, "not empty (a.pcap) and no folder of tables"),
        (_control, "not empty (_kw/notes.txt) and no folder of tables"),
        (_later, "written by a later kw (99.0)"),
        (_stranger, "exchanges/mine.parquet is not from kw"),
        (_damaged, "_kw/manifest.json is damaged"),
    ],
)
def test_a_folder_that_is_something_else_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    folder = tmp_path / "out"
    make(folder)
    before = sorted(path for path in tmp_path.rglob("*") if path.name != "lock")
    with pytest.raises(Failure, match="out: ") as caught, opened(str(folder)):
        pass
    assert said in caught.value.text
    assert "\n" not in caught.value.text
    assert sorted(path for path in tmp_path.rglob("*") if path.name != "lock") == before


def test_a_url_is_refused() -> None:
    with (
        pytest.raises(Failure, match="s3://bucket/out: tables are written to a local or mounted folder"),
        opened("s3://bucket/out"),
    ):
        pass


def test_reading_where_there_are_no_tables_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(Failure, match="out: no such folder"):
        tables_at(str(folder))
    _captures(folder)
    with pytest.raises(Failure, match="out: no tables; kw pipeline run makes them"):
        tables_at(str(folder))
    shutil.rmtree(folder)
    with opened(str(folder)), pytest.raises(Failure, match="out: no tables yet"):
        tables_at(str(folder))
    with opened(str(folder)) as store:
        manifest = put(store, "new", NEW)
    path = manifest.tables["exchanges"].files[0]
    (folder / path).unlink()
    with pytest.raises(Failure, match=f"out: {path} is missing"):
        tables_at(str(folder))


# -- two at once -----------------------------------------------------------------------------------------------------

# It has a child that outlives it, as that of a pool does.
HOLDER: Final = """
import os, sys, time
from kwcli.pipeline.store.store import opened
with opened(sys.argv[1]) as store:
    store.staging()
    child = os.fork()
    if not child:
        sys.stdout.close()
        os.close(1)
        time.sleep(20)
        os._exit(0)
    print(child, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that is writing to the folder."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        yield process
        process.kill()
        os.kill(child, signal.SIGKILL)


def test_a_second_run_is_refused_and_a_dead_one_does_not_count(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    with pytest.raises(Failure, match=rf"another run writes to it \(process {holder.pid} on "), opened(str(tmp_path)):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK).exists()
    with opened(str(tmp_path)) as store:
        assert store.recovered == "what an interrupted run had left was deleted"
        put(store, "new", NEW)
    assert check_whole(tmp_path) == "new"


# -- a full disk -----------------------------------------------------------------------------------------------------


class Full(Files):
    """A disk without space from some file on."""

    left = 0

    def open_new(self, path: str) -> BinaryIO:
        Full.left -= 1
        return io.BufferedWriter(io.FileIO("/dev/full", "wb")) if Full.left < 0 else super().open_new(path)


@pytest.mark.parametrize("files", range(5))
def test_a_full_disk_is_one_line_and_the_old_tables_stay(old: Path, files: int) -> None:
    Full.left = files
    before = sorted(old.rglob("*"))
    with pytest.raises(Failure) as caught, opened(str(old), Full) as store:
        put(store, "new", NEW)
    assert caught.value.text == f"{old}: {os.strerror(errno.ENOSPC).lower()}"
    assert sorted(old.rglob("*")) == before
    assert check_whole(old) == "old"


@pytest.mark.parametrize("path", ["out/exchanges", "elsewhere", "out-of-here/x"])
def test_what_the_system_refuses_names_the_folder_or_what_else_it_was(tmp_path: Path, path: str) -> None:
    folder, file = tmp_path / "out", tmp_path / path
    with pytest.raises(Failure) as caught, opened(str(folder)):
        file.open().close()
    assert caught.value.text == f"{folder if path.startswith('out/') else file}: no such file or directory"


def test_files_of_tasks_that_failed_are_in_no_table(tmp_path: Path) -> None:
    def fail(staging: Any) -> None:
        with staging.writer(NAMES) as writer:
            writer.write(ROWS)
            raise RuntimeError

    with opened(str(tmp_path)) as store:
        staging = store.staging()
        with pytest.raises(RuntimeError):
            fail(staging)
        with staging.writer(NAMES) as twice:
            twice.write(ROWS.slice(0, NEW))
            twice.close()
        with staging.writer(NAMES) as writer:
            writer.write(ROWS.slice(0, NEW))
            written = writer.close()
        store.commit(staging, written, sources=[source("new")], options={"tag": "new"}, tables=NAMES, facts={})
    assert check_whole(tmp_path) == "new"


class Haunted(Files):
    """A task of a run that was killed writes once more while its files are deleted."""

    written = False

    def unlink(self, path: str) -> None:
        super().unlink(path)
        if "/tasks/" in path and not Haunted.written:
            Haunted.written = True
            Path(self.path(path)).with_name("late.parquet").write_bytes(b"late")


def test_a_late_writer_of_a_killed_run_is_outlived(tmp_path: Path) -> None:
    store = Store(Files(str(tmp_path)), "out")
    store.open()
    with store.staging().writer(NAMES) as writer:
        writer.write(ROWS)
        writer.close()
    store.close()
    with opened(str(tmp_path), Haunted) as store:
        assert list(tmp_path.rglob("late.parquet"))
        put(store, "new", NEW)
    assert check_whole(tmp_path) == "new"
    assert not list(tmp_path.rglob("late.parquet"))
