"""Words of the command line in, checked values out: the types of options that commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from decoders.wire.parse_units import Moment

# Processes of --jobs, and threads of a Spark on this machine: more than the cores of any machine gain nothing, and a
# thousand times more leave no process for anybody else. (Not in decoders.limits, which --help would load.)
JOBS_MAX: Final = 256
# Bytes; a smaller file, or part of a file, would be little more than its header.
AMOUNT_LEAST: Final = 1000

Value = TypeVar("Value")


class ParsedWord(click.ParamType[Value]):
    """An option's type whose words `parse_word` reads; what is no word is a value already, as a default may be."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Value:
        if not isinstance(value, str):
            parsed: Value = value
            return parsed
        try:
            return self.parse_word(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def parse_word(self, value: str) -> Value:
        """The option's value for a word. Raises ValueError with the message for the user."""
        raise NotImplementedError


class Duration(ParsedWord[float]):
    """`100ms`, `1.5s`, `2m`, `10` (seconds, as everywhere): milliseconds as a float."""

    name = "duration"

    def parse_word(self, value: str) -> float:
        from decoders.wire.parse_units import parse_duration

        try:
            return parse_duration(value.strip())
        except ValueError:
            raise ValueError(
                f"{value!r} is no duration (write 250us, 100ms, 1.5s or 2m; a bare number is seconds)"
            ) from None


class Seconds(Duration):
    """`10`, `10s`, `500ms`: seconds as a float, more than zero."""

    name = "seconds"

    def parse_word(self, value: str) -> float:
        found = super().parse_word(value) / 1000
        if not found:
            raise ValueError(f"{value!r} is no time (write 10, 10s or 500ms)")
        return found


class VersionWord(ParsedWord[str]):
    """`12`, `v12`, `latest`, `earliest`: a version as it is written; names_in_any_spelling.py says which it is."""

    name = "version"

    def parse_word(self, value: str) -> str:
        if "=" in value or value[:1] in ("@", "{"):
            raise ValueError(f"it is missing before {value}: write a number or latest")
        if not value.strip().lower().removeprefix("v").isdecimal() and not value.strip().isalpha():
            raise ValueError(f"{value!r} is no version (write 12, v12 or latest)")
        return value


class ByteSize(ParsedWord[int]):
    """`100MB`, `1GiB`: a number of bytes."""

    name = "amount"

    def parse_word(self, value: str) -> int:
        from decoders.wire.parse_units import parse_size

        try:
            size = int(parse_size(value.strip()))
        except ValueError:
            raise ValueError(f"{value!r} is no amount of bytes (write 500kB, 100MB or 1GiB)") from None
        if size < AMOUNT_LEAST:
            raise ValueError(f"{value!r} is too little for a file")
        return size


class MetricsAddress(ParsedWord[tuple[str, int]]):
    """`9400`, `0.0.0.0:9400`: the (host, port) of metrics for Prometheus; 127.0.0.1 where no address is given."""

    name = "address"

    def parse_word(self, value: str) -> tuple[str, int]:
        host, _, port = value.strip().rpartition(":")
        if not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536) or (":" in host and host[0] != "["):
            raise ValueError(f"{value!r} is no port between 1 and 65535, and none with an address before it")
        return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


class NetworkList(ParsedWord[tuple[Any, ...]]):
    """`10.0.0.0/8,2001:db8::/32`, `192.168.1.7`: a tuple of networks, as the module ipaddress has them."""

    name = "networks"

    def parse_word(self, value: str) -> tuple[Any, ...]:
        from ipaddress import ip_network

        networks = []
        for word in value.split(","):
            try:
                networks.append(ip_network(word.strip(), strict=False))
            except ValueError:
                raise ValueError(f"{word!r} is no network (write 10.0.0.0/8, 2001:db8::/32 or 192.168.1.7)") from None
        return tuple(networks)


class PortList(ParsedWord[tuple[int, ...]]):
    """`9092,9093`, `9092-9094`: a tuple of port numbers."""

    name = "ports"

    def parse_word(self, value: str) -> tuple[int, ...]:
        ports: list[int] = []
        for word in value.split(","):
            low, dash, high = word.strip().partition("-")
            ends = [low, high if dash else low]
            if not all(end.isascii() and end.isdecimal() and 0 < int(end) < 65536 for end in ends):
                raise ValueError(f"{word!r} is no port (write 9092, 9092,9093 or 9092-9094)")
            if int(ends[0]) > int(ends[1]):
                raise ValueError(f"{word!r} has no port in it: write {ends[1]}-{ends[0]}")
            ports += range(int(ends[0]), int(ends[1]) + 1)
        return tuple(ports)


class WordList(ParsedWord[tuple[str, ...]]):
    """`a,b`: a tuple of the words, none of them empty. Completion offers the `known` words; others are taken too."""

    name = "words"

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self.known = known

    def parse_word(self, value: str) -> tuple[str, ...]:
        words = tuple(word.strip() for word in value.split(","))
        if not all(words):
            raise ValueError(f"{value!r} has an empty word in it")
        return words


class TimeWord(ParsedWord["Moment"]):
    """`2026-11-21T03:04:05Z`, `17:34`, `5m` before the end: a Moment, in UTC where no zone is given."""

    name = "time"

    def parse_word(self, value: str) -> Moment:
        from decoders.wire.parse_units import parse_moment

        try:
            return parse_moment(value)
        except ValueError:
            raise ValueError(
                f"{value!r} is no time (write 17:34, 2026-11-21T17:34:05Z, or 5m before the end)"
            ) from None


class RowCount(ParsedWord[int]):
    """A number of rows. tcpdump's -nn (no names) arrives as the value `n` of -n and is None: kw looks up no names."""

    name = "integer"

    def parse_word(self, value: str) -> int:
        if value == "n":
            return None  # type: ignore[return-value]  # as if the option were not there
        if not (value.isascii() and value.isdecimal() and int(value)):
            hint = "; names are never looked up, so leave tcpdump's -n out" if not value[:1].isdigit() else ""
            raise ValueError(f"{value!r} is no number of rows (write -n 10){hint}")
        return int(value)


class KnownWord(ParsedWord[str]):
    """One word. Completion offers the `known` words; others are taken too."""

    name = "word"

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self.known = known

    def parse_word(self, value: str) -> str:
        return value.strip()
