"""A folder whose tables grow batch by batch: each batch is in them whole or not at all, whenever a process is killed.

    _kw/commits/N.json   commit N: all files of all tables, and what the next batch goes on from
    _kw/states/          what is open: the state of the connections of each capture point
    _kw/staging/ID/      files of a batch that is not committed
    _kw/lock             held by the writer of batches; _kw/commit.lock: held to commit, by a compaction too

A batch is committed once its commit file is there: of the whole commit files the one with the highest number counts. It
names the files of all tables under their final names, and the files still to be renamed from staging (or, where a
partition was rewritten, the folders to be swapped). The next process that opens the folder does the steps that are
left: each of them may have happened already. Files that no commit names are deleted.

Where renames are not atomic, `renames` is off, and files are written under their final names. A commit file is never
written twice under one name, so that a half-written one is known by its content, and the one before counts.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.named_tuple import NamedTuple
from kwcli import VERSION
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.store.finish_commits import COMMIT_LOCK, COMMITS, finish_steps_of_commit, read_newest_commit
from kwcli.pipeline.store.output_folder import PARTIAL, Lock, OutputFolder, require_local_folder
from kwcli.pipeline.store.replace_folders_of_tables import (
    LOCK,
    MANIFEST,
    find_older_files,
    os_errors_as_failures,
    refuse_foreign_folder,
    write_folder_mark,
)
from kwcli.pipeline.store.staging_folder import CONTROL, STAGING, Staging
from kwcli.pipeline.store.tables_manifest import Manifest, WrittenTable, normalize_by_json
from kwcli.pipeline.tables.split_by_table_and_date import EPOCH
from kwcli.pipeline.tables.table_columns import ALL_TABLES
from kwcli.pipeline.tables.upgrade_table_rows import refuse_newer_tables
from kwcli.pipeline.tables.write_parquet import TableWriter, WrittenFile
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.pipeline.store.table_log_writer import TableLogs

__all__ = [
    "PARQUET",
    "BatchStaging",
    "BatchStore",
    "Change",
    "open_batch_store",
    "parse_date_of_path",
    "require_package_of_log_format",
]

# Formats of tables: plain files, or files with a log that other readers know.
PARQUET: Final = "parquet"
# Formats with logs → the package that writes them, and the module and class here. Each has an extra of its name.
_LOGS: Final = {
    "delta": ("deltalake", "delta_log_writer", "DeltaLogs"),
    "iceberg": ("pyiceberg", "iceberg_metadata_writer", "IcebergLogs"),
}
DELTA_LOG: Final = "_delta_log"
STATES: Final = f"{CONTROL}/states"
# Commits that are kept: the newest, and the one before in case the newest turns out not to be whole.
_KEPT: Final = 2
# Files of tables that a batch or a compaction has written.
_OURS: Final = re.compile(r"[a-z_]+/date=[^/]+/(?:batch|compact)-[^/]+\.parquet")
_COMMIT_WAIT_S: Final = 60.0


class BatchStaging(Staging):
    """The files of one batch; with `renames` off they are written where they stay."""

    def __init__(self, files: OutputFolder, batch: int, *, renames: bool) -> None:
        super().__init__(files, f"batch-{batch:09}-{uuid.uuid4().hex[:8]}")
        self.batch = batch
        self.renames = renames

    def make_writer(self, tables: Iterable[str]) -> TableWriter:
        """A writer for one attempt at one task."""
        if self.renames:
            return super().make_writer(frozenset(tables))
        return TableWriter(self.files.open_new, frozenset(tables), f"batch-{self.batch:09}-")

    def write_state(self, data: bytes) -> str:
        """Write a state to a file of its own, and give its path; readers know the file only by the commit."""
        path = f"{STATES}/{self.batch:09}-{uuid.uuid4().hex}"
        with self.files.open_new(path) as file:
            file.write(data)
        return path


class Change(NamedTuple):
    """What a commit changes. `files` are added to the tables, by their names in staging; files in `gone` leave them.

    `swaps` has for each rewritten partition its new folder, the folder to be replaced, and a file only the new one has.
    """

    files: Sequence[WrittenFile] = ()
    gone: frozenset[str] = frozenset()
    swaps: Sequence[tuple[str, str, str]] = ()


class BatchStore:
    """A folder of tables that batches are added to."""

    def __init__(
        self, files: OutputFolder, name: str, *, renames: bool = True, table_format: str | None = None
    ) -> None:
        self.files = files
        self.name = name
        self.renames = renames
        self.recovered = ""  # what became of a batch that was interrupted, in words
        self._lock = Lock(files.full_path(LOCK))
        self._table_format = table_format  # None: the format of the commits that are there
        self._logs: TableLogs[Any] | None = None

    # -- opening -------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make the folder where it is missing, take its lock, end an interrupted batch. Raises Failure."""
        refuse_foreign_folder(self.files, self.name)
        self.files.create_folder(CONTROL)
        self._lock.acquire_or_fail(self.name)
        try:
            if self.files.exists(MANIFEST):
                raise Failure(
                    f"{self.name}: has tables of kw pipeline run, which are replaced whole: use another folder"
                )
            write_folder_mark(self.files)
            for path in (COMMITS, STATES):
                self.files.create_folder(path)
            self.finish_or_delete_last_batch()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Release the lock, so that others may write."""
        self._lock.release()

    def finish_or_delete_last_batch(self) -> None:
        """Finish a batch that was committed, delete the files of a batch that was not."""
        with self._hold_commit_lock():
            staged = self.files.list_names(STAGING)
            value = self.read_newest_commit()
            if finish_steps_of_commit(self.files, value):
                self.recovered = "an interrupted batch was committed: its tables are in place now"
            elif staged:
                self.recovered = "the remains of an interrupted batch were deleted: the batch is done again"
            self.find_older_files(value)  # a file that cannot be read with those to come fails before any is added
            self._apply_commit_to_logs(value)
            self.files.remove(STAGING)
            self._delete_old_commits()

    # -- what is there -------------------------------------------------------------------------------------------------

    def read_newest_commit(self) -> dict[str, Any] | None:
        """The commit that counts; None before the first one. Raises NewerTables where a later kw wrote it."""
        value = read_newest_commit(self.files)
        refuse_newer_tables((value or {}).get("tables_version"), self.name)
        return value

    def find_older_files(self, value: Mapping[str, Any] | None) -> dict[str, int]:
        """The files of a commit that an earlier version of the tables wrote, each with its version.

        Failure where a file lacks another column: a commit without a version was made without this check.
        """
        if value is None:
            return {}
        manifest = Manifest.from_json(value)
        return {
            path: version
            for table in manifest.tables
            for path, version in find_older_files(self.files, manifest, table, self.name).items()
        }

    def find_files_of_dates_before(self, day: date) -> frozenset[str]:
        """The files of tables with rows of dates before `day`; a file without rows has no date."""
        value = self.read_newest_commit()
        found = value["sizes"] if value is not None else {}
        return frozenset(path for path in found if EPOCH < parse_date_of_path(path) < day)

    def start_staging(self, batch: int) -> BatchStaging:
        """The staging of a batch; its folder is made."""
        staging = BatchStaging(self.files, batch, renames=self.renames)
        self.files.create_folder(staging.folder)
        return staging

    # -- a commit ------------------------------------------------------------------------------------------------------

    def commit_batch(
        self,
        staging: BatchStaging,
        change: Change,
        *,
        watch: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        tables: Iterable[str],
        facts: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Commit a batch: add its files to the tables, and `watch`, from which the next batch goes on; the commit."""
        moves: list[tuple[str, str]] = []
        placed: list[WrittenFile] = []
        for number, file in enumerate(sorted(change.files)):
            if self.renames:
                path = f"{file.table}/date={file.date}/batch-{staging.batch:09}-{number}.parquet"
                moves.append((f"{staging.tasks}/{file.path}", path))
                placed.append(file._replace(path=path))
            else:
                placed.append(file)
        with self._hold_commit_lock():
            return self._write_commit(
                change._replace(files=placed), moves, watch=watch, options=options, tables=tables, facts=facts
            )

    def _write_commit(
        self,
        change: Change,
        moves: Sequence[tuple[str, str]],
        *,
        watch: Mapping[str, Any] | None,
        options: Mapping[str, Any] | None = None,
        tables: Iterable[str] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Write the next commit, which changes the tables of the newest one, and do its steps; the commit.

        Arguments that are None stay as in the newest commit.
        """
        before = self.read_newest_commit()
        finish_steps_of_commit(self.files, before)  # steps that its writer was killed before
        number = 1 if before is None else before["commit"] + 1
        manifest = None if before is None else Manifest.from_json(before)
        sizes = dict(before["sizes"]) if before is not None else {}
        older = self.find_older_files(before)
        for path in change.gone:
            sizes.pop(path, None)
            older.pop(path, None)
        for file in change.files:
            sizes[file.path] = [file.table, file.rows, file.size]
        names = [name for name in ALL_TABLES if name in set(tables or (manifest.tables if manifest else ()))]
        made = Manifest(
            VERSION,
            f"commit-{number}",
            (),
            normalize_by_json(dict(options)) if options is not None else manifest.options if manifest else {},
            _build_written_tables(sizes, names),
            normalize_by_json(dict(facts)) if facts is not None else manifest.facts if manifest else {},
            older=older,
        )
        value = {
            **made.to_json(),
            "commit": number,
            "renames": self.renames,
            "table_format": self._table_format or (before or {}).get("table_format", PARQUET),
            "sizes": sizes,
            "moves": [list(move) for move in moves],
            "swaps": [list(swap) for swap in change.swaps],
            "gone": sorted(change.gone),
            "watch": normalize_by_json(dict(watch)) if watch is not None else (before or {}).get("watch"),
        }
        path = f"{COMMITS}/{number:012}.json"
        if self.renames:
            self.files.replace(path, orjson.dumps(value))
        else:
            self.files.unlink(path)  # one that was never whole
            with self.files.open_new(path) as stream:
                stream.write(orjson.dumps(value))
            self.files.sync(COMMITS)
        finish_steps_of_commit(self.files, value)
        self._apply_commit_to_logs(value)
        self._delete_old_commits()
        return value

    def _apply_commit_to_logs(self, value: Mapping[str, Any] | None) -> None:
        """Bring the logs of another table format to the state of a commit."""
        name = PARQUET if value is None else value.get("table_format", PARQUET)
        if value is None or name == PARQUET:
            return
        if self._logs is None:
            require_package_of_log_format(name)
            _, module, made = _LOGS[name]
            self._logs = getattr(import_module(f"kwcli.pipeline.store.{module}"), made)(self.files)
        self._logs.apply_commit_to_logs(value)

    def commit_rewrite(self, change: Change) -> dict[str, Any]:
        """Commit a change that is no batch: a compaction, or dropped dates; the caller is in `hold_commit_lock`."""
        return self._write_commit(change, (), watch=None)

    @contextmanager
    def hold_commit_lock(self) -> Iterator[None]:
        """Hold the commit lock. Raises Failure where another process holds it for long."""
        with self._hold_commit_lock():
            yield

    @contextmanager
    def _hold_commit_lock(self) -> Iterator[None]:
        lock = Lock(self.files.full_path(COMMIT_LOCK))
        lock.wait(self.name, _COMMIT_WAIT_S)
        try:
            yield
        finally:
            lock.release()

    def _delete_old_commits(self) -> None:
        """Delete commits that do not count any more."""
        names = [name for name in self.files.list_names(COMMITS) if name.endswith(".json")]
        for name in names[:-_KEPT]:
            self.files.unlink(f"{COMMITS}/{name}")
        for name in self.files.list_names(COMMITS):
            if name.endswith(PARTIAL):
                self.files.unlink(f"{COMMITS}/{name}")

    def delete_unnamed_states(self, named: Iterable[str]) -> None:
        """Delete the files of states that are not in `named`."""
        kept = set(named)
        for name in self.files.list_names(STATES):
            if f"{STATES}/{name}" not in kept:
                self.files.unlink(f"{STATES}/{name}")

    def delete_uncommitted_files(self) -> None:
        """Delete files in tables that were written and never committed."""
        with self._hold_commit_lock():
            value = self.read_newest_commit()
            known = set(value["sizes"]) if value is not None else set()
            for table in ALL_TABLES:
                for path in self.files.list_files_below(table):
                    if path.startswith(f"{table}/{DELTA_LOG}/"):
                        continue
                    if path not in known and _OURS.fullmatch(path):
                        self.files.unlink(path)
                    elif path not in known and not path.rpartition("/")[2].startswith((".", "_")):
                        raise Failure(f"{self.name}: {path} is not from kw; take it out, or use another folder")


def parse_date_of_path(path: str) -> date:
    """The date whose rows a file of a table has."""
    return date.fromisoformat(path.partition("/date=")[2].partition("/")[0])


def _build_written_tables(sizes: Mapping[str, Sequence[Any]], names: Iterable[str]) -> dict[str, WrittenTable]:
    found: dict[str, list[tuple[str, int, int]]] = {name: [] for name in names}
    for path, (table, rows, size) in sizes.items():
        found.setdefault(table, []).append((path, rows, size))
    return {
        name: WrittenTable(
            sum(rows for _, rows, _ in its), sum(size for _, _, size in its), tuple(sorted(path for path, _, _ in its))
        )
        for name, its in found.items()
    }


def require_package_of_log_format(name: str) -> None:
    """Failure where the package that writes the logs of this format is not installed."""
    if name in _LOGS and find_spec(_LOGS[name][0]) is None:
        raise Failure(
            f"tables of {name.title()} need {_LOGS[name][0]}, which is not installed: {pip_command_for_extra(name)}"
        )


@contextmanager
def open_batch_store(place: str, *, renames: bool, table_format: str | None = None) -> Iterator[BatchStore]:
    """The store of a folder, for one watch. Raises Failure."""
    store = BatchStore(OutputFolder(require_local_folder(place)), place, renames=renames, table_format=table_format)
    with os_errors_as_failures(place):
        store.open()
        try:
            yield store
        finally:
            store.close()
