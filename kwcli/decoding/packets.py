"""Bytes of a dump in, what a TCP segment in them carries out: `tcpdump -X` shows packets, not messages."""

from __future__ import annotations

from typing import Final

from decoders.capture.link import LINKS
from decoders.capture.network import Dissector
from decoders.streams.resync import NO
from decoders.streams.verdict import request_verdict

_ETHERNET: Final = 1
_RAW: Final = 101
_PAYLOAD: Final = 6  # the payload's place in a segment


def payload(data: bytes) -> bytes:
    """What the packet carries where the bytes are one (`-X`: from the IP header on, `-XX`: with Ethernet), else all."""
    if request_verdict(data, 0) != NO:
        return data
    for link in (_RAW, _ETHERNET):
        if link == _RAW and data[:1] not in (b"\x45", b"\x46", b"\x60"):
            continue
        segment = Dissector().segment(LINKS[link], data, 0, len(data), 0, 0, 0)
        if segment is not None:
            carried: bytes = segment[_PAYLOAD]
            return carried
    return data
