"""Exchange records in, exchanges and skipped runs out: rows written as NDJSON are read as if they came from a capture.

The values of a side are those of the record, in JSON form. Views are made of them, in the form that folds and filters
know: topic ids as UUID, records as rows. A value whose type is not that of its field is an error here, so that it is
none later. The frames' bytes are not in a record. The time of the request's last byte is not in it either: it is taken
for the time of the first byte, which leaves latency and duration as they were.
"""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final, get_args
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.capture.read_capture import TIME_MAX
from decoders.embedded import STRUCTURES, VERSION, encode_embedded_from_json, parse_structure_declaration
from decoders.errors import EncodeError, Malformed
from decoders.exchanges.body_reader import API_READERS_MAX, SIDES, ApiReader, DecodeFailure, Needs, Sides
from decoders.exchanges.connection_pairing import set_initial_values
from decoders.exchanges.exchange import SESSION_PARTITIONS, ConnectionInfo, Exchange, Login, Settled, Skipped, Status
from decoders.exchanges.exchange_attribute_table import EXTRA
from decoders.exchanges.sasl_logins import make_login
from decoders.exchanges.topic_and_node_names import WELL_KNOWN, Topics
from decoders.limits import CONNECTIONS_MAX
from decoders.messages.build_body_json import REDACTED
from decoders.messages.redact_exchange_json import redact_record
from decoders.protocol_facts.exchange_remarks import REMARKS
from decoders.records.codecs import CODEC_NAMES
from decoders.records.record_and_batch import ALWAYS
from decoders.schema.api_declaration import Plan, PlanField, Side, resolve
from decoders.schema.body_json_form import (
    BASE64,
    FLOAT_WORDS,
    MESSAGE,
    STRUCTURE,
    decode_text_of_cell,
    has_at_most_levels,
    quote_json,
    text_of_json,
)
from decoders.schema.json_schema_validator import compile_json_schema
from decoders.tls.tls_facts import TlsInfo
from decoders.wire.parse_units import parse_time
from decoders.wire.primitive_types import RANGES, format_uuid, uuid_to_bytes

# Kinds of records that are exchanges, or stand for them.
KINDS: Final = ("exchange", "skipped")
STATUSES: Final = get_args(Status)
# The place of a request in its client's stream: no record has it.
_UNKNOWN_PLACE: Final = -1


class RecordedExchange(Exchange):
    """An exchange that holds the record that it was read from, without and with its secrets, and its views."""

    __slots__ = ("_revealed", "names", "record", "views")

    names: Mapping[UUID, str]  # of the topic ids in it
    views: tuple[Any, Any]

    def topic_name(self, identity: UUID) -> str | None:
        """The name that the record, or every cluster, has for a topic id; names from other exchanges do not count."""
        return self.names.get(identity) or WELL_KNOWN.get(identity)


def _record_of_exchange(exchange: Sides) -> Mapping[str, Any]:
    assert isinstance(exchange, RecordedExchange)
    assert exchange.record is not None
    return exchange.record


class Recorded(ApiReader):
    """Reads the exchanges of an API version from records instead of frames."""

    __slots__ = ()

    def __init__(self, key: int | None, version: int | None) -> None:
        super().__init__(key, version, Needs())
        self.quick = False

    def read_and_set_views(self, exchange: Sides) -> None:
        """Set the views, made with the exchange, and the errors, failures and early layouts of the record."""
        record = _record_of_exchange(exchange)
        failures: dict[Side, DecodeFailure] = {
            side: DecodeFailure(row["reason"], row["offset"], row["path"], "")
            for side, row in record.get("undecoded", {}).items()
        }
        codes = [(error["path"], error["code"]) for error in record["errors"]]
        assert isinstance(exchange, RecordedExchange)
        exchange._set_views(*exchange.views, codes or None, failures or None, record.get("layout"))

    def values(self, exchange: Sides, side: Side) -> Any:
        """The body of a side in JSON form, as the record has it."""
        return _record_of_exchange(exchange)[side]

    def topic_names(self, exchange: Sides) -> dict[str, str]:
        """The topic names in the record."""
        assert isinstance(exchange, RecordedExchange)
        return {format_uuid(identity.bytes): name for identity, name in exchange.names.items()}


