"""`kw pipeline sql`: views have the report's numbers, every format is exact, a bad query is one line with its place."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from decoders.analysis.percentiles import bin_edges, count_by_bin, percentile
from kwcli.help.handbook_pages import read_page
from kwcli.pipeline.sql_views import VIEWS, build_view_sql
from kwcli.pipeline.tables.table_columns import ALL_TABLES
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw, world
from tests.pipeline.made import Names, make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

HOSTILE = 'a"b\x1b[31m,\nü'
ROWS = 4000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    assert spark.version
    return make(tmp_path_factory.mktemp("made") / "tables", ROWS, Names(["one", "two", HOSTILE], ["orders", "clicks"]))


@pytest.fixture(autouse=True)
def at_hand(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every command the running session: looking for Java and packing kw again takes longer than most queries."""
    monkeypatch.setattr("kwcli.pipeline.spark.spark_sessions.session", lambda *_, **__: spark)


def _cell(value: Any) -> Any:
    """A text in JSON form as the text that it stands for."""
    return b64decode(value["base64"]).decode() if isinstance(value, dict) else value


def asked(folder: Path, query: str, *words: str, env: Any = None) -> Outcome:
    return kw("pipeline", "sql", str(folder), query, *words, env=env)


def rows(folder: Path, query: str, *words: str) -> list[dict[str, Any]]:
    outcome = asked(folder, query, "-o", "ndjson", *words)
    assert outcome.code == Exit.DONE, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kw("pipeline", "report", str(folder), "--target", "4.0", "-o", "json").out)
    return found


@pytest.mark.parametrize("by", ["api", "client", "topic", "broker"])
def test_views_of_latency_say_what_the_report_says(folder: Path, report: dict[str, Any], by: str) -> None:
    name = "client_id" if by == "client" else by
    found = {_cell(row[name]): row for row in rows(folder, f"select * from latency_by_{by}")}
    expected = {_cell(row[by]): row for row in report["latency"][by]}
    assert found.keys() == expected.keys()
    for key, row in found.items():
        its = expected[key]
        same = ("count", "waited", "request_bytes", "response_bytes")
        assert [row[each] for each in same] == [its[each] for each in same]
        assert row["errors"] == its["errors"]
        for value in ("p50", "p90", "p95", "p99", "max"):
            assert row[f"{value}_ms"] == its[value]


def test_other_views_say_what_the_report_says(folder: Path, report: dict[str, Any]) -> None:
    errors = {(row["api"], row["error"]): row["exchanges"] for row in rows(folder, "select * from errors_by_api")}
    assert errors == {(row["api"], row["error"]): row["exchanges"] for row in report["errors"]}
    (slow,) = rows(folder, "select * from slowest order by latency_ms desc limit 1")
    assert slow["latency_ms"] == pytest.approx(report["slowest"][0]["latency_ms"])
    old = rows(folder, "select client_id, sum(count) as count from old_versions where release = '4.0' group by 1")
    assert {_cell(row["client_id"]): row["count"] for row in old} == {
        _cell(row["client_id"]): row["count"] for row in report["old_versions"]["old"]
    }
    throttled = rows(folder, "select client_id, sum(throttled) as n, sum(sum_ms) as sum from throttled group by 1")
    assert {_cell(row["client_id"]): (row["n"], row["sum"]) for row in throttled} == {
        _cell(row["client"]): (row["throttled"], row["sum_ms"]) for row in report["throttling"]["client"]
    }
    topics = rows(folder, "select topic, produced_bytes, fetched_bytes from topics")
    assert {_cell(row["topic"]): (row["produced_bytes"], row["fetched_bytes"]) for row in topics} == {
        _cell(row["topic"]): (row["produced_bytes"], row["fetched_bytes"]) for row in report["talkers"]["topic"]
    }


EDGES = sorted(
    {value + by for value in (*bin_edges()[::97], *bin_edges()[-3:-1], 10**9) for by in (-1, 0, 1)} | {0, 1, 2, 3}
)


def test_latencies_at_the_edges_of_bins_get_the_bin_of_the_sketch(spark: SparkSession) -> None:
    signed = [*EDGES, *(-value for value in EDGES)]
    values = ", ".join(f"({value}, {value}L)" for value in signed)
    exchanges = f"""select about as api, 0L as request_end_ns, took as response_ns, cast(null as bigint) as waited_ns,
        cast(null as bigint) as envelope, array() as error_codes,
        cast(array() as array<boolean>) as error_expected, 'wire' as source, 1 as request_size, 1 as response_size
        from (select about, took from values {values} as t(about, took) union all
          select about, {(1 << 63) - 1} from values {values} as t(about, took))"""
    for name, query in (("exchanges", exchanges), ("bins", build_view_sql("bins"))):
        spark.sql(query).createOrReplaceTempView(name)
    try:
        found = {row.api: row.p50_ms for row in spark.sql(build_view_sql("latency_by_api")).collect()}
    finally:
        for name in ("exchanges", "bins"):
            spark.catalog.dropTempView(name)
    most = (1 << 63) - 1
    expected = {value: percentile(count_by_bin([value, most]), 50, value, most) / 1e6 for value in signed}
    assert found == expected


