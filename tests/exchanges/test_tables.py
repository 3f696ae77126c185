"""The tables of the package against the declarations, and its small parts by rows."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from decoders.apis import KEYS, api
from decoders.errors import DecodeError
from decoders.exchanges.body_reader import ApiReaders, Needs
from decoders.exchanges.exchange import SESSION_PATHS, Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.exchanges.topic_and_node_names import TOPIC_ID_SOURCES, TopicIdSource
from decoders.exchanges.topic_arrays import RECORD_ARRAYS
from decoders.messages.build_body_json import list_errors_in_body, make_error_finder
from decoders.schema.api_declaration import Plan, Side, resolve
from decoders.schema.decode_and_encode import encode
from decoders.schema.field_projection import parse_wanted_paths
from decoders.schema.lazy_decoder import get_projector
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.parse_units import parse_time
from tests.exchanges.talks import Talker, run, segments
from tests.schema.values import random_value

SIDES: tuple[Side, Side] = ("request", "response")
NAMES = ("name", "topic", "topic_name")
# Both fields are beside each other, but in the client's request: the client may use either.
ASKED = {(3, "request"), (20, "request")}


def plans(key: int, side: Side) -> Iterator[Plan]:
    """The layouts of all versions of a side."""
    declared = api(key)
    message = declared.request if side == "request" else declared.response
    for version in range(message.versions.low, message.versions.high + 1):
        yield resolve(message, version)


def taught(plan: Plan, path: str = "") -> Iterator[tuple[str, str, str]]:
    """The paths at which a topic's id and name are beside each other."""
    fields = (*plan.fields, *plan.tagged)
    for field in fields:
        if field.name == "topic_id":
            yield from ((path, each.name, field.name) for each in fields if each.name in NAMES)
        if field.plan is not None:
            yield from taught(field.plan, f"{path}{'.' if path else ''}{field.name}{'[]' if field.array else ''}")


def test_sources_of_topic_ids_are_all_messages_that_have_them_beside_names() -> None:
    found: dict[int, set[TopicIdSource]] = {}
    for key in KEYS:
        for side in SIDES:
            for plan in plans(key, side):
                if (key, side) not in ASKED:
                    for row in taught(plan):
                        found.setdefault(key, set()).add(TopicIdSource(side, *row))
    assert found == {key: set(sources) for key, sources in TOPIC_ID_SOURCES.items()}


def with_records(plan: Plan, path: str = "") -> Iterator[str]:
    """The paths of fields of record batches."""
    for field in (*plan.fields, *plan.tagged):
        if field.kind == "records":
            yield f"{path}{field.name}"
        elif field.plan is not None:
            yield from with_records(field.plan, f"{path}{field.name}[].")


def test_the_table_of_record_arrays_names_all_fields_with_records() -> None:
    found = {
        (key, side, path) for key in KEYS for side in SIDES for plan in plans(key, side) for path in with_records(plan)
    }
    assert found == {(key, array.side, array.records_path) for key, array in RECORD_ARRAYS.items()}


def test_the_paths_asked_for_exist() -> None:
    for (key, side), paths in SESSION_PATHS.items():
        for plan in plans(key, side):
            parse_wanted_paths(plan, paths)


@pytest.mark.parametrize("key", KEYS)
def test_error_codes_are_the_same_by_projection_and_in_the_body(key: int) -> None:
    rng = Random(key)
    for plan in plans(key, "response"):
        project = get_projector(plan, frozenset(), True)
        for _ in range(3):
            value = random_value(plan, rng, strange=False, values=60)
            data = encode(plan, value)
            _, codes, after = project(data, 0, len(data))
            assert after == len(data)
            assert [(error["path"], error["code"]) for error in list_errors_in_body(plan, value)] == (codes or [])


def test_a_response_without_error_codes_needs_no_search() -> None:
    declared = api("UpdateRaftVoter")
    assert make_error_finder(resolve(declared.response, 0)) is not None
    assert make_error_finder(resolve(declared.request, 0)) is None


def test_needs_are_united() -> None:
    first = Needs({(1, "request"): ("session_id",), (3, "response"): ("topics[].name",)})
    second = Needs({(1, "request"): ("topics",)})
    both = first | second
    assert both.needed_paths(1, "request") == {"session_id", "topics"}
    assert both.needed_paths(3, "response") == {"topics[].name"}
    assert both.needed_paths(3, "request") == frozenset()
    assert first.needed_paths(1, "request") == {"session_id"}


def test_views_hold_what_is_needed_and_nothing_else() -> None:
    rng = Random(3)
    needs = Needs({(key, "request"): ("topics[].name",) for key in (19,)} | {(18, "response"): ("error_code",)})
    settled = run(segments(Talker(rng, count=40).talk.turns, rng), needs=needs)
    for each in settled:
        assert isinstance(each, Exchange)
        if each.api_key == 18:
            assert list(each.view("response")) == ["error_code"]
            assert each.view("request") == {}


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_795_279_703_739_185_000, "2026-11-21T16:48:23.739185Z"),
        (1_795_279_703_739_185_001, "2026-11-21T16:48:23.739185001Z"),
        (999_999_999, "1970-01-01T00:00:00.999999999Z"),
    ],
)
def test_times_are_as_precise_as_they_come(ns: int, text: str) -> None:
    assert format_rfc3339(ns) == text
    assert parse_time(text) == ns


def test_a_time_beyond_all_calendars_is_still_a_text() -> None:
    assert format_rfc3339(10**30).endswith("Z")


def test_specs_of_numbers_nobody_has_are_bounded() -> None:
    api_readers = ApiReaders(Needs())
    for key in range(200, 400):
        for version in range(100):
            assert api_readers.get_reader(key, version).name == f"UNKNOWN({key})"
    assert api_readers.plain == {}


def test_a_state_with_wrong_bytes_is_taken_or_a_decode_error() -> None:
    refused = 0
    for seed in range(30):
        rng = Random(seed)
        engine = Engine()
        every = segments(Talker(rng).talk.turns, rng)
        engine.feed(every[: len(every) // 2])
        state = bytearray(engine.export())
        for _ in range(rng.choice([1, 3])):
            state[rng.randrange(len(state))] ^= 1 << rng.randrange(8)
        other = Engine()
        try:
            other.resume(bytes(state[: rng.choice([None, None, len(state) // 2])]))
        except DecodeError:
            refused += 1
        else:
            assert len(other.export()) > 0
    assert 0 < refused <= 30
