"""A proxy and a scripted broker in one event loop, with clients as streams: the shell's work without a cluster."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import wraps
from typing import Any

from kwcli.net.config.client_config import Address, ClientConfig
from kwcli.playground.free_ports import find_free_ports
from kwcli.proxy.proxy_server import Proxy
from kwcli.proxy.proxy_settings import DiscoveredNodes, ProxySettings
from kwcli.run_environment import Environment
from tests.proxy.hidden import port_base
from tests.proxy.stage import HEARTBEAT, request, response

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
# Longer than anything takes, even on a busy machine.
WAIT_S = 60.0
QUIET_S = 0.3


ASKED = [request(HEARTBEAT, 4, {"group_id": "g"}, id=number) for number in range(10)]
ANSWERS = [response(HEARTBEAT, 4, id=number) for number in range(10)]


async def frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame with its size field."""
    head = await asyncio.wait_for(reader.readexactly(4), WAIT_S)
    return head + await asyncio.wait_for(reader.readexactly(int.from_bytes(head, "big")), WAIT_S)


async def rest(reader: asyncio.StreamReader) -> bytes:
    """All bytes until the other side closes; a reset is an end too."""
    data = b""
    try:
        while more := await asyncio.wait_for(reader.read(65536), WAIT_S):
            data += more
    except ConnectionError:
        pass
    return data


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of a coroutine, with a time limit."""

    @wraps(test)
    def run(*args: Any, **values: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **values), 4 * WAIT_S))

    return run


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every Heartbeat."""
    while True:
        asked = await frame(reader)
        writer.write(response(HEARTBEAT, 4, id=int.from_bytes(asked[8:12], "big")))


async def beat(client: Client, number: int) -> None:
    """Send a request, and expect its answer."""
    client[1].write(ASKED[number])
    assert await frame(client[0]) == ANSWERS[number]


async def sooner_or_later(true: Callable[[], object]) -> None:
    """Wait until this is true."""
    async with asyncio.timeout(WAIT_S):
        while not true():
            await asyncio.sleep(0.01)


async def settled(value: Callable[[], int]) -> int:
    """The value, once it is above zero and has not changed for a while."""
    await sooner_or_later(value)
    last = -1
    while value() != last:
        last = value()
        for _ in range(10):  # turns of the loop, in each of which bytes that wait are taken
            await asyncio.sleep(QUIET_S / 10)
    return last


@contextmanager
def standing_clock() -> Iterator[None]:
    """Let no timer of this loop be due meanwhile, however slow the machine is."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    loop.time = lambda: now  # type: ignore[method-assign]
    try:
        yield
    finally:
        del loop.time


class Running:
    """A running proxy; `said` are its lines."""

    def __init__(self, proxy: Proxy, stderr: io.BytesIO, task: asyncio.Task[int]) -> None:
        self.proxy = proxy
        self.task = task
        self._stderr = stderr
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def said(self) -> str:
        return self._stderr.getvalue().decode()

    @property
    def base(self) -> int:
        return self.proxy.settings.port_base

    async def until(self, text: str) -> None:
        """Wait until the proxy has printed this text."""
        await sooner_or_later(lambda: text in self.said)

    async def connect(self, port: int | None = None) -> Client:
        """A client's connection, by default to the bootstrap listener."""
        client = await asyncio.open_connection("127.0.0.1", self.base if port is None else port)
        self._writers.append(client[1])
        return client

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
            try:
                await writer.wait_closed()
            except OSError:
                continue


@asynccontextmanager
async def running(
    script: Script | None,
    *,
    servers: Sequence[Address] = (),
    base: int | None = None,
    way: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Running]:
    """A proxy in front of a broker that runs `script` on every connection; without a script nobody listens there.

    `way` has more settings of the connection to the broker (ClientConfig).
    """
    server = None
    tasks: set[asyncio.Task[None]] = set()
    if script is not None:
        server = await asyncio.start_server(_kept(script, tasks), "127.0.0.1", 0, limit=1 << 26)
        servers = [server.sockets[0].getsockname()[:2]]
    elif not servers:
        servers = [("127.0.0.1", find_free_ports(1, "127.0.0.1")[0])]
    stderr = io.BytesIO()
    env = Environment(
        stdin=io.BytesIO(), stdout=io.BytesIO(), stderr=stderr, variables={"XDG_STATE_HOME": "/nonexistent"}
    )
    config = ClientConfig(tuple(servers), **(way or {}))
    proxy = Proxy(env, ProxySettings(config, base or port_base(12), **settings), DiscoveredNodes({}, None))
    proxy.bind_listeners()
    made = Running(proxy, stderr, asyncio.create_task(proxy.serve_until_signal()))
    try:
        await made.until("ready")
        yield made
    finally:
        await made.close()
        if not made.task.done():
            proxy.stop()
        await asyncio.wait_for(made.task, WAIT_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if server is not None:
            server.close()
            await server.wait_closed()


def _kept(script: Script, tasks: set[asyncio.Task[None]]) -> Script:
    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await script(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    return run
