"""Java 8 from Debian's unstable release, which alone has it, for clients that still run on it.

It needs a newer C library than stable releases have. So that library is taken from the same release, and the program
with the virtual machine (Python with the last JPype that knows Java 8) is started by that library's loader.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.broker.jars import Missing
from tests.broker.wheels import fetched_once

__all__ = ["JPYPE", "java_8", "loader_8"]

JPYPE: Final = "jpype1==1.5.0"
_PACKAGES: Final = ("openjdk-8-jre-headless", "libc6", "libstdc++6", "libgcc-s1", "zlib1g")
_LIBRARIES: Final = Path("usr/lib/x86_64-linux-gnu")
_HOME: Final = Path("usr/lib/jvm/java-8-openjdk-amd64/jre")
# The repository of this machine's packages, which has every release of Debian.
_TARGETS: Final = ("indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages")


def java_8() -> Path:
    """The folder of the runtime. Raises Missing if it cannot be fetched."""
    return _unpacked() / _HOME


def loader_8() -> list[str]:
    """The words before a command whose program loads the runtime. Raises Missing if it cannot be fetched."""
    libraries = _unpacked() / _LIBRARIES
    return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)]


def _unpacked() -> Path:
    """The files of all packages in one folder, fetched on first use."""

    def fetch(folder: Path) -> None:
        for package in _fetched(folder / "apt"):
            _run(["dpkg-deb", "-x", str(package), str(folder)])
        shutil.rmtree(folder / "apt")
        _settle(folder)

    return fetched_once("java-8", fetch)


def _fetched(folder: Path) -> list[Path]:
    """The downloaded packages, by an apt that keeps its lists and archives in this folder."""
    lines = [line.split(maxsplit=1) for line in _run(["apt-get", *_TARGETS]).splitlines()]
    uris = sorted({uri for label, uri in lines if label == "Debian"})
    if not uris:
        raise Missing("Java 8 comes from Debian's packages, which this machine does not have")
    for each in ("lists/partial", "archives/partial", "parts"):
        (folder / each).mkdir(parents=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text(f"deb [signed-by={keys} arch=amd64] {uris[0]} sid main\n")
    places = {"Etc::SourceList": "sources.list", "Etc::SourceParts": "parts", "State::Lists": "lists", "Cache": "."}
    command = ["apt-get", "-q", *(word for name, at in places.items() for word in ("-o", f"Dir::{name}={folder / at}"))]
    _run([*command, "update"])
    _run([*command, "download", *_PACKAGES], folder)
    return sorted(folder.glob("*.deb"))


def _settle(root: Path) -> None:
    """Make absolute links relative, so that they lead to files below this folder wherever it is moved."""
    for link in root.rglob("*"):
        if link.is_symlink() and (target := os.readlink(link)).startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(root / target[1:], link.parent))


def _run(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{command[0]}: {error}") from error
    if done.returncode:
        raise Missing(f"{command[0]} could not get Java 8: {done.stderr.strip()[-500:]}")
    return done.stdout
