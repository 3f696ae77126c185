"""A script's source in, its functions out; and exchanges as these functions see them.

```python
from kwcli.proxy.scripts import on

@on("Produce", when="topic == orders")
def request(exchange):
    exchange.request["acks"] = 1

@on("Metadata")
def response(exchange):
    exchange.delay("200ms")
```

A function whose name begins with `request` sees requests before a broker does, one whose name begins with `response`
sees answers before the client does. All functions that match run in the order of the file, until one of them does
anything but pass (an answer, a close). Bodies are dicts as `decoders.decode_message` gives them; a body that was
changed is encoded again in the same version. Secrets are `RedactedValue`s, which can stay or be moved, not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, Literal

from decoders.apis import api
from decoders.errors import UnknownApi
from decoders.frames.frames_of_gapless_connections import SIZE_FIELD, with_size_field
from decoders.frames.read_and_judge_headers import read_request_head
from decoders.messages.error_answers import encode_error_frame, make_error_answer
from decoders.messages.split_frame_into_parts import split_frame
from decoders.messages.whole_messages import decode_message, encode_message, encode_response
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import find_error_code
from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.schema.api_declaration import Side
from decoders.schema.plan_walker import BytePart, Walker
from decoders.wire.parse_units import parse_duration

__all__ = [
    "Exchanged",
    "Handler",
    "RedactedValue",
    "Script",
    "ScriptError",
    "ScriptExchange",
    "format_error_place",
    "load_script",
    "on",
    "run_handlers_and_return_line",
]

Action = Literal["pass", "answer", "close", "reset", "hold"]
# Where a secret goes: its start and end in the new frame, then in the frame that came.
Fill = tuple[int, int, int, int]
Function = Callable[["ScriptExchange"], object]
_STEP: Final = re.compile(r"[^.\[\]]+")


class ScriptError(Exception):
    """A script asked for something impossible, or does not load; the text says why."""


class RedactedValue:
    """A secret in a body, which can be moved within the body but not read."""

    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, end: int, *, text: bool) -> None:
        self.start = start  # its place in the frame that came
        self.end = end
        self.text = text

    @property
    def size(self) -> int:
        """The secret's size in bytes."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"<redacted, {self.size} bytes>"

    def make_stars(self) -> str | bytes:
        """Stars of the secret's size, as the type of its field: str or bytes."""
        return "*" * self.size if self.text else b"*" * self.size


class Handler(NamedTuple):
    """A function of the script. `apis`: API keys that it wants, None: all; `when`: a filter's text, empty for none."""

    function: Function
    side: Side
    apis: frozenset[int] | None
    when: str
    line: int  # where it is defined


class Script(NamedTuple):
    """A loaded script: its path and its functions."""

    path: str
    handlers: tuple[Handler, ...]


class Exchanged(NamedTuple):
    """Frames with size fields, secrets as stars, and their connection. `response` is None until the answer is here."""

    api_key: int
    api_version: int
    connection: int
    client: str
    broker: str
    request: bytes
    response: bytes | None = None
    secrets: frozenset[tuple[int, int]] = frozenset()  # (start, end) in the frame that is decided about

    @property
    def side(self) -> Side:
        """The side, request or response, that is decided about."""
        return "request" if self.response is None else "response"


_found: list[tuple[Function, tuple[str | int, ...], str]] = []


def on(*apis: str | int, when: str = "") -> Callable[[Function], Function]:
    """Run the function only for these APIs (names or numbers; none: all), and only for exchanges the filter matches."""

    def register(function: Function) -> Function:
        _found.append((function, apis, when))
        return function

    return register


def load_script(path: str, source: bytes) -> Script:
    """Run a script's source; the script with its functions. Raises ScriptError with file and line."""
    _found.clear()
    names: dict[str, Any] = {"__name__": "kw_script", "__file__": path}
    try:
        exec(compile(source, path, "exec"), names)
        decorated = {id(function) for function, _, _ in _found}
        plain = [
            (value, (), "")
            for name, value in names.items()
            if name in ("request", "response") and callable(value) and id(value) not in decorated
        ]
        handlers = [_make_handler(*each) for each in (*_found, *plain)]
    except ScriptError as error:
        raise ScriptError(f"{path}{error}") from None
    except BaseException as error:
        raise ScriptError(format_error_place(path, error)) from None
    if not handlers:
        raise ScriptError(f"{path}: has no function request(exchange) or response(exchange)")
    handlers.sort(key=lambda handler: handler.line)
    return Script(path, tuple(handlers))


