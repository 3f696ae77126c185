"""A folder in, its tables replaced whole or not at all: `DIR/TABLE/date=…/*.parquet` beside `DIR/_kw`.

    _kw/kw.json          says that the folder is kw's, and in which format
    _kw/lock             held by the process that writes to it
    _kw/manifest.json    what the tables cover
    _kw/staging/RUN/     files of a run that is not over
    _kw/journal.json     the run is over; its tables are being put in place

A run is over once the journal is there. The next process that opens the folder and finds a journal goes on where the
run stopped: it renames each table's folder into `old`, the new one into its place, each if that has not happened yet,
then the manifest: a full disk stops none of these steps. Without a journal the files in staging are deleted, and the
tables are those of before.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import orjson

from kwcli import VERSION
from kwcli.pipeline.store.finish_commits import COMMITS, finish_newest_commit, read_newest_commit
from kwcli.pipeline.store.output_folder import PARTIAL, Lock, OutputFolder, require_local_folder
from kwcli.pipeline.store.staging_folder import CONTROL, STAGING, Staging
from kwcli.pipeline.store.tables_manifest import (
    FORMAT,
    CoveredCapture,
    Manifest,
    SourceLike,
    group_files_by_table,
    normalize_by_json,
)
from kwcli.pipeline.tables.table_columns import ALL_TABLES, TABLES_VERSION
from kwcli.pipeline.tables.upgrade_table_rows import read_file_version, refuse_newer_tables
from kwcli.pipeline.tables.write_parquet import WrittenFile
from kwcli.run_environment import Failure

MARK: Final = f"{CONTROL}/kw.json"
LOCK: Final = f"{CONTROL}/lock"
MANIFEST: Final = f"{CONTROL}/manifest.json"
JOURNAL: Final = f"{CONTROL}/journal.json"
# What `_kw` may hold before it is marked.
_UNMARKED: Final = frozenset({"lock", "kw.json" + PARTIAL})


class TableStore:
    """A folder of tables, locked for writing from `open` to `close`."""

    def __init__(self, files: OutputFolder, name: str) -> None:
        self.files = files
        self.name = name  # as the user calls it
        self.recovered = ""  # what became of a run that was interrupted, in words
        self._lock = Lock(files.full_path(LOCK))

    # -- opening -------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make the folder where it is missing, take its lock, end an interrupted run.

        Raises Failure where the folder is something else, or another run has it.
        """
        refuse_foreign_folder(self.files, self.name)
        self.files.create_folder(CONTROL)
        self._lock.acquire_or_fail(self.name)
        try:
            if self.files.list_names(COMMITS):
                raise Failure(f"{self.name}: its tables are those of kw pipeline watch: use another folder")
            write_folder_mark(self.files)
            self.recovered = finish_or_delete_interrupted_run(self.files, self.name)
            self._refuse_foreign_files()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Release the lock, so that others may write."""
        self._lock.release()

    def _refuse_foreign_files(self) -> None:
        """Raises Failure for a foreign file in a table's folder, which every reader would take for a part of the table.

        Files that all readers pass over (`.name`, `_name`) do no harm.
        """
        manifest = self.read_manifest()
        known = {path for table in manifest.tables.values() for path in table.files} if manifest else set()
        for table in ALL_TABLES:
            for path in self.files.list_files_below(table):
                if path not in known and not path.rpartition("/")[2].startswith((".", "_")):
                    raise Failure(f"{self.name}: {path} is not from kw; take it out, or use another folder")

    # -- what is there -------------------------------------------------------------------------------------------------

    def read_manifest(self) -> Manifest | None:
        """What the tables cover; None before the first run is over. Raises Failure where it cannot be read."""
        return read_manifest(self.files, self.name)

    def are_all_files_there(self, manifest: Manifest) -> bool:
        """Whether all files of the tables are there, and as long as they were."""
        return all(
            sum(self.files.size(path) or 0 for path in table.files) == table.size for table in manifest.tables.values()
        )

    def is_up_to_date(self, sources: Iterable[SourceLike], options: Mapping[str, Any]) -> bool:
        """Whether the tables are what a run of this program over these sources would leave."""
        manifest = self.read_manifest()
        return (
            manifest is not None
            and manifest.kw == VERSION
            and manifest.options == normalize_by_json(dict(options))
            and set(manifest.sources) == set(map(_make_covered_capture, sources))
            and self.are_all_files_there(manifest)
            and not self._were_tables_written_by_other_version(manifest)
        )

    def _were_tables_written_by_other_version(self, manifest: Manifest) -> bool:
        """Whether another version of the tables wrote these; a file that cannot be read counts as such."""
        try:
            return any(find_older_files(self.files, manifest, table, self.name) for table in manifest.tables)
        except Failure:
            return True

    # -- a run ---------------------------------------------------------------------------------------------------------

    def start_staging(self) -> Staging:
        """The staging of a new run; its folder is made."""
        staging = Staging(self.files, uuid.uuid4().hex)
        self.files.create_folder(staging.folder)
        return staging

    def commit(
        self,
        staging: Staging,
        written: Iterable[WrittenFile],
        *,
        sources: Iterable[SourceLike],
        options: Mapping[str, Any],
        tables: Iterable[str],
        facts: Mapping[str, Any],
    ) -> Manifest:
        """Make these files the tables, in place of all that were there."""
        names = [name for name in ALL_TABLES if name in set(tables)]
        listed = [*written]
        listed += write_empty_files(staging, {*names} - {file.table for file in listed})
        staging.move_into_tables(listed)
        for name in names:
            self.files.sync_tree(f"{staging.tables}/{name}")
        self.files.sync(staging.tables)
        found = group_files_by_table(listed, names)
        manifest = Manifest(
            VERSION,
            staging.run,
            tuple(sorted(map(_make_covered_capture, sources))),
            normalize_by_json(dict(options)),
            found,
            normalize_by_json(dict(facts)),
        )
        self.files.replace(f"{staging.folder}/manifest.json", _dump_json(manifest.to_json()))
        journal = {"format": FORMAT, "run": staging.run, "tables": names, "tables_version": manifest.version}
        self.files.replace(JOURNAL, _dump_json(journal))
        put_tables_in_place(self.files, {"run": staging.run, "tables": names})
        self.files.remove(STAGING)
        return manifest

    def delete_failed_run(self) -> None:
        """Delete the files of a run that failed, unless it was over but for putting its tables in place."""
        if not self.files.exists(JOURNAL):
            self.files.remove(STAGING)


def write_folder_mark(files: OutputFolder) -> None:
    """Write the file that says that a folder is kw's, and in which format."""
    if files.read(MARK) is None:
        files.replace(MARK, _dump_json({"kw": VERSION, "format": FORMAT, "holds": "tables of kw pipeline"}))


