"""A file with a list of findings to ignore in (`--ignore FILE`), its rules out."""

from __future__ import annotations

from typing import Any, Final

from decoders.analysis.advisories.advisory_audit import ADVISORY_VERDICTS
from decoders.analysis.client_compatibility import VERDICTS
from decoders.analysis.doctor.finding_kinds import FINDINGS
from decoders.analysis.security_audit import SECURITY_FINDINGS
from decoders.protocol_facts.advisories import ADVISORIES
from decoders.wire.parse_units import DAY_NS, parse_time
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.analyses.finding_ignore_rules import SUBJECTS, IgnoreRule, IgnoreRules
from kwcli.calling.read_bodies import parse_yaml
from kwcli.run_environment import Exit, Failure

__all__ = ["ADVISORY_IDS", "read_ignore_rules"]

_NEEDED: Final = ("id", "reason", "until")
_KEYS: Final = ("id", "client_id", "topic", "reason", "until")
# The ids of the rows of `kw audit --advisories`; the verdict, where no advisory is meant.
ADVISORY_IDS: Final = (*(each.id for each in ADVISORIES), *ADVISORY_VERDICTS[:3])
# The ids that rows may have; a verdict of `kw audit` is the id of its rows.
_IDS: Final = (*FINDINGS, *SECURITY_FINDINGS, *VERDICTS[:2], *ADVISORY_IDS)


def read_ignore_rules(name: str, now_ns: int) -> IgnoreRules:
    """The rules of a file. Raises Failure (usage), one line with file and line."""
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
    lines = _list_line_numbers_of_rows(text)
    if len(lines) != len(rows):
        raise Failure(f"{name}:1: one YAML document is wanted, not several", Exit.USAGE)
    return IgnoreRules(
        [_parse_ignore_rule(f"{name}:{line}", row) for line, row in zip(lines, rows, strict=True)], now_ns
    )


def _list_line_numbers_of_rows(text: str) -> list[int]:
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


def _parse_ignore_rule(where: str, row: Any) -> IgnoreRule:
    def make_failure(text: str) -> Failure:
        return Failure(f"{where}: {text}", Exit.USAGE)

    if not isinstance(row, dict):
        raise make_failure(f"{row!r} is no row of {', '.join(_KEYS)}")
    for key, value in row.items():
        if key not in _KEYS:
            raise make_failure(f"no row has the key {key!r}{did_you_mean(key, _KEYS)}")
        if not isinstance(value, str) or not value.strip():
            raise make_failure(f"{key} is no text: {value!r}")
    if missing := [key for key in _NEEDED if key not in row]:
        raise make_failure(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if row["id"] not in _IDS:
        raise make_failure(
            f"no finding has the id {row['id']!r}{did_you_mean(row['id'], _IDS)}; kw help doctor lists them"
        )
    try:
        until_ns = _parse_expiry_ns(row["until"])
    except ValueError:
        raise make_failure(f"until: {row['until']!r} is no date: write 2026-12-31 or 2026-12-31T18:00:00Z") from None
    subjects = {key: row[key] for key in SUBJECTS if key in row}
    return IgnoreRule(where, row["id"], subjects, row["until"], until_ns)


def _parse_expiry_ns(text: str) -> int:
    """When a rule expires, in ns: at the end of a date (UTC), or at a time. Raises ValueError."""
    return parse_time(text) + (DAY_NS if len(text) == len("2026-12-31") else 0)
