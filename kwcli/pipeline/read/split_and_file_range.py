"""The parts of a run over captures: pieces of files, splits of a capture point; and the problems of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple
from kwcli.reading.capture_sources import add_byte_offset

if TYPE_CHECKING:
    from decoders.errors import DecodeError
    from kwcli.run_environment import Failure

__all__ = ["FileRange", "Problem", "Split", "make_problem_of_error"]


class Problem(NamedTuple):
    """What is wrong with a file, by its name as the user called it: `text`, and the byte `at` where one is to blame.

    `str()` is the line for the user. The bytes before `at` were read.
    """

    file: str
    at: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.text if self.at is None else add_byte_offset(self.text, self.at)}"


def make_problem_of_error(file: str, error: Failure | DecodeError) -> Problem:
    """An error in reading a file, or in decoding what is in it, as a Problem of that file."""
    at = getattr(error, "offset", None)
    return Problem(file, at, error.text.removeprefix(f"{file}: "))


@dataclass(frozen=True, slots=True)
class FileRange:
    """The bytes `begin` to `end`, both between two packets, of file number `file`: its `path` or URL, and its `name`.

    A `CaptureReader` resumes with `state` at byte `lead`; the bytes before `begin` only complete IP fragments. `state`
    is b"" for a reader that begins with the file. Fragmented packets that begin between the bytes `own` and `handed`
    belong to this piece, and are missed if they are not whole at its end; `handed` is the `own` of the file's next
    piece, None for the last one.

    `grows`: the file is read while it grows. One reader is then handed on through all its pieces, and `state` is the
    reader's state at `begin`. `goes_on`: the bytes behind `end` come later.

    `low_ns` and `high_ns` are the earliest and the latest packet time, None where they were not looked for (the end of
    a compressed file that is alone), and so is the count of `packets`. `inflate`: the file is compressed, and this
    piece is all of it; `weight` is the size of its content as far as known. `log`: it is a request log, read by lines.
    """

    file: int
    path: str
    name: str
    begin: int
    end: int
    lead: int = 0
    own: int = 0
    state: bytes = b""
    handed: int | None = None
    inflate: bool = False
    low_ns: int | None = None
    high_ns: int | None = None
    packets: int | None = None
    weight: int = 0
    grows: bool = False
    goes_on: bool = False
    log: bool = False

    @property
    def size(self) -> int:
        """The bytes of this piece in its file."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Split:
    """The pieces that one task reads. The splits of a `point` ascend in capture time, by their numbers `ord` (from 0).

    The pieces are read one after the other, or merged by packet time as `kw sniff` does with several files.
    """

    point: str
    ord: int
    pieces: tuple[FileRange, ...]
    merged: bool = False

    @property
    def size(self) -> int:
        """The bytes of all pieces in their files."""
        return sum(piece.size for piece in self.pieces)
