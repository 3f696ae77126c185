"""The name of a capture that grows in; the names of the files that its writer goes on with, its ring, out.

| written by | names |
| --- | --- |
| tcpdump -C (-W) | dump.pcap, dump.pcap1, dump.pcap2; dump.pcap0 … dump.pcap9, and 0 again |
| tcpdump -G | dump-%Y%m%d-%H%M%S.pcap with the time filled in, with -C a number after it |
| dumpcap -b, kw --rotate-size | dump_00001_20260101120000.pcapng, or the time first |
| logrotate, tcpdump -G without a time | the same name, again and again |

Only what such writers change in a name may differ, so that broker2.pcap is not taken for the successor of broker1.pcap.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from decoders.named_tuple import NamedTuple

__all__ = ["RingNames", "WrittenRing", "find_ring"]

# What dumpcap puts before the extension: a number and a time, or a time and a number.
_COUNTED: Final = r"_(?:\d{5,}_\d{8,14}|\d{8,14}_\d{5,})"
_COUNTED_NAME: Final = re.compile(_COUNTED + r"(?=\.|$)")
# A date, with or without a time of day; a time of day or seconds since 1970 alone.
_TIME: Final = re.compile(
    r"(?:19|20)\d\d(?:[-_.]?\d\d){2}(?:[-_.T]?\d\d(?:[-_.:h]?\d\d){1,2})?|(?<!\d)(?:\d{10}|\d{6})(?!\d)"
)
_DIRECTIVE: Final = re.compile(r"%([A-Za-z%])")
# What strftime makes of a directive; all other directives match some text.
_DIRECTIVES: Final = {
    "Y": r"\d{4}",
    **dict.fromkeys("CdHIMmSUVWgy", r"\d\d"),
    "e": r"[ \d]\d",
    "j": r"\d{3}",
    "s": r"\d+",
    "F": r"\d{4}-\d\d-\d\d",
    "T": r"\d\d:\d\d:\d\d",
    "R": r"\d\d:\d\d",
    "z": r"[+-]\d{4}",
    "%": "%",
}


class RingNames(NamedTuple):
    """The files of a ring: those of `folder` whose name `matches`. `first`: the file to begin with, if one is named.

    `every` is true where no name says which captures belong together: then all captures of a folder do.
    """

    folder: str
    matches: Callable[[str], object]
    first: str | None = None
    every: bool = False

    def list_existing_paths(self) -> Iterator[str]:
        """The paths of files that are there now. Raises OSError where the folder cannot be listed."""
        with os.scandir(self.folder or ".") as entries:
            for entry in entries:
                if not entry.name.startswith(".") and self.matches(entry.name) and not entry.is_dir():
                    yield os.path.join(self.folder, entry.name)


def find_ring(word: str) -> RingNames:
    """The ring of a file, which need not exist yet, of a folder, of a pattern or of a name with %Y, %m or others."""
    if os.path.isdir(word):
        return RingNames(word, lambda _: True, every=True)
    folder, name = os.path.split(word)
    if not os.path.lexists(word):
        if glob.has_magic(name):
            return RingNames(folder, re.compile(_translate_pattern(name)).match)
        if _DIRECTIVE.search(name):
            return RingNames(folder, re.compile(_strftime_pattern(name)).fullmatch)
    return RingNames(folder, re.compile(_successor_pattern(name)).fullmatch, word)


def _translate_pattern(pattern: str) -> str:
    import fnmatch

    return fnmatch.translate(pattern)


def _strftime_pattern(name: str) -> str:
    """The pattern of names that strftime makes of this one, with the number of -C after it."""
    out, at = [], 0
    for found in _DIRECTIVE.finditer(name):
        out += [re.escape(name[at : found.start()]), _DIRECTIVES.get(found[1], ".+?")]
        at = found.end()
    return "".join(out) + re.escape(name[at:]) + r"\d*"


def _successor_pattern(name: str) -> str:
    """The pattern of names that a writer of this one goes on with."""
    if found := _COUNTED_NAME.search(name):
        return re.escape(name[: found.start()]) + f"(?:{_COUNTED})?" + re.escape(name[found.end() :])
    out, at = [], 0
    for found in _TIME.finditer(name):
        out += [re.escape(name[at : found.start()]), re.sub(r"\d", r"\\d", re.escape(found[0]))]
        at = found.end()
    rest = name[at:]
    if not out or rest:
        out.append(re.escape(rest.rstrip("0123456789")))
    if at:
        return "".join(out) + r"\d*"
    stem, extension = os.path.splitext(name)
    return f"{out[0]}\\d*|{re.escape(stem)}{_COUNTED}{re.escape(extension)}"


class WrittenRing:
    """The names of a ring that is written: STEM_00001_20260101120000.EXT, numbered on after the existing ones."""

    def __init__(self, name: str) -> None:
        self.folder, last = os.path.split(name)
        self._stem, self._extension = os.path.splitext(last)
        self._pattern = re.compile(f"{re.escape(self._stem)}_(\\d{{5,}})_\\d{{14}}{re.escape(self._extension)}")
        self._number = max((number for number, _ in self._list_numbered_files()), default=0)

    def make_next_path(self, now_ns: int) -> str:
        """The path of the next file, begun at this time (UTC)."""
        self._number += 1
        begun = datetime.fromtimestamp(now_ns // 10**9, UTC).strftime("%Y%m%d%H%M%S")
        return os.path.join(self.folder, f"{self._stem}_{self._number:05}_{begun}{self._extension}")

    def list_paths_to_delete(self, keep: int) -> list[str]:
        """The paths of existing files of the ring beyond the latest `keep`, oldest first."""
        listed = sorted(self._list_numbered_files())
        return [os.path.join(self.folder, name) for _, name in listed[: max(len(listed) - keep, 0)]]

    def _list_numbered_files(self) -> list[tuple[int, str]]:
        try:
            names = os.listdir(self.folder or ".")
        except OSError:  # reported when a file is to be made in it
            return []
        return [(int(found[1]), name) for name in names if (found := self._pattern.fullmatch(name))]
