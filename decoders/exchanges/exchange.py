"""The rows that an engine gives: one request with its response, skipped bytes that are no exchange, ended connections.

The classes hold bytes and do not decode them: an Exchange keeps its frames, and body_reader.py reads them when asked.
Attributes have the names of the exchange record. They are plain slots set by the engine, because there are hundreds of
thousands of exchanges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict
from uuid import UUID

from decoders.errors import Malformed
from decoders.exchanges.exchange_attribute_table import SLOTS
from decoders.frames.framing import make_unframed_sizes
from decoders.limits import CLIENTS_COUNTED_MAX
from decoders.protocol_facts.api_keys import FETCH
from decoders.protocol_facts.errors.error_codes import ApiError, ExpectedApiError, error_name
from decoders.protocol_facts.exchange_remarks import ExchangeRemark, RemarkId, make_remark
from decoders.schema.api_declaration import Side
from decoders.tcp.connection_and_halves import Connection, Half
from decoders.tcp.stream_chunks import How
from decoders.wire.format_and_escape_text import format_rfc3339

if TYPE_CHECKING:
    from decoders.exchanges.body_reader import ApiReader, DecodeFailure
    from decoders.exchanges.topic_and_node_names import Topics
    from decoders.tcp.connection_prefix import ConnectionPrefix
    from decoders.tls.tls_facts import TlsInfo

__all__ = [
    *("ENDED_KEYS", "SESSION_PARTITIONS", "SESSION_PATHS", "ClientIdentity", "ClientSoftware"),
    *("ConnectionInfo", "Ended", "Exchange", "FetchSession", "Login", "Packets", "Row", "Seen", "Settled"),
    *("Skipped", "Status", "Summary", "View", "client_software", "count_clients", "intern_client_id"),
    *("fetch_session", "make_fetch_session"),
]


class Summary:
    """The counts of an engine so far. Errors are not counted, because exchanges are not decoded here."""

    __slots__ = (
        *("answers_only", "brokers", "clients", "connections", "exchanges", "first_ns", "foreign", "gaps", "last_ns"),
        *("requests_only", "skipped", "skipped_bytes", "unanswered"),
    )

    def __init__(self) -> None:
        self.exchanges = 0
        self.clients: set[ClientIdentity] = set()  # who asked
        self.brokers: set[str] = set()  # host:port that answered
        self.connections = 0  # that are Kafka
        self.unanswered = 0
        self.gaps = 0
        self.answers_only: Counter[int] = Counter()  # port of the broker → connections with its answers alone
        self.requests_only: Counter[int] = Counter()  # port of the broker → connections with its requests alone
        self.foreign: Counter[tuple[str, int]] = Counter()  # other protocol, port that was called → connections
        self.skipped: Counter[str] = Counter()  # reason → runs
        self.skipped_bytes: Counter[str] = Counter()
        self.first_ns = 0
        self.last_ns = 0

    def count_client(self, address: str, client_id: str, software: ClientSoftware | None) -> None:
        """Note the client of a request."""
        host = address.rpartition(":")[0]
        name, version = (software["name"], software["version"]) if software else (None, None)
        if len(self.clients) <= CLIENTS_COUNTED_MAX:
            self.clients.add((host, client_id, name, version))

    def count_settled(self, settled: Settled) -> None:
        """Count an exchange or skipped run that was settled elsewhere and is read from its record."""
        self.first_ns = min(self.first_ns or settled.time_ns, settled.time_ns)
        self.last_ns = max(self.last_ns, settled.time_ns)
        if isinstance(settled, Skipped):
            self.skipped[settled.reason] += 1
            self.skipped_bytes.update(make_unframed_sizes(settled.reason, settled.detail, settled.size))
            return
        self.last_ns = max(self.last_ns, settled.response_end_ns or 0)
        self.exchanges += 1
        self.unanswered += settled.outcome == "unanswered"
        self.brokers.add(settled.broker)
        if settled.api_key is not None:
            self.count_client(settled.client, settled.client_id or "", settled.client_software)

    def count_connection(self, broker: str) -> None:
        """Count a connection that has proved to be Kafka."""
        self.connections += 1
        self.brokers.add(broker)


# Host, client id ("" where there is none), name and version of the library (None where it does not say).
ClientIdentity = tuple[str, str, str | None, str | None]


def count_clients(found: Iterable[ClientIdentity]) -> int:
    """How many clients there are: a host's requests with the same client id and the same library are of one client.

    Requests that do not name their library belong to the library known for that host and client id, where there is only
    one; else they are a client of their own.
    """
    named: Counter[tuple[str, str]] = Counter()
    unknown: set[tuple[str, str]] = set()
    for host, client_id, name, version in set(found):
        if name is None and version is None:
            unknown.add((host, client_id))
        else:
            named[host, client_id] += 1
    return sum(named.values()) + sum(named.get(who) != 1 for who in unknown)


Status = Literal["complete", "not_sent", "no_response_expected", "unanswered", "orphan_response", "token", "undecoded"]
# View of a message: nested dicts and lists.
View = Any

# The fields that `fetch_session` needs in a view (body_reader.py).
SESSION_PATHS: Final[dict[tuple[int, Side], tuple[str, ...]]] = {
    (FETCH, "request"): ("session_id", "session_epoch"),
    (FETCH, "response"): ("session_id",),
}


# In `Exchange.extra`: the partitions that an incremental Fetch asks for (facts_from_earlier_exchanges.py).
SESSION_PARTITIONS: Final = "session_partitions"


class ClientSoftware(TypedDict):
    """The `client_software` key of the exchange record."""

    name: str
    version: str


class Login(TypedDict):
    """Who has logged in by SASL, or tries to, and how; None where the capture does not show it."""

    user: str | None
    mechanism: str | None


class FetchSession(TypedDict):
    """The `fetch_session` key of the exchange record: `epoch` is the request's, 0 opens a session, -1 ends it."""

    id: int
    epoch: int
    incremental: bool


