"""Each field is declared as it is: the phase in which its value is known, the kind of its values, what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from functools import cache
from typing import Any, Final

import pytest

from decoders import read_exchanges
from decoders.apis import NAMES, api
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.connection_pairing import set_request_missing, set_response_missing
from decoders.exchanges.exchange import SESSION_PARTITIONS, Exchange
from decoders.filters import parse
from decoders.filters.exchange_paths import HISTORY
from decoders.filters.filter_field_table import FIELDS, FieldRow, Kind, PacketSpan, Phase
from decoders.protocol_facts.api_keys import FETCH
from decoders.schema.api_declaration import Field, Side
from tests.filters.test_rows import Wanted, data

CAPTURES: Final = ("tour.pcapng", "share-groups.pcapng", "sasl-raw.pcap")
# Facts that are attached when an exchange is settled, each with a value for every field that reads it.
_SAID: Final = {"id": 1, "generation": 1, "member": "m", "producer_id": 1, "epoch": 1, "rack": "r", "cluster": "c"}
_SERVER: Final = dict.fromkeys(
    ("total_ms", "request_queue_ms", "local_ms", "remote_ms", "response_queue_ms", "send_ms"), 1
)
EXTRA: Final[dict[str, Any]] = {
    "group": {**_SAID, "id": "g"},
    "transaction": {**_SAID, "id": "t"},
    "node": _SAID,
    "library": {"name": "l"},
    "server": {**_SERVER, "listener": "PLAINTEXT", "principal": "User:a"},
    "fault": {"action": "drop", "rule": 1, "hit": 1},
    "refused": {"by": "--as-kafka", "reason": "r"},
    "file": "a.pcap",
    "point": "b1",
    "network_ms": 0.4,
    "client_name": "c1",
    "broker_name": "b1",
    "guessed": True,
    "remarks": [{"side": "response", "path": "", "offset": 0, "id": "out_of_order", "text": "t"}],
    "retransmitted": True,
    "closed": "reset",
    "reason": "r",
    SESSION_PARTITIONS: {"orders": [0]},
}
# Those that are attached only if earlier exchanges are remembered.
REMEMBERED: Final = HISTORY | {SESSION_PARTITIONS}
# Known with the response as far as the value goes; but only what is settled has no other side any more, and the proxy
# decodes the fields that it needs, which are not all that may fail.
LATER: Final = frozenset({"side", "undecoded_side"})
# An expression with every field.
ALL: Final = parse(" or ".join(FIELDS))


class Whole(Needs):
    """Every field of every body, and whatever else filters read."""

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        leaves = _leaves(api(key).message(side).fields, "") if key in NAMES else ()
        return frozenset(leaves) | ALL.needs(key, side)


def _leaves(fields: Iterable[Field], above: str) -> Iterator[str]:
    for field in fields:
        path = f"{above}{field.name}"
        yield from _leaves(field.fields, f"{path}{'[]' if field.array else ''}.") if field.fields else (path,)


@cache
def every() -> list[Exchange]:
    """The exchanges of the first capture, whole."""
    return list(read_exchanges(data(CAPTURES[0]), needs=Whole()))


@cache
def settled() -> list[Exchange]:
    """Exchanges of captures, each with every fact that a settled exchange may have."""
    found = [each for name in CAPTURES for each in read_exchanges(data(name), needs=Wanted(ALL))]
    for each in found:
        each.extra = {**EXTRA, **(each.extra or {})}
    return found


def begun(exchange: Exchange) -> Exchange:
    """A copy that is not decoded yet, without the facts of its end."""
    made = copy(exchange)
    for word in ("_request_view", "_response_view", "_values", "_error_codes", "_failed", "_early"):
        if hasattr(made, word):
            delattr(made, word)
    made._looked = False
    made.extra = None
    made.outcome = "complete"
    made.response_end_ns = None
    return made


def stages(exchange: Exchange) -> dict[Phase, Exchange]:
    """The exchange as each phase knows it."""
    answered = begun(exchange)
    asked = begun(exchange)
    set_response_missing(asked)
    header = begun(asked)
    set_request_missing(header)
    header.request_size = asked.request_size
    return {Phase.HEADER: header, Phase.REQUEST: asked, Phase.RESPONSE: answered, Phase.SETTLED: exchange}


def value(row: FieldRow, exchange: Exchange) -> Any:
    found = row.get(exchange)
    return list(found) if isinstance(found, Iterator) else found


def values(row: FieldRow, exchanges: Iterable[Exchange]) -> Iterator[Any]:
    """The single values of a field that are there."""
    for exchange in exchanges:
        found = value(row, exchange)
        yield from (each for each in (found if isinstance(found, list) else (found,)) if each is not None)


def phase_of(row: FieldRow, exchanges: Iterable[Exchange]) -> Phase:
    """The first phase that knows the value of a field in all exchanges."""
    known = Phase.HEADER
    for exchange in exchanges:
        views = stages(exchange)
        final = value(row, views[Phase.SETTLED])
        while value(row, views[known]) != final:
            known = Phase(known + 1)
    return known


@pytest.mark.plain
@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_known_in_its_phase(name: str) -> None:
    row = FIELDS[name]
    found = phase_of(row, settled())
    declared = Phase.RESPONSE if name in LATER and row.phase is Phase.SETTLED else row.phase
    assert declared is found, (
        f"{name} is known with {found.name}, not {row.phase.name}: its letter in FIELDS, filter_field_table.py"
    )


# The type that values of each kind have. Several kinds are whole numbers: which of them it is, only words show.
TYPES: Final[dict[Kind, type | tuple[type, ...]]] = {
    **dict.fromkeys(("text", "record_content", "address"), str),
    **dict.fromkeys(("number", "duration"), (int, float)),
    **dict.fromkeys(("version", "size", "time", "api", "error"), int),
    "packet": PacketSpan,
    "any": object,
}
_YEAR_NS: Final = 365 * 86400 * 10**9


@pytest.mark.parametrize("name", FIELDS)
def test_values_are_of_the_declared_kind(name: str) -> None:
    row = FIELDS[name]
    found = list(values(row, settled()))
    told = (
        f"{name}: its kind in FIELDS, decoders/filters/filter_field_table.py, is {row.kind}; its values are {found[:2]}"
    )
    assert all(isinstance(each, TYPES[row.kind]) for each in found), told
    assert (row.kind == "record_content") is isinstance(row.get(settled()[0]), Iterator), told
    assert (row.kind == "time") is any(isinstance(each, int) and each > _YEAR_NS for each in found), told
    assert row.kind != "address" or all(each.rpartition(":")[2].isdecimal() for each in found), told


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_earlier_exchanges_says_so(name: str) -> None:
    """A field that reads what is attached only if earlier exchanges are remembered has `history`."""
    row = FIELDS[name]
    attached = next(each for each in settled() if each.api_key == FETCH)
    bare = copy(attached)
    bare.extra = {word: said for word, said in (attached.extra or {}).items() if word not in REMEMBERED}
    told = f"{name}: `history` in FIELDS, decoders/filters/filter_field_table.py"
    assert row.history is (value(row, attached) != value(row, bare)), told


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", [name for name, row in FIELDS.items() if not row.history])
def test_a_field_needs_what_it_reads(name: str) -> None:
    """Read alone, with only the parts of bodies that it asks for, a field has the same values."""
    row = FIELDS[name]
    alone = read_exchanges(data(CAPTURES[0]), needs=Wanted(parse(name)))
    told = f"{name}: `entity` or `needs` in FIELDS, decoders/filters/filter_field_table.py"
    assert [value(row, each) for each in alone] == [value(row, each) for each in every()], told
