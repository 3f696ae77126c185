"""Words such as `topic=orders` for any API: the fields that they set."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.apis import api
from kwcli.calling.words.path_value_words import compose_body, parse_body_words
from kwcli.run_environment import Failure


@pytest.mark.parametrize(
    ("name", "version", "words", "body"),
    [
        ("Metadata", 12, ["topic=a"], {"topics": [{"name": "a"}]}),
        ("Metadata", 12, ["topics=a,b"], {"topics": [{"name": "a"}, {"name": "b"}]}),
        ("Metadata", 12, ["topic=a", "topic=b"], {"topics": [{"name": "a"}, {"name": "b"}]}),
        ("DescribeGroups", 5, ["group=g"], {"groups": ["g"]}),
        ("DescribeGroups", 5, ["groups=g"], {"groups": ["g"]}),
        ("DeleteGroups", 2, ["group=g"], {"groups_names": ["g"]}),
        (
            "ListOffsets",
            7,
            ["topic=a", "partition=3"],
            {"topics": [{"name": "a", "partitions": [{"partition_index": 3}]}]},
        ),
        ("OffsetFetch", 7, ["group=g"], {"group_id": "g"}),
        ("OffsetFetch", 9, ["group=g"], {"groups": [{"group_id": "g"}]}),
        (
            "OffsetFetch",
            9,
            ["group=g", "topic=a", "partition=0,2"],
            {"groups": [{"group_id": "g", "topics": [{"name": "a", "partition_indexes": [0, 2]}]}]},
        ),
        ("DeleteTopics", 3, ["topic=a"], {"topic_names": ["a"]}),
        ("DeleteTopics", 6, ["topic=a"], {"topics": [{"name": "a"}]}),
        ("DescribeTransactions", 0, ["txn=t"], {"transactional_ids": ["t"]}),
        ("DescribeConfigs", 4, ["topic=a"], {"resources": [{"resource_type": 2, "resource_name": "a"}]}),
        ("DescribeConfigs", 4, ["broker=1"], {"resources": [{"resource_type": 4, "resource_name": "1"}]}),
        ("FindCoordinator", 2, ["txn=t"], {"key_type": 1, "key": "t"}),
        ("FindCoordinator", 4, ["group=g"], {"coordinator_keys": ["g"]}),
        ("DescribeAcls", 3, ["topic=a"], {"resource_type_filter": 2, "resource_name_filter": "a"}),
        ("Heartbeat", 4, ["group=g"], {"group_id": "g"}),  # the field has another name
    ],
)
def test_what_they_set(name: str, version: int, words: list[str], body: dict[str, Any]) -> None:
    assert compose_body(api(name), version, words) == body


@pytest.mark.parametrize(
    ("name", "word", "line"),
    [
        ("Metadata", "orders", '"orders" is no path=value: write topic=orders'),
        ("Produce", "orders", '"orders" is no path=value: write topic=orders'),
        ("Fetch", "orders", '"orders" is no path=value: write topic=orders'),
        ("DescribeGroups", "billing", '"billing" is no path=value: write group=billing'),
        ("Metadata", "kafka1:9092", '"kafka1:9092" is no path=value: -b kafka1:9092 says where the cluster is'),
        ("Metadata", "[::1]:9092", '"[::1]:9092" is no path=value: -b [::1]:9092 says where the cluster is'),
        ("Metadata", "a:1,b:2", '"a:1,b:2" is no path=value: -b a:1,b:2 says where the cluster is'),
        ("Metadata", "kafka://h:9092/x", '"kafka://h:9092/x" is no path=value: -b h:9092 says where the cluster is'),
        ("Metadata", "12", '"12" is no path=value: --api-version 12 chooses the version'),
        ("Metadata", "v12", '"v12" is no path=value: --api-version v12 chooses the version'),
        ("Metadata", "topic:orders", '"topic:orders" is no path=value: write topic=orders'),
        ("Metadata", "README.md", '"README.md" is no path=value: @README.md reads the body from the file'),
        ("ApiVersions", "x y", '"x y" is no path=value (nor path:=JSON, path=@file, path:=@file, @file)'),
        ("ApiVersions", "topic=a", 'ApiVersions has no field "topic"'),
    ],
)
def test_what_a_word_was_meant_for(name: str, word: str, line: str) -> None:
    with pytest.raises(Failure) as caught:
        parse_body_words(api(name), [word])
    assert caught.value.text.startswith(line)
