"""What a command does with the rows of a run: the view that takes them, the tap that copies their packets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from decoders.named_tuple import NamedTuple
from kwcli.output.renderers import Needs, Renderer, WantedPaths, Write, open_renderer, renderer_needs, shows_history
from kwcli.reading.sinks.row_output import TableSink

if TYPE_CHECKING:
    from decoders.exchanges.engine import Engine
    from decoders.exchanges.exchange import Ended, Settled
    from decoders.filters import Filter
    from decoders.tcp.chunks import Segment
    from decoders.tls.key_log import KeyLog
    from kwcli.options import CaptureOptions
    from kwcli.output.settings import Settings
    from kwcli.run_environment import Environment

__all__ = ["PacketTap", "ReadingView", "add_metrics_export", "view_of_format"]


class ReadingView(NamedTuple):
    """What is done with the exchanges, where it is not what `-o` says: the body paths that are read, and the renderer.

    `hear` gets the problems of the captures themselves, before the renderer is closed; they are not printed then.
    `needs_file_names`: the renderer reads the file of a row. `tables` takes all that a capture has: packets numbered by
    their file, whose names it is given, and the ends of connections.
    """

    needs: Needs
    open: Callable[[Write], Renderer]
    hear: Callable[[list[str]], None] | None = None
    needs_file_names: bool = False
    tables: TableSink | None = None
    remembers: bool = False  # the renderer asks for what went before on a connection
    libraries: bool = False  # the renderer asks for the libraries of clients alone
    ended: Callable[[Ended], None] | None = None  # takes the ends of connections, where there are no tables


def view_of_format(settings: Settings) -> ReadingView:
    """The view of the format that `-o` names."""
    return ReadingView(renderer_needs(settings), partial(open_renderer, settings), remembers=shows_history(settings))


def add_metrics_export(
    env: Environment, settings: Settings, capture: CaptureOptions, view: ReadingView | None = None
) -> ReadingView | None:
    """The view, with its exchanges also reported to Prometheus or OpenTelemetry as the options say. Raises Failure."""
    if capture.metrics is None and capture.otlp is None:
        return view
    from kwcli.reading.sinks.export_metrics import export_metrics_of

    view = view or view_of_format(settings)
    needs, opened = export_metrics_of(env, settings, capture, view.needs, view.open)
    return view._replace(needs=needs, open=opened)


class PacketTap(Protocol):
    """Sees the segments and the rows of a run, to copy the packets of the rows that are shown (`kw sniff FILES -w`)."""

    def make_engine(
        self, ports: frozenset[int] | None, wanted: WantedPaths, keys: KeyLog, selection: Filter | None
    ) -> Engine:
        """The engine of the run."""

    def log_segments(self, segments: list[Segment]) -> None:
        """Log segments that the engine gets next."""

    def note_rows(self, rows: list[Settled], *, numbered: bool) -> None:
        """Note the packets of settled rows; `numbered`: their packets will be numbered within their files."""

    def keep_rows(self, rows: list[Settled]) -> None:
        """Keep the packets of rows that are shown."""

    def end_batch(self) -> None:
        """Forget the rows of this batch that are not shown."""
