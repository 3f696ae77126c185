"""Where a connection stands in SASL: whether the next frames are Kafka or raw tokens (KIP-43, KIP-152).

Raw tokens follow a SaslHandshake 0 that succeeded. They end after the exchanges that the mechanism has, or at a frame
that decodes as a request. Clients of 0.9 with GSSAPI open a connection with a token at once.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from decoders.exchanges.logins import LoginAttempt

T = TypeVar("T")


class SaslPhase(Enum):
    """What the next frame of the client may be."""

    KAFKA = 1
    HANDSHAKE = 2  # SaslHandshake 0 was sent, its answer is not known: a request, or else a token
    TOKENS = 3


GSSAPI: Final = "GSSAPI"
# Pairs of tokens of the mechanisms that have a fixed number of them.
PAIRS: Final[dict[str, int]] = {"PLAIN": 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2}


class Sasl(Generic[T]):
    """The SASL state of one connection: `tokens` are the client's tokens that wait for an answer."""

    __slots__ = ("attempt", "left", "mechanism", "phase", "tokens")

    def __init__(self) -> None:
        self.phase = SaslPhase.KAFKA
        self.mechanism = ""
        self.attempt: LoginAttempt | None = None  # the login under way
        self.left = 0  # pairs still to come, 0 where the mechanism does not say
        self.tokens: deque[T] | tuple[()] = ()  # an empty deque has 0.7 KiB, and few connections have tokens

    def is_new(self) -> bool:
        """Whether nothing has happened yet."""
        return self.phase is SaslPhase.KAFKA and not (self.mechanism or self.left or self.tokens or self.attempt)

    def wait(self, token: T) -> None:
        """Add a token of the client, which waits for its answer."""
        if isinstance(self.tokens, tuple):
            self.tokens = deque()
        self.tokens.append(token)

    def take(self) -> T:
        """Remove and return the token that has waited longest; there has to be one."""
        assert isinstance(self.tokens, deque)
        return self.tokens.popleft()

    def asked(self, mechanism: str) -> None:
        """Follow a SaslHandshake 0 request."""
        self.phase = SaslPhase.HANDSHAKE
        self.mechanism = mechanism

    def answered(self, error_code: int) -> None:
        """Follow the response to a SaslHandshake 0."""
        self.phase = SaslPhase.KAFKA if error_code else SaslPhase.TOKENS
        self.left = PAIRS.get(self.mechanism, 0)

    def opened_with_token(self) -> None:
        """Follow a bare GSSAPI token with which the connection began."""
        self.phase = SaslPhase.TOKENS
        self.mechanism = GSSAPI

    def paired(self) -> None:
        """Follow the answer to a token."""
        if self.left:
            self.left -= 1
            if not self.left:
                self.phase = SaslPhase.KAFKA
