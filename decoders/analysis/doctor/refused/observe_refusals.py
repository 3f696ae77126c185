"""Refused requests in, observations of what was asked and of what the broker says out; values that were taken.

An answer with an error is rare, so its body is read whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.exchange_facts import topic_of_element
from decoders.apis import api
from decoders.exchanges.topic_arrays import structs_at
from decoders.protocol_facts.api_keys import (
    ALTER_CONFIGS,
    CREATE_TOPICS,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    OFFSET_COMMIT,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from decoders.protocol_facts.public_configs import is_public_config

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observation, Observations
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Field

__all__ = [
    *("FETCH_OF_ZSTD", "SETTINGS", "TOO_LARGE", "UNSUPPORTED_COMPRESSION"),
    *("RefusedExchange", "observe_accepted_values"),
]

UNSUPPORTED_COMPRESSION: Final = 76
# MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE.
TOO_LARGE: Final = (10, 18)
# The version of Fetch that brokers want for batches compressed by zstd.
FETCH_OF_ZSTD: Final = 10

_UNSUPPORTED_MECHANISM: Final = 33
_UNKNOWN_MEMBER: Final = 25
_OTHER_CLUSTER: Final = 104
# API key → error code → the field of the request that was refused, and the setting of clients that fills it.
SETTINGS: Final[dict[int, dict[int, tuple[str, str]]]] = {
    JOIN_GROUP: {26: ("session_timeout_ms", "session.timeout.ms")},
    INIT_PRODUCER_ID: {50: ("transaction_timeout_ms", "transaction.timeout.ms")},
    SASL_HANDSHAKE: {_UNSUPPORTED_MECHANISM: ("mechanism", "sasl.mechanism")},
    PRODUCE: {21: ("acks", "acks")},
    68: {112: ("server_assignor", "group.remote.assignor")},
    62: {101: ("broker_id", "node.id")},
}
# The most characters of what a broker says.
_WORDS_MOST: Final = 300
# Texts about a login are shown where they begin so and have no word as long as a token.
_LOGIN_FAILED: Final = "Authentication failed"
_PLAIN_WORD_MOST: Final = 24
# API key → the array of its request whose elements have configs.
_CONFIG_ARRAYS: Final = {ALTER_CONFIGS: "resources", INCREMENTAL_ALTER_CONFIGS: "resources", CREATE_TOPICS: "topics"}
# What separates the parts of a value, and how long a part is that can be a secret.
_PARTS: Final = re.compile(r"""[\s"'=;,]+""")
_SECRET_LEAST: Final = 4
# Fields with the name of what a struct of an answer is about, besides those of topics.
_NAMING: Final = ("group_id", "transactional_id", "key")


@cache
def _answers_have_error_texts(api_key: int) -> bool:
    """Whether answers of an API have texts about errors."""

    def iterate_field_names(fields: tuple[Field, ...]) -> Iterator[str]:
        for field in fields:
            yield field.name
            yield from iterate_field_names(field.fields)

    return "error_message" in iterate_field_names(api(api_key).response.fields)


class RefusedExchange:
    """What an answer with errors says of them, and what was asked for; its bodies are read once."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._key = exchange.api_key or 0
        # Error code → what its structs are about (None: of all that was asked) → texts.
        self._words: dict[int, dict[str | None, list[str]]] = {}
        self._secrets = [*self._list_secrets()] if self._key in _CONFIG_ARRAYS else []
        if _answers_have_error_texts(self._key):
            self._gather_error_texts(exchange.values("response"), None)

    def observe(self, its: Observation, code: int, subject: str | None) -> None:
        """Add to the observation of an error code and what it is about what was asked for, and what the broker says."""
        exchange, key = self._exchange, self._key
        texts = self._words.get(code, {})
        for about in texts if subject is None else (subject, None):
            for words in texts.get(about, ()):
                its.count_name("words", words)
        asked = SETTINGS.get(key, {}).get(code)
        request = exchange.values("request") if asked or code in (_UNKNOWN_MEMBER, _OTHER_CLUSTER) else None
        if not isinstance(request, dict):
            return
        if asked is not None:
            its.count_name("asked", str(request.get(asked[0])))
        if code == _OTHER_CLUSTER:
            its.count_name("cluster-ids", str(request.get("cluster_id")))
        elif code == _UNSUPPORTED_MECHANISM:
            answer = exchange.values("response")
            for mechanism in (answer.get("mechanisms") if isinstance(answer, dict) else None) or ():
                its.count_name("offered", str(mechanism))
        elif (
            key == OFFSET_COMMIT
            and not request.get("member_id")
            and request.get("generation_id_or_member_epoch", -1) < 0
        ):
            its.count_name("without", "membership")

    def _gather_error_texts(self, body: Any, subject: str | None) -> None:
        """Take what a body says of errors, in any struct: texts about records rather than one about all."""
        if isinstance(body, list):
            for each in body:
                self._gather_error_texts(each, subject)
        elif isinstance(body, dict):
            subject = _find_name(self._exchange, body) or subject
            code = body.get("error_code")
            if isinstance(code, int) and code:
                of_records = [each.get("batch_index_error_message") for each in structs_at(body, "record_errors")]
                found = [words for words in of_records if words] or [body.get("error_message")]
                for words in dict.fromkeys(words for words in found if isinstance(words, str)):
                    if words and self._shows_no_secret(words):
                        self._words.setdefault(code, {}).setdefault(subject, []).append(words[:_WORDS_MOST])
            for each in body.values():
                if isinstance(each, list | dict):
                    self._gather_error_texts(each, subject)

    def _shows_no_secret(self, words: str) -> bool:
        """Whether a text shows no secret of its request: no token of a login, no value of a config that is secret."""
        if self._key == SASL_AUTHENTICATE:
            return words.startswith(_LOGIN_FAILED) and all(len(each) <= _PLAIN_WORD_MOST for each in words.split())
        return not any(secret in words for secret in self._secrets)

    def _list_secrets(self) -> Iterator[str]:
        """The parts of the values of configs that are secret, as a request sets them."""
        for resource in structs_at(self._exchange.values("request"), _CONFIG_ARRAYS[self._key]):
            for config in structs_at(resource, "configs"):
                name, value = config.get("name"), config.get("value")
                is_public = isinstance(name, str) and is_public_config(name)
                if isinstance(value, str) and value and not is_public:
                    yield value
                    yield from (part for part in _PARTS.split(value) if len(part) >= _SECRET_LEAST)


def _find_name(exchange: Exchange, struct: dict[str, Any]) -> str | None:
    """The topic, group or resource that a struct of an answer names; None where it names none."""
    for field in _NAMING:
        name = struct.get(field)
        if name and isinstance(name, str):
            return name
    return topic_of_element(exchange, struct)


def observe_accepted_values(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe the values of settings that a broker took from a client."""
    view = exchange._request_view
    for field, setting in SETTINGS[exchange.api_key or 0].values():
        value = view.get(field) if isinstance(view, dict) else None
        if value is not None:
            seen.get_or_make("taken", setting, str(value), client).count_exchange(exchange)
