"""Portraits of clients and topics: the counts of exchange records, the same rows whatever was split where."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from random import Random

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis import portraits
from decoders.analysis.groups.groups import Groups
from decoders.analysis.portraits import Brokers, Clients, Portraits, TopicPortraits
from decoders.capture.files import CaptureReader
from decoders.errors import LimitExceeded, Malformed
from decoders.exchanges.engine import Engine
from decoders.exchanges.exchange import Exchange
from kwcli.env import Exit
from kwcli.output import Wanted
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import kw

SCHEMA_FILE = FOLDER.parent / "decoders" / "messages" / "portraits.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))
FOLDS = {"clients": Clients, "groups": Groups, "topics": TopicPortraits, "brokers": Brokers}
TOUR = str(FOLDER / "tour.pcapng")


@cache
def exchanges(name: str) -> list[Exchange]:
    """The exchanges of a capture."""
    reader, engine = CaptureReader(), Engine(needs=Wanted(Clients().needs, Brokers().needs, Groups().needs))
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


def folded(make: type[Portraits], some: list[Exchange]) -> Portraits:
    fold = make()
    for each in some:
        fold.add(each)
    return fold


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


@pytest.mark.parametrize("word", FOLDS)
@pytest.mark.parametrize("name", CLEAN)
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


def test_brokers_by_node() -> None:
    rows = [json.loads(line) for line in kw("brokers", TOUR, "-o", "ndjson").out.splitlines()]
    assert [(row["node_id"], row["broker"], row["advertised"]) for row in rows] == [
        (number, f"127.0.0.1:{port}", f"127.0.0.1:{port}") for number, port in ((1, 9092), (2, 9093), (3, 9094))
    ]
    assert {row["release"] for row in rows} == {"4.3"}
    assert sum(row["count"] for row in rows) == len(exchanges("tour.pcapng"))
    # What brokers advertise is learnt from exchanges that the filter leaves out.
    fetches = [json.loads(line) for line in kw("brokers", TOUR, "--api", "fetch", "-o", "ndjson").out.splitlines()]
    assert [row["node_id"] for row in fetches] == [1, 2, 3]
    (one,) = [json.loads(line) for line in kw("brokers", TOUR, "--name", "2", "-o", "ndjson").out.splitlines()]
    assert one == rows[1]


def test_names_beyond_the_limit_are_said_to_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portraits, "NAMES_OF_PORTRAIT_MAX", 1)
    rows = folded(TopicPortraits, exchanges("tour.pcapng")).rows()
    row = next(row for row in rows if row["topic"] == "orders")
    assert len(row["reads"]) == len(row["groups"]) == 1
    assert {"apis", "groups"} <= set(row["cut"])


def test_too_many_and_what_is_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Malformed):
        Clients().resume(b"\x93\x01\x02\x03")
    monkeypatch.setattr(portraits, "GROUPS_MAX", 2)
    with pytest.raises(LimitExceeded, match="more than 2 clients"):
        folded(Clients, exchanges("tour.pcapng"))
