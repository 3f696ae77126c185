"""Brokers with scripted answers: a table of answers by API, on a socket, without Java."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from decoders.messages.whole_messages import Request, decode_request, encode_response
from tests.net.responder import Responder, each_request, framed

SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36
Answer = Callable[[Request], Mapping[str, Any] | None]


class Node(Responder):
    """A scripted broker: offers `versions`; `answers` gives the body of a response, None for no answer ever.

    `asked` are the requests that it got, as (API key, version), without ApiVersions.
    """

    def __init__(self, versions: Mapping[int, tuple[int, int]], answers: Mapping[int, Answer]) -> None:
        super().__init__(each_request(self._answer))
        self.versions = {API_VERSIONS: (0, 4), **versions}
        self.answers = answers
        self.asked: list[tuple[int, int]] = []

    def __enter__(self) -> Node:
        super().__enter__()
        return self

    @property
    def server(self) -> str:
        host, port = self.address
        return f"{host}:{port}"

    def _answer(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        if request.api_key == API_VERSIONS:
            rows = [
                {"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in self.versions.items()
            ]
            value: Mapping[str, Any] | None = {"api_keys": rows}
        else:
            self.asked.append((request.api_key, request.api_version))
            value = self.answers[request.api_key](request)
        if value is None:
            return b""
        response = encode_response(request.api_key, request.api_version, value, correlation_id=request.correlation_id)
        return framed(response)


PLAIN_LOGIN = tuple(
    word
    for name, text in (
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "alice"),
        ("sasl.password", "alice-secret"),
    )
    for word in ("-X", f"{name}={text}")
)


def logins(lifetimes_ms: Iterable[int]) -> dict[int, Answer]:
    """Answers to logins with PLAIN, each with its session lifetime; behind the last one the password is refused."""
    left = iter(lifetimes_ms)

    def answer_token(_request: Request) -> Mapping[str, Any]:
        lifetime_ms = next(left, None)
        if lifetime_ms is None:
            return {"error_code": 58, "error_message": "the password has changed"}
        return {"auth_bytes": b"", "session_lifetime_ms": lifetime_ms}

    return {SASL_HANDSHAKE: lambda _: {"error_code": 0, "mechanisms": ["PLAIN"]}, SASL_AUTHENTICATE: answer_token}


LOGIN_VERSIONS = {SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 2)}


def metadata(*nodes: Node, leader: Callable[[], int] = lambda: 0, controller: int = 0) -> Answer:
    """An answer to Metadata: these nodes (ids from 0); every topic asked for has one partition, led by `leader()`."""

    def answer(request: Request) -> Mapping[str, Any]:
        brokers = [
            {"node_id": number, "host": node.address[0], "port": node.address[1]} for number, node in enumerate(nodes)
        ]
        names = [topic["name"] for topic in request.body["topics"] or ()]
        led = leader() if names else -1
        partition = {"partition_index": 0, "leader_id": led, "error_code": 0 if led >= 0 else 5}
        topics = [{"name": name, "error_code": 0, "partitions": [partition]} for name in names]
        return {"brokers": brokers, "controller_id": controller, "topics": topics}

    return answer
