"""A broker with scripted answers: true ones by default, changed ones where a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import decoders
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed

OFFERED: Mapping[int, tuple[int, int]] = {0: (0, 9), 1: (0, 12), 2: (0, 6), 3: (0, 12), 10: (0, 4), 18: (0, 4)}

Change = Callable[[dict[str, Any]], object]


class Liar(Responder):
    """One broker, node 1, with a topic `t` of two partitions; `lies` change its answers by API before they are sent."""

    def __init__(
        self, lies: Mapping[int, Change] | None = None, *, offered: Mapping[int, tuple[int, int]] = OFFERED
    ) -> None:
        self.asked: list[int] = []
        self._lies = lies or {}
        self._offered = offered
        super().__init__(each_request(self._answer))

    @property
    def bootstrap(self) -> str:
        """The address as `host:port`."""
        return f"{self.address[0]}:{self.address[1]}"

    def _answer(self, request: bytes) -> bytes | None:
        key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
        number = int.from_bytes(request[4:8], "big")
        self.asked.append(key)
        value = self._true(key, version, request)
        if key in self._lies:
            self._lies[key](value)
        return framed(decoders.encode_response(key, version, value, correlation_id=number))

    def _true(self, key: int, version: int, request: bytes) -> dict[str, Any]:
        host, port = self.address
        if key == 3:
            partitions = [{"partition_index": index, "leader_id": 1, "replica_nodes": [1]} for index in range(2)]
            return {
                "cluster_id": "liars",
                "brokers": [{"node_id": 1, "host": host, "port": port}],
                "controller_id": 1,
                "topics": [{"name": "t", "topic_id": UUID(int=7), "partitions": partitions}]
                if decoders.decode_request(request).body["topics"]
                else [],
            }
        if key == 10:
            place = {"node_id": 1, "host": host, "port": port}
            return {"coordinators": [{"key": "g", **place}]} if version >= 4 else place
        if key == 18:
            return offers(self._offered)
        if key == 2:
            row = {"partition_index": 0, "offset": 7}
            return {"topics": [{"name": "t", "partitions": [row]}]}
        return {}
