"""A process's number in, whether it runs and when it began out."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["began", "is_alive"]


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
