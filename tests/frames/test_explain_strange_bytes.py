"""Strange bytes and numbers with their explanations, first bytes of real conversations among them."""

from __future__ import annotations

import gzip
from struct import pack

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from decoders.capture.read_capture import CaptureReader
from decoders.frames.explain_strange_bytes import explain_bytes
from decoders.frames.explain_strange_numbers import STARTS, explain_number, list_findings_about_log_line, parse_number
from decoders.protocols.recognise_protocols import MARKS
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Record
from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Gap
from tests.broker.options import PASSWORDS
from tests.captures.reading import exchanges
from tests.captures.shipped import NEGATIVE, capture_bytes
from tests.exchanges.talks import request

METADATA = request(3, 12, 7, "app", {"topics": None})
HELLO = bytes.fromhex(
    "16 03 01 00 70 01 00 00 6c 03 03" + "11" * 32 + "00 00 04 13 01 13 02 01 00 00 3f"
    "00 00 00 13 00 11 00 00 0e 6b 61 66 6b 61 31 2e 65 78 61 6d 70 6c 65"
    "00 10 00 05 00 03 02 68 32"
    "00 2b 00 05 04 03 04 03 03"
)
KERBEROS = bytes.fromhex("60 82 02 6c 06 09 2a 86 48 86 f7 12 01 02 02 01 00 6e 82 02 5b")
SPNEGO = bytes.fromhex("60 28 06 06 2b 06 01 05 05 02 a0 1e 30 1c")
SCRAM = b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL"
# ZooKeeper's connect request, as its Java client sends it, and the answer.
CONNECT = bytes.fromhex("0000002d 00000000 0000000000000000 00004650 0000000000000000 00000010") + bytes(17)
CONNECTED = bytes.fromhex("00000025 00000000 00004650 0100035c8f0a0000 00000010") + bytes(17)

