"""pcapng blocks of any kind in either byte order, whole or wrong."""

from __future__ import annotations

from struct import pack

Options = tuple[tuple[int, bytes], ...]


def options(order: str, *rows: tuple[int, bytes]) -> bytes:
    """Options with their end mark; no bytes if there are none."""
    out = b"".join(pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4) for code, value in rows)
    return out + bytes(4) if rows else b""


def block(order: str, kind: int, body: bytes) -> bytes:
    """A block around `body`, which is padded to four bytes."""
    body += bytes(-len(body) % 4)
    size = pack(order + "I", len(body) + 12)
    return pack(order + "I", kind) + size + body + size


def section(order: str, rows: Options = ()) -> bytes:
    """A section header."""
    return block(order, 0x0A0D0D0A, pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + options(order, *rows))


def interface(order: str, link: int = 1, snaplen: int = 0, rows: Options = ()) -> bytes:
    """An interface description."""
    return block(order, 1, pack(order + "HHI", link, 0, snaplen) + options(order, *rows))


def enhanced(order: str, number: int, ticks: int, data: bytes, wire: int | None = None, rows: Options = ()) -> bytes:
    """An enhanced packet block."""
    head = pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), wire or len(data))
    return block(order, 6, head + data + bytes(-len(data) % 4) + options(order, *rows))


def simple(order: str, data: bytes, wire: int | None = None) -> bytes:
    """A simple packet block."""
    return block(order, 3, pack(order + "I", wire or len(data)) + data)


def obsolete(order: str, number: int, ticks: int, data: bytes) -> bytes:
    """A packet block of the first drafts."""
    head = pack(order + "HHIIII", number, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(order, 2, head + data)


def statistics(order: str, number: int, received: int, dropped: int, by_system: int) -> bytes:
    """Interface statistics."""
    counts = ((4, received), (5, dropped), (7, by_system))
    rows = [(code, pack(order + "Q", count)) for code, count in counts]
    return block(order, 5, pack(order + "III", number, 0, 0) + options(order, *rows))
