"""Whole connections of OpenSSL through the stage: suites, cuts, gaps, wrong keys, damage, keys that come late."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError
from decoders.limits import TLS_WAIT_NS
from decoders.tcp.connection_and_halves import Connection, tls_facts_of
from decoders.tcp.stream_chunks import Chunk, Close, Gap, Retransmission
from decoders.tls.decrypt_chunks import Decryption
from decoders.tls.key_log import KeyLog
from decoders.tls.record_ciphers import _tls12_prf
from decoders.tls.tls_facts import TlsFacts
from tests.tls.conversations import (
    CLIENT,
    SECOND,
    SERVER,
    Conversation,
    Talk,
    chunks_of,
    content,
    converse,
    converse_13,
    decrypted,
    keys_of,
)

SAID: Final = [(True, b"request" * 5), (False, b"A" * 40_000), (True, b"x"), (False, b"y" * 17), (True, b"z" * 20_000)]
SHORT: Final = [(bool(number % 2), b"%04d" % number * (number % 7 + 1)) for number in range(1, 41)]
SUITES_13: Final = (
    *("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"),
    *("TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"),
)
# OpenSSL's name, and the certificate that the suite needs.
SUITES_12: Final = [
    *((f"ECDHE-ECDSA-{cipher}", "ec") for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")),
    *((f"ECDHE-ECDSA-{cipher}", "ec") for cipher in ("AES128-CCM", "AES256-CCM", "AES128-CCM8", "AES256-CCM8")),
    *((f"ECDHE-ECDSA-{cipher}", "ec") for cipher in ("AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES256-SHA384")),
    *((f"ECDHE-RSA-{cipher}", "rsa") for cipher in ("AES128-GCM-SHA256", "CHACHA20-POLY1305", "AES256-SHA384")),
    *((cipher, "rsa") for cipher in ("AES128-GCM-SHA256", "AES256-CCM8", "AES128-SHA", "AES256-SHA256")),
    *((cipher, "rsa") for cipher in ("CAMELLIA256-SHA", "ECDHE-RSA-CAMELLIA128-SHA256")),
]
TLS12: Final = ssl.TLSVersion.TLSv1_2


# Java with itself, in a suite that current OpenSSL does not have: hellos and records of both sides, without the
# messages in between that the keys do not depend on.
TRIPLE_DES: Final = """
C 16030300e6010000e2030357e6f7e694a2c19d3b44730ca4181e617dc837aeffee3a7b1ee3fe95118c9068000002c017010000b700000013
  001100000e6b61666b61312e6578616d706c65000500050100000000000a000c000a001d001700180019001e000b00020100001100090007
  020004000000000017000000230000000d002c002a040305030603080708080804080508060809080a080b04010501060104020303030103
  02020302010202002b00030203030032002c002a040305030603080708080804080508060809080a080b0401050106010402030303010302
  020302010202ff01000100
S 1603030085020000550303d5994f92855578e896e4033ac3037cad35a7e360b7911d6d7fc98c4cede62f8f20b983ac09e599fcf3314b4196
  95738da4276ad3d3dc2a5dcd32ffd05fb4ee2a49c01700000d0017000000230000ff010001000c00002403001d2048b80a04febb1f91c527
  1031c245a9a6411977887a8e809f35d3491108c8ad250e000000
