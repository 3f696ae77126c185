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

__all__ = [
    "BROKERS",
    "Missing",
    "download_jars",
    "explain_java_problem",
    "explain_missing_tools",
    "find_broker_jars",
    "find_jar_cache_folder",
]

# Release → the Maven coordinates of its broker, and of the logging binding that fits the broker's logging library.
BROKERS: Final = {
    "4.3.1": ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    "3.9.1": ("org.apache.kafka:kafka_2.13:3.9.1", "org.slf4j:slf4j-reload4j:1.7.36"),
}

# The oldest Java that brokers of 4.x run on.
JAVA_LEAST: Final = 17


class Missing(RuntimeError):
    """A program that brokers need is not on this machine, or Maven could not fetch the jars."""


def explain_missing_tools() -> str | None:
    """What is missing to run a broker, as one sentence, or None."""
    lacking = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    return f"needs {' and '.join(lacking)} on the PATH" if lacking else None


def explain_java_problem(version: str, folder: Path | None = None) -> str | None:
    """Why a broker of this release cannot run here, as one clause, or None. Maven is only needed the first time."""
    if shutil.which("java") is None:
        return "there is no Java on the PATH"
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', said.stderr + said.stdout)
    if found is None or int(found[1]) < JAVA_LEAST:
        return f"Kafka needs Java {JAVA_LEAST}, and this is Java {found[1] if found else 'of an unknown release'}"
    if folder is None and not (find_jar_cache_folder() / f"kafka-{version}").is_dir() and shutil.which("mvn") is None:
        return "Kafka's jars are not here yet, and there is no Maven on the PATH (or give --jars FOLDER)"
    return None


def find_jar_cache_folder() -> Path:
    """The folder for files that outlive a run: jars, class archives."""
    return own_folder("cache", os.environ)


def find_broker_jars(version: str, folder: Path | None = None) -> list[Path]:
    """All jars of a Kafka broker of this release, in class path order; the jars of `folder` where it is given."""
    if folder is None:
        return download_jars(f"kafka-{version}", BROKERS[version])
    jars = sorted(folder.glob("*.jar"))
    if not any(jar.name.startswith("kafka_2.") for jar in jars):
        raise Missing(f"{folder} holds no broker: there is no kafka_2.*.jar in it")
    return jars


def download_jars(name: str, coordinates: Sequence[str]) -> list[Path]:
    """The jars of `coordinates` and of their dependencies, fetched by Maven on first use into `cache()/name`."""
    folder = find_jar_cache_folder() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(find_jar_cache_folder() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _fetch_with_maven(folder, coordinates)
    return sorted(folder.glob("*.jar"))


def _fetch_with_maven(folder: Path, coordinates: Sequence[str]) -> None:
    problem = explain_missing_tools()
    if problem:
        raise Missing(problem)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_text(_format_pom(coordinates))
        jars = Path(scratch) / "jars"
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"Maven could not fetch {', '.join(coordinates)}: {done.stdout.strip()[-2000:]}")
        jars.rename(folder)


def _format_pom(coordinates: Sequence[str]) -> str:
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
