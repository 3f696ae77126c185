"""A pcapng of any size in, the key log lines of its decryption secrets blocks out, without reading packets.

Secrets should come before the packets that need them. Some writers learn a key only when the connection has begun, and
the block comes after those packets. Only the headers of blocks are read here (pcapng, sections 3.1 and 4.7).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, Final

from decoders.limits import SECRETS_BLOCK_MAX

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["SECRETS", "SECTION", "TLS_KEY_LOG", "find_key_log_lines"]

# Types of blocks.
SECTION: Final = 0x0A0D0D0A
SECRETS: Final = 10
# The kind of decryption secrets that is read: lines of a TLS key log.
TLS_KEY_LOG: Final = 0x544C534B
_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}


def find_key_log_lines(data: bytes | mmap) -> Iterator[bytes]:
    """The key log lines of each secrets block, as far as blocks can be followed; none in a file that is no pcapng."""
    at, size = 0, len(data)
    head = Struct("<II")
    if data[:4] != SECTION.to_bytes(4, "big"):
        return
    while at + 16 <= size:
        kind, length = head.unpack_from(data, at)
        if kind == SECTION:
            order = _ORDERS.get(data[at + 8 : at + 12])
            if order is None:
                return
            head = Struct(order + "II")
            kind, length = head.unpack_from(data, at)
        if length < 12 or length % 4:
            return
        if kind == SECRETS and length <= SECRETS_BLOCK_MAX and at + length <= size:
            secrets_type, its = head.unpack_from(data, at + 8)
            if secrets_type == TLS_KEY_LOG:
                yield data[at + 16 : at + min(16 + its, length - 4)]
        at += length
