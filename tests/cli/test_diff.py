"""`kw diff` on files: formats, exit codes, what is refused, the same by records and by several processes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from tests.analysis.test_differences import Traffic
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.tls.wrapping import pcapng_of

TOUR, FIRST = str(FOLDER / "tour.pcapng"), str(FOLDER / "first-steps.pcapng")
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((FOLDER.parent / "decoders" / "messages" / "diff.schema.json").read_bytes())
)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Steady traffic, and the same with slow answers to larger requests and without a client."""
    folder = tmp_path_factory.mktemp("diff")
    made = []
    for name, traffic in (("before", Traffic()), ("after", Traffic(seed=2, took=0.03, without="audit", records=40))):
        path = folder / f"{name}.pcapng"
        path.write_bytes(pcapng_of(traffic.scene().segments()))
        made.append(str(path))
    return made[0], made[1]


def test_differences_are_rows_of_the_schema(sides: tuple[str, str]) -> None:
    ran = kw("diff", *sides)
    rows = [json.loads(line) for line in ran.out.splitlines()]
    for row in rows:
        SCHEMA.validate(row)
    assert ran.code == 0
    changes = [row["change"] for row in rows]
    assert changes[0] == "gone-client"
    assert {"slower", "larger"} <= {*changes}
    assert ran.err.splitlines()[-1].startswith(f"kw: {len(rows)} differences")


@pytest.mark.parametrize(
    ("words", "code"), [((), 0), (("slower",), 4), (("new-error",), 0), (("any",), 4), (("new-error,larger",), 4)]
)
def test_fail_on_names_kinds_of_differences(sides: tuple[str, str], words: tuple[str, ...], code: int) -> None:
    assert kw("diff", *sides, *(word for each in words for word in ("--fail-on", each))).code == code


def test_text_markdown_and_page_name_the_same(sides: tuple[str, str]) -> None:
    rows = [json.loads(line) for line in kw("diff", *sides).out.splitlines()]
    text, page, table = (kw("diff", *sides, "-o", output).out for output in ("text", "html", "md"))
    assert text.splitlines()[1].startswith("-  gone-client  audit")
    assert len(text.splitlines()) == len(rows) + 1
    assert page.count("<tr>") == len(rows) + 1
    assert "<script" not in page
    assert len(table.splitlines()) == len(rows) + 2


def test_a_capture_differs_from_itself_in_nothing() -> None:
    for words in ((), ("--jobs", "2"), ("-v",)):
        ran = kw("diff", TOUR, TOUR, "--fail-on", "any", *words)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err.splitlines()[-1] == "kw: no difference"


def test_what_is_rare_is_shown_when_asked_for() -> None:
    brief, whole = kw("diff", TOUR, FIRST), kw("diff", TOUR, FIRST, "-v")
    assert len(whole.out.splitlines()) > len(brief.out.splitlines())
    assert "too rare to tell from chance (-v)" in brief.err
    assert kw("diff", TOUR, FIRST, "--fail-on", "gone-error").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((TOUR,), "kw diff compares two inputs, before and after: kw diff A B (1 input given)"),
        ((TOUR, TOUR, TOUR), "(3 inputs given)"),
        ((TOUR, TOUR, "--fail-on", "slow"), "no difference is 'slow'"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: tuple[str, ...], told: str) -> None:
    ran = kw("diff", *words)
    assert (ran.code, told in ran.err) == (2, True)


def test_an_input_that_is_missing_ends_the_run(tmp_path: Path) -> None:
    assert kw("diff", TOUR, str(tmp_path / "none.pcap")).code == 1
