"""Apicurio's registry server from Maven, in memory: it answers Confluent's API and its own of 2.x and 3.x."""

from __future__ import annotations

import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kwcli.playground.free_ports import find_free_ports
from kwcli.playground.java_process import Process
from tests.broker.jars import Missing
from tests.broker.wheels import fetched_once, java_home
from tests.serializers.registry_double import CCOMPAT

__all__ = ["apicurio_registry"]

_VERSION: Final = "3.3.3"
_FLAGS: Final = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_START_S: Final = 60


def _server() -> Path:
    """The folder of the server. Raises Missing if Maven cannot fetch it."""

    def fetch(folder: Path) -> None:
        artifact = f"io.apicurio:apicurio-registry-app:{_VERSION}:tar.gz:all"
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"Maven could not fetch {artifact}: {done.stdout.strip()[-500:]}")
        (found,) = folder.glob("*.tar.gz")
        with tarfile.open(found) as archive:
            archive.extractall(folder, filter="data")
        found.unlink()

    return fetched_once(f"apicurio-registry-{_VERSION}", fetch)


@contextmanager
def apicurio_registry(port: int = 0) -> Iterator[str]:
    """The server's address (`http://127.0.0.1:PORT`), without HTTP/2, which kw does not read."""
    port, management = (port, find_free_ports(1)[0]) if port else find_free_ports(2)
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": port,
        "quarkus.http.http2": "false",
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": management,
    }
    command = [str(java_home("25") / "bin" / "java"), *_FLAGS, *(f"-D{key}={value}" for key, value in settings.items())]
    url = f"http://127.0.0.1:{port}"
    with TemporaryDirectory(prefix="kw-apicurio-") as folder:
        log = Path(folder) / "server.log"
        process = Process([*command, "-jar", str(_server() / "quarkus-run.jar")], log)
        try:
            deadline = time.monotonic() + _START_S
            while not _answers(url):
                if not process.running or time.monotonic() > deadline:
                    raise Missing(f"Apicurio's registry does not answer: {process.tail()}")
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}{CCOMPAT}/subjects", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
