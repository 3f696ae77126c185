"""`kw sniff`: captures in, exchanges out."""

from __future__ import annotations

import click

from kwcli.capture_options import CaptureOptions
from kwcli.option_types import ByteSize, Seconds
from kwcli.options import (
    FRAME_FORMATS,
    NO_SUMMARY,
    ContentOptions,
    FilterOptions,
    OutputOptions,
    capture_options,
    content_options,
    cut_options,
    filter_options,
    guess_option,
    jobs_option,
    output_options,
    telemetry_options,
)
from kwcli.run_environment import Environment
from kwcli.schema_options import RegistryOptions, registry_options

EXAMPLES = """\b
Examples:
  kw sniff orders.pcapng --topic 'orders*' --errors
  kw sniff broker1.pcap.gz broker2.pcap.gz -o ndjson --records > orders.ndjson
  tcpdump -i eth0 -U -w - 'port 9092' | kw sniff -
  kw sniff orders.pcapng -f 'error == NOT_LEADER_OR_FOLLOWER or latency > 1s'
  kw sniff orders.pcapng --errors -w failed.pcapng
  kw sniff -i eth0 -w all.pcapng"""


@click.command("sniff", epilog=EXAMPLES)
@cut_options
@capture_options
@telemetry_options
@jobs_option
@guess_option
@click.option("--rotate-size", type=ByteSize(), metavar="SIZE", help="With -w: rotate at SIZE (100MB).")
@click.option("--rotate-interval", type=Seconds(), metavar="TIME", help="With -w: rotate after TIME (10m).")
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="With -w: keep the latest N files.")
@filter_options(limit="Stop reading after N rows shown.")
@content_options
@registry_options
@click.option(
    "--sort",
    type=click.Choice(["time", "latency", "size"]),
    help="Sort by time, slowest or largest first; keep all rows in memory until the end.",
)
@click.option("--strict", is_flag=True, help="Exit code 3 when traffic was lost or could not be decoded.")
@output_options(
    verbose="Show bodies too; -vv headers as well.",
    quiet=NO_SUMMARY,
    formats=FRAME_FORMATS,
    columns=True,
    times=True,
)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    filters: FilterOptions,
    content: ContentOptions,
    registry: RegistryOptions,
    sort: str | None,
    strict: bool,
    shown: OutputOptions,
) -> int:
    """Decode captures into Kafka request/response exchanges.

    FILE is a pcap or pcapng capture, also compressed with gzip, zstd or lz4, a folder of them or a pattern; several are
    merged by packet time; `-` is standard input. Kafka is found on any port.
    """
    capture.check_usage(cuts=True)
    if shown.output == "raw" and env.stdout_terminal:
        raise click.UsageError("raw bytes are not for a terminal; redirect them or use -o hex")
    settings = shown.make_settings(env, content, live=capture.is_live)
    if registry != RegistryOptions():
        from kwcli.net.connection_options import add_named_registry_to_settings

        settings = add_named_registry_to_settings(env, settings, content, registry)
    if capture.write and not capture.places:
        from kwcli.sniff.write_matching_packets import show_and_copy_rows

        return show_and_copy_rows(env, settings, capture, filters, sort=sort, strict=strict)
    from kwcli.reading.run_reading import ReadingRun

    return ReadingRun(env, settings, capture, filters, sort=sort, strict=strict).run().exit_code()
