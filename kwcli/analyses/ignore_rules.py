"""A list of findings to ignore in (`--ignore FILE`); the findings left out, and what is said of the list's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.advisories.advisory_audit import ADVISORY_VERDICTS
from decoders.analysis.client_compatibility import VERDICTS
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.security import SECURITY_FINDINGS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.advisories import ADVISORIES
from decoders.wire.near_words import did_you_mean
from decoders.wire.parse_units import DAY_NS, parse_time
from kwcli.calling.read_bodies import parse_yaml
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["ADVISORY_IDS", "IgnoreRules", "read_ignore_rules"]

_NEEDED: Final = ("id", "reason", "until")
_KEYS: Final = ("id", "client_id", "topic", "reason", "until")
# The ids of the rows of `kw audit --advisories`; the verdict, where no advisory is meant.
ADVISORY_IDS: Final = (*(each.id for each in ADVISORIES), *ADVISORY_VERDICTS[:3])
# The ids that rows may have; a verdict of `kw audit` is the id of its rows.
_IDS: Final = (*FINDINGS, *SECURITY_FINDINGS, *VERDICTS[:2], *ADVISORY_IDS)
# Key of a rule → the keys of a finding with the one or the many that it is about.
_SUBJECTS: Final = {"client_id": "clients", "topic": "topics"}


class _Rule(NamedTuple):
    """One row: `where` is its file and line; `until_ns`: when it expires."""

    where: str
    id: str
    subjects: dict[str, str]
    until: str
    until_ns: int

    def fits(self, row: Row) -> bool:
        """Whether it is about this finding, and about all clients and topics that the finding names."""
        if self.id not in (row.get("id"), row.get("verdict")):
            return False
        for key, glob in self.subjects.items():
            names = [row[key]] if row.get(key) else row.get(_SUBJECTS[key]) or []
            if not names or not all(isinstance(name, str) and fnmatchcase(name, glob) for name in names):
                return False
        return True


class IgnoreRules:
    """The rows of a list; `ignored` counts the findings that were left out."""

    def __init__(self, rules: Sequence[_Rule] = (), now_ns: int = 0) -> None:
        self._rules = [rule for rule in rules if rule.until_ns > now_ns]
        self._expired = [rule for rule in rules if rule.until_ns <= now_ns]
        self._fitting: Counter[int] = Counter()
        self.ignored = 0
        self.verdicts: Counter[str] = Counter()  # of the rows of kw audit that were left out

    def __bool__(self) -> bool:
        return bool(self._rules)

    def choose(self, rows: Iterable[Row]) -> list[Row]:
        """The findings that no row fits; the others are counted."""
        kept = []
        for row in rows:
            fitting = [number for number, rule in enumerate(self._rules) if rule.fits(row)]
            self._fitting.update(fitting)
            if not fitting:
                kept.append(row)
                continue
            self.ignored += 1
            self.verdicts[row.get("verdict", "")] += 1
        return kept

    def summary(self) -> str:
        """`, 2 ignored`; empty where nothing was left out."""
        return f", {self.ignored:,} ignored" if self.ignored else ""

    def closing_lines(self, ids: Iterable[str]) -> list[str]:
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


def read_ignore_rules(name: str | None, now_ns: int) -> IgnoreRules:
    """The rules of a file; none without a file. Raises Failure (usage), one line with file and line."""
    if name is None:
        return IgnoreRules()
    try:
        with open(name, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise Failure(f"{name}: {(error.strerror or str(error)).lower()}", Exit.USAGE) from None
    except UnicodeDecodeError:
        raise Failure(f"{name}: no YAML: it is not UTF-8", Exit.USAGE) from None
    try:
        rows = parse_yaml(text) if text.strip() else []
    except ValueError as error:
        raise Failure(f"{name}: no YAML: {error}", Exit.USAGE) from None
    if rows is None:  # comments alone
        rows = []
    if not isinstance(rows, list):
        raise Failure(f"{name}:1: a list of rows is wanted: - {{id: …, reason: …, until: …}}", Exit.USAGE)
    lines = _list_lines_of_rows(text)
    if len(lines) != len(rows):
        raise Failure(f"{name}:1: one YAML document is wanted, not several", Exit.USAGE)
    return IgnoreRules([_read_rule(f"{name}:{line}", row) for line, row in zip(lines, rows, strict=True)], now_ns)


def _list_lines_of_rows(text: str) -> list[int]:
    """The line, from 1, in which each row of a YAML list begins."""
    import yaml

    found: list[int] = []
    depth = 0
    for event in yaml.parse(text):
        if isinstance(event, yaml.DocumentEndEvent):
            return found
        begins = isinstance(event, yaml.CollectionStartEvent)
        if depth == 1 and (begins or isinstance(event, yaml.ScalarEvent)):
            assert event.start_mark is not None
            found.append(event.start_mark.line + 1)
        depth += begins - isinstance(event, yaml.CollectionEndEvent)
    return found


def _read_rule(where: str, row: Any) -> _Rule:
    def refuse(text: str) -> Failure:
        return Failure(f"{where}: {text}", Exit.USAGE)

    if not isinstance(row, dict):
        raise refuse(f"{row!r} is no row of {', '.join(_KEYS)}")
    for key, value in row.items():
        if key not in _KEYS:
            raise refuse(f"no row has the key {key!r}{did_you_mean(key, _KEYS)}")
        if not isinstance(value, str) or not value.strip():
            raise refuse(f"{key} is no text: {value!r}")
    if missing := [key for key in _NEEDED if key not in row]:
        raise refuse(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if row["id"] not in _IDS:
        raise refuse(f"no finding has the id {row['id']!r}{did_you_mean(row['id'], _IDS)}; kw help doctor lists them")
    try:
        until_ns = _read_end(row["until"])
    except ValueError:
        raise refuse(f"until: {row['until']!r} is no date: write 2026-12-31 or 2026-12-31T18:00:00Z") from None
    subjects = {key: row[key] for key in _SUBJECTS if key in row}
    return _Rule(where, row["id"], subjects, row["until"], until_ns)


def _read_end(text: str) -> int:
    """When a rule expires, in ns: at the end of a date (UTC), or at a time. Raises ValueError."""
    return parse_time(text) + (DAY_NS if len(text) == len("2026-12-31") else 0)
