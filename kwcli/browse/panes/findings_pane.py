"""Findings of the doctor in, their paragraphs out; each names the exchanges that show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from kwcli.browse.actions import make_bindings_of_places
from kwcli.browse.background_processes.search_messages import CausesFound
from kwcli.browse.panes.line_pane import LinePane
from kwcli.browse.panes.styled_lines import make_strip

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings

__all__ = ["FindingsPane", "describe_evidence_of_filter", "make_evidence_filter"]


def make_evidence_filter(row: dict[str, Any]) -> str:
    """The filter for the exchanges that show a finding; empty where it names none."""
    parts: dict[str, None] = {}
    for each in row.get("evidence") or ():
        number = each.get("correlation_id")
        connection = f"connection == {each['connection']}"
        parts[connection if number is None else f"({connection} and correlation_id == {number})"] = None
    return " or ".join(parts)


def describe_evidence_of_filter(row: dict[str, Any]) -> str:
    """How many of the times that a finding counts its evidence shows."""
    shown, count = len(row.get("evidence") or ()), row["count"]
    return "all that show it" if shown >= count else f"{shown} examples of {count:,}"


class FindingsPane(LinePane):
    """The causes, worst first, with what they brought below them."""

    place = "findings"
    BINDINGS: ClassVar[list[BindingType]] = [*make_bindings_of_places(place)]

    class EvidenceWanted(Message):
        """The exchanges that show a finding are to be listed; `said` is what they are of it."""

        def __init__(self, text: str, said: str) -> None:
            super().__init__()
            self.text, self.said = text, said

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self.settings = settings
        self.found: CausesFound | None = None
        self._lines: list[tuple[str, int]] = []  # the line, and the finding that it belongs to
        self._causes: list[dict[str, Any]] = []
        self.to_ascii: Callable[[str], str] = str

    @property
    def awaited(self) -> str:
        """That findings are looked for, until there are some."""
        return "looking for findings" if self.found is None else ""

    def show_findings(self, found: CausesFound) -> None:
        """Show the findings on what was read so far."""
        self.found = found
        self._update_lines()
        self.redraw_lines()

    def _update_lines(self) -> None:
        from kwcli.analyses.format_findings import format_findings  # not loaded before somebody asks

        self._causes = [] if self.found is None else [row for row in self.found.rows if "cause" not in row]
        settings = self.settings._replace(width=max(self.size.width - 1, 20), verbose=0)
        self._lines = [
            (line, number)
            for number, row in enumerate(self._causes)
            for line in [*format_findings([row], settings).splitlines(), ""]
        ]

    def on_resize(self) -> None:
        """Break the lines anew."""
        self._update_lines()
        super().on_resize()

    def make_titles(self) -> Strip:
        """The line above the findings."""
        from kwcli.analyses.format_findings import format_finding_counts

        said = f"findings: {'looking' if self.found is None else format_finding_counts(self.found.rows)}"
        return Strip([Segment(said, Style(dim=True))])

    def count_lines(self) -> int:
        """The lines of all findings; one where there is none."""
        return len(self._lines) or 1

    def make_line(self, at: int) -> Strip:
        """A line of a finding."""
        if not self._lines:
            return Strip(
                [Segment("looking for findings …" if self.found is None else "nothing found", Style(dim=True))]
            )
        return make_strip(self.to_ascii(self._lines[at][0]))

    def open_line(self) -> None:
        """List the exchanges that show the finding at the cursor."""
        if self.cursor < len(self._lines):
            row = self._causes[self._lines[self.cursor][1]]
            self.post_message(self.EvidenceWanted(make_evidence_filter(row), describe_evidence_of_filter(row)))
        else:
            self.post_notice(self.awaited or "there is no finding")

    def _go_to_finding(self, step: int) -> None:
        here = self._lines[self.cursor][1] if self._lines else 0
        at = next((at for at, (_, number) in enumerate(self._lines) if number == here + step), None)
        if at is None:
            self.post_notice("no further finding" if step > 0 else "no earlier finding")
        else:
            self.move_to(at)

    def action_show_evidence(self) -> None:
        self.open_line()

    def action_next_finding(self) -> None:
        self._go_to_finding(1)

    def action_earlier_finding(self) -> None:
        self._go_to_finding(-1)
