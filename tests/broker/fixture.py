"""Pytest fixtures of clusters: `needs_brokers` marks a test that starts one, `cluster` is one for a whole module.

Without Java, Maven or tcpdump such tests are skipped with the reason (CI=true makes that an error).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.broker.cluster import Cluster
from tests.broker.jars import explain_missing_tools
from tests.broker.options import Options
from tests.broker.recorder import cannot_record

__all__ = ["cluster", "needs_brokers", "needs_program"]

_LACKING = explain_missing_tools() or cannot_record()

needs_brokers = pytest.mark.skipif(_LACKING is not None, reason=_LACKING or "")


def needs_program(name: str) -> pytest.MarkDecorator:
    """A mark that skips a test if a program (go, node) is not installed."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name} on the PATH")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One 4.3.1 node with a plain listener, stopped after the module's last test."""
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    with Cluster(Options(class_archive=True)) as started:
        yield started
