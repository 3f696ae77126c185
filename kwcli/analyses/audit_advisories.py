"""What `kw audit --advisories` does: captures in, who is affected by which advisory out, and exit code 4 for some."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from decoders.analysis.advisories.advisory_audit import ADVISORY_VERDICTS, AdvisoryAudit, is_finding_row
from decoders.exchanges.exchange import Exchange
from decoders.wire.format_and_escape_text import escape_text
from kwcli.analyses.finding_renderer import FindingRenderer
from kwcli.analyses.render_answer import format_software
from kwcli.output.short_texts import palette
from kwcli.run_environment import Exit

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings

__all__ = ["AdvisoryRenderer", "format_advisories"]

SIGNS: Final = {"affected": "✗", "maybe": "?", "unknown": "?", "not_affected": " "}
_MARGIN: Final = " " * 3
_WIDTH_LEAST: Final = 40
# So many subjects are named in a line.
_NAMED: Final = 3


class AdvisoryRenderer(FindingRenderer):
    """Verdicts on clients and brokers by published advisories, with what the capture shows of each."""

    def __init__(self, settings: Settings, verdicts: Sequence[str] = (), fail_on: str = "affected") -> None:
        fold = self._advisories = AdvisoryAudit()
        super().__init__(fold, "advisory", format_advisories, settings)
        self.verdicts = verdicts
        self.fail_on = fail_on
        self._counts: Counter[str] = Counter()
        self._failing = False
        self.keys = ("command",)

    def make_empty_copy(self) -> AdvisoryRenderer:
        """A renderer like this one that has seen nothing."""
        return AdvisoryRenderer(self._settings, self.verdicts, self.fail_on)

    def _make_finding_rows(self) -> list[Row]:
        rows = super()._make_finding_rows()
        self._failing = any(map(self.makes_command_fail, rows))
        worst: dict[tuple[str | None, ...], str] = {}
        for row in rows:
            before = worst.get(_key_of_client_or_broker(row), "not_affected")
            worst[_key_of_client_or_broker(row)] = min(before, row["verdict"], key=ADVISORY_VERDICTS.index)
        self._counts = Counter(worst.values())
        return [row for row in rows if not self.verdicts or row["verdict"] in self.verdicts]

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn the versions that brokers offer, also from exchanges that the filters leave out."""
        for row in rows:
            if isinstance(row, Exchange):
                self._advisories.learn(row)

    def makes_command_fail(self, row: Row) -> bool:
        """Whether a row ends with exit code 4: a finding; with --fail-on unknown also what may be one."""
        if self.fail_on == "never":
            return False
        return is_finding_row(row) or (self.fail_on == "unknown" and row["verdict"] in ("maybe", "unknown"))

    def exit_code_after_check(self, code: Exit) -> Exit:
        """The run's exit code `code`, or Exit.FINDINGS where a row fails."""
        return Exit.FINDINGS if self._failing and code in (Exit.DONE, Exit.LOSSY) else code

    def summary_line(self) -> str:
        """The summary: `advisories: 2 affected, 3 maybe, 1 unknown, 4 not affected`, of clients and brokers."""
        parts = [f"{self._counts[each]:,} {each.replace('_', ' ')}" for each in ADVISORY_VERDICTS if self._counts[each]]
        return f"advisories: {', '.join(parts) or 'nobody seen'}{self.ignore.format_ignored_count()}"


def _key_of_client_or_broker(row: Row) -> tuple[str | None, ...]:
    """What tells one client or broker from another."""
    software = row["client_software"] or {"name": None, "version": None}
    return row["broker"], row["client_id"], software["name"], software["version"]


def format_advisories(rows: Sequence[Row], settings: Settings) -> str:
    """A paragraph for each client and broker with an advisory, then a line for those of whom nothing is known.

    Clients with the same software, topics and rows are one paragraph, and so are brokers; whoever showed more than a
    version has one alone. With -v each advisory has its reason and its address.
    """
    by_subject: dict[tuple[str | None, ...], list[Row]] = {}
    for row in rows:
        by_subject.setdefault(_key_of_client_or_broker(row), []).append(row)
    alike: dict[tuple[object, ...], list[list[Row]]] = {}
    for subject, its in by_subject.items():
        said = tuple((row["id"], row["verdict"], row["seen"], row["release"], row["why"]) for row in its)
        key = its[0]["broker"] is None, *subject[2:], *its[0]["topics"], said
        alike.setdefault(subject if any(row["findings"] for row in its) else key, []).append(its)
    lines: list[str] = []
    rest: dict[tuple[str, str], list[str]] = {}
    for some in alike.values():
        if any(row["id"] for row in some[0]):
            lines += _format_subjects_with_same_verdicts(some, settings)
        else:
            row = some[0][0]
            rest.setdefault((row["verdict"], row["why"]), []).extend(
                _format_broker_or_client_id(each[0]) for each in some
            )
    for (verdict, why), names in rest.items():
        lines += _wrap_verdict_line(
            f"{_join_first_names(names, whole=bool(settings.verbose))}: "
            f"{verdict.replace('_', ' ')}: {escape_text(why)}",
            settings,
            verdict,
        )
    return "".join(f"{line}\n" for line in lines)


