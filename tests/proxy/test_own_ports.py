"""`kw proxy --run CMD` and `--port-base 0`: a command that is run with a proxy on ports of its own."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # as elsewhere
import pytest

from kwcli.net.config.client_config import ClientConfig
from kwcli.playground.run_playground import LibrdkafkaMock
from kwcli.proxy.proxy_server import Proxy
from kwcli.proxy.proxy_settings import ProxySettings, request_nodes_of_cluster
from kwcli.run_environment import Environment, Failure
from tests.cli.worlds import kw
from tests.exchanges.test_captures import SCHEMA
from tests.proxy.hidden import port_base

KW = f"{shlex.quote(sys.executable)} -m kwcli.main"
VARIABLES = ("KW_BOOTSTRAP_SERVER", "KAFKA_BOOTSTRAP_SERVERS")
SHOW = f"echo {' '.join('$' + name for name in VARIABLES)}"


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with LibrdkafkaMock(3) as cluster:
        yield cluster.bootstrap()


def proxy(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "kwcli.main", "proxy", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables, check=False)


def ready(text: str) -> list[str]:
    return re.findall(r"^ready (\S+)$", text, re.MULTILINE)


def test_a_command_is_run_with_the_proxy_and_ends_it(mock: str, tmp_path: Path) -> None:
    ran = proxy(tmp_path, "-b", mock, "--port-base", "0", "--no-log", "--run", f"{SHOW}; exit 7")
    (bootstrap,) = ready(ran.stderr)
    assert (ran.returncode, ran.stdout) == (7, f"{bootstrap} {bootstrap}\n")


def test_two_proxies_take_ports_of_their_own(mock: str, tmp_path: Path) -> None:
    inner = (
        f"{KW} proxy -b $KW_BOOTSTRAP_SERVER --port-base 0 --no-log --run '{KW} call Metadata -o json --api-version 8'"
    )
    ran = proxy(tmp_path, "-b", mock, "--port-base", "0", "--no-log", "--run", inner)
    assert ran.returncode == 0, ran.stderr
    outside, inside = (int(each.rpartition(":")[2]) for each in ready(ran.stderr))
    ports = {broker["port"] for broker in json.loads(ran.stdout)[0]["response"]["brokers"]}
    assert ports == {inside + 2, inside + 3, inside + 4}
    assert not ports & set(range(outside, outside + 5))


def test_programs_are_told_the_listeners(mock: str, tmp_path: Path) -> None:
    words = ("--port-base", "0", "-o", "ndjson", "--events", "--run", "exit 0")
    ran = proxy(tmp_path, "-b", mock, *words)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    (told,) = [row for row in rows if row["kind"] == "listeners"]
    assert [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(told)] == []
    (bootstrap,) = ready(ran.stderr)
    assert told["bootstrap"] == bootstrap
    base = int(bootstrap.rpartition(":")[2])
    assert [(row["node"], row["local"]) for row in told["listeners"]] == [
        ("boot", f"127.0.0.1:{base}"),
        *((str(node), f"127.0.0.1:{base + 1 + node}") for node in (1, 2, 3)),
    ]


def test_a_signal_is_for_the_command(mock: str, tmp_path: Path) -> None:
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); "
        "print(1, flush=True); time.sleep(50)"
    )
    command = [sys.executable, "-m", "kwcli.main", "proxy", "-b", mock, "--port-base", "0", "--no-log", "--run"]
    run = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(code)}"
    variables = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    child = subprocess.Popen([*command, run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables)
    assert child.stdout is not None
    assert child.stdout.readline() == b"1\n"
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 9
    child.stdout.close()


def test_a_playground_sets_both_variables() -> None:
    command = [sys.executable, "-m", "kwcli.main", "playground", "--mock", "--run", SHOW]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    (bootstrap,) = ready(ran.stderr)
    assert (ran.returncode, ran.stdout) == (0, f"{bootstrap} {bootstrap}\n")


def test_the_check_names_no_ports_that_are_chosen_later(mock: str, tmp_path: Path) -> None:
    ran = proxy(tmp_path, "-b", mock.partition(",")[0], "--port-base", "0", "--check", "-o", "ndjson")
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [row["text"] for row in rows if row["what"] == "ports"] == ["a free range is taken at the start"]
    clash = kw("proxy", "-b", "127.0.0.1:1", "--check", "--run", "true")
    assert (clash.code, clash.err) == (
        2,
        "kw: --run has no effect with --check: no proxy is started; see kw proxy --help\n",
    )


def test_a_range_is_free_as_a_whole(mock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port of a node that is taken moves the whole range."""
    env = Environment(
        stdin=io.BytesIO(), stdout=io.BytesIO(), stderr=io.BytesIO(), variables={"XDG_STATE_HOME": str(tmp_path)}
    )
    config = ClientConfig((("127.0.0.1", int(mock.split(",")[0].rpartition(":")[2])),))
    base = port_base(4)
    monkeypatch.setattr("kwcli.proxy.node_listeners.FIRST_BASE", base)
    monkeypatch.setattr("kwcli.proxy.node_listeners.LAST_BASE", base + 1000)
    made = Proxy(env, ProxySettings(config, 0), request_nodes_of_cluster(config))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", base + 1 + 3))
        made.bind_listeners()
    for _, sock in made._sockets:
        sock.close()
    assert [listener.address[1] for listener in made.listeners.all_listeners] == [
        base + 100 + more for more in (0, 2, 3, 4)
    ]
    monkeypatch.setattr("kwcli.proxy.node_listeners.LAST_BASE", base)
    with pytest.raises(Failure, match="no range of ports is free"):
        Proxy(env, ProxySettings(config, 0), request_nodes_of_cluster(config)).bind_listeners()
