"""The words of a `kw sql` command line in, the answer of its query about tables or captures out."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from kwcli.extras import pip_command_for_extra
from kwcli.option_clashes import Clash, refuse_clashes, refuse_given_options
from kwcli.pipeline.query_tables_and_output import (
    ListedTables,
    find_tables_in_query,
    list_tables_and_views,
    read_query,
    write_what_can_be_asked,
)
from kwcli.pipeline.sql_views import VIEWS
from kwcli.pipeline.tables.table_columns import MEANINGS, TABLES
from kwcli.private_files import ScratchFolder
from kwcli.reading.decompress_inputs import InputProblem
from kwcli.reading.list_input_files import is_table_folder, list_paths
from kwcli.run_environment import Exit, Failure, describe_write_error

if TYPE_CHECKING:
    from kwcli.capture_options import CaptureOptions
    from kwcli.options import FilterOptions
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment

# Options about reading captures: they have no meaning for tables that are there already.
_CHOOSING: Final = (
    *("bpf", "write", "follow", "ports", "keylogs", "since", "until", "apis", "client_ids", "clients", "topics"),
    *("groups", "expression", "errors", "errors_all", "slower_than", "packets", "connections"),
)


_ALL: Final = ListedTables("the input", dict.fromkeys(TABLES, ()))


def run_sql(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    limit: int | None,
    *,
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
        return write_what_can_be_asked(env, settings, shlex.join(["kw", "sql", *files]), views=views)
    missing = next((name for name in ("duckdb", "pyarrow") if find_spec(name) is None), None)
    if missing is not None:
        raise Failure(f"kw sql needs {missing}, which is not installed: {pip_command_for_extra('sql')}")
    query = read_query(env, word)
    if folders:
        refuse_given_options("on tables, which hold what their run selected: filter in the query", _CHOOSING)
        return _query_tables(env, settings, folders, query, limit)
    return _query_captures(env, settings, capture, filters, query, limit)


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


def _query_tables(env: Environment, settings: Settings, folders: Sequence[str], query: str, limit: int | None) -> Exit:
    """Run the query on the tables that all folders have, each with the files of all folders."""
    from kwcli.pipeline.duckdb_sql import TablesDatabase
    from kwcli.pipeline.report.read_tables import Tables

    found = [Tables(folder) for folder in folders]
    names = [name for name in found[0].files if all(name in one for one in found)]
    older: dict[str, int] = {}
    for name in find_tables_in_query(query, list_tables_and_views(ListedTables("", dict.fromkeys(names, ())))):
        for one in found:
            if name in MEANINGS:
                older |= one.find_older_files(name)
    files = {name: [file for one in found for file in one.files[name]] for name in names}
    with closing(TablesDatabase(ListedTables(", ".join(folders), files, older), query)) as database:
        database.write_answer(env, settings, limit)
    return Exit.DONE


def _query_captures(
    env: Environment,
    settings: Settings,
    capture: CaptureOptions,
    filters: FilterOptions,
    query: str,
    limit: int | None,
) -> Exit:
    """Make the tables that the query needs from captures, and run the query on them."""
    from kwcli.pipeline.captures_to_temporary_tables import is_query_about_bodies, read_captures_into_tables
    from kwcli.pipeline.duckdb_sql import SCRATCH, TablesDatabase

    about = [name for name in find_tables_in_query(query, [*TABLES, *VIEWS]) if name in TABLES] or ["exchanges"]
    with ScratchFolder(SCRATCH) as folder, closing(TablesDatabase(_ALL, query, folder)) as database:
        database.prepare_query()  # before anything is read
        try:
            tables = read_captures_into_tables(
                env, settings, capture, filters, about, folder, bodies=is_query_about_bodies(query)
            )
        except OSError as error:
            line = describe_write_error(error, "the temporary folder")
            if line is None:
                raise
            raise Failure(line) from None
        database.replace_tables(ListedTables(tables.place, {name: tables.files.get(name, ()) for name in TABLES}))
        database.write_answer(env, settings, limit, tables.partial)
    return tables.code
