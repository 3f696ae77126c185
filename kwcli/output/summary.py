"""An exchange in, what a line says of it where nothing is cut out: what it was about, what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kwcli.output.fact_functions import NO_VIEW, no_facts, row_of
from kwcli.output.facts import Shape
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

ENDINGS: Final[dict[str | None, str]] = {
    "fin": "unanswered at close",
    "rst": "unanswered at reset",
    "idle": "unanswered when the connection was given up",
    "capture_end": "unanswered at the end of the capture",
    None: "unanswered",
}


def trouble_of(exchange: Exchange) -> str:
    """What went wrong, in words; empty when nothing did."""
    words: list[str] = []
    if exchange.error_codes:
        words += dict.fromkeys(error.name for error in exchange.errors)
    status = exchange.status
    if status == "unanswered":
        words.append(ENDINGS.get(exchange.closed, "unanswered"))
    elif status == "orphan_response":
        words.append("its request is not in the capture")
    for side, failure in exchange.failures.items():
        if status != "orphan_response":
            place = f" at {failure.path}" if failure.path else ""
            words.append(f"{side} undecoded: {failure.reason}{place}")
    return clean(" ".join(words))


def summary(exchange: Exchange) -> str:
    """What a line says behind the API where nothing is cut."""
    row = row_of(exchange.api_key)
    views = exchange.view("request") or NO_VIEW, exchange.view("response") or NO_VIEW
    facts = (row.facts if row else no_facts)(exchange, *views, Shape())
    trouble = trouble_of(exchange)
    return " ".join([*map(clean, facts[:1]), *([trouble] if trouble else []), *map(clean, facts[1:])])
