"""The searcher's side: questions about all rows of the spool in, answers out while blocks are still being written.

The answer to a question comes in parts, a part a block. Between two blocks the searcher looks for messages, so that a
new question replaces an old one at once. search_messages.py has the questions.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.exchanges.body_reader import ApiReaders
from decoders.filters import parse
from decoders.protocol_facts.errors.error_codes import error_name
from kwcli.browse.background_processes.read_into_spool import CaptureFaults, ReadingEnded, make_report_of_defect
from kwcli.browse.background_processes.search_messages import (
    CountTop,
    ExportRows,
    FindCauses,
    FindRows,
    Forget,
    RowsFound,
    SortRows,
)
from kwcli.browse.background_processes.share_schemas_between_processes import NewSchemas, add_schemas_to_store
from kwcli.browse.background_processes.spool import BlockLost, NewBlock, SpooledRows
from kwcli.filter_options import WENT_WRONG
from kwcli.output.renderers import WantedPaths

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from decoders.exchanges.exchange import Ended, Settled
    from kwcli.output.output_settings import Settings

__all__ = ["Question", "RowFinder", "Searcher"]

Send = Callable[[Any], None]
_PACKAGE: Final = "kwcli.browse.background_processes"


class Question(Protocol):
    """A question at work. `api_readers` read what it asks for; `done`: it wants no further block."""

    api_readers: ApiReaders
    done: bool

    def process_rows_of_block(self, first: int, rows: list[Settled], ended: list[Ended]) -> None:
        """Take the rows of a block, the first of which has this number."""

    def note_all_rows_searched(self) -> None:
        """Note that all rows so far were taken; more may come."""


class RowFinder:
    """Answers FindRows."""

    done = False

    def __init__(self, asked: FindRows, searcher: Searcher) -> None:
        self._asked, self._send, settings = asked, searcher.send, searcher.settings
        selection = parse(asked.text)
        selection.set_value_reader(settings.values)
        self._matches = selection.matches
        self.api_readers = ApiReaders(WantedPaths(selection.needs))

    def process_rows_of_block(self, first: int, rows: list[Settled], _ended: list[Ended]) -> None:
        """Send the rows of the block that the filter lets through."""
        matches = self._matches
        found = [at for at, row in enumerate(rows) if row.kind == "exchange" and matches(row)]
        times = array("Q")
        if self._asked.times:
            for at in found:
                row = rows[at]
                times.append(row.time_ns if row.kind == "exchange" and row.request_end_ns is not None else 0)
                times.append((row.response_ns or 0) if row.kind == "exchange" else 0)
        numbers = array("Q", [first + at for at in found])
        failures: dict[str, dict[str, int]] | None = None
        if WENT_WRONG in self._asked.text:
            failures = {}
            for at in found:
                _count_failure(failures, rows[at])
        self._send(RowsFound(self._asked.number, numbers.tobytes(), first + len(rows), times.tobytes(), failures))

    def note_all_rows_searched(self) -> None:
        """Do nothing: each part was sent."""


def _count_failure(failures: dict[str, dict[str, int]], row: Settled) -> None:
    if row.kind != "exchange":
        return
    found = row.unexpected
    name = error_name(found[0][1]) if found else "unanswered" if row.outcome == "unanswered" else "undecoded"
    names = failures.setdefault(row.api or "others", {})
    names[name] = names.get(name, 0) + 1


class Searcher:
    """Works on the questions in turn, a block at a time."""

    def __init__(self, rows: SpooledRows, settings: Settings, send: Send) -> None:
        self._rows = rows
        self._settings = settings
        self._send = send
        self._questions: dict[int, Question] = {}
        self._next: dict[int, int] = {}  # question → the block that it takes next
        self._told_end: set[int] = set()
        self.faults: list[str] = []
        self.ended = False
        self._unloaded = [*dict.fromkeys(module for module, _ in QUESTIONS.values())]  # what questions still need

    def handle_message(self, message: object) -> None:
        """Take a message of the reader or of the screen."""
        if isinstance(message, NewBlock):
            self._rows.add_block(message)
            self._told_end.clear()
        elif isinstance(message, Forget):
            self._questions.pop(message.number, None)
        elif isinstance(message, CaptureFaults):
            self.faults = message.sentences
        elif isinstance(message, NewSchemas):
            add_schemas_to_store(message, self._settings)
        elif isinstance(message, ReadingEnded):
            self.ended = True
            self._told_end.clear()
        elif (answering := QUESTIONS.get(type(message))) is not None:
            number: int = message.number  # type: ignore[attr-defined]  # each question has one
            module = import_module(f"{_PACKAGE}.{answering[0]}")
            self._next[number] = self._rows.first_block
            try:
                self._questions[number] = getattr(module, answering[1])(message, self)
            except Exception as defect:  # the other questions are still answered
                self._send(make_report_of_defect(defect))

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self._settings

    @property
    def send(self) -> Send:
        """Sends an answer to the screen."""
        return self._send

    def work_on_questions(self) -> bool:
        """Let each question take a block; False where there was nothing to do.

        Once all is read, and nobody asks, what the next questions need is loaded, a module at a time.
        """
        worked = False
        for number in [*self._questions]:
            try:
                worked |= self._work_on_question(number)
            except Exception as defect:  # the other questions are still answered
                del self._questions[number]
                self._send(make_report_of_defect(defect))
        if not worked and self.ended and self._unloaded:
            import_module(f"{_PACKAGE}.{self._unloaded.pop(0)}")
            return True
        return worked

    def _work_on_question(self, number: int) -> bool:
        """Let a question take a block; False where there was nothing to do."""
        question = self._questions[number]
        block = max(self._next[number], self._rows.first_block)
        if question.done:
            del self._questions[number]
            return False
        if block < self._rows.blocks:
            self._next[number] = block + 1
            with suppress(BlockLost):  # overwritten by now: the answer goes on behind it
                rows, ended = self._rows.unpack_block(block, question.api_readers)
                question.process_rows_of_block(self._rows.first_row_of_block(block), rows, ended)
            return True
        if number not in self._told_end:
            self._told_end.add(number)
            question.note_all_rows_searched()
        return False

    def serve(self, connections: list[Connection]) -> None:
        """Work until one of the others is gone: the reader may end first, the screen is the last."""
        from multiprocessing.connection import wait

        left = [*connections]
        screen = connections[0]
        worked = False
        while True:
            for each in wait(left, 0 if worked else None):
                connection: Connection = each  # type: ignore[assignment]  # only these were given
                try:
                    while connection.poll():
                        self.handle_message(connection.recv())
                except (EOFError, OSError):
                    if connection is screen:
                        return
                    left.remove(connection)
            worked = self.work_on_questions()


# The class of a question → the module beside this one, and the class in it, that answers it; loaded when it is asked.
QUESTIONS: Final[dict[type, tuple[str, str]]] = {
    FindRows: ("search_spool", "RowFinder"),
    SortRows: ("sort_rows", "RowSorter"),
    FindCauses: ("diagnose_rows", "CauseFinder"),
    CountTop: ("count_top", "TopCounter"),
    ExportRows: ("export_rows", "RowExporter"),
}