def test_every_view_can_be_asked(folder: Path) -> None:
    union = " union all ".join(f"select '{name}' as name, count(*) as rows from {name}" for name in VIEWS)
    counts = {row["name"]: row["rows"] for row in rows(folder, union)}
    assert set(counts) == set(VIEWS)
    assert {name for name, count in counts.items() if not count} <= {"partition_errors", "joined"}


VALUES = """select 9223372036854775807 as big, timestamp '2026-11-21 03:04:05.000123' as time, true as yes,
  array(1, null) as list, struct(1 as a, 'x' as b) as deep, cast(null as string) as nothing, 0.5D as half,
  date '2026-11-21' as day, 1 as same, 2 as same, cast('x' as binary) as raw, null as void"""
EXACT = {
    "big": 9223372036854775807,
    "time": "2026-11-21T03:04:05.000123Z",
    "yes": True,
    "list": [1, None],
    "deep": {"a": 1, "b": "x"},
    "nothing": None,
    "half": 0.5,
    "day": "2026-11-21",
    "same": 1,
    "same_2": 2,
    "raw": "eA==",
    "void": None,
}


def test_values_are_exact_in_every_format(folder: Path) -> None:
    assert rows(folder, VALUES) == [EXACT]
    assert json.loads(asked(folder, VALUES, "-o", "json").out) == [EXACT]
    names, values = csv.reader(io.StringIO(asked(folder, VALUES, "-o", "csv").out))
    assert names == list(EXACT)
    assert values[:5] == ["9223372036854775807", "2026-11-21T03:04:05.000123Z", "true", "1, null", "a:1 b:x"]
    for format in ("text", "table"):
        titles, cells = asked(folder, VALUES, "-o", format).out.splitlines()
        assert titles.split() == list(EXACT)
        assert cells.split()[:3] == ["9223372036854775807", "2026-11-21T03:04:05.000123Z", "yes"]


def test_order_and_limit_are_kept(folder: Path) -> None:
    found = rows(folder, "select place from exchanges order by place desc", "--limit", "7")
    assert [row["place"] for row in found] == list(range(ROWS - 1, ROWS - 8, -1))
    assert len(rows(folder, "select place from exchanges")) == ROWS
    assert asked(folder, "select 1 from exchanges where false", "-o", "json").out == "[]\n"
    assert asked(folder, "select 1 as a from exchanges where false", "-o", "csv").out == "a\n"


def test_a_terminal_gets_a_screenful_and_is_told(folder: Path) -> None:
    env = world(terminal=True, columns=60, variables={"NO_COLOR": "1"})
    outcome = asked(folder, "select place, client_id, client, broker, api from exchanges order by 1", env=env)
    lines = outcome.out.splitlines()
    assert len(lines) == 1001
    assert max(map(len, lines)) <= 60
    assert outcome.err == "the first 1,000 rows; --limit shows more\n"


def test_names_of_the_capture_cannot_move_the_cursor(folder: Path) -> None:
    query = "select client_id from latency_by_client order by 1"
    assert rows(folder, query)[0] == {"client_id": HOSTILE}
    text = asked(folder, query, "-o", "text").out
    assert "\x1b" not in text
    assert 'a"b\\x1b[31m,\\nü' in text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select foo from exchanges", "line 1, column 8 of the query: there is no column foo"),
        ("select api,\n  latencyms\nfrom exchanges", "line 2, column 3 of the query: "),
        ("select nofunction(api) from exchanges", "line 1, column 8 of the query: "),
        ("selec 1", "line 1, column 1 of the query: syntax error at or near 'selec'"),
        ("", "the query is empty"),
        ("select 1; select 2", "line 1, column 11 of the query: syntax error"),
        (
            "select * from exchange",
            'there is no table or view exchange (did you mean "exchanges"?); --views lists them',
        ),
        ("select api, count(*) from exchanges", "line 1, column 1 of the query: the query does not include a GROUP BY"),
    ],
)
def test_a_bad_query_is_one_line_with_its_place(folder: Path, query: str, said: str) -> None:
    outcome = asked(folder, query)
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert said in outcome.err
    assert outcome.err.startswith("kw: ")
    assert outcome.err.count("\n") == 1
    assert "SQLSTATE" not in outcome.err


