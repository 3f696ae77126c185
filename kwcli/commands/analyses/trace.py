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
  kw trace orders.pcapng pid=4711/7"""


@click.command("trace", epilog=EXAMPLES)
@answer_options(schema_options, verbose="Show each record in full, however many.")
@click.pass_obj
def command(
    env: Environment, capture: CaptureOptions, filters: FilterOptions, schemas: SchemaOptions, shown: OutputOptions
) -> int:
    """Show the life of a record: who wrote, read and committed it, when, and how often.

    The last word names records: TOPIC/PARTITION@OFFSET (or @FIRST-LAST), key=…, header.NAME=…, value.FIELD=…, or
    pid=PRODUCER_ID/SEQUENCE; the words before it as for `kw sniff`.
    """
    from kwcli.analyses.trace_records import trace_records

    return trace_records(env, capture, filters, schemas, shown)