class EnvelopeId(TypedDict):
    """The `envelope` key of the exchange record: the Envelope's correlation id on its connection."""

    correlation_id: int


class ConnectionInfo:
    """The connection of an exchange: its number for people, its two addresses, the time of its first packet."""

    __slots__ = (
        *("began_ns", "broker", "client", "exchanges", "has_keys", "late_ns", "number", "opened", "target", "tls"),
        *("topics", "uncounted", "via_address"),
    )

    def __init__(self, number: int, client: str, broker: str, began_ns: int, topics: Topics) -> None:
        self.number = number
        self.client = client
        self.broker = broker
        self.began_ns = began_ns
        self.topics = topics
        self.exchanges = 0  # settled so far, where they are counted
        self.late_ns = 0  # a broker known before this time would have made it Kafka without a look
        self.opened = False  # seen from its first byte on
        self.tls: TlsInfo | None = None  # where the connection was decrypted
        self.has_keys = False  # records of its exchanges have keys of their own for it: tls, via_address
        self.target: str | None = None  # host:port of the other end as a prefix names it
        self.via_address: str | None = None  # host:port that sent the bytes, where a prefix names another client
        self.uncounted = (0, 0)  # bytes of the client's and the broker's stream before those that `place` counts

    @property
    def sender(self) -> str:
        """host:port of the side that sent the requests on this connection."""
        return self.via_address or self.client

    def set_prefix(self, prefix: ConnectionPrefix | None, *, client_first: bool) -> None:
        """Note what stood before the connection's own bytes; a client that it names takes the place of the sender."""
        if prefix is None:
            return
        self.target = prefix.target or None
        if prefix.client and prefix.sender_first == client_first:
            self.via_address, self.client = self.client, prefix.client
            self.has_keys = True


class Packets(TypedDict):
    """First and last packet of each side, numbered as in Wireshark; None where no capture has the side."""

    request: list[int] | None
    response: list[int] | None


