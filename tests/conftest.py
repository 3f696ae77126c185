"""Rules for the whole suite: examples and order are the same in every run, tests that take long to start come first,
of some tests only a sample of rows runs by default, and with CI=true a skipped test is a failed one.

`--skipped-to FILE` writes the names of skipped tests to a file, and `--only-of FILE` runs those of such a file alone: a
machine that lacks programs runs the first, and once they are installed the second.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

from kwcli.reference.kw_version import is_compiled

# A slow machine does not make an example fail. `--hypothesis-profile random` draws other examples.
hypothesis.settings.register_profile(
    "same",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "random", hypothesis.settings.get_profile("same"), derandomize=False, max_examples=200
)
hypothesis.settings.load_profile("same")

# Hundreds of tests start `kw`: its modules are compiled once, whatever the environment says of byte code.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Programs that tests start write as they do for users, in blocks where the output is no terminal.
os.environ.pop("PYTHONUNBUFFERED", None)

# Tests run in the background inherit that SIGINT is ignored, and so would each program that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Rows of each test with the mark `one_in` that were collected so far.
ROWS: Counter[str] = Counter()

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Thin out the rows of a test that is marked `one_in(n)`: the first and each n-th stay as they are.

    Of the others each sixth is `long` and the rest `full`; those of a test that is `long` itself are all `full`.
    """
    mark = item.get_closest_marker("one_in")
    if mark is None or item.get_closest_marker("full"):
        return
    test, every = item.nodeid.partition("[")[0], mark.args[0]
    row = ROWS[test]
    ROWS[test] += 1
    if row % every:
        others = row - row // every - 1
        item.add_marker("full" if item.get_closest_marker("long") or others % 6 else "long")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that the module's docstring explains."""
    parser.addoption("--skipped-to", metavar="FILE", help="Write the names of skipped tests to FILE.")
    parser.addoption("--only-of", metavar="FILE", help="Run only the tests whose names are in FILE.")


def pytest_configure(config: pytest.Config) -> None:
    """Note skipped tests, in the process that hears of all of them."""
    path = config.getoption("--skipped-to")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkippedTests(Path(path)))


class SkippedTests:
    """Writes the names of skipped tests to a file, one a line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the name of a skipped test."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self._names.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the names."""
        self._path.write_text("".join(f"{name}\n" for name in sorted(self._names)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files that start brokers or JVMs, so that no worker waits for one of them at the end.

    With compiled code, tests that need plain code (the mark `plain`) are left out.
    """
    if path := config.getoption("--only-of"):
        names = set(Path(path).read_text().splitlines())
        items[:] = [item for item in items if item.nodeid in names]
    if is_compiled():
        items[:] = [item for item in items if item.get_closest_marker("plain") is None]
    dear = {item.path for item in items if _starts_java(item)}
    items.sort(key=lambda item: item.path not in dear)


def pytest_collection() -> None:
    """Disable garbage collection while tests are collected: thousands of objects are made that stay to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Freeze the collected tests, and enable garbage collection again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def _starts_java(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return "spark" in fixtures or any(item.iter_markers("broker")) or any(item.iter_markers("oracle"))


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
    """Turn the skip of a whole module (`pytest.importorskip`) into a failure when CI=true."""
    report = yield
    if IN_CI and report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, which CI=true does not allow: {report.longrepr}"
    return report
