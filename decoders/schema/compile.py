"""Plan in, functions out that decode, project and encode, made once each.

Decoders are functions at once, but generate their code only when messages come again (start.py), and again for what
comes often (learn.py). The figures are those of `python -m tests.bench.codec`.

All functions either end exactly where the message ends, or raise one of `CRUDE`; the walker then says what is wrong and
where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from decoders.schema.form import Hook
from decoders.schema.model import Plan
from decoders.schema.project import wanted
from decoders.schema.runtime import CRUDE, ENCODE_CRUDE
from decoders.schema.start import LazyDecoder
from decoders.schema.want import ALL, Mode, Want

Decoder = Callable[[bytes, int, int], tuple[dict[str, Any], int]]
JsonDecoder = Callable[[bytes, int, int, Mapping[str, Hook]], tuple[dict[str, Any], int]]
Errors = list[tuple[str, int]]
Encoder = Callable[[Mapping[str, Any]], bytes]
Projector = Callable[[bytes, int, int], tuple[dict[str, Any], Errors | None, int]]

__all__ = [
    "CRUDE",
    "ENCODE_CRUDE",
    "Decoder",
    "Encoder",
    "JsonDecoder",
    "Projector",
    "decoder",
    "encoder",
    "json_decoder",
    "projector",
]


def decoder(plan: Plan, *, raw_uuids: bool = False) -> Decoder:
    """The function that reads `buf[at:end]`, where `end <= len(buf)`, as Python values; it gives the offset after them.

    It fails with one of CRUDE where the bytes are no such message; fewer bytes than `end` says are no failure: compare
    the offset. `raw_uuids` leaves uuids as 16 bytes (to compare speed with libraries that do).
    """
    key = ("decode", raw_uuids)
    return plan.made.get(key) or _made(plan, key, ALL, Mode(raw_uuids=raw_uuids))


def json_decoder(plan: Plan, hooks: Mapping[str, str] | None = None, reveal: bool = False) -> JsonDecoder:
    """As decoder, in JSON form (see form.py); the function takes the table of hooks as its last argument."""
    key = ("json", frozenset((hooks or {}).items()), reveal)
    return plan.made.get(key) or _made(plan, key, ALL, Mode(json=True, reveal=reveal, hooks=dict(hooks or {})))


def projector(plan: Plan, paths: frozenset[str], errors: bool) -> Projector:
    """The function that reads only the fields that `paths` name (see project.py), and checks the bytes of the others.

    It gives the view, a list of (path with indices, code) of the error codes that are not 0 (None where there is none,
    or `errors` is not set), and the offset after the message. It fails exactly when the decoder does. Secrets are
    redacted in a view unless their path ends in `:raw`.
    """
    key = ("project", paths, errors)
    made = plan.made.get(key)
    if made is None:
        errors = errors and has_errors(plan)
        made = _made(plan, key, wanted(plan, paths), Mode(projection=True, errors=errors, reveal=False))
    return made


def encoder(plan: Plan) -> Encoder:
    """The function that encodes complete values; for others it raises one of ENCODE_CRUDE, and write.py does it."""
    made = plan.made.get("encode")
    if made is None:
        made = plan.made["encode"] = _generate().build_encoder(plan)
    return made


def has_errors(plan: Plan) -> bool:
    """Whether a message has any error code field."""
    return any(
        (field.kind == "int16" and not field.array and field.name.endswith("error_code"))
        or (field.plan is not None and has_errors(field.plan))
        for field in (*plan.fields, *plan.tagged)
    )


def _made(plan: Plan, key: tuple[object, ...], want: Want, mode: Mode) -> Callable[..., Any]:
    """A decoder that begins with the walker."""
    purpose = str(key[0])
    if mode.raw_uuids:
        function: Callable[..., Any] = _generate().build(plan, purpose, want, mode)
    else:
        names: dict[str, object] = {}

        def generate() -> CodeType:
            made: FunctionType = _generate().build(plan, purpose, want, mode, start=(names, function))
            return made.__code__

        function = LazyDecoder(plan, want, mode, names, generate).function
    plan.made[key] = function
    return function


def _generate() -> ModuleType:
    """The module that generates code; not loaded before there is any need, as that takes some time."""
    from decoders.schema import generate

    return generate
