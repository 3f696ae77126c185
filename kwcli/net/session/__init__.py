"""One connection to a broker, sans I/O, from ApiVersions and login to requests; blocking and asyncio drivers.

Here is the vocabulary of a connection's own conversations (ApiVersions in version_negotiation.py, SASL in
sasl_authentication.py). Each is a generator: it yields the requests to send, and is sent the frames that answer them.
"""

from __future__ import annotations

from collections.abc import Generator

from decoders.named_tuple import NamedTuple

__all__ = ["BareToken", "RequestStep", "Step", "Steps", "TimedFrame"]


class TimedFrame(NamedTuple):
    """A frame that begins with its size field, and the times at which its first and last byte were handed in."""

    data: bytes
    first_ns: int
    last_ns: int


class RequestStep(NamedTuple):
    """A request; the generator is sent the frame of its answer."""

    api_key: int
    version: int
    body: bytes


class BareToken(NamedTuple):
    """Bytes to send after a bare size field (SASL after handshake 0); the answer, if any, is such a frame, too."""

    data: bytes
    respond: bool


Step = RequestStep | BareToken
Steps = Generator[Step, TimedFrame, None]
