"""The short way to the partition of an exchange is there for the APIs that have one array of topics in each message."""

from __future__ import annotations

from decoders.apis import NAMES, api
from kwcli.pipeline.tables.topic_partition_rows import SingleTopic


def test_apis_with_the_short_way() -> None:
    assert {api(key).name for key in NAMES if SingleTopic.for_api(key) is not None} == {
        "Produce",
        "Fetch",
        "ListOffsets",
        "OffsetCommit",
        "DeleteRecords",
        "OffsetForLeaderEpoch",
        "TxnOffsetCommit",
        "OffsetDelete",
    }
