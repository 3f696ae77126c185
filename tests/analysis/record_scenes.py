"""Scenes of records written twice, passed or misrouted, and near ones: rows for tests/analysis/test_doctor.py."""

from __future__ import annotations

from typing import Any, Final

from decoders.protocol_facts.api_keys import FETCH, OFFSET_COMMIT, PRODUCE
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.analysis.scenes import BEGUN, BROKER, MS, Scene

PLACE: Final = "orders"


def batch_of(count: int, *, first: int = 0, text: str = "x", at_ms: int = 0, **fields: Any) -> bytes:
    """A batch of so many records, created so many ms after the beginning (or, below 0, in 1970)."""
    stamp = BEGUN // MS + at_ms if at_ms >= 0 else 0
    records = [Record(first + at, stamp, None, f"{text}{at}".encode()) for at in range(count)]
    return encode_batch(records, Batch(base_offset=first, **fields))


def put(
    scene: Scene, at: float, data: bytes, offset: int, *, topic: str = PLACE, number: int = 0, **more: Any
) -> Scene:
    """A Produce to a partition that is accepted at an offset."""
    asked = {"acks": -1, "topic_data": [{"name": topic, "partition_data": [{"index": number, "records": data}]}]}
    part = {"index": number, "error_code": 0, "base_offset": offset}
    return scene.ask(at, (PRODUCE, 8), asked, {"responses": [{"name": topic, "partition_responses": [part]}]}, **more)


def written(*tries: tuple[float, int, int], producer: int = -1, clients: str = "aa", **more: Any) -> Scene:
    """A batch that is sent at times (s), on connections, and accepted at offsets."""
    scene = Scene()
    texts = more.pop("texts", ["x"] * len(tries))
    for (at, line, offset), client, text in zip(tries, clients, texts, strict=True):
        sequence = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 4} if producer >= 0 else {}
        put(scene, at, batch_of(3, text=text, **sequence, **more), offset, line=line, client=client, took=0.01)
    return scene


def get(
    scene: Scene,
    at: float,
    position: int,
    end: int | None,
    *,
    client: str = "reader",
    error: int = 0,
    newest: int = 30,
    **more: Any,
) -> Scene:
    """A Fetch of orders/0 from a position, that gets the records up to `end`; None: its answer cannot be read."""
    wanted = {"partition": 0, "fetch_offset": position}
    data = b"" if end is None or end <= position else batch_of(end - position, first=position)
    part = {"partition_index": 0, "error_code": error, "high_watermark": newest, "log_start_offset": 0, "records": data}
    answer = {"responses": [{"topic": PLACE, "partitions": [part]}]}
    asked = {"max_wait_ms": 500, "topics": [{"topic": PLACE, "partitions": [wanted]}]}
    return scene.ask(at, (FETCH, 11), asked, answer, client=client, answered_in=12 if end is None else None, **more)


def commit(scene: Scene, at: float, offset: int, client: str = "reader", group: str = "billing") -> Scene:
    """A commit of the group."""
    parts = [{"partition_index": 0, "committed_offset": offset}]
    asked = {"group_id": group, "generation_id_or_member_epoch": 1, "member_id": client}
    answer = {"topics": [{"name": PLACE, "partitions": [{"partition_index": 0, "error_code": 0}]}]}
    return scene.ask(
        at, (OFFSET_COMMIT, 7), {**asked, "topics": [{"name": PLACE, "partitions": parts}]}, answer, client=client
    )


def stored(*spans: tuple[int, int]) -> Scene:
    """Batches that are accepted at these offsets."""
    scene = Scene()
    for number, (first, end) in enumerate(spans or ((0, 10), (10, 20), (20, 30))):
        put(scene, number / 10, batch_of(end - first, text=f"{number}-", at_ms=number), first, client="maker")
    return scene


def read(*reads: tuple[int, int | None], scene: Scene | None = None, clients: str = "", commits: bool = True) -> Scene:
    """Fetches (position, end) in a row, by the member `reader` or those named, each committed."""
    scene = scene or stored()
    for number, (position, end) in enumerate(reads):
        client = clients[number] if clients else "reader"
        get(scene, 1 + number, position, end, client=client)
        if commits and end is not None:
            commit(scene, 1.5 + number, end, client)
    return scene


def sequences(*batches: tuple[int, int], scene: Scene | None = None) -> Scene:
    """Batches of three records of one producer: sequence and partition of each."""
    scene = scene or Scene()
    for at, (sequence, number) in enumerate(batches):
        data = batch_of(3, text=f"{number}-", at_ms=at, producer_id=7, producer_epoch=0, base_sequence=sequence)
        put(scene, at / 10, data, at * 3, number=number)
    return scene


