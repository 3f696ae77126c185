"""GSSAPI against a real broker with a realm, and without the Kerberos library.

Each login runs in a new process, because the Kerberos library reads the environment.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwcli.pip_extras import pip_command_for_extra
from kwcli.run_environment import Exit
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.cli.worlds import kw

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = importlib.util.find_spec("gssapi") is not None
LOGIN = ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=GSSAPI"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(Options(listeners=("SASL_PLAINTEXT", "PLAINTEXT"), kerberos=True)) as started:
        yield started


def call(cluster: Cluster, *words: str, conf: Path | None = None) -> tuple[int, str, str]:
    """`kw call DescribeCluster` in a process with the realm's configuration and without a ticket."""
    where = f"localhost:{cluster.nodes[0].ports['SASL_PLAINTEXT']}"
    folder = cluster.realm.folder
    surroundings = {
        **os.environ,
        "KRB5_CONFIG": str(conf or folder / "krb5.conf"),
        "KRB5CCNAME": str(folder / "no-tickets"),
        "XDG_CONFIG_HOME": str(folder),
    }
    command = [sys.executable, "-m", "kwcli.main", "call", "DescribeCluster", "-o", "ndjson", "-b", where, *LOGIN]
    command += words
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_without_its_library_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    done = kw("call", "ApiVersions", "-b", "localhost:1", *LOGIN)
    assert done.code == Exit.USAGE
    assert done.err.startswith("kw: GSSAPI needs the Python package gssapi and the system's Kerberos library (")
    assert done.err.endswith(f"): {pip_command_for_extra('kerberos')}\n")


@needs_brokers
@pytest.mark.broker
@pytest.mark.long
@pytest.mark.skipif(not INSTALLED, reason="needs the Python package gssapi")
class TestRealm:
    """Logins with the Kerberos package installed (the extra `kerberos`)."""

    def keytab(self, cluster: Cluster) -> str:
        return str(cluster.realm.folder / "alice.keytab")

    @pytest.mark.parametrize("spelling", ["librdkafka", "java"])
    def test_a_login_by_keytab(self, cluster: Cluster, spelling: str) -> None:
        told = {
            "librdkafka": [
                *("-X", f"sasl.kerberos.keytab={self.keytab(cluster)}"),
                *("-X", "sasl.kerberos.principal=alice@KW.TEST", "-X", "sasl.kerberos.service.name=kafka"),
            ],
            "java": ["-X", f"sasl.jaas.config={cluster.realm.login('alice')}"],
        }
        code, out, err = call(cluster, *told[spelling])
        assert (code, err) == (Exit.DONE, "")
        assert json.loads(out)["response"]["error_code"] == 0

    def test_without_a_ticket(self, cluster: Cluster) -> None:
        code, out, err = call(cluster)
        assert (code, out) == (Exit.REFUSED, "")
        assert "could not be logged in to by GSSAPI: Kerberos says: No Kerberos credentials available" in err
        assert err.endswith(
            "; get a ticket by kinit, or name -X sasl.kerberos.keytab=FILE and sasl.kerberos.principal\n"
        )

    def test_a_service_of_another_name(self, cluster: Cluster) -> None:
        told = ["-X", f"sasl.jaas.config={cluster.realm.login('alice')}", "-X", "sasl.kerberos.service.name=nope"]
        code, out, err = call(cluster, *told)
        assert (code, out) == (Exit.REFUSED, "")
        assert "Kerberos says: Server nope/localhost@KW.TEST not found in Kerberos database" in err
        assert "; check sasl.kerberos.service.name" in err

    def test_a_silent_kdc_is_given_up_in_time(self, cluster: Cluster, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            text = (cluster.realm.folder / "krb5.conf").read_text()
            port = next(line.split(":")[1] for line in text.splitlines() if "kdc = localhost:" in line)
            (tmp_path / "krb5.conf").write_text(text.replace(f":{port}", f":{listener.getsockname()[1]}"))
            begun = time.monotonic()
            told = ["-X", f"sasl.jaas.config={cluster.realm.login('alice')}", "--timeout", "1s"]
            code, out, err = call(cluster, *told, conf=tmp_path / "krb5.conf")
        assert (code, out) == (Exit.TIMEOUT, "")
        assert "the Kerberos library (is the KDC silent?) did not answer within 1 s" in err
        assert time.monotonic() - begun < 10
