"""Folds fed with columns of tables give the rows of folds fed with single exchanges, also merged and handed over."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.analysis.percentiles import bin_edges, bin_number_of, count_by_bin
from decoders.analysis.slowest_exchanges import Slowest
from decoders.analysis.statistics import GroupStatistics, Statistics
from decoders.analysis.sum_amounts_by_key import ClientVersions
from decoders.exchanges.exchange import Exchange
from kwcli.pipeline.report.feed_folds import (
    add_to_measures,
    feed_slowest,
    feed_statistics,
    feed_versions,
    sort_into_bins,
)
from kwcli.pipeline.report.numpy_group_by import (
    BatchColumns,
    CodedColumn,
    combine_columns_to_tuples,
    number_distinct_values,
)
from kwcli.pipeline.tables.split_by_table_and_date import split_by_table
from tests.captures.shipped import CLEAN, segments
from tests.pipeline.rows import batch_of, settled_for_tables
from tests.sampling import sampled

BYS = (
    ("api",),
    ("api", "version", "client", "broker", "time"),
    ("topic",),
    ("topic", "client_id", "api"),
    ("api", "error"),
    ("group", "time"),
    ("software", "address"),
    (),
)
METRICS = ("latency", "bytes", "errors", "throttle")


@cache
def exchanges(name: str) -> list[Exchange]:
    return [each for each in settled_for_tables(segments(name)) if isinstance(each, Exchange)]


@cache
def table(name: str) -> pa.RecordBatch:
    """The table `exchanges` of a capture."""
    return dict(split_by_table(batch_of(exchanges(name)), ("exchanges",)))["exchanges"]


def parts(name: str, seed: int) -> list[pa.RecordBatch]:
    """The table `exchanges` of a capture in a few parts."""
    random, whole = Random(seed), table(name)
    cuts = sorted(random.randrange(whole.num_rows + 1) for _ in range(3))
    return [whole.slice(one, other - one) for one, other in zip([0, *cuts], [*cuts, whole.num_rows], strict=True)]


def told(name: str, by: tuple[str, ...], metric: str) -> Statistics:
    fold = Statistics(by, metric, bucket_ns=10**9, over_time=True)
    for each in exchanges(name):
        fold.add(each)
    return fold


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", sampled(CLEAN, 4))
@pytest.mark.parametrize("by", BYS, ids=",".join)
@pytest.mark.parametrize("metric", METRICS)
def test_columns_count_as_exchanges_do(name: str, by: tuple[str, ...], metric: str) -> None:
    expected = told(name, by, metric)
    whole = Statistics(by, metric, bucket_ns=10**9, over_time=True)
    for part in parts(name, len(by)):
        fold = Statistics(by, metric, bucket_ns=10**9, over_time=True)
        feed_statistics(fold, BatchColumns(part))
        again = Statistics(by, metric, bucket_ns=10**9, over_time=True)
        again.resume(fold.export())
        whole.merge(again)
    assert whole.rows() == expected.rows()
    assert whole.slice_span() == expected.slice_span()
    assert [group.slices for _, group in whole.rows_of_groups()] == [
        group.slices for _, group in expected.rows_of_groups()
    ]


@pytest.mark.parametrize("name", CLEAN)
def test_a_selection_is_those_rows_of_all(name: str) -> None:
    some = frozenset({"orders", None})
    fold = Statistics(("time", "topic"), "latency")
    feed_statistics(fold, BatchColumns(table(name)), some)
    every = Statistics(("time", "topic"), "latency")
    feed_statistics(every, BatchColumns(table(name)))
    assert fold.rows() == [row for row in every.rows() if row["topic"] in some]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", CLEAN)
@pytest.mark.parametrize("most", [1, 5, 10_000])
def test_the_slowest_are_those_of_the_exchanges(name: str, most: int) -> None:
    expected, fold = Slowest(most), Slowest(most)
    for each in exchanges(name):
        expected.add(each)
    for part in parts(name, most):
        feed_slowest(fold, BatchColumns(part))
    assert fold.rows() == expected.rows()


@pytest.mark.parametrize("name", CLEAN)
def test_versions_are_those_of_the_exchanges(name: str) -> None:
    expected, fold = ClientVersions(), ClientVersions()
    for each in exchanges(name):
        expected.add(each)
    for part in parts(name, 7):
        feed_versions(fold, BatchColumns(part))
    assert fold.rows() == expected.rows()


INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
NEAR_EDGES = st.sampled_from(bin_edges()).flatmap(
    lambda edge: st.sampled_from([edge - 1, edge, min(edge + 1, (1 << 63) - 1)])
)


@settings(max_examples=200)
@given(st.lists(st.one_of(INT64, NEAR_EDGES, st.integers(-300, 300)), max_size=50))
def test_values_get_the_bins_of_the_sketch(values: list[int]) -> None:
    found = sort_into_bins(np.array(values, np.int64))
    assert [found.values[number] for number in found.numbers] == [bin_number_of(value) for value in values]


@given(st.lists(st.tuples(st.integers(0, 3), INT64, st.integers(1, 1000)), max_size=40))
def test_values_are_measured_exactly(rows: list[tuple[int, int, int]]) -> None:
    made = [GroupStatistics() for _ in range(4)]
    numbers, values = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    add_to_measures(CodedColumn(numbers, list(range(4))), made, values)
    for at, group in enumerate(made):
        its = [value for number, value, _ in rows if number == at]
        assert (group.values, group.total) == (len(its), sum(its))
        assert group.value_bins() == count_by_bin(its)
        assert (group.low, group.high) == ((min(its), max(its)) if its else (0, 0))


@given(
    st.lists(st.tuples(st.sampled_from([None, "", "a", "b"]), st.integers(0, 5)), max_size=60),
    st.integers(0, 2),
)
def test_combinations_are_numbered_once_each(rows: list[tuple[Any, int]], more: int) -> None:
    def column(values: list[Any]) -> CodedColumn:
        places = {value: at for at, value in enumerate(dict.fromkeys(values))}
        return CodedColumn(np.array([places[value] for value in values], np.int64), list(places))

    columns = [column([row[0] for row in rows]), *(column([row[1] for row in rows]) for _ in range(more))]
    found = combine_columns_to_tuples(columns, len(rows))
    assert len(set(found.values)) == len(found.values)
    assert [found.values[number] for number in found.numbers] == [(row[0], *(row[1],) * more) for row in rows]
    assert set(found.numbers.tolist()) == set(range(len(found.values)))


@given(st.lists(st.integers(0, 1 << 40), max_size=50))
def test_large_and_small_numbers_are_made_compact_alike(numbers: list[int]) -> None:
    sparse, places = number_distinct_values(np.array(numbers, np.int64), 1 << 41)
    assert sparse.tolist() == sorted(set(numbers))
    assert sparse[places].tolist() == numbers
    small = [number % 1000 for number in numbers]
    dense, places = number_distinct_values(np.array(small, np.int64), 1000)
    assert dense.tolist() == sorted(set(small))
    assert dense[places].tolist() == small


def test_groups_that_are_too_many_are_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Statistics((), "latency")
    feed_statistics(whole, BatchColumns(table("tour.pcapng")))
    monkeypatch.setattr("decoders.analysis.heavy_keys.KEYS_SHOWN_MAX", 3)
    found = Statistics(("api",), "latency")
    feed_statistics(found, BatchColumns(table("tour.pcapng")))
    *_, others = rows = found.rows()
    assert len(rows) == 4
    assert others["others"] > 3
    assert sum(row["count"] for row in rows) == whole.rows()[0]["count"]
