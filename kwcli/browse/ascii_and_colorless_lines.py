"""Lines of the screen in, the same cells out: in ASCII where the terminal has no Unicode, without colours where asked.

Panes turn their own signs into ASCII, some of which take several cells. Here is what is left: bars, borders, scroll
bars, titles, lines that are typed.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from kwcli.output.short_texts import cell_width
from kwcli.terminal.ascii_text import SIGNS

__all__ = ["AsciiFilter", "ColorlessFilter"]


@lru_cache(4096)
def _convert_to_ascii_of_same_width(text: str) -> str:
    """The text in ASCII, in as many cells: signs by SIGNS, other characters as `?`."""
    if text.isascii():
        return text
    found = []
    for sign in text:
        cells = cell_width(sign)
        ascii_sign = sign if sign.isascii() else SIGNS.get(sign, "")
        found.append(ascii_sign if len(ascii_sign) == cells else "?" * cells)
    return "".join(found)


@lru_cache(1024)
def _remove_colors_of_style(style: Style) -> Style:
    return Style(
        bold=style.bold, dim=style.dim, italic=style.italic, underline=style.underline, reverse=style.reverse
    ) + Style.from_meta(style.meta)


class AsciiFilter(LineFilter):
    """Writes all in ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  # textual's signature
        """The segments in ASCII."""
        return [Segment(_convert_to_ascii_of_same_width(text), style, control) for text, style, control in segments]


class ColorlessFilter(LineFilter):
    """Leaves colours out: bold, dim, underlined and reversed text stays."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  # textual's signature
        """The segments without colours."""
        return [
            Segment(text, style if style is None else _remove_colors_of_style(style), control)
            for text, style, control in segments
        ]