C 140303000101
C 16030300306f7fe9e8b6c20eb0aee770089a63f20e0a7adb52af07b2edc51e381d52c0376627ecc6358eca907969de53d1dc0c1060
S 140303000101
S 1603030030fe3a4e9c7f56525d42455c231526a80bc901072dd2125c1f0b21cd01255465e33a04be3eeb090e6cf8466545482ea03d
S 17030300289de0460eaf610de6a032a82b8e7c436f67999e68ebbae0f1eba434ddac1532b1c6125d32629ada9a
C 1703030028315de94cef9bd72c0f56af253da2aaec37f7f4bd80db4291e98e3ccf7aeaffc743a547910ba11cee
S 17030300287e77dfcf74f519954f2646b162120453a2ef00f9c831b3dd0769b18b991549d25a9a4516cdab8f35
C 17030300288aff15f78510b818f613902a2c7f6c646b48b4c0ea5cf2535af3a8ca52a7105e66d1416f5c15ed10
"""
TRIPLE_DES_KEY: Final = (
    "RSA Session-ID:B983AC09E599FCF3314B419695738DA4276AD3D3DC2A5DCD32FFD05FB4EE2A49 Master-Key:68B3A2AA5"
    "12C6732199037ACC0BB4564E6C50C718B515AC117B9667A50DF009F4E7B0C684206A9CEB1385DD29CACFEF9"
)


@lru_cache
def made(name: str, *, short: bool = False) -> Conversation:
    """A conversation with a suite, by its name in TLS 1.3 or OpenSSL's in TLS 1.2."""
    said = SHORT if short else SAID
    if name.startswith("TLS_"):
        return converse_13(said, name)
    return converse(said, version=TLS12, ciphers=f"{name}:@SECLEVEL=0", key=dict(SUITES_12)[name])


def facts_of(chunks: list[Chunk]) -> TlsFacts:
    """The facts that the stage has learnt about the connection."""
    facts: TlsFacts | None = tls_facts_of(chunks[0][0].connection)
    assert facts is not None
    return facts


@pytest.mark.long
@pytest.mark.one_in(5)
@pytest.mark.parametrize("size", [1 << 20, 7, *(pytest.param(each, marks=pytest.mark.long) for each in (1400, 1))])
@pytest.mark.parametrize("name", [*SUITES_13, *(name for name, _ in SUITES_12)])
def test_what_both_sides_said_comes_out(name: str, size: int) -> None:
    talk = made(name)
    chunks = chunks_of(talk.wire, size=size)
    out = decrypted(chunks, keys_of(talk.key_log))
    assert [content(out, client) for client in (True, False)] == [talk.sent(True), talk.sent(False)]
    assert [type(data) for *_, data in out if not isinstance(data, bytes)] == [Close]
    assert facts_of(chunks).exchange_tls_info() == {
        "version": "1.3" if name in SUITES_13 else "1.2",
        "cipher": facts_of(chunks).cipher,
        "sni": "kafka1.example",
        "client_subject": None,
    }
    assert facts_of(chunks).problem == ""


def test_triple_des() -> None:
    lines = TRIPLE_DES.strip().replace("\n  ", "").splitlines()
    chunks = chunks_of([(line[0] == "C", bytes.fromhex(line[2:])) for line in lines])
    out = decrypted(chunks, keys_of(TRIPLE_DES_KEY.encode()))
    assert [content(out, client) for client in (True, False)] == [b"request 1request 3", b"answer 0answer 2"]
    assert facts_of(chunks).cipher == "TLS_ECDH_anon_WITH_3DES_EDE_CBC_SHA"


@pytest.mark.parametrize("name", ["TLS_AES_256_GCM_SHA384", "AES128-SHA", "ECDHE-RSA-CHACHA20-POLY1305"])
def test_each_byte_has_the_packet_in_which_it_came(name: str) -> None:
    talk = made(name)
    chunks = chunks_of(talk.wire, size=100)
    out = decrypted(chunks, keys_of(talk.key_log))
    carried = {packet: (time_ns, len(data)) for _, time_ns, packet, data in chunks if isinstance(data, bytes)}
    seen: dict[int, int] = {}
    for _, time_ns, packet, data in out:
        if isinstance(data, bytes):
            assert carried[packet][0] == time_ns
            seen[packet] = seen.get(packet, 0) + len(data)
    assert all(0 < size <= carried[packet][1] for packet, size in seen.items())
    # 20,000 bytes in segments of 100: nearly all segments are full.
    assert sum(size == 100 for size in seen.values()) > 500


def test_an_answer_never_comes_before_its_request() -> None:
    talk = made("TLS_AES_128_GCM_SHA256", short=True)
    out = decrypted(chunks_of(talk.wire), keys_of(talk.key_log))
    assert [(half.source == CLIENT, data) for half, _, _, data in out[:-1]] == SHORT


