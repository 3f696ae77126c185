"""Plan and bytes in, values out, and back: the entry points for decoding and encoding messages, with exact errors.

Functions are generated on use. The walker reads the first messages of each kind, since generating code costs as much as
walking some thirty small messages; generated code reads the later ones. Where generated code fails, or does not end
where the message ends, the walker reads the same bytes again and says where and why. Where the generated encoder fails,
plan_walker.py encodes the value or says what is wrong with it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from itertools import count
from types import CodeType, FunctionType
from typing import Any, Final

from decoders.errors import DecodeError, Malformed, without_frames
from decoders.schema.codegen_support import CRUDE, ENCODE_CRUDE, Crude, Unit
from decoders.schema.json_form import Hook, to_json
from decoders.schema.model import Plan
from decoders.schema.plan_walker import Walker, walk, write
from decoders.schema.projection import ALL, Mode, Want, parse_want, project
from decoders.wire.readable_text import in_bytes

__all__ = [
    "BYTES",
    "CALLS",
    "CRUDE",
    "ENCODE_CRUDE",
    "MESSAGE",
    "TRAILING",
    "WRITTEN",
    "Decoder",
    "Encoder",
    "JsonDecoder",
    "LazyDecoder",
    "Projector",
    "build_decoder",
    "decode",
    "decode_exactly",
    "decode_partial",
    "decoder",
    "decoder_source",
    "encode",
    "encoder",
    "encoder_source",
    "json_decoder",
    "projector",
    "trailing_error",
]

# A decoder's code is generated after this many calls, or this many bytes.
CALLS: Final = 20
BYTES: Final = 4000


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
        template = _start_json if mode.json else _start
        self.function: Callable[..., Any] = FunctionType(template.__code__, names, "decode")

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
                return project(self._plan, self._want, self._mode.errors, buf, at, end)
            value, after = walk(self._plan, buf, at, end)
        except DecodeError as failure:
            raise Crude from failure
        if self._mode.json:
            value = to_json(self._plan, value, self._mode.hooks, *table, reveal=self._mode.reveal)
        return value, after


def _start(buf: bytes, at: int, end: int) -> Any:
    return start(buf, at, end)  # type: ignore[name-defined]  # noqa: F821 - a global of the decoder


def _start_json(buf: bytes, at: int, end: int, table: Any) -> Any:
    return start(buf, at, end, table)  # type: ignore[name-defined]  # noqa: F821 - a global of the decoder


# Plan in, the functions that decode, project and encode it out; each is made once.
#
# A decoder is a function from the start, but its code is generated only when messages come again.
#
# All functions either end exactly where the message ends, or raise one of `CRUDE`; the walker then says what is wrong
# and where.


Decoder = Callable[[bytes, int, int], tuple[dict[str, Any], int]]
JsonDecoder = Callable[[bytes, int, int, Mapping[str, Hook]], tuple[dict[str, Any], int]]
Errors = list[tuple[str, int]]
Encoder = Callable[[Mapping[str, Any]], bytes]
Projector = Callable[[bytes, int, int], tuple[dict[str, Any], Errors | None, int]]


def decoder(plan: Plan, *, raw_uuids: bool = False) -> Decoder:
    """The function that reads `buf[at:end]`, where `end <= len(buf)`, as Python values and the offset after them.

    The function raises one of CRUDE where the bytes are no such message. A message that ends before `end` is no
    failure: compare the offset. `raw_uuids` leaves UUIDs as 16 bytes (to compare speed with libraries that do).
    """
    key = ("decode", raw_uuids)
    return plan.made.get(key) or _make_function(plan, key, ALL, Mode(raw_uuids=raw_uuids))


def json_decoder(plan: Plan, hooks: Mapping[str, str] | None = None, reveal: bool = False) -> JsonDecoder:
    """The function that reads `buf[at:end]` in JSON form (json_form.py); its last argument is the table of hooks."""
    key = ("json", frozenset((hooks or {}).items()), reveal)
    return plan.made.get(key) or _make_function(plan, key, ALL, Mode(json=True, reveal=reveal, hooks=dict(hooks or {})))


def projector(plan: Plan, paths: frozenset[str], errors: bool) -> Projector:
    """The function that reads only the fields that `paths` name (see projection.py), and checks the bytes of the
    others.

    The function returns the view, a list of (path with indices, code) of the error codes that are not 0 (None where
    all are 0, or `errors` is not set), and the offset after the message. It fails exactly when the decoder does.
    Secrets are redacted in a view unless their path ends in `:raw`.
    """
    key = ("project", paths, errors)
    made = plan.made.get(key)
    if made is None:
        errors = errors and has_errors(plan)
        made = _make_function(plan, key, parse_want(plan, paths), Mode(projection=True, errors=errors, reveal=False))
    return made


def encoder(plan: Plan) -> Encoder:
    """The function that encodes complete values; for others it raises one of ENCODE_CRUDE (then ask plan_walker.py)."""
    made = plan.made.get("encode")
    if made is None:
        made = plan.made["encode"] = build_encoder(plan)
    return made


def has_errors(plan: Plan) -> bool:
    """Whether a message has any error code field."""
    return any(
        (field.kind == "int16" and not field.array and field.name.endswith("error_code"))
        or (field.plan is not None and has_errors(field.plan))
        for field in (*plan.fields, *plan.tagged)
    )


def _make_function(plan: Plan, key: tuple[object, ...], want: Want, mode: Mode) -> Callable[..., Any]:
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


# Plan and purpose in, a compiled function out.
#
# The generated text is registered with `linecache`, so that tracebacks show it.


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


# Message in, values out, and back: exact errors.


TRAILING: Final = "_trailing"
# How much plan_walker.py encodes before an encoder is worth its cost, in bytes; each message counts MESSAGE bytes more.
WRITTEN: Final = 4000
MESSAGE: Final = 200


def decode(plan: Plan, data: bytes, at: int = 0, end: int | None = None, *, strict: bool = True) -> dict[str, Any]:
    """The message in `data[at:end]` as Python values. Raises DecodeError.

    Offsets of errors count from the start of `data`. Bytes after the message are an error if `strict`; else they
    are kept under `_trailing`.
    """
    stop = len(data) if end is None else min(end, len(data))
    try:
        value, after = decoder(plan)(data, at, stop)
    except CRUDE:
        return decode_exactly(plan, data, at, stop, strict=strict)
    if after != stop:
        if strict:
            raise trailing_error(after, stop)
        value[TRAILING] = data[after:stop]
    return value


def decode_exactly(plan: Plan, data: bytes, at: int, end: int, *, strict: bool = True) -> dict[str, Any]:
    """Decode a message by the walker alone: the exact answer after generated code has failed. Raises DecodeError."""
    walker = Walker(data)
    after = walker.read(plan, at, end)
    if after != end:
        if strict:
            raise trailing_error(after, end)
        walker.root[TRAILING] = data[after:end]
    return walker.root


def trailing_error(at: int, end: int) -> Malformed:
    """The error for bytes that are left after a message."""
    return Malformed(f"{in_bytes(end - at)} after the end of the message", offset=at)


def encode(plan: Plan, value: Mapping[str, Any]) -> bytes:
    """The bytes of a message; missing fields take their defaults. Raises EncodeError."""
    if plan.written < WRITTEN:
        data = write(plan, value)
        plan.written += len(data) + MESSAGE
        return data
    try:
        return encoder(plan)(value)
    except ENCODE_CRUDE:
        return write(plan, value)


def find_failure(walker: Walker, plan: Plan, at: int, end: int) -> DecodeError | None:
    """Have a walker read a message that ends at `end`; returns why it cannot be read, None where it can."""
    try:
        after = walker.read(plan, at, end)
    except DecodeError as failure:
        return without_frames(failure)
    return None if after == end else trailing_error(after, end)


def decode_partial(
    plan: Plan,
    data: bytes,
    at: int = 0,
    end: int | None = None,
    *,
    json: bool = False,
    hooks: Mapping[str, str] | None = None,
    table: Mapping[str, Hook] | None = None,
    reveal: bool = False,
) -> tuple[dict[str, Any], DecodeError | None]:
    """The fields that can be read before the first failure, and that failure (None if the whole message is read).

    With `json` the fields are in JSON form; `hooks`, `table` and `reveal` are those of to_json().
    """
    stop = len(data) if end is None else min(end, len(data))
    walker = Walker(data)
    failure = find_failure(walker, plan, at, stop)
    value = to_json(plan, walker.root, hooks, table, reveal=reveal) if json else walker.root
    return value, failure
