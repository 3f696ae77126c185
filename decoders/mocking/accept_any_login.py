"""Tokens of clients that log in to a mocked broker in, the broker's tokens out. No login is checked.

With PLAIN and OAUTHBEARER the broker proves nothing, so any token is accepted. With SCRAM the broker proves that it
knows the password as well. A mock knows one for every user, and a client that has another one would not accept the
proof. So such a login is refused, with the reason, and that is no check of who the user is. With GSSAPI the broker
would need the key of its principal: those logins are refused at the handshake.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import blake2b
from hmac import compare_digest
from typing import Final

from decoders.mocking.build_response_bodies import ResponseBody
from decoders.mocking.cluster_state import Call, MockCluster, MockLogin
from decoders.mocking.refusal_error import Refusal
from decoders.protocols.make_scram_proofs import HASHES, LEAST_ITERATIONS, make_scram_proofs, xor_bytes

__all__ = ["TAKEN_MECHANISMS", "UNPROVEN_MECHANISMS", "handle_sasl_authenticate", "handle_sasl_handshake"]

# Mechanisms whose broker proves nothing to its client.
UNPROVEN_MECHANISMS: Final = ("PLAIN", "OAUTHBEARER")
TAKEN_MECHANISMS: Final = (*UNPROVEN_MECHANISMS, *HASHES)

NONE: Final = 0
UNSUPPORTED_SASL_MECHANISM: Final = 33
ILLEGAL_SASL_STATE: Final = 34

# The header, then the signed part, and in that the user and the nonce.
_CLIENT_FIRST: Final = re.compile(rb"([nyp][^,]*,[^,]*,)(n=([^,]+),r=([^,]+)(?:,.*)?)\Z", re.DOTALL)
# The signed part, and in that the nonce; then the proof.
_CLIENT_FINAL: Final = re.compile(rb"(c=[^,]*,r=([^,]*)(?:,.*)?),p=([A-Za-z0-9+/]+=*)\Z", re.DOTALL)
_SIZE_MAX: Final = 64 << 10


class UnprovenLogin:
    """A login of one token, which is always accepted."""

    done = False

    def answer_token(self, token: bytes) -> bytes:  # noqa: ARG002  # whatever it is
        """An empty answer, to any token."""
        self.done = True
        return b""


class ScramLogin:
    """A login of two tokens. A real broker's nonce and salt are random; here nobody is kept out, and the same input
    gives the same output."""

    def __init__(self, cluster: MockCluster, mechanism: str) -> None:
        self.done = False
        self._cluster = cluster
        self._mechanism = mechanism
        self._user = ""
        self._nonce = b""
        self._salt = b""
        self._said = b""  # client-first and server-first, as they are signed

    def answer_token(self, token: bytes) -> bytes:
        """The broker's answer to a client's token. Raises Refusal."""
        return self._answer_final_message(token) if self._said else self._answer_first_message(token)

    def _answer_first_message(self, token: bytes) -> bytes:
        found = _CLIENT_FIRST.match(token[:_SIZE_MAX])
        if found is None:
            raise Refusal("SASL_AUTHENTICATION_FAILED", f"no first message of {self._mechanism}")
        _, bare, user, nonce = found.groups()
        self._user = user.replace(b"=2C", b",").replace(b"=3D", b"=").decode("utf-8", "replace")
        own = blake2b(b"%d" % self._cluster.next_unique_number(), key=nonce[:64], digest_size=16).hexdigest()
        self._nonce = nonce + own.encode()
        self._salt = blake2b(user, digest_size=16).digest()
        first = b"r=%b,s=%b,i=%d" % (self._nonce, b64encode(self._salt), LEAST_ITERATIONS)
        self._said = b"%b,%b" % (bare, first)
        return first

    def _answer_final_message(self, token: bytes) -> bytes:
        found = _CLIENT_FINAL.match(token[:_SIZE_MAX])
        if found is None or found[2] != self._nonce:
            raise Refusal("SASL_AUTHENTICATION_FAILED", f"no final message of {self._mechanism}")
        password = self._cluster.find_password(self._user)
        signed = b"%b,%b" % (self._said, found[1])
        proofs = make_scram_proofs(self._mechanism, password, self._salt, LEAST_ITERATIONS, signed)
        try:
            shown = b64decode(found[3], validate=True)
        except NotBase64:
            shown = b""
        if not compare_digest(shown, xor_bytes(proofs.client_key, proofs.client_signature)):
            text = f"user {self._user[:100]!r} logs in by {self._mechanism} with a password that the mock does not know"
            self._cluster.add_note_for_user(f"{text}: give it by --password USER=PASSWORD (kw help mock)")
            raise Refusal("SASL_AUTHENTICATION_FAILED", text)
        self.done = True
        return b"v=" + b64encode(proofs.server_signature)


def handle_sasl_handshake(cluster: MockCluster, call: Call) -> ResponseBody:
    """SaslHandshake: begin a login by any recorded mechanism that a mock can speak."""
    taken = [name for name in cluster.mechanisms if name in TAKEN_MECHANISMS]
    asked = call.body["mechanism"]
    code = NONE if asked in taken else UNSUPPORTED_SASL_MECHANISM
    if not cluster.mechanisms:
        code = ILLEGAL_SASL_STATE  # as on a listener without SASL
        cluster.add_note_for_user("a client wants to log in and is refused: the recording has no logins")
    elif code:
        known = ", ".join(taken) or "no mechanism"
        cluster.add_note_for_user(f"a client wants to log in by {asked[:100]!r} and is refused: the mock takes {known}")
    call.login = None if code else _make_mock_login(cluster, asked)
    return {"error_code": code, "mechanisms": taken}


def _make_mock_login(cluster: MockCluster, mechanism: str) -> MockLogin:
    return ScramLogin(cluster, mechanism) if mechanism in HASHES else UnprovenLogin()


def handle_sasl_authenticate(cluster: MockCluster, call: Call) -> ResponseBody:  # noqa: ARG001  # as all handlers
    """SaslAuthenticate: take the next token of a login that a handshake has begun."""
    login = call.login
    if login is None or login.done:
        raise Refusal("ILLEGAL_SASL_STATE", "no SaslHandshake came before SaslAuthenticate")
    try:
        token = login.answer_token(call.body["auth_bytes"])
    except Refusal:
        call.login = None
        raise
    return {"error_code": NONE, "error_message": None, "auth_bytes": token, "session_lifetime_ms": 0}
