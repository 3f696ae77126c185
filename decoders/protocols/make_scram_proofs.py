"""A password and the messages of a SCRAM login in, the proofs of both sides out (RFC 5802, 7677)."""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache
from typing import Final

from decoders.named_tuple import NamedTuple

__all__ = ["HASHES", "LEAST_ITERATIONS", "ScramProofs", "make_scram_proofs", "xor_bytes"]

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
# RFC 7677 and Kafka's own client ask for 4096 at least.
LEAST_ITERATIONS: Final = 4096


class ScramProofs(NamedTuple):
    """The proofs of a login: the client sends `client_key` xor `client_signature`, the server `server_signature`."""

    client_key: bytes
    client_signature: bytes
    server_signature: bytes


def make_scram_proofs(mechanism: str, password: str, salt: bytes, iterations: int, auth_message: bytes) -> ScramProofs:
    """The proofs over `auth_message`, the AuthMessage (client-first-bare, server-first, client-final-without-proof)."""
    algorithm = HASHES[mechanism]
    salted = _salt_password(algorithm, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    stored_key = hashlib.new(algorithm, client_key).digest()
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    return ScramProofs(
        client_key, hmac.digest(stored_key, auth_message, algorithm), hmac.digest(server_key, auth_message, algorithm)
    )


def xor_bytes(one: bytes, other: bytes) -> bytes:
    """The exclusive or of two byte strings of the same size."""
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


@lru_cache(maxsize=16)
def _salt_password(algorithm: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """The salted password, cached: it takes some ms, and is the same for every connection to a cluster's brokers."""
    return hashlib.pbkdf2_hmac(algorithm, password, salt, iterations)
