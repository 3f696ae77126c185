"""Looks at files that captures are written in, in; which of them are new, have grown, were replaced or are gone, out.

The problem. Nothing in a capture says that it is over. Its writer (tcpdump, dumpcap, kw, logrotate) appends to one
file, closes it, and goes on with another: under a new name, under the first name of its ring again, or under the same
name after the file was moved away or emptied. So a name does not say which bytes belong together, nor in which order
they were captured; and a file that is read must be read on where the reading has stopped, each byte once.

The idea. A file is known by its place on the disk and a digest of its first bytes, which have the time of its first
packet; the name is only where it was seen last. That time is the order of files, whatever their names are and wherever
a ring has come round. How far a file is read stands with it, and moves with it through renames.

    look 1   dump0 ████████ at 8     dump1 ██░░░░░░ at 2
    look 2   dump0 ▒▒ another head: replaced, a new file at 0     dump2 ████░░░░ the place of dump1: renamed, at 4

| seen at a place | the file is |
| --- | --- |
| nothing yet, and its bytes are those of a capture | new |
| the same size and time of change | unchanged: it is not opened |
| the same first bytes, not shorter than what was read | the same, and has grown |
| zeros first (emptied under a writer who keeps his offset: logrotate's copytruncate) | the same, read on |
| other first bytes, or fewer bytes than were read | another one: the one before is gone |
| nothing, for GONE_S | gone; before that a file server may have been away |

What always holds: a place has one file at a time; a file that does not change costs no read; what is passed over is
told once. No clock is read and no file is opened here: who looks gives the time and a function that reads.

What is given up: a file that is emptied and written again, with the same first HEAD_SIZE bytes and past the byte that
was read, between two looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from decoders.capture.find_cut_points import CutPointFinder
from decoders.named_tuple import NamedTuple

__all__ = ["GONE_S", "HEAD_SIZE", "FileTracker", "GrowingFile", "Place", "SeenFile"]

# A file whose first bytes change is another file. In so many stands the time of the first packet, too, except where
# comments come first: then it is looked for in _PEEK_SIZE bytes.
HEAD_SIZE: Final = 4096
_PEEK_SIZE: Final = 1 << 20
# A file that is missing for so long is gone.
GONE_S: Final = 10.0
# Device and inode, or what a store has in their place.
Place = tuple[int, int]


class SeenFile(NamedTuple):
    """A file as a look found it: `path`, `name` as the user calls it; `changed_ns` is another number once written."""

    path: str
    name: str
    place: Place
    size: int
    changed_ns: int


@dataclass(slots=True)
class GrowingFile:
    """One file: `at` is the byte to read next, `begun_ns` the time of its first packet, None while it has none.

    `over`: nothing more is to be read of it. `told`: that it grew all the same is told no more. The times in seconds
    are by a clock that only goes forward: when it was seen first, when it changed, since when it has bytes that are not
    read, and since when it is missing.
    """

    path: str
    name: str
    place: Place
    head: str = hashlib.sha256().hexdigest()  # the digest of its first `head_size` bytes
    head_size: int = 0
    begun_ns: int | None = None
    at: int = 0
    size: int = 0
    changed_ns: int = 0
    over: bool = False
    told: bool = False
    inflate: bool = False
    seen_s: float = 0.0
    changed_s: float = 0.0
    behind_s: float = 0.0
    gone_s: float | None = None

    def sort_key(self) -> tuple[int, str]:
        """The key of the order of files: by their first packets; files without a packet come last."""
        return (self.begun_ns if self.begun_ns is not None else 1 << 62, self.path)

    def is_replaced_by(self, size: int, head: bytes) -> bool:
        """Whether a file with this size and these first bytes (HEAD_SIZE, or all), at the same place, is another."""
        return size < self.at if self.begins_with_head(head) else bool(head[:4].strip(b"\0"))

    def begins_with_head(self, head: bytes) -> bool:
        """Whether a file with these first bytes (HEAD_SIZE, or all) begins as this one does."""
        return hashlib.sha256(head[: self.head_size]).hexdigest() == self.head

    def remember_head(self, head: bytes) -> None:
        """Take the first bytes as they are now; more of them tell the file better from others."""
        self.head, self.head_size = hashlib.sha256(head).hexdigest(), len(head)

    def note_size(self, size: int, changed_ns: int, now_s: float) -> None:
        """Take another size, or time of change."""
        if self.at == self.size < size or not self.size:
            self.behind_s = now_s
        self.size, self.changed_ns, self.changed_s = size, changed_ns, now_s


F = TypeVar("F", bound=GrowingFile)


class FileTracker(Generic[F]):
    """The files that are tracked. A look: `track_file` for each file, then `end_scan_and_list_gone_files`."""

    def __init__(self) -> None:
        self.files: dict[Place, F] = {}
        self._passed: dict[Place, tuple[int, int, str]] = {}  # size, time of change, and why it is passed over
        self._there: set[Place] = set()
        self._replaced: list[F] = []

    def track_file(
        self,
        seen: SeenFile,
        read_beginning: Callable[[int], bytes],
        make_file: Callable[[bytes], F | str],
        now_s: float,
    ) -> F | str | None:
        """The file that was seen; or why it is passed over, once; None where it is empty, or was passed over before.

        `read_beginning` gives the first bytes of the file, as many as are asked for, and may raise; `make_file` makes a
        file that is new, of its first bytes, or says why it is passed over.
        """
        file = self.files.get(seen.place)
        if file is not None and (file.size, file.changed_ns) == seen[3:]:
            file.path, file.name = seen.path, seen.name
            self._there.add(seen.place)
            return file
        if not seen.size:
            return None
        self._there.add(seen.place)
        if file is None and self._passed.get(seen.place, ())[:2] == seen[3:]:
            return None
        head = read_beginning(HEAD_SIZE)
        if file is not None and file.is_replaced_by(seen.size, head):
            self._replaced.append(self.files.pop(seen.place))
            file = None
        if file is None:
            made = make_file(head)
            if isinstance(made, str):
                return self.pass_over_file(seen, made)
            file = made
            file.seen_s = now_s
        if file.begun_ns is None and not file.inflate:
            file.begun_ns = _find_first_packet_ns(head)
            if file.begun_ns is None and len(head) == HEAD_SIZE:
                file.begun_ns = _find_first_packet_ns(read_beginning(_PEEK_SIZE))
        file.path, file.name = seen.path, seen.name
        file.remember_head(head)
        file.note_size(seen.size, seen.changed_ns, now_s)
        self.files[seen.place] = file
        self._passed.pop(seen.place, None)
        return file

    def pass_over_file(self, seen: SeenFile, why: str) -> str | None:
        """Do not look into this file before it changes; `why`, None where that was said of it before."""
        self._there.add(seen.place)
        before = self._passed.get(seen.place)
        self._passed[seen.place] = (seen.size, seen.changed_ns, why)
        return why if before is None or before[2] != why else None

    def end_scan_and_list_gone_files(self, now_s: float, *, complete: bool = True, final: bool = False) -> list[F]:
        """End a look; the files that are gone. With `final` no file comes back that this look has missed.

        A look that is not `complete` (a folder could not be listed) says of no file that it is missing.
        """
        gone, self._replaced = self._replaced, []
        there, self._there = self._there, set()
        if complete:
            self._passed = {place: passed for place, passed in self._passed.items() if place in there}
            for place, file in list(self.files.items()):
                if place in there:
                    file.gone_s = None
                    continue
                if file.gone_s is None:
                    file.gone_s = now_s
                if final or now_s - file.gone_s > GONE_S:
                    gone.append(self.files.pop(place))
        return gone


def _find_first_packet_ns(head: bytes) -> int | None:
    """The time of the earliest packet in the first bytes of a capture, None where no packet is whole."""
    walk = CutPointFinder()
    walk.feed(head)
    return walk.mark_cut_point().low_ns
