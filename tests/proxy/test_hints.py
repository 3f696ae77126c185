"""Hints about SASL mechanisms that do not work through a proxy, as soon as a client asks for one."""

from __future__ import annotations

import pytest

import decoders
from kwcli.proxy.relay.relay_state import NOTE
from kwcli.proxy.relay.sans_io_connection import RelayCore
from tests.proxy.stage import SASL_HANDSHAKE, request


def notes(data: bytes, pieces: int | None = None) -> list[str]:
    connection = RelayCore()
    step = pieces or len(data)
    found = []
    for at in range(0, len(data), step):
        found += connection.client_bytes(data[at : at + step], 1)
    return [command[1] for command in found if command[0] == NOTE]


@pytest.mark.parametrize("version", decoders.api(SASL_HANDSHAKE).versions)
@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("GSSAPI", ["GSSAPI asks for a ticket for kafka/HOST"]),
        ("AWS_MSK_IAM", ["AWS_MSK_IAM signs the host"]),
        ("PLAIN", []),
        ("SCRAM-SHA-512", []),
    ],
)
def test_a_mechanism_that_is_bound_to_a_host(version: int, mechanism: str, words: list[str]) -> None:
    said = notes(request(SASL_HANDSHAKE, version, {"mechanism": mechanism}))
    assert [text[: len(word)] for text, word in zip(said, words, strict=True)] == words


def test_a_bare_ticket() -> None:
    token = b"\x60" + b"x" * 40
    (said,) = notes(len(token).to_bytes(4, "big") + token)
    assert said.startswith("GSSAPI")


@pytest.mark.parametrize("pieces", range(1, 40))
def test_a_handshake_in_pieces_does_no_harm(pieces: int) -> None:
    assert len(notes(request(SASL_HANDSHAKE, 1, {"mechanism": "GSSAPI"}), pieces)) <= 1