class Seen:
    """The connection, time and login: attributes that exchanges, skipped runs and ended connections have in common."""

    __slots__ = ()

    connection_info: ConnectionInfo
    time_ns: int
    login: Login | None = None  # who had logged in, where it can be said

    @property
    def user(self) -> str | None:
        """The user of the SASL login, or else the subject of the client's TLS certificate."""
        if self.login is not None:
            return self.login["user"]
        tls = self.connection_info.tls
        return None if tls is None else tls["client_subject"]

    @property
    def mechanism(self) -> str | None:
        """The SASL mechanism of the login."""
        return None if self.login is None else self.login["mechanism"]

    @property
    def client(self) -> str:
        """host:port of the client, or of the side that opened the connection."""
        return self.connection_info.client

    @property
    def broker(self) -> str:
        """host:port of the broker, or of the other side."""
        return self.connection_info.broker

    @property
    def via_address(self) -> str | None:
        """host:port that sent the client's bytes, where they name another client in a PROXY head."""
        return self.connection_info.via_address

    @property
    def connection(self) -> int:
        """The number of the connection."""
        return self.connection_info.number

    @property
    def time(self) -> str:
        """`time_ns` as RFC 3339 in UTC."""
        return format_rfc3339(self.time_ns)


class Exchange(Seen):
    """One request and its response, as the capture shows them.

    `*_ns` are nanoseconds since 1970: `time_ns` is the first byte of the request, of the response where there is no
    request. `*_raw` is a frame with its size field, up to the first hole. `outcome` is the status before it is known
    whether both sides decode. Attributes that few exchanges have are in `extra`.
    """

    __slots__ = (
        *SLOTS,
        *("_api_reader", "connection_info"),
        *("_early", "_error_codes", "_facts", "_failed", "_looked", "_request_view", "_response_view", "_values"),
    )

    kind: Literal["exchange"] = "exchange"
    record: Mapping[str, Any] | None = None  # the record it was read from (messages/exchange_from_json.py)
    _revealed: Mapping[str, Any] | None = None  # that record with the secrets that it was written with
    _api_reader: ApiReader
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
    response_place: int  # of the response's first byte, where there is a response
    _topics_known: int  # topic names known when this was settled
    login: Login | None  # in force when the request was sent; for a step of a login, the login that it is part of
    extra: dict[str, Any] | None

    # Each of these is set only once it has been asked for.
    _looked: bool
    _request_view: View
    _response_view: View
    _values: dict[Side, Any]
    _facts: Any  # what folds have found out about it (analysis/exchange_facts.py)
    _error_codes: list[tuple[str, int]] | None
    _failed: dict[Side, DecodeFailure] | None
    _early: dict[Side, str] | None

    @property
    def api(self) -> str | None:
        """The name of the API."""
        return self._api_reader.name

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds from the request's last byte to the response's first byte."""
        if self.response_ns is None or self.request_end_ns is None:
            return None
        return (self.response_ns - self.request_end_ns) / 1e6

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds from the request's first byte to the response's last byte."""
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

    def _set_views(
        self,
        request_view: View,
        response_view: View,
        error_codes: list[tuple[str, int]] | None,
        failures: dict[Side, DecodeFailure] | None,
        layout: dict[Side, str] | None,
    ) -> None:
        """Store the views, error codes, failures and early layouts that api_reader.read_and_set_views() has found."""
        self._request_view = request_view
        self._response_view = response_view
        self._error_codes = error_codes
        self._failed = failures
        self._early = layout

    def _read_sides(self) -> None:
        """Read the fields of both sides that the engine's needs name (body_reader.py), unless that is done.

        It sets both views, the error codes, the failures and the early layouts.
        """
        if not self._looked:
            self._looked = True
            self._api_reader.read_and_set_views(self)

    def view(self, side: Side) -> View:
        """The fields of a side, as `_read_sides` has read them; None where the side is not there.

        When the side cannot be decoded: all fields before the failure, so any key may be missing.
        """
        if not self._looked:
            self._read_sides()
        return self._request_view if side == "request" else self._response_view

    def _free_bytes_and_views(self) -> None:
        """Free the bytes and views of both sides, where only the rest of the exchange is kept for a while."""
        self.request_raw = self.response_raw = self._request_view = self._response_view = None

    @property
    def status(self) -> Status:
        """`outcome`, but `undecoded` where the outcome is `complete` and a side cannot be decoded."""
        if self.outcome != "complete":
            return self.outcome
        if not self._looked:
            self._read_sides()
        return "undecoded" if self._failed else "complete"

    @property
    def reason(self) -> str | None:
        """Why the status is undecoded, or what kept an exchange from being answered."""
        if self.extra is not None and "reason" in self.extra:
            return str(self.extra["reason"])
        if self.status == "undecoded":
            return next(iter(self.failures.values())).reason
        return None

    @property
    def failures(self) -> dict[Side, DecodeFailure]:
        """The failure of each side that cannot be decoded."""
        if not self._looked:
            self._read_sides()
        return self._failed or {}

    @property
    def layout(self) -> dict[Side, str]:
        """For each side with an early-access layout, the release of that layout."""
        if not self._looked:
            self._read_sides()
        return self._early or {}

    @property
    def errors(self) -> list[ApiError]:
        """Every error code of the response that is not 0."""
        if not self._looked:
            self._read_sides()
        expected = self._api_reader.expected
        return [
            (ExpectedApiError if code in expected else ApiError)(path, code, error_name(code))
            for path, code in self._error_codes or ()
        ]

    @property
    def unexpected(self) -> list[tuple[str, int]]:
        """Path and code of each error that counts: one that the protocol does not expect (`errors_expected`)."""
        if not self._looked:
            self._read_sides()
        if not self._error_codes:
            return []
        expected = self._api_reader.expected
        return [error for error in self._error_codes if error[1] not in expected] if expected else self._error_codes

    @property
    def request(self) -> Any:
        """The request as Python values, or only the fields before a failure to decode it; a token as its bytes."""
        return self.values("request")

    @property
    def response(self) -> Any:
        """The response as Python values, or only the fields before a failure to decode it; a token as its bytes."""
        return self.values("response")

    def raw(self, side: Side) -> bytes | None:
        """The frame of a side with its size field, up to the first hole; None where the side is not there."""
        return self.request_raw if side == "request" else self.response_raw

    @property
    def is_sasl_token(self) -> bool:
        """Whether the exchange is a SASL token and its answer."""
        return self.outcome == "token"

    @property
    def is_orphan(self) -> bool:
        """Whether the exchange is a response without its request."""
        return self.outcome == "orphan_response"

    def values(self, side: Side) -> Any:
        """The request or the response as Python values."""
        try:
            values = self._values
        except AttributeError:
            values = self._values = {}
        if side not in values:
            values[side] = self._api_reader.values(self, side)
        return values[side]

    @property
    def closed(self) -> str | None:
        """How the connection ended, where its end settled the exchange."""
        return self.extra.get("closed") if self.extra else None

    @property
    def retransmitted(self) -> bool:
        """Whether bytes of the exchange were retransmitted."""
        return bool(self.extra and self.extra.get("retransmitted"))

    @property
    def remarks(self) -> list[ExchangeRemark]:
        """What the protocol forbids, or does not expect, and was read all the same (exchange_remarks.py)."""
        self._read_sides()
        self._api_reader.set_remarks_on_refused_records(self)
        return self.extra.get("remarks", []) if self.extra else []

    def _add_remark(self, identity: RemarkId, text: str, side: Side, *, path: str = "", offset: int = 0) -> None:
        """Add a remark; `offset` counts bytes behind the size field of the side's frame."""
        remarks = self.extra.get("remarks", ()) if self.extra else ()
        remark = make_remark(side, identity, text, path=path, offset=offset)
        self.extra = {**(self.extra or {}), "remarks": [*remarks, remark]}

    @property
    def envelope(self) -> EnvelopeId | None:
        """The Envelope that carried the exchange, and counts its bytes and latency; None where it came alone."""
        return self.extra.get("envelope") if self.extra else None

    @property
    def topics(self) -> list[str]:
        """The topics in the request and the response, each once; those with an id alone by their known names."""
        names: list[str] = _load_describe_exchange_module().list_entity_names(self, "topicName")
        return names

    @property
    def groups(self) -> list[str]:
        """The consumer groups in the request and the response, each once."""
        names: list[str] = _load_describe_exchange_module().list_entity_names(self, "groupId")
        return names

    def to_dict(self, *, records: bool = False) -> dict[str, Any]:
        """The exchange as a record of NDJSON; with `records`, as `--records --raw-values`. Secrets are {"redacted": N}.

        What `kw sniff` knows of the exchanges before it (`group`, `transaction`, `library`, `node`) is not in it.
        """
        record: dict[str, Any] = _load_describe_exchange_module().exchange_to_dict(self, records=records)
        return record

    @property
    def tls(self) -> TlsInfo | None:
        """The version and cipher of the TLS connection, and the names in it; None for one without."""
        return self.connection_info.tls

    @property
    def undecoded(self) -> dict[str, Any]:
        """For each side that cannot be decoded: reason, offset, path and bytes, as the record has them."""
        found: dict[str, Any] = self.to_dict().get("undecoded", {}) if self.failures else {}
        return found

    def _repr_html_(self) -> str:
        html: str = import_module("decoders.notebook_html").exchange_to_html(self)
        return html

    def __repr__(self) -> str:
        try:
            line: str = _load_describe_exchange_module().describe_exchange(self)
        except AttributeError:  # the engine has not set all attributes
            return object.__repr__(self)
        return line

    @property
    def topic_names(self) -> dict[str, str]:
        """Names, learnt earlier in the capture, of the topic ids in this exchange."""
        return self._api_reader.topic_names(self)

    def topic_name(self, identity: UUID) -> str | None:
        """The name of a topic id, if the capture had shown it before this exchange was settled."""
        return self.connection_info.topics.find_name(identity, self._topics_known)

    @property
    def fetch_session(self) -> FetchSession | None:
        """The session that a Fetch belongs to (KIP-227)."""
        return fetch_session(self) if self.api_key == FETCH else None


