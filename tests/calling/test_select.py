"""`--select`: paths checked against the declarations, values picked out of bodies."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.apis import api
from decoders.schema.api_declaration import Side
from kwcli.calling.words.resolve_body_paths import SelectPath
from kwcli.run_environment import Exit, Failure

BODY = {
    "throttle_time_ms": 0,
    "brokers": [{"node_id": 1, "host": "a"}, {"node_id": 2, "host": "b"}],
    "topics": [
        {"name": "x", "partitions": [{"leader_id": 1, "isr_nodes": [1, 2]}, {"leader_id": 2, "isr_nodes": []}]},
        {"name": None, "partitions": []},
    ],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("throttle_time_ms", [0]),
        ("throttleTimeMs", [0]),
        ("brokers[].host", ["a", "b"]),
        ("brokers.host", ["a", "b"]),
        ("brokers[1].host", ["b"]),
        ("brokers[7].host", []),
        ("brokers", [BODY["brokers"]]),
        ("brokers[]", BODY["brokers"]),
        ("topics[].name", ["x", None]),
        ("topics[0].partitions[].leader_id", [1, 2]),
        ("topics.partitions.isr_nodes", [[1, 2], []]),
        ("topics[].partitions[].isr_nodes[]", [1, 2]),
        ("topics[].partitions[0].isrNodes[1]", [2]),
        ("cluster_id", []),  # a field that only other versions have
    ],
)
def test_values_at_a_path(path: str, values: list[Any]) -> None:
    assert list(SelectPath.parse(path, api("Metadata"), "response").find_values(BODY)) == values


@pytest.mark.parametrize(
    ("path", "side", "said"),
    [
        ("topcs[].name", "response", "the response of Metadata has no field 'topcs' (did you mean \"topics\"?)"),
        ("topics[].leader", "response", "no field 'leader'"),
        ("throttle_time_ms.x", "response", "no field 'x'"),
        ("topics[", "response", "is no field"),
        ("", "response", "is no field"),
        ("cluster_id", "request", "the request of Metadata has no field"),
    ],
)
def test_a_path_that_no_version_has_is_a_usage_error(path: str, side: Side, said: str) -> None:
    with pytest.raises(Failure) as failure:
        SelectPath.parse(path, api("Metadata"), side)
    assert failure.value.code == Exit.USAGE
    assert said in failure.value.text


def test_inside_structures_that_the_declaration_does_not_tell_any_name_may_be() -> None:
    path = SelectPath.parse("responses[].partitions[].records[].records[].value", api("Fetch"), "response")
    body = {"responses": [{"partitions": [{"records": [{"records": [{"value": "v"}, {"value": None}]}]}]}]}
    assert list(path.find_values(body)) == ["v", None]
