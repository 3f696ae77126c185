"""Words of the command line in, the log's plan out: what `kw proxy` prints and writes of the traffic."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kwcli.config import settings
from kwcli.env import Environment
from kwcli.exits import Exit, Failure
from kwcli.options import Amount, Duration, content_options, flat, output_options_with, selection_options

if TYPE_CHECKING:
    from kwcli.proxy.log.feed import Overflow
    from kwcli.proxy.log.plan import LogPlan, Record

__all__ = ["LogOptions", "log_options"]


class LogOptions(NamedTuple):
    """`filters` are the arguments of `kwcli.selection.select`."""

    output: str | None
    color: str
    verbose: int
    quiet: bool
    records: bool
    reveal_secrets: bool
    filters: dict[str, Any]
    no_log: bool
    write: str | None
    record: Record
    rotate_size: int | None
    rotate_interval: float | None
    overflow: Overflow

    def plan(self, env: Environment) -> LogPlan | None:
        """What the log is to do; None where there is to be none. Raises Failure."""
        for name, value in (
            ("--rotate-size", self.rotate_size is not None),
            ("--rotate-interval", self.rotate_interval is not None),
            ("--record both", self.record == "both"),
        ):
            if value and self.write is None:
                raise Failure(f"{name} is about a capture file: it needs -w FILE.pcapng", Exit.USAGE)
        from kwcli.proxy.log.plan import LogPlan
        from kwcli.selection import select

        select(**self.filters)  # what is wrong with them is said before anything begins
        if self.no_log and self.write is None:
            return None
        shown = settings(
            env,
            output=self.output,
            color=self.color,
            verbose=self.verbose,
            quiet=self.quiet,
            records=self.records,
            reveal_secrets=self.reveal_secrets,
            live=True,
        )
        interval = None if self.rotate_interval is None else self.rotate_interval / 1000
        file = (self.write, self.record, self.rotate_size, interval)
        return LogPlan(shown, self.filters, not self.no_log, *file, env.debug)


_OWN: Final = (
    click.option("--no-log", is_flag=True, help="Print no exchanges."),
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
)
_FILTERS: Final = ("apis", "client_ids", "topics", "expression", "errors", "slower_than")


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All options about what is printed and written; the command gets them as `log`."""

    @functools.wraps(command)
    def gathered(*args: Any, **values: Any) -> Any:
        filters = {name: values.pop(name) for name in _FILTERS}
        filters["apis"] = flat(filters["apis"])
        own = {name: values.pop(name) for name in LogOptions._fields if name != "filters"}
        return command(*args, **values, log=LogOptions(**own, filters=filters))

    shown: Any = gathered
    for option in reversed(_OWN):
        shown = option(shown)
    shown = output_options_with(
        shown,
        verbose="Show bodies too, and tell of every connection; -vv headers as well.",
        quiet="No summary at the end.",
    )
    result: Callable[..., Any] = selection_options(content_options(shown))
    return result
