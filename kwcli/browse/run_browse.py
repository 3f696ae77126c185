"""Options in, an exit code out: the processes of `kw browse` started, the screen shown until the user leaves it."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kwcli.browse.background_processes.fork_reader_and_searcher import Processes
from kwcli.browse.background_processes.read_into_spool import ReaderReport, ReadingEnded, SpoolingRun
from kwcli.browse.background_processes.spool import NewBlock, Spool, SpooledRows
from kwcli.browse.background_work_and_source import BrowseOptions, Source
from kwcli.capture_options import CaptureOptions
from kwcli.output.facts.line_fact_functions import facts_paths
from kwcli.output.renderers import WantedPaths
from kwcli.reading.capture_sources import STANDARD_INPUT
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

__all__ = ["browse"]

# So long (s) the screen waits for the first row, or for the line that says why there is none.
_FIRST_S: Final = 0.4


def browse(
    env: Environment, settings: Settings, capture: CaptureOptions, filters: FilterOptions, asked: BrowseOptions
) -> int:
    """Show the screen until the user leaves it. Raises Failure."""
    text = filters.filter_text()
    spool = Spool(asked.spool)
    run = SpoolingRun(env, settings, capture, type(filters)(), spool)
    run.open_files()
    work = _ProcessWork(Processes(run, spool, settings))
    try:
        from kwcli.browse.app import BrowseApp  # takes longer than the first rows: they are read meanwhile

        work.wait_for_first_message(_FIRST_S)
        if (ended := work.find_early_end()) is not None:
            for line in work.list_early_reports():
                env.report(line)
            return ended
        if "-" in capture.files:
            _give_stdin_to_screen()
        time_text = partial(capture.time_filter_text, env, settings.zone)
        source = Source(_format_source_title(capture), run.size, capture, time_text, asked.schemas)
        rows = SpooledRows(spool, WantedPaths(facts_paths))
        app = BrowseApp(env, settings, rows, work, source, text, asked.sort or "")
        code = app.run()
        if app.defect is not None:
            raise app.defect
        for line in app.warnings:
            env.report(line)
        return int(Exit.DONE) if code is None else int(code)
    finally:
        work.stop()
        spool.close()


def _format_source_title(capture: CaptureOptions) -> str:
    files = [STANDARD_INPUT if name == "-" else name for name in capture.files]
    names = [os.path.basename(name.rstrip("/")) or name for name in files] or [capture.places]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _give_stdin_to_screen() -> None:
    """Let keys come from the terminal: standard input was given to the reader. Raises Failure."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        raise Failure("standard input is read, and there is no other terminal for keys") from None
    os.dup2(terminal, 0)
    os.close(terminal)
    assert sys.__stdin__ is not None


class _ProcessWork:
    """The processes, as the screen knows them (`Work`)."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._early: list[Any] = []
        self._ended: set[int] = set()
        self._has_read_all = False

    def wait_for_first_message(self, limit_s: float) -> None:
        """Wait for a first block, or for the end of the reading."""
        until = time.monotonic() + limit_s
        while (left := until - time.monotonic()) > 0:
            if not self._processes.reader.poll(left):
                return
            self._early += self._read_messages(0, 1)
            if any(isinstance(each, NewBlock | ReadingEnded) for each in self._early):
                return

    def find_early_end(self) -> int | None:
        """The exit code, where reading has failed before there was a row."""
        if any(isinstance(each, NewBlock) for each in self._early):
            return None
        return next((each.code for each in self._early if isinstance(each, ReadingEnded) and each.code), None)

    def list_early_reports(self) -> list[str]:
        """The lines for the user that came before the screen was there."""
        return [each.text for each in self._early if isinstance(each, ReaderReport)]

    def _read_messages(self, which: int, most: int) -> list[Any]:
        connection = (self._processes.reader, self._processes.searcher)[which]
        found: list[Any] = []
        try:
            while which not in self._ended and len(found) < most and connection.poll():
                found.append(connection.recv())
                self._has_read_all |= isinstance(found[-1], ReadingEnded)
        except (EOFError, OSError):
            self._ended.add(which)
            if which == 1:
                found.append(ReaderReport("kw: the searching process was killed: filters find nothing more"))
            elif not self._has_read_all:
                found += [ReaderReport("kw: the reading process was killed"), ReadingEnded(int(Exit.FAILURE))]
        return found

    def collect_messages(self, most: int) -> list[Any]:
        """Up to so many messages that have come, of each process."""
        early, self._early = self._early, []
        return [*early, *self._read_messages(0, most), *self._read_messages(1, most)]

    def send_question(self, question: Any) -> None:
        """Send a message to the searcher."""
        if 1 not in self._ended:
            try:
                self._processes.searcher.send(question)
            except OSError:
                self._ended.add(1)

    def stop(self) -> None:
        """End the processes."""
        self._processes.stop()
