"""A watch of captures that grow step by step, and its tables against those of a run over all files."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kwcli.pipeline.run_options import RunOptions, WatchOptions
from kwcli.pipeline.run_pipeline import run_pipeline
from kwcli.pipeline.store.batch_store import open_batch_store
from kwcli.pipeline.tables.table_columns import TABLES
from kwcli.pipeline.watch.decode_batch import BatchInput, TaskReport, decode_points
from kwcli.pipeline.watch.watch_captures import Watch
from kwcli.run_environment import Environment
from tests.pipeline.jobs import rows_in

# Columns with the name of a file, which is in another folder here.
FILE_COLUMNS: Final = ("source_file", "request_end_file", "response_file", "response_end_file")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def options(sources: list[str], out: Path, *points: tuple[str, str], **more: Any) -> RunOptions:
    """The options of `kw pipeline run`, or of a watch."""
    asked: dict[str, Any] = {
        "since_ns": None,
        "until_ns": None,
        "filter": "",
        "ports": (),
        "tables": tuple(TABLES),
        "bodies": False,
        "reveal_secrets": False,
        "engine": "local",
        "master": None,
        "split_size": None,
        "strict": False,
        "explain": False,
        "verbose": 0,
        "quiet": True,
    }
    return RunOptions(tuple(sources), points, str(out), **(asked | more))


def _environment(stderr: io.BytesIO, stdout: io.BytesIO | None = None, **more: Any) -> Environment:
    return Environment(stdin=io.BytesIO(), stdout=stdout or io.BytesIO(), stderr=stderr, variables={}, **more)


class Watched:
    """A watch in this process, a batch at a time; `said` is its standard error, `written` its standard output."""

    def __init__(
        self, sources: list[str], out: Path, *points: tuple[str, str], keylogs: tuple[str, ...] = (), **more: Any
    ) -> None:
        self.out = out
        self.clock = Clock()
        self.reports: list[TaskReport] = []
        self._error = io.BytesIO()
        self._output = io.BytesIO()
        of_rows = {name: more.pop(name) for name in ("bodies", "records", "schemas", "quiet") if name in more}
        self._asked = options(sources, out, *points, keylogs=keylogs, **of_rows)
        self._wanted = WatchOptions(**({"lateness_s": 0.0, "interval_s": 0.0} | more))
        self._env = _environment(self._error, self._output, monotonic=self.clock)

    @property
    def said(self) -> str:
        """All lines on standard error so far."""
        return self._error.getvalue().decode()

    @property
    def written(self) -> str:
        """All bytes on standard output so far."""
        return self._output.getvalue().decode()

    @contextmanager
    def started(self, decode: Any = None) -> Iterator[Watch]:
        """A watch that continues where the one before has ended, in whatever way."""
        with open_batch_store(
            str(self.out), renames=self._wanted.renames, table_format=self._wanted.table_format
        ) as store:
            watching = Watch(self._env, self._asked, self._wanted, store, decode or self._decode)
            watching.resume_from_commit("local")
            yield watching

    def _decode(self, batch: BatchInput, points: Any) -> list[TaskReport]:
        self.reports = [decode_points(batch, points)]
        return self.reports

    def read(self) -> int:
        """Read batches until there is nothing more; gives their number."""
        count = 0
        with self.started() as watching:
            while watching.run_next_batch() is not None:
                count += 1
        return count

    def finish(self) -> None:
        """Run the watch with `finish`, which settles open connections."""
        self._wanted = self._wanted._replace(finish=True)
        with self.started() as watching:
            watching.run_batches()


def run_over(
    sources: list[str], out: Path, *points: tuple[str, str], keylogs: tuple[str, ...] = (), **more: Any
) -> None:
    """`kw pipeline run` over these sources."""
    run_pipeline(_environment(io.BytesIO()), options(sources, out, *points, keylogs=keylogs, **more))


def tables_in(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables, sorted, with the base names of files."""
    found = {}
    for name in TABLES:
        rows = [
            {key: os.path.basename(value) if key in FILE_COLUMNS and value else value for key, value in row.items()}
            for row in rows_in(out, name)
        ]
        found[name] = sorted(rows, key=lambda row: (row["time_ns"], repr(row)))
    return found
