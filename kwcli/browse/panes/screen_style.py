"""The layout of the screen, and the colours of what textual draws itself, in textual's style sheets.

All stands on the background of the terminal, light or dark, in its own sixteen colours: what is marked is reversed.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCREEN_STYLE"]

SCREEN_STYLE: Final = """
* { scrollbar-background: ansi_default; scrollbar-background-hover: ansi_default; }
* { scrollbar-background-active: ansi_default; }
Input > .input--cursor, Input > .input--selection { color: ansi_default; background: ansi_default; }
Input > .input--cursor, Input > .input--selection { text-style: reverse not dim; }
CommandPalette #--input { border: hkey ansi_default; }
CommandPalette CommandList { border-bottom: hkey ansi_default; }
CommandPalette SearchIcon { color: ansi_default; }
CommandPalette > .command-palette--help-text { text-style: not bold; }
CommandList > .option-list--option-highlighted, CommandList:ansi > .option-list--option-highlighted {
    color: ansi_default; background: ansi_default; text-style: reverse;
}
Screen { layers: base; }
ListPane { height: 1fr; }
LadderPane, FindingsPane, TopPane { height: 1fr; display: none; }
#message { height: 2fr; display: none; }
#message.shown { display: block; }
#message.beside { layout: horizontal; }
MessagePane { height: 1fr; width: 1fr; }
BytesPane { display: none; height: 1fr; border-top: solid ansi_default; }
BytesPane.shown { display: block; }
#message.beside BytesPane { width: 73; border-top: none; border-left: solid ansi_default; }
"""
