"""`kw doctor`: captures in, what is wrong out, worst first."""

from __future__ import annotations

import click

from kwcli.env import Environment
from kwcli.options import (
    CaptureOptions,
    FilterOptions,
    OutputOptions,
    capture_options,
    filter_options,
    limit_option,
    output_options,
)

EXAMPLES = """\b
Examples:
  kw doctor orders.pcapng
  kw doctor captures/ --group billing -v
  kw doctor orders.pcapng --threshold lag.records=100000 --fail-on warning
  kw doctor orders.pcapng -o ndjson | jq 'select(.severity == "error") | .title'"""


@click.command("doctor", epilog=EXAMPLES)
@capture_options
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="End with exit code 4 where there is a finding as bad as this.",
)
@click.option("--threshold", "thresholds", metavar="NAME=NUMBER", multiple=True, help="From how much on; repeatable.")
@filter_options
@limit_option("Stop reading after N exchanges looked at.")
@output_options(
    verbose="Explain notes as well.",
    quiet="No summary and no progress bar.",
    formats=("text", "table", "ndjson", "json", "csv", "yaml", "fields"),
    times=True,
)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    fail_on: str,
    thresholds: tuple[str, ...],
    filters: FilterOptions,
    limit: int | None,
    shown: OutputOptions,
) -> int:
    """Say what is wrong: findings, worst first, with who, since when, the evidence and what to do.

    FILE as for `kw sniff`. Errors and warnings are explained, notes are a line each (`-v` explains them as well).
    """
    from kwcli.answers.doctor import DoctorRenderer, read_thresholds
    from kwcli.answers.run import answer

    capture.check()
    settings = shown.settings(env)
    renderer = DoctorRenderer(settings, read_thresholds(thresholds))
    code = renderer.exit_code(answer(env, settings, capture, filters, limit, renderer), fail_on)
    if not settings.quiet:
        env.say(f"kw: {renderer.line()}")
    return code
