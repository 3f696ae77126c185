"""Words of the command line in, checked values out: the types of options that only `kw pipeline` takes."""

from __future__ import annotations

import re
from typing import Final

import click

from kwcli.option_types import JOBS_MAX

__all__ = ["KeepDays", "Point", "SparkMaster", "TableNames"]

_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:-]{0,99}", re.ASCII)

_THREADS: Final = re.compile(r"local\[\s*(\d{1,9})")
_DAYS: Final = re.compile(r"([1-9]\d{0,4})\s*d?")


class Point(click.ParamType[tuple[str, str]]):
    """`broker1=captures/b1-*.pcap`: a capture point's name and where its captures are."""

    name = "point"

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, place = value.partition("=")
        if not equals or not place or not _NAME.fullmatch(name):
            self.fail(f"{value!r} is no capture point (write broker1=captures/b1-*.pcap)", param, ctx)
        return name, place


class SparkMaster(click.ParamType[str]):
    """`local[2]`, `spark://head:7077`: a Spark, which starts at most JOBS_MAX threads where it is on this machine."""

    name = "master"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        threads = _THREADS.match(value)
        if threads is not None and int(threads[1]) > JOBS_MAX:
            self.fail(f"{value!r}: at most {JOBS_MAX} threads", param, ctx)
        return value


class TableNames(click.ParamType[tuple[str, ...]]):
    """`exchanges,connections`: a tuple of names of tables, each once, in the order in which they are known."""

    name = "tables"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        words = {word.strip() for word in value.split(",")}
        for word in sorted(words):
            if word not in self.known:
                self.fail(f"{word!r} is no table (they are {', '.join(self.known)})", param, ctx)
        return tuple(name for name in self.known if name in words)


class KeepDays(click.ParamType[int]):
    """`30d`: a number of days."""

    name = "days"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _DAYS.fullmatch(value.strip())
        if match is None:
            self.fail(f"{value!r} is no number of days (write 30d)", param, ctx)
        return int(match[1])
