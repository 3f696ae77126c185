"""Every action as a play: one rule, one exchange, the bytes that client and broker get, in pieces of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decoders
from kwcli.proxy.deciding.faults.parse_rule import ACTIONS
from tests.proxy.faults.playing import MS, FaultyStage, frames
from tests.proxy.stage import FETCH, HEARTBEAT, METADATA, PRODUCE, metadata, pieces, request, response
from tests.records.making import batch

STEPS: Final = [1, 7, 10_000]
TOPIC_ID: Final = UUID(int=77)
HERE: Final = {1: ("127.0.0.1", 19094)}
ONE: Final = batch()
TWO: Final = ONE + batch()


def beat(number: int = 1) -> bytes:
    return request(HEARTBEAT, 4, {"group_id": "g", "member_id": "m"}, id=number)


def beaten(number: int = 1, **value: Any) -> bytes:
    return response(HEARTBEAT, 4, value, id=number)


PRODUCED: Final = request(
    PRODUCE, 9, {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [{"index": 3, "records": ONE}]}]}
)
SILENT: Final = request(PRODUCE, 9, {"acks": 0})
TAKEN: Final = response(
    PRODUCE, 9, {"responses": [{"name": "orders", "partition_responses": [{"index": 3, "error_code": 0}]}]}
)
FETCHING: Final = request(FETCH, 12, {"topics": [{"topic": "orders", "partitions": [{"partition": 3}]}]})


def fetched(records: bytes = TWO) -> bytes:
    partitions = [{"partition_index": 3, "high_watermark": 9, "records": records}]
    return response(FETCH, 12, {"responses": [{"topic": "orders", "partitions": partitions}]})


def led(leader: int) -> bytes:
    brokers = [{"node_id": 1, "host": "kafka-1.invalid", "port": 9092}]
    partitions = [{"partition_index": 0, "leader_id": leader, "replica_nodes": [1], "isr_nodes": [1]}]
    return response(METADATA, 9, {"brokers": brokers, "topics": [{"name": "orders", "partitions": partitions}]})


def unknown() -> bytes:
    """A Metadata response with the same broker, and an unknown topic."""
    brokers = [{"node_id": 1, "host": "127.0.0.1", "port": 19094}]
    return response(METADATA, 9, {"brokers": brokers, "topics": [{"name": "orders", "error_code": 3}]})


def body(frame: bytes, key: int, version: int) -> dict[str, Any]:
    return decoders.decode_response(frame[4:], key, version).body


def produce_error(got: bytes) -> bool:
    (partition,) = body(got, PRODUCE, 9)["responses"][0]["partition_responses"]
    return (partition["index"], partition["error_code"], partition["base_offset"]) == (3, 6, -1)


def fetch_records(got: bytes) -> bytes:
    found: bytes = body(got, FETCH, 12)["responses"][0]["partitions"][0]["records"]
    return found


class Row(NamedTuple):
    """`to_broker`: whether the request reaches the broker; `got` judges the client's bytes after all timers."""

    rule: str
    asked: bytes
    answer: bytes
    to_broker: bool
    got: Callable[[bytes], bool]
    closed: str | None = None
    reset: bool = False
    hit: bool = True


def same(expected: bytes) -> Callable[[bytes], bool]:
    return lambda got: got == expected


