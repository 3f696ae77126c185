"""The captures of the screen and a filter in, a capture of the packets of the rows that it lets through out.

That is `kw sniff FILES -f FILTER -w OUT`, which reads the captures again, in a process of its own.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from kwcli.reading.list_input_files import is_read_once

if TYPE_CHECKING:
    from kwcli.capture_options import CaptureOptions

__all__ = ["cut_packets", "find_reason_against_cutting", "make_cutting_words"]


def find_reason_against_cutting(capture: CaptureOptions) -> str:
    """Why no packets can be cut out of what is read; empty where they can."""
    if capture.places or capture.follow or any(map(is_read_once, capture.files)):
        return "packets of live traffic are kept from the start alone: -w FILE.pcapng"
    return ""


def make_cutting_words(capture: CaptureOptions, text: str, path: str) -> list[str]:
    """The words of the command line behind the program's name."""
    words = ["sniff", *capture.files, "-q", "-o", "ndjson", "-w", path]
    if text:
        words += ["-f", text]
    if capture.ports:
        words += ["--port", ",".join(map(str, capture.ports))]
    for keylog in capture.keylogs:
        words += ["--keylog", keylog]
    if capture.guess_requests:
        words.append("--guess-requests")
    return words


async def cut_packets(capture: CaptureOptions, text: str, path: str) -> str:
    """Write the capture; returns what the command says of it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kwcli",
        *make_cutting_words(capture, text, path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    lines = said.decode("utf-8", "replace").splitlines()
    return lines[-1].removeprefix("kw: ") if lines else f"{path} was not written"
