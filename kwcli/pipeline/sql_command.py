"""The words of a `kw sql` command line in, the answer of its query about tables or captures out."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from kwcli.clashing_options import Clash, refuse_clashes, refuse_given_options
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.query_tables_and_output import (
    ListedTables,
    find_tables_in_query,
    list_tables_and_views,
    read_query,
    write_tables_and_views,
)
from kwcli.pipeline.sql_views import VIEWS
from kwcli.pipeline.tables.table_columns import MEANINGS, TABLES
from kwcli.private_files import ScratchFolder
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.list_input_files import is_table_folder, list_paths
from kwcli.run_environment import Exit, Failure, describe_write_error
from kwcli.schema_options import SchemaOptions

if TYPE_CHECKING:
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions
    from kwcli.output.output_settings import Settings
    from kwcli.pipeline.report.read_tables import Tables
    from kwcli.run_environment import Environment

# Options about reading captures: they have no meaning for tables that are there already.
_CHOOSING: Final = (
    *("bpf", "write", "follow", "ports", "keylogs", "since", "until", "apis", "client_ids", "clients", "topics"),
    *("groups", "expression", "errors", "errors_all", "slower_than", "packets", "connections"),
)


_ALL: Final = ListedTables("the input", dict.fromkeys((*TABLES, "records"), ()))
# Rows of tables that are read at once, whose bodies may be long.
_ROWS_READ: Final = 64


def run_sql(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    limit: int | None,
    *,
    schemas: SchemaOptions,
    views: bool,
) -> int:
    """Run the query on the input, or list the tables and views; the exit code. Raises Failure, UsageError."""
    files, word = _split_inputs_and_query(capture.files, live=bool(capture.places))
    if views and word is not None:
        raise click.UsageError("give a query or --views, not both", click.get_current_context())
    if word == "-" and "-" in files:
        raise click.UsageError("standard input can be the capture or the query, not both", click.get_current_context())
    refuse_clashes(Clash("views", ("limit",), "--views lists tables and views, and runs no query"))
    capture = capture._replace(files=files)
    if files or not views:
        capture.check_usage()
    folders = [name for name in files if is_table_folder(name)]
    if folders and len(folders) < len(files):
        other = next(name for name in files if name not in folders)
        raise Failure(f"{folders[0]} has tables and {other} has none: query one kind at a time", Exit.USAGE)
    if word is None:
        for name in files:
            _require_input(name)
        command = shlex.join(["kw", "sql", *files])
        return write_tables_and_views(env, settings, command, views=views, records=True)
    missing = next((name for name in ("duckdb", "pyarrow") if find_spec(name) is None), None)
    if missing is not None:
        raise Failure(f"kw sql needs {missing}, which is not installed: {pip_command_for_extra('sql')}")
    query = read_query(env, word)
    records = _asks_about_records(query)
    if records or schemas != SchemaOptions():
        from kwcli.net.connection_options import add_value_reader_to_settings

        settings = add_value_reader_to_settings(env, settings, schemas, wanted=records)
    if folders:
        refuse_given_options("on tables, which hold what their run selected: filter in the query", _CHOOSING)
        return _query_tables(env, settings, folders, query, limit, records=records)
    return _query_captures(env, settings, capture, filters, query, limit, records=records)


def _asks_about_records(query: str) -> bool:
    """Whether a query reads the view `records`."""
    if not find_tables_in_query(query, ["records"]):
        return False  # before DuckDB is loaded
    from kwcli.pipeline.duckdb_sql import is_query_about_records

    return is_query_about_records(query, _ALL)


def _split_inputs_and_query(words: tuple[str, ...], *, live: bool) -> tuple[tuple[str, ...], str | None]:
    """The names of the inputs, and the query: the last word, unless it is the name of a file."""
    if not words or (len(words) == 1 and not live and not _is_query(words[0])):
        return words, None
    last = words[-1]
    if last == "-" or _is_query(last):
        return words[:-1], last
    return words, None


def _is_query(word: str) -> bool:
    """Whether a word can only be a query: it is empty, or has blanks in it and no file has this name."""
    return not word.strip() or (len(word.split()) > 1 and not os.path.lexists(word))


def _require_input(name: str) -> None:
    """Failure where no such file exists; the file itself is not read."""
    if name == "-" or os.path.lexists(name):
        return
    try:
        found = next(list_paths(name), None)
    except InputProblem as problem:
        raise Failure(problem.text) from None
    if found is None or not os.path.lexists(found.path):
        raise Failure(f"{name}: no such file")


def _query_tables(
    env: Environment, settings: Settings, folders: Sequence[str], query: str, limit: int | None, *, records: bool
) -> Exit:
    """Run the query on the tables that all folders have, each with the files of all folders."""
    from kwcli.pipeline.duckdb_sql import SCRATCH, TablesDatabase
    from kwcli.pipeline.report.read_tables import Tables

    found = [Tables(folder) for folder in folders]
    names = [name for name in found[0].files if all(name in one for one in found)]
    older: dict[str, int] = {}
    for name in find_tables_in_query(query, list_tables_and_views(ListedTables("", dict.fromkeys(names, ())))):
        for one in found:
            if name in MEANINGS:
                older |= one.find_older_files(name)
    files = {name: [file for one in found for file in one.files[name]] for name in names}
    if "exchanges" in files:
        files["records"] = []
    place = ", ".join(folders)
    with (
        ScratchFolder(SCRATCH) as folder,
        closing(TablesDatabase(ListedTables(place, files, older), query, folder)) as database,
    ):
        if records and "exchanges" in files:
            database.prepare_query()  # before anything is read
            files["records"] = _make_records_of_tables(env, settings, found, folder)
            database.replace_tables(ListedTables(place, files, older))
        database.write_answer(env, settings, limit)
    return Exit.DONE


def _make_records_of_tables(env: Environment, settings: Settings, found: Sequence[Tables], folder: str) -> list[str]:
    """The file of the view `records`, made of the bodies in tables. Failure where these have no records."""
    from kwcli.pipeline.tables.record_rows import STORED_COLUMNS, RecordsFile

    path = os.path.join(folder, "records.parquet")
    try:
        with open(path, "xb") as stream:
            made = RecordsFile(stream, settings.values)
            for tables in found:
                for rows in tables.read_rows_of_captures("exchanges", STORED_COLUMNS, _ROWS_READ):
                    made.add_stored_rows(rows)
            made.close()
    except OSError as error:
        raise _make_scratch_failure(error) from None
    if not made.count and made.lacking["records"]:
        raise Failure(
            f"{', '.join(one.input_name for one in found)}: the tables hold no records: "
            "kw pipeline run --bodies --records keeps them"
        )
    if made.lacking and not settings.quiet:
        for line in made.describe_lacking():
            env.report(f"kw: {line}")
    return [path]


def _make_scratch_failure(error: OSError) -> Exception:
    """What to raise for an error of the temporary folder."""
    line = describe_write_error(error, "the temporary folder")
    return error if line is None else Failure(line)


def _query_captures(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    query: str,
    limit: int | None,
    *,
    records: bool,
) -> Exit:
    """Make the tables that the query needs from captures, and run the query on them."""
    from kwcli.pipeline.captures_to_temporary_tables import is_query_about_bodies, read_captures_into_tables
    from kwcli.pipeline.duckdb_sql import SCRATCH, TablesDatabase

    about = [name for name in find_tables_in_query(query, [*TABLES, *VIEWS]) if name in TABLES]
    about = about or ([] if records else ["exchanges"])
    with ScratchFolder(SCRATCH) as folder, closing(TablesDatabase(_ALL, query, folder)) as database:
        database.prepare_query()  # before anything is read
        try:
            tables = read_captures_into_tables(
                *(env, settings, capture, filters, about, folder),
                bodies=is_query_about_bodies(query),
                records=records,
            )
        except OSError as error:
            raise _make_scratch_failure(error) from None
        database.replace_tables(ListedTables(tables.place, {name: tables.files.get(name, ()) for name in _ALL.files}))
        database.write_answer(env, settings, limit, tables.partial)
    return tables.code
