"""Captured packets in, the bytes of a classic pcap file out."""

from __future__ import annotations

from struct import Struct


class PcapWriter:
    """Classic pcap, in ns or µs, in either byte order (`<` or `>`)."""

    def __init__(self, link_type: int, *, snaplen: int = 262_144, order: str = "<", nanoseconds: bool = True) -> None:
        magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
        self._header = Struct(order + "IHHiIII").pack(magic, 2, 4, 0, 0, snaplen, link_type)
        self._tick = 1 if nanoseconds else 1000
        self._record = Struct(order + "IIII")

    def make_file_header(self) -> bytes:
        """The file header."""
        return self._header

    def make_packet_block(self, time_ns: int, data: bytes, wire: int | None = None) -> bytes:
        """One packet; its times are in nanoseconds, `wire` is its size on the wire."""
        seconds, rest = divmod(time_ns, 1_000_000_000)
        return self._record.pack(seconds, rest // self._tick, len(data), len(data) if wire is None else wire) + data
