"""A frame in, its bytes as lines out: coloured by field, names and values beside them, nested as the message is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, cycle, islice
from typing import TYPE_CHECKING, Final
from uuid import UUID

from decoders.apis import NAMES, api
from decoders.frames.frames_of_gapless_connections import with_size_field
from decoders.messages.build_body_json import conceal_echoes_in_parts, make_concealer_of_exchange
from decoders.messages.split_frame_into_parts import FrameParts, split_frame
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.schema.body_json_form import json_bytes
from decoders.schema.plan_walker import BytePart
from decoders.wire.format_and_escape_text import escape_text, format_bytes, format_rfc3339
from decoders.wire.primitive_types import format_uuid
from kwcli.output.body_printer import encode_lines
from kwcli.output.short_texts import PLAIN, Palette, cell_width, cut, format_number_with_word, palette
from kwcli.output.text import LineRenderer

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange, Settled
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.schema.api_declaration import Side
    from decoders.wire.redact_text import Conceal
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write

# Elements of an array of structs that are shown; the rest is only counted.
ELEMENTS: Final = 4
_COMPONENT: Final = re.compile(r"_tagged_fields(?:\.\d+)?|[^.]+")
_ELEMENT: Final = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)
_TIMES: Final = frozenset({"timestamp", "base_timestamp", "max_timestamp"})
_TIME_RANGE: Final = range(10**11, 10**14)
# The most bytes of one value that are shown as text.
TEXT_MAX: Final = 1 << 16


class ByteRun(NamedTuple):
    """Bytes of a row: dim for a size, hidden for a secret."""

    at: int
    end: int
    dim: bool
    secret: bool


class HexRow:
    """One row. `name` has its indentation and index; `paint` is `dim`, `bad` or empty; `ascii` shows bytes as text."""

    __slots__ = ("ascii", "kind", "name", "paint", "path", "runs", "text")

    def __init__(self, path: str, name: str, kind: str = "", text: str = "", paint: str = "") -> None:
        self.path = path
        self.name = name
        self.kind = kind
        self.text = text
        self.paint = paint
        self.runs: list[ByteRun] = []
        self.ascii = False

    def add_bytes(self, part: BytePart, *, dim: bool = False) -> None:
        """Add bytes; they join the run before them if they follow it without a break."""
        if self.runs and self.runs[-1][1:] == (part.at, dim, part.secret):
            self.runs[-1] = self.runs[-1]._replace(end=part.end)
        else:
            self.runs.append(ByteRun(part.at, part.end, dim, part.secret))


class HexRows:
    """Combines byte parts into rows; with `whole` nothing is shortened."""

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self._chain: list[str] = []  # of the row before: the paths that it lies in, and its own
        self._row: HexRow | None = None
        self._counts: dict[str, int] = {}
        self._values: list[str] = []  # of the array of numbers that is being read

    def make_rows(self, parts: Iterable[BytePart]) -> Iterator[HexRow]:
        """The rows of these parts."""
        skipped: tuple[str, int, BytePart] | None = None  # prefix, first index not shown, last part of them
        for part in parts:
            if skipped is not None:
                if part.path.startswith(skipped[0]):
                    skipped = (skipped[0], skipped[1], part)
                    continue
                yield from self._end_open_row()
                yield self._make_row_of_left_out_elements(*skipped)
                skipped = None
            if not self._whole and (array := self._find_array_beyond_limit(part)):
                yield from self._end_open_row()
                self._row = None
                skipped = (f"{array}[", part.at, part)
                continue
            yield from self._add_part_to_rows(part)
        yield from self._end_open_row()
        if skipped is not None:
            yield self._make_row_of_left_out_elements(*skipped)

    def _find_array_beyond_limit(self, part: BytePart) -> str:
        """The array in which this part belongs to an element beyond the limit; empty if there is none."""
        for match in re.finditer(r"\[(\d+)\]", part.path):
            array = part.path[: match.start()]
            if int(match[1]) >= ELEMENTS and self._counts.get(array, ELEMENTS + 2) > ELEMENTS + 1:
                return array  # an array of numbers has the count -1: it is shortened as one value
        return ""

    def _make_row_of_left_out_elements(self, prefix: str, at: int, last: BytePart) -> HexRow:
        array = prefix[:-1]
        final = re.match(r"\d+", last.path[len(prefix) :])
        count = self._counts.get(array) or (int(final[0]) + 1 if final else 0)
        more = max(count - ELEMENTS, 1)
        element = f"{array}[{ELEMENTS}]"
        text = f"{more:,} more, {format_bytes(last.end - at)}"
        row = HexRow(element, f"{self._make_indentation(_list_path_prefixes(element)[:-1])}…", "", text, "dim")
        self._chain = _list_path_prefixes(element)[:-1]
        return row

    def _add_part_to_rows(self, part: BytePart) -> Iterator[HexRow]:
        row = self._row
        match = _ELEMENT.fullmatch(part.path)
        if part.array:
            # Structs and texts have rows of their own; numbers share one.
            shared = not part.kind.endswith(("struct", "string", "bytes", "varint array"))
            self._counts[part.path] = -1 if shared else int(str(part.value))
            self._values = []
        if row is not None and match is not None and row.path == match[1] and self._counts.get(match[1]) == -1:
            row.add_bytes(part)
            if sum(map(len, self._values)) < TEXT_MAX:
                self._values.append(format_part_value(part))
                row.text = ",".join(self._values)
            return
        if row is None or row.path != part.path:
            yield from self._end_open_row()
            yield from self._begin_row_of_part(part)
            row = self._row
            assert row is not None
        row.add_bytes(part, dim=part.what != "value")
        self._set_value_of_row(row, part)

    def _set_value_of_row(self, row: HexRow, part: BytePart) -> None:
        name = _split_path(part.path)[-1]
        if part.what == "value":
            row.kind = row.kind or part.kind
            if part.end == part.at and part.kind.endswith("records"):
                return
            row.text, row.paint = format_part_value(part), ""
            if part.secret:
                row.text, row.paint = f"‹{format_bytes(part.end - part.at)} redacted›", "dim"
            elif part.foreign:
                row.paint = "dim" if row.text in ('""', "–") else ""
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
                # A value that follows says more; batches and structures have rows of their own.
                empty = "0 bytes" if part.kind.endswith("records") else '""'
                row.text, row.paint = (format_bytes(number), "") if number else (empty, "dim")
        elif part.what == "flag":
            there = int(str(part.value)) > 0
            row.text, row.paint = ("", "") if there else ("–", "dim")
        elif part.what == "tags":
            row.kind = "tags"
            row.text, row.paint = (f"{part.value}", "") if part.value else ("none", "dim")
        else:
            row.kind = f"tag {part.value}"

    def _begin_row_of_part(self, part: BytePart) -> Iterator[HexRow]:
        """Begin a new row, after the rows that only name the structs it lies in."""
        chain = _list_path_prefixes(part.path)
        label = ""
        for depth, path in enumerate(chain[:-1]):
            if path in self._chain:
                continue
            if path.endswith("]"):
                label = path[path.rindex("[") :] + " "
                continue
            yield HexRow(path, f"{self._make_indentation(chain[:depth], label)}{label}{_split_path(path)[-1]}")
            label = ""
        name = _split_path(part.path)[-1]
        if part.path.endswith("]"):
            label, name = f"{label}{name[name.rindex('[') :]}", ""
            indent = self._make_indentation(chain[:-1])
        else:
            indent = self._make_indentation(chain[:-1], label)
        self._chain = chain
        self._row = HexRow(part.path, f"{indent}{label}{name}", part.kind)

    @staticmethod
    def _make_indentation(chain: list[str], label: str = "") -> str:
        """Blanks for the structs and elements that a row lies in; the label stands in the last of them."""
        width = sum(len(path) - path.rindex("[") + 1 if path.endswith("]") else 2 for path in chain)
        return " " * max(width - len(label), 0)

    def _end_open_row(self) -> Iterator[HexRow]:
        if self._row is not None:
            yield self._row
            self._row = None


def _split_path(path: str) -> list[str]:
    return _COMPONENT.findall(path)


def _list_path_prefixes(path: str) -> list[str]:
    """`a[0].b[1].c` → `a[0]`, `a[0].b[1]`, the path itself; an array of an element is not listed by itself."""
    found: list[str] = []
    for component in _split_path(path):
        found.append(f"{found[-1]}.{component}" if found else component)
    return found


def format_part_value(part: BytePart) -> str:
    """The text of the value in these bytes."""
    value, name = part.value, _split_path(part.path)[-1]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, UUID):
        return format_uuid(value.bytes)
    if isinstance(value, bytes):
        value = json_bytes(value[:TEXT_MAX])
        if isinstance(value, dict):
            return format_bytes(part.end - part.at)
    if isinstance(value, str):
        return escape_text(value[:TEXT_MAX]) if value else '""'
    if isinstance(value, int):
        if name.endswith("error_code"):
            return f"{value} {error_name(value)}" if value else "0"
        if name in ("request_api_key", "api_key"):
            return f"{value} {api(value).name if value in NAMES else 'UNKNOWN'}"
        if part.means and part.what == "value":
            return format_number_with_word(value, part.means)
        if name in _TIMES and value in _TIME_RANGE:
            return f"{value} {format_rfc3339(value * 1_000_000)}"
    return str(value)


# One field a row: offset, bytes, from some width on the bytes as text, the name, the type, the value. Long values are
# shortened where a width is given and not everything is asked for; secrets are `**`. Colours only repeat what the
# columns say.


GAP: Final = "  "
# Lines that are shown of one value, and of bytes that belong to no field; the rest is only counted.
LINES: Final = 4
REST_LINES: Final = 8
ARROWS: Final[dict[Side, str]] = {"request": "→", "response": "←"}
HIDDEN: Final = "--reveal-secrets shows them"
# From this width on: bytes a line, whether they are shown as text too, whether the type is shown.
_STEPS: Final = ((0, 4, False, False), (64, 8, False, False), (104, 8, True, True), (136, 16, True, True))
_KIND_WIDTH: Final = 24
_NAME_SHARE: Final = 0.58
# The bytes of a line that has none.
_NOTHING: Final[tuple[None, list[str], list[bool]]] = (None, [], [])


class HexColumns(NamedTuple):
    """Widths in cells; 0 for a column that is not shown, `value` None where nothing is cut."""

    offset: int
    each: int  # bytes a line
    ascii: bool
    kind: int
    name: int
    value: int | None


def lay_out_hex_columns(size: int, rows: list[HexRow], width: int | None) -> HexColumns:
    """The columns for a frame of so many bytes on a terminal of this width."""
    offset = max(4, len(f"{size:x}"))
    longest = max((cell_width(row.name) for row in rows), default=0)
    if width is None:
        return HexColumns(offset, 16, True, _KIND_WIDTH, longest, None)
    _, count, text, typed = next(step for step in reversed(_STEPS) if width >= step[0])
    kind = min(_KIND_WIDTH, max((len(row.kind) for row in rows), default=0)) if typed else 0
    room = width - offset - len(GAP) - (3 * count - 1) - len(GAP)
    room -= (count + len(GAP) if text else 0) + (kind + len(GAP) if kind else 0)
    texts = sorted(cell_width(row.text) for row in rows)
    usual = texts[len(texts) * 9 // 10] if texts else 0
    name = min(longest, max(int(room * _NAME_SHARE), room - len(GAP) - usual))
    return HexColumns(offset, count, text, kind, name, max(room - name - len(GAP), 1))


class HexStyle(NamedTuple):
    """How bytes are shown. With `whole`, or without a width, nothing is shortened.

    `conceal` finds the secrets of an exchange in its error messages; `topic_name` gives the names of topic ids.
    `values` decodes keys and values of records, whose fields are rows then.
    """

    width: int | None
    colors: Palette
    reveal: bool = False
    whole: bool = False
    conceal: Conceal | None = None
    topic_name: Callable[[UUID], str | None] = lambda _: None
    values: RecordValueReader | None = None


def format_frame_as_hex(
    frame: bytes,
    side: Side,
    api_key: int | None,
    version: int | None,
    style: HexStyle,
    *,
    sized: bool = True,
    missing: str | None = None,
    made_up: int = 0,
) -> Iterator[str]:
    """The lines of a frame. `sized`: the frame begins with its size field.

    `missing`: why the end of the frame is missing. `made_up`: how many leading bytes of a frame with its size field
    stand in for bytes that were not given, and are not shown.
    """
    width, colors, reveal, whole, conceal, topic_name, values = style
    data = frame if sized else with_size_field(frame)
    found = split_frame(
        data, side, api_key, version, reveal=reveal, missing=missing, topic_name=topic_name, values=values
    )
    if conceal is not None and side == "response" and not reveal:
        found.parts = conceal_echoes_in_parts(found.parts, conceal)
    yield from _HexView(data, found, width, colors, made_up if sized else 4, whole or width is None).lines()


class _HexView:
    """Makes the lines of one frame; `shift` is how many leading bytes of `data` were not given."""

    def __init__(
        self, data: bytes, found: FrameParts, width: int | None, colors: Palette, shift: int, whole: bool
    ) -> None:
        self._data = data
        self._found = found
        self._width = width
        self._colors = colors
        self._shift = shift
        self._whole = whole

    def lines(self) -> Iterator[str]:
        """The lines of the header, the body and the undecoded rest."""
        rows = [*self.iterate_rows()]
        widths = lay_out_hex_columns(len(self._data) - self._shift, rows, self._width)
        paints = cycle(self._colors.fields)
        for row in rows:
            yield from self._format_row_lines(row, widths, next(paints) if row.runs else self._colors.dim)
        if self._found.failure is not None:
            yield from self.decode_failure_lines()

    def iterate_rows(self) -> Iterator[HexRow]:
        """The rows of the header, the body and the undecoded rest."""
        found = self._found
        head = [part for part in found.header if part.at >= self._shift]
        whole = self._whole
        if head and found.header_version >= 0:
            yield self._make_heading_row(f"header {found.header_version}")
        yield from HexRows(whole=whole).make_rows(head)
        parts = iter(found.parts)
        first = next(parts, None)
        if first is not None:
            layout = f" (layout of {found.layout})" if found.layout else ""
            yield self._make_heading_row(f"body{layout}")
            yield from HexRows(whole=whole).make_rows(chain((first,), parts))
        if found.rest_at < len(self._data):
            yield self._make_row_of_undecoded_rest()

    @staticmethod
    def _make_heading_row(text: str) -> HexRow:
        return HexRow("", f"· {text}")

    def _make_row_of_undecoded_rest(self) -> HexRow:
        found = self._found
        row = HexRow("", "undecoded", "bytes")
        end = len(self._data)
        row.runs = [ByteRun(found.rest_at, end, dim=False, secret=found.rest_secret)]
        row.ascii = not found.rest_secret
        row.text = f"‹{format_bytes(end - found.rest_at)} hidden›" if found.rest_secret else ""
        row.paint = "dim"
        return row

    def decode_failure_lines(self) -> Iterator[str]:
        """The lines that say why the end could not be decoded."""
        found, colors = self._found, self._colors
        assert found.failure is not None
        place = f" in {found.failure.path}" if found.failure.path else ""
        text = f"! {found.failure.reason} at byte {max(found.failure.offset + 4 - self._shift, 0)}{place}"
        if found.failure.text:
            text += f": {found.failure.text}"
        text = escape_text(text)
        if found.rest_secret and found.rest_at < len(self._data):
            text += f" (the bytes may hold secrets: {HIDDEN})"
        for line in textwrap.wrap(text, self._width) if self._width is not None else [text]:
            yield f"{colors.bad}{line}{colors.off}"

    def _format_row_lines(self, row: HexRow, widths: HexColumns, paint: str) -> Iterator[str]:
        """The lines of one row."""
        count, colors = widths.each, self._colors
        total = sum(run.end - run.at for run in row.runs)
        most = REST_LINES if row.ascii else LINES
        shortened = not self._whole and total > most * count
        lines = most - 1 if shortened else -(-total // count)
        texts = self._split_value_in_lines(row, widths, max(lines, 1), cut_off=shortened)
        tone = {"dim": colors.dim, "bad": colors.bad}.get(row.paint, "")
        name = row.name if self._width is None else cut(row.name, widths.name)
        pieces = self._split_row_bytes_by_line(row, count)
        for number in range(max(lines, len(texts), 1)):
            at, bytes_, dims = next(pieces, _NOTHING) if number < lines else _NOTHING
            offset = "" if at is None else f"{at - self._shift:0{widths.offset}x}"
            line = f"{self._paint_cell(offset, colors.dim, widths.offset)}{GAP}"
            line += f"{self._paint_hex_digits(bytes_, dims, paint)}{'   ' * (count - len(bytes_))} "
            if widths.ascii:
                line += f"{self._format_bytes_as_ascii(at, bytes_):<{count}}{GAP}"
            line += f"{self._paint_cell(name if number == 0 else '', paint, widths.name)}{GAP}"
            if widths.kind:
                kind = cut(row.kind, widths.kind) if number == 0 else ""
                line += f"{self._paint_cell(kind, colors.dim, widths.kind)}{GAP}"
            text = texts[number] if number < len(texts) else ""
            yield (line + self._paint_cell(text, tone, 0)).rstrip()
        if shortened:
            left = total - lines * count
            yield f"{' ' * widths.offset}{GAP}{colors.dim}… {left:,} more byte{'s' * (left != 1)}{colors.off}"

    def _paint_cell(self, text: str, paint: str, width: int) -> str:
        """A painted text, padded to a width."""
        painted = f"{paint}{text}{self._colors.off}" if text and paint else text
        return painted + " " * (width - cell_width(text))

    def _split_row_bytes_by_line(self, row: HexRow, count: int) -> Iterator[tuple[int, list[str], list[bool]]]:
        """The bytes of a row by lines: the offset of the first, each as two digits, and which of them are dim."""
        at: int | None = None
        digits: list[str] = []
        dims: list[bool] = []
        for run in row.runs:
            for place in range(run.at, run.end):
                if at is None:
                    at = place
                digits.append("**" if run.secret else f"{self._data[place]:02x}")
                dims.append(run.dim)
                if len(digits) == count:
                    yield at, digits, dims
                    at, digits, dims = None, [], []
        if at is not None:
            yield at, digits, dims

    def _paint_hex_digits(self, digits: list[str], dims: list[bool], paint: str) -> str:
        """The digits with their colours; an escape code only where the colour changes."""
        colors = self._colors
        out, before = "", None
        for digit, dim in zip(digits, dims, strict=True):
            if dim != before:
                out += (colors.off if before is not None else "") + (colors.dim if dim else paint)
                before = dim
            out += digit + " "
        return f"{out[:-1]}{colors.off} " if digits else ""

    def _format_bytes_as_ascii(self, at: int | None, digits: list[str]) -> str:
        if at is None:
            return ""
        data = self._data[at : at + len(digits)]
        return "".join(
            "*" if digit == "**" else chr(byte) if 32 <= byte < 127 else "."
            for byte, digit in zip(data, digits, strict=True)
        )

    def _split_value_in_lines(self, row: HexRow, widths: HexColumns, lines: int, *, cut_off: bool) -> list[str]:
        """The lines of the value column: the text, on as many lines as the bytes take."""
        if row.ascii and not widths.ascii:
            return [
                self._format_bytes_as_ascii(at, digits)
                for at, digits, _ in islice(self._split_row_bytes_by_line(row, widths.each), lines)
            ]
        if widths.value is None:
            return [row.text] if row.text else []
        room = widths.value
        if cell_width(row.text) <= room:
            return [row.text] if row.text else []
        parts = _split_text_by_width(row.text, room, at_blanks=True)
        if len(parts) > lines and not self._whole:
            parts = _split_text_by_width(row.text, room)
        if len(parts) > lines and not self._whole:
            parts = [*parts[: lines - 1], cut("".join(parts[lines - 1 :]), room)]
        elif cut_off:
            parts[-1] = cut(parts[-1] + "…", room)
        return parts


def _split_text_by_width(text: str, room: int, *, at_blanks: bool = False) -> list[str]:
    """A text in pieces of at most `room` cells; with `at_blanks` it is cut between words where there is a blank."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        after = at + room
        while cell_width(text[at:after]) > room and after > at + 1:
            after -= 1
        if at_blanks and after < len(text):
            after = text.rfind(" ", at, after + 1) + 1 or after
        parts.append(text[at:after].rstrip(" ") if at_blanks else text[at:after])
        at = after
    return parts


