"""A side of an exchange in, its JSON-ready body out: secrets redacted, records as batches, error codes listed."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from decoders.embedded.structure_holders import HOLDERS, HOOKS
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import SIDES, ApiReader, DecodeFailure, Layout, make_decode_failure
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.topic_arrays import METADATA_HOLDERS, PIECES, RECORD_ARRAYS, may_hold_cluster_metadata
from decoders.limits import BODY_WHOLE_MAX, RECORDS_HELD_MAX
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.protocol_facts.exchange_remarks import ExchangeRemark
from decoders.protocol_facts.public_configs import is_public_config
from decoders.schema import decode_and_encode
from decoders.schema.api_declaration import Plan, Side
from decoders.schema.body_json_form import MESSAGE, PUBLIC, Hook, body_to_json, json_bytes, redacted_json
from decoders.schema.codegen_support import CRUDE
from decoders.schema.defer_long_arrays import BodyReader, find_message_end
from decoders.schema.defer_long_arrays import decode_partial_large as partial_body
from decoders.schema.lazy_decoder import get_json_decoder
from decoders.schema.plan_walker import BytePart
from decoders.wire.deferred_json import DeferredEach, DeferredList, DeferredText
from decoders.wire.redact_text import Conceal, make_secret_concealer, redact_whole_text

if TYPE_CHECKING:
    from decoders.messages.decode_record_values import RecordChange


class Errors(Protocol):
    """A receiver of the errors of a body: a list, or an object that only counts the errors beyond a bound."""

    def append(self, error: dict[str, Any], /) -> None:
        """Take one error."""


Finder = Callable[[Any, Errors], None]


def list_errors_in_body(plan: Plan, body: Any) -> list[dict[str, Any]]:
    """The error codes of a response, in JSON or Python form, that are not 0."""
    found: list[dict[str, Any]] = []
    finder = make_error_finder(plan)
    if finder is not None:
        finder(body, found)
    return found


@cache
def make_error_finder(plan: Plan) -> Finder | None:
    """The function that adds the errors of a body to a list; None where the layout has no error code."""
    lines = list(_error_finder_source_lines(plan, "body", "", 1))
    if not lines:
        return None
    names: dict[str, Any] = {"note": append_error}
    exec("\n".join(["def find(body, found):", *lines]), names)
    finder: Finder = names["find"]
    return finder


def append_error(found: Errors, path: str, code: int) -> None:
    """Add an error to those found."""
    found.append({"path": path, "code": code, "name": error_name(code)})


def _error_finder_source_lines(plan: Plan, owner: str, path: str, depth: int) -> Iterator[str]:
    """The lines of code that look for error codes in one struct; `path` is the inside of an f-string."""
    pad = " " * depth
    for field in (*plan.fields, *plan.tagged):
        name = path + field.name
        if field.plan is None:
            if field.kind == "int16" and not field.array and field.name.endswith("error_code"):
                yield f"{pad}code = {owner}.get({field.name!r})"
                yield f"{pad}if code: note(found, f'{name}', code)"
            continue
        inner, number = f"v{depth}", f"n{depth}"
        loop = f"for {number}, {inner} in enumerate({owner}.get({field.name!r}) or ()):"
        struct = f"if ({inner} := {owner}.get({field.name!r})) is not None:"
        below = list(
            _error_finder_source_lines(
                field.plan, inner, f"{name}[{{{number}}}]." if field.array else name + ".", depth + 1
            )
        )
        if below:
            yield pad + (loop if field.array else struct)
            yield from below


# Bodies


RECORDS: Final = "records"
# Records of FetchSnapshot: a piece of a file, which may begin and end anywhere.
PIECE: Final = "piece"

# `Exchange.extra` names the sides that are not whole.
BOTH_SIDES: Final = frozenset(("request", "response"))

Hooks = Mapping[str, Callable[..., Any]]


class Options(NamedTuple):
    """How much a record shows: `records` lists every record of a batch, `reveal_secrets` shows secrets, `names` adds
    the words for numbers, `values` decodes the keys and values of records.

    With `deferred`, values that take much memory are made only as they are written (wire/deferred_json.py); the bodies
    of one record have to be written before the next record is asked for.
    """

    records: bool = False
    reveal_secrets: bool = False
    deferred: bool = False
    names: bool = False
    values: RecordChange | None = None


PLAIN: Final = Options()


def _side_has_records(key: int | None, side: Side) -> bool:
    return key in RECORD_ARRAYS and RECORD_ARRAYS[key].side == side


@cache
def hooks_of_side(key: int, side: Side) -> dict[str, str]:
    """The fields of a body that hold structures or records: path → name in the table of hooks."""
    held = HOLDERS.get((key, side), {})
    if not _side_has_records(key, side):
        return held
    return {**held, RECORD_ARRAYS[key].records_path: PIECE if key in PIECES else RECORDS}


_NO_RECORDS: Final[Hooks] = {**HOOKS, PUBLIC: is_public_config}


class RecordsHook:
    """Shows the records fields of one exchange at a time, within the budget of that exchange."""

    __slots__ = ("_deferred", "_form", "_new", "_read", "_records", "budget", "hooks")

    def __init__(self, options: Options, *, metadata: bool) -> None:
        # Imported once there are records: most requests have none, and the readers of records cost more than they do.
        from decoders.records.read_batches import batches_json, batches_json_or_deferred
        from decoders.records.record_and_batch import Budget
        from decoders.records.records_as_json import (
            metadata_record_holds_secret,
            records_json,
            records_json_noting_encodings,
            records_json_noting_encodings_beyond_json,
        )

        self._read: Callable[..., Any] = batches_json_or_deferred if options.deferred else batches_json
        self._deferred = options.deferred
        self._records = options.records
        self._form: Callable[..., Any] = records_json
        if metadata and not options.reveal_secrets:
            self._form = partial(records_json, hide=metadata_record_holds_secret)
        elif options.values is not None:
            beyond = options.values.beyond_json
            self._form = records_json_noting_encodings_beyond_json if beyond else records_json_noting_encodings
        self._new = Budget
        self.budget = Budget()
        self.hooks: Hooks = {**_NO_RECORDS, RECORDS: self, PIECE: partial(_snapshot_piece_json, self)}

    def make_fresh_hooks(self) -> Hooks:
        """The functions of the hooks, with a full budget for the next exchange."""
        budget = self.budget
        if self._deferred:
            if budget.held < 0:  # the records of the previous exchange may still be read
                budget = self.budget = self._new()
            budget.held = RECORDS_HELD_MAX
        budget.refill()
        return self.hooks

    def __call__(self, data: bytes | None) -> Any:
        """The JSON form of one records field."""
        return self._read(data, records=self._records, budget=self.budget, form=self._form)


@cache
def _make_records_hook(options: Options, metadata: bool) -> RecordsHook:
    return RecordsHook(options, metadata=metadata)


def make_hook_table(options: Options, *, metadata: bool = False) -> Hooks:
    """The functions of the hooks, for one exchange; `metadata` says that records are of the cluster's own state."""
    return _make_records_hook(options, metadata).make_fresh_hooks()


