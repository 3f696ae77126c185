"""Small captures that expand: exchanges whose values take far more room than their bytes, by name.

`capture(bomb)` is a pcap file with one connection, `frames(bomb)` its frames. `size` is the size of a bomb in bytes:
decompressed if it is compressed, else on the wire. So bombs can be small in tests and large in trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import pack
from typing import Final, NamedTuple

from decoders.records.codecs import NAMES, deflate
from tests.capture.frames import ethernet, ipv4, tcp
from tests.capture.pcap_writer import PcapWriter
from tests.exchanges.talks import framed, request, response
from tests.records.making import batch, message, record, varint

MIB: Final = 1 << 20
_SEGMENT: Final = 32_000
_CLIENT: Final = ("10.0.0.1", 50_000)
_BROKER: Final = ("10.0.0.2", 9092)
# A record without key and value, the smallest possible one.
_LEAST: Final = bytes.fromhex("0c 00 00 00 01 01 00")
_PRODUCE, _FETCH, _METADATA, _SYNC_GROUP, _CREATE_TOPICS, _DESCRIBE_CONFIGS, _JOIN_GROUP = 0, 1, 3, 14, 19, 32, 11


class Bomb(NamedTuple):
    """One exchange: request and response with their size fields."""

    request: bytes
    response: bytes


def capture(bomb: Bomb) -> bytes:
    """A pcap file with this exchange only."""
    writer = PcapWriter(1)
    out = [writer.make_file_header()]
    numbers = {_CLIENT: 1000, _BROKER: 5000}

    def put(source: tuple[str, int], target: tuple[str, int], flags: int, data: bytes = b"") -> None:
        segment = tcp(source[1], target[1], numbers[source], numbers[target] if flags & 16 else 0, flags, data)
        out.append(
            writer.make_packet_block(
                1_790_000_000 * 10**9 + len(out) * 1000, ethernet(ipv4(source[0], target[0], segment))
            )
        )
        numbers[source] = (numbers[source] + len(data) + (flags & 3 != 0)) & 0xFFFFFFFF

    put(_CLIENT, _BROKER, 2)
    put(_BROKER, _CLIENT, 18)
    for source, target, data in ((_CLIENT, _BROKER, bomb.request), (_BROKER, _CLIENT, bomb.response)):
        for at in range(0, len(data), _SEGMENT):
            put(source, target, 16, data[at : at + _SEGMENT])
            put(target, source, 16)
    put(_CLIENT, _BROKER, 17)
    put(_BROKER, _CLIENT, 17)
    return b"".join(out)


def produce(records: bytes, partitions: int = 1) -> Bomb:
    """A Produce request with these records in every partition, and its answer."""
    parts = [{"index": index, "records": records} for index in range(partitions)]
    asked = {"acks": 1, "timeout_ms": 1000, "topic_data": [{"name": "orders", "partition_data": parts}]}
    answer = {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "base_offset": 7}]}]}
    return Bomb(request(_PRODUCE, 9, 1, "bomb", asked), response(_PRODUCE, 9, 1, answer))


def fetch(records: bytes) -> Bomb:
    """A Fetch response with these records in one partition."""
    part = {"partition_index": 0, "high_watermark": 9, "records": records}
    answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
    wanted = {"topics": [{"topic": "orders", "partitions": [{"partition": 0}]}]}
    return Bomb(request(_FETCH, 12, 1, "bomb", wanted), response(_FETCH, 12, 1, answer))


def packed(codec: str, payload: bytes, count: int) -> bytes:
    """A batch of `count` records, compressed from `payload`."""
    return batch(payload=deflate(codec, payload), attributes=NAMES.index(codec), count=count, last_delta=count - 1)


def _tiny(codec: str) -> Callable[[int], Bomb]:
    return lambda size: produce(packed(codec, _LEAST * (size // len(_LEAST)), size // len(_LEAST)))


def _valued(filling: bytes, count: int, *, first: bytes = b"") -> Callable[[int], Bomb]:
    """`count` records of one long value each."""

    def make(size: int) -> Bomb:
        each = first + filling * ((size // count - len(first)) // len(filling))
        return fetch(packed("zstd", record(value=each) * count, count))

    return make


def _one_wide(size: int) -> Bomb:
    """One long value among many short ones: the widest cell sets the width of a table's column."""
    many = size // 64
    payload = record(value=b"x" * (size // 2)) + record(value=b"y", headers=((b"a", b"b"),)) * many
    return fetch(packed("zstd", payload, many + 1))


def _headers(size: int) -> Bomb:
    """One record of as many headers as fit."""
    count = size // 4
    body = b"\0\0\0\1\1" + varint(count) + b"\2h\2v" * count
    return fetch(packed("zstd", varint(len(body)) + body, 1))


def _plain_headers(size: int) -> Bomb:
    """One record with as many empty headers as fit, not compressed."""
    count = size // 2
    body = b"\0\0\0\1\1" + varint(count) + b"\0\1" * count
    return produce(packed("none", varint(len(body)) + body, 1))


def _some_headers(size: int) -> Bomb:
    """Records of 100 headers, each with another value."""
    made = [record(value=None, headers=tuple((b"h%d" % (n % 7), b"%d" % n) for n in range(100))) for _ in range(16)]
    each = b"".join(made)
    return fetch(packed("zstd", each * (size // len(each)), 16 * (size // len(each))))


def _batches(size: int) -> Bomb:
    """A Fetch response of as many empty batches as fit."""
    one = batch(count=0, last_delta=0)
    return fetch(one * (size // len(one)))


def _packed_batches(size: int) -> Bomb:
    """Batches with more content than an exchange may have, each in a few bytes."""
    count = size // 4 // len(_LEAST)
    return fetch(packed("zstd", _LEAST * count, count) * 16)


def _partitions(size: int) -> Bomb:
    """Many partitions with two batches each."""
    one = batch(record()) * 2
    return produce(one, size // (len(one) + 6))


def _messages(magic: int) -> Callable[[int], Bomb]:
    def make(size: int) -> Bomb:
        one = message(magic, 1, b"")
        return fetch(one * (size // len(one)))

    return make


def _wrapped(magic: int) -> Callable[[int], Bomb]:
    def make(size: int) -> Bomb:
        one = message(magic, 1, b"")
        return fetch(message(magic, 1, deflate("gzip", one * (size // len(one)), magic), attributes=1))

    return make


def _nested(size: int) -> Bomb:
    """A message set with wrappers in a wrapper."""
    one = message(1, 1, b"")
    inner = message(1, 1, deflate("gzip", one * (size // 8 // len(one)), 1), attributes=1)
    return fetch(message(1, 1, deflate("gzip", inner * 8, 1), attributes=1))


def _broken(size: int) -> Bomb:
    """Tiny records, the last of which is invalid."""
    count = size // len(_LEAST)
    return produce(packed("zstd", _LEAST * (count - 1) + b"\x0e" + _LEAST[1:], count))


def _broken_batches(size: int) -> Bomb:
    """Batches of one long record and an invalid one, with more content than an exchange may have."""
    return fetch(packed("zstd", record(value=bytes(4 * size)) + b"\x0e" + _LEAST[1:], 2) * 40)


def _strings(size: int) -> bytes:
    """An array of strings of two characters."""
    count = size // 4
    return pack(">i", count) + b"\0\2ab" * count


def _topics(size: int) -> Bomb:
    """A Metadata request that names topics of two characters."""
    head = pack(">hhih", _METADATA, 1, 1, 4) + b"bomb"
    return Bomb(framed(head + _strings(size)), response(_METADATA, 1, 1, {"controller_id": 1}))


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


def _created(size: int) -> Bomb:
    """A CreateTopics request of empty topics: 10 bytes each, five arrays and values as read."""
    one = b"\2a" + pack(">ih", 1, 1) + b"\1\1\0"
    count = size // len(one)
    head = pack(">hhih", _CREATE_TOPICS, 7, 1, 4) + b"bomb\0"
    body = _uvarint(count + 1) + one * count + pack(">i?", 1000, False) + b"\0"
    return Bomb(framed(head + body), response(_CREATE_TOPICS, 7, 1, {"topics": []}))


def _failing_topics(size: int) -> Bomb:
    """A Metadata response in which every topic has an error."""
    one = pack(">hh?i", 3, 0, False, 0)
    count = size // len(one)
    body = pack(">ii", 0, 1) + pack(">i", count) + one * count
    return Bomb(request(_METADATA, 1, 1, "bomb", {"topics": None}), framed(pack(">i", 1) + body))


def _metadata(size: int) -> Bomb:
    """A Metadata response of partitions without replicas in one topic."""
    one = pack(">hiiii", 0, 1, 1, 0, 0)
    count = size // len(one)
    body = pack(">ii", 0, 1) + pack(">i", 1) + pack(">hh", 0, 1) + b"t\0" + pack(">i", count) + one * count
    return Bomb(request(_METADATA, 1, 1, "bomb", {"topics": None}), framed(pack(">i", 1) + body))


def _tags(size: int) -> Bomb:
    """A Metadata request with as many unknown tagged fields as fit."""
    count = size // 5
    head = pack(">hhih", _METADATA, 12, 1, 4) + b"bomb\0"
    tags = b"".join(_uvarint(1 << 20 | number) + b"\1x" for number in range(count))
    return Bomb(framed(head + b"\0\0\0" + _uvarint(count) + tags), response(_METADATA, 12, 1, {"controller_id": 1}))


def _cut(size: int) -> Bomb:
    """The topics of `_created`, with the last one cut."""
    bomb = _created(size)
    return bomb._replace(request=framed(bomb.request[4:-10]))


def _assigned(size: int) -> Bomb:
    """An assignment of a consumer group: a structure inside bytes."""
    one = b"\0\1t" + pack(">i", 0)
    count = size // len(one)
    held = pack(">hi", 1, count) + one * count + pack(">i", -1)
    return Bomb(
        request(_SYNC_GROUP, 5, 1, "bomb", {"group_id": "g", "member_id": "m", "generation_id": 1}),
        response(_SYNC_GROUP, 5, 1, {"assignment": held}),
    )


def _configs(size: int) -> Bomb:
    """A DescribeConfigs response of empty resources."""
    one = pack(">hhbhi", 0, -1, 2, 0, 0)
    count = size // len(one)
    body = pack(">i", 0) + pack(">i", count) + one * count
    asked = request(_DESCRIBE_CONFIGS, 1, 1, "bomb", {"resources": []})
    return Bomb(asked, framed(pack(">i", 1) + body))


def _voters(size: int) -> Bomb:
    """A control record whose structure has a long array."""
    count = size // 5
    voter = pack(">i", 1) + b"\0"
    value = b"\0\0" + pack(">i", 1) + _uvarint(count + 1) + voter * count + b"\1\0"
    return fetch(
        batch(
            payload=deflate("zstd", record(key=b"\0\0\0\2", value=value)),
            attributes=NAMES.index("zstd") | 0x20,
            count=1,
        )
    )


BOMBS: Final[dict[str, Callable[[int], Bomb]]] = {
    **{f"tiny records {codec}": _tiny(codec) for codec in NAMES},
    "zeros": _valued(b"\0", 1),
    "many zeros": _valued(b"\0", 64),
    "lines": _valued(b'a\n"\\', 1),
    "many lines": _valued(b'a\n"\\', 64),
    "wide characters": _valued(b"abcdefgh", 1, first="\U0001f600".encode()),
    "no utf-8": _valued(b"\xff\xfe", 3),
    "one wide": _one_wide,
    "headers": _headers,
    "plain headers": _plain_headers,
    "some headers": _some_headers,
    "batches": _batches,
    "packed batches": _packed_batches,
    "partitions": _partitions,
    "messages 0": _messages(0),
    "messages 1": _messages(1),
    "wrapper 0": _wrapped(0),
    "wrapper 1": _wrapped(1),
    "nested wrappers": _nested,
    "broken records": _broken,
    "broken batches": _broken_batches,
    "topics": _topics,
    "created topics": _created,
    "failing topics": _failing_topics,
    "metadata": _metadata,
    "tags": _tags,
    "cut topics": _cut,
    "assigned": _assigned,
    "configs": _configs,
    "voters": _voters,
}


def every(size: int) -> Iterator[tuple[str, Bomb]]:
    """All bombs of a size, with their names."""
    for name, make in BOMBS.items():
        yield name, make(size)
