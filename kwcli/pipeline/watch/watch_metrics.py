"""The numbers of a watch in, its metrics in the text format of Prometheus out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from kwcli.pipeline.watch.track_captures import Lag
    from kwcli.telemetry.prometheus import Family

__all__ = ["WatchProgress", "format_metrics"]


class WatchProgress(NamedTuple):
    """How far a watch is: its latest batch, how long that took and how long ago that was, what went wrong."""

    batch: int
    lag: Lag
    took_s: float
    since_s: float | None
    retries: int
    damaged: int
    unreachable: int


def format_metrics(progress: WatchProgress, exchanges: int, packets: int, last_ns: Mapping[str, int]) -> str:
    """The metrics in the text format of Prometheus; `last_ns` is the time of the packet read last, by capture point."""
    from kwcli.telemetry.prometheus import format_family_lines

    return "".join(
        f"{line}\n" for line in format_family_lines(_build_metric_families(progress, exchanges, packets, last_ns))
    )


def _build_metric_families(
    progress: WatchProgress, exchanges: int, packets: int, last_ns: Mapping[str, int]
) -> Iterator[Family]:
    from kwcli.telemetry.prometheus import Family

    for name, kind, text, value in (
        ("kw_watch_batches_total", "counter", "Batches that are committed.", progress.batch),
        ("kw_watch_exchanges_total", "counter", "Exchanges in committed batches.", exchanges),
        ("kw_watch_packets_total", "counter", "Packets in committed batches.", packets),
        ("kw_watch_retries_total", "counter", "Batches that failed and were tried again.", progress.retries),
        ("kw_watch_damaged_total", "counter", "Captures that were lost, late or damaged.", progress.damaged),
        ("kw_watch_lag_bytes", "gauge", "Bytes of capture that are there and not read.", progress.lag.size),
        ("kw_watch_lag_seconds", "gauge", "How long the first of these bytes have been there.", progress.lag.seconds),
        ("kw_watch_unreachable_sources", "gauge", "Sources that cannot be looked at.", progress.unreachable),
        ("kw_watch_batch_seconds", "gauge", "How long the latest batch took.", progress.took_s),
    ):
        yield Family(name, kind, text, [({}, float(value))])
    if progress.since_s is not None:
        yield Family("kw_watch_idle_seconds", "gauge", "Seconds since the latest commit.", [({}, progress.since_s)])
    read = [({"point": point}, at / 1e9) for point, at in sorted(dict(last_ns).items())]
    yield Family("kw_watch_read_time_seconds", "gauge", "Time of the packet read last.", read)
