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
from zlib import crc32

import pytest

from tests.mutants.__main__ import sources

FILE: Final = Path(__file__).with_name("numbers.txt")


# The clock of a run has another one each time.
OF_THE_RUN: Final = frozenset({"_EPOCH_NS"})
# A longer value is listed as the checksum of its text.
LONGEST: Final = 300


def is_of_numbers(value: object) -> bool:
    """Whether a value is a number, or a table from or to numbers of plain values."""
    if isinstance(value, dict):
        return all(map(is_plain, [*value, *value.values()])) and (
            any(map(is_of_numbers, value.values())) or any(isinstance(key, int) for key in value)
        )
    if isinstance(value, tuple | frozenset | list):
        return any(map(is_of_numbers, value)) and all(map(is_plain, value))
    return isinstance(value, int | float)


def is_plain(value: object) -> bool:
    """Whether a value is a number or a text, or holds nothing else."""
    if isinstance(value, dict):
        return all(map(is_plain, [*value, *value.values()]))
    if isinstance(value, tuple | frozenset | list):
        return all(map(is_plain, value))
    return isinstance(value, int | float | str | bytes | None)


def write_value(value: object) -> str:
    """The text of a value, the same in each run."""
    if isinstance(value, dict):
        items = sorted(f"{write_value(key)}: {write_value(each)}" for key, each in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(write_value, value)))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(write_value, value))})"
    return repr(value)


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
            if own and key.lstrip("_").isupper() and key not in OF_THE_RUN and is_of_numbers(value):
                said = write_value(value)
                yield f"{name}.{key}", said if len(said) <= LONGEST else f"{len(value)} of {crc32(said.encode()):08x}"


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