def _format_broker_or_client_id(row: Row) -> str:
    return escape_text(row["broker"] or row["client_id"])


def _join_first_names(names: Sequence[str], *, whole: bool = False) -> str:
    """Names for people: `a, b, c and 4 more`, or all of them (`whole`)."""
    shown = [*dict.fromkeys(names)]
    most = len(shown) if whole else _NAMED
    more = f" and {len(shown) - most:,} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def _format_subjects_with_same_verdicts(some: Sequence[list[Row]], settings: Settings) -> list[str]:
    """The lines of subjects with the same rows: who they are, then each verdict."""
    rows = some[0]
    row = rows[0]
    worst = min((each["verdict"] for each in rows), key=ADVISORY_VERDICTS.index)
    about = format_software(row) if row["broker"] is None else f"Kafka {row['release']}" if row["release"] else ""
    head = [
        _join_first_names([_format_broker_or_client_id(each[0]) for each in some], whole=bool(settings.verbose)),
        escape_text(about),
    ]
    if row["topics"]:
        head.append(f"writes {_join_first_names([*map(escape_text, row['topics'])])}")
    lines = _wrap_verdict_line(
        "  ".join(filter(None, head)), settings, "affected" if any(map(is_finding_row, rows)) else worst
    )
    for each in rows:
        if each["id"] is not None and (settings.verbose or each["verdict"] == "affected" or each["seen"]):
            lines += _format_advisory(each, settings)
    brief = [each["id"] for each in rows if each["id"] and each["verdict"] != "affected" and not each["seen"]]
    if brief and not settings.verbose:
        lines += _indent_lines(f"maybe {', '.join(brief)}; -v explains each", settings, dim=True)
    for each in rows:
        if each["id"] is None:
            lines += _indent_lines(
                f"else {each['verdict'].replace('_', ' ')}: {escape_text(each['why'])}", settings, dim=True
            )
    return lines


def _format_advisory(row: Row, settings: Settings) -> list[str]:
    """The lines of one advisory: verdict, effect, releases that are mended, what was seen; with -v also why."""
    fixed = f"; fixed in {', '.join(row['fixed'])}" if row["fixed"] else ""
    seen = f", {row['seen']} seen" if row["seen"] else ""
    lines = _indent_lines(f"{row['verdict'].replace('_', ' ')}{seen}: {row['id']}: {row['effect']}{fixed}", settings)
    for each in row["findings"]:
        lines += _indent_lines(f"seen: {escape_text(each['title'])}", settings)
    if settings.verbose:
        lines += _indent_lines(f"why: {escape_text(row['why'])}", settings, dim=True)
    if "command" in row:
        lines += [f"{_MARGIN}see: {row['command']}"]
    return lines + (
        _indent_lines(f"see: {row['url']}, since {row['since']}", settings, dim=True) if settings.verbose else []
    )


def _wrap_verdict_line(text: str, settings: Settings, verdict: str) -> list[str]:
    """A line that begins with the sign of a verdict, and the lines that it goes on in."""
    colors = palette(settings.color)
    paint = colors.bad if verdict == "affected" else colors.name
    first, *others = _wrap_verdict_text(text, settings)
    return [f"{paint}{SIGNS[verdict]}{colors.off}  {first}", *(_MARGIN + each for each in others)]


def _indent_lines(text: str, settings: Settings, *, dim: bool = False) -> list[str]:
    colors = palette(settings.color)
    paint, off = (colors.dim, colors.off) if dim else ("", "")
    return [f"{_MARGIN}{paint}{each}{off}" for each in _wrap_verdict_text(text, settings)]


def _wrap_verdict_text(text: str, settings: Settings) -> list[str]:
    if not settings.width:
        return [text]
    width = max(settings.width, _WIDTH_LEAST) - len(_MARGIN)
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
