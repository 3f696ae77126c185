"""The values that come out: one request with its response, and one run of bytes that is no exchange.

Both hold, they do not decode: an Exchange keeps its frames' bytes, and specs.py reads them when asked. Attributes
have the names of the exchange record. Plain slots set by the loop, because there are hundreds of thousands of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

from decoders.apis.error_codes import error_name
from decoders.apis.keys import FETCH
from decoders.exchanges.identity import ClientSoftware
from decoders.exchanges.sessions import FetchSession, fetch_session
from decoders.exchanges.times import rfc3339
from decoders.schema.model import Side

if TYPE_CHECKING:
    from decoders.exchanges.specs import Spec
    from decoders.exchanges.topics import Topics

Status = Literal["complete", "no_response_expected", "unanswered", "orphan_response", "token", "undecoded"]
# View of a message: nested dicts and lists.
View = Any


class Ends:
    """The connection of an exchange: its number for people, its two addresses, the time of its first packet."""

    __slots__ = ("began_ns", "broker", "client", "exchanges", "late_ns", "number", "topics")

    def __init__(self, number: int, client: str, broker: str, began_ns: int, topics: Topics) -> None:
        self.number = number
        self.client = client
        self.broker = broker
        self.began_ns = began_ns
        self.topics = topics
        self.exchanges = 0  # settled so far, where somebody counts
        self.late_ns = 0  # had other connections shown the broker before this time, it would have been known for one


class ApiError(NamedTuple):
    """One error code of a response that is not 0."""

    path: str
    code: int
    name: str


class Failure(NamedTuple):
    """Why a side could not be decoded: `offset` in bytes behind the frame's size field, `path` of the field."""

    reason: str
    offset: int
    path: str
    text: str


class Packets(TypedDict):
    """First and last packet of each side, as Wireshark counts; None where no capture has it."""

    request: list[int] | None
    response: list[int] | None


class Seen:
    """What was seen on a connection at a time: what an exchange and a skipped run have in common."""

    __slots__ = ()

    ends: Ends
    time_ns: int

    @property
    def client(self) -> str:
        """host:port of the client, or of who opened the connection."""
        return self.ends.client

    @property
    def broker(self) -> str:
        """host:port of the broker, or of the other side."""
        return self.ends.broker

    @property
    def connection(self) -> int:
        """The number of the connection."""
        return self.ends.number

    @property
    def time(self) -> str:
        """`time_ns` as RFC 3339 in UTC."""
        return rfc3339(self.time_ns)


