"""Words of the command line in, checked values out: the types of options that only `kw pipeline` takes."""

from __future__ import annotations

import re
from typing import Final

from kwcli.option_types import JOBS_MAX, ParsedWord

__all__ = ["KeepDays", "Point", "SparkMaster", "TableNames"]

_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:-]{0,99}", re.ASCII)

_THREADS: Final = re.compile(r"local\[\s*(\d{1,9})")
_DAYS: Final = re.compile(r"([1-9]\d{0,4})\s*d?")


class Point(ParsedWord[tuple[str, str]]):
    """`broker1=captures/b1-*.pcap`: a capture point's name and where its captures are."""

    name = "point"

    def parse_word(self, value: str) -> tuple[str, str]:
        name, equals, place = value.partition("=")
        if not equals or not place or not _NAME.fullmatch(name):
            raise ValueError(f"{value!r} is no capture point (write broker1=captures/b1-*.pcap)")
        return name, place


class SparkMaster(ParsedWord[str]):
    """`local[2]`, `spark://head:7077`: a Spark, which starts at most JOBS_MAX threads where it is on this machine."""

    name = "master"

    def parse_word(self, value: str) -> str:
        threads = _THREADS.match(value)
        if threads is not None and int(threads[1]) > JOBS_MAX:
            raise ValueError(f"{value!r}: at most {JOBS_MAX} threads")
        return value


class TableNames(ParsedWord[tuple[str, ...]]):
    """`exchanges,connections`: a tuple of names of tables, each once, in the order in which they are known."""

    name = "tables"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def parse_word(self, value: str) -> tuple[str, ...]:
        words = {word.strip() for word in value.split(",")}
        for word in sorted(words):
            if word not in self.known:
                raise ValueError(f"{word!r} is no table (they are {', '.join(self.known)})")
        return tuple(name for name in self.known if name in words)


class KeepDays(ParsedWord[int]):
    """`30d`: a number of days."""

    name = "days"

    def parse_word(self, value: str) -> int:
        match = _DAYS.fullmatch(value.strip())
        if match is None:
            raise ValueError(f"{value!r} is no number of days (write 30d)")
        return int(match[1])
