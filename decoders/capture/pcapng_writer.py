"""Captured packets in, the bytes of a pcapng file out.

The caller writes the bytes to the file in the order in which it gets them; after any of them the file is readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

__all__ = ["PcapngWriter"]

_ENHANCED: Final = Struct("<IIIIIII")
_PAD: Final = (b"", b"\0\0\0", b"\0\0", b"\0")


class PcapngWriter:
    """One section with one interface, or with `more` of the same link type; times in ns, little-endian."""

    def __init__(
        self,
        link_type: int,
        *,
        interface: str = "",
        more: Sequence[str] = (),
        program: str = "kw",
    ) -> None:
        self._link_type = link_type
        self._interfaces = (interface, *more)
        self._program = program

    def header(self) -> bytes:
        """What the file begins with."""
        section = Struct("<IHHq").pack(0x1A2B3C4D, 1, 0, -1) + _options((4, self._program.encode()))
        return _block(0x0A0D0D0A, section) + b"".join(map(self._described, self._interfaces))

    def _described(self, name: str) -> bytes:
        described = [(9, b"\x09")]  # the clock: 10**-9 s
        if name:
            described.insert(0, (2, name.encode("utf-8", "replace")))
        return _block(1, Struct("<HxxI").pack(self._link_type, 0) + _options(*described))

    def packet(self, time_ns: int, data: bytes, wire: int | None = None, interface: int = 0) -> bytes:
        """One packet: its bytes as captured, and how many it had on the wire where that is more."""
        size = len(data)
        pad = _PAD[size & 3]
        length = 32 + size + len(pad)
        head = _ENHANCED.pack(
            6, length, interface, time_ns >> 32, time_ns & 0xFFFFFFFF, size, size if wire is None else wire
        )
        return b"".join((head, data, pad, length.to_bytes(4, "little")))

    def statistics(self, time_ns: int, *, received: int | None = None, dropped: int | None = None) -> bytes:
        """What the file ends with, where it is known: packets that the interface received, and dropped."""
        counts = [(4, received), (5, dropped)]
        options = [(code, count.to_bytes(8, "little")) for code, count in counts if count is not None]
        return _block(5, Struct("<III").pack(0, time_ns >> 32, time_ns & 0xFFFFFFFF) + _options(*options))


def _options(*options: tuple[int, bytes]) -> bytes:
    head = Struct("<HH")
    out = [head.pack(code, len(value)) + value + _PAD[len(value) & 3] for code, value in options]
    return b"".join((*out, head.pack(0, 0)))


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return Struct("<II").pack(kind, size) + body + size.to_bytes(4, "little")
