"""A file's index and a packet's number in it ⇄ one packet number, for captures of many files."""

from __future__ import annotations

from typing import Final

__all__ = ["FILE_SHIFT", "before", "file_of", "number_of"]

# A file of 2**40 packets has at least 16 TB, and an index of 23 bits still leaves the number a signed 64-bit one.
FILE_SHIFT: Final = 40
_NUMBERS: Final = (1 << FILE_SHIFT) - 1


def before(file: int) -> int:
    """What the numbers of the packets of this file follow: its first packet is this and 1."""
    return file << FILE_SHIFT


def file_of(packet: int) -> int:
    """The index of the file that holds this packet."""
    return packet >> FILE_SHIFT


def number_of(packet: int) -> int:
    """The packet's number in its file, as Wireshark counts, from 1."""
    return packet & _NUMBERS
