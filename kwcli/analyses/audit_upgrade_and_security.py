"""What `kw audit` does: captures in, a verdict on each client out, and exit code 4 where one breaks."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.client_compatibility import VERDICTS, Audit, AuditTarget, AuditVerdicts
from decoders.analysis.security_audit import Security
from decoders.exchanges.exchange import Exchange, Skipped
from decoders.exchanges.find_client_library import BROKER as BROKER_PROGRAM
from decoders.exchanges.find_client_library import find_program_of_client_id
from decoders.wire.format_and_escape_text import escape_text
from kwcli.analyses.finding_ignore_rules import IgnoreRules
from kwcli.analyses.finding_renderer import FindingRenderer
from kwcli.analyses.format_findings import format_finding_counts, format_findings
from kwcli.analyses.render_answer import AnswerRenderer, format_software
from kwcli.analyses.render_doctor_answer import FAIL_ON
from kwcli.names_in_any_spelling import find_release
from kwcli.output.report_partial_input import describe_judged_part
from kwcli.output.short_texts import count_of, palette
from kwcli.output.table import Column, draw_table
from kwcli.run_environment import Exit, Failure
from kwcli.stats.statistics_as_text import OTHERS

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Settled
    from kwcli.net.config.client_config import ConnectionOptions
    from kwcli.output.output_settings import Settings
    from kwcli.run_environment import Environment

__all__ = [
    "FAIL_ON_VERDICTS",
    "AuditRenderer",
    "SecurityRenderer",
    "find_audit_target",
    "refuse_clashing_audit_options",
]

# The prefix before a broker's address; the broker is asked which versions it serves.
BROKER: Final = "broker:"
# Value of --fail-on → the verdicts that end with exit code 4.
FAIL_ON_VERDICTS: Final = {"breaks": ("breaks",), "unknown": ("breaks", "unknown"), "never": ()}
SIGNS: Final = {"breaks": "✗", "unknown": "?", "works": " "}
_MARGIN: Final = " " * 3
_NAME_LEAST: Final = 12
# So many clients that are unknown for one reason are one row of text, with so many names.
_FOLDED_LEAST: Final = 4
_NAMED: Final = 6
_WIDTH_LEAST: Final = 40


def find_audit_target(word: str, env: Environment, connection: ConnectionOptions) -> AuditTarget:
    """The audit's target: the release `4.0`, or the broker of `broker:HOST:PORT`, which is asked. Raises Failure."""
    if not word.startswith(BROKER):
        return AuditTarget.of_release(find_release(word))
    address = word.removeprefix(BROKER)
    from kwcli.net.command_deadline import Deadline
    from kwcli.net.connection_options import read_client_config
    from kwcli.net.session.blocking_connection import BrokerConnection

    config = read_client_config(env, connection._replace(servers=address, controllers=None))
    with BrokerConnection.open(config.servers[0], config, Deadline(config.timeout_s, env.monotonic)) as opened:
        return AuditTarget.of_broker(f"the broker {address}", opened.versions)


