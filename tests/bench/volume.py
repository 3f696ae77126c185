"""`python -m tests.bench.volume FILE BYTES`: a capture of many gigabytes, with as many connections as wanted.

The exchanges are those of traffic.py: of one profile, or of `blend`, which is close to a broker's traffic: some `small`
exchanges, a tenth of the bytes, for each `mixed` one. Connections are drawn at random for them, so that one connection
(`--hot 0.95`) may have most of the bytes.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.traffic import PROFILES, Exchange, Pcap, Side, connection, end

DISTINCT: Final = {"small": 4000, "mixed": 400, "tiny": 400, "big": 20, "readings": 4000}
# Profiles whose clients send their exchanges in order: they have sequences.
IN_ORDER: Final = frozenset({"readings"})
# The share of exchanges from each profile.
SHARES: Final = {"blend": {"small": 0.88, "mixed": 0.12}, **{name: {name: 1.0} for name in DISTINCT}}


class Made(NamedTuple):
    """The contents of a capture: its exchanges and bytes."""

    exchanges: int
    size: int


def write(path: Path, size: int, *, profile: str = "blend", connections: int = 40, hot: float = 0.0) -> Made:
    """Make a capture of at least `size` bytes; the connection number 0 has the share `hot` of the exchanges."""
    rng = random.Random(f"{profile} {connections} {hot}")
    made = [_by_client(rng, name) for name in SHARES[profile]]
    shares = list(SHARES[profile].values())
    pcap = Pcap(path)
    ends: dict[int, tuple[Side, Side]] = {}
    turns: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)
    count = 0
    while pcap.size < size:
        number = 0 if rng.random() < hot else rng.randrange(connections)
        (clients,) = rng.choices(made, shares)
        its = clients[number % len(clients)]
        request, response = its[next(turns[number]) % len(its)] if profile in IN_ORDER else rng.choice(its)
        if number not in ends:
            ends[number] = connection(pcap, number)
        client, broker = ends[number]
        correlation = count.to_bytes(4, "big")
        pcap.message(client, broker, request[:4] + correlation + request[8:])
        pcap.message(broker, client, correlation + response[4:])
        count += 1
    for client, broker in ends.values():
        end(pcap, client, broker)
    pcap.close()
    return Made(count, pcap.size)


def _by_client(rng: random.Random, profile: str) -> list[list[Exchange]]:
    """Exchanges of a profile, one list for each client."""
    found: dict[int, list[Exchange]] = {}
    for number, exchange in itertools.islice(PROFILES[profile](rng), DISTINCT[profile]):
        found.setdefault(number, []).append(exchange)
    return list(found.values())


def main() -> None:
    """Make a capture; prints its exchanges and bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("size", type=int)
    parser.add_argument("--profile", choices=list(SHARES), default="blend")
    parser.add_argument("--connections", type=int, default=40)
    parser.add_argument("--hot", type=float, default=0.0)
    options = parser.parse_args()
    print(*write(options.path, options.size, profile=options.profile, connections=options.connections, hot=options.hot))


if __name__ == "__main__":  # a new process: the process that measures must stay small
    main()
