"""A batch of `exchanges` in, the folds that keep single exchanges or clients told of it: what `add` does, by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from kwcli.pipeline.report.coded import combined, counts, greatest, least
from kwcli.pipeline.report.rows import Rows

if TYPE_CHECKING:
    from decoders.analysis.slowest import Slowest
    from decoders.analysis.versions import ClientVersions

WHERE: Final = ("point", "source_file")
SLOWEST_COLUMNS: Final = (
    *("time_ns", "request_end_ns", "response_ns", "waited_ns", "client", "broker", "connection_began_ns", "place"),
    *("api_key", "api", "api_version", "correlation_id", "client_id", "request_size", "response_size"),
    *("request_packet", "request_packet_end", "response_packet", "response_packet_end", *WHERE),
)
USES: Final = ("address", "client_id", "client_software_name", "client_software_version", "api_key", "api_version")


class Row:
    """One row with the attributes of an exchange that the list of the slowest reads."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self.ends = self
        self.began_ns = values["connection_began_ns"]
        self.packets = {
            side: [values[f"{side}_packet"], values[f"{side}_packet_end"]]
            if values[f"{side}_packet"] is not None
            else None
            for side in ("request", "response")
        }

    def view(self, _side: str) -> None:
        """Waits were left out before."""


def list_slowest(slowest: Slowest, rows: Rows) -> None:
    """Tell of the exchanges that took longest, and of all that took as long as the last of them."""
    where = rows.known("request_end_ns") & rows.known("response_ns") & ~rows.known("waited_ns")
    took = (rows.integers("response_ns") - rows.integers("request_end_ns"))[where]
    if not len(took) or not slowest.most:
        return
    bar = np.partition(took, -slowest.most)[-slowest.most] if len(took) > slowest.most else took.min()
    at = np.flatnonzero(where)[took >= bar]
    columns = {name: pc.take(rows.column(name), at).to_pylist() for name in SLOWEST_COLUMNS}
    for values in zip(*columns.values(), strict=True):
        slowest.add(Row(dict(zip(columns, values, strict=True))))  # type: ignore[arg-type]  # the attributes it reads


def list_versions(versions: ClientVersions, rows: Rows) -> None:
    """Tell who used which version of which API."""
    at = np.flatnonzero(rows.known("api_key") & rows.known("api_version"))
    groups = combined([rows.dimension(name).at(at) for name in USES], len(at))
    times, size = rows.integers("time_ns")[at], len(groups.values)
    firsts, lasts = least(groups.numbers, times, size), greatest(groups.numbers, times, size)
    for key, times_used, first, last in zip(groups.values, counts(groups.numbers, size), firsts, lasts, strict=True):
        versions.count(key, times_used, first, last)
