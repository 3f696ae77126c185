"""Generated code against the walker: random declarations, random values, cut and damaged bytes."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.errors import DecodeError, EncodeError
from decoders.schema import field_projection
from decoders.schema.api_declaration import Plan, resolve
from decoders.schema.body_json_form import body_to_json
from decoders.schema.decode_and_encode import decode, decode_partial, encode
from decoders.schema.field_projection import Mode, parse_wanted_paths
from decoders.schema.lazy_decoder import (
    decoder_source,
    encoder_source,
    get_decoder,
    get_encoder,
    get_json_decoder,
    get_projector,
)
from decoders.schema.plan_walker import decode_by_walking, encode_by_walking
from tests.schema.declarations import message
from tests.schema.readers import TABLE, generated, random_paths, readers_agree, strange, text_of, verdict
from tests.schema.values import random_value, without_defaults

SEEDS = st.integers(0, 2**48)
NOTHING: frozenset[str] = frozenset()


def plans(seed: int) -> Iterator[tuple[Plan, Random]]:
    rng = Random(seed)
    declared = message(rng)
    for version in range(declared.versions.high + 1):
        yield resolve(declared, version), rng


@given(SEEDS)
def test_all_readers_give_what_was_written(seed: int) -> None:
    for plan, rng in plans(seed):
        value = random_value(plan, rng)
        data = encode_by_walking(plan, value)
        assert encode_by_walking(plan, without_defaults(plan, value)) == data
        if not strange(value):
            assert get_encoder(plan)(value) == data
        assert encode(plan, value) == encode(plan, without_defaults(plan, value)) == data
        buf = b"\x7f\x01" + data + b"\x01\x01\x7f\x7f" * 3
        paths = frozenset(random_paths(plan, rng))
        assert readers_agree(plan, buf, 2, 2 + len(data), paths) == (value, 2 + len(data))
        assert list(decode(plan, data)) == list(value)
        orjson.dumps(get_json_decoder(plan)(data, 0, len(data), {})[0])


@pytest.mark.long
@given(SEEDS)
def test_all_readers_agree_on_cut_and_damaged_bytes(seed: int) -> None:
    for plan, rng in plans(seed):
        data = encode_by_walking(plan, random_value(plan, rng, values=60))
        paths = frozenset(random_paths(plan, rng))
        for size in {*range(min(len(data), 20)), *(rng.randrange(len(data) + 1) for _ in range(10))} - {len(data)}:
            assert readers_agree(plan, data[:size], 0, size, paths) == "fails"
            assert readers_agree(plan, data, 0, size, paths) == "fails"
        for _ in range(20):
            damaged = bytearray(data)
            for _ in range(rng.randrange(1, 4)):
                if damaged:
                    damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            buf = b"\x01" + bytes(damaged) + b"\x01\x02\x03" * rng.randrange(5)
            readers_agree(plan, buf, 1, 1 + len(damaged), paths)


@given(SEEDS)
def test_only_decode_errors_with_offset_and_path(seed: int) -> None:
    for plan, rng in plans(seed):
        for _ in range(10):
            noise = rng.randbytes(rng.randrange(60))
            fields, failure = decode_partial(plan, noise)
            orjson.dumps(decode_partial(plan, noise, json=True)[0])
            if failure is None:
                assert decode(plan, noise) == fields
                continue
            assert 0 <= failure.offset <= len(noise)
            assert failure.path or "after the end" in failure.text
            with pytest.raises(DecodeError) as caught:
                decode(plan, noise)
            assert str(caught.value) == str(failure)


WRONG = [None, "x", "\udcff", 1.5, b"raw", [], [None], {}, {"nobody": 1}, -1, 128, 2**70, True, ("a",), bytearray(b"b")]


def spoil(value: Any, rng: Random) -> Any:
    """The value with one part replaced, removed or added."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        spoiled = dict(value)
        name = rng.choice(list(value))
        roll = rng.random()
        if roll < 0.1:
            del spoiled[name]
        elif roll < 0.15:
            spoiled["nobody"] = 1
        else:
            spoiled[name] = spoil(value[name], rng)
        return spoiled
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        return [*value[:place], spoil(value[place], rng), *value[place + 1 :]]
    return rng.choice(WRONG)


@given(SEEDS)
def test_values_that_do_not_fit_are_refused_as_the_plain_encoder_does(seed: int) -> None:
    def outcome(encoding: Any, plan: Plan, value: Any) -> Any:
        try:
            return encoding(plan, value)
        except EncodeError as failure:
            return str(failure)

    for plan, rng in plans(seed):
        value = random_value(plan, rng, values=60)
        for _ in range(20):
            wrong = spoil(value, rng)
            assert outcome(encode, plan, wrong) == outcome(encode_by_walking, plan, wrong)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_first_messages_are_read_alike(seed: int) -> None:
    for plan, rng in plans(seed):
        paths = frozenset(random_paths(plan, rng))
        readers = [get_decoder(plan), get_json_decoder(plan, {}, True), get_projector(plan, paths, True)]
        for _ in range(25):
            data = encode_by_walking(plan, random_value(plan, rng, values=10))
            end = len(data) - (rng.random() < 0.1)
            first = [verdict(read, data, 0, end, *([{}] if read is readers[1] else [])) for read in readers]
            assert repr(first[0]) == repr(verdict(decode_by_walking, plan, data, 0, end))
            form = first[0] if first[0] == "fails" else (body_to_json(plan, first[0][0], reveal=True), first[0][1])
            assert repr(first[1]) == repr(form)
            assert repr(first[2]) == repr(
                verdict(field_projection.project_by_walking, plan, parse_wanted_paths(plan, paths), True, data, 0, end)
            )


@pytest.mark.parametrize("seed", range(3))
def test_generated_code_is_kept_for_tracebacks(seed: int) -> None:
    for plan, _ in plans(seed):
        assert "def decode(buf, at, end):" in text_of(get_decoder(plan))
        assert get_decoder(plan) is get_decoder(plan)


@pytest.mark.parametrize("seed", range(3))
def test_code_is_generated_once_however_often_messages_come(seed: int) -> None:
    for plan, rng in plans(seed):
        data = encode_by_walking(plan, random_value(plan, rng, values=10))
        readers = [
            generated(each)
            for each in (get_decoder(plan), get_json_decoder(plan, {}), get_projector(plan, NOTHING, True))
        ]
        arguments = [(data, 0, len(data)), (data, 0, len(data), TABLE), (data, 0, len(data))]
        for read, words in zip(readers, arguments, strict=True):
            verdict(read, *words)  # text that is not UTF-8 has code of its own
        codes, sources = [read.__code__ for read in readers], len(linecache.cache)
        for read, words in zip(readers, arguments, strict=True):
            for _ in range(700):
                verdict(read, *words)
        assert [read.__code__ for read in readers] == codes
        assert len(linecache.cache) == sources


@pytest.mark.parametrize("seed", range(3))
def test_comments_on_generated_code_name_its_fields_and_change_nothing_else(seed: int) -> None:
    for plan, _ in plans(seed):
        for shown, bare in (
            (decoder_source(plan, Mode()), decoder_source(plan, Mode(), commented=False)),
            (encoder_source(plan), encoder_source(plan, commented=False)),
        ):
            assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(bare))
            comments = [line.partition("  # ")[2] for line in shown.splitlines() if "  # " in line]
            named = {name.replace("[]", "") for comment in comments for name in comment.split(", ")}
            assert {field.name for field in plan.fields} <= named
