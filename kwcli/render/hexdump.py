"""A frame in, its bytes out as lines: coloured by field, names and values beside them, nested as the message is.

One field a row: offset, bytes, then from some width on the bytes as text, the name, the type, the value. What is long
is shortened where a width is given and not everything is asked for; secrets are `**`. Colours only repeat what the
columns say.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain, cycle, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.exchanges.anatomy import Anatomy, anatomy
from decoders.exchanges.echoes import conceal_of, echoes
from decoders.wire.text import in_bytes
from kwcli.render.hexrows import ByteRun, HexRow, HexRows
from kwcli.render.lines import in_pieces
from kwcli.render.palette import Palette, palette
from kwcli.render.text import Lined
from kwcli.render.units import cells, cut
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange, Settled
    from decoders.schema.model import Side
    from decoders.wire.hiding import Conceal
    from kwcli.config import Settings
    from kwcli.render import Write

GAP: Final = "  "
# Lines of one value, and of bytes that belong to no field, before the rest is only counted.
LINES: Final = 4
REST_LINES: Final = 8
ARROWS: Final[dict[Side, str]] = {"request": "→", "response": "←"}
HIDDEN: Final = "--reveal-secrets shows them"
# From this width on: bytes a line, whether they stand as text too, whether the type does.
_STEPS: Final = ((0, 4, False, False), (64, 8, False, False), (104, 8, True, True), (136, 16, True, True))
_KIND_WIDTH: Final = 24
_NAME_SHARE: Final = 0.58
# A line without bytes.
_NOTHING: Final[tuple[None, list[str], list[bool]]] = (None, [], [])


class Columns(NamedTuple):
    """Widths in cells; 0 for a column that is not there, `value` None where nothing is cut."""

    offset: int
    each: int  # bytes a line
    ascii: bool
    kind: int
    name: int
    value: int | None


def columns(size: int, rows: list[HexRow], width: int | None) -> Columns:
    """The columns for a frame of so many bytes on a terminal of this width."""
    offset = max(4, len(f"{size:x}"))
    longest = max((cells(row.name) for row in rows), default=0)
    if width is None:
        return Columns(offset, 16, True, _KIND_WIDTH, longest, None)
    _, count, text, typed = next(step for step in reversed(_STEPS) if width >= step[0])
    kind = min(_KIND_WIDTH, max((len(row.kind) for row in rows), default=0)) if typed else 0
    room = width - offset - len(GAP) - (3 * count - 1) - len(GAP)
    room -= (count + len(GAP) if text else 0) + (kind + len(GAP) if kind else 0)
    texts = sorted(cells(row.text) for row in rows)
    usual = texts[len(texts) * 9 // 10] if texts else 0
    name = min(longest, max(int(room * _NAME_SHARE), room - len(GAP) - usual))
    return Columns(offset, count, text, kind, name, max(room - name - len(GAP), 1))


class HexStyle(NamedTuple):
    """How bytes are shown: `whole`, or without a width, nothing is shortened.

    `conceal` finds in an error message what is secret in its exchange.
    """

    width: int | None
    colors: Palette
    reveal: bool = False
    whole: bool = False
    conceal: Conceal | None = None


def hex_lines(
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
    """The lines of a frame. `sized` says that it begins with its size field.

    `missing` is why the end of the frame is not there, `made_up` how many bytes of a frame with its size field are not
    to be shown, because they stand in for what nobody has given.
    """
    width, colors, reveal, whole, conceal = style
    data = frame if sized else len(frame).to_bytes(4, "big") + frame
    found = anatomy(data, side, api_key, version, reveal=reveal, missing=missing)
    if conceal is not None and side == "response" and not reveal:
        found.body = list(echoes(found.body, conceal))
    yield from _View(data, found, width, colors, made_up if sized else 4, whole or width is None).lines()


class _View:
    """One frame on its way to lines; `shift` is how many bytes of `data` were not given."""

    def __init__(
        self, data: bytes, found: Anatomy, width: int | None, colors: Palette, shift: int, whole: bool
    ) -> None:
        self._data = data
        self._found = found
        self._width = width
        self._colors = colors
        self._shift = shift
        self._whole = whole

    def lines(self) -> Iterator[str]:
        """Header, body, what is left."""
        found = self._found
        head = [part for part in found.header if part.at >= self._shift]
        whole = self._whole
        rows = list(HexRows(whole=whole).of(head))
        if head and found.header_version >= 0:
            rows.insert(0, self._heading(f"header {found.header_version}"))
        if found.body:
            layout = f" (layout of {found.layout})" if found.layout else ""
            rows += [self._heading(f"body{layout}"), *HexRows(whole=whole).of(found.body)]
        if found.rest_at < len(self._data):
            rows.append(self._rest())
        widths = columns(len(self._data) - self._shift, rows, self._width)
        paints = cycle(self._colors.fields)
        for row in rows:
            yield from self._row(row, widths, next(paints) if row.runs else self._colors.dim)
        if found.failure is not None:
            yield from self._failure()

    @staticmethod
    def _heading(text: str) -> HexRow:
        return HexRow("", f"· {text}")

    def _rest(self) -> HexRow:
        found = self._found
        row = HexRow("", "undecoded", "bytes")
        end = len(self._data)
        row.runs = [ByteRun(found.rest_at, end, dim=False, secret=found.rest_secret)]
        row.ascii = not found.rest_secret
        row.text = f"‹{in_bytes(end - found.rest_at)} hidden›" if found.rest_secret else ""
        row.paint = "dim"
        return row

    def _failure(self) -> Iterator[str]:
        found, colors = self._found, self._colors
        assert found.failure is not None
        place = f" in {found.failure.path}" if found.failure.path else ""
        text = f"! {found.failure.reason} at byte {max(found.failure.offset + 4 - self._shift, 0)}{place}"
        if found.failure.text:
            text += f": {found.failure.text}"
        text = clean(text)
        if found.rest_secret and found.rest_at < len(self._data):
            text += f" (the bytes may hold secrets: {HIDDEN})"
        for line in textwrap.wrap(text, self._width) if self._width is not None else [text]:
            yield f"{colors.bad}{line}{colors.off}"

    def _row(self, row: HexRow, widths: Columns, paint: str) -> Iterator[str]:
        """The lines of one row."""
        count, colors = widths.each, self._colors
        total = sum(run.end - run.at for run in row.runs)
        most = REST_LINES if row.ascii else LINES
        shortened = not self._whole and total > most * count
        lines = most - 1 if shortened else -(-total // count)
        texts = self._texts(row, widths, max(lines, 1), cut_off=shortened)
        tone = {"dim": colors.dim, "bad": colors.bad}.get(row.paint, "")
        name = row.name if self._width is None else cut(row.name, widths.name)
        pieces = self._pieces(row, count)
        for number in range(max(lines, len(texts), 1)):
            at, bytes_, dims = next(pieces, _NOTHING) if number < lines else _NOTHING
            offset = "" if at is None else f"{at - self._shift:0{widths.offset}x}"
            line = f"{self._cell(offset, colors.dim, widths.offset)}{GAP}"
            line += f"{self._hex(bytes_, dims, paint)}{'   ' * (count - len(bytes_))} "
            if widths.ascii:
                line += f"{self._text(at, bytes_):<{count}}{GAP}"
            line += f"{self._cell(name if number == 0 else '', paint, widths.name)}{GAP}"
            if widths.kind:
                kind = cut(row.kind, widths.kind) if number == 0 else ""
                line += f"{self._cell(kind, colors.dim, widths.kind)}{GAP}"
            text = texts[number] if number < len(texts) else ""
            yield (line + self._cell(text, tone, 0)).rstrip()
        if shortened:
            left = total - lines * count
            yield f"{' ' * widths.offset}{GAP}{colors.dim}… {left:,} more byte{'s' * (left != 1)}{colors.off}"

    def _cell(self, text: str, paint: str, width: int) -> str:
        """A painted text, padded."""
        painted = f"{paint}{text}{self._colors.off}" if text and paint else text
        return painted + " " * (width - cells(text))

    def _pieces(self, row: HexRow, count: int) -> Iterator[tuple[int, list[str], list[bool]]]:
        """The bytes of a row by lines: the offset of the first, each as two digits, which are dim."""
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

    def _hex(self, digits: list[str], dims: list[bool], paint: str) -> str:
        """The digits with their colours; a code only where it changes."""
        colors = self._colors
        out, before = "", None
        for digit, dim in zip(digits, dims, strict=True):
            if dim != before:
                out += (colors.off if before is not None else "") + (colors.dim if dim else paint)
                before = dim
            out += digit + " "
        return f"{out[:-1]}{colors.off} " if digits else ""

    def _text(self, at: int | None, digits: list[str]) -> str:
        if at is None:
            return ""
        data = self._data[at : at + len(digits)]
        return "".join(
            "*" if digit == "**" else chr(byte) if 32 <= byte < 127 else "."
            for byte, digit in zip(data, digits, strict=True)
        )

    def _texts(self, row: HexRow, widths: Columns, lines: int, *, cut_off: bool) -> list[str]:
        """What stands in the value column: the text over as many lines as the bytes take."""
        if row.ascii and not widths.ascii:
            return [self._text(at, digits) for at, digits, _ in islice(self._pieces(row, widths.each), lines)]
        if widths.value is None:
            return [row.text] if row.text else []
        room = widths.value
        if cells(row.text) <= room:
            return [row.text] if row.text else []
        parts = _split(row.text, room, at_blanks=True)
        if len(parts) > lines and not self._whole:
            parts = _split(row.text, room)
        if len(parts) > lines and not self._whole:
            parts = [*parts[: lines - 1], cut("".join(parts[lines - 1 :]), room)]
        elif cut_off:
            parts[-1] = cut(parts[-1] + "…", room)
        return parts


def _split(text: str, room: int, *, at_blanks: bool = False) -> list[str]:
    """A text in pieces of at most so many cells; between words where that may be and there is a blank."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        after = at + room
        while cells(text[at:after]) > room and after > at + 1:
            after -= 1
        if at_blanks and after < len(text):
            after = text.rfind(" ", at, after + 1) + 1 or after
        parts.append(text[at:after].rstrip(" ") if at_blanks else text[at:after])
        at = after
    return parts


