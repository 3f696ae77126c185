"""`record.PATH`: fields of structures in internal topics, against what `--records` shows of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from decoders.errors import FilterError
from decoders.filters import parse
from decoders.filters.internal_topic_fields import list_internal_topic_field_paths
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

NAMES = ("three-nodes.pcapng.zst", "zookeeper-cluster.pcap.gz")


def structures(value: Any) -> Iterator[dict[str, Any]]:
    """All structures in keys and values of records."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in ("key", "value") and isinstance(each, dict) and "$type" in each:
                yield each
            else:
                yield from structures(each)
    elif isinstance(value, list):
        for each in value:
            yield from structures(each)


@cache
def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kw("sniff", str(FOLDER / name), "-o", "ndjson", "--records").out.splitlines()]


def place(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["client"], record["broker"], record["time"], record["correlation_id"]


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_is_found(name: str) -> None:
    """For some values of each field at the top of a structure: exactly the exchanges that show the value pass."""
    wanted: dict[tuple[str, str], set[tuple[Any, ...]]] = {}
    for record in records(name):
        for side in ("request", "response"):
            for content in structures(record[side]):
                for field, value in content.items():
                    if field[:1] != "$" and isinstance(value, str) and value.isalnum():
                        wanted.setdefault((field, value), set()).add(place(record))
    asked = [pair for number, pair in enumerate(sorted(wanted)) if number % max(len(wanted) // 6, 1) == 0]
    assert len(asked) > 3
    for field, value in asked:
        rows = kw("sniff", str(FOLDER / name), "-f", f'record.{field} == "{value}"', "-o", "ndjson").out.splitlines()
        assert {place(json.loads(row)) for row in rows} == wanted[field, value]


def test_numbers_have_an_order_and_lists_stand_for_their_elements() -> None:
    file = str(FOLDER / "three-nodes.pcapng.zst")
    some = kw("sniff", file, "-f", "record.partition_id >= 1", "-o", "ndjson").out
    assert some
    assert kw("sniff", file, "-f", "record.partition_id >= 1000", "-o", "ndjson").out == ""
    listed = kw("sniff", file, "-f", "record.replicas == 2", "-o", "ndjson").out
    assert listed
    assert listed == kw("sniff", file, "-f", "record.replicas[] == 2", "-o", "ndjson").out


def test_a_field_that_no_structure_has_names_the_nearest() -> None:
    with pytest.raises(FilterError, match="no record of an internal topic has a field 'grop'") as problem:
        parse("record.grop == billing")
    assert "record.group" in problem.value.candidates
    assert {"group", "topic", "partition_id", "members.client_id"} <= {*list_internal_topic_field_paths()}
