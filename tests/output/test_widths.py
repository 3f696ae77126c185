"""Lines at different widths: a wider terminal, or a pipe, never shows less."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from decoders.apis import KEYS, api
from decoders.exchanges.exchange import Settled
from decoders.exchanges.segments_to_exchanges import Engine
from kwcli.output.facts.compile_line_facts import FactLimits
from kwcli.output.facts.line_fact_functions import find_api_facts
from kwcli.output.output_settings import Settings
from kwcli.output.renderers import WantedPaths, find_paths_read_by_format
from kwcli.output.short_texts import cell_width
from kwcli.output.text import TextLines, lay_out_line
from tests.apis.everything import layouts
from tests.captures.shipped import CLEAN, NEGATIVE, segments
from tests.output.fakes import exchange
from tests.schema.values import random_value

WIDTHS = (60, 80, 100, 120, 150, 180, 200, 250)
QUICK = ("tour.pcapng", "sasl-framed.pcapng")
LEFT_OUT = re.compile(r"\+\d+")


@cache
def rows(name: str) -> tuple[Settled, ...]:
    engine = Engine(None, needs=WantedPaths(find_paths_read_by_format(Settings())))
    return (*engine.feed(list(segments(name))), *engine.finish())


def lines(name: str, width: int | None) -> list[str]:
    made = TextLines(width, color=False)
    return [made.exchange_line(row) if row.kind == "exchange" else made.skipped_line(row) for row in rows(name)]


def less(narrow: str, wide: str, api: str = "") -> Iterator[str]:
    """The words of the narrow line, and parts of its cut words, that the wide line lacks.

    The name of the API may be cut at other places in both: `CreateT…`, `Crea…Topics`.
    """
    said = set(re.split(r"[\s,]+", wide))
    for word in re.split(r"[\s,]+", narrow):
        if "…" in word:
            yield from (part for part in word.split("…") if part not in wide and part not in api)
        elif word and word not in said and not LEFT_OUT.fullmatch(word):
            yield word


def check(name: str, widths: Sequence[int | None]) -> None:
    found = [lines(name, width) for width in widths]
    for (narrow, wide), (before, after) in zip(pairwise(widths), pairwise(found), strict=True):
        for row, one, other in zip(rows(name), before, after, strict=True):
            api = row.api or "" if row.kind == "exchange" else ""
            assert [*less(one, other, api)] == [], f"at {narrow} and {wide}:\n{one}\n{other}"
            assert narrow is None or max(map(cell_width, one.splitlines())) <= narrow


@pytest.mark.parametrize("name", QUICK)
def test_a_wider_line_says_no_less(name: str) -> None:
    check(name, WIDTHS)


@pytest.mark.full
@pytest.mark.parametrize("name", [*CLEAN, *NEGATIVE])
def test_a_wider_line_says_no_less_at_any_width(name: str) -> None:
    check(name, range(60, 270))


@pytest.mark.parametrize("name", QUICK)
def test_a_line_in_a_pipe_has_all_words_of_the_request(name: str) -> None:
    for width in (80, 120):
        for row, narrow, wide in zip(rows(name), lines(name, width), lines(name, None), strict=True):
            api = row.api or "" if row.kind == "exchange" else ""
            assert [*less(narrow, wide, api)] == []


def test_what_is_less_is_found() -> None:
    assert [*less("a b,c,+2 d…f", "a,b c dxf")] == []
    assert [*less("a b,c,+2 d…f", "a,b x+")] == ["c", "d", "f"]


def test_no_column_gets_narrower() -> None:
    for narrow, wide in pairwise(range(20, 400)):
        before, after = lay_out_line(narrow), lay_out_line(wide)
        assert all(one <= other for one, other in zip(before[:-2], after[:-2], strict=True))
        assert (before.facts or 0) <= (after.facts or 0)
        assert set(before.fact_rooms) <= set(after.fact_rooms)


def test_nothing_is_cut_in_a_pipe() -> None:
    text = TextLines(None, color=False).exchange_line(exchange(broker="10.150.171.3:36333"))
    assert " 10.150.171.3:36333 " in text
    made = TextLines(None, color=False)
    brokers = [{"node_id": 1002, "host": "10.150.171.103", "port": 36333}]
    made.exchange_line(exchange(3, 12, response_view={"brokers": brokers}))
    assert " 1002 10.150.171.103:36333 " in made.exchange_line(exchange(broker="10.150.171.103:36333"))


# A list, dict, bytes, object or constant as Python prints it, and a person would not.
REPR = re.compile(r"[\[{(]'|\bb'|\bb\"|UUID\(|\bNone\b|\bTrue\b|\bFalse\b|<[a-z_.]+ object")


@pytest.mark.parametrize("key", KEYS)
def test_no_row_says_what_only_python_reads(key: int) -> None:
    found = find_api_facts(key)
    assert found is not None, api(key).name
    rng = Random(key)
    sides: dict[tuple[str, int], Any] = {}
    for declared in layouts(key):
        if not declared.early_layout:
            sides[(declared.side, declared.version)] = without_strings(random_value(declared.plan, rng, values=60))
    for version in range(api(key).versions.low, api(key).versions.high + 1):
        request, response = sides["request", version], sides["response", version]
        response.pop("error_message", None)  # it is shown without secrets, which need the bytes
        made = exchange(key, version, request_view=request, response_view=response)
        for shape in (FactLimits(2, 8), FactLimits()):
            for fact in found.facts(made, request, response, shape):
                assert not REPR.search(fact), (version, fact)


def without_strings(value: Any) -> Any:
    """The value with harmless letters in place of its strings, and without records, which are bytes."""
    if isinstance(value, dict):
        return {name: without_strings(each) for name, each in value.items() if not isinstance(each, bytes)}
    if isinstance(value, list):
        return [without_strings(each) for each in value]
    return "name" if isinstance(value, str) else value