BYTES = [
    (HELLO, "TLS: ClientHello for kafka1.example, TLS 1.2, 1.3, ALPN h2"),
    (HELLO[:60], "TLS: ClientHello, TLS 1.2"),
    (HELLO[:6], "TLS: ClientHello"),
    (bytes.fromhex("15 03 03 00 02 02 28"), "TLS: fatal alert handshake_failure"),
    (bytes.fromhex("15 03 03 00 02 02 46"), "TLS: fatal alert protocol_version"),
    (bytes.fromhex("15 03 03 00 02 01 00"), "TLS: alert close_notify"),
    (bytes.fromhex("80 2e 01 03 01 00 15 00 00 00 10"), "TLS: hello in the form of SSL 2"),
    (b"GET /metrics?token=hidden HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1: GET /metrics"),
    (b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n", "HTTP/1: answer 400 Bad Request"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2: client's preface"),
    (bytes.fromhex("000006 04 00 00000000 0003 00000064"), "HTTP/2: server's settings"),
    (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "SSH: 2.0-OpenSSH_9.2p1 Debian-2"),
    (b"AMQP\0\0\x09\x01", "AMQP: version 0.9.1"),
    (b"\x10\x1a\0\4MQTT\4\2\0\x3c", "MQTT: CONNECT 3.1.1"),
    (bytes.fromhex("4a000000 0a") + b"8.0.36\0" + bytes(40), "MySQL: server's greeting, 8.0.36"),
    (
        b"PROXY TCP4 10.0.0.1 10.0.0.2 51000 9092\r\n" + METADATA,
        "PROXY protocol: version 1, TCP4 10.0.0.1 10.0.0.2 51000 9092",
    ),
    (bytes.fromhex("0d0a0d0a000d0a515549540a 21 11 000c") + bytes(12), "PROXY protocol: version 2, TCP over IPv4"),
    (b"*2\r\n$4\r\nAUTH\r\n$6\r\nhidden\r\n", "Redis: command AUTH"),
    (b"-ERR unknown command\r\n", "Redis: answer -ERR unknown command"),
    (pack(">ii", 8, 80877103), "PostgreSQL: request for TLS"),
    (pack(">ii", 23, 196608) + b"user\0app\0\0", "PostgreSQL: start-up packet, protocol 3.0"),
    (
        b"E\0\0\0\x60SFATAL\0VFATAL\0C0A000\0Munsupported frontend protocol\0\0",
        "PostgreSQL: error unsupported frontend protocol",
    ),
    (pack("<iiii", 60, 1, 0, 2013) + bytes(44), "MongoDB: OP_MSG"),
    (CONNECT, "ZooKeeper: connect request"),
    (CONNECTED, "ZooKeeper: connect response"),
    (b"ruok", "ZooKeeper: word ruok"),
    (b"220 mail.example ESMTP\r\n", "mail or FTP server: 220 mail.example ESMTP"),
    (b"\0alice\0hidden", "SASL token: PLAIN: user alice, with a password of 6 bytes in clear, without a size field"),
    (b"\0\0\0\x0d\0alice\0hidden", "SASL token: PLAIN: user alice, with a password of 6 bytes in clear"),
    (SCRAM, "SASL token: SCRAM: client's first message, user alice, without a size field"),
    (
        b"r=fyko+d2lbbFgONRv9qkxdawL3rfc,s=QSXCR+Q6sek8bf92,i=4096",
        "SASL token: SCRAM: server's challenge, 4096 iterations, without a size field",
    ),
    (
        b"c=biws,r=fyko+d2lb3rfc,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        "SASL token: SCRAM: client's proof, without a size field",
    ),
    (
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        "SASL token: SCRAM: server's signature: accepted, without a size field",
    ),
    (b"e=invalid-proof", "SASL token: SCRAM: server's refusal: invalid-proof, without a size field"),
    (
        b"n,,\1auth=Bearer hidden\1\1",
        "SASL token: OAUTHBEARER: client's first message, with a bearer token, without a size field",
    ),
    (pack(">i", len(KERBEROS)) + KERBEROS, "SASL token: GSSAPI: Kerberos AP-REQ"),
    (SPNEGO, "SASL token: GSSAPI: SPNEGO token, without a size field"),
    (METADATA, "Kafka request: Metadata 12, correlation id 7"),
    (METADATA[4:], "Kafka request: Metadata 12, correlation id 7, without its size field"),
    (METADATA[:-1], "Kafka request: Metadata 12, correlation id 7, not whole"),
    (request(7, 0, 3, None, {"broker_id": 1}), "Kafka request: ControlledShutdown 0, correlation id 3"),
    (
        request(7, 0, 3, None, {"broker_id": 1})[:12],
        "Kafka request: ControlledShutdown 0, correlation id 3, not whole",
    ),
    (b"\xee" * 17 + METADATA, "Kafka request further on: Metadata 12, correlation id 7 begins at byte 17"),
    (METADATA[3::-1] + METADATA[4:], "wrong byte order: the size 18 is written little-endian"),
    (
        pack("<ihhi", 24, 18, 3, 7) + bytes(16),
        "wrong byte order: the size 24 is written little-endian, and so is the header",
    ),
    (gzip.compress(METADATA), "gzip data"),
    (zstandard.compress(METADATA), "zstd data"),
    (b'{"topics": null}', 'JSON text: "{"topics": null}"'),
    (b"nothing in particular", 'text: "nothing in particular"'),
    (b"", ""),
    (b"\x91\x92\x93", ""),
]


@pytest.mark.parametrize(("data", "said"), BYTES, ids=[row[1][:40] or "nothing" for row in BYTES])
def test_what_bytes_are(data: bytes, said: str) -> None:
    found = explain_bytes(data)
    assert (found[0].text if found else "") == said
    assert "hidden" not in repr(found)


def test_a_segment_of_a_log_is_known() -> None:
    batch = encode_batch([Record(12, 0, None, b"value")])
    assert explain_bytes(batch)[0].text == "Kafka records: a batch of magic 2 with 1 records, base offset 12"


TOKENS = {
    "sasl-raw.pcap": {"PLAIN", "SCRAM"},
    "sasl-gssapi.pcap.gz": {"GSSAPI"},
}


