"""Parts of the page of a report, each made of rows: the matrix of versions, the ladder of a connection, its notes."""

from __future__ import annotations

from typing import Any

import pytest

from kwcli.report.report_as_html_page import _build_ladder_data
from kwcli.report.version_matrix_as_html import _split_api_name, format_version_matrix
from kwcli.stats.statistics_as_text import wrap_note


@pytest.mark.parametrize(
    ("name", "parts"),
    [("", []), ("Fetch", ["Fetch"]), ("ListOffsets", ["List", "Offsets"]), ("DescribeACLs", ["Describe", "ACLs"])],
)
def test_a_line_ends_between_the_words_of_a_name(name: str, parts: list[str]) -> None:
    assert _split_api_name(name) == parts


def client(name: str | None, **apis: list[int]) -> dict[str, Any]:
    return {"client_id": name, "client_software": {"name": "lib", "version": "1"}, "addresses": ["h:1"], "apis": apis}


def write_matrix(clients: list[dict[str, Any]] | None, audit: dict[str, Any] | None = None) -> str:
    report: Any = {"clients": clients, "audit": audit}
    return "".join(format_version_matrix(report))


def test_the_matrix_has_a_row_for_each_client() -> None:
    page = write_matrix([client("a<b", Fetch=[4, 5, 6], ListOffsets=[1]), client(None, Fetch=[12]), {"others": 3}])
    assert '<th scope="col">Fetch</th><th scope="col">List<wbr>Offsets</th>' in page
    assert ">a&lt;b<br>" in page
    assert "<td>4-6</td><td>1</td></tr>" in page
    assert "<td>12</td><td></td></tr>" in page
    assert page.count("<tr>") == 3
    assert "The first" not in page
    assert "In red" not in page
    assert write_matrix(None) == write_matrix([]) == write_matrix([{"others": 3}]) == ""


def test_the_matrix_shows_what_the_target_turns_away() -> None:
    software = {"name": "lib", "version": "1"}
    audited = {"client_id": "a", "client_software": software, "verdict": "breaks", "apis": [{"api": "Fetch"}]}
    audit = {"target": "4.0", "clients": [audited, {**audited, "client_id": "b", "verdict": "works"}]}
    page = write_matrix([client("a", Fetch=[3], Produce=[9]), client("b", Fetch=[3])], audit)
    assert page.count('<td class="old">3</td>') == 1
    assert '<td class="old">3</td><td>9</td></tr>' in page
    assert "In red: what Kafka 4.0 turns away." in page


@pytest.mark.parametrize(("count", "note"), [(60, ""), (61, "The first 60 of 61 clients: -o json has all.")])
def test_the_matrix_has_the_first_clients(count: int, note: str) -> None:
    page = write_matrix([client(f"c{number}", Fetch=[4]) for number in range(count)])
    assert page.count("<tr>") == 61
    assert note in page
    assert ("The first" in page) == bool(note)


def step(status: str = "complete", *, errors: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "time": "2026-11-21T03:04:05.123456Z",
        "api": "Fetch",
        "api_version": 4,
        "about": [],
        "request_size": None,
        "response_size": None,
        "latency_ms": None,
        "status": status,
        "errors": list(errors),
    }


@pytest.mark.parametrize(
    ("statuses", "count", "failed", "notes", "more"),
    [
        (["complete", "unanswered"], 2, 1, ["", ""], ""),
        (["complete", "unanswered"], 3, 1, ["", "… 1 more exchange went well …"], ""),
        (["complete", "unanswered"], 1002, 1, ["", "… 1,000 more exchanges went well …"], ""),
        (["complete", "unanswered"], 5, 2, ["", "… 2 more exchanges went well …"], "… 1 more failed …"),
        (["complete"], 2, 0, [""], "… 1 more exchange went well …"),
        (["unanswered"], 2, 1, ["… 1 more exchange went well …"], ""),
        (["undecoded", "orphan_response"], 1002, 1002, ["", ""], "… 1,000 more failed …"),
        (["complete"], 3, 1, [""], "… 1 more exchange went well … … 1 more failed …"),
    ],
)
def test_a_ladder_says_what_it_leaves_out(
    statuses: list[str], count: int, failed: int, notes: list[str], more: str
) -> None:
    row = {"client": "c:1", "broker": "b:2", "count": count, "failed": failed, "steps": list(map(step, statuses))}
    made = _build_ladder_data(row)
    assert [each[4] for each in made["steps"]] == notes
    assert [each[0] for each in made["steps"]] == ["03:04:05.123"] * len(statuses)
    assert (made["client"], made["broker"], made["more"]) == ("c:1", "b:2", more)


def test_a_step_is_well_failed_or_unanswered() -> None:
    steps = [step(), step(errors=("X",)), step("undecoded"), step("orphan_response"), step("unanswered"), step("token")]
    made = _build_ladder_data({"client": "c", "broker": "b", "count": 6, "failed": 4, "steps": steps})
    assert [each[3] for each in made["steps"]] == [0, 1, 1, 1, 2, 0]


@pytest.mark.parametrize(
    ("note", "width", "lines"),
    [
        ("one two three", None, ["one two three"]),
        ("one two three", 13, ["one two three"]),
        ("one two three", 12, ["one two", "three"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 6, ["one", "two", "three"]),
        ("longest", 3, ["longest"]),
        ("a longest b", 3, ["a", "longest", "b"]),
    ],
)
def test_a_note_is_wrapped_at_blanks(note: str, width: int | None, lines: list[str]) -> None:
    assert wrap_note(note, width) == lines
