"""Every declared message: what is written is read again, by generated code and by the walker; noise is refused."""

from __future__ import annotations

from random import Random

import orjson
import pytest

from decoders.apis import KEYS, api
from decoders.errors import DecodeError
from decoders.schema.body_json_form import body_to_json
from decoders.schema.decode_and_encode import decode, decode_exactly, encode
from decoders.schema.lazy_decoder import get_json_decoder
from tests.apis.everything import Declared, all_layouts, layouts
from tests.schema.values import random_value, without_defaults

VALUES = 4
NOISES = 140  # with 746 layouts: 10**5 random buffers in all


def test_nothing_is_left_out() -> None:
    found = list(all_layouts())
    spans = [api(key).versions for key in KEYS]
    assert len([one for one in found if not one.early_layout]) == sum(2 * (span.high - span.low + 1) for span in spans)
    assert len([one for one in found if one.early_layout]) == sum(len(api(key).early) for key in KEYS) > 0
    assert len(found) * NOISES >= 10**5


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_values_come_back(key: int) -> None:
    for declared in layouts(key):
        plan = declared.plan
        rng = Random(str(declared))
        for number in range(VALUES):
            value = random_value(plan, rng, values=120)
            data = encode(plan, value)
            place = f"{declared} value {number}"
            assert decode(plan, data) == decode_exactly(plan, data, 0, len(data)) == value, place
            assert encode(plan, without_defaults(plan, value)) == data, place
            for reveal in (False, True):
                shown = get_json_decoder(plan, None, reveal)(data, 0, len(data), {})
                assert shown == (body_to_json(plan, value, reveal=reveal), len(data)), place
                orjson.dumps(shown[0])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_cut_messages_are_refused(key: int) -> None:
    for declared in layouts(key):
        rng = Random(str(declared))
        data = encode(declared.plan, random_value(declared.plan, rng, values=60))
        sizes = range(len(data)) if len(data) < 60 else sorted({*range(20), *rng.sample(range(len(data)), 30)})
        for size in sizes:
            refused(declared, data[:size])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_noise_gives_only_decode_errors(key: int) -> None:
    for declared in layouts(key):
        rng = Random(str(declared))
        for _ in range(NOISES):
            noise = rng.randbytes(rng.randrange(80))
            if rng.random() < 0.5:  # small numbers get further in a decoder than large ones
                noise = bytes(byte % 3 for byte in noise)
            failure = failing(declared, noise)
            if failure is None:
                assert decode(declared.plan, noise) == decode_exactly(declared.plan, noise, 0, len(noise)), declared
                continue
            assert 0 <= failure.offset <= len(noise), declared
            assert failure.path or "after the end" in failure.text, (declared, failure)


def failing(declared: Declared, data: bytes) -> DecodeError | None:
    try:
        decode(declared.plan, data)
    except DecodeError as failure:
        return failure
    return None


def refused(declared: Declared, data: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(declared.plan, data)
    assert 0 <= caught.value.offset <= len(data), declared
    assert caught.value.path, declared
