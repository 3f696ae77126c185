"""`kw pipeline`: captures larger than one machine in, Parquet tables and what they say out."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import click

from kwcli.clashing_options import Clash, refuse_clashes, refuse_options_without
from kwcli.option_types import ByteSize, Seconds, TimeWord
from kwcli.options import (
    Command,
    FilterOptions,
    OutputOptions,
    add_options,
    bpf_option,
    environment_flag_option,
    filter_options,
    force_option,
    html_option,
    interface_option,
    keylog_option,
    limit_option,
    make_hosts_option,
    make_jobs_option,
    metrics_option,
    names_from_option,
    on_option,
    output_options,
    pass_options_as_value,
    ports_option,
    restart_option,
    schemas_option,
)
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.pipeline_option_types import KeepDays, Point, SparkMaster, TableNames
from kwcli.pipeline.run_options import RunOptions, WatchOptions
from kwcli.pipeline.tables import TABLE_NAMES
from kwcli.report import PageFile
from kwcli.run_environment import Environment, Exit, Failure

EXAMPLES = """\b
Examples:
  kw pipeline run 'captures/*.pcap.gz' --out tables
  kw pipeline run s3://dumps/2026-11-21/ --out /data/tables --master spark://head:7077"""
_RUN = """\b
Examples:
  kw pipeline run captures/tour.pcapng --out tables
  kw pipeline run --point b1='b1-*.pcap' --point b2='b2-*.pcap' --out tables --since 2026-11-21T03:00
  kw pipeline run 's3://dumps/*.pcap' --out /data/kafka --master yarn --explain
  kw pipeline run 'dumps/*' --out slow -f 'latency > 1s' --tables exchanges --bodies"""
_WATCH = """\b
Examples:
  kw pipeline watch /captures/broker1.pcap --out tables
  kw pipeline watch --point b1='b1/*.pcap*' --point b2='b2/*.pcap*' --out /data/kafka --keep 30d
  kw pipeline watch /captures/ --out tables --doctor | jq 'select(.severity == "error") | .title'
  kw pipeline watch --on b1='ssh b1 tcpdump -U -w - port 9092' --on b2='ssh b2 tcpdump -U -w - port 9092' --out tables
  kw pipeline watch '/captures/*.pcap' --out tables --once"""
_COMPACT = """\b
Examples:
  kw pipeline compact /data/kafka
  kw pipeline compact /data/kafka --lateness 6h --keep 30d"""
_REPORT = """\b
Examples:
  kw pipeline report tables --target 4.0
  kw pipeline report tables --html report.html
  kw pipeline report /data/tables --master 'local[*]' -o json > report.json"""
_SQL = """\b
Examples:
  kw pipeline sql tables "select api, p99_ms from latency_by_api order by p99_ms desc"
  kw pipeline sql tables "select * from old_versions where release = '4.0'" -o csv > old.csv
  kw pipeline sql tables --views"""

ENGINES = ("auto", "local", "stitch")


def _master_option(
    help: str = "Where Spark runs: local[2], spark://head:7077, yarn (default: this machine).",
) -> Callable[[Command], Command]:
    return click.option("--master", type=SparkMaster(), metavar="URL", help=help)


def _read_host_names(context: click.Context, _param: click.Parameter, word: str | None) -> tuple[tuple[str, str], ...]:
    """The names of a file of --hosts, by address: workers may not have the file."""
    if word is None:
        return ()
    from kwcli.reading.sinks.host_names import read_host_names

    return tuple(sorted(read_host_names(word, context.obj).names.items()))


def _load_topic_names_into_options(env: Environment, options: RunOptions) -> RunOptions:
    """The options with the names of --names-from: they are learnt once, and workers may not have the file."""
    if options.names_from is None:
        return options
    from decoders.wire.primitive_types import format_uuid
    from kwcli.reading.load_topic_names import load_topic_names
    from kwcli.reading.tls_key_log_files import KeyLogFiles

    found = load_topic_names(options.names_from, env, KeyLogFiles(options.keylogs, follow=True).keys)
    names = sorted((format_uuid(identity.bytes), name) for identity, (name, _) in found.names.items())
    return options._replace(topic_names=tuple(names))


