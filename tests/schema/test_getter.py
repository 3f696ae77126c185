"""Paths into bodies: rows of a path, a body and the value at the path."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.schema.field_projection import make_path_getter

BODY: dict[str, Any] = {
    "throttle": 0,
    "null": None,
    "state": {"epoch": 4, "inner": {"x": 1}},
    "empty": [],
    "names": ["a", "b"],
    "topics": [
        {
            "name": "a",
            "at": {"x": 1},
            "numbers": [1, 2],
            "partitions": [{"id": 0, "isr": [1, 2]}, {"id": 1, "isr": []}],
        },
        {"name": None, "at": None, "numbers": None, "partitions": None},
        {"name": "c", "at": {"x": 3}, "numbers": [3], "partitions": [{"id": 0, "isr": [3]}]},
        {"partitions": []},
    ],
}
ROWS: list[tuple[str, Any]] = [
    ("throttle", 0),
    ("null", None),
    ("missing", None),
    ("state.epoch", 4),
    ("state.inner.x", 1),
    ("state.missing", None),
    ("missing.epoch", None),
    ("null.epoch", None),
    ("topics[].name", ["a", "c"]),
    ("topics[].at.x", [1, 3]),
    ("topics[].missing", []),
    ("topics[].partitions[].id", [0, 1, 0]),
    ("topics[].partitions[].isr[]", [1, 2, 3]),
    ("topics[].partitions[].isr", [1, 2, 3]),
    ("topics[].numbers[]", [1, 2, 3]),
    ("topics[].numbers", [1, 2, 3]),
    ("missing[].name", None),
    ("null[].name", None),
    ("empty[].name", []),
    ("names", ["a", "b"]),
    ("names[]", ["a", "b"]),
    ("names[1]", "b"),
    ("names[2]", None),
    ("empty[0].name", None),
    ("missing[0].name", None),
    ("topics[2].name", "c"),
    ("topics[4].name", None),
    ("topics[0].partitions[1].id", 1),
    ("topics[].partitions[0].id", [0, 0]),
    ("topics[0].partitions[].id", [0, 1]),
    ("topics[0].partitions[0].isr[1]", 2),
    # In another version the name is another field's.
    ("names[].name", None),
    ("names[0].name", None),
    ("throttle.ms", None),
    ("state[0].epoch", None),
    ("throttle[0]", None),
]


@pytest.mark.parametrize(("path", "value"), ROWS, ids=[path for path, _ in ROWS])
def test_a_path_gives_the_value_there(path: str, value: Any) -> None:
    assert make_path_getter(path)(BODY) == value
