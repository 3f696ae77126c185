"""Golden rewrites of every row at every version: addresses change, every other byte stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decoders
from decoders.apis import KEYS, api
from decoders.schema.api_declaration import Field
from kwcli.proxy.relay.rewrite_addresses import (
    BYSTANDERS,
    JUDGED,
    ROWS,
    AddressRow,
    Cap,
    RewriteFailed,
    are_responses_buffered,
    cap_api_versions,
    find_address_row,
    find_endpoints,
    find_highest_rewritable_version,
    rewrite_addresses,
)

CASES = [
    (key, version, row)
    for key, rows in ROWS.items()
    for row in rows
    for version in range(row.versions.low, row.versions.high + 1)
]


def parametrize_cases(cases: Sequence[tuple[int, int, AddressRow]]) -> pytest.MarkDecorator:
    assert cases
    ids = [f"{api(key).name} {version}" for key, version, _ in cases]
    return pytest.mark.parametrize(("key", "version", "row"), cases, ids=ids)


def rows_with(*, optional: bool) -> pytest.MarkDecorator:
    return parametrize_cases([case for case in CASES if case[2].optional == optional])


every_row = parametrize_cases(CASES)
NODES = {1: ("kafka-1.example", 9092), 2: ("a", 1), 1001: ("x" * 200, 65535)}
LOCAL = {1: ("127.0.0.1", 19094), 2: ("proxy.of.a.long.name.example", 19095), 1001: ("::1", 20093)}


def framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def body(row: AddressRow, places: dict[int, tuple[str, int]], *, tags: bool = False) -> dict[str, Any]:
    """A response of a row with these addresses, and other fields that must stay as they are."""
    elements = [{row.node_id: node, "host": host, "port": port} for node, (host, port) in places.items()]
    if tags:
        elements = [{**element, "_tagged_fields": {77: b"kept"}} for element in elements]
    if not row.array:
        return elements[0]
    value: dict[str, Any] = {row.array: elements}
    return {**value, "_tagged_fields": {99: b"also kept", 4000: b""}} if tags else value


def frame_of(key: int, version: int, value: dict[str, Any]) -> bytes:
    return framed(decoders.encode_response(key, version, value, correlation_id=7))


def places_of(key: int, version: int, frame: bytes, row: AddressRow) -> dict[int, tuple[str, int]]:
    """The addresses that a client reads in a response, by node id."""
    value = decoders.decode_response(frame[4:], key, version).body
    elements = value.get(row.array, []) if row.array else [value]
    return {element[row.node_id]: (element["host"], element["port"]) for element in elements}


def some(row: AddressRow, places: dict[int, tuple[str, int]]) -> dict[int, tuple[str, int]]:
    return places if row.array else {1: places[1]}


@every_row
@pytest.mark.parametrize("tags", [False, True], ids=["", "with unknown tags"])
def test_places_are_replaced_and_nothing_else(key: int, version: int, row: AddressRow, tags: bool) -> None:
    tags = tags and version in api(key).flexible
    before = frame_of(key, version, body(row, some(row, NODES), tags=tags))
    after = rewrite_addresses(key, version, before, LOCAL)
    assert after.frame == frame_of(key, version, body(row, some(row, LOCAL), tags=tags))
    assert not after.stripped
    assert places_of(key, version, after.frame, row) == some(row, LOCAL)


@every_row
def test_places_are_found(key: int, version: int, row: AddressRow) -> None:
    frame = frame_of(key, version, body(row, some(row, NODES)))
    found = find_endpoints(key, version, frame)
    assert {each.node_id: (each.host, each.port) for each in found} == some(row, NODES)
    assert all(frame[each.at : each.end].endswith(each.port.to_bytes(4, "big")) for each in found)


@every_row
@pytest.mark.parametrize("place", [("", 9092), ("kafka", 0), ("kafka", -1), ("", -1)], ids=repr)
def test_placeholders_of_errors_stay(key: int, version: int, row: AddressRow, place: tuple[str, int]) -> None:
    frame = frame_of(key, version, body(row, {1: place}))
    assert find_endpoints(key, version, frame) == []
    assert rewrite_addresses(key, version, frame, LOCAL).frame is frame


@every_row
def test_a_node_without_an_id_stays(key: int, version: int, row: AddressRow) -> None:
    assert find_endpoints(key, version, frame_of(key, version, body(row, {-1: ("kafka", 9092)}))) == []


@rows_with(optional=False)
def test_a_node_without_a_listener_fails(key: int, version: int, row: AddressRow) -> None:
    frame = frame_of(key, version, body(row, some(row, NODES), tags=version in api(key).flexible))
    with pytest.raises(RewriteFailed, match="has no listener"):
        rewrite_addresses(key, version, frame, {2: LOCAL[2]})


@rows_with(optional=True)
def test_a_node_without_a_listener_is_left_out_where_others_stay(key: int, version: int, row: AddressRow) -> None:
    tags = version in api(key).flexible
    frame = frame_of(key, version, body(row, some(row, NODES), tags=tags))
    after = rewrite_addresses(key, version, frame, {1: LOCAL[1]})
    assert after.stripped
    assert after.frame == frame_of(key, version, body(row, {}, tags=tags))


@pytest.mark.one_in(4)
@every_row
def test_a_frame_that_is_cut_or_too_long_fails(key: int, version: int, row: AddressRow) -> None:
    frame = frame_of(key, version, body(row, some(row, NODES)))
    for broken in [frame[:cut] for cut in range(8, len(frame))] + [frame + b"\1", frame + bytes(2)]:
        with pytest.raises(RewriteFailed):
            find_endpoints(key, version, broken)


PLACES = st.tuples(st.text(min_size=1, max_size=60), st.integers(1, 65535))


@settings(max_examples=150)
@given(
    st.sampled_from(CASES),
    st.dictionaries(
        st.integers(0, 2**31 - 1), st.tuples(st.text(min_size=1, max_size=60), st.integers(1, 65535)), max_size=6
    ),
    st.data(),
)
def test_any_places_are_replaced_as_encoding_would(
    case: tuple[int, int, AddressRow], places: dict[int, tuple[str, int]], data: st.DataObject
) -> None:
    key, version, row = case
    if not row.array and len(places) != 1:
        places = {3: ("kafka", 9092)}
    new = {node: data.draw(st.tuples(st.text(max_size=300), st.integers(0, 65535))) for node in places}
    frame = frame_of(key, version, body(row, places))
    assert rewrite_addresses(key, version, frame, new).frame == frame_of(key, version, body(row, new))


def test_records_and_unknown_tags_of_a_fetch_stay() -> None:
    records = bytes(range(256)) * 40
    partition = {"partition_index": 3, "error_code": 6, "records": records, "_tagged_fields": {55: b"\1\2\3"}}
    value = {"responses": [{"partitions": [partition], "_tagged_fields": {9: b"x"}}], "_tagged_fields": {7: b"seven"}}
    for version in (16, 17, 18):
        before = frame_of(1, version, {**value, "node_endpoints": [{"node_id": 1, "host": "kafka-1", "port": 9092}]})
        after = frame_of(1, version, {**value, "node_endpoints": [{"node_id": 1, "host": "127.0.0.1", "port": 19094}]})
        assert rewrite_addresses(1, version, before, LOCAL).frame == after
        assert rewrite_addresses(1, version, before, {}).frame == frame_of(1, version, value)
        assert rewrite_addresses(1, version, frame_of(1, version, value), {}).frame == frame_of(1, version, value)


def test_controllers_stay() -> None:
    value = {"endpoint_type": 2, "brokers": [{"broker_id": 1, "host": "controller", "port": 9093}]}
    for version in (1, 2):
        assert find_endpoints(60, version, frame_of(60, version, value)) == []


def test_a_coordinator_error_beside_a_coordinator_stays() -> None:
    good = {"key": "a", "node_id": 1, "host": "kafka-1", "port": 9092}
    bad = {"key": "b", "node_id": -1, "host": "", "port": -1, "error_code": 15}
    for version in (4, 5, 6):
        frame = frame_of(10, version, {"coordinators": [bad, good]})
        after = frame_of(10, version, {"coordinators": [bad, {**good, "host": "127.0.0.1", "port": 19094}]})
        assert rewrite_addresses(10, version, frame, LOCAL).frame == after


# Versions


def offered(rows: dict[int, tuple[int, int]], version: int, **more: Any) -> bytes:
    keys = [{"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in rows.items()]
    return frame_of(18, version, {"api_keys": keys, **more})


@pytest.mark.parametrize("version", range(6))
def test_versions_that_cannot_be_rewritten_are_not_offered(version: int) -> None:
    more = {"_tagged_fields": {88: b"kept"}} if version >= 3 else {}
    rows = {0: (3, 14), 1: (4, 18), 3: (0, 99), 11: (0, 99), 18: (0, 9), 60: (7, 9), 900: (0, 3)}
    frame, caps = cap_api_versions(offered(rows, version, **more), version)
    kept = {0: (3, 13), 1: (4, 18), 3: (0, 13), 11: (0, 99), 18: (0, 5), 900: (0, 3)}
    assert frame == offered(kept, version, **more)
    assert caps == [
        Cap("Produce", 14, 13),
        Cap("Metadata", 99, 13),
        Cap("ApiVersions", 9, 5),
        Cap("DescribeCluster", 9, None),
    ]


def test_what_old_librdkafka_looks_for_stays() -> None:
    """Without Produce 0 old librdkafka takes brokers for ones that know no compression (KAFKA-18659)."""
    frame, _ = cap_api_versions(offered({0: (0, 99)}, 3), 3)
    assert frame == offered({0: (0, 13)}, 3)


def test_what_all_know_passes_untouched() -> None:
    frame = offered({key: (api(key).versions.low, api(key).versions.high) for key in KEYS}, 4)
    assert cap_api_versions(frame, 4) == (frame, [])


@pytest.mark.parametrize("version", [3, 4, 5, 6, 1000])
def test_an_answer_in_the_layout_of_version_0_is_read(version: int) -> None:
    frame = frame_of(18, 0, {"error_code": 35, "api_keys": [{"api_key": 18, "min_version": 0, "max_version": 4}]})
    assert cap_api_versions(frame, version) == (frame, [])


def test_the_refusal_of_librdkafkas_mock_is_named() -> None:
    frame = bytes.fromhex("00000011 00000001 0023 01 0012 0000 0002 00000000")
    with pytest.raises(RewriteFailed, match="answered UNSUPPORTED_VERSION in a layout that is neither that of 3 nor"):
        cap_api_versions(frame, 3)


def test_an_answer_that_cannot_be_read_fails() -> None:
    with pytest.raises(RewriteFailed, match="ApiVersions 4"):
        cap_api_versions(framed(b"\0\0\0\7\0\0garbage"), 4)


# The table against the declarations


def _places(fields: tuple[Field, ...], path: str = "") -> list[str]:
    """The paths of structs that hold a host and a port, and of fields that hold an endpoint."""
    names = {field.name for field in fields}
    found = [path] if any("host" in name for name in names) and any("port" in name for name in names) else []
    for field in fields:
        inner = f"{path}.{field.name}".lstrip(".")
        if field.fields:
            found += [inner] if "endpoint" in field.name and {"host", "port"} <= {f.name for f in field.fields} else []
            found += _places(field.fields, inner)
    return list(dict.fromkeys(found))


def test_every_place_that_a_message_names_is_judged() -> None:
    """A new API with a host and a port in it needs a row in JUDGED."""
    for key in KEYS:
        for side, message in (("request", api(key).request), ("response", api(key).response)):
            for path in _places(message.fields):
                assert (key, side, path) in JUDGED, f"{api(key).name} {side} {path!r}"


def test_the_judgements_are_of_fields_that_exist() -> None:
    for key, side, path in JUDGED:
        fields = api(key).request.fields if side == "request" else api(key).response.fields
        for name in filter(None, path.split(".")):
            (field,) = (field for field in fields if field.name == name)
            fields = field.fields
    assert {4, 6, 53, 62} <= BYSTANDERS


def test_every_row_covers_every_version_with_places() -> None:
    rewritten = {key for (key, _, _), word in JUDGED.items() if word == "rewritten"}
    assert rewritten == set(ROWS)
    for key in ROWS:
        for version in range(api(key).versions.low, api(key).versions.high + 1):
            holds = _has_places(key, version)
            assert (find_address_row(key, version) is not None) == holds, (key, version)
            assert are_responses_buffered(key, version) == holds
        assert find_highest_rewritable_version(key) == api(key).versions.high
    assert are_responses_buffered(18, 3)
    assert not are_responses_buffered(11, 5)


def _has_places(key: int, version: int) -> bool:
    names = {field.name for field in api(key).response.fields if version in field.versions}
    return bool(names & {"brokers", "node_endpoints", "coordinators", "host"})
