"""negative/*.pcap: real clients and servers of other protocols, which must not be taken for Kafka.

Needs redis-server and redis-cli, PostgreSQL's programs (run as the user postgres), nghttpd and nghttp, curl
and pymongo, besides what brokers need.
"""

from __future__ import annotations

import http.server
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymongo
from pymongo import pool_options

from captures.make.mongo_responder import Server
from captures.make.pcapfile import ship
from captures.make.stage import FOLDER
from kwcli.playground.free_ports import find_free_ports
from kwcli.playground.java_process import Process
from tests.broker.clients.session import Step, run
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.recorder import Recorder

NEGATIVE = FOLDER / "negative"
_POSTGRES = Path("/usr/lib/postgresql/15/bin")


def zookeeper(scratch: Path, file: Path) -> None:
    """A 3.9.1 broker registers with ZooKeeper and a topic is made."""
    cluster = Cluster(Options(version="3.9.1", mode="zookeeper"), folder=scratch / "cluster")
    with Recorder(file, [cluster.zookeeper_port]), cluster:
        run("librdkafka", cluster.bootstrap(), [("create", {"topics": {"orders": 1}})])


def tls(scratch: Path, file: Path) -> None:
    """Kafka itself, but inside TLS."""
    cluster = Cluster(Options(listeners=("PLAINTEXT", "SSL")), folder=scratch / "cluster")
    properties = {"security.protocol": "SSL", "ssl.ca.location": str(cluster.folder / "tls" / "ca.pem")}
    with cluster, Recorder(file, [cluster.nodes[0].ports["SSL"]]):
        steps: list[Step] = [("create", {"topics": {"orders": 1}}), ("produce", {"topic": "orders", "count": 5})]
        run("librdkafka", cluster.bootstrap("SSL"), steps, properties)


def http1(scratch: Path, file: Path) -> None:
    """Python's web server and curl: GET with keep-alive, POST, an error."""
    (scratch / "orders.json").write_text('{"orders": [1, 2, 3]}' * 200)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Quiet(*a, directory=str(scratch)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_port}"
    with Recorder(file, [server.server_port]):
        _quiet(["curl", "-s", f"{place}/orders.json", f"{place}/orders.json", f"{place}/nothing"])
        _quiet(["curl", "-s", "-d", "a=1", f"{place}/orders.json"])
    server.shutdown()


def http2(scratch: Path, file: Path) -> None:
    """nghttpd and nghttp without TLS."""
    (scratch / "orders.json").write_text('{"orders": [1, 2, 3]}' * 500)
    (port,) = find_free_ports(1)
    _serve(["nghttpd", "--no-tls", "-d", str(scratch), str(port)], port, scratch)
    with Recorder(file, [port]):
        _quiet(["nghttp", "-n", f"http://127.0.0.1:{port}/orders.json", f"http://127.0.0.1:{port}/nothing"])


def redis(scratch: Path, file: Path) -> None:
    """redis-server and redis-cli, RESP2 and RESP3."""
    (port,) = find_free_ports(1)
    _serve(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(scratch)], port, scratch
    )
    with Recorder(file, [port]):
        for words in (
            ["-3", "HELLO", "3"],
            ["SET", "order:1", "x" * 500],
            ["GET", "order:1"],
            ["LRANGE", "a", "0", "9"],
        ):
            _quiet(["redis-cli", "-p", str(port), *words])
        _quiet(["redis-cli", "-p", str(port), "-r", "20", "INCR", "count"])


def postgresql(scratch: Path, file: Path) -> None:
    """A PostgreSQL server and psql: simple queries, a big result, COPY, an error."""
    shutil.chown(scratch, "postgres")
    scratch.parent.chmod(0o755)
    (port,) = find_free_ports(1)
    become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    subprocess.run(
        [*become, str(_POSTGRES / "initdb"), "-D", str(scratch / "pg"), "-A", "trust"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    server = [*become, str(_POSTGRES / "postgres"), "-D", str(scratch / "pg"), "-p", str(port), "-k", str(scratch)]
    _serve(server, port, scratch)
    time.sleep(1)
    queries = "select 1; select * from generate_series(1, 300); copy (select 1) to stdout; select nothing;"
    client = [str(_POSTGRES / "psql"), "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-c"]
    with Recorder(file, [port]):
        _quiet([*client, queries])
        _quiet([*client, "show server_encoding"])


def mongodb(_scratch: Path, file: Path) -> None:
    """pymongo with the responder beside this file: handshake, inserts, queries."""
    # The client would tell the server which kernel this machine runs.
    pool_options._METADATA["os"] = {"type": "Linux"}
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    mongo: Any = pymongo.MongoClient("127.0.0.1", server.port)
    with Recorder(file, [server.port]), mongo:
        orders = mongo.shop.orders
        orders.insert_many([{"order": number, "note": "x" * 50} for number in range(50)])
        list(orders.find({"order": {"$gt": 10}}))
        orders.update_one({"order": 1}, {"$set": {"paid": True}})
    server.shutdown()


_ALL: Sequence[Callable[[Path, Path], None]] = (zookeeper, tls, http1, http2, redis, postgresql, mongodb)


def _serve(command: Sequence[str], port: int, scratch: Path) -> Process:
    server = Process(command, scratch / "output.log")
    deadline = time.monotonic() + 20
    while not _listens(port):
        if not server.running or time.monotonic() > deadline:
            raise RuntimeError(server.tail())
        time.sleep(0.1)
    return server


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _quiet(command: Sequence[str]) -> None:
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    """Make all captures."""
    NEGATIVE.mkdir(exist_ok=True)
    for play in _ALL:
        with tempfile.TemporaryDirectory(prefix="kw-negative-") as scratch:
            raw = Path(scratch) / "raw.pcap"
            (Path(scratch) / "work").mkdir()
            play(Path(scratch) / "work", raw)
            ship(raw, NEGATIVE / f"{play.__name__}.pcap")


if __name__ == "__main__":
    main()
