"""A session played without a socket: its requests are read as words, the broker's answers are given as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import decoders
from kwcli.net.config.client_config import SaslSettings
from kwcli.net.explain_connection_end import ConnectionStop
from kwcli.net.sasl import Mechanism, make_mechanism
from kwcli.net.session.broker_session import Event, Opened, Outgoing, ReceivedAnswer, Session

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
# A current broker, as far as these plays need it.
MODERN: Mapping[int, tuple[int, int]] = {3: (0, 13), 17: (0, 1), 18: (0, 4), 36: (0, 2)}
# Every answer is given at once, and byte by byte.
PIECES = pytest.mark.parametrize("pieces", [None, 1], ids=["whole", "byte by byte"])


def plain() -> Mechanism:
    """A PLAIN login."""
    return make_mechanism(SaslSettings("PLAIN", "alice", "secret"), "broker", None)


def offers(ranges: Mapping[int, tuple[int, int]], *, error: int = 0) -> dict[str, Any]:
    """The value of an ApiVersions response."""
    rows = [{"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in ranges.items()]
    return {"error_code": error, "api_keys": rows}


def framed(data: bytes) -> bytes:
    """A frame with its size field."""
    return len(data).to_bytes(4, "big") + data


class Play:
    """A session under test. `pieces` is the number of bytes that it is given at a time; None: all at once."""

    def __init__(self, session: Session, pieces: int | None = None) -> None:
        self.session = session
        self.events: list[Event] = []
        self.said: list[str] = []  # all requests that the session sent
        self.stop: ConnectionStop | None = None
        self.now_ns = 1_000
        self._pieces = pieces
        self._last: Outgoing | None = None

    def open(self) -> Play:
        self._act(self.session.open)
        return self

    def again(self) -> Play:
        self._act(self.session.authenticate_again)
        return self

    @property
    def opened(self) -> int:
        """The number of Opened events."""
        return sum(isinstance(event, Opened) for event in self.events)

    @property
    def answers(self) -> list[str]:
        return [str(event.request) for event in self.events if isinstance(event, ReceivedAnswer)]

    @property
    def last(self) -> Outgoing:
        """The last frame that the session sent."""
        assert self._last is not None
        return self._last

    def answer(self, version: int, value: Mapping[str, Any], *, api_key: int | None = None) -> Play:
        """Answer the last request, in the layout of `version`."""
        key = self.last.api_key if api_key is None else api_key
        assert key is not None
        frame = decoders.encode_response(key, version, value, correlation_id=self.last.correlation_id)
        return self.give(framed(frame))

    def give(self, data: bytes) -> Play:
        """Give the session bytes from the broker."""
        step = self._pieces or max(1, len(data))
        for at in range(0, len(data), step):
            if self.stop is None:
                self._act(lambda at=at: self.session.feed(data[at : at + step], self.now_ns))
        return self

    def close(self) -> Play:
        """Close the connection on the broker's side."""
        try:
            self.session.finish()
        except ConnectionStop as stop:
            self.stop = stop
        return self

    def _act(self, action: Any) -> None:
        try:
            self.events += action()
        except ConnectionStop as stop:
            self.stop = stop
        while (out := self.session.take_outgoing()) is not None:
            self._last = out
            self.said.append(str(out))