def _load_describe_exchange_module() -> Any:
    """What programs ask an exchange for. It needs rooms above this one, which the engine does without."""
    return import_module("decoders.describe_exchange")


class Skipped(Seen):
    """Bytes that are no exchange: one run of them in one direction, or a whole connection that is not Kafka.

    `size` includes bytes that are not in the capture. It is 0 where sequence numbers jump and nothing was skipped,
    because the number of missing bytes is unknown. `until_ns` is when a frame was found again, 0 if never.
    """

    __slots__ = ("connection_info", "detail", "direction", "packet", "reason", "size", "time_ns", "until_ns")

    kind: Literal["skipped"] = "skipped"

    def __init__(
        self,
        info: ConnectionInfo,
        direction: Side | None,
        size: int,
        reason: str,
        detail: str,
        time_ns: int,
        until_ns: int = 0,
        packet: int = 0,
    ) -> None:
        self.connection_info = info
        self.direction: Side | None = direction
        self.size = size
        self.reason = reason
        self.detail = detail
        self.time_ns = time_ns
        self.until_ns = until_ns
        self.packet = packet


Settled = Exchange | Skipped


def client_software(exchange: Exchange) -> ClientSoftware | None:
    """The client software that an ApiVersions request names; None where it names none or cannot be read."""
    body = exchange.request
    name = body.get("client_software_name") if isinstance(body, dict) else None
    version = body.get("client_software_version") if isinstance(body, dict) else None
    if not name and not version:
        return None
    return _make_client_software(str(name or ""), str(version or ""))


