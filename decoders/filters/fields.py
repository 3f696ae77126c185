"""The fields of expressions, the words and values that they are compared with, and the questions that both make."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.errors import FilterError, UnknownApi
from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.exchange import SESSION_PARTITIONS
from decoders.filters.contents import (
    headers_named,
    partition_needs,
    partition_numbers,
    record_count,
    record_keys,
    record_needs,
    record_values,
)
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import ERRORS, error_name, find_error
from decoders.schema.model import Field, Side
from decoders.schema.projection import Get, getter
from decoders.wire.primitives import uuid_text
from decoders.wire.units import DAY_NS, parse_duration, parse_moment, parse_size

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

# Requests that name topics and other entities as resources: API key → the array.
RESOURCES: Final[dict[int, str]] = {32: "resources", 33: "resources", 44: "resources", 30: "creations"}
# The entity type of a declaration → the resource type that it has in all of these requests.
RESOURCE_TYPES: Final = {"topicName": 2}


@cache
def entity_paths(key: int, side: Side, entity: str) -> tuple[str, ...]:
    """The paths of all names of this entity in a message, and of topic ids where topics are asked for."""
    if key not in NAMES:
        return ()
    message = api(key).message(side)
    found = tuple(_marked(message.fields, "", entity))
    array = RESOURCES.get(key) if side == "request" and entity in RESOURCE_TYPES else None
    return (*found, f"{array}[].resource_type", f"{array}[].resource_name") if array else found


def names(exchange: Exchange, side: Side, entity: str) -> Iterator[str]:
    """The names of this entity in a side of an exchange; a topic id counts by the name that is known for it."""
    key = exchange.api_key
    view = exchange.view(side) if key in NAMES else None
    if not view or key is None or not isinstance(view, dict):
        return
    for get in _getters(key, side, entity):
        found = get(view)
        for name in found if isinstance(found, list) else (found,):
            text = exchange.topic_name(name) if isinstance(name, UUID) else name
            if text is not None:
                yield text
    if side == "request" and key in RESOURCES and entity in RESOURCE_TYPES:
        for resource in view.get(RESOURCES[key]) or ():
            name = resource.get("resource_name")  # None where the request fails before it
            if resource.get("resource_type") == RESOURCE_TYPES[entity] and name is not None:
                yield name


def all_names(exchange: Exchange, entity: str) -> list[Any]:
    """The names of this entity in both sides of an exchange."""
    return [name for side in SIDES for name in names(exchange, side, entity)]


def _marked(fields: Iterable[Field], prefix: str, entity: str) -> Iterator[str]:
    for field in fields:
        path = f"{prefix}{field.name}"
        if field.fields:
            yield from _marked(field.fields, f"{path}{'[]' if field.array else ''}.", entity)
        elif field.entity == entity or (entity == "topicName" and field.name == "topic_id"):
            yield path


@cache
def _getters(key: int, side: Side, entity: str) -> tuple[Get, ...]:
    return tuple(getter(path) for path in entity_paths(key, side, entity) if ".resource_" not in path)


# The fields that an expression may name: when each is known, what kind of value it has, where it is found.


class Phase(IntEnum):
    """How much of an exchange is known: its request's header, its request, its response, how it ended."""

    HEADER = 0
    REQUEST = 1
    RESPONSE = 2
    SETTLED = 3


class FieldRow(NamedTuple):
    """One field. A value that is a list or an iterator stands for each of its elements; None and empty mean no value.

    `entity` is set where names are read from bodies, `needs` where other values are: it gives the paths that are read
    of a side of an API (exchanges/body_reader.py must hear of them). `history`: the value is what an exchange means by
    those before it (exchanges/history.py).
    """

    phase: Phase
    kind: Kind
    get: Callable[[Exchange], Any]
    text: str
    entity: str = ""
    needs: Callable[[int, Side], tuple[str, ...]] | None = None
    history: bool = False


def _of(entity: str) -> Callable[[Exchange], Any]:
    return lambda exchange: all_names(exchange, entity)


def _software(exchange: Exchange, part: str) -> str | None:
    software = exchange.client_software
    return software[part] if software else None  # type: ignore[literal-required]  # name or version


