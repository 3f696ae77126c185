"""GSSAPI through a proxy: by the proxy's own login, or by a client that knows the broker's name."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwcli.run_environment import Exit
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.proxy.hidden import port_base

pytestmark = [
    needs_brokers,
    pytest.mark.broker,
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("gssapi") is None, reason="needs the Python package gssapi"),
]

ROOT = Path(__file__).resolve().parents[2]
GSSAPI = ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=GSSAPI"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(Options(listeners=("SASL_PLAINTEXT", "PLAINTEXT"), kerberos=True)) as started:
        yield started


def surroundings(cluster: Cluster) -> dict[str, str]:
    """The environment of a process with the realm's configuration and without a ticket."""
    folder = cluster.realm.folder
    mine = {"KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5CCNAME": str(folder / "no-tickets")}
    return {
        **os.environ,
        **mine,
        "XDG_CONFIG_HOME": str(folder),
        "XDG_STATE_HOME": str(folder),
        "PYTHONPATH": str(ROOT),
    }


def alice(cluster: Cluster) -> list[str]:
    keytab = cluster.realm.folder / "alice.keytab"
    return [*GSSAPI, "-X", f"sasl.kerberos.keytab={keytab}", "-X", "sasl.kerberos.principal=alice@KW.TEST"]


class Proxy:
    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.log = log

    @property
    def said(self) -> str:
        return self.log.read_text()


@contextmanager
def proxy(cluster: Cluster, folder: Path, words: Sequence[str]) -> Iterator[Proxy]:
    """`kw proxy` in front of the broker with GSSAPI, advertised as localhost."""
    where = f"localhost:{cluster.nodes[0].ports['SASL_PLAINTEXT']}"
    made = Proxy(port_base(2), folder / "proxy.log")
    command = [sys.executable, "-m", "kwcli.main", "proxy", "-b", where, "--advertise", "localhost"]
    with made.log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--port-base", str(made.port), "-v", *words],
            stdout=subprocess.DEVNULL,
            stderr=file,
            env=surroundings(cluster),
        )
    try:
        deadline = time.monotonic() + 20
        while "ready " not in made.said:
            assert process.poll() is None, made.said
            assert time.monotonic() < deadline, made.said
            time.sleep(0.02)
        yield made
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0


def call(cluster: Cluster, where: Proxy, *words: str) -> tuple[int, str, str]:
    """`kw call DescribeCluster` through the proxy: exit code and both outputs."""
    command = [sys.executable, "-m", "kwcli.main", "call", "DescribeCluster", "-b", f"localhost:{where.port}", *words]
    done = subprocess.run(
        [*command, "-o", "ndjson"],
        env=surroundings(cluster),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_proxy_logs_in_for_a_client_that_knows_no_kerberos(cluster: Cluster, tmp_path: Path) -> None:
    with proxy(cluster, tmp_path, alice(cluster)) as where:
        code, out, err = call(cluster, where)
        assert (code, err) == (Exit.DONE, ""), where.said
        (broker,) = json.loads(out)["response"]["brokers"]
        assert (broker["host"], broker["port"]) == ("localhost", where.port + 1 + broker["broker_id"])


def test_a_client_logs_in_itself_where_the_brokers_name_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    with proxy(cluster, tmp_path, []) as where:
        code, out, err = call(cluster, where, *alice(cluster))
        assert (code, err) == (Exit.DONE, ""), where.said
        assert json.loads(out)["response"]["error_code"] == 0
        assert where.said.count("GSSAPI asks for a ticket for kafka/HOST") == 1


def test_a_key_that_is_of_nobody_ends_the_start(cluster: Cluster, tmp_path: Path) -> None:
    words = [*alice(cluster)[:-1], "sasl.kerberos.principal=mallory@KW.TEST"]
    where = f"localhost:{cluster.nodes[0].ports['SASL_PLAINTEXT']}"
    command = [sys.executable, "-m", "kwcli.main", "proxy", "-b", where, "--port-base", str(port_base(2)), *words]
    done = subprocess.run(
        command, env=surroundings(cluster), capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path
    )
    assert done.returncode == Exit.REFUSED, done.stderr
    assert "Kerberos says" in done.stderr
