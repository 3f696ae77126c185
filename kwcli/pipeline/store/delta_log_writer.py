"""Commits of a watch in, commits of Delta tables out: a log beside the files that are there already.

A Delta table is Parquet files, with dates in the names of folders, and a log of the files that count. A watch writes
all of that but the log. So each table gets a log, in `TABLE/_delta_log`, which names the same files; no row is written
twice. table_log_writer.py says what always holds.
"""

from __future__ import annotations

import os
import time
from typing import Final

import orjson
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from kwcli.pipeline.store.table_log_writer import LogChange, TableLogs
from kwcli.pipeline.tables.arrow_schemas import SCHEMAS

__all__ = ["DeltaLogs"]

# The application in whose name a log has the number of the commit that it follows.
_APPLICATION: Final = "kw"
_DATE: Final = pa.field("date", pa.date32())
# A file that compaction has written: its rows were there before.
_COMPACT: Final = "compact-"


class DeltaLogs(TableLogs[DeltaTable]):
    """The Delta log of each table, in `TABLE/_delta_log`."""

    name = "Delta"
    errors = (DeltaError,)

    def _write_log(self, table: str, log: DeltaTable, change: LogChange) -> DeltaTable:
        log.create_write_transaction(
            self._build_file_actions(table, change),
            "append",
            log.schema(),
            ["date"],
            commit_properties=CommitProperties(
                custom_metadata={"kw_commit": str(change.commit)},
                app_transactions=[Transaction(_APPLICATION, change.commit)],
            ),
        )
        log.update_incremental()
        return log

    def _build_file_actions(self, table: str, change: LogChange) -> list[AddAction | RemoveAction]:
        """The actions that the log lacks; for a date that was compacted, they say that no rows have changed."""
        same = {os.path.dirname(path) for path in change.added if os.path.basename(path).startswith(_COMPACT)}
        actions: list[AddAction | RemoveAction] = []
        for path in change.added:
            rows, size = change.wanted[path]
            written_ms = os.stat(self._files.full_path(f"{table}/{path}")).st_mtime_ns // 10**6
            day = {"date": os.path.dirname(path).removeprefix("date=")}
            stats = orjson.dumps({"numRecords": rows}).decode()
            actions.append(AddAction(path, size, day, written_ms, os.path.dirname(path) not in same, stats))
        now_ms = time.time_ns() // 10**6
        actions += [RemoveAction(path, os.path.dirname(path) not in same, now_ms) for path in change.gone]
        return actions

    def _open_log(self, table: str) -> tuple[DeltaTable, frozenset[str]]:
        place = self._files.full_path(table)
        if not DeltaTable.is_deltatable(place):
            self._files.create_folder(table)
            schema = Schema.from_arrow(SCHEMAS[table].append(_DATE))
            return DeltaTable.create(place, schema, partition_by=["date"]), frozenset()
        log = DeltaTable(place)
        there = {field.name for field in log.schema().fields}
        # Files that are there lack the column, so that it may be null, whatever it is in files to come.
        later = [field.with_nullable(True) for field in SCHEMAS[table] if field.name not in there]
        if later:
            log.alter.add_columns(list(Schema.from_arrow(pa.schema(later)).fields))
        return log, frozenset(pa.table(log.get_add_actions(flatten=True))["path"].to_pylist())
