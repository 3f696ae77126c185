"""Exchanges in, metrics out: families of numbers for Prometheus and OpenTelemetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from decoders.analysis.exchange_facts import RECORDS, WAITS, record_totals_by_partition, waited_ns
from decoders.analysis.groups.partition_offsets_and_lag import NOTHING, GroupOffsets, offset_paths
from decoders.exchanges.topic_arrays import batch_array
from decoders.limits import SERIES_MAX
from decoders.protocol_facts.errors.error_codes import error_name
from kwcli.telemetry.prometheus import Family, Histogram, clean_label

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

# The label value of all series beyond SERIES_MAX.
_OTHER: Final = "other"
Labels = tuple[str, ...]
Kept = TypeVar("Kept")


class TrafficMetrics:
    """Counts since the beginning. Fetches and group members that waited by design are counted apart from latencies.

    Lag is the lag of commits: the last known end of a partition minus what its group has committed, summed by topic.
    """

    def __init__(self) -> None:
        self._latencies: dict[Labels, Histogram] = {}
        self._statuses: Counter[Labels] = Counter()
        self._waited: Counter[Labels] = Counter()
        self._errors: Counter[Labels] = Counter()
        self._bytes: Counter[Labels] = Counter()
        self._records: Counter[Labels] = Counter()
        self._record_bytes: Counter[Labels] = Counter()
        self._offsets = GroupOffsets()
        self._learns = False

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths that `add` and `learn` read of a side of an API."""
        return RECORDS.needed_paths(api_key, side) | WAITS.needed_paths(api_key, side) | offset_paths(api_key, side)

    def learn(self, exchange: Exchange) -> None:
        """Learn the offsets that an exchange states, whether or not it counts; from then on `add` learns none."""
        self._learns = True
        self._learn_offsets(exchange)

    def _learn_offsets(self, exchange: Exchange) -> None:
        if exchange.api_key is not None:
            exchange._read_sides()
            self._offsets.learn(exchange)

    def add(self, exchange: Exchange) -> None:
        """Count an exchange."""
        if not self._learns:
            self._learn_offsets(exchange)
        api, broker = exchange.api or "none", exchange.connection_info.broker
        _add_to_series(self._statuses, (api, broker, exchange.status))
        waited = waited_ns(exchange)
        if waited is not None:
            _add_to_series(self._waited, (api, broker))
        elif exchange.response_ns is not None and exchange.request_end_ns is not None and not exchange.envelope:
            took_ns = exchange.response_ns - exchange.request_end_ns
            _get_or_make_series(self._latencies, (api, broker), Histogram).add(took_ns)
        for _, code in exchange.unexpected:
            _add_to_series(self._errors, (api, error_name(code)))
        if not exchange.envelope:  # the Envelope around it has counted its bytes
            _add_to_series(self._bytes, (broker, "client"), exchange.request_size or 0)
            _add_to_series(self._bytes, (broker, "broker"), exchange.response_size or 0)
        array = batch_array(exchange.api_key)
        if array is not None:
            side = "produced" if array.side == "request" else "fetched"
            for (topic, _), held in record_totals_by_partition(exchange).items():
                _add_to_series(self._records, (topic or "unknown", side), held.records)
                _add_to_series(self._record_bytes, (topic or "unknown", side), held.size)

    def families(self) -> list[Family]:
        """All families of numbers, with names from the wire made fit to be labels."""
        exchange = ("api", "broker")
        return [
            _family("kw_exchange_seconds", "histogram", "From a request's last byte to the first of its answer.",
                    exchange, self._latencies),
            _family("kw_exchanges_total", "counter", "Exchanges, by what became of them.",
                    (*exchange, "status"), self._statuses),
            _family("kw_waited_total", "counter", "Answers that waited by design: for records, for other members.",
                    exchange, self._waited),
            _family("kw_errors_total", "counter", "Error codes in answers, but for those that the protocol means so.",
                    ("api", "error"), self._errors),
            _family("kw_bytes_total", "counter", "Bytes of requests (client) and answers (broker), as their size says.",
                    ("broker", "side"), self._bytes),
            _family("kw_records_total", "counter", "Records produced and fetched.",
                    ("topic", "direction"), self._records),
            _family("kw_record_bytes_total", "counter", "Their bytes on the wire.",
                    ("topic", "direction"), self._record_bytes),
            _family("kw_group_lag_records", "gauge", "Records behind what a group has committed, of partitions seen.",
                    ("group", "topic"), self._lag_by_group_and_topic()),
        ]  # fmt: skip

    def _lag_by_group_and_topic(self) -> dict[Labels, int]:
        found: Counter[Labels] = Counter()
        for (group, topic, number), commit in self._offsets.commits.items():
            committed = self._offsets.latest_commit(commit)[1]
            end = self._offsets.ends.get((topic, number))
            last = end.latest_end()[1] if end is not None else NOTHING
            if committed != NOTHING and last != NOTHING:
                _add_to_series(found, (group, topic), max(last - committed, 0))
        return found


def _get_or_make_series(found: dict[Labels, Kept], labels: Labels, make: Callable[[], Kept]) -> Kept:
    """The value kept under these labels, made where missing; beyond SERIES_MAX, the value of all other labels."""
    kept = found.get(labels)
    if kept is None:
        if len(found) >= SERIES_MAX:
            labels = (_OTHER,) * len(labels)
        kept = found.setdefault(labels, make())
    return kept


def _add_to_series(found: Counter[Labels], labels: Labels, more: int = 1) -> None:
    if labels not in found and len(found) >= SERIES_MAX:
        labels = (_OTHER,) * len(labels)
    found[labels] += more


def _family(name: str, kind: str, text: str, labels: Labels, values_by_label: Mapping[Labels, Any]) -> Family:
    samples = [
        (dict(zip(labels, map(clean_label, values), strict=True)), value) for values, value in values_by_label.items()
    ]
    return Family(name, kind, text, samples)