@pytest.mark.parametrize("name", TOKENS)
def test_real_tokens_of_sasl(name: str) -> None:
    found = set()
    for exchange in exchanges(capture_bytes(name)):
        for data in (exchange.request_raw, exchange.response_raw):
            if exchange.outcome == "token" and data is not None and len(data) > 4:
                finding = explain_bytes(data)[0]
                assert finding.what == "SASL token"
                assert not any(password in finding.text for password in PASSWORDS.values())
                found.add(finding.detail.partition(":")[0])
    assert found == TOKENS[name]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (70, "security.protocol"),
        (80, "security.protocol"),
        (48, "trust store"),
        (116, "ssl.keystore"),
        (112, "host name"),
    ],
)
def test_an_alert_has_the_remedy_of_what_it_says(number: int, remedy: str) -> None:
    assert remedy in explain_bytes(bytes.fromhex("15 03 03 00 02 02") + bytes([number]))[0].remedy


NUMBERS = [
    (369295617, "TLS: a handshake, TLS 1.0 record"),
    (0x16030300, "TLS: a handshake, TLS 1.2 record"),
    (352518912, "TLS: an alert"),
    (1195725856, "HTTP/1: a GET request"),
    (1347375956, "HTTP/1: a POST request"),
    (1213486160, "HTTP/1: an answer"),
    (1347569952, "HTTP/2: client's preface"),
    (1397966893, "SSH: banner"),
    (1347571544, "PROXY protocol: version 1"),
    (218762506, "PROXY protocol: version 2"),
    (-720899, "Telnet: its control bytes"),
    (-720899 & 0xFFFFFFFF, "Telnet: its control bytes"),
    (80877103, "PostgreSQL: request for TLS"),
    (1920298859, "ZooKeeper: word ruok"),
    (0x2B000000, "wrong byte order: a size of 43 written little-endian"),
    (3 << 16 | 9, "lost framing: the head of a Metadata 9 request read as a size"),
    (1869767781, 'text: "orde"'),
    (104857600, "Kafka: the default of socket.request.max.bytes"),
    (100_000_000, "Kafka: the default of librdkafka's receive.message.max.bytes"),
    (1 << 30, "Kafka: the default of log.segment.bytes"),
    (0xFFFFFFFF, "Kafka: a null length"),
    (43, ""),
    (1 << 40, ""),
]


@pytest.mark.parametrize(("number", "said"), NUMBERS)
def test_what_a_number_is(number: int, said: str) -> None:
    found = explain_number(number)
    assert (found[0].text if found else "") == said


LINES = [
    (
        "[2026-11-21 10:00:00,123] WARN [SocketServer listenerType=ZK_BROKER, nodeId=0] Unexpected error /10.1.2.3 "
        "(channelId=10.0.0.1:9092-10.1.2.3:51234-0); closing connection (org.apache.kafka.common.network.Selector) "
        "InvalidReceiveException: Invalid receive (size = 369295617 larger than 104857600)",
        "TLS",
    ),
    ("Invalid receive (size = -720899)", "Telnet"),
    (
        "%3|1700000000.123|FAIL|rdkafka#consumer-1| [thrd:localhost:8080/bootstrap]: localhost:8080/bootstrap: Receive "
        "failed: Invalid response size 1213486160 (0..1000000000): increase receive.message.max.bytes",
        "HTTP/1",
    ),
    ("kafka: error decoding packet: message of length 352518912 too large or too small", "TLS"),
    ("invalid large response size 1213486160 > limit 104857600", "HTTP/1"),
    ("java.lang.IllegalArgumentException: received size 0x16030301", "TLS"),
    ("0x47455420", "HTTP/1"),
    ("1195725856", "HTTP/1"),
    ("all is well, 3 brokers", ""),
    ("Unreasonable length = -720899", "Telnet"),
    ("Received -720899 when expecting 4", "Telnet"),
    ("Received 1,195,725,856 bytes", "HTTP/1"),
    ("Correlation id for response (1213486160) does not match request (5)", "HTTP/1"),
    ("Correlation id for response (-1195725) does not match request (5)", "lost framing"),
    ("Invalid receive (size = 720899123 larger than 104857600)", "lost framing"),
    ("Invalid receive (size = -2)", "lost framing"),
    ("Error getting request for apiKey: 18245, apiVersion: 21536", "lost framing"),
    ("Error getting request for apiKey: 3, apiVersion: 99", "layout"),
    ("Invalid receive (size = 5000 larger than 4096)", ""),
    ("segment of size 1999999999", ""),
    ("took 1999999999 ns", ""),
    ("thread 1999999999 is too large", ""),
    ("2026-11-21 10:00:00 partition 17 of orders is at 1732147200", ""),
]


