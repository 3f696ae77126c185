"""Expressions on a shipped capture, against the exchange records of the same capture."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders import read_exchanges
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.exchange import Exchange
from decoders.filters import Filter, Phase, parse
from decoders.messages.build_body_json import Options
from decoders.messages.exchange_json import to_json_dict
from decoders.schema.api_declaration import Side
from tests.captures.plain import read_bytes

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
Says = Callable[[dict[str, Any]], bool]


class Wanted(Needs):
    """The fields that one filter needs, and nothing else."""

    def __init__(self, one: Filter) -> None:
        super().__init__()
        self._one = one

    def needed_paths(self, key: int, side: Side) -> frozenset[str]:
        return self._one.needs(key, side)


@cache
def data(name: str) -> bytes:
    return (CAPTURES / name).read_bytes()


@cache
def records(name: str = "tour.pcapng") -> list[dict[str, Any]]:
    return [to_json_dict(exchange, Options()) for exchange in read_exchanges(data(name))]


def passed(text: str, name: str = "tour.pcapng") -> list[int]:
    """The numbers of the exchanges of a capture that pass, with only the fields decoded that the filter needs."""
    one = parse(text)
    return [number for number, each in enumerate(read_exchanges(data(name), needs=Wanted(one))) if one.matches(each)]


def said(says: Says, name: str = "tour.pcapng") -> list[int]:
    return [number for number, record in enumerate(records(name)) if says(record)]


def inside(value: Any, *steps: str) -> list[Any]:
    """All values at a path of a body, through every array."""
    if isinstance(value, list):
        return [found for each in value for found in inside(each, *steps)]
    if not steps:
        return [] if value is None else [value]
    return inside(value.get(steps[0]), *steps[1:]) if isinstance(value, dict) else []


def host(text: str) -> Any:
    return ipaddress.ip_address(text.rpartition(":")[0].strip("[]"))


def topics(record: dict[str, Any]) -> set[str]:
    """Every topic in the record, by name."""
    sides = (record["request"], record["response"])
    return {name for side in sides for name in _named(side, record.get("topic_names", {}))}


def _named(value: Any, names: dict[str, str], key: str = "") -> list[str]:
    if isinstance(value, list):
        return [name for each in value for name in _named(each, names, key)]
    if isinstance(value, dict):
        return [name for inner, each in value.items() if inner != "records" for name in _named(each, names, inner)]
    return [names[value]] if key == "topic_id" and value in names else []


ROWS: list[tuple[str, Says]] = [
    ("", lambda _: True),
    ("api == Fetch", lambda r: r["api"] == "Fetch"),
    ("api == fetch or api_key == 0", lambda r: r["api_key"] in (0, 1)),
    ("api in (Produce, join-group, 12)", lambda r: r["api_key"] in (0, 11, 12)),
    ("api not in (Produce, Fetch)", lambda r: r["api_key"] not in (0, 1)),
    ("api ~ Group", lambda r: "Group" in (r["api"] or "")),
    ('api like "*Group*"', lambda r: "Group" in (r["api"] or "")),
    ("version >= 10", lambda r: r["api_version"] is not None and r["api_version"] >= 10),
    ("client_id == admin", lambda r: r["client_id"] == "admin"),
    ("client_id != admin", lambda r: r["client_id"] != "admin"),
    ("client_id like (billing-?, 'rep*')", lambda r: bool(re.fullmatch("billing-.|rep.*", r["client_id"] or "", re.S))),
    ('client_id ~ "^b.*[12]$"', lambda r: bool(re.search("^b.*[12]$", r["client_id"] or ""))),
    ('client_id !~ "^b"', lambda r: not re.search("^b", r["client_id"] or "")),
    ("client_id", lambda r: bool(r["client_id"])),
    ("latency > 100ms", lambda r: r["latency_ms"] is not None and r["latency_ms"] > 100),
    ("took <= 0.1s", lambda r: r["latency_ms"] is not None and r["latency_ms"] <= 100),
    ("duration > 500000us", lambda r: r["duration_ms"] is not None and r["duration_ms"] > 500),
    ("not latency", lambda r: r["latency_ms"] is None),
    ("latency == null", lambda r: r["latency_ms"] is None),
    ("latency_ms != null", lambda r: r["latency_ms"] is not None),
    ("response_size in (null, 10)", lambda r: r["response_size"] in (None, 10)),
    ("client_id != Null", lambda r: r["client_id"] is not None),
    ('client_id == "null" or client_id == none', lambda _: False),
    ("error == NONE", lambda r: not r["errors"]),
    ("error != 0", lambda r: bool(r["errors"])),
    ("api_key == 0 and api_key != null", lambda r: r["api_key"] == 0),
    ("group == null", lambda r: not _groups(r)),
    ("request_size > 0.1kB", lambda r: (r["request_size"] or 0) > 100),
    ("response_size >= 1KiB", lambda r: (r["response_size"] or 0) >= 1024),
    ("size > 2000", lambda r: max(r["request_size"] or 0, r["response_size"] or 0) > 2000),
    ("client == 127.0.0.0/8", lambda r: host(r["client"]) in ipaddress.ip_network("127.0.0.0/8")),
    ("client in (10.0.0.0/8, ::1)", lambda _: False),
    ("broker == :9093", lambda r: r["broker"].endswith(":9093")),
    ("broker == 127.0.0.1:9094", lambda r: r["broker"] == "127.0.0.1:9094"),
    ("error", lambda r: bool(r["errors"])),
    ("error == TOPIC_ALREADY_EXISTS", lambda r: any(e["code"] == 36 for e in r["errors"])),
    ("error == 27 or errors == concurrent-transactions", lambda r: any(e["code"] in (27, 51) for e in r["errors"])),
    ("error != 27", lambda r: all(e["code"] != 27 for e in r["errors"])),
    ("error ~ MEMBER", lambda r: any("MEMBER" in e["name"] for e in r["errors"])),
    ("status == unanswered", lambda r: r["status"] == "unanswered"),
    ("closed == fin", lambda r: r.get("closed") == "fin"),
    ("status == no_response_expected", lambda r: r["status"] == "no_response_expected"),
    ("request.max_wait_ms >= 500", lambda r: any(v >= 500 for v in inside(r["request"], "max_wait_ms"))),
    ("request.maxWaitMs >= 0.5s", lambda r: any(v >= 500 for v in inside(r["request"], "max_wait_ms"))),
    ("request.max_wait >= 500ms", lambda r: any(v >= 500 for v in inside(r["request"], "max_wait_ms"))),
    ("request.acks == 0", lambda r: inside(r["request"], "acks") == [0]),
    ("request.topics[0].name == orders", lambda r: _old_names(r)[:1] == ["orders"]),
    ("request.topics[].name == orders", lambda r: "orders" in _old_names(r)),
    ("response.brokers.port == 9093", lambda r: 9093 in inside(r["response"], "brokers", "port")),
    ("response.brokers[1].node_id == 2", lambda r: inside(r["response"], "brokers", "node_id")[1:2] == [2]),
    ("request.committed == true", lambda r: inside(r["request"], "committed") == [True]),
    ("request.group_instance_id == null", lambda r: not inside(r["request"], "group_instance_id")),
    ("throttle >= 0ms", lambda r: bool(inside(r["response"], "throttle_time_ms"))),
    ("group == billing", lambda r: "billing" in _groups(r)),
    ("time >= 2026-11-21T17:35:00Z", lambda r: r["time"] >= "2026-11-21T17:35:00"),
    ("time >= 19:35+02:00", lambda r: r["time"] >= "2026-11-21T17:35:00"),
    ("time < 12:35-05:00", lambda r: r["time"] < "2026-11-21T17:35:00"),
    ("not (api == Fetch or error) and client", lambda r: r["api"] != "Fetch" and not r["errors"]),
    ("not error && !(api == Produce || api == Fetch)", lambda r: not r["errors"] and r["api_key"] not in (0, 1)),
]


def _old_names(record: dict[str, Any]) -> list[Any]:
    """The values at `topics.name`, which Produce and Fetch of later versions call by other names."""
    request = record["request"]
    return [
        *inside(request, "topics", "name"),
        *inside(request, "topics", "topic"),
        *inside(request, "topic_data", "name"),
    ]


def _groups(record: dict[str, Any]) -> list[Any]:
    asked = inside(record["request"], "group_id") + inside(record["request"], "groups", "group_id")
    answered = inside(record["response"], "groups", "group_id")
    return asked + answered + [name for name in inside(record["request"], "groups") if isinstance(name, str)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("text", "says"), ROWS, ids=[text or "everything" for text, _ in ROWS])
def test_an_expression_says_what_the_records_say(text: str, says: Says) -> None:
    assert passed(text) == said(says)


def test_most_rows_pass_some_and_not_all() -> None:
    """Most rows pass some exchanges and not all; the others would not show a wrong filter."""
    telling = [text for text, says in ROWS if 0 < len(said(says)) < len(records())]
    assert len(telling) > 0.85 * len(ROWS)


def test_topics_known_by_id_count_by_name() -> None:
    name = "share-groups.pcapng"
    known = sorted({topic for record in records(name) for topic in topics(record)})
    assert known
    for topic in known:
        by_id = said(lambda r, topic=topic: topic in topics(r), name)  # type: ignore[misc]  # bound at once
        assert by_id
        assert set(by_id) <= set(passed(f'topic == "{topic}"', name))


# Random expressions: parts with their meaning, joined at random.

PARTS = st.sampled_from([row for row in ROWS if row[0]])


def _joined(parts: st.SearchStrategy[tuple[str, Says]]) -> st.SearchStrategy[tuple[str, Says]]:
    both = st.tuples(parts, parts)
    return (
        both.map(lambda two: (f"({two[0][0]}) and ({two[1][0]})", lambda r: two[0][1](r) and two[1][1](r)))
        | both.map(lambda two: (f"({two[0][0]}) or ({two[1][0]})", lambda r: two[0][1](r) or two[1][1](r)))
        | parts.map(lambda one: (f"not ({one[0]})", lambda r: not one[1](r)))
    )


@pytest.mark.long
@settings(max_examples=60)
@given(st.recursive(PARTS, _joined, max_leaves=5))
def test_any_combination_says_what_its_parts_say(row: tuple[str, Says]) -> None:
    text, says = row
    assert passed(text) == said(says)


@pytest.mark.long
@settings(max_examples=60)
@given(st.recursive(PARTS, _joined, max_leaves=4))
def test_what_is_decided_early_stays(row: tuple[str, Says]) -> None:
    """No phase gives an answer that differs from the final one; from the filter's own phase on there always is one."""
    one = parse(row[0])
    for exchange in _some(one):
        answers = [one.decide(exchange, phase) for phase in Phase]
        final = one.matches(exchange)
        assert set(answers) <= {None, final}
        assert all(answer is not None for answer in answers[one.phase :])


