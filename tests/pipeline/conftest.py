"""One Spark session for all tests of a process, since it takes seconds to start; it ends with the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than the few rows do
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two threads of this process's JVM."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from kwcli.pipeline.spark.find_java import find_java
    from kwcli.pipeline.spark.spark_sessions import session

    try:
        find_java(os.environ)
    except Failure as failure:
        pytest.skip(failure.text)
    made = session("local[2]", conf=SMALL)
    yield made
    made.stop()
