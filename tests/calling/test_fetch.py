"""Fetch by short words: the offset to begin at, the partitions, and the look-ups for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from decoders import decode_message
from decoders.apis import api
from decoders.messages.whole_messages import encode_json
from decoders.schema.api_declaration import Versions
from kwcli.calling.cluster_lookups import ClusterLookups
from kwcli.calling.records.fetch_request import EARLIEST, LATEST, FetchFromTopic
from kwcli.calling.words.short_request_words import RecordOptions, parse_short_request
from kwcli.run_environment import Exit, Failure
from tests.calling.surroundings import environment

NOW_MS = 1_800_000_000_000
ID = UUID(int=9)


class Known:
    """A topic that holds the offsets 100 to 149 in each partition, one a millisecond from 1000 on."""

    def __init__(self, partitions: int = 1) -> None:
        self.count = partitions
        self.asked: list[tuple[str, int, int]] = []

    def list_partitions(self, topic: str) -> Sequence[int]:
        assert isinstance(topic, str)
        return range(self.count)

    def find_topic_id(self, name: str) -> UUID:
        assert name == "orders"
        return ID

    def find_offset_at_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        self.asked.append((topic, partition, timestamp))
        if timestamp < 0:
            return {EARLIEST: 100, LATEST: 150}[timestamp]
        return None if timestamp >= 1050 else 100 + max(0, timestamp - 1000)


def asked(*words: str) -> FetchFromTopic:
    found, rest = parse_short_request(1, words, RecordOptions(), environment(b"", now_ms=NOW_MS))
    assert isinstance(found, FetchFromTopic)
    assert rest == []
    return found


def first(fetch: FetchFromTopic, version: int, known: Known | None) -> dict[str, Any]:
    """The request, decoded again from its bytes."""
    return decode_message(1, version, "request", encode_json(1, version, "request", fetch.build_body(version, known)))


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ("0", 0),
        ("1042", 1042),
        ("earliest", 100),
        ("earliest+5", 105),
        ("earliest-5", 100),
        ("latest", 150),
        ("latest-10", 140),
        ("latest-1000", 100),
        ("latest+2", 152),
        ("@1970-01-01T00:00:01.007Z", 107),
        ("@1007", 107),
        ("@-1d", 150),
        ("@1970-01-01", 100),
        ("s@1007", 107),
        ("-10", 140),
        ("-1", 149),
        ("-0", 150),
        ("-1000", 100),
        ("+5", 105),
        ("beginning", 100),
        ("Beginning", 100),
        ("start", 100),
        ("oldest", 100),
        ("end", 150),
        ("newest", 150),
        ("end-3", 147),
        ("beginning+3", 103),
    ],
)
def test_where_to_begin(offset: str, expected: int) -> None:
    body = first(asked("topic=orders", f"offset={offset}"), 11, Known())
    ((topic,), (partition,)) = body["topics"], body["topics"][0]["partitions"]
    assert (topic["topic"], partition["partition"], partition["fetch_offset"]) == ("orders", 0, expected)


def test_only_what_is_needed_is_looked_up() -> None:
    known = Known()
    first(asked("topic=orders", "offset=5", "partition=0"), 11, known)
    assert known.asked == []
    first(asked("topic=orders", "offset=latest-5", "partition=0"), 11, known)
    assert known.asked == [("orders", 0, LATEST), ("orders", 0, EARLIEST)]


def test_without_an_offset_from_the_first() -> None:
    assert first(asked("topic=orders"), 11, Known())["topics"][0]["partitions"][0]["fetch_offset"] == 100
    assert first(asked("topic=orders"), 11, None)["topics"][0]["partitions"][0]["fetch_offset"] == 0


@pytest.mark.parametrize("version", range(19))
def test_every_version(version: int) -> None:
    body = first(asked("topic=orders", "partition=3", "partition=1"), version, Known(6))
    (topic,) = body["topics"]
    assert topic.get("topic", "orders") == "orders"
    assert topic.get("topic_id", ID) == ID
    assert [each["partition"] for each in topic["partitions"]] == [3, 1]
    expected: Mapping[str, int] = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 50 << 20, "session_epoch": -1}
    assert {name: body[name] for name in expected if name in body} == {
        name: value for name, value in expected.items() if name in body
    }
    assert body.get("replica_id", -1) == -1


def test_which_partitions() -> None:
    assert [
        p["partition"] for p in asked("topic=a", "partition=all").build_body(9, Known(3))["topics"][0]["partitions"]
    ] == [
        0,
        1,
        2,
    ]
    assert [each["partition"] for each in asked("topic=a").build_body(9, Known(3))["topics"][0]["partitions"]] == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["partition=0,2"], [0, 2]),
        (["partition=0-2"], [0, 1, 2]),
        (["partition=1..2", "partition=1", "partition=0"], [1, 2, 0]),
        (["partition=4", "partition=all"], []),
    ],
)
def test_several_partitions(words: list[str], expected: list[int]) -> None:
    assert asked("topic=a", *words).partitions == expected


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["offset=5"], "topic= is missing"),
        (["topic=a", "topic=b"], "topic= is given twice"),
        (["topic=a", "offset=1", "offset=2"], "offset= is given twice"),
        (["topic=a", "offset=lates"], 'offset=lates is no offset (did you mean "latest"?): write a number, -10'),
        (["topic=a", "offset="], "offset= is no offset: write a number"),
        (["topic=a", "offset=1.5"], "offset=1.5 is no offset: write a number"),
        (["topic=a", "partition=3-1"], "partition=3-1 is no range of partitions"),
        (["topic=a", "partition=0-99999999999"], "partition=0-99999999999 is no number"),
        (["topic=a", "partition=-1"], "partition=-1 is no number"),
        (["topic=a", "offset=@soon"], "offset=: 'soon' is no time"),
        (["topic=a", "offset=9999999999999999999"], "is outside 0 to"),
        (["topic=a", "partition=x"], "partition=x is no number"),
    ],
)
def test_what_is_wrong(words: list[str], text: str) -> None:
    with pytest.raises(Failure) as caught:
        asked(*words)
    assert text in caught.value.text
    assert caught.value.code == Exit.USAGE


def test_not_connected() -> None:
    with pytest.raises(Failure, match="give offset= a number"):
        asked("topic=a", "offset=latest-10").build_body(9, None)
    assert asked("topic=a").narrow_versions(api(1).versions, connected=False) == Versions(0, 12)


def test_paths_alone_are_left_alone() -> None:
    words = ["topics[].topic=orders", "max_wait_ms=5"]
    assert parse_short_request(1, words, RecordOptions(), environment(b"")) == (None, words)
    with pytest.raises(Failure, match="--compression goes with Produce only"):
        parse_short_request(1, words, RecordOptions(compression="gzip"), environment(b""))


class Peer:
    """A connection to a leader that offers ListOffsets up to some version."""

    peer = "host:9092"

    def __init__(self, high: int) -> None:
        self.versions = {2: Versions(0, high)}


class Asked:
    """A cluster that gives prepared answers to ListOffsets."""

    def __init__(self, high: int, *answers: dict[str, Any]) -> None:
        self.connection = Peer(high)
        self.answers = list(answers)
        self.forgotten = 0

    def list_partitions(self, topic: str, /) -> Sequence[int]:
        assert topic == "orders"
        return [0, 1]

    def find_topic_id(self, name: str, /) -> UUID:
        assert name == "orders"
        return ID

    def connect_to_leader(self, topic: str, partition: int, /) -> Peer | None:
        return self.connection if topic == "orders" and partition < 2 else None

    def forget_looked_up_answers(self) -> None:
        self.forgotten += 1

    def send_request(self, connection: Peer, key: int, version: int, value: Mapping[str, Any], /) -> dict[str, Any]:
        assert connection is self.connection
        decode_message(key, version, "request", encode_json(key, version, "request", dict(value)))
        (topic,) = value["topics"]
        (asked,) = topic["partitions"]
        row = {"partition_index": asked["partition_index"], **self.answers.pop(0)}
        return {"topics": [{"name": "orders", "partitions": [row]}]}


def test_offsets_are_asked_of_the_leader() -> None:
    assert (
        ClusterLookups(Asked(11, {"error_code": 0, "timestamp": 5, "offset": 42})).find_offset_at_time("orders", 0, 5)
        == 42
    )
    assert (
        ClusterLookups(Asked(0, {"error_code": 0, "old_style_offsets": [42]})).find_offset_at_time("orders", 0, -1)
        == 42
    )
    assert (
        ClusterLookups(Asked(0, {"error_code": 0, "old_style_offsets": []})).find_offset_at_time("orders", 0, 5) is None
    )
    assert (
        ClusterLookups(Asked(5, {"error_code": 0, "timestamp": -1, "offset": -1})).find_offset_at_time("orders", 0, 5)
        is None
    )


def test_a_leader_that_has_moved_is_asked_again() -> None:
    cluster = Asked(5, {"error_code": 6}, {"error_code": 0, "offset": 7})
    assert ClusterLookups(cluster).find_offset_at_time("orders", 0, -1) == 7
    assert cluster.forgotten == 1
    with pytest.raises(Failure, match=r"no offset of orders\[0\] for the time -1: UNSUPPORTED_VERSION"):
        ClusterLookups(Asked(5, {"error_code": 35})).find_offset_at_time("orders", 0, -1)
    with pytest.raises(Failure, match="orders has no partition 5, it has 0-1"):
        ClusterLookups(Asked(5)).find_offset_at_time("orders", 5, -1)
