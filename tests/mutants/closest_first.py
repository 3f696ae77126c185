"""A plugin of pytest (`-p tests.mutants.closest_first`): runs the tests that the file KW_TESTS names, in its order.

The tests of one file stay together, so that what they share is made once.
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
    kept = [item for item in items if item.nodeid in places]
    items[:] = sorted(kept, key=lambda item: (files[item.nodeid.partition("::")[0]], places[item.nodeid]))
