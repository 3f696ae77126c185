"""Files that are no captures of libpcap: what they are, and what makes captures of them."""

from __future__ import annotations

from struct import pack

import pytest

from kwcli.reading.list_input_files import OTHER_FILES, describe_foreign_format

NOW = 1_795_230_245 << 32
ERF = ("a capture in Endace's ERF", OTHER_FILES[b"TRSN"][1])


def record(time: int = NOW, *, kind: int = 2, size: int = 64) -> bytes:
    head = pack("<QBB", time, kind, 4) + size.to_bytes(2, "big") + pack("<HH", 0, 0)
    return head + bytes(max(size, 16) - 16)


@pytest.mark.parametrize(
    ("head", "is_erf"),
    [
        (record() + record(), True),
        (record() + record()[:16], True),
        (record() + record()[:15], False),
        (record(kind=0x82) + record(kind=48), True),
        (record(kind=1) + record(kind=49), False),
        (record(kind=0) + record(), False),
        (record(size=16) + record(size=16), True),
        (record(size=15) + record(), False),
        (record(size=300) + record(), True),
        (record(0) + record(0), False),
        (record(1) + record(1), True),
        (record() + record(NOW - 1), False),
        (record() + record(NOW + (3600 << 32) - 1), True),
        (record() + record(NOW + (3600 << 32)), False),
        (record(), False),
        (b"", False),
    ],
)
def test_two_records_of_close_times_are_an_erf_file(head: bytes, is_erf: bool) -> None:
    assert describe_foreign_format(head) == (ERF if is_erf else None)


@pytest.mark.parametrize("magic", OTHER_FILES, ids=repr)
def test_other_files_are_known_by_their_first_bytes(magic: bytes) -> None:
    assert describe_foreign_format(magic + bytes(64)) == OTHER_FILES[magic]
    assert describe_foreign_format(magic[:-1] + b"\xee" + bytes(64)) is None
