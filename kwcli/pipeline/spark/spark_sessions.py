"""A master's address in, a Spark session out that runs the pipeline as it is: Java found, settings made, kw shipped."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import logging
import os
import py_compile
import re
import signal
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Final

from kwcli import VERSION
from kwcli.pip_extras import pip_command_for_extra
from kwcli.pipeline.spark.explain_failures import extract_reason
from kwcli.pipeline.spark.find_java import find_java, make_java_home
from kwcli.private_files import ScratchFolder
from kwcli.run_environment import Failure
from kwcli.user_folders import own_folder

if TYPE_CHECKING:
    from types import FrameType

    from pyspark.sql import SparkSession

    from kwcli.run_environment import Environment

__all__ = ["LEAN", "make_program_zip", "make_scratch_folder", "open_own_session", "prepare", "session"]

PACKAGES: Final = ("decoders", "kwcli")
# Folders that are no part of the running program.
_LEFT_OUT: Final = ("__pycache__", "playground", "tui")
# A date that zip can write; the same contents are the same file.
_DATE: Final = (1980, 1, 1, 0, 0, 0)


def make_program_zip(variables: Mapping[str, str], spare: Path) -> Path:
    """The zip file of kw's modules, made if it is not there yet: in the cache, or else in `spare`."""
    files = sorted(_list_program_files())
    digest = hashlib.sha256(sys.version.encode())
    for name, path in files:
        digest.update(name.encode() + b"\0" + path.read_bytes())
    name = f"kw-{VERSION}-{digest.hexdigest()[:16]}.zip"
    folder = own_folder("cache", variables) / "shipped"
    target = folder / name
    if target.is_file():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_zip(target, files)
    except OSError:
        target = spare / name
        _write_zip(target, files)
    return target


