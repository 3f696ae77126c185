"""For queries of both engines: the tables and views that they may name, and rows in the formats of all commands."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.output.csv import format_csv_lines, join_values
from kwcli.output.report_partial_input import (
    format_partial_as_cell,
    format_partial_note,
    list_partial_sentences,
    make_partial_record,
    report_sentences,
)
from kwcli.output.short_texts import palette
from kwcli.output.table import Column, draw_table
from kwcli.pipeline.sql_views import VIEWS, list_columns_of_view
from kwcli.pipeline.tables.table_columns import ALL_TABLES, COLUMNS_OF_QUERIES, MEANINGS, RECORDS_MEANING, TABLES
from kwcli.run_environment import Exit

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings
    from kwcli.reading.run_coverage import PartialRun
    from kwcli.run_environment import Environment

# Rows that a terminal gets without --limit.
TERMINAL_ROWS_MAX: Final = 1000
NAME_CUT: Final = 24
TEXT_ROOM_LEAST: Final = 20  # cells for what a table holds, on the narrowest terminal


class TableFiles(Protocol):
    """The tables of an input, each with its Parquet files; `input_name` is the user's name for the input."""

    @property
    def input_name(self) -> str: ...

    @property
    def files(self) -> Mapping[str, Sequence[str]]: ...


class ListedTables(NamedTuple):
    """The Parquet files of each table; `input_name` is the name of the input in messages.

    `older` has the files of earlier versions of the tables, each with its version.
    """

    input_name: str
    files: Mapping[str, Sequence[str]]
    older: Mapping[str, int] = {}


class QueryResult(NamedTuple):
    """Names of columns, and rows of JSON values. `partial`: what was read of the captures, where that is not all."""

    names: list[str]
    rows: Iterator[list[Any]]
    partial: PartialRun | None = None


def read_query(env: Environment, query: str) -> str:
    """The text of the query; `-` is standard input. Bytes that are no UTF-8 are replaced, since the JVM takes none."""
    if query != "-":
        return query.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    pieces = iter(lambda: env.stdin.read1(1 << 16), b"")
    return b"".join(pieces).decode("utf-8", "replace")


def _list_meanings_of_tables_and_views(*, records: bool) -> dict[str, str]:
    """The tables and views that may be asked, each with what it holds; `records`: with the view of that name."""
    return {
        **MEANINGS,
        **({"records": RECORDS_MEANING} if records else {}),
        **{name: view.text for name, view in VIEWS.items()},
    }


def _write_list_of_views(env: Environment, settings: Settings, texts: Mapping[str, str]) -> int:
    """Write the tables and views that there are, and their columns: for `--views`, or a command without a query."""
    columns = {name: [column.name for column in its] for name, its in COLUMNS_OF_QUERIES.items()}
    columns |= {name: [*list_columns_of_view(name)] for name in VIEWS}
    brief = settings.format == "text" and not settings.verbose  # the tables have many columns
    rows = (
        [name, text, "kw help tables" if brief and name in ALL_TABLES else columns[name]]
        for name, text in texts.items()
    )
    write_query_result(env, settings, QueryResult(["name", "holds", "columns"], rows))
    return Exit.DONE


# Queries that answer something on any input.
EXAMPLES: Final = (
    "select * from latency_by_api",
    "select time, api, client_id, latency_ms from slowest limit 5",
    "describe exchanges",
)


def write_tables_and_views(
    env: Environment, settings: Settings, command: str, *, views: bool, records: bool = False
) -> int:
    """Write the answer of a command without a query: as text an introduction, else (or with `views`) the list.

    `records`: the command has the view `records`.
    """
    texts = _list_meanings_of_tables_and_views(records=records)
    if settings.format == "text" and not views and not settings.verbose:
        return _write_tables_views_and_examples(env, settings, command, texts)
    return _write_list_of_views(env, settings, texts)


