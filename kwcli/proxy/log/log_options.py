"""Options in, the log's plan out: what `kw proxy` and `kw mock` print and write of the traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from decoders.named_tuple import NamedTuple
from kwcli.clashing_options import Clash
from kwcli.option_types import ByteSize, Duration
from kwcli.options import (
    ContentOptions,
    FilterOptions,
    OutputOptions,
    add_options,
    content_options,
    filter_options,
    output_options,
    pass_options_as_value,
)
from kwcli.run_environment import Environment, Exit, Failure

if TYPE_CHECKING:
    from kwcli.proxy.log.log_protocol import LogPlan, Record, Via
    from kwcli.proxy.log.log_queue import Overflow

__all__ = ["CLASHES", "LogOptions", "log_options"]

# A filter chooses the exchanges that are printed; a capture file has all of them.
CLASHES: Final = (
    Clash(
        "no_log",
        ("output", "records", "reveal_secrets", "names", *FilterOptions._fields),
        "no exchange is printed, and -w keeps all of them",
    ),
)


class LogOptions(NamedTuple):
    """The options about what is printed, and what is written to which file."""

    shown: OutputOptions
    content: ContentOptions
    filters: FilterOptions
    no_log: bool
    write: str | None
    rotate_size: int | None
    rotate_interval: float | None
    overflow: Overflow
    events: bool
    record: Record = "client"

    def make_plan(self, env: Environment, *, recording: bool = False, via: Via = "proxy") -> LogPlan | None:
        """The log's plan; None where nothing is printed, written or needed for `recording`. Raises Failure."""
        for name, value in (
            ("--rotate-size", self.rotate_size is not None),
            ("--rotate-interval", self.rotate_interval is not None),
            ("--record both", self.record == "both"),
        ):
            if value and self.write is None:
                raise Failure(f"{name} is for a capture file: it needs -w FILE.pcapng", Exit.USAGE)
        from kwcli.proxy.log.log_protocol import LogPlan

        expression = self.filters.filter_text()  # errors in filters are reported before anything begins
        if self.no_log and self.write is None and not recording:
            return None
        shown = self.shown.make_settings(env, self.content, live=True)
        interval = None if self.rotate_interval is None else self.rotate_interval / 1000
        file = (self.write, self.record, self.rotate_size, interval)
        if self.events and (self.no_log or shown.format != "ndjson"):
            raise Failure("--events adds JSON lines: it needs -o ndjson", Exit.USAGE)
        return LogPlan(
            shown._replace(values=None),  # the log's process has its own
            expression,
            not self.no_log,
            *file,
            env.debug,
            events=self.events,
            via=via,
            decodes=shown.values is not None,
            schemas=self.content.schemas,
        )


_RECORD: Final = click.option(
    "--record",
    type=click.Choice(["client", "both"]),
    default="client",
    help="Connections that -w keeps: clients', or also brokers' as a second interface.",
)


def log_options(
    command: Callable[..., Any], *, upstream: bool = True, quiet: str = "No summary at the end."
) -> Callable[..., Any]:
    """Add the options about what is printed and written to a command, which gets them as `log`.

    `upstream`: the command talks to brokers, so -w may keep those bytes too; `quiet` is the help text of -q.
    """
    shown = add_options(
        pass_options_as_value("log", LogOptions, LogOptions._fields)(command),
        click.option("--no-log", is_flag=True, help="Print no exchanges."),
        click.option("--events", is_flag=True, help="Add rows for connection events and messages (-o ndjson)."),
        click.option(
            "-w",
            "--write",
            metavar="FILE.pcapng",
            type=click.Path(dir_okay=False),
            help="Write the clients' traffic, decrypted, to this capture file.",
        ),
        *([_RECORD] if upstream else []),
        click.option(
            "--rotate-size", type=ByteSize(), metavar="SIZE", help="Begin a new file after SIZE bytes, say 100MB."
        ),
        click.option(
            "--rotate-interval", type=Duration(), metavar="TIME", help="Begin a new file after this time, say 60m."
        ),
        click.option(
            "--log-overflow",
            "overflow",
            type=click.Choice(["drop", "block"]),
            default="drop",
            help="When the log cannot keep up: drop traffic from it, or block clients.",
        ),
    )
    shown = output_options(
        verbose="Show bodies too, and report every connection; -vv headers as well.",
        quiet=quiet,
        columns=True,
        times=True,
    )(shown)
    return filter_options(captures=False)(content_options(shown))
