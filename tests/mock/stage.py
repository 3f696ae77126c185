"""A mocked cluster without sockets and without a real clock: request bodies in, response bodies out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from decoders import Record, decode_response, encode_request
from decoders.apis import api
from decoders.mocking.client_connections import MockBrokers, MockConnection
from decoders.mocking.cluster_state import MockCluster, MockNode
from decoders.mocking.handler_table import make_brokers
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch

TOPIC: Final = "orders"


def framed(frame: bytes) -> bytes:
    """A frame with its size field."""
    return len(frame).to_bytes(4, "big") + frame


class Client:
    """One connection to one node; `ask` gives the body of the response, None while the broker waits."""

    def __init__(self, stage: Stage, node: int, client_id: str = "test") -> None:
        self.stage = stage
        self.client_id = client_id
        self.connection: MockConnection = stage.brokers.connect(node, "127.0.0.1:50000")
        self._asked: list[tuple[int, int]] = []
        self._bytes = b""
        self._id = 0

    def send(self, name: str, version: int | None, body: Mapping[str, Any]) -> None:
        """Send a request, at the newest version unless one is given."""
        known = api(name)
        number = known.versions[1] if version is None else version
        self._id += 1
        frame = encode_request(known.key, number, body, correlation_id=self._id, client_id=self.client_id)
        self._asked.append((known.key, number))
        self.stage.brokers.feed(self.connection, framed(frame), self.stage.now_ms)

    def read(self) -> dict[str, Any] | None:
        """The next response; None if there is none yet."""
        self._bytes += self.connection.take_output()
        if not self._bytes:
            return None
        size = int.from_bytes(self._bytes[:4], "big")
        frame, self._bytes = self._bytes[4 : 4 + size], self._bytes[4 + size :]
        key, version = self._asked.pop(0)
        return decode_response(frame, key, version).body

    def ask(self, name: str, body: Mapping[str, Any] | None = None, version: int | None = None) -> Any:
        """Send a request, and give its response; None while the broker waits."""
        self.send(name, version, body or {})
        return self.read()


class Stage:
    """Two nodes: partition 0 of `orders` is on node 1, partition 1 on node 2; node 1 coordinates all groups."""

    def __init__(self, *, auto_create: bool = True) -> None:
        self.now_ms = 1_000_000
        nodes = [MockNode(1, "localhost", 9092), MockNode(2, "localhost", 9093)]
        self.cluster = MockCluster(nodes, "test", 1, auto_create=auto_create)
        self.topic_id: UUID = self.cluster.add_topic(TOPIC, [1, 2]).id
        self.cluster.coordinators = dict.fromkeys(((0, "g"), (1, "t")), 1)
        self.brokers: MockBrokers = make_brokers(self.cluster)

    def client(self, node: int = 1, client_id: str = "test") -> Client:
        """A new connection."""
        return Client(self, node, client_id)

    def advance_time(self, ms: int) -> None:
        """Move the clock on; everything due happens in order."""
        end = self.now_ms + ms
        while (due := self.brokers.next_ms) is not None and due <= end:
            self.now_ms = max(due, self.now_ms)
            self.brokers.tick(self.now_ms)
        self.now_ms = end
        self.brokers.tick(end)


def batch(*values: bytes, **said: Any) -> bytes:
    """A batch of records with these values."""
    return encode_batch([Record(index, 5000 + index, None, value) for index, value in enumerate(values)], Batch(**said))


def written(data: bytes, *, partition: int = 0, topic: str = TOPIC, **said: Any) -> dict[str, Any]:
    """The body of a Produce request with these records."""
    partitions = [{"index": partition, "records": data}]
    return {"acks": -1, "timeout_ms": 1000, "topic_data": [{"name": topic, "partition_data": partitions}], **said}


def wanted(offset: int, *, partition: int = 0, topic: str = TOPIC, **said: Any) -> dict[str, Any]:
    """The body of a Fetch without a session, from this offset."""
    row = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    topics = [{"topic": topic, "partitions": [row]}]
    return {"max_wait_ms": 0, "min_bytes": 1, "topics": topics, "session_epoch": -1, **said}


def only_partition(body: Any) -> dict[str, Any]:
    """The only partition in a Produce or Fetch response."""
    (topic,) = body.get("responses") or body.get("topics")
    (row,) = topic.get("partitions") or topic.get("partition_responses")
    found: dict[str, Any] = row
    return found


def values(data: bytes) -> list[bytes | None]:
    """The values of the records in a records field."""
    from decoders import decode_records

    return [record.value for each in decode_records(data) for record in each.records or () if not each.control]


def codes(rows: Iterable[Mapping[str, Any]]) -> list[int]:
    """The error codes of rows."""
    return [row["error_code"] for row in rows]
