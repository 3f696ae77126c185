"""Headers of packets in a scrubbed capture: options that may tell something become no-operations."""

from __future__ import annotations

import pytest

from decoders.capture.link_types import IP4, IP6
from decoders.scrubbing import scrub_packets

FIXED = bytes(range(20))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("", ""),
        ("01 01", "01 01"),
        ("02 04 05b4", "02 04 05b4"),
        ("03 03 07 01", "03 03 07 01"),
        ("04 02 01 01", "04 02 01 01"),
        ("fd 04 abcd", "01 01 01 01"),
        ("fd 04 abcd 02 04 05b4", "01 01 01 01 02 04 05b4"),
        ("01 fd 03 ab", "01 01 01 01"),
        ("00 ab cd ef", "01 01 01 01"),
        ("02 01 05b4", "01 01 01 01"),
        ("02 00 05b4", "01 01 01 01"),
        ("02 05 05b4", "01 01 01 01"),
        ("01 01 01 02", "01 01 01 01"),
        ("01 01 02 02", "01 01 02 02"),
    ],
)
def test_options_that_are_not_known_to_be_harmless_go(options: str, kept: str) -> None:
    header = scrub_packets._harmless_tcp_header(FIXED + bytes.fromhex(options))
    assert header.hex() == (FIXED + bytes.fromhex(kept)).hex()


def ip4(first: int = 0x45, *, fragment: int = 0, protocol: int = 6) -> bytes:
    return bytes([first, 0, 0, 40, 0, 0]) + fragment.to_bytes(2, "big") + bytes([64, protocol]) + bytes(10)


@pytest.mark.parametrize(
    ("frame", "kind", "size"),
    [
        (ip4(), IP4, 20),
        (ip4(0x4F), IP4, 60),
        (ip4(protocol=17), IP4, 0),
        (ip4(fragment=0x4000), IP4, 20),  # do not fragment
        (ip4(fragment=0x2000), IP4, 0),  # more fragments
        (ip4(fragment=1), IP4, 0),
        (ip4()[:-1], IP4, 0),
        (bytes([0x60, 0, 0, 0, 0, 20, 6]) + bytes(33), IP6, 40),
        (bytes([0x60, 0, 0, 0, 0, 20, 44]) + bytes(33), IP6, 0),
        (bytes([0x60, 0, 0, 0, 0, 20, 6]) + bytes(32), IP6, 0),
        (ip4(), 0x0806, 0),
    ],
)
def test_tcp_follows_an_ip_header_directly(frame: bytes, kind: int, size: int) -> None:
    assert scrub_packets._ip_header_size(frame, kind, 0) == size
    assert scrub_packets._ip_header_size(b"\xff" * 14 + frame, kind, 14) == size


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        ("", 0),
        ("0001 f203 f4f5 f6f7", 0x220D),  # RFC 1071, 3
        ("ffff", 0),
        ("01", 0xFEFF),
        ("0100", 0xFEFF),
    ],
)
def test_the_checksum_of_the_internet(data: str, checksum: int) -> None:
    assert scrub_packets._internet_checksum(bytes.fromhex(data)) == checksum
