"""The captures of the screen and a filter in, a capture of the packets of the rows that it lets through out.

That is `kw sniff FILES -f FILTER -w OUT`, which reads the captures again, in a process of its own.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from kwcli.reading.list_input_files import is_read_once
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.browse.background_work_and_source import Source
    from kwcli.capture_options import CaptureOptions

__all__ = ["cut_packets", "find_reason_against_cutting", "make_cutting_words"]


def find_reason_against_cutting(capture: CaptureOptions) -> str:
    """Why no packets can be cut out of what is read; empty where they can."""
    if capture.places or capture.follow or any(map(is_read_once, capture.files)):
        return "packets of live traffic are kept from the start alone: -w FILE.pcapng"
    if capture.align_clocks:
        return "packets are cut out of files as they are: leave --align-clocks out"
    return ""


def make_cutting_words(source: Source, text: str, path: str) -> list[str]:
    """The words of the command line behind the program's name. Raises Failure."""
    capture = source.capture
    words = ["sniff", *capture.files, "-q", "-o", "ndjson", "-w", path]
    parts = [*filter(None, (source.time_text(), text))]
    if parts:
        words += ["-f", " and ".join(f"({part})" for part in parts)]
    if capture.ports:
        words += ["--port", ",".join(map(str, capture.ports))]
    for keylog in capture.keylogs:
        words += ["--keylog", keylog]
    for schema in source.schemas:
        words += ["--schemas", schema]
    for option, file in (("--hosts", capture.hosts), ("--names-from", capture.names_from)):
        if file is not None:
            words += [option, file]
    if capture.guess_requests:
        words.append("--guess-requests")
    return words


async def cut_packets(source: Source, text: str, path: str) -> str:
    """Write the capture; returns what the command says of it."""
    try:
        words = make_cutting_words(source, text, path)
    except Failure as failure:
        return failure.text
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kwcli",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    lines = said.decode("utf-8", "replace").splitlines()
    return lines[-1].removeprefix("kw: ") if lines else f"{path} was not written"
