"""`--ignore FILE`: which findings a list leaves out, what is said of its rows, what is wrong with a list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw

TOUR = str(FOLDER / "tour.pcapng")
KNOWN = "reason: known, until: 2200-01-01"


def run_with(tmp_path: Path, text: str, *words: str) -> tuple[int, list[str], list[str]]:
    """Exit code, ids (verdicts) of the rows, lines of diagnostics about the list."""
    path = tmp_path / "known.yaml"
    path.write_text(text)
    ran = kw(*words, TOUR, "--ignore", str(path), "-o", "ndjson")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    lines = [line for line in ran.err.splitlines() if str(path) in line]
    return (
        ran.code,
        [row.get("id", row.get("verdict")) for row in rows],
        [line.replace(str(path), "F") for line in lines],
    )


ALL = ["topic-unknown", "version-refused", "answered-with-error", "already-there"]


@pytest.mark.parametrize(
    ("text", "left", "said", "code"),
    [
        ("", ALL, [], 4),
        ("# nothing yet\n", ALL, [], 4),
        ("[]", ALL, [], 4),
        (f"- {{id: topic-unknown, {KNOWN}}}", ALL[1:], [], 4),
        (f"- {{id: topic-unknown, client_id: checkout-8, topic: order, {KNOWN}}}", ALL[1:], [], 4),
        (
            f"- {{id: topic-unknown, {KNOWN}}}\n- {{id: version-refused, client_id: 'report-*', {KNOWN}}}",
            ALL[2:],
            [],
            0,
        ),
        (
            f"- {{id: topic-unknown, topic: orders, {KNOWN}}}",
            *(ALL, ["kw: F:1: topic-unknown fits nothing that was found"], 4),
        ),
        (
            f"\n- id: version-refused\n  topic: order\n  {KNOWN.replace(', ', chr(10) + '  ')}\n",
            *(ALL, ["kw: F:2: version-refused fits nothing that was found"], 4),
        ),
        (
            "- {id: skew, reason: r, until: 2199-01-01}\n- {id: topic-unknown, reason: r, until: 2026-11-20}",
            *(
                ALL,
                [
                    "kw: F:2: topic-unknown is no longer ignored: expired on 2026-11-20",
                    "kw: F:1: skew fits nothing that was found",
                ],
                4,
            ),
        ),
        (f"- {{id: password-in-clear, {KNOWN}}}\n- {{id: breaks, {KNOWN}}}", ALL, [], 4),
    ],
)
def test_what_a_list_leaves_out_of_findings(
    tmp_path: Path, text: str, left: list[str], said: list[str], code: int
) -> None:
    assert run_with(tmp_path, text, "doctor") == (code, left, said)


def test_a_list_leaves_clients_out_of_an_audit(tmp_path: Path) -> None:
    code, verdicts, said = run_with(tmp_path, f"- {{id: breaks, client_id: report-1, {KNOWN}}}", "audit")
    assert (code, {*verdicts}, said) == (0, {"works"}, [])
    code, verdicts, said = run_with(tmp_path, f"- {{id: breaks, client_id: report-2, {KNOWN}}}", "audit")
    assert (code, verdicts.count("breaks"), said) == (4, 1, ["kw: F:1: breaks fits nothing that was found"])


def test_a_list_leaves_findings_out_of_an_audit_of_security(tmp_path: Path) -> None:
    _, before, _ = run_with(tmp_path, "", "audit", "--security")
    _, after, said = run_with(tmp_path, f"- {{id: {before[0]}, {KNOWN}}}", "audit", "--security")
    assert (after, said) == ([each for each in before if each != before[0]], [])


def test_the_last_line_counts_what_was_ignored(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(f"- {{id: topic-unknown, {KNOWN}}}")
    assert kw("doctor", TOUR, "--ignore", str(path)).err.splitlines()[-1] == "kw: 1 error, 2 notes, 1 ignored"
    assert "ignored" not in kw("doctor", TOUR, "--ignore", str(path), "-q").err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("id: skew", "F:1: a list of rows is wanted: - {id: …, reason: …, until: …}"),
        ("- skew", "F:1: 'skew' is no row of id, client_id, topic, reason, until"),
        ("- {id: skew", "F: no YAML: did not find expected ',' or '}' at line 2, column 1"),
        ("- {id: skew}\n", "F:1: reason and until are missing"),
        (
            f"- {{id: skew, {KNOWN}}}\n\n- {{id: topic-unknwon, {KNOWN}}}",
            "F:3: no finding has the id 'topic-unknwon' (did you mean \"topic-unknown\"?); kw help doctor lists them",
        ),
        (f"- {{id: skew, client: a, {KNOWN}}}", "F:1: no row has the key 'client' (did you mean \"client_id\"?)"),
        (f"- {{id: skew, topic: [a], {KNOWN}}}", "F:1: topic is no text: ['a']"),
        (
            "- {id: skew, reason: r, until: soon}",
            "F:1: until: 'soon' is no date: write 2026-12-31 or 2026-12-31T18:00:00Z",
        ),
        (f"- {{id: skew, {KNOWN}}}\n---\n- {{id: skew, {KNOWN}}}", "F:1: one YAML document is wanted, not several"),
    ],
)
def test_what_is_wrong_with_a_list_is_one_line_with_its_place(tmp_path: Path, text: str, line: str) -> None:
    assert run_with(tmp_path, text, "doctor") == (2, [], [f"kw: {line}"])


def test_a_list_that_is_not_there_is_told(tmp_path: Path) -> None:
    ran = kw("doctor", TOUR, "--ignore", str(tmp_path / "no.yaml"))
    assert (ran.code, ran.err) == (2, f"kw: {tmp_path}/no.yaml: no such file or directory\n")
