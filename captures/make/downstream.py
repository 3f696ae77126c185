"""traces/downstream.pcap.zst: orders of a shop, invoices that billing makes of them, letters that post makes of these.

Each order has a number, a source and a W3C traceparent; billing hands on the number, post the trace alone. Of the order
503 billing makes two invoices, of 504 one without headers, of 505 none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from tests.analysis.faults.actors import Actor
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.recorder import Recorder

__all__ = ["make"]

_ORDERS: Final = range(500, 508)
Headers = list[tuple[str, str | bytes | None]]


def _trace(number: int, span: int) -> bytes:
    return f"00-{number:032x}-{span:016x}-01".encode()


def _list_orders() -> Iterable[tuple[bytes, Headers]]:
    for number in _ORDERS:
        marks = {"order-id": b"%d" % number, "source": b"web", "traceparent": _trace(number, number)}
        yield b"order %d" % number, [*marks.items()]


def _make_invoices(message: Any) -> Iterable[tuple[bytes, Headers]]:
    marks = dict(message.headers())
    number = int(marks["order-id"])
    marks["traceparent"] = _trace(number, number + 1000)
    if number != 505:
        yield b"invoice %d" % number, [] if number == 504 else [*marks.items()]
    if number == 503:
        yield b"invoice 503, part 2", [("order-id", b"503")]


def _make_letters(message: Any) -> Iterable[tuple[bytes, Headers]]:
    marks = dict(message.headers() or ())
    if "traceparent" in marks:
        yield b"letter", [("traceparent", marks["traceparent"].replace(b"-01", b"-00"))]


def _pass_on(place: str, name: str, source: str, target: str, count: int, work: Callable[[Any], Any]) -> int:
    """Read so many records of a topic and write what is made of each; returns how many were written."""
    reader = Consumer({"bootstrap.servers": place, "client.id": name, "group.id": name})
    reader.assign([TopicPartition(source, 0, 0)])
    writer, written = Producer({"bootstrap.servers": place, "client.id": f"{name}-out"}), 0
    while count:
        message = reader.poll(20)
        assert message is not None
        assert message.error() is None
        count -= 1
        for value, headers in work(message):
            writer.produce(target, value, headers=headers)
            writer.flush(20)
            written += 1
    reader.commit(asynchronous=False)
    reader.close()
    return written


def make() -> None:
    """Record the shop, billing and post, on one cluster."""
    target = FOLDER / "traces"
    target.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="kw-downstream-") as scratch,
        Cluster(Options(version="4.3.1"), Path(scratch) / "one") as one,
    ):
        raw, place = Path(scratch) / "raw.pcap", one.bootstrap()
        for topic in ("orders", "invoices", "letters"):
            Actor(place, topic).create()
        with Recorder(raw, [int(place.rpartition(":")[2])]):
            shop = Producer({"bootstrap.servers": place, "client.id": "shop"})
            for value, headers in _list_orders():
                shop.produce("orders", value, headers=headers)
            shop.flush(20)
            count = _pass_on(place, "billing", "orders", "invoices", len(_ORDERS), _make_invoices)
            _pass_on(place, "post", "invoices", "letters", count, _make_letters)
        ship(raw, target / "downstream.pcap.zst")


if __name__ == "__main__":
    make()
