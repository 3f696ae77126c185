"""What went wrong with an exchange, in the words of its line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kwcli.output.facts.line_fact_functions import format_exchange_trouble

NAMELESS: dict[str, Any] = {"extra": None, "_error_codes": (), "errors": (), "status": "complete", "reason": None}


def failure(reason: str, path: str = "") -> Any:
    return SimpleNamespace(reason=reason, path=path)


def remark(name: str, path: str = "") -> dict[str, str]:
    return {"id": name, "path": path}


@pytest.mark.plain
@pytest.mark.parametrize(
    ("its", "words"),
    [
        ({}, ""),
        ({"extra": {}}, ""),
        ({"extra": {"fault": {"action": "drop"}}}, "⚡ drop"),
        ({"extra": {"refused": {"by": "--as-kafka"}}}, "⚡ refused by --as-kafka"),
        (
            {"_error_codes": (3, 3, 6), "errors": [SimpleNamespace(name=name) for name in ("A", "A", "B")]},
            "A B",
        ),
        ({"status": "unanswered"}, "unanswered"),
        ({"status": "unanswered", "closed": "fin"}, "unanswered at close"),
        ({"status": "unanswered", "closed": "rst"}, "unanswered at reset"),
        ({"status": "unanswered", "closed": "idle"}, "unanswered when the connection was given up"),
        ({"status": "unanswered", "closed": "capture_end"}, "unanswered at the end of the capture"),
        ({"status": "unanswered", "closed": "other"}, "unanswered"),
        ({"status": "unanswered", "reason": "one_direction", "closed": "fin"}, "its answer is not in the capture"),
        ({"status": "orphan_response"}, "its request is not in the capture"),
        ({"status": "orphan_response", "extra": {"guessed": True}}, "guessed"),
        (
            {"status": "orphan_response", "failures": {"response": failure("snaplen")}},
            "its request is not in the capture",
        ),
        ({"failures": {"request": failure("snaplen")}}, "request cut by the snaplen"),
        ({"failures": {"response": failure("snaplen")}}, "response cut by the snaplen"),
        ({"failures": {"request": failure("snaplen"), "response": failure("snaplen")}}, "cut by the snaplen"),
        ({"failures": {"response": failure("lost")}}, "response undecoded: lost"),
        ({"failures": {"request": failure("unknown_api")}, "api_key": 10_001}, "Confluent's own API"),
        (
            {"failures": dict.fromkeys(("request", "response"), failure("unknown_api")), "api_key": 1000},
            "unknown API",
        ),
        (
            {"failures": {"request": failure("malformed", "a[0].b"), "response": failure("snaplen", "c")}},
            "response cut by the snaplen request undecoded: malformed at a[0].b",
        ),
        ({"extra": {"remarks": [remark("null", "a")]}}, "remark: null at a"),
        ({"extra": {"remarks": [remark("trailing")]}}, "remark: trailing"),
        ({"extra": {"remarks": [remark("null", "a"), remark("x"), remark("y")]}}, "remark: null at a and 2 more"),
        (
            {
                "extra": {"fault": {"action": "a\x1b"}, "remarks": [remark("x")]},
                "status": "unanswered",
                "failures": {"request": failure("limit")},
            },
            "⚡ a\\x1b unanswered request undecoded: limit remark: x",
        ),
    ],
)
def test_words_for_what_went_wrong(its: dict[str, Any], words: str) -> None:
    exchange: Any = SimpleNamespace(**{**NAMELESS, "closed": None, "failures": {}, **its})
    assert format_exchange_trouble(exchange) == words
