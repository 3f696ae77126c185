"""What `kw doctor` does: captures in, findings out, worst first, and exit code 4 where one is bad enough."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.find_problems import ABOUT
from decoders.analysis.doctor.finding_kinds import SEVERITIES
from decoders.analysis.doctor.thresholds import THRESHOLDS, Thresholds
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.analyses.finding_renderer import FindingRenderer
from kwcli.analyses.format_findings import format_finding_counts, format_findings_in_brief
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from kwcli.capture_options import CaptureOptions
    from kwcli.net.config.client_config import ConnectionOptions
    from kwcli.output.output_settings import Settings

__all__ = ["FAIL_ON", "DoctorRenderer", "is_cluster_asked_for", "parse_thresholds"]

# Value of --fail-on → the severities that end with exit code 4.
FAIL_ON: Final[dict[str, tuple[str, ...]]] = {"error": SEVERITIES[:1], "warning": SEVERITIES[:2], "never": ()}


def parse_thresholds(words: Iterable[str]) -> Thresholds:
    """The thresholds that words like `lag.records=5000` set. Raises Failure (usage)."""
    given: dict[str, float] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in THRESHOLDS:
            meant = did_you_mean(name, THRESHOLDS)
            raise Failure(f"--threshold: no threshold {name!r}{meant}; kw help doctor lists them", Exit.USAGE)
        try:
            given[name] = float(value)
        except ValueError:
            what = f"{value!r} is no number" if equals else "the number is missing"
            raise Failure(
                f"--threshold {name}: {what}, as in {name}={THRESHOLDS[name].default:g}", Exit.USAGE
            ) from None
        if not 0 <= given[name] < float("inf"):
            raise Failure(f"--threshold {name}: {value} is below 0 or no number", Exit.USAGE)
    return Thresholds(given)


def is_cluster_asked_for(capture: CaptureOptions, connection: ConnectionOptions) -> bool:
    """Whether the options name a cluster, not captures. Raises Failure or UsageError for both, and for neither."""
    live = _is_cluster_named(connection)
    if live and (capture.files or capture.places):
        text = "-b, a profile and properties examine a cluster, FILE and -i examine traffic: give one of them"
        raise Failure(text, Exit.USAGE)
    if live and (capture.metrics is not None or capture.otlp is not None):
        raise Failure("--metrics and --otlp are for traffic (FILE, -i): leave them out with -b", Exit.USAGE)
    if not (live or capture.files or capture.places):
        text = "give capture files, - for standard input, -i IFACE, or a cluster by -b HOST:PORT"
        raise click.UsageError(text, click.get_current_context())
    if not live:
        capture.check_usage()
    return live


def _is_cluster_named(connection: ConnectionOptions) -> bool:
    """Whether the command line names brokers or controllers: by an option, a property, or a file of properties."""
    if connection.servers or connection.controllers or connection.profile or connection.config_files:
        return True
    if not connection.properties:
        return False
    from kwcli.net.config.client_properties import BY_NAME

    meanings = {BY_NAME[name].meaning for name, _ in connection.properties if name in BY_NAME}
    return not meanings.isdisjoint(("servers", "controllers"))


class DoctorRenderer(FindingRenderer):
    """The doctor's findings; in text, a note is one line unless more is asked for (`-v`)."""

    def __init__(self, settings: Settings, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self.fail_on = "error"
        fold = self.doctor = Doctor(thresholds, settings.values)
        super().__init__(fold, "finding", format_findings_in_brief, settings)
        self.hear = fold.set_capture_faults
        self.ended = fold.observe_connection_end
        self.keys = sorted({*ABOUT, "cause", "command", "consequences"})

    def make_empty_copy(self) -> DoctorRenderer:
        """A renderer like this one that has seen nothing."""
        return DoctorRenderer(self._settings, self._thresholds)

    def makes_command_fail(self, row: Row) -> bool:
        """Whether a finding is as severe as --fail-on says."""
        return row["severity"] in FAIL_ON[self.fail_on]

    def exit_code_after_check(self, code: Exit) -> Exit:
        """The run's exit code `code`, or Exit.FINDINGS where a finding is as severe as --fail-on says."""
        return (
            Exit.FINDINGS if any(map(self.makes_command_fail, self.found)) and code in (Exit.DONE, Exit.LOSSY) else code
        )

    def summary_line(self) -> str:
        """The summary: `2 errors, 1 warning, 3 notes, 1 ignored`; `nothing found`."""
        return format_finding_counts(self.found) + self.ignore.format_ignored_count()