@lru_cache(1024)  # the same few on thousands of connections
def _make_client_software(name: str, version: str) -> ClientSoftware:
    return {"name": name, "version": version}


@lru_cache(1024)
def intern_client_id(raw: bytes) -> tuple[bytes, str]:
    """A client id as on the wire and as text: the same two objects for all connections that have it."""
    return raw, raw.decode("utf-8", "surrogateescape")


def fetch_session(exchange: Exchange) -> FetchSession | None:
    """The session that a Fetch opens, continues or ends; None for one without."""
    return make_fetch_session(exchange.view("request"), exchange.view("response"))


def make_fetch_session(request: object, response: object) -> FetchSession | None:
    """The session of a Fetch by its request and response body, whole or projected; None for one without."""
    if not isinstance(request, dict):
        return None
    identity, epoch = request.get("session_id"), request.get("session_epoch")
    if identity is None or epoch is None:
        return None
    if not identity and not epoch and isinstance(response, dict):
        identity = response.get("session_id") or 0  # the one that the broker has just made
    if not identity:
        return None
    return {"id": int(identity), "epoch": int(epoch), "incremental": epoch > 0}


# The attributes that `Ended.export` gives, in this order.
ENDED_KEYS: Final = (
    *("client_again", "client_bytes", "client_gaps", "client_id", "client_missing", "client_packets"),
    *("client_quiet_ns", "client_shut_ns", "server_quiet_ns", "server_shut_ns"),
    *("client_software", "detail", "exchanges", "how", "kafka", "last_ns", "login", "opened", "reason"),
    *("server_again", "server_bytes", "server_gaps", "server_missing", "server_packets", "time_ns"),
)


