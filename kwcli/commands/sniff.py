"""`kw sniff`: captures in, exchanges out."""

from __future__ import annotations

import click

from kwcli.config import settings
from kwcli.env import Environment
from kwcli.options import capture_options, check_capture, content_options, flat, output_options, selection_options

EXAMPLES = """\b
Examples:
  kw sniff orders.pcapng --topic 'orders*' --errors
  kw sniff broker1.pcap.gz broker2.pcap.gz -o ndjson --records > orders.ndjson
  tcpdump -i eth0 -U -w - 'port 9092' | kw sniff -
  kw sniff orders.pcapng -f 'error == NOT_LEADER_OR_FOLLOWER or latency > 1s'
  kw sniff -i eth0 --slower-than 100ms -w slow.pcapng"""


@click.command("sniff", epilog=EXAMPLES)
@capture_options
@selection_options
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop reading after N rows that are shown.")
@content_options
@click.option("--sort", type=click.Choice(["time"]), help="Sort by time; keeps everything in memory until the end.")
@click.option("--strict", is_flag=True, help="Exit code 3 when traffic was lost or could not be decoded.")
@output_options
@click.pass_obj
def command(
    env: Environment,
    files: tuple[str, ...],
    interface: str | None,
    bpf: str | None,
    write: str | None,
    ports: tuple[tuple[int, ...], ...],
    apis: tuple[tuple[str, ...], ...],
    client_ids: tuple[str, ...],
    topics: tuple[str, ...],
    expression: str | None,
    errors: bool,
    slower_than: float | None,
    limit: int | None,
    records: bool,
    reveal_secrets: bool,
    sort: str | None,
    strict: bool,
    output: str | None,
    color: str,
    verbose: int,
    quiet: bool,
) -> int:
    """Decode captures into Kafka request/response exchanges.

    FILE is a pcap or pcapng capture, also compressed with gzip, zstd or lz4; several are merged by packet time; `-` is
    standard input. Kafka is found on any port.
    """
    from kwcli.selection import select
    from kwcli.sniffing import Sniffing

    check_capture(files, interface, bpf, write)
    sniffing = Sniffing(
        env,
        settings(
            env,
            output=output,
            color=color,
            verbose=verbose,
            quiet=quiet,
            records=records,
            reveal_secrets=reveal_secrets,
            live=bool(interface) or "-" in files,
        ),
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
        sort=sort is not None,
        strict=strict,
    )
    outcome = sniffing.live(interface, bpf, write) if interface else sniffing.files(files)
    return outcome.exit_code()
