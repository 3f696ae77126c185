"""An exchange in, what a line says of it where nothing is cut out: what it was about, what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders.filters.fields import names
from kwcli.output.fact_functions import NO_VIEW, no_facts, row_of
from kwcli.output.facts import FactRoom
from kwcli.output.units import join_some
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from kwcli.output.facts import Facts

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
    if exchange.extra is not None and "fault" in exchange.extra:
        words.append(f"⚡ {exchange.extra['fault']['action']}")
    if exchange.error_codes:
        words += dict.fromkeys(error.name for error in exchange.errors)
    status = exchange.status
    if status == "unanswered":
        unseen = exchange.reason == "one_direction"
        words.append("its answer is not in the capture" if unseen else ENDINGS.get(exchange.closed, "unanswered"))
    elif status == "orphan_response":
        guessed = exchange.extra is not None and "guessed" in exchange.extra
        words.append("guessed" if guessed else "its request is not in the capture")
    failures = exchange.failures
    cut = [side for side, failure in failures.items() if failure.reason == "snaplen"]
    if cut and status != "orphan_response":
        words.append(f"{'' if len(cut) == 2 else f'{cut[0]} '}cut by the snaplen")
    for side, failure in failures.items():
        if status != "orphan_response" and side not in cut:
            place = f" at {failure.path}" if failure.path else ""
            words.append(f"{side} undecoded: {failure.reason}{place}")
    return clean(" ".join(words))


def facts_in(exchange: Exchange, facts_of: Facts, shape: FactRoom) -> list[str]:
    """The facts of a line, as far as they are sure: of a side that cannot be decoded no count of what is there in part.

    Of a request that fails they are the topics and groups that it names before it does.
    """
    failures = exchange.failures
    request = exchange.view("request") or NO_VIEW
    if "request" not in failures:
        response = NO_VIEW if "response" in failures else exchange.view("response") or NO_VIEW
        return facts_of(exchange, request, response, shape)
    topics = list(dict.fromkeys(names(exchange, "request", "topicName")))
    groups = list(dict.fromkeys(names(exchange, "request", "groupId")))
    return [*([join_some(topics, shape.items)] if topics else []), *(f"group {name}" for name in groups if name)]


def summary(exchange: Exchange) -> str:
    """What a line says behind the API where nothing is cut."""
    row = row_of(exchange.api_key)
    facts = facts_in(exchange, row.facts if row else no_facts, FactRoom())
    trouble = trouble_of(exchange)
    return " ".join([*map(clean, facts[:1]), *([trouble] if trouble else []), *map(clean, facts[1:])])
