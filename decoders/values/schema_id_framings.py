"""The first bytes and the headers of a key or value in; the schema that they name, and where the body begins, out.

| framing | bytes | schema |
| --- | --- | --- |
| Confluent, Apicurio 3 | `00`, int32 | id |
| Apicurio 2 | `00`, int64 | id (globalId or contentId) |
| Confluent, version 1 | `01`, 16 bytes | GUID |
| AWS Glue | `03`, `00` or `05` (zlib), 16 bytes | UUID of the schema's version |
| Avro, single object | `c3 01`, 8 bytes | CRC-64-AVRO |

For Protobuf the place of the message follows: Confluent's indexes, Apicurio's Ref, Glue's number.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from decoders.errors import DecodeError, Malformed, Truncated
from decoders.named_tuple import NamedTuple
from decoders.values.avro.avro_walker import read_long
from decoders.values.protobuf.protobuf_decoder import read_varint_64
from decoders.values.schemas_and_decoded_values import IdKind
from decoders.values.values_that_may_be_encoded import SCHEMA_ID_MAX
from decoders.wire.format_and_escape_text import is_plain_text

_ID_SIZE: Final = 5
_LONG_ID_SIZE: Final = 9
_GUID_SIZE: Final = 17
_GLUE_SIZE: Final = 18
_GLUE_ZLIB: Final = 5
# Messages inside messages that a path of indexes leads through.
_INDEXES_MAX: Final = 32


class Framing(NamedTuple):
    """What stands before a body. One of `schema_id`, `guid` and `fingerprint` names the schema.

    `is_sure`: no other value begins so, whatever its schema. `indexes` are bytes that stand elsewhere, in a header.
    `id_kind`: which of Apicurio's ids it is. `is_json`: the body is Avro's JSON encoding. `message`: the name of
    Protobuf's message, without the package.
    """

    at: int
    schema_id: int | None = None
    guid: str | None = None
    fingerprint: bytes | None = None
    is_sure: bool = False
    is_zlib: bool = False
    indexes: bytes | None = None
    id_kind: IdKind | None = None
    is_json: bool = False
    message: str = ""

    @property
    def shown_id(self) -> int | str | None:
        return self.schema_id if self.guid is None else self.guid


def read_framing(data: bytes) -> Framing | None:
    """The framing that the first bytes may be; None where they are none."""
    first, size = data[0], len(data)
    if first == 0 and size >= _ID_SIZE:
        schema_id = int.from_bytes(data[1:_ID_SIZE], "big")
        if 0 < schema_id <= SCHEMA_ID_MAX:
            return Framing(_ID_SIZE, schema_id)
        if schema_id == 0 and size > _LONG_ID_SIZE:  # no registry gives the id 0
            schema_id = int.from_bytes(data[1:_LONG_ID_SIZE], "big")
            return Framing(_LONG_ID_SIZE, schema_id) if 0 < schema_id <= SCHEMA_ID_MAX else None
    elif first == 1 and size >= _GUID_SIZE:
        return Framing(_GUID_SIZE, guid=str(UUID(bytes=data[1:_GUID_SIZE])))
    elif first == 3 and size >= _GLUE_SIZE and data[1] in (0, _GLUE_ZLIB):
        # A random UUID: version 4, variant 10.
        if data[8] >> 4 == 4 and data[10] >> 6 == 2:
            guid = str(UUID(bytes=data[2:_GLUE_SIZE]))
            return Framing(_GLUE_SIZE, guid=guid, is_sure=True, is_zlib=data[1] == _GLUE_ZLIB)
    elif first == 0xC3 and size >= 10 and data[1] == 1:
        return Framing(10, fingerprint=data[2:10], is_sure=True)
    return None


def has_kafka_string(data: bytes) -> bool:
    """Whether bytes begin as Kafka's own structures do: a version, as int16, and a name behind its size."""
    stop = 4 + int.from_bytes(data[2:4], "big")
    return data[:2] == b"\0\0" and 4 < stop <= len(data) and is_plain_text(data[4:stop])


def read_id_header(value: bytes) -> Framing | None:
    """The framing of a header `__key_schema_id` or `__value_schema_id`."""
    if value[:1] == b"\x01" and len(value) >= _GUID_SIZE:
        guid = str(UUID(bytes=value[1:_GUID_SIZE]))
        return Framing(0, guid=guid, is_sure=True, indexes=value[_GUID_SIZE:])
    if value[:1] == b"\x00" and len(value) >= _ID_SIZE:
        return Framing(0, int.from_bytes(value[1:_ID_SIZE], "big"), is_sure=True, indexes=value[_ID_SIZE:])
    return None


def read_message_indexes(data: bytes, at: int) -> list[tuple[list[int], int]]:
    """The paths that Confluent's message indexes may be, each with where the message begins, the likelier one first.

    They are zigzag varints, or plain ones as an older client of Python wrote them: under zigzag an odd first byte is a
    negative count, so it means plain ones. The path [0] is one byte 0.
    """
    found = []
    for bits in (True, False):
        try:
            path, end = _read_message_index_path(data, at, zigzag=bits)
        except DecodeError:
            continue
        if (path, end) not in found:
            found.append((path, end))
    return found


def _read_message_index_path(data: bytes, at: int, *, zigzag: bool) -> tuple[list[int], int]:
    def read_index(place: int) -> tuple[int, int]:
        return read_long(data, place) if zigzag else read_varint_64(data, place, len(data))

    count, at = read_index(at)
    if not 0 <= count <= _INDEXES_MAX:
        raise Malformed(f"{count} message indexes", offset=at)
    path = []
    for _ in range(count):
        index, at = read_index(at)
        path.append(index)
    return path or [0], at


def read_apicurio_ref(data: bytes, at: int) -> tuple[str, int] | None:
    """The name in Apicurio's Ref and where the message begins; None where no Ref stands there."""
    try:
        size, begin = read_varint_64(data, at, len(data))
    except DecodeError:
        return None
    stop = begin + size
    if size < 3 or stop > len(data) or data[begin] != 0x0A or data[begin + 1] != size - 2:
        return None
    name = data[begin + 2 : stop]
    return (name.decode(), stop) if name.isascii() and name.replace(b".", b"_").decode().isidentifier() else None


def inflate_glue_body(data: bytes, at: int, size_max: int) -> bytes:
    """The body behind Glue's head that zlib has compressed. Raises DecodeError."""
    import zlib

    run = zlib.decompressobj()
    try:
        found = run.decompress(data[at:], size_max)
    except zlib.error:
        raise Malformed("no zlib", offset=at) from None
    if not run.eof or run.unused_data:
        raise Truncated("the zlib data is cut, too large, or followed by more", offset=at)
    return found
