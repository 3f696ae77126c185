"""Lines of a broker's request log in, exchanges with the broker's own times out, as if they came from a capture.

Kafka writes a line for each request that it has answered (logger `kafka.request.logger` at DEBUG or TRACE; KIP-673):

```
[2026-11-21 16:48:26,640] DEBUG Completed request:{"requestHeader":{…},"request":{…},"response":{…},
    "connection":"BROKER:PORT-CLIENT:PORT-…","totalTimeMs":…,"requestQueueTimeMs":…,…} (kafka.request.logger)
```

The bodies are Kafka's JSON: camelCase, bytes as base64, of records only their size. They are encoded and read again as
frames are, so that an exchange of a log is the same as that of a capture, structures and redaction included. Sizes,
packets and records, which the log does not have, are null. The time of a line is when it was written, without a zone:
it is taken as UTC, and the request came `totalTimeMs` earlier.

Logs before 2.7 have Kafka's own text in place of JSON, which leaves out fields of a version: they are refused.

The logger kafka.server.KafkaApis writes requests alone, as they come (parse_kafka_apis_log.py). Its lines are rows
without answers where the log has no lines of kafka.request.logger, which say the same and more.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final
from uuid import UUID

import orjson

from decoders.apis import api
from decoders.capture.read_capture import TIME_MAX
from decoders.errors import EncodeError, Malformed, UnknownApi, UnsupportedVersion
from decoders.exchanges.body_reader import API_READERS_MAX, ApiReader, Needs
from decoders.exchanges.connection_pairing import set_initial_values, set_request_missing, set_response_missing
from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled
from decoders.exchanges.topic_and_node_names import Topics
from decoders.limits import HISTORY_MAX
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import exchange_json
from decoders.messages.parse_kafka_apis_log import HANDLING, parse_handled_request_line
from decoders.messages.read_ndjson import BLANK, LineReader
from decoders.messages.single_message_json import frame_body
from decoders.messages.whole_messages import encode_message
from decoders.protocol_facts.api_keys import API_VERSIONS, PRODUCE
from decoders.protocol_facts.convert_field_names import drop_unknown_fields, rename_to_current_names
from decoders.schema.api_declaration import Field, Side
from decoders.schema.json_schema_validator import compile_json_schema
from decoders.wire.parse_units import parse_time
from decoders.wire.primitive_types import RANGES, uuid_to_bytes
from decoders.wire.state_serialization import pack, state_fields, unpack

__all__ = ["COMPLETED", "SERVER_SAYS", "RequestLogLines"]

# The bytes before the JSON of a request, and before the text of older releases.
COMPLETED: Final = b"Completed request:"
# Names in the log → names in the record: who asked where, and what took how many milliseconds.
SERVER_SAYS: Final[dict[str, str]] = {
    "listener": "listener",
    "securityProtocol": "security_protocol",
    "principal": "principal",
    "totalTimeMs": "total_ms",
    "requestQueueTimeMs": "request_queue_ms",
    "localTimeMs": "local_ms",
    "remoteTimeMs": "remote_ms",
    "throttleTimeMs": "throttle_ms",
    "responseQueueTimeMs": "response_queue_ms",
    "sendTimeMs": "send_ms",
}
_INT16: Final = {"type": "integer", "minimum": RANGES["int16"][0], "maximum": RANGES["int16"][1]}
_INT32: Final = {"type": "integer", "minimum": RANGES["int32"][0], "maximum": RANGES["int32"][1]}
_NAME: Final = {"type": ["string", "null"]}
_FLAG: Final = {"type": ["boolean", "null"]}
# The longest time that a log can tell: no time of a capture is more than that after 1970.
_MS: Final = {"minimum": 0, "maximum": TIME_MAX // 10**6}
# What a line may say; the bodies are checked as they are encoded. Other keys are passed over.
_LINE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["requestHeader", "request", "response", "connection", "totalTimeMs"],
    "properties": {
        "requestHeader": {
            "type": "object",
            "required": ["requestApiKey", "requestApiVersion", "correlationId"],
            "properties": {
                **dict.fromkeys(("requestApiKey", "requestApiVersion"), _INT16),
                "correlationId": _INT32,
                "clientId": _NAME,
            },
        },
        "request": {"type": "object"},
        "response": {"type": ["object", "string", "null"]},  # text: there is none
        "connection": {"type": "string"},
        **dict.fromkeys(("listener", "securityProtocol", "principal"), _NAME),
        **{name: {"type": ["number", "null"], **_MS} for name in SERVER_SAYS if name.endswith("Ms")},
        "totalTimeMs": {"type": "number", **_MS},
        "isForwarded": _FLAG,
        "clientInformation": {
            "type": ["object", "null"],
            "properties": dict.fromkeys(("softwareName", "softwareVersion"), _NAME),
        },
    },
}
_check_line: Final = compile_json_schema(_LINE)
_TIME: Final = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3,9})")
_ANONYMOUS: Final = "User:ANONYMOUS"
_UNSUPPORTED_VERSION: Final = 35
# Secrets stay in the record: its reader (exchange_from_json.py) takes them out.
_WHOLE: Final = Options(reveal_secrets=True)


class RequestLogLines(LineReader):
    """Reads lines of a request log; lines of other loggers are passed over. `connections`: how many were met.

    `handled`: lines of kafka.server.KafkaApis are read, too.
    """

    otherwise = "a broker's request log, but kw can read none of its lines"

    def __init__(self, *, handled: bool = False) -> None:
        super().__init__()
        self.handled = handled
        self._connections: dict[str, ConnectionInfo] = {}
        self._topics = Topics()
        self.connections = 0

    def parse_line(self, line: bytes) -> Any:
        """The exchange record of a line; BLANK where it is of another logger. Raises DecodeError."""
        at = line.find(COMPLETED)
        if at < 0:
            at = line.find(HANDLING) if self.handled else -1
            return BLANK if at < 0 else self._parse_handled_line(line, at)
        said = line[at + len(COMPLETED) : line.rfind(b"}") + 1].strip()
        if not said.startswith(b"{"):
            raise Malformed("the log is of a release before Kafka 2.7: kw reads request logs in JSON, of 2.7 and later")
        written_ns = _read_line_time(line, at)
        row = orjson.loads(said)
        misfit = _check_line(row)
        if misfit is not None:
            raise Malformed(f"no request of a request log: {misfit.sentence}")
        try:
            return self._make_exchange_record(row, written_ns)
        except (EncodeError, UnknownApi, UnsupportedVersion) as problem:
            raise Malformed(f"no request of a request log: {problem}") from None
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as problem:
            what = f"without {problem}" if isinstance(problem, KeyError) else str(problem)
            raise Malformed(f"no request of a request log: {what}") from None

    def _parse_handled_line(self, line: bytes, at: int) -> dict[str, Any]:
        """The exchange record of a line of kafka.server.KafkaApis. Raises Malformed."""
        written_ns = _read_line_time(line, at)
        row = parse_handled_request_line(line, at)
        try:
            try:
                record = self._make_exchange_record(row, written_ns)
            except (AttributeError, EncodeError, KeyError, TypeError, ValueError):  # its text is not read right
                record = self._make_exchange_record(row | {"request": None}, written_ns)
        except (OverflowError, UnknownApi, UnsupportedVersion, ValueError) as problem:
            raise Malformed(f"no request of kafka.server.KafkaApis: {problem}") from None
        node = row["node"]
        said = {} if node is None else {"node": {"id": node, "rack": None, "cluster": None}}
        return record | {"status": "no_response_expected", "reason": "the log has requests alone"} | said

    def finish_row(self, row: Settled) -> Settled:
        """The exchange of a line, with the offset of the line as its place."""
        if row.kind == "exchange":
            row.place = self.begun
        return row

    def export(self) -> bytes:
        """The state between two pieces, for `resume`; connections are numbered anew."""
        names = [[identity.bytes, name] for identity, (name, _) in self._topics.names.items()]
        return pack([super().export(), names, self.handled])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        saved = unpack(state)
        if isinstance(saved, list) and len(saved) == 2:  # of a version that did not read kafka.server.KafkaApis
            saved = [*saved, False]
        lines, names, self.handled = state_fields(saved, bytes, list, bool)
        super().resume(lines)
        for item in names:
            identity, name = state_fields(item, bytes, str)
            if len(identity) != 16:
                raise Malformed("a topic id that is none")
            self._topics.add(UUID(bytes=identity), name)

    def _make_exchange_record(self, row: Mapping[str, Any], written_ns: int) -> dict[str, Any]:
        header = row["requestHeader"]
        key, version, client_id = header["requestApiKey"], header["requestApiVersion"], header.get("clientId")
        exchange = Exchange()
        set_initial_values(exchange, self._make_connection_info(row["connection"]), _make_api_reader(key, version))
        exchange.api_key, exchange.api_version = key, version
        exchange.correlation_id, exchange.client_id = header["correlationId"], client_id
        answer = row["response"] if isinstance(row["response"], dict) else None
        refused = key == API_VERSIONS and answer is not None and answer.get("errorCode") == _UNSUPPORTED_VERSION
        set_request_missing(exchange)
        set_response_missing(exchange)
        if not refused and row["request"] is not None:  # the broker logs nothing of a version that it does not know
            exchange.request_raw = frame_body(
                _encode_logged_body(key, version, "request", row["request"]), "request", key, version
            )
        if answer is not None:
            body = _encode_logged_body(key, 0 if refused else version, "response", answer)
            exchange.response_raw = frame_body(body, "response", key, version)
        total_ns = round((row.get("totalTimeMs") or 0) * 1e6)
        send_ns = round((row.get("sendTimeMs") or 0) * 1e6)
        if not 0 <= written_ns - total_ns <= TIME_MAX or send_ns > written_ns:
            raise ValueError("a time before 1970 or after 2262")
        exchange.time_ns = exchange.request_end_ns = written_ns - total_ns
        if answer is not None:
            exchange.response_ns, exchange.response_end_ns = written_ns - send_ns, written_ns
        else:
            silent = key == PRODUCE and (row["request"] or {}).get("acks") == 0
            exchange.outcome = "no_response_expected" if silent else "unanswered"
        exchange._api_reader.add_topic_names(exchange, self._topics)
        exchange._topics_known = len(self._topics.names)
        record = exchange_json(exchange, _WHOLE) | _make_server_keys(row)
        return record | {"request": {}} if refused else record

    def _make_connection_info(self, connection: str) -> ConnectionInfo:
        known = self._connections.get(connection)
        if known is None:
            if len(self._connections) >= HISTORY_MAX:  # the oldest are over, most likely
                del self._connections[next(iter(self._connections))]
            broker, client, *_ = connection.split("-")
            self.connections += 1
            known = ConnectionInfo(
                self.connections, _format_java_address(client), _format_java_address(broker), 0, self._topics
            )
            self._connections[connection] = known
        return known


# Bodies in Kafka's JSON


def _encode_logged_body(key: int, version: int, side: Side, value: Mapping[str, Any]) -> bytes:
    """The bytes of a body without its records, and without fields that its version lacks. Raises EncodeError."""
    fields = api(key).message(side).fields
    renamed = drop_unknown_fields(fields, version, rename_to_current_names(fields, version, value))
    return encode_message(key, version, side, _read_logged_struct(fields, version, renamed))


def _read_logged_struct(fields: Sequence[Field], version: int, value: Mapping[str, Any]) -> dict[str, Any]:
    its = {field.name: field for field in fields if version in field.versions}
    return {name: _read_logged_value(its[name], version, inner) for name, inner in value.items()}


def _read_logged_value(field: Field, version: int, value: Any) -> Any:
    if value is None or not (field.fields or field.kind in _MADE):
        return value
    if field.array:
        return [_read_logged_element(field, version, each) for each in value]
    return _read_logged_element(field, version, value)


def _read_logged_element(field: Field, version: int, value: Any) -> Any:
    return _read_logged_struct(field.fields, version, value) if field.fields else _MADE[field.kind](value)


def _parse_logged_bytes(text: str | list[int]) -> bytes:
    """The bytes of base64 text, or of Java's signed numbers; empty where the broker has hidden them."""
    if isinstance(text, list):
        return bytes(number & 0xFF for number in text)
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError:
        return b""