class AuditRenderer(AnswerRenderer):
    """Verdicts on clients against a target; or with `clients`, on brokers against clients of a release.

    The versions that brokers offer are learnt also from exchanges that the filters leave out.
    """

    def __init__(
        self,
        settings: Settings,
        target: AuditTarget,
        clients: str | None,
        verdicts: Sequence[str] = (),
        fail_on: str = "breaks",
    ) -> None:
        fold = self._audit = Audit()
        self.verdicts = verdicts
        self.fail_on = fail_on
        self.target = target
        self.clients = clients
        self._counts: Counter[str] = Counter()
        self.ignore = IgnoreRules()
        if clients is None:
            super().__init__(fold, "audit", self._judge_clients_and_count_verdicts, self._format_clients, settings)
            self.keys = ("others",)
        else:
            super().__init__(
                fold, "audit_broker", self._judge_brokers_and_count_verdicts, self._format_brokers, settings
            )

    def make_empty_copy(self) -> AuditRenderer:
        """A renderer like this one that has seen nothing."""
        return AuditRenderer(self._settings, self.target, self.clients, self.verdicts, self.fail_on)

    def makes_command_fail(self, row: Row) -> bool:
        """Whether the verdict of a row is one that --fail-on names."""
        return row["verdict"] in FAIL_ON_VERDICTS[self.fail_on]

    def _judge_clients_and_count_verdicts(self) -> AuditVerdicts | list[Row]:
        verdicts = self._audit.judge_clients(self.target, is_partial=self.coverage.partial is not None)
        self._counts = Counter(verdicts.counts)
        if not (self.ignore or self.verdicts):
            return verdicts
        kept = self.ignore.drop_ignored_findings(verdicts)
        self._counts -= self.ignore.verdicts
        return self._select_rows_by_verdict_option(kept)

    def _select_rows_by_verdict_option(self, rows: list[Row]) -> list[Row]:
        """The rows with the verdicts that --verdict names; all rows without it."""
        return [row for row in rows if row["verdict"] in self.verdicts] if self.verdicts else rows

    def _judge_brokers_and_count_verdicts(self) -> list[Row]:
        rows = self._audit.judge_brokers(self.clients or "", is_partial=self.coverage.partial is not None)
        kept = self.ignore.drop_ignored_findings(rows)
        self._counts = Counter(row["verdict"] for row in kept)
        return self._select_rows_by_verdict_option(kept)

    def coverage_sentences(self) -> list[str]:
        """What was read of the inputs, and how many exchanges the verdicts are made of where some were left out."""
        return [*super().coverage_sentences(), *filter(None, [describe_judged_part(self.coverage)])]

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn the versions that brokers offer, also from exchanges that the filters leave out."""
        for row in rows:
            if isinstance(row, Exchange):
                self._audit.learn(row)

    def exit_code_after_check(self, code: Exit) -> Exit:
        """The run's exit code `code`, or Exit.FINDINGS where a client or a broker has a verdict of --fail-on."""
        bad = any(self._counts[verdict] for verdict in FAIL_ON_VERDICTS[self.fail_on])
        return Exit.FINDINGS if code in (Exit.DONE, Exit.LOSSY) and bad else code

    def summary_line(self) -> str:
        """The summary: `Kafka 4.0: 2 clients break, 1 unknown, 3 work`."""
        counts = self._counts
        noun = "client" if self.clients is None else "broker"
        parts = [f"{count_of(counts['breaks'], noun)} {'breaks' if counts['breaks'] == 1 else 'break'}"]
        parts += [f"{counts['unknown']:,} unknown"] if counts["unknown"] else []
        parts.append(f"{counts['works']:,} {'works' if counts['works'] == 1 else 'work'}")
        if self.clients is not None:
            return f"clients of Kafka {self.clients}: {', '.join(parts)}{self.ignore.format_ignored_count()}"
        name = self.target.name if self.target.release is None else f"Kafka {self.target.name}"
        return f"{name}: {', '.join(parts)}{self.ignore.format_ignored_count()}"

    def _format_clients(self, rows: Sequence[Row], settings: Settings) -> str:
        rows = _group_rows_for_text(rows)
        software = [escape_text(format_software(row)) for row in rows]
        addresses = [escape_text(_format_first_name_and_count(row["addresses"])) for row in rows]
        return _draw_rows_with_reasons(
            [
                Column("", [SIGNS[row["verdict"]] for row in rows]),
                Column("client", [_format_client_name(row) for row in rows], paint="client", cut=_NAME_LEAST),
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
            [_format_versions_broker_lacks(row["apis"]) for row in rows],
            settings,
        )


def _group_rows_for_text(rows: Sequence[Row]) -> list[Row]:
    """The rows as text shows them: brokers are one row, the last; so are clients that are unknown for one reason.

    Both only where they are several; the names of clients that are one row are in its reason.
    """
    brokers = [row for row in rows if _is_inter_broker_client(row)]
    reasons = Counter(row["why"] for row in rows if row["verdict"] == "unknown" and not _is_inter_broker_client(row))
    folded: dict[str, list[Row]] = {}
    kept: list[Row | str] = []
    for row in rows:
        if len(brokers) > 1 and _is_inter_broker_client(row):
            continue
        if row["verdict"] != "unknown" or "others" in row or reasons[row["why"]] < _FOLDED_LEAST:
            kept.append(row)
            continue
        if row["why"] not in folded:
            kept.append(row["why"])
        folded.setdefault(row["why"], []).append(row)
    found = [_merge_audit_rows(folded[each], "clients") if isinstance(each, str) else each for each in kept]
    return found + ([_merge_audit_rows(brokers, "clients of brokers")] if len(brokers) > 1 else [])


def _is_inter_broker_client(row: Row) -> bool:
    """Whether a row is of a client by which brokers talk to each other, by its client id or its traits."""
    program = find_program_of_client_id(row["client_id"] or "") or row["library"]
    return program is not None and program["name"] == BROKER_PROGRAM


def _merge_audit_rows(rows: Sequence[Row], noun: str) -> Row:
    """One row for several: the worst verdict with its reason, the software and library that all have."""
    worst = min(rows, key=lambda row: VERDICTS.index(row["verdict"]))
    names = [row["client_id"] for row in rows if row["verdict"] == worst["verdict"]]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    why = f"{', '.join(names[:_NAMED])}{more}"
    if worst["verdict"] != "works":
        why = f"{worst['why']}: {why}"
    alike = {key: worst[key] if all(row[key] == worst[key] for row in rows) else None for key in _ALIKE}
    addresses = sorted({address for row in rows for address in row["addresses"]})
    title = f"{len(rows):,} {noun}"
    return {
        **worst,
        **alike,
        "client_id": title,
        "addresses": addresses,
        "why": why,
        "others": len(rows),
        "title": title,
    }


_ALIKE: Final = ("client_software", "library", "needs")


def _format_client_name(row: Row) -> str:
    if "title" in row:
        return str(row["title"])
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


def _format_first_name_and_count(names: Sequence[str]) -> str:
    """The first name, and how many more there are: `10.0.0.7 +2`."""
    return f"{names[0]} +{len(names) - 1:,}" if len(names) > 1 else "".join(names)


def _format_versions_broker_lacks(apis: Sequence[dict[str, Any]]) -> str:
    """What a broker lacks for its clients: `Fetch: offers 0 to 3, its clients speak 4 to 17`."""
    return ", ".join(
        f"{row['api']}: offers {_format_version_range(row['offers'])}, "
        f"its clients speak {_format_version_range(row['speaks'])}"
        for row in apis
    )


def _format_version_range(pair: list[int] | None) -> str:
    return "none" if pair is None else f"{pair[0]} to {pair[1]}"


def refuse_clashing_audit_options(
    subjects: Mapping[str, bool],
    verdicts: Sequence[str],
    known: Sequence[str],
    fail_on: str | None,
    levels: Sequence[str],
) -> None:
    """Raise Failure where more than one of `subjects` is given, or a verdict or level that the subject has not."""
    given = [name for name, is_given in subjects.items() if is_given]
    if len(given) > 1:
        raise Failure(f"{given[0]} and {given[1]} audit different things: give one of them", Exit.USAGE)
    subject = given[0] if given else "--target"
    for verdict in verdicts:
        if verdict not in known:
            told = f"there are {', '.join(known)}" if known else "its findings have none"
            raise Failure(f"--verdict {verdict}: no verdict of {subject}; {told}", Exit.USAGE)
    if fail_on is not None and fail_on not in levels:
        raise Failure(f"--fail-on {fail_on}: with {subject} it is {', '.join(levels)}", Exit.USAGE)


class SecurityRenderer(FindingRenderer):
    """Findings about security; TLS connections count only without a filter: they have nothing to filter by."""

    def __init__(self, settings: Settings, fail_on: str = "error") -> None:
        fold = self._security = Security()
        self.fail_on = fail_on
        super().__init__(fold, "security", format_findings, settings)
        self.keys = ("command",)

    def make_empty_copy(self) -> SecurityRenderer:
        """A renderer like this one that has seen nothing."""
        return SecurityRenderer(self._settings, self.fail_on)

    def write(self, rows: list[Settled]) -> None:
        """Give exchanges and TLS connections to the fold."""
        super().write(rows)
        for row in rows:
            if isinstance(row, Skipped):
                self._security.observe_tls_connection(row)

    def makes_command_fail(self, row: Row) -> bool:
        """Whether a finding is as severe as --fail-on says."""
        return row["severity"] in FAIL_ON[self.fail_on]

    def exit_code_after_check(self, code: Exit) -> Exit:
        """The run's exit code `code`, or Exit.FINDINGS where a finding is as severe as --fail-on says."""
        return (
            Exit.FINDINGS if any(map(self.makes_command_fail, self.found)) and code in (Exit.DONE, Exit.LOSSY) else code
        )

    def summary_line(self) -> str:
        """The summary: `security: 2 errors, 1 warning, 3 notes`, `security: nothing found`."""
        return f"security: {format_finding_counts(self.found)}{self.ignore.format_ignored_count()}"
