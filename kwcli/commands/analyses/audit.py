"""`kw audit`: captures in, which clients break on the upgrade out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from decoders.named_tuple import NamedTuple
from kwcli.capture_options import CaptureOptions
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.connection_options import ConnectingCommand, login_options
from kwcli.options import (
    CHECK_FORMATS,
    FilterOptions,
    OutputOptions,
    answer_options,
    ignore_option,
    pass_options_as_value,
    words_option,
)
from kwcli.run_environment import Environment

if TYPE_CHECKING:
    from kwcli.analyses.audit_advisories import AdvisoryRenderer
    from kwcli.analyses.audit_upgrade_and_security import AuditRenderer, SecurityRenderer
    from kwcli.output.output_settings import Settings

EXAMPLES = """\b
Examples:
  kw audit orders.pcapng --target 4.0
  kw audit captures/ --target 4.0 -o ndjson | jq 'select(.verdict == "breaks")'
  kw audit orders.pcapng --target broker:kafka-new:9092
  kw audit orders.pcapng --clients 4.4
  kw audit orders.pcapng --security
  kw audit captures/ --advisories --fail-on unknown -o sarif > advisories.sarif"""


# The verdicts that --verdict chooses, and the levels of --fail-on, of all kinds of audits.
VERDICTS = ("breaks", "unknown", "works", "affected", "maybe", "not_affected")
LEVELS = ("breaks", "affected", "error", "warning", "unknown", "never")


class AuditSubject(NamedTuple):
    """What is audited: clients against a release or broker (`target`), brokers against clients (`newer`), security,
    or advisories; which verdicts are shown, and which end with exit code 4.
    """

    target: str | None
    newer: str | None
    security: bool
    advisories: bool
    verdicts: tuple[str, ...]
    fail_on: str | None
    ignore_path: str | None


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
    click.option(
        "--advisories", is_flag=True, help="Find clients and brokers with known defects, by their versions, instead."
    ),
    words_option("--verdict", "verdicts", known=VERDICTS, metavar="VERDICT,...", help="Show rows with these verdicts."),
    click.option(
        "--fail-on",
        type=click.Choice(LEVELS),
        help="Exit with code 4 on: breaks, unknown, never; affected with --advisories, error, warning with --security.",
    ),
    ignore_option,
    login_options,
    verbose="Explain notes as well (--security); explain every advisory.",
    formats=CHECK_FORMATS,
)
@pass_options_as_value("subject", AuditSubject, AuditSubject._fields)
@click.pass_obj
def command(
    env: Environment,
    capture: CaptureOptions,
    subject: AuditSubject,
    filters: FilterOptions,
    connection: ConnectionOptions,
    shown: OutputOptions,
) -> int:
    """Say which clients break when the brokers move to another release; or audit security, or known defects.

    FILE as for `kw sniff`. Each client `works`, `breaks` or is `unknown`, with the versions that show it and the
    lowest release it needs. Exit code 4 when a client breaks. `--security` reports listeners, logins, TLS, secrets
    sent in clear and changed rights; exit code 4 when a finding is an error. `--advisories` holds versions against
    published advisories (kw help advisories); exit code 4 when one is affected, or when an attack is seen.
    """
    from decoders.analysis.client_compatibility import VERDICTS as OF_CLIENTS
    from decoders.analysis.security_audit import SECURITY_FINDINGS
    from kwcli.analyses.read_ignore_rules import ADVISORY_IDS, read_ignore_rules
    from kwcli.analyses.run_analysis import run_analysis

    capture.check_usage()
    _check_audit_subject(subject)
    settings = shown.make_settings(env)
    renderer = _make_renderer(env, subject, settings, connection)
    if subject.ignore_path is not None:
        renderer.ignore = read_ignore_rules(subject.ignore_path, env.now_ns())
    code = renderer.exit_code_after_check(run_analysis(env, settings, capture, filters, renderer))
    ids = SECURITY_FINDINGS if subject.security else ADVISORY_IDS if subject.advisories else OF_CLIENTS
    if not settings.quiet:
        for line in renderer.ignore.list_expired_and_unused_rules(ids):
            env.report(f"kw: {line}")
    if not settings.quiet and (renderer.found or subject.security or subject.advisories):
        env.report(f"kw: {renderer.summary_line_with_coverage()}")
    return code


def _check_audit_subject(subject: AuditSubject) -> None:
    """Raise Failure where the options ask for several audits, or for a verdict that the audit does not give."""
    from decoders.analysis.advisories.advisory_audit import ADVISORY_VERDICTS
    from decoders.analysis.client_compatibility import VERDICTS as OF_CLIENTS
    from kwcli.analyses.audit_upgrade_and_security import FAIL_ON_VERDICTS, refuse_clashing_audit_options
    from kwcli.analyses.render_doctor_answer import FAIL_ON

    subjects = {
        "--security": subject.security,
        "--advisories": subject.advisories,
        "--target": subject.target is not None,
        "--clients": subject.newer is not None,
    }
    known: Sequence[str] = OF_CLIENTS
    levels: Sequence[str] = (*FAIL_ON_VERDICTS,)
    if subject.security:
        known, levels = (), (*FAIL_ON,)
    elif subject.advisories:
        known, levels = ADVISORY_VERDICTS, ("affected", "unknown", "never")
    refuse_clashing_audit_options(subjects, subject.verdicts, known, subject.fail_on, levels)


def _make_renderer(
    env: Environment, subject: AuditSubject, settings: Settings, connection: ConnectionOptions
) -> AuditRenderer | SecurityRenderer | AdvisoryRenderer:
    """The renderer of what is audited. Raises Failure."""
    from decoders.protocol_facts.kafka_releases import RELEASES
    from kwcli.analyses.audit_upgrade_and_security import AuditRenderer, SecurityRenderer, find_audit_target
    from kwcli.names_in_any_spelling import find_release

    if subject.security:
        return SecurityRenderer(settings, subject.fail_on or "error")
    if subject.advisories:
        from kwcli.analyses.audit_advisories import AdvisoryRenderer

        return AdvisoryRenderer(settings, subject.verdicts, subject.fail_on or "affected")
    against = find_audit_target(subject.target or RELEASES[-1], env, connection)
    newer = None if subject.newer is None else find_release(subject.newer)
    return AuditRenderer(settings, against, newer, subject.verdicts, subject.fail_on or "breaks")