def _said(name: str, part: str) -> FieldRow:
    """The field of a part of what an exchange means by those before it."""

    def get(exchange: Exchange) -> Any:
        said = exchange.extra.get(name) if exchange.extra else None
        return said.get(part) if isinstance(said, dict) else None

    kind: Kind = (
        "number" if part in ("generation", "producer_id", "epoch") or (name, part) == ("node", "id") else "text"
    )
    return FieldRow(S, kind, get, _HISTORY[name, part], history=True)


def _server(part: str, kind: Kind, text: str) -> FieldRow:
    """The field of a part of what the broker's own request log says of an exchange."""

    def get(exchange: Exchange) -> Any:
        said = exchange.extra.get("server") if exchange.extra else None
        return said.get(part) if isinstance(said, dict) else None

    return FieldRow(S, kind, get, text)


def _faults(exchange: Exchange, part: str) -> list[Any]:
    """A part of what each rule of faults did to an exchange."""
    said = exchange.extra.get("fault") if exchange.extra else None
    return [each[part] for each in (said, *said.get("more", ()))] if isinstance(said, dict) else []


def _refusal(exchange: Exchange, part: str) -> str | None:
    """A part of the proxy's refusal of an exchange: which option refused it (`by`), and the `reason`."""
    said = exchange.extra.get("refused") if exchange.extra else None
    return said.get(part) if isinstance(said, dict) else None


def _session_topics(exchange: Exchange) -> list[str]:
    return list((exchange.extra or {}).get(SESSION_PARTITIONS) or ())


def _tls(exchange: Exchange, part: str) -> str | None:
    info = exchange.connection_info.tls
    return info[part] if info else None  # type: ignore[literal-required]  # a key of TlsInfo


def _sizes(exchange: Exchange) -> list[int]:
    return [size for size in (exchange.request_size, exchange.response_size) if size is not None]


def _sides(exchange: Exchange) -> list[str]:
    sizes = (exchange.request_size, exchange.response_size)
    return [side for side, size in zip(SIDES, sizes, strict=True) if size is not None]


H, Q, R, S = Phase.HEADER, Phase.REQUEST, Phase.RESPONSE, Phase.SETTLED
# What exchanges mean by those before them: keys of the record and their parts.
_HISTORY: Final = {
    ("group", "id"): "group of the member that asks, also behind its fetches",
    ("group", "generation"): "generation or epoch that the member had",
    ("group", "member"): "member id",
    ("transaction", "id"): "transactional id of the producer",
    ("transaction", "producer_id"): "producer id of a transactional id",
    ("transaction", "epoch"): "epoch of that producer",
    ("node", "id"): "id of the node that the connection leads to",
    ("node", "rack"): "rack of that node",
    ("node", "cluster"): "id of its cluster",
    ("library", "name"): "library or program that a client shows to be by what it does",
}

