"""Whether colours are wanted in, ready escape codes out: the basic eight, which every theme, dark or light, defines."""

from __future__ import annotations

from typing import Final, NamedTuple

OFF: Final = "\x1b[0m"


class Palette(NamedTuple):
    """Escape codes by meaning, all empty without colours."""

    off: str
    dim: str
    client: str
    api: str
    bad: str
    name: str
    sign: dict[str, str]
    fields: tuple[str, ...]  # in turn, so that neighbours differ


_SIGNS: Final[dict[str, str]] = {
    "✗": "\x1b[1;31m",
    "?": "\x1b[1;33m",
    "!": "\x1b[1;35m",
    "←": "\x1b[33m",
    "…": "\x1b[35m",
    "⚡": "\x1b[1;33m",
}
COLORED: Final = Palette(
    off=OFF,
    dim="\x1b[2m",
    client="\x1b[36m",
    api="\x1b[1m",
    bad="\x1b[31m",
    name="\x1b[36m",
    sign=_SIGNS,
    fields=("\x1b[36m", "\x1b[32m", "\x1b[35m"),
)
PLAIN: Final = Palette(off="", dim="", client="", api="", bad="", name="", sign=dict.fromkeys(_SIGNS, ""), fields=("",))


def palette(color: bool) -> Palette:
    """The codes for a terminal with or without colours."""
    return COLORED if color else PLAIN
