"""Releases of Kafka in, their client jars without dependencies out: fetched by one run of Maven, kept in the cache."""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest

from decoders.protocol_facts.kafka_releases import RELEASES
from tests.broker.jars import explain_missing_tools, find_jar_cache_folder

# The last patch release of every minor release: patch releases of one minor never differ in versions.
PATCHES: Final = (
    *("0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1"),
    *("2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1"),
    *("3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"),
)
# The first release whose jar has message definitions; earlier ones have classes only.
FIRST_DEFINITIONS: Final = "2.2"


def wrong_patches() -> str:
    """What is wrong with PATCHES; "" if it has one patch of each release, in their order."""
    patched = [patch.rpartition(".")[0] for patch in PATCHES]
    if patched == list(RELEASES):
        return ""
    differ = sorted(set(patched) ^ set(RELEASES))
    return f"PATCHES in tests/reference/jars.py wants the last patch of each release, in order; look at {differ}"


def release_jars() -> dict[str, Path]:
    """Release → its kafka-clients jar, oldest first. Skips the test if they cannot be fetched."""
    folder = find_jar_cache_folder() / "releases"
    folder.mkdir(parents=True, exist_ok=True)
    wrong = wrong_patches()
    assert not wrong, wrong
    paths = {release: folder / f"kafka-clients-{patch}.jar" for release, patch in zip(RELEASES, PATCHES, strict=True)}
    with open(find_jar_cache_folder() / "releases.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [patch for patch, path in zip(PATCHES, paths.values(), strict=True) if not path.exists()]
        if missing:
            _fetch(folder, missing)
    return paths


def _fetch(folder: Path, patches: list[str]) -> None:
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    items = "".join(
        "<artifactItem><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId>"
        f"<version>{patch}</version></artifactItem>"
        for patch in patches
    )
    plugin = (
        "<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>"
        f"<configuration><artifactItems>{items}</artifactItems></configuration>"
    )
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>kw</groupId><artifactId>releases</artifactId><version>1</version>"
            f"<build><plugins><plugin>{plugin}</plugin></plugins></build></project>\n"
        )
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy", f"-DoutputDirectory={scratch}/jars"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(
                f"Maven could not fetch the releases of PATCHES, {' '.join(patches)}: {done.stdout.strip()[-2000:]}"
            )
        for jar in (Path(scratch) / "jars").iterdir():
            jar.rename(folder / jar.name)
