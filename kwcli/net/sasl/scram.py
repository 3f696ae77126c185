"""SCRAM (RFC 5802, 7677): a user name and a password in, messages that prove the password without revealing it out.

The server proves in its last message that it knows the password as well; without that proof the login fails. Kafka
takes user names and passwords as they are (no SASLprep), and marks a delegation token by an extension (KIP-48).
"""

from __future__ import annotations

import binascii
import os
from base64 import b64decode, b64encode
from hmac import compare_digest
from typing import Final

from decoders.protocols.make_scram_proofs import LEAST_ITERATIONS, make_scram_proofs, xor_bytes
from kwcli.net.sasl.mechanism import SaslRefused

# Keeps a hostile server from using up our processor time.
MOST_ITERATIONS: Final = 1_000_000
_MESSAGE_SIZE: Final = 64 * 1024


class Scram:
    """A SCRAM login; `nonce` is random unless a test gives one."""

    reason: str | None = None

    def __init__(
        self,
        name: str,
        username: str,
        password: str,
        *,
        token_auth: bool = False,
        nonce: str | None = None,
    ) -> None:
        self.name = name
        self.done = False
        self._password = password
        self._nonce = nonce or b64encode(os.urandom(24)).decode()
        quoted = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={quoted},r={self._nonce}" + (",tokenauth=true" if token_auth else "")
        self._expected = b""

    def make_first_token(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def answer_challenge(self, challenge: bytes) -> bytes | None:
        fields = _parse_scram_fields(challenge)
        if "e" in fields:
            raise SaslRefused(f"the server says {fields['e']}")
        if self._expected:
            self._check_server_signature(fields)
            return None
        return self._make_client_proof(challenge.decode(), fields)

    def _make_client_proof(self, server_first: str, fields: dict[str, str]) -> bytes:
        nonce, salt, iterations = (fields.get(name, "") for name in "rsi")
        if "m" in fields:
            raise SaslRefused("the server asks for a SCRAM extension that kw does not know")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslRefused("the server's nonce does not continue ours: the answer is not to our message")
        if not (iterations.isascii() and iterations.isdecimal()) or len(iterations) > 10:
            raise SaslRefused("the server's iteration count is no number")
        if not LEAST_ITERATIONS <= int(iterations) <= MOST_ITERATIONS:
            raise SaslRefused(
                f"the server asks for {iterations} iterations; kw accepts {LEAST_ITERATIONS} to {MOST_ITERATIONS}"
            )
        final = f"c=biws,r={nonce}"  # biws: base64 of the "n,," that the first message began with
        signed = f"{self._bare},{server_first},{final}".encode()
        proofs = make_scram_proofs(self.name, self._password, _decode_base64(salt, "salt"), int(iterations), signed)
        proof = xor_bytes(proofs.client_key, proofs.client_signature)
        self._expected = proofs.server_signature
        return f"{final},p={b64encode(proof).decode()}".encode()

    def _check_server_signature(self, fields: dict[str, str]) -> None:
        if not compare_digest(_decode_base64(fields.get("v", ""), "signature"), self._expected):
            raise SaslRefused("the server's signature is wrong: the server does not know the password")
        self.done = True


def _parse_scram_fields(message: bytes) -> dict[str, str]:
    if len(message) > _MESSAGE_SIZE:
        raise SaslRefused(f"the server's SCRAM message has {len(message)} bytes")
    try:
        parts = [part.partition("=") for part in message.decode().split(",")]
    except UnicodeDecodeError:
        raise SaslRefused("the server's SCRAM message is no text") from None
    if any(not equals for _, equals, _ in parts):
        raise SaslRefused("the server's answer is no SCRAM message")
    return {name: text for name, _, text in parts}


def _decode_base64(text: str, part_name: str) -> bytes:
    try:
        decoded = b64decode(text, validate=True)
    except binascii.Error:
        decoded = b""
    if not decoded:
        raise SaslRefused(f"the server's SCRAM {part_name} is missing or no base64")
    return decoded
