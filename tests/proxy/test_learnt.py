"""What a proxy learns for all its clients is what brokers said, whatever scripts, faults and people made of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest

import decoders
from decoders.filters.prefilter import Possible
from kwcli.proxy.deciding.ask_deciders import ClientConnection, Deciders
from kwcli.proxy.deciding.faults.decide_by_fault_rules import FaultDecider
from kwcli.proxy.deciding.faults.parse_rule import parse_rule
from kwcli.proxy.relay.frame_decisions import PASS, Decision, InterceptedExchange
from tests.proxy.faults.playing import MS
from tests.proxy.running import frame, in_loop, rest, running
from tests.proxy.stage import FETCH, METADATA, framed, metadata, request, response

COORDINATOR, CLUSTER = 10, 60
REAL: Final = ("real.invalid", 1)
MADE: Final = ("made.invalid", 2)
TOPIC_ID: Final = UUID(int=77)
Change = Callable[[int, InterceptedExchange], Decision]


class Changer:
    """A decider as a script or a person is one: `change` decides about requests (side 0) and answers (side 1)."""

    def __init__(self, change: Change) -> None:
        self.change = change

    def has_rule_for(self, api_key: int, version: int) -> bool:  # noqa: ARG002  # as a decider has it
        return api_key in (METADATA, COORDINATOR, CLUSTER)

    def refuses_client(self, relay: ClientConnection) -> bool:  # noqa: ARG002  # as a decider has it
        return False

    def make_connection_decider(self, relay: ClientConnection) -> Changer:  # noqa: ARG002  # it is one for all
        return self

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:  # noqa: ARG002  # as a decider has it
        return self.has_rule_for(api_key, version)

    def decide_request(self, exchange: InterceptedExchange, now_ns: int) -> Decision:  # noqa: ARG002  # as a decider has it
        return self.change(0, exchange)

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision:  # noqa: ARG002  # as a decider has it
        return self.change(1, exchange)

    def end_connection(self) -> None:
        """Nothing is kept."""


def coordinator(node: int, host: str, port: int, id: int = 1) -> bytes:
    row = {"key": "g", "node_id": node, "host": host, "port": port}
    return response(COORDINATOR, 4, {"coordinators": [row]}, id=id)


def cluster(node: int, host: str, port: int, id: int = 1) -> bytes:
    return response(CLUSTER, 1, {"brokers": [{"broker_id": node, "host": host, "port": port}]}, id=id)


def nodes(node: int, host: str, port: int, id: int = 1) -> bytes:
    return metadata((node, host, port), id=id)


ANSWERS: Final[dict[tuple[int, int], Callable[..., bytes]]] = {
    (METADATA, 12): nodes,
    (COORDINATOR, 4): coordinator,
    (CLUSTER, 1): cluster,
}


@pytest.mark.parametrize("instead", [False, True], ids=["changed", "instead"])
@pytest.mark.parametrize("asked", ANSWERS, ids=["Metadata", "FindCoordinator", "DescribeCluster"])
@in_loop
async def test_an_answer_that_was_made_here_moves_no_broker(asked: tuple[int, int], instead: bool) -> None:
    answer = ANSWERS[asked]
    made: dict[int, bytes] = {}

    def change(side: int, exchange: InterceptedExchange) -> Decision:
        frame_of = made.get(exchange.correlation_id)
        if frame_of is None:
            return PASS
        if instead:
            return Decision(reply=frame_of)
        return Decision(frame_of) if side else PASS._replace(show_answer=True)

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(1, 1 + 3):
            if number in made and instead:
                continue
            await frame(reader)
            writer.write(answer(3, *REAL, id=number))
        await reader.read()

    async with running(broker, deciders=Deciders([Changer(change)])) as proxy:
        reader, writer = await proxy.connect()
        listener = answer(3, "127.0.0.1", proxy.base + 4)
        for number in (1, 2):
            made[2] = answer(3, *MADE, id=2)
            writer.write(request(*asked, id=number))
            assert (await frame(reader))[8:] == listener[8:]
        assert proxy.proxy.listeners.all_listeners[1].targets == (REAL,)
        assert "no longer at" not in proxy.said
        made[3] = answer(4, *MADE, id=3)  # nobody but the decider knows such a node
        writer.write(request(*asked, id=3))
        assert await rest(reader) == b""
        await proxy.until("node 4 has no listener")
        assert len(proxy.proxy.listeners.all_listeners) == 2


@in_loop
async def test_the_brokers_own_answer_is_learnt_where_it_was_changed() -> None:
    def change(side: int, exchange: InterceptedExchange) -> Decision:  # noqa: ARG001  # as a decider has it
        return Decision(nodes(3, *MADE)) if side else PASS._replace(show_answer=True)

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        writer.write(metadata((3, *REAL), (5, "other.invalid", 7)))
        await reader.read()

    async with running(broker, deciders=Deciders([Changer(change)])) as proxy:
        reader, writer = await proxy.connect()
        writer.write(request(METADATA, 12))
        assert (await frame(reader))[8:] == nodes(3, "127.0.0.1", proxy.base + 4)[8:]
        assert [each.targets for each in proxy.proxy.listeners.all_listeners[1:]] == [(REAL,), (("other.invalid", 7),)]


@pytest.mark.parametrize(("said", "renamed", "hits"), [("orders", "bills", 1), ("bills", "orders", 0)])
@in_loop
async def test_names_of_topics_are_those_that_the_broker_said(said: str, renamed: str, hits: int) -> None:
    def topic(name: str) -> bytes:
        return response(METADATA, 12, {"topics": [{"name": name, "topic_id": TOPIC_ID}]})

    def change(side: int, exchange: InterceptedExchange) -> Decision:  # noqa: ARG001  # as a decider has it
        return Decision(topic(renamed)) if side else PASS._replace(show_answer=True)

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await frame(reader)
        writer.write(topic(said))
        await frame(reader)
        writer.write(response(FETCH, 13, id=2))
        await reader.read()

    rule = parse_rule("error NOT_LEADER_OR_FOLLOWER, when api == Fetch and topic == orders")
    faults = FaultDecider([rule], 1, lambda: MS)
    deciders = Deciders([Changer(change), faults])
    faults.rules_changed = deciders.forget_handlings
    fetch: dict[str, Any] = {"topics": [{"topic_id": TOPIC_ID, "partitions": [{"partition": 0}]}]}
    async with running(broker, deciders=deciders) as proxy:
        reader, writer = await proxy.connect()
        writer.write(request(METADATA, 12))
        found = decoders.decode_response((await frame(reader))[4:], METADATA, 12).body
        assert [each["name"] for each in found["topics"]] == [renamed]
        writer.write(framed(decoders.encode_request(FETCH, 13, fetch, correlation_id=2, client_id="c")))
        await frame(reader)
        assert [each.matched for each in faults.counted_rules] == [hits]