@lru_cache(API_READERS_MAX)
def _make_recorded_reader(key: int | None, version: int | None) -> Recorded:
    return Recorded(key, version)


class FromRecords:
    """Reads the records of one sequence of exchanges; exchanges of a connection share its ConnectionInfo."""

    def __init__(self) -> None:
        self._connections: dict[tuple[int, str, str], ConnectionInfo] = {}

    def read(self, record: Any) -> Settled:
        """The exchange or skipped run of a record. Raises Malformed when the record is neither."""
        kind = record.get("kind") if isinstance(record, Mapping) else None
        if kind not in KINDS:
            what = f"a record of kind {quote_json(kind)}" if kind is not None else quote_json(record)
            raise Malformed(f"no exchange, but {what}")
        try:
            return self._read_skipped(record) if kind == "skipped" else self._read_exchange(record)
        except KeyError as missing:
            raise Malformed(f"an exchange without {missing.args[0]!r}") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise Malformed(f"no exchange record: {problem}") from None

    def _find_connection_info(self, record: Mapping[str, Any]) -> ConnectionInfo:
        number = record["connection"]
        client, broker = (
            _read_text_or_null(record, name) or "" for name in ("client", "broker")
        )  # null: nothing was sent
        info = self._connections.get((number, client, broker))
        if info is None:
            if len(self._connections) >= CONNECTIONS_MAX:
                self._connections.clear()  # each record has the data of its connection
            info = ConnectionInfo(_read_int_or_null(record, "connection") or 0, client, broker, 0, Topics())
            self._connections[number, client, broker] = info
        if not info.has_keys:  # a skipped run, which may come first, does not have them
            info.tls = _read_tls_info(record.get("tls"))
            info.via_address = _read_text_or_null(record, "via_address") if "via_address" in record else None
            info.has_keys = info.tls is not None or info.via_address is not None
        return info

    def _read_skipped(self, record: Mapping[str, Any]) -> Skipped:
        direction = record["direction"]
        if direction is not None and direction not in SIDES:
            raise ValueError(f"direction {quote_json(direction)}")
        return Skipped(
            self._find_connection_info(record),
            direction,
            _read_int_or_null(record, "size") or 0,
            str(record["reason"]),
            str(record["detail"]),
            _parse_rfc3339_ns(record["time"]),
        )

    def _read_exchange(self, record: Mapping[str, Any]) -> Exchange:
        key, version = _read_int_or_null(record, "api_key"), _read_int_or_null(record, "api_version")
        api_reader = _make_recorded_reader(key, version)
        exchange = RecordedExchange()
        exchange._revealed = record
        exchange.record = record = redact_record(record)
        set_initial_values(exchange, self._find_connection_info(record), api_reader)
        exchange.place = _UNKNOWN_PLACE
        for name in ("api_key", "api_version", "correlation_id", "request_size", "response_size"):
            setattr(exchange, name, _read_int_or_null(record, name))
        exchange.client_id = _read_string(record["client_id"], "client_id")
        exchange.client_software = _read_client_software(record.get("client_software"))
        exchange.login = _read_login_of_record(record)
        status = _read_text_or_null(record, "status")
        if status not in STATUSES:
            raise ValueError(f"status is {quote_json(status)}")
        exchange.outcome = "complete" if status == "undecoded" else status  # type: ignore[assignment]  # it is one
        extra = {name: record[name] for name in EXTRA if name in record}
        if "partitions" in record.get("fetch_session", ()):
            its = record["fetch_session"]["partitions"]
            extra[SESSION_PARTITIONS] = {decode_text_of_cell(name): numbers for name, numbers in its.items()}
        if record["reason"] is not None and status != "undecoded":
            extra["reason"] = record["reason"]
        exchange.extra = extra or None
        exchange.request_raw = exchange.response_raw = None
        names = record.get("topic_names", {})
        exchange.names = {
            UUID(bytes=uuid_to_bytes(key)): _read_string(name, "topic_names") for key, name in names.items()
        }
        _check_types_of_record(record)
        exchange.views = (
            _read_view_of_side(api_reader, record, "request"),
            _read_view_of_side(api_reader, record, "response"),
        )
        _set_times(exchange, record)
        return exchange