def _add_run_and_watch_options(command: Command) -> Command:
    """What a run and a watch have in common: of which captures, which rows, into which tables, made by whom."""
    return add_options(
        command,
        click.argument("sources", nargs=-1, metavar="[SRC...]", type=click.Path(readable=False)),
        click.option(
            "--out",
            required=True,
            metavar="DIR",
            type=click.Path(readable=False),
            help="Folder of the tables: new, or made by the same command.",
        ),
        click.option(
            "--point",
            "points",
            multiple=True,
            type=Point(),
            metavar="NAME=GLOB",
            help="Captures of one place in the network; a connection at two points counts twice.",
        ),
        filter_options(captures=False),
        ports_option,
        keylog_option,
        names_from_option,
        make_hosts_option("host_names", callback=_read_host_names),
        click.option(
            "--tables",
            type=TableNames(TABLE_NAMES),
            default=TABLE_NAMES,
            metavar="NAME,...",
            help=f"Only these tables, of {', '.join(TABLE_NAMES)}.",
        ),
        click.option("--bodies", is_flag=True, help="Add requests and responses as JSON."),
        click.option("--records", is_flag=True, help="In bodies: records, with keys and values decoded."),
        schemas_option,
        click.option("--reveal-secrets", is_flag=True, help="In bodies: tokens, salts and config values in clear."),
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            default="auto",
            help="local: without Spark; stitch: Spark; auto: by size.",
        ),
        _master_option(),
        click.option(
            "--strict", is_flag=True, help="Exit code 3 when traffic or input was lost or could not be decoded."
        ),
        click.option("-v", "--verbose", count=True, help="Report every capture, or every batch."),
        click.option("-q", "--quiet", is_flag=True, help="No summary and no progress."),
        environment_flag_option("--debug", "debug", "Show the traceback of a defect, and Spark's output."),
    )


@click.group("pipeline", epilog=EXAMPLES)
def command() -> None:
    """Turn captures of any size into tables, on this machine or on Spark, and tables into reports."""


@command.command("run", short_help="Decode captures into Parquet tables.", epilog=_RUN)
@click.option("--since", "since_ns", type=TimeWord(), metavar="TIME", help="Only what began since TIME: 17:34, 5m.")
@click.option("--until", "until_ns", type=TimeWord(), metavar="TIME", help="Only what began before TIME.")
@_add_run_and_watch_options
@click.option(
    "--split-size",
    type=ByteSize(),
    metavar="SIZE",
    help="Bytes of capture per task (default: 256MiB, above 8GB 512MiB).",
)
@make_jobs_option("local: decode")
@click.option("--explain", is_flag=True, help="Print the plan with reasons; do nothing.")
@pass_options_as_value(
    "options",
    partial(RunOptions, filter=""),
    [name for name in RunOptions._fields if name not in ("filter", "topic_names")],
)
@click.pass_obj
def run_command(env: Environment, options: RunOptions, filters: FilterOptions) -> int:
    """Decode captures into Parquet tables under DIR: exchanges, topic_partitions, connections, skipped.

    SRC is a capture or a broker's request log, a folder, a glob or a URL (s3://, gs://, hdfs://, …); with --point
    several places of a network are told apart. Successive captures of one point are one sequence: connections go on
    across files. The same run again changes nothing; further captures join those already in the tables.
    """
    _check_pyarrow_installed()
    from kwcli.pipeline.run_pipeline import run_pipeline

    _check_run_options(options)
    from kwcli.filter_options import resolve_time_range
    from kwcli.reading.list_input_files import choose_key_logs

    words = [*options.sources, *(place for _, place in options.points)]
    since_ns, until_ns = resolve_time_range(options.since_ns, options.until_ns, words, env)  # type: ignore[arg-type]  # as typed
    keylogs = choose_key_logs(options.keylogs, env.variables)
    asked = options._replace(filter=filters.filter_text(), since_ns=since_ns, until_ns=until_ns, keylogs=keylogs)
    return run_pipeline(env, _load_topic_names_into_options(env, asked))


