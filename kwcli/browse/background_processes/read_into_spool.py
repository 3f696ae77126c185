"""The reader's side: what a run settles in, blocks in the spool and messages to the other processes out.

It is a `ReadingRun` as in every command, with a view that packs rows. The first rows go out at once, so that the screen
has something to show within a moment; later blocks are whole. Rows of live traffic go out as they come.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.topic_and_node_names import NODE_LISTS
from decoders.named_tuple import NamedTuple
from kwcli.browse.background_processes.share_schemas_between_processes import SchemaSender
from kwcli.browse.background_processes.spool import BLOCK_ROWS, Spool, SpoolFull, SpoolWriter
from kwcli.reading.run_reading import ReadingRun
from kwcli.reading.sinks.filter_sort_and_limit_rows import ReadingView
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Settled
    from decoders.schema.api_declaration import Side
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write
    from kwcli.reading.read_captures_by_time import Captures
    from kwcli.run_environment import Environment

__all__ = ["CaptureFaults", "ReadProgress", "ReaderReport", "ReadingEnded", "SpoolingRun", "make_report_of_defect"]

Send = Callable[[Any], None]
# So long (s) rows wait for others, at most: the first ones, and those of a slow source.
_WAIT_S: Final = 0.2


class ReaderReport(NamedTuple):
    """A line for the user, as other commands print it on standard error."""

    text: str


def make_report_of_defect(defect: Exception) -> ReaderReport:
    """The line for a defect of kw in a process that has no screen."""
    return ReaderReport(f"kw: defect: {type(defect).__name__}: {defect}")


class CaptureFaults(NamedTuple):
    """What is wrong with the captures themselves, in sentences."""

    sentences: list[str]


class ReadProgress(NamedTuple):
    """How many bytes of the inputs were read."""

    taken: int


class ReadingEnded(NamedTuple):
    """The reading has ended, with this exit code; `full`: because the spool takes no more."""

    code: int
    full: bool = False


class _ReportStream:
    """Standard error of the reader: its lines go to the screen."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def write(self, data: bytes | memoryview, /) -> int:
        for line in bytes(data).decode("utf-8", "replace").splitlines():
            self._send(ReaderReport(line))
        return len(data)

    def flush(self) -> None:
        """Do nothing: lines have been sent."""

    def fileno(self) -> int:
        return 2


class _SpoolRenderer:
    """The renderer of the run: rows go into the spool."""

    shows_skipped = True
    errors = expected = undecoded = remarks = 0

    def __init__(self, run: SpoolingRun) -> None:
        self._write_rows = run.write_rows
        self._write_rest = run.write_waiting_rows

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        self._write_rows(rows)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Do nothing: no row is left out."""

    def close(self) -> None:
        """Write what waits."""
        self._write_rest()


class SpoolingRun:
    """One reading. It is made before the processes part, so that bad options are told before the screen is taken."""

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        capture: CaptureOptions,
        filters: FilterOptions,
        spool: Spool,
    ) -> None:
        self._env = env
        self._capture = capture
        self._spool = spool
        self._live = capture.is_live
        self._schemas = SchemaSender(settings)
        self._send: Send = lambda _: None
        self._writer: SpoolWriter | None = None
        self._latest_s = env.monotonic()
        several = len(capture.files) > 1 or not all(map(os.path.isfile, capture.files))
        view = ReadingView(
            _needs_of_node_lists,
            self._open_renderer,
            hear=lambda sentences: self._send(CaptureFaults([*sentences])),
            needs_file_names=several,
            remembers=True,
            ended=self._add_connection_end,
        )
        self._run = ReadingRun(env, settings._replace(quiet=capture.is_live), capture, filters, view=view)
        self.captures: Captures | None = None

    def _open_renderer(self, _write: Write) -> _SpoolRenderer:
        return _SpoolRenderer(self)

    def open_files(self) -> None:
        """Open the captures, where files are read to their end. Raises Failure where none can be read."""
        capture = self._capture
        if capture.has_merged_places or capture.interfaces or capture.follow:
            return
        captures = self._run.open_captures(capture.files, self._env)
        if not captures.input_count:
            raise Failure("; ".join(captures.problems) or "no capture to read")
        self.captures = captures

    @property
    def size(self) -> int | None:
        """The size of the inputs in bytes, where it is known."""
        return None if self.captures is None else self.captures.size

    def read(self, send: Send) -> None:
        """Read to the end, and send what the others have to know. Called in a process of its own."""
        self._send = send
        self._env.stderr = _ReportStream(send)
        self._env.stderr_terminal = self._env.stdout_terminal = False
        full, code = False, int(Exit.DONE)
        try:
            outcome = self._run.run() if self.captures is None else self._run.read_captures(self.captures)
            code = int(outcome.exit_code())
        except SpoolFull:
            full = True
        except KeyboardInterrupt:
            code = int(Exit.INTERRUPTED)
        except Failure as failure:
            send(ReaderReport(f"kw: {failure.text}"))
            code = int(failure.code)
        except BrokenPipeError:
            return
        except Exception as defect:
            send(make_report_of_defect(defect))
            code = int(Exit.FAILURE)
        send(ReadingEnded(code, full))

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _get_or_make_spool_writer(self) -> SpoolWriter:
        if self._writer is None:
            topics = self._run.topics
            self._writer = SpoolWriter(self._spool, topics, wraps=self._live)
        return self._writer

    def write_rows(self, rows: list[Settled]) -> None:
        """Pack rows; write a block when it is whole, or when its rows have waited long enough."""
        writer = self._get_or_make_spool_writer()
        for row in rows:
            if row.kind == "exchange" and row.api_key in NODE_LISTS:
                writer.nodes.add_brokers(row.view("response"))
            writer.add_row(row)
            if writer.is_block_whole:
                self._write_block(writer)
        if writer.waiting and (self._live or self._env.monotonic() - self._latest_s > _WAIT_S):
            self._write_block(writer)

    def _write_block(self, writer: SpoolWriter) -> None:
        self._latest_s = self._env.monotonic()
        self._schemas.send_new_schemas(self._send)
        self._send(writer.write_block())
        if self.captures is not None:
            self._send(ReadProgress(self.captures.taken))

    def write_waiting_rows(self) -> None:
        """Write the rows that wait for others."""
        writer = self._get_or_make_spool_writer()
        if writer.waiting:
            self._write_block(writer)
        self._schemas.send_new_schemas(self._send)

    def _add_connection_end(self, ended: Ended) -> None:
        writer = self._get_or_make_spool_writer()
        writer.add_connection_end(ended)
        if writer.waiting >= 4 * BLOCK_ROWS:
            self._write_block(writer)


def _needs_of_node_lists(key: int, side: Side) -> frozenset[str]:
    """The fields that the reader needs: brokers, where an answer lists them."""
    from kwcli.output.facts.line_fact_functions import facts_paths

    return facts_paths(key, side) if key in NODE_LISTS else frozenset()
