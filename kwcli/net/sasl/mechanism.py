"""The interface of SASL mechanisms: bytes of the server in, bytes for the server out, until it is done."""

from __future__ import annotations

from typing import Protocol

from decoders.wire.format_and_escape_text import format_bytes


class SaslRefused(Exception):
    """The exchange cannot go on: the server is not who it should be, or refuses; `text` is a line without secrets."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Mechanism(Protocol):
    """One authentication, for one login on one connection.

    `first` gives the first message, `answer` the next one (None: nothing is sent). `done`: the server has nothing more
    to prove. `reason`: why the server refuses us, when it expects another answer before it does.
    """

    @property
    def name(self) -> str: ...

    @property
    def done(self) -> bool: ...

    @property
    def reason(self) -> str | None: ...

    def make_first_token(self) -> bytes: ...

    def answer_challenge(self, challenge: bytes) -> bytes | None: ...


class WrappedMechanism:
    """A mechanism that passes every step on to another one; subclasses change single steps."""

    def __init__(self, inner: Mechanism) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def done(self) -> bool:
        return self._inner.done

    @property
    def reason(self) -> str | None:
        return self._inner.reason

    def make_first_token(self) -> bytes:
        return self._inner.make_first_token()

    def answer_challenge(self, challenge: bytes) -> bytes | None:
        return self._inner.answer_challenge(challenge)


class PlainMechanism:
    """PLAIN: one message, to which the server's answer is empty."""

    name = "PLAIN"
    reason: str | None = None

    def __init__(self, username: str, password: str) -> None:
        if "\0" in username or "\0" in password:
            raise SaslRefused("PLAIN cannot carry a user name or password with a NUL character in it")
        self._message = f"\0{username}\0{password}".encode()
        self.done = False

    def make_first_token(self) -> bytes:
        return self._message

    def answer_challenge(self, challenge: bytes) -> bytes | None:
        if challenge:
            raise SaslRefused(f"the server answers PLAIN with {format_bytes(len(challenge))} where none are expected")
        self.done = True
        return None