FIELDS: Final[dict[str, FieldRow]] = {
    "api": FieldRow(H, "api", lambda x: x.api_key, "API by name or number"),
    "api_key": FieldRow(H, "number", lambda x: x.api_key, "number of the API"),
    "api_version": FieldRow(H, "version", lambda x: x.api_version, "version of the request"),
    "correlation_id": FieldRow(H, "number", lambda x: x.correlation_id, "correlation id"),
    "client_id": FieldRow(H, "text", lambda x: x.client_id, "client id"),
    "client": FieldRow(H, "address", lambda x: x.client, "address of the client"),
    "broker": FieldRow(H, "address", lambda x: x.broker, "address of the broker"),
    "software": FieldRow(H, "text", lambda x: _software(x, "name"), "name of the client's library"),
    "software_version": FieldRow(H, "text", lambda x: _software(x, "version"), "version of the client's library"),
    "user": FieldRow(H, "text", lambda x: x.user, "user who had logged in, or the subject of the client's certificate"),
    "mechanism": FieldRow(H, "text", lambda x: x.mechanism, "SASL mechanism of the login"),
    "tls": FieldRow(H, "text", lambda x: _tls(x, "version"), "version of TLS, where it was decrypted"),
    "cipher": FieldRow(H, "text", lambda x: _tls(x, "cipher"), "cipher suite of TLS"),
    "sni": FieldRow(H, "text", lambda x: _tls(x, "sni"), "server name that the client asked for in TLS"),
    "subject": FieldRow(H, "text", lambda x: _tls(x, "client_subject"), "subject of the client's certificate"),
    "connection": FieldRow(H, "number", lambda x: x.connection, "number of the connection"),
    "time": FieldRow(H, "time", lambda x: x.time_ns, "time of the request's first byte"),
    "request_size": FieldRow(H, "size", lambda x: x.request_size, "bytes of the request"),
    "topic": FieldRow(R, "text", _of("topicName"), "topics in request or response", "topicName"),
    "group": FieldRow(R, "text", _of("groupId"), "consumer groups", "groupId"),
    "txn": FieldRow(R, "text", _of("transactionalId"), "transactional ids", "transactionalId"),
    "partition": FieldRow(R, "number", partition_numbers, "partitions in request or response", needs=partition_needs),
    "records": FieldRow(R, "number", record_count, "how many records are produced or fetched", needs=record_needs),
    "key": FieldRow(R, "held", record_keys, "keys of the records", needs=record_needs),
    "value": FieldRow(R, "held", record_values, "values of the records", needs=record_needs),
    "response_size": FieldRow(R, "size", lambda x: x.response_size, "bytes of the response"),
    "size": FieldRow(R, "size", _sizes, "bytes of either side"),
    "latency": FieldRow(R, "duration", lambda x: x.latency_ms, "request's last byte to response's first"),
    "latency_ms": FieldRow(R, "number", lambda x: x.latency_ms, "the same as a number of milliseconds"),
    "error": FieldRow(R, "error", lambda x: [each.code for each in x.errors], "error codes in the response"),
    "unexpected": FieldRow(
        R, "error", lambda x: [code for _, code in x.unexpected], "error codes that the protocol does not mean so"
    ),
    "duration": FieldRow(S, "duration", lambda x: x.duration_ms, "request's first byte to response's last"),
    "duration_ms": FieldRow(S, "number", lambda x: x.duration_ms, "the same as a number of milliseconds"),
    "status": FieldRow(S, "text", lambda x: x.status, "complete, unanswered, undecoded …"),
    "reason": FieldRow(S, "text", lambda x: x.reason, "why it could not be decoded or was not answered"),
    "undecoded": FieldRow(S, "text", lambda x: [f.reason for f in x.failures.values()], "why a side is undecoded"),
    "undecoded_side": FieldRow(S, "text", lambda x: list(x.failures), "the side that is undecoded: request, response"),
    "side": FieldRow(S, "text", _sides, "sides that the capture has: request, response"),
    "closed": FieldRow(S, "text", lambda x: x.closed, "how the connection ended that left it unanswered"),
    "file": FieldRow(S, "text", lambda x: x.extra and x.extra.get("file"), "file that it was read from"),
    "guessed": FieldRow(
        S, "any", lambda x: bool(x.extra and x.extra.get("guessed")), "whether what a response answers is guessed"
    ),
    "fault": FieldRow(S, "text", lambda x: _faults(x, "action"), "what a fault of the proxy did to it on purpose"),
    "fault.rule": FieldRow(S, "number", lambda x: _faults(x, "rule"), "number of the rule that did it"),
    "fault.hit": FieldRow(S, "number", lambda x: _faults(x, "hit"), "how many exchanges that rule had hit by then"),
    "refused": FieldRow(
        S, "text", lambda x: _refusal(x, "by"), "option of the proxy that does not serve such requests"
    ),
    "refused.reason": FieldRow(S, "text", lambda x: _refusal(x, "reason"), "what the proxy serves instead"),
    "retransmitted": FieldRow(S, "any", lambda x: x.retransmitted, "whether bytes of it were sent again"),
    "session_topic": FieldRow(S, "text", _session_topics, "topics that an incremental fetch asks for", history=True),
    **{f"{name}.{part}": _said(name, part) for name, part in _HISTORY},
    "server.listener": _server("listener", "text", "listener of the broker, by its request log"),
    "server.principal": _server("principal", "text", "who asked, as the broker names them"),
    "server.total_ms": _server("total_ms", "number", "milliseconds in the broker"),
    "server.request_queue_ms": _server("request_queue_ms", "number", "of them in the request queue"),
    "server.local_ms": _server("local_ms", "number", "of them at the leader"),
    "server.remote_ms": _server("remote_ms", "number", "of them waiting for others"),
    "server.response_queue_ms": _server("response_queue_ms", "number", "of them in the response queue"),
    "server.send_ms": _server("send_ms", "number", "of them sending the response"),
}
# Other words for fields, and for body fields that are asked for often.
ALIASES: Final = {
    "version": "api_version",
    "errors": "error",
    "topics": "topic",
    "partitions": "partition",
    "record": "records",
    "keys": "key",
    "values": "value",
    "transactional_id": "txn",
    "throttle": "response.throttle_time_ms",
    "took": "latency",
}
# `header.NAME`: the values of the headers of this name in the records.
HEADER: Final = "header"


