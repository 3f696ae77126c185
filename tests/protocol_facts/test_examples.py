"""The examples against the fields of requests: every version encodes, and no name in it can be a real one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from decoders.apis import KEYS, api
from decoders.messages.whole_messages import decode_message, encode_json
from decoders.protocol_facts.default_array_elements import ELEMENTS, make_initial_array_element
from decoders.protocol_facts.example_requests import NAME, example_of_all_versions, example_request
from decoders.protocol_facts.request_routing import route_of_api
from decoders.schema.api_declaration import Field, Versions


def versions_of(key: int) -> range:
    """All versions of an API."""
    return range(api(key).versions.low, api(key).versions.high + 1)


def test_only_what_controllers_serve_has_an_example_for_them() -> None:
    found = {key for key in KEYS if any(name.endswith("@controller") for name in example_of_all_versions(key))}
    assert {api(key).name for key in found} >= {"Fetch", "DescribeCluster"}
    assert all("controller" in api(key).listeners for key in found)


@pytest.mark.parametrize("controller", [False, True], ids=["broker", "controller"])
@pytest.mark.parametrize("key", KEYS)
def test_an_example_encodes_at_every_version(key: int, controller: bool) -> None:
    for version in versions_of(key):
        value = example_request(api(key), version, controller=controller)
        body = encode_json(key, version, "request", value)
        assert set(value) <= set(decode_message(key, version, "request", body))


@pytest.mark.parametrize("key", KEYS)
def test_a_row_holds_every_field_and_no_other(key: int) -> None:
    """An example sets every field: a schema's default for a missing one may be a real broker's id."""
    row = example_of_all_versions(key)
    missing = [path for path in unsaid(api(key).request.fields, row, "") if path not in LEFT_OUT]
    assert missing == [], f"fields that the example of {api(key).name} says nothing about"
    assert not list(unknown(api(key).request.fields, row))


# Tagged fields whose default has the meaning that an example would have: nothing.
LEFT_OUT = {"cluster_id", "replica_state", "offline_log_dirs", "cordoned_log_dirs"}
LEFT_OUT |= {"topics[].partitions[].replica_directory_id", "topics[].partitions[].high_watermark"}


def unsaid(fields: Sequence[Field], row: Any, path: str) -> Iterator[str]:
    """The fields of a struct that a row says nothing about."""
    for field in fields:
        here = f"{path}{field.name}"
        if field.name not in row:
            yield here
        elif isinstance(row[field.name], list) and field.fields:
            for make_initial_array_element in row[field.name]:
                yield from unsaid(field.fields, make_initial_array_element, f"{here}[].")
        elif isinstance(row[field.name], dict):
            yield from unsaid(field.fields, row[field.name], f"{here}.")


def unknown(fields: Sequence[Field], row: Any) -> Iterator[str]:
    """The names in a row that the declaration does not have, or that have other versions there."""
    for name, value in row.items():
        plain, _, versions = name.partition("@")
        found = next((field for field in fields if field.name == plain), None)
        if found is None or (versions not in ("", "controller") and not Versions.parse(versions) & found.versions):
            yield name
        elif isinstance(value, list):
            for make_initial_array_element in value if found.fields else ():
                yield from unknown(found.fields, make_initial_array_element)
        elif isinstance(value, dict):
            yield from unknown(found.fields, value)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar of a body with its index-less path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


# Fields in which 0 means none to Kafka, or is the only value.
ZERO = {
    "Fetch session_id",
    "Fetch topics[].partitions[].partition",
    "DescribeQuorum topics[].partitions[].partition_index",
}
ZERO |= {"Fetch topics[].partitions[].current_leader_epoch", "Fetch topics[].partitions[].last_fetched_epoch"}
ID = re.compile(r"(^|_|\.)(id|epoch|index|partition|replicas?|leader|port|generation_id)(@.*)?$")


@pytest.mark.parametrize("controller", [False, True], ids=["broker", "controller"])
@pytest.mark.parametrize("key", KEYS)
def test_no_id_is_0(key: int, controller: bool) -> None:
    for version in versions_of(key):
        body = example_request(api(key), version, controller=controller)
        zeros = {path for path, value in leaves(body) if value == 0 and value is not False and ID.search(path)}
        assert {f"{api(key).name} {path}" for path in zeros} <= ZERO


def names(fields: Sequence[Field], value: dict[str, Any], version: int) -> Iterator[str]:
    """Every text of a body that names a topic, a group, a transactional id, a member or a cluster."""
    for field in fields:
        inner = value.get(field.name)
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, dict):
                yield from names(field.fields, each, version)
            elif isinstance(each, str) and (field.entity or field.name in ("cluster_id", "member_id")):
                yield each


@pytest.mark.parametrize("key", KEYS)
def test_names_are_those_that_nothing_has(key: int) -> None:
    for version in versions_of(key):
        found = set(names(api(key).request.fields, example_request(api(key), version), version))
        assert found <= {NAME, f"{NAME}-{NAME}A", "", "__cluster_metadata"}
        if route_of_api(key).mutates:
            assert "__cluster_metadata" not in found


def test_a_version_takes_what_it_has() -> None:
    assert example_request(api("Metadata"), 0) == {"topics": []}
    assert example_request(api("Metadata"), 4) == {"topics": None, "allow_auto_topic_creation": False}
    assert example_request(api("OffsetFetch"), 1) == {"group_id": NAME, "topics": []}
    assert example_request(api("OffsetFetch"), 7) == {"group_id": NAME, "topics": None, "require_stable": False}
    assert example_request(api("OffsetFetch"), 8) == {
        "groups": [{"group_id": NAME, "topics": None}],
        "require_stable": False,
    }
    assert example_request(api("DescribeCluster"), 1, controller=True)["endpoint_type"] == 2
    assert example_request(api("DescribeCluster"), 0, controller=True) == {
        "include_cluster_authorized_operations": False
    }


def test_an_example_is_ones_own() -> None:
    example_request(api("OffsetFetch"), 9)["groups"][0]["group_id"] = "mine"
    assert example_request(api("OffsetFetch"), 9)["groups"][0]["group_id"] == NAME


def in_elements(fields: Sequence[Field], inside: bool = False) -> Iterator[Field]:
    """The scalar fields without a declared default that lie in elements of arrays."""
    for field in fields:
        if field.fields:
            yield from in_elements(field.fields, inside or field.array)
        elif inside and not field.array and not field.has_default:
            yield field


def test_no_number_of_an_element_is_left_to_a_schema() -> None:
    used: set[str] = set()
    for key in KEYS:
        for field in in_elements(api(key).request.fields):
            said = {f"{api(key).name}.{field.name}", field.name} & set(ELEMENTS)
            used |= said
            numeric = field.kind.startswith(("int", "uint", "bool"))
            assert said or not numeric, f"{api(key).name} {field.name}"
    assert used == set(ELEMENTS)


def every_element(key: int, version: int) -> dict[str, Any]:
    """A request whose arrays of structs have one new element each, nested arrays included."""

    def struct(fields: Sequence[Field]) -> dict[str, Any]:
        made = make_initial_array_element(api(key), fields, version)
        for field in fields:
            if field.array and field.fields and version in field.versions:
                made[field.name] = [struct(field.fields)]
        return made

    return {
        **example_request(api(key), version),
        **{k: v for k, v in struct(api(key).request.fields).items() if isinstance(v, list)},
    }


@pytest.mark.parametrize("key", KEYS)
def test_new_elements_encode_at_every_version(key: int) -> None:
    for version in versions_of(key):
        value = every_element(key, version)
        body = encode_json(key, version, "request", value)
        again = decode_message(key, version, "request", body)
        assert [name for name, inner in value.items() if isinstance(inner, list) and not again[name]] == [
            name for name, inner in value.items() if inner == []
        ]


def test_new_elements() -> None:
    (topics,) = [field.fields for field in api("CreateTopics").request.fields if field.name == "topics"]
    assert make_initial_array_element(api("CreateTopics"), topics, 7) == {
        "num_partitions": -1,
        "replication_factor": -1,
    }
    (topics,) = [field.fields for field in api("DeleteRecords").request.fields if field.name == "topics"]
    (partitions,) = [field.fields for field in topics if field.name == "partitions"]
    assert make_initial_array_element(api("DeleteRecords"), partitions, 2) == {"partition_index": -1, "offset": 0}
    (creations,) = [field.fields for field in api("CreateAcls").request.fields]
    assert make_initial_array_element(api("CreateAcls"), creations, 1) == {
        "resource_type": 2,
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    (topics,) = [field.fields for field in api("Metadata").request.fields if field.name == "topics"]
    assert [make_initial_array_element(api("Metadata"), topics, version) for version in (9, 10)] == [{}, {"name": None}]
    (topics,) = [field.fields for field in api("CreatePartitions").request.fields if field.name == "topics"]
    assert make_initial_array_element(api("CreatePartitions"), topics, 3) == {"count": -1, "assignments": None}


def test_an_example_loads_no_reader_of_json() -> None:
    """Every call begins with one, and most have no other use for such a reader."""
    code = (
        "import sys; from decoders.apis import api; "
        "from decoders.protocol_facts.example_requests import example_request;"
        "assert example_request(api(3), 1); print(*{'json', 'orjson'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