# Kinds of fields that have another form in JSON. Of records the log has only the size.
_MADE: Final[dict[str, Callable[[Any], Any]]] = {
    "bytes": _parse_logged_bytes,
    "uuid": uuid_to_bytes,
    "records": lambda _text: None,
}


def _make_server_keys(row: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the record that the broker logs beside the bodies."""
    said: dict[str, Any] = {}
    asked, known = row["request"] or {}, row.get("clientInformation") or {}
    # The broker knows the software from the ApiVersions request on.
    name = known.get("softwareName") or "unknown"
    if name != "unknown":
        said["client_software"] = {"name": name, "version": known.get("softwareVersion") or ""}
    elif asked.get("clientSoftwareName"):
        version = asked.get("clientSoftwareVersion", "")
        said["client_software"] = {"name": asked["clientSoftwareName"], "version": version}
    principal = row.get("principal")
    if principal and (principal != _ANONYMOUS or row.get("isForwarded")):
        said["user"] = principal.removeprefix("User:")
    if row.get("isForwarded"):
        said["envelope"] = {"correlation_id": None}  # the log does not have it
    said["server"] = {name: row.get(logged) for logged, name in SERVER_SAYS.items()}
    return said


def _read_line_time(line: bytes, end: int) -> int:
    """The time of a line in ns since 1970, which stands before `end`. Raises Malformed."""
    time = _TIME.search(line, 0, end)
    if time is None:
        raise Malformed("the line has no time before the request")
    return parse_time(f"{time[1].decode()}T{time[2].decode()}.{time[3].decode()}Z")


@lru_cache(API_READERS_MAX)
def _make_api_reader(key: int, version: int) -> ApiReader:
    return ApiReader(key, version, Needs())


def _format_java_address(text: str) -> str:
    """HOST:PORT of a connection, where Java prints all eight groups of an IPv6 address; 0.0.0.0:0 for a hidden one."""
    host, colon, port = text.rpartition(":")
    if text and not colon:  # MSK has INTERNAL_IP for the broker's
        return "0.0.0.0:0"
    return f"[{ip_address(host.strip('[]').partition('%')[0])}]:{port}" if ":" in host else text
