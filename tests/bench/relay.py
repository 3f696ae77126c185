"""A TCP relay that does not look at the bytes, on the proxy's event loop: `python -m tests.bench.relay PORT`."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

from kwcli.proxy.proxy_server import find_loop_factory


class _End(asyncio.Protocol):
    """One of the two sockets of a connection."""

    def __init__(self, port: int | None) -> None:
        self._port = port
        self.transport: asyncio.Transport | None = None
        self.other: _End | None = None
        self._early: list[bytes] = []
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=512 * 1024)
        if self._port is not None:
            self._task = asyncio.get_running_loop().create_task(self._dial(self._port))

    async def _dial(self, port: int) -> None:
        _, other = await asyncio.get_running_loop().create_connection(lambda: _End(None), "127.0.0.1", port)
        self.other, other.other = other, self
        for data in self._early:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        if self.other is None or self.other.transport is None:
            self._early.append(data)
        else:
            self.other.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio calls it so
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _End(port), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=find_loop_factory()) as runner:
        runner.run(_serve(int(sys.argv[1])))
