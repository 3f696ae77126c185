"""The name of a file in, the rows of the list or the open message written to it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from kwcli.browse.background_processes.search_messages import ExportRows
from kwcli.browse.exports.choose_export import PacketCut, Selection, can_be_overwritten, choose_export, describe_export
from kwcli.browse.exports.cut_packets import cut_packets

if TYPE_CHECKING:
    from kwcli.browse.background_processes.spool import SpooledRows
    from kwcli.browse.background_work_and_source import Source
    from kwcli.browse.row_filter import ListFilter

__all__ = ["SelectionWriter"]


class Screen(Protocol):
    """The program on the screen, as far as it is written."""

    list_pane: Any
    rows: SpooledRows
    row_filter: ListFilter

    @property
    def is_message_shown(self) -> bool:
        """Whether a message is shown."""

    @property
    def has_read_all(self) -> bool:
        """Whether no further row comes."""

    def show_notice(self, notice: str) -> None:
        """Show a sentence until the next key."""

    def run_worker(self, work: Any, *, exit_on_error: bool = True) -> Any:
        """Run something while keys are taken."""


class SelectionWriter:
    """Writes what is on the screen; `ask` sends a question to the searcher, under a number of its own."""

    def __init__(
        self, screen: Screen, source: Source, ask: Callable[[Any], None], next_number: Callable[[], int]
    ) -> None:
        self._screen, self._source, self._ask, self._next_number = screen, source, ask, next_number
        self._selection = Selection("", 0)

    def _find_selection(self) -> Selection:
        """The open message, else the rows of the list."""
        screen, pane = self._screen, self._screen.list_pane
        rows, found = screen.rows, screen.row_filter.in_force
        if screen.is_message_shown and pane.row is not None:
            return Selection(screen.row_filter.text, rows.end, pane.row, pane.number_at(pane.cursor))
        if found is None or not found.text:
            return Selection("", rows.end, exchanges=rows.kept_exchanges, is_counted=screen.has_read_all)
        counted = screen.has_read_all and found.until >= rows.end
        return Selection(found.text, rows.end, exchanges=len(found.rows), is_counted=counted)

    def take_selection(self) -> str:
        """Take what is on the screen now, whatever it shows while a name is typed; returns the name that is offered."""
        self._selection = self._find_selection()
        return "message.ndjson" if self._selection.row is not None else "rows.ndjson"

    def describe(self, path: str) -> tuple[str, str]:
        """What would be written to a file of this name, and why it cannot be."""
        return describe_export(path, self._selection, self._source.capture)

    def can_overwrite(self, path: str) -> bool:
        """Whether there is a file of this name that may be overwritten."""
        return can_be_overwritten(path, self._source.capture)

    def write(self, path: str, *, overwrites: bool) -> None:
        """Write a file; `overwrites`: in place of one that is there."""
        number, capture = self._next_number(), self._source.capture
        chosen = choose_export(path, self._selection, capture, number, overwrites=overwrites)
        if isinstance(chosen, str):
            self._screen.show_notice(chosen)
            return
        self._screen.show_notice(f"{path}: writing")
        if isinstance(chosen, ExportRows):
            self._ask(chosen)
        else:
            self._screen.run_worker(self._cut_packets(chosen), exit_on_error=False)

    async def _cut_packets(self, chosen: PacketCut) -> None:
        self._screen.show_notice(await cut_packets(self._source, *chosen))