def header_row(name: str) -> FieldRow:
    """The field for the headers of a name; case counts, as on the wire."""
    return FieldRow(R, "held", headers_named(name), f"values of the headers {name}", needs=record_needs)


# `record.PATH`: a field of the records of internal topics.
RECORD: Final = "record"


BODIES: Final[dict[str, tuple[Side, Phase]]] = {"request": ("request", Q), "response": ("response", R)}

# Text of an expression in, its words with their places out, and the values and questions that they stand for.


# Longest first, so that `!=` is not read as `!`.
SIGNS: Final = ("==", "!=", "<=", ">=", "!~", "&&", "||", "<", ">", "~", "=", "!", "(", ")", ",")
_BLANKS: Final = re.compile(r"\s*")
_PATH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[\d*\])?(?:\.[A-Za-z0-9_]+(?:\[\d*\])?)*")
_HEADER_NAME: Final = re.compile(rf"{HEADER}\.([^\s(),\"'=!<>~&|]+)")
_BARE: Final = re.compile(r"[^\s(),\"'=!<>~&|]+")
_QUOTES: Final = "\"'"
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Word(NamedTuple):
    """A piece of the text. `quoted`: it stood in quotes, so it is text whatever it looks like."""

    text: str
    at: int
    quoted: bool = False


