"""Lines with the escape codes of `short_texts.Palette` in, strips of styled text for the screen out.

Lines of exchanges are made by kwcli.output, for terminals of any kind; here their codes become styles, without which
textual would show them as text. Control characters were escaped before.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = ["make_strip", "style_of_code"]

_CODE: Final = re.compile(r"\x1b\[([0-9;]*)m")
_COLORS: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_NONE: Final = Style()


@lru_cache(256)
def style_of_code(numbers: str) -> Style:
    """The style of `1;31`, the numbers of an escape code."""
    style = _NONE
    for number in map(int, filter(None, numbers.split(";"))):
        if number == 1:
            style += Style(bold=True)
        elif number == 2:
            style += Style(dim=True)
        elif number == 7:
            style += Style(reverse=True)
        elif 30 <= number <= 37:
            style += Style(color=_COLORS[number - 30])
    return style


def make_strip(line: str) -> Strip:
    """The strip of one line."""
    if "\x1b" not in line:
        return Strip([Segment(line, _NONE)])
    segments: list[Segment] = []
    style, at = _NONE, 0
    for match in _CODE.finditer(line):
        if match.start() > at:
            segments.append(Segment(line[at : match.start()], style))
        numbers = match[1]
        style = _NONE if numbers in ("", "0") else style + style_of_code(numbers)
        at = match.end()
    if at < len(line):
        segments.append(Segment(line[at:], style))
    return Strip(segments)
