"""The secrets of a pcapng, found by the heads of its blocks alone; damage ends the search."""

from __future__ import annotations

from struct import pack
from typing import Literal

import pytest

from decoders.capture.find_key_log_lines import SECRETS, SECTION, TLS_KEY_LOG, find_key_log_lines

Order = Literal["<", ">"]


def block(kind: int, body: bytes, order: Order = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = len(body) + 12
    return pack(f"{order}II", kind, size) + body + pack(f"{order}I", size)


def section(order: Order = "<") -> bytes:
    return block(SECTION, pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def secrets(lines: bytes, order: Order = "<", kind: int = TLS_KEY_LOG) -> bytes:
    return block(SECRETS, pack(f"{order}II", kind, len(lines)) + lines, order)


@pytest.mark.parametrize("order", ["<", ">"])
def test_lines_are_found_in_both_byte_orders(order: Order) -> None:
    data = section(order) + block(6, b"packet", order) + secrets(b"A\n", order) + secrets(b"BCDEF\n", order)
    assert list(find_key_log_lines(data)) == [b"A\n", b"BCDEF\n"]


def test_a_later_section_has_its_own_order() -> None:
    assert list(find_key_log_lines(section("<") + secrets(b"A\n") + section(">") + secrets(b"B\n", ">"))) == [
        b"A\n",
        b"B\n",
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\xd4\xc3\xb2\xa1" + bytes(20), []),
        (secrets(b"A\n"), []),
        (section() + secrets(b"A\n", kind=TLS_KEY_LOG + 1), []),
        (section()[:8] + b"\0\0\0\0" + section()[12:] + secrets(b"A\n"), []),
        (section() + pack("<II", 6, 11) + bytes(8) + secrets(b"A\n"), []),
        (section() + pack("<II", 6, 14) + bytes(6) + secrets(b"A\n"), []),
        (section() + pack("<III", 6, 12, 12) + secrets(b"A\n"), [b"A\n"]),
        (section() + secrets(b"A\n")[:-1], []),
        (section() + secrets(b"A\n") + b"\n\0\0\0", [b"A\n"]),
        # A length beyond the block: what is in the block.
        (section() + block(SECRETS, pack("<II", TLS_KEY_LOG, 99) + b"ABCD"), [b"ABCD"]),
        (section() + secrets(b""), [b""]),
    ],
)
def test_what_cannot_be_followed_ends_it(data: bytes, found: list[bytes]) -> None:
    assert list(find_key_log_lines(data)) == found
