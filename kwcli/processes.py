"""A process's number in, whether it runs and when it began out; and the files that killed ones left are removed."""

from __future__ import annotations

import glob
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["began", "is_alive", "sweep"]

# Nobody takes as long as this to write a small file.
_WRITING_S: Final = 60.0


def is_alive(process: int) -> bool:
    """Whether there is such a process, of whichever user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def began(process: int) -> str:
    """When a process began, in the system's own units: process numbers are used again. Empty where it does not say."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def sweep(pattern: str) -> None:
    """Remove the files NAME.PROCESS of this pattern whose process was killed while it wrote them."""
    for left in glob.glob(pattern):
        number = left.rpartition(".")[2]
        with suppress(OSError):
            late = time.time() - os.stat(left).st_mtime > _WRITING_S  # its number may be another process's by now
            if number.isdecimal() and (late or not is_alive(int(number))):
                os.unlink(left)
