"""What passes the proxy in, counts and latencies as Prometheus reads them out (text format 0.0.4), over HTTP."""

from __future__ import annotations

import asyncio
import socket
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from decoders.apis import NAMES, api
from kwcli.env import Failure
from kwcli.proxy.listeners import listening

if TYPE_CHECKING:
    from kwcli.proxy.listeners import Listener

# The data path counts what headers and commands of the core tell: answers by node and API with their latency (from the
# request's last byte to the answer's first), bytes, connections, answers that were rewritten, versions that were
# capped. It reads no bodies, so errors in answers are counted by the log's process, which does, and are told in pieces
# now and then; what the log had to leave out is not among them, and is counted as dropped.


# Upper bounds in seconds; a Fetch that finds nothing waits half a second.
BOUNDS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BOUNDS_NS: Final = tuple(round(bound * 1e9) for bound in BOUNDS_S)
# Different errors that are told apart; there are some 130, on 95 APIs.
_ERRORS_MAX: Final = 10_000
# A client that makes up API keys makes no new rows.
_OTHER: Final = -1


class Histogram:
    """How many took how long, in ns."""

    __slots__ = ("counts", "total_ns")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_NS) + 1)
        self.total_ns = 0

    def add(self, took_ns: int) -> None:
        """One more."""
        self.counts[bisect_left(_BOUNDS_NS, took_ns)] += 1
        self.total_ns += took_ns


