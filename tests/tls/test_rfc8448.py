"""The trace in RFC 8448, section 3, through the stage; and hand-made key updates, early data and retries.

Python cannot make OpenSSL send those, so records are sealed here with the keys of the trace's schedule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from decoders.tcp.connection_and_halves import tls_facts_of
from decoders.tcp.stream_chunks import Close, Gap
from decoders.tls.cipher_suites import find_suite
from decoders.tls.record_ciphers import hkdf_expand_label, secret_after_key_update
from tests.tls.conversations import chunks_of, content, decrypted, keys_of

RANDOM: Final = "cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7"
SENT: Final = bytes(range(50))
RETRY: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")


def read_trace() -> tuple[list[tuple[bool, bytes]], dict[str, bytes]]:
    """The records of the trace by side, and its secrets by label."""
    wire: list[tuple[bool, bytes]] = []
    secrets: dict[str, bytes] = {}
    for line in (Path(__file__).with_name("rfc8448.txt")).read_text().splitlines():
        if line[0] in "<>":
            wire.append((line[0] == ">", bytes.fromhex(line[2:])))
        elif line[0] == " ":
            client, data = wire[-1]
            wire[-1] = client, data + bytes.fromhex(line)
        elif line[0] == "=":
            _, label, secret = line.split()
            secrets[label] = bytes.fromhex(secret)
    return wire, secrets


WIRE, SECRETS = read_trace()


def key_log(secrets: dict[str, bytes] = SECRETS) -> bytes:
    """The key log of these secrets."""
    return "\n".join(f"{label} {RANDOM} {secret.hex()}" for label, secret in secrets.items()).encode()


class Sealer:
    """Seals records of one direction with a traffic secret."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        self.number = 0

    def seal(self, kind: int, data: bytes, padding: int = 0) -> bytes:
        """Seal the next record."""
        iv = int.from_bytes(hkdf_expand_label(self.secret, "iv", 12, "sha256"), "big") ^ self.number
        self.number += 1
        inner = data + bytes([kind]) + bytes(padding)
        header = b"\x17\x03\x03" + (len(inner) + 16).to_bytes(2, "big")
        key = hkdf_expand_label(self.secret, "key", 16, "sha256")
        return header + AESGCM(key).encrypt(iv.to_bytes(12, "big"), inner, header)

    def update(self) -> bytes:
        """A key update; later records have the next key."""
        record = self.seal(22, bytes.fromhex("18000001 00"))
        self.secret, self.number = secret_after_key_update(self.secret, find_suite(0x1301)), 0
        return record


@pytest.mark.parametrize("size", [1 << 20, 100, 1])
def test_the_trace_decrypts(size: int) -> None:
    chunks = chunks_of(WIRE, size=size)
    out = decrypted(chunks, keys_of(key_log()))
    assert (content(out, True), content(out, False)) == (SENT, SENT)
    facts = tls_facts_of(chunks[0][0].connection)
    assert facts is not None
    assert (facts.version, facts.cipher, facts.sni) == ("TLS 1.3", "TLS_AES_128_GCM_SHA256", "server")
    assert facts.certificate is not None
    assert (facts.certificate.subject, facts.certificate.expires) == ("CN=rsa", "2026-07-30T01:23:59Z")
    assert (facts.problem, facts.alerts) == ("", [])


def test_the_keys_of_the_trace() -> None:
    assert hkdf_expand_label(SECRETS["SERVER_HANDSHAKE_TRAFFIC_SECRET"], "key", 16, "sha256") == bytes.fromhex(
        "3fce516009c21727d0f2e4e86ee403bc"
    )
    assert hkdf_expand_label(SECRETS["CLIENT_TRAFFIC_SECRET_0"], "iv", 12, "sha256") == bytes.fromhex(
        "5b78923dee08579033e523d9"
    )


def updated() -> list[tuple[bool, bytes]]:
    """The trace up to its data, then ten pieces of each generation of the client's keys."""
    client = Sealer(SECRETS["CLIENT_TRAFFIC_SECRET_0"])
    wire = WIRE[:5]
    for generation in range(4):
        wire = [*wire, *((True, client.seal(23, b"%d:%d " % (generation, number))) for number in range(10))]
        wire.append((True, client.update()))
    return wire


def test_key_updates() -> None:
    wanted = b"".join(b"%d:%d " % (generation, number) for generation in range(4) for number in range(10))
    for size in (1 << 20, 3):
        out = decrypted(chunks_of(updated(), size=size), keys_of(key_log()))
        assert content(out, True) == wanted


