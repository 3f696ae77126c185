"""The name of a capture that is being written in; its segments, and those of the files after it, out as they come.

Which files there are, and which of them is which whatever its name, the tracker says
(tell_new_grown_and_replaced_files.py). The current file is read as far as it goes, and left when a later one of its
ring has a packet: by then the writer has closed it, and one more look takes the last bytes. The times of their first
packets say which file is later.

    dump0 ████████ closed      dump1 ████░░░ read, growing      dump2 ∙ not there yet

An open file stays readable after it was moved or deleted. A packet of which only a part is written is waited for; when
a later file has come, the rest never will, and that is reported. Nothing is read twice, and waiting costs little: looks
are 50 ms apart while bytes come, and 200 ms when none do.

Given up: two writers whose files match one pattern at the same time (late files are reported, not read), and compressed
files, whose readers cannot tell an end from a pause.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from decoders.capture.decompress_gzip_zstd_lz4 import COMPRESSED, PIECE_SIZE
from decoders.capture.merge_captures import packet_number_before_file
from decoders.capture.read_capture import CaptureReader
from decoders.capture.tell_new_grown_and_replaced_files import HEAD_SIZE, FileTracker, GrowingFile, SeenFile
from kwcli.reading.capture_sources import CAPTURE_MAGICS, add_byte_offset, describe_os_error, require_capture_pieces
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.list_input_files import has_capture_name
from kwcli.reading.packet_sources import PacketClock, PacketSource, SegmentBatch
from kwcli.reading.ring_file_names import RingNames, find_ring

if TYPE_CHECKING:
    pass

__all__ = ["CaptureFollower"]

# Looks at a ring are at least so far (s) apart, and take at most one part in _SCAN_SHARE of the time.
_SCAN_S: Final = 0.2
_SCAN_SHARE: Final = 20
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class _OpenFile:
    """The current file, open: it stays readable after it was moved or deleted. Raises OSError."""

    def __init__(self, file: GrowingFile, reader: CaptureReader) -> None:
        self.file = file
        self.reader = reader
        self._descriptor = os.open(file.path, _FLAGS)
        about = os.fstat(self._descriptor)
        if (about.st_dev, about.st_ino) != file.place:
            self.close()
            raise FileNotFoundError(errno.ENOENT, "moved away since it was seen")

    def read_next(self) -> bytes:
        """The bytes that are there now after those already read."""
        data = self._read(self.file.at, PIECE_SIZE)
        self.file.at += len(data)
        return data

    def is_begun_anew(self) -> bool:
        """Whether the file was emptied, and another capture is written into it."""
        head = self._read(0, HEAD_SIZE)
        if self.file.is_replaced_by(os.fstat(self._descriptor).st_size, head):
            return True
        if len(head) > self.file.head_size:
            self.file.remember_head(head)
        return False

    def _read(self, at: int, size: int) -> bytes:
        os.lseek(self._descriptor, at, os.SEEK_SET)
        return os.read(self._descriptor, size)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class CaptureFollower(PacketSource):
    """Follows a file that grows and its ring.

    `names` are the files so far, in their order, where `numbered` (merge_captures.py). A problem with a file is
    reported at once. `on_secrets` gets the TLS key logs in the files.
    """

    def __init__(
        self,
        word: str,
        report: Callable[[str], None],
        *,
        numbered: bool = False,
        on_secrets: Callable[[bytes], None] | None = None,
    ) -> None:
        """Find the ring and the file to begin with. Raises InputProblem where `word` cannot be followed."""
        super().__init__()
        self._word = word
        self._report_text = report
        self._numbered = numbered
        self._on_secrets = on_secrets
        self._ring: RingNames = find_ring(word)
        self._tracker: FileTracker[GrowingFile] = FileTracker()
        self._ended: Counter[str] = Counter()  # the counts of the readers of files that were left
        self._file: _OpenFile | None = None
        self._scan_at = 0.0
        folder = self._ring.folder
        if folder and not os.path.isdir(folder):
            raise InputProblem(f"{word}: no such folder: {folder}")
        self._following = self._find_first_file()
        verb = "waiting for" if self._following is None else "following"
        self.greeting = f"{verb} {word}; Ctrl-C ends"

    def packet_counts(self) -> Counter[str]:
        counts = Counter(self._ended)
        if self._file is not None:
            counts.update(self._file.reader.counts)
        return counts

    @property
    def is_read_whole(self) -> bool:
        return self.packet_counts()["packets"] > 0

    def closing_remarks(self) -> list[str]:
        """The message that the last packet of the current file is not whole yet; none at the end of a packet."""
        if self._file is None or self._file.reader.problem is not None:
            return []
        file, waiting = self._file.file, self._file.file.at - self._file.reader.at
        return (
            [f"{file.path}: its last packet is not whole yet: {waiting:,} bytes of it are written"] if waiting else []
        )

    def read_batches(self) -> Iterator[SegmentBatch]:
        """Segments as they come, and the time by the packets' clock; an empty list at every look that finds none.

        Raises InputProblem where the current file cannot be read on.
        """
        clock = PacketClock()
        following = self._following
        if following is not None:
            self._mark_older_files_unread(following)
        while True:
            if following is not None:
                self._begin_file(following)
            yield from self._read_segments(clock)
            following = None
            if self._file is not None and self._file.is_begun_anew():
                self._finish_current_file()
            elif (following := self._find_next_file()) is not None:
                yield from self._read_segments(clock)  # the writer has closed the current file by now
                self._finish_current_file()
            else:
                yield SegmentBatch([], clock.now_ns())
                time.sleep(clock.pause_s())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    # -- the current file ----------------------------------------------------------------------------------------------

    def _begin_file(self, file: GrowingFile) -> None:
        number = len(self.names)
        if self._numbered:
            self.names.append(file.path)
        reader = CaptureReader(before=packet_number_before_file(number) if self._numbered else 0)
        reader.on_secrets = self._on_secrets
        try:
            self._file = _OpenFile(file, reader)
        except OSError as error:  # moved away or deleted since it was seen
            file.over, file.at = True, file.size
            self._report(f"{file.path}: {describe_os_error(error)}")

    def _read_segments(self, clock: PacketClock) -> Iterator[SegmentBatch]:
        """Segments of the bytes that are there now in the current file."""
        file = self._file
        while file is not None and file.reader.problem is None and (data := self._read_piece(file)):
            self.taken += len(data)
            segments = file.reader.feed(data)
            clock.note_segments(segments)
            yield SegmentBatch(segments, clock.now_ns())
            if file.reader.problem is not None:
                self._report_problem(file, "; everything before it is shown; waiting for the next file")

    def _read_piece(self, opened: _OpenFile) -> bytes:
        try:
            return opened.read_next()
        except OSError as error:
            file = opened.file
            raise InputProblem(f"{file.path}: {describe_os_error(error)} at byte {file.at:,}") from None

    def _finish_current_file(self) -> None:
        """Finish the current file: nothing more comes of it."""
        opened = self._file
        if opened is None:
            return
        self._file = None
        said = opened.reader.problem is not None
        if opened.file.at:
            opened.reader.finish()
        if not said and opened.reader.problem is not None:
            self._report_problem(opened, "; the writer has begun another file without finishing this one")
        self._ended.update(opened.reader.counts)
        opened.file.over = True
        self._tracker.files[opened.file.place] = opened.file  # also where it was missing for a while
        opened.close()

    def _report_problem(self, opened: _OpenFile, then: str) -> None:
        problem = opened.reader.problem
        assert problem is not None
        self._report(f"{opened.file.path}: {add_byte_offset(problem.text, problem.offset)}{then}")

    def _report(self, text: str) -> None:
        self.is_broken = True
        self._report_text(f"kw: {text}")

    # -- the ring ------------------------------------------------------------------------------------------------------

    def _find_first_file(self) -> GrowingFile | None:
        """The file to begin with: the one that is named, else the oldest of the ring; None while there is none."""
        named = self._ring.first
        if named is None or not os.path.lexists(named):
            return self._find_next_file()
        try:
            found = self._examine_file(named)
            if found is None:  # empty so far
                about = os.stat(named)
                found = GrowingFile(named, named, (about.st_dev, about.st_ino))
                self._tracker.files[found.place] = found
        except OSError as error:
            raise InputProblem(f"{named}: {describe_os_error(error)}") from None
        if isinstance(found, str):
            raise InputProblem(found)
        return found

    def _mark_older_files_unread(self, first: GrowingFile) -> None:
        """Mark the files of the ring that were begun before `first` as not to be read."""
        for file in self._list_ring_files():
            if file.begun_ns is not None and (first.begun_ns is None or file.begun_ns < first.begun_ns):
                file.over, file.at = True, file.size

    def _find_next_file(self) -> GrowingFile | None:
        """The file not read yet that was begun first; the ring is looked at only now and then."""
        now = time.monotonic()
        if now < self._scan_at:
            return None
        found = self._list_ring_files()
        self._scan_at = now + max(_SCAN_S, (time.monotonic() - now) * _SCAN_SHARE)
        here = self._file.file.place if self._file is not None else None
        waiting = []
        for file in found:
            if file.place == here:
                continue
            if not file.over:
                waiting += [file] if file.begun_ns is not None else []
            elif file.size > file.at and not file.told:
                file.told = True
                self._report(f"{file.path}: has grown after a later file was begun: --follow reads files of one writer")
        return min(waiting, key=GrowingFile.sort_key, default=None)

    def _list_ring_files(self) -> list[GrowingFile]:
        """The files of the ring that are there now; those that are not read are reported."""
        found: list[GrowingFile] = []
        complete = False
        with suppress(OSError):  # the folder is gone, and may come again
            for path in self._ring.list_existing_paths():
                with suppress(OSError):  # moved away or deleted meanwhile, or not readable
                    file = self._examine_file(path)
                    if isinstance(file, GrowingFile):
                        found.append(file)
                    elif file is not None and (not self._ring.every or has_capture_name(path)):
                        self._report(file)
            complete = True
        self._tracker.end_scan_and_list_gone_files(time.monotonic(), complete=complete)
        return found

    def _examine_file(self, path: str) -> GrowingFile | str | None:
        """The file at a path; or why it is not followed, once; None while it is empty. Raises OSError."""
        about = os.stat(path)
        seen = SeenFile(path, path, (about.st_dev, about.st_ino), about.st_size, about.st_mtime_ns)
        if not stat.S_ISREG(about.st_mode):
            why = f"{path}: not a regular file: leave --follow out, kw reads it to its end"
            return self._tracker.pass_over_file(seen, why)
        try:
            return self._tracker.track_file(
                seen, partial(_read_beginning, path), partial(_begin_tracking_or_explain, seen), time.monotonic()
            )
        except PermissionError as error:
            return self._tracker.pass_over_file(seen, f"{path}: {describe_os_error(error)}")


def _read_beginning(path: str, size: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(size)


def _begin_tracking_or_explain(seen: SeenFile, head: bytes) -> GrowingFile | str:
    return _explain_unusable(seen.path, head) or GrowingFile(seen.path, seen.name, seen.place)


def _explain_unusable(path: str, head: bytes) -> str | None:
    """Why a file that begins so is not followed; None for a capture, or a file too short to tell."""
    if COMPRESSED.match(head[:4]) is not None:
        return f"{path}: compressed: --follow reads uncompressed captures only"
    if any(magic.startswith(head[:4]) for magic in CAPTURE_MAGICS) or not head.strip(b"\0"):
        return None
    try:
        next(require_capture_pieces(path, iter((head,))))
    except InputProblem as problem:
        return problem.text
    return None
