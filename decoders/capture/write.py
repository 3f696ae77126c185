"""Captured packets in, the bytes of a capture file out: pcapng as kw writes it, classic pcap where that is asked for.

The caller writes the bytes to the file in the order in which it gets them; after any of them the file is readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

__all__ = ["PcapWriter", "PcapngWriter"]

_ENHANCED: Final = Struct("<IIIIIII")
_PAD: Final = (b"", b"\0\0\0", b"\0\0", b"\0")


class PcapngWriter:
    """One section with one interface, or with `more` of the same link type; times in ns, little-endian."""

    def __init__(
        self,
        link_type: int,
        *,
        snaplen: int = 0,
        interface: str = "",
        more: Sequence[str] = (),
        program: str = "kw",
    ) -> None:
        self._link_type = link_type
        self._snaplen = snaplen
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
        return _block(1, Struct("<HxxI").pack(self._link_type, self._snaplen) + _options(*described))

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


class PcapWriter:
    """Classic pcap, in ns or µs, in either byte order (`<` or `>`)."""

    def __init__(self, link_type: int, *, snaplen: int = 262_144, order: str = "<", nanoseconds: bool = True) -> None:
        magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
        self._header = Struct(order + "IHHiIII").pack(magic, 2, 4, 0, 0, snaplen, link_type)
        self._tick = 1 if nanoseconds else 1000
        self._record = Struct(order + "IIII")

    def header(self) -> bytes:
        """What the file begins with."""
        return self._header

    def packet(self, time_ns: int, data: bytes, wire: int | None = None) -> bytes:
        """One packet, as `PcapngWriter.packet`."""
        seconds, rest = divmod(time_ns, 1_000_000_000)
        return self._record.pack(seconds, rest // self._tick, len(data), len(data) if wire is None else wire) + data


def _options(*options: tuple[int, bytes]) -> bytes:
    head = Struct("<HH")
    out = [head.pack(code, len(value)) + value + _PAD[len(value) & 3] for code, value in options]
    return b"".join((*out, head.pack(0, 0)))


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return Struct("<II").pack(kind, size) + body + size.to_bytes(4, "little")
