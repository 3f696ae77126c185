"""Names that no table or column has are refused before Spark starts; queries that Spark accepts are never refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwcli.pipeline.query_tables_and_output import ListedTables, list_columns_by_table
from kwcli.pipeline.report.read_tables import Tables
from kwcli.pipeline.spark_sql import _create_temporary_views, _refuse_unknown_names
from kwcli.pipeline.sql_views import VIEWS, build_view_sql, list_columns_of_view
from kwcli.pipeline.tables.table_columns import ALL_TABLES
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw
from tests.pipeline.made import Names, make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {name: list_columns_of_view(name) for name in VIEWS}
ALL = {name: (*(column.name for column in its), "date") for name, its in ALL_TABLES.items()} | COLUMNS
VALID = [
    "select 1",
    "select 1;",
    "select 'it''s', \"x\", r'\\d', x'1F', 1L, 2.5D, 1e3, .5, 3BD, true, null, date '2026-11-21', interval '1' day",
    "select * from exchanges",
    "SELECT API, Count(*) FROM Exchanges GROUP BY ALL",
    "select api, count(*) n from exchanges group by api having n > 1 order by n desc, api nulls last limit 3",
    "select api a, latency_ms + 1 b from exchanges where latency_ms between 1 and 5 or latency_ms is null",
    "select e.api, t.`group` from exchanges e join topic_partitions t on e.place = t.place and e.client = t.client",
    "select exchanges.api from exchanges, connections where exchanges.client = connections.client",
    "select topic, group, offset, partition from topic_partitions",
    "select e.*, p.partition from exchanges as e left outer join topic_partitions p using (place)",
    (
        "with a as (select api x from exchanges), b(y, z) as (select api, count(*) from exchanges "
        "group by 1) select x, z from a join b on x = y"
    ),
    "with a as (select 1 as one) from a select one",
    "from exchanges select api, client where latency_ms > 1",
    "select x.n from (select count(*) as n from exchanges) x",
    "select n from (select count(*) n from exchanges) as x where n > 0",
    "select topic, count(*) from exchanges lateral view explode(topics) t as topic group by topic",
    "select topic, count(*) from exchanges lateral view outer explode(topics) t topic group by 1",
    "select p, name from exchanges lateral view posexplode(error_names) t as p, name where p > 0",
    "select explode(topics) from exchanges",
    "select col from (select explode(topics) from exchanges)",
    "select transform(topics, t -> upper(t)) from exchanges",
    "select filter(error_codes, c -> c > 0), aggregate(error_codes, 0, (acc, x) -> acc + x) from exchanges",
    "select exists(topics, t -> t = 'orders') from exchanges",
    "select api, rank() over w from exchanges window w as (partition by api order by latency_ms)",
    (
        "select api, sum(latency_ms) over (partition by client rows between unbounded preceding "
        "and current row) s from exchanges"
    ),
    "select cast(latency_ms as decimal(10, 2)) d, latency_ms::int, try_cast(api as bigint) from exchanges",
    "select extract(hour from time), extract(dow from time) from exchanges",
    "select trim(both 'x' from api), substring(api from 2 for 3), overlay(api placing 'x' from 1) from exchanges",
    "select * from exchanges where latency_ms is distinct from duration_ms",
    "select date_trunc('minute', time) m, count(*) from exchanges group by m",
    "select timestampdiff(MINUTE, min(time), max(time)), dateadd(day, 1, max(time)) from exchanges",
    "select time + interval 5 minutes, time - interval '1:30' minute to second from exchanges",
    "select percentile_disc(0.99) within group (order by latency_ms) as exact from exchanges where waited_ns is null",
    "select percentile(latency_ms, array(0.5, 0.9)) filter (where api = 'Fetch') from exchanges",
    "select case when latency_ms > 1 then 'slow' else 'fast' end speed, count(*) from exchanges group by speed",
    "select case api when 'Fetch' then 1 end from exchanges",
    "select api from exchanges union all select api from topic_partitions except select 'x' intersect select 'y'",
    (
        "select api from exchanges where client in (select client from connections where kafka) "
        "and not exists (select 1 from skipped s)"
    ),
    "select (select max(latency_ms) from exchanges) m, * except (kind) from exchanges",
    "select distinct client_id, count(distinct api) from exchanges group by client_id",
    "select api, `count(1)` from (select api, count(1) from exchanges group by api)",
    "select /* a /* nested */ comment */ api -- and to the end\nfrom exchanges /* */",
    "select /*+ BROADCAST(t) */ e.api from exchanges e join topic_partitions t on e.place = t.place",
    (
        "select api from exchanges where client_id rlike 'x' or client_id regexp '.*' or api like "
        "'F%' escape '!' or api ilike any ('f%', 'p%')"
    ),
    "select a.x from (select api as x from exchanges) a cross join (select 1) b",
    "select * from exchanges tablesample (10 percent)",
    "select * from values (1, 'a'), (2, 'b') as t(x, y) where x > 1",
    "select id from range(3)",
    "select * from exchanges pivot (count(*) for api in ('Fetch' as f))",
    "select grouping_id(), api, broker, count(*) from exchanges group by cube (api, broker)",
    "select api, broker from exchanges group by grouping sets ((api), (broker), ())",
    "select x from (select 'x')",
    "select current_date, current_timestamp, current_user, user, localtimestamp()",
    "select s.a from (select struct(api as a) s from exchanges)",
    "select named_struct('a', api).a, map('k', api)['k'], error_codes[0] from exchanges",
    "select y + 1 from (select latency_ms as x, x + 1 as y from exchanges)",
    "select count(*) from latency_by_api l join latency_by_client c on l.count = c.count",
    "select old.client_id, old.served_from from old_versions old where release = '4.0'",
    "select api from exchanges where date = '2026-11-21'",
    "select stack(2, 1, 2), col0 from (select 1 as col0)",
    "from exchanges |> where latency_ms > 1 |> aggregate count(*) as n group by api |> where n > 1",
    "table exchanges",
    "describe exchanges",
    "show views",
    "explain select api from exchanges",
    "select time zone from exchanges",
    "select api from exchanges order by api offset 2",
    "select e.api from exchanges e, lateral (select e.client as c) where c is not null",
    "select a.api from exchanges a join exchanges b on a.place = b.place where b.latency_ms > a.latency_ms",
    "select api collate utf8_lcase as low from exchanges",
    "select sum(latency_ms) as `my sum` from exchanges order by `my sum`",
    "select api as from from exchanges",
    "select api from exchanges group by api having count(*) > 1 sort by api",
    "select any_value(api), first(api), last(api) from exchanges distribute by 1",
    "select date_format(time, 'HH:mm') h, count(*) from exchanges group by h",
    "select date_format(time, 'HH') h, count(*) from exchanges group by h",
    "select `api`, `e`.`client` from `exchanges` as e",
    "select col2 from values (1, 2)",
    "select r.id from range(3) r",
    "select latency_ms from (select cast(latency_ms as int) from exchanges)",
    "select transform(topics, x -> 1) from exchanges",
    "select grouping__id, api from exchanges group by cube (api)",
    "select datediff(day, min(time), max(time)) from exchanges",
    'select "x" from exchanges',
    "select session_window.start from exchanges group by session_window(time, '5 minutes')",
    "select m.foo from (select map('foo', api) m from exchanges)",
    "select Fetch from (select api from exchanges) pivot (count(*) for api in ('Fetch'))",
    "select a from (select inline(array(struct(1 as a, 2 as b))))",
]
WRONG = [
    (
        "select latncy_ms from exchanges",
        'line 1, column 8 of the query: there is no column latncy_ms (did you mean "latency_ms"?)',
    ),
    ("select api,\n  latencyms\nfrom exchanges", "line 2, column 3 of the query: there is no column latencyms"),
    ("select api as a, latncy from exchanges", "column 18 of the query: there is no column latncy"),
    ("select 2 * latncy from exchanges", "column 12 of the query: there is no column latncy"),
    ("select e.latncy_ms from exchanges e", "column 8 of the query: there is no column latncy_ms (did you mean"),
    ("select exchanges.foo from exchanges", "there is no column foo"),
    ("select api from exchanges where clientid = 'a'", '(did you mean "client_id"?)'),
    ("select count(*) from exchanges group by apis", 'there is no column apis (did you mean "api"?)'),
    ("select api from exchanges order by latncy_ms desc", "there is no column latncy_ms"),
    ("select max(latncy_ms) from exchanges", "column 12 of the query: there is no column latncy_ms"),
    ("select `latncy_ms` from exchanges", "there is no column latncy_ms"),
    ("select client from latency_by_client", 'there is no column client (did you mean "client_id"?)'),
    ("select software from clients", "there is no column software"),
    ("select foo", "there is no column foo"),
    ("with a as (select api from exchanges) select apy from a", "there is no column apy"),
    ("select * from (select api from exchanges where foo > 1)", "there is no column foo"),
    ("SELECT API FROM Exchanges WHERE Latncy > 1", "column 33 of the query: there is no column Latncy"),
    (
        "select * from exchange",
        'column 15 of the query: there is no table or view exchange (did you mean "exchanges"?); --views lists them',
    ),
    (
        "select * from exchanges e join topic_partition t on e.place = t.place",
        "there is no table or view topic_partition (did",
    ),
    ("select * from exchanges, conections", 'there is no table or view conections (did you mean "connections"?)'),
    ("select * from latency_by_apis", '(did you mean "latency_by_api"?)'),
    ("select * from exchnges as e where e.api = 'x'", "there is no table or view exchnges"),
    ("select * from nothing_like_it", "there is no table or view nothing_like_it; --views lists them"),
    ("with a as (select * from exchngs) select * from a", "there is no table or view exchngs"),
]
ALL_FILES = ListedTables("DIR", dict.fromkeys(ALL_TABLES, ()))


def checked(query: str) -> str:
    """The message for a query, or an empty text."""
    try:
        _refuse_unknown_names(query, ALL_FILES)
    except Failure as failure:
        return failure.text if failure.code == Exit.USAGE else "another code"
    return ""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("query", VALID)
def test_what_may_be_right_passes(query: str) -> None:
    assert checked(query) == ""


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("query", "said"), WRONG)
def test_what_is_surely_wrong_is_told(query: str, said: str) -> None:
    assert said in checked(query)
    assert "\n" not in checked(query)


def test_what_a_folder_lacks_is_told() -> None:
    some = ListedTables("DIR", {"exchanges": ()})
    with pytest.raises(Failure, match="column 15 of the query: batches is made of topic_partitions, which DIR"):
        _refuse_unknown_names("select * from batches", some)


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_the_queries_of_the_views_pass(name: str) -> None:
    assert checked(build_view_sql(name)) == ""


WORDS = st.sampled_from(
    [
        "select",
        "from",
        "where",
        "exchanges",
        "api",
        "(",
        ")",
        ",",
        ".",
        "'x'",
        "`",
        "'",
        "as",
        "x",
        "join",
        "on",
        "=",
        "/*",
        "*/",
        "--",
        "\n",
        "with",
        "lateral",
        "view",
        "->",
        "1",
        ";",
        "|>",
    ]
)


@given(st.lists(WORDS | st.text(max_size=3), max_size=14).map(" ".join))
def test_whatever_is_asked_is_checked(query: str) -> None:
    assert "\n" not in checked(query)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made") / "tables", 40, Names(["one"], ["orders"]))


def test_a_wrong_query_is_told_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong query is refused without Spark, which would fail here."""

    def no_session(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("kwcli.pipeline.spark.spark_sessions.session", no_session)
    for query, said in WRONG:
        outcome = kw("pipeline", "sql", str(folder), query)
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (Exit.USAGE, "", 1)
        assert said in outcome.err


def test_without_duckdb_spark_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.pipeline.spark_sql.find_spec", lambda _name: None)
    assert [checked(query) for query, _ in WRONG] == [""] * len(WRONG)


def test_views_are_listed_with_their_columns() -> None:
    outcome = kw("pipeline", "sql", "x", "--views", "-o", "ndjson")
    listed = {row["name"]: row["columns"] for row in map(json.loads, outcome.out.splitlines())}
    assert listed.keys() == ALL.keys()
    assert listed["clients"] == [*COLUMNS["clients"]]


def test_one_thing_has_one_name() -> None:
    """Views have the column names of tables; the old names of views are gone."""
    old = {"address", "software", "software_version"}
    for name, columns in COLUMNS.items():
        assert not old & set(columns), name
        assert "client" not in columns or name in ("slowest", "unanswered", "lossy_connections", "joined"), name


@pytest.mark.long
def test_spark_takes_what_passes(spark: SparkSession, folder: Path) -> None:
    """Spark analyses every query that passes the check, and finds the same columns."""
    from pyspark.errors import PySparkException

    tables = Tables(str(folder))
    with _create_temporary_views(spark, tables, "show"):
        for name, columns in list_columns_by_table(tables).items():
            assert tuple(spark.table(name).columns) == columns
        refused = {}
        for query in VALID:
            try:
                assert spark.sql(query).columns is not None
            except PySparkException as problem:
                refused[query] = str(problem)[:200]
        assert refused == {}
        for query, _ in WRONG:
            with pytest.raises(PySparkException):
                spark.sql(query).columns  # noqa: B018  # a property that asks Spark
