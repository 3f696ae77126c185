"""Topics and offsets that short words leave open, looked up in the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from decoders.apis import api
from decoders.protocol_facts.api_keys import LIST_OFFSETS
from decoders.protocol_facts.errors.error_codes import ERRORS, error_name
from decoders.schema.api_declaration import NONE, Versions
from kwcli.net.metadata_messages import build_offset_request
from kwcli.run_environment import Failure

_TRIES: Final = 3


class VersionedPeer(Protocol):
    """The attributes of a connection that are needed here."""

    @property
    def versions(self) -> Mapping[int, Versions]: ...
    @property
    def peer(self) -> str: ...


P = TypeVar("P", bound=VersionedPeer)


class ListOffsetsClient(Protocol[P]):
    """The methods of a cluster client that are needed here."""

    def list_partitions(self, topic: str, /) -> Sequence[int]: ...
    def find_topic_id(self, name: str, /) -> UUID: ...
    def connect_to_leader(self, topic: str, partition: int, /) -> P | None: ...
    def forget_looked_up_answers(self) -> None: ...
    def send_request(self, connection: P, key: int, version: int, value: Mapping[str, Any], /) -> dict[str, Any]: ...


class ClusterLookups:
    """Topics and offsets looked up in the cluster; each offset is requested once."""

    def __init__(self, cluster: ListOffsetsClient[Any]) -> None:
        self._cluster = cluster
        self._found: dict[tuple[str, int, int], int | None] = {}

    def list_partitions(self, topic: str) -> Sequence[int]:
        """The partitions of a topic, ascending."""
        return self._cluster.list_partitions(topic)

    def find_topic_id(self, name: str) -> UUID:
        """The id of a topic."""
        return self._cluster.find_topic_id(name)

    def find_offset_at_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset at or after a time (-1: the end, -2: the first of all); None where there is none.

        An answer with a retriable error is requested again, a few times. Raises Failure.
        """
        place = topic, partition, timestamp
        if place not in self._found:
            self._found[place] = self._request_offset_with_retries(topic, partition, timestamp)
        return self._found[place]

    def _request_offset_with_retries(self, topic: str, partition: int, timestamp: int) -> int | None:
        code = 0
        for _ in range(_TRIES):
            answer = self._request_offset(topic, partition, timestamp)
            code = answer["error_code"]
            if not code:
                found: list[int] = answer.get("old_style_offsets") or [answer.get("offset", -1)]
                return found[0] if found[0] >= 0 else None
            if code not in ERRORS or not ERRORS[code].retriable:
                break
            self._cluster.forget_looked_up_answers()
        raise Failure(f"no offset of {topic}[{partition}] for the time {timestamp}: {error_name(code)}")

    def _request_offset(self, topic: str, partition: int, timestamp: int) -> dict[str, Any]:
        connection = self._cluster.connect_to_leader(topic, partition)
        if connection is None:
            known = self.list_partitions(topic)
            raise Failure(f"{topic} has no partition {partition}, it has {known[0]}-{known[-1]}")
        both = connection.versions.get(LIST_OFFSETS, NONE) & api(LIST_OFFSETS).versions
        if not both:
            raise Failure(f"{connection.peer} does not offer ListOffsets, which kw needs for this offset")
        value = build_offset_request(both.high, topic, partition, timestamp)
        answer: dict[str, Any] = self._cluster.send_request(connection, LIST_OFFSETS, both.high, value)
        for told in answer["topics"]:
            for row in told["partitions"]:
                if (told["name"], row["partition_index"]) == (topic, partition):
                    result: dict[str, Any] = row
                    return result
        raise Failure(f"{connection.peer}: its answer to ListOffsets {both.high} does not mention {topic}[{partition}]")
