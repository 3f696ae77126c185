"""A file or standard input in, the records to produce out: each line is a value, or a record as a JSON object.

Lines are records when the first one is an object as `--records` shows it. An object that is almost a record is refused,
not guessed at, so that nothing unintended is written to a topic.
"""

from __future__ import annotations

import json
from typing import Final

from decoders.named_tuple import NamedTuple
from kwcli.calling.words.record_words import ProduceRecord, parse_json_record_lines
from kwcli.run_environment import Exit, Failure

# Names that mark a JSON object as a record.
_OURS: Final = frozenset({"key", "value", "headers"})
_OUT: Final = "--lines sends each line as a value, value=@FILE a whole file"


class LineOptions(NamedTuple):
    """How lines are read: with `plain` always as values, with `separator` as a key and a value."""

    plain: bool = False
    separator: bytes | None = None


def parse_record_lines(data: bytes, source: str, now_ms: int, options: LineOptions) -> list[ProduceRecord]:
    """The records, one a line, in order. Raises Failure (usage) that names the line."""
    if options.plain or options.separator is not None or not _begins_with_json_record(data, source):
        return parse_lines_as_values(data, options.separator)
    try:
        return parse_json_record_lines(data, source, now_ms)
    except Failure as failure:
        raise Failure(f"{failure.text}; {_OUT}", Exit.USAGE) from None


def parse_lines_as_values(data: bytes, separator: bytes | None) -> list[ProduceRecord]:
    """One record for each line, empty ones too. Only a line feed ends a line; the last line may lack it.

    The key is the text before the first separator; a line without a separator has no key.
    """
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    entries = []
    for line in lines:
        key, found, value = line.partition(separator) if separator else (b"", b"", line)
        entries.append(ProduceRecord(key, value) if found else ProduceRecord(None, line))
    return entries


def _begins_with_json_record(data: bytes, source: str) -> bool:
    """Whether the first non-blank line is a record as JSON. Raises Failure (usage) for JSON over several lines."""
    text = data.lstrip()
    line = text.partition(b"\n")[0].strip()
    if line in (b"{", b"["):
        raise Failure(f"{source}: JSON over several lines, where each line is a record; {_OUT}", Exit.USAGE)
    if not line.startswith(b"{"):
        return False
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    # An object with none of these names is a value like any other.
    return isinstance(value, dict) and not value.keys().isdisjoint(_OURS)


def parse_key_separator(text: str) -> bytes:
    r"""The separator that -K names: `:`, `\t`, `\x01`, or a tab itself. Raises Failure (usage)."""
    data = text.encode("utf-8", "surrogateescape")
    if b"\\" in data:
        try:
            data = data.decode("unicode_escape").encode("latin-1")
        except (UnicodeDecodeError, UnicodeEncodeError):
            raise Failure(f"-K {text!r} has an unknown escape: write \\t or \\x01", Exit.USAGE) from None
    if not data:
        raise Failure("-K is empty: give the text between key and value, for example : or \\t", Exit.USAGE)
    if b"\n" in data:
        raise Failure("-K has a line end in it, but line ends separate records", Exit.USAGE)
    return data
