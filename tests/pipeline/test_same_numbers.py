"""`kw stats`, `kw pipeline report` and the views of both engines of SQL give the same numbers for captures that ship.

Numbers are compared as they are printed, to their last digit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from decoders.wire.format_and_escape_text import format_latency
from kwcli.run_environment import Exit
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw
from tests.report.pages import Page
from tests.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
Stats = Callable[..., list[Row]]
BYS: Final = ("api", "client", "topic", "broker")
# Columns of the views of latencies, and their names in statistics.
VIEWED: Final = {
    **{name: name for name in ("count", "errors", "waited", "request_bytes", "response_bytes")},
    **{f"{name}_ms": name for name in ("p50", "p90", "p99", "max")},
}


def said(*words: str) -> str:
    outcome = kw(*words)
    assert outcome.code == Exit.DONE, outcome.err
    return outcome.out


@pytest.fixture(scope="module")
def captures() -> list[str]:
    return [str(FOLDER / name) for name in CLEAN]


@pytest.fixture(scope="module")
def folder(captures: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("same") / "tables")
    said("pipeline", "run", *captures, "--out", path, "-q")
    return path


@pytest.fixture(scope="module")
def report(folder: str) -> Row:
    found: Row = json.loads(said("pipeline", "report", folder, "-o", "json"))
    return found


@pytest.fixture(scope="module")
def stats(captures: list[str]) -> Stats:
    def count(*words: str) -> list[Row]:
        found = json.loads(said("stats", *captures, *words, "-o", "json"))
        return [{key: value for key, value in row.items() if key not in ("kind", "schema")} for row in found]

    return count


@pytest.fixture(params=["sql", pytest.param("pipeline sql", marks=pytest.mark.long)])
def ask(folder: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Row]]:
    """A function that sends a query to DuckDB or to Spark."""
    command = str(request.param).split()
    if "pipeline" in command:
        spark: SparkSession = request.getfixturevalue("spark")
        monkeypatch.setattr("kwcli.pipeline.spark.spark_sessions.session", lambda *_, **__: spark)

    def rows(query: str) -> list[Row]:
        found = json.loads(said(*command, folder, query, "-o", "json"))
        assert found
        return list(found)

    return rows


def by_key(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], Row]:
    found = {tuple(row[name] for name in names): row for row in rows}
    assert found
    return found


def added(rows: Iterable[Row], key: tuple[str, ...], *names: str) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Sums by key, without keys whose sums are all 0."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        sums = found.setdefault(tuple(row[name] for name in key), [0] * len(names))
        for at, name in enumerate(names):
            sums[at] += row[name] or 0
    kept = {its: tuple(sums) for its, sums in found.items() if any(sums)}
    assert kept
    return kept


@pytest.mark.long
@pytest.mark.parametrize("name", sampled(CLEAN, 4))
def test_a_report_of_each_capture_says_what_kw_stats_says(name: str, tmp_path: Path) -> None:
    said("pipeline", "run", str(FOLDER / name), "--out", str(tmp_path), "-q")
    lines = [json.loads(line) for line in said("pipeline", "report", str(tmp_path), "-o", "ndjson").splitlines()]
    for by in BYS:
        found = by_key((row for row in lines if row["section"] == f"latency.{by}"), by)
        for row in json.loads(said("stats", str(FOLDER / name), "--by", by, "-o", "json")):
            its = found.pop((row[by],))
            assert {key: its[key] for key in row if key != "kind"} == {key: row[key] for key in row if key != "kind"}
        assert not found


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("by", BYS)
def test_latencies_are_the_same(by: str, stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    counted = by_key(stats("--by", by), by)
    told = by_key(report["latency"][by], by)
    assert {key: {**row, "over_time": None} for key, row in told.items()} == {
        key: {**row, "over_time": None} for key, row in counted.items()
    }
    viewed = by_key(named(ask(f"select * from latency_by_{by}")), by)
    assert {key: {name: row[name] for name in VIEWED} for key, row in viewed.items()} == {
        key: {name: row[its] for name, its in VIEWED.items()} for key, row in counted.items()
    }


@pytest.mark.long
def test_sums_of_all_are_the_same(stats: Stats, report: Row) -> None:
    counted = stats("--by", "api")
    for name in ("count", "errors", "unanswered", "undecoded", "request_bytes", "response_bytes", "waited"):
        assert sum(row[name] for row in counted) == report["summary"][name], name


@pytest.mark.long
def test_time_is_counted_the_same(stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    buckets = stats("--by", "time", "--bucket", f"{report['bucket_s']}s")
    assert buckets == report["over_time"]
    minutes = by_key(stats("--by", "time", "--bucket", "1m"), "time")
    viewed = {(row["minute"].replace(".000000Z", "Z"),): row for row in ask("select * from latency_by_minute")}
    times = {(time.partition(".")[0].removesuffix("Z") + "Z",): row for (time,), row in minutes.items()}
    assert {key: {name: row[name] for name in VIEWED} for key, row in viewed.items()} == {
        key: {name: row[its] for name, its in VIEWED.items()} for key, row in times.items()
    }


def named(rows: list[Row]) -> list[Row]:
    """Rows of a view, with the column names and bracketed addresses of statistics and reports."""
    names = {"client_id": "client", "client_ip": "address"}
    names |= {f"client_software_{name}": word for name, word in (("name", "software"), ("version", "software_version"))}
    rows = [{names.get(name, name): value for name, value in row.items()} for row in rows]
    return [row | {"address": f"[{row['address']}]"} if ":" in (row.get("address") or "") else row for row in rows]


@pytest.mark.long
def test_errors_are_the_same(stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    key: tuple[str, ...] = ("api", "error")
    counted = [row for row in stats("--by", "api,error", "--metric", "errors") if row["error"] is not None]
    expected = added(counted, key, "errors", "sum")
    assert added(report["errors"], key, "exchanges", "codes") == expected
    assert added(ask("select * from errors_by_api"), key, "exchanges", "codes") == expected
    key = ("client", "api", "error")
    counted = [row for row in stats("--by", "client,api,error", "--metric", "errors") if row["error"] is not None]
    assert added(named(ask("select * from errors_by_client")), key, "codes") == added(counted, key, "sum")


@pytest.mark.long
def test_records_are_the_same(stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    counted = stats("--by", "api,topic", "--metric", "records")
    key = ("api", "topic")
    names: tuple[str, ...] = ("batches", "records", "bytes")
    expected = added(counted, key, "batches", "sum", "record_bytes")
    assert added(report["batches"], key, *names) == expected
    assert added(ask("select * from batches"), key, *names) == expected
    names = ("produced_records", "produced_bytes", "fetched_records", "fetched_bytes")
    assert added(ask("select * from topics"), ("topic",), *names) == added(
        report["talkers"]["topic"], ("topic",), *names
    )


@pytest.mark.long
def test_clients_are_the_same(stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    names = ("request_bytes", "response_bytes")
    expected = added(stats("--by", "client"), ("client",), "count", *names)
    assert added(report["talkers"]["client"], ("client",), "count", *names) == expected
    asked = added(stats("--by", "client", "-f", "api_key >= 0"), ("client",), "count", *names)
    assert added(named(ask("select * from clients")), ("client",), "count", *names) == asked


@pytest.mark.long
def test_there_is_one_number_of_clients(
    captures: list[str], report: Row, ask: Callable[[str], list[Row]], tmp_path: Path
) -> None:
    sniffed = re.search(r", (\d+) clients", kw("sniff", *captures, "-o", "csv").err)
    made = re.search(r", (\d+) clients", kw("pipeline", "run", *captures, "--out", str(tmp_path / "again")).err)
    assert sniffed is not None
    assert made is not None
    (viewed,) = ask("select count(*) as clients from clients")
    told = report["summary"]["clients"], report["old_versions"]["clients"], viewed["clients"], int(made[1])
    assert told == (int(sniffed[1]),) * 4
    two = ask("select client_software_name from clients where client_id = 'admin' and client_software_name is not null")
    assert len(two) > 1


@pytest.mark.long
def test_errors_that_are_meant_so_count_nowhere(stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    meant = {("ApiVersions", "UNSUPPORTED_VERSION"), ("JoinGroup", "MEMBER_ID_REQUIRED")}
    (row,) = ask(
        "select count(*) as count from exchanges where array_contains(error_expected, true) and api = 'JoinGroup'"
    )
    assert row["count"] > 10
    assert not meant & {(row["api"], row["error"]) for row in report["errors"]}
    assert not meant & {(row["api"], row["error"]) for row in stats("--by", "api,error", "--metric", "errors")}
    assert not meant & {(row["api"], row["error"]) for row in ask("select * from errors_by_api")}
    (views,) = ask("select sum(errors) as errors from latency_by_api")
    assert views["errors"] == report["summary"]["errors"] == sum(row["errors"] for row in stats("--by", "api"))


def test_members_that_wait_for_their_group_are_not_slow(
    stats: Stats, report: Row, ask: Callable[[str], list[Row]]
) -> None:
    counted = by_key(stats("--by", "api"), "api")
    for api in ("JoinGroup", "SyncGroup"):
        (viewed,) = ask(f"select count(waited_ns) as waited from exchanges where api = '{api}'")
        assert counted[api,]["waited"] == viewed["waited"] > 5
    assert not {"JoinGroup", "SyncGroup"} & {row["api"] for row in report["slowest"]}


@pytest.mark.long
def test_versions_of_clients_are_the_same(stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    def software(row: Row) -> str | None:
        return f"{row['software']} {row['software_version']}" if row["software"] else None

    counted = [row for row in stats("--by", "client,address,software,api,version") if row["version"] is not None]
    key: tuple[str, ...] = ("client", "address", "software", "api", "version")
    viewed = (
        {**row, "software": software(row), "version": row["api_version"]}
        for row in named(ask("select * from versions"))
    )
    assert added(viewed, key, "count") == added(counted, key, "count")
    told = (
        {**row, **each, "client": row["client_id"] or row["address"]}
        for row in report["old_versions"]["old"]
        for each in row["old"]
    )
    target = report["old_versions"]["target"]
    old = named(ask(f"select * from old_versions where release = '{target}'"))
    key = ("client", "address", "software", "software_version", "api", "api_version", "first", "last")
    assert added(told, key, "count") == added(old, key, "count")


@pytest.mark.long
def test_the_slowest_are_the_same(stats: Stats, report: Row, ask: Callable[[str], list[Row]]) -> None:
    most = len(report["slowest"])
    names = ("time", "latency_ms", "client", "broker", "api", "api_version", "client_id")
    expected = [tuple(row[name] for name in names) for row in stats("--slowest", str(most))[-most:]]
    assert [tuple(row[name] for name in names) for row in report["slowest"]] == expected
    viewed = ask(f"select * from slowest limit {most}")
    assert [tuple(row[name] for name in names) for row in viewed] == expected


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("by", BYS)
def test_text_and_page_show_the_same_digits(by: str, captures: list[str], folder: str, tmp_path: Path) -> None:
    """Text and page show the same digits in the columns that both have."""
    names = ("count", "errors", "p50", "p90", "p99", "max", "bytes")

    def rows(lines: list[list[str]]) -> list[list[str]]:
        titles = lines[0]
        assert set(names) <= set(titles)
        return sorted([line[0], *(line[titles.index(name)] for name in names)] for line in lines[1:])

    def table(lines: list[str]) -> list[list[str]]:
        return [re.split(r" {2,}", line.strip()) for line in lines]

    counted = said("stats", *captures, "--by", by, "-o", "text", "-v").partition("\n\n")[0].splitlines()
    told = said("pipeline", "report", folder, "-o", "text", "-v")
    begin = told.index(f"\n\nLatency by {by}\n") + 2
    lines = told[begin : told.index("\n\n", begin)].splitlines()[1:]
    page = tmp_path / "page.html"
    said("pipeline", "report", folder, "--html", str(page), "-q")
    text = page.read_text()
    section = text[text.index(f'<section id="latency-{by}"') :]
    titles = re.findall(r"<th [^>]*>([^<]*)</th>", section[: section.index("</thead>")])
    cells = Page(text).cells[f"latency-{by}"]
    shown = rows([titles, *(row for row in cells if row)])
    assert rows(table(lines)) == rows(table(counted))
    assert len(shown) == min(len(counted) - 1, 50)
    assert all(row in rows(table(counted)) for row in shown)


def test_charts_are_drawn_of_the_same_numbers(folder: str, report: Row, stats: Stats, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said("pipeline", "report", folder, "--html", str(page), "-q")
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())[0])
    points = {row["time"]: row for row in stats("--by", "time", "--bucket", f"{report['bucket_s']}s")}
    drawn = {line.split(" · ")[0]: line.split(" · ")[1:] for line in data["charts"][0]}
    for time, row in points.items():
        shown = next(said for start, said in drawn.items() if time[:23].replace("T", " ").endswith(start))
        names = [name for name in ("p50", "p90", "p99", "max") if row[name]]
        assert shown == [f"{name} {format_latency(row[name])}" for name in names]
