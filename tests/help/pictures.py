"""Shipped captures in, the README's pictures out: `python -m tests.help.pictures` writes them to kwcli/help/pictures.

Output of a terminal is drawn as SVG by rich, without fonts from elsewhere; the report page is a screenshot of Chromium
without a window. Each is there for light and for dark surroundings. A screenshot holds the digest of the page that it
shows, so that a test without a browser can tell whether it is still the page of today.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import sys
import tempfile
import zlib
from contextlib import chdir
from html import unescape
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
from rich.text import Text

from decoders.named_tuple import NamedTuple
from tests.cli.worlds import kw, world
from tests.report.browser import Browser, find_browser

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "kwcli" / "help" / "pictures"
COLUMNS: Final = 100
THEMES: Final = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}
# What is drawn of a terminal: the command line as people type it, in the folder of the repository.
COMMANDS: Final = {
    "sniff": "kw sniff captures/tour.pcapng --api CreateTopics,Produce,Fetch,JoinGroup --limit 22",
    "doctor": "kw doctor captures/tour.pcapng",
}
REPORT: Final = "kw report captures/tour.pcapng --html page.html"
PAGE_SIZE: Final = (1000, 880)
# Without rich's font from a server, and with names of fonts that systems have.
_FORMAT: Final = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Picture(NamedTuple):
    """A PNG's digest of the page that it shows, and its size."""

    digest: str
    size: tuple[int, int]


def output_of(command: str, *, color: bool = False) -> str:
    """What a command line prints on standard output, in a terminal of COLUMNS columns."""
    terminal = world(columns=COLUMNS, terminal=True, variables={"TERM": "xterm"})
    with chdir(ROOT):
        return kw(*command.split()[1:], "--color", "always" if color else "never", env=terminal).out


def draw_terminal(name: str, theme: str) -> str:
    """A command's output as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(output_of(COMMANDS[name], color=True)), end="", no_wrap=True, overflow="crop")
    drawn = console.export_svg(title=COMMANDS[name], theme=THEMES[theme], code_format=_FORMAT, unique_id="k")
    return re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE)


def texts_of(drawn: str) -> list[str]:
    """The lines of text in an SVG, as one reads them."""
    lines: dict[float, str] = {}
    body = drawn[drawn.index('<g class="k-matrix">') :]
    for x, y, text in re.findall(r'<text[^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', body):
        column = round(float(x) / 12.2)
        line = lines.get(float(y), "")
        lines[float(y)] = line.ljust(column) + unescape(text).replace("\xa0", " ")
    return [lines[y].rstrip() for y in sorted(lines)]


def report_page() -> bytes:
    """The page that the command of REPORT writes."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        with chdir(ROOT):
            assert kw(*REPORT.replace("page.html", str(page)).split()[1:], "-q").code == 0
        return page.read_bytes()


def read_picture(path: Path) -> Picture:
    """The facts of a PNG (PNG specification, chunks IHDR and tEXt)."""
    data = path.read_bytes()
    size = (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    found = re.search(rb"tEXtSource\0sha256:([0-9a-f]{64})", data)
    return Picture(found[1].decode() if found else "", size)


def _mark(png: bytes, digest: str) -> bytes:
    """A PNG with a text chunk behind its header."""
    body = b"tEXtSource\0sha256:" + digest.encode()
    chunk = (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    return png[:33] + chunk + png[33:]


def main() -> int:
    program = find_browser()
    if program is None:
        sys.stderr.write("the picture of the report needs chromium\n")
        return 1
    FOLDER.mkdir(exist_ok=True)
    for name in COMMANDS:
        for theme in THEMES:
            (FOLDER / f"{name}-{theme}.svg").write_text(draw_terminal(name, theme))
    page = report_page()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_bytes(page)
        with Browser(program, Path(folder)) as browser:
            for theme in THEMES:
                browser.open(path, PAGE_SIZE[0], dark=theme == "dark")
                clip = {"x": 0, "y": 0, "width": PAGE_SIZE[0], "height": PAGE_SIZE[1], "scale": 1}
                shot = browser.ask("Page.captureScreenshot", format="png", clip=clip)
                png = _mark(base64.b64decode(shot["data"]), hashlib.sha256(page).hexdigest())
                (FOLDER / f"report-{theme}.png").write_bytes(png)
    return 0


if __name__ == "__main__":
    sys.exit(main())
