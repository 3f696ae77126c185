"""`kw` as it is installed; its last line on standard error is the most memory that it ever had.

    python -m tests.fuzz.measured sniff orders.pcapng

The operating system's figure for a child (ru_maxrss) includes the memory of its parent at the fork, which is large
here.
"""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

from kwcli.main import main

# The most that a program here may allocate: a machine that swaps helps nobody.
ADDRESS_SPACE = 6 << 30


def peak_kb() -> int:
    """The peak memory of this process in kB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) if found else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    code = main()
    sys.stderr.write(f"peak {peak_kb()}\n")
    sys.exit(code)
