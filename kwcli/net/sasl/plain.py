"""PLAIN (RFC 4616): a user name and a password in, the one message that carries both out."""

from __future__ import annotations

from decoders.wire.text import in_bytes
from kwcli.net.sasl.mechanism import SaslRefused


class PlainMechanism:
    """The server's answer to the one message is empty."""

    name = "PLAIN"
    reason: str | None = None

    def __init__(self, username: str, password: str) -> None:
        if "\0" in username or "\0" in password:
            raise SaslRefused("PLAIN cannot carry a user name or password with a NUL character in it")
        self._message = f"\0{username}\0{password}".encode()
        self.done = False

    def first(self) -> bytes:
        return self._message

    def answer(self, challenge: bytes) -> bytes | None:
        if challenge:
            raise SaslRefused(f"the server answers PLAIN with {in_bytes(len(challenge))} where none are expected")
        self.done = True
        return None
