"""Speaks every API at every version that a listener offers, with bodies made from the declarations by kw's encoder."""

from __future__ import annotations

import random
import socket
import struct
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from decoders import EncodeError, api, decode_response, encode_request
from decoders.schema.api_declaration import Plan, PlanField, resolve
from tests.broker.clients.batches import batch, message

__all__ = ["DEADLY", "Speaker", "offered"]

_API_VERSIONS: Final = 18
# Requests that end a node or take it out of its cluster, whatever their body: UnregisterBroker, StopReplica,
# ControlledShutdown.
DEADLY: Final = frozenset({64, 5, 7})


def offered(host: str, port: int) -> dict[int, tuple[int, int]]:
    """API key → first and last version, as ApiVersions v0 says."""
    with socket.create_connection((host, port), timeout=5) as connection:
        connection.sendall(_framed(encode_request(_API_VERSIONS, 0, {}, correlation_id=1, client_id="every")))
        answer = decode_response(_frame(connection), _API_VERSIONS, 0)
    return {each["api_key"]: (each["min_version"], each["max_version"]) for each in answer.body["api_keys"]}


@dataclass(slots=True)
class Speaker:
    """Sends to one listener; `topic_ids` and `cluster_id` make some requests succeed."""

    host: str
    port: int
    cluster_id: str = ""
    topics: tuple[str, ...] = ("orders", "nothing")
    topic_ids: tuple[uuid.UUID, ...] = ()
    seed: int = 1
    credentials: tuple[str, str] | None = None
    timeout_s: float = 3.0
    counts: Counter[str] = field(default_factory=Counter)
    _dice: random.Random = field(init=False)
    _connection: socket.socket | None = None
    _serial: int = 0

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)

    def speak(self, versions: Mapping[int, tuple[int, int]], *, skip: Collection[int] = (), rounds: int = 2) -> None:
        """Send every (API, version) `rounds` times, with different bodies."""
        for key, (low, high) in sorted(versions.items()):
            if key in skip:
                continue
            for version in range(low, high + 1):
                for _ in range(rounds):
                    self.send(key, version)
        self.close()

    def send(self, key: int, version: int, body: Mapping[str, Any] | None = None) -> None:
        """Send one request and read its answer, if one comes."""
        try:
            value = self._body(key, version) if body is None else body
            self._serial += 1
            frame = encode_request(key, version, value, correlation_id=self._serial, client_id=f"every-{key}")
        except EncodeError as error:
            self.counts[f"could not encode {api(key).name} {version}: {error}"] += 1
            return
        try:
            connection = self._open()
            connection.sendall(_framed(frame))
            if key == 0 and value.get("acks") == 0:
                self.counts["no answer expected"] += 1
                return
            _frame(connection)
            self.counts["answered"] += 1
        except TimeoutError:
            self.counts["silent"] += 1
            self.close()
        except (OSError, EOFError):
            self.counts["closed"] += 1
            self.close()

    def _open(self) -> socket.socket:
        if self._connection is None:
            self._connection = socket.create_connection((self.host, self.port), timeout=self.timeout_s)
            if self.credentials is not None:
                self._authenticate(self._connection, *self.credentials)
        return self._connection

    def _authenticate(self, connection: socket.socket, user: str, password: str) -> None:
        """Log in with framed SASL PLAIN."""
        token = {"auth_bytes": f"\0{user}\0{password}".encode()}
        for key, version, body in ((17, 1, {"mechanism": "PLAIN"}), (36, 1, token)):
            connection.sendall(_framed(encode_request(key, version, body, correlation_id=version, client_id="every")))
            _frame(connection)

    def raw(self, data: bytes) -> None:
        """Send bytes on a new connection, and read until the other side closes."""
        with socket.create_connection((self.host, self.port), timeout=self.timeout_s) as connection:
            connection.sendall(data)
            try:
                while connection.recv(4096):
                    pass
            except OSError:
                self.counts["silent"] += 1

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # Bodies

    def _body(self, key: int, version: int) -> dict[str, Any]:
        return self._struct(resolve(api(key).request, version), version)

    def _struct(self, plan: Plan, version: int) -> dict[str, Any]:
        made = {each.name: self._field(each, version) for each in plan.fields}
        for each in plan.tagged:
            if self._dice.random() < 0.5:
                made[each.name] = self._field(each, version)
        return made

    def _field(self, field: PlanField, version: int) -> Any:
        if field.nullable and field.name not in _NEVER_NULL and self._dice.random() < 0.25:
            return None
        if field.array:
            most = 1 if field.name in _NEVER_EMPTY else 0
            return [self._one(field, version) for _ in range(max(most, self._dice.choice((0, 1, 1, 2))))]
        return self._one(field, version)

    def _one(self, field: PlanField, version: int) -> Any:
        if field.plan is not None:
            return self._struct(field.plan, version)
        known = _BY_NAME.get((field.name, field.kind))
        if isinstance(known, tuple):
            return self.pick(*known)
        return known(self, version) if known else _BY_KIND[field.kind](self)

    def pick(self, *values: Any) -> Any:
        """One of the values, by the dice."""
        return self._dice.choice(values)


