"""differences/NAME.pcap.zst: the same traffic again and again, each time with one change; names as arguments, else all.

A producer `shop` (librdkafka; Java where its release changes) writes a batch some ten times a second, `billing` reads
as the only member of its group, `audit` asks for the metadata of `orders`, all with one broker of 4.3.1.
`tests/analysis/test_recorded_differences.py` says which two captures are a pair, and what is the change.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from confluent_kafka import Consumer, Producer, admin

from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from kwcli.playground.free_ports import find_free_ports
from kwcli.playground.java_process import Process, is_kafka_answering
from tests.broker.clients.session import run, start
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.waiting import until

SECONDS: Final = 10
_EVERY_S: Final = 0.1
_ROUNDS: Final = 90
_ORDER: Final = b'{"order": %d, "amount": 12.50, "currency": "EUR", "note": "to be delivered in the morning"}'
# The stubs of this module lack half of what it has.
_rd: Any = admin


@dataclass(frozen=True)
class Traffic:
    """What the clients do; `java` is the release of `shop`, `faults` the words of the proxy in front of the broker.

    `largest`: the largest batch of `orders` that the broker takes, in bytes.
    """

    topics: tuple[str, ...] = ("orders",)
    config: Mapping[str, str] = field(default_factory=dict)
    group: str = "billing"
    audit: bool = True
    describe: bool = False
    largest: int = 1_048_588
    java: str = ""
    faults: tuple[str, ...] | None = None


SCENES: Final[Mapping[str, Traffic]] = {
    "steady": Traffic(),
    "steady-again": Traffic(),
    "other-linger": Traffic(config={"linger.ms": "400"}),
    "new-error": Traffic(largest=200),
    "gone-client": Traffic(audit=False),
    "new-topic": Traffic(topics=("orders", "invoices")),
    "new-api": Traffic(describe=True),
    "compressed": Traffic(config={"compression.type": "gzip"}),
    "new-group": Traffic(group="billing-v2"),
    "other-acks": Traffic(config={"acks": "1"}),
    "java-4.1.1": Traffic(java="4.1.1"),
    "java-4.1.2": Traffic(java="4.1.2"),
    "through-proxy": Traffic(faults=()),
    "slow-broker": Traffic(faults=("--fault", "delay 20ms")),
}


def make(names: Collection[str]) -> None:
    """Record the scenes of these names, with one broker for all."""
    (FOLDER / "differences").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kw-differences-") as scratch:
        raw = Path(scratch) / "raw.pcap"
        with Cluster(Options(version="4.3.1"), folder=Path(scratch) / "cluster") as cluster:
            place = cluster.bootstrap()
            # Both captures of a pair through the proxy have the same address of the broker.
            base = find_free_ports(4)[0]
            # The coordinators of producer ids and of groups load their state with the first of them.
            warm = ("produce", {"topic": "warm", "config": {"enable.idempotence": "true"}})
            read = ("consume", {"topics": ["warm"], "group": "warm"})
            run("librdkafka", place, [("create", {"topics": {"orders": 1, "invoices": 1, "warm": 1}}), warm, read])
            # A broker's first seconds are slow: the first recording would differ from all others in that.
            _record(SCENES["steady"], place, base, raw)
            for name in names or SCENES:
                _record(SCENES[name], place, base, raw)
                count = ship(raw, FOLDER / "differences" / f"{name}.pcap.zst")
                sys.stderr.write(f"{name}: {count} packets\n")


def _record(traffic: Traffic, place: str, base: int, raw: Path) -> None:
    _limit_batches(place, traffic.largest)
    with ExitStack() as stack:
        seen = place
        if traffic.faults is not None:
            stack.enter_context(_proxy(place, base, traffic.faults, raw.parent))
            seen = f"127.0.0.1:{base}"
        port = int(seen.rpartition(":")[2])
        # A proxy has the first node's listener two above its own.
        ports = [port] if traffic.faults is None else [port, port + 2]
        recorder = Recorder(raw, ports)
        over = Event()
        works = [(_read_orders, traffic), *([(_ask_for_metadata, traffic)] if traffic.audit else [])]
        threads = [Thread(target=work, args=(seen, over, its)) for work, its in works]
        with recorder:
            for thread in threads:
                thread.start()
            _write_orders(seen, traffic)
            over.set()
            for thread in threads:
                thread.join()


def _write_orders(place: str, traffic: Traffic) -> None:
    if traffic.java:
        played = {"topics": [*traffic.topics], "rounds": _ROUNDS, "every": _EVERY_S, "config": {"linger.ms": "5"}}
        start(f"java-{traffic.java}", place, [("produce_in_turn", played)], {"client.id": "shop"}).finish()
        return
    settings = {"bootstrap.servers": place, "client.id": "shop", "linger.ms": "5", "message.timeout.ms": "5000"}
    producer = Producer({**settings, **traffic.config})
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for topic in traffic.topics:
            for each in range(4):
                producer.produce(topic, _ORDER % each, b"c-1")
        producer.poll(0)
        time.sleep(_EVERY_S)
    producer.flush(6)


def _read_orders(place: str, over: Event, traffic: Traffic) -> None:
    settings = {"group.id": traffic.group, "auto.offset.reset": "latest", "heartbeat.interval.ms": "500"}
    consumer = Consumer({"bootstrap.servers": place, "client.id": "billing", **settings})
    consumer.subscribe(["orders"])
    while not over.is_set():
        consumer.poll(0.1)
    consumer.close()


def _ask_for_metadata(place: str, over: Event, traffic: Traffic) -> None:
    client = _rd.AdminClient({"bootstrap.servers": place, "client.id": "audit"})
    wanted = _rd.ConfigResource(_rd.ConfigResource.Type.TOPIC, "orders")
    while not over.wait(0.2):
        client.list_topics("orders", timeout=10)
        if traffic.describe:
            for future in client.describe_configs([wanted]).values():
                future.result(timeout=10)


def _limit_batches(place: str, size: int) -> None:
    """Set how large a batch of `orders` may be."""
    client = _rd.AdminClient({"bootstrap.servers": place})
    most = _rd.ConfigEntry("max.message.bytes", str(size), incremental_operation=_rd.AlterConfigOpType.SET)
    wanted = _rd.ConfigResource(_rd.ConfigResource.Type.TOPIC, "orders", incremental_configs=[most])
    for future in client.incremental_alter_configs([wanted]).values():
        future.result(timeout=10)


@contextmanager
def _proxy(place: str, base: int, faults: tuple[str, ...], folder: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "kwcli", "proxy", "-b", place, "--port-base", str(base), "--no-log", *faults]
    proxy = Process(command, folder / "proxy.log")
    try:
        until(lambda: is_kafka_answering("127.0.0.1", base))
        yield
    finally:
        proxy.terminate()
        proxy.wait()


if __name__ == "__main__":
    make(sys.argv[1:])
