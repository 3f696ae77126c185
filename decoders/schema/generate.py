"""Plan and purpose in, a compiled function out.

The generated text is registered with `linecache`, so that tracebacks show it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from decoders.schema.decode import DecoderSource
from decoders.schema.emit import Unit
from decoders.schema.encode import EncoderSource
from decoders.schema.learn import ENOUGH, Learner, may_learn
from decoders.schema.model import Plan
from decoders.schema.want import ALL, Mode, Want

_serial = count(1)


def build(
    plan: Plan,
    purpose: str,
    want: Want,
    mode: Mode,
    enough: int = ENOUGH,
    *,
    start: tuple[dict[str, object], Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Compile one decoder of a plan, which specialises after `enough` messages (see learn.py).

    `start` is a function whose code is to be this one's, and to specialise, and its globals.
    """
    unit = Unit()
    if start is not None:
        unit.names = start[0]
    if not mode.careful:

        def careful(*arguments: Any) -> Any:
            key = (purpose, repr(want), repr(mode))
            made = plan.made.get(key)
            if made is None:
                made = plan.made[key] = build(plan, purpose, want, mode._replace(careful=True))
            return made(*arguments)

        unit.names["careful"] = careful
    title = f"{purpose} {plan.name} v{plan.version}"
    if mode.careful or not may_learn(plan):
        DecoderSource(unit, mode).root(plan, want)
        return install(title, unit, "decode")
    learner = Learner(plan, want, mode, unit, partial(install, title), enough)
    DecoderSource(unit, mode).root(plan, want, asks=True, studies=True)
    made = install(title, unit, "decode")
    learner.decode = made if start is None else start[1]
    return made


def build_encoder(plan: Plan) -> Callable[..., Any]:
    """Compile the encoder of a plan."""
    unit = Unit()
    EncoderSource(unit).root(plan)
    return install(f"encode {plan.name} v{plan.version}", unit, "encode")


def decoder_source(plan: Plan, mode: Mode, *, commented: bool = True) -> str:
    """The source of the decoder of a whole message as it is at first; `commented` with the field beside each line."""
    unit = Unit(commented=commented)
    DecoderSource(unit, mode).root(plan, ALL)
    return text_of(unit)


def encoder_source(plan: Plan, *, commented: bool = True) -> str:
    """The source of the encoder, likewise."""
    unit = Unit(commented=commented)
    EncoderSource(unit).root(plan)
    return text_of(unit)


def text_of(unit: Unit) -> str:
    """The source of all functions in a unit."""
    return "\n\n".join(unit.parts) + "\n"


def install(title: str, unit: Unit, name: str) -> Callable[..., Any]:
    """Compile what a unit holds; the function of that name."""
    text = text_of(unit)
    place = f"<{title} #{next(_serial)}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), unit.names)
    made: Callable[..., Any] = unit.names[name]  # type: ignore[assignment]  # exec has put the function there
    return made
