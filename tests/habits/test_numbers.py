"""Each number of the sources that stands under a name of its own is as numbers.txt has it: limits, times, borders.

A mutant of such a number is often seen by no other test: a thousand of a thing more or less is no other answer. Whoever
means to change one writes the list again, `python -m tests.habits.test_numbers`, and sees it in `git diff`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from tests.mutants.__main__ import sources

FILE: Final = Path(__file__).with_name("numbers.txt")


def is_of_numbers(value: object) -> bool:
    """Whether a value is a number, or holds nothing but numbers, truths and words."""
    if isinstance(value, dict):
        return any(map(is_of_numbers, value.values())) and all(map(is_simple, [*value, *value.values()]))
    if isinstance(value, tuple | frozenset):
        return any(map(is_of_numbers, value)) and all(map(is_simple, value))
    return isinstance(value, int | float)


def is_simple(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(is_simple, value))
    return isinstance(value, int | float | str | bytes | None)


def write_value(value: object) -> str:
    return repr(sorted(value, key=repr)) if isinstance(value, frozenset) else repr(value)


def list_numbers() -> Iterator[tuple[str, str]]:
    """Module and name, and the value, of each."""
    for path in sources(""):
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if name.endswith("__main__"):
            continue
        try:
            module: ModuleType = importlib.import_module(name)
        except ImportError:
            continue  # of a library that is not installed
        text = Path(path).read_text()
        for key, value in vars(module).items():
            own = f"\n{key}: Final" in text or f"\n{key} = " in text
            if own and key.lstrip("_").isupper() and is_of_numbers(value) and len(write_value(value)) < 400:
                yield f"{name}.{key}", write_value(value)


@pytest.mark.long  # it imports all modules
@pytest.mark.plain
def test_each_number_is_as_it_is_listed() -> None:
    """A number that is new, or gone, is not looked for."""
    now = dict(list_numbers())
    listed = dict(line.split(" = ", 1) for line in FILE.read_text().splitlines())
    assert len(now.keys() & listed.keys()) > 0.9 * len(listed)
    assert {name: now[name] for name in listed if name in now} == {name: listed[name] for name in listed if name in now}


if __name__ == "__main__":
    FILE.write_text("".join(f"{name} = {value}\n" for name, value in list_numbers()))
