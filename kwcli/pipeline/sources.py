"""Words of the command line in, the captures that they stand for out: paths, patterns, folders, URLs; capture points.

A file's fingerprint is the SHA-256 of its path or URL, its size, its time of change (a store's ETag, where there is
one), and its first and last 64 KiB. Captures are written at their end, so a capture that went on has another size and
another end; what was copied over it has another time or another beginning. Its path is in it, since the same bytes
found at another place are another source: they were captured there, or somebody wants them twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.exits import Exit, Failure
from kwcli.inputs import CAPTURE_MAGICS, CaptureSource, InputProblem
from kwcli.pipeline.access import open_place, places
from kwcli.pipeline.pieces import Problem, told
from kwcli.render.units import counted

if TYPE_CHECKING:
    from kwcli.pipeline.access import FoundFile, Ranges

__all__ = ["FoundCaptures", "SourceFile", "find", "streamed"]

_ENDS_SIZE: Final = 64 << 10
# Names of captures, those of tcpdump -C and -W among them.
_NAMED_CAPTURE: Final = re.compile(r"\.(pcap|pcapng|cap)\d*(\.(gz|zst|lz4))?$", re.IGNORECASE)


class SourceFile(NamedTuple):
    """One capture of a capture point: its absolute path or URL, bytes and fingerprint; `name` as the user called it."""

    point: str
    path: str
    size: int
    fingerprint: str
    name: str


class FoundCaptures(NamedTuple):
    """The files in the order of the words, what could not be had, and what is worth a line."""

    files: list[SourceFile]
    problems: list[Problem]
    notes: list[str]


def find(words: Iterable[str], points: Iterable[tuple[str, str]] = ()) -> FoundCaptures:
    """The captures of `words`, of the point "", and of the named points (name, path or pattern); each file once.

    A file of the words that is also one of a named point belongs to that. Of the files of a folder or a pattern those
    that are no captures are passed over, but for those named as if they were: of them something is wrong. Raises
    Failure where nothing can be asked (an unknown kind of URL, a package that is missing) and where a file would belong
    to two named points; whatever else is wrong with one word is a problem of that, and the others go on.
    """
    found: dict[tuple[object, ...], SourceFile] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for point, word in [("", word) for word in words] + list(points):
        passed: set[tuple[object, ...]] = set()
        for place, listed in _places(word):
            if isinstance(place, Problem):
                problems.append(place)
                continue
            try:
                if listed and (not place.size or not _NAMED_CAPTURE.search(place.name)) and not _is_capture(place):
                    passed.add(place.identity)
                else:
                    _keep(found, place, point)
            except InputProblem as problem:
                problems.append(told(place.name, problem))
        if passed:
            notes.append(f"{word}: {counted(len(passed), 'file')} passed over: no capture")
    return FoundCaptures(list(found.values()), problems, notes)


def _places(word: str) -> Iterator[tuple[FoundFile | Problem, bool]]:
    try:
        yield from places(word)
    except InputProblem as problem:
        yield told(word, problem), False


def _keep(found: dict[tuple[object, ...], SourceFile], place: FoundFile, point: str) -> None:
    known = found.get(place.identity)
    if known is None:
        found[place.identity] = SourceFile(point, place.path, place.size, _fingerprint(place), place.name)
    elif not known.point:
        found[place.identity] = known._replace(point=point)
    elif point not in ("", known.point):
        raise Failure(f"{place.name} belongs to two capture points: {known.point} and {point}", Exit.USAGE)


def _fingerprint(place: FoundFile) -> str:
    digest = hashlib.sha256(json.dumps([place.path, place.size, place.stamp]).encode())
    with open_place(place.path, place.name) as file:
        head = file.read(0, min(place.size, _ENDS_SIZE))
        digest.update(head)
        digest.update(file.read(max(place.size - _ENDS_SIZE, len(head)), _ENDS_SIZE))
    return digest.hexdigest()


def _is_capture(place: FoundFile) -> bool:
    """Whether it begins as one, decompressed where need be; a file that cannot be read is a problem."""
    with open_place(place.path, place.name) as file:
        if file.read(0, 4) in CAPTURE_MAGICS:
            return True
        try:
            return next(streamed(file, place.name).pieces(), b"")[:4] in CAPTURE_MAGICS
        except InputProblem:
            return False


def streamed(file: Ranges, name: str, size: int | None = None) -> CaptureSource:
    """The first `size` bytes of a file as an input like any other, which is decompressed where it is compressed."""
    at = 0

    def read(count: int) -> bytes:
        nonlocal at
        data = file.read(at, count if size is None else min(count, size - at))
        at += len(data)
        return data

    return CaptureSource(name, read)
