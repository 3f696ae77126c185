"""Numbers that were read as sizes, at the borders of what they may be: what their bytes are, in words."""

from __future__ import annotations

import pytest

from decoders.frames.explain_strange_numbers import SIZE_MAX, explain_number, explain_number_read_as_size


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (-1, [("Kafka", "a null length")]),
        (0xFFFFFFFF, [("Kafka", "a null length")]),
        (104_857_600, [("Kafka", "the default of socket.request.max.bytes")]),
        (100_000_000, [("Kafka", "the default of librdkafka's receive.message.max.bytes")]),
        (1 << 30, [("Kafka", "the default of log.segment.bytes")]),
        (0x7FFFFFFF, [("Kafka", "the largest possible size")]),
        (1 << 32, []),
        (-(1 << 31) - 1, []),
        (0x16030100, [("TLS", "a handshake, TLS 1.0 record")]),
        (0x14030300, [("TLS", "a change of cipher, TLS 1.2 record")]),
        (0x15030302, [("TLS", "an alert")]),
        (0x17030300, [("TLS", "encrypted data, TLS 1.2 record")]),
        (0x13030301, []),
        (0x18030301, []),
        (0x802E0103, [("TLS", "a hello in the form of SSL 2")]),
        (0x802E0104, []),
        (0xFFFB0102, [("Telnet", "its control bytes")]),
        (0xFFFD0102, [("Telnet", "its control bytes")]),
        (0xFFF40102, [("Telnet", "its control bytes")]),
        (0xFFFC0102, []),
        (0x4C4F4C20, [("text", '"LOL "')]),
        (0x4C4F4C7F, []),
        (0x4C4F4C1F, []),
        (0x08000000, [("wrong byte order", "a size of 8 written little-endian")]),
        (0x07000000, []),
        (0x00001000, []),
        (0x01001000, []),
        (0x09001000, []),
        (0xFFFF0F00, [("wrong byte order", "a size of 1048575 written little-endian")]),
        (0x0012_0004, [("lost framing", "the head of a ApiVersions 4 request read as a size")]),
        (0x0012_00FF, []),
        (0x0000_0004, []),
    ],
)
def test_the_bytes_of_a_number(number: int, found: list[tuple[str, str]]) -> None:
    assert [(each.what, each.detail) for each in explain_number(number)] == found


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (0, ["a size of 0 bytes, which is possible for a message"]),
        (SIZE_MAX, ["a size of 104,857,600 bytes, which is possible for a message"]),
        (SIZE_MAX + 1, ["the bytes 06 40 00 01 are no possible size, and no known protocol begins with them"]),
        (-2, ["the bytes ff ff ff fe are no possible size, and no known protocol begins with them"]),
        (-(1 << 31), ["the bytes 80 00 00 00 are no possible size, and no known protocol begins with them"]),
        (-(1 << 31) - 1, []),
        ((1 << 32) - 1, ["the bytes ff ff ff ff are no possible size, and no known protocol begins with them"]),
        (1 << 32, []),
    ],
)
def test_a_size_is_possible_or_not(number: int, found: list[str]) -> None:
    assert [each.detail for each in explain_number_read_as_size(number)] == found
