"""What `kw audit` does: captures in, a verdict on each client out, and exit code 4 where one breaks."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.client_compatibility import Audit, AuditTarget, AuditVerdicts
from decoders.analysis.security import Security
from decoders.exchanges.exchange import Exchange, Skipped
from decoders.wire.format_and_escape_text import escape_text
from kwcli.analyses.doctor import FAIL_ON, count_findings, format_findings
from kwcli.analyses.finding_renderer import FindingRenderer
from kwcli.analyses.ignore_rules import IgnoreRules
from kwcli.analyses.render_answer import AnswerRenderer, format_software
from kwcli.output.report_partial_input import describe_judged_part
from kwcli.output.short_texts import count_of, palette
from kwcli.output.table import Column, draw_table
from kwcli.run_environment import Exit, Failure
from kwcli.spelling import find_release
from kwcli.stats.text import OTHERS

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Settled
    from kwcli.net.config.client_config import ConnectionOptions
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment

__all__ = ["AuditRenderer", "SecurityRenderer", "find_target"]

# The prefix before a broker's address; the broker is asked which versions it serves.
BROKER: Final = "broker:"
SIGNS: Final = {"breaks": "✗", "unknown": "?", "works": " "}
_MARGIN: Final = " " * 3
_NAME_LEAST: Final = 12
_WIDTH_LEAST: Final = 40


def find_target(word: str, env: Environment, connection: ConnectionOptions) -> AuditTarget:
    """The audit's target: the release `4.0`, or the broker of `broker:HOST:PORT`, which is asked. Raises Failure."""
    if not word.startswith(BROKER):
        return AuditTarget.of_release(find_release(word))
    address = word.removeprefix(BROKER)
    from kwcli.net.deadline import Deadline
    from kwcli.net.options import read_config
    from kwcli.net.session.blocking import BrokerConnection

    config = read_config(env, connection._replace(servers=address, controllers=None))
    with BrokerConnection.open(config.servers[0], config, Deadline(config.timeout_s, env.monotonic)) as opened:
        return AuditTarget.of_broker(f"the broker {address}", opened.versions)


class AuditRenderer(AnswerRenderer):
    """Verdicts on clients against a target; or with `clients`, on brokers against clients of a release.

    The versions that brokers offer are learnt also from exchanges that the filters leave out.
    """

    def __init__(self, settings: Settings, target: AuditTarget, clients: str | None) -> None:
        fold = self._audit = Audit()
        self.target = target
        self.clients = clients
        self._counts: Counter[str] = Counter()
        self.ignore = IgnoreRules()
        if clients is None:
            super().__init__(fold, "audit", self._judge_clients, self._format_clients, settings)
            self.keys = ("others",)
        else:
            super().__init__(fold, "audit_broker", self._judge_brokers, self._format_brokers, settings)

    def make_empty(self) -> AuditRenderer:
        """A renderer like this one that has seen nothing."""
        return AuditRenderer(self._settings, self.target, self.clients)

    def _judge_clients(self) -> AuditVerdicts | list[Row]:
        verdicts = self._audit.judge_clients(self.target, is_partial=self.coverage.partial is not None)
        self._counts = Counter(verdicts.counts)
        if not self.ignore:
            return verdicts
        kept = self.ignore.choose(verdicts)
        self._counts -= self.ignore.verdicts
        return kept

    def _judge_brokers(self) -> list[Row]:
        rows = self._audit.judge_brokers(self.clients or "", is_partial=self.coverage.partial is not None)
        return self.ignore.choose(rows)

    def coverage_sentences(self) -> list[str]:
        """What was read of the inputs, and how many exchanges the verdicts are made of where some were left out."""
        return [*super().coverage_sentences(), *filter(None, [describe_judged_part(self.coverage)])]

    def learn_from(self, rows: list[Settled]) -> None:
        """Learn the versions that brokers offer, also from exchanges that the filters leave out."""
        for row in rows:
            if isinstance(row, Exchange):
                self._audit.learn(row)

    def exit_code(self, code: Exit) -> Exit:
        """The run's exit code `code`, or Exit.FINDINGS where a client or a broker breaks."""
        return Exit.FINDINGS if code in (Exit.DONE, Exit.LOSSY) and self._counts_by_verdict()["breaks"] else code

    def summary_line(self) -> str:
        """The summary: `Kafka 4.0: 2 clients break, 1 unknown, 3 work`."""
        counts = self._counts_by_verdict()
        noun = "client" if self.clients is None else "broker"
        parts = [f"{count_of(counts['breaks'], noun)} {'breaks' if counts['breaks'] == 1 else 'break'}"]
        parts += [f"{counts['unknown']:,} unknown"] if counts["unknown"] else []
        parts.append(f"{counts['works']:,} {'works' if counts['works'] == 1 else 'work'}")
        if self.clients is not None:
            return f"clients of Kafka {self.clients}: {', '.join(parts)}{self.ignore.summary()}"
        name = self.target.name if self.target.release is None else f"Kafka {self.target.name}"
        return f"{name}: {', '.join(parts)}{self.ignore.summary()}"

    def _counts_by_verdict(self) -> Counter[str]:
        return Counter(row["verdict"] for row in self.found) if self.clients is not None else self._counts

    def _format_clients(self, rows: Sequence[Row], settings: Settings) -> str:
        software = [escape_text(format_software(row)) for row in rows]
        addresses = [escape_text(_first_name_and_count(row["addresses"])) for row in rows]
        return _draw_rows_with_reasons(
            [
                Column("", [SIGNS[row["verdict"]] for row in rows]),
                Column("client", [_format_client(row) for row in rows], paint="client", cut=_NAME_LEAST),
                Column("verdict", [row["verdict"] for row in rows]),
                Column("needs", [row["needs"] or "" for row in rows], drop=1),
                Column("software", software, drop=2, cut=_NAME_LEAST),
                Column("address", addresses, drop=3, cut=_NAME_LEAST),
            ],
            ["" if row["verdict"] == "works" and "others" not in row else row["why"] for row in rows],
            settings,
        )

    def _format_brokers(self, rows: Sequence[Row], settings: Settings) -> str:
        return _draw_rows_with_reasons(
            [
                Column("", [SIGNS[row["verdict"]] for row in rows]),
                Column("broker", [escape_text(row["broker"]) for row in rows], paint="client"),
                Column("verdict", [row["verdict"] for row in rows]),
            ],
            [_format_lacking(row["apis"]) for row in rows],
            settings,
        )


