"""A side of an exchange in, its JSON-ready body out, with secrets redacted and records as batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple

from decoders.apis.keys import FETCH, FETCH_SNAPSHOT
from decoders.apis.public_configs import is_public
from decoders.embedded.holders import HOLDERS, HOOKS
from decoders.errors import DecodeError
from decoders.exchanges.errors import error_finder
from decoders.exchanges.exchange import Exchange, Failure
from decoders.exchanges.specs import Layout, Spec, failed, tolerates
from decoders.limits import BODY_WHOLE_MAX, RECORDS_HELD_MAX
from decoders.schema import message
from decoders.schema.compile import CRUDE, json_decoder
from decoders.schema.deferred import Reading, check, is_large
from decoders.schema.deferred import partial as partial_body
from decoders.schema.form import PUBLIC, redacted
from decoders.schema.message import TRAILING
from decoders.schema.model import Plan, Side
from decoders.wire.text import json_bytes

# The topic of the cluster's own state, whose records hold credentials (KIP-500, KIP-516).
METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
RECORDS: Final = "records"
# Records of FetchSnapshot: a piece of a file, which may begin and end anywhere.
PIECE: Final = "piece"

# Sides that are not whole are named in what few exchanges have.
SIDES: Final = frozenset(("request", "response"))

Hooks = Mapping[str, Callable[[Any], Any]]


class Options(NamedTuple):
    """How much a record shows: `records` lists every record of a batch, `reveal_secrets` shows secrets.

    With `deferred` what would take much room is left to be made as it is written (wire/deferred.py); the bodies of one
    record are to be written before the next record is asked for.
    """

    records: bool = False
    reveal_secrets: bool = False
    deferred: bool = False


PLAIN: Final = Options()
DEFERRED: Final = Options(deferred=True)


def _record_paths(plan: Plan, prefix: str = "") -> Iterator[str]:
    for field in (*plan.fields, *plan.tagged):
        path = prefix + field.name + ("[]" if field.array else "")
        if field.kind == "records":
            yield path
        elif field.plan is not None:
            yield from _record_paths(field.plan, path + ".")


@cache
def _has_records(plan: Plan) -> bool:
    return next(_record_paths(plan), None) is not None


@cache
def hooks_of(key: int, side: Side, plan: Plan) -> dict[str, str]:
    """The fields of a body that hold something: path → name in the table of hooks."""
    kind = PIECE if key == FETCH_SNAPSHOT else RECORDS
    return {**HOLDERS.get((key, side), {}), **dict.fromkeys(_record_paths(plan), kind)}


_NO_RECORDS: Final[Hooks] = {**HOOKS, PUBLIC: is_public}


class RecordsHook:
    """Shows the records fields of one exchange at a time, within the budget of that exchange."""

    __slots__ = ("_deferred", "_form", "_new", "_read", "_records", "budget", "hooks")

    def __init__(self, options: Options, *, metadata: bool) -> None:
        # Not before there are any: most requests have no records, and what reads them costs more than they do.
        from decoders.records.json_form import records_json
        from decoders.records.model import Budget
        from decoders.records.read import batches_json, deferrable_batches
        from decoders.records.secrets import holds_secret

        self._read: Callable[..., Any] = deferrable_batches if options.deferred else batches_json
        self._deferred = options.deferred
        self._records = options.records
        self._form = (
            partial(records_json, hide=holds_secret) if metadata and not options.reveal_secrets else records_json
        )
        self._new = Budget
        self.budget = Budget()
        self.hooks: Hooks = {**_NO_RECORDS, RECORDS: self, PIECE: partial(_piece_json, self)}

    def fresh(self) -> Hooks:
        """The functions of the hooks, for the next exchange."""
        budget = self.budget
        if self._deferred:
            if budget.held < 0:  # the records of the exchange before may still be read
                budget = self.budget = self._new()
            budget.held = RECORDS_HELD_MAX
        budget.refill()
        return self.hooks

    def __call__(self, data: bytes | None) -> Any:
        """The JSON form of one records field."""
        return self._read(data, records=self._records, budget=self.budget, form=self._form)


@cache
def _records_hook(options: Options, metadata: bool) -> RecordsHook:
    return RecordsHook(options, metadata=metadata)


def table(options: Options, *, metadata: bool = False) -> Hooks:
    """The functions of the hooks, for one exchange; `metadata` says that records are of the cluster's own state."""
    return _records_hook(options, metadata).fresh()


