"""Every reader of a message compared with the walker, for tests and the fuzzer."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from random import Random
from typing import Any

from decoders.errors import DecodeError
from decoders.limits import PARTS_MAX
from decoders.schema import field_projection
from decoders.schema.api_declaration import Plan
from decoders.schema.body_json_form import body_to_json
from decoders.schema.codegen_support import CRUDE, Crude
from decoders.schema.field_projection import ALL, Mode, parse_wanted_paths
from decoders.schema.lazy_decoder import LazyDecoder, build_decoder, get_decoder, get_json_decoder, get_projector
from decoders.schema.plan_walker import Walker, decode_by_walking


def random_paths(plan: Plan, rng: Random, prefix: str = "") -> Iterator[str]:
    for field in (*plan.fields, *plan.tagged):
        path = prefix + field.name
        if field.plan is not None and rng.random() < 0.7:
            yield from random_paths(field.plan, rng, path + ("[]." if field.array else "."))
        elif rng.random() < 0.4:
            words = [""]
            if field.array:
                words.append(":count")
            elif field.plan is None:
                words.append(":raw")
                if field.kind in {"string", "bytes", "records"}:
                    words.append(":span")
            yield path + rng.choice(words)


TABLE = {"public": lambda name: len(name) % 2 == 0}


def strange(value: object) -> bool:
    """Whether a value has text that is not UTF-8."""
    return "\\udc" in ascii(value)


def verdict(read: Any, *arguments: Any) -> Any:
    """The result of a reader, or "fails"."""
    try:
        return read(*arguments)
    except (DecodeError, *CRUDE):
        return "fails"


def read_as_generated(plan: Plan, buf: bytes, at: int, end: int) -> Any:
    """What the walker reads; generated code fails where the walker has remarks."""
    walker = Walker(buf)
    after = walker.read(plan, at, end)
    if walker.remarks:
        raise Crude
    return walker.root, after


def generated(function: Any) -> Any:
    """A decoder, with its code generated."""
    lazy = getattr(function, "__globals__", {}).get("start")
    if isinstance(lazy, LazyDecoder):
        lazy.generate_code()
    return function


def text_of(function: Any) -> str:
    """The generated source of a decoder, as a traceback shows it."""
    return "".join(linecache.getlines(generated(function).__code__.co_filename))


def readers_agree(plan: Plan, buf: bytes, at: int, end: int, paths: frozenset[str]) -> Any:
    """Assert that every reader gives the same for these bytes; gives the result."""
    expected = verdict(decode_by_walking, plan, buf, at, end)
    if end - at < PARTS_MAX:  # with spans the walker reads each number by itself
        assert repr(verdict(decode_by_walking, plan, buf, at, end, [])) == repr(expected)
    walked, expected = expected, verdict(read_as_generated, plan, buf, at, end)
    assert repr(expected) in (repr(walked), repr("fails"))
    assert repr(verdict(generated(get_decoder(plan)), buf, at, end)) == repr(expected)
    careful = plan.made.get("careful for tests")
    if careful is None:
        careful = plan.made["careful for tests"] = build_decoder(plan, "careful", ALL, Mode(careful=True))
    assert repr(verdict(careful, buf, at, end)) == repr(expected)
    for reveal in (False, True):
        got = verdict(generated(get_json_decoder(plan, {}, reveal)), buf, at, end, TABLE)
        form = (
            expected
            if expected == "fails"
            else (body_to_json(plan, expected[0], {}, TABLE, reveal=reveal), expected[1])
        )
        assert repr(got) == repr(form)
    view = verdict(field_projection.project_by_walking, plan, parse_wanted_paths(plan, paths), True, buf, at, end)
    assert repr(verdict(generated(get_projector(plan, paths, True)), buf, at, end)) == repr(view)
    without_errors = view if view == "fails" else (view[0], None, view[2])
    assert repr(verdict(generated(get_projector(plan, paths, False)), buf, at, end)) == repr(without_errors)
    return walked
