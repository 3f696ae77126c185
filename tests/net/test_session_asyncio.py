"""The sans-IO session under asyncio: the same core with another driver, against the same kind of server."""

from __future__ import annotations

import asyncio
import time

import decoders
from kwcli.net.config.client_config import SaslSettings
from kwcli.net.sasl import make_mechanism
from kwcli.net.session.broker_session import Event, ReceivedAnswer, Session, SessionPhase
from tests.net.playbook import MODERN, offers
from tests.net.responder import Responder, each_request, framed

VALUES = {18: offers(MODERN), 17: {"mechanisms": ["PLAIN"]}, 36: {"auth_bytes": b""}, 3: {"cluster_id": "kw"}}


def broker(request: bytes) -> bytes:
    key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
    correlation_id = int.from_bytes(request[4:8], "big")
    return framed(decoders.encode_response(key, version, VALUES[key], correlation_id=correlation_id))


async def talk(address: tuple[str, int]) -> list[str]:
    """Open a session, then send three requests at once; gives the answers."""
    reader, writer = await asyncio.open_connection(*address)
    session = Session(
        client_id="kw", mechanism=lambda: make_mechanism(SaslSettings("PLAIN", "alice", "secret"), "broker", None)
    )
    answered: list[str] = []

    async def until_idle(events: list[Event]) -> None:
        while True:
            answered.extend(str(event.request) for event in events if isinstance(event, ReceivedAnswer))
            while (out := session.take_outgoing()) is not None:
                writer.write(out.frame)
            if session.due is None:
                return
            events = session.feed(await reader.read(7), time.time_ns())

    await until_idle(session.open())
    assert session.phase is SessionPhase.READY
    for _ in range(3):
        session.queue_request(3, 12, decoders.encode_message(3, 12, "request", {"topics": []}))
    await until_idle([])
    writer.close()
    await writer.wait_closed()
    return answered


def test_the_session_is_driven_by_asyncio_as_well() -> None:
    with Responder(each_request(broker)) as server:
        answered = asyncio.run(talk(server.address))
    assert answered == ["ApiVersions 4", "SaslHandshake 1", "SaslAuthenticate 2", *["Metadata 12"] * 3]
