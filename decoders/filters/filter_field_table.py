"""The literal table of the fields that an expression may name: when each is known, its kind, and where its value is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from decoders.analysis.dimension_and_metric_table import METRICS, Metric
from decoders.apis import NAMES, api
from decoders.capture.merge_captures import PACKET_NUMBER_MAX, packet_number_in_file
from decoders.exchanges.body_reader import SIDES
from decoders.exchanges.exchange import SESSION_PARTITIONS
from decoders.filters.read_partitions_and_records import (
    make_header_getter,
    make_record_header_getter,
    partition_number_paths,
    partition_numbers,
    record_count,
    record_key_text,
    record_key_texts,
    record_paths,
    record_value_text,
    record_value_texts,
)
from decoders.named_tuple import NamedTuple
from decoders.schema.api_declaration import Field, Side
from decoders.schema.field_projection import Get, make_path_getter

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.records.record_and_batch import Row

# Requests that name topics and other entities as resources: API key → the array.
RESOURCES: Final[dict[int, str]] = {32: "resources", 33: "resources", 44: "resources", 30: "creations"}
# The entity type of a declaration → the resource type that it has in all of these requests.
RESOURCE_TYPES: Final = {"topicName": 2}


@cache
def entity_name_paths(api_key: int, side: Side, entity: str) -> tuple[str, ...]:
    """The paths of all names of this entity in a message, and of topic ids where topics are asked for."""
    if api_key not in NAMES:
        return ()
    message = api(api_key).message(side)
    found = tuple(_list_entity_paths(message.fields, "", entity))
    array = RESOURCES.get(api_key) if side == "request" and entity in RESOURCE_TYPES else None
    return (*found, f"{array}[].resource_type", f"{array}[].resource_name") if array else found


def entity_names(exchange: Exchange, side: Side, entity: str, body: Any = None) -> Iterator[str]:
    """The names of this entity in a side of an exchange; a topic id counts by the name that is known for it.

    They are read from the body where it is given, else from the exchange's view of that side.
    """
    key = exchange.api_key
    view = (body or exchange.view(side)) if key in NAMES else None
    if not view or key is None or not isinstance(view, dict):
        return
    for get in _entity_getters(key, side, entity):
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


def entity_names_of_both_sides(exchange: Exchange, entity: str) -> list[Any]:
    """The names of this entity in both sides of an exchange."""
    key = exchange.api_key
    sides = () if key is None else sides_with_entity(key, entity)
    return [name for side in sides for name in entity_names(exchange, side, entity)]


@cache
def sides_with_entity(api_key: int, entity: str) -> tuple[Side, ...]:
    """The sides of an API whose messages can have names of this entity: few have any."""
    return tuple(side for side in SIDES if entity_name_paths(api_key, side, entity))


def _list_entity_paths(fields: Iterable[Field], prefix: str, entity: str) -> Iterator[str]:
    for field in fields:
        path = f"{prefix}{field.name}"
        if field.fields:
            yield from _list_entity_paths(field.fields, f"{path}{'[]' if field.array else ''}.", entity)
        elif field.entity == entity or (entity == "topicName" and field.name == "topic_id"):
            yield path


@cache
def _entity_getters(api_key: int, side: Side, entity: str) -> tuple[Get, ...]:
    return tuple(
        make_path_getter(path) for path in entity_name_paths(api_key, side, entity) if ".resource_" not in path
    )


# Fields

# `record_content`: key, value or header value of a record: text, or None where it is null.
Kind = Literal[
    "text",
    "record_content",
    "number",
    "version",
    "duration",
    "size",
    "time",
    "address",
    "api",
    "error",
    "packet",
    "any",
]


class Phase(IntEnum):
    """How much of an exchange is known: its request's header, its request, its response, how it ended."""

    HEADER = 0
    REQUEST = 1
    RESPONSE = 2
    SETTLED = 3


