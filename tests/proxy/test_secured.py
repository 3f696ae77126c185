"""The proxy at a broker's secured listeners: plain and TLS clients, the proxy's own logins and their renewal."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

import decoders
from kwcli.playground.free_ports import find_free_ports
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import PASSWORDS, Options
from tests.proxy.hidden import port_base
from tests.proxy.stage import request

pytestmark = [needs_brokers, pytest.mark.broker, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]
# The lifetime of a login; the proxy renews it after 85 % of that.
LIFETIME_S = 3.0
# At least the highest id of a node in the cluster.
NODES = 4
LISTENERS = ("PLAINTEXT", "SSL", "MTLS", "SASL_PLAINTEXT", "SASL_SSL")
LOGIN = ["-X", "sasl.username=alice", "-X", f"sasl.password={PASSWORDS['alice']}"]


class World(NamedTuple):
    """A cluster, the folder with its certificates, and the proxy's environment."""

    cluster: Cluster
    files: Path
    variables: dict[str, str]

    @property
    def ca(self) -> Path:
        """The certificate by which clients trust the proxy."""
        return Path(self.variables["XDG_STATE_HOME"]) / "kw" / "proxy" / "ca.pem"

    def words(self, listener: str, mechanism: str = "PLAIN") -> list[str]:
        """The options for a listener."""
        protocol = {"MTLS": "SSL"}.get(listener, listener)
        words = ["-b", self.cluster.bootstrap(listener), "-X", f"security.protocol={protocol}"]
        if "SSL" in protocol:
            words += ["-X", f"ssl.ca.location={self.files / 'ca.pem'}"]
        if listener == "MTLS":
            words += ["-X", f"ssl.keystore.location={self.files / 'client.pem'}"]
        if "SASL" in protocol:
            words += ["-X", f"sasl.mechanism={mechanism}", *LOGIN]
        return words


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    lifetime = {"connections.max.reauth.ms": str(int(LIFETIME_S * 1000))}
    options = Options(listeners=LISTENERS, class_archive=True, properties=lifetime)  # type: ignore[arg-type]  # they are
    state = tmp_path_factory.mktemp("state")
    with Cluster(options) as cluster:
        files = next(cluster.folder.rglob("ca.pem")).parent
        variables = {**os.environ, "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state), "PYTHONPATH": str(ROOT)}
        yield World(cluster, files, variables)


class Proxy(NamedTuple):
    bootstrap: str
    log: Path
    metrics: int

    @property
    def said(self) -> str:
        return self.log.read_text()

    def after(self, text: str) -> str:
        """The proxy's messages, once `text` is in them: a client may end before the proxy tells the reason."""
        deadline = time.monotonic() + 20
        while text not in self.said and time.monotonic() < deadline:
            time.sleep(0.02)
        assert text in self.said
        return self.said


@contextmanager
def proxy(world: World, folder: Path, words: Sequence[str]) -> Iterator[Proxy]:
    """`kw proxy`, ended by SIGTERM after the block."""
    metrics, base, *_ = find_free_ports(NODES + 3)
    log = folder / f"proxy-{base}.log"
    command = [sys.executable, "-m", "kwcli.main", "proxy", "--port-base", str(base), "--metrics", str(metrics), *words]
    with log.open("wb") as file, log.with_suffix(".rows").open("wb") as rows:
        process = subprocess.Popen(command, stdout=rows, stderr=file, env=world.variables)
    try:
        deadline = time.monotonic() + 30
        while "ready " not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        yield Proxy(f"127.0.0.1:{base}", log, metrics)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def call(world: World, where: Proxy, words: Sequence[str] = ()) -> tuple[int, str, str]:
    """`kw call Metadata` through the proxy: exit code and both outputs."""
    command = [sys.executable, "-m", "kwcli.main", "call", "Metadata", "-b", where.bootstrap, "-o", "ndjson", *words]
    done = subprocess.run(command, capture_output=True, timeout=60, env=world.variables, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def brokers(world: World, where: Proxy, words: Sequence[str] = ()) -> list[str]:
    """The brokers' addresses that a client gets."""
    code, out, err = call(world, where, words)
    assert code == 0, err + where.said
    return [f"{each['host']}:{each['port']}" for each in orjson.loads(out)["response"]["brokers"]]


@pytest.mark.parametrize(
    ("listener", "mechanism", "tls_in"),
    [
        ("PLAINTEXT", "", True),
        ("SSL", "", False),
        ("SSL", "", True),
        ("MTLS", "", False),
        ("SASL_PLAINTEXT", "PLAIN", False),
        ("SASL_SSL", "SCRAM-SHA-512", True),
    ],
)
def test_clients_reach_a_secured_cluster(
    world: World, tmp_path: Path, listener: str, mechanism: str, tls_in: bool
) -> None:
    with proxy(world, tmp_path, [*world.words(listener, mechanism), *(["--tls-in"] if tls_in else [])]) as where:
        host, port = where.bootstrap.split(":")
        words = ["-X", "security.protocol=SSL", "-X", f"ssl.ca.location={world.ca}"] if tls_in else []
        assert brokers(world, where, words) == [f"{host}:{int(port) + 2}"]
        if tls_in:
            assert f"ssl.ca.location={world.ca}" in where.said


def test_a_login_is_renewed_and_nobody_notices(world: World, tmp_path: Path) -> None:
    with proxy(world, tmp_path, [*world.words("SASL_PLAINTEXT"), "-v"]) as where:
        code, out, err = call(world, where, ["--repeat", "8", "--interval", f"{LIFETIME_S / 4}s"])
        assert code == 0, err
        assert [orjson.loads(line)["status"] for line in out.splitlines()] == ["complete"] * 8
        assert where.said.count(f"to {world.cluster.bootstrap('SASL_PLAINTEXT')}") == 1


def test_clients_log_in_by_themselves_through_the_proxy(world: World, tmp_path: Path) -> None:
    with proxy(world, tmp_path, ["-b", world.cluster.bootstrap("SASL_PLAINTEXT")]) as where:
        words = ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=SCRAM-SHA-256", *LOGIN]
        host, port = where.bootstrap.split(":")
        assert brokers(world, where, words) == [f"{host}:{int(port) + 2}"]


def test_the_log_says_who_logged_in(world: World, tmp_path: Path) -> None:
    with proxy(world, tmp_path, ["-b", world.cluster.bootstrap("SASL_PLAINTEXT"), "-o", "ndjson"]) as where:
        words = ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=SCRAM-SHA-512", "-X"]
        assert call(world, where, [*words, LOGIN[1], "-X", "sasl.password=not-the-one"])[0] == 6
        assert call(world, where, [*words, *LOGIN[1:]])[0] == 0
    text = where.log.with_suffix(".rows").read_text()
    assert PASSWORDS["alice"] not in text
    assert "not-the-one" not in text
    rows = [orjson.loads(line) for line in text.splitlines()]
    refused, taken = ([row for row in rows if row["connection"] == number] for number in (1, 2))
    told = ("api", "user", "mechanism")
    login = [("SaslHandshake", None, "SCRAM-SHA-512"), *[("SaslAuthenticate", "alice", "SCRAM-SHA-512")] * 2]
    found = [tuple(row.get(key) for key in told) for row in refused if row["api"] != "ApiVersions"]
    assert found == login
    assert refused[-1]["errors"][0]["name"] == "SASL_AUTHENTICATION_FAILED"
    assert refused[-1]["sasl"] == {"step": "client-final"}
    found = [tuple(row.get(key) for key in told) for row in taken if row["api"] != "ApiVersions"]
    assert found == [*login, ("Metadata", "alice", "SCRAM-SHA-512")]
    assert taken[-1]["node"]["cluster"]


def test_a_client_that_logs_in_where_the_proxy_does(world: World, tmp_path: Path) -> None:
    with proxy(world, tmp_path, world.words("SASL_PLAINTEXT")) as where:
        words = ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN", *LOGIN]
        code, _, err = call(world, where, words)
        assert code == 6
        assert "does not authenticate on this listener; try -X security.protocol=PLAINTEXT" in err
        said = "begins SASL itself, and was answered ILLEGAL_SASL_STATE"
        assert where.after(said).count(said) == 1
        assert brokers(world, where)


def test_clients_without_tls_or_trust_are_explained(world: World, tmp_path: Path) -> None:
    with proxy(world, tmp_path, [*world.words("SSL"), "--tls-in"]) as where:
        assert call(world, where)[0] == 5
        words = ["-X", "security.protocol=SSL", "-X", f"ssl.ca.location={world.files / 'ca.pem'}"]
        assert call(world, where, words)[0] == 5
        assert call(world, where)[0] == 5
        where.after("refused: the client does not speak TLS, which --tls-in requires")
        said = f"refused: the client does not trust the proxy's certificate; give it ssl.ca.location={world.ca}"
        assert where.after(said).count("the client does not speak TLS") == 1


@pytest.mark.parametrize("listener", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_client_that_has_said_all_gets_its_answers(world: World, tmp_path: Path, listener: str) -> None:
    with proxy(world, tmp_path, world.words(listener)) as where:
        host, port = where.bootstrap.split(":")
        with socket.create_connection((host, int(port)), 10) as link:
            link.sendall(b"".join(request(18, 0, id=number) for number in range(3)))
            link.shutdown(socket.SHUT_WR)
            answer = b""
            while data := link.recv(65536):
                answer += data
    numbers = []
    while answer:
        size = 4 + int.from_bytes(answer[:4], "big")
        numbers.append(decoders.decode_response(answer[4:size], 18, 0).correlation_id)
        answer = answer[size:]
    assert numbers == [0, 1, 2]


def test_clients_that_show_a_certificate(world: World, tmp_path: Path) -> None:
    ca = str(world.files / "ca.pem")
    with proxy(world, tmp_path, [*world.words("SASL_PLAINTEXT"), "--tls-client-ca", ca]) as where:
        words = ["-X", "security.protocol=SSL", "-X", f"ssl.ca.location={world.ca}"]
        assert call(world, where, words)[0] == 5
        where.after("refused: the client shows no certificate, which --tls-client-ca asks for")
        assert brokers(world, where, [*words, "-X", f"ssl.keystore.location={world.files / 'client.pem'}"])


def test_what_passes_is_told_to_prometheus(world: World, tmp_path: Path) -> None:
    with proxy(world, tmp_path, [*world.words("SASL_PLAINTEXT"), "--tls-in"]) as where:
        trust = ["-X", "security.protocol=SSL", "-X", f"ssl.ca.location={world.ca}"]
        assert call(world, where, ["topics[].name=no-such", "allow_auto_topic_creation:=false", *trust])[0] == 1
        assert call(world, where)[0] == 5
        found: dict[tuple[str, str], float] = {}
        told = [("kw_proxy_errors_total", "Metadata"), ("kw_proxy_handshakes_failed_total", "")]
        deadline = time.monotonic() + 20
        while not (all(map(found.get, told)) and not found["kw_proxy_connections_open", ""]):
            assert time.monotonic() < deadline, found
            with urllib.request.urlopen(f"http://127.0.0.1:{where.metrics}/metrics", timeout=20) as answer:
                families = list(text_string_to_metric_families(answer.read().decode()))
            samples = [sample for family in families for sample in family.samples]
            found = {(each.name, each.labels.get("api", "")): each.value for each in samples if "le" not in each.labels}
    assert found["kw_proxy_exchanges_total", "Metadata"] >= 1
    assert found["kw_proxy_exchanges_total", "ApiVersions"] >= 1
    assert found["kw_proxy_errors_total", "Metadata"] == 1
    assert found["kw_proxy_rewritten_total", ""] >= 1
    assert found["kw_proxy_handshakes_failed_total", ""] >= 1  # `kw call` tries again to find the reason
    assert found["kw_proxy_connections_open", ""] == 0
    assert ("kw_proxy_exchanges_total", "SaslHandshake") not in found


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--tls-in"], 0, "takes the login by PLAIN"),
        (["-X", "sasl.password=wrong"], 6, "fail  upstream      "),
        (["--tls-cert", "missing.pem"], 4, "fail  certificate   key store missing.pem cannot be read"),
    ],
)
def test_a_look_before(world: World, words: list[str], code: int, text: str) -> None:
    command = [sys.executable, "-m", "kwcli.main", "proxy", "--check", "--port-base", str(port_base(NODES))]
    command += [*world.words("SASL_PLAINTEXT"), *words]
    done = subprocess.run(command, capture_output=True, timeout=60, env=world.variables, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert text in done.stdout.decode()


@pytest.mark.parametrize(("listener", "protocol"), [("SSL", "PLAINTEXT"), ("PLAINTEXT", "SSL")])
def test_tls_where_the_broker_speaks_none_and_the_reverse(world: World, listener: str, protocol: str) -> None:
    command = [sys.executable, "-m", "kwcli.main", "proxy", "--port-base", str(port_base(NODES))]
    command += ["-b", world.cluster.bootstrap(listener), "-X", f"security.protocol={protocol}"]
    done = subprocess.run(command, capture_output=True, timeout=30, env=world.variables, check=False)
    assert (done.returncode, done.stderr.decode().count("\n")) == (5, 1), done.stderr
    assert "TLS" in done.stderr.decode()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["-X", "sasl.password=wrong"], 6, "refused the PLAIN credentials"),
        (
            ["--bind", "0.0.0.0", "--advertise", "localhost"],
            2,
            "would let anyone who reaches it act on the cluster as a",
        ),
    ],
)
def test_ways_in_that_do_not_work(world: World, words: list[str], code: int, text: str) -> None:
    command = [sys.executable, "-m", "kwcli.main", "proxy", "--port-base", str(port_base(NODES))]
    command += [*world.words("SASL_PLAINTEXT"), *words]
    done = subprocess.run(command, capture_output=True, timeout=60, env=world.variables, check=False)
    assert (done.returncode, done.stderr.decode().count("\n")) == (code, 1), done.stderr
    assert text in done.stderr.decode()
