"""Rows of an answer that judges in, one document for other programs out: SARIF 2.1.0 and JUnit.

SARIF (OASIS, sarif-v2.1.0): one run with a result for each row. A row that fails has kind `fail` and a level (3.27.9,
3.27.10), all others another kind and the level `none`; where a row has evidence, its capture is the location (3.28),
and who it is about is a logical location (3.33). JUnit: one suite with a case for each row; a row that fails has a
`failure`, one that could not be judged is `skipped`. The attributes are those that both of its common schemas know
(Jenkins' and Apache Ant's, whose older copies do not know `skipped`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import orjson

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import escape_text

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row

__all__ = ["CHECK_FORMATS", "RESULTS", "CheckResult"]

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# Where SARIF and JUnit have no place for a time, a row has none.
_NO_TIME: Final = "1970-01-01T00:00:00"
# A result names so many files of the input at most.
_FILES_MAX: Final = 10
_LEVELS: Final = ("error", "warning", "note")


class RuleText(NamedTuple):
    """What a rule is about, whatever its results are: in a few words, in a sentence, and what to do."""

    brief: str = ""
    whole: str = ""
    remedy: str = ""


class CheckResult(NamedTuple):
    """One row as the result of a check.

    `rule`: what was checked; `failed`: whether the run fails for it; `open`: it could not be judged, or only in part;
    `severity`: error, warning, note or none; `subject`: who it is about, and `kind` of it (client, broker, topic …);
    `about`: the rule, where its title is about the row.
    """

    rule: str
    failed: bool
    open: bool
    severity: str
    subject: str
    kind: str
    title: str
    text: str
    url: str = ""
    evidence: Sequence[Mapping[str, Any]] = ()
    last: str | None = None
    properties: Mapping[str, Any] = {}
    about: RuleText = RuleText()


def format_sarif(
    command: str,
    version: str,
    results: Sequence[CheckResult],
    notes: Iterable[str] = (),
    files: Sequence[str] = (),
) -> str:
    """A SARIF log with one run; `notes`: what the run says of its input (3.20.21), `files`: the names of that."""
    rules: dict[str, dict[str, Any]] = {}
    for each in results:
        rule: dict[str, Any] = {"id": each.rule}
        for name, text in zip(("shortDescription", "fullDescription", "help"), each.about, strict=True):
            rule[name] = {"text": text or each.title}
        rules.setdefault(each.rule, rule | ({"helpUri": each.url} if each.url else {}))
    order = {rule: number for number, rule in enumerate(rules)}
    told = [{"level": "note", "message": {"text": escape_text(note)}} for note in notes]
    run = {
        "tool": {
            "driver": {
                "name": f"kw {command}",
                "semanticVersion": version,
                "informationUri": "https://pypi.org/project/kafka-wire/",
                "rules": [*rules.values()],
            }
        },
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": told}],
        "columnKind": "unicodeCodePoints",
        "results": [_make_sarif_result(each, order, files) for each in results],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode() + "\n"


def _make_sarif_result(its: CheckResult, order: Mapping[str, int], names: Sequence[str]) -> dict[str, Any]:
    """One result; where no file has its evidence, its locations are the first files of the input."""
    files = [*dict.fromkeys(each["file"] for each in its.evidence if each.get("file"))] or names[:_FILES_MAX]
    logical = [{"name": its.subject, "fullyQualifiedName": f"{its.kind}/{its.subject}", "kind": "resource"}]
    locations = [
        {"physicalLocation": {"artifactLocation": {"uri": quote(file)}}, "logicalLocations": logical} for file in files
    ]
    fails = its.failed or (not its.open and its.severity in _LEVELS)
    kind = "fail" if fails else "open" if its.open else "pass"
    return {
        "ruleId": its.rule,
        "ruleIndex": order[its.rule],
        "kind": kind,
        "level": its.severity if fails else "none",
        "message": {"text": f"{its.subject}: {its.text}"},
        "locations": locations or [{"logicalLocations": logical}],
        "partialFingerprints": {"kafkaSubject/v1": f"{its.rule}/{its.kind}/{its.subject}"},
        "properties": dict(its.properties),
    }


def format_junit(
    command: str,
    version: str,
    results: Sequence[CheckResult],
    notes: Iterable[str] = (),
    _files: Sequence[str] = (),
) -> str:
    """A JUnit document with one suite, whose cases are the results; `notes` are its output."""
    failed = sum(each.failed for each in results)
    skipped = sum(each.open and not each.failed for each in results)
    last = max((each.last for each in results if each.last), default=None)
    time = _NO_TIME if last is None else last[: len(_NO_TIME)]
    counts = f'tests="{len(results)}" failures="{failed}" errors="0" skipped="{skipped}" time="0"'
    names = f'package="kw" id="0" name="kw {command}" hostname="localhost" timestamp="{time}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", f"  <testsuite {names} {counts}>"]
    # Jenkins' schema has no empty list of properties, Apache Ant's no suite without one.
    lines += [f'    <properties><property name="kw" value={quoteattr(version)}/></properties>']
    for each in results:
        lines += _format_junit_case(command, each)
    lines += [f"    <system-out>{_escape_xml(chr(10).join(notes))}</system-out>", "    <system-err/>"]
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def _format_junit_case(command: str, its: CheckResult) -> list[str]:
    name = quoteattr(escape_text(f"{its.subject}: {its.rule}"))
    head = f'    <testcase classname={quoteattr(f"kw.{command}.{its.kind}")} name={name} time="0"'
    text = escape_text(its.text)
    if its.failed:
        inner = f"<failure type={quoteattr(its.rule)} message={quoteattr(text)}>{_escape_xml(its.title)}</failure>"
    elif its.open:
        inner = f"<skipped>{_escape_xml(its.text)}</skipped>"
    else:
        return [f"{head}/>"]
    return [f"{head}>", f"      {inner}", "    </testcase>"]


def _escape_xml(text: str) -> str:
    """Text for XML, without the characters that XML 1.0 does not have (2.2)."""
    return escape("\n".join(map(escape_text, text.split("\n"))))


# Format → the function that writes a document of results: command, version of kw, results, notes, input files.
CHECK_FORMATS: Final[Mapping[str, Callable[[str, str, Sequence[CheckResult], Iterable[str], Sequence[str]], str]]] = {
    "sarif": format_sarif,
    "junit": format_junit,
}


def make_finding_result(row: Row, *, failed: bool) -> CheckResult:
    """A finding of `kw doctor` or `kw audit --security` as the result of a check."""
    for key in ("client_id", "topic", "group", "transactional_id", "broker", "user", "address"):
        if row.get(key):
            subject, kind = str(row[key]), key.removesuffix("_id")
            break
    else:
        subject, kind = (str(row["clients"][0]), "client") if row.get("clients") else ("the traffic", "capture")
    return CheckResult(
        row["id"],
        failed,
        False,
        row["severity"],
        escape_text(subject),
        kind,
        escape_text(row["title"]),
        escape_text(f"{row['title']}: {row['meaning']}. {row['remedy']}"),
        "",
        row["evidence"],
        row["last"],
        {"severity": row["severity"], "count": row["count"], "first": row["first"], "last": row["last"]},
        RuleText(row["id"].replace("-", " "), escape_text(row["meaning"]), escape_text(row["remedy"])),
    )


def make_audit_result(row: Row, *, failed: bool) -> CheckResult:
    """A row of `kw audit` as the result of a check."""
    is_broker = "broker" in row
    subject = row["broker"] if is_broker else row["client_id"] or f"{row.get('others', 0):,} other clients"
    apis = row["apis"]
    last = max((each["last"] for each in apis if each.get("last")), default=None)
    why = row.get("why") or ", ".join(each["api"] for each in apis)
    verdict = row["verdict"]
    return CheckResult(
        verdict,
        failed,
        verdict == "unknown",
        "error" if verdict == "breaks" else "warning" if verdict == "unknown" else "none",
        escape_text(subject),
        "broker" if is_broker else "client",
        {"breaks": "breaks on the upgrade", "unknown": "too little was seen", "works": "works after the upgrade"}[
            verdict
        ],
        escape_text(f"{verdict}: {why}" if why else verdict),
        "",
        (),
        last,
        {"verdict": verdict, **({"needs": row["needs"]} if row.get("needs") else {})},
        RuleText(remedy="kw help audit says what the verdicts mean"),
    )


def make_advisory_result(row: Row, *, failed: bool) -> CheckResult:
    """A row of `kw audit --advisories` as the result of a check."""
    verdict, seen = row["verdict"], row["seen"]
    text = f"{verdict.replace('_', ' ')}{f', {seen} seen' if seen else ''}: {row['effect'] or ''} ({row['why']})"
    if row["id"] is None:
        text = f"{verdict.replace('_', ' ')}: {row['why']}"
    fixed = f"; fixed in {', '.join(row['fixed'])}" if row["fixed"] else ""
    return CheckResult(
        row["id"] or f"advisories-{verdict.replace('_', '-')}",
        failed,
        verdict in ("maybe", "unknown"),
        "none" if verdict == "not_affected" and seen is None else "error" if failed else "warning",
        escape_text(row["broker"] or row["client_id"]),
        "client" if row["broker"] is None else "broker",
        escape_text(row["effect"] or verdict.replace("_", " ")),
        escape_text(text + fixed),
        row["url"] or "",
        row["evidence"],
        row["last"],
        {"verdict": verdict, "seen": seen},
        RuleText(remedy=f"{fixed.removeprefix('; ')}: {row['url']}" if fixed else row["url"] or "kw help advisories"),
    )


# Kind of row → the function that makes a result of it.
RESULTS: Final[Mapping[str, Callable[..., CheckResult]]] = {
    "finding": make_finding_result,
    "security": make_finding_result,
    "audit": make_audit_result,
    "audit_broker": make_audit_result,
    "advisory": make_advisory_result,
}
