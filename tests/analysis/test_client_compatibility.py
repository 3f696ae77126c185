"""Verdicts on clients: what breaks, what works, what cannot be said; the same however exchanges are split."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.client_compatibility import Audit, AuditTarget
from decoders.capture.read_capture import CaptureReader
from decoders.errors import Malformed
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.protocol_facts.kafka_releases import RELEASES, api_versions_of_release
from decoders.schema.api_declaration import Versions
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import kw
from tests.exchanges.talks import Turns, plan, request, response, run, segments
from tests.schema.values import random_value

SCHEMA_FILE = FOLDER.parent / "decoders" / "messages" / "audit.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))
NEEDS = WantedPaths(Audit().needs)
NEW = AuditTarget.of_release("4.0")


@cache
def exchanges(name: str) -> list[Exchange]:
    """The exchanges of a capture."""
    reader, engine = CaptureReader(), Engine(needs=NEEDS)
    found = engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


def folded(some: list[Exchange]) -> Audit:
    fold = Audit()
    for each in some:
        fold.add(each)
    return fold


@pytest.mark.parametrize("name", CLEAN)
def test_any_split_gives_the_same_rows(name: str) -> None:
    draw = Random(name)
    parts: list[list[Exchange]] = [[] for _ in range(4)]
    for each in exchanges(name):
        draw.choice(parts).append(each)
    whole = folded(exchanges(name))
    merged = Audit()
    for part in draw.sample(parts, 4):
        handed = Audit()
        handed.resume(folded(part).export())
        merged.merge(handed)
    assert merged.rows(NEW) == whole.rows(NEW)
    assert merged.judge_brokers("4.4") == whole.judge_brokers("4.4")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CLEAN)
def test_rows_follow_the_schema_and_the_versions_of_the_release(name: str) -> None:
    outcome = kw("audit", str(FOLDER / name), "--target", "4.0", "-o", "ndjson")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert rows
    for row in rows:
        SCHEMA.validate(row)
        for use in row["apis"]:
            serves = use["serves"]
            assert serves is None or not serves[0] <= use["api_version"] <= serves[1]
        assert (row["verdict"] == "breaks") <= bool(row["apis"])
    breaking = any(row["verdict"] == "breaks" for row in rows)
    assert outcome.code == (Exit.FINDINGS if breaking else Exit.DONE)
    for line in kw("audit", str(FOLDER / name), "--clients", "4.4", "-o", "ndjson").out.splitlines():
        SCHEMA.validate(json.loads(line))


def test_what_is_not_a_state_is_refused() -> None:
    with pytest.raises(Malformed):
        Audit().resume(b"\x93\x01\x02\x03")


# Conversations made for each branch of the judgement.


def offering(release: str) -> dict[str, Any]:
    """The ApiVersions answer of a release."""
    rows = [
        {"api_key": key, "min_version": its.low, "max_version": its.high}
        for key, its in api_versions_of_release(release).items()
    ]
    return {"error_code": 0, "api_keys": rows, "throttle_time_ms": 0}


class Told:
    """A client's requests to a broker and the answers, as turns."""

    def __init__(self, client_id: str | None = "app") -> None:
        self.client_id = client_id
        self.turns: Turns = []

    def ask(self, broker: str, **software: str) -> Told:
        """Ask for the versions that a broker of a release serves."""
        version = 3 if software else 0
        self.turns.append((True, request(18, version, 1, self.client_id, software)))
        self.turns.append((False, response(18, version, 1, offering(broker))))
        return self

    def use(self, *uses: tuple[int, int]) -> Told:
        """Use versions of APIs, with random bodies."""
        for number, (key, version) in enumerate(uses, 2):
            random = Random(number)
            asked = random_value(plan(key, version, "request"), random, strange=False, values=5)
            answer = random_value(plan(key, version, "response"), random, strange=False, values=5)
            if key == 0:
                asked["acks"] = 1
            self.turns.append((True, request(key, version, number, self.client_id, asked)))
            self.turns.append((False, response(key, version, number, answer)))
        return self

    def row(self, target: AuditTarget = NEW) -> dict[str, Any]:
        """The one row of this client."""
        settled = run(segments(self.turns, Random(1)), ports={9092}, needs=NEEDS)
        some = [each for each in settled if isinstance(each, Exchange)]
        assert len(some) == len(self.turns) / 2
        (row,) = folded(some).rows(target)
        return row


