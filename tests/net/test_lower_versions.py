"""Brokers that close on a high ApiVersions, that are not asked for their versions, and that refuse logins oddly."""

from __future__ import annotations

import socket
from struct import pack, unpack
from typing import Any, Final

import pytest

from decoders import encode_response
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.net.responder import Responder, framed, read_frame

METADATA, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 3, 17, 18, 36
OFFERED: Final = ((METADATA, 0, 9), (SASL_HANDSHAKE, 0, 1), (API_VERSIONS, 0, 3), (SASL_AUTHENTICATE, 0, 1))
PLAIN: Final = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "u",
    "sasl.password": "p",
}


class Broker:
    """A broker that closes on ApiVersions above `highest`; `refusal` is its answer to SaslAuthenticate."""

    def __init__(self, highest: int, refusal: bytes = b"") -> None:
        self.highest = highest
        self.refusal = refusal
        self.asked: list[tuple[int, int]] = []

    def __call__(self, link: socket.socket) -> None:
        while frame := read_frame(link):
            key, version, correlation_id = unpack(">hhi", frame[:8])
            self.asked.append((key, version))
            if key == API_VERSIONS and version > self.highest:
                return
            if key == SASL_AUTHENTICATE:
                link.sendall(framed(pack(">i", correlation_id) + self.refusal))
                return
            link.sendall(framed(encode_response(key, version, self.answer(key), correlation_id=correlation_id)))

    def answer(self, key: int) -> dict[str, Any]:
        if key == API_VERSIONS:
            return {"api_keys": [{"api_key": k, "min_version": low, "max_version": high} for k, low, high in OFFERED]}
        return {"mechanisms": ["PLAIN"]} if key == SASL_HANDSHAKE else {"topics": [], "brokers": [], "cluster_id": "c"}


def call(broker: Broker, *words: str, **properties: str) -> Any:
    given = [word for name, value in properties.items() for word in ("-X", f"{name}={value}")]
    with Responder(broker) as server:
        return kw("call", "Metadata", "-b", f"127.0.0.1:{server.address[1]}", *given, *words)


@pytest.mark.parametrize("highest", [3, 2, 1, 0])
def test_a_broker_that_closes_is_asked_with_lower_versions(highest: int) -> None:
    broker = Broker(highest)
    outcome = call(broker, "-v")
    assert outcome.code == Exit.DONE
    assert f"closes on ApiVersions {highest + 1} without an answer: asked with {highest}" in outcome.err
    versions = [version for key, version in broker.asked if key == API_VERSIONS]
    assert versions == list(range(4, highest - 1, -1))


def test_the_settings_say_the_versions_of_a_broker_that_is_not_asked() -> None:
    broker = Broker(-1)
    outcome = call(broker, **{"api.version.request": "false", "broker.version.fallback": "2.3.0"})
    assert (outcome.code, broker.asked) == (Exit.DONE, [(METADATA, 8)])


def test_a_release_that_nobody_knows_is_refused() -> None:
    outcome = kw("call", "Metadata", "-b", "127.0.0.1:1", "-X", "broker.version.fallback=99")
    assert outcome.code == Exit.USAGE
    assert outcome.err.startswith("kw: broker.version.fallback (-X): no release 99")


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        # error code, message, auth_bytes null, which is not allowed; cut behind the code; cut inside the message
        ("003a 000f 496e76616c6964207365637265742e ffffffff", "refused the PLAIN credentials: Invalid secret;"),
        ("003a", "refused the PLAIN credentials;"),
        ("003a 000f 496e76", "refused the PLAIN credentials;"),
        ("0022 ffff ffffffff", "answered SaslAuthenticate with ILLEGAL_SASL_STATE"),
    ],
)
def test_an_unreadable_answer_to_a_login_is_told_as_the_error_of_the_login(refusal: str, said: str) -> None:
    outcome = call(Broker(3, bytes.fromhex(refusal)), **PLAIN)
    assert outcome.code == Exit.REFUSED
    assert said in outcome.err
