"""Tables and a query in, DuckDB's answer out: the engine of `kw sql`, in this process.

The problem. Anybody may have written the query, and DuckDB reads and writes files, loads code and talks to the network
when a query says so. Captures may be larger than memory, and a wrong query shall be refused before they are read.

The idea. A database in memory has a view for each table, over its Parquet files, and the views of `sql_views.py`; then
everything else is locked: other files, extensions, changes of settings, the variables of this program. A statement that
is no question (`select`, `describe`, `show`, `summarize`, `explain` of one) is refused before it runs. Where captures
are to be read, the query is first tried on tables without rows.

What always holds: rows are read and written a piece at a time; what DuckDB sorts or groups beyond its limit of memory
goes to the temporary folder. What is given up: the formats `text` and `table` hold all rows, to align their columns.
"""

from __future__ import annotations

import glob
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from shutil import disk_usage
from typing import TYPE_CHECKING, Any, Final, Protocol

import duckdb
import pyarrow as pa

from decoders.limits import SQL_MEMORY_MAX, SQL_SPILL_MAX
from decoders.wire.format_and_escape_text import escape_text
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.pipeline.background_call import BackgroundCall
from kwcli.pipeline.query_tables_and_output import (
    QueryResult,
    TableFiles,
    choose_terminal_row_limit,
    explain_unknown_table,
    find_tables_in_query,
    list_columns_by_table,
    list_tables_and_views,
    make_names_unique,
    write_query_result,
)
from kwcli.pipeline.sql_views import VIEWS, build_view_sql
from kwcli.pipeline.tables.table_columns import COLUMNS_OF_QUERIES, TABLES_VERSION, TableColumn
from kwcli.private_files import ScratchFolder
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.reading.run_coverage import PartialRun
    from kwcli.run_environment import Environment

# Types in table_columns.py → types of DuckDB.
_TYPES: Final = {
    "string": "VARCHAR",
    "json": "JSON",
    "bool": "BOOLEAN",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "timestamp": "TIMESTAMPTZ",
    "list<int32>": "INTEGER[]",
    "list<string>": "VARCHAR[]",
    "list<bool>": "BOOLEAN[]",
}
_SETTINGS: Final = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "enable_progress_bar": False,
    "errors_as_json": True,
    "TimeZone": "UTC",
}
_EXPLAINED: Final = "explain "
# DuckDB's message about a column behind the name of its table.
_NO_SUCH_COLUMN: Final = re.compile(r'Values list "(.*)" does not have a column named "(.*)"')
# Statements whose answers are columns, not rows.
_ABOUT_COLUMNS: Final = re.compile(r"\s*(?:describe|show)\b", re.IGNORECASE)
_EXPLAIN: Final = re.compile(r"\s*explain\s+(?:analyze\s+)?", re.IGNORECASE)
# The beginning of the names of temporary folders: of what a query spills, and of tables made of captures.
SCRATCH: Final = "kw-sql-"
# Rows fetched at a time.
_FETCHED: Final = 2048
_INTERRUPTED_AGAIN_S: Final = 0.05
# DuckDB's message when it caught Ctrl-C itself.
_INTERRUPTED: Final = "Query interrupted"
# DuckDB's message when the temporary folder is full: with what it may hold.
_SPILL: Final = re.compile(r"/([0-9.]+ [A-Za-z]+) used\).*max_temp_directory_size", re.DOTALL)


class VersionedFiles(TableFiles, Protocol):
    """The tables of an input; `older` has the files of earlier versions of the tables, each with its version."""

    @property
    def older(self) -> Mapping[str, int]: ...


