"""A size field that cannot be one: the error has the bytes that may tell what the other end speaks."""

from __future__ import annotations

from typing import Final

import pytest

from kwcli.net.session.frame_reader import BadSize, FrameReader

FRAME: Final = b"\0\0\0\5first"
STRANGE: Final = b"HTTP/1.1 400 Bad Request\r\n" + bytes(range(256)) * 12


@pytest.mark.parametrize("before", [b"", FRAME])
@pytest.mark.parametrize("size", [4, 30, 1028, 1029, len(STRANGE)])
def test_an_error_has_the_bytes_behind_the_size_field(before: bytes, size: int) -> None:
    reader = FrameReader()
    assert len(list(reader.feed(before, 1))) == bool(before)
    with pytest.raises(BadSize) as failure:
        list(reader.feed(STRANGE[:size], 2))
    assert failure.value.size == int.from_bytes(b"HTTP", "big")
    assert failure.value.head == STRANGE[: min(size, 1028)]
