"""Five client families on four brokers behind `kw proxy`, with faults: lives, duplicates and losses equal their books.

The books are what clients say that they got, and the log itself, read at the end on a listener that is not recorded.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

import pytest

from tests.analysis.test_record_traces import SCHEMA
from tests.broker import plays
from tests.broker.clients.session import run, start
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.cli.worlds import kw, world
from tests.proxy.hidden import ProxyProcess, port_base

pytestmark = [pytest.mark.broker, pytest.mark.full, needs_brokers]

FAMILIES: Final = ("librdkafka", "python", "aiokafka", "java-4.4.0", "java-3.9.2")
COUNT: Final = 420
PARTITIONS: Final = 4
FAULTS: Final = (
    *("--fault", "lose answer then close, every 9, when api == Produce"),
    *("--fault", "delay 120ms answer, rate 10%, when api in (Fetch, OffsetCommit)"),
)
PLAIN: Final = {"enable.idempotence": "false", "acks": "all"}
Place = tuple[int, int]  # partition, offset


class Books(NamedTuple):
    """The captures of the brokers, the log, what each group got, and the records that group `ghost` never got."""

    files: list[str]
    log: dict[Place, dict[str, Any]]
    got: dict[str, set[Place]]
    passed: set[Place]


def _places(records: Iterable[dict[str, Any]]) -> set[Place]:
    return {(record["partition"], record["offset"]) for record in records if record["topic"] == "orders"}


def _read_log(cluster: Cluster) -> dict[Place, dict[str, Any]]:
    """All records of the topic, by place, read on the listener that is not recorded."""
    work = {"topics": ["orders"], "count": 10**6, "polls": 16, "partitions": [*range(PARTITIONS)], "commit": False}
    found = plays.read_of(run("librdkafka", cluster.bootstrap("INTERNAL"), [("consume", work)]))
    return {(record["partition"], record["offset"]): record for record in found}


def _commit_ahead(place: str, log: Iterable[Place]) -> None:
    """Commit the end of each partition for group ghost, which has no members."""
    ends: dict[int, int] = defaultdict(int)
    for partition, offset in log:
        ends[partition] = max(ends[partition], offset + 1)
    parts = [{"partition_index": number, "committed_offset": end} for number, end in sorted(ends.items())]
    body = {"group_id": "ghost", "generation_id_or_member_epoch": -1, "member_id": ""}
    body["topics"] = [{"name": "orders", "partitions": parts}]
    outcome = kw(
        "call", "OffsetCommit", "--api-version", "9", "-b", place, "-q", "-", env=world(json.dumps(body).encode())
    )
    assert outcome.code == 0, outcome.err


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Books:
    folder = tmp_path_factory.mktemp("traces")
    options = Options(nodes=4, listeners=("INTERNAL", "PLAINTEXT"), class_archive=True, heap="256m")
    got: dict[str, set[Place]] = {}
    with Cluster(options, folder / "cluster") as cluster, ExitStack() as stack:
        files = [folder / f"node{node.id}.pcap" for node in cluster.nodes]
        for file, node in zip(files, cluster.nodes, strict=True):
            stack.enter_context(Recorder(file, [node.ports["PLAINTEXT"]]))
        plain = cluster.bootstrap()
        run("librdkafka", plain, [("create", {"topics": {"orders": PARTITIONS, "payments": 1}, "replicas": 2})])
        with ProxyProcess(["-b", plain, *FAULTS], port_base(4)) as proxy:
            for number, family in enumerate(FAMILIES):
                work = {"topic": "orders", "count": COUNT, "first": 1000 * number, "batches": 14, "config": PLAIN}
                maker = start(family, proxy.bootstrap, [("produce", work)], {"client.id": f"maker-{number}"})
                if number == 1:
                    cluster.kill_node(cluster.nodes[-1].id)
                maker.finish()
                if number == 1:
                    cluster.start_node(cluster.nodes[-1].id)
                wanted = {"topics": ["orders"], "group": f"group-{number}", "polls": 40}
                count = len(_read_log(cluster))
                read = run(
                    family,
                    proxy.bootstrap,
                    [("consume", {**wanted, "count": count})],
                    {"client.id": f"reader-{number}"},
                )
                got[f"group-{number}"] = _places(plays.read_of(read))
            ends = {"topic": "payments", "id": "books", "count": 5, "ends": ["commit", "abort"]}
            run("librdkafka", proxy.bootstrap, [("transact", ends)], {"client.id": "books"})
        ghost = {"topics": ["orders"], "group": "ghost", "polls": 40}
        before = _read_log(cluster)
        run("librdkafka", plain, [("consume", {**ghost, "count": len(before)})], {"client.id": "ghost"})
        more: dict[str, Any] = {"topic": "orders", "count": 80, "first": 9000}
        run("librdkafka", plain, [("produce", more)], {"client.id": "maker-9"})
        middle = _read_log(cluster)
        _commit_ahead(plain, middle)
        run("librdkafka", plain, [("produce", {**more, "count": 20, "first": 9500})], {"client.id": "maker-9"})
        run("librdkafka", plain, [("consume", {**ghost, "count": 20})], {"client.id": "ghost"})
        log = _read_log(cluster)
    return Books([str(file) for file in files], log, got, {*middle} - {*before})


def lives(books: Books) -> dict[Place, dict[str, Any]]:
    """The row of each record, by place."""
    found = {}
    for number in range(PARTITIONS):
        outcome = kw("trace", *books.files, f"orders/{number}@0-99999", "-o", "ndjson", "-q")
        assert outcome.code == 0, outcome.err
        for row in map(json.loads, outcome.out.splitlines()):
            found[row["partition"], row["offset"]] = row
    return found


def test_every_life_is_that_of_the_books(books: Books) -> None:
    rows = lives(books)
    assert len(books.log) >= 2000
    assert rows.keys() == books.log.keys()
    SCHEMA.validate(next(iter(rows.values())))
    for place, row in rows.items():
        record = books.log[place]
        order = json.loads(b64decode(record["value"]))["order"]
        assert (place, row["produced_by"]) == (place, f"maker-{order // 1000}")
        assert row["key"] == b64decode(record["key"]).decode()
        assert row["events"][0]["event"] == "produced"
        assert row["tries"] >= 1
        reads = {each["group"]: each for each in row["read_by"]}
        readers = {group for group, places in books.got.items() if place in places}
        assert (place, {group for group in reads if group != "ghost"}) == (place, readers)
        for group in readers:
            assert reads[group]["reads"] >= 1
            assert reads[group]["age_ms"] >= 0
            assert reads[group]["committed"] is None or reads[group]["commit_age_ms"] >= 0


def test_duplicates_are_those_of_the_log(books: Books) -> None:
    by_value: dict[str, list[Place]] = defaultdict(list)
    for place, record in sorted(books.log.items()):
        by_value[record["value"]].append(place)
    truth = {(first, copy) for first, *copies in by_value.values() for copy in copies if first[0] == copy[0]}
    outcome = kw("trace", *books.files, "--duplicates", "-o", "ndjson", "-q")
    told = {
        ((row["partition"], row["offset"] + at), (row["partition"], row["copy_offset"] + at))
        for row in map(json.loads, outcome.out.splitlines())
        for at in range(row["records"])
        if row["topic"] == "orders"
    }
    assert truth
    assert told == truth


def test_losses_are_what_a_group_never_got(books: Books) -> None:
    outcome = kw("trace", *books.files, "--losses", "-o", "ndjson", "-q")
    told = {
        (row["group"], (row["partition"], offset))
        for row in map(json.loads, outcome.out.splitlines())
        for offset in range(row["offset"], row["last_offset"] + 1)
    }
    assert len(books.passed) == 80
    assert told == {("ghost", place) for place in books.passed}


def test_no_batch_was_misrouted(books: Books) -> None:
    assert kw("trace", *books.files, "--misrouted", "-o", "ndjson", "-q").out == ""


def test_transactions_have_their_ends(books: Books) -> None:
    outcome = kw("trace", *books.files, "payments/0@0-20", "-o", "ndjson", "-q")
    rows = [*map(json.loads, outcome.out.splitlines())]
    ends = [row["transaction"]["outcome"] for row in rows if row["transaction"] is not None]
    assert ends == ["committed"] * 5 + ["aborted"] * 5
