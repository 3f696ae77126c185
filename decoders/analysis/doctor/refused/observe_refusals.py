"""Refused requests in, observations of what was asked and of what the broker says out; values that were taken.

An answer with an error is rare, so its body is read whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import api
from decoders.exchanges.topic_arrays import structs_at
from decoders.protocol_facts.api_keys import (
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    OFFSET_COMMIT,
    PRODUCE,
    SASL_HANDSHAKE,
)

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Field

__all__ = ["SETTINGS", "observe_accepted_values", "observe_refusal"]

_UNSUPPORTED_MECHANISM: Final = 33
_UNKNOWN_MEMBER: Final = 25
# API key → error code → the field of the request that was refused, and the setting of clients that fills it.
SETTINGS: Final[dict[int, dict[int, tuple[str, str]]]] = {
    JOIN_GROUP: {26: ("session_timeout_ms", "session.timeout.ms")},
    INIT_PRODUCER_ID: {50: ("transaction_timeout_ms", "transaction.timeout.ms")},
    SASL_HANDSHAKE: {_UNSUPPORTED_MECHANISM: ("mechanism", "sasl.mechanism")},
    PRODUCE: {21: ("acks", "acks")},
    68: {112: ("server_assignor", "group.remote.assignor")},
}
# The most characters of what a broker says.
_WORDS_MOST: Final = 300


@cache
def _has_words(api_key: int) -> bool:
    """Whether answers of an API have texts about errors."""

    def names(fields: tuple[Field, ...]) -> Iterator[str]:
        for field in fields:
            yield field.name
            yield from names(field.fields)

    return "error_message" in names(api(api_key).response.fields)


def observe_refusal(its: Observation, exchange: Exchange, code: int) -> None:
    """Add to the observation of an error code what was asked for, and what the broker says about it."""
    key = exchange.api_key or 0
    if _has_words(key):
        for words in _list_words(exchange.values("response"), code):
            its.count_name("words", words[:_WORDS_MOST])
    asked = SETTINGS.get(key, {}).get(code)
    request = exchange.values("request") if asked or code == _UNKNOWN_MEMBER else None
    if not isinstance(request, dict):
        return
    if asked is not None:
        its.count_name("asked", str(request.get(asked[0])))
    if code == _UNSUPPORTED_MECHANISM:
        answer = exchange.values("response")
        for mechanism in (answer.get("mechanisms") if isinstance(answer, dict) else None) or ():
            its.count_name("offered", str(mechanism))
    elif key == OFFSET_COMMIT and not request.get("member_id") and request.get("generation_id_or_member_epoch", -1) < 0:
        its.count_name("without", "membership")


def _list_words(body: Any, code: int) -> Iterator[str]:
    """What an answer says of an error code, in any of its structs: texts about records rather than one about all."""
    if isinstance(body, list):
        for each in body:
            yield from _list_words(each, code)
    elif isinstance(body, dict):
        if body.get("error_code") == code:
            of_records = [each.get("batch_index_error_message") for each in structs_at(body, "record_errors")]
            found = [words for words in of_records if words] or [body.get("error_message")]
            yield from (words for words in dict.fromkeys(found) if isinstance(words, str) and words)
        for each in body.values():
            if isinstance(each, list | dict):
                yield from _list_words(each, code)


def observe_accepted_values(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the values of settings that a broker took from a client."""
    view = exchange._request_view
    for field, setting in SETTINGS[exchange.api_key or 0].values():
        value = view.get(field) if isinstance(view, dict) else None
        if value is not None:
            seen.get_or_make("taken", setting, str(value), client).count_exchange(exchange)