JAVA = {"client_software_name": "apache-kafka-java"}
PRODUCE, FETCH, METADATA = 0, 1, 3


@pytest.mark.parametrize(
    ("told", "verdict", "why", "needs"),
    [
        # The client had a choice, and uses its newest version.
        (Told().ask("3.9").use((METADATA, 1), (FETCH, 2)), "breaks", "Fetch 2 (4 to 17 are served)", "0.11.0"),
        # The client never asks for versions, so it makes no choice.
        (Told().use((METADATA, 12), (PRODUCE, 2)), "breaks", "Produce 2 (3 to 12 are served)", "0.11.0"),
        # The client's broker had no version that the target serves.
        (Told().ask("0.10.0").use((METADATA, 1), (PRODUCE, 2)), "unknown", "only up to", None),
        (
            Told().ask("0.10.0", **JAVA, client_software_version="3.9.1").use((METADATA, 1), (PRODUCE, 2)),
            *("works", "library", None),
        ),
        # The answer of the client's broker is not in the capture.
        (Told().ask("3.9").use((METADATA, 12)), "unknown", "produces or fetches", None),
        (Told().use((PRODUCE, 9)), "unknown", "how it connects", None),
        (Told().ask("3.9").use((METADATA, 12), (12, 4), (FETCH, 12)), "unknown", "joins its group", None),
        (Told().ask("3.9").use((METADATA, 12), (11, 7), (12, 4), (FETCH, 12)), "works", "all versions that it", None),
        (Told().ask("3.9").use((METADATA, 12), (PRODUCE, 9)), "works", "all versions that it", None),
        (Told().ask("3.9").use((METADATA, 12), (19, 7)), "works", "all versions that it", None),
        # Known libraries are judged after a short time.
        (Told().ask("3.9", **JAVA, client_software_version="2.4.0").use((METADATA, 9)), "works", "library", None),
        (
            Told().ask("3.9", client_software_name="librdkafka", client_software_version="1.6.0").use((METADATA, 4)),
            *("unknown", "produces or fetches", None),
        ),
        (
            Told().ask("3.9", client_software_name="librdkafka", client_software_version="2.1.1").use((METADATA, 4)),
            *("works", "library", None),
        ),
        # An API that was removed.
        (Told().ask("3.9").use((METADATA, 12), (4, 0)), "breaks", "LeaderAndIsr 0 (is gone)", None),
    ],
)
def test_each_branch(told: Told, verdict: str, why: str, needs: str | None) -> None:
    row = told.row()
    assert row["verdict"] == verdict, row
    assert why in row["why"], row
    assert row["needs"] == needs
    SCHEMA.validate({"kind": "audit", "schema": 1, **row})


@pytest.mark.parametrize(
    ("name", "version", "verdict"),
    [
        ("librdkafka", "1.8.2", "works"),
        ("librdkafka", "1.8.1", "unknown"),
        ("librdkafka", "1.8", "unknown"),
        ("librdkafka", "1.8.2-RC3", "works"),
        ("confluent-kafka-python", "1.7.0-librdkafka-1.8.2", "works"),
        ("confluent-kafka-python", "1.9.0-librdkafka-1.8.1", "unknown"),
        ("kafkajs", "1.15.0", "works"),
        ("kafkajs", "1.14.99", "unknown"),
        ("sarama", "1.30.1", "works"),
        ("sarama", "1.30.0", "unknown"),
        ("kafka-python", "2.0.2", "works"),
        ("kafka-python", "2.0.1", "unknown"),
        ("kafka-python", "10.0.0", "works"),
        ("another", "9.9.9", "unknown"),
    ],
)
def test_libraries_speak_what_4_0_serves_from_their_first_release_that_does(
    name: str, version: str, verdict: str
) -> None:
    told = Told().ask("3.9", client_software_name=name, client_software_version=version).use((METADATA, 4))
    why = (
        "its library speaks versions that are served"
        if verdict == "works"
        else "not seen: whether it produces or fetches"
    )
    for release, its, reason in (
        ("4.0", verdict, why),
        ("4.4", verdict, why),
        ("3.9", "unknown", "not seen: whether it produces or fetches"),
    ):
        row = told.row(AuditTarget.of_release(release))
        assert (row["verdict"], row["why"]) == (its, reason), release


