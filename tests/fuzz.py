"""`python -m tests.fuzz [--seconds N]`: random values, cut and damaged bytes of every declared message, until stopped.

Prints how much it tried; ends with a traceback at the first thing that is not as it should be.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from random import Random, SystemRandom

from decoders.errors import DecodeError
from decoders.schema.message import decode, encode, examine
from tests.apis.everything import Declared, all_layouts
from tests.schema.values import random_value


def once(declared: Declared, rng: Random) -> None:
    """One value there and back, and ten damaged copies of its bytes."""
    plan = declared.plan
    value = random_value(plan, rng)
    data = encode(plan, value)
    assert decode(plan, data) == examine(plan, data, 0, len(data)) == value
    for _ in range(10):
        damaged = bytearray(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)
        for _ in range(rng.randrange(4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        agree(declared, bytes(damaged))


def outcome(read: Callable[[], object]) -> str:
    """What comes out, or the error."""
    try:
        return repr(read())
    except DecodeError as failure:
        return f"{type(failure).__name__}: {failure}"


def agree(declared: Declared, data: bytes) -> None:
    """Generated code and walker say the same of any bytes."""
    walked = outcome(lambda: examine(declared.plan, data, 0, len(data)))
    assert outcome(lambda: decode(declared.plan, data)) == walked


def main(seconds: float) -> None:
    """Go round all messages until the time is over; at least once."""
    declared = list(all_layouts())
    seed = SystemRandom().randrange(2**32)
    started = time.monotonic()
    rounds = 0
    while not rounds or time.monotonic() - started < seconds:
        for one in declared:
            place = f"{seed} {rounds} {one}"
            try:
                once(one, Random(place))
            except BaseException:
                sys.stderr.write(f"seed: {place!r}\n")
                raise
        rounds += 1
        sys.stderr.write(f"\r{rounds * len(declared)} values, {rounds * len(declared) * 10} damaged buffers ")
    sys.stderr.write("\n")


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0, metavar="N", help="how long (60)")
    main(options.parse_args().seconds)