class Ended(Seen):
    """One connection at its end, Kafka or not. `time_ns`, its first packet's time, and `connection_info` identify it.

    `kafka`: it proved to be Kafka, and `detail` says what bytes of it are that are no frame, where that is known;
    where it did not, `reason` (`tls`, `not_kafka`) and `detail` are those of its Skipped, empty where no byte came.
    `opened`: its SYN came before its bytes. `exchanges` counts its settled exchanges. Each direction has the packets
    and bytes of its stream, bytes of gaps included, its gaps and their bytes, segments sent again, `Half.quiet_ns`
    and `shut`. The client of a connection that is not Kafka is the side that opened it.
    """

    __slots__ = ("connection_info", *ENDED_KEYS)

    kind: Literal["connection"] = "connection"

    def __init__(self, info: ConnectionInfo, how: How = "capture_end") -> None:
        self.connection_info = info
        self.how: How = how
        self.time_ns = info.began_ns
        self.last_ns = 0
        self.opened = False
        self.kafka = False
        self.reason = self.detail = ""
        self.client_id: str | None = None  # of the latest request
        self.client_software: ClientSoftware | None = None
        self.login: Login | None = None  # the latest
        self.exchanges = 0
        self.client_packets = self.client_bytes = self.client_gaps = 0
        self.client_missing = self.client_again = self.client_quiet_ns = self.client_shut_ns = 0
        self.server_packets = self.server_bytes = self.server_gaps = 0
        self.server_missing = self.server_again = self.server_quiet_ns = self.server_shut_ns = 0

    @classmethod
    def from_connection(cls, info: ConnectionInfo, connection: Connection, client: Half, how: How) -> Ended:
        """The end of a connection, with the counts of its two halves."""
        ended = cls(info, how)
        ended.opened = connection.opened
        ended.last_ns = max(client.last_ns, client.peer.last_ns)
        ended._copy_counts_of_halves(client, client.peer)
        return ended

    @property
    def entry(self) -> Literal["refused", "silent", "unheard"] | None:
        """How a connection was not accepted (`unheard`: SYN, SYN-ACK again and again alone); None for all others."""
        if not self.opened or self.client_bytes or self.server_bytes:
            return None
        if not self.server_packets:
            return "silent"
        if self.how in ("rst", "fin"):
            return "refused" if self.how == "rst" and not self.server_quiet_ns and self.server_packets == 1 else None
        return "unheard" if self.client_packets == 1 + self.client_again > 2 < self.server_packets else None

    def _copy_counts_of_halves(self, client: Half, server: Half) -> None:
        self.client_packets, self.client_bytes, self.client_gaps = client.packets, client.size, client.gaps
        self.client_missing, self.client_again, self.client_quiet_ns = client.missing, client.again, client.quiet_ns
        self.server_packets, self.server_bytes, self.server_gaps = server.packets, server.size, server.gaps
        self.server_missing, self.server_again, self.server_quiet_ns = server.missing, server.again, server.quiet_ns
        self.client_shut_ns, self.server_shut_ns = client.shut[1], server.shut[1]

    def export(self) -> list[object]:
        """The attributes of ENDED_KEYS (all but `connection_info`), as built-in values."""
        return [getattr(self, name) for name in ENDED_KEYS]

    @classmethod
    def make_resumed(cls, info: ConnectionInfo, state: object) -> Ended:
        """The end of a connection, with the state that `export` gave. Raises DecodeError for anything else."""
        if not isinstance(state, list) or len(state) != len(ENDED_KEYS):
            raise Malformed("no end of a connection")
        ended = cls(info)
        for name, value in zip(ENDED_KEYS, state, strict=True):
            setattr(ended, name, value)
        return ended


# The rows of an engine that gives ended connections too.
Row = Exchange | Skipped | Ended
