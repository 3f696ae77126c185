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


def _column(name: str, kind: str, text: str) -> TableColumn:
    return TableColumn(name, kind, False, text)


def _nullable(name: str, kind: str, text: str) -> TableColumn:
    return TableColumn(name, kind, True, text)


def _added_in(since: int, column: TableColumn, absent: str | int | float | None = None) -> TableColumn:
    return column._replace(since=since, absent=absent)


_TYPE_AND_TEXT: Final = re.compile(r"(\S+?)(\?)?(?:@(\d+))? (.+)")


def _parse_column(name: str, said: str) -> TableColumn:
    """The column of an attribute of an exchange (exchange_attribute_schemas.py)."""
    kind, null, since, text = _TYPE_AND_TEXT.fullmatch(said).groups()  # type: ignore[union-attr]  # else a fault of ours
    return TableColumn(name, kind, bool(null), text, int(since or 1))


# Where something was seen: the same columns in every table.
_POINT: Final = _column("point", "string", "capture point, as `--point` names it")
_ADDRESSES: Final = (
    _column("client_ip", "string", "address of the client"),
    _column("client_port", "int32", "port of the client"),
    _column("broker_ip", "string", "address of the broker"),
    _column("broker_port", "int32", "port of the broker"),
)
_BEGAN: Final = _column(
    *("connection_began_ns", "int64"),
    "first packet of the connection: with `point`, `client` and `broker` what identifies it",
)
_SOURCE: Final = _added_in(
    2, _column("source", "string", "`wire`: a capture has it; `log`: a broker's request log"), "wire"
)
# The columns of the attributes of an exchange, by name.
_ATTRIBUTES: Final = {
    name: _parse_column(name, text) for field in EXCHANGE_FIELDS.values() for name, text in field.columns.items()
}
_CLIENT, _BROKER, _NUMBER = (_ATTRIBUTES[name] for name in ("client", "broker", "connection"))
_SOFTWARE: Final = tuple(_ATTRIBUTES[f"client_software_{part}"] for part in ("name", "version"))


def _parse_attribute_columns(*names: str) -> tuple[TableColumn, ...]:
    return tuple(_ATTRIBUTES[name] for name in names)


EXCHANGES: Final[tuple[TableColumn, ...]] = (
    *_parse_attribute_columns("kind", "schema", "time", "time_ns", "request_end_ns", "response_ns", "response_end_ns"),
    *_parse_attribute_columns("latency_ms", "duration_ms"),
    *(_POINT, _CLIENT, _BROKER, *_ADDRESSES, _NUMBER, _BEGAN),
    *_parse_attribute_columns("place", "api_key", "api", "api_version", "correlation_id", "client_id"),
    *_parse_attribute_columns("request_size", "response_size", "status", "reason"),
    *_parse_attribute_columns("error_codes", "error_names", "error_paths", "error_topics", "error_expected"),
    *_parse_attribute_columns("closed", "retransmitted", "envelope"),
    *_parse_attribute_columns("undecoded_side", "undecoded_reason", "undecoded_path", "undecoded_offset"),
    *_parse_attribute_columns("request_layout", "response_layout"),
    *(*_SOFTWARE, *_parse_attribute_columns("user", "mechanism")),
    _column(
        "topics", "list<string>", "topics it is about, each once; the id of one whose name the capture had not shown"
    ),
    *_parse_attribute_columns("topic_ids", "topic_names"),
    _column("groups", "list<string>", "groups it is about, each once"),
    _nullable("batches", "int64", "record batches produced or fetched; null where there are none"),
    _nullable("records", "int64", "records in them"),
    _nullable("record_bytes", "int64", "their bytes on the wire"),
    _nullable("throttle_time_ms", "int64", "how long the broker had the client wait; null where it did not"),
    _nullable("max_wait_ms", "int64", "of a fetch: how long the broker may wait for records"),
    _nullable("min_bytes", "int64", "of a fetch: for how many bytes of them"),
    _nullable(
        "waited_ns",
        "int64",
        "latency of what waited: a fetch for records in vain (inferred), a member for its group",
    ),
    *_parse_attribute_columns("fetch_session_id", "fetch_session_epoch", "fetch_session_incremental"),
    _column("source_file", "string", "capture with the first packet (of the request, or of a response without one)"),
    *_parse_attribute_columns("request_packet", "request_packet_end"),
    _nullable("request_end_file", "string", "where that is another file than `source_file`: its name"),
    *_parse_attribute_columns("response_packet"),
    _nullable("response_file", "string", "where that is another file than `source_file`: its name"),
    *_parse_attribute_columns("response_packet_end"),
    _nullable("response_end_file", "string", "where that is another file than `source_file`: its name"),
    *_parse_attribute_columns("request_body", "response_body"),
    _nullable(
        *("further_keys", "string"),
        "what else the exchange record says (`tls`, `undecoded`, `envelope` …), as JSON; only with `--bodies`",
    ),
    _SOURCE,
    *sorted((column for column in _ATTRIBUTES.values() if column.since > 1), key=attrgetter("since")),
)

