"""Random values, cut and damaged bytes, of declared and of random messages, through every reader of the codec.

Every reader (generated decoder, JSON decoder, projections) must agree with the plain
walker on every buffer, and only DecodeError may come out.
"""

from __future__ import annotations

from functools import cache
from random import Random

from decoders.errors import DecodeError
from decoders.schema.api_declaration import Plan, resolve
from decoders.schema.decode_and_encode import decode, decode_exactly, encode
from decoders.schema.lazy_decoder import get_encoder
from decoders.schema.plan_walker import encode_by_walking
from tests.apis.everything import all_layouts
from tests.schema.declarations import message
from tests.schema.readers import random_paths, readers_agree, strange
from tests.schema.values import random_value, without_defaults

DAMAGED = 8


def try_messages(rng: Random) -> int:
    """Try a declared message and a random one; gives the number of buffers read."""
    made = message(rng)
    return read_all_ways(rng.choice(declared()), rng) + read_all_ways(resolve(made, made.versions.high), rng)


@cache
def declared() -> list[Plan]:
    """Every layout of every API."""
    return [each.plan for each in all_layouts()]


def read_all_ways(plan: Plan, rng: Random) -> int:
    """Write and read one value, and read damaged copies of its bytes; gives the number of buffers read."""
    value = random_value(plan, rng, values=rng.choice([20, 100, 600]))
    data = encode_by_walking(plan, value)
    assert encode(plan, without_defaults(plan, value)) == data
    assert strange(value) or get_encoder(plan)(value) == data
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
    return 1 + DAMAGED


def outcome(plan: Plan, data: bytes, *, plain: bool = False) -> str:
    """The value or error of `decode`, or of the walker alone if `plain`, as text."""
    try:
        return repr(decode_exactly(plan, data, 0, len(data)) if plain else decode(plan, data))
    except DecodeError as failure:
        found = failure
    assert 0 <= found.offset <= len(data)
    return f"{type(found).__name__}: {found}"
