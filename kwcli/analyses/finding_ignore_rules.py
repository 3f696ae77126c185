"""Findings in, those that no row of a list (`--ignore FILE`) is about out, and what is said of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["SUBJECTS", "IgnoreRule", "IgnoreRules"]

# Key of a rule → the keys of a finding with the one or the many that it is about.
SUBJECTS: Final = {"client_id": "clients", "topic": "topics"}


class IgnoreRule(NamedTuple):
    """One row: `where` is its file and line; `until_ns`: when it expires."""

    where: str
    id: str
    subjects: dict[str, str]
    until: str
    until_ns: int

    def matches_finding(self, row: Row) -> bool:
        """Whether it is about this finding, and about all clients and topics that the finding names."""
        if self.id not in (row.get("id"), row.get("verdict")):
            return False
        for key, glob in self.subjects.items():
            names = [row[key]] if row.get(key) else row.get(SUBJECTS[key]) or []
            if not names or not all(isinstance(name, str) and fnmatchcase(name, glob) for name in names):
                return False
        return True


class IgnoreRules:
    """The rows of a list; `ignored` counts the findings that were left out."""

    def __init__(self, rules: Sequence[IgnoreRule] = (), now_ns: int = 0) -> None:
        self._rules = [rule for rule in rules if rule.until_ns > now_ns]
        self._expired = [rule for rule in rules if rule.until_ns <= now_ns]
        self._fitting: Counter[int] = Counter()
        self.ignored = 0
        self.verdicts: Counter[str] = Counter()  # of the rows of kw audit that were left out

    def __bool__(self) -> bool:
        return bool(self._rules)

    def drop_ignored_findings(self, rows: Iterable[Row]) -> list[Row]:
        """The findings that no row fits; the others are counted."""
        kept = []
        for row in rows:
            fitting = [number for number, rule in enumerate(self._rules) if rule.matches_finding(row)]
            self._fitting.update(fitting)
            if not fitting:
                kept.append(row)
                continue
            self.ignored += 1
            self.verdicts[row.get("verdict", "")] += 1
        return kept

    def format_ignored_count(self) -> str:
        """`, 2 ignored`; empty where nothing was left out."""
        return f", {self.ignored:,} ignored" if self.ignored else ""

    def list_expired_and_unused_rules(self, ids: Iterable[str]) -> list[str]:
        """What is to be said of rows with these ids: those that have expired, and those that fit nothing."""
        known = {*ids}
        return [
            *(
                f"{rule.where}: {rule.id} is no longer ignored: expired on {rule.until}"
                for rule in self._expired
                if rule.id in known
            ),
            *(
                f"{rule.where}: {rule.id} fits nothing that was found"
                for number, rule in enumerate(self._rules)
                if not self._fitting[number] and rule.id in known
            ),
        ]