def _list_program_files() -> Iterator[tuple[str, Path]]:
    """Name in the zip and path of each file of the program."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(package)
        top = Path(spec.origin).parent
        for folder, below, names in os.walk(top):
            below[:] = [name for name in below if name not in _LEFT_OUT]
            place = Path(package, Path(folder).relative_to(top))
            for name in names:
                if not name.endswith((".pyc", ".pyo")):
                    yield (place / name).as_posix(), Path(folder, name)


def _write_zip(target: Path, files: list[tuple[str, Path]]) -> None:
    """Write the zip file under another name, then rename it: other processes find it whole or not at all."""
    with TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
        made = Path(folder, target.name)
        compiled = Path(folder, "module.pyc")
        with zipfile.ZipFile(made, "w") as out:
            for name, path in files:
                _add_to_zip(out, name, path.read_bytes())
                if name.endswith(".py"):
                    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
                    py_compile.compile(os.fspath(path), os.fspath(compiled), name, True, invalidation_mode=mode)
                    _add_to_zip(out, name + "c", compiled.read_bytes())
        os.replace(made, target)


def _add_to_zip(out: zipfile.ZipFile, name: str, data: bytes) -> None:
    out.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED, 1)


# A task that fails is tried again, locally too (Spark itself gives up at once there).
LOCAL_TRIES: Final = 4
# Local masters without a number of tries, and the number of threads where it is given.
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
    # Arrow's own allocator keeps the memory that it once had: a fifth of a worker's memory.
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

    Python workers run the interpreter that PYSPARK_PYTHON names, or this one; `conf` overrides our own settings.
    Without `source` the session does not know the data source, for which Spark starts a Python process of its own.
    """
    variables = os.environ if variables is None else variables
    if find_spec("pyspark") is None:
        raise Failure(f"Spark is not installed: {pip_command_for_extra('spark')}")
    from pyspark.sql import SparkSession

    _await_stops()
    folder = make_scratch_folder()
    builder = SparkSession.builder.master(_format_master_url(master)).appName("kw")
    for name, value in {**CONF, **_choose_local_settings(master), **(conf or {})}.items():
        builder = builder.config(name, value)
    log = folder / "log"
    log.touch()
    java_home = make_java_home(folder / "java", find_java(variables), Path("/dev/stderr") if debug else log)
    surroundings = {
        "JAVA_HOME": os.fspath(java_home),
        "PYSPARK_PYTHON": variables.get("PYSPARK_PYTHON") or sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if _OWN_MACHINE.match(master):
        surroundings["SPARK_LOCAL_IP"] = "127.0.0.1"
    with _changed_environment(surroundings):
        try:
            spark = builder.getOrCreate()
        except Exception as problem:
            raise Failure(_explain_no_session(master, problem, log)) from problem
    prepare(spark, variables=variables, spare=folder, source=source)
    return spark


def register(spark: SparkSession) -> None:
    """Make the data source `kafka_wire` known to a session that somebody else made, and kw to its workers."""
    prepare(spark)


def prepare(
    spark: SparkSession,
    *,
    variables: Mapping[str, str] | None = None,
    spare: Path | None = None,
    source: bool = True,
) -> None:
    """Make the data source `kafka_wire` known to a session, and the program to its workers."""
    if spare is None:
        spare = make_scratch_folder()
    archive = make_program_zip(os.environ if variables is None else variables, spare)
    spark.addArtifacts(os.fspath(archive), pyfile=True)
    if source:
        from kwcli.pipeline.spark.data_source import KafkaWire

        spark.dataSource.register(KafkaWire)


def make_scratch_folder() -> Path:
    """A folder that goes with this process."""
    folder = ScratchFolder("kw-spark-")
    atexit.register(folder.delete_folder)
    return Path(folder.name)


def _format_master_url(master: str) -> str:
    local = _LOCAL.fullmatch(master)
    return f"local[{local[1] or 1},{LOCAL_TRIES}]" if local else master


def _choose_local_settings(master: str) -> dict[str, str]:
    """Settings for a master on this machine: the driver listens on the loopback address only."""
    if not _OWN_MACHINE.match(master):
        return {}
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def _changed_environment(changes: Mapping[str, str]) -> Iterator[None]:
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


_stopping: list[Thread] = []  # threads that end sessions, in programs that go on


def _await_stops() -> None:
    """Wait until the sessions that are ending have ended: Spark would give one of them to whoever asks for another."""
    while _stopping:
        _stopping.pop().join()


def _explain_no_session(master: str, problem: Exception, log: Path) -> str:
    said = log.read_text(errors="replace")
    return f"Spark does not start on {master}: {extract_reason(said or str(problem))}"


# A session for the time of one command, which ends without printing anything

# For jobs whose JVM only hands on bytes: compiling in the background takes longer than it saves, and on a machine of
# few cores it takes time that the workers lack (`python -m tests.bench.pipeline`).
LEAN: Final[dict[str, str]] = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


# Seconds that a session takes to end when nothing disturbs it.
STOP_S: Final = 0.3


@contextmanager
def open_own_session(master: str, env: Environment, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session that ends with the context; a session that was there before stays. Failure says why there is none."""
    _await_stops()
    before = _is_session_running()
    with _disable_logging(env):
        Thread(target=_import_modules_early, daemon=True).start()
        with _delay_interrupt():
            spark = session(master, conf=conf, variables=env.variables, debug=env.debug, source=False)
        try:
            yield spark
        finally:
            if not before:
                _stop_session(spark)


def _is_session_running() -> bool:
    """Whether this program has a session already; it may be active in another thread only."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        SparkSession.active()
    except PySparkRuntimeError:
        return False
    return True


def _stop_session(spark: SparkSession) -> None:
    """End a session; where its JVM has ended already, there is nothing left to do.

    PySpark would also wait up to a second for a thread of its own, which ends with the program anyway.
    """

    def stop() -> None:
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            spark.stop()

    thread = Thread(target=stop, daemon=True)
    _stopping.append(thread)
    thread.start()
    thread.join(STOP_S)


def _import_modules_early() -> None:
    """Import the other modules that a job needs, while the JVM starts."""
    with suppress(ImportError):  # the code that needs it reports it
        for name in ("pandas", "pyarrow", "pyspark.sql.functions", "pyspark.sql.pandas.types"):
            import_module(name)


@contextmanager
def _disable_logging(env: Environment) -> Iterator[None]:
    """Disable logging: after Ctrl-C, PySpark logs its lost connection to the JVM with tracebacks."""
    before = logging.root.manager.disable
    if not env.debug:
        logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _delay_interrupt() -> Iterator[None]:
    """Delay an interrupt until the JVM has started, which would else be left running. A second one is not delayed."""
    came: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        del frame
        if came:
            raise KeyboardInterrupt
        came.append(number)

    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is wait:  # else PySpark has its own now
                signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
