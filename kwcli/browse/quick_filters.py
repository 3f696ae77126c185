"""A row in, the filter for what it is about out: its client, connection, topic, group, errors, those slower than it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from kwcli.filter_options import WENT_WRONG, quote_filter_text

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange, Settled

__all__ = [
    "LADDERS",
    "QUICK_FILTERS",
    "explain_missing_filter",
    "join_with_filter",
    "make_api_filter",
    "make_row_filter",
]


def _make_client_filter(row: Exchange) -> str:
    if row.client_id:
        return f"client_id == {quote_filter_text(row.client_id)}"
    return f"client == {quote_filter_text(row.client.rpartition(':')[0].strip('[]'))}"


def make_api_filter(api: str) -> str:
    """The filter for an API by its name; by its number where it has none, as `UNKNOWN(999)`."""
    number = api.removeprefix("UNKNOWN(").removesuffix(")")
    return f"api == {api}" if number == api else f"api_key == {number}"


def _make_topic_filter(row: Exchange) -> str:
    return f"topic == {quote_filter_text(row.topics[0])}" if row.topics else ""


def find_group_of_exchange(row: Exchange) -> str:
    """The group that an exchange is about, or that its client is known to be in; empty for none."""
    if row.groups:
        return row.groups[0]
    known = (row.extra or {}).get("group")
    return str(known["id"]) if isinstance(known, dict) and known.get("id") else ""


def _make_group_filter(row: Exchange) -> str:
    group = find_group_of_exchange(row)
    return f"group == {quote_filter_text(group)}" if group else ""


def _make_transaction_filter(row: Exchange) -> str:
    known = (row.extra or {}).get("transaction")
    name = known.get("id") if isinstance(known, dict) else None
    return f"transaction.id == {quote_filter_text(str(name))}" if name else ""


def _make_filter_for_slower_exchanges(row: Exchange) -> str:
    latency_ms = row.latency_ms
    return "" if latency_ms is None else f"latency >= {latency_ms:.6f}".rstrip("0").rstrip(".") + "ms"


# The name of an action → the filter that it makes of a row, empty where the row has nothing of the kind.
QUICK_FILTERS: Final[dict[str, Callable[[Exchange], str]]] = {
    "this_client": _make_client_filter,
    "this_connection": lambda row: f"connection == {row.connection}",
    "this_topic": _make_topic_filter,
    "this_group": _make_group_filter,
    "this_api": lambda row: "" if row.api is None else make_api_filter(row.api),
    "only_errors": lambda _: WENT_WRONG,
    "this_slow": _make_filter_for_slower_exchanges,
}


# The name of an action → the filter for the exchanges of a ladder.
LADDERS: Final[dict[str, Callable[[Exchange], str]]] = {
    "connection_ladder": QUICK_FILTERS["this_connection"],
    "group_ladder": _make_group_filter,
    "transaction_ladder": _make_transaction_filter,
}


# The name of an action → why it does nothing at a row, and where it does something.
_OR: Final = re.compile(r"\bor\b|\|\|")
_MISSING: Final = {
    "this_topic": "this row names no topic: f topic shows the rows that do, 4 b b all topics",
    "this_group": "this row is of no group: f group shows the rows that are",
    "group_ladder": "this row is of no group: f group shows the rows that are, and R works there",
    "transaction_ladder": "this row is of no transaction: f transaction.id shows the rows that are, and X works there",
    "this_api": "this row has no API: it is raw SASL, or no request of Kafka's",
    "this_slow": "this row has no latency: it was not answered, or its request is not there",
}


def explain_missing_filter(name: str, row: Settled | None) -> str:
    """Why a quick filter or a ladder can be made of no row, of one that is no exchange, or of this one."""
    if row is None:
        return "there is no row"
    if row.kind != "exchange":
        return "this row is bytes that are no exchange: go to one with j or k"
    return _MISSING.get(name, "this row has nothing of the kind")


def _is_in_one_bracket(text: str) -> bool:
    """Whether a bracket at the begin is closed at the end; where there is quoted text, that is not looked for."""
    depths = [*accumulate((each == "(") - (each == ")") for each in text)]
    return text.startswith("(") and '"' not in text and 0 in depths and depths.index(0) == len(text) - 1


def join_with_filter(text: str, more: str) -> str:
    """The filter for which both hold; a part that is there already is not added again."""
    if not text or text == more:
        return more
    parts = f"({text})" if _OR.search(text) and not _is_in_one_bracket(text) else text
    return text if more in text else f"{parts} and {more}"


def make_row_filter(row: Settled) -> str:
    """The filter for one exchange: its number on its connection, or where it has none, its packets."""
    if row.kind == "exchange" and row.correlation_id is not None:
        return f"connection == {row.connection} and correlation_id == {row.correlation_id}"
    packet = (row.request_packet or row.response_packet) if row.kind == "exchange" else row.packet
    return f"connection == {row.connection} and packet in ({packet})"
