"""Portraits of clients and topics: the counts of exchange records, the same however exchanges are split and merged."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from random import Random

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.groups.group_rows import Groups
from decoders.analysis.portraits import client_and_broker_portraits, topic_portraits
from decoders.analysis.portraits.client_and_broker_portraits import Brokers, Clients, Portraits
from decoders.analysis.portraits.topic_portraits import TopicPortraits
from decoders.analysis.transactions.transactions_fold import Transactions
from decoders.capture.read_capture import CaptureReader
from decoders.errors import Malformed
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import kw
from tests.sampling import sampled

SCHEMA_FILE = FOLDER.parent / "decoders" / "messages" / "portraits.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))
FOLDS: dict[str, Callable[[], Portraits]] = {
    "clients": Clients,
    "groups": Groups,
    "transactions": Transactions,
    "topics": TopicPortraits,
    "brokers": Brokers,
}
TOUR = str(FOLDER / "tour.pcapng")


@cache
def exchanges(name: str) -> list[Exchange]:
    """The exchanges of a capture."""
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(*(make().needs for make in FOLDS.values())))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


def folded(make: Callable[[], Portraits], some: list[Exchange]) -> Portraits:
    fold = make()
    for each in some:
        fold.add(each)
    return fold


@pytest.mark.plain  # compiled methods call each other directly
@pytest.mark.parametrize("word", ["clients", "groups", "topics", "brokers"])
def test_names_of_alike_exchanges_are_found_once(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    make, some = FOLDS[word], exchanges("tour.pcapng") * 2
    found: list[int] = []
    kind: type[Portraits] = type(make())
    find = kind.names_of_exchange

    def noted(self: Portraits, exchange: Exchange) -> list[tuple[str, str]]:
        found.append(exchange.place)
        return find(self, exchange)

    monkeypatch.setattr(kind, "names_of_exchange", noted)
    alike = folded(make, some)
    assert 0 < len(found) < len(some) / 2
    monkeypatch.setattr(kind, "key_of_alike_exchanges", lambda _self, _exchange: None)
    each = folded(make, some)
    assert alike.export() == each.export()
    monkeypatch.undo()
    monkeypatch.setattr(client_and_broker_portraits, "ALIKE_MAX", 3)
    assert folded(make, some).export() == each.export()


def test_the_names_of_topic_ids_are_read_without_the_rest_of_a_body() -> None:
    told = [each for each in exchanges("three-nodes.pcapng.zst") if each.topic_names]
    assert len(told) > 20
    for exchange in told[:20]:
        assert not hasattr(exchange, "_values")
        names = exchange.topic_names
        _ = exchange.request, exchange.response
        assert exchange.topic_names == names


@pytest.mark.one_in(5)
@pytest.mark.parametrize("word", FOLDS)
@pytest.mark.parametrize("name", CLEAN)
def test_any_split_gives_the_same_rows(name: str, word: str) -> None:
    make, draw = FOLDS[word], Random(name)
    parts: list[list[Exchange]] = [[] for _ in range(4)]
    for each in exchanges(name):
        draw.choice(parts).append(each)
    merged = make()
    for part in draw.sample(parts, 4):
        handed = make()
        handed.resume(folded(make, part).export())
        merged.merge(handed)
    assert merged.rows() == folded(make, exchanges(name)).rows()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("word", FOLDS)
@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_rows_follow_the_schema(name: str, word: str) -> None:
    outcome = kw(word, str(FOLDER / name), "-o", "ndjson")
    assert outcome.code == Exit.DONE
    for line in outcome.out.splitlines():
        SCHEMA.validate(json.loads(line))


def test_counts_are_those_of_the_records() -> None:
    records = [json.loads(line) for line in kw("sniff", TOUR, "-o", "ndjson", "-q").out.splitlines()]
    rows = [json.loads(line) for line in kw("clients", TOUR, "-o", "ndjson").out.splitlines()]
    counts: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for row in rows:
        counts[row["client_id"]] += row["count"]
        sent[row["client_id"]] += row["request_bytes"]
        errors[row["client_id"]] += row["errors"]
    expected = Counter(record["client_id"] for record in records)
    assert counts == expected
    for record in records:
        sent[record["client_id"]] -= record["request_size"] or 0
        errors[record["client_id"]] -= any("expected" not in error for error in record["errors"])
    assert not any(sent.values())
    assert not any(errors.values())
    written: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        if record["api"] == "Produce":
            names = record.get("topic_names", {})
            topics = record["request"]["topic_data"]
            written[record["client_id"]] |= {topic.get("name") or names[topic["topic_id"]] for topic in topics}
    assert {row["client_id"]: set(row["writes"]) for row in rows if row["writes"]} == written


def test_a_topic_that_does_not_exist_is_only_asked_for() -> None:
    rows = {row["topic"]: row for row in map(json.loads, kw("topics", TOUR, "-o", "ndjson").out.splitlines())}
    assert rows["order"]["asks"] == ["checkout-8"]
    assert [rows["order"][name] for name in ("writes", "reads", "administers")] == [[], [], []]
    assert rows["payments"]["writes"] == ["ledger"]
    assert rows["payments"]["reads"] == ["audit-1", "fraud-1"]
    assert rows["order"]["error_codes"] == {"UNKNOWN_TOPIC_OR_PARTITION": 5}


def test_what_is_written_is_what_the_records_say() -> None:
    lines = kw("sniff", TOUR, "--api", "Produce", "-o", "ndjson", "-q").out.splitlines()
    batches: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    codecs: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in map(json.loads, lines):
        for topic in record["request"]["topic_data"]:
            name = topic.get("name") or record["topic_names"][topic["topic_id"]]
            for part in topic["partition_data"]:
                for batch in part["records"]:
                    its = batches[name, part["index"]]
                    its[0], its[1], its[2] = its[0] + 1, its[1] + batch["record_count"], its[2] + batch["size"]
                    codecs[name][batch["codec"]] += 1
    rows = {row["topic"]: row for row in map(json.loads, kw("topics", TOUR, "-o", "ndjson").out.splitlines())}
    told = {
        (name, part["partition"]): [part["batches"], part["records"], part["bytes"]]
        for name, row in rows.items()
        for part in row["partitions"]
        if part["batches"]
    }
    assert told == batches
    assert {name: row["written"]["codecs"] for name, row in rows.items() if row["written"]} == codecs
    assert rows["order"]["written"] is None
    (size,) = {row["written"]["bytes"] for row in rows.values() if row["topic"] == "payments"}
    assert size == sum(its[2] for (name, _), its in batches.items() if name == "payments")


def test_partitions_have_leaders_and_ends_and_groups_lag() -> None:
    rows = {row["topic"]: row for row in map(json.loads, kw("topics", TOUR, "-o", "ndjson").out.splitlines())}
    (payments,) = rows["payments"]["partitions"]
    metadata = kw("sniff", TOUR, "--api", "Metadata", "--topic", "payments", "-o", "ndjson", "-q").out.splitlines()
    (topic, *_) = (each for each in json.loads(metadata[-1])["response"]["topics"] if each["name"] == "payments")
    assert (payments["leader"], rows["payments"]["topic_id"]) == (
        topic["partitions"][0]["leader_id"],
        topic["topic_id"],
    )
    groups = {row["group"]: row for row in map(json.loads, kw("groups", TOUR, "-o", "ndjson").out.splitlines())}
    lags = {name: groups[name]["commit_lag"] for name in rows["payments"]["lag"]}
    assert rows["payments"]["lag"] == lags == {"audit": 1, "fraud": 0}
    assert payments["high_watermark"] == groups["audit"]["partitions"][0]["high_watermark"]
    (one,) = map(
        json.loads, kw("topics", TOUR, "--topic", "payments", "--api", "Fetch", "-o", "ndjson").out.splitlines()
    )
    assert (one["partitions"][0]["leader"], one["written"]) == (payments["leader"], None)


def test_brokers_by_node() -> None:
    rows = [json.loads(line) for line in kw("brokers", TOUR, "-o", "ndjson").out.splitlines()]
    assert [(row["node_id"], row["broker"], row["advertised"]) for row in rows] == [
        (number, f"127.0.0.1:{port}", f"127.0.0.1:{port}") for number, port in ((1, 9092), (2, 9093), (3, 9094))
    ]
    assert {row["release"] for row in rows} == {"4.3"}
    assert sum(row["count"] for row in rows) == len(exchanges("tour.pcapng"))
    # Advertised names are learnt from exchanges that the filter leaves out.
    fetches = [json.loads(line) for line in kw("brokers", TOUR, "--api", "fetch", "-o", "ndjson").out.splitlines()]
    assert [row["node_id"] for row in fetches] == [1, 2, 3]
    (one,) = [json.loads(line) for line in kw("brokers", TOUR, "--name", "2", "-o", "ndjson").out.splitlines()]
    assert one == rows[1]


@pytest.mark.plain
def test_names_beyond_the_limit_are_said_to_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_and_broker_portraits, "NAMES_OF_PORTRAIT_MAX", 1)
    rows = folded(TopicPortraits, exchanges("tour.pcapng")).rows()
    row = next(row for row in rows if row["topic"] == "orders")
    assert len(row["reads"]) == len(row["groups"]) == 1
    assert {"apis", "groups"} <= set(row["cut"])


def test_what_is_no_state() -> None:
    with pytest.raises(Malformed):
        Clients().resume(b"\x93\x01\x02\x03")


@pytest.mark.plain
def test_partitions_beyond_the_limit_are_not_kept_and_kept_ones_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_portraits, "PARTITIONS_KEPT_MAX", 2)
    written = topic_portraits.Written()
    for number in (3, 5, 7, 3):
        written.count_batches(number, 1, 10, 100)
    assert written.partitions == {3: [2, 20, 200], 5: [1, 10, 100]}
