"""Helpers for tests of pages: names that are HTML and scripts, a reader of HTML, scripts for the browser."""

from __future__ import annotations

from html.parser import HTMLParser

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "%{x} <b>bold</b> &amp; $\\alpha$",
    '<a href="javascript:alert(1)">x</a>',
    "x" * 249,
)
# Hostile names, and others that could break out of attributes, CSS, JSON in a script, Markdown, lines of text.
NAMES = (
    *HOSTILE,
    "' onmouseover='alert(1)' x='",
    "]]></svg><svg onload=alert(1)>",
    "</style><style>*{display:none}</style>",
    "\u2028alert(1)\u2029//",
    "a|b\\|c`d`<!--",
    "[x](javascript:alert(1)) ![x](http://evil.invalid/x.png)",
    "\r\n\x1b[31m\x00\u202eevil",
    "url(http://evil.invalid/x)",
)
WIDTHS = (390, 1440)


class Page(HTMLParser):
    """The text of every element that tests need, and every address in an attribute."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.cells: dict[str, list[list[str]]] = {}
        self.tiles: list[str] = []
        self.scripts: list[str] = []
        self._section = ""
        self._open: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.loads += [str(named[name]) for name in ("src", "href", "srcset", "data", "action") if name in named]
        self.loads += [name for name, _ in attrs if name.startswith("on")]
        if tag == "section":
            self._section = str(named["id"])
            self.cells[self._section] = []
        elif tag == "tr":
            self.cells[self._section].append([])
        elif tag == "td":
            self.cells[self._section][-1].append("")
            self._open = self.cells[self._section][-1]
        elif tag == "dd":
            self.tiles.append("")
            self._open = self.tiles
        elif tag == "script":
            self.scripts.append("")
            self._open = self.scripts

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "dd", "script"):
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open[-1] += data


# Tables that are wider than the page; tables with their own scroll bar may be.
TOO_WIDE = """[...document.querySelectorAll('section > *')].filter((e) => e.getBoundingClientRect().right >
  document.documentElement.clientWidth).map((e) => e.closest('section').id)"""
# Numbers and times of charts that are outside the chart, or on each other.
OVERLAPS = """[...document.querySelectorAll('.chart')].flatMap((chart) => {
  const frame = chart.getBoundingClientRect();
  return ['.numbers text', '.clocks text'].flatMap((kind) => {
    const boxes = [...chart.querySelectorAll(kind)].map((e) => e.getBoundingClientRect()).filter((b) => b.width);
    const out = boxes.filter((b) => b.left < frame.left - 1 || b.right > frame.right + 1);
    const over = boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right - 1 && b.left < a.right - 1
      && a.top < b.bottom - 1 && b.top < a.bottom - 1));
    return [...out.map((b) => [kind, 'outside']), ...over.map((b) => [kind, 'overlaps'])];
  });
})"""
