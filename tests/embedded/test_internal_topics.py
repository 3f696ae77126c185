"""Records of internal topics are shown as Kafka's own tool prints them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.broker.fixture import needs_brokers
from tests.embedded.internal_topics import CAPTURE, DUMPS, compare, record

KINDS = {
    *("OffsetCommitKey", "OffsetCommitValue", "GroupMetadataKey", "GroupMetadataValue", "ConsumerProtocolSubscription"),
    *("ConsumerGroupMetadataValue", "ConsumerGroupMemberMetadataValue", "ConsumerGroupCurrentMemberAssignmentValue"),
    *("ShareGroupMetadataValue", "ShareGroupStatePartitionMetadataValue", "ShareSnapshotValue", "ShareUpdateValue"),
    *("TransactionLogKey", "TransactionLogValue"),
    *("FeatureLevelRecord", "RegisterBrokerRecord", "TopicRecord", "PartitionRecord", "PartitionChangeRecord"),
    *(
        "AccessControlEntryRecord",
        "ClientQuotaRecord",
        "UserScramCredentialRecord",
        "ConfigRecord",
        "ProducerIdsRecord",
    ),
}


def test_the_goldens() -> None:
    problems, counts = compare(gzip.decompress(DUMPS.read_bytes()).decode().splitlines(), CAPTURE)
    assert problems == []
    assert counts.keys() >= KINDS
    assert counts.total() > 300


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
def test_a_cluster_at_work(tmp_path: Path) -> None:
    capture, lines = record(tmp_path / "scene")
    problems, counts = compare(lines, capture)
    assert problems == []
    assert counts.keys() >= KINDS
