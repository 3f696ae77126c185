"""Random conversations between a client and a broker by seed, as turns, as segments, with the exchanges to expect."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from random import Random
from struct import pack
from typing import Any

from decoders.apis import KEYS, api
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.schema.api_declaration import Plan, Side, resolve
from decoders.schema.decode_and_encode import encode
from decoders.tcp.stream_chunks import Segment
from tests.schema.values import random_value

Turns = list[tuple[bool, bytes]]
REVEALED = Options(reveal_secrets=True)
FIN, SYN, ACK = 1, 2, 16
MS = 10**6
PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 0, 17, 18, 36


@cache
def plan(key: int, version: int, side: Side) -> Plan:
    """The layout of a message's body."""
    declared = api(key)
    return resolve(declared.request if side == "request" else declared.response, version)


def framed(data: bytes) -> bytes:
    """A frame with its size field."""
    return pack(">i", len(data)) + data


def request(key: int, version: int, correlation_id: int, client_id: str | None, value: dict[str, Any]) -> bytes:
    """A request's frame with its size field."""
    return request_of_body(key, version, correlation_id, client_id, encode(plan(key, version, "request"), value))


def request_of_body(key: int, version: int, correlation_id: int, client_id: str | None, body: bytes) -> bytes:
    """A request's frame with its size field, around the bytes of its body."""
    header = {
        "request_api_key": key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    header_version = request_header_version(key, version)
    if not header_version:
        del header["client_id"]
    return framed(encode(request_header_plan(header_version), header) + body)


def response(key: int, version: int, correlation_id: int, value: dict[str, Any]) -> bytes:
    """A response's frame with its size field."""
    return response_of_body(key, version, correlation_id, encode(plan(key, version, "response"), value))


def response_of_body(key: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """A response's frame with its size field, around the bytes of its body."""
    head = encode(response_header_plan(response_header_version(key, version)), {"correlation_id": correlation_id})
    return framed(head + body)


@dataclass
class Expected:
    """The values expected of one exchange."""

    api_key: int | None
    version: int | None
    correlation_id: int | None
    client_id: str | None
    request: Any
    response: Any
    status: str

    def row(self) -> tuple[Any, ...]:
        """The tuple that rows() must give for the exchange."""
        return (self.api_key, self.version, self.correlation_id, self.client_id, self.status)


@dataclass
class Talk:
    """A conversation: `turns` are (from the client, frame); `expected` is in the order of settling."""

    turns: Turns = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)


class Talker:
    """Makes a conversation: at most `window` requests in flight, answers in order; `again` is how often it logs in."""

    def __init__(self, rng: Random, *, count: int = 12, window: int = 4, values: int = 30, again: float = 0.05) -> None:
        self.rng = rng
        self.again = again
        self.talk = Talk()
        self.window = window
        self.values = values
        self.correlation_id = rng.choice([0, 1, 77, 2**31 - 100])
        self.client_id: str | None = rng.choice(["rdkafka", "checkout-7", "", "é-1"])
        self.waiting: list[Expected] = []
        if rng.random() < 0.5:
            self.send(API_VERSIONS, rng.choice([0, 3, 4]))
            self.answer_all()
        if rng.random() < 0.4:
            self.sasl(rng.choice(["PLAIN", "SCRAM-SHA-256", "GSSAPI"]))
        elif rng.random() < 0.4:
            self.log_in()
        for _ in range(count):
            self.step()
        self.answer_all()

    def step(self) -> None:
        """Send a random request, log in, or answer a request."""
        if len(self.waiting) >= self.window or (self.waiting and self.rng.random() < 0.5):
            self.answer()
            return
        if not self.waiting and self.rng.random() < self.again:
            self.log_in()
            return
        key = self.rng.choice([key for key in KEYS if key not in (SASL_HANDSHAKE, SASL_AUTHENTICATE)])
        if self.rng.random() < 0.3:
            key = PRODUCE
        versions = api(key).versions
        self.send(key, self.rng.randint(versions.low, versions.high))

    def send(self, key: int, version: int, **fields: Any) -> None:
        """Send a request with a random body; `fields` replace some of it."""
        value = random_value(plan(key, version, "request"), self.rng, strange=False, values=self.values) | fields
        while key == PRODUCE and not value["topic_data"]:
            # No client sends a Produce request without topics.
            value = random_value(plan(key, version, "request"), self.rng, strange=False, values=self.values) | fields
        if key == PRODUCE:
            value["acks"] = self.rng.choice([-1, 0, 1, 2])
        silent = key == PRODUCE and value["acks"] == 0
        self.correlation_id = (self.correlation_id + 1) % 2**31
        self.talk.turns.append((True, request(key, version, self.correlation_id, self.client_id, value)))
        client_id = None if (key, version) == (7, 0) else self.client_id
        status = "no_response_expected" if silent else "complete"
        expected = Expected(key, version, self.correlation_id, client_id, value, None, status)
        (self.talk.expected if silent else self.waiting).append(expected)

    def answer(self, **fields: Any) -> None:
        """Answer the oldest request."""
        expected = self.waiting.pop(0)
        assert expected.api_key is not None
        assert expected.version is not None
        assert expected.correlation_id is not None
        layout = plan(expected.api_key, expected.version, "response")
        value = random_value(layout, self.rng, strange=False, values=self.values)
        # Values that guesses of a response's API rely on.
        known = {"error_code": self.rng.choice([0, 0, 3, -1]), "throttle_time_ms": self.rng.choice([0, 250])}
        value |= {name: known[name] for name in known.keys() & value.keys()} | fields
        expected.response = value
        self.talk.turns.append((False, response(expected.api_key, expected.version, expected.correlation_id, value)))
        self.talk.expected.append(expected)

    def answer_all(self) -> None:
        """Answer all waiting requests."""
        while self.waiting:
            self.answer()

    def log_in(self) -> None:
        """A SaslHandshake 1 and a framed login, the first or another one; some are refused."""
        user = self.rng.choice([b"alice", b"bob", b"=C3=A9,"]).replace(b",", b"=2C")
        proof = b"c=biws,r=" + str(self.rng.random()).encode() + b",p=cHJvb2Y="
        name, steps = self.rng.choice(
            [
                ("PLAIN", [(b"\0" + user + b"\0secret", b"")]),
                ("SCRAM-SHA-512", [(b"n,,n=" + user + b",r=abc", b"r=abcdef,s=c2FsdA==,i=4096"), (proof, b"v=c2ln")]),
                ("AWS_MSK_IAM", [(b"{}", b'{"version":"2020_10_22"}')]),
            ]
        )
        self.send(SASL_HANDSHAKE, 1, mechanism=name)
        self.answer(error_code=0)
        for number, (said, answered) in enumerate(steps, 1):
            refused = number == len(steps) and self.rng.random() < 0.3
            self.send(SASL_AUTHENTICATE, self.rng.choice([0, 1, 2]), auth_bytes=said)
            self.answer(error_code=58 if refused else 0, auth_bytes=b"" if refused else answered)

    def sasl(self, mechanism: str) -> None:
        """Log in by SaslHandshake 0 and raw tokens."""
        self.send(SASL_HANDSHAKE, 0, mechanism=mechanism)
        good = self.rng.random() < 0.8
        self.answer(error_code=0 if good else 33)
        if not good:
            return
        for number in range({"PLAIN": 1, "SCRAM-SHA-256": 2, "GSSAPI": 3}[mechanism]):
            token = b"n,,n=user,r=" + str(number).encode()
            if mechanism == "PLAIN":
                token = b"\0user\0secret"
            elif mechanism == "GSSAPI":
                token = b"\x60\x82\1\2" + self.rng.randbytes(30)
            answer: bytes | None = b"" if mechanism == "PLAIN" else self.rng.randbytes(20)
            if mechanism == "GSSAPI" and number == 2:
                answer = None
            self.talk.turns.append((True, framed(token)))
            if answer is not None:
                self.talk.turns.append((False, framed(answer)))
            self.talk.expected.append(Expected(None, None, None, None, token, answer, "token"))


CLIENT = bytes([10, 0, 0, 1, 10, 0, 0, 2, 0xC3, 0x50, 0x23, 0x84])
BROKER = bytes([10, 0, 0, 2, 10, 0, 0, 1, 0x23, 0x84, 0xC3, 0x50])


def segments(turns: Turns, rng: Random, *, most: int = 1448, port: int = 50000) -> list[Segment]:
    """Turns as a TCP connection: frames cut into segments of at most `most` bytes, no two frames in one segment."""
    keys = {True: CLIENT[:8] + pack(">HH", port, 9092), False: BROKER[:8] + pack(">HH", 9092, port)}
    seq = {True: rng.randrange(2**32), False: rng.randrange(2**32)}
    out: list[Segment] = []

    def put(client: bool, flags: int, data: bytes = b"") -> None:
        packet = len(out) + 1
        ack = seq[not client] if flags & ACK else 0
        out.append((keys[client], packet * MS, packet, seq[client], ack, flags, data, 0))
        seq[client] = (seq[client] + len(data) + bool(flags & (SYN | FIN))) % 2**32

    put(True, SYN)
    put(False, SYN | ACK)
    put(True, ACK)
    for client, data in turns:
        for at in range(0, len(data), most):
            put(client, ACK, data[at : at + most])
        put(not client, ACK)
    put(True, FIN | ACK)
    put(False, FIN | ACK)
    put(True, ACK)
    return out


def interleaved(rng: Random, *connections: list[Segment]) -> list[Segment]:
    """Segments of several connections in one capture, each in its own order."""
    left = [list(reversed(each)) for each in connections]
    out: list[Segment] = []
    while any(left):
        key, _, _, seq, ack, flags, data, cut = rng.choice([each for each in left if each]).pop()
        packet = len(out) + 1
        out.append((key, packet * MS, packet, seq, ack, flags, data, cut))
    return out


def run(every: list[Segment], **options: Any) -> list[Settled]:
    """Everything that an engine settles from these segments."""
    engine = Engine(**options)
    return engine.feed(every) + engine.finish()


def rows(settled: list[Settled]) -> list[tuple[Any, ...]]:
    """Exchanges as Expected.row() has them; skipped runs as reason, direction and size."""
    return [
        (each.api_key, each.api_version, each.correlation_id, each.client_id, each.status)
        if isinstance(each, Exchange)
        else (each.reason, each.direction, each.size)
        for each in settled
    ]


def records(settled: list[Settled]) -> list[dict[str, Any]]:
    """The exchange records, with secrets, of all settled rows."""
    return [to_json_dict(each, REVEALED) for each in settled]