class TablesDatabase:
    """A database with the tables and views of a query, locked; `within` is the folder of all files that come later."""

    def __init__(self, tables: VersionedFiles, query: str, within: str | None = None) -> None:
        self._query = query
        self._tables = tables
        self._spill = ScratchFolder(SCRATCH)
        self._database = duckdb.connect(":memory:")
        files = [file for its in tables.files.values() for file in its]
        reachable = {
            "allowed_paths": _list_plain_and_escaped_paths(files),
            "allowed_directories": _list_plain_and_escaped_paths([within] if within else []),
        }
        limits = {
            "memory_limit": f"{SQL_MEMORY_MAX}B",
            "temp_directory": self._spill.name,
            "max_temp_directory_size": f"{min(SQL_SPILL_MAX, disk_usage(self._spill.name).free // 2)}B",
        }
        try:
            self._apply_settings(_SETTINGS | limits)
            self.replace_tables(tables)
            for name in find_tables_in_query(query, list_tables_and_views(tables)):
                if name in VIEWS:
                    # A view of literals alone is computed once, as a table.
                    kind = "view" if VIEWS[name].of else "table"
                    self._execute(f"create {kind} {_quote_identifier(name)} as {build_view_sql(name)}")
            self._apply_settings(reachable | {"enable_external_access": False, "lock_configuration": True})
        except BaseException:
            self.close()
            raise

    def _apply_settings(self, settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            self._execute(f"set {name} = {_format_sql_literal(value)}")

    def _execute(self, statement: str) -> None:
        """Execute a short statement. Raises KeyboardInterrupt for DuckDB's own error at Ctrl-C."""
        try:
            self._database.execute(statement)
        except RuntimeError as problem:
            if str(problem) != _INTERRUPTED:
                raise
            raise KeyboardInterrupt from None

    def replace_tables(self, tables: VersionedFiles) -> None:
        """Replace the tables with these. Failure for files that DuckDB cannot read."""
        self._tables = tables
        for name in find_tables_in_query(self._query, list_tables_and_views(tables)):
            if name in COLUMNS_OF_QUERIES:
                made = _build_table_sql(name, tables.files[name], tables.older)
                try:
                    self._execute(f"create or replace view {_quote_identifier(name)} as {made}")
                except duckdb.Error as problem:
                    raise Failure(
                        f"{tables.input_name}/{name}: {_format_error_reason(_parse_error_fields(problem))}"
                    ) from None

    def write_answer(
        self, env: Environment, settings: Settings, limit: int | None = None, partial: PartialRun | None = None
    ) -> None:
        """Run the query and write its answer. Failure says in one line what is wrong, with the place in the query.

        `partial`: what was read of the captures, where that is not all.
        """
        row_limit = choose_terminal_row_limit(env, settings, limit)
        found = self.prepare_query()
        rows = self._fetch_json_rows(found)
        if limit is not None:
            rows = (row for row, _ in zip(rows, range(limit), strict=False))
        write_query_result(env, settings, QueryResult(make_names_unique(found.columns), rows, partial), row_limit)

    def _fetch_json_rows(self, found: duckdb.DuckDBPyRelation) -> Iterator[list[Any]]:
        """The rows of the answer as JSON values, fetched one batch at a time."""
        makers = [_parse_json if str(kind) == "JSON" else _convert_to_json_value for kind in found.types]
        for batch in self._fetch_record_batches(found):
            try:
                columns = [list(map(make, its.to_pylist())) for make, its in zip(makers, batch.columns, strict=True)]
            except (OverflowError, ValueError) as problem:  # a time that no calendar has
                raise Failure(f"a value of the answer cannot be shown ({problem}): cast it to text") from None
            yield from map(list, zip(*columns, strict=True))

    def _fetch_record_batches(self, found: duckdb.DuckDBPyRelation) -> Iterator[pa.RecordBatch]:
        """The record batches of the answer, fetched one at a time."""
        reader = self._call_in_other_thread(found.to_arrow_reader, _FETCHED)
        while (batch := self._call_in_other_thread(next, reader, None)) is not None:
            yield batch

    def _call_in_other_thread(self, do: Callable[..., Any], *words: Any) -> Any:
        """The result of `do(*words)`, called in another thread: DuckDB at work in this thread would block Ctrl-C."""
        work = BackgroundCall(lambda: do(*words))
        try:
            work.start()
            return work.result()
        except KeyboardInterrupt:
            # An interrupt is lost on a query that has not quite begun, so it is repeated.
            while work.is_alive():
                self._database.interrupt()
                work.join(_INTERRUPTED_AGAIN_S)
            raise
        except (duckdb.Error, pa.ArrowException, OSError) as problem:  # Arrow raises OSError for DuckDB's errors
            raise Failure(_explain_query_error(problem, self._query, self._tables)) from None

    def prepare_query(self) -> duckdb.DuckDBPyRelation:
        """The query as a relation, once all its names are found and it only reads. Failure otherwise."""
        database, query = self._database, self._query
        try:
            if _require_reading_statement(database, query) == duckdb.StatementType.EXPLAIN:
                rows = self._call_in_other_thread(lambda: database.execute(query).fetchall())
                values = ", ".join(
                    f"({_format_sql_literal(str(name))}, {_format_sql_literal(str(text))})" for name, text in rows
                )
                return database.sql(f"select * from (values {values}) as t(plan, text)")
            self._check_names_by_explain()
            return database.sql(query)
        except duckdb.Error as problem:
            raise Failure(_explain_query_error(problem, query, self._tables), Exit.USAGE) from None

    def _check_names_by_explain(self) -> None:
        """Have DuckDB look up all names: the errors of `explain` have the place in the query, those of `sql` do not."""
        try:
            self._execute(_EXPLAINED + self._query)
        except duckdb.Error as problem:
            raise self._make_failure_of_explain(problem) from None

    def find_unknown_name(self) -> tuple[str, Failure] | None:
        """A name in the query that no table, view or column has, and the Failure about it.

        None where DuckDB finds all names, and where anything else of the query is not its SQL.
        """
        try:
            self._execute(_EXPLAINED + self._query)
        except duckdb.Error as problem:
            name = _find_unknown_name(_parse_error_fields(problem))
            return None if name is None else (name, self._make_failure_of_explain(problem))
        return None

    def _make_failure_of_explain(self, problem: duckdb.Error) -> Failure:
        text = _explain_query_error(problem, self._query, self._tables, before=len(_EXPLAINED))
        return Failure(text, Exit.USAGE)

    def read_column_names(self, name: str) -> tuple[str, ...]:
        """The names of the columns of a table or view."""
        return tuple(self._database.sql(f"select * from {_quote_identifier(name)}").columns)

    def close(self) -> None:
        """Close the database and remove its temporary folder."""
        self._database.close()
        self._spill.delete_folder()


def is_query_about_records(query: str, tables: TableFiles) -> bool:
    """Whether a query reads the view `records`, not a column of that name. True where DuckDB cannot say."""
    names = find_tables_in_query(query, list_tables_and_views(tables))
    if "records" not in names or _ABOUT_COLUMNS.match(query):
        return False
    with closing(duckdb.connect(":memory:")) as database:
        try:
            for name in names:
                made = build_view_sql(name) if name in VIEWS else _build_table_sql(name, (), {})
                kind = "view" if name in VIEWS else "table"
                database.execute(f"create {kind} {_quote_identifier(name)} as {made}")
            return "records" in map(str.lower, database.get_table_names(query))
        except duckdb.Error:
            return True


def _format_sql_literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_format_sql_literal, value))}]"
    return str(value).lower() if isinstance(value, bool) else "'" + str(value).replace("'", "''") + "'"


