"""`kw report`: captures in, everything that they say out, as one page, Markdown, text or JSON."""

from __future__ import annotations

import click

from decoders.named_tuple import NamedTuple
from kwcli.capture_options import CaptureOptions
from kwcli.clashing_options import Clash, refuse_clashes
from kwcli.options import FilterOptions, OutputOptions, answer_options, force_option, html_option, pass_options_as_value
from kwcli.report import PageFile
from kwcli.run_environment import Environment
from kwcli.schema_options import SchemaOptions, schema_options

EXAMPLES = """\b
Examples:
  kw report orders.pcapng --html report.html
  kw report captures/ --target 4.0 --html report.html
  kw report orders.pcapng --topic payments -o md > report.md
  kw report orders.pcapng -o json | jq '.findings[].title'"""


class ReportOptions(NamedTuple):
    """The release that clients are held against, and how much of records is read and shown."""

    target: str | None
    records: bool
    reveal_secrets: bool
    values: bool


@click.command("report", epilog=EXAMPLES)
@pass_options_as_value("page", PageFile, PageFile._fields)
@answer_options(
    html_option("Write one self-contained HTML page; print nothing to standard output."),
    force_option,
    click.option("--target", metavar="RELEASE", help="Check clients against this release (default: the newest)."),
    click.option("--records", is_flag=True, help="Show record keys and values in bodies of the slowest exchanges."),
    click.option("--values", is_flag=True, help="Decode keys and values: schemas of topics, and findings about them."),
    schema_options,
    click.option("--reveal-secrets", is_flag=True, help="Show passwords and tokens in bodies of slowest exchanges."),
    verbose="Show all rows and columns.",
    formats=("text", "md", "ndjson", "json"),
)
@pass_options_as_value("asked", ReportOptions, ReportOptions._fields)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    page: PageFile,
    asked: ReportOptions,
    schemas: SchemaOptions,
    filters: FilterOptions,
    shown: OutputOptions,
) -> int:
    """Report on captures on one page: findings, clients, groups, latency, ladders, audit.

    FILE as for `kw sniff`. The page loads nothing and works without a network; text without --html. With --target the
    exit code is 4 where a client breaks on that release.
    """
    from decoders.filters import parse
    from decoders.protocol_facts.kafka_releases import RELEASES
    from kwcli.analyses.run_analysis import run_analysis
    from kwcli.names_in_any_spelling import find_release
    from kwcli.report.report_renderer import ReportRenderer, choose_exit_code

    refuse_clashes(Clash("html_path", ("output", "verbose"), "--html writes everything to the page, and nothing else"))
    capture.check_usage()
    page.refuse_foreign_file()
    settings = shown.make_settings(env)._replace(records=asked.records, reveal_secrets=asked.reveal_secrets)
    if asked.values or schemas != SchemaOptions():
        from kwcli.net.connection_options import add_value_reader_to_settings

        settings = add_value_reader_to_settings(env, settings, schemas, wanted=asked.values)
    release = RELEASES[-1] if asked.target is None else find_release(asked.target)
    within = parse(capture.time_filter_text(env, settings.zone)).matches
    renderer = ReportRenderer(env, settings, release, page.html_path, within)
    code = run_analysis(env, settings, capture, filters, renderer)
    breaking = 0 if asked.target is None else renderer.breaking
    return choose_exit_code(env, code, breaking, release, quiet=settings.quiet)