def _format_client(row: Row) -> str:
    return OTHERS if "others" in row else escape_text(row["client_id"] or "–")


def _draw_rows_with_reasons(columns: list[Column], reasons: Sequence[str], settings: Settings) -> str:
    """A line for each row, with the reason in lines below it where there is one."""
    if not reasons:
        return ""
    heading, *lines = draw_table(columns, settings.width, palette(settings.color), dense=True)
    shown = [heading]
    for line, reason in zip(lines, reasons, strict=True):
        width = max(settings.width or 0, _WIDTH_LEAST)
        text = escape_text(reason)
        told = textwrap.wrap(text, width - len(_MARGIN), break_on_hyphens=False) if settings.width else [text]
        shown += [line, *(_MARGIN + each for each in told if each)]
    return "".join(f"{line}\n" for line in shown)


def _first_name_and_count(names: Sequence[str]) -> str:
    """The first name, and how many more there are: `10.0.0.7 +2`."""
    return f"{names[0]} +{len(names) - 1:,}" if len(names) > 1 else "".join(names)


def _format_lacking(apis: Sequence[dict[str, Any]]) -> str:
    """What a broker lacks for its clients: `Fetch: offers 0 to 3, its clients speak 4 to 17`."""
    return ", ".join(
        f"{row['api']}: offers {_format_span(row['offers'])}, its clients speak {_format_span(row['speaks'])}"
        for row in apis
    )


def _format_span(pair: list[int] | None) -> str:
    return "none" if pair is None else f"{pair[0]} to {pair[1]}"


def check_audit_words(target: str | None, clients: str | None, *, security: bool) -> None:
    """Raise Failure where more than one of --security, --target and --clients is given."""
    if security and (target is not None or clients is not None):
        raise Failure("--security goes without --target and --clients: give one of them", Exit.USAGE)
    if target is not None and clients is not None:
        raise Failure("--target checks clients, --clients checks brokers: give one of them", Exit.USAGE)


class SecurityRenderer(FindingRenderer):
    """Findings about security; TLS connections count only without a filter: they have nothing to filter by."""

    def __init__(self, settings: Settings) -> None:
        fold = self._security = Security()
        super().__init__(fold, "security", format_findings, settings)
        self.keys = ("command",)

    def make_empty(self) -> SecurityRenderer:
        """A renderer like this one that has seen nothing."""
        return SecurityRenderer(self._settings)

    def write(self, rows: list[Settled]) -> None:
        """Give exchanges and TLS connections to the fold."""
        super().write(rows)
        for row in rows:
            if isinstance(row, Skipped):
                self._security.observe_tls_connection(row)

    def exit_code(self, code: Exit) -> Exit:
        """The run's exit code `code`, or Exit.FINDINGS where a finding is an error."""
        bad = any(row["severity"] in FAIL_ON["error"] for row in self.found)
        return Exit.FINDINGS if bad and code in (Exit.DONE, Exit.LOSSY) else code

    def summary_line(self) -> str:
        """The summary: `security: 2 errors, 1 warning, 3 notes`, `security: nothing found`."""
        return f"security: {count_findings(self.found)}{self.ignore.summary()}"