def _piece_json(show: Callable[[Any], Any], data: bytes | None) -> Any:
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
    """How the two sides of an API version become JSON, in the common case: with the stable layouts."""

    __slots__ = ("errors", "has_records", "nameless", "plans", "request", "response")

    def __init__(self, spec: Spec, reveal: bool) -> None:
        assert spec.key is not None
        plans = (spec.layouts("request")[0].plan, spec.layouts("response")[0].plan)
        self.plans = plans
        self.request = json_decoder(plans[0], hooks_of(spec.key, "request", plans[0]), reveal)
        self.response = json_decoder(plans[1], hooks_of(spec.key, "response", plans[1]), reveal)
        self.has_records = any(map(_has_records, plans))
        self.errors = error_finder(plans[1])
        self.nameless = bool(spec.nameless("request") or spec.nameless("response"))


def both_quick(exchange: Exchange, options: Options) -> tuple[Any, Any, Readers] | None:
    """The bodies of an exchange in the common case (specs.Spec.look has the same); None when it takes a closer look."""
    spec = exchange.spec
    request, response = exchange.request_raw, exchange.response_raw
    if not spec.quick or request is None or (exchange.extra is not None and not SIDES.isdisjoint(exchange.extra)):
        return None
    size = len(request)
    answer_size = 0 if response is None else len(response)
    if size + answer_size > BODY_WHOLE_MAX and options.deferred:  # is_large() of each looks closer
        return None
    readers: Readers = spec.json[options.reveal_secrets]
    if readers is None:
        readers = spec.json[options.reveal_secrets] = Readers(spec, options.reveal_secrets)
    hooks = table(options) if readers.has_records else _NO_RECORDS
    try:
        length = request[12] << 8 | request[13]
        at = 14 + length if length < 0x8000 else 14
        if spec.flexible:
            if request[at]:
                return None
            at += 1
        body, after = readers.request(request, at, size, hooks)
        if after != size:
            return None
        if response is None:
            return body, None, readers
        at = spec.response_at
        if at == 9 and response[8]:
            return None
        answer, after = readers.response(response, at, answer_size, hooks)
    except (*CRUDE, DecodeError):
        return None
    if after != answer_size or (options.records and spec.key in (FETCH, FETCH_SNAPSHOT) and of_metadata(answer)):
        return None
    return body, answer, readers


def body_json(
    exchange: Exchange, side: Side, options: Options = PLAIN
) -> tuple[Any, Failure | None, str | None, Plan | None]:
    """The body, why it could not be decoded to its end, the release of an early layout, and the layout used."""
    data = exchange.request_raw if side == "request" else exchange.response_raw
    if data is None:
        return None, None, None, None
    spec = exchange.spec
    missing = exchange.extra.get(side) if exchange.extra is not None else None
    if missing is None:
        end = len(data)
        try:
            at = spec.body(side, data)
        except DecodeError:
            pass
        else:
            tolerated = None
            for layout in spec.layouts(side):
                if not spec.fits(layout, data):
                    continue
                body, after = _decoded(spec, side, layout, data, at, end, options)
                if after == end:
                    return body, None, layout.release, layout.plan
                if tolerates(side, layout, after, end):
                    tolerated = body, None, layout.release, layout.plan
            if tolerated is not None:
                return tolerated
    body, failure = _before_failure(spec, side, data, missing, options)
    return body, failure, None, None


def trailing_json(exchange: Exchange, plan: Plan, options: Options) -> Any:
    """The bytes behind a request that its broker did not look at (see specs.tolerates), None where there are none."""
    data = exchange.request_raw
    if data is None:
        return None
    at = exchange.spec.body("request", data)
    if options.deferred and is_large(len(data) - at):
        tail = data[check(plan, data, at, len(data)) :] or None
    else:
        tail = message.decode(plan, data, at, len(data), strict=False).get(TRAILING)
    if tail is None:
        return None
    return redacted(len(tail)) if _secret(plan) and not options.reveal_secrets else json_bytes(tail)


