"""`kw report -o json`: valid by the published schema, with the numbers of the other commands; folds merge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders import read_exchanges
from decoders.analysis.sequence_diagram_steps import Ladders
from decoders.analysis.statistics import Statistics
from decoders.analysis.statistics_over_time import OverTime
from decoders.errors import LimitExceeded
from decoders.exchanges.exchange import Exchange
from decoders.limits import LADDER_FAILED_MAX, LADDER_FIRST_MAX
from decoders.messages.build_body_json import PLAIN
from kwcli.report.build_report import build_report
from kwcli.report.exchange_folds import BODY_MAX, ReportFolds, dump_bodies_of_exchange
from kwcli.run_environment import Exit
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "captures"
TOUR = CAPTURES / "tour.pcapng"
SCHEMA = json.loads((ROOT / "decoders" / "messages" / "report.schema.json").read_bytes())
NAMES = ("tour.pcapng", "share-groups.pcapng", "sasl-framed.pcapng", "old-clients.pcap.gz", "zookeeper-cluster.pcap.gz")


def said(*words: str) -> Any:
    """The JSON that a command prints."""
    outcome = kw(*words, "-q")
    assert outcome.code in (Exit.DONE, Exit.FINDINGS), outcome.err
    return json.loads(outcome.out) if "json" in words else [json.loads(line) for line in outcome.out.splitlines()]


def without_kind(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in ("kind", "schema")} for row in rows]


def settled(name: str) -> list[Exchange]:
    """The exchanges of a capture."""
    with (CAPTURES / name).open("rb") as file:
        return [row for row in read_exchanges(file) if isinstance(row, Exchange)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
def test_the_schema_holds(name: str) -> None:
    report = said("report", str(CAPTURES / name), "-o", "json")
    jsonschema.validate(report, SCHEMA)
    lines = said("report", str(CAPTURES / name), "-o", "ndjson")
    assert {"summary", "findings", "clients", "brokers"} <= {line["section"] for line in lines} | {"findings"}
    assert len(report["ladders"]) == sum(line["section"] == "ladders" for line in lines)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("chosen", [(), ("--group", "billing"), ("--topic", "payments", "--since", "17:35:00")])
def test_sections_are_rows_of_the_other_commands(chosen: tuple[str, ...]) -> None:
    report = said("report", str(TOUR), "-o", "json", "--target", "4.0", *chosen)
    for section, words in (
        ("findings", ("doctor",)),
        ("security", ("audit", "--security")),
        *((name, (name,)) for name in ("clients", "groups", "transactions", "topics", "brokers")),
    ):
        rows = without_kind(said(*words, str(TOUR), "-o", "ndjson", *chosen))
        assert report[section] == rows, section
        assert rows or chosen
    audit = without_kind(said("audit", str(TOUR), "--target", "4.0", "-o", "ndjson", *chosen))
    assert report["audit"]["clients"] == audit


def test_latencies_are_those_of_kw_stats() -> None:
    report = said("report", str(TOUR), "-o", "json")
    stats = {row["api"]: row for row in without_kind(said("stats", str(TOUR), "-o", "ndjson"))}
    for row in report["latency"]["api"]:
        over_time = row.pop("over_time")
        assert sum(point["count"] for point in over_time) == row["count"]
        assert stats.pop(row["api"]) == row
    assert stats == {}
    assert sum(point["count"] for point in report["over_time"]) == report["summary"]["count"] == 193


def folds_of(exchanges: list[Exchange]) -> ReportFolds:
    folds = ReportFolds(PLAIN)
    for exchange in exchanges:
        folds.add(exchange)
    return folds


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["tour.pcapng", "share-groups.pcapng"])
@pytest.mark.parametrize("parts", [2, 7])
def test_parts_merge_to_the_whole(name: str, parts: int) -> None:
    """Parts of the exchanges, exported and merged in another order, give the report of all of them."""
    exchanges = settled(name)
    whole = build_report(folds_of(exchanges).results(), "4.0")
    merged = ReportFolds(PLAIN)
    for at in reversed(range(parts)):
        part = ReportFolds(PLAIN)
        part.resume(folds_of(exchanges[at::parts]).export())
        merged.merge(part)
    assert build_report(merged.results(), "4.0") == whole


def test_ends_of_connections_are_no_skipped_bytes(tmp_path: Path) -> None:
    capture, again = FOLDER / "incidents" / "advertised-port-closed.pcap.zst", tmp_path / "again.ndjson"
    again.write_text(kw("sniff", str(capture), "-f", "connection > 0", "-o", "ndjson").out)
    assert '"empty"' in again.read_text()
    skipped = [json.loads(kw("report", str(file), "-o", "json").out)["skipped"] for file in (capture, again)]
    assert skipped == [[], []]


def test_slices_of_time_do_not_depend_on_the_order() -> None:
    exchanges = settled("tour.pcapng")
    one, other = OverTime(("api",)), OverTime(("api",))
    for exchange in exchanges:
        one.add(exchange)
    for exchange in reversed(exchanges):
        other.add(exchange)
    assert one.rows() == other.rows()
    assert one.bucket_ns == other.bucket_ns
    assert len({row["time"] for row in one.rows()}) >= 64 or one.bucket_ns > 2**20


@pytest.mark.parametrize("by", [(), ("api",), ("client_id",), ("broker", "api"), ("client_id", "broker")])
def test_statistics_over_time_without_the_time_are_those_of_all(by: tuple[str, ...]) -> None:
    over, whole = OverTime(("api", "client_id", "broker")), Statistics(by, "latency")
    for exchange in settled("tour.pcapng"):
        over.add(exchange)
        whole.add(exchange)
    assert over.regroup_by_dimensions(by).rows() == whole.rows() != []


def test_ladders_keep_the_first_and_those_that_failed() -> None:
    exchanges = settled("sasl-framed.pcapng")
    ladders = Ladders()
    for exchange in reversed(exchanges):
        ladders.add(exchange)
    rows = ladders.rows()
    assert sum(row["count"] for row in rows) == len(exchanges)
    for row in rows:
        failed = [step for step in row["steps"] if step["errors"] or step["status"] in ("unanswered", "undecoded")]
        assert len(failed) == min(row["failed"], LADDER_FAILED_MAX)
        assert len(row["steps"]) - len(failed) == min(row["count"] - row["failed"], LADDER_FIRST_MAX)
        assert [step["time"] for step in row["steps"]] == sorted(step["time"] for step in row["steps"])


def test_a_fold_with_too_many_groups_is_given_up_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    folds = folds_of(settled("tour.pcapng")[:50])

    def full(_exchange: Exchange) -> None:
        raise LimitExceeded("more than 3 clients")

    monkeypatch.setattr(folds.found["portraits clients"], "add", full)
    for exchange in settled("tour.pcapng")[50:]:
        folds.add(exchange)
    report = build_report(folds.results(), "4.0")
    assert report["left_out"] == [{"what": "portraits clients", "why": "more than 3 clients"}]
    assert report["clients"] is None
    assert report["summary"]["count"] == 193


def test_large_bodies_are_cut_and_say_so() -> None:
    exchange = next(
        each for each in settled("tour.pcapng") if each.api == "ApiVersions" and (each.response_size or 0) > 500
    )
    whole = json.loads(dump_bodies_of_exchange(exchange, PLAIN))
    assert whole["cut"] == []
    large = {"names": ["x" * 100] * 5000, "text": "y" * 100_000}

    class Large:
        pass

    import kwcli.report.exchange_folds as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "to_json_dict", lambda _exchange, _options: {"request": {}, "response": large})
        made = dump_bodies_of_exchange(exchange, PLAIN)
    assert len(made) < BODY_MAX + 100
    found = json.loads(made)
    assert found["cut"] == ["response"]
    assert found["response"]["names"][-1] == "… and 4,900 more"
    assert found["response"]["text"].endswith("more characters")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of the tour with bodies."""
    folder = tmp_path_factory.mktemp("stored") / "tables"
    assert kw("pipeline", "run", str(TOUR), "--out", str(folder), "--bodies", "-q").code == Exit.DONE
    return folder


