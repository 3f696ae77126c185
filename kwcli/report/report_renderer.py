"""Options in, all folds of a report fed in one pass, the report written: what `kw report` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.exchange import Skipped
from decoders.messages.build_body_json import Options
from kwcli.analyses.finding_renderer import add_commands_to_findings
from kwcli.analyses.render_answer import AnswerRenderer
from kwcli.output.short_texts import count_of
from kwcli.private_files import write_private_file
from kwcli.report.build_report import build_report, list_report_sentences
from kwcli.report.exchange_folds import ReportFolds
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Ended, Exchange, Settled
    from kwcli.output.output_settings import Settings
    from kwcli.report.build_report import Report
    from kwcli.run_environment import Environment

__all__ = ["ReportRenderer", "write_report"]

# Format → module of this package, and the function in it.
WRITERS: Final = {
    "text": ("report_as_text", "format_text"),
    "md": ("report_as_markdown", "format_markdown"),
    "ndjson": ("report_as_json", "format_ndjson"),
    "json": ("report_as_json", "format_json"),
}


class ReportRenderer(AnswerRenderer):
    """Feeds all folds; `close` makes the report of them and writes it.

    `target`: the release that clients are held against. `html_path`: where the page goes, in place of standard output.
    `within` says whether an exchange is of the time asked for.
    """

    def __init__(
        self,
        env: Environment,
        settings: Settings,
        target: str,
        html_path: str | None,
        within: Callable[[Exchange], bool],
    ) -> None:
        options = Options(settings.records, settings.reveal_secrets, values=settings.values)
        self.folds = ReportFolds(options, settings.values)
        super().__init__(self.folds, "report", list, lambda _rows, _settings: "", settings)  # close() writes
        self._adds = []  # write() feeds the folds, many exchanges at once
        self.hear = self._add_capture_faults
        self.ended = self._add_connection_end
        self.needs_file_names = True
        self._files: Sequence[str] = ()
        self.set_file_names = self._set_file_names
        self._env = env
        self._target = target
        self._html_path = html_path
        self._within = within
        self.breaking = 0

    def make_empty_copy(self) -> ReportRenderer:
        """A renderer like this one that has seen nothing."""
        return ReportRenderer(self._env, self._settings, self._target, self._html_path, self._within)

    def _set_file_names(self, names: Sequence[str]) -> None:
        self._files = names

    def _add_capture_faults(self, faults: list[str]) -> None:
        if "findings" in self.folds.found:
            self.folds.found["findings"].set_capture_faults(faults)

    def _add_connection_end(self, ended: Ended) -> None:
        if "findings" in self.folds.found:
            self.folds.found["findings"].observe_connection_end(ended)

    def write(self, rows: list[Settled]) -> None:
        """Give exchanges and skipped runs to the folds."""
        self.folds.add_all([row for row in rows if not isinstance(row, Skipped)])
        super().write(rows)
        for row in rows:
            if isinstance(row, Skipped):
                self.folds.skip(row)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Let folds learn from rows, also those that the filters leave out."""
        self.folds.learn(rows, self._within)

    def close(self) -> None:
        """Make the report of the folds, and write it."""
        assert self._write is not None
        report = build_report(self.folds.results()._replace(partial=self.coverage.partial), self._target)
        if self.capture is not None:
            for name in ("findings", "security"):
                add_commands_to_findings(report[name] or (), self.capture, self._files)
        self.breaking = count_breaking_clients(report)
        write_report(self._env, self._settings, report, self._html_path, self._write)


def write_report(
    env: Environment, settings: Settings, report: Report, html_path: str | None, write: Callable[[bytes], Any]
) -> None:
    """Write a report as the settings say, or as a page to a file. Raises Failure."""
    if html_path is not None:
        from kwcli.report.report_as_html_page import format_page

        try:
            write_private_file(html_path, format_page(report).encode("utf-8", "backslashreplace"))
        except OSError as problem:
            raise Failure(f"{html_path}: {(problem.strerror or str(problem)).lower()}") from None
        if not settings.quiet:
            env.report(f"{html_path}: written")
        for sentence in list_report_sentences(report):
            env.report(f"kw: {sentence}")
        return
    module, name = WRITERS[settings.format]
    draw = getattr(import_module(f"kwcli.report.{module}"), name)
    write(draw(report, settings).encode("utf-8", "backslashreplace"))


def count_breaking_clients(report: Report) -> int:
    """How many clients the target turns away."""
    if report["audit"] is None:
        return len((report["old_versions"] or {}).get("old", ()))
    return sum(row["verdict"] == "breaks" for row in report["audit"]["clients"])


def choose_exit_code(env: Environment, code: Exit, breaking: int, release: str, *, quiet: bool) -> Exit:
    """The exit code of a run; FINDINGS in place of DONE or LOSSY, and a line, where clients break on `release`."""
    if not breaking:
        return code
    if not quiet:
        env.report(f"kw: Kafka {release} turns away {count_of(breaking, 'client')}")
    return Exit.FINDINGS if code in (Exit.DONE, Exit.LOSSY) else code
