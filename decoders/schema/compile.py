"""Plan in, functions out: generates and compiles their source, and keeps both.

Decoders are functions at once, but generate their code only when messages come again (start.py), and again for what
comes often (learn.py). The figures are those of `python -m tests.bench.codec`.

The generated text is registered with `linecache`, so that tracebacks and `text_of` show it. All functions either end
exactly where the message ends, or raise one of `CRUDE`; the walker then says what is wrong and where.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from types import CodeType
from typing import Any

from decoders.schema.decode import ALL, Mode, Reading, Want
from decoders.schema.emit import Unit
from decoders.schema.encode import CRUDE as ENCODE_CRUDE
from decoders.schema.encode import Writing
from decoders.schema.form import Hook
from decoders.schema.learn import ENOUGH, Learner, may_learn
from decoders.schema.model import Plan
from decoders.schema.project import wanted
from decoders.schema.runtime import CRUDE
from decoders.schema.start import Start

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
    "text_of",
]

_serial = count(1)


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
        unit = Unit()
        Writing(unit).root(plan)
        made = plan.made["encode"] = install(f"encode {plan.name} v{plan.version}", unit, "encode")
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
    unit = Unit()
    if mode.raw_uuids:
        function = build(plan, str(key[0]), want, mode)
    else:
        start = Start(plan, want, mode, unit.names, lambda: _generated(plan, str(key[0]), want, mode, unit, start))
        function = start.function
    plan.made[key] = function
    return function


def _generated(plan: Plan, purpose: str, want: Want, mode: Mode, unit: Unit, start: Start) -> CodeType:
    return build(plan, purpose, want, mode, unit=unit, function=start.function).__code__


def build(
    plan: Plan,
    purpose: str,
    want: Want,
    mode: Mode,
    enough: int = ENOUGH,
    *,
    unit: Unit | None = None,
    function: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Compile one decoder of a plan, which specialises after `enough` messages (see learn.py).

    `function`, with the names of `unit` as its globals, is the one whose code is to specialise.
    """
    unit = unit or Unit()
    if not mode.careful:

        def careful(*arguments: Any) -> Any:
            key = (purpose, repr(want), repr(mode))
            made = plan.made.get(key)
            if made is None:
                made = plan.made[key] = build(plan, purpose, want, replace(mode, careful=True))
            return made(*arguments)

        unit.names["careful"] = careful
    title = f"{purpose} {plan.name} v{plan.version}"
    if mode.careful or not may_learn(plan):
        Reading(unit, mode).root(plan, want)
        return install(title, unit, "decode")
    learner = Learner(plan, want, mode, unit, partial(install, title), enough)
    Reading(unit, mode).root(plan, want, asks=True, studies=True)
    made = install(title, unit, "decode")
    learner.decode = function or made
    return made


def install(title: str, unit: Unit, name: str) -> Callable[..., Any]:
    """Compile what a unit holds; the function of that name."""
    text = "\n\n".join(unit.parts) + "\n"
    place = f"<{title} #{next(_serial)}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), unit.names)
    made: Callable[..., Any] = unit.names[name]  # type: ignore[assignment]  # exec has put the function there
    return made


def text_of(function: Callable[..., Any]) -> str:
    """The generated source of a function."""
    start = getattr(function, "__globals__", {}).get("start")
    if isinstance(start, Start):
        start.finish()
    return "".join(linecache.getlines(function.__code__.co_filename))
