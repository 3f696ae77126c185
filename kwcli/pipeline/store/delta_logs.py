"""Commits of a watch in, commits of Delta tables out: a log beside the files that are there already.

A Delta table is Parquet files, with dates in the names of folders, and a log of which of them count: what a watch
writes but for the log. So each table gets one, in `TABLE/_delta_log`, which names the same files; no row is written
twice.

What always holds: the commit of the batch is the commit that counts. What a log says is made equal to it, by what the
two differ in, behind each commit and at each start; so whoever dies, no file is in a log twice, and none is missing
for longer than until the next start. Each commit of a log bears the number of the commit that it follows.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from typing import Any, Final

import orjson
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from kwcli.pipeline.store.files import OutputFolder
from kwcli.pipeline.tables.schemas import SCHEMAS

__all__ = ["DeltaLogs"]

# By this name a log says which commit it follows.
_APPLICATION: Final = "kw"
_DATE: Final = pa.field("date", pa.date32())
# A file that compaction has written: its rows were there before.
_COMPACT: Final = "compact-"
# Rows and bytes of files by their paths below the table.
_Files = Mapping[str, tuple[int, int]]


class DeltaLogs:
    """The logs of the tables of one folder; who calls holds the right to commit."""

    def __init__(self, files: OutputFolder) -> None:
        self._files = files
        self._known: dict[str, tuple[DeltaTable, frozenset[str]]] = {}
        self._commit = 0  # the one that `_known` is of

    def follow(self, value: Mapping[str, Any]) -> None:
        """Make the logs say what a commit says. Raises OSError; then the next start does it."""
        if value["commit"] != self._commit + 1:  # another process may have committed meanwhile
            self._known.clear()
        wanted: dict[str, dict[str, tuple[int, int]]] = {table: {} for table in value["tables"]}
        for path, (table, rows, size) in value["sizes"].items():
            wanted[table][path.removeprefix(f"{table}/")] = (rows, size)
        try:
            for table, its in wanted.items():
                self._follow(table, its, value["commit"])
        except (DeltaError, OSError) as problem:
            self._known.clear()
            text = str(problem).partition("\n")[0]
            raise OSError(errno.EIO, f"the log of a Delta table cannot be written: {text}", self._files.root) from None
        self._commit = value["commit"]

    def _follow(self, table: str, wanted: _Files, commit: int) -> None:
        log, known = self._known.get(table) or self._open(table)
        actions = self._actions(table, wanted, known)
        if actions:
            log.create_write_transaction(
                actions,
                "append",
                log.schema(),
                ["date"],
                commit_properties=CommitProperties(
                    custom_metadata={"kw_commit": str(commit)},
                    app_transactions=[Transaction(_APPLICATION, commit)],
                ),
            )
            log.update_incremental()
        self._known[table] = (log, frozenset(wanted))

    def _actions(self, table: str, wanted: _Files, known: frozenset[str]) -> list[AddAction | RemoveAction]:
        """What the log does not say yet; of a date that was compacted no rows have changed."""
        added, gone = sorted(wanted.keys() - known), sorted(known - wanted.keys())
        same = {os.path.dirname(path) for path in added if os.path.basename(path).startswith(_COMPACT)}
        actions: list[AddAction | RemoveAction] = []
        for path in added:
            rows, size = wanted[path]
            written_ms = os.stat(self._files.path(f"{table}/{path}")).st_mtime_ns // 10**6
            day = {"date": os.path.dirname(path).removeprefix("date=")}
            stats = orjson.dumps({"numRecords": rows}).decode()
            actions.append(AddAction(path, size, day, written_ms, os.path.dirname(path) not in same, stats))
        now_ms = time.time_ns() // 10**6
        actions += [RemoveAction(path, os.path.dirname(path) not in same, now_ms) for path in gone]
        return actions

    def _open(self, table: str) -> tuple[DeltaTable, frozenset[str]]:
        place = self._files.path(table)
        if not DeltaTable.is_deltatable(place):
            self._files.make_folder(table)
            schema = Schema.from_arrow(SCHEMAS[table].append(_DATE))
            return DeltaTable.create(place, schema, partition_by=["date"]), frozenset()
        log = DeltaTable(place)
        return log, frozenset(pa.table(log.get_add_actions(flatten=True))["path"].to_pylist())