# Arrays that must have elements: without them a node fails so that it ends.
_NEVER_EMPTY: Final = frozenset({"topics", "partitions", "topic_data"})
_NEVER_NULL: Final = frozenset({"topics"})

_BY_KIND: Final[Mapping[str, Callable[[Speaker], Any]]] = {
    "bool": lambda s: s.pick(False, True),
    "int8": lambda s: s.pick(0, 1, 2, 3),
    "int16": lambda s: s.pick(0, 1, 2),
    "uint16": lambda s: s.pick(0, 9, 65535),
    "int32": lambda s: s.pick(0, 1, 2, 1000),
    "int64": lambda s: s.pick(0, 1, 2, 1 << 40),
    "float64": lambda s: s.pick(0.0, 1.5, 1e6),
    "string": lambda s: s.pick("", "a", "Grüße", "x" * 130),
    "bytes": lambda s: s.pick(b"", b"\0\1\2", b"bytes"),
    "records": lambda s: s.pick(b"", batch()),
    "uuid": lambda s: s.pick(uuid.UUID(int=0), uuid.UUID(int=s.pick(7, 1 << 90)), *s.topic_ids),
}

Named = Callable[[Speaker, int], Any]


def _topic(speaker: Speaker, _version: int) -> Any:
    return speaker.pick(*speaker.topics)


def _cluster(speaker: Speaker, _version: int) -> str:
    return str(speaker.pick(speaker.cluster_id, speaker.cluster_id, "other"))


def _records(speaker: Speaker, version: int) -> bytes:
    return message(0 if version < 2 else 1) if version < 3 else batch(producer_id=speaker.pick(-1, -1, 1), epoch=0)


# A field's name (and type) → values that brokers can process quickly.
_BY_NAME: Final[Mapping[tuple[str, str], Named | tuple[Any, ...]]] = {
    ("topic", "string"): _topic,
    ("topic_name", "string"): _topic,
    ("name", "string"): _topic,
    ("topics", "string"): _topic,
    ("topic_names", "string"): _topic,
    ("resource_name", "string"): ("orders", "1", ""),
    ("group_id", "string"): ("billing", "", "group-1"),
    ("groups", "string"): ("billing",),
    ("groups_names", "string"): ("billing",),
    ("transactional_id", "string"): ("checkout-7",),
    ("key", "string"): ("billing", "checkout-7"),
    ("member_id", "string"): ("", "billing-1", str(uuid.UUID(int=5))),
    ("cluster_id", "string"): _cluster,
    ("mechanism", "string"): ("PLAIN",),
    ("client_software_name", "string"): ("every",),
    ("client_software_version", "string"): ("1.0",),
    ("records", "records"): _records,
    ("acks", "int16"): (-1, 1, 1, 0),
    ("max_wait_ms", "int32"): (20,),
    ("min_bytes", "int32"): (0, 1),
    ("timeout_ms", "int32"): (200,),
    ("session_timeout_ms", "int32"): (6000, 10),
    ("rebalance_timeout_ms", "int32"): (500,),
    ("transaction_timeout_ms", "int32"): (2000,),
    ("partition", "int32"): (0, 0, 1, 99),
    ("partition_index", "int32"): (0, 0, 1, 99),
    ("partitions", "int32"): (0, 1),
    ("partition_indexes", "int32"): (0,),
    ("num_partitions", "int32"): (1, -1),
    ("replication_factor", "int16"): (1, -1),
    ("count", "int32"): (2, 4),
    # Nodes that do not exist: a request in the name of a real node would stop it.
    ("broker_id", "int32"): (77, 78),
    ("node_id", "int32"): (77, 78),
    ("controller_id", "int32"): (77, 78),
    ("voter_id", "int32"): (77, 78),
    ("replica_id", "int32"): (-1, -1, 77),
    ("leader_id", "int32"): (77, 78),
    # Old epochs, which do not change a quorum.
    ("leader_epoch", "int32"): (0,),
    ("replica_epoch", "int32"): (0,),
    ("controller_epoch", "int32"): (0,),
    # Enumerations without a 0, for which brokers close the connection.
    ("resource_type", "int8"): (2, 3, 4),
    ("resource_type_filter", "int8"): (1, 2, 3),
    ("pattern_type", "int8"): (3,),
    ("resource_pattern_type", "int8"): (3,),
    ("pattern_type_filter", "int8"): (1, 2, 3),
    ("operation", "int8"): (2, 3, 4),
    ("permission_type", "int8"): (2, 3),
    ("max_version_level", "int16"): (1,),
    ("include_cluster_authorized_operations", "bool"): (True,),
    ("want_shut_down", "bool"): (False,),
}


def _framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def _frame(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", b"".join(_bytes(connection, 4)))
    return b"".join(_bytes(connection, size))


def _bytes(connection: socket.socket, size: int) -> Iterator[bytes]:
    while size:
        part = connection.recv(size)
        if not part:
            raise EOFError
        size -= len(part)
        yield part
