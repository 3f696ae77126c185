"""Bytes of a message whose schema is not known in; its fields, by their numbers, out, if it may be one at all.

Wire types do not tell a message from a string or from bytes: a sized field is text where it is printable, else a
message where all of it parses as one, else bytes. A value is taken for a message only where every byte is explained,
the fields come in a serializer's order, and numbers are as short as serializers write them.
"""

from __future__ import annotations

from typing import Any, Final

from decoders.errors import DecodeError, Malformed, Truncated
from decoders.limits import VALUE_NESTING_MAX, VALUE_PARTS_MAX
from decoders.schema.body_json_form import json_bytes
from decoders.values.protobuf.protobuf_decoder import read_varint_64
from decoders.wire.format_and_escape_text import has_control_characters

# Schemas number their fields from 1; a message with a field beyond has gaps that real ones seldom have.
_NUMBER_MAX: Final = 536_870_911
_LEAST_SIZE: Final = 8


def guess_message(data: bytes, at: int = 0) -> dict[str, Any] | None:
    """The fields of a message that goes from `at` to the end; None where it does not look like one."""
    try:
        found = _GuessReader(data).read_message(at, len(data), 0)
    except DecodeError:
        return None
    return found


def looks_like_message(data: bytes) -> bool:
    """Whether bytes without any mark are a message: with enough of them, in a serializer's order, and plausible."""
    return len(data) >= _LEAST_SIZE and _GuessReader(data).is_plausible()


class _GuessReader:
    """Reads one message without schema; `left` is how many parts it may still have."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.left = VALUE_PARTS_MAX
        self.strange = 0  # what serializers do not do, or real schemas seldom have
        self.texts = 0  # characters of printable strings

    def is_plausible(self) -> bool:
        try:
            self.read_message(0, len(self.data), 0)
        except DecodeError:
            return False
        return not self.strange and self.texts * 4 >= len(self.data)

    def read_message(self, at: int, end: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        data, last = self.data, 0
        while at < end:
            start = at
            tag, at = read_varint_64(data, at, end)
            number, wire = tag >> 3, tag & 7
            self.left -= 1
            if not 0 < number <= _NUMBER_MAX or self.left < 0:
                raise Malformed(f"field number {number}", offset=start)
            # In order, without large gaps, and each number written as short as it can be.
            self.strange += number < last or number > last + 32 or (at - start > 1 and data[at - 1] == 0)
            last = number
            if wire == 0:
                value: Any
                place = at
                value, at = read_varint_64(data, at, end)
                self.strange += at - place > 1 and data[at - 1] == 0
            elif wire == 2:
                size, at = read_varint_64(data, at, end)
                if size > end - at:
                    raise Truncated(f"need {size} bytes, have {end - at}", offset=at)
                value = self.guess_text_message_or_bytes(at, at + size, depth)
                at += size
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
                if size > end - at:
                    raise Truncated(f"need {size} bytes, have {end - at}", offset=at)
                value = int.from_bytes(data[at : at + size], "little")
                at += size
            else:
                raise Malformed(f"wire type {wire}", offset=start)
            name = str(number)
            if name not in found:
                found[name] = value
            elif isinstance(found[name], list):  # which no single value is
                found[name].append(value)
            else:
                found[name] = [found[name], value]
        return found

    def guess_text_message_or_bytes(self, at: int, stop: int, depth: int) -> Any:
        """Text, a message, or bytes."""
        data = self.data[at:stop]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        if text is not None and not has_control_characters(text):
            self.texts += len(data)
            return text
        if depth < VALUE_NESTING_MAX and stop - at > 1:
            strange, texts = self.strange, self.texts
            try:
                return self.read_message(at, stop, depth + 1)
            except DecodeError:
                self.strange, self.texts = strange, texts
        return json_bytes(data)