def _some(one: Filter) -> list[Exchange]:
    return list(read_exchanges(data("tour.pcapng"), needs=Wanted(one)))[::9]


# Partitions and records, against the records that `--records` shows.


def _batches(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The batches of a Produce request or a Fetch response."""
    if record["api"] == "Produce":
        return inside(record["request"], "topic_data", "partition_data", "records")
    return inside(record["response"], "responses", "partitions", "records") if record["api"] == "Fetch" else []


def _kept(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for batch in _batches(record) for each in batch["records"]]


def _header(record: dict[str, Any], name: str) -> list[Any]:
    return [header["value"] for each in _kept(record) for header in each["headers"] if header["key"] == name]


def _partitions(value: Any, name: str = "") -> set[int]:
    """Every partition number in a body, by the names of such fields."""
    if isinstance(value, list):
        return {number for each in value for number in _partitions(each, name)}
    if isinstance(value, dict):
        if "$type" in value:  # inside bytes: no field of the message
            return set()
        return {number for inner, each in value.items() if inner != "records" for number in _partitions(each, inner)}
    found = name in ("partition_index", "partition", "partition_indexes", "partitions", "index", "partition_id")
    return {value} if found and isinstance(value, int) else set()


RECORD_ROWS: list[tuple[str, str, Says]] = [
    ("tour.pcapng", "partition == 1", lambda r: 1 in _partitions([r["request"], r["response"]])),
    ("tour.pcapng", "partition > 0", lambda r: max(_partitions([r["request"], r["response"]]), default=0) > 0),
    ("tour.pcapng", "not partition == 0", lambda r: 0 not in _partitions([r["request"], r["response"]])),
    ("three-nodes.pcapng.zst", "partition == 2", lambda r: 2 in _partitions([r["request"], r["response"]])),
    ("zookeeper-cluster.pcap.gz", "partition == 1", lambda r: 1 in _partitions([r["request"], r["response"]])),
    ("tour.pcapng", "records", lambda r: bool(_kept(r))),
    ("tour.pcapng", "records > 50", lambda r: len(_kept(r)) > 50),
    ("tour.pcapng", "records != null", lambda r: r["api"] in ("Produce", "Fetch")),
    ("tour.pcapng", "records == 0", lambda r: r["api"] in ("Produce", "Fetch") and not _kept(r)),
    ("old-clients.pcap.gz", "records >= 2", lambda r: len(_kept(r)) >= 2),
    ("tour.pcapng", "key", lambda r: any(each["key"] is not None for each in _kept(r))),
    ("tour.pcapng", "not key", lambda r: all(each["key"] is None for each in _kept(r))),
    ("tour.pcapng", "key == null", lambda r: any(each["key"] is None for each in _kept(r))),
    ("first-steps.pcapng", "key == null", lambda r: any(each["key"] is None for each in _kept(r))),
    ("first-steps.pcapng", "value == null", lambda r: any(each["value"] is None for each in _kept(r))),
    ("first-steps.pcapng", "value != null", lambda r: all(each["value"] is not None for each in _kept(r))),
    ("tour.pcapng", 'value ~ "[0-9]"', lambda r: any(re.search("[0-9]", str(each["value"])) for each in _kept(r))),
    ("tour.pcapng", "key like *7", lambda r: any(str(each["key"]).endswith("7") for each in _kept(r))),
    ("tour.pcapng", "key in (a, null)", lambda r: any(each["key"] in ("a", None) for each in _kept(r))),
    ("old-clients.pcap.gz", "value ~ a", lambda r: any("a" in str(each["value"] or "") for each in _kept(r))),
    ("tour.pcapng", "side == response", lambda r: r["response"] is not None),
    ("sasl-raw.pcap", "not side == response", lambda r: r["response_size"] is None),
    ("old-clients.pcap.gz", "undecoded_side", lambda r: "undecoded" in r),
]


@cache
def with_records(name: str) -> list[dict[str, Any]]:
    return [to_json_dict(exchange, Options(records=True)) for exchange in read_exchanges(inflated(name))]


@cache
def inflated(name: str) -> bytes:
    return read_bytes(CAPTURES / name)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "text", "says"), RECORD_ROWS, ids=[f"{row[0]}: {row[1]}" for row in RECORD_ROWS])
def test_records_are_asked_for_what_they_hold(name: str, text: str, says: Says) -> None:
    one = parse(text)
    exchanges = read_exchanges(inflated(name), needs=Wanted(one))
    assert [one.matches(each) for each in exchanges] == [says(record) for record in with_records(name)]


def test_every_row_about_headers_and_records_tells_some_apart() -> None:
    telling = [text for name, text, says in RECORD_ROWS if len({says(record) for record in with_records(name)}) == 2]
    assert len(telling) > 0.75 * len(RECORD_ROWS)


def test_a_header_is_found_by_its_name() -> None:
    headers = {
        (name, header["key"])
        for name in ("tour.pcapng", "first-steps.pcapng")
        for record in with_records(name)
        for each in _kept(record)
        for header in each["headers"]
    }
    assert headers
    for name, key in headers:
        one = parse(f'header."{key}"')
        found = [one.matches(each) for each in read_exchanges(data(name), needs=Wanted(one))]
        assert found == [any(value is not None for value in _header(record, key)) for record in with_records(name)]
        assert any(found)
        other = parse(f'header."{key}-not"')
        assert not any(other.matches(each) for each in read_exchanges(data(name), needs=Wanted(other)))


def test_nothing_of_records_is_needed_where_nothing_is_asked_of_them() -> None:
    for text, wanted in (("topic == a", False), ("key == a", True), ("records > 1", True), ("header.x", True)):
        paths = parse(text).needs(1, "response")
        assert any(path.endswith("records:span") for path in paths) is wanted
        assert parse(text).needs(3, "request") <= {"topics[].name", "topics[].topic_id"}