class Hex(LineRenderer):
    """The hex renderer: the line of an exchange, with its two frames below."""

    shows_skipped = True

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(settings, write)
        self._colors = palette(settings.color)

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        if rows and not self._begun:
            self._begun = True
            self._write_lines([self._lines.column_titles_line()])
        for row in rows:
            if row.kind == "exchange":
                self._write_lines(chain((self._lines.exchange_line(row),), self._exchange_frame_lines(row), ("",)))
            else:
                self._write_lines([self._lines.skipped_line(row)])

    def _write_lines(self, lines: Iterable[str]) -> None:
        for piece in encode_lines(lines):
            self._write(piece)

    def _exchange_frame_lines(self, exchange: Exchange) -> Iterator[str]:
        settings, colors = self._settings, self._colors
        values = settings.values if settings.records else None
        whole = settings.width is None or settings.verbose > 0
        for side, arrow in ARROWS.items():
            data = exchange.raw(side)
            size = exchange.request_size if side == "request" else exchange.response_size
            if data is None:
                continue
            name = exchange.api or ("SASL token" if exchange.outcome == "token" else "unknown")
            version = "" if exchange.api_version is None else f" {exchange.api_version}"
            amount = "size unknown" if size is None else f"{size:,} B"
            yield f"  {colors.api}{arrow}{colors.off} {name}{version} {side} · {amount}"
            if exchange.is_sasl_token:
                yield from format_sasl_token_as_hex(data, settings.width, colors, reveal=settings.reveal_secrets)
                continue
            found = split_exchange_frame(exchange, side, data, reveal=settings.reveal_secrets, values=values)
            yield from _HexView(data, found, settings.width, colors, 0, whole).lines()


