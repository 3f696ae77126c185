"""Two answers in JSON form in, the verdict and the differences out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from decoders.protocol_facts.api_keys import API_VERSIONS, FETCH, FIND_COORDINATOR, JOIN_GROUP, LIST_OFFSETS, METADATA
from decoders.replaying.answer_comparison import Answer, Difference, compare_answers, judge_differences, merge_answers
from decoders.replaying.id_map import AnsweringNodes, IdMap, NameMap
from decoders.wire.primitive_types import format_uuid

OLD, NEW = UUID(int=7), UUID(int=8)


def ids(**names: dict[str, str]) -> IdMap:
    """An id map in which `orders` has the id OLD in the recording and NEW in the cluster."""
    known = IdMap(NameMap(**names), {1: 11, 2: 12})
    known.topic_named = {OLD: "orders"}.get
    known.topic_id = {"orders": NEW, "copy": NEW}.get
    return known


def compared(
    key: int, was: dict[str, Any], now: dict[str, Any], *, versions: tuple[int, int], there: IdMap | None = None
) -> list[Difference]:
    first, second = (Answer(body, version, {}) for body, version in zip((was, now), versions, strict=True))
    return compare_answers(key, first, second, there or ids())


def metadata(**changed: Any) -> dict[str, Any]:
    topic = {"error_code": 0, "name": "orders", "is_internal": False, "partitions": [], **changed.pop("topic", {})}
    return {"throttle_time_ms": 0, "brokers": [], "cluster_id": "a", "controller_id": 1, "topics": [topic], **changed}


@pytest.mark.parametrize(
    ("now", "verdict", "kinds"),
    [
        (metadata(), "same", []),
        (metadata(throttle_time_ms=7), "same", []),
        (metadata(cluster_id="b", controller_id=12), "other_ids", ["ids", "ids"]),
        (metadata(brokers=[{"node_id": 4, "host": "h", "port": 1, "rack": None}]), "other_ids", ["ids"]),
        (metadata(topic={"error_code": 3}), "refused", ["error"]),
        (metadata(topic={"is_internal": True}), "different", ["value"]),
        (metadata(topics=[]), "different", ["missing"]),
        (metadata(topics=[*metadata()["topics"], *metadata(topic={"name": "x"})["topics"]]), "different", ["extra"]),
    ],
)
def test_metadata(now: dict[str, Any], verdict: str, kinds: list[str]) -> None:
    found = compared(METADATA, metadata(), now, versions=(5, 5))
    assert (judge_differences(found), [each.kind for each in found]) == (verdict, kinds)


def test_an_error_that_was_recorded_too_is_no_refusal() -> None:
    was, now = metadata(topic={"error_code": 3}), metadata(topic={"error_code": 29})
    assert judge_differences(compared(METADATA, was, now, versions=(5, 5))) == "different"
    assert judge_differences(compared(METADATA, was, metadata(), versions=(5, 5))) == "different"
    assert judge_differences(compared(METADATA, was, was, versions=(5, 5))) == "same"


def test_elements_meet_by_what_they_are_about_and_not_by_their_place() -> None:
    was = {"api_keys": [{"api_key": n, "min_version": 0, "max_version": 3} for n in (0, 1, 2)], "error_code": 0}
    now = {"api_keys": [{"api_key": n, "min_version": n == 1, "max_version": 3} for n in (2, 1, 0)], "error_code": 0}
    (found,) = compared(API_VERSIONS, was, now, versions=(2, 2))
    assert found == Difference("api_keys[1].min_version", "Fetch", "value", 0, True)


def test_topics_with_other_names_and_other_ids_meet() -> None:
    def fetched(**topic: Any) -> dict[str, Any]:
        row: dict[str, Any] = {"partition_index": 0, "error_code": 0, "high_watermark": 3, "records": []}
        return {"error_code": 0, "session_id": 0, "responses": [{**topic, "partitions": [row]}]}

    by_id, there = fetched(topic_id=format_uuid(OLD.bytes)), fetched(topic_id=format_uuid(NEW.bytes))
    assert judge_differences(compared(FETCH, by_id, there, versions=(13, 13))) == "other_ids"
    known = ids(topics={"orders": "copy"})
    assert compared(FETCH, by_id, fetched(topic="copy"), versions=(13, 12), there=known) == []
    assert (
        judge_differences(compared(FETCH, by_id, fetched(topic="other"), versions=(13, 12), there=known)) == "different"
    )


def test_records_are_compared_by_what_clients_wrote() -> None:
    def fetched(values: list[str], *, base: int = 0, bare: bool = False) -> dict[str, Any]:
        rows = enumerate(values, base)
        records: list[Any] = [{"offset": n, "key": None, "value": value, "headers": []} for n, value in rows]
        batch: dict[str, Any] = {"base_offset": base, "codec": "none", "record_count": len(values), "control": False}
        batch |= {} if bare else {"records": records}
        row = {"partition_index": 0, "error_code": 0, "high_watermark": 3, "records": [batch]}
        return {"error_code": 0, "session_id": 0, "responses": [{"topic": "orders", "partitions": [row]}]}

    def verdict(was: dict[str, Any], now: dict[str, Any]) -> str:
        return judge_differences(compared(FETCH, was, now, versions=(11, 11)))

    assert verdict(fetched(["a", "b"]), fetched(["a", "b"])) == "same"
    assert verdict(fetched(["a", "b"]), fetched(["a", "b"], base=40)) == "other_ids"
    assert verdict(fetched(["a", "b"]), fetched(["a", "c"])) == "different"
    assert verdict(fetched(["a", "b"], bare=True), fetched(["a", "c"])) == "same"
    assert verdict(fetched(["a", "b"], bare=True), fetched(["a"])) == "different"


def test_answers_of_other_shapes_say_the_same() -> None:
    was = Answer({"error_code": 0, "node_id": 1, "host": "h", "port": 1}, 0, {"key": "billing"})
    row = {"key": "billing", "node_id": 1, "host": "h", "port": 1, "error_code": 0, "error_message": None}
    now = Answer({"throttle_time_ms": 0, "coordinators": [row]}, 4, {"coordinator_keys": ["billing"]})
    assert compare_answers(FIND_COORDINATOR, was, now, ids()) == []
    refused = Answer({"throttle_time_ms": 0, "coordinators": [{**row, "error_code": 15}]}, 4, now.asked)
    assert judge_differences(compare_answers(FIND_COORDINATOR, was, refused, ids())) == "refused"
    old = {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "error_code": 0, "old_style_offsets": [5]}]}]}
    new = {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "error_code": 0, "offset": 5}]}]}
    assert compared(LIST_OFFSETS, old, new, versions=(0, 1)) == []


def test_members_meet_though_they_have_other_ids() -> None:
    def joined(*members: str) -> dict[str, Any]:
        rows = [{"member_id": each, "metadata": "m"} for each in members]
        return {"error_code": 0, "generation_id": 1, "protocol_name": "range", "leader": members[0], "members": rows}

    found = compared(JOIN_GROUP, joined("a", "b"), joined("x", "y"), versions=(2, 2))
    assert judge_differences(found) == "other_ids"
    known = ids()
    known.learn_ids(JOIN_GROUP, {"group_id": "g"}, {"member_id": "a"}, {"member_id": "y"}, AnsweringNodes("", 0))
    answers = (Answer(joined("a", "b"), 2, {"group_id": "g"}), Answer(joined("x", "y"), 2, {"group_id": "g"}))
    pairs = [(each.recorded, each.new) for each in compare_answers(JOIN_GROUP, *answers, known)]
    assert ("a", "y") in pairs
    assert ("b", "x") in pairs


def test_shares_of_one_request_are_one_answer() -> None:
    def share(topic: str, partition: int) -> dict[str, Any]:
        row = {"partition_index": partition, "error_code": 0, "offset": partition}
        return {"throttle_time_ms": 0, "topics": [{"name": topic, "partitions": [row]}]}

    found = merge_answers(LIST_OFFSETS, [share("orders", 0), share("orders", 1), share("payments", 0)])
    named = [(topic["name"], [row["offset"] for row in topic["partitions"]]) for topic in found["topics"]]
    assert named == [("orders", [0, 1]), ("payments", [0])]
