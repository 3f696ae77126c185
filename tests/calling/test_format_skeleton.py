"""Skeletons of every message: their bytes when unedited, and that all their commented lines are valid."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from decoders.apis import KEYS, api
from decoders.messages.whole_messages import encode_json
from decoders.protocol_facts.example_requests import example_request
from decoders.schema.api_declaration import resolve
from decoders.schema.body_json_form import body_to_json
from kwcli.calling.check_field_values import ValueChecker
from kwcli.calling.format_skeleton import format_skeleton
from kwcli.calling.read_bodies import parse_json_or_yaml
from tests.apis.everything import Declared, layouts
from tests.schema.values import random_value


def read(declared: Declared, text: str) -> bytes:
    """The bytes that a skeleton encodes to."""
    body = ValueChecker(api(declared.key), declared.side, declared.version).check_body(
        parse_json_or_yaml(text.encode(), "it")
    )
    return encode_json(declared.key, declared.version, declared.side, body)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_a_skeleton_says_the_body_that_it_was_made_of(key: int) -> None:
    for declared in layouts(key):
        if declared.early_layout:
            continue
        found = api(key)
        plan = resolve(found.message(declared.side), declared.version)
        rng = Random(str(declared))
        bodies: list[dict[str, Any]] = [{}]
        bodies += [body_to_json(plan, random_value(plan, rng, values=60), reveal=True) for _ in range(2)]
        for body in bodies:
            text = format_skeleton(found, declared.version, body, side=declared.side)
            wanted = encode_json(key, declared.version, declared.side, body)
            assert read(declared, text) == wanted, f"{declared}\n{text}"


@pytest.mark.parametrize("key", KEYS)
def test_every_field_of_a_version_is_in_its_skeleton_once(key: int) -> None:
    for declared in layouts(key):
        if not declared.early_layout:
            text = format_skeleton(api(key), declared.version, {}, side=declared.side)
            shown = re.findall(r"^ *(?:# )?(?:- )?([a-z0-9_]+):.*  # ", text, re.MULTILINE)
            assert sorted(shown) == sorted(names(declared.plan)), f"{declared}\n{text}"


def names(plan: Any) -> list[str]:
    found = []
    for field in (*plan.fields, *plan.tagged):
        found.append(field.name)
        if field.plan is not None:
            found += names(field.plan)
    return found


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_with_all_comments_taken_away_it_is_a_body_still(key: int) -> None:
    for declared in layouts(key):
        if declared.early_layout:
            continue
        text = format_skeleton(api(key), declared.version, {}, side=declared.side)
        lines = []
        raw = text.splitlines()[1:]
        for number, line in enumerate(raw):
            deeper = number + 1 < len(raw) and depth(raw[number + 1]) > depth(line)
            line = re.sub(r"^( *)# ", r"\1", line)
            if deeper:
                line = re.sub(r": (\[\]|null)(?= |$)", ":", line)
            if not line.startswith("{}  #"):
                lines.append(line)
        whole = "\n".join(lines)
        assert "# -" not in whole
        assert read(declared, whole) is not None


def depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def test_the_examples_of_all_apis_as_skeletons() -> None:
    for key in KEYS:
        for declared in layouts(key):
            if declared.side == "request" and not declared.early_layout:
                value = example_request(api(key), declared.version)
                text = format_skeleton(api(key), declared.version, value)
                assert read(declared, text) == encode_json(key, declared.version, "request", value), (
                    f"{declared}\n{text}"
                )


def test_what_it_looks_like() -> None:
    text = format_skeleton(
        api("ListOffsets"), 4, {"replica_id": -1, "topics": [{"name": "kw-example", "partitions": []}]}
    )
    assert (
        re.sub(r" · [A-Z].*", "", text)  # what the field means comes last
        == """\
# ListOffsets 4, request. Take a # away to send that line (and the [] or null before it).
replica_id: -1                            # int32 · -1 consumer, -2 debugging_consumer, -3 future_local_replica
isolation_level: 0                        # int8 · 0 read_uncommitted, 1 read_committed · since 2
topics:                                   # array of struct
  - name: kw-example                      # string
    partitions: []                        # array of struct
      # - partition_index: -1             # int32
        # current_leader_epoch: -1        # int32 · -1 none · default -1 · since 4
        # timestamp: -1                   # int64 · -1 latest, -2 earliest, -3 max_timestamp, -4 earliest_local, …
"""
    )


def test_each_field_says_what_it_means() -> None:
    assert (
        format_skeleton(api("OffsetDelete"), 0, {"topics": [{"name": "kw-example", "partitions": []}]})
        == """\
# OffsetDelete 0, request. Take a # away to send that line (and the [] or null before it).
group_id: ""                              # string · The unique group identifier.
topics:                                   # array of struct · The topics to delete offsets for.
  - name: kw-example                      # string · The topic name.
    partitions: []                        # array of struct · Each partition to delete offsets for.
      # - partition_index: -1             # int32 · The partition index.
"""
    )
    response = format_skeleton(api("OffsetDelete"), 0, {}, side="response")
    assert "# int16 · The top-level error code, or 0 if there was no error.\n" in response
    assert "# string · The topic name.\n" in response
