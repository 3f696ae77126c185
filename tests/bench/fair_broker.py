"""A broker that is fair to its connections, as Kafka is: `python -m tests.bench.fair_broker`; it prints its port.

Every connection gets a fixed number of answers a turn, and a connection that does not read is not read either.
ApiVersions and Metadata get the answers of a cluster of a few nodes; the answer to equal requests of one client is made
once.
"""

from __future__ import annotations

import select
import socket
import sys
from contextlib import suppress
from typing import Final

import decoders
from tests.proxy.stage import framed

API_VERSIONS: Final = 18
METADATA: Final = 3
NODES: Final = 3
TOPICS: Final = 5
PARTITIONS: Final = 12
# Answers of one turn of one connection.
_TURN: Final = 16
_READ: Final = 1 << 16
_LEAST: Final = 12


def _versions(version: int) -> bytes:
    served = [decoders.api(key) for key in range(76)]
    rows = [{"api_key": api.key, "min_version": api.versions.low, "max_version": api.versions.high} for api in served]
    return decoders.encode_response(API_VERSIONS, version, {"api_keys": rows})


def _metadata(version: int, port: int) -> bytes:
    """The Metadata answer: every node has the address of the broker's only listener."""
    brokers = [{"node_id": number, "host": "127.0.0.1", "port": port} for number in range(1, NODES + 1)]
    partitions = [
        {"partition_index": number, "leader_id": 1 + number % NODES, "replica_nodes": [1, 2], "isr_nodes": [1, 2]}
        for number in range(PARTITIONS)
    ]
    topics = [{"name": f"orders-{number}", "partitions": partitions} for number in range(TOPICS)]
    return decoders.encode_response(METADATA, version, {"brokers": brokers, "topics": topics})


class Broker:
    """A broker with one listener and one thread."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port: int = self._listener.getsockname()[1]
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)
        self._links: dict[int, socket.socket] = {}
        self._asked: dict[int, bytes] = {}  # not answered yet
        self._unsent: dict[int, bytes] = {}
        self._answers: dict[bytes, bytes] = {}

    def serve(self) -> None:
        """Answer requests until killed."""
        more: set[int] = set()  # connections with complete requests that had no turn yet
        while True:
            for number, _ in self._poll.poll(0 if more else None):
                if number == self._listener.fileno():
                    self._accept()
                else:
                    more.add(number)
            for number in list(more):
                try:
                    again = self._turn(number)
                except OSError:
                    self._forget(number)
                    again = False
                if not again:
                    more.discard(number)

    def _accept(self) -> None:
        link, _ = self._listener.accept()
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._poll.register(link, select.EPOLLIN)
        self._links[link.fileno()] = link
        self._asked[link.fileno()] = self._unsent[link.fileno()] = b""

    def _forget(self, number: int) -> None:
        link = self._links.pop(number)
        self._poll.unregister(link)
        link.close()
        del self._asked[number], self._unsent[number]

    def _turn(self, number: int) -> bool:
        """Read, answer, send; gives whether there is more to answer at once. Raises OSError when a connection ends."""
        link, out = self._links[number], self._unsent[number]
        if not out:
            out = self._answered(number, link)
        with suppress(BlockingIOError):
            out = out[link.send(out) :] if out else out
        if bool(out) != bool(self._unsent[number]):
            self._poll.modify(link, select.EPOLLOUT if out else select.EPOLLIN)
        self._unsent[number] = out
        return not out and _whole(self._asked[number], 0)

    def _answered(self, number: int, link: socket.socket) -> bytes:
        data = self._asked[number]
        if not _whole(data, 0):
            try:
                more = link.recv(_READ)
            except BlockingIOError:
                return b""
            if not more:
                raise ConnectionResetError
            data += more
        at = 0
        parts: list[bytes] = []
        while len(parts) < 2 * _TURN and _whole(data, at):
            stop = at + 4 + int.from_bytes(data[at : at + 4], "big")
            kind = data[at + 4 : at + 8]
            answer = self._answers.get(kind) or self._make(kind)
            parts += [answer[:4] + data[at + 8 : at + 12], answer[8:]]
            at = stop
        self._asked[number] = data[at:]
        return b"".join(parts)

    def _make(self, kind: bytes) -> bytes:
        key, version = int.from_bytes(kind[:2], "big"), int.from_bytes(kind[2:], "big")
        answer = framed(_versions(version) if key == API_VERSIONS else _metadata(version, self.port))
        self._answers[kind] = answer
        return answer


def _whole(data: bytes, at: int) -> bool:
    return len(data) - at >= _LEAST and len(data) - at >= 4 + int.from_bytes(data[at : at + 4], "big")


if __name__ == "__main__":
    broker = Broker()
    print(broker.port, flush=True)
    try:
        broker.serve()
    except KeyboardInterrupt:
        sys.exit(0)