# One row for each topic and partition that an exchange names; its first columns are those of the exchange.
TOPIC_PARTITIONS: Final[tuple[TableColumn, ...]] = (
    _column("time", "timestamp", "`time` of the exchange"),
    _column("time_ns", "int64", "`time_ns` of the exchange"),
    _POINT,
    _CLIENT,
    _BROKER,
    _BEGAN,
    _column("place", "int64", "`place` of the exchange: with the connection it identifies it"),
    _nullable("api_key", "int32", "number of the API"),
    _nullable("api", "string", "name of the API"),
    _nullable("api_version", "int32", "version of the request"),
    _nullable("client_id", "string", "client id"),
    _SOURCE,
    _nullable("topic", "string", "topic; null where only its id is known"),
    _nullable("topic_id", "string", "topic id, where the messages have it"),
    _column("partition", "int32", "partition"),
    _column("side", "string", "which of the messages names it: `request`, `response` or `both`"),
    _nullable("group", "string", "group, where the message is about one"),
    _nullable(
        "error_code", "int32", "error code of the partition in the response, 0 where all is well; null without one"
    ),
    _nullable("error", "string", "its name; null where it is 0"),
    _nullable(
        *("offset", "int64"),
        "Produce, ListOffsets, OffsetFetch, OffsetForLeaderEpoch: what the response says; else what the request says",
    ),
    _nullable("high_watermark", "int64", "of a fetch: high watermark in the response"),
    _nullable("batches", "int64", "record batches produced or fetched; null where the API carries none"),
    _nullable("records", "int64", "records in them"),
    _nullable("bytes", "int64", "their bytes on the wire"),
    _nullable("codec", "string", "their codecs, `none gzip snappy lz4 zstd`, with commas where there are several"),
    _nullable("magic", "string", "their formats, `0`, `1`, `2`, with commas where there are several"),
)

_ENDS: Final = (
    _added_in(
        3,
        _nullable(
            "client_quiet_ns", "int64", "how long the client had sent nothing when it reset the connection, else 0"
        ),
    ),
    _added_in(3, _nullable("server_quiet_ns", "int64", "the same of the broker")),
    _added_in(3, _nullable("client_shut_ns", "int64", "how long in all the client took nothing: its window was 0")),
    _added_in(3, _nullable("server_shut_ns", "int64", "the same of the broker")),
)

CONNECTIONS: Final[tuple[TableColumn, ...]] = (
    _column("time", "timestamp", "first packet"),
    _column("time_ns", "int64", "the same in nanoseconds since 1970"),
    _column("last_ns", "int64", "last packet"),
    _POINT,
    _column("client", "string", "client, or who spoke first of a connection that is not Kafka, `host:port`"),
    _column("broker", "string", "the other side, `host:port`"),
    *_ADDRESSES,
    _NUMBER,
    _BEGAN,
    _column("kafka", "bool", "whether it carries Kafka"),
    _nullable(
        "reason", "string", "what else it carries: `tls`, `not_kafka`; `one_direction`: only answers of a broker"
    ),
    _nullable("detail", "string", "the same in words; of Kafka, what its bytes are that are no frame"),
    _column("opened", "bool", "whether the capture has its SYN, and it came before the first bytes"),
    _column("closed", "string", "how it ended: `fin`, `rst`, `idle`, `capture_end`"),
    _column("client_packets", "int64", "packets of the client"),
    _column("server_packets", "int64", "packets of the broker"),
    _column("client_bytes", "int64", "bytes that the client sent, missing ones included"),
    _column("server_bytes", "int64", "bytes that the broker sent, missing ones included"),
    _column("client_gaps", "int64", "gaps in what the client sent"),
    _column("server_gaps", "int64", "gaps in what the broker sent"),
    _column("client_missing", "int64", "bytes in those of the client"),
    _column("server_missing", "int64", "bytes in those of the broker"),
    _column("client_retransmissions", "int64", "segments that the client sent again"),
    _column("server_retransmissions", "int64", "segments that the broker sent again"),
    *_ENDS,
    _nullable("client_id", "string", "last client id"),
    *_SOFTWARE,
    _nullable("user", "string", "user who had logged in last by SASL, else the subject of the client's certificate"),
    _nullable("mechanism", "string", "SASL mechanism of that login"),
    _column("exchanges", "int64", "exchanges on it"),
    _ATTRIBUTES["via_address"],
)

