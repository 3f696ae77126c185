"""A batch of a table in, the folds besides statistics told of it: by column what `add` and `take` do row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from decoders.analysis.batches import Batches
from kwcli.pipeline.report.coded import Coded, Numbers, combined, counts, greatest, least, sums
from kwcli.pipeline.report.counting import gather
from kwcli.pipeline.report.rows import Rows

if TYPE_CHECKING:
    from decoders.analysis.batches import BatchSizes
    from decoders.analysis.slowest import Slowest
    from decoders.analysis.tally import Tally
    from decoders.analysis.versions import ClientVersions

WHERE: Final = ("point", "source_file")
SLOWEST_COLUMNS: Final = (
    *("time_ns", "request_end_ns", "response_ns", "waited_ns", "client", "broker", "connection_began_ns", "place"),
    *("api_key", "api", "api_version", "correlation_id", "client_id", "request_size", "response_size"),
    *("request_packet", "request_packet_end", "response_packet", "response_packet_end", *WHERE),
)
BATCH_COLUMNS: Final = ("api", "topic", "topic_id", "batches", "records", "bytes", "codec")
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
    for key, *amounts in zip(groups.values, counts(groups.numbers, size), firsts, lasts, strict=True):
        versions.take(key, amounts)


def tally_rows(tally: Tally, rows: Rows) -> None:
    """Count the rows of each key, and add up their amounts."""
    groups = combined([rows.dimension(name) for name in tally.by], rows.size)
    size = len(groups.values)
    _, *names = tally.amounts
    columns = [sums(groups.numbers, rows.integers(name), size) for name in names]
    for key, *amounts in zip(groups.values, counts(groups.numbers, size), *columns, strict=True):
        tally.take(key, amounts)


def count_batches(found: BatchSizes, rows: Rows) -> None:
    """Tell of the record batches of each topic."""
    at = np.flatnonzero(rows.integers("batches") > 0)
    groups = combined([rows.coded(name).at(at) for name in ("api", "topic", "topic_id")], len(at))
    size = len(groups.values)
    batches, records, amount = (rows.integers(name)[at] for name in ("batches", "records", "bytes"))
    columns = [sums(groups.numbers, column, size) for column in (batches, records, amount)]
    made = [Batches(*amounts) for amounts in zip(*columns, strict=True)]
    gather(groups, [its.sizes for its in made], _each(amount, batches), batches)
    gather(groups, [its.counts for its in made], _each(records, batches), batches)
    codecs = combined([Coded(groups.numbers, list(range(size))), rows.coded("codec").at(at)], len(at))
    times = sums(codecs.numbers, batches, len(codecs.values))
    for (group, codec), its_batches in zip(codecs.values, times, strict=True):
        made[group].codecs[codec or ""] += its_batches
    for (api, topic, topic_id), its in zip(groups.values, made, strict=True):
        found.take((api, topic or topic_id), its)


def _each(amount: Numbers, batches: Numbers) -> Numbers:
    """What one batch of a row has on average, rounded."""
    found: Numbers = (amount + batches // 2) // batches
    return found
