"""`kw doctor`: captures or a cluster in, what is wrong out, worst first."""

from __future__ import annotations

import click

from decoders.named_tuple import NamedTuple
from kwcli.capture_options import CaptureOptions
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.connection_options import ConnectingCommand, connection_options_of_others, read_client_config
from kwcli.options import (
    CHECK_FORMATS,
    FilterOptions,
    OutputOptions,
    answer_options,
    ignore_option,
    pass_options_as_value,
    schemas_option,
    telemetry_options,
)
from kwcli.run_environment import Environment, Exit, Failure
from kwcli.schema_options import SchemaOptions

EXAMPLES = """\b
Examples:
  kw doctor orders.pcapng
  kw doctor captures/ --group billing -v
  kw doctor -b kafka-1:9092
  kw doctor orders.pcapng --threshold lag.records=100000 --fail-on warning
  kw doctor orders.pcapng -o ndjson | jq 'select(.severity == "error") | .title'"""


class DoctorOptions(NamedTuple):
    """What is looked for besides what every capture shows, and what is done with findings."""

    fail_on: str
    thresholds: tuple[str, ...]
    ignore_path: str | None
    values: bool
    schemas: tuple[str, ...]


_CLUSTER = {
    "servers": "Examine the cluster of these brokers instead of captures.",
    "controllers": "Examine the cluster of these controllers instead of captures.",
}


def _rewrite_help_of_cluster_options(command: click.Command) -> click.Command:
    """Give -b and --bootstrap-controller a help text of their own: without them captures are read, not a default."""
    for option in command.params:
        if isinstance(option, click.Option) and option.name in _CLUSTER:
            option.help = _CLUSTER[option.name]
    return command


@_rewrite_help_of_cluster_options
@click.command("doctor", cls=ConnectingCommand, epilog=EXAMPLES)
@answer_options(
    telemetry_options,
    connection_options_of_others,
    click.option("--values", is_flag=True, help="Decode keys and values: findings about their schemas too."),
    schemas_option,
    click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "never"]),
        default="error",
        show_default=True,
        help="Exit with code 4 on a finding at least this severe.",
    ),
    click.option(
        "--threshold", "thresholds", metavar="NAME=NUMBER", multiple=True, help="Set a threshold; repeatable."
    ),
    ignore_option,
    verb="examined",
    formats=CHECK_FORMATS,
    verbose="Explain notes as well.",
    times=True,
)
@pass_options_as_value("asked", DoctorOptions, DoctorOptions._fields)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    connection: ConnectionOptions,
    asked: DoctorOptions,
    filters: FilterOptions,
    shown: OutputOptions,
) -> int:
    """Say what is wrong: findings, worst first, with clients, since when, evidence and what to do.

    FILE as for `kw sniff`. Errors and warnings are explained, notes are a line each (`-v` explains them as well). With
    -b examine a cluster instead of a capture, without changing it.
    """
    from decoders.analysis.doctor.finding_kinds import FINDINGS
    from kwcli.analyses.render_doctor_answer import DoctorRenderer, is_cluster_asked_for, parse_thresholds
    from kwcli.analyses.run_analysis import diagnose_cluster, run_analysis

    live = is_cluster_asked_for(capture, connection)
    if live and (asked.values or asked.schemas):
        raise Failure("--values and --schemas are for traffic (FILE, -i): leave them out with -b", Exit.USAGE)
    settings = shown.make_settings(env)
    if not live and (asked.values or asked.schemas or connection.properties):
        from kwcli.net.connection_options import add_value_reader_to_settings

        registry = tuple(f"{name}={value}" for name, value in connection.properties)
        settings = add_value_reader_to_settings(
            env, settings, SchemaOptions(asked.schemas, registry), wanted=asked.values
        )
    renderer = DoctorRenderer(settings, parse_thresholds(asked.thresholds))
    renderer.fail_on = asked.fail_on
    if asked.ignore_path is not None:
        from kwcli.analyses.read_ignore_rules import read_ignore_rules

        renderer.ignore = read_ignore_rules(asked.ignore_path, env.now_ns())
    if live:
        done = diagnose_cluster(env, read_client_config(env, connection), renderer.doctor, renderer)
    else:
        done = run_analysis(env, settings, capture, filters, renderer)
    code = renderer.exit_code_after_check(done)
    if not settings.quiet:
        for line in renderer.ignore.list_expired_and_unused_rules(FINDINGS):
            env.report(f"kw: {line}")
    if not settings.quiet and (renderer.found or code != Exit.FAILURE):
        env.report(f"kw: {renderer.summary_line_with_coverage()}")
    return code
