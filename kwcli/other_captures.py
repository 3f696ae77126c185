"""The first bytes of a file that is no capture kw reads in, what it is and how to make a capture of it out."""

from __future__ import annotations

from struct import Struct
from typing import Final

__all__ = ["OTHER_FILES", "other_capture"]

# First bytes of files that hold captures in other forms → what they are, and the command that makes a pcapng of one.
_EDITCAP: Final = "editcap -F pcapng IN OUT"
OTHER_FILES: Final[dict[bytes, tuple[str, str]]] = {
    b"snoop\0": ("a capture of Solaris' snoop", _EDITCAP),
    b"GMBU": ("a capture of Microsoft's Network Monitor", _EDITCAP),
    b"RTSS": ("a capture of Microsoft's Network Monitor 1", _EDITCAP),
    b"TRSN": ("a capture of Network General's Sniffer", _EDITCAP),
    b"XCP\0": ("a capture of NetXRay", _EDITCAP),
    b"iptr": ("a trace of AIX' iptrace", _EDITCAP),
    b"LOGG": ("a log of Vector's BLF", _EDITCAP),
    b"BZh": ("compressed by bzip2", "bzip2 -dk FILE"),
    b"\xfd7zX": ("compressed by xz", "xz -dk FILE"),
    b"PK\3\4": ("a zip archive", "unzip FILE"),
    b"7z\xbc\xaf": ("a 7z archive", "7z x FILE"),
}


# Time (seconds in the upper half), type, flags, size of the record, lost, size on the wire: a record of ERF begins so.
_ERF: Final = Struct("<QBBHHH")
_ERF_TYPES: Final = range(1, 49)
_ERF_HOUR: Final = 3600 << 32


def _is_erf(head: bytes) -> bool:
    """Whether two records of ERF stand there, which has no magic: of close times, one behind the other."""
    if len(head) < 2 * _ERF.size:
        return False
    first_time, first_kind, _, first_size, *_ = _ERF.unpack_from(head)
    first_size = first_size >> 8 | (first_size & 0xFF) << 8  # sizes are in network order
    if first_size < _ERF.size or len(head) < first_size + _ERF.size:
        return False
    time, kind, *_ = _ERF.unpack_from(head, first_size)
    near = first_time <= time < first_time + _ERF_HOUR
    return near and first_time > 0 and first_kind & 0x7F in _ERF_TYPES and kind & 0x7F in _ERF_TYPES


def other_capture(head: bytes) -> tuple[str, str] | None:
    """What a file that begins so is, and the command that makes a pcapng of it; None where nobody knows."""
    for magic, told in OTHER_FILES.items():
        if head.startswith(magic):
            return told
    return ("a capture in Endace's ERF", _EDITCAP) if _is_erf(head) else None
