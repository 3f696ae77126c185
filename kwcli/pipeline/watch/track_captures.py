"""Folders in which captures are written in, the bytes of files that the next batch reads out: each byte once.

The problem. Files grow, end, and come early, late and twice; a batch must read bytes that no other batch reads.

The idea. Which file is which, whatever its name, the tracker says (tell_new_grown_and_replaced_files.py). A file that
grows is read as far as it goes, batch by batch, from where the batch before has stopped, by a reader whose state is
handed on. New files wait for `lateness` after they were first seen, so that files which belong before them, or beside
them, can come; then they are read in the order of their first packets, and merged by packet time where they overlap, as
`kw pipeline run` does with all files at once.

    ring0 ████████ read     ring1 ████▒▒▒▒░░░ growing: ▒ this batch     ring2 ∙ waits: seen a moment ago

What always holds: no byte is in two batches that are committed, and what is passed over is reported: a file that is
gone before it was read (`lost`), a file that begins more than `lateness` before the last packet read of its point
(`aside`), bytes that came to a compressed file after it was read. How far files were read changes only with a commit,
which has the `state` to `resume` at.

What is given up: packets of two files that grow side by side at one point are not merged; give each a point of its own.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from decoders.capture.decompress_gzip_zstd_lz4 import COMPRESSED
from decoders.capture.tell_new_grown_and_replaced_files import HEAD_SIZE, FileTracker, GrowingFile, Place, SeenFile
from decoders.named_tuple import NamedTuple
from kwcli.pipeline.plan_splits import WalkJob, cut_file_into_pieces, group_pieces_by_time
from kwcli.pipeline.read.find_captures import (
    FoundFile,
    SourceFile,
    list_files,
    open_range_file,
    read_beginning,
)
from kwcli.pipeline.read.read_split_segments import GrowingState
from kwcli.pipeline.read.read_tls_keys import find_captures_with_secrets
from kwcli.pipeline.read.split_and_file_range import FileRange, Problem, Split
from kwcli.reading.capture_sources import CAPTURE_MAGICS, begins_as_request_log
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.list_input_files import has_capture_name
from kwcli.run_environment import Failure

__all__ = ["SLOTS", "BatchPlan", "Lag", "PointPlan", "TrackedFile", "WatchedFiles"]

# Packets carry the number of their file: numbers are used again after so many files.
SLOTS: Final = 4096
# A compressed file is read when it has not changed for so long: its end cannot be told from a pause.
SETTLED_S: Final = 2.0
# A file that is read to its end is closed when a later file of its point is there and it did not change for so long.
CLOSED_S: Final = 30.0
# The most that a file's last packet and its last write are apart, if the file was written as it was captured.
_LIVE_S: Final = 60.0
# The fields of a file that a commit keeps, in their order there.
_KEPT: Final = (
    *("point", "path", "name", "place", "head", "head_size", "begun_ns", "number", "at", "state", "waiting", "size"),
    *("changed_ns", "over", "secrets", "inflate", "told", "log"),
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(slots=True)
class TrackedFile(GrowingFile):
    """One file: `at` is the byte to read next, `state` the state of its reader there.

    `waiting` counts the bytes before `at` of a packet that is not whole. `number` is the number of the file in packets,
    -1 before it is begun. A file that is `over` is closed, and its state forgotten.
    """

    point: str = ""
    number: int = -1
    state: bytes = b""
    waiting: int = 0
    secrets: bool = False
    log: bool = False

    @property
    def is_begun(self) -> bool:
        """Whether a batch has begun to read the file."""
        return self.number >= 0

    def to_row(self) -> list[Any]:
        """The file as a JSON array."""
        kept = {name: getattr(self, name) for name in _KEPT}
        kept |= {"path": _encode_path(self.path), "name": _encode_path(self.name), "place": list(self.place)}
        return [*(kept | {"state": b64encode(self.state).decode()}).values()]

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> TrackedFile:
        """The file of an array that `to_row` made. Raises ValueError and TypeError."""
        if len(row) > len(_KEPT):
            raise ValueError("a file with more fields than are known")
        kept = dict(zip(_KEPT, row, strict=False))  # older versions of kw knew fewer, the first of them
        device, inode = kept["place"]
        kept |= {"path": _decode_path(kept["path"]), "name": _decode_path(kept["name"]), "place": (device, inode)}
        return cls(**kept | {"state": b64decode(kept["state"])})


class PointPlan(NamedTuple):
    """What a batch reads of one point, in order."""

    point: str
    splits: tuple[Split, ...]


class BatchPlan(NamedTuple):
    """What a batch reads, `size` bytes in all; `files` are the paths of files by their number in packets.

    `ends` are the numbers of files of which nothing more comes after this batch.
    """

    points: tuple[PointPlan, ...]
    files: tuple[str, ...]
    size: int
    ends: frozenset[int]


class Lag(NamedTuple):
    """Bytes that are there and not read, how long the first of them have been there, and how many files have any."""

    size: int
    seconds: float
    files: int


@dataclass(slots=True)
class WatchedFiles:
    """The files of some words and points. `now_s` is by a clock that only goes forward, not by the clock of packets."""

    words: tuple[str, ...]
    points: tuple[tuple[str, str], ...]
    lateness_s: float
    batch_size: int
    tracker: FileTracker[TrackedFile] = field(default_factory=FileTracker)
    names: list[str] = field(default_factory=list)  # by number
    count: int = 0  # files begun so far
    last_ns: dict[str, int] = field(default_factory=dict)  # the packet read last, by point
    last_changed_ns: dict[str, int] = field(default_factory=dict)  # of the file begun last
    unreachable: dict[str, str] = field(default_factory=dict)  # words that cannot be looked at, and why
    whole: bool = False  # no more files will come: none waits for its lateness
    live: frozenset[str] = frozenset()  # points whose files are written in order: none of them waits, or is late
    _planned: dict[int, TrackedFile] = field(default_factory=dict)  # by number, the files that the plan reads
    _planned_count: int = 0
    _walked: dict[tuple[Any, ...], tuple[list[FileRange], Problem | None]] = field(default_factory=dict)

    @property
    def files(self) -> dict[Place, TrackedFile]:
        """The files that are tracked."""
        return self.tracker.files

    # -- what is kept --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The state of all files as a JSON object, for `resume`."""
        return {
            "files": [file.to_row() for file in self.files.values()],
            "names": [_encode_path(name) for name in self.names],
            "count": self.count,
            "last_ns": dict(self.last_ns),
            "last_changed_ns": dict(self.last_changed_ns),
        }

    def forget_all_files(self) -> None:
        """Go back to the beginning, where nothing was read yet."""
        self.resume({"files": [], "names": [], "count": 0, "last_ns": {}, "last_changed_ns": {}})

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was called. Raises Failure where the state is damaged."""
        seen = self.files
        try:
            rows = [TrackedFile.from_row(row) for row in state["files"]]
            self.names = [_decode_path(name) for name in state["names"]]
            self.count = int(state["count"])
            self.last_ns = dict(state["last_ns"])
            self.last_changed_ns = dict(state["last_changed_ns"])
        except (KeyError, TypeError, ValueError):
            raise Failure("the state of the last batch is damaged: watch into another folder") from None
        self.tracker.files = {file.place: file for file in rows}
        for place, file in seen.items():
            if place in self.files:
                self.files[place].seen_s, self.files[place].changed_s = file.seen_s, file.changed_s

    # -- looking -------------------------------------------------------------------------------------------------------

    def look_for_files(self, now_s: float) -> list[Problem]:
        """Look which files are there now; the problems: files that are lost, and files that are no captures."""
        problems: list[Problem] = []
        reached = True
        self.unreachable = {}
        for point, word in [*self.points, *(("", word) for word in self.words)]:  # a named point comes first
            try:
                for found, listed in list_files(word):
                    if isinstance(found, Problem):
                        if os.path.lexists(found.file):
                            self.unreachable[found.file] = found.text
                            reached = reached and not os.path.isdir(found.file)
                        elif not listed and not self._is_empty(word):
                            self.unreachable[word] = found.text
                            reached = False
                        continue
                    self._track_file(point, found, listed, now_s, problems)
            except InputProblem as problem:
                if not self._is_empty(word):
                    self.unreachable[word] = problem.text
                    reached = False
        for file in self.tracker.end_scan_and_list_gone_files(now_s, complete=reached, final=self.whole):
            self._report_lost_file(file, problems)
        self._refresh_sizes(now_s, problems)
        return problems

    def _track_file(self, point: str, found: FoundFile, listed: bool, now_s: float, problems: list[Problem]) -> None:
        """Take note of a file that is there."""
        seen = SeenFile(found.path, found.name, _identify_on_disk(found), found.size, _parse_change_stamp(found.stamp))
        begin = partial(self._begin_tracking_file, point, seen)
        try:
            file = self.tracker.track_file(seen, partial(_read_beginning, seen), begin, now_s)
        except InputProblem as problem:
            if os.path.lexists(found.path) or _SCHEME.match(found.path):
                self.unreachable[found.name] = problem.text
            return
        if isinstance(file, str) and (not listed or has_capture_name(found.name)):
            problems.append(Problem(found.name, None, file))

    @staticmethod
    def _begin_tracking_file(point: str, seen: SeenFile, head: bytes) -> TrackedFile | str:
        """A file that was not seen before; or that it is neither a capture nor a request log."""
        file = TrackedFile(seen.path, seen.name, seen.place, point=point)
        file.inflate = COMPRESSED.match(head[:4]) is not None
        if file.inflate or not any(magic.startswith(head[:4]) for magic in CAPTURE_MAGICS):
            with open_range_file(seen.path, seen.name) as opened:
                begin = read_beginning(opened, seen.name)
            if begins_as_request_log(begin):
                file.log, file.begun_ns = True, 0
                return file
            if begin[:4] not in CAPTURE_MAGICS:  # a compressed file may be too short yet to know what it is
                return file if file.inflate and has_capture_name(seen.name) else "not a capture: passed over"
        source = SourceFile(point, seen.path, seen.size, "", seen.name)
        file.secrets = bool(find_captures_with_secrets([source]))
        return file

    @staticmethod
    def _report_lost_file(file: TrackedFile, problems: list[Problem]) -> None:
        """Add the problem of a file that is gone, if it was not read to its end."""
        left = file.size - file.at
        if not file.over and left:
            problems.append(Problem(file.name, None, f"gone before its last {left:,} bytes were read: they are lost"))
        elif not file.over and file.waiting:
            problems.append(Problem(file.name, file.at - file.waiting, "cut off inside a packet"))

    def _is_empty(self, word: str) -> bool:
        """Whether a word names a place that is there, but no file in it yet."""
        if _SCHEME.match(word):
            return False
        if glob.has_magic(word):
            fixed = word[: re.search(r"[*?[]", word).start()]  # type: ignore[union-attr]  # it has magic
            return os.path.isdir(os.path.dirname(fixed) or ".")
        beneath = os.path.join(os.path.realpath(word), "")
        known = any(file.path == beneath[:-1] or file.path.startswith(beneath) for file in self.files.values())
        return not known and os.path.isdir(os.path.dirname(word) or ".")

    def _refresh_sizes(self, now_s: float, problems: list[Problem]) -> None:
        """Read sizes once more: a file that a later one follows has its last bytes by now. Old files are closed.

        A closed file that grows all the same (a link that was quiet for long, beside a busy one) is read on.
        """
        latest: dict[str, int] = {}
        for file in self.files.values():
            if file.is_begun and not file.log:
                latest[file.point] = max(latest.get(file.point, 0), file.begun_ns or 0)
            if not file.over and not _SCHEME.match(file.path):
                with suppress(OSError):
                    about = os.stat(file.path)
                    if (about.st_dev, about.st_ino) == file.place and about.st_size > file.size:
                        if file.at == file.size:
                            file.behind_s = now_s
                        file.size, file.changed_ns, file.changed_s = about.st_size, about.st_mtime_ns, now_s
        for file in self.files.values():
            older = file.is_begun and not file.log and (file.begun_ns or 0) < latest[file.point]
            if not file.over and older and file.at == file.size and now_s - file.changed_s > CLOSED_S:
                file.over, file.state = True, b""
            elif file.over and file.is_begun and file.size > file.at and not file.told:
                if not file.inflate and self.names[file.number] == file.path:
                    file.over = False
                else:
                    file.told = True
                    text = f"grew by {file.size - file.at:,} bytes after it was read to its end: they are lost"
                    problems.append(Problem(file.name, None, text))

    # -- planning ------------------------------------------------------------------------------------------------------

    def plan_batch(self, now_s: float) -> tuple[BatchPlan, list[Problem]]:
        """What the next batch reads, about `batch_size` bytes of all points together; and the problems of files.

        Files that are put aside are over from then on; all other changes of a batch are made by `committed`.
        """
        problems: list[Problem] = []
        points: list[PointPlan] = []
        ends: set[int] = set()
        names, count = list(self.names), self.count
        self._planned = {}
        total = 0
        by_point: dict[str, list[TrackedFile]] = {}
        for file in self.files.values():
            by_point.setdefault(file.point, []).append(file)
        share = max(self.batch_size // max(len(by_point), 1), 1 << 16)
        for point, its in sorted(by_point.items()):
            pieces: list[tuple[list[FileRange], bool]] = []
            room = share
            begun = sorted((file for file in its if file.is_begun and not file.over), key=GrowingFile.sort_key)
            for file in begun:
                if file.size > file.at and file.gone_s is None and room > 0:
                    self._planned[file.number] = file
                    pieces.append(([_make_unread_range(file, min(file.size, file.at + room))], False))
                    room -= pieces[-1][0][0].size
            behind = any(file.size > file.at for file in begun) and room <= 0
            if not behind:
                for group in self._group_new_files_by_time(point, its, now_s, problems):
                    if room <= 0:
                        break
                    numbered = []
                    for piece, file in group:
                        number = count % SLOTS
                        count += 1
                        names[number : number + 1] = [file.path]
                        file.number = number  # `committed` keeps it, `resume` undoes it
                        self._planned[number] = file
                        end = piece.end if len(group) > 1 or file.inflate else min(piece.end, piece.begin + room)
                        whole = file.inflate
                        if whole:
                            ends.add(number)
                        numbered.append(
                            replace(piece, file=number, end=end, weight=end, grows=not whole, goes_on=not whole)
                        )
                    pieces.append((numbered, len(numbered) > 1))
                    room -= sum(piece.size for piece in numbered)
            if pieces:
                splits = tuple(
                    Split(point, number, tuple(some), merged) for number, (some, merged) in enumerate(pieces)
                )
                points.append(PointPlan(point, splits))
                total += sum(split.size for split in splits)
        self._planned_count = count
        return BatchPlan(tuple(points), tuple(names), total, frozenset(ends)), problems

    def _group_new_files_by_time(
        self, point: str, new_files: list[TrackedFile], now_s: float, problems: list[Problem]
    ) -> list[list[tuple[FileRange, TrackedFile]]]:
        """The new files whose turn it is, in order; the files in one group overlap in time. Each log is a group."""
        waiting = [file for file in new_files if not file.is_begun and not file.over]
        ready = [file for file in waiting if self._is_file_due(file, now_s)]
        logs = [[(_make_whole_log_range(file), file)] for file in ready if file.log]
        due = [file for file in ready if not file.log]
        found: list[list[FileRange]] = []
        by_number: dict[int, TrackedFile] = {}
        for number, file in enumerate(sorted(due, key=GrowingFile.sort_key)):
            pieces, problem = self._read_times_of_whole_file(file, number)
            if problem is not None and not pieces:
                problems.append(problem)
            if not pieces:
                if problem is not None or file.inflate:
                    file.over = True
                continue
            low, high = pieces[0].low_ns or 0, pieces[-1].high_ns or 0
            if self._begins_too_late_for_point(point, file, low, high):
                file.over = True
                late_s = self._measure_lateness_s(point, low)
                text = f"begins {late_s:,.0f} s before packets read earlier: set aside, not read"
                problems.append(Problem(file.name, None, text))
                continue
            file.begun_ns = low
            by_number[number] = file
            found.append(pieces)
        return logs + [[(piece, by_number[piece.file]) for piece in group] for group in group_pieces_by_time(found)]

    def _is_file_due(self, file: TrackedFile, now_s: float) -> bool:
        if file.gone_s is not None:
            return False
        if self.whole or file.point in self.live:
            return file.inflate or file.begun_ns is not None
        if file.log and not file.inflate:
            return True
        if file.inflate:
            return now_s - file.changed_s >= max(SETTLED_S, self.lateness_s)
        return file.begun_ns is not None and now_s - file.seen_s >= self.lateness_s

    def _begins_too_late_for_point(self, point: str, file: TrackedFile, low: int, high: int) -> bool:
        """Whether a file begins too long before the last packet read of its point.

        A file that was written while it was captured, and after the file begun last, is not late: the clock of its
        packets has been put back.
        """
        if point in self.live or self._measure_lateness_s(point, low) <= self.lateness_s:
            return False
        live = abs(file.changed_ns - high) <= (_LIVE_S + self.lateness_s) * 1e9
        return not (live and file.changed_ns >= self.last_changed_ns.get(point, 0))

    def _measure_lateness_s(self, point: str, low: int) -> float:
        last = self.last_ns.get(point)
        return 0.0 if last is None else (last - low) / 1e9

    def _read_times_of_whole_file(self, file: TrackedFile, number: int) -> tuple[list[FileRange], Problem | None]:
        """The file as one piece with its times, and its problem."""
        key = (file.place, file.head, file.size, file.changed_ns)
        if key not in self._walked:
            source = SourceFile(file.point, file.path, file.size, "", file.name)
            walked = cut_file_into_pieces(WalkJob(0, source, max(file.size, 1)))
            self._walked[key] = (walked.pieces, walked.problem)
        pieces, problem = self._walked[key]
        return [replace(piece, file=number) for piece in pieces], problem

    # -- what became of a batch ----------------------------------------------------------------------------------------

    def find_changed_files(self, left: Container[int]) -> list[str]:
        """The names of files that have changed since a batch read them: emptied, replaced, or gone.

        A file that is gone, but was read as far as planned (its number is in `left`), is not among them.
        """
        return [
            file.name
            for number, file in self._planned.items()
            if not (_is_unchanged(file) or (number in left and not os.path.lexists(file.path)))
        ]

    def finish_batch(
        self, plan: BatchPlan, left: Mapping[int, GrowingState], last_ns: Mapping[str, int]
    ) -> dict[str, Any]:
        """Move the files on behind a batch that has read all of its plan; the new state."""
        for point in plan.points:
            for split in point.splits:
                for piece in split.pieces:
                    file = self._planned[piece.file]
                    grown = left.get(piece.file)
                    if grown is None:
                        file.over, file.at, file.state, file.waiting = True, file.size, b"", 0
                        file.told = not file.inflate  # what is wrong with it, so that it cannot be read on
                    else:
                        file.at, file.state, file.waiting = grown
                    self.last_changed_ns[point.point] = max(
                        self.last_changed_ns.get(point.point, 0),
                        file.changed_ns if piece.begin == 0 and not file.log else 0,
                    )
        self.count = self._planned_count
        self.names = list(plan.files)
        self.last_ns.update({point: at for point, at in last_ns.items() if at})
        self._walked.clear()
        return self.state()

    def find_captures_with_secrets(self) -> tuple[str, ...]:
        """The paths of the captures that hold TLS secrets, of the files known now."""
        return tuple(file.path for file in self.files.values() if file.secrets)

    def find_cut_files(self) -> list[Problem]:
        """Files that end inside a packet."""
        return [
            Problem(file.name, file.at - file.waiting, f"cut off inside a {'line' if file.log else 'packet'}")
            for file in self.files.values()
            if file.waiting and not file.over
        ]

    def measure_unread_lag(self, now_s: float) -> Lag:
        """How much is there and not read, in all files."""
        behind = [file for file in self.files.values() if not file.over and file.size > file.at]
        since = min((file.behind_s for file in behind), default=now_s)
        return Lag(sum(file.size - file.at for file in behind), now_s - since, len(behind))


def _make_unread_range(file: TrackedFile, end: int) -> FileRange:
    """The unread bytes of a file up to `end`. Without a state the reader goes over the bytes before them once more."""
    lead = file.at if file.state or file.log else 0
    return FileRange(
        *(file.number, file.path, file.name, file.at, end, lead, file.at, file.state),
        low_ns=file.begun_ns,
        weight=end - file.at,
        grows=True,
        goes_on=True,
        log=file.log,
    )


def _make_whole_log_range(file: TrackedFile) -> FileRange:
    """The whole of a log of which nothing was read yet."""
    return FileRange(-1, file.path, file.name, 0, file.size, inflate=file.inflate, log=True)


def _is_unchanged(file: TrackedFile) -> bool:
    if _SCHEME.match(file.path):
        return True  # a store gives whole objects
    try:
        about = os.stat(file.path)
        if (about.st_dev, about.st_ino) != file.place or about.st_size < file.size:
            return False
        with open(file.path, "rb") as opened:
            return file.begins_with_head(opened.read(HEAD_SIZE))
    except OSError:
        return False


def _read_beginning(seen: SeenFile, size: int) -> bytes:
    with open_range_file(seen.path, seen.name) as file:
        return file.read(0, size)


def _identify_on_disk(found: FoundFile) -> tuple[int, int]:
    if len(found.identity) == 2 and all(isinstance(each, int) for each in found.identity):
        device, inode = found.identity
        return device, inode  # type: ignore[return-value]  # as checked
    digest = hashlib.sha256(repr(found.identity).encode()).digest()
    return -1, int.from_bytes(digest[:6], "big")


def _parse_change_stamp(stamp: str) -> int:
    """A file's stamp, which changes when the file is written, as a number."""
    return int(stamp) if stamp.isdecimal() else int.from_bytes(hashlib.sha256(stamp.encode()).digest()[:6], "big")


def _encode_path(path: str) -> str:
    return b64encode(os.fsencode(path)).decode()


def _decode_path(path: str) -> str:
    return os.fsdecode(b64decode(path))
