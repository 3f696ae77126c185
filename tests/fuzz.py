"""Tries the codec for as long as one likes: random values, cut and damaged bytes, of declared and of random messages.

Now and then a message with names that a terminal would obey is shown in every format: none of it may reach a terminal.

    python -m tests.fuzz --seconds 60 [--seed N]

Every reader (generated decoder, JSON decoder, projections, decoders that have specialised) must agree with the plain
walker on every buffer, and only DecodeError may come out. Ends at the first thing that is not so, with the seed that
shows it again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random, SystemRandom

from decoders.errors import DecodeError
from decoders.schema.compile import encoder
from decoders.schema.message import decode, encode, examine
from decoders.schema.model import Plan
from decoders.schema.resolve import resolve
from decoders.schema.write import write
from tests.apis.everything import all_layouts
from tests.cli import hostile_messages
from tests.schema.declarations import message
from tests.schema.readers import random_paths, readers_agree, specialised_agree, strange
from tests.schema.values import random_value, without_defaults

DAMAGED = 8
# The share of the rounds in which names are hostile: showing them takes much longer than reading.
HOSTILE = 0.02


def once(plan: Plan, rng: Random) -> int:
    """One value there and back, and damaged copies of its bytes; how many buffers were read."""
    value = random_value(plan, rng, values=rng.choice([20, 100, 600]))
    data = write(plan, value)
    assert encode(plan, without_defaults(plan, value)) == data
    assert strange(value) or encoder(plan)(value) == data
    paths = frozenset(random_paths(plan, rng))
    assert readers_agree(plan, data, 0, len(data), paths) == (value, len(data))
    for _ in range(DAMAGED):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        end = rng.randrange(len(damaged) + 1) if rng.random() < 0.3 else len(damaged)
        readers_agree(plan, bytes(damaged), 0, end, paths)
        assert outcome(plan, bytes(damaged[:end])) == outcome(plan, bytes(damaged[:end]), plain=True)
    if rng.random() < 0.1:
        specialised_agree(plan, rng)
    return 1 + DAMAGED


def outcome(plan: Plan, data: bytes, *, plain: bool = False) -> str:
    """What comes out of the entry point, or of the walker alone."""
    try:
        return repr(examine(plan, data, 0, len(data)) if plain else decode(plan, data))
    except DecodeError as failure:
        found = failure
    assert 0 <= found.offset <= len(data)
    return f"{type(found).__name__}: {found}"


def main() -> None:
    """Run until the time is over."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--seed", type=int, default=SystemRandom().randrange(2**32))
    chosen = options.parse_args()
    declared = [each.plan for each in all_layouts()]
    started = time.monotonic()
    seed = chosen.seed
    buffers = 0
    while time.monotonic() - started < chosen.seconds:
        rng = Random(seed)
        try:
            buffers += once(rng.choice(declared), rng)
            made = message(rng)
            buffers += once(resolve(made, made.versions.high), rng)
            if rng.random() < HOSTILE:
                with tempfile.TemporaryDirectory() as folder:
                    hostile_messages.once(rng, Path(folder))
        except BaseException:
            sys.stderr.write(f"\nseed {seed}\n")
            raise
        seed += 1
        if seed % 100 == 0:
            sys.stderr.write(f"\r{buffers} buffers ")
    sys.stderr.write(f"\r{buffers} buffers\n")


if __name__ == "__main__":
    main()
