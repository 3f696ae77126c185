"""Folds in, a report out: text, Markdown, JSON, or one page of HTML that needs nothing else."""

from __future__ import annotations

from typing import Final

from decoders.named_tuple import NamedTuple

__all__ = ["NO_PAGE", "PageFile"]


class PageFile(NamedTuple):
    """The options --html and --force: where the page goes, and whether in place of any file."""

    html_path: str | None = None
    force: bool = False

    def refuse_foreign_file(self) -> None:
        """Raise Failure (usage) where a file that is no page of kw would be replaced."""
        if self.html_path is not None:
            from kwcli.check_overwriting import is_report_page, refuse_overwriting

            refuse_overwriting(self.html_path, is_report_page, "kw report", force=self.force)


NO_PAGE: Final = PageFile()