class Exchange(Seen):
    """One request and its response, as the capture shows them.

    `*_ns` are nanoseconds since 1970: `time_ns` is the first byte of the request, of the response where there is no
    request. `*_raw` is a frame with its size field, up to the first hole. `outcome` is the status before it is known
    whether both sides decode. What few exchanges have is in `extra`.
    """

    __slots__ = (
        "_values",
        "api_key",
        "api_version",
        "client_id",
        "client_software",
        "correlation_id",
        "early",
        "ends",
        "error_codes",
        "extra",
        "failed",
        "known",
        "looked",
        "outcome",
        "place",
        "request_end_ns",
        "request_packet",
        "request_packet_end",
        "request_raw",
        "request_size",
        "request_view",
        "response_end_ns",
        "response_ns",
        "response_packet",
        "response_packet_end",
        "response_raw",
        "response_size",
        "response_view",
        "spec",
        "time_ns",
    )

    kind: Literal["exchange"] = "exchange"
    spec: Spec
    api_key: int | None
    api_version: int | None
    correlation_id: int | None
    client_id: str | None
    client_software: ClientSoftware | None
    request_end_ns: int | None
    request_packet: int | None
    request_packet_end: int | None
    request_size: int | None
    request_raw: bytes | None
    response_ns: int | None
    response_end_ns: int | None
    response_packet: int | None
    response_packet_end: int | None
    response_size: int | None
    response_raw: bytes | None
    outcome: Status
    place: int  # of the request's first byte in its direction's stream
    known: int  # topic names known when this was settled
    extra: dict[str, Any] | None

    # Each of these is there only once it has been asked for.
    looked: bool
    request_view: View
    response_view: View
    _values: dict[Side, Any]
    error_codes: list[tuple[str, int]] | None
    failed: dict[Side, Failure] | None
    early: dict[Side, str] | None

    @property
    def api(self) -> str | None:
        """The name of the API."""
        return self.spec.name

    @property
    def latency_ms(self) -> float | None:
        """From the request's last byte to the response's first one."""
        if self.response_ns is None or self.request_end_ns is None:
            return None
        return (self.response_ns - self.request_end_ns) / 1e6

    @property
    def duration_ms(self) -> float | None:
        """From the request's first byte to the response's last one."""
        if self.response_end_ns is None or self.request_end_ns is None:
            return None
        return (self.response_end_ns - self.time_ns) / 1e6

    @property
    def packets(self) -> Packets:
        """First and last packet of each side."""
        first, last = self.request_packet, self.request_packet_end
        request = [first, last] if first and last else None
        first, last = self.response_packet, self.response_packet_end
        return {"request": request, "response": [first, last] if first and last else None}

    def note(
        self,
        request_view: View,
        response_view: View,
        error_codes: list[tuple[str, int]] | None,
        failures: dict[Side, Failure] | None,
        layout: dict[Side, str] | None,
    ) -> None:
        """What spec.look() has found."""
        self.request_view = request_view
        self.response_view = response_view
        self.error_codes = error_codes
        self.failed = failures
        self.early = layout

    def view(self, side: Side) -> View:
        """The fields of a side that the engine's needs name (needs.py); None where the side is not there.

        When the side cannot be decoded: all fields before the failure, so any key may be missing.
        """
        if not self.looked:
            self.looked = True
            self.spec.look(self)
        return self.request_view if side == "request" else self.response_view

    def forget(self) -> None:
        """Let go of the bytes and the fields of both sides, for who keeps the rest of it for a while."""
        self.request_raw = self.response_raw = self.request_view = self.response_view = None

    @property
    def status(self) -> Status:
        """`outcome`, but `undecoded` where that is complete and a side cannot be decoded."""
        if self.outcome != "complete":
            return self.outcome
        if not self.looked:
            self.looked = True
            self.spec.look(self)
        return "undecoded" if self.failed else "complete"

    @property
    def reason(self) -> str | None:
        """Why the status is undecoded, or what kept an exchange from being answered."""
        if self.extra is not None and "reason" in self.extra:
            return str(self.extra["reason"])
        if self.status == "undecoded":
            return next(iter(self.failures.values())).reason
        return None

    @property
    def failures(self) -> dict[Side, Failure]:
        """The sides that cannot be decoded."""
        if not self.looked:
            self.looked = True
            self.spec.look(self)
        return self.failed or {}

    @property
    def layout(self) -> dict[Side, str]:
        """The release whose early layout a side has."""
        if not self.looked:
            self.looked = True
            self.spec.look(self)
        return self.early or {}

    @property
    def errors(self) -> list[ApiError]:
        """Every error code of the response that is not 0."""
        if not self.looked:
            self.looked = True
            self.spec.look(self)
        return [ApiError(path, code, error_name(code)) for path, code in self.error_codes or ()]

    @property
    def request(self) -> Any:
        """The request as Python values; of a token its bytes, of a side that fails the fields before the failure."""
        return self.values("request")

    @property
    def response(self) -> Any:
        """The response, likewise."""
        return self.values("response")

    def values(self, side: Side) -> Any:
        """The request or the response."""
        try:
            values = self._values
        except AttributeError:
            values = self._values = {}
        if side not in values:
            values[side] = self.spec.values(self, side)
        return values[side]

    @property
    def closed(self) -> str | None:
        """How the connection ended, when that settled this."""
        return self.extra.get("closed") if self.extra else None

    @property
    def retransmitted(self) -> bool:
        """Whether bytes of it were sent again."""
        return bool(self.extra and self.extra.get("retransmitted"))

    @property
    def topic_names(self) -> dict[str, str]:
        """Names, learnt earlier in the capture, of the topic ids in this exchange."""
        return self.spec.topic_names(self)

    def topic_name(self, identity: UUID) -> str | None:
        """The name of a topic id, if the capture had shown it before this exchange was settled."""
        return self.ends.topics.name(identity, self.known)

    @property
    def fetch_session(self) -> FetchSession | None:
        """The session that a Fetch belongs to (KIP-227)."""
        return fetch_session(self) if self.api_key == FETCH else None


class Skipped(Seen):
    """Bytes that are no exchange: one run of them in one direction, or a whole connection that is not Kafka.

    `size` counts bytes that are not in the capture as well; 0 where sequence numbers jump and nothing was skipped, for
    nobody knows how many are missing. `until_ns` is when a frame was found again, 0 if never.
    """

    __slots__ = ("detail", "direction", "ends", "packet", "reason", "size", "time_ns", "until_ns")

    kind: Literal["skipped"] = "skipped"

    def __init__(
        self,
        ends: Ends,
        direction: Side | None,
        size: int,
        reason: str,
        detail: str,
        time_ns: int,
        until_ns: int = 0,
        packet: int = 0,
    ) -> None:
        self.ends = ends
        self.direction: Side | None = direction
        self.size = size
        self.reason = reason
        self.detail = detail
        self.time_ns = time_ns
        self.until_ns = until_ns
        self.packet = packet


Settled = Exchange | Skipped
