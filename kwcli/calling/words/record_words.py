"""Short words about records (`topic=orders offset=latest key=a`) in; records, numbers and request fields out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

from decoders.apis import api
from decoders.errors import EncodeError
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.convert_field_names import find_field_by_any_name
from decoders.records.hash_keys import murmur2
from decoders.records.record_and_batch import Header
from decoders.schema.api_declaration import Versions
from decoders.schema.body_json_form import BASE64, REDACTED, bytes_from_json
from decoders.wire.parse_units import parse_moment
from decoders.wire.primitive_types import format_uuid
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.run_environment import Exit, Failure

_NUMBER: Final = re.compile(r"-?\d{1,19}")


def parse_timestamp_ms(text: str, now_ms: int, what: str) -> int:
    """`1700000000000`, `2026-11-21`, `2026-11-21T03:04:05.123Z`, `17:34` (today; UTC unless said), `now`, `-5m`.

    A bare number is milliseconds since 1970, as in Kafka. Raises Failure (usage) whose text begins with `what`.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        return parse_moment(text).resolve_to_ns(now_ms * 10**6, now_ms * 10**6) // 10**6
    except ValueError:
        raise Failure(
            f"{what}: {text!r} is no time (write 2026-11-21T03:04:05Z, milliseconds since 1970, now or -5m)", Exit.USAGE
        ) from None


# The partition of a record


def choose_partition_by_key(key: bytes, count: int) -> int:
    """The partition of a record with this key in a topic of `count` partitions, as Kafka's Java producer chooses it."""
    return (murmur2(key) & 0x7FFFFFFF) % count


# Records to produce, of words or of NDJSON


# The name after an @ in, the contents of that file (`-`: standard input) out.
Contents = Callable[[str], bytes]
_INT32_MAX: Final = (1 << 31) - 1
_BYTES: Final = frozenset({BASE64, REDACTED})
_LINE_FIELDS: Final = ("key", "value", "headers", "timestamp", "partition", "offset")


class RecordWord(NamedTuple):
    """`name=text`, or `name:=text` where the text is JSON."""

    name: str
    text: str
    json: bool = False

    def __str__(self) -> str:
        return f"{self.name}{':=' if self.json else '='}"


