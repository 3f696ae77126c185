"""Whether the process with a number runs, and when it began."""

from __future__ import annotations

import os
from pathlib import Path


def is_process_alive(process: int) -> bool:
    """Whether a process with this number exists, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def read_process_start(process: int) -> str:
    """When a process began, in the system's own units: process numbers are reused. Empty where unknown."""
    try:
        stat_line = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat_line.rpartition(")")[2].split()[19]