class PacketSpan(NamedTuple):
    """Packets of a file (None: of any, or of one that is not known) by the numbers of the first and the last."""

    file: str | None
    first: int
    last: int

    def format_as_word(self) -> str:
        """The word of a filter that means these packets: 105, 105-109 or kafka.pcap:105."""
        numbers = f"{self.first}-{self.last}" if self.last > self.first else f"{self.first}"
        return numbers if self.file is None else f"{self.file}:{numbers}"

    def overlaps(self, wanted: PacketSpan) -> bool:
        """Whether a packet is in both spans; the wanted file may be named by the end of its path."""
        if self.first > wanted.last or self.last < wanted.first:
            return False
        if wanted.file is None or self.file == wanted.file:
            return True
        return self.file is not None and self.file.endswith("/" + wanted.file.removeprefix("./"))


class FieldRow(NamedTuple):
    """One field. A value that is a list or an iterator stands for each of its elements; None and empty mean no value.

    `entity` is set where names are read from bodies, `needs` where other values are: it gives the paths that are read
    of a side of an API (exchanges/body_reader.py must hear of them). `history`: the value is what an exchange means by
    those before it (exchanges/facts_from_earlier_exchanges.py). `of_record` gives what `get` does of one record, by its
    topic and row; only fields about the contents of records have it.
    """

    phase: Phase
    kind: Kind
    get: Callable[[Exchange], Any]
    text: str
    entity: str = ""
    needs: Callable[[int, Side], tuple[str, ...]] | None = None
    history: bool = False
    of_record: Callable[[str | None, Row], Iterable[Any]] | None = None


def _make_entity_field_reader(entity: str) -> Callable[[Exchange], Any]:
    return lambda exchange: entity_names_of_both_sides(exchange, entity)


def _software_name_or_version(exchange: Exchange, part: str) -> str | None:
    software = exchange.client_software
    return software[part] if software else None  # type: ignore[literal-required]  # name or version


def _make_history_field(name: str, part: str) -> FieldRow:
    """The field of a part of what an exchange means by those before it."""

    def get_history_part(exchange: Exchange) -> Any:
        said = exchange.extra.get(name) if exchange.extra else None
        return said.get(part) if isinstance(said, dict) else None

    kind: Kind = (
        "number" if part in ("generation", "producer_id", "epoch") or (name, part) == ("node", "id") else "text"
    )
    return FieldRow(S, kind, get_history_part, _HISTORY[name, part], history=True)


def _make_server_field(part: str, kind: Kind, text: str) -> FieldRow:
    """The field of a part of what the broker's own request log says of an exchange."""

    def get_server_part(exchange: Exchange) -> Any:
        said = exchange.extra.get("server") if exchange.extra else None
        return said.get(part) if isinstance(said, dict) else None

    return FieldRow(S, kind, get_server_part, text)


def _read_fault_parts(exchange: Exchange, part: str) -> list[Any]:
    """A part of what each rule of faults did to an exchange."""
    said = exchange.extra.get("fault") if exchange.extra else None
    return [each[part] for each in (said, *said.get("more", ()))] if isinstance(said, dict) else []


def _read_refusal_part(exchange: Exchange, part: str) -> str | None:
    """A part of the proxy's refusal of an exchange: which option refused it (`by`), and the `reason`."""
    said = exchange.extra.get("refused") if exchange.extra else None
    return said.get(part) if isinstance(said, dict) else None


def packet_spans(exchange: Exchange) -> list[PacketSpan]:
    """The packets that hold an exchange: a span for each side, two where it goes from one file into the next."""
    extra = exchange.extra or {}
    file = extra.get("file")
    spans: list[PacketSpan] = []
    for side in SIDES:
        first, last = getattr(exchange, f"{side}_packet"), getattr(exchange, f"{side}_packet_end")
        if not first:
            continue
        first, last = packet_number_in_file(first), packet_number_in_file(last or first)
        begins, ends = (extra.get(f"{side}_{word}", file) for word in ("file", "end_file"))
        if begins == ends:
            spans.append(PacketSpan(begins, first, last))
        else:
            spans += [PacketSpan(begins, first, PACKET_NUMBER_MAX), PacketSpan(ends, 1, last)]
    return spans


