"""The name of a capture that is being written in; its segments, and those of the files after it, out as they come.

A writer of captures (tcpdump, dumpcap, kw) appends to one file, closes it, and goes on with another one: a new name,
the first name of its ring again, or the same name after the file was moved away or emptied. Nothing in a file says that
it is over. So the current file is read as far as it goes, and left when a later one of its ring has a packet: by then
the writer has closed it, and one more look takes the last bytes. The times of their first packets say which file is
later, whatever the names are and wherever the ring has come round. A file that was read is recognised by its device,
its inode and that time, so that one that was emptied and begun anew is another one.

    dump0 ████████ closed      dump1 ████░░░ read, growing      dump2 ∙ not there yet

An open file stays readable after it was moved or deleted. A packet of which only a part is written is waited for; when
a later file has come, the rest never will, and that is reported. Nothing is read twice, and waiting costs little: looks
are 50 ms apart while bytes come, and 200 ms when none do.

Given up: two writers whose files match one pattern at the same time (late files are reported, not read), and compressed
files, whose readers cannot tell an end from a pause.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from decoders.capture.find_cut_points import CutPointFinder
from decoders.capture.inflate import COMPRESSED, PIECE_SIZE
from decoders.capture.merge_captures import packet_number_before_file
from decoders.capture.read_capture import CaptureReader
from decoders.named_tuple import NamedTuple
from kwcli.reading.capture_sources import CAPTURE_MAGICS, add_byte_offset, check_capture_pieces, describe_os_error
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.input_files import has_capture_name
from kwcli.reading.packet_sources import PacketSource
from kwcli.reading.ring_file_names import RingNames, find_ring

if TYPE_CHECKING:
    from decoders.tcp.chunks import Segment
    from kwcli.run_environment import Environment

__all__ = ["CaptureFollower"]

BUSY_S: Final = 0.05
IDLE_S: Final = 0.2
# Without bytes for as long as this, looks are rarer.
_IDLE_AFTER_S: Final = 2.0
# Looks at a ring are at least so far (s) apart, and take at most one part in _SCAN_SHARE of the time.
_SCAN_S: Final = 0.2
_SCAN_SHARE: Final = 20
# A file whose first bytes change is another file. So many are compared: its header and its first packet's header.
_HEAD_SIZE: Final = 256
# A writer may hold packets back for as long as this (tcpdump without -U).
_BUFFERED_S: Final = 30.0
# Bytes at the beginning of a file in which the first packet's time is looked for.
_PEEKS: Final = (4096, 1 << 20)

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
Key = tuple[int, int, int]


class _RingFile(NamedTuple):
    """A file of the ring as a look found it. `begun_ns`: the time of its first packet; None while it has none."""

    path: str
    device: int
    inode: int
    size: int
    changed_ns: int
    begun_ns: int | None
    problem: str | None = None

    @property
    def disk_place(self) -> tuple[int, int]:
        """The device and inode of the file, whatever its name."""
        return self.device, self.inode

    @property
    def identity(self) -> Key:
        """The key by which the file is recognised; the device and inode alone for a file that is not followed."""
        if self.problem is not None:
            return self.device, self.inode, -2
        return self.device, self.inode, -1 if self.begun_ns is None else self.begun_ns


class _GrowingFile:
    """The current file, open. `at` is the offset of the next byte."""

    def __init__(self, path: str, reader: CaptureReader, begun_ns: int | None) -> None:
        self.path = path
        self.reader = reader
        self.begun_ns = begun_ns
        self.at = 0
        self._head = b""
        self._descriptor = os.open(path, _FLAGS)
        about = os.fstat(self._descriptor)
        self.place = (about.st_dev, about.st_ino)

    def read(self) -> bytes:
        """The bytes that are there now after those already read."""
        os.lseek(self._descriptor, self.at, os.SEEK_SET)
        data = os.read(self._descriptor, PIECE_SIZE)
        if self.at < _HEAD_SIZE:
            self._head += data[: _HEAD_SIZE - self.at]
        self.at += len(data)
        if data and self.begun_ns is None:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            self.begun_ns = first_packet_ns(os.read(self._descriptor, _PEEKS[1]))
        return data

    def is_begun_anew(self) -> bool:
        """Whether the file was emptied: it is shorter than what was read of it, or begins with other bytes.

        A file emptied under a writer that keeps its offset (logrotate's copytruncate) begins with zeros; it is read on.
        """
        if not self.at:
            return False
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        head = os.read(self._descriptor, len(self._head))
        if head == self._head:
            return os.fstat(self._descriptor).st_size < self.at
        return bool(head.strip(b"\0"))

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
        env: Environment,
        *,
        numbered: bool = False,
        on_secrets: Callable[[bytes], None] | None = None,
    ) -> None:
        """Find the ring and the file to begin with. Raises InputProblem where `word` cannot be followed."""
        super().__init__()
        self._word = word
        self._env = env
        self._numbered = numbered
        self._on_secrets = on_secrets
        self._ring: RingNames = find_ring(word)
        self._members: dict[str, _RingFile] = {}  # as the latest look found them
        self._left: dict[Key, int] = {}  # files that were read, or are not to be read → how far
        self._late: set[Key] = set()
        self._ended: Counter[str] = Counter()  # the counts of the readers of files that were left
        self._file: _GrowingFile | None = None
        self._scan_at = 0.0
        folder = self._ring.folder
        if folder and not os.path.isdir(folder):
            raise InputProblem(f"{word}: no such folder: {folder}")
        self._following = self._find_first()
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
        file = self._file
        if file is None or file.reader.problem is not None or file.at == file.reader.at:
            return []
        return [f"{file.path}: its last packet is not whole yet: {file.at - file.reader.at:,} bytes of it are written"]

    def read_batches(self) -> Iterator[tuple[list[Segment], int]]:
        """Segments as they come, and the time by the packets' clock; an empty list at every look that finds none.

        Raises InputProblem where the current file cannot be read on.
        """
        clock = _PacketClock()
        following = self._following
        if following is not None:
            self._pass_over_older(following)
        while True:
            if following is not None:
                self._begin_file(following)
            yield from self._read_segments(clock)
            following = None
            if self._file is not None and self._file.is_begun_anew():
                self._leave_file()
            elif (following := self._find_next()) is not None:
                yield from self._read_segments(clock)  # the writer has closed the current file by now
                self._leave_file()
            else:
                yield [], clock.now_ns()
                time.sleep(clock.pause_s())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    # -- the current file ----------------------------------------------------------------------------------------------

    def _begin_file(self, member: _RingFile) -> None:
        number = len(self.names)
        if self._numbered:
            self.names.append(member.path)
        reader = CaptureReader(before=packet_number_before_file(number) if self._numbered else 0)
        reader.on_secrets = self._on_secrets
        try:
            self._file = _GrowingFile(member.path, reader, member.begun_ns)
        except OSError as error:  # moved away or deleted since it was seen
            self._left[member.identity] = member.size
            self._report(f"{member.path}: {describe_os_error(error)}")

    def _read_segments(self, clock: _PacketClock) -> Iterator[tuple[list[Segment], int]]:
        """Segments of the bytes that are there now in the current file."""
        file = self._file
        while file is not None and file.reader.problem is None and (data := self._read_piece(file)):
            self.taken += len(data)
            segments = file.reader.feed(data)
            clock.note_segments(segments)
            yield segments, clock.now_ns()
            if file.reader.problem is not None:
                self._report_problem(file, "; everything before it is shown; waiting for the next file")

    def _read_piece(self, file: _GrowingFile) -> bytes:
        try:
            return file.read()
        except OSError as error:
            raise InputProblem(f"{file.path}: {describe_os_error(error)} at byte {file.at:,}") from None

    def _leave_file(self) -> None:
        """Finish the current file: nothing more comes of it."""
        file = self._file
        if file is None:
            return
        self._file = None
        said = file.reader.problem is not None
        if file.at:
            file.reader.finish()
        if not said and file.reader.problem is not None:
            self._report_problem(file, "; the writer has begun another file without finishing this one")
        self._ended.update(file.reader.counts)
        if file.begun_ns is not None:
            self._left[(*file.place, file.begun_ns)] = file.at
        file.close()

    def _report_problem(self, file: _GrowingFile, then: str) -> None:
        problem = file.reader.problem
        assert problem is not None
        self._report(f"{file.path}: {add_byte_offset(problem.text, problem.offset)}{then}")

    def _report(self, text: str) -> None:
        self.is_broken = True
        self._env.report(f"kw: {text}")

    # -- the ring ------------------------------------------------------------------------------------------------------

    def _find_first(self) -> _RingFile | None:
        """The file to begin with: the one that is named, else the oldest of the ring; None while there is none."""
        named = self._ring.first
        if named is None or not os.path.lexists(named):
            return self._find_next()
        try:
            member = _examine_file(named, None)
        except OSError as error:
            raise InputProblem(f"{named}: {describe_os_error(error)}") from None
        if member.problem is not None:
            raise InputProblem(member.problem)
        return member

    def _pass_over_older(self, first: _RingFile) -> None:
        """Mark the files of the ring that were begun before `first` as not to be read."""
        for member in self._scan_ring():
            if member.begun_ns is not None and (first.begun_ns is None or member.begun_ns < first.begun_ns):
                self._left[member.identity] = member.size

    def _find_next(self) -> _RingFile | None:
        """The file not read yet that was begun first; the ring is looked at only now and then."""
        now = time.monotonic()
        if now < self._scan_at:
            return None
        found = self._scan_ring()
        took = time.monotonic() - now
        self._scan_at = now + max(_SCAN_S, took * _SCAN_SHARE)
        here = self._file.place if self._file is not None else None
        there = {member.identity for member in found}
        self._left = {key: at for key, at in self._left.items() if key in there}
        self._late &= there
        waiting = []
        for member in found:
            if member.disk_place == here:
                continue
            if member.problem is not None:
                self._report_passed_over(member)
            elif member.identity in self._left:
                self._report_late_growth(member)
            elif member.begun_ns is not None:
                waiting.append(member)
        return min(waiting, key=lambda member: (member.begun_ns, member.path), default=None)

    def _report_passed_over(self, member: _RingFile) -> None:
        """Report once that a file is not read; a folder may have other files than captures, which are not reported."""
        if member.identity not in self._left:
            self._left[member.identity] = member.size
            if not self._ring.every or has_capture_name(member.path):
                self._report(str(member.problem))

    def _report_late_growth(self, member: _RingFile) -> None:
        """Report once that a file has grown after it was left."""
        if member.size > self._left[member.identity] and member.identity not in self._late:
            self._late.add(member.identity)
            self._report(f"{member.path}: has grown after a later file was begun: --follow reads files of one writer")

    def _scan_ring(self) -> list[_RingFile]:
        """The files of the ring that are there now."""
        members: dict[str, _RingFile] = {}
        with suppress(OSError):  # the folder is gone, and may come again
            for path in self._ring.list_existing_paths():
                with suppress(OSError):  # moved away or deleted meanwhile, or not readable
                    members[path] = _examine_file(path, self._members.get(path))
        self._members = members
        return list(members.values())


class _PacketClock:
    """The time by the clock of the packets: that of the latest one, plus the time since it was read.

    It stands still for a while, because a writer holds packets back until its buffer is full (tcpdump without -U).
    """

    def __init__(self) -> None:
        self._latest_ns = 0
        self._came = time.monotonic()

    def note_segments(self, segments: list[Segment]) -> None:
        """Note that bytes came, with these segments in them."""
        self._came = time.monotonic()
        if segments:
            self._latest_ns = segments[-1][1]

    def now_ns(self) -> int:
        """The time in nanoseconds since 1970; 0 before the first segment."""
        passed = time.monotonic() - self._came - _BUFFERED_S
        return self._latest_ns + max(int(passed * 1e9), 0) if self._latest_ns else 0

    def pause_s(self) -> float:
        """The time until the next look, in seconds."""
        return BUSY_S if time.monotonic() - self._came < _IDLE_AFTER_S else IDLE_S


def _examine_file(path: str, known: _RingFile | None) -> _RingFile:
    """A file as it is now; it is opened only if it is another one than `known`, or has changed. Raises OSError."""
    about = os.stat(path)
    if known is not None and known[1:5] == (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns):
        return known
    problem, begun_ns = None, None
    if not stat.S_ISREG(about.st_mode):
        problem = f"{path}: not a regular file: leave --follow out, kw reads it to its end"
    elif about.st_size:
        try:
            problem, begun_ns = _examine_contents(path)
        except PermissionError as error:
            problem = f"{path}: {describe_os_error(error)}"
    return _RingFile(path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, begun_ns, problem)


def _examine_contents(path: str) -> tuple[str | None, int | None]:
    """Why a file is not followed, and the time of its first packet; None for what there is not."""
    with open(path, "rb") as file:
        head = file.read(_PEEKS[0])
        problem = _explain_unusable(path, head)
        if problem is not None:
            return problem, None
        begun_ns = first_packet_ns(head)
        if begun_ns is None and len(head) == _PEEKS[0]:
            begun_ns = first_packet_ns(head + file.read(_PEEKS[1]))
        return None, begun_ns


def first_packet_ns(head: bytes) -> int | None:
    """The time of the earliest packet in the first bytes of a capture, None where no packet is whole."""
    walk = CutPointFinder()
    walk.feed(head)
    return walk.mark_cut_point().low_ns


def _explain_unusable(path: str, head: bytes) -> str | None:
    """Why a file that begins so is not followed; None for a capture, or a file too short to tell."""
    if COMPRESSED.match(head[:4]) is not None:
        return f"{path}: compressed: --follow reads uncompressed captures only"
    if any(magic.startswith(head[:4]) for magic in CAPTURE_MAGICS) or not head.strip(b"\0"):
        return None
    try:
        next(check_capture_pieces(path, iter((head,))))
    except InputProblem as problem:
        return problem.text
    return None
