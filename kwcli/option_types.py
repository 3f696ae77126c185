"""Words of the command line in, checked values out: the types of options that commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from decoders.wire.units import Moment

# Processes of --jobs, and threads of a Spark on this machine: more than the cores of any machine gain nothing, and a
# thousand times more leave no process for anybody else. (Not in decoders.limits, which --help would load.)
JOBS_MAX: Final = 256
# Bytes; a smaller file, or part of a file, would be little more than its header.
AMOUNT_LEAST: Final = 1000


class Duration(click.ParamType[float]):
    """`100ms`, `1.5s`, `2m`, `10` (seconds, as everywhere): milliseconds as a float."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        from decoders.wire.units import parse_duration

        try:
            return parse_duration(value.strip())
        except ValueError:
            self.fail(
                f"{value!r} is no duration (write 250us, 100ms, 1.5s or 2m; a bare number is seconds)", param, ctx
            )


class Seconds(Duration):
    """`10`, `10s`, `500ms`: seconds as a float, more than zero."""

    name = "seconds"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = super().convert(value, param, ctx) / 1000
        if not found:
            self.fail(f"{value!r} is no time (write 10, 10s or 500ms)", param, ctx)
        return found


class VersionWord(click.ParamType[str]):
    """`12`, `v12`, `latest`, `earliest`: a version as it is written; kwcli.spelling.find_version says which it is."""

    name = "version"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if "=" in value or value[:1] in ("@", "{"):
            self.fail(f"it is missing before {value}: write a number or latest", param, ctx)
        if not value.strip().lower().removeprefix("v").isdecimal() and not value.strip().isalpha():
            self.fail(f"{value!r} is no version (write 12, v12 or latest)", param, ctx)
        return value


class ByteSize(click.ParamType[int]):
    """`100MB`, `1GiB`: a number of bytes."""

    name = "amount"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        from decoders.wire.units import parse_size

        try:
            size = int(parse_size(value.strip()))
        except ValueError:
            self.fail(f"{value!r} is no amount of bytes (write 500kB, 100MB or 1GiB)", param, ctx)
        if size < AMOUNT_LEAST:
            self.fail(f"{value!r} is too little for a file", param, ctx)
        return size


class MetricsAddress(click.ParamType[tuple[str, int]]):
    """`9400`, `0.0.0.0:9400`: the (host, port) of metrics for Prometheus; 127.0.0.1 where no address is given."""

    name = "address"

    def convert(
        self, value: str | tuple[str, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if not isinstance(value, str):
            return value
        host, _, port = value.strip().rpartition(":")
        if not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536) or (":" in host and host[0] != "["):
            self.fail(f"{value!r} is no port between 1 and 65535, and none with an address before it", param, ctx)
        return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


class PortList(click.ParamType[tuple[int, ...]]):
    """`9092,9093`, `9092-9094`: a tuple of port numbers."""

    name = "ports"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        ports: list[int] = []
        for word in value.split(","):
            low, dash, high = word.strip().partition("-")
            ends = [low, high if dash else low]
            if not all(end.isascii() and end.isdecimal() and 0 < int(end) < 65536 for end in ends):
                self.fail(f"{word!r} is no port (write 9092, 9092,9093 or 9092-9094)", param, ctx)
            if int(ends[0]) > int(ends[1]):
                self.fail(f"{word!r} has no port in it: write {ends[1]}-{ends[0]}", param, ctx)
            ports += range(int(ends[0]), int(ends[1]) + 1)
        return tuple(ports)


class WordList(click.ParamType[tuple[str, ...]]):
    """`a,b`: a tuple of the words, none of them empty. Completion offers the `known` words; others are taken too."""

    name = "words"

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self.known = known

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        words = tuple(word.strip() for word in value.split(","))
        if not all(words):
            self.fail(f"{value!r} has an empty word in it", param, ctx)
        return words


class TimeWord(click.ParamType["Moment"]):
    """`2026-11-21T03:04:05Z`, `17:34`, `5m` before the end: a Moment, in UTC where no zone is given."""

    name = "time"

    def convert(self, value: str | Moment, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        if not isinstance(value, str):
            return value
        from decoders.wire.units import parse_moment

        try:
            return parse_moment(value)
        except ValueError:
            self.fail(f"{value!r} is no time (write 17:34, 2026-11-21T17:34:05Z, or 5m before the end)", param, ctx)


class RowCount(click.ParamType[int]):
    """A number of rows. tcpdump's -nn (no names) arrives as the value `n` of -n and is None: kw looks up no names."""

    name = "integer"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value == "n":
            return None  # type: ignore[return-value]  # as if the option were not there
        if not (value.isascii() and value.isdecimal() and int(value)):
            hint = "; names are never looked up, so leave tcpdump's -n out" if not value[:1].isdigit() else ""
            self.fail(f"{value!r} is no number of rows (write -n 10){hint}", param, ctx)
        return int(value)


class KnownWord(click.ParamType[str]):
    """One word. Completion offers the `known` words; others are taken too."""

    name = "word"

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self.known = known

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        return value.strip()