@pytest.mark.parametrize(("line", "what"), LINES)
def test_a_line_of_a_log(line: str, what: str) -> None:
    found = list_findings_about_log_line(line)
    assert (found[0].what if found else "") == what


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "segment of size 1999999999",
            "lost framing: the bytes 77 35 93 ff are no possible size, and no known protocol begins with them",
        ),
        ("Invalid receive (size = 5000)", "Kafka: a size of 5,000 bytes, which is possible for a message"),
        ("partition 1999999999", ""),
    ],
)
def test_a_line_that_stands_alone(line: str, said: str) -> None:
    found = list_findings_about_log_line(line, alone=True)
    assert (found[0].text if found else "") == said


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-720899", -720899),
        (" 5 ", 5),
        ("0x47455420", 0x47455420),
        ("-0X10", -16),
        ("1,195,725,856", 1195725856),
        ("1_195_725_856", 1195725856),
        ("1,19", None),
        ("12345678901", None),
        ("0x", None),
        ("", None),
        ("5 6", None),
    ],
)
def test_what_is_a_number(text: str, number: int | None) -> None:
    assert parse_number(text) == number


@given(st.text(max_size=80), st.booleans())
def test_whatever_line_comes(line: str, alone: bool) -> None:
    for finding in list_findings_about_log_line(line, alone=alone):
        assert finding.text.isprintable()


def test_every_start_has_a_mark_with_a_remedy() -> None:
    assert STARTS
    assert all(mark.remedy for mark, _ in STARTS.values())
    assert len(STARTS) == sum(len(mark.starts) for mark in MARKS)


# The side that speaks first, and the explanation of its first bytes; for some answers too.
REAL = {
    "http1": ("HTTP/1: GET /orders.json", "HTTP/1: answer 200 OK"),
    "http2": ("HTTP/2: client's preface", "HTTP/2: server's settings"),
    "mongodb": ("MongoDB: OP_MSG", "MongoDB: OP_MSG"),
    "postgresql": ("PostgreSQL: request for TLS", None),
    "redis": ("Redis: command HELLO", None),
    "tls": ("TLS: ClientHello, TLS 1.2, 1.3", "TLS: ServerHello, TLS 1.3"),
    "zookeeper": ("ZooKeeper: word ruok", "ZooKeeper: word imok"),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_the_first_bytes_of_real_conversations(name: str) -> None:
    reader = CaptureReader()
    stage = Reassembly()
    first: dict[int, list[bytes]] = {}
    data = capture_bytes(name)
    for half, _, _, chunk in stage.feed(reader.feed(data) + reader.finish()) + stage.finish():
        if isinstance(chunk, bytes):
            sides = first.setdefault(half.connection.number, [b"", b""])
            place = half is not half.connection.first
            sides[place] = sides[place] or chunk
        assert not isinstance(chunk, Gap)
    asked, answered = REAL[name.partition("/")[2].partition(".")[0]]
    opened = first[min(first)]
    assert explain_bytes(opened[0])[0].text == asked
    if answered is not None:
        assert explain_bytes(opened[1])[0].text == answered


def test_no_message_of_kafka_is_taken_for_something_else() -> None:
    count = 0
    for name in ("tour.pcapng", "old-clients.pcap.gz", "first-steps.pcapng"):
        for exchange in exchanges(capture_bytes(name)):
            if exchange.outcome == "complete" and exchange.request_raw is not None:
                assert explain_bytes(exchange.request_raw)[0].what == "Kafka request"
                assert exchange.response_raw is None or explain_bytes(exchange.response_raw) == []
                count += 1
    assert count > 500


@given(st.binary(max_size=200), st.sampled_from([row[0] for row in BYTES]), st.integers(0, 40))
@example(b"", HELLO, 0)
def test_whatever_comes_it_says_or_it_is_silent(noise: bytes, start: bytes, cut: int) -> None:
    for data in (noise, start[:cut] + noise, start[: len(start) - cut], noise + start):
        for finding in explain_bytes(data):
            assert finding.what
            assert finding.text.isprintable()


@given(st.integers(-(1 << 33), 1 << 33))
def test_whatever_number_comes(number: int) -> None:
    for finding in explain_number(number):
        assert finding.text.isprintable()
