"""Each field is declared with the phase in which its value is known: in no earlier one, and in no later one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from functools import cache
from typing import Any, Final

import pytest

from decoders import read_exchanges
from decoders.exchanges.exchange import SESSION_PARTITIONS, Exchange
from decoders.exchanges.pairing import put_no_request, put_no_response
from decoders.filters import parse
from decoders.filters.fields import FIELDS, FieldRow, Phase
from tests.filters.test_rows import Wanted, data

CAPTURES: Final = ("tour.pcapng", "share-groups.pcapng", "sasl-raw.pcap")
# Facts that are attached when an exchange is settled, each with a value for every field that reads it.
_SAID: Final = {"id": 1, "generation": 1, "member": "m", "producer_id": 1, "epoch": 1, "rack": "r", "cluster": "c"}
_SERVER: Final = dict.fromkeys(
    ("total_ms", "request_queue_ms", "local_ms", "remote_ms", "response_queue_ms", "send_ms"), 1
)
EXTRA: Final[dict[str, Any]] = {
    **dict.fromkeys(("group", "transaction", "node"), _SAID),
    "library": {"name": "l"},
    "server": {**_SERVER, "listener": "PLAINTEXT", "principal": "User:a"},
    "fault": {"action": "drop", "rule": 1, "hit": 1},
    "refused": {"by": "--as-kafka", "reason": "r"},
    "file": "a.pcap",
    "guessed": True,
    "retransmitted": True,
    "closed": "reset",
    "reason": "r",
    SESSION_PARTITIONS: {"orders": [0]},
}
# Known with the response as far as the value goes; but only what is settled has no other side any more, and the proxy
# decodes the fields that it needs, which are not all that may fail.
LATER: Final = frozenset({"side", "undecoded_side"})


@cache
def settled() -> list[Exchange]:
    """Exchanges of captures, each with every fact that a settled exchange may have."""
    needs = Wanted(parse(" or ".join(FIELDS)))
    found = [each for name in CAPTURES for each in read_exchanges(data(name), needs=needs)]
    for each in found:
        each.extra = {**EXTRA, **(each.extra or {})}
    return found


def begun(exchange: Exchange) -> Exchange:
    """A copy that is not decoded yet, without the facts of its end."""
    made = copy(exchange)
    for word in ("request_view", "response_view", "_values", "error_codes", "failed", "early"):
        if hasattr(made, word):
            delattr(made, word)
    made.looked = False
    made.extra = None
    made.outcome = "complete"
    made.response_end_ns = None
    return made


def stages(exchange: Exchange) -> dict[Phase, Exchange]:
    """The exchange as each phase knows it."""
    answered = begun(exchange)
    asked = begun(exchange)
    put_no_response(asked)
    header = begun(asked)
    put_no_request(header)
    header.request_size = asked.request_size
    return {Phase.HEADER: header, Phase.REQUEST: asked, Phase.RESPONSE: answered, Phase.SETTLED: exchange}


def value(row: FieldRow, exchange: Exchange) -> Any:
    found = row.get(exchange)
    return list(found) if isinstance(found, Iterator) else found


def phase_of(row: FieldRow, exchanges: Iterable[Exchange]) -> Phase:
    """The first phase that knows the value of a field in all exchanges."""
    known = Phase.HEADER
    for exchange in exchanges:
        views = stages(exchange)
        final = value(row, views[Phase.SETTLED])
        while value(row, views[known]) != final:
            known = Phase(known + 1)
    return known


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_known_in_its_phase(name: str) -> None:
    row = FIELDS[name]
    found = phase_of(row, settled())
    declared = Phase.RESPONSE if name in LATER and row.phase is Phase.SETTLED else row.phase
    assert declared is found, (
        f"{name} is known with {found.name}, not {row.phase.name}: its letter in FIELDS, decoders/filters/fields.py"
    )
