"""The details of a finding below its title."""

from __future__ import annotations

from typing import Any

import pytest

from kwcli.report.report_sections import _SHOWN, explain_finding

FIRST, LAST = "2026-11-21T03:04:05.123456Z", "2026-11-21T03:04:06.500000Z"
FINDING: dict[str, Any] = {"first": None, "last": None, "meaning": "", "remedy": "", "evidence": []}


def seen(first: int, last: int) -> dict[str, Any]:
    return {"file": None, "packets": (first, last), "connection": 1, "correlation_id": 2}


def unseen(connection: int, correlation_id: int | None) -> dict[str, Any]:
    return {"file": None, "packets": None, "connection": connection, "correlation_id": correlation_id}


@pytest.mark.parametrize(
    ("its", "details"),
    [
        ({}, []),
        ({"clients": []}, []),
        ({"clients": ["a", "b\x07"]}, [("who", "a, b\\x07")]),
        ({"clients": ["c"] * _SHOWN}, [("who", ", ".join(["c"] * _SHOWN))]),
        ({"clients": ["c"] * (_SHOWN + 1)}, [("who", ", ".join(["c"] * _SHOWN) + " and 1 more")]),
        ({"clients": ["c"] * (_SHOWN + 1000)}, [("who", ", ".join(["c"] * _SHOWN) + " and 1,000 more")]),
        ({"first": FIRST, "last": FIRST}, [("since", "2026-11-21 03:04:05.123")]),
        ({"first": FIRST, "last": LAST}, [("since", "2026-11-21 03:04:05.123, last 03:04:06.500")]),
        ({"reasons": ["a", "b\x07"]}, [("reasons", "a; b\\x07")]),
        ({"reasons": ["r"] * (_SHOWN + 1)}, [("reasons", "; ".join(["r"] * _SHOWN))]),
        ({"meaning": "m", "remedy": "r"}, [("means", "m"), ("do", "r")]),
        ({"remedy": "r"}, [("do", "r")]),
        (
            {"evidence": [seen(1, 1), seen(2, 4), unseen(5, None), unseen(5, 0)][:_SHOWN]},
            [
                (
                    "see",
                    ", ".join(["packet 1", "packets 2–4", "connection 5", "correlation id 0 of connection 5"][:_SHOWN]),
                )
            ],
        ),
        ({"evidence": [seen(1, 1)] * (_SHOWN + 1)}, [("see", ", ".join(["packet 1"] * _SHOWN))]),
    ],
)
def test_details_of_a_finding(its: dict[str, Any], details: list[tuple[str, str]]) -> None:
    assert explain_finding({**FINDING, **its}) == details
