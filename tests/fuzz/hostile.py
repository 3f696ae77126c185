"""Hostile texts for names of any kind."""

from __future__ import annotations

from typing import Final

HOSTILE: Final = (
    "\x1b[2J\x1b[H",  # clears the screen
    "\x1b]0;owned\x07",  # names the window
    "\x1b[5;31mred",  # blinks
    "\x1bP+q544e\x1b\\",  # asks the terminal, whose answer is like typed text
    "\x9b2J \x9d0;owned\x9c",  # the same by C1 controls
    "over\rwritten",
    "gone\b\b\b\b\x7f",
    "bell\x07 null\0 shift\x0e out\x0f",
    "invoice\u202egpj.exe",  # what follows is drawn backwards
    "\u2066isolated\u2069 \u200fmark\u200e \u061c",
    "two\nlines\nkw: done",
    "tab\tand\vfeed\f",
    "\udcff\udc9b\udc80 no UTF-8",
    "half\udce3\udc81",
    "line\u2028paragraph\u2029",
    "e" + "\u0300" * 200,
    "日本🙂" * 60,
    "<script>alert(1)</script><b>&amp;",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "[red]bold[/red] {0} %s \\u001b \\x1b",
    "\"quoted\", 'quoted'; $(id) `id`",
    "../../../etc/passwd",
    "--help",
    "long" * 8000,
    "",
)
