"""A standalone Spark master with workers on this machine, whose Python has all that kw needs but not kw itself.

That Python is a virtual environment with links to each package of the running one, except the project's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kwcli.pipeline.spark.find_java import find_java
from kwcli.playground.free_ports import find_free_ports

OWN: Final = ("decoders", "kwcli", "pyspark_kafka_wire", "kw-", "__editable__", "__pycache__")
PATIENCE_S: Final = 60


class Cluster(NamedTuple):
    """`master` is the address for drivers; `python` is the workers' Python; `workers` are their processes."""

    master: str
    python: Path
    workers: list[subprocess.Popen[bytes]]


def bare_python(folder: Path) -> Path:
    """A Python with the packages of this one except kw."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=PATIENCE_S)
    python = folder / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    there = Path(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())
    for name in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(name).iterdir():
            if not entry.name.startswith(OWN) and not (there / entry.name).exists():
                (there / entry.name).symlink_to(entry)
    done = subprocess.run([python, "-c", "import pyspark, kwcli"], cwd="/", env={}, capture_output=True, text=True)
    assert "No module named 'kwcli'" in done.stderr
    return python


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master, and workers with one core each; all end with the block."""
    with ExitStack() as stack:
        port, page = find_free_ports(2)
        master = f"spark://127.0.0.1:{port}"
        words = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        _started(stack, folder / "master", words)
        _await(page, 0)
        started = []
        for number in range(workers):
            place = folder / f"worker-{number}"
            words = ["worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            started.append(_started(stack, place, [*words, "--work-dir", str(place / "work"), master]))
        _await(page, workers)
        yield Cluster(master, bare_python(folder / "python"), started)


def _started(stack: ExitStack, folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    import pyspark

    folder.mkdir()
    home = Path(pyspark.__file__).parent
    variables = {
        "PATH": "/usr/bin:/bin",
        "JAVA_HOME": str(find_java(os.environ).resolve().parent.parent),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{words[0]}", *words[1:]],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(page: int, workers: int) -> None:
    """Wait until the master's page lists so many workers."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                if answer.read().count(b'"ALIVE"') >= workers + 1:
                    return
        except OSError:
            pass
        assert time.monotonic() < until, "the cluster did not start"
        time.sleep(0.2)
