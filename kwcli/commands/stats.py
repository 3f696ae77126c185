"""`kw stats`: captures in, how long, how much, how often and what went wrong out."""

from __future__ import annotations

import click

from kwcli.config import settings
from kwcli.env import Environment
from kwcli.options import Duration, Words, capture_options, check_capture, flat, output_options_with, selection_options
from kwcli.stats import BY, METRICS, SORTS

EXAMPLES = """\b
Examples:
  kw stats orders.pcapng
  kw stats orders.pcapng --by client,topic --metric records -o csv > records.csv
  kw stats broker1.pcap.gz broker2.pcap.gz --bucket 10s --api produce --slowest 5
  kw stats orders.pcapng --by broker,error --metric errors -f 'client_id like "billing-*"'"""


@click.command("stats", epilog=EXAMPLES)
@capture_options
@click.option(
    "--by",
    "by",
    multiple=True,
    type=Words(BY),
    metavar="NAME,...",
    help=f"Group by {', '.join(BY)}; api without it.",
)
@click.option("--metric", type=click.Choice(METRICS), default="latency", help="What is measured; latency without it.")
@click.option("--bucket", type=Duration(), metavar="TIME", help="Group by time too, in buckets as long as this.")
@click.option("--sort", type=click.Choice(SORTS), help="Greatest first; without it what matters most of the metric.")
@click.option(
    "--slowest",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Show the N slowest exchanges too, with their packet numbers.",
)
@selection_options
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop reading after N exchanges counted.")
@click.option("--strict", is_flag=True, help="Exit code 3 when traffic was lost or could not be decoded.")
@lambda command: output_options_with(
    command,
    verbose="Leave out no column and no group.",
    quiet="No summary and no progress bar.",
    formats=("text", "table", "ndjson", "json", "csv"),
)
@click.pass_obj
def command(
    env: Environment,
    files: tuple[str, ...],
    interface: str | None,
    bpf: str | None,
    write: str | None,
    ports: tuple[tuple[int, ...], ...],
    by: tuple[tuple[str, ...], ...],
    metric: str,
    bucket: float | None,
    sort: str | None,
    slowest: int | None,
    apis: tuple[tuple[str, ...], ...],
    client_ids: tuple[str, ...],
    topics: tuple[str, ...],
    expression: str | None,
    errors: bool,
    slower_than: float | None,
    limit: int | None,
    strict: bool,
    output: str | None,
    color: str,
    verbose: int,
    quiet: bool,
) -> int:
    """Count the exchanges of captures: latencies, bytes, errors, records, throttling.

    One row a group, with count, rate, errors and percentiles (within 1 %). FILE as for `kw sniff`. The empty answers of
    fetches that waited for records are counted apart.
    """
    from kwcli.selection import select
    from kwcli.sniffing import Sniffing
    from kwcli.stats.asked import asked
    from kwcli.stats.view import view

    check_capture(files, interface, bpf, write)
    if slowest and output == "csv":
        raise click.UsageError("--slowest is a second table, and csv has one", click.get_current_context())
    shown = settings(env, output=output, color=color, verbose=verbose, quiet=quiet)
    sniffing = Sniffing(
        env,
        shown,
        select(
            expression,
            apis=flat(apis),
            client_ids=client_ids,
            topics=topics,
            errors=errors,
            slower_than=slower_than,
        ),
        ports=frozenset(flat(ports)) or None,
        limit=limit,
        sort=False,
        strict=strict,
        view=view(asked(flat(by), metric, bucket, sort, slowest or 0), shown),
    )
    outcome = sniffing.live(interface, bpf, write) if interface else sniffing.files(files)
    return outcome.exit_code()
