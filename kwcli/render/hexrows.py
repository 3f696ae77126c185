"""The parts of a frame in, the rows of a hex view out: one field a row, nested as the message is, shortened.

A row has the runs of bytes of its field (size, then value), its name, its type, and what the bytes say. Elements of an
array of structs carry their index before their first field; numbers in an array share a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.apis.error_codes import error_name
from decoders.exchanges.times import rfc3339
from decoders.schema.part import BytePart
from decoders.wire.primitives import uuid_text
from decoders.wire.text import in_bytes, json_bytes
from kwcli.terminal import clean

# Elements of an array of structs that are shown before the rest is only counted.
ELEMENTS: Final = 4
_COMPONENT: Final = re.compile(r"_tagged_fields(?:\.\d+)?|[^.]+")
_ELEMENT: Final = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)
_TIMES: Final = frozenset({"timestamp", "base_timestamp", "max_timestamp"})
_TIME_RANGE: Final = range(10**11, 10**14)
# What the bytes of one value may take as text.
TEXT_MAX: Final = 1 << 16


class ByteRun(NamedTuple):
    """Bytes of a row: sizes are dim, secrets hidden."""

    at: int
    end: int
    dim: bool
    secret: bool


class HexRow:
    """One row. `name` with its indentation and index; `paint` is `dim`, `bad` or empty; `ascii` shows bytes as text."""

    __slots__ = ("ascii", "kind", "name", "paint", "path", "runs", "text")

    def __init__(self, path: str, name: str, kind: str = "", text: str = "", paint: str = "") -> None:
        self.path = path
        self.name = name
        self.kind = kind
        self.text = text
        self.paint = paint
        self.runs: list[ByteRun] = []
        self.ascii = False

    def add(self, part: BytePart, *, dim: bool = False) -> None:
        """Bytes more; those that go on without a break join the run before them."""
        if self.runs and self.runs[-1][1:] == (part.at, dim, part.secret):
            self.runs[-1] = self.runs[-1]._replace(end=part.end)
        else:
            self.runs.append(ByteRun(part.at, part.end, dim, part.secret))


class HexRows:
    """Puts parts together to rows; `whole` shortens nothing."""

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self._chain: list[str] = []  # the row before: the paths it lies in, and its own
        self._row: HexRow | None = None
        self._counts: dict[str, int] = {}
        self._values: list[str] = []  # of the array of numbers being read

    def of(self, parts: Iterable[BytePart]) -> Iterator[HexRow]:
        """The rows."""
        skipped: tuple[str, int, BytePart] | None = None  # prefix, first index not shown, last part of them
        for part in parts:
            if skipped is not None:
                if part.path.startswith(skipped[0]):
                    skipped = (skipped[0], skipped[1], part)
                    continue
                yield from self._end()
                yield self._left_out(*skipped)
                skipped = None
            if not self._whole and (array := self._too_many(part)):
                yield from self._end()
                self._row = None
                skipped = (f"{array}[", part.at, part)
                continue
            yield from self._take(part)
        yield from self._end()
        if skipped is not None:
            yield self._left_out(*skipped)

    def _too_many(self, part: BytePart) -> str:
        """The array of which this part belongs to an element too many."""
        for match in re.finditer(r"\[(\d+)\]", part.path):
            array = part.path[: match.start()]
            if int(match[1]) >= ELEMENTS and self._counts.get(array, ELEMENTS + 2) > ELEMENTS + 1:
                return array  # one of numbers has the count -1: it is shortened as one value
        return ""

    def _left_out(self, prefix: str, at: int, last: BytePart) -> HexRow:
        array = prefix[:-1]
        final = re.match(r"\d+", last.path[len(prefix) :])
        count = self._counts.get(array) or (int(final[0]) + 1 if final else 0)
        more = max(count - ELEMENTS, 1)
        element = f"{array}[{ELEMENTS}]"
        text = f"{more:,} more, {in_bytes(last.end - at)}"
        row = HexRow(element, f"{self._indent(_ancestors(element)[:-1])}…", "", text, "dim")
        self._chain = _ancestors(element)[:-1]
        return row

    def _take(self, part: BytePart) -> Iterator[HexRow]:
        row = self._row
        match = _ELEMENT.fullmatch(part.path)
        if part.array:
            # Structs have rows of their own, and so have texts; numbers share one.
            shared = not part.kind.endswith(("struct", "string", "bytes", "varint array"))
            self._counts[part.path] = -1 if shared else int(str(part.value))
            self._values = []
        if row is not None and match is not None and row.path == match[1] and self._counts.get(match[1]) == -1:
            row.add(part)
            if sum(map(len, self._values)) < TEXT_MAX:
                self._values.append(shown(part))
                row.text = ",".join(self._values)
            return
        if row is None or row.path != part.path:
            yield from self._end()
            yield from self._begin(part)
            row = self._row
            assert row is not None
        row.add(part, dim=part.what != "value")
        self._say(row, part)

    def _say(self, row: HexRow, part: BytePart) -> None:
        name = _components(part.path)[-1]
        if part.what == "value":
            row.kind = row.kind or part.kind
            if part.end == part.at and part.kind.endswith("records"):
                return
            row.text, row.paint = shown(part), ""
            if part.secret:
                row.text, row.paint = f"‹{in_bytes(part.end - part.at)} redacted›", "dim"
            elif name.endswith("error_code") and part.value:
                row.paint = "bad"
            elif name.endswith("error_code") or row.text in ("", '""', "–"):
                row.paint = "dim"
            elif name == "crc" and row.text.endswith("bad"):
                row.paint = "bad"
        elif part.what == "size":
            number = int(str(part.value))
            row.kind = row.kind if row.kind.startswith("tag ") else part.kind
            if number < 0:
                row.text, row.paint = "–", "dim"
            elif part.array:
                row.text = "[]" if not number else f"{number:,} element{'s' * (number != 1)}"
                row.paint = "" if number else "dim"
            else:
                # Where a value follows it says more; batches and structures have rows of their own.
                empty = "0 bytes" if part.kind.endswith("records") else '""'
                row.text, row.paint = (in_bytes(number), "") if number else (empty, "dim")
        elif part.what == "flag":
            there = int(str(part.value)) > 0
            row.text, row.paint = ("", "") if there else ("–", "dim")
        elif part.what == "tags":
            row.kind = "tags"
            row.text, row.paint = (f"{part.value}", "") if part.value else ("none", "dim")
        else:
            row.kind = f"tag {part.value}"

    def _begin(self, part: BytePart) -> Iterator[HexRow]:
        """A new row; before it those that only name the structs it lies in."""
        chain = _ancestors(part.path)
        label = ""
        for depth, path in enumerate(chain[:-1]):
            if path in self._chain:
                continue
            if path.endswith("]"):
                label = path[path.rindex("[") :] + " "
                continue
            yield HexRow(path, f"{self._indent(chain[:depth], label)}{label}{_components(path)[-1]}")
            label = ""
        name = _components(part.path)[-1]
        if part.path.endswith("]"):
            label, name = f"{label}{name[name.rindex('[') :]}", ""
            indent = self._indent(chain[:-1])
        else:
            indent = self._indent(chain[:-1], label)
        self._chain = chain
        self._row = HexRow(part.path, f"{indent}{label}{name}", part.kind)

    @staticmethod
    def _indent(chain: list[str], label: str = "") -> str:
        """Blanks for the structs and elements around; the label stands in the last of them."""
        width = sum(len(path) - path.rindex("[") + 1 if path.endswith("]") else 2 for path in chain)
        return " " * max(width - len(label), 0)

    def _end(self) -> Iterator[HexRow]:
        if self._row is not None:
            yield self._row
            self._row = None


def _components(path: str) -> list[str]:
    return _COMPONENT.findall(path)


def _ancestors(path: str) -> list[str]:
    """`a[0].b[1].c` → `a[0]`, `a[0].b[1]`, the path itself; a list in front of an element is none of its own."""
    found: list[str] = []
    for component in _components(path):
        found.append(f"{found[-1]}.{component}" if found else component)
    return found


def shown(part: BytePart) -> str:
    """What the bytes of a value say."""
    value, name = part.value, _components(part.path)[-1]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, UUID):
        return uuid_text(value.bytes)
    if isinstance(value, bytes):
        value = json_bytes(value[:TEXT_MAX])
        if isinstance(value, dict):
            return in_bytes(part.end - part.at)
    if isinstance(value, str):
        return clean(value[:TEXT_MAX]) if value else '""'
    if isinstance(value, int):
        if name.endswith("error_code"):
            return f"{value} {error_name(value)}" if value else "0"
        if name in ("request_api_key", "api_key"):
            return f"{value} {api(value).name if value in NAMES else 'UNKNOWN'}"
        if name in _TIMES and value in _TIME_RANGE:
            return f"{value} {rfc3339(value * 1_000_000)}"
    return str(value)
