"""Plan in, the functions that decode, project and encode it out; each is made once.

A decoder is a function from the start, but its code is generated only when messages come again: the walker reads the
first messages of each kind, since generating code costs as much as walking some thirty small messages.

All functions either end exactly where the message ends, or raise one of `CRUDE`; the walker then says what is wrong
and where. They also raise it for what the walker only remarks (ReadingRemark): so whoever reads a sound message need
not ask for remarks. Generated text is registered with `linecache`, so
that tracebacks show it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from itertools import count
from types import CodeType, FunctionType
from typing import Any, Final

from decoders.errors import DecodeError
from decoders.schema.api_declaration import Plan
from decoders.schema.body_json_form import Hook, body_to_json
from decoders.schema.codegen_support import Crude, Unit
from decoders.schema.field_projection import ALL, Mode, Want, parse_wanted_paths, project_by_walking
from decoders.schema.plan_walker import Walker

# A decoder's code is generated after this many calls, or this many bytes.
CALLS: Final = 20
BYTES: Final = 4000

_serial = count(1)


class LazyDecoder:
    """Decodes with the walker until `generate` is worth its cost; `function` then gets the generated code."""

    def __init__(
        self, plan: Plan, want: Want, mode: Mode, names: dict[str, object], generate: Callable[[], CodeType]
    ) -> None:
        self._plan = plan
        self._want = want
        self._mode = mode
        self._generate = generate
        self._calls = 0
        self._bytes = 0
        self._done = False
        names["start"] = self
        template = _generate_and_decode_json if mode.json else _generate_and_decode
        self.function: Callable[..., Any] = FunctionType(template.__code__, names, "decode")

    @property
    def has_begun(self) -> bool:
        """Whether it has read a message."""
        return self._calls > 0

    def generate_code(self) -> None:
        """Generate the code unless it is already generated."""
        if not self._done:
            self._done = True
            self.function.__code__ = self._generate()

    def __call__(self, buf: bytes, at: int, end: int, *table: Any) -> Any:
        self._calls += 1
        self._bytes += max(end - at, 0)
        if self._calls > CALLS or self._bytes > BYTES:
            self.generate_code()
            return self.function(buf, at, end, *table)
        try:
            if self._mode.projection:
                return project_by_walking(self._plan, self._want, self._mode.errors, buf, at, end)
            walker = Walker(buf)
            value, after = walker.root, walker.read(self._plan, at, end)
        except DecodeError as failure:
            raise Crude from failure
        if walker.remarks:
            raise Crude
        if self._mode.json:
            value = body_to_json(self._plan, value, self._mode.hooks, *table, reveal=self._mode.reveal)
        return value, after


def _generate_and_decode(buf: bytes, at: int, end: int) -> Any:
    return start(buf, at, end)  # type: ignore[name-defined]  # noqa: F821 - a global of the decoder


def _generate_and_decode_json(buf: bytes, at: int, end: int, table: Any) -> Any:
    return start(buf, at, end, table)  # type: ignore[name-defined]  # noqa: F821 - a global of the decoder


def generate_code_of_used_decoders(plan: Plan) -> None:
    """Generate the code of the plan's decoders that have read messages with the walker so far.

    A process does so before it is forked, so that its copies need not do so each.
    """
    for function in [*plan.made.values()]:
        begun = function.__globals__.get("start")
        if isinstance(begun, LazyDecoder) and begun.has_begun:
            begun.generate_code()


Decoder = Callable[[bytes, int, int], tuple[dict[str, Any], int]]
JsonDecoder = Callable[[bytes, int, int, Mapping[str, Hook]], tuple[dict[str, Any], int]]
Errors = list[tuple[str, int]]
Encoder = Callable[[Mapping[str, Any]], bytes]
Projector = Callable[[bytes, int, int], tuple[dict[str, Any], Errors | None, int]]


def get_decoder(plan: Plan, *, raw_uuids: bool = False) -> Decoder:
    """The function that reads `buf[at:end]`, where `end <= len(buf)`, as Python values and the offset after them.

    The function raises one of CRUDE where the bytes are no such message. A message that ends before `end` is no
    failure: compare the offset. `raw_uuids` leaves UUIDs as 16 bytes (to compare speed with libraries that do).
    """
    key = ("decode", raw_uuids)
    return plan.made.get(key) or _make_lazy_function(plan, key, ALL, Mode(raw_uuids=raw_uuids))


def get_json_decoder(plan: Plan, hooks: Mapping[str, str] | None = None, reveal: bool = False) -> JsonDecoder:
    """The function that reads `buf[at:end]` in JSON form; its last argument is the table of hooks."""
    key = ("json", frozenset((hooks or {}).items()), reveal)
    return plan.made.get(key) or _make_lazy_function(
        plan, key, ALL, Mode(json=True, reveal=reveal, hooks=dict(hooks or {}))
    )


def get_projector(plan: Plan, paths: frozenset[str], errors: bool) -> Projector:
    """The function that reads only the fields that `paths` name (see field_projection.py), and checks the bytes of the
    others.

    The function returns the view, a list of (path with indices, code) of the error codes that are not 0 (None where
    all are 0, or `errors` is not set), and the offset after the message. It fails exactly when the decoder does.
    Secrets are redacted in a view unless their path ends in `:raw`.
    """
    key = ("project", paths, errors)
    made = plan.made.get(key)
    if made is None:
        errors = errors and plan_has_error_codes(plan)
        made = _make_lazy_function(
            plan, key, parse_wanted_paths(plan, paths), Mode(projection=True, errors=errors, reveal=False)
        )
    return made


def get_encoder(plan: Plan) -> Encoder:
    """The function that encodes complete values; for others it raises one of ENCODE_CRUDE (then ask plan_walker.py)."""
    made = plan.made.get("encode")
    if made is None:
        made = plan.made["encode"] = build_encoder(plan)
    return made


def plan_has_error_codes(plan: Plan) -> bool:
    """Whether a message has any error code field."""
    return any(
        (field.kind == "int16" and not field.array and field.name.endswith("error_code"))
        or (field.plan is not None and plan_has_error_codes(field.plan))
        for field in (*plan.fields, *plan.tagged)
    )


def _make_lazy_function(plan: Plan, key: tuple[object, ...], want: Want, mode: Mode) -> Callable[..., Any]:
    """Make a decoder or projector that begins with the walker, and keep it in `plan.made`."""
    purpose = str(key[0])
    if mode.raw_uuids:
        function: Callable[..., Any] = build_decoder(plan, purpose, want, mode)
    else:
        names: dict[str, object] = {}

        def generate() -> CodeType:
            return build_decoder(plan, purpose, want, mode, names).__code__

        function = LazyDecoder(plan, want, mode, names, generate).function
    plan.made[key] = function
    return function


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
    DecoderSource(unit, mode).put_decode_function(plan, want)
    return compile_unit(f"{purpose} {plan.name} v{plan.version}", unit, "decode")


def build_encoder(plan: Plan) -> Callable[..., Any]:
    """Compile the encoder of a plan."""
    from decoders.schema.encoder_codegen import EncoderSource

    unit = Unit()
    EncoderSource(unit).put_encode_function(plan)
    return compile_unit(f"encode {plan.name} v{plan.version}", unit, "encode")


def decoder_source(plan: Plan, mode: Mode, *, commented: bool = True) -> str:
    """The source of the decoder of a message; `commented`: with the field beside each line."""
    from decoders.schema.decoder_codegen import DecoderSource

    unit = Unit(commented=commented)
    DecoderSource(unit, mode).put_decode_function(plan, ALL)
    return source_of_unit(unit)


def encoder_source(plan: Plan, *, commented: bool = True) -> str:
    """The source of the encoder of a message; `commented`: with the field beside each line."""
    from decoders.schema.encoder_codegen import EncoderSource

    unit = Unit(commented=commented)
    EncoderSource(unit).put_encode_function(plan)
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