def _read_login_of_record(record: Mapping[str, Any]) -> Login | None:
    """The login of a record; None where its user is only the subject of a certificate."""
    user, mechanism = (_read_string(record.get(name), name) for name in ("user", "mechanism"))
    if mechanism is None and (user is None or user == (record.get("tls") or {}).get("client_subject")):
        return None
    return make_login(user, mechanism)


def _read_tls_info(tls_json: Any) -> TlsInfo | None:
    if tls_json is None:
        return None
    return {
        "version": str(tls_json["version"]),
        "cipher": str(tls_json["cipher"]),
        "sni": _read_string(tls_json["sni"], "sni"),
        "client_subject": _read_string(tls_json["client_subject"], "client_subject"),
    }


def _set_times(exchange: Exchange, record: Mapping[str, Any]) -> None:
    exchange.time_ns = begun = _parse_rfc3339_ns(record["time"])
    latency, duration = record["latency_ms"], record["duration_ms"]
    packets = record["packets"]
    exchange.request_packet, exchange.request_packet_end = _read_packet_span(packets["request"])
    exchange.response_packet, exchange.response_packet_end = _read_packet_span(packets["response"])
    # A broker's log has no sizes.
    asked = exchange.request_size is not None or "server" in record
    answered = exchange.response_size is not None or (latency is not None)
    exchange.request_end_ns = begun if asked else None
    orphan = begun if answered and not asked else None
    exchange.response_ns = orphan if latency is None else begun + round(latency * 1e6)
    exchange.response_end_ns = orphan if duration is None else begun + round(duration * 1e6)
    for at_ns in (exchange.response_ns, exchange.response_end_ns):
        if at_ns is not None and not 0 <= at_ns <= TIME_MAX:
            raise ValueError(_OUTSIDE)


_OUTSIDE: Final = "a time before 1970 or after 2262"


def _parse_rfc3339_ns(text: str) -> int:
    """A time of a record (ns). Raises ValueError where it is none that a capture can have."""
    found = parse_time(text)
    if not 0 <= found <= TIME_MAX:
        raise ValueError(_OUTSIDE)
    return found


def _read_packet_span(span: Any) -> tuple[int | None, int | None]:
    if span is None:
        return None, None
    first, last = span
    if first.__class__ is not int or last.__class__ is not int:
        raise ValueError(f"packets are {quote_json(first)} and {quote_json(last)}")
    return first, last


def _check_types_of_record(record: Mapping[str, Any]) -> None:
    """Check the types of the errors, undecoded sides, remarks and the Envelope of a record. Raises ValueError."""
    for error in record["errors"]:
        if error["code"].__class__ is not int or not all(isinstance(error[name], str) for name in ("path", "name")):
            raise ValueError("an error without path, code and name")
    for side, row in record.get("undecoded", {}).items():
        if side not in SIDES or not isinstance(row["reason"], str) or not isinstance(row["path"], str):
            raise ValueError(f"undecoded {quote_json(side)}")
        _read_int_or_null(row, "offset")
    for remark in record.get("remarks", ()):
        if remark["id"] not in REMARKS or remark["side"] not in SIDES or remark["offset"].__class__ is not int:
            raise ValueError(f"remark {quote_json(remark)}")
        if not all(isinstance(remark[name], str) for name in ("path", "text")):
            raise ValueError(f"remark {quote_json(remark)}")
    if "envelope" in record and record["envelope"]["correlation_id"].__class__ not in (int, type(None)):
        raise ValueError(f"envelope is {quote_json(record['envelope'])}")


def _read_int_or_null(record: Mapping[str, Any], name: str) -> int | None:
    value = record[name]
    if value is not None and value.__class__ is not int:
        raise ValueError(f"{name} is {quote_json(value)}")
    number: int | None = value
    return number


def _read_text_or_null(record: Mapping[str, Any], name: str) -> str | None:
    value = record[name]
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is {quote_json(value)}")
    return value


def _read_client_software(value: Any) -> Any:
    if value is None:
        return None
    return {name: _read_string(value[name], "client_software") or "" for name in ("name", "version")}


