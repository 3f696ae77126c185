"""Tables and a query in, what Spark SQL makes of them out: in the formats of all commands, row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kwcli.env import Exit, Failure
from kwcli.output.csv import csv_lines
from kwcli.output.table import Column, draw_table
from kwcli.output.units import palette
from kwcli.pipeline.query_check import check_query
from kwcli.pipeline.tables.columns import MEANINGS, TABLES
from kwcli.pipeline.views import COLUMNS, VIEWS, query_of
from kwcli.spelling import did_you_mean
from kwcli.terminal import clean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kwcli.env import Environment, Settings
    from kwcli.pipeline.report.tables import Tables

# Rows that a terminal gets without --limit.
SCREEN: Final = 1000
NAME_CUT: Final = 24
_JSON: Final = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}
# All that a folder may have.
ALL: Final = (*MEANINGS, *VIEWS)
# Commands that only look.
_LOOKS: Final = frozenset(
    {
        *("DescribeRelation", "DescribeColumn", "DescribeQueryCommand", "DescribeFunction", "ExplainCommand"),
        *("ShowTables", "ShowViews", "ShowColumns", "ShowFunctions"),
    }
)
_COMMANDS: Final = ("Command", "ParsedStatement", "InsertIntoDir")
_PLANS: Final = "org.apache.spark.sql.catalyst.plans.logical"
_PLACE: Final = re.compile(r"\(line (\d+), pos(?:ition)? (\d+)\)")


class QueryResult(NamedTuple):
    """Names of columns, and rows of JSON values."""

    names: list[str]
    rows: Iterator[list[Any]]


def sql(
    env: Environment, shown: Settings, folder: str, query: str, *, limit: int | None = None, master: str | None = None
) -> int:
    """What `kw pipeline sql FOLDER QUERY` does; the exit code. Failure says in one line what is wrong."""
    from kwcli.pipeline.report.tables import Tables
    from kwcli.pipeline.spark.failures import failure_of
    from kwcli.pipeline.spark.sessions import own_session

    tables = Tables(folder)
    check_query(query, _columns(tables), {name: text for name in ALL if (text := _lacking(name, tables))})
    on_screen = env.stdout_terminal and limit is None and shown.format in ("text", "table")
    most = SCREEN + 1 if on_screen else limit
    with (
        own_session(master or "local[*]", env) as spark,
        _views(spark, tables, query),
    ):
        frame = _asked(spark, query, tables)
        try:
            more = _write(env, shown, _found(frame, most), SCREEN if on_screen else None)
        except OSError:  # who reads our output has gone
            raise
        except Exception as problem:
            raise _told(problem, query, tables, Exit.FAILURE) or failure_of(problem) from problem
    if more and not shown.quiet:
        env.say(f"the first {SCREEN:,} rows; --limit shows more")
    return Exit.DONE


def read_query(env: Environment, query: str) -> str:
    """The query; `-` is standard input. Bytes in it that are no UTF-8 are replaced, since the JVM takes none."""
    if query != "-":
        return query.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    pieces = iter(lambda: env.stdin.read1(1 << 16), b"")
    return b"".join(pieces).decode("utf-8", "replace")


def show_views(env: Environment, shown: Settings) -> int:
    """What `kw pipeline sql --views` does: the tables and views that there are, and their columns."""
    columns = {name: [column.name for column in its] for name, its in TABLES.items()} | COLUMNS
    texts = MEANINGS | {name: view.text for name, view in VIEWS.items()}
    brief = shown.format == "text" and not shown.verbose  # the tables have many
    rows = (
        [name, text, "kw help tables" if brief and name in TABLES else list(columns[name])]
        for name, text in texts.items()
    )
    _write(env, shown, QueryResult(["name", "holds", "columns"], rows), None)
    return Exit.DONE


def names_in(tables: Tables) -> list[str]:
    """The tables and views that a folder has."""
    names = list(tables.files)
    for name, view in VIEWS.items():
        if set(view.of) <= set(names):
            names.append(name)
    return names


@contextmanager
def _views(spark: SparkSession, tables: Tables, query: str) -> Iterator[None]:
    """Name the tables and views that a query is about, for as long as it runs: each of them takes Spark a moment."""
    made: list[str] = []
    try:
        for name in _about(query, names_in(tables)):
            if name in VIEWS:
                spark.sql(query_of(name)).createOrReplaceTempView(name)
            else:
                _table(spark, tables, name).createOrReplaceTempView(name)
            made.append(name)
        yield
    finally:
        for name in made:
            spark.catalog.dropTempView(name)


def _about(query: str, names: list[str]) -> list[str]:
    """Those that the query may mention, and what they stand on; all of them for one that asks what there is."""
    words = {word.lower() for word in re.findall(r"\w+", query)}
    if "show" in words:
        return names
    wanted = {name for name in names if name in words}
    for name in reversed(VIEWS):
        if name in wanted:
            wanted.update(VIEWS[name].of)
    return [name for name in names if name in wanted]


def _table(spark: SparkSession, tables: Tables, name: str) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    from kwcli.pipeline.tables.schemas import SCHEMAS

    schema = from_arrow_schema(SCHEMAS[name])
    files = tables.files[name]
    if not files:
        return spark.createDataFrame([], schema)
    root = files[0].partition(f"/{name}/date=")[0]
    return spark.read.schema(schema).option("basePath", f"{root}/{name}").parquet(*files)


def _asked(spark: SparkSession, query: str, tables: Tables) -> DataFrame:
    """The query, checked: it may look and not touch."""
    try:
        _refuse_commands(spark, query)
        return spark.sql(query)
    except Failure:
        raise
    except Exception as problem:
        told = _told(problem, query, tables, Exit.USAGE)
        if told is None:
            raise
        raise told from problem


def _refuse_commands(spark: SparkSession, query: str) -> None:
    """Failure for what writes, sets or drops something. Raises what the parser raises."""
    jvm: Any = spark._jvm
    kinds = [jvm.java.lang.Class.forName(f"{_PLANS}.{name}") for name in _COMMANDS]
    session: Any = spark._jsparkSession
    plans = [session.sessionState().sqlParser().parsePlan(query)]
    while plans:
        plan = plans.pop()
        name = plan.getClass().getSimpleName()
        if name not in _LOOKS and any(kind.isInstance(plan) for kind in kinds):
            raise Failure("the query is no select: kw pipeline sql only looks at tables", Exit.USAGE)
        children = plan.children()
        plans += [children.apply(at) for at in range(children.size())]


def _told(problem: Exception, query: str, tables: Tables, code: Exit) -> Failure | None:
    """Spark's reason and the place in the query, in one line; None where the query is not what is wrong."""
    found = _cause(problem)
    if found is None:
        return None
    if found.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
        text = _not_there(found.getMessageParameters()["relationName"].strip("`"), tables)
    else:
        first = str(found).strip().splitlines()[0]
        text = re.sub(r"^\[[\w.]+\] ", "", first).partition(" SQLSTATE:")[0]
        text = re.sub(r" If necessary set \S+ to \S+ to bypass this error\.$", "", text).rstrip(".")
        text = text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
    return Failure(f"{_place(found, query)}{clean(text):.500}", code)