def _snapshot_piece_json(show: Callable[[Any], Any], data: bytes | None) -> Any:
    """A piece of a snapshot: batches where it begins with one, else one entry that says how many bytes it has."""
    batches = show(data)
    if not batches:
        return batches
    first = next(iter(batches))
    if first["crc"] == "ok":
        return batches
    text = "a piece of a snapshot that does not begin with a batch"
    sizes = {"size": len(data or b""), "crc": "unchecked", "truncated": False}
    piece = {**dict.fromkeys(first), **sizes, "error": {"reason": "unaligned", "text": text}}
    return [{**piece, "records": []} if "records" in piece else piece]


class Readers:
    """The functions that turn both sides of an API version into JSON in the common case, with the stable layouts."""

    __slots__ = ("_hook", "_options", "errors", "has_records", "nameless", "plans", "request", "response")

    def __init__(self, api_reader: ApiReader, reveal: bool) -> None:
        assert api_reader.key is not None
        plans = (api_reader.list_layouts("request")[0].plan, api_reader.list_layouts("response")[0].plan)
        self.plans = plans
        self.request = get_json_decoder(plans[0], hooks_of_side(api_reader.key, "request"), reveal)
        self.response = get_json_decoder(plans[1], hooks_of_side(api_reader.key, "response"), reveal)
        self.has_records = api_reader.key in RECORD_ARRAYS
        self.errors = make_error_finder(plans[1])
        self.nameless = bool(
            api_reader.paths_of_nameless_topics("request") or api_reader.paths_of_nameless_topics("response")
        )
        self._options: Options | None = None
        self._hook: RecordsHook | None = None

    def get_hooks(self, options: Options) -> Hooks:
        """The functions of the hooks, for one exchange that may have records."""
        if self._hook is None or self._options is not options:  # no hash of the options for each exchange
            self._options, self._hook = options, _make_records_hook(options, False)
        return self._hook.make_fresh_hooks()


