"""Exchanges for a renderer in; the same exchanges reported to Prometheus and an OpenTelemetry collector out."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from kwcli.net.parse_addresses import format_address
from kwcli.pip_extras import pip_command_for_extra
from kwcli.reading.sinks.fold_renderer import FoldRenderer
from kwcli.run_environment import Failure
from kwcli.telemetry.exchange_metrics import TrafficMetrics
from kwcli.telemetry.http_server import MetricsServer
from kwcli.telemetry.prometheus import format_family_lines

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.schema.api_declaration import Side
    from kwcli.capture_options import CaptureOptions
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Needs, Renderer, Write
    from kwcli.reading.run_coverage import RunCoverage
    from kwcli.run_environment import Environment
    from kwcli.telemetry.otlp_exporter import Exporter

__all__ = ["export_metrics_of"]

Open = Callable[["Write"], "Renderer"]


def export_metrics_of(
    env: Environment, settings: Settings, capture: CaptureOptions, needs: Needs, opened: Open
) -> tuple[Needs, Open]:
    """The paths of bodies to read, and the opener of a renderer that reports its exchanges, too. Raises Failure."""
    traffic = TrafficMetrics()
    exporter = _make_exporter(env, capture) if capture.otlp is not None else None

    def needed_body_paths(key: int, side: Side) -> frozenset[str]:
        more = exporter.needs(key, side) if exporter is not None else frozenset()
        return needs(key, side) | traffic.needs(key, side) | more

    def open_exporting_renderer(write: Write) -> Renderer:
        watcher = _ExportingRenderer(env, opened(write), traffic, exporter, quiet=settings.quiet)
        if capture.metrics is not None:
            watcher.serve_metrics(capture.metrics)
        return watcher

    return needed_body_paths, open_exporting_renderer


def _make_exporter(env: Environment, capture: CaptureOptions) -> Exporter:
    try:
        from kwcli.telemetry.otlp_exporter import Exporter
        from kwcli.telemetry.send_to_otlp_collector import Collector
    except ImportError:
        raise Failure(f"--otlp needs OpenTelemetry, which is not installed: {pip_command_for_extra('otel')}") from None
    return Exporter(Collector(capture.otlp or "", env.variables), env.report, waits=not capture.is_live)


class _ExportingRenderer:
    """Wraps a renderer and counts its exchanges, under a lock: Prometheus asks from another thread."""

    def __init__(
        self, env: Environment, renderer: Renderer, traffic: TrafficMetrics, exporter: Exporter | None, *, quiet: bool
    ) -> None:
        self._env = env
        self._renderer = renderer
        self._traffic = traffic
        self._exporter = exporter
        self._quiet = quiet
        self._lock = Lock()
        self._server: MetricsServer | None = None

    def serve_metrics(self, where: tuple[str, int]) -> None:
        """Serve the metrics to Prometheus, from now on."""
        self._server = MetricsServer(where, self._metrics_text)
        if not self._quiet:
            self._env.report(f"kw: metrics on http://{format_address(self._server.address)}/metrics")

    def _metrics_text(self) -> str:
        with self._lock:
            families = self._traffic.families()
            return "".join(f"{line}\n" for line in format_family_lines(families))

    @property
    def shows_skipped(self) -> bool:
        """Whether the renderer shows rows of skipped bytes."""
        return self._renderer.shows_skipped

    @property
    def errors(self) -> int:
        """The renderer's count of exchanges with an unexpected error code."""
        return self._renderer.errors

    @property
    def expected(self) -> int:
        """The renderer's count of exchanges with only error codes that the protocol expects."""
        return self._renderer.expected

    @property
    def undecoded(self) -> int:
        """The renderer's count of exchanges that could not be decoded."""
        return self._renderer.undecoded

    @property
    def remarks(self) -> int:
        """The renderer's count of remarks."""
        return self._renderer.remarks

    def write(self, rows: list[Settled]) -> None:
        """Report the exchanges, then show the rows: a renderer may let go of what it has shown."""
        with self._lock:
            for row in rows:
                if row.kind == "exchange":
                    self._traffic.add(row)
        if self._exporter is not None:
            for row in rows:
                if row.kind == "exchange":
                    self._exporter.add(row)
            self._exporter.send_metrics_if_due(self._traffic.families)
        self._renderer.write(rows)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn offsets from all rows, before the filters choose."""
        with self._lock:
            for row in rows:
                if row.kind == "exchange":
                    self._traffic.learn(row)
        self._renderer.learn_from_unshown_rows(rows)

    def set_coverage(self, coverage: RunCoverage) -> None:
        """Tell the renderer, if it writes an answer, what that covers of the inputs."""
        if isinstance(self._renderer, FoldRenderer):
            self._renderer.set_coverage(coverage)

    def close(self) -> None:
        """Close the renderer and the server, and export the last values."""
        self._renderer.close()
        if self._server is not None:
            self._server.close()
        if self._exporter is not None:
            self._exporter.close(self._traffic.families())
