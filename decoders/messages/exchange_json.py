"""Exchanges and skipped runs in, the exchange record out: the dict that is one line of NDJSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.body_reader import SIDES, DecodeFailure, replace_reading_remarks
from decoders.exchanges.exchange import (
    SESSION_PARTITIONS,
    ConnectionInfo,
    Exchange,
    FetchSession,
    Settled,
    Skipped,
    make_fetch_session,
)
from decoders.exchanges.exchange_attribute_table import EXTRA
from decoders.exchanges.topic_and_node_names import values_at_path
from decoders.exchanges.topic_arrays import RECORD_ARRAYS
from decoders.limits import BODY_WHOLE_MAX, ERRORS_SHOWN_MAX, RAW_KEPT_MAX
from decoders.messages.build_body_json import (
    ECHOING,
    PLAIN,
    Options,
    conceal_echoed_secrets,
    layouts_have_secrets,
    list_errors_in_body,
    make_error_finder,
    read_body_json,
    read_body_without_records,
    read_both_bodies_quickly,
)
from decoders.protocol_facts.api_keys import FETCH, PRODUCE
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.schema.api_declaration import Plan, Side
from decoders.schema.body_json_form import encode_text_for_cell, json_bytes, json_text, redacted_json
from decoders.schema.lazy_decoder import get_projector
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from decoders.tls.tls_facts import TlsInfo

# Large sides

_NOTHING: Final[frozenset[str]] = frozenset()
# The errors that are listed, and the number of the others.
Listed = tuple[list[dict[str, Any]], int]


def is_body_large(exchange: Exchange, side: Side) -> bool:
    """Whether the body of a side is so large that it is read only as it is written."""
    data = exchange.raw(side)
    return data is not None and len(data) > BODY_WHOLE_MAX


def list_errors_of_large_response(exchange: Exchange, plan: Plan) -> Listed:
    """The error codes of a large response that are not 0.

    The error codes and names of topic ids in the record are found by going through the bodies; the body of a large
    message is not there as values (schema/defer_long_arrays.py). So one projection gives the error codes, another one
    the ids. Lists that could grow without bound are cut at ERRORS_SHOWN_MAX, and the rest is counted (`LimitedList`).
    """
    data = exchange.response_raw
    assert data is not None
    api_reader = exchange._api_reader
    at = api_reader.find_body_offset("response", data)
    _, codes, _ = get_projector(plan, _NOTHING, True)(data, at, len(data))
    if codes is None or len(codes) < ERRORS_SHOWN_MAX:
        return [{"path": path, "code": code, "name": error_name(code)} for path, code in codes or ()], 0
    found = LimitedList(ERRORS_SHOWN_MAX)
    finder = make_error_finder(plan)
    if finder is not None:
        finder(read_body_without_records(api_reader, "response", plan, data, at, len(data)), found)
    return found.rows, found.more


def read_fields_at_paths(exchange: Exchange, side: Side, paths: frozenset[str]) -> dict[str, Any]:
    """The fields at `paths` of a side, in the stable layout, however large its body is. Raises DecodeError."""
    data = exchange.raw(side)
    assert data is not None
    api_reader = exchange._api_reader
    view: dict[str, Any] = get_projector(api_reader.stable_plan(side), paths, False)(
        data, api_reader.find_body_offset(side, data), len(data)
    )[0]
    return view


def read_side_without_records(exchange: Exchange, side: Side, plan: Plan) -> dict[str, Any]:
    """The body of a side without records, with its long arrays deferred."""
    data = exchange.raw(side)
    assert data is not None
    return read_body_without_records(
        exchange._api_reader, side, plan, data, exchange._api_reader.find_body_offset(side, data), len(data)
    )


class LimitedList:
    """A list of no more than `most` rows; `more` counts the others."""

    __slots__ = ("_most", "more", "rows")

    def __init__(self, most: int) -> None:
        self._most = most
        self.rows: list[dict[str, Any]] = []
        self.more = 0

    def append(self, row: dict[str, Any], /) -> None:
        """Add a row, or only count it beyond the limit."""
        if len(self.rows) < self._most:
            self.rows.append(row)
        else:
            self.more += 1


# The keys and their order are a contract, described by `record.schema.json` beside this file. Keys that are always
# there come first, then keys that are there only when they say something.


SCHEMA: Final = 1

# The keys that a record which is read again gets of its input and of --hosts.
_OF_INPUTS: Final = ("file", "client_name", "broker_name")

Plans = tuple[Plan | None, Plan | None]
_NO_PLANS: Final[Plans] = (None, None)
# Bodies, error codes of the response, plans to look names up by; by side: failures, early layouts, trailing bytes.
_Read = tuple[Any, Any, Listed, Plans, Any, Any, Any]


def to_json_dict(settled: Settled, options: Options = PLAIN) -> dict[str, Any]:
    """The record of an exchange or of a skipped run, ready for JSON."""
    if isinstance(settled, Skipped):
        return skipped_json(settled)
    if settled.record is None:
        return exchange_json(settled, options)
    known = settled._revealed if options.reveal_secrets and settled._revealed is not None else settled.record
    extra = settled.extra or {}
    record = {**known, **{key: extra[key] for key in _OF_INPUTS if extra.get(key)}}
    if options.records and options.values is not None and not options.values.beyond_json:
        from decoders.messages.decode_record_values import decode_values_in_reread_exchange

        record = decode_values_in_reread_exchange(settled, record, options.values)  # it may have been written as bytes
    return with_number_words(record) if options.names else record


def with_number_words(record: dict[str, Any]) -> dict[str, Any]:
    """The record, with the words for numbers of its bodies added under `names`."""
    from decoders.messages.add_words_for_numbers_to_json import add_words_for_numbers

    add_words_for_numbers(record)
    return record


def skipped_json(skipped: Skipped) -> dict[str, Any]:
    """The record of a skipped run."""
    info = skipped.connection_info
    return {
        "kind": "skipped",
        "schema": SCHEMA,
        "time": format_rfc3339(skipped.time_ns),
        "client": info.client,
        "broker": info.broker,
        "connection": info.number,
        "direction": skipped.direction,
        "size": skipped.size,
        "reason": skipped.reason,
        "detail": skipped.detail,
    }


def exchange_json(exchange: Exchange, options: Options = PLAIN) -> dict[str, Any]:
    """The record of an exchange."""
    info = exchange.connection_info
    api_reader = exchange._api_reader
    request, response, (errors, errors_cut), plans, failures, layout, trailing = _read_both_bodies(exchange, options)
    hidden = (
        api_reader.key in ECHOING and not options.reveal_secrets and conceal_echoed_secrets(exchange, request, response)
    )
    if options.records and api_reader.key in RECORD_ARRAYS:
        from decoders.messages.internal_topic_records import decode_structures_in_records

        decode_structures_in_records(exchange, request, response, reveal=options.reveal_secrets, values=options.values)
        for side in SIDES:
            api_reader.set_lz4_remarks(exchange, side, checksums=True)
    status: str = exchange.outcome
    reason = undecoded = None
    if failures:
        if status == "complete":
            status, reason = "undecoded", next(iter(failures.values())).reason
        undecoded = {side: undecoded_json(exchange, side, failure, options) for side, failure in failures.items()}
    client_id = exchange.client_id
    request_end_ns, response_ns = exchange.request_end_ns, exchange.response_ns
    response_end_ns = exchange.response_end_ns
    paired = request_end_ns is not None and response_ns is not None
    whole = request_end_ns is not None and response_end_ns is not None
    if errors:
        if api_reader.expected:
            _mark_expected_errors(errors, api_reader.expected)
        if api_reader.key == PRODUCE and not options.records:
            api_reader.set_lz4_remarks(exchange, "request", checksums=False)
    record: dict[str, Any] = {
        "kind": "exchange",
        "schema": SCHEMA,
        "time": format_rfc3339(exchange.time_ns),
        "latency_ms": (response_ns - request_end_ns) / 1e6 if paired else None,  # type: ignore[operator]  # both are there
        "duration_ms": (response_end_ns - exchange.time_ns) / 1e6 if whole else None,  # type: ignore[operator]  # it is there
        "client": info.client,
        "broker": info.broker,
        "connection": info.number,
        "api_key": api_reader.key,
        "api": api_reader.name,
        "api_version": api_reader.version,
        "correlation_id": exchange.correlation_id,
        "client_id": None if client_id is None else json_text(client_id),
        "request_size": exchange.request_size,
        "response_size": exchange.response_size,
        "status": status,
        "reason": reason,
        "errors": errors,
        "request": request,
        "response": response,
        # Packets count from 1; messages on a connection of kw's own were in no captured packet.
        "packets": {
            "request": [exchange.request_packet, exchange.request_packet_end] if exchange.request_packet else None,
            "response": [exchange.response_packet, exchange.response_packet_end] if exchange.response_packet else None,
        },
    }
    _add_keys_learned_from_bodies(record, exchange, plans, options)
    if info.has_keys:
        _add_connection_keys(record, info)
    if errors_cut:
        record["errors_cut"] = errors_cut
    if hidden:
        record["messages_hidden"] = True
    if layout or trailing or undecoded:
        rare = {"layout": layout, "trailing": trailing, "undecoded": undecoded}
        record |= {name: said for name, said in rare.items() if said}
    if exchange.extra is not None:
        _add_extra_keys(record, exchange.extra)
    return with_number_words(record) if options.names else record


def _read_both_bodies(exchange: Exchange, options: Options) -> _Read:
    """The bodies, and what `_Read` has besides: error codes, plans, failures, early layouts, trailing bytes."""
    quick = read_both_bodies_quickly(exchange, options)
    if quick is not None:
        request, response, readers = quick
        found: list[dict[str, Any]] = []
        if readers.errors is not None and response is not None:
            readers.errors(response, found)
        return request, response, (found, 0), readers.plans if readers.nameless else _NO_PLANS, None, None, None
    if exchange._api_reader.key is None:
        request, response, failures = _make_token_or_orphan_bodies(exchange, options)
        return request, response, ([], 0), _NO_PLANS, failures, None, None
    request, response, plans, failures, layout, trailing = _read_bodies_with_remarks(exchange, options)
    errors: Listed = (
        ([], 0)
        if response is None or plans[1] is None
        else _list_errors_of_response(exchange, plans[1], response, options)
    )
    return request, response, errors, plans, failures, layout, trailing


def _list_errors_of_response(exchange: Exchange, plan: Plan, response: Any, options: Options) -> Listed:
    """The error codes of a response that are not 0."""
    if not options.deferred or not is_body_large(exchange, "response"):
        return list_errors_in_body(plan, response), 0
    return list_errors_of_large_response(exchange, plan)


def _mark_expected_errors(errors: list[dict[str, Any]], expected: frozenset[int]) -> None:
    """Mark the errors that the protocol expects of the API."""
    for error in errors:
        if error["code"] in expected:
            error["expected"] = True


def _add_keys_learned_from_bodies(record: dict[str, Any], exchange: Exchange, plans: Plans, options: Options) -> None:
    """Add the keys that bodies and connection tell: Fetch session, client software, login, topic names."""
    if exchange.api_key == FETCH:
        session = make_fetch_session(record["request"], record["response"])
        if session is not None:
            partitions = exchange.extra.get(SESSION_PARTITIONS) if exchange.extra is not None else None
            record["fetch_session"] = session if partitions is None else _fetch_session_json(session, partitions)
    software = exchange.client_software
    if software is not None:
        record["client_software"] = {"name": json_text(software["name"]), "version": json_text(software["version"])}
    if exchange.login is not None or exchange.connection_info.tls is not None:
        user, mechanism = exchange.user, exchange.mechanism
        if user is not None:
            record["user"] = json_text(user)
        if mechanism is not None:
            record["mechanism"] = json_text(mechanism)
    if exchange._topics_known and plans != _NO_PLANS:
        bodies = record["request"], record["response"]
        if options.deferred:
            bodies = (
                _body_without_deferred_records(exchange, "request", bodies[0], plans[0]),
                _body_without_deferred_records(exchange, "response", bodies[1], plans[1]),
            )
        names = find_topic_names(exchange, *bodies, plans)
        if names:
            record["topic_names"] = names


def _fetch_session_json(session: FetchSession, partitions: Mapping[str, list[int]]) -> dict[str, Any]:
    """The `fetch_session` key of an incremental Fetch, with the partitions of its session by topic."""
    return {**session, "partitions": {encode_text_for_cell(name): numbers for name, numbers in partitions.items()}}


def _add_connection_keys(record: dict[str, Any], info: ConnectionInfo) -> None:
    """Add the keys that only some connections have."""
    if info.tls is not None:
        record["tls"] = _tls_json(info.tls)
    if info.via_address is not None:
        record["via_address"] = info.via_address


def _tls_json(tls: TlsInfo) -> dict[str, Any]:
    """The `tls` key; the client chooses the server name and the subject."""
    sni, subject = (None if text is None else json_text(text) for text in (tls["sni"], tls["client_subject"]))
    return {"version": tls["version"], "cipher": tls["cipher"], "sni": sni, "client_subject": subject}


def _body_without_deferred_records(exchange: Exchange, side: Side, body: Any, plan: Plan | None) -> Any:
    """The body of a side, but one without records where they are deferred, so that it may be looked through."""
    return (
        body if plan is None or not is_body_large(exchange, side) else read_side_without_records(exchange, side, plan)
    )


def _read_bodies_with_remarks(exchange: Exchange, options: Options) -> tuple[Any, Any, Plans, Any, Any, Any]:
    """The bodies, their layouts, failures, releases of early layouts, and bytes after them, and the remarks set."""
    request, response = (read_body_json(exchange, side, options) for side in SIDES)
    replace_reading_remarks(exchange, [*request.remarks, *response.remarks])
    plans = request.plan, response.plan
    failures = _make_dict_of_sides(request.failure, response.failure)
    layout = _make_dict_of_sides(request.early_layout, response.early_layout)
    trailing = _make_dict_of_sides(request.trailing, response.trailing)
    return request.body, response.body, plans, failures, layout, trailing


# The keys of `Exchange.extra` that are those of the record, as they stand there; `closed` is its last one.
_NOTED: Final = frozenset(EXTRA) - {"closed"}


def _add_extra_keys(record: dict[str, Any], extra: Mapping[str, Any]) -> None:
    if _NOTED.issuperset(extra):
        record.update(extra)
        return
    for name, value in extra.items():
        if name == "reason" or (name in _NOTED and value is not None):
            record[name] = value
    if extra.get("closed") is not None:
        record["closed"] = extra["closed"]


def _make_dict_of_sides(request: Any, response: Any) -> dict[Side, Any]:
    found: dict[Side, Any] = {}
    if request is not None:
        found["request"] = request
    if response is not None:
        found["response"] = response
    return found


def _make_token_or_orphan_bodies(exchange: Exchange, options: Options) -> tuple[Any, Any, dict[Side, DecodeFailure]]:
    """The bodies, and the failures, of a token or of a response without its request."""
    if exchange.outcome == "orphan_response":
        return None, None, exchange.failures
    return token_json(exchange.request_raw, options), token_json(exchange.response_raw, options), {}


def token_json(raw: bytes | None, options: Options) -> Any:
    """A raw SASL token in JSON form, redacted unless secrets are revealed."""
    if raw is None:
        return None
    return json_bytes(raw[4:]) if options.reveal_secrets else redacted_json(len(raw) - 4)


def undecoded_json(exchange: Exchange, side: Side, failure: DecodeFailure, options: Options) -> dict[str, Any]:
    """The entry under `undecoded` for a side that could not be decoded."""
    data = exchange.raw(side) or b""
    raw: Any = b64encode(data[4 : 4 + RAW_KEPT_MAX]).decode("ascii")
    api_reader = exchange._api_reader
    echoing = side == "response" and api_reader.key in ECHOING
    if not options.reveal_secrets and (echoing or layouts_have_secrets(api_reader.key, api_reader.list_layouts(side))):
        raw = redacted_json(len(data) - 4)
    return {"reason": failure.reason, "offset": failure.offset, "path": failure.path, "raw": raw}


def find_topic_names(
    exchange: Exchange, request: Any, response: Any, plans: tuple[Plan | None, Plan | None]
) -> dict[str, Any]:
    """Names learnt earlier for the topic ids in two JSON bodies, in JSON form."""
    names: dict[str, Any] = {}
    texts = exchange.connection_info.topics.texts
    for plan, body, side in zip(plans, (request, response), SIDES, strict=True):
        if plan is not None:
            for path in exchange._api_reader.paths_of_nameless_topics(side):
                for text in values_at_path(body, path):
                    name = texts.get(text)
                    if name is not None and name[1] < exchange._topics_known:
                        names[text] = json_text(name[0])
    return names
