"""The log's process ends by a defect or is killed: it is started again, and what it has missed is counted and told."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from decoders.capture.read_capture import CaptureReader
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk
from kwcli.proxy.log.log_process import _receive_pieces
from kwcli.proxy.log.log_protocol import CLIENT, HEAD, SERVER, SIZE, LogPlan, Message, MessageKind, Parser
from kwcli.proxy.log.log_queue import LogQueue, Restarts
from kwcli.proxy.log.start_log_process import Log, start
from tests.proxy.log.played import NDJSON, chunks_of, play

PLAN = HEAD.pack(MessageKind.PLAN, 0, 0, 2) + b"{}"


def chunks_in(data: bytes) -> list[Chunk]:
    """The chunks of a capture."""
    reader, reassembly = CaptureReader(), Reassembly()
    return reassembly.feed(reader.feed(data) + reader.finish(), 0) + reassembly.finish()


class Fakes:
    """A queue whose processes are ends of sockets; `ended` says how many of them are to be had."""

    def __init__(self, processes: int, pauses_s: tuple[float, ...] = (0.0, 0.0, 0.0)) -> None:
        self.said: list[str] = []
        self.plans: list[int] = []
        self.theirs: list[socket.socket] = []
        self._left = processes
        self._parser = Parser()
        self.queue = LogQueue(self._made(), say=self.said.append, restarts=Restarts(self._plan, self._start, pauses_s))

    def _made(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        self.theirs.append(theirs)
        return ours

    def _plan(self, connections: int) -> bytes:
        self.plans.append(connections)
        return PLAN

    def _start(self) -> socket.socket | None:
        self._left -= 1
        return self._made() if self._left >= 0 else None

    def read(self) -> list[Message]:
        """The messages to the last process."""
        try:
            return self._parser.feed(self.theirs[-1].recv(1 << 20))
        except BlockingIOError:
            return []

    async def end(self) -> None:
        """End the last process, and wait until there is another one, or none any more."""
        count = len(self.theirs)
        self.theirs[-1].close()
        self._parser = Parser()
        await until(lambda: len(self.theirs) > count or not self.queue.alive)
        await asyncio.sleep(0)

    def run(self, work: Callable[[], Awaitable[None]]) -> None:
        async def attached() -> None:
            self.queue.attach(asyncio.get_running_loop())
            await work()

        try:
            asyncio.run(attached())
        finally:
            self.queue.close()
            for each in self.theirs:
                each.close()


async def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


async def until_worked_off(log: Log) -> None:
    """Wait until the process has written the rows of all that it was sent: none is half written."""
    await until(lambda: log.queue._taken_size > 0 and not log.queue._sent and not log.queue.queued_size)


def test_what_was_not_worked_off_is_counted_and_the_rest_goes_to_the_next_process() -> None:
    fakes = Fakes(1)
    queue = fakes.queue

    async def work() -> None:
        queue.log_connection_opened(7, "a:1", "b:2", "c:3", 10)
        queue.log_broker_connection(7, "d:4", "c:3", 11)
        queue.log_connection_opened(8, "a:5", "b:2", "c:3", 12)
        queue.log_client_bytes(7, CLIENT, 13, b"worked off")
        queue.flush()
        fakes.theirs[-1].send(b"+%d\n" % sum(HEAD.size + len(content) for *_, content in fakes.read()))
        await until(lambda: not queue._sent)
        queue.log_client_bytes(7, SERVER, 14, b"sent")
        queue.log_upstream_latency(7, 1, 2, 3)
        queue.flush()
        queue.log_connection_closed(8, "fin", 15)
        queue.log_client_bytes(7, SERVER, 16, b"queued")
        await fakes.end()
        queue.log_client_bytes(7, SERVER, 17, b"later")
        queue.log_client_bytes(7, CLIENT, 18, b"too")
        queue.flush()
        assert fakes.read() == [
            (MessageKind.PLAN, 0, 0, b"{}"),
            (MessageKind.OPENED, 7, 10, json.dumps(["a:1", "b:2", "c:3", True]).encode()),
            (MessageKind.DIALLED, 7, 10, json.dumps(["d:4", "c:3"]).encode()),
            (MessageKind.GAP_SERVER, 7, 17, SIZE.pack(len(b"sentqueued"))),
            (MessageKind.CHUNK_SERVER, 7, 17, b"later"),
            (MessageKind.GAP, 7, 18, SIZE.pack(1)),
            (MessageKind.CHUNK, 7, 18, b"too"),
        ]

    fakes.run(work)
    assert fakes.plans == [2]
    assert queue.dropped == (len(b"sentqueued"), 1, 0)
    assert fakes.said == ["the log process has failed and was started again: 10B with 1 answer missing in it so far"]


def test_messages_that_come_between_two_processes_wait() -> None:
    fakes = Fakes(1, (0.05,))
    queue = fakes.queue

    async def work() -> None:
        fakes.theirs[-1].close()
        await until(lambda: queue._restarting is not None)
        queue.log_connection_opened(1, "a:1", "b:2", "c:3", 10)
        queue.log_client_bytes(1, CLIENT, 11, b"between")
        queue.flush()
        await until(lambda: len(fakes.theirs) > 1)
        await asyncio.sleep(0)
        kinds = [(kind, content) for kind, _, _, content in fakes.read()]
        assert kinds[0] == (MessageKind.PLAN, b"{}")
        assert kinds[-1] == (MessageKind.CHUNK, b"between")

    fakes.run(work)
    assert queue.dropped == (0, 0, 0)


def test_a_defect_in_every_row_does_not_spin() -> None:
    fakes = Fakes(100)

    async def work() -> None:
        for _ in range(4):
            await fakes.end()

    fakes.run(work)
    assert len(fakes.theirs) == 4  # the first one, and one for each pause
    assert fakes.said[-1] == "the log has ended; clients go on without it"
    assert len(fakes.said) == 4


def test_a_process_that_has_nothing_to_do_any_more_is_not_started_again() -> None:
    fakes = Fakes(0)
    fakes.run(fakes.end)
    assert fakes.said == ["the log has ended; clients go on without it"]


def _killed(log: Log) -> None:
    log.process.send_signal(signal.SIGKILL)


def _faulty(log: Log) -> None:
    log.queue._sock.send(HEAD.pack(200, 0, 0, 0))  # no message: the process raises ValueError


@pytest.mark.long
@pytest.mark.parametrize("fail", [_killed, _faulty])
def test_the_rows_go_on_after_it(fail: Callable[[Log], None], tmp_path: Path) -> None:
    said: list[str] = []
    chunks = chunks_of("tour.pcapng")
    out = tmp_path / "out"
    plan = LogPlan(NDJSON, write=str(tmp_path / "kept.pcapng"))

    def rows() -> list[dict[str, object]]:
        return [json.loads(line) for line in out.read_bytes().splitlines()]

    async def run(log: Log) -> None:
        log.queue.attach(asyncio.get_running_loop())
        play(log.queue, chunks)
        await until_worked_off(log)
        assert len(rows()) > 150
        first = log.process
        fail(log)
        await until(lambda: log.process is not first)
        play(log.queue, chunks)
        assert await asyncio.to_thread(log.finish)
        assert log.failed  # something may be missing

    with out.open("wb") as file, (tmp_path / "err").open("wb") as err:
        log = start(plan, stdout=file, stderr=err, say=said.append, pauses_s=(0.01, 0.01))
        try:
            asyncio.run(run(log))
        finally:
            log.kill()
    (line,) = said
    assert line.startswith("the log process has failed and was started again: ")
    found = rows()
    assert len(found) > 150 + 193 - 10
    numbers = [row["connection"] for row in found]
    assert len(set(numbers[-193:]) & set(numbers[:150])) == 0  # no number stands for two connections
    assert (tmp_path / "kept-2.pcapng").stat().st_size > 10_000
    assert (tmp_path / "kept.pcapng").stat().st_size > 10_000
    told = (tmp_path / "err").read_text()
    assert ("defect in the log: ValueError" in told) == (fail is _faulty)
    assert "Traceback" not in told


@pytest.mark.long
def test_an_open_connection_goes_on_after_it(tmp_path: Path) -> None:
    """Exchanges of a connection that was open at that time are shown again, also where it was in the midst of one."""
    out = tmp_path / "out"
    chunks = [chunk for chunk in chunks_of("tour.pcapng") if isinstance(chunk[3], bytes)]  # none is closed
    half = len(chunks) // 2

    async def run(log: Log) -> None:
        log.queue.attach(asyncio.get_running_loop())
        play(log.queue, chunks[:half])
        await until_worked_off(log)
        first = log.process
        first.kill()
        await until(lambda: log.process is not first)
        begun = {chunk[0].connection.number for chunk in chunks[:half]}
        for source, time_ns, _, data in chunks[half:]:
            connection = source.connection
            if connection.number not in begun:
                begun.add(connection.number)
                ends = connection.first
                log.queue.log_connection_opened(connection.number, ends.source, ends.target, ends.target, time_ns)
            assert isinstance(data, bytes)
            log.queue.log_client_bytes(
                connection.number, CLIENT if source is connection.first else SERVER, time_ns, data
            )
        assert await asyncio.to_thread(log.finish)

    with out.open("wb") as file:
        log = start(LogPlan(NDJSON), stdout=file, pauses_s=(0.01,))
        try:
            asyncio.run(run(log))
        finally:
            log.kill()
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    whole = [row for row in rows if row["kind"] == "exchange" and row["status"] == "complete"]
    assert len(whole) > 150


def test_a_proxy_that_ends_without_reading_is_no_defect() -> None:
    """The end of a socket pair with unread bytes is a reset for the other side, once it has read everything."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(b"worked off")
        ours.sendall(b"messages")
        ours.close()
        assert list(_receive_pieces(theirs)) == [b"messages"]
