"""Captures and records in; their requests, in the order of their times, each with why it is not asked again, out.

All requests of a recording are held in memory, since a request may settle long after the next ones: at most
RECORDING_MAX bytes of both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.apis import NAMES
from decoders.errors import DecodeError, EncodeError
from decoders.exchanges.topic_and_node_names import NODE_LISTS, WELL_KNOWN, broker_addresses, list_nodes_of_answer
from decoders.limits import MIB
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.whole_messages import decode_message, encode_json
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.protocol_facts.request_routing import route_of_api
from decoders.replaying.classify_apis_for_replay import ApiClass, classify_api
from decoders.replaying.id_map import NotReplayable
from decoders.wire.format_and_escape_text import format_bytes
from decoders.wire.primitive_types import uuid_to_bytes
from kwcli.names_in_any_spelling import find_api
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.exchanges.exchange import ConnectionInfo, Exchange, Settled

__all__ = ["AllowedChanges", "RecordedRequest", "ReplayRecording"]

# Bytes of requests and answers that are held at a time.
RECORDING_MAX: Final = 2048 * MIB
# How both sides are read to be compared: with the contents of records, secrets redacted.
WHOLE: Final = Options(records=True)
# The APIs that no client and no tool sends.
INSIDE: Final = frozenset(key for key in NAMES if not {"client", "tool"} & set(route_of_api(key).sent_by))


class AllowedChanges(NamedTuple):
    """What --changes allows: whether data may be changed, and the keys of the admin APIs that may be sent."""

    data: bool = False
    admin: frozenset[int] = frozenset()

    @property
    def allows_changes(self) -> bool:
        """Whether anything may be changed."""
        return self.data or bool(self.admin)

    @classmethod
    def parse_words(cls, words: Sequence[str]) -> AllowedChanges:
        """Read the words of --changes, `data` and `admin:API,…`; words behind an `admin:` are further APIs.

        Raises Failure (usage).
        """
        data, admin, in_admin = False, set[int](), False
        for word in words:
            kind, colon, name = word.partition(":")
            if word == "data":
                data, in_admin = True, False
                continue
            if kind == "admin" and colon:
                in_admin, word = True, name
            if not in_admin:
                text = f"--changes {word!r}: there are data and admin:API,… (admin:create_topics,delete_topics)"
                raise Failure(text, Exit.USAGE)
            found = find_api(word)
            its_class = classify_api(found.key)
            if its_class != "admin":
                why = {"never": "it is never sent to another cluster", "data": "say --changes data for it"}
                raise Failure(
                    f"--changes admin:{word}: {found.name} is of the class {its_class}, not admin; "
                    f"{why.get(its_class, 'it changes nothing and is asked anyway')}",
                    Exit.USAGE,
                )
            admin.add(found.key)
        return cls(data, frozenset(admin))

    def find_refusal(self, api_key: int) -> NotReplayable | None:
        """Why an API may not be sent; None where it may."""
        its_class: ApiClass = classify_api(api_key)
        if its_class == "never":
            return NotReplayable("never", "never sent: logins, tokens, requests between brokers and controllers")
        if its_class == "data" and not self.data:
            return NotReplayable("data", "changes data, which --changes data allows")
        if its_class == "admin" and api_key not in self.admin:
            name = NAMES[api_key]
            return NotReplayable("admin", f"changes the cluster, which --changes admin:{name} allows")
        return None


class RecordedRequest:
    """A request of the recording with its answer; `problem` is why it is not asked again, None where it is."""

    __slots__ = ("data", "exchange", "problem")

    def __init__(self, exchange: Exchange, allowed: AllowedChanges) -> None:
        self.exchange = exchange
        self.data = b""
        self.problem: NotReplayable | None = None
        try:
            self.data = self._read_body(allowed)
        except NotReplayable as problem:
            self.problem = problem.with_traceback(None)

    @property
    def api_key(self) -> int:
        """The API key of the request."""
        assert self.exchange.api_key is not None
        return self.exchange.api_key

    @property
    def version(self) -> int:
        """The version in which the request was sent."""
        assert self.exchange.api_version is not None
        return self.exchange.api_version

    @property
    def ended_ns(self) -> int | None:
        """When the client knew the result of the request; None where it never did."""
        exchange = self.exchange
        if exchange.outcome == "no_response_expected":
            return exchange.request_end_ns or exchange.time_ns
        return exchange.response_end_ns

    @property
    def client_identity(self) -> tuple[int, str | None]:
        """The connection and the client id; requests for which these are equal are asked in order."""
        return id(self.exchange.connection_info), self.exchange.client_id

    def decode_body(self) -> dict[str, Any]:
        """The body as Python values."""
        found = decode_message(self.api_key, self.version, "request", self.data, strict=False)
        found.pop("_trailing", None)
        return found

    def build_answer_json(self) -> dict[str, Any] | None:
        """The record of the recorded exchange, as it is compared."""
        return to_json_dict(self.exchange, WHOLE)

    def _read_body(self, allowed: AllowedChanges) -> bytes:
        """The bytes of the request's body. Raises NotReplayable."""
        exchange = self.exchange
        if exchange.is_sasl_token:
            raise NotReplayable("never", "a login")
        if exchange.api_key is None or exchange.api_key not in NAMES:
            raise NotReplayable("unknown_api", "kw does not know its API")
        if exchange.extra is not None and exchange.extra.get("envelope"):
            raise NotReplayable("never", "a broker's Envelope carried it")
        problem = allowed.find_refusal(exchange.api_key)
        if problem is not None:
            raise problem
        if exchange.is_orphan or (exchange.extra is not None and exchange.extra.get("guessed")):
            raise NotReplayable("incomplete", "the recording has only its answer")
        return self._encode_body_of_record() if exchange.record is not None else self._read_captured_body()

    def _read_captured_body(self) -> bytes:
        exchange = self.exchange
        data = exchange.raw("request")
        if data is None or (exchange.extra is not None and exchange.extra.get("request")):
            raise NotReplayable("incomplete", "a part of it is not in the recording")
        body = data[exchange._api_reader.find_body_offset("request", data) :]
        try:
            decode_message(self.api_key, self.version, "request", body, strict=False)
        except DecodeError as problem:
            raise NotReplayable("undecoded", f"{problem}") from None
        return body

    def _encode_body_of_record(self) -> bytes:
        """The body's bytes, from a record that kw wrote. Raises NotReplayable where values are redacted or missing."""
        record = self.exchange._revealed or self.exchange.record
        assert record is not None
        if record["request"] is None or "request" in record.get("undecoded", {}):
            raise NotReplayable("undecoded", "the recording could not decode it")
        layout = record.get("layout", {}).get("request")
        try:
            return encode_json(self.api_key, self.version, "request", record["request"], layout=layout)
        except EncodeError as problem:
            reason = "redacted" if "redacted" in str(problem) else "left_out"
            raise NotReplayable(reason, f"{problem}") from None
        except DecodeError as problem:
            raise NotReplayable("undecoded", f"{problem}") from None


