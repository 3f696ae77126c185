"""Advisories: versions held against the ranges of each, vendors' numbers, what is never said, and what was seen."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.advisories.advisory_audit import AdvisoryAudit, is_finding_row
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.protocol_facts.advisories import ADVISORIES, find_kafka_releases_of_client, parse_release_numbers
from decoders.protocol_facts.api_keys import API_VERSIONS, METADATA, PRODUCE, SASL_HANDSHAKE
from tests.analysis.attack_scenes import (
    JNDI,
    LATE,
    altered,
    challenged,
    declared_tags,
    fetched_as,
    offering,
    routed,
    tried,
)
from tests.analysis.scenes import Scene
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((FOLDER.parent / "decoders" / "messages" / "audit.schema.json").read_bytes())
)
PRODUCER, LOG, PROVIDERS, OAUTH = "CVE-2026-35554", "CVE-2026-33558", "CVE-2024-31141", "CVE-2025-27817"
PYTHON = ("CVE-2026-10142", "CVE-2026-10143")


def rows_of(scene: Scene) -> list[dict[str, Any]]:
    """The rows of a scene, also where its exchanges are added to two folds; each valid by the schema."""
    settled = scene.exchanges(AdvisoryAudit())
    whole, one, other = AdvisoryAudit(), AdvisoryAudit(), AdvisoryAudit()
    for number, each in enumerate(settled):
        whole.add(each)
        (one, other)[number % 2].add(each)
    resumed = AdvisoryAudit()
    resumed.resume(other.export())
    one.merge(resumed)
    rows = whole.rows()
    assert one.rows() == rows
    for row in rows:
        SCHEMA.validate({"kind": "advisory", "schema": 1, **row})
    return rows


def named(name: str, version: str, client: str = "app") -> Scene:
    """A client that says its software, asks for metadata and writes to `orders`."""
    scene = Scene().ask(
        0,
        (API_VERSIONS, 3),
        {"client_software_name": name, "client_software_version": version},
        {"api_keys": []},
        client=client,
    )
    scene.ask(1, (METADATA, 9), {}, {}, client=client)
    asked = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": None}]}]}
    return scene.ask(2, (PRODUCE, 8), asked, {"responses": []}, client=client)


def verdicts(scene: Scene) -> dict[str | None, str]:
    """Advisory → verdict on the client of a scene."""
    return {row["id"]: row["verdict"] for row in rows_of(scene) if row["broker"] is None}


JAVA = "apache-kafka-java"


@pytest.mark.parametrize(
    ("software", "version", "expected"),
    [
        (JAVA, "2.8.2", {PRODUCER: "affected", LOG: "affected", PROVIDERS: "affected"}),
        (JAVA, "2.7.2", {LOG: "affected", PROVIDERS: "affected"}),
        (JAVA, "2.8.0", {**dict.fromkeys((PRODUCER, LOG, PROVIDERS, "CVE-2021-38153"), "affected")}),
        (JAVA, "3.7.1", {PRODUCER: "affected", LOG: "affected", OAUTH: "affected"}),
        (JAVA, "3.9.1", {PRODUCER: "affected", LOG: "affected"}),
        (JAVA, "3.9.2", {None: "not_affected"}),
        (JAVA, "4.0.0", {PRODUCER: "affected", LOG: "affected"}),
        (JAVA, "4.0.1", {PRODUCER: "affected", LOG: "maybe"}),
        (JAVA, "4.0.2", {None: "not_affected"}),
        (JAVA, "4.1.1", {PRODUCER: "affected"}),
        (JAVA, "4.1.2", {None: "not_affected"}),
        (JAVA, "4.2.0", {None: "not_affected"}),
        # Vendors: their numbers go through a table; what none has is not known.
        (JAVA, "7.5.1-ccs", {**dict.fromkeys((PRODUCER, LOG, PROVIDERS, OAUTH), "maybe")}),
        (JAVA, "7.9.0-ce", {PRODUCER: "maybe", LOG: "maybe", OAUTH: "maybe"}),
        (JAVA, "3.5.0.redhat-00014", {**dict.fromkeys((PRODUCER, LOG, PROVIDERS, OAUTH), "maybe")}),
        (JAVA, "4.2.0.redhat-00001", {None: "not_affected"}),
        (JAVA, "2.8.2-amzn-1", {PRODUCER: "maybe", LOG: "maybe", PROVIDERS: "maybe"}),
        (JAVA, "9.1.0-ccs", {None: "unknown"}),
        (JAVA, "4.3.0-SNAPSHOT", {None: "unknown"}),
        (JAVA, "unknown", {None: "unknown"}),
        # Other libraries.
        ("kafka-python", "2.3.1", dict.fromkeys(PYTHON, "affected")),
        ("kafka-python", "2.3.2", {None: "not_affected"}),
        ("kafka-python", "2.3.2.dev", {None: "unknown"}),
        ("librdkafka", "2.16.0", {None: "not_affected"}),
    ],
)
def test_versions_are_judged_by_the_ranges(software: str, version: str, expected: dict[str | None, str]) -> None:
    assert verdicts(named(software, version)) == expected


def test_a_client_that_names_no_release_is_never_said_not_to_be_affected() -> None:
    scene = Scene().ask(0, (METADATA, 1), {"topics": []}, {}).ask(1, (METADATA, 1), {"topics": []}, {})
    assert verdicts(scene) == {None: "unknown"}


def test_programs_of_streams_and_connect_have_advisories_of_their_own() -> None:
    streams = verdicts(named(JAVA, "3.9.1", "shop-6f2-StreamThread-1-consumer"))
    assert streams == {PRODUCER: "affected", LOG: "affected", "CVE-2026-111496": "maybe"}
    worker = verdicts(named(JAVA, "3.3.2", "connector-producer-sink-0"))
    assert (worker["CVE-2023-25194"], worker["CVE-2025-27818"]) == ("maybe", "maybe")


@pytest.mark.parametrize(
    ("release", "some", "none"),
    [
        ("4.3", ("CVE-2026-111115", "CVE-2026-111108", "CVE-2026-83525"), ("CVE-2026-33557", LOG)),
        ("4.4", (), ("CVE-2026-111115", "CVE-2026-111108", "CVE-2026-111073", "CVE-2026-83525")),
        ("4.1", ("CVE-2026-33557", "CVE-2026-110985", "CVE-2026-111115"), (LOG,)),
        ("3.8", ("CVE-2024-56128", LOG), ("CVE-2022-34917",)),
        ("1.0", ("CVE-2018-1288", "CVE-2018-17196"), ("CVE-2017-12610", "CVE-2026-111115")),
    ],
)
def test_a_broker_is_maybe_at_most(release: str, some: tuple[str, ...], none: tuple[str, ...]) -> None:
    rows = [row for row in rows_of(offering(release)) if row["broker"]]
    assert {row["verdict"] for row in rows} <= {"maybe", "not_affected"}
    found = {row["id"] for row in rows}
    assert {*some} <= found
    assert not {*none} & found
    assert all(release in (row["release"] or "") for row in rows)


def test_a_broker_that_does_not_say_what_it_serves_is_unknown() -> None:
    rows = [row for row in rows_of(named(JAVA, "3.9.1")) if row["broker"]]
    assert [(row["id"], row["verdict"]) for row in rows] == [(None, "unknown")]


@pytest.mark.parametrize(
    ("scene", "advisory", "sign", "who"),
    [
        (declared_tags(1_000_000), "CVE-2026-111115", "attempt", "10.0.0.9:9092"),
        (altered(44, JNDI), "CVE-2025-27819", "attempt", "10.0.0.9:9092"),
        (fetched_as(3, "app"), "CVE-2018-1288", "attempt", "10.0.0.9:9092"),
        (LATE, PRODUCER, "trigger", "app"),
        (
            offering("3.7").ask(1, (SASL_HANDSHAKE, 1), {"mechanism": "SCRAM-SHA-512"}, {"error_code": 0}),
            *("CVE-2024-56128", "trigger", "10.0.0.9:9092"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_seen_is_told_apart_from_what_is_affected(scene: Scene, advisory: str, sign: str, who: str) -> None:
    (row,) = [row for row in rows_of(scene) if row["id"] == advisory]
    assert (row["seen"], row["broker"] or row["client_id"]) == (sign, who)
    assert row["verdict"] != "affected"
    assert is_finding_row(row)
    assert row["findings"]
    assert row["evidence"]


@pytest.mark.parametrize(
    ("version", "verdict"), [("2.3.1", "affected"), ("2.3.2", "not_affected")], ids=["2.3.1", "2.3.2"]
)
def test_iterations_without_bound_are_an_attempt_on_a_client(version: str, verdict: str) -> None:
    """Also on one that bounds them: whoever asks is no broker of Kafka."""
    rows = rows_of(challenged(500_000_000, name="kafka-python", version=version))
    (row,) = [row for row in rows if row["seen"] and row["broker"] is None]
    found = row["id"], row["verdict"], row["seen"], row["client_id"]
    assert found == ("CVE-2026-10143", verdict, "attempt", "app")
    assert is_finding_row(row)
    assert {each["id"] for each in row["findings"]} == {"scram-iterations"}


def test_what_kafka_asks_for_is_no_attempt() -> None:
    rows = rows_of(challenged(16_384, name="kafka-python", version="2.3.1"))
    assert {row["seen"] for row in rows if row["broker"] is None} == {None}
    (row,) = [row for row in rows if row["id"] == "CVE-2026-10143"]
    assert "logins with SCRAM were seen" in row["why"]


def test_a_trigger_harms_nobody_who_is_not_affected() -> None:
    scene = tried((10, 121), scene=named(JAVA, "4.2.0"))
    (row,) = [row for row in rows_of(scene) if row["broker"] is None]
    assert (row["id"], row["verdict"], row["seen"]) == (None, "not_affected", None)


@pytest.mark.parametrize(
    ("software", "version", "verdict"),
    [(JAVA, "3.9.1", "affected"), (JAVA, "9.9.9-ccs", "affected"), (JAVA, "4.2.0", "not_affected")],
)
def test_damage_says_more_than_a_version_that_nobody_knows(software: str, version: str, verdict: str) -> None:
    scene = routed("orders", "orders", "orders+invoices", "orders", "orders", scene=named(software, version))
    (row,) = [row for row in rows_of(scene) if row["id"] == PRODUCER]
    assert (row["verdict"], row["seen"], is_finding_row(row)) == (verdict, "damage", True)


def test_the_java_producer_of_a_shipped_capture_is_affected() -> None:
    ran = kw("audit", str(FOLDER / "sasl-gssapi.pcap.gz"), "--advisories", "-o", "ndjson")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 4
    (row,) = [row for row in rows if row["id"] == PRODUCER and row["client_id"] == "producer-1"]
    assert row["verdict"] == "affected"
    assert row["seen"] is None
    assert row["client_software"] == {"name": JAVA, "version": "2.8.2"}
    assert row["topics"] == ["orders"]
    assert row["fixed"] == ["3.9.2", "4.0.2", "4.1.2", "4.2.0"]
    (nameless,) = [row for row in rows if row["client_id"] == "consumer-1" and row["id"] is None]
    assert nameless["verdict"] == "unknown"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CLEAN)
def test_healthy_captures_show_no_attack(name: str) -> None:
    ran = kw("audit", str(FOLDER / name), "--advisories", "-o", "ndjson")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert rows
    for row in rows:
        SCHEMA.validate(row)
    assert {row["seen"] for row in rows} == {None}
    assert ran.code == (4 if any(row["verdict"] == "affected" for row in rows) else 0)


def test_rows_of_the_table_are_complete() -> None:
    assert len({each.id for each in ADVISORIES}) == len(ADVISORIES)
    assert [each.published for each in ADVISORIES] == sorted((each.published for each in ADVISORIES), reverse=True)
    for each in ADVISORIES:
        assert re.fullmatch(r"CVE-\d{4}-\d{4,}", each.id)
        assert each.address.startswith("https://")
        assert each.affected or each.doubtful
        assert {*each.signs} <= FINDINGS.keys()
        spans = [*each.affected, *(span[:2] for span in each.doubtful)]
        assert all(parse_release_numbers(first) <= parse_release_numbers(last) for first, last in spans)
        ranges = [(parse_release_numbers(first), parse_release_numbers(last)) for first, last in spans]
        assert not any(
            first <= parse_release_numbers(fixed) <= last for fixed in each.fixed for first, last in ranges
        ) or (
            each.id == LOG  # a release that is called fixed, and was seen with the defect
        )


@pytest.mark.parametrize(
    ("version", "first", "vendor"),
    [
        ("3.9.1", (3, 9, 1), ""),
        ("0.10.2.2", (0, 10, 2, 2), ""),
        ("6.2.15-ccs", (2, 8, 0), "Confluent"),
        ("7.4.0-0-ce", (3, 4, 0), "Confluent"),
        ("2.5.0.7.1.7.0-551", (2, 5, 0), "Cloudera"),
    ],
)
def test_versions_stand_for_releases_of_kafka(version: str, first: tuple[int, ...], vendor: str) -> None:
    found = find_kafka_releases_of_client(version)
    assert found is not None
    assert (found.first, found.vendor) == (first, vendor)
