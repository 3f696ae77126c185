"""Names of fields in any spelling, older ones too: which field of which version they mean."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.protocol_facts.convert_field_names import (
    drop_unknown_fields,
    find_field_by_any_name,
    rename_to_current_names,
)
from decoders.schema.api_declaration import Field, Versions
from kwcli.reference.walk_field_paths import walk_field_paths

ALL = Versions(0, 5)
INNER = (
    Field("partition", "int32", False, ALL, was=("index",)),
    Field("leader_id", "int32", False, Versions(2, 5)),
)
FIELDS = (
    Field("topic_name", "string", False, Versions(0, 2), was=("name",)),
    Field("topic_id", "uuid", False, Versions(3, 5), was=("name",)),
    Field("rows", "struct", True, ALL, fields=INNER, was=("partitions",)),
    Field("one", "struct", False, ALL, fields=INNER),
)


@pytest.mark.parametrize(
    ("version", "value", "renamed"),
    [
        (0, {"topicName": "a"}, {"topic_name": "a"}),
        (0, {"name": "a"}, {"topic_name": "a"}),
        (3, {"name": "a"}, {"topic_id": "a"}),
        (3, {"TOPIC-NAME": "a"}, {"topic_name": "a"}),
        (0, {"partitions": [{"index": 1, "leaderId": 2}, 3]}, {"rows": [{"partition": 1, "leader_id": 2}, 3]}),
        (0, {"one": {"Index": 1}}, {"one": {"partition": 1}}),
        (0, {"one": None, "rows": None}, {"one": None, "rows": None}),
        (0, {"rows": {"index": 1}}, {"rows": {"partition": 1}}),
        (0, {"other": {"index": 1}}, {"other": {"index": 1}}),
        (0, {"name": "b", "topic_name": "a"}, {"name": "b", "topic_name": "a"}),
    ],
)
def test_names_become_the_current_ones(version: int, value: dict[str, Any], renamed: dict[str, Any]) -> None:
    assert rename_to_current_names(FIELDS, version, value) == renamed


@pytest.mark.parametrize(
    ("version", "value", "left"),
    [
        (3, {"one": {"leader_id": 2, "x": 1}, "topic_name": "a"}, {"one": {"leader_id": 2}}),
        (
            1,
            {"rows": [{"leader_id": 2, "partition": 1}, 7], "topic_name": "a"},
            {"topic_name": "a", "rows": [{"partition": 1}, 7]},
        ),
        (1, {"topic_id": "a"}, {}),
    ],
)
def test_fields_of_other_versions_are_dropped(version: int, value: dict[str, Any], left: dict[str, Any]) -> None:
    assert drop_unknown_fields(FIELDS, version, value) == left


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("topic_name", None, "topic_name"),
        ("topicname", 1, "topic_name"),
        ("topic_name", 3, None),
        ("name", None, "topic_id"),
        ("name", 1, "topic_name"),
        ("name", 3, "topic_id"),
        ("Partitions", None, "rows"),
        ("nothing", None, None),
    ],
)
def test_a_name_means_a_field_of_a_version(name: str, version: int | None, found: str | None) -> None:
    field = find_field_by_any_name(FIELDS, name, version)
    assert (field and field.name) == found


def test_fields_have_paths_and_versions() -> None:
    assert [(path, str(versions)) for path, _, versions in walk_field_paths(FIELDS, Versions(1, 2))] == [
        ("topic_name", "1-2"),
        ("rows", "1-2"),
        ("rows[].partition", "1-2"),
        ("rows[].leader_id", "2"),
        ("one", "1-2"),
        ("one.partition", "1-2"),
        ("one.leader_id", "2"),
    ]
