"""Advisories, on recordings of releases that they name and of mended ones; and a batch that a script misroutes.

What is expected is reckoned here from the texts of the advisories: the releases that each names, in its own words.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from decoders.read_exchanges_of_captures import read_exchanges
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

RECORDED: Final = FOLDER / "advisories"
MISROUTED: Final = str(RECORDED / "misrouted.pcap.zst")
CAPTURES: Final = sorted(file.name for file in RECORDED.iterdir() if file.name != "misrouted.pcap.zst")

# Software → advisory → the releases that its text says are affected.
OF_CLIENTS: Final = {
    "apache-kafka-java": {
        "CVE-2026-35554": "2.8.0 – 3.9.1, 4.0.0 – 4.0.1, 4.1.0 – 4.1.1",
        "CVE-2026-33558": "0.11.0 – 3.9.1, 4.0.0 – 4.0.0",
        "CVE-2025-27817": "3.1.0 – 3.9.0",
        "CVE-2024-31141": "2.3.0 – 3.7.0",
        "CVE-2021-38153": "2.0.0 – 2.6.2, 2.7.0 – 2.7.1, 2.8.0 – 2.8.0",
    },
    "kafka-python": {"CVE-2026-10142": "0 – 2.3.1", "CVE-2026-10143": "0 – 2.3.1"},
    "librdkafka": {},
    "kgo": {},
    "sarama": {},
}
# The client id says who has these; it proves nothing.
OF_PROGRAMS: Final = {
    "streams": {"CVE-2026-111496": "1.1.0 – 4.1.2, 4.2.0 – 4.2.1, 4.3.0 – 4.3.1"},
    "connect": {
        "CVE-2025-27818": "2.3.0 – 3.9.0",
        "CVE-2023-25194": "2.3.0 – 3.3.2",
        "CVE-2019-12399": "2.0.0 – 2.2.1, 2.3.0 – 2.3.0",
    },
}
# Those that name a patch of 4.3, which the recordings' broker has; it shows its line alone.
OF_BROKERS_4_3: Final = {
    "CVE-2026-111115",  # 4.3.0 – 4.3.1
    "CVE-2026-111108",  # 3.3.0 – 4.1.2, 4.2.0 – 4.2.1, and an end that could not be read
    "CVE-2026-111073",  # before 4.3.1
    "CVE-2026-110985",  # from 4.1.0 on, and an end that could not be read
    "CVE-2026-83525",  # 4.3.0 – 4.3.1
}


def is_named(release: str, text: str) -> bool:
    """Whether a release is one of those in the text of an advisory."""

    def read_numbers(word: str) -> list[int]:
        return [int(part) for part in word.split(".")]

    spans = [[read_numbers(word) for word in span.split(" – ")] for span in text.split(", ")]
    return any(first <= read_numbers(release) <= last for first, last in spans)


def read_rows(name: str) -> tuple[list[dict[str, Any]], int]:
    """The rows of kw audit --advisories, and its exit code."""
    ran = kw("audit", str(RECORDED / name), "--advisories", "-o", "ndjson")
    return [json.loads(line) for line in ran.out.splitlines()], ran.code


def named_by_clients(name: str) -> dict[str, tuple[str, str] | None]:
    """Client id → the software and release that it names in the bytes of its ApiVersions, None where it names none."""
    found: dict[str, tuple[str, str] | None] = {}
    for exchange in read_exchanges((RECORDED / name).read_bytes()):
        name_of_client, software = exchange.client_id, exchange.client_software
        if name_of_client is not None:
            named = found.get(name_of_client)
            found[name_of_client] = named if software is None else (software["name"], software["version"])
    return found


@pytest.mark.parametrize("name", CAPTURES)
def test_verdicts_on_recorded_releases_are_those_of_the_texts(name: str) -> None:
    family, _, release = name.removesuffix(".pcap.zst").rpartition("-")
    rows, code = read_rows(name)
    clients = named_by_clients(name)
    assert clients
    programs = {"streams": "-StreamThread-", "connect": "connect"}
    failing = False
    for client, software in clients.items():
        its = {row["id"]: row["verdict"] for row in rows if row["client_id"] == client}
        if software is None:
            assert its == {None: "unknown"}, client
            continue
        assert software[1].removeprefix("v") == ("dev" if family == "sarama" else release), client
        expected: dict[str | None, str] = {
            id: "affected" for id, text in OF_CLIENTS[software[0]].items() if is_named(release, text)
        }
        failing = failing or bool(expected)
        if family in OF_PROGRAMS and programs[family] in client:
            more: dict[str | None, str] = {
                id: "maybe" for id, text in OF_PROGRAMS[family].items() if is_named(release, text)
            }
            expected = {**more, **expected}
        assert its == (expected or {None: "not_affected"}), client
    assert code == (4 if failing else 0)
    brokers = [row for row in rows if row["broker"]]
    # A client of sarama before 1.46 does not ask what the broker serves.
    said: dict[str | None, str] = dict.fromkeys(OF_BROKERS_4_3, "maybe")
    if name.startswith("sarama-1.43"):
        said = {None: "unknown"}
    assert {row["id"]: row["verdict"] for row in brokers} == said
    assert {row["seen"] for row in rows} == {None}


def test_each_family_has_a_release_that_is_affected_and_one_that_is_not() -> None:
    """Java: 2.8.2, 3.9.1 and 4.1.1 against 3.9.2 and 4.1.2; no advisory is about a library that has none here."""
    failing: dict[str, set[int]] = {}
    for name in CAPTURES:
        failing.setdefault(name.rpartition("-")[0], set()).add(read_rows(name)[1])
    assert {family for family, codes in failing.items() if codes == {0, 4}} >= {"java", "kafka-python"}
    # A program of Streams may be affected, by its client id.
    quiet = {"aiokafka", "franz-go", "kafkajs", "librdkafka", "sarama", "streams"}
    assert {family for family, codes in failing.items() if codes == {0}} == quiet


@pytest.mark.parametrize(
    ("name", "left"), [("aiokafka-0.13.0", 4), ("kafkajs-2.2.4", 4), ("sarama-1.43.3", 4), ("java-4.1.2", 0)]
)
def test_unknown_alone_fails_where_it_is_asked_for(name: str, left: int, tmp_path: Path) -> None:
    """The broker of 4.3 may be affected: once that is accepted, a client that names its mended release passes."""
    words = "audit", str(RECORDED / f"{name}.pcap.zst"), "--advisories"
    accepted = tmp_path / "accepted.yaml"
    accepted.write_text("- {id: maybe, reason: these brokers are patched, until: 2199-01-01}\n")
    asked = "--fail-on", "unknown"
    codes = [kw(*words, *more).code for more in ((), asked, (*asked, "--ignore", str(accepted)))]
    assert codes == [0, 4, left]


def test_a_batch_that_a_script_misroutes_is_found() -> None:
    rows, code = read_rows("misrouted.pcap.zst")
    (row,) = [row for row in rows if row["seen"]]
    assert code == 4
    assert (row["id"], row["verdict"], row["seen"]) == ("CVE-2026-35554", "affected", "damage")
    assert (row["client_id"], row["topics"]) == ("producer-1", ["invoices", "orders"])
    assert row["findings"] == [
        {"id": "batch-misrouted", "title": "a batch of producer-1 for invoices went to orders as well"}
    ]


def test_the_misrouted_batch_is_a_finding_of_doctor_and_a_row_of_trace() -> None:
    found = json.loads(kw("doctor", MISROUTED, "-o", "ndjson").out.splitlines()[0])
    assert found["id"] == "batch-misrouted"
    # The command that comes with the finding lists it.
    ran = kw(*found["command"].split()[1:], "-o", "ndjson")
    (row,) = [json.loads(line) for line in ran.out.splitlines()]
    assert (row["topic"], row["offset"], row["records"]) == ("orders", 0, 5)
    assert (row["rightful_topic"], row["client_id"]) == ("invoices", "producer-1")


def test_clients_that_are_alike_are_told_once() -> None:
    """A worker of Kafka Connect has seventeen clients of one release; the one that is known for a worker has more."""
    words = "audit", str(RECORDED / "connect-3.3.2.pcap.zst"), "--advisories", "-o", "text"
    brief, whole = kw(*words).out, kw(*words, "-v").out
    heads = [line for line in brief.splitlines() if line.startswith("✗")]
    assert [head.partition("  apache")[0] for head in heads] == [
        "✗  adminclient-1, adminclient-10, adminclient-2 and 12 more",
        "✗  connect-1",
        "✗  producer-3",
    ]
    assert brief.count("CVE-2026-35554") == len(heads)
    rows, _ = read_rows("connect-3.3.2.pcap.zst")
    head = next(line for line in whole.splitlines() if line.startswith("✗"))
    alike = {row["client_id"] for row in rows if row["broker"] is None} - {"connect-1", "producer-3"}
    assert {*head.removeprefix("✗  ").partition("  ")[0].split(", ")} == alike


def every_other_capture() -> list[Path]:
    """All captures that ship, but the one of a misrouted batch."""
    return sorted(file for file in FOLDER.rglob("*.pcap*") if file.name != "misrouted.pcap.zst")


@pytest.mark.long
@pytest.mark.one_in(12)
@pytest.mark.parametrize("file", every_other_capture(), ids=lambda file: f"{file.parent.name}-{file.name}")
def test_no_other_capture_shows_a_misrouted_batch(file: Path) -> None:
    """45 captures and more; those of faults and incidents, too."""
    ran = kw("audit", str(file), "--advisories", "-o", "ndjson", "-q")
    assert "batch-misrouted" not in ran.out
    assert '"damage"' not in ran.out
    assert kw("trace", str(file), "--misrouted", "-o", "ndjson", "-q").out == ""