SKIPPED: Final[tuple[TableColumn, ...]] = (
    _column("kind", "string", "`skipped`"),
    _column("schema", "int32", "version of the record"),
    _column("time", "timestamp", "its first byte"),
    _column("time_ns", "int64", "the same in nanoseconds since 1970"),
    _POINT,
    _CLIENT,
    _BROKER,
    *_ADDRESSES,
    _NUMBER,
    _BEGAN,
    _nullable("direction", "string", "`request` or `response`; null for a whole connection"),
    _column("size", "int64", "bytes, those that are not in the capture included"),
    _column(
        "reason",
        "string",
        "`lost`, `midstream`, `garbage`, `oversized`, `encrypted`, `not_kafka`, `one_direction`, `tls`, `copy` …",
    ),
    _column("detail", "string", "the same in words"),
)

# One row for each finding of a watch with --doctor, and one more where it has got worse or much more frequent.
FINDINGS: Final[tuple[TableColumn, ...]] = (
    _column("kind", "string", "`finding`"),
    _column("schema", "int32", "version of the record of a finding"),
    _column(
        "time", "timestamp", "the last exchange that shows it so far; the beginning of the date where there is none"
    ),
    _column("time_ns", "int64", "the same in nanoseconds since 1970"),
    _column("batch", "int64", "batch of the watch that has it: of rows of one finding and date the last one counts"),
    _column("id", "string", "kind of the finding; `kw help doctor` lists them"),
    _column("severity", "string", "`error`, `warning` or `note`"),
    _column("title", "string", "what was found, in one line"),
    _column("count", "int64", "exchanges of that date that show it"),
    _nullable("first_ns", "int64", "time of the first of them; null where the findings themselves are incomplete"),
    _nullable("last_ns", "int64", "time of the last of them"),
    _nullable("client_id", "string", "the client that it is about"),
    _nullable("clients", "list<string>", "clients, or hosts, that met it, most often first, at most 20"),
    _nullable("topic", "string", "the topic"),
    _nullable("topics", "list<string>", "several of them"),
    _nullable("partition", "int32", "the partition"),
    _nullable("partitions", "list<int32>", "several of them, at most 20"),
    _nullable("group", "string", "the group"),
    _nullable("transactional_id", "string", "the transactional id"),
    _nullable("broker", "string", "the broker, `host:port`"),
    _nullable("node_id", "int32", "number of the broker"),
    _nullable("address", "string", "what is advertised, `host:port`"),
    _nullable("api", "string", "the API, where it is one"),
    _nullable("api_version", "int32", "its version"),
    _nullable("error", "string", "name of the error code"),
    _nullable(
        "went_on", "bool", "true where the same client had success with the same afterwards, and the error stayed away"
    ),
    _nullable("nearest_topic", "string", "a topic that may have been meant"),
    _nullable("reasons", "list<string>", "what members gave as reasons"),
    _nullable("users", "list<string>", "who had logged in as, most often first, at most 20"),
    _column("evidence", "string", "the earliest exchanges that show it, as JSON: the list of `kw doctor -o ndjson`"),
    _column("meaning", "string", "what it means"),
    _column("remedy", "string", "what to do"),
)

# The view `records` of `kw sql`: one row for each record of a topic. It is made for a query, and never kept: it is none
# of the tables below.
RECORDS: Final[tuple[TableColumn, ...]] = (
    _nullable("topic", "string", "topic; the id of one whose name is not known"),
    _column("partition", "int32", "partition"),
    _nullable("offset", "int64", "offset; of a produced record what the answer makes it, null without one"),
    _nullable("time", "timestamp", "the record's own time; null where it has none"),
    _nullable("key", "string", "key; bytes as the JSON that a record of an exchange has"),
    _nullable("value", "string", "value, in the same form"),
    _column("headers", "json", "headers, a list of `key` and `value`"),
    _nullable("format", "string", "form of the value: `avro`, `json` …; null where none is known"),
    _nullable("schema_id", "string", "id or GUID of the schema that the value names"),
    _nullable("key_decoded", "json", "the decoded key, as in a record of an exchange"),
    _nullable("value_decoded", "json", "the decoded value, in the same form"),
    _column("api", "string", "`Produce`, `Fetch` or `ShareFetch`: a record that is written and read has a row of each"),
    _nullable("client_id", "string", "client id of who wrote or read it"),
    _column("client", "string", "client, `host:port`"),
    _column("broker", "string", "broker, `host:port`"),
    _column("source_file", "string", "capture with the first packet of the exchange"),
    _nullable("request_packet", "int64", "first packet of the request"),
    _nullable("response_packet", "int64", "first packet of the response"),
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
