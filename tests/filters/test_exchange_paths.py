"""Paths as people write them, on rows of all kinds: their values in JSON's form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import pytest

from decoders.errors import FilterError
from decoders.filters import exchange_paths
from decoders.filters.exchange_paths import parse_record_path
from decoders.limits import CELL_MAX

FETCH: Final = {
    "request": {"isolation_level": 1, "topics": [{"topic": "a", "partitions": [{"partition": 0}, {"partition": 3}]}]},
    "response": {"responses": [{"topic": "a", "partitions": [{"error_code": 0, "records": [{"record_count": 2}]}]}]},
    "errors": [{"path": "error_code", "code": 6, "name": "NOT_LEADER_OR_FOLLOWER"}],
    "remarks": None,
}


def find_values(text: str, *, kind: str = "exchange", api_key: int | None = 1, names: bool = False) -> list[Any]:
    row: Any = SimpleNamespace(kind=kind, api_key=api_key, latency_ms=1.5, client=None)
    return parse_record_path(text, names=names).values(row, FETCH)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("latency_ms", [1.5]),
        ("client", []),
        ("request.isolation_level", [1]),
        ("request.topics[].topic", ["a"]),
        ("request.topics[].partitions[].partition", [0, 3]),
        ("response.responses[].partitions[].records[].record_count", [2]),
        ("request.max_bytes", []),
        ("errors[].code", [6]),
        ("errors[0].name", ["NOT_LEADER_OR_FOLLOWER"]),
        ("errors[1].name", []),
        ("detail", []),
    ],
)
def test_a_path_gives_the_values_of_an_exchange(text: str, values: list[Any]) -> None:
    assert find_values(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [("request.isolation_level", ["1 read_committed"]), ("request.topics[].topic", ["a"])],
)
def test_numbers_of_bodies_have_their_words_if_asked_for(text: str, values: list[Any]) -> None:
    assert find_values(text, names=True) == values


@pytest.mark.parametrize("text", ["request.isolation_level", "topic", "response.responses[].topic"])
@pytest.mark.parametrize("row", [{"kind": "skipped"}, {"api_key": None}], ids=str)
def test_rows_without_an_api_have_no_values_of_bodies(text: str, row: dict[str, Any]) -> None:
    assert find_values(text, **row) == []


@pytest.mark.parametrize("text", ["error", "latency", "topic"])
def test_skipped_bytes_have_no_fields_of_exchanges(text: str) -> None:
    assert find_values(text, kind="skipped") == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("request.topicz", "no request has a field 'topicz' at column 1"),
        ("errors[].cod", "errors has no 'cod' at column 1"),
        ("a[", "'a[' is no path (write topic, errors[].code or request.topics[].name) at column 1"),
    ],
)
def test_a_path_that_is_none_says_so(text: str, error: str) -> None:
    with pytest.raises(FilterError) as failure:
        parse_record_path(text)
    assert str(failure.value) == error


def test_what_a_cell_does_not_hold_is_left_out_with_a_word() -> None:
    limit, cost = exchange_paths._cut_values_to_cell_size, exchange_paths._OBJECT_COST
    half = "x" * (CELL_MAX // 2 - cost)
    more = "… (more than 32 MiB: the rest is left out)"
    assert CELL_MAX == 32 * 2**20
    assert limit([half, half]) == [half, half]
    assert limit([half, half, 1]) == [half, half, more]
    assert limit([half, half + "x", 1]) == [half, more]
    assert limit(["x" * CELL_MAX]) == ["x" * CELL_MAX]
    assert limit([]) == []
    quarter = {"base64": "é" * ((CELL_MAX // 2 - cost) // 4)}
    assert limit([quarter, quarter]) == [quarter, quarter]
    assert limit([quarter, quarter, quarter]) == [quarter, quarter, more]