def _write_tables_views_and_examples(
    env: Environment, settings: Settings, command: str, texts: Mapping[str, str]
) -> int:
    """Write, as text, the tables and views that may be asked and queries to begin with; `command` is `kw sql FILE`."""
    width = max(map(len, texts))
    room = max((settings.width or 1000) - width - 2, TEXT_ROOM_LEAST)
    lines = ["What can be asked in SQL; --views lists the columns, kw help tables explains them.", ""]
    for name, text in texts.items():
        first, *others = textwrap.wrap(text, room)
        lines += [f"{name:<{width}}  {first}", *(f"{'':<{width}}  {each}" for each in others)]
    lines += ["", "To begin with:", *(f"  {command} {shlex.quote(query)}" for query in EXAMPLES)]
    env.stdout.write(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    return Exit.DONE


def list_tables_and_views(tables: TableFiles) -> list[str]:
    """The names of the tables and views that a folder has."""
    names = list(tables.files)
    for name, view in VIEWS.items():
        if set(view.of) <= set(names):
            names.append(name)
    return names


def find_tables_in_query(query: str, names: list[str]) -> list[str]:
    """The `names` that the query may mention, and those they are made of; all of them for a query with `show`."""
    words = {word.lower() for word in re.findall(r"\w+", query)}
    if "show" in words:
        return names
    wanted = {name for name in names if name in words}
    for name in reversed(VIEWS):
        if name in wanted:
            wanted.update(VIEWS[name].of)
    return [name for name in names if name in wanted]


def list_columns_by_table(tables: TableFiles) -> dict[str, tuple[str, ...]]:
    """The names of the columns of each table and view that a folder has."""
    tables_and_date = {name: (*(column.name for column in its), "date") for name, its in COLUMNS_OF_QUERIES.items()}
    listed = list_tables_and_views(tables)
    return {name: tables_and_date.get(name) or list_columns_of_view(name) for name in listed}


def explain_missing_tables(name: str, tables: TableFiles) -> str:
    """The message about a table or view that kw knows and a folder does not have; empty for any other name."""
    if name == "records" and "exchanges" in tables.files:
        return f"{name} is a view of kw sql alone: kw sql {shlex.quote(tables.input_name)} QUERY"
    lacking = sorted(_find_base_tables(name) - set(tables.files))
    if not lacking:
        return ""
    what = "is a table that" if name in MEANINGS else f"is made of {' and '.join(lacking)}, which"
    makes = f"run --tables {','.join(lacking)}" if set(lacking) <= set(TABLES) else "watch --doctor"
    return f"{name} {what} {tables.input_name} does not have; kw pipeline {makes} adds it"


def explain_unknown_table(name: str, tables: TableFiles) -> str:
    """The message about a table or view that a query names and a folder does not have."""
    lacking = explain_missing_tables(name.lower(), tables)
    if lacking:
        return lacking
    return f"there is no table or view {name}{did_you_mean(name, list_tables_and_views(tables))}; --views lists them"


def _find_base_tables(name: str) -> set[str]:
    """The tables that a table or view is made of; none for a name that is neither."""
    if name in VIEWS:
        return {table for one in VIEWS[name].of for table in _find_base_tables(one)}
    return {"exchanges"} if name == "records" else {name} & set(MEANINGS)


def make_names_unique(names: Iterable[str]) -> list[str]:
    """The names, made unique: the second of two equal names gets a `_2`."""
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


def choose_terminal_row_limit(env: Environment, settings: Settings, limit: int | None) -> int | None:
    """How many rows a terminal gets without --limit; None where all rows are written."""
    return TERMINAL_ROWS_MAX if env.stdout_terminal and limit is None and settings.format in ("text", "table") else None


def write_query_result(env: Environment, settings: Settings, result: QueryResult, most: int | None = None) -> None:
    """Write an answer in the format wanted; text and table end after `most` rows, with a note on standard error."""
    if settings.format in ("text", "table"):
        rows = list(islice(result.rows, most)) if most is not None else list(result.rows)
        more = next(result.rows, None) is not None if most is not None else False
        text = "".join(f"{line}\n" for line in _draw_query_rows(result.names, rows, settings))
        text += format_partial_note(list_partial_sentences(result.partial), settings)
        env.stdout.write(text.encode("utf-8", "backslashreplace"))
    else:
        more = False
        result = _add_partial_column(result, as_text=settings.format == "csv")
        pieces = (
            _format_csv_lines(result, safe=settings.csv_safe)
            if settings.format == "csv"
            else _PLAIN[settings.format](result)
        )
        for piece in pieces:
            env.stdout.write(piece.encode("utf-8", "backslashreplace"))
    env.stdout.flush()
    report_sentences(env, settings, list_partial_sentences(result.partial))
    if more and not settings.quiet:
        env.report(f"the first {most:,} rows; --limit shows more")


def _add_partial_column(result: QueryResult, *, as_text: bool) -> QueryResult:
    """The result, with what was read of the captures as its last column where that is not all."""
    if result.partial is None:
        return result
    said = format_partial_as_cell(result.partial) if as_text else make_partial_record(result.partial)
    rows = ([*row, said] for row in result.rows)
    return QueryResult(make_names_unique([*result.names, "partial"]), rows, result.partial)


def _draw_query_rows(names: list[str], rows: list[list[Any]], settings: Settings) -> list[str]:
    """Aligned columns; text is as wide as the terminal, a table as wide as it gets."""
    paint = palette(settings.color)
    columns = []
    for at, name in enumerate(names):
        values = [row[at] for row in rows]
        number = all(value is None or (isinstance(value, int | float) and value is not True) for value in values)
        cut = 0 if number or settings.format == "table" or settings.verbose else NAME_CUT
        columns.append(
            Column(
                escape_text(name),
                [_format_cell_of_answer(value) for value in values],
                drop=at,
                right=number,
                cut=cut,
            )
        )
    return [
        *draw_table(
            columns, settings.width if settings.format == "text" and not settings.verbose else None, paint, dense=True
        )
    ]


def _format_cell_of_answer(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if 0.001 <= abs(value) < 1e15 else repr(value)
    return escape_text(str(join_values(value, str)))


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _format_ndjson_lines(result: QueryResult) -> Iterator[str]:
    return (_dump_json(dict(zip(result.names, row, strict=True))) + "\n" for row in result.rows)


def _format_json_array_lines(result: QueryResult) -> Iterator[str]:
    rows = (_dump_json(dict(zip(result.names, row, strict=True))) for row in result.rows)
    first = next(rows, None)
    if first is None:
        return iter(["[]\n"])
    return chain([f"[\n{first}"], (f",\n{row}" for row in rows), ["\n]\n"])


def _format_csv_lines(result: QueryResult, *, safe: bool) -> Iterator[str]:
    rows: Iterator[list[Any]] = ([join_values(value, str) for value in row] for row in result.rows)
    return (format_csv_lines([row], safe=safe) for row in chain([result.names], rows))


_PLAIN: Final = {"ndjson": _format_ndjson_lines, "json": _format_json_array_lines}