def test_a_client_certificate_and_alpn() -> None:
    for version in (ssl.TLSVersion.TLSv1_3, TLS12):
        talk = converse(SHORT, client_certificate=True, alpn=("kafka",), version=version)
        chunks = chunks_of(talk.wire)
        assert content(decrypted(chunks, keys_of(talk.key_log)), True) == talk.sent(True)
        facts = facts_of(chunks)
        assert (facts.client_subject, facts.protocol) == ("CN=client,O=Example", "kafka")
        assert facts.certificate is not None
        assert facts.certificate.subject == "CN=ec,O=Example"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_3, TLS12])
def test_a_resumed_session(version: ssl.TLSVersion) -> None:
    first = Talk(version=version)
    first.say(True, b"one")
    session = first.client.session
    contexts = first.contexts
    first.end()
    talk = Talk(session=session, contexts=contexts, version=version)
    for client, data in SHORT:
        talk.say(client, data)
    assert talk.client.session_reused
    made_again = talk.end()
    chunks = chunks_of(made_again.wire)
    out = decrypted(chunks, keys_of(made_again.key_log))
    assert [content(out, client) for client in (True, False)] == [made_again.sent(True), made_again.sent(False)]
    assert facts_of(chunks).resumed
    assert "session resumed" in facts_of(chunks).describe_in_one_line()


@pytest.mark.parametrize("tickets", [True, False])
def test_a_resumed_session_by_the_key_of_the_connection_that_began_it(tickets: bool) -> None:
    first = Talk(version=TLS12, tickets=tickets)
    key_log, session, every = b"", None, []
    for number in (1, 2, 3):
        talk = first if session is None else Talk(version=TLS12, contexts=first.contexts, session=session)
        assert talk.client.session_reused is (number > 1)
        for client, data in SHORT:
            talk.say(client, data)
        session = talk.client.session
        every.append(talk.end())
        key_log = key_log or every[0].key_log
    chunks = [chunk for number, each in enumerate(every, 1) for chunk in chunks_of(each.wire, number=number)]
    out = decrypted(chunks, keys_of(key_log))
    for number, each in enumerate(every, 1):
        its = [chunk for chunk in out if chunk[0].connection.number == number]
        assert [content(its, client) for client in (True, False)] == [each.sent(True), each.sent(False)]
    # Without the connection that began the session there is no key, whatever comes later.
    alone = decrypted(chunks_of(every[1].wire, number=2) + chunks_of(every[0].wire, number=4), keys_of(key_log))
    assert {chunk[0].connection.number for chunk in alone if isinstance(chunk[3], bytes)} == {4}


def test_only_traffic_secrets_are_enough() -> None:
    talk = made("TLS_AES_256_GCM_SHA384")
    lines = b"\n".join(line for line in talk.key_log.splitlines() if b"_TRAFFIC_SECRET_0" in line)
    chunks = chunks_of(talk.wire, size=1000)
    out = decrypted(chunks, keys_of(lines))
    assert [content(out, client) for client in (True, False)] == [talk.sent(True), talk.sent(False)]
    assert [data for *_, data in out if isinstance(data, Gap)] == []
    assert facts_of(chunks).certificate is None


# Without keys, and with wrong ones.


@pytest.mark.parametrize("name", ["TLS_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256", "AES128-SHA"])
@pytest.mark.parametrize("keys", ["none", "other", "wrong"])
def test_nothing_comes_out_without_the_key(name: str, keys: str) -> None:
    talk = made(name)
    other = converse(SHORT[:2]).key_log
    lines = {"none": b"", "other": other, "wrong": spoilt(talk.key_log)}[keys]
    chunks = chunks_of(talk.wire, size=1400)
    out = decrypted(chunks, keys_of(lines))
    assert [data for *_, data in out] == [Close("fin")]
    facts = facts_of(chunks)
    wanted = {"none": "", "other": "the key log has no key of it", "wrong": "the key in the key log does not fit"}
    assert (facts.opened, facts.problem) == (False, wanted[keys])
    assert facts.size == len(talk.stream(True)) + len(talk.stream(False))
    assert facts.cipher.startswith("TLS_")
    assert (facts.certificate is not None) == (name not in SUITES_13)


