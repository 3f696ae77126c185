"""More clients, topics and groups than have rows: the heaviest have them, sums are exact, no breaking client is lost.

The limit is lowered to LIMIT; the capture has KEYS of each that come once, and BUSY that begin in the second half.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.client_compatibility import Audit
from decoders.analysis.client_uses import AuditedClient, ClientUses
from decoders.analysis.groups.group_rows import Groups
from decoders.analysis.groups.partition_offsets_and_lag import ReaderPosition
from decoders.analysis.heavy_keys import DistinctCount
from decoders.analysis.portraits.client_and_broker_portraits import Clients, Portrait
from decoders.analysis.portraits.topic_portraits import TopicPortraits
from decoders.analysis.statistics import Statistics
from decoders.capture.read_capture import CaptureReader
from decoders.errors import DecodeError
from decoders.exchanges.exchange import Exchange, Summary
from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit
from tests.bench.cardinality import write_capture
from tests.cli.worlds import kw

KEYS, LIMIT, BUSY, OLD = 80, 8, 2, 20
ALL = KEYS + KEYS // 2 // 2  # exchanges: each second one of the second half is followed by a busy client's
SCHEMAS = Path(__file__).resolve().parents[2] / "decoders" / "messages"
BUSY_NUMBERS = ["00000080", "00000081"]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("many") / "many.pcap"
    assert write_capture(path, KEYS, busy=BUSY, every=2, old=OLD) == (ALL, KEYS // OLD)
    return str(path)


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.analysis.heavy_keys.KEYS_SHOWN_MAX", LIMIT)


def rows_of(*words: str, schema: str) -> list[dict[str, Any]]:
    outcome = kw(*words, "-o", "ndjson", "--jobs", "1")
    assert outcome.code in (Exit.DONE, Exit.FINDINGS), outcome.err
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    check = jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{schema}.schema.json").read_bytes()))
    for row in rows:
        check.validate(row)
    return rows


@pytest.mark.long
@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(
    ("words", "name", "schema"),
    [
        (("stats", "--by", "client"), "client", "statistics"),
        (("stats", "--by", "topic", "--metric", "bytes"), "topic", "statistics"),
        (("stats", "--by", "group,api"), "group", "statistics"),
        (("stats", "--by", "connection,client", "--metric", "records", "-v"), "client", "statistics"),
        (("clients",), "client_id", "portraits"),
        (("topics",), "topic", "portraits"),
        (("groups",), "group", "portraits"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_heaviest_have_rows_and_all_others_one(
    capture: str, words: tuple[str, ...], name: str, schema: str
) -> None:
    rows = rows_of(*words, capture, schema=schema)
    *listed, others = rows
    assert len(listed) <= LIMIT
    assert not any("others" in row for row in listed)
    assert others[name] is None
    # About how many: of a busy one the first time is among the others.
    assert abs(others["others"] - (KEYS + BUSY - len(listed) + BUSY)) <= 3
    assert sum(row["count"] for row in rows) == ALL
    kinds = {row[name].split("-")[1]: row["count"] for row in listed}
    # A busy one begins late, among many that come once: at most its first time is not counted as its own.
    assert [kinds[number] for number in BUSY_NUMBERS] == [KEYS // 4 // BUSY - 1] * BUSY
    every = rows_of("stats", capture, schema="statistics")
    assert sum(row["request_bytes"] for row in rows) == sum(row["request_bytes"] for row in every)
    text = kw(*words, capture, "-o", "text", "--jobs", "1").out
    assert "others: about" in " ".join(text.split())


@pytest.mark.usefixtures("_few")
def test_over_time_the_others_have_a_row_each_time(capture: str) -> None:
    rows = rows_of("stats", "--by", "client", "--bucket", "1ms", capture, schema="statistics")
    all_times = rows_of("stats", "--by", "time", "--bucket", "1ms", capture, schema="statistics")
    times = {row["time"]: row["count"] for row in all_times}
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["time"]] += row["count"]
    assert sums == times
    assert len({row["client"] for row in rows if "others" not in row}) <= LIMIT
    assert len([row for row in rows if "others" in row]) > 1


@pytest.mark.usefixtures("_few")
def test_no_client_that_breaks_is_among_the_others(capture: str) -> None:
    rows = rows_of("audit", "--target", "4.0", capture, schema="audit")
    broken = [row["client_id"] for row in rows if row["verdict"] == "breaks"]
    assert broken == [f"client-{number:08d}" for number in range(OLD - 1, KEYS, OLD)]
    unknown = [row for row in rows if row["verdict"] == "unknown"]
    assert len(unknown) == LIMIT + 1
    assert unknown[-1]["others"] == KEYS + BUSY - KEYS // OLD - LIMIT
    assert {f"client-{number}" for number in BUSY_NUMBERS} <= {row["client_id"] for row in unknown}
    outcome = kw("audit", "--target", "4.0", capture)
    assert outcome.code == Exit.FINDINGS
    assert f"{KEYS // OLD} clients break, {KEYS + BUSY - KEYS // OLD} unknown" in outcome.err


@pytest.mark.usefixtures("_few")
def test_a_report_has_the_others_and_all_clients_that_break(capture: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    asked = ("report", capture, "--target", "4.0", "--jobs", "1")
    made = json.loads(kw(*asked, "-o", "json").out)
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "report.schema.json").read_bytes())).validate(made)
    for name in ("clients", "topics", "groups"):
        assert len(made[name]) == LIMIT + 1
        assert "others" in made[name][-1]
        assert sum(row["count"] for row in made[name]) == ALL
        assert abs(made["summary"].get(name, KEYS + BUSY) - KEYS - BUSY) <= BUSY
    verdicts = Counter(row["verdict"] for row in made["audit"]["clients"])
    assert verdicts["breaks"] == KEYS // OLD
    assert made["left_out"] == []
    assert "others: about" in " ".join(kw(*asked, "-o", "text").out.split())
    kw(*asked, "--html", str(page))
    assert "Others: about" in " ".join(page.read_text().split())


@pytest.mark.usefixtures("_few")
def test_a_name_among_the_others_is_not_said_to_be_missing(capture: str) -> None:
    outcome = kw("clients", capture, "--name", "client-00000070", "--jobs", "1")
    assert outcome.code == Exit.FAILURE
    assert "others are not told apart: add a filter" in outcome.err


def exchanges(capture: str) -> list[Exchange]:
    folds = (Groups(), TopicPortraits(), Clients())
    reader = CaptureReader()
    engine = Engine(needs=WantedPaths(lambda key, side: frozenset().union(*(fold.needs(key, side) for fold in folds))))
    found = engine.feed([*reader.feed(Path(capture).read_bytes()), *reader.finish()]) + engine.finish()
    return [each for each in found if isinstance(each, Exchange)]


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(
    "make",
    [
        lambda: Statistics(("client",), "latency", over_time=True),
        lambda: Statistics(("time", "topic"), "bytes", bucket_ns=10**6),
        Clients,
        Groups,
        TopicPortraits,
    ],
    ids=["latency", "bytes over time", "clients", "groups", "topics"],
)
def test_merged_folds_are_bounded_and_exact_and_have_the_busy(make: Any, capture: str) -> None:
    draw = Random(3)
    parts = [make() for _ in range(3)]
    for each in exchanges(capture):
        draw.choice(parts).add(each)
    merged = make()
    for part in parts:
        handed = make()
        handed.resume(part.export())
        merged.merge(handed)
    rows = merged.rows()
    assert sum(row["count"] for row in rows) == ALL
    names = {str(row.get("client_id") or row.get("client") or row.get("topic") or row.get("group")) for row in rows}
    assert len(names) <= LIMIT + 1
    assert {number for number in BUSY_NUMBERS if any(name.endswith(number) for name in names)} == {*BUSY_NUMBERS}
    again = make()
    again.resume(merged.export())
    assert again.rows() == rows


def test_below_the_limit_all_have_rows(capture: str) -> None:
    for word in ("clients", "groups", "topics"):
        rows = rows_of(word, capture, schema="portraits")
        assert len(rows) == KEYS + BUSY
        assert not any("others" in row for row in rows)


def test_the_group_that_a_client_of_many_reads_for_is_looked_up() -> None:
    count = 1500
    groups = Groups()
    looks = 0

    class CountedName(str):
        """A name of a group that counts how often it is compared or hashed."""

        def __hash__(self) -> int:
            nonlocal looks
            looks += 1
            return super().__hash__()

    for number in range(count):
        name = CountedName(f"group-{number}")
        portrait = groups._found[name,] = Portrait()
        portrait.statistics.count = 1
        portrait.count_name("readers", "app\0" + "10.0.0.1", 1, 1, 1)
        groups._offsets.readers["app", "10.0.0.1", f"topic-{number}", 0] = ReaderPosition()
        groups._offsets.commit_of_group(name, f"topic-{number}", 0).add_commit((1, 5), None)
    rows = groups.rows()
    assert len(rows) == count
    assert [len(row["partitions"]) for row in rows] == [1] * count
    assert looks < 100 * count


# The parts.


def test_how_many_different_keys_there_were() -> None:
    for count, within in ((0, 0), (1, 0), (70, 2), (1000, 20), (50_000, 1500)):
        found = [DistinctCount(), DistinctCount()]
        for number in range(count):
            for _ in range(2 if count < 10_000 else 1):
                found[number % 2].add((f"client-{number}", None))
        found[0].merge(found[1])
        assert abs(found[0].estimate_count() - count) <= within
        assert DistinctCount.make_resumed(found[0].state()).estimate_count() == found[0].estimate_count()
    with pytest.raises(DecodeError):
        DistinctCount.make_resumed(b"abc")


@pytest.mark.parametrize(
    "client",
    [
        AuditedClient(None, "10.0.0.1"),
        AuditedClient("", "10.0.0.1"),
        AuditedClient("app", "10.0.0.1", "java", "3.9"),
        AuditedClient("a\0b\1c\1\2d\1\3e", "\1", "", None),
        AuditedClient("\udcff=-", "h", None, "1"),
    ],
)
def test_clients_and_uses_come_back(client: AuditedClient) -> None:
    uses = ClientUses()
    for number in [*range(40), *range(40)]:
        uses.count_use(client, ("b:1", 3, number), 1, 10 + number, 20 - number)
    again = ClientUses()
    again.resume(uses.export())
    again.merge(uses)
    assert list(again) == [(client, ("b:1", 3, number), 4, 10 + number, 20 - number) for number in range(40)]
    with pytest.raises(DecodeError):
        ClientUses().resume(Audit().export())


@pytest.mark.plain
def test_a_summary_counts_clients_up_to_a_limit(monkeypatch: pytest.MonkeyPatch, capture: str) -> None:
    assert f"{KEYS + BUSY} clients" in kw("sniff", capture, "--jobs", "1").err
    for module in ("decoders.exchanges.exchange", "kwcli.reading.sinks.closing_lines"):
        monkeypatch.setattr(f"{module}.CLIENTS_COUNTED_MAX", 10)
    assert "more than 10 clients" in kw("sniff", capture, "--jobs", "1").err
    summary = Summary()
    for number in range(30):
        summary.count_client("10.0.0.1:1", f"app-{number}", None)
    assert len(summary.clients) == 11
