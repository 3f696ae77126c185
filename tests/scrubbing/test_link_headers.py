"""Addresses of network cards in link headers are replaced in every link type that has them; nothing else is."""

from __future__ import annotations

from typing import Final

import pytest

from decoders.scrubbing.pseudonyms import Pseudonyms
from decoders.scrubbing.scrub_packets import _HEADS

PSEUDONYMS: Final = Pseudonyms(b"key")
CARD, OTHER, LONG = bytes.fromhex("02 11 22 33 44 55"), bytes.fromhex("02 66 77 88 99 aa"), bytes(range(1, 9))


def pseudonym(card: bytes) -> bytes:
    return PSEUDONYMS.mac_address_pseudonym(card)


# Link type, its header, and the end of the header as it is then.
ROWS: Final = [
    (1, CARD + OTHER + b"\x08\0", pseudonym(CARD) + pseudonym(OTHER) + b"\x08\0"),
    (113, bytes.fromhex("0000 0001 0006") + CARD + b"\x99\x99\x08\0", pseudonym(CARD) + b"\0\0\x08\0"),
    (113, bytes.fromhex("0000 0001 0008") + LONG + b"\x08\0", pseudonym(LONG) + b"\x08\0"),
    (113, bytes.fromhex("0000 0001 0014") + LONG + b"\x08\0", pseudonym(LONG) + b"\x08\0"),  # of 20 bytes, 8 are there
    (113, bytes.fromhex("0000 0304 0000") + LONG + b"\x08\0", bytes(8) + b"\x08\0"),
    (276, bytes.fromhex("0800 0000 00000002 0001 00 06") + CARD + b"\x99\x99", pseudonym(CARD) + b"\0\0"),
    (276, bytes.fromhex("0800 0000 00000002 0001 00 08") + LONG, pseudonym(LONG)),
]


@pytest.mark.parametrize(("link_type", "header", "end"), ROWS)
def test_addresses_of_cards_are_replaced(link_type: int, header: bytes, end: bytes) -> None:
    behind = b"an IP packet"
    out = bytearray(header + behind)
    _HEADS[link_type](PSEUDONYMS, out)
    assert bytes(out) == header[: len(header) - len(end)] + end + behind


def test_each_link_type_has_a_row_or_no_addresses() -> None:
    with_addresses = set()
    for link_type, replace in _HEADS.items():
        out = bytearray(bytes(range(1, 33)))
        replace(PSEUDONYMS, out)
        if out != bytes(range(1, 33)):
            with_addresses.add(link_type)
    assert with_addresses == {row[0] for row in ROWS}
