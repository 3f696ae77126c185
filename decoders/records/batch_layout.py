"""The layout of a batch of magic 2 (protocol guide, "Record Batch"), and where the magic byte is in all formats."""

from __future__ import annotations

from struct import Struct
from typing import Final

# base offset, length, leader epoch, magic, crc, attributes, last offset delta, base and max timestamp, producer id,
# producer epoch, base sequence, record count
HEADER: Final = Struct(">qiibIhiqqqhii")
SIZE: Final = HEADER.size
# Bytes of a batch before those that its length counts, and before those that its checksum covers.
LOG_OVERHEAD: Final = 12
CRC_START: Final = 21
# Offset of the magic byte in a batch or message of any format.
MAGIC_AT: Final = 16
# Bits of the attributes; the lowest three are the codec's number.
LOG_APPEND, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
