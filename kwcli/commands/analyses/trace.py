"""`kw trace`: captures and a question about records in, the life of each record out."""

from __future__ import annotations

import click

from kwcli.capture_options import CaptureOptions
from kwcli.options import FilterOptions, OutputOptions, answer_options
from kwcli.run_environment import Environment
from kwcli.schema_options import SchemaOptions, schema_options

EXAMPLES = """\b
Examples:
  kw trace orders.pcapng 'orders/2@0'
  kw trace broker1.pcapng broker2.pcapng 'orders[2]@100-120'
  kw trace orders.pcapng key=customer-3
  kw trace captures/ 'value.order == 501' -o ndjson
  kw trace -i eth0 'header.trace=4bf92f35' --limit 10000
  kw trace orders.pcapng pid=4711/7
  kw trace broker*.pcapng 'orders/2@0' --downstream
  kw trace broker*.pcapng --duplicates
  kw trace broker*.pcapng --losses --group billing -o csv > lost.csv"""


@click.command("trace", epilog=EXAMPLES)
@answer_options(
    click.option(
        "--duplicates",
        "kinds",
        flag_value="duplicate",
        multiple=True,
        help="List records that were written twice instead.",
    ),
    click.option(
        "--losses",
        "kinds",
        flag_value="loss",
        multiple=True,
        help="List acknowledged records that a group passed without reading them.",
    ),
    click.option(
        "--misrouted",
        "kinds",
        flag_value="misrouted",
        multiple=True,
        help="List batches that went to another topic or partition than meant.",
    ),
    click.option(
        "--values", is_flag=True, help="With --misrouted, also records whose value has the schema of another topic."
    ),
    click.option(
        "--downstream",
        is_flag=True,
        help="Go on to records that readers of it wrote after it, by headers or traceparent.",
    ),
    schema_options,
    verbose="Show each record in full, however many.",
    words="[FILE...] [RECORD]",
)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    kinds: tuple[str, ...],
    values: bool,
    downstream: bool,
    filters: FilterOptions,
    schemas: SchemaOptions,
    shown: OutputOptions,
) -> int:
    """Show the life of a record: who wrote, read and committed it, when, and how often.

    The last word names records: TOPIC/PARTITION@OFFSET (or @FIRST-LAST), key=…, header.NAME=…, value.FIELD=…, or
    pid=PRODUCER_ID/SEQUENCE; the words before it as for `kw sniff`.
    """
    from kwcli.analyses.trace_records import run_record_faults, trace_records

    if values and kinds != ("misrouted",):
        raise click.UsageError("--values is of --misrouted", click.get_current_context())
    if kinds:
        if len(kinds) > 1:
            raise click.UsageError("--duplicates, --losses and --misrouted: one at a time", click.get_current_context())
        if downstream:
            raise click.UsageError("--downstream goes on from one record: name it", click.get_current_context())
        return run_record_faults(env, capture, kinds[0], filters, schemas, shown, values=values)
    return trace_records(env, capture, filters, schemas, shown, downstream=downstream)
