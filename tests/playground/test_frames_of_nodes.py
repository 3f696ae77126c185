"""A frame of a node comes whole, in however many pieces, or not at all."""

from __future__ import annotations

import socket

import pytest

from kwcli.playground.java_process import _read_exactly


@pytest.mark.parametrize("pieces", [[b"abcdef"], [b"ab", b"cd", b"ef"], [b"abcde", b"fgh"]])
def test_exactly_so_many_bytes_are_read(pieces: list[bytes]) -> None:
    here, there = socket.socketpair()
    with here, there:
        for piece in pieces:
            there.sendall(piece)
        there.shutdown(socket.SHUT_WR)
        assert _read_exactly(here, 6) == b"abcdef"
        assert _read_exactly(here, 0) == b""


def test_an_end_before_that_is_an_error() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"abc")
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(EOFError):
            _read_exactly(here, 4)
