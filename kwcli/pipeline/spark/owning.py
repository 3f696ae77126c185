"""A master's address in, a Spark session for as long as one command needs it out, which ends without a word."""

from __future__ import annotations

import logging
import signal
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Final

from kwcli.pipeline.spark.session import session

if TYPE_CHECKING:
    from types import FrameType

    from pyspark.sql import SparkSession

    from kwcli.env import Environment

__all__ = ["LEAN", "owned"]

# For jobs whose JVM only hands on bytes: what it compiles in the background takes longer than what that saves, and on
# a machine of few cores is time that the workers lack (`python -m tests.bench.pipeline`).
LEAN: Final[dict[str, str]] = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


# As long as a session takes to end that nobody disturbs.
STOP_S: Final = 0.3
_stopping: list[Thread] = []  # threads that end sessions, in programs that go on


@contextmanager
def owned(master: str, env: Environment, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session; one that was there before stays. Failure says why there is none."""
    from pyspark.sql import SparkSession

    while _stopping:
        _stopping.pop().join()
    before = SparkSession.getActiveSession()
    with _silent(env):
        Thread(target=_import_early, daemon=True).start()
        with _undisturbed():
            spark = session(master, conf=conf, variables=env.variables, debug=env.debug, source=False)
        try:
            yield spark
        finally:
            if before is None:
                _stop(spark)


def _stop(spark: SparkSession) -> None:
    """End a session; where its JVM was ended by somebody else, there is nothing left to do.

    PySpark waits up to a second for a thread of its own besides, which ends with the program.
    """

    def stop() -> None:
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            spark.stop()

    thread = Thread(target=stop, daemon=True)
    _stopping.append(thread)
    thread.start()
    thread.join(STOP_S)


def _import_early() -> None:
    """What a job needs besides, while the JVM starts."""
    with suppress(ImportError):  # who needs it says so
        for name in ("pandas", "pyarrow", "pyspark.sql.functions", "pyspark.sql.pandas.types"):
            import_module(name)


@contextmanager
def _silent(env: Environment) -> Iterator[None]:
    """What PySpark logs of a connection to the JVM that ends, with tracebacks, is no news to who pressed Ctrl-C."""
    before = logging.root.manager.disable
    if not env.debug:
        logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """An interruption waits until the JVM has started: before, nobody knows it and it would stay. A second does not."""
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
