"""Tables and a query in, the answer of Spark SQL out: in the formats of all commands, row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from decoders.wire.format_and_escape_text import escape_text
from kwcli.pipeline.query_tables_and_output import (
    ListedTables,
    QueryResult,
    TableFiles,
    choose_terminal_row_limit,
    explain_unknown_table,
    find_tables_in_query,
    list_tables_and_views,
    make_names_unique,
    write_query_result,
)
from kwcli.pipeline.sql_views import VIEWS, build_view_sql
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kwcli.output.output_settings import Settings
    from kwcli.pipeline.report.read_tables import Tables
    from kwcli.run_environment import Environment

_JSON: Final = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}
# Commands that only read.
_LOOKS: Final = frozenset(
    {
        *("DescribeRelation", "DescribeColumn", "DescribeQueryCommand", "DescribeFunction", "ExplainCommand"),
        *("ShowTables", "ShowViews", "ShowColumns", "ShowFunctions"),
    }
)
_COMMANDS: Final = ("Command", "ParsedStatement", "InsertIntoDir")
_PLANS: Final = "org.apache.spark.sql.catalyst.plans.logical"
# Queries whose names DuckDB can look up, and what means something else in Spark's SQL: a text in double quotes or with
# a backslash, a function of `x -> …`, a path behind a colon.
_COMMON_SQL: Final = re.compile(r"[\s(]*(select|with|from)\b", re.IGNORECASE)
_SPARK_SQL: Final = re.compile(r'["\\]|->|(?<!:):(?!:)')
# Names that Spark gives to columns by itself, of `range`, `values` and functions that make rows; words that are
# functions; units of time, as in `datediff(day, …)`.
_SPARK_NAMES: Final = re.compile(
    r"id|col\d*|c\d+|key|value|pos|grouping__id|curdate"
    r"|year|quarter|month|week|day|dayofyear|hour|minute|second|millisecond|microsecond",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(r"\(line (\d+), pos(?:ition)? (\d+)\)")


def run_spark_query(
    env: Environment,
    settings: Settings,
    folder: str,
    query: str,
    *,
    limit: int | None = None,
    master: str | None = None,
) -> int:
    """What `kw pipeline sql FOLDER QUERY` does; the exit code. Failure says in one line what is wrong."""
    from kwcli.pipeline.report.read_tables import Tables
    from kwcli.pipeline.spark.explain_failures import make_failure_of_exception
    from kwcli.pipeline.spark.spark_sessions import open_own_session

    tables = Tables(folder)
    if not query.strip():
        raise Failure("the query is empty", Exit.USAGE)
    _refuse_unknown_names(query, tables)
    for name in find_tables_in_query(query, list_tables_and_views(tables)):
        if name in tables:
            tables.find_older_files(name)  # a file that cannot be read fails before Spark starts
    row_limit = choose_terminal_row_limit(env, settings, limit)
    most = limit if row_limit is None else row_limit + 1
    with (
        open_own_session(master or "local[*]", env) as spark,
        _create_temporary_views(spark, tables, query),
    ):
        frame = _analyze_query(spark, query, tables)
        try:
            write_query_result(env, settings, _read_result(frame, most), row_limit)
        except OSError:  # the reader of our output has gone
            raise
        except Exception as problem:
            raise _explain_query_error(problem, query, tables, Exit.FAILURE) or make_failure_of_exception(
                problem
            ) from problem
    return Exit.DONE


def _refuse_unknown_names(query: str, tables: TableFiles) -> None:
    """Failure (usage) for a name in the query that no table or column can have, before Spark starts, which takes long.

    Where DuckDB is installed, it looks up the names in tables without rows. It knows a part of Spark's SQL, so nothing
    else that it says is believed, and a name only if it cannot come from anything else in the query: if it is written
    once, and Spark does not give it to a column by itself.
    """
    if find_spec("duckdb") is None or not _COMMON_SQL.match(query) or _SPARK_SQL.search(query):
        return
    from kwcli.pipeline.duckdb_sql import TablesDatabase

    database = TablesDatabase(ListedTables(tables.input_name, dict.fromkeys(tables.files, ())), query)
    try:
        unknown = database.find_unknown_name()
    finally:
        database.close()
    if unknown is None:
        return
    name, failure = unknown
    written = [word.lower() for word in re.findall(r"\w+", query)].count(name.lower())
    if written == 1 and not _SPARK_NAMES.fullmatch(name):
        raise failure


@contextmanager
def _create_temporary_views(spark: SparkSession, tables: Tables, query: str) -> Iterator[None]:
    """Name the tables and views that a query is about, for as long as it runs: each of them takes Spark a moment."""
    made: list[str] = []
    try:
        for name in find_tables_in_query(query, list_tables_and_views(tables)):
            if name in VIEWS:
                spark.sql(build_view_sql(name)).createOrReplaceTempView(name)
            else:
                tables.read_by_spark(spark, name).createOrReplaceTempView(name)
            made.append(name)
        yield
    finally:
        for name in made:
            spark.catalog.dropTempView(name)


def _analyze_query(spark: SparkSession, query: str, tables: Tables) -> DataFrame:
    """The answer of a query that only reads. Failure for any other query, and for one that is wrong."""
    try:
        _refuse_commands(spark, query)
        return spark.sql(query)
    except Failure:
        raise
    except Exception as problem:
        told = _explain_query_error(problem, query, tables, Exit.USAGE)
        if told is None:
            raise
        raise told from problem


def _refuse_commands(spark: SparkSession, query: str) -> None:
    """Failure for a query that writes, sets or drops something. Raises what Spark's parser raises."""
    jvm: Any = spark._jvm
    kinds = [jvm.java.lang.Class.forName(f"{_PLANS}.{name}") for name in _COMMANDS]
    session: Any = spark._jsparkSession
    plans = [session.sessionState().sqlParser().parsePlan(query)]
    while plans:
        plan = plans.pop()
        name = plan.getClass().getSimpleName()
        if name not in _LOOKS and any(kind.isInstance(plan) for kind in kinds):
            raise Failure("the query is no select: kw pipeline sql only reads tables", Exit.USAGE)
        children = plan.children()
        plans += [children.apply(at) for at in range(children.size())]