class Scanner:
    """Reads one expression from left to right. Raises FilterError."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._skip()

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self.at == len(self.text)

    def error(self, text: str, at: int | None = None) -> FilterError:
        """A FilterError at the present place, or at an earlier one."""
        return FilterError(text, (self.at if at is None else at) + 1)

    def sign(self, *wanted: str) -> str | None:
        """One of these signs, if it comes next."""
        found = next((sign for sign in SIGNS if self.text.startswith(sign, self.at)), None)
        if found is None or (wanted and found not in wanted):
            return None
        self._go(len(found))
        return found

    def keyword(self, *wanted: str) -> str | None:
        """One of these words, if it comes next."""
        match = _PATH.match(self.text, self.at)
        if match is None or match[0].lower() not in wanted:
            return None
        self._go(len(match[0]))
        return match[0].lower()

    def path(self) -> Word:
        """The name of a field. The name of a header may have any sign in it, in quotes: `header."my name"`."""
        head = _HEADER_NAME.match(self.text, self.at)
        if head is not None or self.text.startswith((f'{HEADER}."', f"{HEADER}.'"), self.at):
            return self._header(head)
        match = _PATH.match(self.text, self.at)
        if match is None:
            raise self.error("the name of a field is missing" if self.ended else f"no field begins with {self._seen()}")
        word = Word(match[0], self.at)
        self._go(len(match[0]))
        return word

    def _header(self, match: re.Match[str] | None) -> Word:
        begun = self.at
        if match is not None:
            self._go(len(match[0]))
            return Word(match[0], begun)
        self.at += len(HEADER) + 1
        return Word(f"{HEADER}.{self._quoted().text}", begun)

    def value(self) -> Word:
        """A value: in quotes, or as it stands up to a blank or a sign."""
        if not self.ended and self.text[self.at] in _QUOTES:
            return self._quoted()
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise self.error("a value is missing" if self.ended else f"a value is missing before {self._seen()}")
        word = Word(match[0], self.at)
        self._go(len(match[0]))
        return word

    def _quoted(self) -> Word:
        begun, quote = self.at, self.text[self.at]
        made: list[str] = []
        at = begun + 1
        while at < len(self.text) and self.text[at] != quote:
            if self.text[at] == "\\" and at + 1 < len(self.text):
                following = self.text[at + 1]
                # Other escapes stay as they are: regular expressions are full of backslashes.
                made.append(following if following in "\\\"'" else _ESCAPES.get(following, "\\" + following))
                at += 2
            else:
                made.append(self.text[at])
                at += 1
        if at >= len(self.text):
            raise self.error(f"the quote {quote} is not closed", begun)
        self._go(at + 1 - begun)
        return Word("".join(made), begun, quoted=True)

    def _go(self, count: int) -> None:
        self.at += count
        self._skip()

    def _skip(self) -> None:
        match = _BLANKS.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _seen(self) -> str:
        return repr(self.text[self.at : self.at + 12])


# Words of an expression in, values out by the kind of field they are compared with: units, names, addresses, times.


# `held`: content of a record or header: text, or None where it is null.
Kind = Literal["text", "held", "number", "version", "duration", "size", "time", "address", "api", "error", "any"]

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d+)?|\.\d+)")
_WORDS: Final = {"true": True, "yes": True, "false": False, "no": False, "null": None, "none": None}


class TimeOfDay(NamedTuple):
    """Nanoseconds since midnight, which are compared with the time of day of each exchange (UTC)."""

    ns: int


class Network(NamedTuple):
    """An address, a network or a port of one; either part may be absent."""

    network: IPv4Network | IPv6Network | None
    port: str | None


def value_of(kind: Kind, word: Word) -> Any:
    """The value of a word that is compared with a field of this kind. Raises FilterError."""
    return READERS[kind](word)


def _text(word: Word) -> str:
    return word.text


def _number(word: Word) -> float | int:
    match = _NUMBER.fullmatch(word.text)
    if match is None:
        raise FilterError(f"{word.text!r} is no number", word.at + 1)
    return float(word.text) if "." in word.text else int(word.text)


def _version(word: Word) -> int:
    number = word.text[1:] if word.text[:1] in ("v", "V") else word.text
    if not (number.isascii() and number.isdecimal()):
        raise FilterError(f"{word.text!r} is no version: write 12 or v12", word.at + 1)
    return int(number)


def _signed(parse: Callable[[str], float], text: str) -> float:
    return -parse(text[1:]) if text.startswith("-") else parse(text.removeprefix("+"))


def _duration(word: Word) -> float:
    try:
        return _signed(parse_duration, word.text)
    except ValueError:
        raise FilterError(
            f"{word.text!r} is no duration: write 250us, 100ms or 2m; 1.5 is seconds", word.at + 1
        ) from None


def _size(word: Word) -> float:
    try:
        return _signed(parse_size, word.text)
    except ValueError:
        raise FilterError(f"{word.text!r} is no size: write 512, 10kB or 1MiB", word.at + 1) from None


def _time(word: Word) -> int | TimeOfDay:
    try:
        found = parse_moment(word.text)
    except ValueError:
        found = None
    if found is None or found.since == "end":
        text = f"{word.text!r} is no time: write 17:34:50 or 2026-11-21T03:04:05.5Z"
        raise FilterError(text, word.at + 1)
    return TimeOfDay(found.ns) if found.since == "midnight" else found.ns


def _address(word: Word) -> Network:
    text, port = word.text, None
    if text.startswith("["):
        inner, _, rest = text[1:].partition("]")
        text, port = inner, rest.removeprefix(":") or None
    elif text.count(":") == 1:
        text, _, port = text.partition(":")
    try:
        network = ip_network(text, strict=False) if text else None
    except ValueError:
        network = None
    if (text and network is None) or (port is not None and not port.isdecimal()) or (network is None and port is None):
        raise FilterError(
            f"{word.text!r} is no address: write 10.0.0.7, 10.0.0.0/8, 10.0.0.7:9092, :9092 or [::1]:9092", word.at + 1
        )
    return Network(network, port)


def _api(word: Word) -> int:
    text = word.text
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        return api(text).key
    except UnknownApi:
        names = [api(key).name for key in NAMES]
        raise FilterError(f"no API has the name {text!r}", word.at + 1, word=text, candidates=names) from None


def _error(word: Word) -> int:
    text = word.text
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    code = find_error(text)
    if code is None:
        names = [row.name for row in ERRORS.values()]
        raise FilterError(f"no error has the name {text!r}", word.at + 1, word=text, candidates=names)
    return code


def _any(word: Word) -> Any:
    """The value of a word beside a body's field: a number with or without a unit, true, false, null, else text."""
    if word.quoted:
        return word.text
    if word.text.lower() in _WORDS:
        return _WORDS[word.text.lower()]
    if _NUMBER.fullmatch(word.text) is not None:
        return _number(word)
    for parse in (parse_duration, parse_size):
        try:
            return _signed(parse, word.text)
        except ValueError:
            continue
    return word.text