@dataclass(frozen=True, slots=True)
class ProduceRecord:
    """A record to produce; `timestamp` None: now, `partition` None: by the key."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp: int | None = None
    partition: int | None = None


def parse_record_words(words: Iterable[RecordWord], contents: Contents, now_ms: int) -> list[ProduceRecord]:
    """The records that words like `key=k value=@file header=a:b` describe, in order. Raises Failure (usage).

    A word that the current record already has begins the next record (except headers, of which a record may have
    many). `partition=` and `timestamp=` also hold for the records that follow.
    """
    entries: list[ProduceRecord] = []
    record: dict[str, Any] = {}
    headers: list[Header] = []
    kept: dict[str, int] = {}

    def finish_record() -> None:
        if "value" not in record:
            raise _make_usage_failure(f"record {len(entries)} has no value= (value:=null is a tombstone)")
        entries.append(ProduceRecord(**{"key": None, **kept, **record}, headers=tuple(headers)))
        kept.update({name: record[name] for name in ("timestamp", "partition") if name in record})
        record.clear()
        headers.clear()

    for word in words:
        if word.name == "header":
            headers.append(_parse_header_word(word, contents))
            continue
        if word.name in record:
            finish_record()
        if word.name == "partition":
            record["partition"] = read_word_as_number(word, _INT32_MAX)
        elif word.name == "timestamp":
            record["timestamp"] = parse_timestamp_ms(read_word_as_text(word), now_ms, "timestamp=")
        else:
            record[word.name] = read_word_as_bytes(word, contents)
    finish_record()
    return entries


def read_word_as_bytes(word: RecordWord, contents: Contents) -> bytes | None:
    """The bytes of `key=` or `value=`: text, a file, or JSON (null, a string, {"base64"}; any other as written)."""
    if word.text.startswith("@"):
        held = contents(word.text[1:])
        if not word.json:
            return held
    else:
        held = word.text.encode("utf-8", "surrogateescape")
        if not word.json:
            return held
    value = _parse_json_or_refuse(held, str(word))
    return _convert_json_to_bytes(value, str(word), held)


def read_word_as_text(word: RecordWord) -> str:
    """The text of a word that is neither key, value nor header; one written as JSON must be text or a number."""
    if not word.json:
        return word.text
    value = _parse_json_or_refuse(word.text.encode("utf-8", "surrogateescape"), str(word))
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _make_usage_failure(f"{word}{word.text} is neither text nor a number")
    return str(value)


def read_word_as_number(word: RecordWord, largest: int, *, smallest: int = 0) -> int:
    """The integer that a word gives. Raises Failure (usage) outside the bounds."""
    text = read_word_as_text(word).strip()
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 20:
        raise _make_usage_failure(f"{word}{word.text} is no number")
    if not smallest <= int(text) <= largest:
        raise _make_usage_failure(f"{word}{word.text} is outside {smallest} to {largest}")
    return int(text)


def parse_json_record_lines(lines: bytes, source: str, now_ms: int) -> list[ProduceRecord]:
    """Records from a JSON object a line: {"key", "value", "headers", "timestamp", "partition"}, as by `--records`.

    Only "value" is required; a value that is neither text nor {"base64"} is sent as its JSON. An offset is ignored: the
    broker assigns it. Raises Failure that names the line.
    """
    entries = []
    for index, line in enumerate(lines.splitlines(), 1):
        if line.strip():
            place = f"{source}:{index}"
            value = _parse_json_or_refuse(line, place)
            if not isinstance(value, dict):
                raise _make_usage_failure(f"{place}: a record is an object")
            entries.append(_parse_json_record(value, place, now_ms))
    return entries


def _parse_json_record(value: Mapping[str, Any], place: str, now_ms: int) -> ProduceRecord:
    for name in value:
        if name not in _LINE_FIELDS:
            raise _make_usage_failure(f"{place}: a record has no {name!r}; it has {', '.join(_LINE_FIELDS)}")
    partition, timestamp = value.get("partition"), value.get("timestamp")
    if partition is not None and (type(partition) is not int or not 0 <= partition <= _INT32_MAX):
        raise _make_usage_failure(f"{place}: partition is no number from 0 to {_INT32_MAX}")
    if isinstance(timestamp, str):
        timestamp = parse_timestamp_ms(timestamp, now_ms, f"{place}: timestamp")
    elif timestamp is not None and type(timestamp) is not int:
        raise _make_usage_failure(f"{place}: timestamp is no number of milliseconds and no time")
    if "value" not in value:
        raise _make_usage_failure(f'{place}: a record without "value" (null is a tombstone)')
    return ProduceRecord(
        _convert_json_to_bytes(value.get("key"), f"{place}: key"),
        _convert_json_to_bytes(value["value"], f"{place}: value"),
        tuple(_parse_json_headers(value.get("headers") or (), place)),
        timestamp,
        partition,
    )


def _parse_json_headers(value: object, place: str) -> Iterator[Header]:
    """The headers of a list `[{"key", "value"}]`, or of an object."""
    if isinstance(value, dict):
        value = [{"key": key, "value": held} for key, held in value.items()]
    for each in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(each, dict) or not {"key"} <= each.keys() <= {"key", "value"}:
            raise _make_usage_failure(f'{place}: headers are a list of {{"key", "value"}} or an object')
        name = _convert_json_to_bytes(each["key"], f"{place}: header key")
        if name is None:
            raise _make_usage_failure(f"{place}: a header has a key")
        yield (
            name.decode("utf-8", "surrogateescape"),
            _convert_json_to_bytes(each.get("value"), f"{place}: header value"),
        )


def _parse_header_word(word: RecordWord, contents: Contents) -> Header:
    """The header of `header=name:text`, `header=name:@file`, `header=name` (null), or JSON {"key", "value"}."""
    if word.json:
        (found,) = _parse_json_headers(
            [_parse_json_or_refuse(word.text.encode("utf-8", "surrogateescape"), str(word))], str(word)
        )
        return found
    name, colon, text = word.text.partition(":")
    return name, read_word_as_bytes(RecordWord(word.name, text), contents) if colon else None


def _convert_json_to_bytes(value: object, place: str, plain: bytes | None = None) -> bytes | None:
    """The bytes of a JSON value; `plain` is the text that it was written as, where known."""
    if value is None:
        return None
    if isinstance(value, str) or (isinstance(value, dict) and len(value) == 1 and not _BYTES.isdisjoint(value)):
        try:
            return bytes_from_json(value, place)
        except EncodeError as failure:
            raise _make_usage_failure(str(failure)) from None
    return plain if plain is not None else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _parse_json_or_refuse(text: bytes, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise _make_usage_failure(f"{place}: no JSON: {failure}") from None


def _make_usage_failure(text: str) -> Failure:
    return Failure(text, Exit.USAGE)


# What Produce and Fetch by short words (`topic=orders key=k`) share: splitting words, versions, topic ids.


_WORD: Final = re.compile(r"([A-Za-z_]+)(:?=)(.*)", re.DOTALL)
# From this version on a topic is named by its id (KIP-516); below, the field names of both by API key.
TOPIC_IDS_FROM: Final = 13
_TOPIC_FIELDS: Final = {0: ("name", "topic_id"), 1: ("topic", "topic_id")}
# API key → the versions that need no cluster, and what the others need.
OFFLINE: Final = {key: (Versions(0, TOPIC_IDS_FROM - 1), "a topic whose id is not known") for key in _TOPIC_FIELDS}


class TopicLookup(Protocol):
    """The cluster's answers about topics."""

    def list_partitions(self, topic: str) -> Sequence[int]:
        """The partitions of a topic, ascending, at least one."""

    def find_topic_id(self, name: str) -> UUID:
        """The id of a topic."""


