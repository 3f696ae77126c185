"""Real clients over TLS, recorded: kw's rows agree with the broker's request log, by each source of key logs.

The keys are logged by an agent in the broker, and by each client that can log them, with the recipes of `kw help tls`
word for word.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from decoders.read_exchanges_of_captures import read_settled
from decoders.tls.decrypt_connection import NO_START, TlsConnection
from kwcli.playground.broker_properties import Listener
from kwcli.playground.client_configs import make_listener_configs
from tests.broker.clients.session import Step, run
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers, needs_program
from tests.broker.jars import Missing, tls_agent
from tests.broker.java8 import JPYPE, java_8, loader_8
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.broker.requestlog import read_logs
from tests.broker.wheels import java_home, unpacked
from tests.oracle.log_match import compare
from tests.oracle.log_records import compare_records
from tests.oracle.log_sniff import sniff
from tests.tls.conversations import keys_of

pytestmark = [pytest.mark.broker, pytest.mark.long, needs_brokers]

# SSL uses 1.3 and updates its keys all the time, SASL_SSL uses 1.2, MTLS 1.2 with CBC and a client certificate.
CBC: Final = ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA")
PROPERTIES: Final = {
    "listener.name.ssl.ssl.enabled.protocols": "TLSv1.3",
    "listener.name.sasl_ssl.ssl.enabled.protocols": "TLSv1.2",
    "listener.name.mtls.ssl.enabled.protocols": "TLSv1.2",
    "listener.name.mtls.ssl.cipher.suites": ",".join(CBC),
}
LISTENERS: Final[tuple[Listener, ...]] = ("SSL", "SASL_SSL", "MTLS")
KEY_LIMITS: Final = "jdk.tls.keyLimits=AES/GCM/NoPadding KeyUpdate 2^14\n"
# Clients with a recipe for their key log.
WRITES: Final = ("java", "python", "aiokafka", "go", "node")
CLIENTS: Final = (
    "java-8",
    "java-11",
    "java-17",
    "java-21",
    "java-25",
    "librdkafka",
    "rdkafka-1.9.2",
    "python",
    "aiokafka",
    "go",
)


class TappedCluster(Cluster):
    """A cluster whose brokers log the keys of all their connections, and change those of TLS 1.3 often."""

    @property
    def keys(self) -> Path:
        """The path of the key log."""
        return self.folder / "agent.keys"

    def _list_jvm_flags(self) -> list[str]:
        limits = self.folder / "key.limits"
        limits.write_text(KEY_LIMITS)
        return [
            *super()._list_jvm_flags(),
            f"-javaagent:{tls_agent()}={self.keys}",
            f"-Djava.security.properties={limits}",
        ]


@pytest.fixture(scope="module")
def cluster() -> Iterator[TappedCluster]:
    """One node with all TLS listeners."""
    options = Options(listeners=("PLAINTEXT", *LISTENERS), request_log=True, properties=PROPERTIES)
    with TappedCluster(options) as started:
        yield started


class Recorded(NamedTuple):
    """A session of one client: the capture, the client's key log, and the records that it read."""

    capture: Path
    keys: Path
    read: list[dict[str, Any]]


def settings(cluster: Cluster, client: str, listener: Listener) -> dict[str, str]:
    """The client's settings for a listener."""
    ways = make_listener_configs({listener: cluster.bootstrap(listener)}, cluster.folder / "tls")
    # SCRAM of librdkafka 1.9 fails with current brokers, in plain text too.
    mechanism = "PLAIN" if client.startswith("rdkafka") else "SCRAM-SHA-256"
    way = next(each for each in ways if each.mechanism in (None, mechanism))
    found = way.java_properties if client.startswith("java") else way.librdkafka_properties
    if "sasl.mechanisms" in found:
        found["sasl.mechanism"] = found.pop("sasl.mechanisms")
    return {name: value for name, value in found.items() if name != "bootstrap.servers"}


def steps(client: str, topic: str) -> list[Step]:
    """A client's steps: large records, so that keys change, and small ones."""
    plain = {"compression.type": "none"}
    large: Step = ("produce", {"topic": topic, "count": 30, "size": 3000, "config": plain})
    found: list[Step] = [large, ("produce", {"topic": topic, "count": 7, "first": 30})]
    found.append(("consume", {"topics": [topic], "group": f"of-{topic}", "count": 37}))
    return found if client.startswith("rdkafka") else [("create", {"topics": {topic: 1}}), *found]


