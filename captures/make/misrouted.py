"""advisories/misrouted.pcap.zst: a batch that reaches another topic than it was made for, as with CVE-2026-35554.

A Java 3.9.1 producer writes four batches to `invoices` and then one to `orders`, through `kw proxy` with a script that
puts the last batch of `invoices` in the place of that for `orders`. What the proxy sends the broker is recorded. The
broker takes it, since the producer is new to that partition, and the producer learns of nothing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from kwcli.playground.free_ports import find_free_ports
from kwcli.playground.java_process import Process, is_kafka_answering
from tests.broker.clients.session import run
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.waiting import until

_SCRIPT: Final = """
from kwcli.proxy.scripts import on

last = []


@on("Produce")
def request(exchange):
    for topic in exchange.request["topic_data"]:
        part = topic["partition_data"][0]
        if topic["name"] == "orders":
            part["records"] = last[-1]
        last.append(bytes(part["records"]))
"""
_TOPICS: Final = ("invoices", "invoices", "invoices", "invoices", "orders", "invoices")


def make() -> None:
    """Record the producer behind the proxy."""
    with tempfile.TemporaryDirectory(prefix="kw-misrouted-") as scratch:
        folder = Path(scratch)
        (folder / "misroute.py").write_text(_SCRIPT)
        with Cluster(Options(version="4.3.1"), folder=folder / "cluster") as cluster:
            place = cluster.bootstrap()
            # The coordinator of producer ids loads its state with the first of them.
            warm = ("produce", {"topic": "warm", "config": {"enable.idempotence": "true"}})
            run("librdkafka", place, [("create", {"topics": {"orders": 1, "invoices": 1, "warm": 1}}), warm])
            (base,) = find_free_ports(1, "127.0.0.1")
            command = [
                "proxy",
                "-b",
                place,
                "--port-base",
                str(base),
                "--script",
                str(folder / "misroute.py"),
                "--no-log",
            ]
            with Recorder(folder / "raw.pcap", [int(place.rpartition(":")[2])]):
                proxy = Process([sys.executable, "-m", "kwcli", *command], folder / "proxy.log")
                try:
                    until(lambda: is_kafka_answering("127.0.0.1", base))
                    # Each is one batch.
                    words = {"topics": [*_TOPICS], "rounds": 1, "config": {"linger.ms": "1000"}}
                    played = ("produce_in_turn", words)
                    said = run("java-3.9.1", f"127.0.0.1:{base}", [played])
                finally:
                    proxy.terminate()
                    proxy.wait()
            sys.stderr.write(f"{said}\n{proxy.tail()}\n")
            ship(folder / "raw.pcap", FOLDER / "advisories" / "misrouted.pcap.zst")


if __name__ == "__main__":
    make()