def split_short_words(words: Iterable[str], names: Sequence[str]) -> tuple[list[RecordWord], list[str]]:
    """The words whose name is one of these (camelCase accepted), and the others."""
    known = {name.replace("_", ""): name for name in names}
    ours: list[RecordWord] = []
    rest: list[str] = []
    for text in words:
        match = _WORD.fullmatch(text)
        name = known.get(match[1].replace("_", "").lower()) if match else None
        if match is None or name is None:
            rest.append(text)
        else:
            ours.append(RecordWord(name, match[3], match[2] == ":="))
    return ours, rest


def refuse_misspelt_words(key: int, rest: Iterable[str], names: Sequence[str]) -> None:
    """Raise Failure (usage) for a word that is no field but almost one of these names."""
    fields = api(key).request.fields
    for text in rest:
        if "header" in names and text.startswith("header."):
            name, _, value = text.removeprefix("header.").partition("=")
            raise Failure(f'"{text}": write header={name}:{value}', Exit.USAGE)
        match = _WORD.fullmatch(text)
        if match and find_field_by_any_name(fields, match[1]) is None and (meant := did_you_mean(match[1], names)):
            raise Failure(f'{api(key).name} has no field "{match[1]}"{meant}', Exit.USAGE)


def narrow_versions_to_needs(key: int, versions: Versions, needs: Sequence[tuple[Versions, str]]) -> Versions:
    """The versions that meet all needs. Raises Failure (usage) that names the first that cannot be met."""
    left = versions
    for wanted, what in needs:
        both = left & wanted
        if not both:
            name = api(key).name
            raise Failure(f"{what} needs {name} {wanted & api(key).versions}, not {left}", Exit.USAGE)
        left = both
    return left


def build_topic_field(key: int, version: int, name: str, topics: TopicLookup | None) -> Mapping[str, Any]:
    """The field that names the topic: by name, or by id from version 13 on."""
    by_name, by_id = _TOPIC_FIELDS[key]
    if version < TOPIC_IDS_FROM:
        return {by_name: name}
    if topics is None:
        raise Failure(f"only the cluster knows the id of topic {name}", Exit.USAGE)
    return {by_id: format_uuid(topics.find_topic_id(name).bytes)}