@command.command("watch", short_help="Decode captures as they come, for ever.", epilog=_WATCH)
@_add_run_and_watch_options
@interface_option
@on_option
@restart_option
@bpf_option
@click.option(
    "--lateness",
    "lateness_s",
    type=Seconds(),
    default="5s",
    metavar="TIME",
    help="Wait this long for files that belong before a new one.",
    show_default=True,
)
@click.option(
    "--interval",
    "interval_s",
    type=Seconds(),
    default="2s",
    metavar="TIME",
    help="Minimum time from batch to batch.",
    show_default=True,
)
@click.option(
    "--batch-size",
    type=ByteSize(),
    default="256MiB",
    metavar="SIZE",
    help="Bytes of capture per batch, about.",
    show_default=True,
)
@click.option("--keep", "keep_days", type=KeepDays(), default=0, metavar="DAYS", help="Drop older dates: 30d.")
@click.option(
    "--no-rename", "renames", flag_value=False, default=True, help="For stores without atomic rename; only kw reads."
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(("parquet", "delta", "iceberg")),
    default="parquet",
    help="Table format: plain Parquet, or the same files with a Delta or Iceberg log.",
    show_default=True,
)
@metrics_option("Serve Prometheus on http://127.0.0.1:PORT/metrics, or at ADDRESS.")
@click.option("--doctor", is_flag=True, help="Report findings as they appear: NDJSON lines, and the table `findings`.")
@click.option(
    "--threshold",
    "thresholds",
    metavar="NAME=NUMBER",
    multiple=True,
    help="Threshold of a finding; repeatable.",
)
@click.option("--once", is_flag=True, help="Read existing files and end; the next watch goes on.")
@click.option("--finish", is_flag=True, help="Like --once, but settle open exchanges as at the end.")
@pass_options_as_value("wanted", WatchOptions, WatchOptions._fields)
@pass_options_as_value(
    "options",
    partial(RunOptions, filter="", since_ns=None, until_ns=None, split_size=None, explain=False),
    [
        name
        for name in RunOptions._fields
        if name not in ("filter", "since_ns", "until_ns", "split_size", "explain", "topic_names")
    ],
)
@click.pass_obj
def watch_command(env: Environment, options: RunOptions, wanted: WatchOptions, filters: FilterOptions) -> int:
    """Decode captures into the tables under DIR as they come: new files, files that grow, rings that reuse names.

    With --on and -i what is captured live, too, at any number of places, each a capture point.
    Batches are all or nothing; after a stop or kill the same command goes on where the last batch ended.
    The rows are those of kw pipeline run over all files.
    """
    _check_pyarrow_installed()
    _check_run_options(options, live=bool(wanted.commands or wanted.interfaces))
    refuse_options_without("interfaces", ("bpf",), "it is the kernel filter of a live capture")
    refuse_options_without("commands", ("restart",), "it starts the commands again")
    refuse_clashes(
        Clash("interfaces", ("once", "finish"), "what is captured does not come to an end"),
        Clash("restart", ("once", "finish"), "what is captured does not come to an end"),
        Clash("once", ("finish",), "both read what is there and end; --finish also ends open connections"),
    )
    refuse_options_without("doctor", ("thresholds",), "thresholds are for its findings")
    from kwcli.pipeline.watch.watch_captures import run_watch
    from kwcli.reading.list_input_files import choose_key_logs

    keylogs = choose_key_logs(options.keylogs, env.variables)
    asked = options._replace(filter=filters.filter_text(), keylogs=keylogs)
    return run_watch(env, _load_topic_names_into_options(env, asked), wanted)


@command.command("compact", short_help="Merge the files of a watch's tables.", epilog=_COMPACT)
@click.argument("folder", metavar="DIR", type=click.Path(readable=False))
@click.option(
    "--lateness",
    type=Seconds(),
    default="1h",
    metavar="TIME",
    help="Only dates over this long before the latest packet.",
    show_default=True,
)
@click.option("--keep", "keep_days", type=KeepDays(), default=0, metavar="DAYS", help="Drop older dates: 30d.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on standard error.")
@click.pass_obj
def compact_command(env: Environment, folder: str, lateness: float, keep_days: int, quiet: bool) -> int:
    """Merge the files of each past date into one, while the watch goes on and tables are read.

    A date is swapped as a whole; dates that may still grow stay as they are.
    """
    _check_pyarrow_installed()
    from datetime import timedelta

    from kwcli.pipeline.show_run_progress import format_compacted_line
    from kwcli.pipeline.store.compact_tables import compact_tables
    from kwcli.pipeline.store.replace_folders_of_tables import os_errors_as_failures

    with os_errors_as_failures(folder):
        for done in compact_tables(folder, timedelta(seconds=lateness), keep_days):
            if not quiet:
                env.report(f"kw: {format_compacted_line(done)}")
    return Exit.DONE