READERS: Final[dict[Kind, Callable[[Word], Any]]] = {
    "text": _text,
    "held": _text,
    "number": _number,
    "version": _version,
    "duration": _duration,
    "size": _size,
    "time": _time,
    "address": _address,
    "api": _api,
    "error": _error,
    "any": _any,
}

# Signs and values in, questions about one value out: equal, less, like, matching.


Test = Callable[[Any], bool]

ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Kinds whose values have an order, and those that are text.
ORDERED: Final = frozenset({"number", "version", "duration", "size", "time", "any"})
TEXTUAL: Final = frozenset({"text", "held", "any", "api", "error", "address"})
# The text that a pattern sees of kinds whose values are numbers.
TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "api": lambda key: api(key).name if key in NAMES else str(key),
    "error": error_name,
}
PATTERN_MAX: Final = 1000
# The characters of a value that a pattern sees at most.
SEEN_MAX: Final = 65536


def equal(kind: Kind, word: Word) -> Test:
    """The test for `field == word`. Raises FilterError."""
    wanted = value_of(kind, word)
    if isinstance(wanted, Network):
        return _address_test(wanted)
    if isinstance(wanted, TimeOfDay):
        return lambda value: value % DAY_NS == wanted.ns
    if kind != "any":
        return lambda value: value == wanted
    return lambda value: _plain(value) == wanted or (word.text == _plain(value) and not isinstance(value, bool))


def ordered(kind: Kind, sign: str, word: Word) -> Test:
    """The test for `field < word`, and for <=, > and >=. Raises FilterError."""
    compare = ORDER[sign]
    wanted = value_of(kind, word)
    if isinstance(wanted, TimeOfDay):
        return lambda value: compare(value % DAY_NS, wanted.ns)
    if not isinstance(wanted, int | float):
        raise FilterError(f"{sign} needs a number, not {word.text!r}", word.at + 1)
    return lambda value: isinstance(value, int | float) and compare(value, wanted)


def like(kind: Kind, word: Word) -> Test:
    """The test for `field like GLOB`: the whole value, * and ? as a shell has them."""
    pattern = re.compile(fnmatch.translate(word.text), re.DOTALL)
    text_of = TEXTS.get(kind, _exact_text)
    return lambda value: pattern.match(text_of(value)) is not None


def part_of_glob(word: Word) -> str:
    """The longest piece of a GLOB without wildcards: it stands in every text that the GLOB takes."""
    return max(_WILD.split(word.text), key=len)


def part_of_regex(word: Word) -> str | None:
    """The word that a REGEX is, which may have ^ before it and $ behind it; None where a REGEX is more than a word."""
    match = _PLAIN_REGEX.fullmatch(word.text)
    return None if match is None else match[1]


_WILD: Final = re.compile(r"[*?]|\[.*", re.DOTALL)
_PLAIN_REGEX: Final = re.compile(r"\^?([A-Za-z0-9_-]+)\$?")


def matching(kind: Kind, word: Word) -> Test:
    """The test for `field ~ REGEX`: anywhere in the value, in a time that grows with its length only (RE2's syntax)."""
    if len(word.text) > PATTERN_MAX:
        raise FilterError(f"a pattern has at most {PATTERN_MAX} characters", word.at + 1)
    import re2  # type: ignore[import-untyped]  # it ships no types; and it takes 5 ms, and few expressions have a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(word.text, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise FilterError(f"{word.text!r} is no regular expression: {text}", word.at + 1) from None
    text_of = TEXTS.get(kind, _plain_text)
    return lambda value: pattern.search(text_of(value)[:SEEN_MAX]) is not None


def _address_test(wanted: Network) -> Test:
    def test(value: Any) -> bool:
        host, _, port = str(value).rpartition(":")
        if wanted.port is not None and port != wanted.port:
            return False
        if wanted.network is None:
            return True
        try:
            return ip_address(host.strip("[]")) in wanted.network
        except ValueError:
            return False

    return test


def _plain(value: Any) -> Any:
    """A body's value as an expression would write it."""
    if isinstance(value, UUID):
        return uuid_text(value.bytes)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _exact_text(value: Any) -> str:
    """A body's value as text; bytes that are no UTF-8 are surrogates, as in the words of a command line."""
    return str(_plain(value))


def _plain_text(value: Any) -> str:
    """A body's value as text that RE2 takes, which knows no surrogates."""
    text = _exact_text(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