def read_both_bodies_quickly(exchange: Exchange, options: Options) -> tuple[Any, Any, Readers] | None:
    """The bodies of an exchange and the Readers in the common case (`ApiReader.read_and_set_views`); None in others."""
    api_reader = exchange._api_reader
    request, response = exchange.request_raw, exchange.response_raw
    if (
        not api_reader.quick
        or request is None
        or (exchange.extra is not None and not BOTH_SIDES.isdisjoint(exchange.extra))
    ):
        return None
    size = len(request)
    answer_size = 0 if response is None else len(response)
    if size + answer_size > BODY_WHOLE_MAX and options.deferred:  # body_json() asks for each side
        return None
    readers: Readers | None = api_reader.json[options.reveal_secrets]
    if readers is None:
        readers = api_reader.json[options.reveal_secrets] = Readers(api_reader, options.reveal_secrets)
    hooks = readers.get_hooks(options) if readers.has_records else _NO_RECORDS
    try:
        length = request[12] << 8 | request[13]
        at = 14 + length if length < 0x8000 else 14
        if api_reader.flexible:
            if request[at]:
                return None
            at += 1
        body, after = readers.request(request, at, size, hooks)
        if after != size:
            return None
        if response is None:
            return body, None, readers
        at = api_reader.response_at
        if at == 9 and response[8]:
            return None
        answer, after = readers.response(response, at, answer_size, hooks)
    except (*CRUDE, DecodeError):
        return None
    if after != answer_size or (options.records and may_hold_cluster_metadata(api_reader.key, "response", answer)):
        return None
    return body, answer, readers


class BodyJson(NamedTuple):
    """The body of a side, why it was not decoded to its end, the release of an early layout, the layout, and more.

    `trailing`: the bytes behind the last field, in JSON form; `remarks`: what the protocol forbids and was read.
    """

    body: Any
    failure: DecodeFailure | None = None
    early_layout: str | None = None
    plan: Plan | None = None
    trailing: Any = None
    remarks: Sequence[ExchangeRemark] = ()


def read_body_json(exchange: Exchange, side: Side, options: Options = PLAIN) -> BodyJson:
    """The body of a side as a record has it; all of it is None where the side is not there."""
    data = exchange.raw(side)
    if data is None:
        return BodyJson(None)
    api_reader = exchange._api_reader
    missing = exchange.extra.get(side) if exchange.extra is not None else None
    if missing is None:
        try:
            at = api_reader.find_body_offset(side, data)
        except DecodeError:
            pass
        else:
            found = api_reader.try_layouts(
                side,
                data,
                lambda layout: _decode_body_to_json(api_reader, side, layout.plan, data, at, len(data), options),
            )
            if found is not None:
                (body, after), (plan, early_layout) = found
                remarks = api_reader.list_remarks_of_sound_body(side, plan, data, at, after)
                return BodyJson(
                    body,
                    None,
                    early_layout,
                    plan,
                    _trailing_bytes_json(api_reader, side, plan, data[after:], options),
                    remarks,
                )
            reading = api_reader.read_unusual_body(side, data)
            if reading is not None:
                hooks, table = _hooks_and_table(api_reader, side, options)
                body = body_to_json(reading.plan, reading.walker.root, hooks, table, reveal=options.reveal_secrets)
                tail = _trailing_bytes_json(api_reader, side, reading.plan, data[reading.after :], options)
                return BodyJson(body, None, reading.early_layout, reading.plan, tail, reading.remarks)
    body, failure = _decode_fields_before_failure(api_reader, side, data, missing, options)
    return BodyJson(body, failure)


