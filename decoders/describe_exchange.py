"""An exchange in; its line, its record, and the names of topics and groups in it out: what programs ask it for.

`Exchange` has these as methods and properties (exchanges/exchange.py). They need rooms above that of exchanges, so it
loads this module when one of them is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from decoders.exchanges.body_reader import SIDES
from decoders.filters.filter_field_table import entity_names
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.wire.deferred_json import make_json_pieces
from decoders.wire.format_and_escape_text import escape_text

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

__all__ = ["describe_exchange", "exchange_to_dict", "list_entity_names"]


def describe_exchange(exchange: Exchange) -> str:
    """One line: time, API and version, client → broker, status, errors with their paths."""
    api = "SASL token" if exchange.is_sasl_token else f"{exchange.api or 'unknown API'} {exchange.api_version}"
    errors = ", ".join(f"{error.path}: {error.name}" for error in exchange.errors)
    words = (exchange.time, api, exchange.client, "→", exchange.broker, exchange.status, errors)
    return escape_text(f"<Exchange {' '.join(filter(None, words))}>")


def exchange_to_dict(exchange: Exchange, *, records: bool) -> dict[str, Any]:
    """The record of an exchange as NDJSON has it; secrets are redacted.

    Records are as `--records --raw-values` shows them: what keys and values hold is asked of `decoders.values`.
    """
    line = b"".join(make_json_pieces(to_json_dict(exchange, Options(records=records))))
    record: dict[str, Any] = orjson.loads(line)
    return record


def list_entity_names(exchange: Exchange, entity: str) -> list[str]:
    """The names of this entity in both sides of an exchange, each once."""
    # The view of an exchange that was read from a record is all of its body, with values in Python's form.
    bodies = [exchange.values(side) if exchange.record is None else exchange.view(side) for side in SIDES]
    names = (
        name for side, body in zip(SIDES, bodies, strict=True) for name in entity_names(exchange, side, entity, body)
    )
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and name]
