"""What each attribute of an exchange looks like: its part of the JSON Schema, its columns, its word in filters.

The published schema, the paths of columns and filters, completion and the tables of the pipeline are made from it, so
the commands that decode do not load it. Which attributes there are says decoders/exchanges/exchange_attribute_table.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from decoders.exchanges.exchange_attribute_table import EXCHANGE_ATTRIBUTES
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.exchange_remarks import REMARKS
from decoders.wire.primitive_types import RANGES

__all__ = ["EXCHANGE_FIELDS", "SERVER_TIMES", "SHAPES", "ExchangeField", "Shape", "names_below_key"]

# A JSON Schema.
Shape = Mapping[str, Any]


class ExchangeField(NamedTuple):
    """What an attribute looks like. `shape` is that of its value in the record, None where it is no key of it.

    `columns` are those of the table `exchanges` that have its value, or a part each: name → `TYPE`, `?` where it may be
    null, `@VERSION` of the tables that has it first, meaning. `word`: its name in filters, statistics and columns of
    output, where that is another.
    """

    shape: Shape | None
    columns: Mapping[str, str]
    word: str


# Shapes of values. Those with `$ref` are defined in record.schema.json.


def _ref_to_definition(name: str) -> Shape:
    return {"$ref": f"#/$defs/{name}"}


def _integer_schema(low: int, high: int) -> Shape:
    return {"type": "integer", "minimum": low, "maximum": high}


def _nullable_schema(shape: Shape) -> Shape:
    return {**shape, "type": [shape["type"], "null"]} if "type" in shape else {"anyOf": [shape, {"type": "null"}]}


def _with_description(text: str, shape: Shape) -> Shape:
    return {"description": text, **shape}


def _object_schema(properties: Mapping[str, Shape], *optional: str) -> Shape:
    """An object with these keys and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _optional_keys_schema(properties: Mapping[str, Shape]) -> Shape:
    """An object with one or more of these keys."""
    return {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": properties}


def _any_keys_schema(values: Shape) -> Shape:
    """An object with any keys."""
    return {"type": "object", "minProperties": 1, "additionalProperties": values}


_INT16, _INT32, _INT64 = (_integer_schema(*RANGES[kind]) for kind in ("int16", "int32", "int64"))
_MOST: Final = RANGES["int64"][1]
_SIZE: Final = _nullable_schema(_integer_schema(0, RANGES["int32"][1]))
_COUNT: Final = _integer_schema(1, _MOST)
_MS: Final = {"type": ["number", "null"], "minimum": -(_MOST // 10**6), "maximum": _MOST // 10**6}
_FLAG: Final = {"const": True}
_BOOL: Final = {"type": "boolean"}
_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = _nullable_schema(_TEXT)
# Text of the wire, which is no UTF-8 at times.
_NAME: Final = {"anyOf": [_TEXT, _ref_to_definition("base64")]}
_NAME_OR_NULL: Final = {"anyOf": [_TEXT_OR_NULL, _ref_to_definition("base64")]}
_TIME: Final = _ref_to_definition("time")
_BODY: Final = _ref_to_definition("body")
_ADDRESS: Final = _with_description(
    "null only of a request that was not sent (kw call --dry-run)", _nullable_schema(_ref_to_definition("address"))
)
_RELEASE: Final = {"type": ["string", "null"], "pattern": r"^\d{1,9}(\.\d{1,9}){0,3}$"}
_STATUS: Final = {
    "enum": ["complete", "not_sent", "no_response_expected", "unanswered", "orphan_response", "token", "undecoded"]
}
_ERRORS: Final = {
    "type": "array",
    "items": _object_schema({"path": _TEXT, "code": _INT16, "name": _TEXT, "expected": _FLAG}, "expected"),
}
_SPAN: Final = {"anyOf": [{"type": "null"}, {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2}]}
_PACKETS: Final = _object_schema({"request": _SPAN, "response": _SPAN})
_HIT: Final = {"rule": _integer_schema(0, _MOST), "action": _TEXT, "hit": _COUNT}
_HITS: Final = {"type": "array", "minItems": 1, "items": {"type": "object", "required": [*_HIT], "properties": _HIT}}
_RULE: Final = _with_description("number of the rule; 0: a script, or a person at the control interface", _HIT["rule"])
_SHOWN: Final = {"description": "a value of the field; a short form of what is missing or more"}
_DIFFERENCE: Final = _object_schema(
    {
        **dict.fromkeys(("path", "about"), _TEXT),
        "kind": {"enum": ["ids", "error", "value", "missing", "extra"]},
        **dict.fromkeys(("recorded", "new"), _SHOWN),
    }
)
_RECORDED: Final = _object_schema(
    {
        "time": _TIME,
        "client": _ADDRESS,
        "broker": _ADDRESS,
        "connection": _COUNT,
        "api_version": _nullable_schema(_INT16),
        "correlation_id": _nullable_schema(_INT32),
        "latency_ms": _MS,
        "status": _STATUS,
        "errors": _ERRORS,
        "packets": _PACKETS,
    }
)
_COMPARISON: Final = _object_schema(
    {
        "verdict": {"enum": ["same", "other_ids", "different", "refused", "uncompared", None]},
        "class": {"enum": ["read", "data", "admin", "never"]},
        "reason": _with_description("why it was not asked, in a word", _TEXT_OR_NULL),
        "text": _with_description("the same in a sentence, or why there is no answer", _TEXT_OR_NULL),
        "recorded": _with_description("of the recorded exchange, under the names that it has in its record", _RECORDED),
        "differences": {"type": "array", "items": _DIFFERENCE},
        "differences_cut": _with_description("how many more there are", _COUNT),
        "shares": _with_description(
            "nodes that got a share of it, where these were several", _integer_schema(2, _MOST)
        ),
    },
    *("differences_cut", "shares"),
)
_PARTITIONS: Final = _with_description(
    "of an incremental fetch: all partitions that it asks for, by topic (its id while its name is not known; a name"
    " that is no readable text as the text of its base64 form)",
    {"type": "object", "additionalProperties": {"type": "array", "items": _INT32}},
)
_SASL: Final[Shape] = {
    **dict.fromkeys(("step", "answer"), _TEXT),
    **dict.fromkeys(("acting_as", "token_id", "realm", "service"), _NAME),
    "iterations": _integer_schema(0, RANGES["int32"][1]),
    "algorithm": _TEXT,
    "refusal": _NAME,
    "expires": _TIME,
}
_WORDS: Final = _any_keys_schema({"type": ["string", "array"], "items": _TEXT_OR_NULL})
# Times in a request log: how long a request was in each part of the broker. The columns are named `server_…`.
SERVER_TIMES: Final = {
    "total_ms": "of a request log: from the request's arrival to the end of its answer; else null",
    "request_queue_ms": "of it: waiting for a thread that handles requests",
    "local_ms": "handled by the broker itself",
    "remote_ms": "waiting for others: followers, records, members of a group",
    "throttle_ms": "held back by a quota",
    "response_queue_ms": "waiting for a thread that sends answers",
    "send_ms": "being sent",
}

# Attribute → shape; columns, or the text of one of the attribute's name; word. The engine's own attributes have no row.
_ROWS: Final[dict[str, tuple[Any, ...]]] = {
    "kind": ({"const": "exchange"}, "string `exchange`"),
    "schema": ({"const": 1}, "int32 version of the exchange record"),
    "time": (_TIME, "timestamp first byte of the request; of the response where there is no request"),
    "latency_ms": (_MS, "double? last byte of the request to first byte of the response", "latency"),
    "duration_ms": (_MS, "double? first byte of the request to last byte of the response", "duration"),
    "client": (_ADDRESS, "string client, `host:port`", "address"),
    "broker": (_ADDRESS, "string broker, `host:port`"),
    "connection": (
        _COUNT,
        "int64? number of the connection for people, in order of appearance; null where the capture was read in parts",
    ),
    "api_key": (
        _nullable_schema(_INT16),
        "int32? number of the API; null for a SASL token and a response without its request",
    ),
    "api": (_TEXT_OR_NULL, "string? name of the API"),
    "api_version": (_nullable_schema(_INT16), "int32? version of the request", "version"),
    "correlation_id": (_nullable_schema(_INT32), "int32? correlation id"),
    "client_id": (_NAME_OR_NULL, "string? client id"),
    "client_software": (
        _object_schema({"name": _NAME, "version": _NAME}),
        {
            "client_software_name": "string? library of the client, as it says itself",
            "client_software_version": "string? its version",
        },
        "software",
    ),
    "user": (
        _with_description(
            "who asked: the user who had logged in by SASL; of a step of a login whoever it is about; without SASL the"
            " subject of the client's certificate, where TLS was decrypted",
            _NAME,
        ),
        "string? user who had logged in by SASL, else the subject of the client's certificate",
    ),
    "mechanism": (_with_description("the SASL mechanism of that login", _NAME), "string? SASL mechanism of the login"),
    "place": (None, "int64 place of the request's first byte in what its client sent: with the connection, the row"),
    "time_ns": (None, "int64 the same in nanoseconds since 1970"),
    "request_end_ns": (None, "int64? last byte of the request"),
    "request_packet": (None, "int64? first packet of the request, counted in `source_file` as Wireshark does"),
    "request_packet_end": (None, "int64? its last packet, counted in `request_end_file`"),
    "request_size": (_SIZE, "int64? size field of the request"),
    "response_ns": (None, "int64? first byte of the response"),
    "response_end_ns": (None, "int64? last byte of the response"),
    "response_packet": (None, "int64? first packet of the response, counted in `response_file`"),
    "response_packet_end": (None, "int64? last packet of the response, counted in `response_end_file`"),
    "response_size": (_SIZE, "int64? size field of the response"),
    "status": (
        _STATUS,
        "string `complete`, `no_response_expected`, `unanswered`, `orphan_response`, `token` or `undecoded`",
    ),
    "reason": (_TEXT_OR_NULL, "string? why, where the status needs one"),
    "errors": (
        _ERRORS,
        {
            "error_codes": "list<int32> error codes of the response that are not 0",
            "error_names": "list<string> their names",
            "error_paths": "list<string> their places in the response, `topics[0].error_code`",
            "error_topics": "list<string> the topics they are about; null for one that is about none",
            "error_expected": "list<bool> whether the protocol means them so: such count as errors nowhere",
        },
        "error",
    ),
    "request": (_BODY, {"request_body": "string? the request as JSON, secrets redacted; only with `--bodies`"}),
    "response": (_BODY, {"response_body": "string? the response as JSON, secrets redacted; only with `--bodies`"}),
    "packets": (_PACKETS,),
    "topic_names": (
        {**_any_keys_schema(_NAME), "propertyNames": {"pattern": "^[A-Za-z0-9_-]{22}$"}},
        {
            "topic_ids": "list<string> topic ids in it, each once",
            "topic_names": "list<string> the names of `topic_ids`, in their order; null where not known",
        },
    ),
    "fetch_session": (
        _object_schema({"id": _INT32, "epoch": _INT32, "incremental": _BOOL, "partitions": _PARTITIONS}, "partitions"),
        {
            "fetch_session_id": "int64? fetch session",
            "fetch_session_epoch": "int64? its epoch in the request",
            "fetch_session_incremental": "bool? whether the request only says what changes",
        },
    ),
    "messages_hidden": (
        _with_description(
            "all error messages of the response are hidden whole: the exchange has so many secrets, or a request that"
            " is not there to its end",
            _FLAG,
        ),
    ),
    "names": (
        {
            "description": "words for numbers of the bodies, by path; there with --names",
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "patternProperties": {"^(request|response)$": _WORDS},
        },
    ),
    "names_cut": (_with_description("how many words for numbers more there are than are listed", _COUNT),),
    "errors_cut": (_with_description("how many error codes more there are than are listed", _COUNT),),
    "tls": (
        _object_schema(
            {
                "version": {"enum": ["1.2", "1.3"]},
                "cipher": _TEXT,
                **dict.fromkeys(("sni", "client_subject"), _NAME_OR_NULL),
            }
        ),
    ),
    "via_address": (
        _with_description(
            "who sent the bytes: a load balancer that names the client in a PROXY head before the stream",
            _ref_to_definition("address"),
        ),
        "string?@4 who sent the bytes, `host:port`, where a PROXY head names another client; else null",
    ),
    "sasl": (
        _with_description(
            "a step of a login: what the client sends, what the broker answers, and what they say beside the user",
            _optional_keys_schema(_SASL),
        ),
    ),
    "group": (
        _with_description(
            "the member that asks, also behind fetches, which do not name it; null where several may be meant",
            _object_schema({"id": _NAME_OR_NULL, "generation": _nullable_schema(_INT32), "member": _NAME_OR_NULL}),
        ),
    ),
    "transaction": (
        _with_description(
            "the transactional id of the producer, with the producer id and epoch that it had",
            _object_schema({"id": _NAME_OR_NULL, "producer_id": _INT64, "epoch": _INT32}),
        ),
    ),
    "library": (
        _with_description(
            "the library or program that the client shows to be by what it does; releases are minor ones",
            _object_schema({"name": _TEXT, "from": _RELEASE, "to": _RELEASE, "sure": _BOOL, "why": _TEXT}),
        ),
    ),
    "node": (
        _with_description(
            "the node that the connection leads to",
            _object_schema({"id": _nullable_schema(_INT32), "rack": _NAME_OR_NULL, "cluster": _NAME_OR_NULL}),
        ),
    ),
    "envelope": (
        _with_description(
            "the Envelope that it travelled in, which has its bytes and its latency too",
            _object_schema(
                {
                    "correlation_id": _with_description(
                        "null where a broker's request log is read, which does not have it", _nullable_schema(_INT32)
                    )
                }
            ),
        ),
        "int64? correlation id of the Envelope that it travelled in, which counts its bytes and latency",
    ),
    "retransmitted": (_FLAG, "bool whether bytes of it were sent again"),
    "server": (
        _with_description(
            "what the broker's own request log says: who asked where, and what took how many milliseconds",
            _object_schema(
                {
                    **dict.fromkeys(("listener", "security_protocol", "principal"), _TEXT_OR_NULL),
                    **dict.fromkeys(SERVER_TIMES, _MS),
                }
            ),
        ),
        {f"server_{name}": f"double?@2 {text}" for name, text in SERVER_TIMES.items()},
    ),
    "guessed": (
        _with_description(
            "api and api_version are those of which alone the response can be; its request is not there", _FLAG
        ),
    ),
    "remarks": (
        _with_description(
            "what the protocol forbids, or does not expect, and kw read all the same",
            {
                "type": "array",
                "minItems": 1,
                "items": _object_schema(
                    {
                        "side": {"enum": ["request", "response"]},
                        "path": _TEXT,
                        "offset": _with_description(
                            "in bytes behind the size field", _integer_schema(0, RANGES["int32"][1])
                        ),
                        "id": {"enum": [*REMARKS]},
                        "text": _TEXT,
                    }
                ),
            },
        ),
        {
            "remark_sides": "list<string>?@4 sides of its remarks: what the protocol forbids and was read all the same",
            "remark_paths": "list<string>?@4 their fields",
            "remark_offsets": "list<int32>?@4 their bytes, counted behind the size field",
            "remark_ids": "list<string>?@4 their ids (`kw help record`)",
            "remark_texts": "list<string>?@4 the remarks in words",
        },
        "remark",
    ),
    "closed": (
        {"enum": ["fin", "rst", "idle", "capture_end"]},
        "string? how the connection ended, where that settled it: `fin`, `rst`, `idle`, `capture_end`",
    ),
    "layout": (
        _optional_keys_schema({"request": _TEXT, "response": _TEXT}),
        {
            "request_layout": "string? release whose early layout the request has",
            "response_layout": "string? release whose early layout the response has",
        },
    ),
    "trailing": (
        _with_description(
            "bytes behind the last field of a side; brokers and most clients do not look at them",
            _optional_keys_schema(
                {side: {"anyOf": [*_NAME["anyOf"], _ref_to_definition("redacted")]} for side in ("request", "response")}
            ),
        ),
    ),
    "undecoded": (
        _optional_keys_schema(
            {"request": _ref_to_definition("undecoded"), "response": _ref_to_definition("undecoded")}
        ),
        {
            "undecoded_side": "string? what could not be decoded: `request`, `response` or `both`",
            "undecoded_reason": "string? why (of both: the request)",
            "undecoded_path": "string? the field where it fails",
            "undecoded_offset": "int64? the byte where it fails, counted behind the size field",
        },
    ),
    "raw": ({"type": "object"},),  # nothing writes it any more
    "via": (_TEXT,),
    "file": (_with_description("the input that it was read from, where there are several", _TEXT),),
    **{
        name: (_with_description(f"the file of {packet}, where that is another one than `file`", _TEXT),)
        for name, packet in (
            ("request_end_file", "the request's last packet"),
            ("response_file", "the response's first packet"),
            ("response_end_file", "the response's last packet"),
        )
    },
    "point": (_with_description("the place that it was captured at, where several are read as they come", _TEXT),),
    "network_ms": (
        _with_description(
            "what the latency of the point farthest from the client is less than that of the nearest", _MS
        ),
    ),
    "client_name": (_TEXT, "string?@5 name of the client's address, where `--hosts` gives it one"),
    "broker_name": (_TEXT, "string?@5 name of the broker's address, where `--hosts` gives it one"),
    "upstream_latency_ms": (_MS,),
    "fault": (_object_schema({**_HIT, "rule": _RULE, "more": _HITS}, "more"),),
    "refused": (
        _with_description(
            "who refused the request instead of a broker, in the proxy",
            _object_schema(
                {
                    "by": _with_description("the option: --as-kafka 2.8, --max Fetch=11, --hide Fetch", _TEXT),
                    "reason": _with_description("what is served instead", _TEXT),
                }
            ),
        ),
    ),
    "comparison": (
        _with_description(
            "of kw replay: how the answer compares with the recorded one; status not_sent: the request was not asked",
            _COMPARISON,
        ),
    ),
}


def _make_exchange_field(
    name: str, shape: Shape | None = None, columns: str | Mapping[str, str] = "", word: str = ""
) -> ExchangeField:
    its = columns if not isinstance(columns, str) else {name: columns} if columns else {}
    return ExchangeField(shape, its, word)


# Attribute → what it looks like, in the order of the record.
EXCHANGE_FIELDS: Final = {name: _make_exchange_field(name, *_ROWS.get(name, ())) for name in EXCHANGE_ATTRIBUTES}
# The keys of the record, with their shapes.
SHAPES: Final = {name: field.shape for name, field in EXCHANGE_FIELDS.items() if field.shape is not None}


def names_below_key(key: str) -> tuple[str, ...] | None:
    """The names below a key of the record, or below each element of its list; None where there may be any."""
    shape = SHAPES.get(key, _TEXT)
    shape = shape.get("items", shape)
    if "patternProperties" in shape:
        return ("request", "response")
    if "properties" in shape:
        return tuple(shape["properties"])
    return None if shape is _BODY or shape.get("type") == "object" else ()
