"""No connection keeps the loop for long: work is done in bounded pieces, without copying bytes again and again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kwcli.proxy.relay.relay_requests import TURN
from kwcli.proxy.relay.relay_state import RESOLVE, SEND_CLIENT, SEND_SERVER, YIELD, Command
from kwcli.proxy.relay.sans_io_connection import RelayCore
from kwcli.proxy.relay.socket_half import PIECES, Turns
from tests.proxy.running import echo, frame, in_loop, running, sooner_or_later
from tests.proxy.stage import CLIENT, HEARTBEAT, METADATA, Stage, metadata, request, response

COUNT = 5_000
# A call that handles more than this is not a bounded piece of work.
MOST = 1_100


class Counted(bytes):
    """Bytes that count the bytes sliced out of them."""

    copied = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        if isinstance(found, bytes):
            Counted.copied += len(found)
            return Counted(found)
        return found


def asked(key: int, version: int, count: int = COUNT) -> bytes:
    return b"".join(request(key, version, {"group_id": "g"} if key == HEARTBEAT else {}, id=id) for id in range(count))


def test_thousands_of_requests_in_one_piece_are_read_in_turns() -> None:
    data = asked(HEARTBEAT, 4)
    stage = Stage().client(data)
    assert stage.at_server == data
    assert stage.connection.in_flight == COUNT
    assert stage.turns == (COUNT - 1) // TURN
    assert not stage.paused[CLIENT]


def test_thousands_of_tokens_in_one_piece_are_read_in_turns() -> None:
    opening = bytes.fromhex("0000000c 60") + bytes(11)
    data = opening + bytes(4) * COUNT
    stage = Stage().client(data)
    assert stage.at_server == data
    assert stage.turns >= (COUNT - 1) // TURN


@pytest.mark.parametrize(("key", "version"), [(HEARTBEAT, 4), (METADATA, 12)])
def test_thousands_of_answers_in_one_piece_are_given_in_turns(key: int, version: int) -> None:
    """One call does a bounded part of the work; all together give every byte, and copy each a few times only."""
    connection = RelayCore()
    requests = connection.client_bytes(asked(key, version), 1)
    while requests[-1][0] == YIELD:
        requests = connection.resume_turn(CLIENT, 1)
    made = {HEARTBEAT: response(HEARTBEAT, 4), METADATA: metadata((1, "kafka.invalid", 9092))}[key]
    data = Counted(b"".join(made[:4] + id.to_bytes(4, "big") + made[8:] for id in range(COUNT)))
    Counted.copied = 0
    todo: list[Command] = connection.server_bytes(data, 2)
    sent, pieces, frames = b"", 0, 0
    while todo:
        command, *todo = todo
        if command[0] == SEND_CLIENT:
            sent += command[1]
        elif command[0] == RESOLVE:
            frames += 1
            assert frames < MOST
            todo += connection.resume_after_resolution(command[1], {1: ("kafka.invalid", 9092)}, 3)
        elif command[0] == YIELD:
            pieces, frames = pieces + 1, 0
            todo += connection.resume_turn(command[1], 4)
    assert sent == data
    assert pieces >= COUNT // MOST
    assert Counted.copied < 4 * len(data)
    assert not connection.in_flight


def test_what_waits_for_its_turn_goes_out_before_the_end() -> None:
    data = asked(HEARTBEAT, 4)
    connection = RelayCore()
    sent = [command[1] for command in connection.client_bytes(data, 1) if command[0] == SEND_SERVER]
    sent += [command[1] for command in connection.handle_client_eof(2) if command[0] == SEND_SERVER]
    assert b"".join(sent) == data
    assert connection.in_flight == COUNT


def test_what_comes_while_others_have_their_turn_is_kept_in_order() -> None:
    data = asked(HEARTBEAT, 4)
    connection = RelayCore()
    out = connection.client_bytes(data[:-7], 1)
    assert connection.client_bytes(data[-7:], 2) == []
    while out[-1][0] == YIELD:
        out = [*out[:-1], *connection.resume_turn(CLIENT, 3)]
    assert b"".join(command[1] for command in out) == data


@in_loop
async def test_others_have_their_turn_between_pieces() -> None:
    turns, done = Turns(), ""

    def work(name: str) -> None:
        nonlocal done
        done += name

    def other() -> None:
        work("-")
        if done.count("-") < 4:
            asyncio.get_running_loop().call_soon(other)

    for number in range(3):
        turns.run_later(lambda number=number: work(str(number)))  # type: ignore[misc]  # lambda with a default
    other()
    while done.count("-") < 4:
        await asyncio.sleep(0)
    assert done == "-0-1-2-"


@in_loop
async def test_a_piece_that_fails_does_not_stop_the_others() -> None:
    turns = Turns()
    failed: list[object] = []
    done = asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context["exception"]))
    turns.run_later(lambda: [][0])
    turns.run_later(done.set)
    await asyncio.wait_for(done.wait(), 20)
    assert len(failed) == 1


@pytest.mark.long
@in_loop
async def test_all_answers_come_to_a_client_that_asks_thousands_at_once() -> None:
    async with running(echo) as proxy:
        client = await proxy.connect()
        client[1].write(asked(HEARTBEAT, 4))
        got = [await frame(client[0]) for _ in range(COUNT)]
        assert got == [response(HEARTBEAT, 4, id=number) for number in range(COUNT)]


@in_loop
async def test_large_pieces_wait_behind_those_that_wait_already() -> None:
    """Large pieces wait behind waiting ones, small ones do not; no byte is lost if the client closes meanwhile."""
    seen: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            seen.append(data)
        writer.write(response(HEARTBEAT, 4, id=1))

    async with running(script) as proxy:
        small, large = await proxy.connect(), await proxy.connect()
        data = asked(HEARTBEAT, 4, 1000)
        await sooner_or_later(lambda: sum(bool(each.server.transport) for each in proxy.proxy.relays.values()) == 2)
        blocked = True

        def busy() -> None:
            if blocked:
                proxy.proxy.turns.waiting.appendleft(busy)

        turns = proxy.proxy.turns
        turns.waiting.extend([busy] * PIECES)  # no work behind these has a turn
        turns.run_later(busy)
        large[1].write(data)
        large[1].write_eof()
        small[1].write(data[:100])
        await sooner_or_later(lambda: seen)
        await asyncio.sleep(0.05)
        assert seen == [data[:100]]
        blocked = False
        await sooner_or_later(lambda: sum(map(len, seen)) == 100 + len(data))
        assert b"".join(seen[1:]) == data
