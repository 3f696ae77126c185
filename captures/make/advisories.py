"""advisories/FAMILY-RELEASE.pcap.zst: clients of releases that advisories name, and of releases that are mended.

`python -m captures.make.advisories [WORD…]`: those with one of the words in their names, else all. Each client writes
twenty records to `orders` and reads them in a group of its own, a program of Kafka Streams copies them, and a worker
of Kafka Connect starts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from captures.make.libraries.record import play_client
from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from kwcli.playground.java_process import JAVA_FLAGS, Process
from tests.broker.clients.session import run
from tests.broker.cluster import Cluster
from tests.broker.jars import member_jars
from tests.broker.options import Options
from tests.broker.recorder import Recorder

# The releases of kafka-clients that CVE-2026-35554 lies between, and two releases of each other library.
CLIENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "java": ("2.8.2", "3.9.1", "3.9.2", "4.1.1", "4.1.2"),
    "kafka-python": ("2.3.1", "2.3.2"),
    "librdkafka": ("1.9.2", "2.14.0"),
    "aiokafka": ("0.10.0", "0.13.0"),
    "kafkajs": ("2.0.2", "2.2.4"),
    "franz-go": ("1.15.4", "1.22.2"),
    "sarama": ("1.43.3", "1.46.3"),
    "streams": ("4.1.2", "4.2.2"),
    "connect": ("3.3.2", "3.9.2"),
}
_TOPIC: Final = "orders"
_STREAMS_S: Final = 6
_CONNECT_S: Final = 12


def make(words: Collection[str]) -> None:
    """Record the clients, each in a capture of its own, with one broker for all."""
    names = [f"{family}-{release}" for family, releases in CLIENTS.items() for release in releases]
    wanted = [name for name in names if not words or any(word in name for word in words)]
    (FOLDER / "advisories").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kw-advisories-") as scratch:
        raw = Path(scratch) / "raw.pcap"
        with Cluster(Options(version="4.3.1"), folder=Path(scratch) / "cluster") as cluster:
            place = cluster.bootstrap()
            run("librdkafka", place, [("create", {"topics": {_TOPIC: 1, "invoices": 1}})])
            for name in wanted:
                with Recorder(raw, [int(place.rpartition(":")[2])]):
                    said = _play(name, place, Path(scratch))
                count = ship(raw, FOLDER / "advisories" / f"{name}.pcap.zst")
                sys.stderr.write(f"{name}: {said}, {count} packets\n")


def _play(name: str, place: str, scratch: Path) -> str:
    """Run a client or a program; a group of its own, as a mended release does not go on where another one ended."""
    family, _, release = name.rpartition("-")
    if family in _PROGRAMS:
        return _PROGRAMS[family](release, place, scratch)
    return play_client(f"{family} {release}", place, _TOPIC, f"billing-{family}-{release}")


def _play_streams(release: str, place: str, _scratch: Path) -> str:
    copied = {
        "source": _TOPIC,
        "target": "invoices",
        "id": f"shop-{release}",
        "protocol": "classic",
        "seconds": _STREAMS_S,
    }
    return str(run(f"streams-{release}", place, [("copy", copied)]))


def _play_connect(release: str, place: str, scratch: Path) -> str:
    """A worker that begins its group and its three topics, without a connector."""
    settings = {
        "bootstrap.servers": place,
        "group.id": f"workers-{release}",
        "listeners": "http://127.0.0.1:0",
        **{f"{kind}.converter": "org.apache.kafka.connect.storage.StringConverter" for kind in ("key", "value")},
        **{f"{kind}.storage.topic": f"connect-{kind}s-{release}" for kind in ("config", "offset")},
        "status.storage.topic": f"connect-status-{release}",
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.partitions": "1" for kind in ("offset", "status")},
    }
    file = scratch / "worker.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    jars = ":".join(map(str, member_jars(release)))
    words = ["java", *JAVA_FLAGS, "-Xmx256m", "-cp", jars, "org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
    worker = Process(words, scratch / f"connect-{release}.log")
    try:
        time.sleep(_CONNECT_S)
        return "done" if worker.running else worker.tail()
    finally:
        worker.terminate()
        worker.wait()


_PROGRAMS: Final[Mapping[str, Callable[[str, str, Path], str]]] = {"streams": _play_streams, "connect": _play_connect}


if __name__ == "__main__":
    make(sys.argv[1:])
