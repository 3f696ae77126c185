"""What a run over captures is cut into: pieces of files, splits of a capture point; what was wrong with a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwcli.inputs import placed

if TYPE_CHECKING:
    from decoders.errors import DecodeError
    from kwcli.env import Failure

__all__ = ["FileRange", "Problem", "Split", "problem_of"]


class Problem(NamedTuple):
    """What is wrong with a file, as the user called it: `text`, at the byte `at` of the capture where one is to blame.

    `str()` is the line for the user. What lies before that byte was read.
    """

    file: str
    at: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.text if self.at is None else placed(self.text, self.at)}"


def problem_of(file: str, error: Failure | DecodeError) -> Problem:
    """A failure of an input, or of what is in it, as a problem of that file."""
    at = getattr(error, "offset", None)
    return Problem(file, at, error.text.removeprefix(f"{file}: "))


@dataclass(frozen=True, slots=True)
class FileRange:
    """The bytes `begin` to `end`, both between two packets, of file number `file`: its `path` or URL, and its `name`.

    `state` is what a `CaptureReader` resumes with that is fed from byte `lead` on: what comes before `begin` only
    completes IP fragments. It is b"" for a reader that begins with the file. Fragmented packets that begin between the
    bytes `own` and `handed` are this piece's, to be missed if they are not whole at its end; `handed` is the `own` of
    the file's next piece, None for the last one.

    A file that is read while it grows `grows`: of all its pieces one reader is handed on, which `state` is that of at
    `begin`. What is behind `end` comes later where it `goes_on`.

    `low_ns` and `high_ns` are the earliest and the latest packet time, None where nobody looked (the end of a
    compressed file that is alone), and so is the count of `packets`. `inflate`: the file is compressed, and this is all
    of it; `weight` is the size of what is in it as far as that is known. `log`: it is a request log, read by its lines.
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
        """Its bytes in the file."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Split:
    """What one task reads. The splits of a `point` ascend in capture time, and so do their numbers `ord` (from 0).

    The pieces are read one after the other, or merged by packet time as `kw sniff` does with several files.
    """

    point: str
    ord: int
    pieces: tuple[FileRange, ...]
    merged: bool = False

    @property
    def size(self) -> int:
        """Its bytes in the files."""
        return sum(piece.size for piece in self.pieces)
