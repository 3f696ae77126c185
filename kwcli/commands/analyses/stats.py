"""`kw stats`: captures in, how long, how much, how often and what went wrong out."""

from __future__ import annotations

from functools import partial

import click

from decoders.analysis.dimension_and_metric_table import METRICS
from kwcli.capture_options import CaptureOptions
from kwcli.option_types import Duration, KnownWord
from kwcli.options import (
    FilterOptions,
    OutputOptions,
    answer_options,
    guess_option,
    pass_options_as_value,
    telemetry_options,
    words_option,
)
from kwcli.run_environment import Environment
from kwcli.schema_options import SchemaOptions, schema_options
from kwcli.stats import BY, SORTS, StatsOptions

EXAMPLES = """\b
Examples:
  kw stats orders.pcapng
  kw stats orders.pcapng --by client,topic --metric records -o csv > records.csv
  kw stats broker1.pcap.gz broker2.pcap.gz --bucket 10s --api produce --slowest 5
  kw stats orders.pcapng --by partition --sort p95 --top 10
  kw sniff orders.pcapng -o ndjson | kw stats -
  kw stats broker*.pcapng --metric age --by topic,group
  kw stats orders.pcapng --by broker,error --metric errors -f 'client_id like "billing-*"'"""


@click.command("stats", epilog=EXAMPLES)
@answer_options(
    telemetry_options,
    guess_option,
    words_option("--by", known=BY, metavar="NAME,...", help=f"Group by {', '.join(BY)} (default: api)."),
    click.option(
        "--metric", type=click.Choice(tuple(METRICS)), default="latency", help="What to measure (default: latency)."
    ),
    click.option(
        "--bucket", "bucket_ms", type=Duration(), metavar="TIME", help="Group by time too, in buckets of this length."
    ),
    click.option(
        "--sort",
        type=KnownWord(SORTS),
        metavar="COLUMN",
        help="Sort by a column of numbers, greatest first, or by name (default: depends on --metric).",
    ),
    click.option("--top", type=click.IntRange(min=1), metavar="N", help="Show the first N groups only."),
    click.option(
        "--slowest",
        type=click.IntRange(min=1, max=10_000),
        metavar="N",
        help="Show the N slowest exchanges too, with their packet numbers.",
    ),
    schema_options,
    click.option("--strict", is_flag=True, help="Exit code 3 when traffic was lost or could not be decoded."),
    verbose="Show all columns and groups.",
    times=True,
)
@pass_options_as_value("words", StatsOptions, StatsOptions._fields)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    words: StatsOptions,
    schemas: SchemaOptions,
    filters: FilterOptions,
    strict: bool,
    shown: OutputOptions,
) -> int:
    """Count the exchanges of captures: latencies, bytes, errors, records, throttling.

    One row per group, with count, rate, errors and percentiles (within 1 %). FILE as for `kw sniff`. Empty responses
    of fetches that waited for records are counted apart.
    """
    from decoders.filters import parse
    from kwcli.output.report_partial_input import report_sentences
    from kwcli.reading.run_reading import ReadingRun
    from kwcli.stats.render_statistics import make_stats_view
    from kwcli.stats.statistics_options import parse_options

    capture.check_usage()
    if words.slowest and shown.output == "csv":
        raise click.UsageError(
            "--slowest prints a second table, and csv can hold only one", click.get_current_context()
        )
    settings, words = shown.make_settings(env), parse_options(words)
    if words.reads_values or schemas != SchemaOptions():
        from kwcli.net.connection_options import add_value_reader_to_settings

        settings = add_value_reader_to_settings(env, settings, schemas, wanted=words.reads_values)
    within = parse(capture.time_filter_text(env, settings.zone)).matches
    counting = make_stats_view(words, settings, within, partial(report_sentences, env, settings))
    return ReadingRun(env, settings, capture, filters, view=counting, strict=strict).run().exit_code()
