"""Lines of a broker's logger kafka.server.KafkaApis in, what they say of requests out, as a request log has it.

At TRACE a broker writes a line for each request as it begins to handle it; MSK gives these logs to people who have no
access to kafka.request.logger:

```
[2025-07-25 14:45:53,662] TRACE [KafkaApi-1] Handling request:RequestHeader(apiKey=FETCH, apiVersion=11, clientId=app-1,
    correlationId=7, headerVersion=1) -- FetchRequestData(replicaId=-1, topics=[FetchTopic(topic='orders', …)], …)
    from connection BROKER:PORT-CLIENT:PORT-…;securityProtocol:…,principal:User:alice (kafka.server.KafkaApis)
```

The body is the text of Java's classes, or of older releases' `Struct`s. Their strings have no escapes: a body is read
where it is plain, and a row without a body is made of any other line. Of Produce the text has topics, partitions and
sizes alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from decoders.apis import NAMES
from decoders.errors import Malformed
from decoders.protocol_facts.api_keys import PRODUCE

__all__ = ["HANDLING", "parse_handled_request_line"]

# The bytes before the header of a request.
HANDLING: Final = b"Handling request:RequestHeader("
_LINE: Final = re.compile(
    r"RequestHeader\(apiKey=(\w+), apiVersion=(\d{1,5}), clientId=(.*?), correlationId=(-?\d{1,10})"
    r"(?:, headerVersion=\d+)?\) -- (.*) from connection ([^;]*);securityProtocol:(\w+),principal:(.*)",
    re.DOTALL,
)
_LOGGER: Final = " (kafka.server.KafkaApis)"
_NODE: Final = re.compile(rb"\[KafkaApi-(\d{1,10})\]")
_SIZES: Final = re.compile(r"\{acks=(-?\d+),\s*timeout=(\d+),\s*partitionSizes=\[(.*)\]\}", re.DOTALL)
_PARTITION: Final = re.compile(r"(.+)-(\d{1,10})=\d+")
# Structures inside each other; a message has half as many.
_LEVELS_MAX: Final = 32


def parse_handled_request_line(line: bytes, at: int) -> dict[str, Any]:
    """What a line says, whose HANDLING is at `at`, with the keys of a request log (parse_request_log.py) but for times.

    `request` is None where its text cannot be read; `node` is the number of the broker. Raises Malformed.
    """
    text = line[at:].decode("utf-8", "replace").strip().removeprefix("Handling request:")
    found = _LINE.fullmatch(text.removesuffix(_LOGGER))
    if found is None:
        raise Malformed("no request of kafka.server.KafkaApis")
    name, version, client_id, correlation_id, body, connection, protocol, principal = found.groups()
    key = _api_keys_by_java_name().get(name.replace("_", ""))
    if key is None:
        raise Malformed(f"kw knows no API {name}")
    node = _NODE.search(line, 0, at)
    return {
        "requestHeader": {
            "requestApiKey": key,
            "requestApiVersion": int(version),
            "correlationId": int(correlation_id),
            "clientId": None if client_id == "null" else client_id,
        },
        "request": _parse_produce_text(body) if key == PRODUCE else _parse_body_text(body),
        "response": None,
        "connection": connection,
        "securityProtocol": protocol,
        "principal": principal,
        "node": int(node[1]) if node else None,
    }


@cache
def _api_keys_by_java_name() -> dict[str, int]:
    """API keys by the names of Java's constants without underscores."""
    return {name.replace("_", "").upper(): key for key, name in NAMES.items()}


def _parse_produce_text(text: str) -> dict[str, Any] | None:
    sizes = _SIZES.fullmatch(text)
    if sizes is None:
        return None
    topics: dict[str, list[dict[str, Any]]] = {}
    for word in sizes[3].split(","):
        place = _PARTITION.fullmatch(word.strip())
        if place is not None:
            topics.setdefault(place[1], []).append({"index": int(place[2]), "records": None})
    data = [{"name": name, "partitionData": partitions} for name, partitions in topics.items()]
    return {"acks": int(sizes[1]), "timeoutMs": int(sizes[2]), "topicData": data}


def _parse_body_text(text: str) -> dict[str, Any] | None:
    try:
        value, end = _read_value(text, 0, 0)
    except Malformed:
        return None
    if end != len(text) or not isinstance(value, dict):
        return None
    topics = value.get("topics")
    if isinstance(topics, list):  # of Metadata older releases have the names alone
        value["topics"] = [{"name": each} if isinstance(each, str) else each for each in topics]
    return value


_NAME: Final = re.compile(r"\w+(?=\()")
_FIELD: Final = re.compile(r"\s*(\w+)=")
# Where a string ends: before the next field or string, or the end of what it is in.
_STRING_END: Final = re.compile(r"'(?=[)\]}]|, ?(?:\w+=|'))")
_BUFFER: Final = re.compile(r"java\.nio\.\w+\[[^\]]*\]")
_WORD: Final = re.compile(r"[^,(){}\[\]]*")
_INTEGER: Final = re.compile(r"-?\d{1,20}")
_BETWEEN: Final = re.compile(r",\s*")
_WORDS: Final[dict[str, Any]] = {"null": None, "true": True, "false": False}


def _read_value(text: str, at: int, level: int) -> tuple[Any, int]:
    """The value at `at` in the JSON form of Kafka's logs, and where it ends. Raises Malformed."""
    if level > _LEVELS_MAX:
        raise Malformed("more structures inside each other than a message has")
    name = _NAME.match(text, at)
    if name is not None:
        return _read_fields(text, name.end() + 1, ")", level)
    if text.startswith("{", at):
        return _read_fields(text, at + 1, "}", level)
    if text.startswith("[", at):
        return _read_elements(text, at + 1, level)
    if text.startswith("'", at):
        end = _STRING_END.search(text, at + 1)
        if end is None:
            raise Malformed("a string without an end")
        return text[at + 1 : end.start()], end.end()
    buffer = _BUFFER.match(text, at)
    if buffer is not None:
        return "", buffer.end()
    word = _WORD.match(text, at)
    assert word is not None
    return _read_word(word[0]), word.end()


def _read_word(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    try:
        return float(word)
    except ValueError:
        return word


def _read_fields(text: str, at: int, end: str, level: int) -> tuple[dict[str, Any], int]:
    fields: dict[str, Any] = {}

    def read_field(at: int) -> int:
        name = _FIELD.match(text, at)
        if name is None:
            raise Malformed("a field without a name")
        fields[name[1]], after = _read_value(text, name.end(), level + 1)
        return after

    return fields, _read_values_until(text, at, end, read_field)


def _read_elements(text: str, at: int, level: int) -> tuple[list[Any], int]:
    elements: list[Any] = []

    def read_element(at: int) -> int:
        element, after = _read_value(text, at, level + 1)
        elements.append(element)
        return after

    return elements, _read_values_until(text, at, "]", read_element)


def _read_values_until(text: str, at: int, end: str, read_one: Callable[[int], int]) -> int:
    """Read values with commas between them up to `end`; where it ends."""
    if text.startswith(end, at):
        return at + 1
    while True:
        at = read_one(at)
        if text.startswith(end, at):
            return at + 1
        between = _BETWEEN.match(text, at)
        if between is None:
            raise Malformed("no comma between two values")
        at = between.end()