def record(
    cluster: Cluster, client: str, listener: Listener, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Recorded:
    """Record a client at work, with the recipe for its key log."""
    capture, keys = folder / "tls.pcap", folder / "client.keys"
    properties = settings(cluster, client, listener)
    name, through = client, list[str]()
    if client.startswith("java"):
        try:
            if client == "java-8":
                through = loader_8()
                properties |= {"ssl.protocol": "TLSv1.3", "ssl.enabled.protocols": "TLSv1.3,TLSv1.2"}  # not by default
                monkeypatch.setenv("PYTHONPATH", str(unpacked(JPYPE)))
            home = java_8() if through else java_home(client.partition("-")[2])
        except Missing as missing:
            pytest.skip(str(missing))
        monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-javaagent:{tls_agent()}={keys}")
        # Kafka's clients of 4.x need Java 11 at least.
        name = "java-3.9.1" if client in ("java-8", "java-11") else "java-4.3.1"
    elif client == "node":
        monkeypatch.setenv("NODE_OPTIONS", f"--tls-keylog={keys}")
    elif client in WRITES:
        properties["ssl.keylog"] = str(keys)
    topic = f"{client}-{listener}"
    if client.startswith("rdkafka"):
        run("librdkafka", cluster.bootstrap(), [("create", {"topics": {topic: 1}})])
    with Recorder(capture, [cluster.nodes[0].ports[listener]]):
        results = run(name, cluster.bootstrap(listener), steps(client, topic), properties, through)
    return Recorded(capture, keys, results[-1]["result"])


def session_rows(capture: Path, keys: Path) -> tuple[list[dict[str, Any]], set[str]]:
    """The rows of a capture, and the addresses of connections from earlier clients, which the rows leave out."""
    rows, left = [], set()
    for row in sniff(capture, "--keylog", str(keys)):
        if row["kind"] == "skipped" and NO_START in row["detail"]:
            left |= {row["client"], row["broker"]}
        else:
            rows.append(row)
    return rows, left


def epochs(capture: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The generations of keys that the connections of a capture have used."""
    found: set[int] = set()
    entered = TlsConnection._enter_epoch

    def enter(side: Any, epoch: int) -> None:
        found.add(epoch)
        entered(side, epoch)

    monkeypatch.setattr(TlsConnection, "_enter_epoch", staticmethod(enter))
    assert list(read_settled(capture.read_bytes(), keys=keys_of(keys.read_bytes())))
    return found


# `.ci/full` tries the rest.
SOME: Final = {("java-21", "SSL"), ("librdkafka", "SASL_SSL"), ("go", "MTLS")}
PROGRAMS: Final = {"go": [needs_program("go")], "node": [needs_program("node")]}


def sessions() -> Iterator[Any]:
    """Clients with listeners, as parameters of tests."""
    for client in (*CLIENTS, "node"):
        for listener in LISTENERS:
            marks = [*PROGRAMS.get(client, []), *([] if (client, listener) in SOME else [pytest.mark.full])]
            yield pytest.param(client, listener, marks=marks)


@pytest.mark.parametrize(("client", "listener"), [*sessions()])
def test_the_rows_are_those_of_the_request_log(
    cluster: TappedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str, listener: Listener
) -> None:
    before = len(read_logs(cluster.request_logs))
    made = record(cluster, client, listener, tmp_path, monkeypatch)
    assert len(made.read) == 37
    place = cluster.bootstrap(listener)
    rows, left = session_rows(made.capture, cluster.keys)
    entries = read_logs(cluster.request_logs)[before:]
    logged = [entry for entry in entries if entry.broker == place and entry.client not in left]
    found = compare(rows, logged, sasl=[place] if listener == "SASL_SSL" else [])
    assert found.problems == []
    assert found.counts["exchanges"] > 10
    assert "only in the capture" not in found.explained
    if not client.startswith("rdkafka"):  # librdkafka_c.py gives no timestamps
        assert compare_records(rows, made.read)[0] == []
    tls = {(row["tls"]["version"], row["tls"]["client_subject"]) for row in rows}
    assert tls == {("1.3" if listener == "SSL" else "1.2", "CN=client" if listener == "MTLS" else None)}
    if client.startswith(WRITES):
        assert session_rows(made.capture, made.keys)[0] == rows
    if listener == "SSL":
        assert max(epochs(made.capture, cluster.keys, monkeypatch)) > 4  # keys were changed


@needs_program("editcap")
def test_a_capture_that_holds_its_secrets_is_the_same(
    cluster: TappedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets put into the capture by `editcap --inject-secrets`, as in kw help tls, decrypt it too."""
    made = record(cluster, "python", "SSL", tmp_path, monkeypatch)
    injected = tmp_path / "with-keys.pcapng"
    command = ["editcap", "--inject-secrets", f"tls,{made.keys}", str(made.capture), str(injected)]
    subprocess.run(command, check=True, capture_output=True)
    assert sniff(injected) == sniff(made.capture, "--keylog", str(made.keys)) != []


@needs_program("go")
def test_the_program_reads_what_clients_wrote(
    cluster: TappedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kw stats` decrypts as `kw sniff` does."""
    made = record(cluster, "go", "SASL_SSL", tmp_path, monkeypatch)
    command = [sys.executable, "-m", "kwcli.main", "stats", str(made.capture), "--keylog", str(made.keys), "-o", "json"]
    done = subprocess.run(command, check=True, capture_output=True)
    assert {row["api"] for row in json.loads(done.stdout)} >= {"Produce", "Fetch", "SaslAuthenticate"}
