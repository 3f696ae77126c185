"""Problems found by --check: brokers newer than the table of rewrites, ports in use, unsuitable certificates."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import decoders
from kwcli.net.config.client_config import ClientConfig, SaslSettings, TlsSettings
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.proxy.check_without_starting import CheckOptions, _describe_protocol, find_check_lines, run_check
from kwcli.proxy.tls.listener_tls_contexts import Inbound, TlsIn
from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed, unheard_address
from tests.proxy.hidden import port_base

NODES = 4  # at least the highest id of a node here
KNOWN = {name.key: (name.versions.low, name.versions.high) for name in map(decoders.api, range(4))}
OFFERED: Mapping[int, tuple[int, int]] = {**KNOWN, 18: (0, 4)}


class Broker(Responder):
    """A broker that is the whole cluster, at `127.0.0.1`."""

    def __init__(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        self.ranges = ranges
        super().__init__(each_request(self.answer))

    def answer(self, request: bytes) -> bytes:
        key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
        host, port = self.address
        value: dict[str, Any] = offers(self.ranges)
        if key == 3:
            value = {"cluster_id": "here", "brokers": [{"node_id": 2, "host": host, "port": port}], "controller_id": 2}
        number = int.from_bytes(request[4:8], "big")
        return framed(decoders.encode_response(key, version, value, correlation_id=number))


def options(address: tuple[str, int], base: int, **more: Any) -> CheckOptions:
    config = ClientConfig((address,), timeout_s=60.0, connect_timeout_s=60.0)
    return CheckOptions(config, base, "127.0.0.1", "127.0.0.1", **more)


@pytest.fixture
def state(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path)}


def test_all_is_well(state: dict[str, str]) -> None:
    base = port_base(NODES)
    with Broker(OFFERED) as broker:
        env = world(variables=state)
        code = run_check(env, options(broker.address, base, tls=lambda: Inbound(TlsIn(), ["127.0.0.1"], state)))
        where = f"127.0.0.1:{broker.address[1]}"
    assert code == 0
    assert env.stdout.getvalue().decode().splitlines() == [  # type: ignore[attr-defined]  # it is in memory
        f"ok    certificate   made for 127.0.0.1; clients trust {state['XDG_STATE_HOME']}/kw/proxy/ca.pem",
        f"ok    upstream      {where} answers in plaintext",
        f"ok    versions      {where} speaks 5 APIs, all known to kw",
        "ok    cluster       1 broker, cluster id here",
        f"ok    node 2        {where} is the bootstrap broker",
        f"ok    ports         free on 127.0.0.1: {base}, {base + 3}",
    ]


@pytest.mark.parametrize("output", ["ndjson", "json"])
def test_findings_for_programs(output: str) -> None:
    base = port_base(NODES)
    with Broker({**OFFERED, 999: (0, 0)}) as broker:
        done = kw("proxy", "-b", f"127.0.0.1:{broker.address[1]}", "--port-base", str(base), "--check", "-o", output)
    told = json.loads(done.out) if output == "json" else [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, done.err) == (Exit.FINDINGS, "")
    assert [(each["what"], each["ok"], each["code"]) for each in told] == [
        ("upstream", True, 0),
        ("versions", False, 4),
        ("cluster", True, 0),
        ("node 2", True, 0),
        ("ports", True, 0),
    ]
    assert all(set(each) == {"kind", "what", "ok", "code", "text"} for each in told)
    assert told[1]["text"].endswith("clients will bypass the proxy")


def test_findings_are_no_table() -> None:
    done = kw("proxy", "-b", "127.0.0.1:1", "--check", "-o", "csv")
    assert (done.code, done.out) == (Exit.USAGE, "")
    assert done.err == "kw: --check prints text, ndjson or json, not csv\n"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({3: (0, 99)}, "Metadata 99 is newer than kw can rewrite: the proxy offers it to clients up to 13"),
        ({60: (50, 99)}, "DescribeCluster 99 is newer than kw can rewrite: the proxy offers it to clients not at all"),
        ({999: (0, 0)}, "API 999 is not known to kw: if its answers name brokers, clients will bypass the proxy"),
        ({11: (0, 77)}, "JoinGroup 77 is newer than kw knows (9): if its answers name brokers"),
    ],
)
def test_brokers_that_are_newer(state: dict[str, str], more: dict[int, tuple[int, int]], text: str) -> None:
    with Broker({**OFFERED, **more}) as broker:
        found = list(find_check_lines(state, options(broker.address, port_base(NODES))))
    bad = [finding for finding in found if finding.code]
    assert [finding.code for finding in bad] == [Exit.FINDINGS]
    assert text in bad[0].text


def test_a_port_that_is_taken(state: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, Broker(OFFERED) as broker:
        port = taken.getsockname()[1]
        env = world(variables=state)
        assert run_check(env, options(broker.address, port)) == Exit.FINDINGS
    said = env.stdout.getvalue().decode()  # type: ignore[attr-defined]  # it is in memory
    assert f"fail  ports         for bootstrap: 127.0.0.1:{port} is taken by another program" in said


def test_nobody_is_there(state: dict[str, str]) -> None:
    env = world(variables=state)
    with unheard_address() as address:
        assert run_check(env, options(address, port_base(NODES))) == Exit.UNREACHABLE
    assert f"fail  upstream      127.0.0.1:{address[1]} refused the connection" in env.stdout.getvalue().decode()  # type: ignore[attr-defined]  # it is in memory


@pytest.mark.parametrize(
    ("name", "advertise", "code", "text"),
    [
        ("broker.pem", "localhost", 0, "given, good for localhost until 20"),
        ("broker.pem", "::1", 0, "given, good for ::1 until 20"),
        ("broker.pem", "proxy.example", 4, "it is for localhost, 127.0.0.1, ::1, not for proxy.example"),
        ("missing.pem", "localhost", 4, "missing.pem cannot be read: No such file"),
    ],
)
def test_given_certificates(
    state: dict[str, str], tmp_path: Path, name: str, advertise: str, code: int, text: str
) -> None:
    write_tls_certificates(tmp_path)
    asked = TlsIn(str(tmp_path / name))
    with Broker(OFFERED) as broker:
        settings = options(broker.address, port_base(NODES), tls=lambda: Inbound(asked, [advertise], state))
        first, *_ = list(find_check_lines(state, settings._replace(advertise=advertise)))
    assert (first.what, first.code) == ("certificate", code)
    assert text in first.text


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({}, " in plaintext"),
        ({"protocol": "SSL"}, " over TLS"),
        ({"protocol": "SSL", "tls": TlsSettings()}, " over TLS"),
        ({"protocol": "SSL", "tls": TlsSettings(verify=False)}, " over TLS, its certificate not verified"),
        (
            {"protocol": "SASL_SSL", "tls": TlsSettings(verify=False), "sasl": SaslSettings("PLAIN")},
            " over TLS, its certificate not verified and takes the login by PLAIN",
        ),
        ({"protocol": "SASL_PLAINTEXT", "sasl": SaslSettings("PLAIN")}, " takes the login by PLAIN"),
    ],
)
def test_the_way_to_the_cluster_in_words(config: dict[str, Any], text: str) -> None:
    """Whether somebody between could read along is not left unsaid."""
    assert _describe_protocol(ClientConfig((("127.0.0.1", 1),), **config)) == text