def put_tables_in_place(files: OutputFolder, journal: Mapping[str, Any]) -> None:
    """Put the new tables and the manifest in place, as the journal says; every step may have happened already."""
    staging = Staging(files, journal["run"])
    files.create_folder(staging.old)
    for name in ALL_TABLES:
        new, old = f"{staging.tables}/{name}", f"{staging.old}/{name}"
        wanted = name in journal["tables"]
        if files.exists(name) and (files.exists(new) or not wanted):
            files.rename(name, old)
        if wanted and files.exists(new):
            files.rename(new, name)
    files.sync("")
    if files.exists(f"{staging.folder}/manifest.json"):
        files.rename(f"{staging.folder}/manifest.json", MANIFEST)
    files.sync(CONTROL)
    files.unlink(JOURNAL)
    files.sync(CONTROL)


def finish_or_delete_interrupted_run(files: OutputFolder, name: str) -> str:
    """Finish an interrupted run or delete its files, and say so (in words); the caller holds the lock."""
    said = ""
    journal = read_json_file(files, JOURNAL, name)
    if journal is not None:
        put_tables_in_place(files, journal)
        said = "an interrupted run had finished its tables: they are in place now"
    elif files.list_names(STAGING):
        said = "the remains of an interrupted run were deleted"
    files.remove(STAGING)
    return said


def write_empty_files(staging: Staging, tables: Iterable[str]) -> list[WrittenFile]:
    """Write a file without rows for each of these tables, so that a reader finds the columns of an empty table."""
    names = sorted(tables)
    with staging.make_writer(names) as writer:
        for name in names:
            writer.create_empty_file(name)
        return writer.close()


def refuse_foreign_folder(files: OutputFolder, name: str) -> None:
    """Raises Failure where the folder is something else than kw's, or from a later kw."""
    if not files.exists(""):
        return
    if not files.is_folder(""):
        raise Failure(f"{name}: not a folder")
    mark = read_json_file(files, MARK, name)
    if mark is None:
        strange = [entry for entry in files.list_names("") if entry != CONTROL]
        strange += [f"{CONTROL}/{entry}" for entry in files.list_names(CONTROL) if entry not in _UNMARKED]
        if strange:
            raise Failure(f"{name}: not empty ({strange[0]}) and no folder of tables; use another one")
    elif not isinstance(mark.get("format"), int) or mark["format"] > FORMAT:
        raise Failure(f"{name}: written by a later kw ({mark.get('kw')}); use that one, or another folder")
    found: list[Mapping[str, Any]] = [read_newest_commit(files) or {}]
    for path in (MANIFEST, JOURNAL):
        with suppress(Failure):  # its reader tells of a damaged one
            found.append(read_json_file(files, path, name) or {})
    for value in found:
        refuse_newer_tables(value.get("tables_version"), name)


