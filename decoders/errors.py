"""The one exception tree of the library: every failure says at which byte and in which field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, TypeVar

__all__ = [
    "DecodeError",
    "EncodeError",
    "LimitExceeded",
    "Malformed",
    "Truncated",
    "UnknownApi",
    "UnsupportedVersion",
]


Error = TypeVar("Error", bound=BaseException)


def strip_traceback(error: Error) -> Error:
    """`error` itself without traceback, cause and context, to be kept as a value.

    The traceback of an error refers to the functions that it went through, and so to the buffers that they read: a
    batch of 64 MiB lives as long as the error in it. Where one of these functions keeps the error, the function and the
    error refer to each other, and only a search for cycles frees them.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


class DecodeError(Exception):
    """Bytes that cannot be decoded.

    `offset` is the byte (from the start of the buffer handed in) at which decoding gave up; 0, and not in the text,
    where the error is about no byte, as that of an API that a program asks for. `path` is the field
    (`topics[0].name`), empty where there is none. `reason` is the word that the exchange record uses.
    """

    reason: ClassVar[str] = "malformed"

    def __init__(self, text: str, *, offset: int | None = None, path: str = "") -> None:
        self.text = text
        self.offset = offset or 0
        self.path = path
        self._is_about_byte_0 = offset == 0

    def __str__(self) -> str:
        place = f" at byte {self.offset}" if self.offset or self._is_about_byte_0 else ""
        if self.path:
            place += f" ({self.path})"
        return self.text + place

    def __reduce__(self) -> tuple[object, ...]:
        offset = self.offset if self.offset or self._is_about_byte_0 else None
        return (_rebuild_error, (type(self), self.text, offset, self.path))


def _rebuild_error(kind: type[DecodeError], text: str, offset: int | None, path: str) -> DecodeError:
    return kind(text, offset=offset, path=path)


class Truncated(DecodeError):
    """The bytes end before the value does."""

    reason: ClassVar[str] = "truncated"


class Malformed(DecodeError):
    """A length, count, checksum or marker that is impossible."""


class LimitExceeded(DecodeError):
    """A value is legal but beyond what `decoders.limits` allows."""

    reason: ClassVar[str] = "limit"


class UnknownApi(DecodeError):
    """No API has this key or name."""

    reason: ClassVar[str] = "unknown_api"


class UnsupportedVersion(DecodeError):
    """The API exists, this version of it does not."""

    reason: ClassVar[str] = "unsupported_version"


class EncodeError(ValueError):
    """A value that the message, at this version, cannot carry; `path` names the field."""

    def __init__(self, text: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.text = text
        self.path = path


class FilterError(ValueError):
    """A filter expression that cannot be read. `column` counts characters from 1.

    `word` is the word that was not understood, `candidates` are words that would have been, for a suggestion.
    """

    def __init__(self, text: str, column: int, *, word: str = "", candidates: Iterable[str] = ()) -> None:
        self.text = text
        self.column = column
        self.word = word
        self.candidates = tuple(candidates)

    def __str__(self) -> str:
        return f"{self.text} at column {self.column}"