def split_exchange_frame(
    exchange: Exchange, side: Side, data: bytes, *, reveal: bool, values: RecordValueReader | None
) -> FrameParts:
    """The parts of one side's frame, with its size field; secrets of the exchange are marked in error messages, too."""
    if exchange.is_sasl_token:
        return split_sasl_token(data, reveal=reveal)
    found = split_frame(
        data,
        side,
        exchange.api_key,
        exchange.api_version,
        reveal=reveal,
        missing=exchange.extra.get(side) if exchange.extra is not None else None,
        topic_name=exchange.topic_name,
        values=values,
    )
    if side == "response" and not reveal and (conceal := make_concealer_of_exchange(exchange)) is not None:
        found.parts = conceal_echoes_in_parts(found.parts, conceal)
    return found


def split_sasl_token(data: bytes, *, reveal: bool) -> FrameParts:
    """The parts of a bare SASL token with its size field."""
    parts = [BytePart("size", 0, 4, "value", int.from_bytes(data[:4], "big"), "int32")]
    if len(data) > 4:
        parts.append(BytePart("token", 4, len(data), "value", data[4:], "bytes", not reveal))
    return FrameParts(parts, -1, [], len(data), rest_secret=False)


def iterate_exchange_rows(exchange: Exchange, side: Side, data: bytes, settings: Settings) -> Iterator[HexRow]:
    """The rows of one side's frame, nothing shortened, and the failure where it could not be decoded to its end."""
    found = split_exchange_frame(exchange, side, data, reveal=settings.reveal_secrets, values=settings.values)
    view = _HexView(data, found, None, PLAIN, 0, whole=True)
    yield from view.iterate_rows()
    if found.failure is not None:
        yield HexRow(found.failure.path, "! not decoded", "", " ".join(view.decode_failure_lines()), "bad")


def format_sasl_token_as_hex(data: bytes, width: int | None, colors: Palette, *, reveal: bool) -> Iterator[str]:
    """The lines of a bare SASL token with its size field."""
    yield from _HexView(data, split_sasl_token(data, reveal=reveal), width, colors, 0, whole=True).lines()
