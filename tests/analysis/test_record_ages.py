"""Ages of records: those of `kw trace` for every record, the same of any split, scenes of reads and commits."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.fold_interface import Fold
from decoders.analysis.record_traces.asked_records import parse_asked_records
from decoders.analysis.record_traces.record_ages import COMMIT_AGE, RecordAges
from decoders.analysis.record_traces.record_traces import RecordTraces
from decoders.capture.read_capture import CaptureReader
from decoders.errors import DecodeError
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.declarations.make_published_schemas import make_statistics_schema
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit
from tests.analysis.scenes import Scene
from tests.analysis.test_record_traces import TOUR, commit, fetch, leave_while_a_fetch_waits, make_batch, produce
from tests.captures.shipped import capture_bytes
from tests.cli.worlds import kw, world

BY = ("topic", "partition", "group", "client", "time")
SCHEMA = jsonschema.Draft202012Validator(make_statistics_schema())


def exchanges_of(name: str, fold: Fold) -> list[Exchange]:
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(fold.needs))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


def rows_of_parts(metric: str, exchanges: list[Exchange]) -> list[dict[str, Any]]:
    """The rows; asserts that folds of parts, exported, resumed and merged in any order, give the same."""

    def make() -> RecordAges:
        return RecordAges(BY, metric, bucket_ns=10**9, over_time=True)

    whole = make()
    for each in exchanges:
        whole.add(each)
    draw = Random(len(exchanges))
    parts = [make(), make(), make()]
    for each in exchanges:
        draw.choice(parts).add(each)
    merged = make()
    for part in parts:
        handed = make()
        handed.resume(part.export())
        merged.merge(handed)
    assert merged.rows() == whole.rows()
    return whole.rows()


def ages(metric: str, scene: Scene) -> list[tuple[str | None, str, int, float, float]]:
    """Group, client, records, least and greatest age in s, of each row."""
    found = rows_of_parts(metric, scene.exchanges(RecordAges(BY, metric)))
    return [(row["group"], row["client"], row["count"], row["min"] / 1000, row["max"] / 1000) for row in found]


def test_what_comes_after_a_member_has_left_has_no_age() -> None:
    scene = leave_while_a_fetch_waits()
    produce(scene, 1, make_batch(["x"]), 10)
    assert ages("age", scene) == []


def test_orders_of_the_tour_were_read_about_ten_seconds_after_their_produce() -> None:
    outcome = kw("stats", TOUR, "--metric", "age", "--by", "topic,group", "-o", "ndjson")
    assert outcome.code == Exit.DONE
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    for row in rows:
        SCHEMA.validate(row)
    (row,) = (row for row in rows if row["topic"] == "orders")
    assert (row["group"], row["count"], row["values"]) == ("billing", 420, 420)
    assert 9_000 < row["p50"] < row["p95"] < 10_500
    assert row["max"] == pytest.approx(10_424.5, abs=5)


@pytest.mark.parametrize(("metric", "of_reader"), [("age", "age_ms"), (COMMIT_AGE, "commit_age_ms")])
@pytest.mark.parametrize("name", ["tour.pcapng", "three-nodes.pcapng.zst"])
def test_ages_are_those_that_the_lives_of_all_records_have(name: str, metric: str, of_reader: str) -> None:
    fold = RecordAges(("topic", "partition", "group"), metric)
    exchanges = exchanges_of(name, fold)
    for each in exchanges:
        fold.add(each)
    expected: dict[tuple[str, int, str | None], list[float]] = {}
    for topic in ("orders", "payments"):
        for number in range(3):
            traces = RecordTraces(parse_asked_records(f"{topic}/{number}@0-999"))
            for each in exchanges:
                traces.add(each)
            for row in traces.rows():
                for reader in row["read_by"]:
                    if reader[of_reader] is not None:
                        expected.setdefault((topic, number, reader["group"]), []).append(reader[of_reader])
    found = {(row["topic"], row["partition"], row["group"]): row for row in fold.rows()}
    assert found
    assert found.keys() == expected.keys()
    for key, row in found.items():
        its = expected[key]
        assert (row["count"], row["min"], row["max"]) == (len(its), min(its), max(its))
        assert row["sum"] == pytest.approx(sum(its))


@pytest.mark.parametrize("metric", ["age", COMMIT_AGE])
@pytest.mark.parametrize("name", ["tour.pcapng", "three-nodes.pcapng.zst"])
def test_any_split_gives_the_same_ages(name: str, metric: str) -> None:
    assert rows_of_parts(metric, exchanges_of(name, RecordAges(BY, metric)))


def test_a_damaged_state_is_an_error_of_ours() -> None:
    scene = Scene()
    produce(scene, 0, make_batch(["x"]), 5)
    fold = RecordAges(BY, "age")
    for each in scene.exchanges(fold):
        fold.add(each)
    state = fold.export()
    for at in range(0, len(state), 7):
        with pytest.raises(DecodeError):
            RecordAges(BY, "age").resume(state[:at])
    with pytest.raises(DecodeError):
        RecordAges(("topic",), "age").resume(state)


def test_only_the_first_read_of_a_group_counts_and_each_group_counts() -> None:
    scene = Scene()
    produce(scene, 0, make_batch(["a", "b"]), 0)
    produce(scene, 1, make_batch(["c", "d"]), 2)
    fetch(scene, 3, make_batch(["a", "b"]), 0, client="a")
    fetch(scene, 5, make_batch(["a", "b", "c", "d"]), 0, client="a", line=1)
    fetch(scene, 7, make_batch(["c", "d"], 2), 3, client="b", line=2)
    found = ages("age", scene)
    assert [(client, records, round(low), round(high)) for _, client, records, low, high in found] == [
        ("a", 2, 3, 3),
        ("a", 2, 4, 4),
        ("b", 1, 6, 6),
    ]
    assert {group for group, *_ in found} == {None}


def test_an_age_counts_from_the_first_try_and_needs_a_produce() -> None:
    """A retried batch is as old as its first try; followers, and records written before the capture, have no age."""
    scene = Scene()
    batch = make_batch(["a"], producer_id=7, producer_epoch=0, base_sequence=0)
    produce(scene, 0, batch, None)
    produce(scene, 2, batch, 0, line=1)
    fetch(scene, 1.5, make_batch(["a"]), 0, client="follower", replica=2, line=2)
    fetch(scene, 5, make_batch(["a", "b"]), 0, client="a", line=3)
    ((_, client, records, low, _),) = ages("age", scene)
    assert (client, records, round(low)) == ("a", 1, 5)


def test_commits_count_for_what_they_are_the_first_to_cover() -> None:
    scene = Scene()
    produce(scene, 0, make_batch(["a", "b"]), 0)
    produce(scene, 1, make_batch(["c", "d"]), 2)
    commit(scene, 4, 3)
    commit(scene, 5, 2)
    commit(scene, 6, 4)
    found = ages(COMMIT_AGE, scene)
    assert [(group, records, round(low), round(high)) for group, _, records, low, high in found] == [
        ("billing", 3, 3, 4),
        ("billing", 1, 5, 5),
    ]


@pytest.mark.parametrize("more", [("--jobs", "2"), ("--topic", "orders,payments"), ("-f", "api != JoinGroup")])
def test_jobs_and_filters_lose_no_age(more: tuple[str, ...]) -> None:
    words = ("stats", TOUR, "--metric", "age", "--by", "time,partition,group", "-o", "csv", "-q")
    whole = kw(*words).out
    assert len(whole.splitlines()) > 5
    assert kw(*words, *more).out == whole


def test_records_of_kw_have_the_ages_of_the_capture() -> None:
    words = ("--metric", "age", "-o", "ndjson", "-q")
    sniffed = kw("sniff", TOUR, "-o", "ndjson").out.encode()
    assert kw("stats", "-", *words, env=world(sniffed)).out == kw("stats", TOUR, *words).out


def test_dimensions_that_records_lack_are_refused() -> None:
    outcome = kw("stats", TOUR, "--metric", "age", "--by", "api")
    assert outcome.code == Exit.USAGE
    assert "--by api: --metric age is of records, which have client, client_id, address" in outcome.err


def test_no_ages_are_explained() -> None:
    outcome = kw("stats", TOUR, "--metric", "commit-age", "--api", "offsetcommit", env=world(columns=60, terminal=True))
    assert outcome.code == Exit.DONE
    assert "no record whose Produce is here too" in outcome.out.replace("\n", " ")


@pytest.mark.plain
@pytest.mark.parametrize("form", ["text", "csv"])
@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        (
            ("stats", "--metric", "age", str(TOUR)),
            "8 batches, 7 reads, 2 transaction ends, 2 markers and 2 commits",
        ),
        (
            ("trace", str(TOUR), "key=customer-3"),
            "8 positions, 3 commits, 2 transaction ends, 2 markers, 1 read and 1 batch",
        ),
        (
            ("trace", "--losses", str(TOUR)),
            "41 positions, 7 reads, 6 batches, 3 commits, 2 transaction ends and 2 markers",
        ),
        (("trace", "--duplicates", str(TOUR)), "53 records and 32 batches"),
    ],
    ids=lambda words: words[1] if isinstance(words, tuple) else "",
)
def test_what_the_index_has_no_room_for_is_told(
    words: tuple[str, ...], left_out: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("decoders.analysis.record_traces.record_index.ROWS_INDEXED_MAX", 8)
    for jobs in ("1", "2"):
        done = kw(*words, "--jobs", jobs, "-o", form)
        assert done.code == Exit.DONE
        said = " ".join((done.out if form == "text" else done.err).split())
        told = "beyond what kw keeps, and left out: ask for less, by --topic, --since or --until"
        assert (f"{left_out} are {told}" if jobs == "1" else told) in said


def test_an_index_with_room_for_all_says_nothing() -> None:
    done = kw("stats", "--metric", "age", str(TOUR))
    assert "left out" not in done.out + done.err
