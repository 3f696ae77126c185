"""Hex dumps as text in, the bytes in them out: xxd, hexdump -C, od, tcpdump -X, and kw's own hex view.

A line has an offset, bytes, and beside them what is not read: the bytes as text, names and values. Offsets must go on
where the line before ended; one that begins again at 0 begins another run of bytes.
"""

from __future__ import annotations

import re
from typing import Final

from decoders.wire.text import in_bytes
from kwcli.exits import Failure

_COLON: Final = re.compile(r"\s*(?:0x)?([0-9a-f]{3,16}):\s+(?=[0-9a-f])(.*)", re.IGNORECASE)
_BARE: Final = re.compile(r"\s*([0-9a-f]{4,16})(\s+)((?:[0-9a-f]{2}|\*\*)(?:\s.*)?)", re.IGNORECASE)
_END: Final = re.compile(r"\s*(?:0x)?[0-9a-f]{6,16}:?\s*", re.IGNORECASE)
_BESIDE: Final = re.compile(r"\s+[|>].*[|<]?\s*$")
_PAIR: Final = re.compile(r"[0-9a-f]{2}|\*\*", re.IGNORECASE)
_GROUP: Final = re.compile(r"(?:[0-9a-f]{2})+", re.IGNORECASE)
# A repeated line stands for as many bytes as the one before it had.
_SQUEEZED: Final = "*"
# What a `*` may stand for at most.
REPEATED_MAX: Final = 1 << 24


def dumped(text: str) -> list[bytes] | None:
    """The runs of bytes of a dump; None where the text is none. Raises Failure where bytes of it are missing."""
    runs: list[bytearray] = []
    squeezed = False
    last = b""
    for number, line in enumerate(text.splitlines(), 1):
        found = _line(line)
        if found is None:
            if line.strip() == _SQUEEZED and runs and last:
                squeezed = True
            elif not runs and line.strip() and _END.fullmatch(line) is None and _plain(line):
                return None
            continue
        at, data = found
        if at == 0 and (not runs or runs[-1]):
            runs.append(bytearray())
        if not runs:
            return None
        run = runs[-1]
        if squeezed and at > len(run):
            _repeat(run, last, at)
        if at != len(run):
            raise Failure(
                f"line {number} of the dump begins at byte {at:#x}, and the bytes before it end at {len(run):#x}"
            )
        squeezed = False
        run += data
        last = data
    if squeezed and runs and (end := _last_offset(text)) is not None and end > len(runs[-1]):
        _repeat(runs[-1], last, end)
    return [bytes(run) for run in runs if run] or None


def _plain(line: str) -> bool:
    """Whether a line is bytes without an offset: then the text is no dump."""
    return re.fullmatch(r"[\s0-9a-fx,:\\]+", line, re.IGNORECASE) is not None


def _line(line: str) -> tuple[int, bytes] | None:
    """Offset and bytes of one line."""
    match = _COLON.fullmatch(line)
    if match is not None:
        groups = re.split(r"\s{2,}", _BESIDE.sub("", match[2]))[0].split()
        if not all(map(_GROUP.fullmatch, groups)):
            return None
        return int(match[1], 16), bytes.fromhex("".join(groups))
    match = _BARE.fullmatch(line)
    if match is None or (len(match[2]) == 1 and len(match[1]) < 6):
        return None
    # Between two halves of a line there are two blanks; behind more than two there is something else.
    words = re.split(r"\s{3,}", _BESIDE.sub("", match[3]))[0].split()
    pairs: list[str] = []
    for word in words:
        if _PAIR.fullmatch(word) is None:
            break
        pairs.append(word)
    if "**" in pairs:
        raise Failure("there are hidden bytes (**) in the dump; --reveal-secrets shows them where it was made")
    return (int(match[1], 16), bytes.fromhex("".join(pairs))) if pairs else None


def _repeat(run: bytearray, last: bytes, end: int) -> None:
    if end - len(run) > REPEATED_MAX:
        raise Failure(f"a line of the dump that repeats {in_bytes(end - len(run))}")
    while len(run) < end:
        run += last[: end - len(run)]


def _last_offset(text: str) -> int | None:
    line = text.rstrip().rpartition("\n")[2].strip().rstrip(":")
    return int(line, 16) if _END.fullmatch(line) else None