def find_older_files(files: OutputFolder, manifest: Manifest, table: str, name: str) -> dict[str, int]:
    """The files of a table that an earlier version of the tables wrote, each with its version.

    Failure where only the files themselves say which columns they have, and a column is missing.
    """
    paths = manifest.tables[table].files
    if manifest.version is None:
        found = {path: read_file_version(table, files.full_path(path), f"{name}/{table}") for path in paths}
    else:
        found = {path: manifest.older.get(path, manifest.version) for path in paths}
    return {path: version for path, version in found.items() if version < TABLES_VERSION}


def read_json_file(files: OutputFolder, path: str, name: str) -> dict[str, Any] | None:
    """The JSON object in a file of the folder; None where there is no file. Raises Failure where it is damaged."""
    data = files.read(path)
    if data is None:
        return None
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise Failure(f"{name}: {path} is damaged; run into another folder")
    return value


def read_manifest(files: OutputFolder, name: str) -> Manifest | None:
    """The manifest of a folder, of its newest commit where it has commits; None without one. Raises Failure."""
    value = read_newest_commit(files) or read_json_file(files, MANIFEST, name)
    if value is None:
        return None
    try:
        refuse_newer_tables(value.get("tables_version"), name)
        return Manifest.from_json(value)
    except (KeyError, TypeError, ValueError):
        raise Failure(f"{name}: {MANIFEST} is damaged; run into another folder") from None


def _make_covered_capture(source: SourceLike) -> CoveredCapture:
    return CoveredCapture(source.point, source.path, source.size, source.fingerprint)


def _dump_json(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@contextmanager
def os_errors_as_failures(name: str) -> Iterator[None]:
    """Turns an OSError into a Failure of one line: no space, no permission, a read-only file system."""
    try:
        yield
    except OSError as error:
        own = require_local_folder(name)
        elsewhere = isinstance(error.filename, str) and not f"{error.filename}/".startswith(f"{own}/")
        raise Failure(f"{error.filename if elsewhere else name}: {(error.strerror or str(error)).lower()}") from None


@contextmanager
def open_store(place: str, files: type[OutputFolder] = OutputFolder) -> Iterator[TableStore]:
    """The store of a folder, for one run. Raises Failure."""
    store = TableStore(files(require_local_folder(place)), place)
    with os_errors_as_failures(place):
        store.open()
        try:
            yield store
        except BaseException:
            with suppress(OSError):
                store.delete_failed_run()
            raise
        finally:
            store.close()


# For readers of tables

# A run that is putting its tables in place needs a moment.
_PATIENCE_S: Final = 10.0
_LOOK_S: Final = 0.05


def find_tables(place: str) -> tuple[str, Manifest]:
    """The folder as an absolute path, and its manifest; a run that was interrupted at its end is finished first.

    Raises Failure where there are no tables, and where they cannot be read.
    """
    files = OutputFolder(require_local_folder(place))
    with os_errors_as_failures(place):
        if not files.exists(""):
            raise Failure(f"{place}: no such folder")
        files.list_names("")  # raises OSError where the folder cannot be listed
        if not files.exists(MARK):
            raise Failure(f"{place}: no tables; kw pipeline run makes them")
        refuse_foreign_folder(files, place)
        _wait_for_whole_tables(files, place)
        manifest = read_manifest(files, place)
        if manifest is None:
            raise Failure(f"{place}: no tables yet; the run that was to make them has not ended")
        until = time.monotonic() + _PATIENCE_S
        while (problem := _find_problem_of_files(files, manifest)) is not None:
            # Between a commit and its files in their places there is a moment.
            if not files.list_names(COMMITS) or time.monotonic() > until:
                raise Failure(f"{place}: {problem}; the same kw pipeline run makes it again")
            finish_newest_commit(files)
            time.sleep(_LOOK_S)
            manifest = read_manifest(files, place) or manifest
    return files.root, manifest


def _find_problem_of_files(files: OutputFolder, manifest: Manifest) -> str | None:
    """What is wrong with the files of the tables, in words; None: nothing."""
    for name, table in manifest.tables.items():
        size = 0
        for path in table.files:
            if (found := files.size(path)) is None:
                return f"{path} is missing"
            size += found
        if size != table.size:
            return f"a file of {name} was changed"
    return None


def _wait_for_whole_tables(files: OutputFolder, place: str) -> None:
    """Wait until no run is putting its tables in place; a run that was killed there is finished."""
    until = time.monotonic() + _PATIENCE_S
    while files.exists(JOURNAL):
        lock = Lock(files.full_path(LOCK))
        if lock.acquire():
            try:
                finish_or_delete_interrupted_run(files, place)
            finally:
                lock.release()
        elif time.monotonic() > until:
            raise Failure(f"{place}: another run ({lock.describe_holder()}) is putting its tables in place")
        else:
            time.sleep(_LOOK_S)
