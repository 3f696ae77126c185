"""One growing file: where it comes in the order, which file it is, and since when it has bytes to be read."""

from __future__ import annotations

import pytest

from decoders.capture.tell_new_grown_and_replaced_files import FileTracker, GrowingFile, SeenFile


def file(path: str, begun_ns: int | None = None) -> GrowingFile:
    return GrowingFile(path, path, (1, 1), begun_ns=begun_ns)


def test_files_come_by_their_first_packets_those_without_last() -> None:
    files = [file("d"), file("b", 5), file("c", 0), file("a", 5), file("e", 1 << 61)]
    assert [each.path for each in sorted(files, key=GrowingFile.sort_key)] == ["c", "a", "b", "e", "d"]


@pytest.mark.parametrize(
    ("head", "size", "replaced"),
    [
        (b"abcdef", 4, False),
        (b"abcdef", 3, True),
        (b"abXdef", 4, True),
        (b"abc", 4, False),
        (b"\0\0\0\0", 9, False),  # its blocks are not on the disk yet
        (b"\0\0\0\1", 9, True),
    ],
)
def test_a_file_is_another_by_its_head_or_its_size(head: bytes, size: int, replaced: bool) -> None:
    read = file("a")
    read.remember_head(b"abc")
    read.at = 4
    assert read.is_replaced_by(size, head) is replaced


def test_bytes_wait_from_when_the_file_was_read_to_its_end() -> None:
    its = file("a")
    its.note_size(0, 1, 1.0)
    assert its.behind_s == 1.0
    its.note_size(10, 2, 2.0)
    assert (its.behind_s, its.size, its.changed_ns, its.changed_s) == (2.0, 10, 2, 2.0)
    its.note_size(20, 3, 3.0)
    assert its.behind_s == 2.0
    its.at = 20
    its.note_size(20, 4, 4.0)
    assert its.behind_s == 2.0
    its.note_size(21, 5, 5.0)
    assert its.behind_s == 5.0


def test_why_a_file_is_passed_over_is_said_once() -> None:
    tracker: FileTracker[GrowingFile] = FileTracker()
    seen = SeenFile("a", "a", (1, 1), 10, 1)
    assert [tracker.pass_over_file(seen, why) for why in ("x", "x", "y", "y", "x")] == ["x", None, "y", None, "x"]
