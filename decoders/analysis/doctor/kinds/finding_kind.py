"""One kind of finding: a row of the tables."""

from __future__ import annotations

from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = ["ERROR", "NOTE", "SEVERITIES", "WARNING", "FindingKind", "Severity"]

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
ERROR: Final = "error"
WARNING: Final = "warning"
NOTE: Final = "note"


class FindingKind(NamedTuple):
    """How bad a finding of a kind is, its title, what it means and what to do; see finding_kinds.py.

    `followed` is what it means and what to do where it is a consequence of another finding, if that is something else.
    """

    severity: Severity
    title: str
    meaning: str = ""
    remedy: str = ""
    went_on: Severity = "note"
    followed: tuple[str, str] | None = None
