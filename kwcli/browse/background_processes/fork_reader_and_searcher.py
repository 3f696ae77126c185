"""The reader and the searcher of one run, as forked processes; messages of both in, questions out.

They are forked before the screen is taken, while there is one thread. Each ends when the screen's process is gone, or
when `stop` is called, which gives a live capture the time to close the file that it writes.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kwcli.browse.background_processes.search_spool import Searcher
from kwcli.browse.background_processes.spool import NewBlock, Spool, SpooledRows
from kwcli.output.renderers import WantedPaths

if TYPE_CHECKING:
    from kwcli.browse.background_processes.read_into_spool import SpoolingRun
    from kwcli.output.output_settings import Settings

__all__ = ["Processes"]

# So long (s) a process may take to end when it is asked to.
_PATIENCE_S: Final = 2.0
# Reading files, once there are first rows, and searching let the screen go first where processors are few.
_NICE: Final = 5


class Processes:
    """The two processes, and the connections to them."""

    def __init__(self, run: SpoolingRun, spool: Spool, settings: Settings) -> None:
        from_reader, to_screen = Pipe(duplex=False)
        from_reader_for_searcher, to_searcher = Pipe(duplex=False)
        self.searcher, its_screen = Pipe()
        self.reader = from_reader
        every: list[Connection] = [
            *(from_reader, to_screen, from_reader_for_searcher, to_searcher, self.searcher, its_screen)
        ]

        def read_rows() -> None:
            first = True

            def send(message: Any) -> None:
                nonlocal first
                if first and isinstance(message, NewBlock):
                    first = False
                    if run.size is not None:
                        os.nice(_NICE)  # live traffic does not wait, files do
                with suppress(BrokenPipeError, ConnectionResetError):
                    to_searcher.send(message)
                to_screen.send(message)

            run.read(send)

        def search_rows() -> None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.nice(_NICE)
            rows = SpooledRows(spool, WantedPaths())
            Searcher(rows, settings, its_screen.send).serve([its_screen, from_reader_for_searcher])

        self._pids = [
            _fork_process(read_rows, [each for each in every if each not in (to_screen, to_searcher)]),
            _fork_process(search_rows, [each for each in every if each not in (its_screen, from_reader_for_searcher)]),
        ]
        for each in (to_screen, from_reader_for_searcher, to_searcher, its_screen):
            each.close()

    def stop(self) -> None:
        """End both processes, and wait for them."""
        for connection in (self.reader, self.searcher):
            connection.close()
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + _PATIENCE_S
        for pid in self._pids:
            while not _has_process_ended(pid):
                if time.monotonic() > until:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    with suppress(ChildProcessError):
                        os.waitpid(pid, 0)
                    break
                time.sleep(0.005)


def _has_process_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _fork_process(work: Callable[[], None], foreign: Sequence[Connection]) -> int:
    """Fork a process that does its work and ends; it closes the connections of the others. Returns its id."""
    pid = os.fork()
    if not pid:
        _run_and_exit(work, foreign)
    return pid


def _run_and_exit(work: Callable[[], None], foreign: Sequence[Connection]) -> NoReturn:
    code = 0
    try:
        gc.freeze()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is a key of the screen
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        for connection in foreign:
            connection.close()
        work()
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass
    except BaseException:
        code = 1
        import traceback

        with suppress(Exception):
            sys.stderr.write(traceback.format_exc())
    finally:
        os._exit(code)
