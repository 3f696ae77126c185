"""Groups of both kinds at a mocked broker: rebalances, silent members, static ones, offsets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mock.stage import TOPIC, Client, Stage, only_partition

SESSION = {"session_timeout_ms": 6000, "rebalance_timeout_ms": 3000, "protocol_type": "consumer", "group_id": "g"}
RANGE = [{"name": "range", "metadata": b"m"}]


def join(client: Client, member: str = "", version: int = 7, **said: Any) -> Any:
    """Join a group; retries with the member id that the broker gives."""
    body = {**SESSION, "member_id": member, "protocols": RANGE, **said}
    answer = client.ask("JoinGroup", body, version)
    if answer is not None and answer["error_code"] == 79:
        answer = client.ask("JoinGroup", {**body, "member_id": answer["member_id"]}, version)
    return answer


def sync(client: Client, joined: Any, parts: dict[str, bytes] | None = None) -> Any:
    """Send a SyncGroup, with the assignments if this member leads."""
    rows = [{"member_id": name, "assignment": data} for name, data in (parts or {}).items()]
    who = {"group_id": "g", "generation_id": joined["generation_id"], "member_id": joined["member_id"]}
    return client.ask("SyncGroup", {**who, "assignments": rows}, 4)


def beat(client: Client, joined: Any) -> int:
    """Send a heartbeat; gives its error code."""
    who = {"group_id": "g", "generation_id": joined["generation_id"], "member_id": joined["member_id"]}
    code: int = client.ask("Heartbeat", who, 4)["error_code"]
    return code


def test_two_members_share_and_one_takes_over() -> None:
    stage = Stage()
    one, two = stage.client(), stage.client()
    first = join(one)
    assert (first["generation_id"], first["leader"]) == (1, first["member_id"])
    assert sync(one, first, {first["member_id"]: b"all"})["assignment"] == b"all"
    assert join(two) is None  # the answer waits until the other has joined again
    assert beat(one, first) == 27
    again = join(one, first["member_id"])
    second = two.read()
    assert second is not None
    assert (again["generation_id"], second["generation_id"]) == (2, 2)
    assert {row["member_id"] for row in again["members"]} == {again["member_id"], second["member_id"]}
    assert second["members"] == []
    assert sync(two, second) is None
    parts = {again["member_id"]: b"0", second["member_id"]: b"1"}
    assert sync(one, again, parts)["assignment"] == b"0"
    answer = two.read()
    assert answer is not None
    assert answer["assignment"] == b"1"
    assert beat(one, first) == 22
    leaving = {"group_id": "g", "members": [{"member_id": second["member_id"]}]}
    assert two.ask("LeaveGroup", leaving, 4)["members"][0]["error_code"] == 0
    assert beat(one, again) == 27
    assert join(one, again["member_id"])["generation_id"] == 3


@pytest.mark.parametrize(
    ("member", "code"),
    [
        ({"member_id": "nobody"}, 25),
        ({"member_id": "nobody", "group_instance_id": "i"}, 25),
        ({"member_id": "", "group_instance_id": "i"}, 25),
    ],
)
def test_only_members_can_leave(member: dict[str, Any], code: int) -> None:
    stage = Stage()
    client = stage.client()
    joined = join(client)
    answer = client.ask("LeaveGroup", {"group_id": "g", "members": [member]}, 4)
    assert [row["error_code"] for row in answer["members"]] == [code]
    sync(client, joined, {})
    assert beat(client, joined) == 0


def test_a_silent_member_is_out_after_its_session() -> None:
    stage = Stage()
    one, two = stage.client(), stage.client()
    first = join(one)
    sync(one, first, {})
    assert join(two) is None
    again = join(one, first["member_id"])
    second = two.read()
    assert second is not None
    sync(one, again, {})
    for _ in range(3):
        stage.advance_time(2000)
        code = beat(one, again)
    assert code == 27  # the other was silent for six seconds
    third = join(one, first["member_id"])
    assert third["generation_id"] == 3
    assert beat(two, second) == 25


def test_who_does_not_join_in_time_is_out() -> None:
    stage = Stage()
    one, two = stage.client(), stage.client()
    first = join(one)
    sync(one, first, {})
    assert join(two) is None
    stage.advance_time(2999)
    assert two.read() is None
    stage.advance_time(1)
    second = two.read()
    assert second is not None
    assert second["leader"] == second["member_id"]
    assert beat(one, first) == 25


def test_a_static_member_keeps_its_place() -> None:
    stage = Stage()
    one, two = stage.client(), stage.client()
    first = join(one, group_instance_id="i")
    sync(one, first, {first["member_id"]: b"all"})
    second = join(two, group_instance_id="i")
    assert second["error_code"] == 0
    assert second["member_id"] != first["member_id"]
    who = {"group_id": "g", "generation_id": first["generation_id"], "member_id": first["member_id"]}
    assert one.ask("Heartbeat", {**who, "group_instance_id": "i"}, 4)["error_code"] == 82


def test_other_protocols_and_unknown_members_are_refused() -> None:
    stage = Stage()
    one, two = stage.client(), stage.client()
    first = join(one)
    sync(one, first, {})
    assert join(two, protocols=[{"name": "other", "metadata": b""}])["error_code"] == 23
    assert join(two, "nobody")["error_code"] == 25
    assert join(stage.client(2))["error_code"] == 16


def commit(client: Client, joined: Any, offset: int) -> int:
    """Commit an offset; gives the error code."""
    rows = [{"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}]
    said = {"group_id": "g", "generation_id_or_member_epoch": joined["generation_id"], "member_id": joined["member_id"]}
    code: int = only_partition(
        client.ask("OffsetCommit", {**said, "topics": [{"name": TOPIC, "partitions": rows}]}, 8)
    )["error_code"]
    return code


def test_offsets_of_members_are_kept() -> None:
    client = Stage().client()
    joined = join(client)
    sync(client, joined, {})
    assert commit(client, joined, 5) == 0
    assert commit(client, {**joined, "generation_id": 9}, 6) == 22
    assert commit(client, {"generation_id": -1, "member_id": ""}, 6) == 25
    groups = [{"group_id": "g", "topics": None}]
    (group,) = client.ask("OffsetFetch", {"groups": groups}, 10)["groups"]
    row = only_partition(group)
    assert (row["committed_offset"], row["metadata"]) == (5, "m")


def consumer_beat(client: Client, member: str, epoch: int, owned: list[Any] | None = None, **said: Any) -> Any:
    """Send a heartbeat of the consumer protocol."""
    body = {"group_id": "g", "member_id": member, "member_epoch": epoch, "topic_partitions": owned, **said}
    return client.ask("ConsumerGroupHeartbeat", body, 1)


def parts_of(answer: Any) -> list[int] | None:
    """The partitions in the assignment of a heartbeat's answer, None if it has no assignment."""
    if answer["assignment"] is None:
        return None
    return [number for row in answer["assignment"]["topic_partitions"] for number in row["partitions"]]


