"""Spark's long error messages become one line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tests.pipeline.mishaps
from kwcli.pipeline.spark.explain_failures import extract_reason, make_failure_of_exception
from kwcli.pipeline.store.replace_folders_of_tables import open_store
from kwcli.run_environment import Failure
from tests.pipeline.jobs import job_of
from tests.pipeline.mishaps import ClumsyFiles
from tests.pipeline.odd import odd_capture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "kwcli/reading/read_captures_by_time.py", line 130, in _checked
    raise InputProblem(
{last}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            WORKER.format(last="kwcli.reading.read_captures_by_time.InputProblem: a.pcap: not a capture: empty"),
            "a.pcap: not a capture: empty",
        ),
        (WORKER.format(last="kwcli.run_environment.Failure: -f: no such field"), "-f: no such field"),
        (WORKER.format(last="ValueError: 7 is too many"), "Spark: ValueError: 7 is too many"),
        (WORKER.format(last="decoders.errors.Malformed: no such state"), "Spark: Malformed: no such state"),
        (WORKER.format(last="AssertionError"), "Spark: AssertionError"),
        (
            WORKER.format(last="KeyError: 3\n\nDuring handling of the above exception, another exception occurred:\n")
            + WORKER.format(last="decoders.errors.Truncated: cut off"),
            "Spark: Truncated: cut off",
        ),
        (
            WORKER.format(last="OSError: [Errno 28] No space left on device: '/x'"),
            "Spark: no space left on a disk that Spark writes to",
        ),
        (
            "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: "
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat org.apache...",
            "Spark: a Python worker ended again and again (killed, or out of memory?)",
        ),
        ("something else\nin two lines", "Spark: something else"),
    ],
)
def test_a_job_that_failed(text: str, said: str) -> None:
    assert make_failure_of_exception(RuntimeError(text)).text == said


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            'Using Spark\'s default log4j profile\nException in thread "main" org.apache.spark.SparkException: '
            "When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment.\n"
            "\tat org.apache.spark.deploy.SparkSubmitArguments.error(SparkSubmitArguments.scala:732)\n",
            "SparkException: When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in "
            "the environment.",
        ),
        (
            "26/11/21 23:36:54 ERROR SparkContext: Error initializing SparkContext.\n"
            "org.apache.spark.SparkException: Could not parse Master URL: 'bogus'\n\tat org.apache…",
            "that is no master of Spark",
        ),
        ("26/11/21 WARN: Connection refused: /127.0.0.1:1\n", "the master does not answer"),
    ],
)
def test_a_session_that_does_not_start(log: str, said: str) -> None:
    assert extract_reason(log) == said


@pytest.mark.long
@pytest.mark.parametrize("word", ["/pools/", "/exchanges/"], ids=["reading", "writing"])
def test_a_defect_in_a_worker_is_one_line_with_its_place(spark: SparkSession, tmp_path: Path, word: str) -> None:
    from pyspark import cloudpickle

    from kwcli.pipeline.spark.spark_engine import run_job

    path = tmp_path / os.fsdecode(b"od\xffd.pcap")
    path.write_bytes(odd_capture())
    job = job_of([str(path)], size=8000, ports=frozenset({9092}))
    cloudpickle.register_pickle_by_value(tests.pipeline.mishaps)  # type: ignore[no-untyped-call]  # it has no types
    try:
        with open_store(str(tmp_path / "out")) as store:
            staging = store.start_staging()
            staging.files = ClumsyFiles(staging.files.root, word)
            with pytest.raises(Failure) as failure:
                run_job(spark, job.spec, job.pending_plan, staging, partitions=2)
    finally:
        cloudpickle.unregister_pickle_by_value(tests.pipeline.mishaps)  # type: ignore[no-untyped-call]  # it has no types
    name = re.escape(f"{tmp_path}/od\\udcffd.pcap")
    where = rf"{name}: bytes [\d,]+ to [\d,]+ \(split \d\)"
    assert re.fullmatch(rf"{where}: defect: ValueError: clumsy with {word}", failure.value.text)
