"""Files of rows `QUESTION → ANSWER` in and out, and what answers are compared by: checksums, without the run's time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from zlib import crc32

__all__ = ["checksum_of", "drop_duration", "read_answers", "write_answers"]

_ARROW: Final = " → "
# The last of the numbers of a run: how long it took.
_TOOK: Final = re.compile(r" \S \d+\.\d\d s$", re.MULTILINE)


def read_answers(file: Path) -> dict[str, str]:
    """The answers of a file by their questions; none where there is no file yet."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {question: answer for question, _, answer in (line.partition(_ARROW) for line in lines)}


def write_answers(file: Path, answers: Iterable[tuple[str, str]]) -> None:
    """Write questions and answers."""
    file.write_text("".join(f"{question}{_ARROW}{answer}\n" for question, answer in answers))


def drop_duration(text: str) -> str:
    """A text without the time that a run took, at the end of its closing line."""
    return _TOOK.sub("", text)


def checksum_of(text: str) -> str:
    """The checksum of a text that a command wrote."""
    return f"{crc32(text.encode('utf-8', 'surrogateescape')):08x}"
