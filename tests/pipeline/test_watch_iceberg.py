"""Tables of a watch as Iceberg tables: whatever is killed when, their snapshots name each file of the tables once."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pyiceberg.table import StaticTable

from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.store import batch_store, iceberg_metadata_writer
from kwcli.pipeline.store.compact_tables import compact_tables
from kwcli.pipeline.store.finish_commits import read_newest_commit
from kwcli.pipeline.store.iceberg_metadata_writer import FolderCatalog, IcebergLogs
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.run_environment import Failure
from tests.captures.shipped import capture_bytes
from tests.pipeline.test_watch import ring
from tests.pipeline.test_watch_compaction import days
from tests.pipeline.test_watch_delta import dies, dies_after_one, shown
from tests.pipeline.watched import Watched, run_over, tables_in

RAW: Final = capture_bytes("sasl-raw.pcap")


def table_of(out: Path, table: str) -> StaticTable:
    """A table as a reader without a catalog opens it."""
    return StaticTable.from_metadata(str(out / "iceberg" / table))


def rows_of(out: Path, table: str) -> list[str]:
    """The rows that a reader of Iceberg sees, without the names of files."""
    return shown(table_of(out, table).scan().to_arrow().to_pylist())


def is_the_commit(out: Path, *more: str) -> bool:
    """Whether the tables name exactly the files of the newest commit that have rows, each once."""
    value = read_newest_commit(OutputFolder(str(out)))
    assert value is not None
    named = [
        task.file.file_path.removeprefix(f"file://{out}/")
        for table in (*TABLES, *more)
        for task in table_of(out, table).scan().plan_files()
    ]
    return sorted(named) == sorted(path for path, (_, rows, _) in value["sizes"].items() if rows)


def commits_of(out: Path, table: str) -> list[str]:
    return [str(one.summary["kw_commit"]) for one in table_of(out, table).metadata.snapshots if one.summary]


@pytest.mark.long
@pytest.mark.parametrize("renames", [True, False])
def test_a_reader_of_iceberg_sees_the_rows_of_a_run_whenever_a_watch_dies(
    tmp_path: Path, renames: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ring(tmp_path / "aside", RAW, 5)
    (tmp_path / "in").mkdir()
    out = tmp_path / "out"
    watched = Watched([str(tmp_path / "in")], out, renames=renames, table_format="iceberg")
    for number, path in enumerate(kept):
        shutil.copy(path, tmp_path / "in" / path.name)
        watched.clock.now += 1
        with watched.started() as watching, monkeypatch.context() as patch:
            if number == 0:  # the watch is killed after its commit, before the tables
                patch.setattr(IcebergLogs, "apply_commit_to_logs", dies)
            elif number == 1:  # after one table
                patch.setattr(IcebergLogs, "_apply_commit_to_log", dies_after_one(IcebergLogs._apply_commit_to_log))
            elif number == 2:  # after the manifests, before metadata that names them
                patch.setattr(FolderCatalog, "_write_metadata", dies)
            if number < 3:
                with pytest.raises(RuntimeError, match="killed"):
                    watching.run_next_batch()
            else:
                assert watching.run_next_batch() is not None
                assert is_the_commit(out)
    watched.finish()
    assert is_the_commit(out)
    run_over([str(tmp_path / "aside")], tmp_path / "run")
    expected = tables_in(tmp_path / "run")
    for table in TABLES:
        assert rows_of(out, table) == shown(expected[table])
        assert shown(tables_in(out)[table]) == shown(expected[table])  # as a reader of plain Parquet sees it
        commits = commits_of(out, table)
        assert max(Counter(commits).values(), default=1) == 1
    assert not any(avro_left(out, table) for table in TABLES)


def avro_left(out: Path, table: str) -> set[str]:
    """The manifests, and manifest lists, that no snapshot names."""
    found = table_of(out, table)
    named = {Path(one.manifest_list).name for one in found.metadata.snapshots}
    named |= {
        Path(manifest.manifest_path).name for one in found.metadata.snapshots for manifest in one.manifests(found.io)
    }
    return {path.name for path in (out / "iceberg" / table / "metadata").glob("*.avro")} - named


@pytest.mark.long
def test_dates_that_are_compacted_or_dropped_are_so_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    out = tmp_path / "out"
    watched = Watched([str(tmp_path / "in")], out, table_format="iceberg")
    with watched.started() as watching:
        for number, _ in enumerate(days(tmp_path / "in", 0, 2, 4)):
            watched.clock.now += 1
            assert watching.run_next_batch() is not None
            if number == 5:  # another process, while the watch runs
                before = rows_of(out, "exchanges")
                assert list(compact_tables(str(out), timedelta(hours=1), 0))
                assert is_the_commit(out)
                assert rows_of(out, "exchanges") == before
    assert is_the_commit(out)
    dates = {str(task.file.partition[0]) for task in table_of(out, "exchanges").scan().plan_files()}
    assert len(dates) == 3
    list(compact_tables(str(out), timedelta(hours=1), 3))
    assert is_the_commit(out)
    assert len({str(task.file.partition[0]) for task in table_of(out, "exchanges").scan().plan_files()}) == 2


@pytest.mark.long
def test_old_snapshots_are_dropped_with_their_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iceberg_metadata_writer, "_KEPT", 3)
    kept = ring(tmp_path / "aside", RAW, 8)
    (tmp_path / "in").mkdir()
    out = tmp_path / "out"
    watched = Watched([str(tmp_path / "in")], out, table_format="iceberg")
    with watched.started() as watching:
        for path in kept:
            shutil.copy(path, tmp_path / "in" / path.name)
            watched.clock.now += 1
            assert watching.run_next_batch() is not None
    assert commits_of(out, "connections") == ["6", "7", "8"]
    assert not avro_left(out, "connections")
    assert len(list((out / "iceberg" / "connections" / "metadata").glob("v*.json"))) == 4
    assert is_the_commit(out)


@pytest.mark.long
def test_a_table_that_was_moved_gets_new_metadata(tmp_path: Path) -> None:
    ring(tmp_path / "in", RAW, 2)
    watched = Watched([str(tmp_path / "in")], tmp_path / "out", table_format="iceberg")
    assert watched.read()
    before = rows_of(tmp_path / "out", "exchanges")
    (tmp_path / "out").rename(tmp_path / "moved")
    other = Watched([str(tmp_path / "in")], tmp_path / "moved", table_format="iceberg")
    assert other.read() == 0
    assert is_the_commit(tmp_path / "moved")
    assert rows_of(tmp_path / "moved", "exchanges") == before
    with pytest.raises(Failure, match="cannot be in a folder"):
        Watched([str(tmp_path / "in")], tmp_path / "out#1", table_format="iceberg").read()


@pytest.mark.parametrize(("name", "package"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_without_the_package_one_line_names_the_extra(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there: dict[str, Any] = {package: None}
    monkeypatch.setattr(batch_store, "find_spec", lambda asked: there.get(asked, True))
    with pytest.raises(Failure, match=re.escape(f"{package}, which is not installed: {pip_command_for_extra(name)}")):
        batch_store.require_package_of_log_format(name)
    batch_store.require_package_of_log_format("parquet")
