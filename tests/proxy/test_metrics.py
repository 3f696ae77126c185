"""Counts as Prometheus reads them, by its own parser; and the small HTTP server for them."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from kwcli.proxy.node_listeners import Listener
from kwcli.proxy.proxy_metrics import Metrics
from kwcli.run_environment import Failure
from kwcli.telemetry.http_server import MetricsConnection, listen_for_metrics
from kwcli.telemetry.prometheus import BOUNDS_S

NODE = Listener(2, ("127.0.0.1", 19095), (("kafka2", 9092),), None)
BOOT = Listener(None, ("127.0.0.1", 19092), (("kafka1", 9092),), None)
MS = 1_000_000
Sample = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: str) -> Sample:
    """Samples in Prometheus' text: (name, labels) → value."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(text)
        for sample in family.samples
    }


def test_nothing_has_happened() -> None:
    found = samples(Metrics().format_text())
    assert found[("kw_proxy_rewritten_total", ())] == 0
    assert set(found.values()) == {0}


def test_latencies_by_api_and_node() -> None:
    metrics = Metrics()
    for took_ms in (0.4, 0.5, 0.6, 7, 60_000):
        metrics.get_or_make_meter(NODE).count_answer(1, int(took_ms * MS))
    metrics.get_or_make_meter(BOOT).count_answer(3, 2 * MS)
    metrics.get_or_make_meter(BOOT).count_answer(12345, 2 * MS)
    metrics.get_or_make_meter(BOOT).count_answer(12346, 2 * MS)
    found = samples(metrics.format_text())
    fetch = (("api", "Fetch"), ("node", "2"))
    name = "kw_proxy_exchange_seconds"
    steps = [found[(f"{name}_bucket", tuple(sorted((*fetch, ("le", str(bound))))))] for bound in (*BOUNDS_S, "+Inf")]
    assert steps[:5] == [2, 3, 3, 3, 4]
    assert steps[-2:] == [4, 5]
    assert steps == sorted(steps)
    assert found[(f"{name}_count", fetch)] == found[("kw_proxy_exchanges_total", fetch)] == 5
    assert found[(f"{name}_sum", fetch)] == pytest.approx(60.0085)
    assert found[("kw_proxy_exchanges_total", (("api", "Metadata"), ("node", "boot")))] == 1
    assert found[("kw_proxy_exchanges_total", (("api", "other"), ("node", "boot")))] == 2


def test_connections_bytes_and_errors() -> None:
    metrics = Metrics()
    meter = metrics.get_or_make_meter(NODE)
    meter.total, meter.open, meter.failed, meter.received, meter.sent = 5, 2, 1, 100, 1000
    metrics.add_errors([("Produce", "NOT_LEADER_OR_FOLLOWER", 3), ("Fetch", "UNKNOWN(-7)", 1)])
    metrics.add_errors([("Produce", "NOT_LEADER_OR_FOLLOWER", 2)])
    metrics.refused, metrics.rewritten, metrics.capped, metrics.dropped = 1, 2, 3, lambda: (4, 5, 6)
    found = samples(metrics.format_text())
    node = (("node", "2"),)
    assert found[("kw_proxy_connections_total", node)] == 5
    assert found[("kw_proxy_connections_open", node)] == 2
    assert found[("kw_proxy_dials_failed_total", node)] == 1
    assert found[("kw_proxy_bytes_total", (*node, ("side", "client")))] == 100
    assert found[("kw_proxy_bytes_total", (*node, ("side", "broker")))] == 1000
    assert found[("kw_proxy_errors_total", (("api", "Produce"), ("error", "NOT_LEADER_OR_FOLLOWER")))] == 5
    assert found[("kw_proxy_errors_total", (("api", "Fetch"), ("error", "UNKNOWN(-7)")))] == 1
    assert found[("kw_proxy_handshakes_failed_total", ())] == 1
    assert found[("kw_proxy_rewritten_total", ())] == 2
    assert found[("kw_proxy_capped_versions_total", ())] == 3
    assert [found[(f"kw_proxy_log_dropped_{what}_total", ())] for what in ("bytes", "exchanges", "connections")] == [
        4,
        5,
        6,
    ]


def test_errors_without_end_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.proxy.proxy_metrics._ERRORS_MAX", 2)
    metrics = Metrics()
    metrics.add_errors(("Fetch", f"UNKNOWN({number})", 1) for number in range(10))
    metrics.add_errors([("Fetch", "UNKNOWN(1)", 1)])
    assert sum(name == "kw_proxy_errors_total" for name, _ in samples(metrics.format_text())) == 2


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that answers `up 1`."""
    sock = listen_for_metrics(("127.0.0.1", 0))
    host, port = sock.getsockname()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        found = await loop.create_server(lambda: MetricsConnection(lambda: "up 1\n"), sock=sock)
        await ended.wait()
        found.close()
        await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    yield f"{host}:{port}"
    loop.call_soon_threadsafe(ended.set)
    thread.join(30)
    loop.close()


def test_prometheus_asks(server: str) -> None:
    with urllib.request.urlopen(f"http://{server}/metrics?a=b", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert samples(answer.read().decode()) == {("up", ()): 1}


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/", 404), ("POST", "/metrics", 405), ("GET", "/metricsx", 404)]
)
def test_other_questions(server: str, method: str, path: str, status: int) -> None:
    asked = urllib.request.Request(f"http://{server}{path}", method=method)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=30)
    assert refused.value.code == status
    refused.value.close()


def test_a_head_has_no_body(server: str) -> None:
    asked = urllib.request.Request(f"http://{server}/metrics", method="HEAD")
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert (answer.headers["Content-Length"], answer.read()) == ("5", b"")


def spoken(address: str, pieces: list[bytes]) -> bytes:
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), 5) as link:
        for piece in pieces:
            link.sendall(piece)
        answer = b""
        while data := link.recv(4096):
            answer += data
    return answer


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ([b"GET /met", b"rics HTTP/1.1\r\nHost: a\r\n", b"\r\n"], b"200"),
        ([b"GET /metrics\n\n"], b"200"),
        ([b"\r\n\r\n"], b"405"),
        ([b"x" * 20_000], b"431"),
    ],
)
def test_in_pieces_and_in_bad_shape(server: str, pieces: list[bytes], status: bytes) -> None:
    assert spoken(server, pieces).split()[1] == status


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Failure, match=f"127.0.0.1:{port} is taken by another program: give another --metrics"):
            listen_for_metrics(("127.0.0.1", port))