@pytest.mark.parametrize(
    "query",
    [
        "create table x as select 1",
        "insert into exchanges select * from exchanges",
        "with a as (select 1) insert into exchanges select * from a",
        "from exchanges insert into connections select * insert into skipped select *",
        "drop view exchanges",
        "set spark.sql.ansi.enabled=false",
        "insert overwrite directory '/tmp/x' using parquet select 1",
    ],
)
def test_what_is_no_question_is_refused(folder: Path, query: str) -> None:
    outcome = asked(folder, query)
    assert outcome.code == Exit.USAGE
    assert outcome.err == "kw: the query is no select: kw pipeline sql only reads tables\n"


def test_a_query_that_fails_as_it_runs_is_a_failure(folder: Path) -> None:
    outcome = asked(folder, "select api_key / (place - place) from exchanges")
    assert outcome.code == Exit.FAILURE
    assert outcome.err == (
        "kw: line 1, column 8 of the query: division by zero. Use `try_divide` to tolerate divisor being 0 and return "
        "NULL instead\n"
    )


def test_looking_is_allowed(folder: Path) -> None:
    assert "latency_ms" in {row["col_name"] for row in rows(folder, "describe exchanges")}
    assert rows(folder, "show views")
    env = world(b"select count(*) as n from exchanges")
    assert json.loads(asked(folder, "-", env=env).out) == {"n": ROWS}


def test_tables_without_rows_and_tables_that_are_not_there(tmp_path: Path) -> None:
    capture = Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng"
    words = ("--tables", "exchanges", "-f", "latency > 1h", "-q")
    assert kw("pipeline", "run", str(capture), "--out", str(tmp_path / "t"), *words).code == Exit.DONE
    assert rows(tmp_path / "t", "select count(*) as n, sum(count) as s from exchanges, latency_by_api") == [
        {"n": 0, "s": None}
    ]
    lacking = (
        f"topic_partitions, which {tmp_path / 't'} does not have; kw pipeline run --tables topic_partitions adds it"
    )
    assert f"kw: batches is made of {lacking}\n" in asked(tmp_path / "t", "select * from batches").err.replace(
        "line 1, column 15 of the query: ", ""
    )
    lacking = (
        f"connections is a table that {tmp_path / 't'} does not have; kw pipeline run --tables connections adds it"
    )
    assert lacking in asked(tmp_path / "t", "select * from connections").err


def test_a_folder_may_have_any_name(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a[b]{c,d}*").mkdir()
    odd = shutil.copytree(folder, tmp_path / "a[b]{c,d}*" / "t?^e")
    assert rows(odd, "select count(*) as n from exchanges") == [{"n": ROWS}]
    found, wanted = (
        kw("pipeline", "report", str(each), "--master", "local", "-o", "md", "-q") for each in (odd, folder)
    )
    assert (found.code, found.err) == (wanted.code, wanted.err)
    assert found.out.splitlines()[9:] == wanted.out.splitlines()[9:] != []


def test_views_are_listed_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("kwcli.pipeline.spark.spark_sessions.session")
    outcome = kw("pipeline", "sql", str(tmp_path), "--views", "-o", "ndjson")
    names = [json.loads(line)["name"] for line in outcome.out.splitlines()]
    assert names == [*ALL_TABLES, *VIEWS]
    assert kw("pipeline", "sql", str(tmp_path), "-o", "ndjson").out == outcome.out
    assert kw("pipeline", "sql", str(tmp_path), "select 1", "--views").code == Exit.USAGE


def test_what_the_handbook_tells_is_so(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    section = read_page("sql")
    told = set(
        re.findall(r"`(\w+)`", section[section.index("views for the usual") : section.index("\n\nBoth engines have")])
    )
    assert set(VIEWS) == told - {"release"}
    folder = tmp_path / "tables"
    assert kw("pipeline", "run", str(root / "captures" / "tour.pcapng"), "--out", str(folder), "-q").code == Exit.DONE
    command, *lines = re.findall(r"```\n(.*?)\n```", section, re.DOTALL)[0].splitlines()
    query = shlex.split(command)[4:]  # the query that the example gives `kw sql`
    assert kw("pipeline", "sql", str(folder), *query, "-o", "text").out.splitlines() == lines


def test_a_cell_of_csv_and_table_is_no_dump(folder: Path, tmp_path: Path) -> None:
    query = "select array(1, null) a, map('k', array('x', 'y')) m, named_struct('p', named_struct('q', true)) s, true b"
    outcome = asked(folder, query, "-o", "csv")
    assert [*csv.reader(io.StringIO(outcome.out))] == [["a", "m", "s", "b"], ["1, null", "k:x,y", "p.q:true", "true"]]
    file = tmp_path / "answer.csv"
    file.write_text(outcome.out)
    assert duckdb.read_csv(str(file), header=True).fetchall() == [("1, null", "k:x,y", "p.q:true", True)]
    assert asked(folder, query, "-o", "table").out.splitlines()[1].split("  ") == [
        "1, null",
        "k:x,y",
        "p.q:true",
        "yes",
    ]