def _fetch_session_topics(exchange: Exchange) -> list[str]:
    return list((exchange.extra or {}).get(SESSION_PARTITIONS) or ())


def _read_tls_part(exchange: Exchange, part: str) -> str | None:
    info = exchange.connection_info.tls
    return info[part] if info else None  # type: ignore[literal-required]  # a key of TlsInfo


def _sizes_of_both_sides(exchange: Exchange) -> list[int]:
    return [size for size in (exchange.request_size, exchange.response_size) if size is not None]


def _sides_captured(exchange: Exchange) -> list[str]:
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
    "via_address": FieldRow(
        H, "address", lambda x: x.via_address, "who sent the bytes, where a PROXY head names the client"
    ),
    "software": FieldRow(H, "text", lambda x: _software_name_or_version(x, "name"), "name of the client's library"),
    "software_version": FieldRow(
        H, "text", lambda x: _software_name_or_version(x, "version"), "version of the client's library"
    ),
    "user": FieldRow(H, "text", lambda x: x.user, "user who had logged in, or the subject of the client's certificate"),
    "mechanism": FieldRow(H, "text", lambda x: x.mechanism, "SASL mechanism of the login"),
    "tls": FieldRow(H, "text", lambda x: _read_tls_part(x, "version"), "version of TLS, where it was decrypted"),
    "cipher": FieldRow(H, "text", lambda x: _read_tls_part(x, "cipher"), "cipher suite of TLS"),
    "sni": FieldRow(H, "text", lambda x: _read_tls_part(x, "sni"), "server name that the client asked for in TLS"),
    "subject": FieldRow(
        H, "text", lambda x: _read_tls_part(x, "client_subject"), "subject of the client's certificate"
    ),
    "connection": FieldRow(H, "number", lambda x: x.connection, "number of the connection"),
    "time": FieldRow(H, "time", lambda x: x.time_ns, "time of the request's first byte"),
    "request_size": FieldRow(H, "size", lambda x: x.request_size, "bytes of the request"),
    "topic": FieldRow(R, "text", _make_entity_field_reader("topicName"), "topics in request or response", "topicName"),
    "group": FieldRow(R, "text", _make_entity_field_reader("groupId"), "consumer groups", "groupId"),
    "txn": FieldRow(R, "text", _make_entity_field_reader("transactionalId"), "transactional ids", "transactionalId"),
    "partition": FieldRow(
        R, "number", partition_numbers, "partitions in request or response", needs=partition_number_paths
    ),
    "records": FieldRow(R, "number", record_count, "how many records are produced or fetched", needs=record_paths),
    "key": FieldRow(
        R, "record_content", record_key_texts, "keys of the records", needs=record_paths, of_record=record_key_text
    ),
    "value": FieldRow(
        R,
        "record_content",
        record_value_texts,
        "values of the records",
        needs=record_paths,
        of_record=record_value_text,
    ),
    "response_size": FieldRow(R, "size", lambda x: x.response_size, "bytes of the response"),
    "size": FieldRow(R, "size", _sizes_of_both_sides, "bytes of either side"),
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
    "side": FieldRow(S, "text", _sides_captured, "sides that the capture has: request, response"),
    "closed": FieldRow(S, "text", lambda x: x.closed, "how the connection ended that left it unanswered"),
    "file": FieldRow(S, "text", lambda x: x.extra and x.extra.get("file"), "file that it was read from"),
    "packet": FieldRow(S, "packet", packet_spans, "packets with its bytes, as Wireshark numbers them: 105, a.pcap:7-9"),
    "point": FieldRow(S, "text", lambda x: x.extra and x.extra.get("point"), "place that it was captured at, live"),
    "client_name": FieldRow(
        S, "text", lambda x: x.extra and x.extra.get("client_name"), "name of the client's address, by --hosts"
    ),
    "broker_name": FieldRow(
        S, "text", lambda x: x.extra and x.extra.get("broker_name"), "name of the broker's address, by --hosts"
    ),
    "network_ms": FieldRow(
        S, "number", lambda x: x.extra and x.extra.get("network_ms"), "time between the points that have seen it"
    ),
    "guessed": FieldRow(
        S, "any", lambda x: bool(x.extra and x.extra.get("guessed")), "whether what a response answers is guessed"
    ),
    "fault": FieldRow(
        S, "text", lambda x: _read_fault_parts(x, "action"), "what a fault of the proxy did to it on purpose"
    ),
    "fault.rule": FieldRow(S, "number", lambda x: _read_fault_parts(x, "rule"), "number of the rule that did it"),
    "fault.hit": FieldRow(
        S, "number", lambda x: _read_fault_parts(x, "hit"), "how many exchanges that rule had hit by then"
    ),
    "refused": FieldRow(
        S, "text", lambda x: _read_refusal_part(x, "by"), "option of the proxy that does not serve such requests"
    ),
    "refused.reason": FieldRow(S, "text", lambda x: _read_refusal_part(x, "reason"), "what the proxy serves instead"),
    "remark": FieldRow(
        S,
        "text",
        lambda x: [each["id"] for each in x.remarks],
        "ids of its remarks: what the protocol forbids and was read all the same",
    ),
    "retransmitted": FieldRow(S, "any", lambda x: x.retransmitted, "whether bytes of it were sent again"),
    "session_topic": FieldRow(
        S, "text", _fetch_session_topics, "topics that an incremental fetch asks for", history=True
    ),
    **{f"{name}.{part}": _make_history_field(name, part) for name, part in _HISTORY},
    "server.listener": _make_server_field("listener", "text", "listener of the broker, by its request log"),
    "server.principal": _make_server_field("principal", "text", "who asked, as the broker names them"),
}
# Other words for fields, and for body fields that are asked for often.
ALIASES: Final = {
    "version": "api_version",
    "errors": "error",
    "topics": "topic",
    "remarks": "remark",
    "partitions": "partition",
    "record": "records",
    "keys": "key",
    "values": "value",
    "transactional_id": "txn",
    "throttle": "response.throttle_time_ms",
    "took": "latency",
}


