"""What a Spark job raised in, the one line that says what was wrong out."""

from __future__ import annotations

import re
from typing import Final

from kwcli.exits import Failure

__all__ = ["failure_of", "reason_in"]

# The last line of a worker's traceback, where the failure is one of ours: its text is what a user is told.
_OURS: Final = re.compile(r"^kwcli\.[\w.]+\.(?:Failure|InputProblem): (.+)$", re.MULTILINE)
_RAISED: Final = re.compile(
    r"^(?:Caused by: |Exception in thread \S+ )?([A-Za-z_][\w.$]*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE
)
_CAUSES: Final = (
    (re.compile(r"No space left on device", re.IGNORECASE), "no space left on a disk that Spark writes to"),
    (re.compile(r"OutOfMemoryError"), "the JVM ran out of memory: give it more with spark.driver.memory"),
    (
        re.compile(r"Python worker exited unexpectedly"),
        "a Python worker ended again and again (killed, or out of memory?)",
    ),
    (re.compile(r"ExecutorLostFailure"), "an executor was lost again and again"),
    (re.compile(r"PYTHON_VERSION_MISMATCH"), "the workers run another Python version: set PYSPARK_PYTHON"),
    (re.compile(r"All masters are unresponsive|Connection refused"), "the master does not answer"),
    (re.compile(r"Could not parse Master URL|Master must either be|Invalid master URL"), "that is no master of Spark"),
)


def failure_of(problem: BaseException) -> Failure:
    """One line for what a job raised; the whole of it stays with the exception's cause."""
    text = str(problem)
    ours = _OURS.findall(text)
    return Failure(ours[-1].strip() if ours else f"Spark: {reason_in(text)}")


def reason_in(text: str) -> str:
    """What an exception's text, or a log, says in many lines, in a few words."""
    for pattern, said in _CAUSES:
        if pattern.search(text):
            return said
    raised = _RAISED.findall(text)
    if raised:
        kind, said = raised[-1]
        return f"{kind.rpartition('.')[2]}: {said.strip():.300}"
    return f"{text.strip().partition(chr(10))[0]:.300}"
