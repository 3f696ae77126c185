"""The filters of the command line in, one question out: is this exchange wanted? And what it takes to answer it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.schema.model import Field, Side
from kwcli.render.facts import getter
from kwcli.spelling import api_named

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

SIDES: Final[tuple[Side, Side]] = ("request", "response")
API_KEY_MAX: Final = 32767
# Requests that name topics as resources: API key → the array; a resource of type 2 is a topic in all of them.
RESOURCES: Final[dict[int, str]] = {32: "resources", 33: "resources", 44: "resources", 30: "creations"}
TOPIC_RESOURCE: Final = 2


class Selection:
    """Filters, all of which must hold; several values of one filter are alternatives."""

    def __init__(
        self,
        keys: frozenset[int] | None = None,
        client_ids: re.Pattern[str] | None = None,
        topics: re.Pattern[str] | None = None,
        *,
        errors: bool = False,
        slower_than: float | None = None,
    ) -> None:
        self.keys = keys
        self.client_ids = client_ids
        self.topics = topics
        self.errors = errors
        self.slower_than = slower_than
        self.everything = not errors and all(each is None for each in (keys, client_ids, topics, slower_than))

    @classmethod
    def of(
        cls,
        *,
        apis: Iterable[str] = (),
        client_ids: Iterable[str] = (),
        topics: Iterable[str] = (),
        errors: bool = False,
        slower_than: float | None = None,
    ) -> Selection:
        """Filters as they were typed; a name that no API has is a usage error."""
        keys = frozenset(_key(name) for name in apis)
        return cls(keys or None, _globs(client_ids), _globs(topics), errors=errors, slower_than=slower_than)

    def wants(self, exchange: Exchange) -> bool:
        """Whether the exchange passes; the cheap questions come first."""
        if self.keys is not None and exchange.api_key not in self.keys:
            return False
        if self.slower_than is not None:
            latency = exchange.latency_ms
            if latency is None or latency <= self.slower_than:
                return False
        if self.client_ids is not None:
            client_id = exchange.client_id
            if client_id is None or not self.client_ids.match(client_id):
                return False
        if self.errors and not _went_wrong(exchange):
            return False
        return self.topics is None or self._about_topic(exchange, self.topics)

    def needs(self, key: int, side: Side) -> frozenset[str]:
        """The paths that the filters look at in a side of an API."""
        if self.topics is None or key not in NAMES or (self.keys is not None and key not in self.keys):
            return frozenset()
        return frozenset(topic_paths(key, side) + _resource_paths(key, side))

    @staticmethod
    def _about_topic(exchange: Exchange, topics: re.Pattern[str]) -> bool:
        key = exchange.api_key
        if key not in NAMES:
            return False
        for side in SIDES:
            view = exchange.view(side)
            if view and any(topics.match(name) for name in _topic_names(exchange, side, view)):
                return True
        return False


def _key(name: str) -> int:
    if name.isascii() and name.isdecimal() and int(name) <= API_KEY_MAX:
        return int(name)
    return api_named(name).key


def _globs(patterns: Iterable[str]) -> re.Pattern[str] | None:
    texts = [fnmatch.translate(pattern) for pattern in patterns]
    return re.compile("|".join(texts)) if texts else None


def _went_wrong(exchange: Exchange) -> bool:
    """An error code, something undecodable, or a request that the end of its connection left without its answer."""
    if exchange.errors or exchange.failures:
        return True
    return exchange.status == "unanswered" and exchange.closed in ("fin", "rst")


@cache
def topic_paths(key: int, side: Side) -> tuple[str, ...]:
    """The paths of all topic names and ids in a message, as its declaration marks them."""
    message = api(key).request if side == "request" else api(key).response
    return tuple(_marked(message.fields, ""))


def _marked(fields: Iterable[Field], prefix: str) -> Iterable[str]:
    for field in fields:
        path = f"{prefix}{field.name}"
        if field.fields:
            yield from _marked(field.fields, f"{path}{'[]' if field.array else ''}.")
        elif field.entity == "topicName" or field.name == "topic_id":
            yield path


def _resource_paths(key: int, side: Side) -> tuple[str, ...]:
    array = RESOURCES.get(key) if side == "request" else None
    return (f"{array}[].resource_type", f"{array}[].resource_name") if array else ()


@cache
def _getters(key: int, side: Side) -> tuple[Any, ...]:
    return tuple(getter(path) for path in topic_paths(key, side))


def _topic_names(exchange: Exchange, side: Side, view: dict[str, Any]) -> Iterable[str]:
    key = exchange.api_key
    assert key is not None
    for get in _getters(key, side):
        found = get(view)
        for name in found if isinstance(found, list) else (found,):
            text = exchange.topic_name(name) if isinstance(name, UUID) else name
            if text is not None:
                yield text
    if side == "request" and key in RESOURCES:
        for resource in view.get(RESOURCES[key]) or ():
            if resource.get("resource_type") == TOPIC_RESOURCE:
                yield resource["resource_name"]