class Meter:
    """What one listener's connections add up to."""

    __slots__ = ("apis", "failed", "listening", "open", "received", "sent", "total")

    def __init__(self) -> None:
        self.apis: dict[int, Histogram] = {}
        self.received = 0  # bytes from clients
        self.sent = 0  # bytes to clients
        self.open = 0
        self.total = 0
        self.failed = 0  # brokers that could not be reached
        self.listening = True  # clients are let in

    def begun(self) -> None:
        """A client has connected."""
        self.total += 1
        self.open += 1

    def answered(self, api_key: int, took_ns: int) -> None:
        """An answer has begun to come."""
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

    def meter(self, listener: Listener) -> Meter:
        """The one of a listener: `boot`, or of a node."""
        return self._meters.setdefault(listener.name, Meter())

    def errors(self, found: Iterable[tuple[str, str, int]]) -> None:
        """So many more errors: API, error's name, count."""
        for name, error, count in found:
            key = (name, error)
            if key in self._errors or len(self._errors) < _ERRORS_MAX:
                self._errors[key] = self._errors.get(key, 0) + count

    def text(self) -> str:
        """All of it, as Prometheus wants it."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        dropped = self.dropped()
        yield from self._exchanges()
        yield from _family(
            "kw_proxy_errors_total", "counter", "Errors in answers, as far as they were decoded for the log."
        )
        for (name, error), count in sorted(self._errors.items()):
            yield _row("kw_proxy_errors_total", {"api": name, "error": error}, count)
        yield from self._by_node()
        for name, what, value in (
            ("kw_proxy_handshakes_failed_total", "TLS handshakes with clients that failed.", self.refused),
            ("kw_proxy_rewritten_total", "Answers in which addresses of brokers were replaced.", self.rewritten),
            ("kw_proxy_capped_versions_total", "Versions taken back in answers to ApiVersions.", self.capped),
            ("kw_proxy_log_dropped_bytes_total", "Bytes that the log had no room for.", dropped[0]),
            ("kw_proxy_log_dropped_exchanges_total", "Exchanges that the log had no room for.", dropped[1]),
            ("kw_proxy_log_dropped_connections_total", "Connections the log had no room for.", dropped[2]),
        ):
            yield from _family(name, "counter", what)
            yield _row(name, {}, value)

    def _exchanges(self) -> Iterator[str]:
        name = "kw_proxy_exchange_seconds"
        yield from _family(name, "histogram", "From a request's last byte to the first of its answer.")
        for node, meter in self._meters.items():
            for key, histogram in meter.apis.items():
                labels = {"api": api(key).name if key in NAMES else "other", "node": node}
                so_far = 0
                for bound, count in zip((*BOUNDS_S, "+Inf"), histogram.counts, strict=True):
                    so_far += count
                    yield _row(f"{name}_bucket", {**labels, "le": str(bound)}, so_far)
                yield _row(f"{name}_sum", labels, histogram.total_ns / 1e9)
                yield _row(f"{name}_count", labels, so_far)
        name = "kw_proxy_exchanges_total"
        yield from _family(name, "counter", "Requests that were answered.")
        for node, meter in self._meters.items():
            for key, histogram in meter.apis.items():
                labels = {"api": api(key).name if key in NAMES else "other", "node": node}
                yield _row(name, labels, sum(histogram.counts))

    def _by_node(self) -> Iterator[str]:
        meters = self._meters.items()
        yield from _family("kw_proxy_bytes_total", "counter", "Bytes as clients sent and got them, before TLS.")
        for node, meter in meters:
            yield _row("kw_proxy_bytes_total", {"node": node, "side": "client"}, meter.received)
            yield _row("kw_proxy_bytes_total", {"node": node, "side": "broker"}, meter.sent)
        yield from _family("kw_proxy_connections_open", "gauge", "Clients' connections at this moment.")
        for node, meter in meters:
            yield _row("kw_proxy_connections_open", {"node": node}, meter.open)
        yield from _family("kw_proxy_listening", "gauge", "1; 0 while clients are refused, since no broker answers.")
        for node, meter in meters:
            yield _row("kw_proxy_listening", {"node": node}, int(meter.listening))
        yield from _family("kw_proxy_connections_total", "counter", "Clients' connections so far.")
        for node, meter in meters:
            yield _row("kw_proxy_connections_total", {"node": node}, meter.total)
        yield from _family("kw_proxy_dials_failed_total", "counter", "Connections whose broker could not be reached.")
        for node, meter in meters:
            yield _row("kw_proxy_dials_failed_total", {"node": node}, meter.failed)


def _family(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _row(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# Requests for /metrics on loopback in, the text out: as much of HTTP/1.1 as Prometheus and curl need.


LOOPBACK: Final = "127.0.0.1"
_HEAD_MAX: Final = 16 * 1024
# Who says nothing for so long is not asked for more.
_PATIENCE_S: Final = 10.0
_CONTENT: Final = "text/plain; version=0.0.4; charset=utf-8"


def metrics_socket(port: int) -> socket.socket:
    """A socket that listens for Prometheus. Raises Failure."""
    try:
        return listening(LOOPBACK, port)
    except Failure as failure:
        raise Failure(failure.text.replace("--port-base", "--metrics"), failure.code) from None


class MetricsConnection(asyncio.Protocol):
    """One request; `text` gives what is told."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._head = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_S, self._transport.abort)

    def connection_lost(self, _error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if len(self._head) > _HEAD_MAX:
            return
        self._head += data
        if b"\r\n\r\n" in self._head or b"\n\n" in self._head:
            self._answer(self._head.split(b"\n", 1)[0].split())
            self._head = b" " * (_HEAD_MAX + 1)
        elif len(self._head) > _HEAD_MAX:
            self._send(431, "Request Header Fields Too Large", "too long a request\n")

    def _answer(self, words: list[bytes]) -> None:
        method = words[0] if words else b""
        path = words[1].partition(b"?")[0] if len(words) > 1 else b""
        if method not in (b"GET", b"HEAD"):
            self._send(405, "Method Not Allowed", "only GET\n")
        elif path != b"/metrics":
            self._send(404, "Not Found", "see /metrics\n")
        else:
            self._send(200, "OK", self._text(), head=method == b"HEAD")

    def _send(self, status: int, reason: str, text: str, *, head: bool = False) -> None:
        body = text.encode()
        lines = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {_CONTENT}\r\nContent-Length: {len(body)}\r\n"
        assert self._transport is not None
        self._transport.write(f"{lines}Connection: close\r\n\r\n".encode() + (b"" if head else body))
        self._transport.close()
