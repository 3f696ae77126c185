"""Small captures and messages that expand: compressed batches, giant arrays, headers, wrappers in wrappers.

Every command takes at most 300 MB of memory for a frame of at most 32 MiB, and ends with a documented exit code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from decoders.limits import MIB
from decoders.messages.whole_messages import encode_response
from decoders.records.codecs import NAMES, deflate
from decoders.wire.primitive_types import encode_uvarint
from kwcli.options import FORMATS, WITHOUT_BODIES
from tests.capture.spoken import spoken
from tests.exchanges.talks import framed, request, response, segments
from tests.fuzz.program import PATIENCE_S, Ended, check_end, run_measured
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request
from tests.records import bombs
from tests.records.making import batch, message, record, varint

PEAK_MB: Final = 300
FRAME_MAX: Final = 32 * MIB
# Rough sizes of a decompressed batch; kw reads less than 70 MiB of one.
INFLATED: Final = (1 * MIB, 8 * MIB, 30 * MIB, 60 * MIB, 70 * MIB)
PRODUCE, FETCH, METADATA, OFFSET_COMMIT, API_VERSIONS, CREATE_TOPICS, ENVELOPE = 0, 1, 3, 8, 18, 19, 58
PUSH_TELEMETRY = 72
LETTERS: Final = (b"\0", b"a", b'"', b"\\", b"\n", b"\x1b", b"<", b"\xff", "é".encode(), "🙂".encode(), b"\xed\xa0\x80")
HEADERS: Final = (0, 1, 3, 50, 5000)


DETAILS: Final[tuple[list[str], ...]] = (
    [],
    ["-v"],
    ["-vv"],
    ["--records"],
    ["--records"],
    ["-v", "--records"],
    ["-v", "--records", "--names"],
)
METRICS: Final = ("latency", "bytes", "errors", "records", "throttle")


class Bomb(NamedTuple):
    """A request and its answer, with their size fields."""

    key: int
    version: int
    asked: bytes
    answer: bytes


def bomb(key: int, version: int, asked: dict[str, Any], answer: dict[str, Any]) -> Bomb:
    """A bomb made of the bodies of an exchange."""
    return Bomb(key, version, request(key, version, 7, "app", asked), response(key, version, 7, answer))


def try_bomb(rng: Random) -> int:
    """Show one bomb by one command."""
    made = BOMBS[rng.choice([*BOMBS])](rng)
    assert max(len(made.asked), len(made.answer)) <= FRAME_MAX, "the bomb is too large"
    name = rng.choice([*COMMANDS])
    with TemporaryDirectory() as folder:
        words, done = COMMANDS[name](rng, Path(folder), made)
    shown = f"kw {' '.join(words)}: frames of {len(made.asked):,} and {len(made.answer):,} bytes"
    check_end(done.code, f"{shown}: {done.said}")
    assert done.peak_mb <= PEAK_MB, f"{done.peak_mb:.0f} MB of memory: {shown}"
    return 1


def sniff(rng: Random, folder: Path, made: Bomb) -> tuple[list[str], Ended]:
    """Show a bomb by `kw sniff` as an exchange of a capture."""
    words = ["sniff", captured(rng, folder, made), "-o", rng.choice(FORMATS), *rng.choice(DETAILS)]
    if not WITHOUT_BODIES.isdisjoint(words):
        words = [word for word in words if word != "--records"]
    return words, run_measured(words)


def stats(rng: Random, folder: Path, made: Bomb) -> tuple[list[str], Ended]:
    """Count a bomb by `kw stats`."""
    words = ["stats", captured(rng, folder, made), "-o", "ndjson", "--metric", rng.choice(METRICS)]
    words += rng.choice([[], ["--by", "topic"], ["--by", "client,error"], ["--slowest", "3"]])
    return words, run_measured(words)


def captured(rng: Random, folder: Path, made: Bomb) -> str:
    """A capture of a bomb."""
    path = folder / "bomb.pcap"
    path.write_bytes(spoken(segments([(True, made.asked), (False, made.answer)], rng, most=60_000)))
    return str(path)


def decode(rng: Random, folder: Path, made: Bomb) -> tuple[list[str], Ended]:
    """Show a bomb by `kw decode` as a single message."""
    path = folder / "bomb.bin"
    words = [
        "decode",
        str(path),
        "--from",
        "raw",
        "-o",
        rng.choice(["text", "ndjson", "json", "yaml", "fields", "hex"]),
    ]
    words += rng.choice([[], ["-v"], ["--records"], ["-v", "--records"]])
    if rng.random() < 0.5:
        path.write_bytes(made.asked)
    else:
        path.write_bytes(made.answer)
        words += ["--response", "--api", str(made.key), "--version", str(made.version)]
    return words, run_measured(words)


def call(rng: Random, _folder: Path, made: Bomb) -> tuple[list[str], Ended]:
    """Show a bomb by `kw call` as the answer of a broker."""

    def answer(asked: bytes) -> bytes:
        key, version, number = struct.unpack_from(">hhi", asked)
        if key == API_VERSIONS:
            ranges = {API_VERSIONS: (0, 4), METADATA: (0, 1), made.key: (0, made.version)}
            return framed(encode_response(key, version, offers(ranges), correlation_id=number))
        if (key, version) == (made.key, made.version):
            return made.answer[:4] + struct.pack(">i", number) + made.answer[8:]
        return framed(encode_response(key, version, {}, correlation_id=number))

    with Responder(each_request(answer)) as broker:
        words = ["call", str(made.key), "--api-version", str(made.version), "--node", "any", "--example"]
        words += ["-b", f"127.0.0.1:{broker.address[1]}", "--timeout", f"{PATIENCE_S}s"]
        output = rng.choice(FORMATS)
        words += ["-o", output, *rng.choice([[], ["-v"]])]
        words += rng.choice([[], ["--records"]]) if output not in WITHOUT_BODIES else []
        return words, run_measured(words)


COMMANDS: Final[Mapping[str, Callable[[Random, Path, Bomb], tuple[list[str], Ended]]]] = {
    "sniff": sniff,
    "stats": stats,
    "decode": decode,
    "call": call,
}


def records_bomb(rng: Random) -> Bomb:
    """Records in batches of any format and codec, in a Produce request or in the answer to a Fetch."""
    data = batches(rng)
    if rng.random() < 0.5:
        return bomb(FETCH, 4, {"topics": []}, fetched(data))
    partition = {"index": 0, "records": data}
    body = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [partition]}]}
    return bomb(PRODUCE, 3, body, {})


def fetched(data: bytes) -> dict[str, Any]:
    """The answer to a Fetch that brings these records."""
    return {"responses": [{"topic": "orders", "partitions": [{"partition_index": 0, "records": data}]}]}


def batches(rng: Random) -> bytes:
    """One batch, or several copies of it, as many as fit a frame."""
    codec = rng.choice(NAMES)
    room = rng.choice(INFLATED) if codec != "none" else rng.choice([MIB, 30 * MIB])
    one = batch_of(rng, codec, room) if rng.random() < 0.6 else messages_of(rng, codec, room)
    return one * min(rng.choice([1, 1, 1, 4, 1000]), max((FRAME_MAX - 1000) // len(one), 1))


def batch_of(rng: Random, codec: str, room: int) -> bytes:
    """A batch of magic 2 whose records take about `room` bytes."""
    value = rng.choice([0, 1, 100, 10_000, room])
    letter = rng.choice(LETTERS)
    one = record(value=letter * (value // len(letter)), headers=((b"", None),) * rng.choice(HEADERS))
    if rng.random() < 0.1:
        one = varint(room) + bytes.fromhex("00 00 00 01 01") + varint(room // 2) + bytes(room)  # very many headers
    count = max(room // len(one), 1)
    return batch(payload=deflate(codec, one * count), attributes=NAMES.index(codec), count=count)


def messages_of(rng: Random, codec: str, room: int) -> bytes:
    """Messages of magic 0 or 1, plain, in a wrapper, or in nested wrappers."""
    magic = rng.choice([0, 1])
    codec = codec if codec != "zstd" else "gzip"
    one = message(magic, 0, rng.choice(LETTERS) * rng.choice([0, 1, 100, 10_000]))
    data = one * max(room // len(one), 1)
    if codec == "none":
        return data
    for _ in range(rng.choice([1, 1, 2, 4, 6])):
        data = message(magic, 5, deflate(codec, data, magic), attributes=NAMES.index(codec))
    return data


def array_bomb(rng: Random) -> Bomb:
    """An array of very many elements, each as small as possible."""
    count = rng.choice([10_000, 100_000, 1_000_000])
    text = rng.choice(["", "a", "\x1b", "<"])
    topic, partition = {"name": text}, {"partition_index": 1, "committed_metadata": text}
    led = {"partition_index": 1, "replica_nodes": [1] * 3, "isr_nodes": [1] * 3}
    kinds: list[Callable[[], Bomb]] = [
        lambda: bomb(METADATA, 1, {"topics": [topic] * count}, {}),
        lambda: bomb(METADATA, 1, {"topics": []}, {"topics": [topic] * count}),
        lambda: bomb(METADATA, 1, {"topics": []}, {"topics": [{"name": text, "partitions": [led] * (count // 2)}]}),
        lambda: bomb(METADATA, 1, {"topics": []}, {"brokers": [{"host": text, "port": 9}] * count}),
        lambda: bomb(CREATE_TOPICS, 2, {"topics": [topic] * count}, {"topics": [topic] * count}),
        lambda: bomb(OFFSET_COMMIT, 2, {"topics": [{"name": text, "partitions": [partition] * count}]}, {}),
    ]
    return rng.choice(kinds)()


def envelope_bomb(rng: Random) -> Bomb:
    """Requests nested in Envelopes."""
    data = request(METADATA, 1, 7, "app", {"topics": [{"name": "a"}] * 1000})[4:]
    for _ in range(rng.choice([3, 100, 2000])):
        body = {"request_data": data, "request_principal": None, "client_host_address": b"\x7f\0\0\1"}
        data = request(ENVELOPE, 0, 7, "app", body)[4:]
    return Bomb(ENVELOPE, 0, framed(data), response(ENVELOPE, 0, 7, {"response_data": bytes(100)}))


def metrics_bomb(rng: Random) -> Bomb:
    """Client metrics: very many empty ones at one of the levels, or far more bytes than allowed."""
    codec = rng.choice(NAMES)
    data = rng.choice([b"\x0a\0", b"\x0a\1a", b"\0"]) * rng.choice([1000, 70_000, 500_000, 20_000_000])
    for _ in range(rng.choice([0, 0, 1, 2, 3, 50])):
        data = rng.choice([b"\x0a", b"\x12", b"\x2a"]) + encode_uvarint(len(data)) + data
    packed = deflate(codec, data if codec != "none" else data[: 4 * MIB])
    return bomb(PUSH_TELEMETRY, 0, {"compression_type": NAMES.index(codec), "metrics": packed}, {})


def known_bomb(rng: Random) -> Bomb:
    """One of the bombs whose memory tests measure, of any size."""
    made = bombs.BOMBS[rng.choice([*bombs.BOMBS])](rng.choice([MIB // 10, MIB, 4 * MIB, 10 * MIB]))
    key, version = struct.unpack_from(">hh", made.request, 4)
    return Bomb(key, version, made.request, made.response)


BOMBS: Final[Mapping[str, Callable[[Random], Bomb]]] = {
    "known": known_bomb,
    "records": records_bomb,
    "more records": records_bomb,
    "arrays": array_bomb,
    "envelopes": envelope_bomb,
    "metrics": metrics_bomb,
}
