"""Settled exchanges and skipped runs in, the counts of the closing line out."""

from __future__ import annotations

from collections import Counter


class Summary:
    """What an engine has seen so far. How many exchanges have errors only who looks at them knows."""

    __slots__ = (
        "brokers",
        "client_ids",
        "clients",
        "connections",
        "exchanges",
        "first_ns",
        "gaps",
        "last_ns",
        "skipped",
        "skipped_bytes",
        "unanswered",
    )

    def __init__(self) -> None:
        self.exchanges = 0
        self.clients: set[str] = set()  # hosts that asked
        self.client_ids: set[tuple[str, str]] = set()  # host and client id
        self.brokers: set[str] = set()  # host:port that answered
        self.connections = 0  # that are Kafka
        self.unanswered = 0
        self.gaps = 0
        self.skipped: Counter[str] = Counter()  # reason → runs
        self.skipped_bytes: Counter[str] = Counter()
        self.first_ns = 0
        self.last_ns = 0

    def client(self, address: str, client_id: str) -> None:
        """A client has shown itself."""
        self.client_ids.add((address.rpartition(":")[0], client_id))

    def connection(self, client: str, broker: str) -> None:
        """A connection has proved to be Kafka."""
        self.connections += 1
        self.clients.add(client.rpartition(":")[0])
        self.brokers.add(broker)
