"""What every SASL mechanism does: bytes of the server in, bytes for the server out, until it is done."""

from __future__ import annotations

from typing import Protocol

from decoders.wire.text import in_bytes


class SaslRefused(Exception):
    """The exchange cannot go on: the server is not who it should be, or says no; `text` is one line without secrets."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Mechanism(Protocol):
    """One authentication, good for one connection and one time.

    `first` gives what is sent first, `answer` what is sent next (None: nothing). `done`: the server has nothing more
    to prove. `reason`: what the server said against us, when it expects another answer before it refuses.
    """

    @property
    def name(self) -> str: ...

    @property
    def done(self) -> bool: ...

    @property
    def reason(self) -> str | None: ...

    def first(self) -> bytes: ...

    def answer(self, challenge: bytes) -> bytes | None: ...


class Around:
    """A mechanism that leaves its work to another: for who changes one step of it."""

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

    def first(self) -> bytes:
        return self._inner.first()

    def answer(self, challenge: bytes) -> bytes | None:
        return self._inner.answer(challenge)


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
