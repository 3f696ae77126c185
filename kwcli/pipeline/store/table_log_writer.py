"""Commits of a watch in, commits to the logs of another table format out: which files of a table count.

The commit of the batch is the commit that counts. After each commit and at each start, a log gets the changes in which
it differs from that commit. So, even if a process is killed, no file is in a log twice, and none is missing for longer
than until the next start. Each commit of a log has the number of the commit that it follows, as `kw_commit`.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from decoders.named_tuple import NamedTuple
from kwcli.pipeline.store.output_folder import OutputFolder

__all__ = ["LogChange", "TableLogs"]

Log = TypeVar("Log")


class LogChange(NamedTuple):
    """What a log lacks. Paths are relative to the table's folder; `wanted` has rows and bytes of each file."""

    added: Sequence[str]
    gone: Sequence[str]
    wanted: Mapping[str, tuple[int, int]]
    commit: int


class TableLogs(ABC, Generic[Log]):
    """The logs of the tables of one folder; the caller holds the right to commit."""

    name: ClassVar[str]  # of the format
    errors: ClassVar[tuple[type[Exception], ...]]  # that its library raises

    def __init__(self, files: OutputFolder) -> None:
        self._files = files
        self._known: dict[str, tuple[Log, frozenset[str]]] = {}
        self._commit = 0  # the commit that `_known` is of

    def apply_commit_to_logs(self, value: Mapping[str, Any]) -> None:
        """Bring the logs to the state of a commit. Raises OSError; then the next start does it."""
        if value["commit"] != self._commit + 1:  # another process may have committed meanwhile
            self._known.clear()
        wanted: dict[str, dict[str, tuple[int, int]]] = {table: {} for table in value["tables"]}
        for path, (table, rows, size) in value["sizes"].items():
            wanted[table][path.removeprefix(f"{table}/")] = (rows, size)
        try:
            for table, its in wanted.items():
                self._apply_commit_to_log(table, its, value["commit"])
        except Exception as problem:
            self._known.clear()
            if not isinstance(problem, (*self.errors, OSError)):
                raise
            text = f"the log of a table of {self.name} cannot be written: {str(problem).partition(chr(10))[0]}"
            raise OSError(errno.EIO, text, self._files.root) from None
        self._commit = value["commit"]

    def _apply_commit_to_log(self, table: str, wanted: Mapping[str, tuple[int, int]], commit: int) -> None:
        log, known = self._known.get(table) or self._open_log(table)
        its = frozenset(path for path, (rows, _) in wanted.items() if self._is_file_logged(rows))
        if its != known:
            log = self._write_log(table, log, LogChange(sorted(its - known), sorted(known - its), wanted, commit))
        self._known[table] = (log, its)

    def _is_file_logged(self, _rows: int) -> bool:
        """Whether a file of this many rows is named in a log."""
        return True

    @abstractmethod
    def _open_log(self, table: str) -> tuple[Log, frozenset[str]]:
        """The log of a table, made where there is none, and the files that it names."""

    @abstractmethod
    def _write_log(self, table: str, log: Log, change: LogChange) -> Log:
        """Add one commit to a log; the log after it."""
