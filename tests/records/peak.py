"""The memory that `kw` takes for each of some files: `python -m tests.records.peak WORDS… -- FILE…`, in one process.

Prints a line for each file: the peak memory of the process in MiB while `kw WORDS… FILE` ran.
"""

from __future__ import annotations

import gc
import re
import sys
from io import BytesIO
from pathlib import Path

from kwcli.main import run
from kwcli.run_environment import SELDOM_COLLECTIONS, Environment

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def main() -> None:
    """Run the command for each file."""
    divide = sys.argv.index("--")
    words, files = sys.argv[1:divide], sys.argv[divide + 1 :]
    gc.set_threshold(*SELDOM_COLLECTIONS)
    for file in files:
        gc.collect()
        _CLEAR.write_text("5", encoding="ascii")  # resets the peak
        with open("/dev/null", "wb") as nowhere:  # output must not be held in memory
            said = BytesIO()
            code = run([*words, file], Environment(stdin=BytesIO(), stdout=nowhere, stderr=said, variables={}))
        peak = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text(encoding="ascii"))
        assert peak is not None
        sys.stdout.write(f"{int(peak[1]) // 1024} {code} {b'defect' in said.getvalue()}\n")


if __name__ == "__main__":
    main()