class Hex(Lined):
    """The renderer: the line of an exchange, its two frames under it."""

    shows_skipped = True

    def __init__(self, settings: Settings, write: Write) -> None:
        super().__init__(settings, write)
        self._colors = palette(settings.color)

    def write(self, rows: list[Settled]) -> None:
        """Write the rows."""
        if rows and not self._begun:
            self._begun = True
            self._put([self._lines.header()])
        for row in rows:
            if row.kind == "exchange":
                self._put(chain((self._lines.line(row),), self._under(row), ("",)))
            else:
                self._put([self._lines.skipped(row)])

    def _put(self, lines: Iterable[str]) -> None:
        for piece in in_pieces(lines):
            self._write(piece)

    def _under(self, exchange: Exchange) -> Iterator[str]:
        settings, colors = self._settings, self._colors
        conceal = conceal_of(exchange)
        for side, arrow in ARROWS.items():
            data = exchange.raw(side)
            size = exchange.request_size if side == "request" else exchange.response_size
            if data is None:
                continue
            name = exchange.api or ("SASL token" if exchange.outcome == "token" else "unknown")
            version = "" if exchange.api_version is None else f" {exchange.api_version}"
            amount = "size unknown" if size is None else f"{size:,} B"
            yield f"  {colors.api}{arrow}{colors.off} {name}{version} {side} · {amount}"
            if exchange.outcome == "token":
                yield from token_lines(data, settings.width, colors, reveal=settings.reveal_secrets)
                continue
            missing = exchange.extra.get(side) if exchange.extra is not None else None
            yield from hex_lines(
                data,
                side,
                exchange.api_key,
                exchange.api_version,
                HexStyle(settings.width, colors, settings.reveal_secrets, settings.verbose > 0, conceal),
                missing=missing,
            )


def token_lines(data: bytes, width: int | None, colors: Palette, *, reveal: bool) -> Iterator[str]:
    """A bare SASL token with its size field."""
    from decoders.schema.part import BytePart

    parts = [BytePart("size", 0, 4, "value", int.from_bytes(data[:4], "big"), "int32")]
    if len(data) > 4:
        parts.append(BytePart("token", 4, len(data), "value", data[4:], "bytes", not reveal))
    found = Anatomy(parts, -1, [], len(data), rest_secret=False)
    view = _View(data, found, width, colors, 0, whole=True)
    yield from view.lines()