@pytest.mark.parametrize(
    ("version", "served", "verdict"),
    [
        # Release 2.4 speaks Produce 0 to 8.
        ("2.4.0", Versions(8, 12), "works"),
        ("2.4.0", Versions(9, 12), "breaks"),
        ("3.9.1", Versions(9, 12), "works"),
        ("99.1", Versions(9, 12), "unknown"),
    ],
)
def test_a_java_client_of_an_old_broker_is_judged_by_its_release(version: str, served: Versions, verdict: str) -> None:
    told = Told().ask("0.10.0", **JAVA, client_software_version=version).use((METADATA, 5), (PRODUCE, 2))
    target = AuditTarget("the broker here:9092", {METADATA: Versions(4, 13), PRODUCE: served}, None)
    assert told.row(target)["verdict"] == verdict


def test_versions_too_new_for_an_older_target() -> None:
    uses = ((METADATA, 12), (FETCH, 17))
    assert Told().ask("4.0").use(*uses).row(AuditTarget.of_release("2.8"))["verdict"] == "works"
    assert Told().use(*uses).row(AuditTarget.of_release("2.8"))["verdict"] == "breaks"


def test_a_broker_as_target_serves_what_it_says() -> None:
    target = AuditTarget("the broker here:9092", {METADATA: Versions(4, 13), PRODUCE: Versions(0, 12)}, None)
    assert Told().ask("3.9").use((METADATA, 5), (PRODUCE, 1)).row(target)["verdict"] == "works"
    assert Told().ask("3.9").use((METADATA, 1), (PRODUCE, 1)).row(target)["verdict"] == "breaks"


def test_what_brokers_name_and_do_not_serve() -> None:
    offered = {METADATA: Versions(0, 13), PRODUCE: Versions(0, 13), FETCH: Versions(4, 18)}
    target = AuditTarget.of_broker("the broker new:9092", offered)
    assert Told().ask("3.9").use((METADATA, 5), (PRODUCE, 2)).row(target)["verdict"] == "breaks"
    old = AuditTarget.of_broker("the broker old:9092", {**offered, FETCH: Versions(0, 17)})
    assert Told().ask("3.9").use((METADATA, 5), (PRODUCE, 2)).row(old)["verdict"] == "works"


def test_brokers_that_new_clients_cannot_use() -> None:
    told = Told().ask("0.10.0").use((METADATA, 1))
    some = run(segments(told.turns, Random(1)), ports={9092}, needs=NEEDS)
    (row,) = folded([each for each in some if isinstance(each, Exchange)]).judge_brokers("4.4")
    assert row["verdict"] == "breaks"
    lacking = {each["api"]: (each["offers"], each["speaks"]) for each in row["apis"]}
    assert lacking["Fetch"] == ([0, 2], [4, 18])


def test_every_release_can_be_the_target() -> None:
    fold = folded(exchanges("tour.pcapng"))
    verdicts = {release: [row["verdict"] for row in fold.rows(AuditTarget.of_release(release))] for release in RELEASES}
    assert "breaks" not in verdicts["3.9"]
    assert verdicts["4.0"].count("breaks") == verdicts["4.4"].count("breaks") == 1
