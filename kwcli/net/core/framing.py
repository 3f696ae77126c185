"""Bytes of one direction of a connection in, frames with their size fields out, each with the times of its ends.

A size is judged before anything of its frame is kept, and memory grows with the bytes that came, never with the size
that was claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

from decoders.limits import FRAME_MAX
from decoders.wire.text import in_bytes

SIZE_FIELD = 4


class Frame(NamedTuple):
    """`data` begins with the size field; times are those at which its first and last byte were handed in."""

    data: bytes
    first_ns: int
    last_ns: int


class BadSize(Exception):
    """A size field that no frame here can have; `head` is what came from there on, `size` None below 4 bytes."""

    def __init__(self, size: int, head: bytes) -> None:
        super().__init__(f"a frame of {in_bytes(size)}")
        self.size = size
        self.head = head


class FrameReader:
    """Cuts a stream into frames. `largest` and `least` bound the sizes believed; they may be changed between frames."""

    __slots__ = ("_body", "_first_ns", "_have", "_head", "_size", "largest", "least", "whole")

    def __init__(self, largest: int = FRAME_MAX) -> None:
        self.largest = largest
        self.least = 4
        self.whole = 0  # frames that have been cut so far
        self._head = b""  # of the size field, while it is not whole
        self._body: BytesIO | None = None  # size field and body, once the size is known
        self._size = 0
        self._have = 0
        self._first_ns = 0

    @property
    def pending(self) -> bytes:
        """The start of the frame that is not whole yet, 64 bytes at most."""
        return bytes(self._body.getbuffer()[:64]) if self._body is not None else self._head

    @property
    def missing(self) -> tuple[int, int]:
        """(bytes there, bytes due in all) of the frame that is not whole yet; due is 4 while its size is unknown."""
        return (self._have, self._size + SIZE_FIELD) if self._body is not None else (len(self._head), SIZE_FIELD)

    def feed(self, data: bytes, now_ns: int) -> Iterator[Frame]:
        """The frames that end in `data`. Raises BadSize."""
        at, end = 0, len(data)
        while at < end:
            if self._body is None:
                at = self._begin(data, at, now_ns)
                if self._body is None:
                    return
            take = min(end - at, self._size + SIZE_FIELD - self._have)
            self._body.write(memoryview(data)[at : at + take])
            self._have += take
            at += take
            if self._have == self._size + SIZE_FIELD:
                whole = self._body.getvalue()
                self._body = None
                self.whole += 1
                yield Frame(whole, self._first_ns, now_ns)

    def _begin(self, data: bytes, at: int, now_ns: int) -> int:
        """Read the size field, or as much of it as is there; the offset after it."""
        if not self._head:
            self._first_ns = now_ns
        take = SIZE_FIELD - len(self._head)
        head = self._head + data[at : at + take]
        self._head = head
        if len(head) < SIZE_FIELD:
            return len(data)
        size = int.from_bytes(head, "big", signed=True)
        if not self.least <= size <= self.largest:
            raise BadSize(size, head + data[at + take : at + take + 1024])
        self._head = b""
        self._body = BytesIO()
        self._body.write(head)
        self._size = size
        self._have = SIZE_FIELD
        return at + take
