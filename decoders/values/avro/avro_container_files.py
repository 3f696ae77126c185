"""An Avro container (`Obj` 01: a file of values with their schema) in; its schema's type and its values out."""

from __future__ import annotations

import zlib
from typing import Any, Final

from decoders.errors import LimitExceeded, Malformed, Truncated
from decoders.limits import VALUE_INFLATED_MAX, VALUE_PARTS_MAX
from decoders.records.codecs import NUMBERS, inflate
from decoders.values.avro.avro_decoder import AvroDecoder
from decoders.values.avro.avro_schema import parse_avro_schema
from decoders.values.avro.avro_walker import AvroWalker, read_long

MAGIC: Final = b"Obj\x01"
_SYNC_SIZE: Final = 16
_CHECKSUM_SIZE: Final = 4
_METADATA: Final = '{"type": "map", "values": "bytes"}'


def read_container(data: bytes) -> tuple[AvroDecoder, list[Any]]:
    """The decoder of the schema, and the values of all blocks. Raises DecodeError."""
    metadata, at = AvroWalker(data).read(parse_avro_schema(_METADATA), len(MAGIC))
    text, codec = metadata.get("avro.schema"), metadata.get("avro.codec", "null")
    if not isinstance(text, str):
        raise Malformed("a container without schema")
    decoder = AvroDecoder(parse_avro_schema(text))
    sync = data[at : at + _SYNC_SIZE]
    at += _SYNC_SIZE
    if len(sync) < _SYNC_SIZE:
        raise Truncated("the container ends in its head", offset=at)
    found: list[Any] = []
    left, parts = VALUE_INFLATED_MAX, VALUE_PARTS_MAX
    while at < len(data):
        start = at
        count, at = read_long(data, at)
        size, at = read_long(data, at)
        if not 0 <= size <= len(data) - at - _SYNC_SIZE or count < 0:
            raise Truncated(f"a block of {count} values in {size} bytes", offset=start)
        parts -= count * decoder.kind.weight
        if parts < 0:
            raise LimitExceeded("a container of too many parts", offset=start)
        block = _inflate_block(str(codec), data[at : at + size], left)
        left -= len(block)
        at += size
        place = 0
        for _ in range(count):
            value, place = decoder.decode(block, place)
            found.append(value)
        if place != len(block) or data[at : at + _SYNC_SIZE] != sync:
            raise Malformed("the block is longer than its values, or its sync marker is another", offset=start)
        at += _SYNC_SIZE
    return decoder, found


def _inflate_block(codec: str, packed: bytes, size_max: int) -> bytes:
    if codec == "null":
        return packed
    if codec == "deflate":
        run = zlib.decompressobj(-15)
        try:
            found = run.decompress(packed, size_max + 1)
        except zlib.error as failure:
            raise Malformed(f"no deflate: {failure}") from None
        if not run.eof or len(found) > size_max:
            raise LimitExceeded(f"deflate: cut, or more than {size_max} bytes come out")
        return found
    if codec == "snappy":
        return inflate(NUMBERS["snappy"], memoryview(packed)[:-_CHECKSUM_SIZE], size_max, 2)
    if codec == "zstandard":
        return inflate(NUMBERS["zstd"], memoryview(packed), size_max, 2)
    raise Malformed(f"the codec {codec[:20]!r} of a container is not read")
