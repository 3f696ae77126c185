"""`kw sql`: captures and tables are queried directly, both engines answer alike, and a query sees the tables alone."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from decoders.analysis.percentiles import count_by_bin, percentile
from decoders.limits import SQL_MEMORY_MAX
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.duckdb_sql import TablesDatabase
from kwcli.pipeline.query_tables_and_output import ListedTables, list_columns_by_table
from kwcli.pipeline.report.read_tables import Tables
from kwcli.pipeline.sql_views import VIEWS, build_view_sql, list_columns_of_view
from kwcli.pipeline.tables.table_columns import ALL_TABLES, TABLES
from kwcli.run_environment import Exit
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import Outcome, kw, world
from tests.pipeline.made import Names, make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTILE = 'a"b\x1b[31m,\nü'
TOUR = str(FOLDER / "tour.pcapng")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    names = Names(["one", "two", HOSTILE], ["orders", "clicks"])
    return str(make(tmp_path_factory.mktemp("made") / "it's", 2000, names))


def asked(query: str, *words: str, source: str = TOUR) -> Outcome:
    return kw("sql", source, query, *words)


def rows(query: str, *words: str, source: str = TOUR) -> list[dict[str, Any]]:
    outcome = asked(query, "-o", "ndjson", *words, source=source)
    assert outcome.code == Exit.DONE, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


# -- what is asked -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_capture_and_its_tables_give_the_same_rows(tmp_path: Path) -> None:
    captures = [str(FOLDER / name) for name in CLEAN[:2]]
    assert kw("pipeline", "run", *captures, "--out", str(tmp_path), "-q").code == Exit.DONE
    for name in TABLES:
        query = f"select * from {name} order by all"
        direct = kw("sql", *captures, query, "-o", "ndjson")
        assert direct.code == Exit.DONE, direct.err
        stored = asked(query, "-o", "ndjson", source=str(tmp_path))
        assert direct.out == stored.out
        assert direct.out or name == "skipped"


@pytest.mark.long
def test_records_that_kw_wrote_give_the_rows_of_their_capture() -> None:
    records = kw("sniff", TOUR, "-o", "ndjson", "-q").out.encode()
    query = """select api, client_id, topics, error_names, records, latency_ms, request_packet, response_packet, status
      from exchanges order by request_packet, response_packet, correlation_id"""
    read = kw("sql", "-", query, "-o", "ndjson", env=world(records))
    assert read.out == asked(query, "-o", "ndjson").out
    views = "select * from latency_by_topic order by topic"
    counted = [json.loads(line) for line in kw("sql", "-", views, "-o", "ndjson", env=world(records)).out.splitlines()]
    same = ("topic", "count", "errors", "waited", "request_bytes", "response_bytes")
    assert [[row[name] for name in same] for row in counted] == [[row[name] for name in same] for row in rows(views)]
    places = json.loads(
        kw("sql", "-", "select count(distinct place) as n, any_value(source_file) as file from exchanges",
           env=world(records)).out
    )  # fmt: skip
    assert places == {"n": len(records.splitlines()), "file": "standard input"}


def test_a_temporary_folder_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "a[b]*'c").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert rows("select count(*) > 0 as some from exchanges") == [{"some": True}]
    assert not list(folder.iterdir())


def test_a_table_that_is_no_parquet_is_told(folder: str, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "t")
    for file in (tmp_path / "t").rglob("*.parquet"):
        file.write_bytes(b"x" * file.stat().st_size)
    outcome = asked("select count(*) from exchanges", source=str(tmp_path / "t"))
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (Exit.FAILURE, "", 1)
    assert f"{tmp_path / 't'}/exchanges: " in outcome.err


def test_files_are_told_apart() -> None:
    files = [TOUR, str(FOLDER / "sasl-raw.pcap")]
    found = kw("sql", *files, "select source_file, count(*) as n from exchanges group by 1 order by 1", "-o", "ndjson")
    counts = {row["source_file"]: row["n"] for row in map(json.loads, found.out.splitlines())}
    assert counts == {file: len(kw("sniff", file, "-o", "ndjson").out.splitlines()) for file in files}


def test_filters_choose_what_is_asked() -> None:
    query = "select distinct api from exchanges"
    assert rows(query, "--api", "Fetch") == [{"api": "Fetch"}]
    assert rows("select count(*) as n from exchanges", "-f", "file like '*nothing*'") == [{"n": 0}]
    assert kw("sql", "-f", "api == Fetch", TOUR, "-", "-o", "ndjson", env=world(query.encode())).out == (
        '{"api":"Fetch"}\n'
    )


def test_bodies_are_there_where_they_are_asked_for() -> None:
    query = "select request_body->'$.topics' as topics from exchanges where api = 'CreateTopics'"
    names = sorted(topic["name"] for row in rows(query) for topic in row["topics"])
    assert names == ["metrics", "orders", "orders", "payments"]
    query = "select request_body from exchanges where api = 'SaslAuthenticate'"
    (first, *_) = rows(query, source=str(FOLDER / "sasl-framed.pcapng"))
    assert "redacted" in first["request_body"]


def test_a_capture_that_ends_inside_a_packet_is_asked_as_far_as_it_goes(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(Path(TOUR).read_bytes()[:100_000])
    outcome = asked("select count(*) > 10 as some from exchanges", source=str(cut))
    assert (outcome.code, outcome.out) == (Exit.FAILURE, '{"some":true}\n')
    assert "cut.pcapng" in outcome.err


def test_several_folders_of_tables_are_one(folder: str, tmp_path: Path) -> None:
    shutil.copytree(folder, other := tmp_path / "it's [a] *?")
    (one,) = rows("select count(*) as n from exchanges", source=folder)
    both = kw("sql", folder, str(other), "select count(*) as n from exchanges", "-o", "ndjson")
    assert json.loads(both.out) == {"n": 2 * one["n"]}
    mixed = kw("sql", folder, TOUR, "select 1")
    assert (mixed.code, "query one kind at a time" in mixed.err) == (Exit.USAGE, True)


def test_every_view_has_its_columns(folder: str) -> None:
    tables = Tables(folder)
    with closing(TablesDatabase(ListedTables(folder, tables.files), "show")) as database:
        for name, columns in list_columns_by_table(tables).items():
            assert database.read_column_names(name) == columns
        for name in VIEWS:
            assert database.read_column_names(name) == list_columns_of_view(name)


@pytest.mark.long
@pytest.mark.parametrize("columns", [40, 80])
def test_without_a_query_a_person_is_told_what_to_ask(columns: int) -> None:
    told = kw("sql", TOUR, env=world(terminal=True, columns=columns))
    lines = told.out.splitlines()
    assert told.code == 0
    assert [name for name in (*ALL_TABLES, *VIEWS) if not any(line.startswith(f"{name} ") for line in lines)] == []
    texts = [line for line in lines if not line.startswith("  kw sql ")]
    assert max(map(len, texts[1:])) <= columns
    examples = [shlex.split(line) for line in lines if line.startswith("  kw sql ")]
    assert [kw(*words[1:]).code for words in examples] == [0, 0, 0]
    assert [words[1:3] for words in examples] == [["sql", TOUR]] * 3


def test_without_a_query_views_are_listed() -> None:
    listed = kw("sql", TOUR, "-o", "ndjson")
    assert [json.loads(line)["name"] for line in listed.out.splitlines()] == [*ALL_TABLES, "records", *VIEWS]
    assert kw("sql", "--views", "-o", "ndjson").out == listed.out
    of_spark = kw("pipeline", "sql", "x", "-o", "ndjson").out.splitlines()
    assert of_spark == [line for line in listed.out.splitlines() if json.loads(line)["name"] != "records"]


@pytest.mark.full
def test_both_engines_give_the_same_rows_of_every_view(
    folder: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwcli.pipeline.spark.spark_sessions.session", lambda *_, **__: spark)
    for name in VIEWS:
        query = f"select * from {name}"
        here = asked(query, "-o", "ndjson", source=folder).out.splitlines()
        there = kw("pipeline", "sql", folder, query, "-o", "ndjson").out.splitlines()
        assert sorted(here) == sorted(there), name
        assert here or name in ("partition_errors", "joined")


def test_latencies_at_the_edges_of_bins_get_the_bin_of_the_sketch() -> None:
    from tests.pipeline.test_sql import EDGES

    signed, most = [*EDGES, *(-value for value in EDGES)], (1 << 63) - 1
    pairs = ", ".join(f"({value}, {took})" for value in signed for took in (value, most))
    with duckdb.connect() as database:
        database.execute(f"""create view exchanges as select about as api, 0::bigint as request_end_ns,
          took as response_ns, 'wire' as source, null::bigint as waited_ns,
          null::bigint as envelope, []::boolean[] as error_expected,
          1 as request_size, 1 as response_size from (values {pairs}) as t(about, took)""")
        database.execute(f"create view bins as {build_view_sql('bins')}")
        found = dict(database.execute(f"select api, p50_ms from ({build_view_sql('latency_by_api')})").fetchall())
    assert found == {value: percentile(count_by_bin([value, most]), 50, value, most) / 1e6 for value in signed}


# -- how it is shown ---------------------------------------------------------------------------------------------------


VALUES = """select 9223372036854775807 as big, 170141183460469231731687303715884105727::hugeint as huge,
  timestamptz '2026-11-21 03:04:05.000123Z' as time, true as yes, [1, null] as list, {'a': 1, 'b': 'x'} as deep,
  null as nothing, 0.5::double as half, date '2026-11-21' as day, 1 as same, 2 as same, 'x'::blob as raw,
  'nan'::double as nan, map {'k': [1]} as map, '{"a":[1]}'::json as json, 1.50::decimal(5,2) as money"""
EXACT = {
    "big": 9223372036854775807,
    "huge": (1 << 127) - 1,
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
    "nan": "NaN",
    "map": {"k": [1]},
    "json": {"a": [1]},
    "money": 1.5,
}


@pytest.mark.long
def test_values_are_exact_in_every_format() -> None:
    assert rows(VALUES) == [EXACT]
    assert json.loads(asked(VALUES, "-o", "json").out) == [EXACT]
    names, values = csv.reader(io.StringIO(asked(VALUES, "-o", "csv").out))
    assert names == list(EXACT)
    assert values[3:6] == ["true", "1, null", "a:1 b:x"]
    for format in ("text", "table"):
        titles, cells = asked(VALUES, "-o", format).out.splitlines()
        assert titles.split() == list(EXACT)
        assert cells.split()[:4] == [str(value) for value in (*[*EXACT.values()][:3], "yes")]


def test_names_of_the_capture_cannot_move_the_cursor(folder: str) -> None:
    query = "select client_id from latency_by_client order by 1"
    assert rows(query, source=folder)[0] == {"client_id": HOSTILE}
    colourless = {"NO_COLOR": "1"}
    for env in (world(terminal=True, columns=80, variables=colourless), world(variables={"KW_OUTPUT": "text"})):
        outcome = kw("sql", folder, query, env=env)
        assert "\x1b" not in outcome.out
        assert 'a"b\\x1b[31m,\\nü' in outcome.out
    outcome = kw("sql", folder, f"select '{HOSTILE}' from nothing", env=world(terminal=True, columns=80))
    assert "\x1b" not in outcome.err


def test_a_terminal_gets_a_screenful_and_is_told() -> None:
    outcome = kw("sql", TOUR, "select i from range(5000) t(i)", "-q", env=world(terminal=True, columns=60))
    assert len(outcome.out.splitlines()) == 1001
    outcome = kw("sql", TOUR, "select i from range(5000) t(i)", env=world(terminal=True, columns=60))
    assert outcome.err.splitlines()[-1] == "the first 1,000 rows; --limit shows more"
    assert rows("select i from range(5000) t(i)", "--limit", "2") == [{"i": 0}, {"i": 1}]


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select foo from exchanges", "line 1, column 8 of the query: there is no column foo"),
        ("select 'ü',\n  latencyms\nfrom exchanges", "line 2, column 3 of the query: there is no column latencyms ("),
        ("select nofunction(api) from exchanges", "line 1, column 8 of the query: "),
        ("selec 1", "line 1, column 1 of the query: syntax error"),
        ("", "the query is empty"),
        ("select 1; select 2", "two queries are in the query"),
        ("select * from exchange", 'there is no table or view exchange (did you mean "exchanges"?); --views lists'),
        ("select api, count(*) from exchanges", "line 1, column 8 of the query: column"),
        ("select cast('x' as int)", "line 1, column 8 of the query: could not convert"),
        ("select cast(if(i = 99999, 'x', '1') as int) from range(100000) t(i)", ": could not convert string 'x'"),
    ],
)  # fmt: skip
def test_a_bad_query_is_one_line_with_its_place(query: str, said: str) -> None:
    outcome = asked(query, "-q")
    assert outcome.code == (Exit.FAILURE if "convert" in said else Exit.USAGE)
    assert outcome.out == "" or "range" in query
    assert said in outcome.err
    assert outcome.err.startswith("kw: ")
    assert outcome.err.count("\n") == 1


def test_a_wrong_query_is_told_before_captures_are_read(tmp_path: Path) -> None:
    outcome = kw("sql", str(tmp_path / "nothing-there.pcap"), "select foo from exchanges")
    assert "foo" in outcome.err
    assert "no such file" not in outcome.err
    outcome = kw("sql", str(tmp_path / "nothing-there.pcap"), "select api from exchanges")
    assert (outcome.code, "no such file" in outcome.err) == (Exit.FAILURE, True)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('{secret}')",
        "select * from read_parquet('{secret}')",
        "select * from '{secret}'",
        "select * from glob('/etc/*')",
        "select * from query('select * from read_text(''{secret}'')')",
        "from 'https://localhost:1/x.parquet'",
        "select getenv('HOME')",
        "select * from duckdb_secrets()",
        "select * from env",
        "select * from sys",
        "copy (select 1) to '{folder}/made.csv'",
        "copy exchanges to '{parquet}' (use_tmp_file false)",
        "explain analyze copy (select 1) to '{parquet}' (use_tmp_file false)",
        "explain /* */ analyze copy (select 1) to '{folder}/made.csv'",
        "prepare a as copy (select 1) to '{folder}/made.csv'",
        "select 1; copy (select 1) to '{folder}/made.csv'",
        "export database '{folder}/made'",
        "attach '{folder}/made.db'",
        "install httpfs",
        "load httpfs",
        "load '{secret}'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "reset lock_configuration",
        "pragma enable_profiling",
        "call pragma_version()",
        "create table made as select 1",
        "create macro made() as 1",
        "drop view exchanges",
        "checkpoint",
        "use memory",
    ],
)
def test_a_query_sees_the_tables_alone(query: str, folder: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.parquet"
    secret.write_text("root:x:0:0")
    (parquet, *_) = Tables(folder).files["exchanges"]
    before = Path(parquet).read_bytes()
    names = {"secret": str(secret), "folder": str(tmp_path), "parquet": parquet.replace("'", "''")}
    outcome = asked(re.sub(r"\{(\w+)\}", lambda found: names[found[1]], query), "-q", source=folder)
    assert outcome.code in (Exit.USAGE, Exit.FAILURE)
    assert outcome.out == ""
    assert (outcome.err.startswith("kw: "), outcome.err.count("\n")) == (True, 1)
    assert "root:x" not in outcome.err
    assert "defect" not in outcome.err
    assert Path(parquet).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["secret.parquet"]


@pytest.mark.long
def test_what_only_looks_is_allowed() -> None:
    assert {row["column_name"] for row in rows("describe latency_by_api")} == set(
        list_columns_of_view("latency_by_api")
    )
    assert {"exchanges", "clients"} <= {row["name"] for row in rows("show tables")}
    assert len(rows("summarize throttled")) == len(list_columns_of_view("throttled"))
    assert "Total Time" in rows("explain analyze select count(*) from exchanges")[0]["text"]


def test_options_that_tables_cannot_keep_are_refused(folder: str) -> None:
    outcome = asked("select 1", "--api", "Fetch", source=folder)
    assert (outcome.code, "--api has no effect on tables" in outcome.err) == (Exit.USAGE, True)
    outcome = kw("sql", "-", "-")
    assert (outcome.code, "not both" in outcome.err) == (Exit.USAGE, True)


def test_without_the_extra_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.pipeline.sql_command.find_spec", lambda name: None if name == "duckdb" else name)
    outcome = asked("select 1")
    assert outcome.code == Exit.FAILURE
    assert outcome.err == f"kw: kw sql needs duckdb, which is not installed: {pip_command_for_extra('sql')}\n"
    assert kw("sql", TOUR).code == Exit.DONE


# -- what it costs -----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("moment", [0.01, 0.02, 0.05, 0.1, 0.2, 2.0])
def test_ctrl_c_ends_a_long_query(folder: str, tmp_path: Path, moment: float) -> None:
    """Ctrl-C ends a query of tables; with a capture it would end the reading, and query what was read.

    `moment`: seconds after the start of DuckDB, before, while or after it begins with the query.
    """
    command = [sys.executable, "-m", "kwcli.main", "sql", folder, "-q"]
    query = "select count(*) from range(100000000000) a, range(1000000) b"
    environment = {"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen([*command, query], stderr=subprocess.PIPE, env=environment) as running:
        while not list(tmp_path.glob("kw-sql-*")):
            time.sleep(0.01)
        time.sleep(moment)
        running.send_signal(signal.SIGINT)
        try:
            _, said = running.communicate(timeout=120)
        finally:
            running.kill()
    # Python ends by the signal itself if it came while a class was made; a shell shows 130 for both.
    assert running.returncode in (Exit.INTERRUPTED, -signal.SIGINT)
    assert said.strip() == b""
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_more_than_memory_holds_is_sorted() -> None:
    """Sorting more than memory holds works in a process limited to SQL_MEMORY_MAX and the program's own needs."""
    size = SQL_MEMORY_MAX * 3 // 2 // 320
    query = f"select count(*) as n from (select repeat(md5(i::varchar), 10) as s from range({size}) t(i) order by s)"
    program = f"""import resource
from kwcli.run_environment import Environment
from kwcli.main import run
code = run(["sql", {TOUR!r}, {query + " where length(s) = 320"!r}, "-q", "-o", "ndjson"], Environment.of_process())
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    answer, _, counts = done.stdout.partition("\n")
    code, peak = map(int, counts.split())
    assert (json.loads(answer), code) == ({"n": size}, Exit.DONE)
    assert peak << 10 < SQL_MEMORY_MAX + (500 << 20)


LARGE_JOIN = """select count(*) from
(select md5(i::varchar) as a, md5((i + 1)::varchar) as b from range(3000000) t(i)) x join
(select md5(i::varchar) as a, md5((i + 2)::varchar) as c from range(3000000) t(i)) y using (a) where b < c"""


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (LARGE_JOIN, "the query needs more than 64 MiB of memory and 16.0 MiB of temporary files: filter or aggregate"),
        ("select list(i) from range(20000000) t(i)", "the query needs more than 64 MiB of memory: filter or aggregate"),
    ],
    ids=["join", "list"],
)
def test_a_query_that_is_too_large_ends_in_one_line(
    query: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("kwcli.pipeline.duckdb_sql.SQL_MEMORY_MAX", 64 << 20)
    monkeypatch.setattr("kwcli.pipeline.duckdb_sql.SQL_SPILL_MAX", 16 << 20)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = asked(query, "-q")
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert outcome.err.startswith(f"kw: {said}")
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_query_may_fill_half_of_a_small_disk(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr("kwcli.pipeline.duckdb_sql.disk_usage", lambda _: Namespace(free=10 << 20))
    with closing(TablesDatabase(ListedTables(folder, Tables(folder).files), "select 1")) as database:
        found = database._database.execute("select current_setting('max_temp_directory_size')").fetchone()
    assert found == ("5.0 MiB",)


def test_the_handbook_shows_what_comes() -> None:
    text = (Path(__file__).resolve().parents[2] / "kwcli" / "help" / "sql.md").read_text()
    blocks = [block for block in re.findall(r"```\n\$ (.*?)\n```", text, re.DOTALL) if block.startswith("kw sql")]
    assert len(blocks) == 3
    for block in blocks:
        command, *lines = block.splitlines()
        assert kw(*shlex.split(command)[1:], "-o", "text").out.splitlines() == lines
