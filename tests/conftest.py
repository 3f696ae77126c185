"""Rules for the whole suite: where CI says so, a test that was skipped has not passed."""

from __future__ import annotations

import os
from collections.abc import Generator

import hypothesis
import pytest

# A slow moment of the machine is no failure of an example.
hypothesis.settings.register_profile("kw", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("kw")

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure when CI=true: everything a test needs is installed there."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI=true does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole module (`pytest.importorskip`)."""
    report = yield
    if IN_CI and report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, which CI=true does not allow: {report.longrepr}"
    return report