def test_partitions_move_only_when_they_are_given_up() -> None:
    stage = Stage()
    client = stage.client()
    new = {"subscribed_topic_names": [TOPIC], "rebalance_timeout_ms": 1000}
    first = consumer_beat(client, "a", 0, [], **new)
    assert (first["error_code"], parts_of(first)) == (0, [0, 1])
    second = consumer_beat(client, "b", 0, [], **new)
    assert parts_of(second) == []
    told = consumer_beat(client, "a", first["member_epoch"])
    assert parts_of(told) == [0]
    assert parts_of(consumer_beat(client, "b", second["member_epoch"])) is None  # not yet
    kept = [{"topic_id": stage.topic_id, "partitions": [0]}]
    done = consumer_beat(client, "a", told["member_epoch"], kept)
    assert done["member_epoch"] > first["member_epoch"]
    assert parts_of(consumer_beat(client, "b", second["member_epoch"])) == [1]
    described = client.ask("ConsumerGroupDescribe", {"group_ids": ["g"]}, 1)["groups"][0]
    assert described["group_state"] == "Stable"
    assert consumer_beat(client, "a", 99)["error_code"] == 110
    assert consumer_beat(client, "c", 5)["error_code"] == 25
    assert consumer_beat(client, "b", -1)["error_code"] == 0
    assert parts_of(consumer_beat(client, "a", done["member_epoch"])) == [0, 1]


def test_a_silent_member_of_the_consumer_protocol_is_out() -> None:
    stage = Stage()
    client = stage.client()
    new = {"subscribed_topic_names": [TOPIC], "rebalance_timeout_ms": 1000}
    consumer_beat(client, "a", 0, [], **new)
    stage.advance_time(45_000)
    assert consumer_beat(client, "a", 1)["error_code"] == 25
    assert parts_of(consumer_beat(client, "b", 0, [], **new)) == [0, 1]
    listed = client.ask("ListGroups", {}, 5)["groups"]
    assert [(row["group_id"], row["group_type"]) for row in listed] == [("g", "consumer")]
