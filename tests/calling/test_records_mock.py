"""Records by hand on librdkafka's mock: no Java needed, three nodes, and answers of another make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwcli.playground.mock import MockCluster
from tests.calling.records_live import answered, call, fetched


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with MockCluster(3) as cluster:
        cluster.make_topic("orders")
        yield cluster.bootstrap()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_is_fetched(mock: str, codec: str) -> None:
    words = ["topic=orders", "key=k", f"value={codec}", "header=a:b", "timestamp=5", "--compression", codec]
    record = answered(mock, "produce", *words)
    (topic,) = record["response"]["responses"]
    (partition,) = topic["partition_responses"]
    place = [f"partition={partition['index']}", f"offset={partition['base_offset']}"]
    found = fetched(mock, "topic=orders", *place)[partition["index"]]
    assert [(each.timestamp, each.key, each.value, each.headers) for each in found] == [
        (5, b"k", codec.encode(), (("a", b"b"),))
    ]


def test_what_cannot_be_done_is_said(mock: str) -> None:
    outcome = call(mock, "produce", "topic=nobody", "value=v")
    assert (outcome.code, outcome.out, outcome.err) == (
        1,
        "",
        "kw: the cluster has no topic 'nobody'; there are orders\n",
    )
    outcome = call(mock, "produce", "topic=orders", "value=v", "--magic", "0", "--api-version", "9")
    assert (outcome.code, outcome.err) == (2, "kw: message format 0 needs Produce 0-2, not 9\n")