def _hooks_and_table(
    api_reader: ApiReader, side: Side, options: Options
) -> tuple[Mapping[str, str], Mapping[str, Hook]]:
    """The hooks of a side, for a body that the walker reads."""
    hooks = hooks_of_side(api_reader.key or 0, side)
    return hooks, make_hook_table(options, metadata=api_reader.key in METADATA_HOLDERS)


def _trailing_bytes_json(api_reader: ApiReader, side: Side, plan: Plan, tail: bytes, options: Options) -> Any:
    """The bytes behind the last field of a side; None where there are none."""
    if not tail:
        return None
    secret = _plan_has_secrets(plan) or (side == "response" and api_reader.key in ECHOING)
    return redacted_json(len(tail)) if secret and not options.reveal_secrets else json_bytes(tail)


def _decode_body_to_json(
    api_reader: ApiReader, side: Side, plan: Plan, data: bytes, at: int, end: int, options: Options
) -> tuple[tuple[dict[str, Any], int], int] | None:
    """The body with the offset after it, and that offset; None where the body cannot be read."""
    assert api_reader.key is not None
    decode = get_json_decoder(plan, hooks_of_side(api_reader.key, side), options.reveal_secrets)
    if options.deferred and end - at > BODY_WHOLE_MAX:
        large = _decode_large_body_to_json(api_reader, side, plan, data, at, end, options)
        return None if large is None else (large, large[1])
    piece = api_reader.key in PIECES
    hooks = make_hook_table(options, metadata=piece) if _side_has_records(api_reader.key, side) else _NO_RECORDS
    try:
        body, after = decode(data, at, end, hooks)
        hides = options.records and not options.reveal_secrets and not piece
        if hides and may_hold_cluster_metadata(api_reader.key, side, body):
            body, after = decode(data, at, end, make_hook_table(options, metadata=True))
    except (*CRUDE, DecodeError):  # generated code fails crudely; _before_failure says how
        return None
    return (body, after), after


def _decode_large_body_to_json(
    api_reader: ApiReader, side: Side, plan: Plan, data: bytes, at: int, end: int, options: Options
) -> tuple[dict[str, Any], int] | None:
    """The body with long arrays deferred, and the offset after it; None where it cannot be read."""
    try:
        after = find_message_end(plan, data, at, end)
    except (*CRUDE, DecodeError):
        return None
    metadata = api_reader.key in METADATA_HOLDERS and _side_has_records(api_reader.key, side)
    if metadata and api_reader.key not in PIECES:
        metadata = may_hold_cluster_metadata(
            api_reader.key, side, read_body_without_records(api_reader, side, plan, data, at, end)
        )
    return make_body_reader(api_reader, side, options, metadata=metadata).read(plan, data, at, end)[0], after


def make_body_reader(api_reader: ApiReader, side: Side, options: Options, *, metadata: bool) -> BodyReader:
    """The reader of a large body, within the budget of its exchange where it has records."""
    names = hooks_of_side(api_reader.key or 0, side)
    if not _side_has_records(api_reader.key, side):
        return BodyReader(names, _NO_RECORDS, reveal=options.reveal_secrets)
    hook = _make_records_hook(options, metadata)
    hooks = hook.make_fresh_hooks()
    return BodyReader(names, hooks, reveal=options.reveal_secrets, budget=hook.budget)


