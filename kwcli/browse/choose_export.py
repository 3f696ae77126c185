"""A file's name and what is on the screen in; what is to be written out, or why nothing can be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple
from kwcli.browse.background_processes.search_messages import ENDINGS, ExportRows
from kwcli.browse.cut_packets import find_reason_against_cutting
from kwcli.browse.quick_filters import make_row_filter

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.capture_options import CaptureOptions

__all__ = ["PacketCut", "Selection", "choose_export"]


class Selection(NamedTuple):
    """The rows that a filter lets through, of `end` rows, or one row with its number: the open message."""

    text: str
    end: int
    row: Settled | None = None
    row_number: int | None = None


class PacketCut(NamedTuple):
    """The packets of the rows that a filter lets through are to be written to a capture."""

    text: str
    path: str


def choose_export(
    path: str, selection: Selection, capture: CaptureOptions, question: int
) -> ExportRows | PacketCut | str:
    """What writes the selection to a file, by the end of its name; a sentence where that cannot be."""
    ending = os.path.splitext(path)[1].lower()
    if not path:
        return "no name, no file"
    if os.path.lexists(path):
        return f"{path} exists: give another name"
    if ending in ENDINGS:
        text, end, _, number = selection
        return ExportRows(question, path, ENDINGS[ending], text, end, number)
    if ending != ".pcapng":
        return f"{path}: the name ends with none of .pcapng {' '.join(ENDINGS)}"
    text = selection.text if selection.row is None else make_row_filter(selection.row)
    return find_reason_against_cutting(capture) or PacketCut(text, path)
