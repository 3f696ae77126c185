"""The exception of a Spark job in, the one line that says what was wrong out.

A worker adds the place in the captures itself (`turn_errors_into_failures`): Spark knows of stages and tasks, and
nothing of captures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.pipeline.read.split_and_file_range import Split

__all__ = ["describe_split_place", "extract_reason", "make_failure_of_exception", "turn_errors_into_failures"]

# The last line of a worker's traceback, where it is a failure of kw: its text is what the user reads.
_OURS: Final = re.compile(r"^kwcli\.[\w.]+\.(?:Failure|InputProblem): (.+)$", re.MULTILINE)
_RAISED: Final = re.compile(
    r"^(?:Caused by: |Exception in thread \S+ )?([A-Za-z_][\w.$]*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE
)
# The last line of a traceback: the exception, of whatever class.
_TRACED: Final = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+([A-Za-z_].*)$", re.MULTILINE)
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


def make_failure_of_exception(problem: BaseException) -> Failure:
    """A Failure of one line for the exception of a job; raised `from` that exception, nothing of it is lost."""
    text = str(problem)
    ours = _OURS.findall(text)
    return Failure(ours[-1].strip() if ours else f"Spark: {extract_reason(text)}")


def extract_reason(text: str) -> str:
    """The reason that an exception's text, or a log, gives in many lines, in a few words."""
    for pattern, said in _CAUSES:
        if pattern.search(text):
            return said
    traced = _TRACED.findall(text)
    raised = [traced[-1].partition(": ")[::2]] if traced else _RAISED.findall(text)
    if raised:
        kind, said = raised[-1]
        return f"{kind.rpartition('.')[2]}: {said.strip():.300}".removesuffix(": ")
    return f"{text.strip().partition(chr(10))[0]:.300}"


@contextmanager
def turn_errors_into_failures(place: Callable[[], str]) -> Iterator[None]:
    """For the body of a task: an exception in it becomes a Failure of one line, with the place the task was at.

    A Failure keeps its text, and an OSError passes: `os_errors_as_failures` makes a line of it.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as problem:
        if isinstance(problem, Failure):
            text = problem.text
        else:
            text = f"{place()}: defect: {type(problem).__name__}: {' '.join(str(problem).split()):.300}"
        if escape_non_utf8(f"{text}{problem}") != f"{text}{problem}":  # Spark takes no traceback that is not UTF-8
            raise Failure(escape_non_utf8(text)) from None
        if isinstance(problem, Failure):
            raise
        raise Failure(text.removesuffix(": ")) from problem


def describe_split_place(split: Split) -> str:
    """Where a split is: `orders.pcap: bytes 1,000 to 2,000 (split 2)`, of the first file where it has several."""
    first, *others = split.pieces
    point = f" of {split.point}" if split.point else ""
    more = f" and {len(others):,} more" if others else ""
    return f"{first.name}: bytes {first.begin:,} to {first.end:,}{more} (split {split.ord + 1:,}{point})"
