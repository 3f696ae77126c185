"""A master's address in, a Spark session out that runs the pipeline as it is: Java found, settings made, kw shipped.

Own sessions are quiet: what the JVM and Spark's logging print goes to a file that lives as long as the process (shown
with `debug`), and a job that fails is told in one line, `failure_of`. `prepare` does for a session that someone else
has made what is needed for kw: Spark Connect works too, because nothing here touches `sparkContext`.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kwcli.exits import Failure
from kwcli.pipeline.spark.failures import reason_in
from kwcli.pipeline.spark.java import find_java, make_home
from kwcli.pipeline.spark.shipped import shipped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["prepare", "session"]

# A task that fails is tried again, locally too (Spark itself gives up at once there).
LOCAL_TRIES: Final = 4
# Local masters: the number of threads, and of tries where it is given.
_LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)\])?")
_OWN_MACHINE: Final = re.compile(r"local\b|spark://(?:127\.|localhost\b|\[::1\])")
CONF: Final[dict[str, str]] = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    # What a Python worker is handed at once: bytes decide, a row may be 256 KiB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    "spark.python.worker.reuse": "true",
    # Arrow's own allocator keeps what it once had: a fifth of a worker's memory.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
}


def session(
    master: str = "local[*]",
    *,
    conf: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    debug: bool = False,
    source: bool = True,
) -> SparkSession:
    """A session on `master`, or the one that runs already. Failure says in one line why there is none.

    Python workers run the interpreter that PYSPARK_PYTHON names, or this one; `conf` comes before our own settings.
    Without `source` it does not know the data source, for which Spark starts a Python process of its own.
    """
    variables = os.environ if variables is None else variables
    if find_spec("pyspark") is None:
        raise Failure('Spark is not installed: install "kw[spark]"')
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="kw-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    builder = SparkSession.builder.master(_master(master)).appName("kw")
    for name, value in {**CONF, **_local_conf(master), **(conf or {})}.items():
        builder = builder.config(name, value)
    log = folder / "log"
    log.touch()
    java_home = make_home(folder / "java", find_java(variables), Path("/dev/stderr") if debug else log)
    surroundings = {
        "JAVA_HOME": os.fspath(java_home),
        "PYSPARK_PYTHON": variables.get("PYSPARK_PYTHON") or sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if _OWN_MACHINE.match(master):
        surroundings["SPARK_LOCAL_IP"] = "127.0.0.1"
    with _environment(surroundings):
        try:
            spark = builder.getOrCreate()
        except Exception as problem:
            raise Failure(_no_session(master, problem, log)) from problem
    prepare(spark, variables=variables, spare=folder, source=source)
    return spark


def prepare(
    spark: SparkSession,
    *,
    variables: Mapping[str, str] | None = None,
    spare: Path | None = None,
    source: bool = True,
) -> None:
    """Make the data source `kafka_wire` known to a session, and the program to its workers."""
    if spare is None:
        spare = Path(tempfile.mkdtemp(prefix="kw-spark-"))
        atexit.register(shutil.rmtree, spare, ignore_errors=True)
    archive = shipped(os.environ if variables is None else variables, spare)
    spark.addArtifacts(os.fspath(archive), pyfile=True)
    if source:
        from kwcli.pipeline.spark.source import KafkaWire

        spark.dataSource.register(KafkaWire)


def _master(master: str) -> str:
    local = _LOCAL.fullmatch(master)
    return f"local[{local[1] or 1},{LOCAL_TRIES}]" if local else master


def _local_conf(master: str) -> dict[str, str]:
    """On this machine alone nobody else has to reach us, and nobody else can."""
    if not _OWN_MACHINE.match(master):
        return {}
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """The process's variables with changes, for as long as it takes to start the JVM."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _no_session(master: str, problem: Exception, log: Path) -> str:
    said = log.read_text(errors="replace")
    return f"Spark does not start on {master}: {reason_in(said or str(problem))}"