def alike_by_chance() -> Scene:
    """Batches of one producer for two topics, of which two are alike, and follow in both."""
    scene = Scene()
    for at, (topic, text) in enumerate([("orders", "a"), ("audit", "b"), ("orders", "x"), ("audit", "x")]):
        data = batch_of(3, text=text, producer_id=7, producer_epoch=0, base_sequence=at // 2 * 3)
        put(scene, at / 10, data, at // 2 * 3, topic=topic)
    return put(scene, 1, batch_of(3, text="c", producer_id=7, producer_epoch=0, base_sequence=6), 6)


def passed_by_reset() -> Scene:
    scene = read((0, 10))
    get(scene, 3, 10, 10, error=1)
    get(scene, 4, 20, 30)
    return commit(scene, 5, 30)


def damaged(*bits: int, lines: int = 2, written: bool = False, proxied: bool = False) -> Scene:
    """Fetches of one batch, each with a bit of its records turned over, on connections in turns.

    `written`: a producer wrote the batch before, without a fault; `proxied`: each second one is a proxy's.
    """
    sound = batch_of(3, first=20, producer_id=7, producer_epoch=0, base_sequence=4)
    scene = Scene()
    if written:
        put(scene, 0, sound, 20, client="shop")
    for turn, bit in enumerate(bits):
        data = bytearray(sound)
        data[-1] ^= 1 << bit
        part = {"partition_index": 0, "high_watermark": 30, "log_start_offset": 0, "records": bytes(data)}
        answer = {"responses": [{"topic": PLACE, "partitions": [part]}]}
        asked = {"topics": [{"topic": PLACE, "partitions": [{"partition": 0, "fetch_offset": 20}]}]}
        broker = "10.0.0.2:9092" if proxied and turn % 2 else BROKER
        scene.ask(1 + turn, (FETCH, 11), asked, answer, client="reader", line=turn % lines, broker=broker)
    return scene


RECORD_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("records-corrupt", damaged(1, 1, 1, written=True), "error"),
        "batches fetched by reader on orders have a wrong checksum: orders-0 offsets 20 to 22, the same bytes each time"
        " (3), on 2 connections; shop wrote it at 14:13:20 UTC with this checksum, which was right then",
    ),
    (
        "records-corrupt",
        damaged(1, 2),
        "error",
        "reader on orders have a wrong checksum: orders-0 offsets 20 to 22, with other",
    ),
    ("records-corrupt", damaged(1, 1, lines=1), "error", "on orders have a wrong checksum: orders-0 offsets 20 to 22"),
    (
        "written-twice",
        written((0, 0, 5), (0.3, 1, 40), producer=7),
        *("error", "a batch of a was written to orders twice: at offsets 5 and 40"),
    ),
    ("written-twice", written((0, 0, 5), (0.01, 0, 8), producer=7), "error", "at offsets 5 and 8"),
    (
        "written-twice",
        written((0, 0, 5), (3, 1, 9)),
        *("warning", "likely a batch of a was written to orders twice: at offsets 5 and 9"),
    ),
    (
        "read-past",
        read((0, 10), (20, 30)),
        *("warning", "group billing passed 10 records of orders, partition 0, without reading them"),
    ),
    ("read-past", read((0, 10), (10, 15), (20, 30), clients="aba"), "warning", "group billing passed 5 records"),
    (
        "batch-misrouted",
        sequences((0, 0), (0, 1), (3, 0), (6, 1), (9, 0)),
        *("error", "a batch of app for orders-0 went to orders-1"),
    ),
]
RECORD_NEAR: Final[list[tuple[str, Scene]]] = [
    ("written-twice", written((0, 0, 5), (0.3, 1, 5), producer=7)),  # recognised, or captured twice
    ("written-twice", written((0, 0, 5), (0.3, 1, 40), producer=7, texts=["x", "y"])),  # a number used again
    ("written-twice", written((0, 0, 5), (3, 1, 5))),
    ("written-twice", written((0, 0, 5), (3, 0, 9))),  # a constant payload on one connection
    ("written-twice", written((0, 0, 5), (3, 1, 9), at_ms=-1)),  # constant time stamps
    ("written-twice", written((0, 0, 5), (0.03, 1, 9))),  # at once: mirrored
    ("written-twice", written((0, 0, 5), (3, 1, 9), clients="ab")),
    ("written-twice", written((0, 0, 5), (3, 1, 9), texts=["x", "y"])),
    ("sent-again", written((0, 0, 5), (0.3, 1, 40), producer=7)),  # these are not stored once
    ("read-past", read((0, 10), (10, 20), (20, 30))),
    ("read-past", read((0, 10), (10, 20), (20, 30), clients="aba")),
    ("read-past", read((0, 10), (20, 30), scene=stored((0, 10), (20, 30)))),  # not known to be acknowledged
    ("read-past", read((0, 10), (11, 20), scene=stored((0, 10), (11, 20)))),  # the marker of a transaction
    ("read-past", read((0, 10), (10, None), (20, 30))),  # an answer that cannot be read
    ("read-past", read((20, 30))),  # begins at the end
    ("read-past", read((0, 10), (20, 30), commits=False)),  # no group
    ("read-past", passed_by_reset()),  # a finding of its own
    ("batch-misrouted", sequences((0, 0), (0, 1), (3, 0), (3, 1), (9, 0))),  # a batch that was not captured
    ("batch-misrouted", alike_by_chance()),
]
RECORD_BESIDES: Final = {"batch-misrouted": {"sequence-broken"}}
