"""Words of the command line in, the log's plan out: what `kw proxy` prints and writes of the traffic."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from kwcli.options import Duration

__all__ = ["Amount", "log_options"]

_UNITS: Final = {
    "": 1,
    "b": 1,
    "k": 1000,
    "kb": 1000,
    "m": 10**6,
    "mb": 10**6,
    "g": 10**9,
    "gb": 10**9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?i?b?)", re.IGNORECASE)
# A file smaller than this would be all beginnings.
AMOUNT_LEAST: Final = 1000

Command = TypeVar("Command", bound=Callable[..., Any])


class Amount(click.ParamType[int]):
    """`100MB`, `1GiB`: a number of bytes."""

    name = "amount"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _AMOUNT.fullmatch(value.strip())
        unit = _UNITS.get(match[2].lower()) if match else None
        if match is None or unit is None:
            self.fail(f"{value!r} is no amount of bytes (write 500kB, 100MB or 1GiB)", param, ctx)
        size = int(float(match[1]) * unit)
        if size < AMOUNT_LEAST:
            self.fail(f"{value!r} is too little for a file", param, ctx)
        return size


def log_options(command: Command) -> Command:
    """-w and what belongs to it, and what to do when the log is too slow: fields of `Plan`, and `overflow`."""
    for option in reversed(
        [
            click.option(
                "-w",
                "--write",
                metavar="FILE.pcapng",
                type=click.Path(dir_okay=False),
                help="Keep what clients sent and got, decrypted, in this capture file.",
            ),
            click.option(
                "--record",
                type=click.Choice(["client", "both"]),
                default="client",
                help="Whose bytes -w keeps: the clients', or the brokers' as well, as a second interface.",
            ),
            click.option(
                "--rotate-size", type=Amount(), metavar="SIZE", help="Begin a new file after so many bytes, say 100MB."
            ),
            click.option(
                "--rotate-interval", type=Duration(), metavar="TIME", help="Begin a new file after this time, say 60m."
            ),
            click.option(
                "--log-overflow",
                "overflow",
                type=click.Choice(["drop", "block"]),
                default="drop",
                help="When the log cannot keep up: leave traffic out of it, or make clients wait.",
            ),
        ]
    ):
        command = option(command)
    return command
