"""Folds over the captures that ship give the same rows, however split and merged, and handed over at any point."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.analysis import read_dimension_values
from decoders.analysis.advisories.advisory_audit import AdvisoryAudit
from decoders.analysis.differences.traffic_profile import TrafficProfile
from decoders.analysis.dimension_and_metric_table import METRICS
from decoders.analysis.doctor.slow_brokers import BrokerLatencies
from decoders.analysis.exchange_facts import WAITING
from decoders.analysis.fold_interface import Fold
from decoders.analysis.percentiles import ACCURACY, bin_number_of, count_by_bin, percentile
from decoders.analysis.read_dimension_values import DIMENSIONS
from decoders.analysis.record_traces.record_ages import RecordAges
from decoders.analysis.slowest_exchanges import Slowest
from decoders.analysis.statistics import Statistics
from decoders.analysis.sum_amounts_by_key import BatchSizes, ClientVersions, Tally, TopicBatches
from decoders.analysis.time_slices import add_amounts
from decoders.apis import KEYS
from decoders.capture.read_capture import CaptureReader
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from tests.captures.shipped import CLEAN, capture_bytes, segments
from tests.sampling import sampled

Make = Callable[[], Fold]

BYS = (
    ("api",),
    ("api", "version", "client", "topic", "broker", "time"),
    ("topic", "error"),
    ("software", "address", "group"),
    ("client_id", "connection"),
    (),
)
FOLDS: dict[str, Make] = {
    **{
        f"{metric} by {','.join(by)}": lambda by=by, metric=metric: Statistics(  # type: ignore[misc]
            by, metric, bucket_ns=10**9, over_time=True
        )
        for metric, row in METRICS.items()
        if not row.of_records
        for by in BYS
    },
    **{
        f"latency by {by}": lambda by=by: Statistics(  # type: ignore[misc]
            ("topic", by) if by == "partition" else (by,), "latency"
        )
        for by in DIMENSIONS
        if (by,) not in BYS
    },
    "slowest": lambda: Slowest(7),
    "ages": lambda: RecordAges(("topic", "group"), "age"),
    "versions": ClientVersions,
    "advisories": AdvisoryAudit,
    "profile": TrafficProfile,
}


class Wanted(Needs):
    """The fields that these folds need, and nothing else."""

    def __init__(self, *folds: Fold) -> None:
        super().__init__({(key, side): _needed(folds, key, side) for key in KEYS for side in ("request", "response")})


def _needed(folds: tuple[Fold, ...], key: int, side: Any) -> frozenset[str]:
    return frozenset().union(*(fold.needs(key, side) for fold in folds))


@cache
def exchanges(name: str) -> list[Exchange]:
    """The exchanges of a capture, with what all folds need."""
    reader, engine = CaptureReader(), Engine(needs=Wanted(*(make() for make in FOLDS.values())))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


def folded(make: Make, some: list[Exchange]) -> Any:
    fold = make()
    for each in some:
        fold.add(each)
    return fold


@cache
def rows_of(kind: str, name: str) -> list[dict[str, Any]]:
    """The rows of one fold over a whole capture."""
    return list(folded(FOLDS[kind], exchanges(name)).rows())


def handed_over(make: Callable[[], Any], fold: Any) -> Any:
    other = make()
    other.resume(fold.export())
    return other


@settings(max_examples=25, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.long] * (each != "tour.pcapng")) for each in CLEAN]
)
def test_any_split_merged_in_any_order_gives_the_same_rows(name: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(FOLDS)))
    make = FOLDS[kind]
    parts: list[list[Exchange]] = [[] for _ in range(data.draw(st.integers(1, 5)))]
    draw = data.draw(st.randoms(use_true_random=False))
    for each in exchanges(name):
        draw.choice(parts).append(each)
    for part in parts:
        draw.shuffle(part)
    folds = [folded(make, part) for part in parts]
    while len(folds) > 1:
        one, other = (folds.pop(draw.randrange(len(folds))) for _ in range(2))
        if draw.random() < 0.5:
            one = handed_over(make, one)
        one.merge(other)
        folds.append(one)
    assert handed_over(make, folds[0]).rows() == folds[0].rows() == rows_of(kind, name)
    if isinstance(folds[0], Statistics):
        whole = folded(make, exchanges(name))
        assert folds[0].slice_span() == whole.slice_span()
        assert [group.slices for _, group in folds[0].rows_of_groups()] == [
            group.slices for _, group in whole.rows_of_groups()
        ]


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", sampled(sorted(FOLDS), 2))
def test_a_fold_that_is_handed_over_on_the_way_goes_on_as_before(kind: str, every: int) -> None:
    fold: Any = FOLDS[kind]()
    for number, each in enumerate(exchanges("tour.pcapng")):
        if number % every == 0:
            fold = handed_over(FOLDS[kind], fold)
        fold.add(each)
    assert fold.rows() == rows_of(kind, "tour.pcapng")


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", sorted(FOLDS))
def test_needs_name_all_that_is_read(kind: str) -> None:
    reader, engine = CaptureReader(), Engine(needs=Wanted(FOLDS[kind]()))
    found = engine.feed([*reader.feed(capture_bytes("tour.pcapng")), *reader.finish()]) + engine.finish()
    some = [each for each in found if isinstance(each, Exchange)]
    told = "`needs` of a metric, `entity` of a dimension (read_dimension_values.py), or `needs` of the fold"
    assert folded(FOLDS[kind], some).rows() == rows_of(kind, "tour.pcapng"), told


@pytest.mark.one_in(6)
@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", sorted(FOLDS))
def test_a_damaged_state_is_an_error_of_ours(kind: str, every: int) -> None:
    state = folded(FOLDS[kind], exchanges("first-steps.pcapng")[:20]).export()
    for at in range(0, len(state), every):
        with pytest.raises(DecodeError):
            FOLDS[kind]().resume(state[:at])
    with pytest.raises(DecodeError):
        Statistics(("api",), "latency").resume(Statistics(("api",), "bytes").export())
    with pytest.raises(DecodeError):
        Slowest(3).resume(Slowest(4).export())


@settings(max_examples=20, deadline=None)
@given(draw=st.randoms(use_true_random=False))
@pytest.mark.parametrize("kind", ["slowest", "versions", "latency by api", "errors by topic,error"])
def test_a_state_with_wrong_bytes_is_taken_or_refused(kind: str, draw: Any) -> None:
    state = bytearray(folded(FOLDS[kind], exchanges("first-steps.pcapng")[:20]).export())
    for _ in range(draw.randint(1, 4)):
        state[draw.randrange(len(state))] = draw.randrange(256)
    with suppress(DecodeError):
        FOLDS[kind]().resume(bytes(state))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_what_is_left_of_a_damaged_capture_is_counted(name: str) -> None:
    draw = Random(name)
    engine = Engine(needs=Wanted(*(make() for make in FOLDS.values())))
    left = [segment for segment in segments(name) if draw.random() > 0.03]
    some = [each for each in engine.feed(left) + engine.finish() if isinstance(each, Exchange)]
    for kind, make in FOLDS.items():
        fold = folded(make, some)
        assert handed_over(make, fold).rows() == fold.rows()
        if kind.endswith(" by "):
            assert sum(row["undecoded"] for row in fold.rows()) == sum(each.status == "undecoded" for each in some)


@pytest.mark.parametrize("name", CLEAN)
def test_counts_are_those_of_the_exchange_records(name: str) -> None:
    records = [to_json_dict(each, Options()) for each in exchanges(name)]
    rows = {row["api"]: row for row in rows_of("bytes by api", name)}
    assert {api: row["count"] for api, row in rows.items()} == Counter(record["api"] for record in records)
    says: dict[str, Callable[[dict[str, Any]], int]] = {
        "errors": lambda record: any("expected" not in error for error in record["errors"]),
        "unanswered": lambda record: record["status"] == "unanswered",
        "undecoded": lambda record: record["status"] == "undecoded",
        "request_bytes": lambda record: 0 if "envelope" in record else record["request_size"] or 0,
        "response_bytes": lambda record: 0 if "envelope" in record else record["response_size"] or 0,
    }
    for name_of, value in says.items():
        expected: defaultdict[str | None, int] = defaultdict(int)
        for record in records:
            expected[record["api"]] += value(record)
        assert {api: row[name_of] for api, row in rows.items()} == expected, name_of
    codes = Counter(error["name"] for record in records for error in record["errors"] if "expected" not in error)
    assert sum((Counter(row["error_codes"]) for row in rows.values()), Counter()) == codes


@pytest.mark.parametrize("name", CLEAN)
def test_records_are_those_of_the_exchange_records_and_add_up_by_topic(name: str) -> None:
    found: Counter[str] = Counter()
    for each in exchanges(name):
        record = to_json_dict(each, Options())
        for side, topics, parts in (
            ("request", "topic_data", "partition_data"),
            ("response", "responses", "partitions"),
        ):
            for topic in (record[side] or {}).get(topics) or () if each.api_key in (0, 1, 78) else ():
                for part in topic.get(parts) or ():
                    for batch in part.get("records") or ():
                        found["records"] += 0 if batch["truncated"] else batch["record_count"] or 0
                        found["size"] += batch["size"]
                        found["batches"] += not batch["truncated"]
    rows = rows_of("records by api", name)
    assert sum(row["sum"] for row in rows) == found["records"]
    assert sum(row["record_bytes"] for row in rows) == found["size"]
    by_topic = folded(lambda: Statistics(("topic",), "records"), exchanges(name)).rows()
    assert sum(row["sum"] for row in by_topic if row["topic"] is not None) == found["records"]
    assert sum(row["batches"] for row in by_topic) == sum(row["batches"] for row in rows) == found["batches"]


@pytest.mark.parametrize("metric", ["records", "errors", "bytes", "throttle"])
def test_exchanges_read_back_from_their_records_give_the_same_rows(metric: str) -> None:
    read = [FromRecords().read(to_json_dict(each, Options())) for each in exchanges("tour.pcapng")]
    some = [each for each in read if isinstance(each, Exchange)]
    assert (
        folded(lambda: Statistics(("api", "client"), metric), some).rows()
        == folded(lambda: Statistics(("api", "client"), metric), exchanges("tour.pcapng")).rows()
    )


def test_a_fetch_that_waited_is_counted_apart() -> None:
    waits: list[float] = []
    latencies: list[float] = []
    for each in exchanges("tour.pcapng"):
        record = to_json_dict(each, Options())
        if record["api"] != "Fetch" or record["latency_ms"] is None:
            continue
        empty = not any(part["records"] for topic in record["response"]["responses"] for part in topic["partitions"])
        most = record["request"]["max_wait_ms"]
        waited = empty and most > 1 and record["latency_ms"] >= 0.9 * most
        (waits if waited else latencies).append(record["latency_ms"])
    (row,) = [row for row in rows_of("latency by api", "tour.pcapng") if row["api"] == "Fetch"]
    assert waits
    assert latencies
    assert (row["waited"], row["values"]) == (len(waits), len(latencies))
    assert row["waited_ms"] == pytest.approx(sum(waits))
    assert row["max"] == max(latencies)
    assert all(
        found["latency_ms"] <= max(latencies) or found["api"] != "Fetch" for found in rows_of("slowest", "tour.pcapng")
    )


@pytest.mark.parametrize("name", CLEAN)
def test_the_slowest_are_the_slowest(name: str) -> None:
    took = {
        (each.time, each.correlation_id, each.client): (each.latency_ms, each.packets)
        for each in exchanges(name)
        if each.latency_ms is not None and not each.envelope
    }
    rows = rows_of("slowest", name)
    shown = [(row["time"], row["correlation_id"], row["client"]) for row in rows]
    assert [took[key] for key in shown] == [(row["latency_ms"], row["packets"]) for row in rows]
    fetches = {(each.time, each.correlation_id, each.client) for each in exchanges(name) if each.api_key in WAITING}
    others = sorted((ms for key, (ms, _) in took.items() if key not in fetches and ms is not None), reverse=True)
    told = [took[key][0] for key in shown if key not in fetches]
    assert told == others[: len(told)]
    assert len(rows) == 7


@given(values=st.lists(st.integers(-(10**6), 10**13), min_size=1), percent=st.sampled_from((1, 50, 90, 99, 100)))
def test_percentiles_are_within_one_percent(values: list[int], percent: int) -> None:
    exact = sorted(values)[(len(values) * percent + 99) // 100 - 1]
    found = percentile(count_by_bin(values), percent, min(values), max(values))
    assert abs(found - exact) <= abs(exact) * ACCURACY + 0.5


@given(st.lists(st.lists(st.integers(0, 10**12)), min_size=2, max_size=4))
def test_sketches_of_parts_add_up_to_that_of_the_whole(parts: list[list[int]]) -> None:
    whole = count_by_bin(value for part in parts for value in part)
    assert sum((count_by_bin(part) for part in parts), Counter()) == whole


@given(st.lists(st.integers(-(10**6), (1 << 63) - 1)))
def test_many_values_get_the_bin_that_each_of_them_gets(values: list[int]) -> None:
    assert count_by_bin(values) == Counter(bin_number_of(value) for value in values)


@pytest.mark.long
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_latencies_counted_together_are_those_counted_in_parts(random: Random, parts: int) -> None:
    times = [random.randrange(10**18, 10**18 + 10 ** random.randrange(9, 14)) for _ in range(150)]
    measured = [("b:1", 0, random.choice("xy"), at, random.randrange(-1, 10**9)) for at in times]
    whole, merged = BrokerLatencies(), BrokerLatencies()
    for each in measured:
        whole.add_latency(*each)
    for number in range(parts):
        part = BrokerLatencies()
        for each in measured[number::parts]:
            part.add_latency(*each)
        merged.merge(part)
    assert _in_order(merged.state()) == _in_order(whole.state())


def _in_order(state: list[Any]) -> list[Any]:
    """A state of latencies, its groups with the sketches and all sums in the order of their keys."""
    groups, *sums, shift, first, last = state
    return [
        {where: [*its[:3], sorted(its[4].items())] for where, its in groups},
        *(dict(map(tuple, some)) for some in sums),
        *(shift, first, last),
    ]


def test_different_statistics_do_not_merge() -> None:
    with pytest.raises(ValueError, match="do not merge"):
        Statistics(("api",), "latency").merge(Statistics(("api",), "bytes"))
    with pytest.raises(ValueError, match="do not merge"):
        Slowest(1).merge(Slowest(2))


@pytest.mark.plain
def test_too_many_times_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.analysis.statistics.TIMED_GROUPS_MAX", 3)
    with pytest.raises(DecodeError, match="more than 3 groups by time"):
        folded(lambda: Statistics(("time",), "bytes", bucket_ns=10**6), exchanges("tour.pcapng"))


def test_versions_are_those_of_the_records() -> None:
    found = Counter(
        (each.client.rpartition(":")[0], each.client_id, each.api, each.api_version)
        for each in exchanges("old-clients.pcap.gz")
        if each.api_key is not None
    )
    rows = rows_of("versions", "old-clients.pcap.gz")
    told: Counter[Any] = Counter()
    for row in rows:
        told[row["address"], row["client_id"], row["api"], row["api_version"]] += row["count"]
    assert told == found
    assert any(row["software"] for row in rows_of("versions", "tour.pcapng"))


@pytest.mark.parametrize("name", CLEAN)
def test_topics_are_found_in_short_as_anywhere(name: str) -> None:
    for each in exchanges(name):
        assert set(read_dimension_values.read_topics(each)) == set(read_dimension_values._topic_names_anywhere(each)), (
            each.api
        )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_times_may_begin_with_1970_or_before(order: tuple[int, ...]) -> None:
    made = [FromRecords().read(to_json_dict(each, Options())) for each in exchanges("tour.pcapng")[:3]]
    some = [each for each in made if isinstance(each, Exchange)]
    for number, each in enumerate(some):
        each.time_ns = (number - 1) * 10**9
    whole = folded(lambda: Statistics((), "bytes", over_time=True), some)
    merged = Statistics((), "bytes", over_time=True)
    for number in order:
        merged.merge(folded(lambda: Statistics((), "bytes", over_time=True), [some[number]]))
    assert merged.rows() == whole.rows()
    assert merged.rows()[0]["rate"] == 1.5
    assert (merged.first_ns, merged.last_ns) == (-(10**9), 10**9)
    assert [group.slices for _, group in merged.rows_of_groups()] == [
        group.slices for _, group in whole.rows_of_groups()
    ]


TALLIED = st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 2))
AMOUNTS = st.tuples(TALLIED, st.integers(-5, 5), st.integers(-(1 << 70), 1 << 70))


def tally() -> Tally:
    return Tally(("name", "number"), {"sum": add_amounts, "least": min, "most": max})


@given(st.lists(AMOUNTS, max_size=30), st.integers(0, 30))
def test_tallies_merge_as_if_one_had_counted_all(
    taken: list[tuple[tuple[str | None, int], int, int]], cut: int
) -> None:
    whole, parts = tally(), [tally(), tally()]
    for at, (key, one, other) in enumerate(taken):
        for each in (whole, parts[at < cut]):
            each.join_amounts(key, (one, other, other))
    merged = tally()
    for part in parts:
        merged.merge(handed_over(tally, part))
    assert merged.rows() == whole.rows()
    assert {(row["name"], row["number"]): (row["sum"], row["least"], row["most"]) for row in whole.rows()} == {
        its: (
            sum(one for key, one, _ in taken if key == its),
            min(other for key, _, other in taken if key == its),
            max(other for key, _, other in taken if key == its),
        )
        for its in {key for key, _, _ in taken}
    }


@pytest.mark.plain
def test_states_of_other_tallies_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Tally(("name",), {"sum": add_amounts})
    with pytest.raises(ValueError, match="do not merge"):
        tally().merge(other)
    with pytest.raises(DecodeError, match="other keys or amounts"):
        tally().resume(other.export())
    wrong = tally()
    wrong.join_amounts(("a", 1.5), (1, 2, 3))
    with pytest.raises(DecodeError, match="float in a wrong place"):
        tally().resume(wrong.export())
    monkeypatch.setattr("decoders.analysis.sum_amounts_by_key.GROUPS_MAX", 1)
    full = tally()
    full.join_amounts(("a", 1), (1, 1, 1))
    with pytest.raises(DecodeError, match="more than 1 groups by name, number"):
        full.join_amounts(("b", 1), (1, 1, 1))


def batches(records: int, size: int, codec: str) -> TopicBatches:
    made = TopicBatches(1, records, size)
    made.codecs[codec] = 1
    made.sizes.add_value(size)
    made.counts.add_value(records)
    return made


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 999), st.sampled_from(["none", "lz4"])), min_size=1))
def test_batches_merge_as_if_one_had_counted_all(taken: list[tuple[str, int, str]]) -> None:
    whole, merged = BatchSizes(), BatchSizes()
    for topic, records, codec in taken:
        part = BatchSizes()
        for each in (whole, part):
            each.add_batches(("Produce", topic), batches(records, 10 * records, codec))
        merged.merge(handed_over(BatchSizes, part))
    assert merged.rows() == whole.rows()
    for row in whole.rows():
        its = [(records, codec) for topic, records, codec in taken if topic == row["topic"]]
        counts = sorted(records for records, _ in its)
        assert (row["batches"], row["records"]) == (len(its), sum(counts))
        assert row["codecs"] == Counter(codec for _, codec in its)
        assert row["records_p50"] == percentile(count_by_bin(counts), 50, counts[0], counts[-1])
        assert row["records_max"] == counts[-1]
        assert row["bytes_per_record"] == 10


@pytest.mark.plain
def test_states_of_batches_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DecodeError):
        BatchSizes().resume(tally().export())
    monkeypatch.setattr("decoders.analysis.sum_amounts_by_key.GROUPS_MAX", 1)
    full = BatchSizes()
    full.add_batches(("Produce", "a"), batches(1, 1, "none"))
    with pytest.raises(DecodeError, match="more than 1 groups by api, topic"):
        full.add_batches(("Produce", "b"), batches(1, 1, "none"))
