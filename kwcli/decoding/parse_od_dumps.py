"""A dump with offsets, as od and hexdump print it in any of their forms, in; the bytes out.

Which number base the offsets have and what one cell is, nothing in such a dump says. So each pair of them is tried, and
that one is right whose offsets go on where the cells of the line before ended. Words of two and four bytes are as the
machine has them, little-endian, unless only the other order is a request of Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from decoders.named_tuple import NamedTuple
from kwcli.decoding.byte_notations import is_request

_LINE: Final = re.compile(r"([0-9a-f]{6,11})(?:(\s+\S.*))?\s*", re.IGNORECASE)
_BESIDE: Final = re.compile(r"\s+[|>].*[|<]\s*$")
# The table that netty's logger prints: |00000000| 16 03 01 … |...|
_NETTY: Final = re.compile(r"^.*?\|([0-9a-f]{8})\|((?: [0-9a-f]{2})+)\s*\|.*$", re.IGNORECASE | re.MULTILINE)
_CHARACTER: Final = 4
_LETTERS: Final = {"0": 0, "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
REPEATED_MAX: Final = 1 << 24


class _Cell(NamedTuple):
    """What one cell of a dump may be: its form, and how many bytes of which number base it has."""

    form: re.Pattern[str]
    base: int
    size: int


_CELLS: Final = (
    _Cell(re.compile("[0-9a-f]{2}", re.IGNORECASE), 16, 1),
    _Cell(re.compile("[0-3][0-7]{2}"), 8, 1),
    _Cell(re.compile(r"-?\d{1,3}"), 10, 1),
    _Cell(re.compile("[01][0-7]{5}"), 8, 2),
    _Cell(re.compile("[0-9a-f]{4}", re.IGNORECASE), 16, 2),
    _Cell(re.compile(r"\d{1,5}"), 10, 2),
    _Cell(re.compile("[0-9a-f]{8}", re.IGNORECASE), 16, 4),
    _Cell(re.compile("[0-9a-f]{16}", re.IGNORECASE), 16, 8),
)


def unwrap_netty_table(text: str) -> str:
    """The table of netty's logger as a plain dump; other text as it is."""
    rows = _NETTY.findall(text)
    return "".join(f"{offset}:{cells}\n" for offset, cells in rows) or text


def parse_od_dump(text: str) -> bytes | None:
    """The bytes of a dump of od or hexdump in any form; None where the text is none."""
    rows: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.strip() == "*" and rows:
            rows.append(("*", ""))
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            if line.strip():
                return None
            continue
        rows.append((match[1], _BESIDE.sub("", match[2] or "")))
    if len(rows) < 2 or int(rows[0][0].strip("*") or "0", 16) or not rows[0][1]:
        return None
    for base in (16, 8, 10):
        offsets = _parse_offsets([offset for offset, _ in rows], base)
        if offsets is None:
            continue
        for cell in _CELLS:
            data = _parse_rows_in_any_byte_order(rows, offsets, cell)
            if data is not None:
                return data
        data = _join_bytes_of_lines(rows, offsets, _parse_characters)
        if data is not None:
            return data
    return None


def _parse_offsets(words: Sequence[str], base: int) -> list[int] | None:
    try:
        return [-1 if word == "*" else int(word, base) for word in words]
    except ValueError:
        return None


def _parse_rows_in_any_byte_order(rows: list[tuple[str, str]], offsets: list[int], cell: _Cell) -> bytes | None:
    found = _join_bytes_of_lines(rows, offsets, lambda cells: _parse_cells(cells, cell, "little"))
    if found is not None and cell.size > 1 and not is_request(found):
        other = _join_bytes_of_lines(rows, offsets, lambda cells: _parse_cells(cells, cell, "big"))
        if other is not None and is_request(other):
            return other
    return found


def _parse_cells(cells: str, cell: _Cell, order: Literal["little", "big"]) -> bytes | None:
    words = cells.split()
    if not all(map(cell.form.fullmatch, words)):
        return None
    numbers = [int(word, cell.base) for word in words]
    top = 1 << 8 * cell.size
    if not all(-128 <= number < top for number in numbers):
        return None
    return b"".join((number % top).to_bytes(cell.size, order) for number in numbers)


def _join_bytes_of_lines(
    rows: list[tuple[str, str]], offsets: list[int], parse: Callable[[str], bytes | None]
) -> bytes | None:
    """The bytes of all lines; None where a cell has another form or an offset is not where the line before ended."""
    out = bytearray()
    last = b""
    squeezed = False
    for (_, cells), at in zip(rows, offsets, strict=True):
        if at < 0:
            squeezed = True
            continue
        if squeezed and last and len(out) < at <= REPEATED_MAX:
            out += (last * ((at - len(out)) // len(last) + 1))[: at - len(out)]
        squeezed = False
        if not cells:  # the end: words of several bytes may have been filled up
            return bytes(out[:at]) if at <= len(out) < at + 8 else None
        piece = parse(cells)
        if not piece or at != len(out):
            return None
        out += piece
        last = piece
    return bytes(out) if len(rows) > 1 else None


def _parse_characters(cells: str) -> bytes | None:
    """The cells of od -c and hexdump -c: four columns each, a character, its escape, or three octal digits."""
    out = bytearray()
    padded = cells + " " * (-len(cells) % _CHARACTER)
    for at in range(0, len(padded), _CHARACTER):
        word = padded[at : at + _CHARACTER].strip()
        if re.fullmatch("[0-3][0-7]{2}", word):
            out.append(int(word, 8))
        elif len(word) == 2 and word[0] == "\\" and word[1] in _LETTERS:
            out.append(_LETTERS[word[1]])
        elif len(word) <= 1 and word.isascii():
            out += (word or " ").encode()
        elif word == "\\\\":
            out += b"\\"
        else:
            return None
    return bytes(out)
