"""The cost of the proxy's log: `python -m tests.bench.proxy_log`.

On the data path: the time to give one chunk to the queue, sending included, for small and for large chunks. Behind it:
the exchanges a second that the log's process handles, as NDJSON to a file, with and without -w, dropping none.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from decoders.messages.whole_messages import encode_request, encode_response
from kwcli.output.output_settings import Settings
from kwcli.proxy.log.log_protocol import LogPlan
from kwcli.proxy.log.log_queue import CLIENT, SERVER, LogQueue
from kwcli.proxy.log.start_log_process import start

CHUNKS: Final = 200_000
EXCHANGES: Final = 60_000
METADATA: Final = 3


def per_chunk(size: int, count: int) -> float:
    """Seconds for one chunk of this size, while another thread reads the chunks and drops them."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)

    def swallow() -> None:
        room = bytearray(1 << 20)
        while theirs.recv_into(room):
            pass

    reader = threading.Thread(target=swallow)
    reader.start()
    queue = LogQueue(ours, most=1 << 40)
    data = bytes(size)
    queue.log_connection_opened(1, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", 1)
    spent = 0.0
    for begun in range(0, count, 16):
        at = time.thread_time()
        for number in range(begun, begun + 16):
            queue.log_client_bytes(1, CLIENT, number, data)
        queue.flush()
        spent += time.thread_time() - at
        while queue.queued_size > 1 << 22:
            time.sleep(0.001)
            queue.flush()
    queue.finish()
    reader.join()
    theirs.close()
    return spent / count


def conversation(count: int) -> list[tuple[int, int, bytes]]:
    """Side, time and bytes of small requests with their answers."""
    out = []
    for number in range(count):
        at = 1_700_000_000_000_000_000 + number * 20_000
        ask, answer = encode_request(METADATA, 9, {"topics": []}, correlation_id=number, client_id="bench"), ANSWER
        out.append((CLIENT, at, len(ask).to_bytes(4, "big") + ask))
        out.append((SERVER, at + 9_000, len(answer).to_bytes(4, "big") + number.to_bytes(4, "big") + answer[4:]))
    return out


BROKERS: Final = [{"node_id": number, "host": "127.0.0.1", "port": 19093 + number} for number in range(3)]
ANSWER: Final = encode_response(METADATA, 9, {"brokers": BROKERS, "controller_id": 1}, correlation_id=0)


def per_second(told: list[tuple[int, int, bytes]], *, write: bool) -> float:
    """Exchanges a second, from the first chunk given to the log to the last row written."""
    with tempfile.TemporaryDirectory() as folder:
        plan = LogPlan(Settings(format="ndjson", quiet=True), write=f"{folder}/x.pcapng" if write else None)
        with (Path(folder) / "out").open("wb") as out:
            log = start(plan, most=1 << 30, stdout=out)
            log.queue.flush()
            time.sleep(1)  # the interpreter has started
            begun = time.perf_counter()
            log.queue.log_connection_opened(1, "127.0.0.1:5000", "127.0.0.1:19093", "127.0.0.1:9092", told[0][1])
            for number, (side, at, data) in enumerate(told):
                if side == SERVER:
                    log.queue.log_upstream_latency(1, number // 2, at - 8_000, at)
                log.queue.log_client_bytes(1, side, at, data)
            assert log.finish(120)
            seconds = time.perf_counter() - begun
        rows = (Path(folder) / "out").read_bytes().count(b"\n")
    assert rows == len(told) // 2
    return rows / seconds


def main() -> None:
    """Measure and print."""
    for size, count in ((100, CHUNKS), (4096, CHUNKS // 2), (1 << 18, 4000)):
        print(f"{size:>7,} bytes a chunk: {per_chunk(size, count) * 1e6:6.2f} µs on the data path")
    told = conversation(EXCHANGES)
    for write in (False, True):
        print(f"ndjson{' and pcapng' if write else '':<11}: {per_second(told, write=write):,.0f} exchanges/s")


if __name__ == "__main__":
    main()