def _list_plain_and_escaped_paths(names: Iterable[str]) -> list[str]:
    """Names of files, each as it is and escaped as a glob pattern: DuckDB checks for both."""
    return [known for name in names for known in {name, glob.escape(name)}]


def _quote_identifier(name: str) -> str:
    return f'"{name}"'


def _build_table_sql(name: str, files: Sequence[str], older: Mapping[str, int]) -> str:
    """The query for a table; without files it has no rows. `date` (elsewhere a folder's name) is made from `time`.

    The files of each version of the tables are one part of it, with the values of the columns that they lack.
    """
    columns = COLUMNS_OF_QUERIES[name]
    if not files:
        nothing = (_format_value_of_absent_column(None, column) for column in columns)
        return f"select {', '.join(nothing)}, cast(null as date) as date where false"
    parts = []
    for version in sorted({older.get(file, TABLES_VERSION) for file in files}):
        its = [glob.escape(file) for file in files if older.get(file, TABLES_VERSION) == version]
        listed = (
            _format_value_of_absent_column(column.absent, column) if column.since > version else _format_column(column)
            for column in columns
        )
        parquet = f"read_parquet({_format_sql_literal(its)}, hive_partitioning = false)"
        parts.append(f"select {', '.join(listed)}, cast(time as date) as date from {parquet}")
    return " union all ".join(parts)


def _format_column(column: TableColumn) -> str:
    name = _quote_identifier(column.name)
    return f"cast({name} as JSON) as {name}" if column.type == "json" else name


def _format_value_of_absent_column(value: Any, column: TableColumn) -> str:
    literal = "null" if value is None else _format_sql_literal(value)
    return f"cast({literal} as {_TYPES[column.type]}) as {_quote_identifier(column.name)}"


# -- asking ------------------------------------------------------------------------------------------------------------


