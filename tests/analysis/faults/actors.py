"""Clients that do something wrong on purpose: real clients, and one that sends hand-made requests."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from struct import pack, unpack
from threading import Event, Thread
from typing import Any, Final, Generic, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer, admin

from decoders import decode_response, encode_request
from decoders.protocol_facts.api_keys import INIT_PRODUCER_ID, PRODUCE
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from tests.cli.worlds import kw

__all__ = ["VALUE", "Actor", "Fault", "RawClient", "findings_in", "write_unannounced_batch"]

# The stubs of this module lack half of what it has.
rd: Any = admin
VALUE: Final = bytes(range(256)) * 4


Who = TypeVar("Who", bound="Actor")


@dataclass(frozen=True)
class Fault(Generic[Who]):
    """A finding, the function that causes it on a topic of this shape, and the other findings that are allowed."""

    finding: str
    act: Callable[[Who], None]
    partitions: int = 1
    replicas: int = 1
    besides: Set[str] = frozenset()
    # The filter of tcpdump, if not all traffic with brokers and controllers is recorded.
    recorded: str = ""
    # The host that a broker in its own network advertises.
    advertised: str = "127.0.0.1"
    # Options of `kw doctor` that the finding needs.
    words: tuple[str, ...] = ()


def findings_in(file: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of `kw doctor` for a capture, without the finding that connections were open when it began."""
    rows = [json.loads(line) for line in kw("doctor", str(file), *words, "-o", "ndjson").out.splitlines()]
    return [row for row in rows if row["id"] != "capture-begins-late"]


class Actor:
    """The clients of one scene, and the scene's own topic."""

    def __init__(self, place: str, topic: str) -> None:
        self.place = place
        self.topic = topic
        self._asks: Producer | None = None

    def create(self, partitions: int = 1, name: str | None = None, replicas: int = 1) -> None:
        asking = rd.AdminClient(self._settings())  # the client has to live until the answer is there
        (made,) = asking.create_topics([rd.NewTopic(name or self.topic, partitions, replicas)]).values()
        made.result(20)

    def producer(self, **settings: Any) -> Producer:
        return Producer(self._settings(**settings))

    def consumer(self, **settings: Any) -> Consumer:
        usual = {"group.id": f"readers-of-{self.topic}", "auto.offset.reset": "earliest"}
        return Consumer(self._settings(**(usual | settings)))

    def _settings(self, **settings: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.place, "client.id": "shop", **settings}

    def leader(self, partition: int = 0) -> int:
        """The node that leads a partition of the topic."""
        if self._asks is None:
            self._asks = self.producer()
        found = self._asks.list_topics(self.topic, timeout=20).topics[self.topic]
        return int(found.partitions[partition].leader)

    @contextmanager
    def writing(self, every_s: float = 0.1, count: int = 50, **settings: Any) -> Iterator[None]:
        """Write `count` records again and again while the block lasts."""
        producer, over = self.producer(**settings), Event()
        # The producer learns the leader before anything goes wrong.
        producer.produce(self.topic, VALUE[:100])
        producer.flush(30)

        def write() -> None:
            while not over.wait(every_s):
                for number in range(count):
                    with suppress(BufferError, KafkaException):
                        producer.produce(self.topic, VALUE[:100], key=str(number))
                producer.poll(0)

        thread = Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            producer.flush(30)

    def write(self, count: int, size: int = 100, **settings: Any) -> None:
        producer = self.producer(**settings)
        for number in range(count):
            while True:
                with suppress(BufferError):
                    producer.produce(self.topic, VALUE[:size], key=str(number))
                    break
                producer.poll(0.05)
        producer.flush(30)


class RawClient:
    """A client that does what no library would: hand-made requests, reading nothing, or leaving without closing."""

    def __init__(self, place: str, *, buffer: int = 0) -> None:
        host, _, port = place.rpartition(":")
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect((host, int(port)))
        self._asked = 0

    def send(self, key: int, version: int, body: dict[str, Any]) -> None:
        self._asked += 1
        frame = encode_request(key, version, body, correlation_id=self._asked, client_id="raw")
        self.socket.sendall(pack(">i", len(frame)) + frame)

    def ask(self, key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
        self.send(key, version, body)
        (size,) = unpack(">i", self._read(4))
        return decode_response(self._read(size), key, version).body

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece
            data += piece
        return data

    def reset(self) -> None:
        """End with RST, without FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
        self.socket.close()


def write_unannounced_batch(place: str, topic: str, transactional_id: str) -> None:
    """Write a batch of a transaction without AddPartitionsToTxn, which no coordinator knows, and never end it."""
    client = RawClient(place)
    asked = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    while (producer := client.ask(INIT_PRODUCER_ID, 0, asked))["error_code"]:
        time.sleep(0.5)
    its = Batch(
        producer_id=producer["producer_id"],
        producer_epoch=producer["producer_epoch"],
        base_sequence=0,
        transactional=True,
    )
    records = encode_batch([Record(0, int(time.time() * 1000), None, b"x")], its)
    its_topic = {"name": topic, "partition_data": [{"index": 0, "records": records}]}
    request = {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 5000, "topic_data": [its_topic]}
    written = client.ask(PRODUCE, 7, request)
    assert written["responses"][0]["partition_responses"][0]["error_code"] == 0
    client.socket.close()