# Sections that are equal; the others depend on where in a capture a connection came, which tables do not have.
SECTIONS = ("findings", "security", "audit", "clients", "groups", "transactions", "topics", "brokers", "ladders")


@pytest.mark.long
def test_tables_with_bodies_say_what_the_capture_says(stored: Path) -> None:
    capture = said("report", str(TOUR), "-o", "json", "--target", "4.0")
    tables = said("pipeline", "report", str(stored), "-o", "json", "--target", "4.0")
    jsonschema.validate(tables, SCHEMA)
    for row in [*capture["clients"], *capture["audit"]["clients"]]:
        row["library"] = None  # tables do not have how connections began
    assert all("--packet" in row["command"] for row in tables["findings"])  # of the capture, which tables name
    for section in SECTIONS:
        assert tables[section] == capture[section], section
    assert [row["request"] for row in tables["slowest"]] == [row["request"] for row in capture["slowest"]]
    assert tables["summary"]["clients"] == capture["summary"]["clients"]
    assert tables["connections"]["kafka"] > 10
    outcome = kw("pipeline", "report", str(stored), "--target", "4.0", "-o", "md")
    assert (outcome.code, outcome.err) == (Exit.FINDINGS, "kw: Kafka 4.0 turns away 1 client\n")


@pytest.mark.long
def test_a_log_without_sizes_is_a_report_too(tmp_path: Path) -> None:
    log = str(CAPTURES / "first-steps.requests.log.gz")
    jsonschema.validate(said("report", log, "-o", "json"), SCHEMA)
    assert kw("report", log, "--html", str(tmp_path / "page.html"), "-q").code == Exit.DONE
