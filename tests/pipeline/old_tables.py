"""Tables that earlier versions of kw wrote, as fixtures: unpacked for tests, and made by the code of such a version.

`old/NAME.tar.xz` has the folders `run` (kw pipeline run of all captures), `watch` (a watch that has read the first half
of a capture, with --doctor) and, where that version had them, `delta` and `iceberg` (the same with --format).
`python -m tests.pipeline.old_tables TREE NAME` writes them with the code in a checkout of another commit, with the
paths in FOLDER. Their captures are in `old/captures.tar.xz`: the halves of captures/faults/producer-fenced, idle-cut
beside it, captures/negative/redis, and the first lines of first-steps.requests.log.

| name | written by | version of the tables |
| --- | --- | --- |
| `first` | 9aed7ea1^ | 1: no request logs, so no `source` and no `server_…` |
| `logs` | fb266360^ | 2: not how connections ended |
| `unnumbered` | 6c2a3259 | 3: the same columns as the first numbered files |
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.pipeline.odd import packets

OLD: Final = Path(__file__).parent / "old"
# Name → the version of its tables.
VERSIONS: Final = {"first": 1, "logs": 2, "unnumbered": 3}
# Where the tables were written, as their manifests have it.
FOLDER: Final = Path("/tmp/kw-old")
# The first half of a capture, which the watches have read, and the second, which comes later.
FIRST, SECOND = "a.pcap", "b.pcap"
LOG: Final = "requests.log"
# How an archive is unpacked: Python before 3.11.4 has no filter, and later ones want it named.
FILTER: Final[dict[str, Any]] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def unpack(name: str, folder: Path) -> Path:
    """The tables of a version in a folder, with their captures in `captures`."""
    _extract("captures", folder)
    _extract(name, folder)
    return folder


def _extract(name: str, folder: Path) -> None:
    with tarfile.open(OLD / f"{name}.tar.xz") as archive:
        archive.extractall(folder, **FILTER)


def read_first_half(watch: Path, capture: Path) -> None:
    """Put the watch's capture at `capture`, and its place on this disk in the state of the watch.

    Elsewhere the place was another one, and a file is known by its place.
    """
    (commit,) = (watch / "_kw" / "commits").glob("*.json")
    value: dict[str, Any] = json.loads(commit.read_bytes())
    (file,) = (row for row in value["watch"]["captures"]["files"])
    about = os.stat(capture)
    path = b64encode(os.fsencode(capture)).decode()
    file[1:4] = [path, path, [about.st_dev, about.st_ino]]
    value["watch"]["captures"]["names"] = [path]
    commit.write_text(json.dumps(value))


def write_later(capture: Path, folder: Path) -> None:
    """Write a capture into a folder again, as one of two days later, so that the date of the others is over."""
    data = capture.read_bytes()
    moved = [(int.from_bytes(one[:4], "little") + 2 * 86_400).to_bytes(4, "little") + one[4:] for one in packets(data)]
    (folder / "c.pcap").write_bytes(data[:24] + b"".join(moved))


def make_tables(folder: Path, kw: Callable[..., bool], *, log: bool) -> list[str]:
    """Make the tables of a version by its `kw`, beside their captures; the names of the folders that it could make."""
    captures = folder / "captures"
    _extract("captures", folder)
    known = sorted(str(path) for path in captures.iterdir() if path.name != LOG or log)
    watch = ("pipeline", "watch", str(captures / FIRST), "--bodies", "--doctor", "--once", "-q")
    commands = {
        "run": ("pipeline", "run", *known, "--bodies", "-q"),
        "watch": watch,
        "delta": (*watch, "--format", "delta"),
        "iceberg": (*watch, "--format", "iceberg"),
    }
    return [name for name, words in commands.items() if kw(*words, "--out", str(folder / name))]


def _write(tree: str, name: str) -> None:
    """Write the archive of a version with the code in `tree`."""

    def kw(*words: str) -> bool:
        code = "from kwcli.main import main; main()"
        environment = {**os.environ, "PYTHONPATH": "."}
        return not subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tree, env=environment, check=False
        ).returncode

    shutil.rmtree(FOLDER, ignore_errors=True)
    made = make_tables(FOLDER, kw, log=VERSIONS[name] > 1)
    with tarfile.open(OLD / f"{name}.tar.xz", "w:xz", preset=9) as archive:
        for path in sorted(path for folder in made for path in (FOLDER / folder).rglob("*")):
            if path.is_file() and not path.name.endswith("lock"):
                data = path.read_bytes()
                entry = tarfile.TarInfo(str(path.relative_to(FOLDER)))
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    _write(*sys.argv[1:])
