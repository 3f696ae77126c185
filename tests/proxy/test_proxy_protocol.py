"""PROXY heads in the live proxy: believed from listed networks alone, and sent to brokers."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.limits import LIVE_PROXY_HEAD_MAX
from decoders.protocols.make_proxy_head import make_proxy_head
from decoders.protocols.read_connection_prefix import least_size_of_proxy_head, read_proxy_head
from kwcli.net.config.client_config import KeyStoreFile, TlsSettings
from kwcli.playground.run_playground import LibrdkafkaMock
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.proxy.receive_proxy_heads import HeadReceiver
from kwcli.proxy.tls.listener_tls_contexts import Inbound, TlsIn
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.exchanges.prefixes import FOUR, PREFIXES, PROXY_1, TLVS, proxy_2
from tests.net.tls_server import server_context
from tests.proxy.running import ANSWERS, ASKED, WAIT_S, Client, echo, frame, in_loop, rest, running, sooner_or_later
from tests.proxy.test_logged import SCHEMA, Logged

LOCALS: Final = HeadReceiver([ip_network("127.0.0.0/8"), ip_network("::1")])
OTHERS: Final = HeadReceiver([ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")])
CLIENT: Final = "203.0.113.7:55555"
HEADS: Final = {name: (turns[0][1], client) for name, (turns, client, _, said) in PREFIXES.items() if "PROXY" in said}
HEADS.pop("two heads", None)


# -- heads that come ---------------------------------------------------------------------------------------------------


async def speak(client: Client, *pieces: bytes) -> None:
    """Send bytes in pieces that come one by one."""
    for piece in pieces:
        client[1].write(piece)
        await client[1].drain()
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("name", [name for name in HEADS if " > " not in PREFIXES[name][3]])
@in_loop
async def test_a_head_names_the_client(name: str) -> None:
    data, named = HEADS[name]
    async with running(echo, heads=LOCALS, verbose=1) as proxy:
        client = await proxy.connect()
        await speak(client, data + ASKED[0])
        assert await frame(client[0]) == ANSWERS[0]
        (relay,) = proxy.proxy.relays.values()
        sender = "{}:{}".format(*client[1].get_extra_info("sockname"))
        assert (relay.peer, relay.via_address) == ((named, sender) if named else (sender, None))
        assert f"connection 1 from {named} by {sender}" in proxy.said if named else f"1 from {sender} (" in proxy.said


@pytest.mark.parametrize("data", [PROXY_1, proxy_2(1, 0x11, FOUR, TLVS)])
@in_loop
async def test_a_head_that_comes_byte_by_byte(data: bytes) -> None:
    async with running(echo, heads=LOCALS) as proxy:
        client = await proxy.connect()
        await speak(client, *(data[at : at + 1] for at in range(len(data))), ASKED[0][:3], ASKED[0][3:])
        assert await frame(client[0]) == ANSWERS[0]
        (relay,) = proxy.proxy.relays.values()
        assert relay.peer == CLIENT


@in_loop
async def test_heads_of_other_networks_are_not_believed() -> None:
    async with running(echo, heads=OTHERS) as proxy:
        client = await proxy.connect()
        await speak(client, PROXY_1 + ASKED[0])
        assert await rest(client[0]) == b""
        await proxy.until("the client sent no Kafka request")
        assert CLIENT not in proxy.said.replace("203.0.113.7 10.0.0.2 55555", "")
        other = await proxy.connect()
        await speak(other, ASKED[0])
        assert await frame(other[0]) == ANSWERS[0]


@in_loop
async def test_without_the_option_no_head_is_believed() -> None:
    async with running(echo) as proxy:
        client = await proxy.connect()
        await speak(client, PROXY_1 + ASKED[0])
        assert await rest(client[0]) == b""
        await proxy.until("the client sent no Kafka request")


REFUSED: Final = {
    "no head": ((ASKED[0],), "it sent no PROXY head; --proxy-protocol expects one from its network"),
    "SOCKS": ((b"\x05\x01\x00",), "it sent no PROXY head"),
    "another version": (
        (proxy_2(1, 0x11, FOUR)[:12] + b"\x31" + bytes(20),),
        "it sent a PROXY head of another version",
    ),
    "no address": ((b"PROXY TCP4 kafka1 10.0.0.2 1 2\r\n",), "it sent a PROXY head with something else for an address"),
    "no line end": ((b"PROXY TCP4 " + b"1" * 200,), "it sent a PROXY head without a line end"),
    "too long": (
        (proxy_2(1, 0x11, FOUR, bytes(LIVE_PROXY_HEAD_MAX)),),
        f"its PROXY head has {LIVE_PROXY_HEAD_MAX + 28:,} bytes, more than {LIVE_PROXY_HEAD_MAX:,}",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@in_loop
async def test_what_is_refused(name: str) -> None:
    pieces, said = REFUSED[name]
    async with running(echo, heads=LOCALS) as proxy:
        client = await proxy.connect()
        await speak(client, *pieces)
        assert await rest(client[0]) == b""
        await proxy.until(f"refused: {said}")
        assert proxy.proxy.relays == {}
        await speak(again := await proxy.connect(), PROXY_1 + ASKED[0])
        assert await frame(again[0]) == ANSWERS[0]


@in_loop
async def test_a_head_that_is_cut_and_one_that_does_not_come() -> None:
    heads = HeadReceiver([ip_network("127.0.0.0/8")], timeout_s=60.0)
    async with running(echo, heads=heads) as proxy:
        client = await proxy.connect()
        await speak(client, PROXY_1[:20])
        client[1].write_eof()
        await proxy.until("refused: it closed the connection inside its PROXY head")
        heads._timeout_s = 0.2
        slow = await proxy.connect()
        await speak(slow, PROXY_1[:20])
        assert await rest(slow[0]) == b""
        await proxy.until("refused: it sent no whole PROXY head within 0.2 s")


@in_loop
async def test_a_health_check_without_bytes_is_no_fault() -> None:
    async with running(echo, heads=LOCALS) as proxy:
        client = await proxy.connect()
        client[1].write_eof()
        assert await rest(client[0]) == b""
        assert "refused" not in proxy.said


def ask_over_tls(port: int, context: ssl.SSLContext, head: bytes) -> bytes:
    """The answer to a request that is sent over TLS, behind a head."""
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as link:
        link.sendall(head)
        with context.wrap_socket(link, server_hostname="127.0.0.1") as secured:
            secured.sendall(ASKED[0])
            return secured.recv(1000)


@in_loop
async def test_a_head_before_tls(tmp_path_factory: pytest.TempPathFactory) -> None:
    tls = Inbound(TlsIn(), ["127.0.0.1"], {"XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))})
    context = ssl.create_default_context(cafile=str(tls.trust_file))
    async with running(echo, heads=LOCALS, tls=tls, verbose=1) as proxy:
        assert await asyncio.to_thread(ask_over_tls, proxy.base, context, proxy_2(1, 0x11, FOUR, TLVS)) == ANSWERS[0]
        await proxy.until(f"connection 1 from {CLIENT} by 127.0.0.1")
        with pytest.raises(OSError):  # noqa: PT011  # a reset, or an end in the handshake
            await asyncio.to_thread(ask_over_tls, proxy.base, context, b"")
        await proxy.until("refused: it sent no PROXY head")


@pytest.mark.parametrize(
    ("sender", "expected"),
    [("127.0.0.1", True), ("::ffff:127.0.0.1", True), ("::1", True), ("fe80::1%lo", False), ("10.0.0.1", False)],
)
def test_the_networks(sender: str, expected: bool) -> None:
    assert LOCALS.expects_head((sender, 1)) is expected


@pytest.mark.parametrize("name", HEADS)
def test_no_byte_behind_a_head_is_taken(name: str) -> None:
    data = HEADS[name][0]
    have = 0
    while have < len(data):
        assert have < least_size_of_proxy_head(data[:have]) <= len(data)
        have = least_size_of_proxy_head(data[:have])
    assert read_proxy_head(data).size == len(data)


# -- heads that are sent -----------------------------------------------------------------------------------------------

ENDS: Final = {
    "four": ("203.0.113.7:5", "192.0.2.1:9092", "203.0.113.7:5", "192.0.2.1:9092"),
    "six": ("[2001:db8::7]:5", "[::1]:9092", "[2001:db8::7]:5", "[::1]:9092"),
    "mixed": ("203.0.113.7:5", "[::1]:9092", "[::ffff:203.0.113.7]:5", "[::1]:9092"),
    "mixed the other way": ("[2001:db8::7]:5", "10.0.0.1:1", "[2001:db8::7]:5", "[::ffff:10.0.0.1]:1"),
    "four in the form of six": ("[::ffff:203.0.113.7]:5", "10.0.0.1:1", "203.0.113.7:5", "10.0.0.1:1"),
    "with a zone": ("[fe80::1%eth0]:5", "[fe80::2]:9092", "[fe80::1]:5", "[fe80::2]:9092"),
    "no client": ("", "10.0.0.1:1", "", ""),
    "a name": ("?", "10.0.0.1:1", "", ""),
}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("name", ENDS)
def test_a_head_that_is_made_is_read(version: Any, name: str) -> None:
    client, target, source, dialled = ENDS[name]
    data = make_proxy_head(version, client, target)
    head = read_proxy_head(data)
    read = tuple(end.replace("[::ffff:cb00:7107]", "[::ffff:203.0.113.7]") for end in (head.client, head.target))
    mapped = tuple(end.replace("[::ffff:a00:1]", "[::ffff:10.0.0.1]") for end in read)
    assert (mapped, head.size) == ((source, dialled), len(data))
    assert head.protocol == f"PROXY {version[1]}"


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("head", [b"", PROXY_1], ids=["own", "named"])
@in_loop
async def test_brokers_get_a_head_that_names_the_client(version: Any, head: bytes) -> None:
    got: list[Any] = []

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b""
        while len(data) < (size := least_size_of_proxy_head(data)) and not data.endswith(b"\r\n"):
            data += await reader.readexactly(size - len(data))
        got.append(read_proxy_head(data))
        await echo(reader, writer)

    async with running(broker, way={"send_proxy": version}, heads=LOCALS if head else None) as proxy:
        client = await proxy.connect()
        await speak(client, head + ASKED[0])
        assert await frame(client[0]) == ANSWERS[0]
        ours = "{}:{}".format(*client[1].get_extra_info("sockname"))
        assert got[-1][:3] == (
            f"PROXY {version[1]}",
            CLIENT if head else ours,
            "10.0.0.2:9092" if head else f"127.0.0.1:{proxy.base}",
        )


@in_loop
async def test_a_head_before_tls_to_brokers(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = tmp_path_factory.mktemp("tls")
    write_tls_certificates(files)
    context = server_context(files / "broker.pem")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> bytes:
            """The head of a connection whose first request is answered."""
            link = listening.accept()[0]
            head = link.recv(28, socket.MSG_WAITALL)
            with context.wrap_socket(link, server_side=True) as secured:
                secured.recv(1000)
                secured.sendall(ANSWERS[0])
                return head

        way = {"send_proxy": "v2", "protocol": "SSL", "tls": TlsSettings(KeyStoreFile(str(files / "ca.pem")))}
        served = asyncio.create_task(asyncio.to_thread(serve))
        async with running(None, servers=[("127.0.0.1", listening.getsockname()[1])], way=way) as proxy:
            client = await proxy.connect()
            await speak(client, ASKED[0])
            assert await frame(client[0]) == ANSWERS[0]
            assert read_proxy_head(await served).client == "{}:{}".format(*client[1].get_extra_info("sockname"))


@in_loop
async def test_the_proxy_s_own_connections_name_nobody() -> None:
    got: list[bytes] = []

    async def broker(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        got.append(await reader.read(100))

    async with running(broker, way={"send_proxy": "v1"}) as proxy:
        assert await proxy.proxy._is_broker_reachable(proxy.proxy.listeners.boot)  # type: ignore[arg-type]  # it is there
        await sooner_or_later(lambda: got)
        assert got == [b"PROXY UNKNOWN\r\n"]


# -- the program -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v2", pytest.param("v1", marks=pytest.mark.long)])
def test_two_proxies_in_a_row(version: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    files = [str(folder / "x.pcapng") for folder in (first, second)]
    shown = ("-o", "ndjson", "--events", "-w")
    with (
        LibrdkafkaMock(1) as mock,
        Logged(mock.bootstrap(), second, *shown, files[1], "--proxy-protocol", "127.0.0.0/8") as inner,
        Logged(inner.bootstrap, first, *shown, files[0], "--record", "both", "--send-proxy", version) as outer,
    ):
        assert kw("call", "Metadata", "-b", outer.bootstrap).code == Exit.DONE
        outer.end()
        inner.end()
    validator = jsonschema.Draft202012Validator(SCHEMA)
    rows = {"outer": outer.rows(), "inner": inner.rows()}
    for row in (*rows["outer"], *rows["inner"]):
        validator.validate(row)
    (client,) = {row["client"] for row in rows["outer"] if row["kind"] == "exchange"}
    exchanges = [row for row in rows["inner"] if row["kind"] == "exchange" and row["client"] == client]
    assert [row["api"] for row in exchanges][-1] == "Metadata"
    assert {row["via_address"].rpartition(":")[0] for row in exchanges} == {"127.0.0.1"}
    (opened,) = (row for row in rows["inner"] if row.get("what") == "opened" and row["client"] == client)
    assert opened["via_address"] == exchanges[0]["via_address"]
    again = [json.loads(line) for line in kw("sniff", files[1], "-o", "ndjson").out.splitlines()]
    kept = [row for row in rows["inner"] if row["kind"] in ("exchange", "skipped")]
    for row in kept:
        row.pop("via", None)
        row.pop("upstream_latency_ms", None)
    assert sorted(map(json.dumps, again)) == sorted(map(json.dumps, kept))
    assert any(row["kind"] == "skipped" and row["reason"] == "prefix" for row in kept)
    sent = [json.loads(line) for line in kw("sniff", files[0], "-o", "ndjson").out.splitlines()]
    assert {row["via_address"] for row in sent if row["kind"] == "exchange" and "via_address" in row} == {
        exchanges[0]["via_address"]
    }


def test_networks_that_are_none() -> None:
    outcome = kw("proxy", "-b", "127.0.0.1:1", "--proxy-protocol", "10.0.0.0/8,lb.example")
    assert outcome.code == Exit.USAGE
    assert "'lb.example' is no network (write 10.0.0.0/8, 2001:db8::/32 or 192.168.1.7)" in outcome.err