def read_body_without_records(
    api_reader: ApiReader, side: Side, plan: Plan, data: bytes, at: int, end: int
) -> dict[str, Any]:
    """A large body with arrays deferred and records left out, in which names and ids can be looked for."""
    names = hooks_of_side(api_reader.key or 0, side)
    nothing = dict.fromkeys(names.values(), _return_no_value)
    return BodyReader(names, {PUBLIC: is_public_config, **nothing}, reveal=False).read(plan, data, at, end)[0]


def _return_no_value(_data: object) -> None:
    return None


def _decode_fields_before_failure(
    api_reader: ApiReader, side: Side, data: bytes, missing: str | None, options: Options
) -> tuple[dict[str, Any], DecodeFailure]:
    try:
        plan = api_reader.stable_plan(side)
        at = api_reader.find_body_offset(side, data)
        if options.deferred and len(data) - at > BODY_WHOLE_MAX:
            metadata = api_reader.key in METADATA_HOLDERS
            how = make_body_reader(api_reader, side, options, metadata=metadata)
            body, problem = partial_body(plan, data, at, len(data), how)
            return body, make_decode_failure(problem, missing)
        hooks, table = _hooks_and_table(api_reader, side, options)
        body, problem = decode_and_encode.decode_partial(
            plan, data, at, len(data), json=True, hooks=hooks, table=table, reveal=options.reveal_secrets
        )
    except DecodeError as failure:
        return {}, make_decode_failure(failure, missing)
    return body, make_decode_failure(problem, missing)


@cache
def layouts_have_secrets(api_key: int | None, layouts: tuple[Layout, ...]) -> bool:
    """Whether the raw bytes of a side may hold a secret; those of an unknown message may."""
    return not layouts or api_key in METADATA_HOLDERS or any(_plan_has_secrets(layout.plan) for layout in layouts)


def _plan_has_secrets(plan: Plan) -> bool:
    return any(
        field.secret or (field.plan is not None and _plan_has_secrets(field.plan))
        for field in (*plan.fields, *plan.tagged)
    )


# Error messages

# The APIs with a secret in one of their sides and an error message in their answer.
ECHOING: Final = frozenset({19, 32, 33, 36, 44, 51, 88, 89})
REDACTED: Final = redacted_json(0).keys()
_SHOWN: Final = Options(deferred=True)
_CLEAR: Final = Options(reveal_secrets=True, deferred=True)


def make_concealer_of_exchange(exchange: Exchange) -> Conceal | None:
    """The function that takes the secrets of an exchange out of a text; None without secrets that could be repeated.

    A broker that refuses a value says why, and repeats the value (`Invalid value … for configuration …`), even where
    the value is redacted in the same exchange. So where there is an error message, the secrets of both sides are read
    once more, in clear, and each secret that is found in a message becomes `{redacted N}`.

    The long arrays of a large body are deferred: secrets are collected while the arrays are read once more, and
    messages are concealed whenever they are read. Only the secrets are held, SECRETS_MAX at most.
    """
    if exchange._api_reader.key not in ECHOING or exchange.response_raw is None:
        return None
    return _make_concealer_of_bodies(exchange, {side: read_body_json(exchange, side, _SHOWN)[0] for side in SIDES})


def _make_concealer_of_bodies(exchange: Exchange, shown_bodies: Mapping[str, Any]) -> Conceal | None:
    """The function that takes an exchange's secrets out of a text; `shown_bodies`: by side, secrets redacted."""
    answer = exchange.response_raw or b""
    if not _is_request_whole(exchange):
        return redact_whole_text  # which secrets the response may repeat is not known
    return make_secret_concealer(_find_secrets_of_exchange(exchange, shown_bodies), len(answer))


def _is_request_whole(exchange: Exchange) -> bool:
    """Whether a request is there to its end; True for a single response, which is shown without a request."""
    if exchange.request_raw is None:
        return exchange.extra is None or not exchange.extra.get("guessed")
    return read_body_json(exchange, "request", _SHOWN)[1] is None