def _columns(tables: Tables) -> dict[str, tuple[str, ...]]:
    """The names of the columns of what a folder has."""
    known = {name: (*(column.name for column in its), "date") for name, its in TABLES.items()} | COLUMNS
    return {name: known[name] for name in names_in(tables)}


def _lacking(name: str, tables: Tables) -> str:
    """What is to be said of a table or view that kw knows, and a folder does not have; nothing of any other."""
    lacking = sorted(_tables_of(name) - set(tables.files))
    if not lacking:
        return ""
    what = f"is made of {' and '.join(lacking)}, which" if name in VIEWS else "is a table that"
    return f"{name} {what} {tables.place} does not have (kw pipeline run --tables {','.join(lacking)})"


def _not_there(name: str, tables: Tables) -> str:
    lacking = _lacking(name.lower(), tables)
    if lacking:
        return lacking
    return f"there is no table or view {name}{did_you_mean(name, names_in(tables))}; --views lists them"


def _tables_of(name: str) -> set[str]:
    """The tables that a table or view stands on; none for a name that is neither."""
    if name in VIEWS:
        return {table for one in VIEWS[name].of for table in _tables_of(one)}
    return {name} & set(MEANINGS)


def _cause(problem: Any) -> Any:
    """The exception that names a condition: this one, or what a task of Spark's has raised."""
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


