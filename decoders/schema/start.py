"""The first messages of a kind in, their values out, by the walker: code is generated only for kinds that come again.

Generating costs as much as walking some thirty small messages, and most kinds of message are rare in a capture.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

from decoders.errors import DecodeError
from decoders.schema.form import to_json
from decoders.schema.model import Plan
from decoders.schema.pick import project
from decoders.schema.runtime import Crude
from decoders.schema.walk import walk
from decoders.schema.want import Mode, Want

# Calls and bytes after which code is generated.
CALLS: Final = 20
BYTES: Final = 4000


class LazyDecoder:
    """Stands in for a decoder until `generate` is worth its cost; `function` is then given the generated code."""

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

    def finish(self) -> None:
        """Generate the code, if that was not done."""
        if not self._done:
            self._done = True
            self.function.__code__ = self._generate()

    def __call__(self, buf: bytes, at: int, end: int, *table: Any) -> Any:
        self._calls += 1
        self._bytes += max(end - at, 0)
        if self._calls > CALLS or self._bytes > BYTES:
            self.finish()
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
