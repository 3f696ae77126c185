"""The tracker of growing files, look by look: which file is which, whatever its name."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from decoders.capture.tell_new_grown_and_replaced_files import GONE_S, HEAD_SIZE, FileTracker, GrowingFile, SeenFile
from tests.captures.shipped import FOLDER

CAPTURE: Final = (FOLDER / "sasl-raw.pcap").read_bytes()
BEGUN_NS: Final = int.from_bytes(CAPTURE[24:28], "little") * 10**9 + int.from_bytes(CAPTURE[28:32], "little") * 1000
SECOND_AT: Final = 40 + int.from_bytes(CAPTURE[32:36], "little")
# Another capture with the same first 256 bytes, as of one writer whose headers have comments: later only behind them.
LATER: Final = CAPTURE[:256] + bytes(16) + CAPTURE[272:]


class Disk:
    """Files by path: their place and contents; a look notes them all. `read` has what was asked of which path."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[tuple[int, int], bytes]] = {}
        self.tracker: FileTracker[GrowingFile] = FileTracker()
        self.read: list[tuple[str, int]] = []
        self.now_s = 100.0
        self._changes = 0

    def put(self, path: str, inode: int, data: bytes) -> None:
        self.files[path] = ((1, inode), data)

    def _read(self, path: str, size: int) -> bytes:
        self.read.append((path, size))
        return self.files[path][1][:size]

    def look(self, *, complete: bool = True, seconds: float = 1.0) -> tuple[dict[str, object], list[str]]:
        """What was noted of each path, and the names of the files that are gone."""
        self.now_s += seconds
        noted: dict[str, object] = {}
        for path, (place, data) in self.files.items():
            seen = SeenFile(path, path, place, len(data), hash(data))
            make = partial(_make_file, seen)
            noted[path] = self.tracker.track_file(seen, partial(self._read, path), make, self.now_s)
        return noted, [file.name for file in self.tracker.end_scan_and_list_gone_files(self.now_s, complete=complete)]

    def at(self) -> dict[str, int]:
        return {file.path: file.at for file in self.tracker.files.values()}


def _make_file(seen: SeenFile, head: bytes) -> GrowingFile | str:
    return GrowingFile(seen.path, seen.name, seen.place) if head[:4] == CAPTURE[:4] else "no capture"


@pytest.fixture
def disk() -> Disk:
    """A disk with a capture of which 700 bytes are there, and read up to byte 500."""
    disk = Disk()
    disk.put("a", 1, CAPTURE[:700])
    disk.look()
    disk.tracker.files[1, 1].at = 500
    return disk


# What the next look finds at inode 1 → how far the file there is read (None: there is none), whether one is gone.
NEXT: Final[dict[str, tuple[str, bytes, int | None, bool]]] = {
    "unchanged": ("a", CAPTURE[:700], 500, False),
    "grown": ("a", CAPTURE[:900], 500, False),
    "renamed": ("b", CAPTURE[:700], 500, False),
    "renamed and grown": ("b", CAPTURE[:900], 500, False),
    "emptied": ("a", b"", 500, False),
    "emptied under its writer": ("a", bytes(700) + CAPTURE[700:900], 500, False),
    "begun anew": ("a", CAPTURE[:499], 0, True),
    "begun anew with another packet": ("a", CAPTURE[:24] + CAPTURE[SECOND_AT:1400], 0, True),
    "begun anew, alike in its first 256 bytes": ("a", LATER[:900], 0, True),
    "another file": ("a", b"%PDF" + bytes(900), None, True),
}


@pytest.mark.parametrize("case", NEXT)
def test_the_file_at_a_place(disk: Disk, case: str) -> None:
    path, data, at, gone = NEXT[case]
    disk.files.clear()
    disk.put(path, 1, data)
    assert disk.look()[1] == (["a"] if gone else [])
    file = disk.tracker.files.get((1, 1))
    assert (None if file is None else file.at) == at
    assert file is None or (file.path, file.begun_ns is not None) == (path if data else "a", True)


def test_a_file_that_does_not_change_is_not_opened(disk: Disk) -> None:
    disk.put("odd", 2, b"%PDF")
    disk.look()
    disk.read.clear()
    assert disk.look() == ({"a": disk.tracker.files[1, 1], "odd": None}, [])
    assert disk.read == []
    disk.put("a", 1, CAPTURE[:701])
    disk.look()
    assert disk.read == [("a", HEAD_SIZE)]


def test_what_is_passed_over_is_told_once_and_may_become_a_capture(disk: Disk) -> None:
    disk.put("x", 2, b"no")
    assert disk.look()[0]["x"] == "no capture"
    disk.put("x", 2, b"nothing")
    assert disk.look()[0]["x"] is None
    disk.put("x", 2, CAPTURE)
    file = disk.look()[0]["x"]
    assert isinstance(file, GrowingFile)
    assert file.begun_ns == BEGUN_NS


def test_the_time_of_the_first_packet_is_known_once_it_is_whole() -> None:
    disk = Disk()
    found = []
    for size in (24, 40, 200):
        disk.put("a", 1, CAPTURE[:size])
        disk.look()
        found.append(disk.tracker.files[1, 1].begun_ns)
    assert found == [None, None, BEGUN_NS]


def test_a_file_is_gone_after_a_while_and_never_by_a_look_that_is_not_complete(disk: Disk) -> None:
    there = disk.files.copy()
    disk.files.clear()
    assert disk.look(complete=False, seconds=GONE_S * 10)[1] == []
    assert disk.look(seconds=GONE_S)[1] == []
    disk.files = there.copy()
    assert disk.look(seconds=GONE_S * 10)[1] == []
    assert disk.at() == {"a": 500}
    disk.files.clear()
    assert disk.look()[1] == []
    assert disk.look(seconds=GONE_S + 1)[1] == ["a"]
    assert disk.tracker.end_scan_and_list_gone_files(disk.now_s) == []


def test_times_say_since_when_a_file_has_bytes_that_are_not_read(disk: Disk) -> None:
    file = disk.tracker.files[1, 1]
    assert (file.seen_s, file.changed_s, file.behind_s) == (101.0, 101.0, 101.0)
    file.at = 700
    disk.put("a", 1, CAPTURE[:900])
    disk.look()
    disk.put("a", 1, CAPTURE[:1000])
    disk.look()
    assert (file.seen_s, file.changed_s, file.behind_s) == (101.0, 103.0, 102.0)