def _read_string(value: Any, path: str) -> Any:
    """A string of the record: text, or its bytes in base64 where they are no UTF-8."""
    if isinstance(value, str) or value is None:
        return value
    try:
        return text_of_json(value)
    except (KeyError, TypeError, NotBase64):
        raise ValueError(f"{path} is {quote_json(value)}") from None


# Views of bodies in JSON form


def _read_view_of_side(api_reader: Recorded, record: Mapping[str, Any], side: Side) -> Any:
    """The fields of a side that this version has; None where the side is not there, or has no fields."""
    body = record[side]
    if body is None or api_reader.key is None:
        _check_nesting_depth(body, side)
        return None
    early_layout = record.get("layout", {}).get(side)
    plans = [layout.plan for layout in api_reader.list_layouts(side) if layout.early_layout == early_layout]
    remarks = {remark["id"] for remark in record.get("remarks", ()) if remark["side"] == side}
    if "other_version" in remarks:
        return _read_body_of_any_version(api_reader.key, body, side)
    nulls = "null" in remarks
    # A broker logs nothing of a request in a version that it does not know.
    whole = side not in record.get("undecoded", {}) and (bool(body) or "server" not in record)
    for plan in plans[:-1]:  # an ApiVersions response may have the layout of version 0 in place of its own
        try:
            return _read_struct(plan, body, side, whole=whole, nulls=nulls)
        except ValueError:
            if not isinstance(body, dict) or not body.keys() <= _find_fields_of_plan(plans[-1]).keys():
                raise
    if plans:
        return _read_struct(plans[-1], body, side, whole=whole, nulls=nulls)
    _check_nesting_depth(body, side)  # of an API or version that only a newer kw knows
    return {}


def _read_body_of_any_version(key: int, body: Any, side: Side) -> dict[str, Any]:
    """The fields of an answer in the layout of another version than the one asked for; empty where none has them."""
    for version in api(key).versions if key in NAMES else ():
        try:
            return _read_struct(resolve(api(key).message(side), version), body, side, whole=True)
        except ValueError:
            continue
    _check_nesting_depth(body, side)
    return {}


@cache
def _find_fields_of_plan(plan: Plan) -> dict[str, PlanField]:
    return {field.name: field for field in (*plan.fields, *plan.tagged)}


def _read_struct(plan: Plan, body: Any, path: str, *, whole: bool, nulls: bool = False) -> dict[str, Any]:
    """The fields of a struct; `whole`: no field that every message of this version has may be missing.

    `nulls`: null may stand where it is not allowed, and is the empty value, as in other views
    (schema/field_projection.py).
    """
    if not isinstance(body, dict):
        raise ValueError(f"{path} is {quote_json(body)}")
    fields = _find_fields_of_plan(plan)
    out = {}
    for name, value in body.items():
        field = fields.get(name)
        if field is None:  # unknown tags, or a field that only a newer kw knows
            _check_nesting_depth(value, f"{path}.{name}")
        else:
            out[name] = None if value is None else _read_value(field, value, f"{path}.{name}", whole, nulls)
            if value is None and not field.nullable and not field.secret:
                if not nulls or not (field.array or field.kind in _EMPTY):
                    raise ValueError(f"{path}.{name} is null")
                out[name] = [] if field.array else _EMPTY[field.kind]
    if whole and len(out) < len(fields):
        lacking = next((field.name for field in plan.fields if field.name not in out), None)
        if lacking is not None:
            raise ValueError(f"{path} has no {lacking}")
    return out


# What null is in a view where it is not allowed.
_EMPTY: Final[Mapping[str, Any]] = {"string": "", "bytes": "", "records": []}


def _check_nesting_depth(value: Any, path: str) -> None:
    if value.__class__ in (dict, list) and not has_at_most_levels(value):
        raise ValueError(f"{path} has too many levels")


