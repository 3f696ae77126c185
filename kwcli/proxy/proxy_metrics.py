"""Traffic of the proxy in, counts and latencies in Prometheus' text format out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from decoders.apis import NAMES, api
from kwcli.telemetry.prometheus import Histogram, format_family_header, format_histogram_lines, format_sample_line

if TYPE_CHECKING:
    from kwcli.proxy.node_listeners import Listener

# The data path counts from headers and commands of the core: answers by node and API with their latency (from the
# request's last byte to the answer's first), bytes, connections, answers that were rewritten, versions that were
# capped. It reads no bodies. The log's process does, so it counts the errors in answers and reports them now and then;
# errors in exchanges that the log had to drop are not counted, but the dropped exchanges are.


# Pairs of an API and an error that are counted; there are some 130 errors, on some 100 APIs.
_ERRORS_MAX: Final = 10_000
# The key for all unknown APIs, so that a client that makes up API keys makes no new rows.
_OTHER: Final = -1


class Meter:
    """The counts of all connections of one listener."""

    __slots__ = ("apis", "failed", "listening", "open", "received", "sent", "total")

    def __init__(self) -> None:
        self.apis: dict[int, Histogram] = {}
        self.received = 0  # bytes from clients
        self.sent = 0  # bytes to clients
        self.open = 0
        self.total = 0
        self.failed = 0  # brokers that could not be reached
        self.listening = True  # clients are let in

    def count_client(self) -> None:
        """Count a client that has connected."""
        self.total += 1
        self.open += 1

    def count_answer(self, api_key: int, took_ns: int) -> None:
        """Count an answer whose first byte has come, `took_ns` after its request."""
        found = self.apis.get(api_key)
        if found is None:
            found = self.apis.setdefault(api_key if api_key in NAMES else _OTHER, Histogram())
        found.add(took_ns)


class Metrics:
    """The counts of one proxy."""

    def __init__(self) -> None:
        self._meters: dict[str, Meter] = {}
        self._errors: dict[tuple[str, str], int] = {}
        self.refused = 0  # handshakes with clients that failed
        self.rewritten = 0
        self.capped = 0
        # Bytes, answers, connections that the log had to leave out.
        self.dropped: Callable[[], tuple[int, int, int]] = lambda: (0, 0, 0)

    def get_or_make_meter(self, listener: Listener) -> Meter:
        """The meter of a listener; a new one the first time."""
        return self._meters.setdefault(listener.name, Meter())

    def add_errors(self, found: Iterable[tuple[str, str, int]]) -> None:
        """Add counts of errors: (API, error's name, count) each."""
        for name, error, count in found:
            key = (name, error)
            if key in self._errors or len(self._errors) < _ERRORS_MAX:
                self._errors[key] = self._errors.get(key, 0) + count

    def format_text(self) -> str:
        """All counts in Prometheus' text format."""
        return "".join(f"{line}\n" for line in self._format_lines())

    def _format_lines(self) -> Iterator[str]:
        dropped = self.dropped()
        yield from self._format_exchanges()
        yield from format_family_header(
            "kw_proxy_errors_total", "counter", "Errors in answers, as far as they were decoded for the log."
        )
        for (name, error), count in sorted(self._errors.items()):
            yield format_sample_line("kw_proxy_errors_total", {"api": name, "error": error}, count)
        yield from self._format_counts_by_node()
        for name, what, value in (
            ("kw_proxy_handshakes_failed_total", "TLS handshakes with clients that failed.", self.refused),
            ("kw_proxy_rewritten_total", "Answers in which addresses of brokers were replaced.", self.rewritten),
            ("kw_proxy_capped_versions_total", "Versions taken back in answers to ApiVersions.", self.capped),
            ("kw_proxy_log_dropped_bytes_total", "Bytes that the log had no room for.", dropped[0]),
            ("kw_proxy_log_dropped_exchanges_total", "Exchanges that the log had no room for.", dropped[1]),
            ("kw_proxy_log_dropped_connections_total", "Connections the log had no room for.", dropped[2]),
        ):
            yield from format_family_header(name, "counter", what)
            yield format_sample_line(name, {}, value)

    def _format_exchanges(self) -> Iterator[str]:
        rows = [
            ({"api": api(key).name if key in NAMES else "other", "node": node}, histogram)
            for node, meter in self._meters.items()
            for key, histogram in meter.apis.items()
        ]
        name = "kw_proxy_exchange_seconds"
        yield from format_family_header(name, "histogram", "From a request's last byte to the first of its answer.")
        for labels, histogram in rows:
            yield from format_histogram_lines(name, labels, histogram)
        name = "kw_proxy_exchanges_total"
        yield from format_family_header(name, "counter", "Requests that were answered.")
        for labels, histogram in rows:
            yield format_sample_line(name, labels, sum(histogram.counts))

    def _format_counts_by_node(self) -> Iterator[str]:
        for name, kind, about, values in _BY_NODE:
            yield from format_family_header(name, kind, about)
            for node, meter in self._meters.items():
                for labels, value in values(meter):
                    yield format_sample_line(name, {"node": node, **labels}, value)


# Name of a family of counts by node, its kind and help text, and its rows of a node: more labels, and the value.
_BY_NODE: Final[tuple[tuple[str, str, str, Callable[[Meter], Iterable[tuple[dict[str, str], int]]]], ...]] = (
    (
        *("kw_proxy_bytes_total", "counter", "Bytes as clients sent and got them, before TLS."),
        lambda meter: (({"side": "client"}, meter.received), ({"side": "broker"}, meter.sent)),
    ),
    (
        *("kw_proxy_connections_open", "gauge", "Clients' connections at this moment."),
        lambda meter: (({}, meter.open),),
    ),
    (
        *("kw_proxy_listening", "gauge", "1; 0 while clients are refused, since no broker answers."),
        lambda meter: (({}, int(meter.listening)),),
    ),
    ("kw_proxy_connections_total", "counter", "Clients' connections so far.", lambda meter: (({}, meter.total),)),
    (
        *("kw_proxy_dials_failed_total", "counter", "Connections whose broker could not be reached."),
        lambda meter: (({}, meter.failed),),
    ),
)