class ReplayRecording:
    """A renderer that shows nothing, but collects exchanges as they settle. Call `close` when all have come."""

    shows_skipped = False

    def __init__(self, allowed: AllowedChanges) -> None:
        self.requests: list[RecordedRequest] = []
        self.topics: dict[UUID, str] = dict(WELL_KNOWN)
        self.nodes: dict[str, int] = {}  # address of a broker → its node id
        self._inside: dict[int, ConnectionInfo] = {}  # connections of brokers and controllers among themselves
        self.errors = self.expected = self.undecoded = self.remarks = 0
        self._allowed = allowed
        self._size = 0

    def write(self, rows: list[Settled]) -> None:
        """Take the exchanges that passed the filters."""
        for row in rows:
            if row.kind == "exchange":
                self._add_request(row)

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Learn where brokers are from rows that the filters have left out."""
        for row in rows:
            if row.kind == "exchange":
                self._learn_brokers_and_topics(row)

    def close(self) -> None:
        """Sort the requests by time, and apply what the whole recording tells: brokers' connections, topic names."""
        for request in self.requests:
            if request.problem is None and id(request.exchange.connection_info) in self._inside:
                request.problem = NotReplayable("never", "a broker's connection to another one, or to a controller")
        self.requests.sort(key=lambda each: each.exchange.time_ns)
        for info in {
            id(each.exchange.connection_info): each.exchange.connection_info for each in self.requests
        }.values():
            for identity, (name, _) in info.topics.names.items():
                self.topics.setdefault(identity, name)

    def _add_request(self, exchange: Exchange) -> None:
        """Take an exchange. Raises Failure where the recording is too large."""
        self._size += (exchange.request_size or 0) + (exchange.response_size or 0)
        if self._size > RECORDING_MAX:
            raise Failure(
                f"the recording is larger than {format_bytes(RECORDING_MAX)}: choose a part by a filter or --since"
            )
        self.requests.append(RecordedRequest(exchange, self._allowed))
        self._learn_brokers_and_topics(exchange)

    def _learn_brokers_and_topics(self, exchange: Exchange) -> None:
        if exchange.api_key in INSIDE:
            self._inside[id(exchange.connection_info)] = exchange.connection_info
        for text, name in exchange.topic_names.items() if exchange.record is not None else ():
            self.topics.setdefault(UUID(bytes=uuid_to_bytes(text)), name)
        if exchange.api_key in NODE_LISTS and exchange.outcome == "complete" and not exchange.is_orphan:
            for node in list_nodes_of_answer(exchange.values("response")):
                for address in broker_addresses(node.host, node.port):
                    self.nodes.setdefault(address, node.id)


def is_answered_by_brokers(api_key: int, body: Mapping[str, Any]) -> bool:
    """Whether a broker answers a request."""
    return api_key != PRODUCE or body.get("acks") != 0
