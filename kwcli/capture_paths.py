"""Words of the command line in, paths out: a file, the files of a folder and of its folders, those of a pattern."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from kwcli.inflating import InputProblem

__all__ = [
    "FoundPath",
    "filter_hint",
    "is_named_capture",
    "is_named_records",
    "is_read_once",
    "is_tables",
    "list_paths",
]

# Names of captures, those of tcpdump -C and -W among them.
_NAMED_CAPTURE: Final = re.compile(r"\.(pcap|pcapng|cap)\d*(\.(gz|zst|lz4))?$", re.IGNORECASE)


_NAMED_RECORDS: Final = re.compile(r"\.(ndjson|jsonl)(\.(gz|zst|lz4))?$", re.IGNORECASE)


class FoundPath(NamedTuple):
    """A path as the user would write it. `listed`: a folder or a pattern has it, nobody named it.

    `error` is why what is under this path cannot be listed.
    """

    path: str
    listed: bool
    error: OSError | None = None


def is_named_capture(name: str) -> bool:
    """Whether a file is called as captures are; of such a one that is none something is wrong."""
    return _NAMED_CAPTURE.search(name) is not None


def is_named_records(name: str) -> bool:
    """Whether a file is called as records of kw are, one a line."""
    return _NAMED_RECORDS.search(name) is not None


def is_read_once(word: str) -> bool:
    """Whether it is standard input, a pipe or a device: nobody knows what it holds before it has been read."""
    return word == "-" or (os.path.exists(word) and not os.path.isfile(word) and not os.path.isdir(word))


# Signs that filters have and names of captures hardly.
_FILTER: Final = re.compile(r"[=<>~]|\s(and|or|like|in)\s")


def filter_hint(word: str) -> str:
    """` (did you mean -f 'x > 1'?)` of a word that is no file and reads like a filter."""
    return f" (did you mean -f '{word}'?)" if _FILTER.search(word) else ""


def list_paths(word: str, path: str | None = None) -> Iterator[FoundPath]:
    """The files that `path` stands for, which is the word unless it is said. Raises InputProblem where it is none.

    What exists under just this name is that, whatever characters it has; only else it is read as a pattern. A folder
    stands for the files in it and in its folders; names that begin with a dot are passed over there, and so are tables
    of kw, as a run leaves them that writes into the folder of its captures.
    """
    path = word if path is None else path
    pattern = not os.path.lexists(path) and glob.has_magic(path)
    found = sorted(glob.glob(path, recursive=True)) if pattern else [path]
    if not found:
        raise InputProblem(f"{word}: no such file{filter_hint(word)}")
    has_tables = cache(is_tables)
    for one in found:
        if pattern and any(map(has_tables, _folders_of(one))):
            continue
        if os.path.isdir(one):
            yield from _files(one)
        else:
            yield FoundPath(one, pattern)


def _files(folder: str) -> Iterator[FoundPath]:
    """What is in a folder and its folders; a folder that cannot be read is a problem."""
    problems: list[FoundPath] = []
    seen: set[str] = set()  # links may go round

    def note(error: OSError) -> None:
        problems.append(FoundPath(error.filename, True, error))

    for top, folders, files in os.walk(folder, onerror=note, followlinks=True):
        if (real := os.path.realpath(top)) in seen or is_tables(top):
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (FoundPath(os.path.join(top, name), True) for name in sorted(files) if not name.startswith("."))
    yield from problems


def is_tables(folder: str) -> bool:
    """Whether it has tables of `kw pipeline` (pipeline/store/store.py)."""
    return os.path.isfile(os.path.join(folder, "_kw", "kw.json"))


def _folders_of(path: str) -> Iterator[str]:
    """The folders that a path goes through, those of the pattern that found it among them."""
    while (above := os.path.dirname(path)) not in ("", path):
        path = above
        yield path
