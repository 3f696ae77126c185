"""The routes of APIs against real clients and brokers: the target and the sender of each request."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pytest

from decoders.apis import api
from decoders.messages.exchange_json import to_json_dict
from decoders.protocol_facts.extract_routing_keys import extract_routing_keys
from decoders.protocol_facts.request_routing import route_of_api
from tests.captures.reading import exchanges
from tests.captures.shipped import CLEAN, capture_bytes

Record = dict[str, Any]
Place = tuple[Any, ...]

_COORDINATORS: Final = {"group": 0, "transaction": 1, "share": 2}
# Client ids of nodes: a broker to its controller, to leaders that it follows, to coordinators; members of a quorum.
_NODE: Final = re.compile(r"\d+|broker-\d+-.*|raft-client-\d+|(AddPartitionsManager|Persister)-client-\d+")


def sorted_records(name: str) -> list[Record]:
    """The exchanges of a capture by the time of their requests."""
    return sorted((to_json_dict(each) for each in exchanges(capture_bytes(name))), key=lambda record: record["time"])


class Told:
    """A cluster's own answers with their times: addresses of nodes, leaders of partitions, coordinators."""

    def __init__(self, found: Iterable[Record]) -> None:
        self.addresses: dict[int, str] = {}
        self.nodes: defaultdict[Place, list[tuple[str, int]]] = defaultdict(list)
        for record in found:
            if record["status"] == "complete" and record["api"] == "Metadata":
                self._metadata(record["time"], record["response"])
            elif record["status"] == "complete" and record["api"] == "FindCoordinator":
                self._coordinators(record["time"], record["request"], record["response"])

    def _metadata(self, time: str, answer: Record) -> None:
        for broker in answer["brokers"]:
            host = f"[{broker['host']}]" if ":" in broker["host"] else broker["host"]
            self.addresses[broker["node_id"]] = f"{host}:{broker['port']}"
        for topic in answer["topics"]:
            for partition in topic["partitions"]:
                for name in filter(None, (topic["name"], topic.get("topic_id"))):
                    self.nodes["leader", name, partition["partition_index"]].append((time, partition["leader_id"]))

    def _coordinators(self, time: str, request: Record, answer: Record) -> None:
        kind = request.get("key_type", 0)
        for found in answer.get("coordinators", [{**answer, "key": request.get("key")}]):
            if not found["error_code"]:
                self.nodes[kind, found["key"]].append((time, found["node_id"]))

    def right(self, place: Place, time: str) -> set[str]:
        """The addresses to which a request could rightly go, by the last answer before it and the first after it."""
        told = self.nodes.get(place, [])
        at = bisect_right([when for when, _ in told], time)
        return {self.addresses[told[n][1]] for n in (at - 1, at) if 0 <= n < len(told) and told[n][1] in self.addresses}


def named(record: Record) -> Iterator[Place]:
    """The places of a request as keys of Told."""
    to = route_of_api(record["api_key"]).to
    for place in extract_routing_keys(record["api_key"], record["api_version"], record["request"]):
        if to == "leader":
            yield (to, *place)
        elif to in _COORDINATORS:
            yield _COORDINATORS[to], ":".join(map(str, place))


def by_a_follower(record: Record) -> bool:
    """Whether a broker fetches; it learns of a new leader from the quorum's log, before any answer says so."""
    request = record["request"]
    replica: int = request.get("replica_state", request).get("replica_id", -1)
    return replica >= 0


# Captures of three nodes → the number of requests of each kind that must be judged.
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("tour.pcapng", {"leader": 50, "group": 29, "transaction": 5}),
        ("three-nodes.pcapng.zst", {"leader": 80, "group": 6, "transaction": 10}),
        ("zookeeper-cluster.pcap.gz", {"leader": 78, "group": 6}),
    ],
)
def test_requests_went_where_the_table_says(name: str, least: dict[str, int]) -> None:
    found = [record for record in sorted_records(name) if record["api_key"] is not None and record["request"]]
    told = Told(found)
    assert len(set(told.addresses.values())) == 3
    judged: Counter[str] = Counter()
    for record in found:
        if by_a_follower(record):
            continue
        for place in named(record):
            right = told.right(place, record["time"])
            if right:
                judged[route_of_api(record["api_key"]).to] += 1
                assert record["broker"] in right, (record["api"], record["time"], place)
    assert {to: judged[to] for to in least if judged[to] < least[to]} == {}


def test_who_sent_it_is_among_who_sends_it() -> None:
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for name in CLEAN:
        for exchange in exchanges(capture_bytes(name)):
            if exchange.api_key is None:
                continue
            found = api(exchange.api_key)
            # The only request without a client id is a broker's: ControlledShutdown 0.
            node = (
                _NODE.fullmatch(exchange.client_id)
                if exchange.client_id is not None
                else found.name == "ControlledShutdown"
            )
            sent_by = route_of_api(found.key).sent_by
            assert {"broker", "controller"} & set(sent_by) if node else {"client", "tool"} & set(sent_by), (
                name,
                found.name,
            )
            seen["node" if node else "client"].add(found.name)
    only_nodes = {
        "AlterPartition",
        "BrokerHeartbeat",
        "BrokerRegistration",
        "ControllerRegistration",
        "Envelope",
        "Vote",
    }
    only_nodes |= {"AllocateProducerIds", "BeginQuorumEpoch", "EndQuorumEpoch", "LeaderAndIsr", "StopReplica"}
    only_nodes |= {"UpdateMetadata", "ControlledShutdown", "WriteTxnMarkers", "WriteShareGroupState"}
    assert only_nodes <= seen["node"] - seen["client"]
    assert {"Fetch", "CreateTopics", "AddPartitionsToTxn", "FindCoordinator"} <= seen["node"] & seen["client"]