def _require_reading_statement(database: duckdb.DuckDBPyConnection, query: str) -> duckdb.StatementType:
    """The type of the query's statement. Failure unless it is one statement that only reads."""
    statements = database.extract_statements(query)
    if not statements:
        raise Failure("the query is empty", Exit.USAGE)
    if len(statements) > 1:
        raise Failure("two queries are in the query: ask one at a time", Exit.USAGE)
    (statement,) = statements
    explained = _EXPLAIN.match(query)
    if statement.type == duckdb.StatementType.EXPLAIN and explained:
        _require_reading_statement(database, query[explained.end() :])
    elif statement.type != duckdb.StatementType.SELECT:
        raise Failure("the query is no select: kw sql only reads", Exit.USAGE)
    return statement.type


def _parse_json(value: str | None) -> Any:
    return None if value is None else json.loads(value)


def _convert_to_json_value(value: Any) -> Any:
    """A value of DuckDB as a JSON value: integers exact, times as RFC 3339, bytes in base64."""
    kind = value.__class__
    if value is None or kind is str or kind is int or kind is bool:
        return value
    if kind is float:
        return value if isfinite(value) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    if kind is datetime:
        zone = "Z" if value.tzinfo is not None else ""
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + zone
    if kind is Decimal:
        return int(value) if value == value.to_integral_value() else float(value)
    if kind is dict:
        return {str(name): _convert_to_json_value(each) for name, each in value.items()}
    if kind is list:
        if value and value[0].__class__ is tuple:  # a map
            return {str(_convert_to_json_value(name)): _convert_to_json_value(each) for name, each in value}
        return [_convert_to_json_value(each) for each in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value) if not isinstance(value, timedelta) else value.total_seconds()


# -- what is wrong -----------------------------------------------------------------------------------------------------


def _parse_error_fields(problem: Exception) -> dict[str, Any]:
    """The fields of a DuckDB error: the text behind its kind is JSON, or else a plain message."""
    kind, _, text = str(problem).partition(": ")
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        return {"exception_message": text or kind}


def _format_error_reason(about: Mapping[str, Any]) -> str:
    """DuckDB's message, in one line."""
    text = escape_text(str(about["exception_message"]).strip().splitlines()[0].rstrip("!."))[:500]
    return text[0].lower() + text[1:] if text[1:2].islower() else text


def _explain_out_of_memory(message: str) -> str:
    """What to do about a query that needs more memory, or more of the disk, than it may have."""
    limit = _SPILL.search(message)
    where = f" and {limit[1]} of temporary files" if limit else ""
    advice = "filter or aggregate before a join, join on more columns, select fewer"
    return f"the query needs more than {SQL_MEMORY_MAX >> 20} MiB of memory{where}: {advice}"


def _find_unknown_name(about: Mapping[str, Any]) -> str | None:
    """The name of a table or column that DuckDB did not find; None for an error about anything else."""
    if (about.get("error_subtype"), about.get("type")) == ("MISSING_ENTRY", "Table"):
        return str(about["name"])
    if about.get("error_subtype") == "COLUMN_NOT_FOUND":
        return str(about["name"])
    found = _NO_SUCH_COLUMN.match(str(about["exception_message"]))
    return None if found is None else found[2]


def _explain_query_error(problem: Exception, query: str, tables: TableFiles, before: int = 0) -> str:
    """The error's message and place in the query, line and column from 1; `before` bytes stood before the query."""
    about = _parse_error_fields(problem)
    name, text = _find_unknown_name(about), _format_error_reason(about)
    if name is not None and about.get("type") == "Table":
        text = escape_text(explain_unknown_table(name, tables))
    elif name is not None:
        words = set(re.findall(r"\w+", query.lower()))
        columns = list_columns_by_table(tables)
        known = {column for table in columns.keys() & words for column in columns[table]}
        text = f"there is no column {escape_text(name)}{did_you_mean(name, sorted(known))}"
    elif about.get("exception_type") == "Out of Memory":
        text = _explain_out_of_memory(str(about["exception_message"]))
    elif about.get("exception_type") == "Permission":
        text = f"a query can read only the tables: {text}"
    if not str(about.get("position", "")).isdecimal():
        return f"{text:.500}"
    passed = query.encode()[: max(int(about["position"]) - before, 0)].decode("utf-8", "replace")
    line, column = passed.count("\n") + 1, len(passed) - passed.rfind("\n")
    return f"line {line}, column {column} of the query: {text:.500}"
