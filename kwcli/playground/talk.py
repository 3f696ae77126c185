"""A client as small as a playground needs: it knows who leads what, and asks nodes for things in dicts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from decoders import api, decode_embedded, decode_response, encode_message
from kwcli.exits import Failure
from kwcli.net.blocking import Connection
from kwcli.net.core.config import Address, ClientConfig
from kwcli.net.deadline import Deadline

__all__ = ["Talker"]

PATIENCE_S: Final = 10.0
_METADATA: Final = 3
_FIND_COORDINATOR: Final = 10
# Highest versions that speak of topics by name, of one group at a time: what mocks and old releases take as well.
_CAPS: Final = {0: 9, 1: 12, 3: 9, 8: 9, 9: 7, 10: 3, 11: 9, 14: 4, 19: 7}
_SOON: Final = frozenset({14, 15, 16})


class Talker:
    """One connection a node, opened when it is needed. Raises Failure, as Connection does."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        self._config = ClientConfig(servers=tuple(_address(text) for text in bootstrap.split(",")), client_id=client_id)
        self._open: dict[Address, Connection] = {}
        self._nodes: dict[int, Address] = {}
        self._leaders: dict[str, dict[int, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for connection in self._open.values():
            connection.close()

    def ask(self, key: int, body: Mapping[str, Any], *, node: int | None = None) -> dict[str, Any]:
        """Send a request to a node (to any, when none is named); the body of the answer."""
        address = self._nodes[node] if node is not None else self._config.servers[0]
        connection = self._open.get(address)
        deadline = Deadline(PATIENCE_S, time.monotonic)
        if connection is None:
            connection = self._open[address] = Connection.open(address, self._config, deadline)
        connection.deadline = deadline
        version = min(connection.versions[key].high, api(key).versions.high, _CAPS.get(key, 99))
        try:
            reply = connection.request(key, version, encode_message(key, version, "request", body))
        except Failure:
            connection.close()
            del self._open[address]
            raise
        assert reply.response_frame is not None
        return decode_response(reply.response_frame[4:], key, version).body

    def leaders(self, topic: str) -> dict[int, int]:
        """Partition → the node that leads it; learnt once, until `forget`."""
        if topic not in self._leaders:
            answer = self.ask(_METADATA, {"topics": [{"name": topic}], "allow_auto_topic_creation": True})
            self._nodes |= {row["node_id"]: (row["host"], row["port"]) for row in answer["brokers"]}
            (found,) = answer["topics"]
            led = {row["partition_index"]: row["leader_id"] for row in found["partitions"] if row["leader_id"] >= 0}
            if not led:
                raise Failure(f"topic {topic} has no leaders")
            self._leaders[topic] = led
        return self._leaders[topic]

    def forget(self) -> None:
        """Leaders have moved."""
        self._leaders.clear()

    def coordinator(self, group: str) -> int:
        """The node that coordinates a group; waits until there is one."""
        deadline = Deadline(PATIENCE_S, time.monotonic)
        while True:
            answer = self.ask(_FIND_COORDINATOR, {"key": group, "key_type": 0})
            if not answer["error_code"]:
                self._nodes[answer["node_id"]] = (answer["host"], answer["port"])
                return int(answer["node_id"])
            if answer["error_code"] not in _SOON or not deadline.left():
                raise Failure(f"group {group} has no coordinator")
            time.sleep(0.1)

    @staticmethod
    def assigned(assignment: bytes) -> list[tuple[str, int]]:
        """The partitions in a member's assignment."""
        if not assignment:
            return []
        value = decode_embedded("ConsumerProtocolAssignment", assignment)
        return [(row["topic"], number) for row in value["assigned_partitions"] for number in row["partitions"]]


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