def _place(problem: Any, query: str) -> str:
    """Where in the query, lines and columns counted from 1."""
    contexts = [context for context in problem.getQueryContext() or () if context.startIndex() >= 0]
    if contexts:
        before = query[: contexts[0].startIndex()]
        return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))} of the query: "
    match = _PLACE.search(str(problem))
    return f"line {match[1]}, column {int(match[2]) + 1} of the query: " if match else ""


def _found(frame: DataFrame, most: int | None) -> QueryResult:
    """Rows as JSON, which has all types of Spark's, integers exact and times as RFC 3339; a partition at a time."""
    from pyspark.sql import functions as spark_functions

    names = _different(frame.columns)
    if most is not None:
        frame = frame.limit(most)
    plain = frame.toDF(*(f"c{at}" for at in range(len(names))))
    row = spark_functions.to_json(spark_functions.struct(*plain.columns), _JSON)
    texts = plain.select(row.alias("row")).toLocalIterator(prefetchPartitions=True)
    return QueryResult(names, (list(json.loads(text.row).values()) for text in texts))


def _different(names: Iterable[str]) -> list[str]:
    """The names; of equal ones the second gets a `_2`."""
    found: dict[str, None] = {}
    for name in names:
        free = name
        number = 2
        while free in found:
            free = f"{name}_{number}"
            number += 1
        found[free] = None
    return list(found)


# -- writing -----------------------------------------------------------------------------------------------------------


def _write(env: Environment, shown: Settings, found: QueryResult, most: int | None) -> bool:
    """Write in the format wanted; whether there were more rows than wanted."""
    if shown.format in ("text", "table"):
        rows = list(islice(found.rows, most)) if most is not None else list(found.rows)
        more = next(found.rows, None) is not None if most is not None else False
        text = "".join(f"{line}\n" for line in _drawn(found.names, rows, shown))
        env.stdout.write(text.encode("utf-8", "backslashreplace"))
    else:
        more = False
        pieces = _csv(found, safe=shown.csv_safe) if shown.format == "csv" else _PLAIN[shown.format](found)
        for piece in pieces:
            env.stdout.write(piece.encode("utf-8", "backslashreplace"))
    env.stdout.flush()
    return more


def _drawn(names: list[str], rows: list[list[Any]], shown: Settings) -> list[str]:
    """Aligned columns; text is as wide as the terminal, a table as wide as it gets."""
    paint = palette(shown.color)
    columns = []
    for at, name in enumerate(names):
        values = [row[at] for row in rows]
        number = all(value is None or (isinstance(value, int | float) and value is not True) for value in values)
        cut = 0 if number or shown.format == "table" or shown.verbose else NAME_CUT
        columns.append(Column(clean(name), [_cell(value) for value in values], drop=at, right=number, cut=cut))
    return [
        *draw_table(columns, shown.width if shown.format == "text" and not shown.verbose else None, paint, dense=True)
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if 0.001 <= abs(value) < 1e15 else repr(value)
    if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
        return clean(",".join(map(str, value)))
    return clean(value if isinstance(value, str) else _dumped(value))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _ndjson(found: QueryResult) -> Iterator[str]:
    return (_dumped(dict(zip(found.names, row, strict=True))) + "\n" for row in found.rows)


def _array(found: QueryResult) -> Iterator[str]:
    rows = (_dumped(dict(zip(found.names, row, strict=True))) for row in found.rows)
    first = next(rows, None)
    if first is None:
        return iter(["[]\n"])
    return chain([f"[\n{first}"], (f",\n{row}" for row in rows), ["\n]\n"])


def _csv(found: QueryResult, *, safe: bool) -> Iterator[str]:
    rows = ([_dumped(value) if isinstance(value, list | dict | bool) else value for value in row] for row in found.rows)
    return (csv_lines([row], safe=safe) for row in chain([found.names], rows))


_PLAIN: Final = {"ndjson": _ndjson, "json": _array}
