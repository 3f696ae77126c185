"""`kw mock` as a program: the exchanges it prints, files and filters, TLS, and messages for bad input."""

from __future__ import annotations

import json
import os
import socket
import ssl
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.mock.running import ROOT, TOUR, SocketClient, mocked
from tests.mock.stage import batch, wanted, written

SCHEMA = json.loads((ROOT / "decoders" / "messages" / "record.schema.json").read_text())
SASL = str(ROOT / "captures" / "sasl-framed.pcapng")


@pytest.mark.long
def test_exchanges_are_printed_as_of_a_proxy(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    words = ("-o", "ndjson", "--records", "--events", "-f", "api in (Produce, SaslAuthenticate)", "-w", str(path))
    with mocked(*words, recording=SASL, log=True) as mock:
        client = SocketClient(mock.port)
        client.ask("SaslHandshake", 1, {"mechanism": "PLAIN"})
        client.ask("SaslAuthenticate", 2, {"auth_bytes": b"\0alice\0hunter2"})
        topic = client.ask("Metadata", 9, {"topics": [{"name": "new"}]})["topics"][0]["name"]
        client.ask("Produce", 9, written(batch(b"one"), topic=topic))
        client.ask("Fetch", 12, wanted(0, topic=topic))
        client.close()
        other = socket.create_connection(("127.0.0.1", mock.port))
        other.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert other.recv(9) == b""
        other.close()
    assert "hunter2" not in mock.printed
    assert b"hunter2" not in path.read_bytes()
    for row in mock.rows:
        jsonschema.validate(row, SCHEMA)
    exchanges = [row for row in mock.rows if row["kind"] == "exchange"]
    assert [(row["api"], row["client_id"], row["via"]) for row in exchanges] == [
        ("SaslAuthenticate", "test", "mock"),
        ("Produce", "test", "mock"),
    ]
    assert {row["broker"] for row in exchanges} == {mock.bootstrap}
    (records,) = exchanges[1]["request"]["topic_data"][0]["partition_data"][0]["records"]
    assert records["records"][0]["value"] == "one"
    happened = [(row["connection"], row["what"], row.get("how")) for row in mock.rows if row["kind"] == "connection"]
    assert happened == [
        (1, "opened", None),
        (1, "login", None),
        (1, "closed", "fin"),
        (2, "opened", None),
        (2, "closed", "mock"),
    ]
    assert "2 of 5 exchanges" in mock.rest
    assert "connection 2 of 127.0.0.1:" in mock.rest
    read = [json.loads(line) for line in kw("sniff", str(path), "-o", "ndjson").out.splitlines()]
    assert [row["api"] for row in read if row["kind"] == "exchange"] == [
        *("SaslHandshake", "SaslAuthenticate", "Metadata", "Produce", "Fetch")
    ]


@pytest.mark.long
def test_text_is_that_of_sniff() -> None:
    with mocked("-o", "text", "-q", "--api", "Metadata", log=True) as mock:
        client = SocketClient(mock.port)
        client.ask("Metadata", 9, {"topics": [{"name": "orders"}]})
        client.ask("Fetch", 12, wanted(0))
        client.close()
    assert (mock.said, mock.rest) == ([], "")
    heading, line = mock.printed.splitlines()
    assert heading.split()[:3] == ["time", "UTC", "took"]
    assert line.split()[2:7] == ["test", "1", "Metadata", "9", "orders"]


@pytest.mark.long
def test_tls(tmp_path: Path) -> None:
    variables = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with mocked("--tls-in", "-o", "ndjson", log=True, variables=variables) as mock:
        (trust,) = (line for line in mock.said if line.startswith("librdkafka"))
        context = ssl.create_default_context(cafile=trust.rpartition("=")[2])
        client = SocketClient(mock.port)
        client.link = context.wrap_socket(client.link, server_hostname="127.0.0.1")
        assert client.ask("Metadata", 9, {"topics": None})["brokers"][0]["node_id"] == 1
        client.close()
        plain = SocketClient(mock.port)
        plain.link.sendall(b"\0\0\0\x2e\0\x12\0\x04\0\0\0\1" + bytes(40))
        assert plain.link.recv(100)[:1] in (b"", b"\x15")
        plain.close()
    assert [row["api"] for row in mock.rows] == ["Metadata"]
    assert "refused: the client does not speak TLS, which --tls-in requires" in mock.rest


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "warned"),
    [
        (("--bind", "0.0.0.0", "--advertise", "127.0.0.1"), True),
        ((), False),
    ],
)
def test_it_warns_of_an_address_that_others_reach(words: tuple[str, ...], warned: bool) -> None:
    with mocked(*words) as mock:
        client = SocketClient(mock.port)
        (first, *_) = client.ask("Metadata", 9, {"topics": None})["brokers"]
        client.close()
    line = "--bind 0.0.0.0: anyone who can connect gets the recorded data"
    assert (line in mock.said, first["host"]) == (warned, "127.0.0.1"), mock.said


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("none.pcap",), Exit.FAILURE, "none.pcap: no such file"),
        (("README.md",), Exit.FAILURE, "README.md: "),
        ((TOUR, "--bind", "0.0.0.0"), Exit.USAGE, "--advertise HOST"),
        ((TOUR, "--bind", "192.0.2.1"), Exit.FAILURE, "--bind 192.0.2.1: it is no address of this machine"),
        ((TOUR, "--port", "65535"), Exit.USAGE, "3 nodes need ports up to 65537"),
        ((TOUR, "--tls-key", "x.pem"), Exit.USAGE, "--tls-key without --tls-cert"),
        ((TOUR, "--tls-cert", "none.pem"), Exit.USAGE, "none.pem"),
        ((TOUR, "--no-log", "-o", "ndjson"), Exit.USAGE, "no exchange is printed"),
        ((TOUR, "-f", "api ="), Exit.USAGE, ""),
        ((TOUR, "-w", "/none/x.pcapng"), Exit.FAILURE, "/none/x.pcapng: no such file"),
        (("captures/negative/http1.pcap",), Exit.FAILURE, "no answers of brokers"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], code: Exit, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    outcome = kw("mock", "--port", "0", *words)
    assert (outcome.code, outcome.out) == (code, "")
    (line,) = outcome.err.splitlines()[-1:] if code is Exit.USAGE else outcome.err.splitlines()
    assert text in line


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = kw("mock", TOUR, "--port", str(port))
    assert outcome.code == Exit.FAILURE
    assert outcome.err == f"kw: 127.0.0.1:{port} is taken by another program: give another --port\n"