def _decoded(
    spec: Spec, side: Side, layout: Layout, data: bytes, at: int, end: int, options: Options
) -> tuple[dict[str, Any] | None, int]:
    """The body and the offset behind it; None and an offset behind the end where it cannot be read."""
    plan = layout.plan
    assert spec.key is not None
    decode = json_decoder(plan, hooks_of(spec.key, side, plan), options.reveal_secrets)
    if options.deferred and is_large(end - at):
        return _deferred(spec, side, plan, data, at, end, options)
    records = _has_records(plan)
    hooks = table(options, metadata=spec.key == FETCH_SNAPSHOT) if records else _NO_RECORDS
    try:
        body, after = decode(data, at, end, hooks)
        if records and options.records and spec.key == FETCH and not options.reveal_secrets and of_metadata(body):
            body, after = decode(data, at, end, table(options, metadata=True))
    except (*CRUDE, DecodeError):  # generated code fails crudely; _before_failure says how
        return None, end + 1
    return body, after


def _deferred(
    spec: Spec, side: Side, plan: Plan, data: bytes, at: int, end: int, options: Options
) -> tuple[dict[str, Any] | None, int]:
    """What _decoded() gives, long arrays deferred."""
    try:
        after = check(plan, data, at, end)
    except (*CRUDE, DecodeError):
        return None, end + 1
    metadata = _has_records(plan) and spec.key in (FETCH, FETCH_SNAPSHOT)
    if metadata and spec.key == FETCH:
        metadata = of_metadata(bare(spec, side, plan, data, at, end))
    return reading(spec, side, plan, options, metadata=metadata).read(plan, data, at, end)[0], after


def reading(spec: Spec, side: Side, plan: Plan, options: Options, *, metadata: bool) -> Reading:
    """How a large body is read."""
    names = hooks_of(spec.key or 0, side, plan)
    if not _has_records(plan):
        return Reading(names, _NO_RECORDS, reveal=options.reveal_secrets)
    hook = _records_hook(options, metadata)
    hooks = hook.fresh()
    return Reading(names, hooks, reveal=options.reveal_secrets, budget=hook.budget)


def bare(spec: Spec, side: Side, plan: Plan, data: bytes, at: int, end: int) -> dict[str, Any]:
    """A large body of which arrays are deferred and records left out, to look for names and ids in it."""
    names = hooks_of(spec.key or 0, side, plan)
    nothing = dict.fromkeys(names.values(), _left_out)
    return Reading(names, {PUBLIC: is_public, **nothing}, reveal=False).read(plan, data, at, end)[0]


def _left_out(_data: object) -> None:
    return None


def of_metadata(body: Mapping[str, Any]) -> bool:
    return "responses" not in body or any(
        topic.get("topic") == METADATA_TOPIC or topic.get("topic_id") == METADATA_TOPIC_ID
        for topic in body["responses"]
    )


def _before_failure(
    spec: Spec, side: Side, data: bytes, missing: str | None, options: Options
) -> tuple[dict[str, Any], Failure]:
    try:
        plan = spec.stable(side)
        at = spec.body(side, data)
        if options.deferred and is_large(len(data) - at):
            metadata = spec.key in (FETCH, FETCH_SNAPSHOT)
            how = reading(spec, side, plan, options, metadata=metadata)
            body, problem = partial_body(plan, data, at, len(data), how)
            return body, failed(problem, missing)
        body, problem = message.partial(
            plan,
            data,
            at,
            len(data),
            json=True,
            hooks=hooks_of(spec.key or 0, side, plan),
            table=table(options, metadata=spec.key in (FETCH, FETCH_SNAPSHOT)),
            reveal=options.reveal_secrets,
        )
    except DecodeError as failure:
        return {}, failed(failure, missing)
    return body, failed(problem, missing)


@cache
def holds_secrets(spec_key: int | None, layouts: tuple[Layout, ...]) -> bool:
    """Whether the raw bytes of a side may hold a secret; those of an unknown message may."""
    return not layouts or spec_key in (FETCH, FETCH_SNAPSHOT) or any(_secret(layout.plan) for layout in layouts)


def _secret(plan: Plan) -> bool:
    return any(
        field.secret or (field.plan is not None and _secret(field.plan)) for field in (*plan.fields, *plan.tagged)
    )
