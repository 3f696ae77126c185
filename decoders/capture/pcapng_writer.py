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
# Codes of options and blocks: a comment, an interface's name, decryption secrets and their kind, a TLS key log.
_COMMENT: Final = 1
_IF_NAME: Final = 2
_SECRETS: Final = 10
_TLS_KEY_LOG: Final = 0x544C534B


class PcapngWriter:
    """A little-endian section with one interface, or with `more` of the same link type; times are in ns."""

    def __init__(
        self,
        link_type: int,
        *,
        interface: str = "",
        more: Sequence[str] = (),
        program: str = "kw",
        comments: Sequence[str] = (),
    ) -> None:
        self._link_type = link_type
        self._interfaces = (interface, *more)
        self._program = program
        self._comments = comments

    def make_file_header(self) -> bytes:
        """The first bytes of the file: the section and its interfaces."""
        return self.make_section_block() + b"".join(
            self.make_interface_block(self._link_type, name) for name in self._interfaces
        )

    def make_section_block(self) -> bytes:
        """The section alone, where interfaces are described one by one."""
        said = [*((_COMMENT, comment.encode()) for comment in self._comments), (4, self._program.encode())]
        return _encode_block(0x0A0D0D0A, Struct("<IHHq").pack(0x1A2B3C4D, 1, 0, -1) + _encode_options(*said))

    @staticmethod
    def make_interface_block(link_type: int, name: str) -> bytes:
        """The description of the next interface of the section."""
        described = [(9, b"\x09")]  # the clock: 10**-9 s
        if name:
            described.insert(0, (_IF_NAME, name.encode("utf-8", "replace")))
        return _encode_block(1, Struct("<HxxI").pack(link_type, 0) + _encode_options(*described))

    @staticmethod
    def make_secrets_block(key_log: bytes) -> bytes:
        """A block with lines of a TLS key log, for the packets after it."""
        padded = key_log + _PAD[len(key_log) & 3]
        return _encode_block(_SECRETS, Struct("<II").pack(_TLS_KEY_LOG, len(key_log)) + padded)

    @staticmethod
    def make_commented_packet_block(
        time_ns: int, data: bytes, comments: Sequence[str], *, wire: int | None = None, interface: int = 0
    ) -> bytes:
        """One packet as in `make_packet_block`, with comments."""
        said = [(_COMMENT, comment.encode("utf-8", "backslashreplace")) for comment in comments]
        size = len(data)
        head = Struct("<IIIII").pack(
            interface, time_ns >> 32, time_ns & 0xFFFFFFFF, size, size if wire is None else wire
        )
        return _encode_block(6, head + data + _PAD[size & 3] + (_encode_options(*said) if said else b""))

    def make_packet_block(self, time_ns: int, data: bytes, wire: int | None = None, interface: int = 0) -> bytes:
        """One packet: its bytes as captured, and its size on the wire where that is more."""
        size = len(data)
        pad = _PAD[size & 3]
        length = 32 + size + len(pad)
        head = _ENHANCED.pack(
            6, length, interface, time_ns >> 32, time_ns & 0xFFFFFFFF, size, size if wire is None else wire
        )
        return b"".join((head, data, pad, length.to_bytes(4, "little")))

    def make_statistics_block(self, time_ns: int, *, received: int | None = None, dropped: int | None = None) -> bytes:
        """The end of the file, where the counts are known: packets that the interface received, and dropped."""
        counts = [(4, received), (5, dropped)]
        options = [(code, count.to_bytes(8, "little")) for code, count in counts if count is not None]
        return _encode_block(5, Struct("<III").pack(0, time_ns >> 32, time_ns & 0xFFFFFFFF) + _encode_options(*options))


def _encode_options(*options: tuple[int, bytes]) -> bytes:
    head = Struct("<HH")
    out = [head.pack(code, len(value)) + value + _PAD[len(value) & 3] for code, value in options]
    return b"".join((*out, head.pack(0, 0)))


def _encode_block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return Struct("<II").pack(kind, size) + body + size.to_bytes(4, "little")
