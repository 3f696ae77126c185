"""Records in, a message set of magic 0 or 1 out, as Kafka's Java code writes it: plain messages, or one wrapper.

The layout is told in `legacy`. A wrapper has the offset of its last message and, in magic 1, the largest timestamp;
the messages inside have absolute offsets in magic 0 and offsets from the first one on in magic 1. Where a wrapper of
magic 1 says offset 0 (librdkafka) readers take the offsets inside as they are, so they are written as they are.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from struct import Struct, error
from typing import Final

from decoders.errors import EncodeError
from decoders.records.batch import LOG_APPEND
from decoders.records.codecs import NUMBERS, deflate
from decoders.records.model import Record

_OVERHEAD: Final = Struct(">qiI")  # offset, size, crc
_HEADS: Final = (Struct(">bb"), Struct(">bbq"))  # magic, attributes, timestamp
_INT32: Final = Struct(">i")
_CRC_SIZE: Final = 4
_NULL: Final = _INT32.pack(-1)
_CODECS: Final = ("none", "gzip", "snappy", "lz4")
TIMESTAMP_TYPES: Final = {"create": 0, "log_append": LOG_APPEND}


def encode_message_set(
    records: Sequence[Record],
    magic: int,
    *,
    codec: str = "none",
    last_offset: int | None = None,
    timestamp_type: str | None = None,
    max_timestamp: int | None = None,
) -> bytes:
    """One message a record, or all of them in one wrapper when there is a codec. Raises EncodeError.

    `last_offset` and `max_timestamp` are what the wrapper says, where that does not follow from the records.
    """
    _check(records, magic, codec, timestamp_type)
    kind = TIMESTAMP_TYPES[timestamp_type or "create"] if magic else 0
    stamps = [-1 if record.timestamp is None else record.timestamp for record in records]
    if codec == "none":
        return b"".join(
            _message(record.offset, magic, kind, stamp, record.key, record.value, f"records[{index}]")
            for index, (record, stamp) in enumerate(zip(records, stamps, strict=True))
        )
    last = records[-1].offset
    if last_offset is None:
        last_offset = last
    base = records[0].offset if magic and last_offset else 0
    if magic and last_offset not in (0, last):
        raise EncodeError(f"in magic 1 this is the last record's, {last}", path="last_offset")
    inner = b"".join(
        _message(record.offset - base, magic, kind, stamp, record.key, record.value, f"records[{index}]")
        for index, (record, stamp) in enumerate(zip(records, stamps, strict=True))
    )
    if max_timestamp is None:
        max_timestamp = max(stamps)
    packed = deflate(codec, inner, magic)
    return _message(last_offset, magic, kind | NUMBERS[codec], max_timestamp, None, packed, "")


def _check(records: Sequence[Record], magic: int, codec: str, timestamp_type: str | None) -> None:
    """Whether these records can be written in this format."""
    if magic not in (0, 1):
        raise EncodeError(f"no records have magic {magic}; there are 0, 1 and 2", path="magic")
    if codec in NUMBERS and codec not in _CODECS:
        raise EncodeError(f"{codec} needs magic 2", path="codec")
    if codec not in NUMBERS:
        raise EncodeError(f"no compression is called {codec!r}; there are {', '.join(_CODECS)}", path="codec")
    if timestamp_type is not None and (timestamp_type not in TIMESTAMP_TYPES or not magic):
        text = "needs magic 1 or 2" if timestamp_type in TIMESTAMP_TYPES else "is neither create nor log_append"
        raise EncodeError(f"{timestamp_type!r} {text}", path="timestamp_type")
    if codec != "none" and not records:
        raise EncodeError(f"magic {magic} cannot compress no records at all", path="records")
    for index, record in enumerate(records):
        if record.headers:
            raise EncodeError("headers need magic 2", path=f"records[{index}].headers")
        if not magic and record.timestamp not in (None, -1):
            raise EncodeError("a timestamp needs magic 1 or 2", path=f"records[{index}].timestamp")


def _message(
    offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None, path: str
) -> bytes:
    """One message with its offset, size and checksum before it."""
    try:
        head = _HEADS[magic].pack(magic, attributes, *([timestamp] if magic else []))
        body = b"".join((head, *_sized(key), *_sized(value)))
        return _OVERHEAD.pack(offset, _CRC_SIZE + len(body), zlib.crc32(body)) + body
    except error as failure:
        raise EncodeError(f"offset, timestamp or size is out of range: {failure}", path=path) from None


def _sized(data: bytes | None) -> tuple[bytes, ...]:
    return (_NULL,) if data is None else (_INT32.pack(len(data)), data)
