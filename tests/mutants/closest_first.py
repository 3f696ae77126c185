"""A plugin of pytest (`-p tests.mutants.closest_first`): runs the tests that the file KW_TESTS names, in its order.

A name may be that of a whole file. The tests of one file stay together, so that what they share is made once. No test
begins after KW_SECONDS of the processor's time.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Keep the tests that are named, by their files and their order."""
    yield
    names = Path(os.environ["KW_TESTS"]).read_text().splitlines()
    places = {name: place for place, name in enumerate(names)}
    files: dict[str, int] = {}
    for name in names:
        files.setdefault(name.partition("::")[0], len(files))
    by_place = []
    for item in items:
        file = item.nodeid.partition("::")[0]
        place = places.get(item.nodeid, places.get(file))
        if place is not None:
            by_place.append((files[file], place, item))
    items[:] = [item for _, _, item in sorted(by_place, key=lambda each: each[:2])]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol() -> bool | None:
    """Leave a test out where the time is over."""
    return True if sum(os.times()[:4]) > float(os.environ["KW_SECONDS"]) else None
