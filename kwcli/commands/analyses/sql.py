"""`kw sql`: captures or tables and a query in SQL in, its answer out."""

from __future__ import annotations

from functools import partial

import click

from kwcli.capture_options import CaptureOptions
from kwcli.options import (
    NO_SUMMARY,
    FilterOptions,
    OutputOptions,
    capture_options,
    filter_options,
    limit_option,
    output_options,
)
from kwcli.run_environment import Environment
from kwcli.schema_options import SchemaOptions, schema_options

EXAMPLES = """\b
Examples:
  kw sql orders.pcapng "select api, count, p99_ms from latency_by_api order by p99_ms desc"
  kw sql captures/ "select client_id, error, codes from errors_by_client" -o csv > errors.csv
  kw sql orders.pcapng "select key, value_decoded.value.amount from records where topic = 'orders'"
  kw sql tables "select * from old_versions where release = '4.0'"
  kw sql orders.pcapng"""


@click.command("sql", epilog=EXAMPLES)
@partial(capture_options, words="[FILE...] [QUERY]")
@click.option("--views", is_flag=True, help="List the tables and views with their columns.")
@schema_options
@filter_options()
@limit_option("At most N rows.")
@output_options(
    verbose="Shorten nothing in text, however wide.",
    quiet=NO_SUMMARY,
    formats=("text", "table", "ndjson", "json", "csv"),
)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    views: bool,
    schemas: SchemaOptions,
    filters: FilterOptions,
    limit: int | None,
    shown: OutputOptions,
) -> int:
    """Query captures in SQL (DuckDB): the last word is the query, the words before it as for `kw sniff`.

    FILE may also be a folder of tables that `kw pipeline run` wrote. Without a query the tables and views are
    listed: latency_by_api, clients, old_versions, slowest, …. A query only reads; `-` reads it from standard
    input.
    """
    from kwcli.pipeline.sql_command import run_sql

    return run_sql(env, shown.make_settings(env), capture, filters, limit, schemas=schemas, views=views)
