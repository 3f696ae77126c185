"""A few words are enough: examples and the table of elements fill in the fields that words leave open."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import pytest

from decoders.protocol_facts.errors.error_codes import ERRORS
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.cli.worlds import kw

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

# One after the other on one cluster: the words, and a part of the answer.
PLAY: Final[list[tuple[str, dict[str, Any]]]] = [
    (
        "CreateTopics topics[].name=orders",
        {"topics": [{"name": "orders", "num_partitions": 1, "replication_factor": 1}]},
    ),
    ("CreatePartitions topics[].name=orders topics[0].count=4", {"results": [{"name": "orders"}]}),
    ("Metadata topics[].name=orders", {"topics": [{"name": "orders", "is_internal": False}]}),
    ("ListOffsets topics[].name=orders topics[0].partitions[].partition_index=0", {"topics": [{"name": "orders"}]}),
    (
        "DescribeConfigs resources[].resource_name=orders resources[0].configuration_keys[]=retention.ms",
        {"results": [{"configs": [{"name": "retention.ms", "value": "604800000"}]}]},
    ),
    ("DescribeConfigs resources[].resource_name=orders", {"results": [{"resource_name": "orders"}]}),
    (
        "IncrementalAlterConfigs resources[].resource_name=orders resources[0].configs[].name=retention.ms "
        "resources[0].configs[0].value=86400000",
        {"responses": [{"resource_name": "orders"}]},
    ),
    ("DescribeConfigs resources[].resource_type=4 resources[0].resource_name=1", {"results": [{"resource_name": "1"}]}),
    ("CreateAcls creations[].resource_name=orders creations[0].principal=User:bob", {"results": [{}]}),
    (
        "DescribeAcls resource_name_filter=orders",
        {"resources": [{"pattern_type": 3, "acls": [{"host": "*", "operation": 3, "permission_type": 3}]}]},
    ),
    (
        "DeleteAcls filters[].resource_name_filter=orders filters[0].principal_filter=User:bob",
        {"filter_results": [{"matching_acls": [{"principal": "User:bob"}]}]},
    ),
    (
        "AlterClientQuotas entries[].entity[].entity_name=eve entries[0].ops[].key=producer_byte_rate "
        "entries[0].ops[0].value=1000",
        {"entries": [{"entity": [{"entity_type": "user", "entity_name": "eve"}]}]},
    ),
    ("DescribeClientQuotas components[].entity_type=user", {"entries": [{"values": [{"value": 1000.0}]}]}),
    (
        "OffsetCommit group_id=billing topics[].name=orders topics[0].partitions[].partition_index=0 "
        "topics[0].partitions[0].committed_offset=0",
        {"topics": [{"name": "orders"}]},
    ),
    ("OffsetFetch groups[].group_id=billing", {"groups": [{"topics": [{"partitions": [{"committed_offset": 0}]}]}]}),
    ("OffsetFetch group_id=billing", {"topics": [{"name": "orders"}]}),
    ("DescribeGroups groups[]=billing", {"groups": [{"group_state": "Empty"}]}),
    ("DescribeShareGroupOffsets groups[].group_id=packing", {"groups": [{"topics": []}]}),
    ("DeleteGroups groups_names[]=billing", {"results": [{"group_id": "billing"}]}),
    ("DescribeProducers topics[].name=orders topics[0].partition_indexes[]=0", {"topics": [{"name": "orders"}]}),
    ("DeleteRecords topics[].name=orders topics[0].partitions[].partition_index=0", {"topics": [{"name": "orders"}]}),
    (
        "AlterPartitionReassignments topics[].name=orders topics[0].partitions[].partition_index=0 "
        "topics[0].partitions[0].replicas[]=1",
        {"responses": [{"name": "orders"}]},
    ),
    ("UpdateFeatures feature_updates[].feature=group.version", {}),
    ("DeleteTopics topics[].name=orders", {"responses": [{"name": "orders"}]}),
]

# APIs that only ask, which may be called again.
QUESTIONS: Final = {
    words.split()[0] for words, _ in PLAY if words.startswith(("Describe", "List", "Metadata", "OffsetFetch"))
}


def lacks(found: Any, wanted: Any) -> bool:
    """Whether something wanted is missing in a body (lists are compared from their beginning)."""
    if isinstance(wanted, dict):
        return not isinstance(found, dict) or any(lacks(found.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list) and wanted:
        return not isinstance(found, list) or len(found) < len(wanted) or any(map(lacks, found, wanted))
    return bool(found != wanted)


def patiently(wanted: dict[str, Any], *words: str) -> Any:
    """The answer to a call that goes well.

    The call is repeated while its answer has an error that passes; a question also while its answer lacks something
    wanted, since a broker applies a controller's decision a moment after the controller has answered.
    """
    deadline = time.monotonic() + 30
    while True:
        outcome = kw("call", *words)
        assert outcome.out, (words, outcome.err)
        exchange = json.loads(outcome.out.splitlines()[-1])
        late = time.monotonic() >= deadline
        if not outcome.code:
            if late or words[0] not in QUESTIONS or not lacks(exchange["response"], wanted):
                return exchange["response"]
        else:
            assert all(ERRORS[error["code"]].retriable for error in exchange["errors"]), (words, exchange["response"])
            assert not late, words
        time.sleep(0.05)


def test_a_few_words_are_enough() -> None:
    with Cluster(Options(authorizer=True, class_archive=True)) as cluster:
        for words, wanted in PLAY:
            answer = patiently(wanted, *words.split(), "-b", cluster.bootstrap(), "-o", "ndjson")
            assert not lacks(answer, wanted), (words, answer)
