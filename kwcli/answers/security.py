"""What `kw audit --security` does: captures in, findings about security out, and exit code 4 where one is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.analysis.security import Security
from decoders.exchanges.exchange import Skipped
from kwcli.answers.doctor import FAIL_ON, count_findings, findings_text
from kwcli.answers.view import AnswerRenderer
from kwcli.env import Exit

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.env import Settings

__all__ = ["SecurityRenderer"]


class SecurityRenderer(AnswerRenderer):
    """Findings about security; TLS connections count where no filter is given, for they have nothing to filter by."""

    def __init__(self, settings: Settings) -> None:
        fold = self._security = Security()
        super().__init__(fold, "security", fold.rows, findings_text, settings)

    def write(self, rows: list[Settled]) -> None:
        """Give exchanges and TLS connections to the fold."""
        super().write(rows)
        for row in rows:
            if isinstance(row, Skipped):
                self._security.connect(row)

    def exit_code(self, code: Exit) -> Exit:
        """The exit code of the run as `code`, or the one that says that something is wrong."""
        bad = any(row["severity"] in FAIL_ON["error"] for row in self.found)
        return Exit.FINDINGS if bad and code in (Exit.DONE, Exit.LOSSY) else code

    def line(self) -> str:
        """`2 errors, 1 warning, 3 notes`; `nothing found`."""
        return f"security: {count_findings(self.found)}"
