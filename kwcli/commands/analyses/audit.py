"""`kw audit`: captures in, which clients break on the upgrade out."""

from __future__ import annotations

import click

from decoders.named_tuple import NamedTuple
from kwcli.capture_options import CaptureOptions
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.options import ConnectingCommand, login_options
from kwcli.options import (
    FilterOptions,
    OutputOptions,
    answer_options,
    ignore_option,
    pass_options_as_value,
)
from kwcli.run_environment import Environment

EXAMPLES = """\b
Examples:
  kw audit orders.pcapng --target 4.0
  kw audit captures/ --target 4.0 -o ndjson | jq 'select(.verdict == "breaks")'
  kw audit orders.pcapng --target broker:kafka-new:9092
  kw audit orders.pcapng --clients 4.4
  kw audit orders.pcapng --security"""


class AuditSubject(NamedTuple):
    """What is audited: clients against a release or broker (`target`), brokers against clients (`newer`), security."""

    target: str | None
    newer: str | None
    security: bool


@click.command("audit", cls=ConnectingCommand, epilog=EXAMPLES)
@answer_options(
    click.option(
        "--target",
        metavar="RELEASE",
        help="Check clients against this release or broker:HOST:PORT (default: the newest).",
    ),
    click.option(
        "--clients", "newer", metavar="RELEASE", help="Reverse: check brokers against clients of this release."
    ),
    click.option("--security", is_flag=True, help="Audit listeners, logins, TLS, secrets and rights instead."),
    ignore_option,
    login_options,
    verbose="Explain notes as well (--security).",
)
@pass_options_as_value("subject", AuditSubject, AuditSubject._fields)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    subject: AuditSubject,
    ignore_path: str | None,
    filters: FilterOptions,
    connection: ConnectionOptions,
    shown: OutputOptions,
) -> int:
    """Say which clients break when the brokers move to another release; or audit security.

    FILE as for `kw sniff`. Each client `works`, `breaks` or is `unknown`, with the versions that show it and the
    lowest release it needs. Exit code 4 when a client breaks. `--security` reports listeners, logins, TLS, secrets
    sent in clear and changed rights; exit code 4 when a finding is an error.
    """
    from decoders.analysis.client_compatibility import VERDICTS
    from decoders.analysis.security import SECURITY_FINDINGS
    from decoders.protocol_facts.releases import RELEASES
    from kwcli.analyses.audit_upgrade_and_security import (
        AuditRenderer,
        SecurityRenderer,
        check_audit_words,
        find_target,
    )
    from kwcli.analyses.ignore_rules import read_ignore_rules
    from kwcli.analyses.run import run_answer
    from kwcli.spelling import find_release

    target, newer, security = subject
    capture.check_usage()
    check_audit_words(target, newer, security=security)
    settings = shown.make_settings(env)
    renderer: AuditRenderer | SecurityRenderer
    if security:
        renderer = SecurityRenderer(settings)
    else:
        against = find_target(target or RELEASES[-1], env, connection)
        renderer = AuditRenderer(settings, against, None if newer is None else find_release(newer))
    renderer.ignore = read_ignore_rules(ignore_path, env.now_ns())
    code = renderer.exit_code(run_answer(env, settings, capture, filters, renderer))
    if not settings.quiet:
        for line in renderer.ignore.closing_lines(SECURITY_FINDINGS if security else VERDICTS):
            env.report(f"kw: {line}")
    if not settings.quiet and (renderer.found or security):
        env.report(f"kw: {renderer.verdict_line()}")
    return code
