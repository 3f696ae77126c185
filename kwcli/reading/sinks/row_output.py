"""Rows in as the output needs them, with the names of their files; bytes of rows in, standard output in pieces out.

However the run is interrupted, all bytes that were made are written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from io import BufferedWriter
from operator import length_hint
from typing import TYPE_CHECKING, Final, Protocol

from decoders.capture.merge_captures import FILE_SHIFT, file_index_of_packet, packet_number_in_file
from kwcli.output.renderers import OncePiece, has_columns
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.run_environment import OUTPUT_BUFFER

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Exchange, Row, Settled
    from decoders.filters import Filter
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment
    from kwcli.terminal.progress import ProgressLine

__all__ = [
    "WRITE_SIZE",
    "RowOutput",
    "TableSink",
    "make_keys_of_files",
    "needs_file_names",
    "renumber_packets_in_file",
    "set_file_names",
    "set_points_of_rows",
    "split_off_connection_ends",
]

WRITE_SIZE: Final = 1 << 20


class RowOutput:
    """Standard output in pieces of about 1 MiB, or at once where rows are wanted promptly.

    A Ctrl-C while the output is read slowly loses nothing: `flush` goes on with what was not written. A piece no
    larger than the buffer of the stream is taken whole or, when it is interrupted, not at all; and no Ctrl-C is handled
    between `writelines` and its iterator, so that the iterator says which pieces were taken.
    """

    def __init__(self, env: Environment, *, prompt: bool) -> None:
        self._env = env
        self._stdout = env.stdout
        self._progress: ProgressLine | None = None
        self._prompt = prompt
        self._parts: list[bytes] = []
        self._size = 0
        self._left: bytes | memoryview = b""  # of an interrupted write
        self._held = WRITE_SIZE
        self._turn: Callable[[], frozenset[Hashable]] | None = None
        self.begun = False  # whether there was anything to write
        self.told: set[Hashable] = set()  # keys of the texts printed once

    @property
    def is_shared(self) -> bool:
        """Whether a forked copy of this process would write to the same place."""
        return isinstance(self._stdout, BufferedWriter)

    def write(self, data: bytes) -> None:
        """Take bytes; they may wait for more before they are written."""
        self.add_pieces([data])
        if self._size >= self._held:
            self.flush()

    def add_pieces(self, pieces: Iterable[bytes]) -> None:
        """Take bytes, which wait for the next flush."""
        for data in pieces:
            if data.__class__ is OncePiece:
                assert isinstance(data, OncePiece)
                if data.key in self.told:
                    continue
                self.told.add(data.key)
            self.begun = True
            self._parts.append(data)
            self._size += len(data)

    def hold_part_until_turn(self, turn: Callable[[], frozenset[Hashable]], held: int) -> None:
        """Begin a part in a worker (render_jobs.py): hold up to `held` bytes, and write them only when `turn` returns.

        `turn` returns the keys of the texts printed once by then; these are not printed again.
        """
        self._turn, self._held = turn, held
        self._progress = None  # the reader's process draws it

    def take_held_part(self, most: int) -> list[bytes]:
        """Return the output held of the part, if it is at most `most` bytes and none was written; else write it."""
        if self._turn is None or self._size > most:
            self.flush()
            return []
        held, self._parts, self._size = self._parts, [], 0
        return held

    def _wait_for_turn(self, turn: Callable[[], frozenset[Hashable]]) -> None:
        self._turn, self._held = None, WRITE_SIZE
        told = turn()
        self._parts = [each for each in self._parts if not isinstance(each, OncePiece) or each.key not in told]
        self.told |= told

    def start_progress(self, total: int | None) -> None:
        """Show on a terminal how much of the `total` bytes of the inputs is read (None: the total is unknown)."""
        if self._env.stderr_terminal:
            from kwcli.terminal.progress import ProgressLine

            self._progress = ProgressLine(self._env, total, wanted=True)

    def show_progress(self, done: int, exchanges: int) -> None:
        """Draw the progress in bytes, when it is time to."""
        if self._progress is not None:
            self._progress.show_progress(done, exchanges)

    def hide_progress(self) -> None:
        """Erase the line of the progress, before anything else is written to the terminal."""
        if self._progress is not None:
            self._progress.hide_line()

    def flush_if_prompt(self) -> None:
        """End a batch: rows that are wanted promptly are written."""
        if self._prompt and self._parts:
            self.flush()

    def flush(self) -> None:
        """Write the bytes that wait."""
        if self._turn is not None:
            self._wait_for_turn(self._turn)
        parts, self._parts, self._size = [self._left, *self._parts], [], 0
        left = memoryview(b"".join(parts))
        self._left = b""
        if not left:
            return
        self.hide_progress()
        if isinstance(self._stdout, BufferedWriter):
            pieces = [left[at : at + OUTPUT_BUFFER] for at in range(0, len(left), OUTPUT_BUFFER)]
            taken: Iterator[bytes | memoryview] = iter(
                [*pieces, b""]
            )  # when the last one is taken, all others are written
            try:
                self._stdout.writelines(taken)
            finally:
                written = max(len(pieces) - length_hint(taken), 0)
                self._left = left[written * OUTPUT_BUFFER :]
        else:
            while left:
                left = left[self._stdout.write(left) :]
        self._stdout.flush()


# The attributes of an exchange that hold packets.
PACKETS: Final = ("request_packet", "request_packet_end", "response_packet", "response_packet_end")


class TableSink(Protocol):
    """Takes what only tables have of captures: names of files and places, ends of connections."""

    def set_file_names(self, names: Sequence[str]) -> None:
        """Take the files, in the order of their numbers in packets (merge_captures.py); further ones may join them."""

    def set_point_names(self, points: Sequence[str]) -> None:
        """Take the places that are read as they come, by the same numbers; none where captures are no places."""

    def end_connection(self, ended: Ended) -> None:
        """Take the end of a connection."""


def needs_file_names(settings: Settings, selection: Filter | None) -> bool:
    """Whether a column or the filter asks for the file of a row."""
    if selection is not None and not {"file", "packet"}.isdisjoint(selection.field_names):
        return True
    if not has_columns(settings):
        return False
    from kwcli.output.read_row_cells import find_column_words

    return "file" in find_column_words(settings)


def set_file_names(rows: Iterable[Settled], names: Sequence[str], *, count: bool) -> None:
    """Set the file of each exchange of a capture, and number its packets within that file."""
    _add_keys_that_name_inputs(rows, partial(make_keys_of_files, names=names), count=count)


def set_points_of_rows(rows: Iterable[Settled], points: Sequence[str], *, count: bool) -> None:
    """Set the point of each exchange of a capture, that of its first packet, and number its packets within it."""
    _add_keys_that_name_inputs(rows, lambda row: {"point": points[_file_index_of_exchange(row)]}, count=count)


def _add_keys_that_name_inputs(
    rows: Iterable[Settled], make_keys: Callable[[Exchange], dict[str, str]], *, count: bool
) -> None:
    """Add keys that name the input of each exchange of a capture; `count`: number its packets within the input."""
    for row in rows:
        if row.kind != "exchange" or row.record is not None:
            continue
        row.extra = {**(row.extra or {}), **make_keys(row)}
        if count:
            renumber_packets_in_file(row)


def _file_index_of_exchange(row: Exchange) -> int:
    return file_index_of_packet(row.request_packet or row.response_packet or 0)


# The keys of a record that name the file of a packet, where that is another one than `file`, and that packet.
_FURTHER_FILES: Final = (
    ("request_end_file", "request_packet_end"),
    ("response_file", "response_packet"),
    ("response_end_file", "response_packet_end"),
)


def make_keys_of_files(row: Exchange, names: Sequence[str]) -> dict[str, str]:
    """The keys of the record that name the files of an exchange, whose packets are numbered across files."""
    own = _file_index_of_exchange(row)
    found = {"file": escape_non_utf8(names[own])}
    for key, packet in _FURTHER_FILES:
        at = file_index_of_packet(getattr(row, packet) or own << FILE_SHIFT)
        if at != own:
            found[key] = escape_non_utf8(names[at])
    return found


def split_off_connection_ends(rows: Iterable[Row], end: Callable[[Ended], None]) -> list[Settled]:
    """The exchanges and skipped bytes; `end` takes the ends of connections."""
    kept: list[Settled] = []
    for row in rows:
        if row.kind == "connection":
            end(row)
        else:
            kept.append(row)
    return kept


def renumber_packets_in_file(row: Exchange) -> None:
    """Number the packets of an exchange within their file; those of the first file have these numbers."""
    sent = (row.request_packet or 0) | (row.request_packet_end or 0)
    if not file_index_of_packet(sent | (row.response_packet or 0) | (row.response_packet_end or 0)):
        return
    for name in PACKETS:
        number = getattr(row, name)
        if number:
            setattr(row, name, packet_number_in_file(number))
