"""A records field in, the same batches with other producer ids and epochs out, their checksums made anew.

Only batches of magic 2 have a producer (KIP-98); its id and epoch stand in the header, whatever the codec.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

import google_crc32c

from decoders.records.layout import CRC_START, LOG_OVERHEAD, MAGIC_AT, SIZE

__all__ = ["renumber_producer"]

_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8
_CRC: Final = Struct(">I")
_PRODUCER: Final = Struct(">qh")
_PRODUCER_AT: Final = 43
_MAGIC: Final = 2


def renumber_producer(data: bytes, there: Callable[[int, int], tuple[int, int]]) -> bytes:
    """`there` gives the producer id and epoch that stand for recorded ones; batches without a producer stay.

    Bytes that are no whole batch of magic 2 stay as they are: what is wrong with them is for the broker to say.
    """
    out = bytearray(data)
    at = 0
    while at + SIZE <= len(data):
        end = at + LOG_OVERHEAD + _LENGTH.unpack_from(data, at + _LENGTH_AT)[0]
        if end < at + SIZE or end > len(data) or data[at + MAGIC_AT] != _MAGIC:
            break
        producer, epoch = _PRODUCER.unpack_from(data, at + _PRODUCER_AT)
        if producer >= 0:
            _PRODUCER.pack_into(out, at + _PRODUCER_AT, *there(producer, epoch))
            _CRC.pack_into(out, at + CRC_START - _CRC.size, google_crc32c.value(bytes(out[at + CRC_START : end])))
        at = end
    return bytes(out)