def _read_value(field: PlanField, value: Any, path: str, whole: bool, nulls: bool) -> Any:
    if not field.array:
        return _read_element(field, value, path, whole, nulls)
    if not isinstance(value, list):
        raise ValueError(f"{path} is {quote_json(value)}")
    if None in value and field.plan is None:
        if not nulls or field.kind not in _EMPTY:
            raise ValueError(f"{path}[{value.index(None)}] is null")
        value = [_EMPTY[field.kind] if each is None else each for each in value]
    return [_read_element(field, each, f"{path}[{index}]", whole, nulls) for index, each in enumerate(value)]


def _read_element(field: PlanField, value: Any, path: str, whole: bool, nulls: bool) -> Any:
    if field.plan is not None:
        return _read_struct(field.plan, value, path, whole=whole, nulls=nulls)
    if field.secret and isinstance(value, dict) and "redacted" in value:
        _read_redacted_size(value, path)
        return value
    if field.name == MESSAGE and isinstance(value, dict) and value.keys() == REDACTED:
        return f"{{redacted {value['redacted']}}}"  # a message that is no UTF-8 and repeats a secret
    return _LEAVES[field.kind](value, path)


def _make_type_check(*types: type) -> Callable[[Any, str], Any]:
    def check_type(value: Any, path: str) -> Any:
        if value.__class__ not in types:
            raise ValueError(f"{path} is {quote_json(value)}")
        return value

    return check_type


def _make_range_check(low: int, high: int) -> Callable[[Any, str], Any]:
    def check_range(value: Any, path: str) -> Any:
        if value.__class__ is not int or not low <= value <= high:
            raise ValueError(f"{path} is {quote_json(value)}")
        return value

    return check_range


def _read_float(value: Any, path: str) -> Any:
    if value.__class__ not in (int, float) and value not in FLOAT_WORDS:
        raise ValueError(f"{path} is {quote_json(value)}")
    return value


