"""The routes of APIs against their fields, and how the target is read out of requests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Final, get_args

import pytest

from decoders.apis import KEYS, NAMES, api
from decoders.protocol_facts.extract_routing_keys import (
    extract_routing_keys,
    keep_only_routing_keys,
    routing_field_paths,
)
from decoders.protocol_facts.request_routing import Sender, To, route_of_api
from decoders.schema.api_declaration import Field

ROUTES: Final = {key: route_of_api(key) for key in KEYS}
# What the places of a route are: entities of fields, or their types for fields without one.
PARTS: dict[str, list[list[str]]] = {
    "any": [[]],
    "leader": [["topicName", "int32"], ["uuid", "int32"]],
    "group": [["groupId"]],
    "transaction": [["transactionalId"]],
    "share": [["string", "uuid", "int32"]],
    "resource": [["int8", "string"]],
    "controller": [[]],
    "all": [[]],
}


def versions_of(key: int) -> range:
    """All versions of an API."""
    return range(api(key).versions.low, api(key).versions.high + 1)


def field_at(key: int, version: int, path: str) -> Field | None:
    """The field at a path without indices in this version, None if there is none."""
    fields, found = api(key).request.fields, None
    for step in path.split("."):
        name = step.removesuffix("[]")
        found = next((field for field in fields if field.name == name and version in field.versions), None)
        if found is None or found.array != step.endswith("[]"):
            return None
        fields = found.fields
    return found


def test_every_route_says_who_sends() -> None:
    assert set(PARTS) == set(get_args(To))
    for key, its in ROUTES.items():
        assert its.sent_by, api(key).name
        assert list(its.sent_by) == [each for each in get_args(Sender) if each in its.sent_by], api(key).name


@pytest.mark.parametrize("key", [key for key in KEYS if ROUTES[key].path])
def test_a_path_exists_in_every_version(key: int) -> None:
    for version in versions_of(key):
        for part, chosen in zip(ROUTES[key].path, routing_field_paths(key, version), strict=True):
            here = [path for path in part.split("|") if field_at(key, version, path)]
            assert here == [chosen], (api(key).name, version)
    used = {path for version in versions_of(key) for path in routing_field_paths(key, version)}
    assert used == {path for part in ROUTES[key].path for path in part.split("|")}, "an alternative that no version has"


@pytest.mark.parametrize("key", ROUTES)
def test_a_path_leads_to_what_its_kind_needs(key: int) -> None:
    """The fields that decide where a request goes are what its route needs (`is groupId` is Kafka's own definition)."""
    for version in versions_of(key):
        fields = [field_at(key, version, path) for path in routing_field_paths(key, version)]
        assert [(each.entity or each.kind) if each else "?" for each in fields] in PARTS[ROUTES[key].to]


def entities(fields: tuple[Field, ...]) -> Iterator[str]:
    """The entities of the fields of a request, at any depth."""
    for field in fields:
        yield field.entity
        yield from entities(field.fields)


# Requests with a group or transactional id that go to another coordinator, or to the leader.
ELSEWHERE = {"AddOffsetsToTxn": "groupId", "TxnOffsetCommit": "transactionalId", "Produce": "transactionalId"}
ELSEWHERE |= {"ShareFetch": "groupId", "ShareAcknowledge": "groupId"}


@pytest.mark.parametrize(("entity", "to"), [("groupId", "group"), ("transactionalId", "transaction")])
def test_who_names_a_group_or_transaction_goes_to_its_coordinator(entity: str, to: str) -> None:
    naming = {key for key in ROUTES if entity in entities(api(key).request.fields)}
    routed = {key for key in ROUTES if ROUTES[key].to == to}
    assert routed <= naming
    assert {api(key).name for key in naming - routed} == {name for name, what in ELSEWHERE.items() if what == entity}


def test_who_sends_fits_where_it_is_served() -> None:
    for key in ROUTES:
        listeners, sent_by = api(key).listeners, ROUTES[key].sent_by
        if "broker" not in listeners:
            # No client sends requests to controllers only, or as a ZooKeeper controller sends them to brokers.
            assert not {"client", "tool"} & set(sent_by), api(key).name
        if ROUTES[key].to in ("leader", "group", "transaction", "share", "resource", "all"):
            assert "broker" in listeners, api(key).name
        if ROUTES[key].to == "controller":
            file = f"decoders/apis/{NAMES[key]}.py"
            assert "controller" in listeners, f"{file}: `route controller`, so `listeners` has to name controller"


def test_what_only_looks_is_not_marked() -> None:
    looking = ("Describe", "List", "Find", "Get", "ApiVersions", "Metadata", "Fetch", "Sasl")
    more = {"OffsetFetch", "OffsetForLeaderEpoch", "ReadShareGroupStateSummary"}
    wrong = [
        f"{name}: its declaration says {'mutates' * its.mutates or 'nothing'}, its name does not: add it to `more`"
        for key, its in ROUTES.items()
        for name in [api(key).name]
        if its.mutates is (name.startswith(looking) or name.endswith("Describe") or name in more)
    ]
    assert wrong == []


ID = uuid.UUID(int=7)
ROWS: list[tuple[int, int, dict[str, Any], list[tuple[Any, ...]]]] = [
    (3, 12, {"topics": [{"name": "a"}]}, []),
    (
        0,
        9,
        {"topic_data": [{"name": "a", "partition_data": [{"index": 0}, {"index": 2}]}, {"name": "b"}]},
        [("a", 0), ("a", 2)],
    ),
    (0, 13, {"topic_data": [{"topic_id": ID, "partition_data": [{"index": 1}]}]}, [(ID, 1)]),
    (1, 4, {"topics": [{"topic": "a", "partitions": [{"partition": 1}, {"partition": 1}]}]}, [("a", 1)]),
    (27, 1, {"markers": [{"topics": [{"name": "a", "partition_indexes": [3, 4]}]}]}, [("a", 3), ("a", 4)]),
    (9, 7, {"group_id": "g", "topics": None}, [("g",)]),
    (9, 8, {"groups": [{"group_id": "g"}, {"group_id": "h"}]}, [("g",), ("h",)]),
    (15, 5, {"groups": ["g", "h", "g"]}, [("g",), ("h",)]),
    (22, 4, {"transactional_id": None}, []),
    (24, 3, {"v3_and_below_transactional_id": "t"}, [("t",)]),
    (24, 4, {"transactions": [{"transactional_id": "t"}]}, [("t",)]),
    (32, 4, {"resources": [{"resource_type": 4, "resource_name": "1"}]}, [(4, "1")]),
    (
        84,
        0,
        {"group_id": "g", "topics": [{"topic_id": ID, "partitions": [{"partition": 0}, {"partition": 1}]}]},
        [("g", ID, 0), ("g", ID, 1)],
    ),
    (84, 0, {"group_id": "g", "topics": []}, []),
]


@pytest.mark.parametrize(("key", "version", "body", "expected"), ROWS)
def test_places(key: int, version: int, body: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    assert extract_routing_keys(key, version, body) == expected


@pytest.mark.parametrize(("key", "version", "body", "expected"), ROWS)
def test_a_request_is_parted_by_its_places(
    key: int, version: int, body: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    for place in expected:
        part = keep_only_routing_keys(key, version, body, {place})
        assert extract_routing_keys(key, version, part) == [place]
    assert extract_routing_keys(key, version, keep_only_routing_keys(key, version, body, set(expected))) == expected


def test_the_rest_of_a_parted_request_stays() -> None:
    body = {"acks": -1, "topic_data": [{"name": n, "partition_data": [{"index": 0, "records": b""}]} for n in "ab"]}
    kept = keep_only_routing_keys(0, 9, body, {("b", 0)})
    assert kept == {"acks": -1, "topic_data": [{"name": "b", "partition_data": [{"index": 0, "records": b""}]}]}
