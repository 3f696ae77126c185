"""A file or standard input in, the records to produce out: each line a value, or each a record as a JSON object.

Lines are records where the first one is such an object as `--records` shows. An object that nearly is one is refused,
not guessed at: nothing is written to a topic that was not meant.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from kwcli.calling.words.common import Entry, from_lines
from kwcli.env import Exit, Failure

# Names by which an object says that it is a record.
_OURS: Final = frozenset({"key", "value", "headers"})
_OUT: Final = "--lines sends each line as a value, value=@FILE a whole file"


class LineOptions(NamedTuple):
    """How lines are read: as values whatever they look like (`plain`), with a key before a separator."""

    plain: bool = False
    separator: bytes | None = None


def records_in(data: bytes, source: str, now_ms: int, how: LineOptions) -> list[Entry]:
    """The records, in order; every line is one, an empty one too. Raises Failure (usage) that names the line."""
    if how.plain or how.separator is not None or not _is_record(data, source):
        return text_lines(data, how.separator)
    try:
        return from_lines(data, source, now_ms)
    except Failure as failure:
        raise Failure(f"{failure.text}; {_OUT}", Exit.USAGE) from None


def text_lines(data: bytes, separator: bytes | None) -> list[Entry]:
    """A record for each line, which ends at a line feed and nothing else; the last may lack it.

    What stands before the first separator is the key; a line without one has none.
    """
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    entries = []
    for line in lines:
        key, found, value = line.partition(separator) if separator else (b"", b"", line)
        entries.append(Entry(key, value) if found else Entry(None, line))
    return entries


def _is_record(data: bytes, source: str) -> bool:
    """Whether the first line that is not blank is a record as JSON. Raises Failure (usage) where it may be one."""
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
    # An object with no name of ours in it is a value like any other.
    return isinstance(value, dict) and not value.keys().isdisjoint(_OURS)


def separator_of(text: str) -> bytes:
    r"""What -K says: `:`, `\t`, `\x01`, a tab as it is. Raises Failure (usage)."""
    data = text.encode("utf-8", "surrogateescape")
    if b"\\" in data:
        try:
            data = data.decode("unicode_escape").encode("latin-1")
        except (UnicodeDecodeError, UnicodeEncodeError):
            raise Failure(f"-K {text!r} has an unknown escape: write \\t or \\x01", Exit.USAGE) from None
    if not data:
        raise Failure("-K is empty: it is what stands between key and value, for example : or \\t", Exit.USAGE)
    if b"\n" in data:
        raise Failure("-K has a line end in it, which separates records", Exit.USAGE)
    return data
