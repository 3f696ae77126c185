"""Refusals of a mock are the answers in the table of error answers, which `kw proxy --fault 'error NAME'` uses too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from decoders import decode_response, encode_response
from decoders.apis import api
from decoders.messages.error_answers import make_error_answer
from decoders.mocking import refusal_error
from decoders.mocking.build_response_bodies import drop_fields_beyond_version
from decoders.schema.api_declaration import resolve
from tests.mock.stage import TOPIC, Stage

Body = Mapping[str, Any]


class Refused(NamedTuple):
    """A request that is refused from version `since` on; `other_node`: by a node that does not coordinate the group."""

    api: str
    code: int
    body: Body | Callable[[Stage, int], Body]
    text: str | None = None
    other_node: bool = False
    since: int = 0


MEMBER: Body = {"group_id": "g", "member_id": "m", "generation_id": 3}
JOINING: Body = {
    "group_id": "g",
    "member_id": "",
    "session_timeout_ms": 6000,
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b""}],
}
PRODUCING: Body = {"transactional_id": "t", "producer_id": 5, "producer_epoch": 0}


def fetching(offset: int, **more: Any) -> Callable[[Stage, int], Body]:
    """A Fetch of the topic's first partition."""

    def made(stage: Stage, version: int) -> Body:
        rows = [{"partition": 0, "fetch_offset": offset, "partition_max_bytes": 9}]
        named: Body = {"topic_id": stage.topic_id} if version >= 13 else {"topic": TOPIC}
        return {"max_wait_ms": 0, "min_bytes": 0, "topics": [{**named, "partitions": rows}], **more}

    return made


def two_topics(_: Stage, version: int) -> Body:
    """A DeleteTopics of unknown topics."""
    names = ["a", "b"]
    return {"topic_names": names} if version < 6 else {"topics": [{"name": name} for name in names]}


def two_keys(_: Stage, version: int) -> Body:
    """A FindCoordinator with a key type that does not exist."""
    return {"key_type": 9, **({"key": "g"} if version < 4 else {"coordinator_keys": ["g", "h"]})}


ROWS = {
    "join, time": Refused("JoinGroup", 26, {**JOINING, "session_timeout_ms": 0}),
    "join, unknown": Refused("JoinGroup", 25, {**JOINING, "member_id": "m"}),
    "join, other node": Refused("JoinGroup", 16, JOINING, other_node=True),
    "sync": Refused("SyncGroup", 25, MEMBER),
    "heartbeat": Refused("Heartbeat", 25, MEMBER),
    "consumer heartbeat": Refused("ConsumerGroupHeartbeat", 25, {"group_id": "g", "member_epoch": 3}),
    "init, no name": Refused("InitProducerId", 42, {"transactional_id": "", "transaction_timeout_ms": 1}),
    "init, time": Refused("InitProducerId", 50, {"transactional_id": "t", "transaction_timeout_ms": 0}),
    "init, other node": Refused(
        "InitProducerId", 16, {"transactional_id": "t", "transaction_timeout_ms": 1}, other_node=True
    ),
    "end": Refused("EndTxn", 49, PRODUCING),
    "add offsets": Refused("AddOffsetsToTxn", 49, {**PRODUCING, "group_id": "g"}),
    "fetch, session": Refused("Fetch", 70, fetching(0, session_id=7, session_epoch=3), since=7),
    "fetch, offset": Refused("Fetch", 1, fetching(99)),
    "coordinator": Refused("FindCoordinator", 42, two_keys, since=1),
    "controllers": Refused("DescribeCluster", 114, {"endpoint_type": 2}, since=1),
    "endpoints": Refused("DescribeCluster", 115, {"endpoint_type": 7}, since=1),
    "describe, other node": Refused("DescribeGroups", 16, {"groups": ["g", "g"]}, other_node=True),
    "describe consumers, other node": Refused("ConsumerGroupDescribe", 16, {"group_ids": ["g"]}, other_node=True),
    "describe consumers": Refused("ConsumerGroupDescribe", 69, {"group_ids": ["g"]}, "there is no consumer group 'g'"),
    "delete groups": Refused("DeleteGroups", 69, {"groups_names": ["g"]}, "there is no group 'g'"),
    "create": Refused(
        "CreateTopics", 36, {"topics": [{"name": TOPIC, "num_partitions": 1, "replication_factor": 1}]},
        f"topic {TOPIC!r} already exists",
    ),
    "delete topics": Refused("DeleteTopics", 3, two_topics),
    "log in": Refused("SaslAuthenticate", 34, {"auth_bytes": b""}, "no SaslHandshake came before SaslAuthenticate"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_refusal_is_the_answer_of_the_table(name: str) -> None:
    row = ROWS[name]
    known = api(row.api)
    versions = range(max(known.versions[0], row.since), known.versions[1] + 1)
    assert versions
    for version in versions:
        stage = Stage()
        said = row.body(stage, version) if callable(row.body) else row.body
        asked = {field.name: said[field.name] for field in resolve(known.request, version).fields if field.name in said}
        got = stage.client(2 if row.other_node else 1).ask(row.api, asked, version)
        told = make_error_answer(known.key, version, asked, row.code, message=row.text)
        assert told.places, version
        fitting = drop_fields_beyond_version(known.key, version, told.body or {})
        frame = encode_response(known.key, version, fitting, correlation_id=1)
        assert got == decode_response(frame, known.key, version).body, version


@pytest.mark.parametrize(("version", "code"), [(5, 0), (6, 69)])
def test_a_group_that_is_not_there_is_dead(version: int, code: int) -> None:
    (row,) = Stage().client().ask("DescribeGroups", {"groups": ["g"]}, version)["groups"]
    assert (row["group_state"], row["error_code"]) == ("Dead", code)


def test_a_new_member_is_told_its_id_with_the_error() -> None:
    answer = Stage().client().ask("JoinGroup", JOINING, 4)
    assert (answer["error_code"], answer["generation_id"], answer["member_id"][:5]) == (79, -1, "test-")


def test_every_error_of_a_refusal_has_a_name_of_kafka() -> None:
    named = {
        node.args[0]
        for path in sorted(Path(refusal_error.__file__).parent.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refusal"
    }
    words = {node.value for each in named for node in ast.walk(each) if isinstance(node, ast.Constant)}
    names = {word for word in words if isinstance(word, str) and word.isupper()}
    assert len(names) > 30
    assert names <= set(refusal_error.CODES)