@pytest.mark.parametrize("begin", [8, 14, 15, 16, 25])
@pytest.mark.parametrize("count", [1, 2, 5, 20, 30])
def test_a_key_update_that_is_lost(begin: int, count: int) -> None:
    wire = updated()
    lost = sum(len(data) for _, data in wire[begin : begin + count])
    holed: list[tuple[bool, bytes | Gap]] = [*wire[:begin], (True, Gap(lost, "lost")), *wire[begin + count :]]
    out = [data for _, _, _, data in decrypted(chunks_of(holed), keys_of(key_log()))]
    whole = [data for _, _, _, data in decrypted(chunks_of(wire), keys_of(key_log()))]
    kept = [data for data in out if isinstance(data, bytes)]
    gone = [data for data in whole if isinstance(data, bytes) and data not in kept]
    assert kept == [data for data in whole if isinstance(data, bytes) and data not in gone]
    assert len(gone) == sum(len(data) == 26 for _, data in wire[begin : begin + count])
    assert [each for each in out if isinstance(each, Gap)]


def test_padding_is_no_content() -> None:
    client = Sealer(SECRETS["CLIENT_TRAFFIC_SECRET_0"])
    wire = [*WIRE[:5], (True, client.seal(23, b"one", 300) + client.seal(23, b"", 9) + client.seal(23, b"two"))]
    assert content(decrypted(chunks_of(wire, size=7), keys_of(key_log())), True) == b"onetwo"


def test_a_change_of_cipher_for_middleboxes_is_nothing() -> None:
    fake = bytes.fromhex("140303000101")
    wire = [WIRE[0], WIRE[1], (False, fake), WIRE[2], (True, fake), *WIRE[3:]]
    out = decrypted(chunks_of(wire), keys_of(key_log()))
    assert (content(out, True), content(out, False)) == (SENT, SENT)


def test_alerts_inside_the_encryption_are_named() -> None:
    server = Sealer(SECRETS["SERVER_TRAFFIC_SECRET_0"])
    chunks = chunks_of([*WIRE[:4], (False, server.seal(21, bytes([2, 116])))])
    assert [data for *_, data in decrypted(chunks, keys_of(key_log()))] == [Close("fin")]
    facts = tls_facts_of(chunks[0][0].connection)
    assert facts is not None
    assert facts.alerts == ["fatal alert certificate_required from the server"]


# Early data: a hello that offers it, an answer that accepts it or not.

EARLY: Final = bytes(range(60, 92))


def early_wire(*, taken: bool, retry: bool = False) -> list[tuple[bool, bytes]]:
    """A conversation whose client sends early data."""
    hello = bytearray(WIRE[0][1] + b"\0\x2a\0\0")
    for at, size in ((3, 2), (6, 3)):  # the record, the message
        hello[at : at + size] = (int.from_bytes(hello[at : at + size], "big") + 4).to_bytes(size, "big")
    extensions = 5 + 4 + 2 + 32 + 1 + 2 + 6 + 2
    hello[extensions : extensions + 2] = (int.from_bytes(hello[extensions : extensions + 2], "big") + 4).to_bytes(
        2, "big"
    )
    early = Sealer(EARLY)
    client = Sealer(SECRETS["CLIENT_HANDSHAKE_TRAFFIC_SECRET"])
    server = Sealer(SECRETS["SERVER_HANDSHAKE_TRAFFIC_SECRET"])
    wire = [(True, bytes(hello) + early.seal(23, b"early ") + early.seal(23, b"bird "))]
    if retry:
        answer = WIRE[1][1]
        wire += [(False, answer[:11] + RETRY + answer[43:]), (True, WIRE[0][1])]
    wire.append(WIRE[1])
    wire.append((False, server.seal(22, bytes.fromhex("08000006 0004 002a0000" if taken else "08000002 0000"))))
    wire.append((False, server.seal(22, bytes.fromhex("14000020") + bytes(32))))
    if taken:
        wire.append((True, early.seal(22, bytes.fromhex("05000000"))))
    wire.append((True, client.seal(22, bytes.fromhex("14000020") + bytes(32))))
    wire.append((True, Sealer(SECRETS["CLIENT_TRAFFIC_SECRET_0"]).seal(23, b"late")))
    return wire


@pytest.mark.parametrize("size", [1 << 20, 11])
@pytest.mark.parametrize(
    ("taken", "retry", "known", "wanted", "word"),
    [
        (True, False, True, b"early bird late", "accepted"),
        (True, False, False, b"late", "accepted"),
        (False, False, True, b"late", "rejected"),
        (False, False, False, b"late", "rejected"),
        (False, True, True, b"late", "rejected"),
    ],
)
def test_early_data_is_told_apart(taken: bool, retry: bool, known: bool, wanted: bytes, word: str, size: int) -> None:
    secrets = {**SECRETS, **({"CLIENT_EARLY_TRAFFIC_SECRET": EARLY} if known else {})}
    chunks = chunks_of(early_wire(taken=taken, retry=retry), size=size)
    out = decrypted(chunks, keys_of(key_log(secrets)))
    assert content(out, True) == wanted
    # Bytes that the server accepted and kw cannot read are a gap; rejected ones are left out.
    gaps = [data for *_, data in out if isinstance(data, Gap)]
    assert gaps == ([Gap(0, "encrypted")] if taken and not known else [])
    facts = tls_facts_of(chunks[0][0].connection)
    assert facts is not None
    assert facts.early_data == word