def _explain_query_error(problem: Exception, query: str, tables: Tables, code: Exit) -> Failure | None:
    """The Failure with Spark's reason and the place in the query; None where the query is not at fault."""
    found = _find_exception_with_condition(problem)
    if found is None:
        return None
    if found.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
        text = explain_unknown_table(found.getMessageParameters()["relationName"].strip("`"), tables)
    else:
        first = str(found).strip().splitlines()[0]
        text = re.sub(r"^\[[\w.]+\] ", "", first).partition(" SQLSTATE:")[0]
        text = re.sub(r" If necessary set \S+ to \S+ to bypass this error\.$", "", text).rstrip(".")
        text = text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
    return Failure(f"{_find_place_of_error_in_query(found, query)}{escape_text(text):.500}", code)


def _find_exception_with_condition(problem: Any) -> Any:
    """The exception that names an error condition: this one, or the one that a task of Spark raised."""
    from pyspark.errors.exceptions.captured import convert_exception

    if getattr(problem, "getCondition", None) is not None and problem.getCondition():
        return problem
    java = getattr(problem, "java_exception", None)
    while java is not None:
        found: Any = convert_exception(java)
        if getattr(found, "getCondition", None) is not None and found.getCondition() and found.getQueryContext():
            return found
        java = java.getCause()
    return None


def _find_place_of_error_in_query(problem: Any, query: str) -> str:
    """The place of an error in the query, line and column counted from 1; empty where Spark names none."""
    contexts = [context for context in problem.getQueryContext() or () if context.startIndex() >= 0]
    if contexts:
        before = query[: contexts[0].startIndex()]
        return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))} of the query: "
    match = _PLACE.search(str(problem))
    return f"line {match[1]}, column {int(match[2]) + 1} of the query: " if match else ""


def _read_result(frame: DataFrame, most: int | None) -> QueryResult:
    """The rows of an answer as JSON values, integers exact and times as RFC 3339; read one partition at a time."""
    from pyspark.sql import functions as spark_functions

    names = make_names_unique(frame.columns)
    if most is not None:
        frame = frame.limit(most)
    plain = frame.toDF(*(f"c{at}" for at in range(len(names))))
    row = spark_functions.to_json(spark_functions.struct(*plain.columns), _JSON)
    texts = plain.select(row.alias("row")).toLocalIterator(prefetchPartitions=True)
    return QueryResult(names, (list(json.loads(text.row).values()) for text in texts))
