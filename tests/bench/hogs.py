"""Clients that ask for much, read nothing and leave, again and again: `python -m tests.bench.hogs PORT COUNT MIB STAY`.

Each of the COUNT clients sends up to MIB MiB of Metadata requests without a pause, stays for STAY seconds in all, and
closes with everything unread. Then the next clients come.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from contextlib import suppress
from typing import Final

from tests.proxy.stage import METADATA, request

_VERSION: Final = 12
_PIECE: Final = 1 << 18


def hog(port: int, count: int, size: int, stay_s: float) -> None:
    """Run `count` clients at once until all have left."""
    asked = request(METADATA, _VERSION, {"topics": None})
    piece = asked * (_PIECE // len(asked))
    end = time.monotonic() + stay_s
    links: dict[int, socket.socket] = {}
    rest: dict[int, bytes] = {}
    due: dict[int, int] = {}
    poll = select.epoll()
    for _ in range(count):
        link = socket.create_connection(("127.0.0.1", port), timeout=20)
        link.setblocking(False)
        number = link.fileno()
        links[number], rest[number], due[number] = link, piece, size
        poll.register(link, select.EPOLLOUT)
    while (left := end - time.monotonic()) > 0:
        for number, _ in poll.poll(left):
            try:
                sent = links[number].send(rest[number])
            except OSError:
                sent = due[number]
            rest[number] = rest[number][sent:] or piece
            due[number] -= sent
            if due[number] <= 0:
                poll.unregister(number)
    for link in links.values():
        with suppress(OSError):
            link.close()


if __name__ == "__main__":
    port, count, mib = map(int, sys.argv[1:4])
    with suppress(KeyboardInterrupt):
        while True:
            hog(port, count, mib << 20, float(sys.argv[4]))
