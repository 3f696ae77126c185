"""The many small files of a date in, a few large ones out, while batches are added and tables are read.

Each batch of a watch is a file of each table. When a date is over, and hardly more rows of it come, its files are
written anew as one, aside; then its folder is swapped for the new one, in one step where the file system can. The files
of a batch that was committed meanwhile are in both folders. A process that is killed before the commit has changed
nothing.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow.parquet as pq

from decoders.named_tuple import NamedTuple
from kwcli.pipeline.store.batch_store import BatchStore, Change, parse_date_of_path
from kwcli.pipeline.store.finish_commits import finish_steps_of_commit
from kwcli.pipeline.store.output_folder import Lock, OutputFolder, require_local_folder
from kwcli.pipeline.store.staging_folder import CONTROL
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS
from kwcli.pipeline.tables.split_by_table_and_date import EPOCH
from kwcli.pipeline.tables.upgrade_table_rows import add_missing_columns, find_version_of_columns
from kwcli.pipeline.tables.write_parquet import TableWriter, WrittenFile
from kwcli.run_environment import Failure

__all__ = ["Compacted", "compact_tables"]

COMPACTING: Final = f"{CONTROL}/compacting"
COMPACT_LOCK: Final = f"{CONTROL}/compact.lock"
# Rows read at a time.
_BATCH: Final = 1 << 14


class Compacted(NamedTuple):
    """One date of a table: how many files it had, how many it has, bytes before and after."""

    table: str
    day: date
    files: int
    now: int
    size: int
    size_now: int


def compact_tables(place: str, lateness: timedelta, keep_days: int) -> Iterator[Compacted]:
    """Compact all dates that ended `lateness` or more before the latest packet; drop dates beyond `keep_days`.

    Raises Failure and OSError.
    """
    files = OutputFolder(require_local_folder(place))
    store = BatchStore(files, place)
    value = store.read_newest_commit()
    if value is None:
        raise Failure(f"{place}: no tables of kw pipeline watch; those of kw pipeline run are compact")
    lock = Lock(files.full_path(COMPACT_LOCK))
    lock.acquire_or_fail(place)
    try:
        with store.hold_commit_lock():
            finish_steps_of_commit(files, store.read_newest_commit())
            store.find_older_files(store.read_newest_commit())  # a file that cannot be read fails before any is written
        files.remove(COMPACTING)
        latest = datetime.fromtimestamp(value["facts"]["last_ns"] // 10**9, UTC)
        if keep_days:
            with store.hold_commit_lock():
                gone = store.find_files_of_dates_before((latest - timedelta(days=keep_days)).date())
                if gone:
                    store.commit_rewrite(Change(gone=gone))
        end = (latest - lateness).date()
        for (table, day), paths in sorted(_group_files_by_date(store.read_newest_commit() or {}).items()):
            if day < end and len(paths) > 1:
                done = _compact_date(store, table, day, paths, renames=value.get("renames", True))
                if done is not None:
                    yield done
        files.remove(COMPACTING)
    finally:
        lock.release()


def _group_files_by_date(value: Mapping[str, Any]) -> dict[tuple[str, date], list[str]]:
    found: dict[tuple[str, date], list[str]] = {}
    for path, (table, _, _) in sorted(value["sizes"].items()):
        if parse_date_of_path(path) != EPOCH:
            found.setdefault((table, parse_date_of_path(path)), []).append(path)
    return found


def _compact_date(store: BatchStore, table: str, day: date, paths: list[str], *, renames: bool) -> Compacted | None:
    """Compact one date of a table; None where the date was dropped meanwhile."""
    files = store.files
    folder = f"{COMPACTING}/{uuid.uuid4().hex}"
    prefix = f"{folder}/" if renames else ""
    columns = SCHEMAS[table].names
    with TableWriter(lambda path: files.open_new(f"{prefix}{path}"), (table,), "compact-") as writer:
        for path in paths:
            with pq.ParquetFile(files.full_path(path)) as source:
                find_version_of_columns(table, source.schema_arrow, f"{store.name}/{table}")
                foreign = set(source.schema_arrow.names) - set(columns)
                if foreign:  # their values would be lost
                    raise Failure(f"{store.name}: {path} has a column {min(foreign)} that is not from kw")
                for batch in source.iter_batches(_BATCH):
                    writer.write_table(table, add_missing_columns(table, batch, columns))
        made = writer.close()
    partition = f"{table}/date={day}"
    if any(os.path.dirname(file.path) != partition for file in made):
        raise Failure(f"{store.name}: {partition} has rows of other dates: it was changed")
    with store.hold_commit_lock():
        value = store.read_newest_commit() or {}
        sizes = value["sizes"]
        if not set(paths) <= set(sizes):
            return None  # dropped meanwhile
        before = sum(sizes[path][2] for path in paths)
        swaps: list[tuple[str, str, str]] = []
        if renames:
            new = f"{folder}/{partition}"
            for path in sizes:
                if os.path.dirname(path) == partition and path not in set(paths):
                    _link_or_copy_file(files, path, f"{new}/{os.path.basename(path)}")
            files.sync(new)
            swaps.append((new, partition, os.path.basename(made[0].path)))
        store.commit_rewrite(Change(made, frozenset(paths), swaps))
    return Compacted(table, day, len(paths), len(made), before, _sum_file_sizes(made))


def _sum_file_sizes(files: list[WrittenFile]) -> int:
    return sum(file.size for file in files)


def _link_or_copy_file(files: OutputFolder, path: str, to: str) -> None:
    """Link a file to a second name, or copy it where the file system has no links."""
    try:
        os.link(files.full_path(path), files.full_path(to))
    except OSError:
        shutil.copyfile(files.full_path(path), files.full_path(to))
        files.sync(to)
