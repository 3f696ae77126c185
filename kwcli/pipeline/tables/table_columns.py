"""The tables that the pipeline writes: name, type, nullability and meaning of every column, in their order.

`kw help tables` prints them; arrow_schemas.py makes Arrow schemas of them. Times are of the capture, `_ns` in
nanoseconds since 1970. The names of types are those of schemas.TYPES. Columns of `exchanges` that are attributes of an
exchange stand in the table of these (decoders/exchanges/exchange_attribute_schemas.py); those of a later version come
here by themselves.

Tables outlive the kw that wrote them. A column that is added names the version of the tables that has it first, the one
after `TABLES_VERSION` so far, and its value in the rows of files that were written before: see upgrade_table_rows.py.
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Final

from decoders.exchanges.exchange_attribute_schemas import EXCHANGE_FIELDS
from decoders.named_tuple import NamedTuple
from kwcli.pipeline.tables import TABLE_NAMES


class TableColumn(NamedTuple):
    """One column; `null` says whether it may be null, and the meaning says when it is.

    `since` is the version of the tables that has it first; `absent` its value in rows of older files, None for null.
    """

    name: str
    type: str
    null: bool
    text: str
    since: int = 1
    absent: str | int | float | None = None


def _declare_column(name: str, kind: str, text: str) -> TableColumn:
    return TableColumn(name, kind, False, text)


def _declare_nullable_column(name: str, kind: str, text: str) -> TableColumn:
    return TableColumn(name, kind, True, text)


def _mark_column_as_added_in(since: int, column: TableColumn, absent: str | int | float | None = None) -> TableColumn:
    return column._replace(since=since, absent=absent)


_TYPE_AND_TEXT: Final = re.compile(r"(\S+?)(\?)?(?:@(\d+))? (.+)")


def _make_column_of_attribute(name: str, said: str) -> TableColumn:
    """The column of an attribute of an exchange (exchange_attribute_schemas.py)."""
    kind, null, since, text = _TYPE_AND_TEXT.fullmatch(said).groups()  # type: ignore[union-attr]  # else a fault of ours
    return TableColumn(name, kind, bool(null), text, int(since or 1))


# Where something was seen: the same columns in every table.
_POINT: Final = _declare_column("point", "string", "capture point, as `--point` names it")
_ADDRESSES: Final = (
    _declare_column("client_ip", "string", "address of the client"),
    _declare_column("client_port", "int32", "port of the client"),
    _declare_column("broker_ip", "string", "address of the broker"),
    _declare_column("broker_port", "int32", "port of the broker"),
)
_BEGAN: Final = _declare_column(
    *("connection_began_ns", "int64"),
    "first packet of the connection: with `point`, `client` and `broker` what identifies it",
)
_SOURCE: Final = _mark_column_as_added_in(
    2, _declare_column("source", "string", "`wire`: a capture has it; `log`: a broker's request log"), "wire"
)
# The columns of the attributes of an exchange, by name.
_ATTRIBUTES: Final = {
    name: _make_column_of_attribute(name, text)
    for field in EXCHANGE_FIELDS.values()
    for name, text in field.columns.items()
}
_CLIENT, _BROKER, _NUMBER = (_ATTRIBUTES[name] for name in ("client", "broker", "connection"))
_SOFTWARE: Final = tuple(_ATTRIBUTES[f"client_software_{part}"] for part in ("name", "version"))


def _get_columns_of_attributes(*names: str) -> tuple[TableColumn, ...]:
    return tuple(_ATTRIBUTES[name] for name in names)


EXCHANGES: Final[tuple[TableColumn, ...]] = (
    *_get_columns_of_attributes(
        "kind", "schema", "time", "time_ns", "request_end_ns", "response_ns", "response_end_ns"
    ),
    *_get_columns_of_attributes("latency_ms", "duration_ms"),
    *(_POINT, _CLIENT, _BROKER, *_ADDRESSES, _NUMBER, _BEGAN),
    *_get_columns_of_attributes("place", "api_key", "api", "api_version", "correlation_id", "client_id"),
    *_get_columns_of_attributes("request_size", "response_size", "status", "reason"),
    *_get_columns_of_attributes("error_codes", "error_names", "error_paths", "error_topics", "error_expected"),
    *_get_columns_of_attributes("closed", "retransmitted", "envelope"),
    *_get_columns_of_attributes("undecoded_side", "undecoded_reason", "undecoded_path", "undecoded_offset"),
    *_get_columns_of_attributes("request_layout", "response_layout"),
    *(*_SOFTWARE, *_get_columns_of_attributes("user", "mechanism")),
    _declare_column(
        "topics", "list<string>", "topics it is about, each once; the id of one whose name the capture had not shown"
    ),
    *_get_columns_of_attributes("topic_ids", "topic_names"),
    _declare_column("groups", "list<string>", "groups it is about, each once"),
    _declare_nullable_column("batches", "int64", "record batches produced or fetched; null where there are none"),
    _declare_nullable_column("records", "int64", "records in them"),
    _declare_nullable_column("record_bytes", "int64", "their bytes on the wire"),
    _declare_nullable_column(
        "throttle_time_ms", "int64", "how long the broker had the client wait; null where it did not"
    ),
    _declare_nullable_column("max_wait_ms", "int64", "of a fetch: how long the broker may wait for records"),
    _declare_nullable_column("min_bytes", "int64", "of a fetch: for how many bytes of them"),
    _declare_nullable_column(
        "waited_ns",
        "int64",
        "latency of what waited: a fetch for records in vain (inferred), a member for its group",
    ),
    *_get_columns_of_attributes("fetch_session_id", "fetch_session_epoch", "fetch_session_incremental"),
    _declare_column(
        "source_file", "string", "capture with the first packet (of the request, or of a response without one)"
    ),
    *_get_columns_of_attributes("request_packet", "request_packet_end"),
    _declare_nullable_column("request_end_file", "string", "where that is another file than `source_file`: its name"),
    *_get_columns_of_attributes("response_packet"),
    _declare_nullable_column("response_file", "string", "where that is another file than `source_file`: its name"),
    *_get_columns_of_attributes("response_packet_end"),
    _declare_nullable_column("response_end_file", "string", "where that is another file than `source_file`: its name"),
    *_get_columns_of_attributes("request_body", "response_body"),
    _declare_nullable_column(
        *("further_keys", "string"),
        "what else the exchange record says (`tls`, `undecoded`, `envelope` …), as JSON; only with `--bodies`",
    ),
    _SOURCE,
    *sorted((column for column in _ATTRIBUTES.values() if column.since > 1), key=attrgetter("since")),
)

# One row for each topic and partition that an exchange names; its first columns are those of the exchange.
TOPIC_PARTITIONS: Final[tuple[TableColumn, ...]] = (
    _declare_column("time", "timestamp", "`time` of the exchange"),
    _declare_column("time_ns", "int64", "`time_ns` of the exchange"),
    _POINT,
    _CLIENT,
    _BROKER,
    _BEGAN,
    _declare_column("place", "int64", "`place` of the exchange: with the connection it identifies it"),
    _declare_nullable_column("api_key", "int32", "number of the API"),
    _declare_nullable_column("api", "string", "name of the API"),
    _declare_nullable_column("api_version", "int32", "version of the request"),
    _declare_nullable_column("client_id", "string", "client id"),
    _SOURCE,
    _declare_nullable_column("topic", "string", "topic; null where only its id is known"),
    _declare_nullable_column("topic_id", "string", "topic id, where the messages have it"),
    _declare_column("partition", "int32", "partition"),
    _declare_column("side", "string", "which of the messages names it: `request`, `response` or `both`"),
    _declare_nullable_column("group", "string", "group, where the message is about one"),
    _declare_nullable_column(
        "error_code", "int32", "error code of the partition in the response, 0 where all is well; null without one"
    ),
    _declare_nullable_column("error", "string", "its name; null where it is 0"),
    _declare_nullable_column(
        *("offset", "int64"),
        "Produce, ListOffsets, OffsetFetch, OffsetForLeaderEpoch: what the response says; else what the request says",
    ),
    _declare_nullable_column("high_watermark", "int64", "of a fetch: high watermark in the response"),
    _declare_nullable_column("batches", "int64", "record batches produced or fetched; null where the API carries none"),
    _declare_nullable_column("records", "int64", "records in them"),
    _declare_nullable_column("bytes", "int64", "their bytes on the wire"),
    _declare_nullable_column(
        "codec", "string", "their codecs, `none gzip snappy lz4 zstd`, with commas where there are several"
    ),
    _declare_nullable_column("magic", "string", "their formats, `0`, `1`, `2`, with commas where there are several"),
)

_ENDS: Final = (
    _mark_column_as_added_in(
        3,
        _declare_nullable_column(
            "client_quiet_ns", "int64", "how long the client had sent nothing when it reset the connection, else 0"
        ),
    ),
    _mark_column_as_added_in(3, _declare_nullable_column("server_quiet_ns", "int64", "the same of the broker")),
    _mark_column_as_added_in(
        3,
        _declare_nullable_column(
            "client_shut_ns", "int64", "how long in all the client took nothing: its window was 0"
        ),
    ),
    _mark_column_as_added_in(3, _declare_nullable_column("server_shut_ns", "int64", "the same of the broker")),
)

CONNECTIONS: Final[tuple[TableColumn, ...]] = (
    _declare_column("time", "timestamp", "first packet"),
    _declare_column("time_ns", "int64", "the same in nanoseconds since 1970"),
    _declare_column("last_ns", "int64", "last packet"),
    _POINT,
    _declare_column("client", "string", "client, or who spoke first of a connection that is not Kafka, `host:port`"),
    _declare_column("broker", "string", "the other side, `host:port`"),
    *_ADDRESSES,
    _NUMBER,
    _BEGAN,
    _declare_column("kafka", "bool", "whether it carries Kafka"),
    _declare_nullable_column(
        "reason", "string", "what else it carries: `tls`, `not_kafka`; `one_direction`: only answers of a broker"
    ),
    _declare_nullable_column("detail", "string", "the same in words; of Kafka, what its bytes are that are no frame"),
    _declare_column("opened", "bool", "whether the capture has its SYN, and it came before the first bytes"),
    _declare_column("closed", "string", "how it ended: `fin`, `rst`, `idle`, `capture_end`"),
    _declare_column("client_packets", "int64", "packets of the client"),
    _declare_column("server_packets", "int64", "packets of the broker"),
    _declare_column("client_bytes", "int64", "bytes that the client sent, missing ones included"),
    _declare_column("server_bytes", "int64", "bytes that the broker sent, missing ones included"),
    _declare_column("client_gaps", "int64", "gaps in what the client sent"),
    _declare_column("server_gaps", "int64", "gaps in what the broker sent"),
    _declare_column("client_missing", "int64", "bytes in those of the client"),
    _declare_column("server_missing", "int64", "bytes in those of the broker"),
    _declare_column("client_retransmissions", "int64", "segments that the client sent again"),
    _declare_column("server_retransmissions", "int64", "segments that the broker sent again"),
    *_ENDS,
    _declare_nullable_column("client_id", "string", "last client id"),
    *_SOFTWARE,
    _declare_nullable_column(
        "user", "string", "user who had logged in last by SASL, else the subject of the client's certificate"
    ),
    _declare_nullable_column("mechanism", "string", "SASL mechanism of that login"),
    _declare_column("exchanges", "int64", "exchanges on it"),
    _ATTRIBUTES["via_address"],
)

SKIPPED: Final[tuple[TableColumn, ...]] = (
    _declare_column("kind", "string", "`skipped`"),
    _declare_column("schema", "int32", "version of the record"),
    _declare_column("time", "timestamp", "its first byte"),
    _declare_column("time_ns", "int64", "the same in nanoseconds since 1970"),
    _POINT,
    _CLIENT,
    _BROKER,
    *_ADDRESSES,
    _NUMBER,
    _BEGAN,
    _declare_nullable_column("direction", "string", "`request` or `response`; null for a whole connection"),
    _declare_column("size", "int64", "bytes, those that are not in the capture included"),
    _declare_column(
        "reason",
        "string",
        "`lost`, `midstream`, `garbage`, `oversized`, `encrypted`, `not_kafka`, `one_direction`, `tls`, `copy` …",
    ),
    _declare_column("detail", "string", "the same in words"),
)

# One row for each finding of a watch with --doctor, and one more where it has got worse or much more frequent.
FINDINGS: Final[tuple[TableColumn, ...]] = (
    _declare_column("kind", "string", "`finding`"),
    _declare_column("schema", "int32", "version of the record of a finding"),
    _declare_column(
        "time", "timestamp", "the last exchange that shows it so far; the beginning of the date where there is none"
    ),
    _declare_column("time_ns", "int64", "the same in nanoseconds since 1970"),
    _declare_column(
        "batch", "int64", "batch of the watch that has it: of rows of one finding and date the last one counts"
    ),
    _declare_column("id", "string", "kind of the finding; `kw help doctor` lists them"),
    _declare_column("severity", "string", "`error`, `warning` or `note`"),
    _declare_column("title", "string", "what was found, in one line"),
    _declare_column("count", "int64", "exchanges of that date that show it"),
    _declare_nullable_column(
        "first_ns", "int64", "time of the first of them; null where the findings themselves are incomplete"
    ),
    _declare_nullable_column("last_ns", "int64", "time of the last of them"),
    _declare_nullable_column("client_id", "string", "the client that it is about"),
    _declare_nullable_column("clients", "list<string>", "clients, or hosts, that met it, most often first, at most 20"),
    _declare_nullable_column("topic", "string", "the topic"),
    _declare_nullable_column("topics", "list<string>", "several of them"),
    _declare_nullable_column("partition", "int32", "the partition"),
    _declare_nullable_column("partitions", "list<int32>", "several of them, at most 20"),
    _declare_nullable_column("group", "string", "the group"),
    _declare_nullable_column("transactional_id", "string", "the transactional id"),
    _declare_nullable_column("broker", "string", "the broker, `host:port`"),
    _declare_nullable_column("node_id", "int32", "number of the broker"),
    _declare_nullable_column("address", "string", "what is advertised, `host:port`"),
    _declare_nullable_column("api", "string", "the API, where it is one"),
    _declare_nullable_column("api_version", "int32", "its version"),
    _declare_nullable_column("error", "string", "name of the error code"),
    _declare_nullable_column(
        "went_on", "bool", "true where the same client had success with the same afterwards, and the error stayed away"
    ),
    _declare_nullable_column("nearest_topic", "string", "a topic that may have been meant"),
    _declare_nullable_column("reasons", "list<string>", "what members gave as reasons"),
    _declare_nullable_column("users", "list<string>", "who had logged in as, most often first, at most 20"),
    _declare_column(
        "evidence", "string", "the earliest exchanges that show it, as JSON: the list of `kw doctor -o ndjson`"
    ),
    _declare_column("meaning", "string", "what it means"),
    _declare_column("remedy", "string", "what to do"),
)

# The view `records` of `kw sql`: one row for each record of a topic. It is made for a query, and never kept: it is none
# of the tables below.
RECORDS: Final[tuple[TableColumn, ...]] = (
    _declare_nullable_column("topic", "string", "topic; the id of one whose name is not known"),
    _declare_column("partition", "int32", "partition"),
    _declare_nullable_column(
        "offset", "int64", "offset; of a produced record what the answer makes it, null without one"
    ),
    _declare_nullable_column("time", "timestamp", "the record's own time; null where it has none"),
    _declare_nullable_column("key", "string", "key; bytes as the JSON that a record of an exchange has"),
    _declare_nullable_column("value", "string", "value, in the same form"),
    _declare_column("headers", "json", "headers, a list of `key` and `value`"),
    _declare_nullable_column("format", "string", "form of the value: `avro`, `json` …; null where none is known"),
    _declare_nullable_column("schema_id", "string", "id or GUID of the schema that the value names"),
    _declare_nullable_column("key_decoded", "json", "the decoded key, as in a record of an exchange"),
    _declare_nullable_column("value_decoded", "json", "the decoded value, in the same form"),
    _declare_column(
        "api", "string", "`Produce`, `Fetch` or `ShareFetch`: a record that is written and read has a row of each"
    ),
    _declare_nullable_column("client_id", "string", "client id of who wrote or read it"),
    _declare_column("client", "string", "client, `host:port`"),
    _declare_column("broker", "string", "broker, `host:port`"),
    _declare_column("source_file", "string", "capture with the first packet of the exchange"),
    _declare_nullable_column("request_packet", "int64", "first packet of the request"),
    _declare_nullable_column("response_packet", "int64", "first packet of the response"),
)
RECORDS_MEANING: Final = "one row for each record of a topic, with decoded keys and values"

# Tables that are decoded from captures, and all tables that a folder may have.
TABLES: Final[dict[str, tuple[TableColumn, ...]]] = dict(
    zip(TABLE_NAMES, (EXCHANGES, TOPIC_PARTITIONS, CONNECTIONS, SKIPPED), strict=True)
)
ALL_TABLES: Final[dict[str, tuple[TableColumn, ...]]] = {**TABLES, "findings": FINDINGS}
# What a query of kw sql may name: the tables, and the view that is made of their bodies.
COLUMNS_OF_QUERIES: Final = {**ALL_TABLES, "records": RECORDS}
# The version of the tables that are written.
TABLES_VERSION: Final = max(column.since for columns in ALL_TABLES.values() for column in columns)
MEANINGS: Final[dict[str, str]] = {
    "exchanges": "one row for each exchange: the exchange record, flat",
    "topic_partitions": "one row for each topic and partition that an exchange names",
    "connections": "one row for each connection, also of those that are not Kafka",
    "skipped": "one row for each run of bytes that is no exchange",
    "findings": "what kw pipeline watch --doctor found, by date; anew when it got worse or more frequent",
}
