"""Each route that names a place, on three nodes: the node that it leads to takes the request, and
the others answer that it is not for them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from decoders.apis import KEYS, api
from decoders.protocol_facts.kafka_releases import api_versions_of_release
from decoders.protocol_facts.request_routing import route_of_api
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.calling.nodes import Calls, coordinator, leaders

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

RELEASE: Final = "4.3"
MEMBER: Final = "AAAAAAAAAAAAAAAAAAAABw"
# A wrong node's errors: NOT_LEADER_OR_FOLLOWER, NOT_COORDINATOR, in one case UNKNOWN_TOPIC_OR_PARTITION.
NOT_HERE: Final = frozenset({6, 16})
UNKNOWN_HERE: Final[Mapping[str, frozenset[int]]] = {"WriteTxnMarkers": frozenset({3})}
# Needs a session of ShareFetch, which ends with the connection, and so with each call.
SESSION: Final = frozenset({"ShareAcknowledge"})

_NAME: Final = "topics[].name=orders"
_INDEX: Final = "topics[0].partitions[].partition_index=0"
_ID: Final = "topics[].topic_id={id}"
_STATE: Final = f"group_id=packing {_ID} topics[0].partitions[].partition=0"
_PRODUCER: Final = "transactional_id=ledger producer_id=77 producer_epoch=0"
_NO_MEMBER: Final = "group_id=billing member_id=nobody"
# API → the words that make its example name partition 0 of a topic, a group, a transactional id or a share.
WORDS: Final[Mapping[str, str]] = {
    "Produce": "topic=orders partition=0 value=a",
    "Fetch": f"{_ID} topics[0].partitions[].partition=0",
    "ListOffsets": f"{_NAME} {_INDEX}",
    "OffsetCommit": f"group_id=billing {_NAME} {_INDEX} --api-version 9",
    "OffsetFetch": "groups[].group_id=billing",
    "JoinGroup": _NO_MEMBER,
    "Heartbeat": _NO_MEMBER,
    "LeaveGroup": "group_id=billing members[].member_id=nobody",
    "SyncGroup": _NO_MEMBER,
    "DescribeGroups": "groups[]=billing",
    "DeleteRecords": f"{_NAME} {_INDEX}",
    "InitProducerId": "transactional_id=ledger",
    "OffsetForLeaderEpoch": "topics[].topic=orders topics[0].partitions[].partition=0",
    "AddPartitionsToTxn": (
        "transactions[].transactional_id=ledger transactions[0].producer_id=77 transactions[0].producer_epoch=0 "
        "transactions[0].topics[].name=orders transactions[0].topics[0].partitions[]=0"
    ),
    "AddOffsetsToTxn": f"{_PRODUCER} group_id=billing",
    "EndTxn": _PRODUCER,
    "WriteTxnMarkers": (
        "markers[].producer_id=77 markers[0].producer_epoch=0 markers[0].topics[].name=orders "
        "markers[0].topics[0].partition_indexes[]=0"
    ),
    "TxnOffsetCommit": f"{_PRODUCER} group_id=billing {_NAME} {_INDEX}",
    "DeleteGroups": "groups_names[]=billing",
    "OffsetDelete": f"group_id=billing {_NAME} {_INDEX}",
    "DescribeProducers": f"{_NAME} topics[0].partition_indexes[]=0",
    "DescribeTransactions": "transactional_ids[]=ledger",
    "ConsumerGroupHeartbeat": _NO_MEMBER,
    "ConsumerGroupDescribe": "group_ids[]=billing",
    "ShareGroupHeartbeat": _NO_MEMBER,
    "ShareGroupDescribe": "group_ids[]=billing",
    "ShareFetch": f"group_id=packing member_id={MEMBER} share_session_epoch=0 {_ID} {_INDEX}",
    "InitializeShareGroupState": _STATE,
    "ReadShareGroupState": _STATE,
    "WriteShareGroupState": _STATE,
    "DeleteShareGroupState": _STATE,
    "ReadShareGroupStateSummary": _STATE,
    "StreamsGroupHeartbeat": _NO_MEMBER,
    "StreamsGroupDescribe": "group_ids[]=billing",
    "DescribeShareGroupOffsets": "groups[].group_id=billing",
    "AlterShareGroupOffsets": f"group_id=billing topics[].topic_name=orders {_INDEX}",
    "DeleteShareGroupOffsets": "group_id=billing topics[].topic_name=orders",
}


def test_every_row_that_names_a_place_is_tried() -> None:
    offered = api_versions_of_release(RELEASE)
    placed = {
        api(key).name
        for key in KEYS
        if route_of_api(key).to in ("leader", "group", "transaction", "share") and key in offered
    }
    assert placed - SESSION == set(WORDS)


class Ground:
    """Three nodes with a topic of one replica a partition, and which node is leader, coordinator and controller."""

    def __init__(self, cluster: Cluster) -> None:
        self.calls = Calls(cluster)
        self.calls.done("CreateTopics", "topics[].name=orders", "topics[0].num_partitions=3")
        self.topic = self._topic_id()
        share = f"packing:{self.topic}:0"
        self.places = {
            "leader": leaders(self.calls, "orders")[0],
            "group": coordinator(self.calls, "billing", 0),
            "transaction": coordinator(self.calls, "ledger", 1),
            "share": coordinator(self.calls, share, 2),
        }

    def _topic_id(self) -> str:
        """The topic's id, as soon as the node that is asked knows the topic."""
        until = time.monotonic() + 30
        while True:
            (record,) = self.calls("Metadata", "topics[].name=orders")
            if not record["errors"] or time.monotonic() > until:
                assert not record["errors"], record
                return str(record["response"]["topics"][0]["topic_id"])
            time.sleep(0.1)

    def errors(self, name: str, node: int) -> set[int]:
        """The error codes in a node's answer, once the answer is a final one."""
        words = WORDS[name].format(id=self.topic).split()
        until = time.monotonic() + 30
        while True:
            (record,) = self.calls(name, *words, "--node", str(node))
            found = {error["code"] for error in record["errors"]}
            if not found & {14, 15} or time.monotonic() > until:
                return found
            time.sleep(0.05)


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with Cluster(Options(nodes=3, class_archive=True)) as cluster:
        yield Ground(cluster)


def is_here(ground: Ground, name: str, node: int, wanted: bool) -> bool:
    """Whether a node takes the request; asked again for a while, since a node may not know yet."""
    not_here = UNKNOWN_HERE.get(name, NOT_HERE)
    until = time.monotonic() + 30
    while True:
        here = not ground.errors(name, node) & not_here
        if here is wanted or time.monotonic() > until:
            return here
        time.sleep(0.1)


@pytest.mark.parametrize("name", WORDS)
def test_the_right_node_takes_it_and_the_others_do_not(ground: Ground, name: str) -> None:
    right = ground.places[route_of_api(api(name).key).to]
    assert [node for node in (1, 2, 3) if is_here(ground, name, node, node == right)] == [right]
