"""Maven coordinates in, jar files out: resolved once into a cache outside the repository (`$XDG_CACHE_HOME/kw`)."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kwcli.user_folders import own_folder

__all__ = ["BROKERS", "Missing", "broker_jars", "cache", "java_problem", "missing_tools", "resolve"]

# Release → the Maven coordinates of its broker, and of the logging binding that fits the broker's logging library.
BROKERS: Final = {
    "4.3.1": ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    "3.9.1": ("org.apache.kafka:kafka_2.13:3.9.1", "org.slf4j:slf4j-reload4j:1.7.36"),
}

# The oldest Java that brokers of 4.x run on.
JAVA_LEAST: Final = 17


class Missing(RuntimeError):
    """A program that brokers need is not on this machine, or Maven could not fetch the jars."""


def missing_tools() -> str | None:
    """What is missing to run a broker, as one sentence, or None."""
    lacking = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    return f"needs {' and '.join(lacking)} on the PATH" if lacking else None


def java_problem(version: str, folder: Path | None = None) -> str | None:
    """Why a broker of this release cannot run here, as one clause, or None. Maven is only needed the first time."""
    if shutil.which("java") is None:
        return "there is no Java on the PATH"
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', said.stderr + said.stdout)
    if found is None or int(found[1]) < JAVA_LEAST:
        return f"Kafka needs Java {JAVA_LEAST}, and this is Java {found[1] if found else 'of an unknown release'}"
    if folder is None and not (cache() / f"kafka-{version}").is_dir() and shutil.which("mvn") is None:
        return "Kafka's jars are not here yet, and there is no Maven on the PATH (or give --jars FOLDER)"
    return None


def cache() -> Path:
    """The folder for files that outlive a run: jars, class archives."""
    return own_folder("cache", os.environ)


def broker_jars(version: str, folder: Path | None = None) -> list[Path]:
    """All jars of a Kafka broker of this release, in class path order; the jars of `folder` where it is given."""
    if folder is None:
        return resolve(f"kafka-{version}", BROKERS[version])
    jars = sorted(folder.glob("*.jar"))
    if not any(jar.name.startswith("kafka_2.") for jar in jars):
        raise Missing(f"{folder} holds no broker: there is no kafka_2.*.jar in it")
    return jars


def resolve(name: str, coordinates: Sequence[str]) -> list[Path]:
    """The jars of `coordinates` and of their dependencies, fetched by Maven on first use into `cache()/name`."""
    folder = cache() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(cache() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _fetch(folder, coordinates)
    return sorted(folder.glob("*.jar"))


def _fetch(folder: Path, coordinates: Sequence[str]) -> None:
    problem = missing_tools()
    if problem:
        raise Missing(problem)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_text(_pom(coordinates))
        jars = Path(scratch) / "jars"
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"Maven could not fetch {', '.join(coordinates)}: {done.stdout.strip()[-2000:]}")
        jars.rename(folder)


def _pom(coordinates: Sequence[str]) -> str:
    rows = []
    for coordinate in coordinates:
        group, artifact, version = coordinate.split(":")
        rows.append(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version></dependency>"
        )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>kw</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<dependencies>{''.join(rows)}</dependencies></project>\n"
    )
