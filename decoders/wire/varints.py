"""Variable-length integers: bytes and an offset in, a value and the offset after it out; and back.

Unsigned ones hold 7 bits a byte, low bits first, at most 5 bytes for 32 bits and 10 for 64 (KIP-482, KIP-98); signed
ones are zigzag-coded before that. Overlong forms are read, as Kafka reads them, and never written.
"""

from __future__ import annotations

from decoders.errors import Malformed, Truncated


def read_uvarint(buf: bytes, at: int, end: int, bits: int = 32) -> tuple[int, int]:
    """The unsigned varint at `at` that must end before `end`. Raises Truncated or Malformed."""
    value = shift = 0
    start = at
    while True:
        if at >= end:
            raise Truncated("the bytes end inside a varint", offset=start)
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise Malformed(f"a varint of more than {(bits + 6) // 7} bytes", offset=start)
    if value >> bits:
        raise Malformed(f"a varint beyond {bits} bits", offset=start)
    return value, at


def read_varint(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The zigzag varint of 32 bits at `at`."""
    value, at = read_uvarint(buf, at, end)
    return (value >> 1) ^ -(value & 1), at


def read_varlong(buf: bytes, at: int, end: int) -> tuple[int, int]:
    """The zigzag varint of 64 bits at `at`."""
    value, at = read_uvarint(buf, at, end, 64)
    return (value >> 1) ^ -(value & 1), at


def write_uvarint(value: int) -> bytes:
    """The shortest form of a value that is not negative."""
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_varint(value: int) -> bytes:
    """The zigzag form of a signed value of 32 bits."""
    return write_uvarint((value << 1) ^ (value >> 31))


def write_varlong(value: int) -> bytes:
    """The zigzag form of a signed value of 64 bits."""
    return write_uvarint((value << 1) ^ (value >> 63))


_ONE_BYTE = [bytes([value]) for value in range(0x80)]