def _find_secrets_of_exchange(exchange: Exchange, shown_bodies: Mapping[str, Any]) -> Iterator[str | bytes]:
    for side in SIDES:
        if any(isinstance(each, dict) and each.keys() == REDACTED for each in _walk_nested_values(shown_bodies[side])):
            yield from _find_redacted_values(shown_bodies[side], read_body_json(exchange, side, _CLEAR)[0])


def conceal_echoed_secrets(exchange: Exchange, request: Any, response: Any) -> bool:
    """Take the secrets of an exchange out of its error messages, in place; bodies are JSON with secrets redacted.

    Returns True where messages are hidden whole: the secrets are too many, or the request is not there to its end.
    """
    if not any(isinstance(each, dict) and each.get(MESSAGE) for each in _walk_nested_values(response)):
        return False
    conceal = _make_concealer_of_bodies(exchange, {"request": request, "response": response})
    if conceal is not None:
        _conceal_error_messages(response, conceal)
    return conceal is redact_whole_text


def conceal_echoes_in_parts(parts: Iterable[BytePart], conceal: Conceal) -> Iterator[BytePart]:
    """The parts of a response, with error messages that repeat a secret marked as secret."""
    for part in parts:
        told = part.path.rpartition(".")[2] == MESSAGE and isinstance(part.value, str)
        yield part._replace(secret=True) if told and conceal(str(part.value)) != part.value else part


def _conceal_error_messages(body: Any, conceal: Conceal) -> None:
    """Conceal the error messages of a body, those of deferred lists once they are read."""
    waiting = [body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            if each.get(MESSAGE):
                each[MESSAGE] = _conceal_error_message(each[MESSAGE], conceal)
            for name, item in each.items():
                if isinstance(item, DeferredList):
                    each[name] = DeferredEach(item, partial(_conceal_error_messages, conceal=conceal))
                else:
                    waiting.append(item)


def conceal_error_messages(body: dict[str, Any], conceal: Conceal) -> dict[str, Any]:
    """A copy of a body whose error messages have no secrets."""
    made = deepcopy(body)
    _conceal_error_messages(made, conceal)
    return made


def _conceal_error_message(message: Any, conceal: Conceal) -> Any:
    if isinstance(message, str):
        return conceal(message)
    if isinstance(message, DeferredText):
        data = message.data
    else:
        try:
            data = b64decode(message["base64"], validate=True)
        except (KeyError, TypeError, NotBase64):
            return message
    text = data.decode("utf-8", "surrogateescape")
    return redacted_json(len(data)) if conceal(text) != text else message


def _walk_nested_values(body: Any) -> Iterator[Any]:
    """The body and all that is nested in it."""
    waiting = [iter((body,))]
    while waiting:
        for each in waiting[-1]:
            yield each
            if isinstance(each, dict):
                waiting.append(iter(each.values()))
                break
            if isinstance(each, list | DeferredList):
                waiting.append(iter(each))
                break
        else:
            waiting.pop()


def _find_redacted_values(shown: Any, clear: Any) -> Iterator[str | bytes]:
    """The values that are redacted in `shown` and stand in `clear`."""
    waiting: list[Iterator[tuple[Any, Any]]] = [iter(((shown, clear),))]
    while waiting:
        for one, other in waiting[-1]:
            if isinstance(one, dict) and one.keys() == REDACTED:
                if isinstance(other, str):
                    yield other
                elif isinstance(other, DeferredText):
                    yield other.data
                elif isinstance(other, Mapping) and "base64" in other:
                    yield b64decode(other["base64"])
            elif isinstance(one, dict) and isinstance(other, dict):
                waiting.append(_pair_shown_with_clear(one, other))
                break
            elif isinstance(one, list | DeferredList) and isinstance(other, list | DeferredList):
                waiting.append(zip(one, other, strict=False))
                break
        else:
            waiting.pop()


def _pair_shown_with_clear(shown: Mapping[str, Any], clear: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    return ((item, clear.get(name)) for name, item in shown.items())