NONE: Final = same(b"")
ROWS: Final = (
    Row("error NOT_LEADER_OR_FOLLOWER, when topic == orders", PRODUCED, b"", False, produce_error),
    Row("error 25", beat(), b"", False, same(beaten(error_code=25))),
    Row("error REQUEST_TIMED_OUT, when api == Produce", SILENT, b"", False, NONE,
        "fault 1 (error REQUEST_TIMED_OUT): a Produce with acks=0 is never answered"),
    Row("error NOT_LEADER_OR_FOLLOWER after", PRODUCED, TAKEN, True, produce_error),
    Row("error UNKNOWN_MEMBER_ID after, when response.error_code == 27", beat(), beaten(error_code=27), True,
        same(beaten(error_code=25))),
    Row("lose answer", beat(), beaten(), True, NONE),
    Row("lose answer then close", beat(), beaten(), True, NONE, "fault 1 (lose answer then close)"),
    Row("delay 50ms", beat(), beaten(), True, same(beaten())),
    Row("delay 50ms±10ms answer", beat(), beaten(), True, same(beaten())),
    Row("throttle 1500ms", beat(), beaten(), True, same(beaten(throttle_time_ms=1500))),
    Row("throttle 1500ms mute", beat(), beaten(), True, same(beaten(throttle_time_ms=1500))),
    Row("close", beat(), b"", False, NONE, "fault 1 (close)"),
    Row("close, when error == 27", beat(), beaten(error_code=27), True, NONE, "fault 1 (close)"),
    Row("reset", beat(), b"", False, NONE, reset=True),
    Row("cut 5", beat(), beaten(), True, same(beaten()[:5]), "fault 1 (cut 5)"),
    Row("cut 0", beat(), beaten(), True, NONE, "fault 1 (cut 0)"),
    Row("slice 3", beat(), beaten(), True, same(beaten())),
    Row("slow 100", beat(), beaten(), True, same(beaten())),
    Row("blackhole", beat(), b"", False, NONE),
    Row("leader 7", request(METADATA, 9), led(1), True,
        lambda got: body(got, METADATA, 9)["topics"][0]["partitions"][0]["leader_id"] == 7),
    Row("no such topic", request(METADATA, 9, {"topics": [{"name": "orders"}]}), led(1), True, same(unknown())),
    Row("no such topic", request(METADATA, 9, {"topics": []}), led(1), True,
        lambda got: body(got, METADATA, 9)["topics"][0]["error_code"] == 0, hit=False),
    Row("no such topic", PRODUCED, b"", False,
        lambda got: body(got, PRODUCE, 9)["responses"][0]["partition_responses"][0]["error_code"] == 3),
    Row("no such topic", request(PRODUCE, 13, {
            "acks": 1, "topic_data": [{"topic_id": TOPIC_ID, "partition_data": [{"index": 0, "records": ONE}]}]}),
        b"", False,
        lambda got: body(got, PRODUCE, 13)["responses"][0]["partition_responses"][0]["error_code"] == 100),
    Row("duplicate answer", beat(), beaten(), True, same(beaten() * 2)),
    Row("corrupt records", FETCHING, fetched(), True, lambda got: len(fetch_records(got)) == len(TWO) and [
        each.crc for each in decoders.decode_records(fetch_records(got))] == ["bad", "bad"]),
    Row("truncate records", FETCHING, fetched(), True, lambda got: fetch_records(got) == TWO[: len(ONE) * 3 // 2]),
    Row("empty fetch", FETCHING, fetched(), True, lambda got: fetch_records(got) == b""
        and body(got, FETCH, 12)["responses"][0]["partitions"][0]["high_watermark"] == 9),
    Row("empty fetch", FETCHING, fetched(b""), True, same(fetched(b"")), hit=False),
    Row("rewrite response.error_code=41", beat(), beaten(), True, same(beaten(error_code=41))),
    Row("rewrite response.responses[].partition_responses[].error_code=6", PRODUCED, TAKEN, True,
        lambda got: body(got, PRODUCE, 9)["responses"][0]["partition_responses"][0]["error_code"] == 6),
    Row("error 3, when api == Produce", beat(), beaten(), True, same(beaten()), hit=False),
)  # fmt: skip


def play(row: Row, step: int) -> FaultyStage:
    stage = FaultyStage(row.rule, where=HERE)
    stage.client(*pieces(row.asked, step))
    while stage.timers:
        stage.advance_time()
    for piece in pieces(row.answer, step):
        if stage.closed is None and stage.reset is None:
            stage.server(piece)
    while stage.timers:
        stage.advance_time()
    return stage


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_an_action(row: Row, step: int) -> None:
    stage = play(row, step)
    assert stage.at_server == (row.asked if row.to_broker else b"")
    assert row.got(stage.at_client), stage.at_client
    assert stage.closed == row.closed
    assert (stage.reset is not None) == row.reset
    assert [(rule, hit) for _, rule, _, hit in stage.told] == ([(1, 1)] if row.hit else [])


def test_every_action_has_a_row() -> None:
    played = {FaultyStage(row.rule).faults.counted_rules[0].rule.action.name for row in ROWS}
    # The fault of a new connection and that of an earlier answer need more than one exchange.
    assert played | {"refuse", "stale metadata"} == {action.name for action in ACTIONS}


def test_a_delay_takes_its_time_and_a_spread_is_around_it() -> None:
    stage = FaultyStage("delay 50ms").client(beat())
    assert stage.at_server == b""
    assert stage.advance_time().now_ns >= 50 * MS
    times = set()
    for seed in range(20):
        spread = FaultyStage("delay 50ms±10ms", seed=seed).client(beat()).advance_time()
        times.add(spread.now_ns)
    assert 40 * MS <= min(times) < max(times) <= 61 * MS


def test_a_mute_is_as_long_as_the_throttle() -> None:
    stage = FaultyStage("throttle 1500ms mute").client(beat()).server(beaten())
    assert stage.muted_ns == 1500 * MS


def test_a_rewritten_request() -> None:
    stage = FaultyStage("rewrite request.group_id=other").client(beat())
    assert decoders.decode_request(stage.at_server[4:]).body["group_id"] == "other"
    assert decoders.decode_request(stage.at_server[4:]).client_id == "c"


def test_stale_metadata_is_the_first_answer_to_the_same_request() -> None:
    stage = FaultyStage("stale metadata", where={**HERE, 2: ("127.0.0.1", 19095)})
    for number, leader in ((1, 1), (2, 2), (3, 2)):
        stage.client(request(METADATA, 9, id=number))
        stage.server(led(leader)[:4] + number.to_bytes(4, "big") + led(leader)[8:])
    found = [body(frame, METADATA, 9)["topics"][0]["partitions"][0]["leader_id"] for frame in frames(stage.at_client)]
    assert found == [1, 1, 1]
    assert [frame[4:8] for frame in frames(stage.at_client)] == [bytes([0, 0, 0, number]) for number in (1, 2, 3)]
    assert [each[0] for each in stage.told] == [2, 3]
    other = request(METADATA, 9, {"topics": [{"name": "orders"}]}, id=4)
    stage.client(other).server(led(2)[:4] + bytes([0, 0, 0, 4]) + led(2)[8:])
    assert body(frames(stage.at_client)[-1], METADATA, 9)["topics"][0]["partitions"][0]["leader_id"] == 2


def test_no_place_of_a_broker_gets_to_a_client_by_stale_metadata() -> None:
    stage = FaultyStage("stale metadata", where=HERE)
    for number in (1, 2):
        stage.client(request(METADATA, 12, id=number)).server(metadata((1, "kafka-1.invalid", 9092), id=number))
    assert b"kafka-1.invalid" not in stage.at_client


def test_a_client_is_refused_by_what_is_known_when_it_connects() -> None:
    rule = "refuse, first 2, when node.id == 1 and client == 10.0.0.7"
    stage = FaultyStage(rule)
    assert [stage.deciders.refuses_client(stage) for _ in range(3)] == [True, True, False]
    other = FaultyStage(rule, node_id=2)
    assert not other.deciders.refuses_client(other)


def test_an_error_for_a_fetch_names_all_partitions_of_its_session_and_ends_it() -> None:
    stage = FaultyStage("error NOT_LEADER_OR_FOLLOWER, after 2")
    topics = [{"topic": "orders", "partitions": [{"partition": number} for number in range(3)]}]
    first = request(FETCH, 12, {"session_id": 0, "session_epoch": 0, "topics": topics}, id=1)
    forgotten = [{"topic": "orders", "partitions": [1]}]
    more = [{"topic": "bills", "partitions": [{"partition": 0}]}]
    second = request(FETCH, 12, {"session_id": 5, "session_epoch": 1, "topics": more,
                                 "forgotten_topics_data": forgotten}, id=2)  # fmt: skip
    third = request(FETCH, 12, {"session_id": 5, "session_epoch": 2}, id=3)
    for number, asked in ((1, first), (2, second)):
        stage.client(asked).server(response(FETCH, 12, {"session_id": 5}, id=number))
    stage.client(third)
    found = body(frames(stage.at_client)[-1], FETCH, 12)
    assert {
        (topic["topic"], each["partition_index"], each["error_code"])
        for topic in found["responses"]
        for each in topic["partitions"]
    } == {("orders", 0, 6), ("orders", 2, 6), ("bills", 0, 6)}
    assert (found["session_id"], found["error_code"]) == (0, 0)
    assert stage.at_server == first + second


def test_a_topic_is_known_by_its_id_once_metadata_named_it() -> None:
    rule = "error NOT_LEADER_OR_FOLLOWER, when api == Fetch and topic == orders"
    stage = FaultyStage(rule, where=HERE)
    asked = [{"topic_id": TOPIC_ID, "partitions": [{"partition": 0}]}]
    fetch = request(FETCH, 13, {"topics": asked})
    stage.client(fetch).server(response(FETCH, 13))
    assert stage.told == []
    named = response(METADATA, 12, {"topics": [{"name": "orders", "topic_id": TOPIC_ID}]})
    stage.client(request(METADATA, 12)).server(named).client(fetch)
    assert [each[2] for each in stage.told] == ["error NOT_LEADER_OR_FOLLOWER"]


def test_the_software_of_a_client_is_known_once_it_said_it() -> None:
    stage = FaultyStage("close, when software == kcat and api == Heartbeat")
    said = {"client_software_name": "kcat", "client_software_version": "1"}
    stage.client(beat(), request(18, 3, said, id=2))
    assert stage.closed is None
    assert stage.client(beat(3)).closed == "fault 1 (close)"


def test_rules_are_asked_in_order_until_one_ends_the_exchange() -> None:
    stage = FaultyStage("delay 10ms", "delay 20ms", "error 25", "close").client(beat())
    assert stage.advance_time().now_ns >= 30 * MS
    assert stage.at_client == beaten(error_code=25)
    assert [each[1:] for each in stage.told] == [(1, "delay 10ms", 1), (2, "delay 20ms", 1), (3, "error 25", 1)]


LIMITS: Final = {
    "error 25, first 2": [1, 2],
    "error 25, every 3": [3, 6],
    "error 25, after 4": [5, 6, 7, 8],
    "error 25, after 2, every 2, first 2": [4, 6],
    "error 25, rate 0%": [],
    "error 25, rate 100%": [1, 2, 3, 4, 5, 6, 7, 8],
}


@pytest.mark.parametrize("rule", LIMITS)
def test_limits(rule: str) -> None:
    stage = FaultyStage(rule)
    for number in range(1, 9):
        stage.client(beat(number))
    assert [each[0] for each in stage.told] == LIMITS[rule]


def test_for_counts_from_the_first_hit() -> None:
    stage = FaultyStage("error 25, for 10ms")
    for number, wait in ((1, 5), (2, 4), (3, 20), (4, 1)):
        stage.client(beat(number)).advance_time(wait * MS)
    assert [each[0] for each in stage.told] == [1, 2, 3]


@given(st.integers(0, 10_000), st.integers(1, 99))
def test_the_same_seed_gives_the_same_faults(seed: int, rate: int) -> None:
    found = []
    for _ in range(2):
        stage = FaultyStage(f"error 25, rate {rate}%", seed=seed)
        for number in range(40):
            stage.client(beat(number))
        found.append([each[0] for each in stage.told])
    assert found[0] == found[1]


def test_what_is_said_at_the_end() -> None:
    stage = FaultyStage("error 25, every 2", "close, when api == Fetch").client(beat(1), beat(2), beat(3))
    assert stage.faults.format_closing_lines() == [
        "fault 1 (error 25): hit 1 of 3 exchanges",
        "fault 2 (close): no exchange matched",
    ]


MATCHLESS: Final = (
    "error 6, when topic == nobody",
    "lose answer, when client_id == nobody",
    "close, when error == 99",
    "corrupt records, when topic == nobody",
    "delay 1s answer, when response.throttle_time_ms > 5",
    "refuse",
)


@given(st.sets(st.sampled_from(MATCHLESS), min_size=1), st.data())
def test_without_a_matching_rule_bytes_are_those_without_faults(rules: set[str], data: st.DataObject) -> None:
    exchanges = {
        METADATA: (request(METADATA, 9), led(1)),
        FETCH: (FETCHING, fetched()),
        PRODUCE: (PRODUCED, TAKEN),
        HEARTBEAT: (beat(), beaten()),
    }
    order = data.draw(st.lists(st.sampled_from(sorted(exchanges)), min_size=1, max_size=6))
    asked = b"".join(exchanges[key][0] for key in order)
    answers = b"".join(exchanges[key][1] for key in order)
    plain, faulty = FaultyStage(where=HERE), FaultyStage(*sorted(rules), where=HERE)
    for stage in (plain, faulty):
        for side, whole in ((stage.client, asked), (stage.server, answers)):
            cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=5)))
            side(*(whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)))
    assert (faulty.at_server, faulty.at_client) == (plain.at_server, plain.at_client)
    assert faulty.at_server == asked
    assert faulty.told == []
    assert faulty.deciders.used == 0