def format_error_place(path: str, error: BaseException, line: int = 1) -> str:
    """`path:line: error`: the innermost line of the script that the error came through, else `line`."""
    if isinstance(error, SyntaxError) and error.filename == path and error.lineno:
        return f"{path}:{error.lineno}:{error.offset or 1}: {error.msg}"
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    text = str(error) if isinstance(error, ScriptError) else f"{type(error).__name__}: {error}"
    return f"{path}:{line}: {text}"


def _make_handler(function: Function, apis: tuple[str | int, ...], when: str) -> Handler:
    code = getattr(function, "__code__", None)
    line = code.co_firstlineno if code is not None else 1
    name = getattr(function, "__name__", "")
    side: Side | None = next((s for s in _SIDES if name.startswith(s)), None)
    if side is None:
        raise ScriptError(f":{line}: {name or 'a function'}: its name begins with neither request nor response")
    try:
        keys = frozenset(api(each).key for each in apis) if apis else None
    except UnknownApi as error:
        raise ScriptError(f":{line}: {error}") from None
    return Handler(function, side, keys, when, line)


_SIDES: Final[tuple[Side, ...]] = ("request", "response")


class ScriptExchange:
    """An exchange on its way. `request` and `response` are bodies; `response` is None until there is an answer."""

    def __init__(self, exchanged: Exchanged) -> None:
        self._exchanged = exchanged
        self._bodies: dict[Side, _Body | None] = {}
        self.api_key = exchanged.api_key
        self.api = api(exchanged.api_key).name
        self.api_version = exchanged.api_version
        self.connection = exchanged.connection
        self.client = exchanged.client
        self.broker = exchanged.broker
        head = read_request_head(exchanged.request, 0, len(exchanged.request))
        self.correlation_id = head.correlation_id
        self.client_id = None if head.client_id is None else head.client_id.decode("utf-8", "surrogateescape")
        self.action: Action = "pass"
        self.delay_ns = 0
        self.reply: bytes = b""

    def __repr__(self) -> str:
        return f"<{self.api} {self.api_version} {self._exchanged.side}, connection {self.connection}>"

    @property
    def request(self) -> dict[str, Any]:
        """The request's body."""
        return self._find_or_decode_body("request").value

    @property
    def response(self) -> dict[str, Any] | None:
        """The answer's body; None before there is one."""
        return None if self._exchanged.response is None else self._find_or_decode_body("response").value

    def _find_or_decode_body(self, side: Side) -> _Body:
        found = self._bodies.get(side)
        if found is None:
            frame = self._exchanged.request if side == "request" else self._exchanged.response
            assert frame is not None
            secrets = self._exchanged.secrets if side == self._exchanged.side else frozenset()
            found = self._bodies[side] = _Body(frame, side, (self.api_key, self.api_version), secrets)
        return found

    # What may be done

    def answer(self, body: dict[str, Any]) -> None:
        """Answer the request with this body; no broker gets the request. Missing fields take their defaults."""
        self._refuse_other_side("request", "answered")
        self.reply = with_size_field(
            encode_response(self.api_key, self.api_version, body, correlation_id=self.correlation_id)
        )
        self.action = "answer"

    def fail(self, error: str | int, message: str | None = None) -> None:
        """Answer the request with an error, by name or number, in every error field of its answer."""
        self._refuse_other_side("request", "answered")
        code = find_error_code(str(error))
        if code is None:
            raise ScriptError(f"{error!r} is no error (kw errors)")
        answer = make_error_answer(self.api_key, self.api_version, self.request, code, message=message)
        frame = encode_error_frame(self.api_key, self.api_version, answer, self.correlation_id)
        if frame is None:
            raise ScriptError(answer.why)
        self.reply = with_size_field(frame)
        self.action = "answer"

    def close(self) -> None:
        """Close the connection instead of passing the frame on."""
        self.action = "close"

    def reset(self) -> None:
        """Close the connection with a TCP reset instead of passing the frame on."""
        self.action = "reset"

    def delay(self, time: str | float) -> None:
        """Delay this frame, and all frames behind it on the connection, by a time: `"200ms"`, or seconds."""
        self.delay_ns += int(parse_duration(time) * 1e6) if isinstance(time, str) else int(time * 1e9)

    def hold(self) -> None:
        """Hold the exchange until somebody releases it (`kw proxy ctl release`), or its time is up."""
        self.action = "hold"

    def _refuse_other_side(self, side: Side, done: str) -> None:
        if self._exchanged.side != side:
            raise ScriptError(f"only a {side} can be {done}")

    # The result

    @property
    def final(self) -> bool:
        """Whether an action was chosen, so that later functions are not called."""
        return self.action != "pass"

    def build_changed_frame(self) -> tuple[bytes, list[Fill]] | None:
        """The new frame and where secrets go; None for an unchanged frame. Raises ScriptError, EncodeError."""
        side = self._exchanged.side
        request = self._bodies.get("request")
        if side == "response" and request is not None and request.build_frame() is not None:
            raise ScriptError("the request was sent already: only the response can be changed")
        body = self._bodies.get(side)
        return None if body is None else body.build_frame()