def spoilt(lines: bytes) -> bytes:
    """The lines of a key log with another last byte in each secret."""
    return b"\n".join(line[:-2] + (b"00" if line[-2:] != b"00" else b"01") for line in lines.splitlines())


def test_one_side_without_its_key() -> None:
    talk = made("TLS_AES_128_GCM_SHA256", short=True)
    lines = talk.key_log.splitlines()
    known = [line for line in lines if not line.startswith(b"SERVER_TRAFFIC_SECRET_0")]
    wrong = b"SERVER_TRAFFIC_SECRET_0 %b %b" % (known[-1].split()[1], b"ab" * 32)
    client = [(side, data) for side, data in talk.wire if side]
    server = [(side, data) for side, data in talk.wire if not side]
    wire = [client[0], server[0], *client[1:], *server[1:]]
    for log, why in (([*known, wrong], "encrypted"), (known, "keyless")):
        out = decrypted(chunks_of(wire), keys_of(b"\n".join(log)))
        assert content(out, client=True) == talk.sent(True)
        assert content(out, client=False) == b""
        assert {data.why for *_, data in out if isinstance(data, Gap)} == {why}


def test_what_follows_a_renegotiation_is_not_read() -> None:
    """The client's change of cipher is encrypted; the records behind it have keys of another handshake."""
    talk = Talk(version=TLS12, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256")
    talk.say(True, b"before")
    random, master = (bytes.fromhex(part) for part in talk.log_file.read_text().split()[-2:])
    server_random = talk.conversation.stream(False)[11:43]
    block = _tls12_prf(master, b"key expansion", server_random + random, 40, "sha256")
    sealed = AESGCM(block[:16]).encrypt(block[32:36] + b"12345678", b"\1", b"\0" * 7 + b"\2\x14\3\3\0\1")
    record = b"\x14\3\3" + (8 + len(sealed)).to_bytes(2, "big") + b"12345678" + sealed
    behind = b"\x17\3\3\0\x30" + bytes(48)
    out = decrypted(chunks_of([*talk.conversation.wire, (True, record), (True, behind)]), keys_of(talk.end().key_log))
    gaps = [data for *_, data in out if isinstance(data, Gap)]
    assert (content(out, client=True), gaps) == (b"before", [Gap(len(behind), "renegotiated")])


def test_a_key_of_another_size_is_none() -> None:
    talk = made("TLS_AES_256_GCM_SHA384")
    lines = b"\n".join(line[:-32] for line in talk.key_log.splitlines())
    chunks = chunks_of(talk.wire)
    assert [data for *_, data in decrypted(chunks, keys_of(lines))] == [Close("fin")]
    assert facts_of(chunks).problem == "the key log has no key of it"


def test_the_start_is_missing() -> None:
    talk = made("TLS_AES_256_GCM_SHA384", short=True)
    lost_client: list[tuple[bool, bytes | Gap]] = [(True, Gap(len(talk.wire[0][1]), "lost")), *talk.wire[1:]]
    lost_server: list[tuple[bool, bytes | Gap]] = [
        talk.wire[0],
        (False, Gap(len(talk.wire[1][1]), "lost")),
        *talk.wire[2:],
    ]
    rows: tuple[tuple[Sequence[tuple[bool, bytes | Gap]], bool, str], ...] = (
        (lost_client, True, "the start is missing: no ClientHello in the capture"),
        (talk.wire[1:], False, "the start is missing: no ClientHello in the capture"),
        (lost_server, True, "the start is missing: no ServerHello in the capture"),
        (talk.wire[4:], False, "the start is missing: neither ClientHello nor ServerHello is in the capture"),
    )
    for wire, opened, wanted in rows:
        chunks = chunks_of(wire, opened=opened)
        out = decrypted(chunks, keys_of(talk.key_log))
        assert [data for *_, data in out if isinstance(data, bytes)] == []
        assert facts_of(chunks).problem == wanted


@pytest.mark.long
def test_a_capture_that_begins_before_the_client_hello_but_without_syn() -> None:
    talk = made("TLS_AES_256_GCM_SHA384")
    out = decrypted(chunks_of(talk.wire, opened=False), keys_of(talk.key_log))
    assert [content(out, client) for client in (True, False)] == [talk.sent(True), talk.sent(False)]


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\x20" + bytes(40),
        b"\x16",
        b"\x16\x03\x01",
        b"\x16\x03\x01\x00\x05\x07more",
        b"\x17\x03\x03\0\0",
        b"GET / HTTP/1.1\r\n",
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_what_is_no_tls_goes_through(data: bytes, size: int) -> None:
    chunks = chunks_of([(True, data), (False, b"answer"), (True, b"\x16\x03\x01\x00\x05\x01 later")], size=size)
    stage = Decryption()
    out = [each for chunk in chunks for each in stage.feed([chunk])]
    assert out + stage.finish() == chunks
    assert tls_facts_of(chunks[0][0].connection) is None
    assert stage.feed(chunks) is chunks  # without a look at each chunk


def test_alerts_are_named() -> None:
    alert = bytes.fromhex("15 0303 0002 02 30")
    talk = made("AES128-SHA")
    chunks = chunks_of([*talk.wire[:2], (True, alert)])
    assert [data for *_, data in decrypted(chunks, keys_of(talk.key_log))] == [Close("fin")]
    assert facts_of(chunks).alerts == ["fatal alert unknown_ca from the client"]
    assert "fatal alert unknown_ca from the client" in facts_of(chunks).describe_in_one_line()


@pytest.mark.parametrize(
    ("sent", "alerts"),
    [
        ("15 0303 0002 02 30", ["fatal alert unknown_ca from the client"]),
        ("17 0303 0013" + 19 * "aa", ["encrypted alert from the client"]),
        ("14 0303 0001 01 17 0303 0013" + 19 * "aa", ["encrypted alert from the client"]),
        ("14 0303 0001 01 17 0303 0035" + 53 * "aa", []),  # as long as a Finished
    ],
)
def test_an_alert_is_noted_without_keys(sent: str, alerts: list[str]) -> None:
    talk = Talk()
    chunks = chunks_of([*talk.conversation.wire[:2], (True, bytes.fromhex(sent))])
    decrypted(chunks, keys_of(b""))
    assert facts_of(chunks).alerts == alerts


def test_an_alert_inside_the_encryption() -> None:
    talk = Talk(client_certificate=True)
    assert talk.end().wire  # the normal close is no alert to report
    chunks = chunks_of(talk.conversation.wire)
    decrypted(chunks, keys_of(talk.conversation.key_log))
    assert facts_of(chunks).alerts == []


# Gaps.


@lru_cache
def many() -> Conversation:
    return made("TLS_AES_128_GCM_SHA256", short=True)


def holed(wire: list[tuple[bool, bytes]], begin: int, size: int) -> tuple[list[tuple[bool, bytes | Gap]], bool]:
    """The wire without `size` bytes of one side from byte `begin` on, and whether that side is the client."""
    out: list[tuple[bool, bytes | Gap]] = []
    at = left = 0
    side = True
    for client, data in wire:
        if left == 0 and at <= begin < at + len(data):
            side, left = client, size
            out.append((client, data[: begin - at]))
            rest = data[begin - at :]
        else:
            rest = data
        if left and client is side and begin < at + len(data):
            took = min(left, len(rest))
            out.append((client, Gap(took, "lost")))
            left -= took
            if not left:
                left = -1
            rest = rest[took:]
        out.append((client, rest))
        at += len(data)
    return [(client, data) for client, data in out if data], side


@pytest.mark.parametrize("name", ["TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", "AES128-SHA"])
@settings(max_examples=60)
@given(st.data())
def test_behind_a_hole_it_goes_on_at_the_next_record(name: str, data: st.DataObject) -> None:
    talk = made(name, short=True)
    total = sum(len(each) for _, each in talk.wire)
    begin = data.draw(st.integers(sum(len(each) for _, each in talk.wire[:2]), total - 1))
    wire, side = holed(talk.wire, begin, data.draw(st.integers(1, 400)))
    chunks = chunks_of(wire, size=data.draw(st.sampled_from([1 << 20, 30, 7])))
    out = decrypted(chunks, keys_of(talk.key_log))
    assert content(out, not side) == talk.sent(not side)
    assert_holes(talk.sent(side), [each for half, _, _, each in out if (half.source == CLIENT) is side])


def assert_holes(sent: bytes, events: list[Any]) -> None:
    """Assert that the bytes are those sent, in order, and that gaps of known size have that size."""
    at, known = 0, True
    for event in events:
        if isinstance(event, Gap):
            if event.why == "encrypted":
                known = False
            else:
                at += event.size
        elif isinstance(event, bytes):
            if not known:
                found = sent.find(event, at)
                assert found >= at
                at, known = found, True
            assert sent[at : at + len(event)] == event
            at += len(event)
    assert not known or at <= len(sent)


@pytest.mark.parametrize("name", ["TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"])
def test_only_the_records_hit_are_lost_and_their_size_is_known(name: str) -> None:
    talk = made(name, short=True)
    index = [number for number, (client, _) in enumerate(talk.wire) if client][6]
    wire: list[tuple[bool, bytes | Gap]] = [*talk.wire]
    wire[index] = (True, Gap(len(talk.wire[index][1]), "lost"))
    out = decrypted(chunks_of(wire), keys_of(talk.key_log))
    mine = [data for half, _, _, data in out if half.source == CLIENT and not isinstance(data, Close)]
    whole = [data for client, data in SHORT if client]
    gaps = [number for number, each in enumerate(mine) if isinstance(each, Gap)]
    assert len(gaps) == 1
    lost = gaps[0]
    assert mine[lost] == Gap(len(whole[lost]), "lost")
    assert mine[:lost] + mine[lost + 1 :] == whole[:lost] + whole[lost + 1 :]


def test_many_records_lost() -> None:
    talk = converse([*[(True, b"%05d" % number) for number in range(900)], (True, b"end")])
    begin = next(number for number, (client, data) in enumerate(talk.wire) if client and len(data) == 27) + 3
    lost = sum(len(data) for _, data in talk.wire[begin : begin + 800])
    wire: list[tuple[bool, bytes | Gap]] = [*talk.wire[:begin], (True, Gap(lost, "lost")), *talk.wire[begin + 800 :]]
    out = [data for half, _, _, data in decrypted(chunks_of(wire), keys_of(talk.key_log)) if half.source == CLIENT]
    assert Gap(4000, "lost") in out
    assert content(decrypted(chunks_of(wire), keys_of(talk.key_log)), True).endswith(b"end")


def test_full_records_beyond_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many lost bytes are at least so many full records: the search for the record number begins behind them."""
    monkeypatch.setattr("decoders.tls.decrypt_connection.TLS_SEARCH_MAX", 4)
    talk = converse([(True, b"first"), (True, bytes(1 << 20)), (True, b"end")])
    index = next(number for number, (_, data) in enumerate(talk.wire) if len(data) > 1 << 19)
    stream, begin = talk.wire[index][1], 16_406 * 2
    lost = 16_406 * 60
    holed: list[tuple[bool, bytes | Gap]] = [(True, stream[:begin]), (True, Gap(lost, "lost"))]
    holed.append((True, stream[begin + lost :]))
    wire: list[tuple[bool, bytes | Gap]] = [*talk.wire[:index], *holed, *talk.wire[index + 1 :]]
    out = decrypted(chunks_of(wire), keys_of(talk.key_log))
    assert [data for *_, data in out if isinstance(data, Gap)] == [Gap(16_384 * 60, "lost")]
    assert content(out, client=True) == b"first" + bytes((1 << 20) - 16_384 * 60) + b"end"


def test_a_jump_in_the_sequence_numbers() -> None:
    talk = many()
    wire: list[tuple[bool, bytes | Gap]] = [*talk.wire[:20], (talk.wire[19][0], Gap(0, "jump")), *talk.wire[20:]]
    out = decrypted(chunks_of(wire), keys_of(talk.key_log))
    assert [content(out, client) for client in (True, False)] == [talk.sent(True), talk.sent(False)]


@pytest.mark.long
@settings(max_examples=150)
@given(st.data())
def test_damage_gives_no_wrong_byte(data: st.DataObject) -> None:
    talk = made(data.draw(st.sampled_from(["TLS_AES_128_GCM_SHA256", "AES128-SHA"])), short=True)
    wire: list[tuple[bool, bytes]] = [*talk.wire]
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(wire) - 1))
        client, each = wire[index]
        at = data.draw(st.integers(0, len(each) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "insert", "drop"]))
        junk = data.draw(st.binary(min_size=1, max_size=30))
        each = {
            "flip": each[:at] + bytes([each[at] ^ junk[0] or 1]) + each[at + 1 :],
            "cut": each[:at],
            "insert": each[:at] + junk + each[at:],
            "drop": b"",
        }[kind]
        wire[index] = client, each or b"\0"
    out = decrypted(chunks_of(wire, size=data.draw(st.sampled_from([1 << 20, 11]))), keys_of(talk.key_log))
    for client in (True, False):
        at = 0
        for half, _, _, event in out:
            if isinstance(event, bytes) and (half.source == CLIENT) is client and facts_in(out):
                found = talk.sent(client).find(event, at)
                assert found >= at
                at = found + len(event)


def facts_in(out: list[Chunk]) -> bool:
    """Whether the stage took the connection for TLS."""
    return tls_facts_of(out[-1][0].connection) is not None


@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=60)), max_size=20), st.booleans())
def test_any_bytes_are_taken(rest: list[tuple[bool, bytes]], opened: bool) -> None:
    talk = many()
    for begin in (0, 1, 2, 5):
        decrypted(chunks_of([*talk.wire[:begin], *rest], opened=opened), keys_of(talk.key_log))


# Cuts, export and resume.


@settings(max_examples=60)
@given(st.data())
def test_any_cut_and_resume_gives_the_same(data: st.DataObject) -> None:
    talk = made(data.draw(st.sampled_from(["TLS_AES_128_GCM_SHA256", "AES128-SHA"])), short=True)
    wire: list[tuple[bool, bytes | Gap]] = [*talk.wire]
    if data.draw(st.booleans()):
        wire, _ = holed(talk.wire, data.draw(st.integers(500, 4000)), data.draw(st.integers(1, 300)))
    size = data.draw(st.sampled_from([1 << 20, 100, 13]))
    wanted = [each[1:] for each in decrypted(chunks_of(wire, size=size), keys_of(talk.key_log))]
    chunks = chunks_of(wire, size=size)
    places = [0, *sorted(data.draw(st.lists(st.integers(0, len(chunks)), max_size=5))), len(chunks)]
    secrets = [bytes.fromhex(line.split()[2].decode()) for line in talk.key_log.splitlines() if b"#" not in line]
    state, out = b"", []
    for begin, end in pairwise(places):
        stage = Decryption(keys_of(talk.key_log))
        connection = resumed(begun=begin > 0)
        if state:
            stage.resume(state, {1: connection})
        sides = {True: connection.first, False: connection.second}
        mine = [(sides[half.source == CLIENT], when, packet, each) for half, when, packet, each in chunks[begin:end]]
        out += stage.feed(mine)
        state = stage.export()
        assert not any(secret in state for secret in secrets)
    out += stage.finish()
    assert [each[1:] for each in out] == wanted


def resumed(*, begun: bool) -> Connection:
    """A connection as reassembly resumes it, with or without bytes already seen."""
    connection = Connection(1, CLIENT, SERVER, SECOND, opened=True)
    for half in (connection.first, connection.second) if begun else ():
        half.begin_stream(1)
        half.place += 1
    return connection


@given(st.binary(max_size=60))
def test_a_state_that_is_none(data: bytes) -> None:
    talk = many()
    chunks = chunks_of(talk.wire[:9])[:-1]
    stage = Decryption(keys_of(talk.key_log))
    stage.feed(chunks)
    state = stage.export()
    connection = Connection(1, CLIENT, SERVER, SECOND, opened=True)
    for broken in (data, state[: len(data)], state[: -1 - len(data)], state.replace(b"open", b"what")):
        with pytest.raises(DecodeError):
            Decryption().resume(broken, {1: connection})


# Keys that come late.


def test_ciphertext_waits_for_its_key() -> None:
    talk = many()
    chunks = chunks_of(talk.wire)
    keys = KeyLog(grows=True)
    stage = Decryption(keys)
    assert stage.feed(chunks[:10]) == []
    lines = talk.key_log.splitlines()
    out: list[Chunk] = []
    for number, line in enumerate(lines):
        keys.add_lines(line)
        out += stage.feed([])
        out += stage.feed(chunks[10 + number : 11 + number])
    out += stage.feed(chunks[10 + len(lines) :])
    assert [(half.source == CLIENT, data) for half, _, _, data in out[:-1]] == SHORT
    assert stage._held == 0


def test_it_does_not_wait_for_ever() -> None:
    talk = many()
    chunks = chunks_of(talk.wire)
    keys = KeyLog(grows=True)
    stage = Decryption(keys)
    stage.feed(chunks[:20])
    assert stage._waiting
    assert stage.feed([], chunks[0][1] + TLS_WAIT_NS * 2) == []
    assert not stage._waiting
    keys.add_lines(talk.key_log)
    assert stage.feed(chunks[20:]) == chunks[-1:]
    facts = tls_facts_of(chunks[0][0].connection)
    assert facts is not None
    assert facts.size == len(talk.stream(True)) + len(talk.stream(False))
    assert stage._held == 0


@pytest.mark.plain
def test_it_holds_no_more_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.tls.decrypt_chunks.TLS_WAIT_MAX", 1000)
    talk = made("TLS_AES_128_GCM_SHA256")
    stage = Decryption(KeyLog(grows=True))
    for chunk in chunks_of(talk.wire, size=500):
        stage.feed([chunk])
        assert stage._held <= 1500
    assert not stage._waiting


def test_a_waiting_connection_that_ends() -> None:
    talk = many()
    chunks = chunks_of(talk.wire)
    stage = Decryption(KeyLog(grows=True))
    assert stage.feed(chunks) == chunks[-1:]
    assert (stage._held, stage._waiting) == (0, {})
    assert facts_of(chunks).problem == ""


def test_a_waiting_state_is_resumed() -> None:
    talk = many()
    chunks = chunks_of(talk.wire)
    stage = Decryption(KeyLog(grows=True))
    stage.feed(chunks[:9])
    state = stage.export()
    again = Decryption(keys_of(talk.key_log, grows=True))
    again.resume(state, {1: chunks[0][0].connection})
    out = again.feed(chunks[9:])
    assert [(half.source == CLIENT, data) for half, _, _, data in out[:-1]] == SHORT


# Retransmissions.


def test_what_was_sent_again_is_told_by_its_place_in_the_content() -> None:
    talk = many()
    chunks = chunks_of(talk.wire)
    half = chunks[0][0]
    place = 0
    for index, (its, _, _, data) in enumerate(chunks):
        if its is half and isinstance(data, bytes):
            if index > 20:
                break
            place += len(data)
    data = chunks[index][3]
    assert isinstance(data, bytes)
    again = (half, SECOND, 99, Retransmission(place, len(data)))
    out = decrypted([*chunks[: index + 1], again, *chunks[index + 1 :]], keys_of(talk.key_log))
    events = [each for its, _, _, each in out if its is half]
    at = next(number for number, each in enumerate(events) if isinstance(each, Retransmission))
    before = sum(len(each) for each in events[: at - 1] if isinstance(each, bytes))
    last = events[at - 1]
    assert isinstance(last, bytes)
    assert events[at] == Retransmission(before, len(last))
