"""A command line in, the files of the project that it runs through out: `python -m tests.walk`.

A file is entered if one of its functions runs. Imports do not count: neither the bodies of modules and classes nor the
functions that these bodies call. Declarations and tables (decoders/apis, protocol_facts, embedded) do not count either.
Without words, two command lines are walked:

    kw call Metadata        against a scripted broker (tests/calling/scripted.py)
    kw sniff tour.pcapng

With words, that command line: `python -m tests.walk sniff captures/tour.pcapng --records`. `--files` lists the files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
DECLARATIONS: Final = ("decoders/apis/", "decoders/protocol_facts/", "decoders/embedded/")
_CHILD: Final = "--in-this-process"


class Walk:
    """Counts calls of functions by file, while it is the profiler of all threads."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._importing = threading.local()

    def start(self) -> None:
        """Start counting."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event not in ("call", "return"):
            return
        code, its = frame.f_code, self._importing
        depth = getattr(its, "depth", 0)
        if code.co_name == "<module>" and not code.co_flags & CO_NEWLOCALS:
            its.depth = max(depth + (1 if event == "call" else -1), 0)
        elif event == "call" and not depth and code.co_flags & CO_NEWLOCALS:
            self.calls[code.co_filename] += 1

    def files(self) -> dict[str, int]:
        """The number of calls in each file of the project, without declarations."""
        found = {}
        for name, count in sorted(self.calls.items()):
            path = Path(name)
            if not path.is_relative_to(ROOT):
                continue
            file = path.relative_to(ROOT).as_posix()
            if file.startswith(("decoders/", "kwcli/")) and not file.startswith(DECLARATIONS):
                found[file] = count
        return found


def walk(words: Sequence[str]) -> dict[str, int]:
    """The files that `kw WORDS…` runs through in a new process, with the number of calls in each."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "files.json"
        command = [sys.executable, "-m", "tests.walk", _CHILD, str(out), *words]
        env = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder}
        subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, timeout=120)
        found: dict[str, int] = json.loads(out.read_text())
    return found


def _walk_here(out: str, words: Sequence[str]) -> int:
    from kwcli.main import main

    counted = Walk()
    sys.argv = ["kw", *words]
    counted.start()
    try:
        code = main()
    finally:
        sys.setprofile(None)
        Path(out).write_text(json.dumps(counted.files()))
    return code


def walks() -> dict[str, dict[str, int]]:
    """The two command lines, each with the files that it runs through."""
    from tests.calling.scripted import Node, metadata

    with Node({3: (0, 12)}, {}) as node:
        node.answers = {3: metadata(node)}
        called = walk(["call", "Metadata", "-b", node.server])
    return {"kw call Metadata": called, "kw sniff tour.pcapng": walk(["sniff", "captures/tour.pcapng"])}


def main(words: Sequence[str]) -> int:
    """Print the number of files that are entered, and their names with `--files`."""
    if words and words[0] == _CHILD:
        return _walk_here(words[1], words[2:])
    listed = "--files" in words
    asked = [word for word in words if word != "--files"]
    for name, files in ({" ".join(["kw", *asked]): walk(asked)} if asked else walks()).items():
        print(f"{len(files):4} files entered by {name}")
        for file, calls in files.items() if listed else ():
            print(f"{calls:9,} {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
