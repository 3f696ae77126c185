"""Plan and purpose in, a compiled function out.

The generated text is registered with `linecache`, so that tracebacks show it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from itertools import count
from typing import Any

from decoders.schema.codegen_support import Unit
from decoders.schema.model import Plan
from decoders.schema.projection import ALL, Mode, Want

_serial = count(1)


def build_decoder(
    plan: Plan, purpose: str, want: Want, mode: Mode, names: dict[str, object] | None = None
) -> Callable[..., Any]:
    """Compile one decoder of a plan; `names` are the globals of an existing function that will get its code."""
    from decoders.schema.decoder_codegen import DecoderSource  # on first use: small captures are read by the walker

    unit = Unit()
    if names is not None:
        unit.names = names
    if not mode.careful:

        def careful(*arguments: Any) -> Any:
            key = (purpose, repr(want), repr(mode))
            made = plan.made.get(key)
            if made is None:
                made = plan.made[key] = build_decoder(plan, purpose, want, mode._replace(careful=True))
            return made(*arguments)

        unit.names["careful"] = careful
    DecoderSource(unit, mode).put_root(plan, want)
    return compile_unit(f"{purpose} {plan.name} v{plan.version}", unit, "decode")


def build_encoder(plan: Plan) -> Callable[..., Any]:
    """Compile the encoder of a plan."""
    from decoders.schema.encoder_codegen import EncoderSource

    unit = Unit()
    EncoderSource(unit).put_root(plan)
    return compile_unit(f"encode {plan.name} v{plan.version}", unit, "encode")


def decoder_source(plan: Plan, mode: Mode, *, commented: bool = True) -> str:
    """The source of the decoder of a message; `commented`: with the field beside each line."""
    from decoders.schema.decoder_codegen import DecoderSource

    unit = Unit(commented=commented)
    DecoderSource(unit, mode).put_root(plan, ALL)
    return source_of_unit(unit)


def encoder_source(plan: Plan, *, commented: bool = True) -> str:
    """The source of the encoder of a message; `commented`: with the field beside each line."""
    from decoders.schema.encoder_codegen import EncoderSource

    unit = Unit(commented=commented)
    EncoderSource(unit).put_root(plan)
    return source_of_unit(unit)


def source_of_unit(unit: Unit) -> str:
    """The source of all functions in a unit."""
    return "\n\n".join(unit.parts) + "\n"


def compile_unit(title: str, unit: Unit, name: str) -> Callable[..., Any]:
    """Compile all functions of a unit; returns the function `name`."""
    text = source_of_unit(unit)
    place = f"<{title} #{next(_serial)}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), unit.names)
    made: Callable[..., Any] = unit.names[name]  # type: ignore[assignment]  # exec has put the function there
    return made
