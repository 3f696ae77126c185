"""A file's name and what is on the screen in; what is to be written out, or why nothing can be, and words for both."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from kwcli.browse.background_processes.search_messages import ENDINGS, ExportRows
from kwcli.browse.exports.cut_packets import find_reason_against_cutting
from kwcli.browse.quick_filters import make_row_filter
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.capture_options import CaptureOptions

__all__ = ["PacketCut", "Selection", "can_be_overwritten", "choose_export", "describe_export"]

_PACKETS: Final = ".pcapng"
# What the endings of names are called, other than by the word of `-o`.
_CALLED: Final = {"ndjson": "NDJSON", "json": "JSON", "yaml": "YAML", "csv": "CSV"}


class Selection(NamedTuple):
    """The rows that a filter lets through, of `end` rows, or one row with its number: the open message.

    `exchanges`: how many that are, as far as is known.
    """

    text: str
    end: int
    row: Settled | None = None
    row_number: int | None = None
    exchanges: int = 0
    is_counted: bool = True  # whether there can be no more


class PacketCut(NamedTuple):
    """The packets of the rows that a filter lets through are to be written to a capture."""

    text: str
    path: str


def can_be_overwritten(path: str, capture: CaptureOptions) -> bool:
    """Whether a path is that of a file, and of none that is read or lies in a folder that is."""
    place = os.path.realpath(path)
    read = [*map(os.path.realpath, capture.files)]
    is_read = any(place == each or place.startswith(f"{each}/") or fnmatchcase(place, each) for each in read)
    return os.path.isfile(path) and not is_read


def choose_export(
    path: str, selection: Selection, capture: CaptureOptions, question: int, *, overwrites: bool = False
) -> ExportRows | PacketCut | str:
    """What writes the selection to a file, by the end of its name; a sentence where that cannot be."""
    ending = os.path.splitext(path)[1].lower()
    if not path:
        return "no name, no file"
    if os.path.lexists(path) and not (overwrites and can_be_overwritten(path, capture)):
        twice = "Enter twice overwrites it, or " if can_be_overwritten(path, capture) else ""
        return f"{path} exists: {twice}give another name"
    if ending in ENDINGS:
        return ExportRows(question, path, ENDINGS[ending], selection.text, selection.end, selection.row_number)
    if ending != _PACKETS:
        return f"{path}: the name ends with none of {_PACKETS} {' '.join(ENDINGS)}"
    text = selection.text if selection.row is None else make_row_filter(selection.row)
    return find_reason_against_cutting(capture) or PacketCut(text, path)


def describe_export(path: str, selection: Selection, capture: CaptureOptions) -> tuple[str, str]:
    """What would be written to a file of this name, in which of the forms; and why it cannot be, empty where it can."""
    ending = os.path.splitext(path)[1].lower()
    what = "the open message" if selection.row is not None else count_of(selection.exchanges, "exchange")
    if not selection.is_counted:
        what += " so far"
    others = " ".join(each for each in (_PACKETS, *ENDINGS) if each != ending and each != ".jsonl")
    if ending == _PACKETS:
        said = f"packets of {what}"
    elif ending in ENDINGS:
        said = f"{what} as {_CALLED.get(ENDINGS[ending], ENDINGS[ending])}"
    else:  # may still be typed
        return f"{what} · end the name with {others}", f"{ending} is none of them" if len(ending) > 1 else ""
    chosen = choose_export(path, selection, capture, 0)
    return f"{said} · or end the name with {others}", chosen if isinstance(chosen, str) else ""