def _read_bytes(value: Any, path: str) -> Any:
    """Bytes in JSON form: text, base64, a secret, a structure, or batches where the bytes are those of records."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _read_batches(value, path)
    if not isinstance(value, dict):
        raise ValueError(f"{path} is {quote_json(value)}")
    _check_nesting_depth(value, path)
    if STRUCTURE in value:
        return _read_structure_fields(value, path)
    if "redacted" in value:
        _read_redacted_size(value, path)
    else:
        _decode_base64(value, path)
    return value


def _read_redacted_size(value: Mapping[str, Any], path: str) -> int:
    size = value["redacted"]
    if size.__class__ is not int or not 0 <= size <= RANGES["int32"][1]:
        raise ValueError(f"{path}.redacted is {quote_json(size)}")
    number: int = size
    return number


def _decode_base64(value: Mapping[str, Any], path: str) -> bytes:
    text = value.get(BASE64)
    try:
        return a2b_base64(text, strict_mode=True)  # type: ignore[arg-type]  # else TypeError
    except (TypeError, ValueError):
        raise ValueError(f"{path} is {quote_json(value)}, not {{base64}}") from None


def _read_structure_fields(value: dict[str, Any], path: str) -> dict[str, Any]:
    """A structure inside bytes, its fields checked; empty where kw knows the structure, but not its version."""
    name, version = value[STRUCTURE], value.get(VERSION)
    if not isinstance(name, str):
        raise ValueError(f"{path}.{STRUCTURE} is {quote_json(name)}")
    if name not in STRUCTURES:
        return value
    if version.__class__ is not int or version not in parse_structure_declaration(name).versions:
        return {STRUCTURE: ""}
    _read_struct(resolve(parse_structure_declaration(name), version), value, path, whole=False)
    return value


def _read_uuid(value: Any, path: str) -> UUID:
    try:
        return UUID(bytes=uuid_to_bytes(value))
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{path} is {quote_json(value)}, no uuid") from None


def _read_batches(value: Any, path: str) -> list[dict[str, Any]]:
    """The batches, with their records in the form that the readers of records give."""
    if not isinstance(value, list):
        raise ValueError(f"{path} is {quote_json(value)}")
    return [_read_batch(batch, f"{path}[{index}]") for index, batch in enumerate(value)]


_INT64: Final = {"type": ["integer", "null"], "minimum": RANGES["int64"][0], "maximum": RANGES["int64"][1]}
_SIZE: Final = {"type": "integer", "minimum": 0, "maximum": RANGES["int64"][1]}
_FLAG: Final = {"type": ["boolean", "null"]}
_TEXT: Final = {"type": ["string", "null"]}
# The fields of a batch.
_BATCH: Final[dict[str, Any]] = {
    "type": "object",
    "required": [*ALWAYS],
    "properties": {
        **dict.fromkeys(("base_offset", "last_offset", "base_timestamp", "max_timestamp", "producer_id"), _INT64),
        **dict.fromkeys(("partition_leader_epoch", "producer_epoch", "base_sequence", "delete_horizon_ms"), _INT64),
        **dict.fromkeys(("transactional", "control"), _FLAG),
        "magic": {"enum": [0, 1, 2, None]},
        "codec": {"enum": [*CODEC_NAMES, None]},
        "crc": {"enum": ["ok", "bad", "unchecked", None]},
        "timestamp_type": {"enum": ["create", "log_append", None]},
        "record_count": _INT64,
        "size": _SIZE,
        "truncated": {"type": "boolean"},
        "records_cut": _SIZE,
        "records": {"type": ["array", "null"], "items": {"type": "object", "additionalProperties": True}},
        "error": {"type": "object", "required": ["reason", "text"], "properties": {"reason": _TEXT, "text": _TEXT}},
    },
}
_check_batch: Final = compile_json_schema(_BATCH)


def _read_batch(batch: Any, path: str) -> dict[str, Any]:
    misfit = _check_batch(batch)
    if misfit is not None:
        raise ValueError(f"{path}: {misfit.sentence}")
    rows = batch.get("records")
    if rows is None:
        return batch  # type: ignore[no-any-return]  # an object, as was checked
    made: list[tuple[Any, ...]] = []
    try:
        for row in rows:
            made.append(_read_record_row(row))
    except ValueError as problem:
        raise ValueError(f"{path}.records[{len(made)}]: {problem}") from None
    return {**batch, "records": made}


def _read_record_row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """One record as a tuple; key and value are text, bytes, or the text that stands for a secret."""
    offset, timestamp = row["offset"], row["timestamp"]
    if not (_is_int64_or_null(offset) and _is_int64_or_null(timestamp)):
        raise ValueError(f"offset and timestamp are {quote_json(offset)} and {quote_json(timestamp)}")
    control = row.get("control_record")
    if control is not None:
        if not isinstance(control, dict):
            raise ValueError(f"control_record is {quote_json(control)}")
        _check_nesting_depth(control, "control_record")
    headers = tuple((_read_header_key(each["key"]), _read_key_or_value(each["value"])) for each in row["headers"])
    return offset, timestamp, _read_key_or_value(row["key"]), _read_key_or_value(row["value"]), headers, control


def _is_int64_or_null(value: Any) -> bool:
    return value is None or (value.__class__ is int and value.bit_length() < 64)


def _read_header_key(value: Any) -> Any:
    if value is None:
        raise ValueError("a header without a key")
    return _read_string(value, "key")


def _read_key_or_value(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"it holds {quote_json(value)}")
    _check_nesting_depth(value, "it")
    if "redacted" in value:
        return f"{{redacted {_read_redacted_size(value, 'it')}}}"
    if STRUCTURE in value:
        return _read_structure_bytes(value)
    return _decode_base64(value, "it")


def _read_structure_bytes(value: Mapping[str, Any]) -> bytes | str:
    """The bytes of a structure; where secrets in it are redacted, a text with the size of these."""
    try:
        return encode_embedded_from_json(value, "")
    except EncodeError as failure:
        hidden = [each["redacted"] for each in value.values() if isinstance(each, dict) and "redacted" in each]
        if not hidden or not all(isinstance(size, int) for size in hidden):
            raise ValueError(f"a record holds {failure}") from None
        return f"{{redacted {sum(hidden)}}}"


_LEAVES: Final[dict[str, Callable[[Any, str], Any]]] = {
    **{kind: _make_range_check(low, high) for kind, (low, high) in RANGES.items()},
    "bool": _make_type_check(bool),
    "float64": _read_float,
    "string": _read_string,
    "bytes": _read_bytes,
    "records": _read_batches,
    "uuid": _read_uuid,
}
