"""The data path's side of the log: messages arrive; too many are dropped and counted, or waited for."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from kwcli.proxy.log.log_protocol import COUNTS, SIZE, TIMES, LogPlan, Message, MessageKind, Parser
from kwcli.proxy.log.log_queue import CLIENT, PIECE, SERVER, LogQueue, Overflow
from kwcli.proxy.log.start_log_process import start
from tests.proxy.log.played import NDJSON, chunks_of, play

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


class Stage:
    """A queue and the other end of its socket; only `flush` sends."""

    def __init__(self, overflow: Overflow = "drop", most: int = 10_000) -> None:
        ours, self.theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.theirs.setblocking(False)
        self.said: list[str] = []
        self.paused: list[bool] = []
        self.queue = LogQueue(ours, overflow=overflow, most=most, pause=self.paused.append, say=self.said.append)
        self._parser = Parser()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.queue.close()
        self.theirs.close()

    def read(self) -> list[Message]:
        """All messages, until nothing more comes."""
        messages: list[Message] = []
        while True:
            self.queue.flush()
            try:
                data = self.theirs.recv(1 << 16)
            except BlockingIOError:
                return messages
            messages += self._parser.feed(data)


def test_what_is_told_arrives() -> None:
    with Stage() as stage:
        stage.queue.log_connection_opened(7, "a:1", "b:2", "c:3", 10)
        stage.queue.log_client_bytes(7, CLIENT, 11, b"question")
        stage.queue.log_upstream_latency(7, -5, 12, 13)
        stage.queue.log_client_bytes(7, SERVER, 14, b"answer")
        stage.queue.log_broker_bytes(7, SERVER, 14, b"raw")
        stage.queue.log_connection_closed(7, "rst", 15)
        assert stage.read() == [
            (MessageKind.OPENED, 7, 10, json.dumps(["a:1", "b:2", "c:3"]).encode()),
            (MessageKind.CHUNK, 7, 11, b"question"),
            (MessageKind.UPSTREAM, 7, 13, TIMES.pack(-5, 12, 13)),
            (MessageKind.CHUNK_SERVER, 7, 14, b"answer"),
            (MessageKind.RAW_SERVER, 7, 14, b"raw"),
            (MessageKind.CLOSED, 7, 15, b"rst"),
        ]
        assert stage.queue.queued_size == 0
        assert stage.said == []


class _Wide(socket.socket):
    """A socket that takes all bytes, and notes the size of each send."""

    sizes: list[int]

    def send(self, data: Buffer, _flags: int = 0, /) -> int:
        self.sizes.append(memoryview(data).nbytes)
        return self.sizes[-1]


def test_a_long_queue_is_not_copied_as_a_whole() -> None:
    link = _Wide()
    link.sizes = []
    queue = LogQueue(link, most=1 << 30)
    queue.log_connection_opened(1, "a:1", "b:2", "c:3", 1)
    chunks = [100, 3 << 20, 100, 100, 1 << 20, *[200_000] * 20, 5]
    for size in chunks:
        queue.log_client_bytes(1, SERVER, 2, bytes(size))
    told = queue.queued_size
    queue.flush()
    assert sum(link.sizes) == told
    assert queue.queued_size == 0
    largest, next_one, *others = sorted(link.sizes, reverse=True)
    assert largest < (3 << 20) + 500
    assert next_one < (1 << 20) + 500
    assert others[0] < 2 * PIECE
    queue.close()


def test_too_much_is_left_out_counted_and_declared() -> None:
    with Stage() as stage:
        stage.queue.log_connection_opened(1, "a:1", "b:2", "c:3", 1)
        for number in range(100):
            stage.queue.log_client_bytes(1, number % 2, number, bytes([number]) * 1000)
            stage.queue.log_upstream_latency(1, number, 1, 2)
        assert stage.queue.queued_size < 12_000
        first = stage.read()
        stage.queue.log_client_bytes(1, CLIENT, 200, b"after")
        stage.queue.log_client_bytes(1, SERVER, 201, b"after")
        stage.queue.log_connection_closed(1, "fin", 202)
        rest = stage.read()
    sent = {side: sum(len(content) for kind, _, _, content in first if kind == side) for side in (CLIENT, SERVER)}
    gaps = [
        (kind, SIZE.unpack(content)[0])
        for kind, _, _, content in rest
        if kind in (MessageKind.GAP, MessageKind.GAP_SERVER)
    ]
    assert gaps == [(MessageKind.GAP, 50_000 - sent[CLIENT]), (MessageKind.GAP_SERVER, 50_000 - sent[SERVER])]
    dropped = 100_000 - sum(sent.values())
    answers = sum(kind == MessageKind.UPSTREAM for kind, *_ in first)
    (counts,) = [COUNTS.unpack(content) for kind, _, _, content in first if kind == MessageKind.DROPPED]
    assert counts == (dropped, 100 - answers, 0)
    assert [kind for kind, *_ in rest] == [MessageKind.GAP, CLIENT, MessageKind.GAP_SERVER, SERVER, MessageKind.CLOSED]
    assert stage.said == ["the log cannot keep up and leaves traffic out (--log-overflow block makes clients wait)"]
    assert stage.paused == []


def test_connections_are_left_out_when_there_is_no_room_even_for_them() -> None:
    with Stage(most=2000) as stage:
        for number in range(200):
            stage.queue.log_connection_opened(number, "a:1", "b:2", "c:3", 1)
        assert stage.queue.queued_size < 4200
        assert 0 < stage.queue.dropped_connections < 200
        for number in range(200):
            stage.queue.log_connection_closed(number, "fin", 2)
        assert stage.queue.queued_size < 4200
        told = [(kind, number) for kind, number, *_ in stage.read()]
    opened = [number for kind, number in told if kind == MessageKind.OPENED]
    assert len(opened) == 200 - stage.queue.dropped_connections
    assert [number for kind, number in told if kind == MessageKind.CLOSED] == opened


def test_reading_is_paused_where_nothing_may_be_left_out() -> None:
    with Stage("block") as stage:
        stage.queue.log_connection_opened(1, "a:1", "b:2", "c:3", 1)
        for number in range(30):
            stage.queue.log_client_bytes(1, number % 2, number, bytes([number]) * 1000)
        assert stage.paused == [True]
        chunks = [content for kind, _, _, content in stage.read() if kind in (CLIENT, SERVER)]
        assert chunks == [bytes([number]) * 1000 for number in range(30)]
        assert stage.paused == [True, False]
        assert stage.said == []
        assert stage.queue.dropped_bytes == 0


def test_a_chunk_larger_than_the_bound_is_taken_alone() -> None:
    with Stage() as stage:
        stage.queue.log_client_bytes(1, CLIENT, 1, b"x" * 50_000)
        assert [len(content) for *_, content in stage.read()] == [50_000]
        assert stage.queue.dropped_bytes == 0


def test_the_end_of_the_log_is_said_once_and_harms_nobody() -> None:
    with Stage("block") as stage:
        for number in range(30):
            stage.queue.log_client_bytes(1, CLIENT, number, b"x" * 1000)
        stage.theirs.close()
        stage.queue.flush()
        for _ in range(3):
            stage.queue.log_connection_opened(2, "a:1", "b:2", "c:3", 1)
            stage.queue.log_client_bytes(2, CLIENT, 1, b"x" * 1000)
            stage.queue.log_upstream_latency(2, 1, 1, 1)
            stage.queue.log_connection_closed(2, "fin", 1)
            stage.queue.flush()
        assert stage.paused == [True, False]
        assert stage.said == ["the log has ended; clients go on without it"]
        assert not stage.queue.alive
        assert stage.queue.queued_size == 0
        assert not stage.queue.finish()


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 3000), st.booleans()), max_size=80),
)
def test_bytes_and_gaps_add_up(steps: list[tuple[int, int, int, bool]]) -> None:
    """With the declared gaps each stream has its full length, and the bytes that came are at their offsets."""
    streams: dict[tuple[int, int], bytes] = {}
    with Stage(most=5000) as stage:
        told: list[Message] = []
        for number in range(3):
            stage.queue.log_connection_opened(number, "a:1", "b:2", "c:3", 1)
        for at, (number, side, size, reads) in enumerate(steps):
            data = bytes((at + place) % 251 for place in range(size))
            streams[number, side] = streams.get((number, side), b"") + data
            stage.queue.log_client_bytes(number, side, at, data)
            if reads:
                told += stage.read()
        for number in range(3):
            stage.queue.log_connection_closed(number, "fin", 99)
        told += stage.read()
        left_out = stage.queue.dropped_bytes
    places = dict.fromkeys(streams, 0)
    gaps = 0
    for kind, number, _, content in told:
        if kind in (CLIENT, SERVER):
            place = places[number, kind]
            assert streams[number, kind][place : place + len(content)] == content
            places[number, kind] += len(content)
        elif kind in (MessageKind.GAP, MessageKind.GAP_SERVER):
            places[number, kind - MessageKind.GAP] += SIZE.unpack(content)[0]
            gaps += SIZE.unpack(content)[0]
    assert places == {key: len(stream) for key, stream in streams.items()}
    assert gaps == left_out
    assert sorted(number for kind, number, *_ in told if kind == MessageKind.CLOSED) == [0, 1, 2]


def test_a_loop_sends_by_itself(tmp_path: Path) -> None:
    async def run() -> None:
        with (tmp_path / "out").open("wb") as out:
            log = start(LogPlan(NDJSON), stdout=out)
        log.queue.attach(asyncio.get_running_loop())
        play(log.queue, chunks_of("tour.pcapng"))
        end = time.monotonic() + 60
        while log.queue.queued_size and time.monotonic() < end:
            await asyncio.sleep(0.01)
        assert log.queue.queued_size == 0
        assert await asyncio.to_thread(log.finish)

    asyncio.run(run())
    assert len((tmp_path / "out").read_bytes().splitlines()) == 193


def test_a_slow_log_leaves_a_gap_and_says_so(tmp_path: Path) -> None:
    """A slow log with a small buffer: rows from before and after, a gap in the file, and a line in the summary."""
    path = tmp_path / "x.pcapng"
    chunks = chunks_of("first-steps.pcapng")
    with (tmp_path / "out").open("w+b") as out, (tmp_path / "err").open("w+b") as err:
        log = start(LogPlan(NDJSON._replace(quiet=False), write=str(path)), stdout=out, stderr=err, most=100_000)
        play(log.queue, chunks)
        assert log.queue.dropped_bytes > 10_000
        assert log.finish()
        out.seek(0)
        err.seek(0)
        rows = [json.loads(line) for line in out]
        summary = err.read().decode()
    logged = {row["reason"] for row in rows if row["kind"] == "skipped"}
    assert sum(row["kind"] == "exchange" for row in rows) > 20
    assert logged <= {"lost", "garbage"}
    assert f"{log.queue.dropped_exchanges} answers left out" in summary
    from tests.proxy.log.played import sniffed

    read = sniffed(path)
    assert sum(row["kind"] == "exchange" and row["status"] == "complete" for row in read) > 20
