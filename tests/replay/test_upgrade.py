"""The tour replayed to brokers of 4.3 and 3.9, where it makes its own topics and data: the differences are known."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from decoders.apis import api_name
from decoders.protocol_facts.kafka_releases import UNSTABLE, api_versions_of_release
from decoders.schema.api_declaration import Versions
from kwcli.run_environment import Exit
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.cli.worlds import kw

TOUR: Final = str(Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng")
CHANGES: Final = "data,admin:create_topics,incremental_alter_configs,delete_topics"
# The tour's records have the timestamps of one day, which may be too old or too new for a broker.
ANY_TIME: Final = {
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "log.message.timestamp.after.max.ms": "9223372036854775807",
}
# Different answers of 3.9, besides versions and features: client, API, verdict, the errors. A transaction with KIP-890
# adds its partitions by producing; groups of KIP-848 are early access in 3.9, and off.
KNOWN_39: Final = Counter(
    {
        ("ledger", "Produce", "refused", "TRANSACTION_ABORTABLE"): 1,
        ("ledger", "EndTxn", "refused", "INVALID_TXN_STATE"): 1,
        ("ledger", "EndTxn", "different", "PRODUCER_FENCED"): 2,
        ("ledger", "EndTxn", "refused", "PRODUCER_FENCED"): 1,
        # So `payments` has no records.
        ("audit-1", "Fetch", "different", ""): 1,
        ("audit-1", "Fetch", "refused", "OFFSET_OUT_OF_RANGE"): 1,
        ("fraud-1", "Fetch", "different", ""): 1,
        ("fraud-1", "Fetch", "different", "OFFSET_OUT_OF_RANGE"): 1,
        ("fraud-1", "ConsumerGroupHeartbeat", "refused", "UNSUPPORTED_VERSION"): 3,
    }
)
# Further differences in the features that brokers offer; the epoch of features has no meaning here.
FEATURES: Final = {
    *("", "group.version", "transaction.version", "share.version", "streams.version", "metadata.version"),
    "eligible.leader.replicas.version",
}


def asked(server: str, *words: str) -> tuple[int, list[dict[str, Any]], dict[str, Any]]:
    """Replay the tour; gives the exit code, the exchanges and the counts."""
    outcome = kw("replay", TOUR, "-b", server, "--speed", "max", "--timeout", "30", *words)
    *found, counts = map(json.loads, outcome.out.splitlines())
    assert counts["kind"] == "replay", outcome.err
    return outcome.code, found, counts


def apart(rows: list[dict[str, Any]]) -> Counter[tuple[str, str, str, str]]:
    """The different and refused answers, without those of ApiVersions."""
    return Counter(
        (
            row["client_id"],
            row["api"],
            row["comparison"]["verdict"],
            ",".join(error["name"] for error in row["errors"]),
        )
        for row in rows
        if row["comparison"]["verdict"] in ("different", "refused") and row["api"] != "ApiVersions"
    )


def offered_by(release: str) -> dict[int, Versions]:
    """The versions that brokers of a release offer, without unstable ones."""
    found: dict[int, Versions] = {}
    for key, versions in api_versions_of_release(release).items():
        unstable = UNSTABLE.get(release, {}).get(key)
        stable = versions if unstable is None else Versions(versions.low, unstable - 1)
        if stable:
            found[key] = stable
    return found


def check_offers(rows: list[dict[str, Any]], old: str, new: str) -> None:
    """Assert that ApiVersions differs exactly as the releases do, in APIs and features."""
    was, now = offered_by(old), offered_by(new)
    seen = 0
    for row in rows:
        if row["api"] != "ApiVersions" or row["comparison"]["verdict"] != "different":
            continue
        assert "differences_cut" not in row["comparison"]
        differences = row["comparison"]["differences"]
        told = {each["about"] for each in differences if each["path"].startswith("api_keys")}
        # A broker offers the APIs of its listener; both answers tell which these are.
        offered = {each["api_key"] for each in row["response"]["api_keys"]}
        gone = {
            each["recorded"]["api_key"]
            for each in differences
            if each["path"].startswith("api_keys[") and each["kind"] == "missing"
        }
        assert gone.isdisjoint(now)
        assert told == {api_name(key) for key in offered | gone if was.get(key) != now.get(key)}
        assert {each["about"] for each in differences} - told <= FEATURES
        seen += 1
    assert seen > 30


@pytest.mark.long
@pytest.mark.broker
@needs_brokers
def test_the_release_that_was_recorded_answers_the_same() -> None:
    may_create = {**ANY_TIME, "auto.create.topics.enable": "true"}
    with Cluster(Options(nodes=3, class_archive=True, properties=may_create)) as cluster:
        # An empty cluster is still empty afterwards, though all topics and coordinators were asked for.
        _, _, read_counts = asked(cluster.bootstrap())
        left = json.loads(kw("call", "Metadata", "topics:=null", "-b", cluster.bootstrap(), "-o", "json").out)
        code, rows, counts = asked(cluster.bootstrap(), "--changes", CHANGES)
    assert read_counts["asked"] > 100
    assert left[0]["response"]["topics"] == []
    assert apart(rows) == {}
    assert code == Exit.DONE
    assert counts["asked"] == 193
    assert counts["not_asked"] == []
    verdicts = Counter(counts["verdicts"])
    # The recorded broker closed on ListOffsets 0; it is sent in version 1. A fast broker ends a transaction at once.
    uncompared = {row["api"] for row in rows if row["comparison"]["verdict"] == "uncompared"}
    assert {"ListOffsets"} <= uncompared <= {"ListOffsets", "EndTxn"}
    assert verdicts["same"] > 80
    assert verdicts["same"] + verdicts["other_ids"] + verdicts["uncompared"] == 193


@pytest.mark.full
@pytest.mark.broker
@needs_brokers
def test_an_older_release_differs_in_what_is_known() -> None:
    with Cluster(Options(nodes=3, version="3.9.1", properties=ANY_TIME)) as cluster:
        code, rows, counts = asked(cluster.bootstrap(), "--changes", CHANGES)
        again, reads, read_counts = asked(cluster.bootstrap(), "--api", "Fetch", "--client-id", "billing-1")
    assert code == Exit.FINDINGS
    assert apart(rows) == KNOWN_39
    check_offers(rows, "4.3", "3.9")
    assert [(each["reason"], each["count"]) for each in counts["not_asked"]] == [("member", 2)]
    # Another replay, which changes nothing, reads what this one wrote.
    assert (again, apart(reads)) == (Exit.DONE, {})
    assert read_counts["asked"] == 26
