"""Error answers without Kafka's classes: errors that have no place, sessions, names, throttling, and the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from decoders.apis import KEYS, api
from decoders.messages.error_answers import (
    FetchSessions,
    encode_error_frame,
    explain_lack_of_error_field,
    make_error_answer,
)
from decoders.messages.whole_messages import decode_response
from decoders.protocol_facts.errors.error_codes import find_error_code
from decoders.protocol_facts.errors.error_places import ERROR_PLACES, IN_PARTITIONS, EachElement, Row, UntilVersion
from decoders.protocol_facts.errors.errors_by_api import is_plausible_error
from decoders.schema.api_declaration import Field

TOPIC = UUID(int=7)


def test_errors_of_partitions_have_names() -> None:
    assert all(find_error_code(name) is not None for names, _ in IN_PARTITIONS.values() for name in names.split())


@pytest.mark.parametrize("key", KEYS)
def test_rows_name_fields_that_exist(key: int) -> None:
    rows = [ERROR_PLACES[key], *(row for number, (_, row) in IN_PARTITIONS.items() if number == key)]
    wrong = [text for row in rows for text in strangers(row, api(key).response.fields, api(key).request.fields)]
    assert wrong == []


def strangers(row: Row, answers: tuple[Field, ...], asks: tuple[Field, ...]) -> Iterator[str]:
    """The names in a row that no version of the message has."""
    known = {field.name: field for field in answers}
    for name, said in row.items():
        value = said.value if isinstance(said, UntilVersion) else said
        if name not in known:
            yield name
        elif isinstance(value, EachElement):
            for path in value.path.split(" + "):
                inner = asks
                for part in path.split("."):
                    found = {field.name: field for field in inner}
                    if part not in found:
                        yield f"{name} < {path}"
                        break
                    inner = found[part].fields
                else:
                    yield from strangers(value.row, known[name].fields, inner)


@pytest.mark.parametrize(
    ("key", "version", "why"),
    [
        (35, 0, "an answer to DescribeLogDirs 0 has no field for an error code"),
        (35, 2, "an answer to DescribeLogDirs 2 has no field for an error code"),
        (35, 3, None),
        (0, 0, None),
        (1, 0, None),
        (6, 8, None),
    ],
)
def test_kinds_without_a_place(key: int, version: int, why: str | None) -> None:
    assert explain_lack_of_error_field(key, version) == why


def test_only_one_kind_has_none() -> None:
    every = [(key, version) for key in KEYS for version in range(api(key).versions.low, api(key).versions.high + 1)]
    assert [each for each in every if explain_lack_of_error_field(*each)] == [(35, 0), (35, 1), (35, 2)]


@pytest.mark.parametrize(
    ("key", "version", "request_", "body", "why"),
    [
        (0, 9, {"acks": 0}, None, "a Produce with acks=0 is never answered"),
        (3, 9, {"topics": None}, {"controller_id": -1, "topics": [], "throttle_time_ms": 0}, "names nothing"),
        (
            *(35, 1, {"topics": []}, {"throttle_time_ms": 0}),
            "an answer to DescribeLogDirs 1 has no field for an error code",
        ),
    ],
)
def test_requests_without_a_place(
    key: int, version: int, request_: dict[str, Any], body: dict[str, Any] | None, why: str
) -> None:
    answer = make_error_answer(key, version, request_, 6)
    assert (answer.body, answer.places) == (body, 0)
    assert why in answer.why
    assert encode_error_frame(key, version, answer, 1) is None


def test_frame() -> None:
    request = {"acks": 1, "topic_data": [{"name": "t", "partition_data": [{"index": 3, "records": b"x"}]}]}
    answer = make_error_answer(0, 9, request, 19, message="too few", throttle_ms=5)
    frame = encode_error_frame(0, 9, answer, 77)
    assert frame is not None
    found = decode_response(frame, 0, 9)
    (topic,) = found.body["responses"]
    (part,) = topic["partition_responses"]
    assert (found.correlation_id, found.body["throttle_time_ms"], topic["name"], answer.places) == (77, 5, "t", 1)
    assert part == {
        "index": 3,
        "error_code": 19,
        "base_offset": -1,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
        "record_errors": [],
        "error_message": "too few",
    }


def test_code_without_a_name() -> None:
    answer = make_error_answer(10, 3, {"key": "g"}, 4242)
    assert answer.body is not None
    assert (answer.body["error_code"], answer.body["error_message"]) == (4242, "error 4242")


@pytest.mark.parametrize(("code", "top"), [(6, False), (1, False), (70, True), (42, True)])
def test_where_a_fetch_carries_errors(code: int, top: bool) -> None:
    """An error of a partition is in its element; an error of the request or its session is at the top."""
    request = {"session_id": 9, "topics": [{"topic_id": TOPIC, "partitions": [{"partition": 1}]}]}
    answer = make_error_answer(1, 15, request, code)
    assert answer.body is not None
    assert ("error_code" in answer.body, bool(answer.body.get("responses"))) == (top, not top)
    assert answer.places == 1


def fetch(epoch: int, topics: list[Any], forgotten: list[Any], session: int = 5) -> dict[str, Any]:
    return {"session_id": session, "session_epoch": epoch, "topics": topics, "forgotten_topics_data": forgotten}


def of(name: str, *numbers: int) -> dict[str, Any]:
    return {"topic": name, "partitions": [{"partition": number} for number in numbers]}


def test_sessions() -> None:
    """A request in a session means all partitions of the session; outside, only those that it names."""
    sessions = FetchSessions()
    first = fetch(0, [of("a", 0, 1), of("b", 4)], [], session=0)
    assert sessions.complete_incremental_fetch(first)["topics"] == first["topics"]
    sessions.follow_response(first, {"error_code": 0, "session_id": 5})
    assert sessions.complete_incremental_fetch(fetch(1, [], []))["topics"] == [of("a", 0, 1), of("b", 4)]
    changed = fetch(2, [of("c", 9)], [{"topic": "a", "partitions": [0]}])
    assert sessions.complete_incremental_fetch(changed)["topics"] == [of("a", 1), of("b", 4), of("c", 9)]
    assert make_error_answer(1, 11, sessions.complete_incremental_fetch(fetch(3, [], [])), 6).places == 3
    assert sessions.complete_incremental_fetch(fetch(3, [], [], session=6))["topics"] == []
    sessions.follow_response(fetch(4, [], []), {"error_code": 70, "session_id": 0})
    assert sessions.complete_incremental_fetch(fetch(4, [], []))["topics"] == []


def test_sessions_by_topic_id() -> None:
    sessions = FetchSessions()
    first = fetch(0, [{"topic_id": TOPIC, "partitions": [{"partition": 2}]}], [], session=0)
    sessions.complete_incremental_fetch(first)
    sessions.follow_response(first, {"error_code": 0, "session_id": 5})
    answer = make_error_answer(1, 13, sessions.complete_incremental_fetch(fetch(1, [], [])), 100)
    assert answer.body is not None
    assert [each["topic_id"] for each in answer.body["responses"]] == [TOPIC]


@pytest.mark.parametrize(
    ("key", "error", "known"),
    [
        (0, "NOT_ENOUGH_REPLICAS", True),
        (0, "REBALANCE_IN_PROGRESS", False),
        (12, "REBALANCE_IN_PROGRESS", True),
        (76, "GROUP_MAX_SIZE_REACHED", True),
        (12, "UNKNOWN_SERVER_ERROR", True),
    ],
)
def test_plausible_errors(key: int, error: str, known: bool) -> None:
    assert is_plausible_error(key, error) is known