class _Body:
    """A decoded body, and the frame that it came in."""

    def __init__(self, frame: bytes, side: Side, code: tuple[int, int], secrets: frozenset[tuple[int, int]]) -> None:
        self._frame = frame
        self._side: Side = side
        self._code = code
        if side == "request":
            plan = request_header_plan(request_header_version(*code))
        else:
            plan = response_header_plan(response_header_version(*code))
        self._at = Walker(frame, []).read(plan, SIZE_FIELD, len(frame))
        self.value = decode_message(*code, side, frame[self._at :])
        self._inside: list[tuple[int, int]] = []  # secrets inside a bytes value, without a value of their own
        self._secrets = bool(secrets)
        for part in self._list_value_parts(frame) if secrets else ():
            place = (part.at, part.end)
            if (
                place in secrets
                and part.end > part.at
                and not _replace_at_path(self.value, part.path, partial(_redact_value, place))
            ):
                self._inside.append(place)

    def build_frame(self) -> tuple[bytes, list[Fill]] | None:
        """The frame with the body as it is now, and where secrets go; None where the body is as it came."""
        moved: dict[str, RedactedValue] = {}
        body = encode_message(*self._code, self._side, _copy_with_stars(self.value, "", moved))
        frame = with_size_field(self._frame[SIZE_FIELD : self._at] + body)
        fills = list(self._find_places_of_secrets(frame, moved)) if self._secrets else []
        if frame == self._frame and all((start, end) == (old, stop) for start, end, old, stop in fills):
            return None
        return frame, fills

    def _find_places_of_secrets(self, frame: bytes, moved: dict[str, RedactedValue]) -> Iterator[Fill]:
        """Where secrets go in the new frame. Raises ScriptError unless each place of a secret gets a whole old one."""
        inside = iter(self._inside)
        for part in self._list_value_parts(frame):
            value = moved.get(part.path)
            if value is not None:
                yield part.at, part.end, value.start, value.end
            elif part.secret and part.end > part.at:
                start, end = next(inside, (0, 0))
                if frame[part.at : part.end] != self._frame[start:end]:
                    raise ScriptError(f"{part.path} is a secret: it can be changed with --reveal-secrets only")
                yield part.at, part.end, start, end

    def _list_value_parts(self, frame: bytes) -> list[BytePart]:
        return [part for part in split_frame(frame, self._side, *self._code).body if part.what == "value"]


def _redact_value(place: tuple[int, int], old: object) -> object:
    return RedactedValue(*place, text=isinstance(old, str)) if isinstance(old, str | bytes) else old


def _replace_at_path(body: Any, path: str, change: Callable[[object], object]) -> bool:
    """Change the value at a path; False where the body has no string or bytes of its own there."""
    steps = [int(step) if step.isdigit() else step for step in _STEP.findall(path)]
    try:
        for step in steps[:-1]:
            body = body[step]
        old = body[steps[-1]]
        if not isinstance(body, dict | list) or not isinstance(old, str | bytes):
            return False
        body[steps[-1]] = change(old)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _copy_with_stars(value: Any, path: str, moved: dict[str, RedactedValue]) -> Any:
    """A copy of a body with stars in place of redacted values, which go to `moved` by their paths."""
    if isinstance(value, RedactedValue):
        moved[path] = value
        return value.make_stars()
    if isinstance(value, dict):
        return {
            name: _copy_with_stars(inner, f"{path}.{name}" if path else name, moved) for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_copy_with_stars(inner, f"{path}[{at}]", moved) for at, inner in enumerate(value)]
    return value


def run_handlers_and_return_line(handlers: Iterable[Handler], exchange: ScriptExchange) -> int:
    """Call functions with the exchange, one after the other; the line of the last function called, 0 for none.

    Raises what a function raises.
    """
    line = 0
    for handler in handlers:
        line = handler.line
        handler.function(exchange)
        if exchange.final:
            break
    return line