@command.command("report", short_help="Report on the tables.", epilog=_REPORT)
@pass_options_as_value("page", PageFile, PageFile._fields)
@click.argument("folder", metavar="DIR", type=click.Path(readable=False))
@click.option("--target", metavar="RELEASE", help="Kafka release to check clients against (default: the newest).")
@html_option("Write one HTML page with charts; print nothing.")
@force_option
@_master_option("Count on Spark: local[*], spark://HOST:PORT, … (default: here).")
@output_options(
    verbose="Show all rows and columns.",
    quiet="Say nothing on standard error.",
    formats=("text", "md", "ndjson", "json"),
)
@click.pass_obj
def report_command(
    env: Environment,
    folder: str,
    target: str | None,
    page: PageFile,
    master: str | None,
    shown: OutputOptions,
) -> int:
    """Report on the tables in DIR: latencies, errors, old versions, talkers, batches, throttling, connections.

    Latencies by API, client, topic and broker, over time; the clients that a release no longer serves (KIP-896).
    """
    refuse_clashes(Clash("html_path", ("output", "verbose"), "--html writes everything to the page, and nothing else"))
    _check_pyarrow_installed()
    from kwcli.pipeline.report.run_report import run_report

    return run_report(env, shown.make_settings(env), folder, target=target, page=page, master=master)


@command.command("sql", short_help="Query tables in SQL.", epilog=_SQL)
@click.argument("folder", metavar="DIR", type=click.Path(readable=False))
@click.argument("query", required=False)
@click.option("--views", is_flag=True, help="List the tables and views with their columns.")
@limit_option("At most N rows.")
@_master_option()
@output_options(
    verbose="Shorten nothing in text, however wide.",
    quiet="Say nothing on standard error.",
    formats=("text", "table", "ndjson", "json", "csv"),
)
@click.pass_obj
def sql_command(
    env: Environment,
    folder: str,
    query: str | None,
    views: bool,
    limit: int | None,
    master: str | None,
    shown: OutputOptions,
) -> int:
    """Query the tables in DIR with Spark SQL; QUERY - is standard input.

    Besides the tables there are views for the usual questions: latency_by_api, clients, old_versions, slowest, ….
    Without a query they are listed. `kw sql` needs no Spark, and queries captures too.
    """
    from kwcli.pipeline.query_tables_and_output import read_query, write_tables_and_views
    from kwcli.pipeline.spark_sql import run_spark_query

    if views and query is not None:
        raise click.UsageError("give a query or --views, not both", click.get_current_context())
    refuse_clashes(Clash("views", ("limit", "master"), "--views lists tables and views, and runs no query"))
    settings = shown.make_settings(env)
    if query is None:
        return write_tables_and_views(env, settings, shlex.join(["kw", "pipeline", "sql", folder]), views=views)
    _check_pyarrow_installed()
    return run_spark_query(env, settings, folder, read_query(env, query), limit=limit, master=master)


def _check_pyarrow_installed() -> None:
    """What tables are written and read with is not installed with kw alone."""
    if find_spec("pyarrow") is None:
        raise Failure(f"tables need pyarrow, which is not installed: {pip_command_for_extra('spark')}")


def _check_run_options(options: RunOptions, *, live: bool = False) -> None:
    """Refuse what does not go together; `live`: there are interfaces or commands."""
    context = click.get_current_context()
    if not options.sources and not options.points and not live:
        raise click.UsageError("give captures: files, globs or URLs, or --point NAME=GLOB", context)
    if not options.out:
        raise click.UsageError("--out is empty: give the folder for the tables", context)
    if options.engine == "local":
        refuse_clashes(Clash("engine", ("master",), "--master is for Spark, and local runs without it"))
    elif options.engine == "stitch":
        refuse_clashes(Clash("engine", ("jobs",), "Spark has the processes that --master says"))
    refuse_clashes(Clash("master", ("jobs",), "Spark has the processes that --master says"))
    refuse_options_without("bodies", ("reveal_secrets",), "only bodies have secrets")
    refuse_options_without("bodies", ("records",), "records are in bodies")
    refuse_options_without("records", ("schemas",), "schemas decode keys and values of records")
    if options.bodies and "exchanges" not in options.tables:
        raise click.UsageError("--bodies needs the table exchanges: add it to --tables", context)