def _make_metric_field(metric: Metric, name: str) -> FieldRow:
    """The field of a metric of `kw stats` that is no field otherwise, in the metric's unit."""
    text = f"{metric.text}, in {metric.unit}"
    if name.startswith("server."):
        return _make_server_field(name.partition(".")[2], "number", text)

    def get_metric(exchange: Exchange) -> float | None:
        value = metric.measure(exchange)
        return None if value is None else value / metric.per_unit

    return FieldRow(R, "number", get_metric, text, needs=lambda api_key, side: tuple(metric.needs(api_key, side)))


for _name, _metric in METRICS.items():
    _field = _metric.field or _name
    if not _metric.of_records and _field not in FIELDS and _field not in ALIASES:
        FIELDS[_field] = _make_metric_field(_metric, _field)

# `header.NAME`: the values of the headers of this name in the records.
HEADER: Final = "header"


def make_record_header_field(name: str) -> FieldRow:
    """The field for the headers of a name; case counts, as on the wire."""
    text = f"values of the headers {name}"
    of_record = make_record_header_getter(name)
    return FieldRow(R, "record_content", make_header_getter(name), text, needs=record_paths, of_record=of_record)


# `record.PATH`: a field of the records of internal topics.
RECORD: Final = "record"


# `key.PATH`, `value.PATH`: a field of decoded keys and values; other fields about them → kind and text.
DECODED_PARTS: Final = ("key", "value")
DECODED_FIELDS: Final[dict[str, tuple[Kind, str]]] = {
    "key_format": ("text", "form of the keys: avro, protobuf, json …"),
    "value_format": ("text", "form of the values: avro, protobuf, json …"),
    "key_decoded": ("text", "decoded keys, with form and schema, as JSON"),
    "value_decoded": ("text", "decoded values, with form and schema, as JSON"),
    "schema_id": ("any", "ids of the schemas that keys and values name"),
}


BODIES: Final[dict[str, tuple[Side, Phase]]] = {"request": ("request", Q), "response": ("response", R)}
