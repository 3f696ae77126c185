"""The facts of a line: every API has some, every path they need is declared, and they are the important ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, get_args
from uuid import UUID

import pytest

from decoders.apis import KEYS, api, section
from decoders.exchanges.exchange import Exchange
from decoders.schema.api_declaration import Field, Side
from kwcli.output.facts.compile_line_facts import TOPIC_FIELDS, FactLimits
from kwcli.output.facts.line_fact_functions import FUNCTIONS, NO_VIEW, facts_paths, find_api_facts
from tests.output.fakes import exchange

TOPIC = UUID(int=7)


def facts_of(made: Exchange, shape: FactLimits) -> list[str]:
    """The facts of an exchange, as the text line requests them."""
    row = find_api_facts(made.api_key)
    assert row is not None
    return row.facts(made, made.view("request") or NO_VIEW, made.view("response") or NO_VIEW, shape)


def declared(fields: Iterable[Field], path: str) -> Field | None:
    """The field at a path written without indices."""
    head, _, rest = path.partition(".")
    for field in fields:
        if field.name == head.removesuffix("[]"):
            return declared(field.fields, rest) if rest else field
    return None


@pytest.mark.parametrize("key", KEYS)
def test_every_api_has_facts(key: int) -> None:
    assert (section(key, "line") is not None) != (key in FUNCTIONS), "in one of the two only"


def paths_of(key: int, side: Side) -> frozenset[str]:
    """The paths of a side that the row of an API needs."""
    row = find_api_facts(key)
    assert row is not None
    return row.request if side == "request" else row.response


@pytest.mark.parametrize(
    ("key", "side"),
    [(key, side) for key in KEYS for side in get_args(Side) if paths_of(key, side)],
)
def test_every_path_is_declared_and_no_secret(key: int, side: Side) -> None:
    message = api(key).request if side == "request" else api(key).response
    for path in paths_of(key, side):
        name, _, form = path.partition(":")
        field = declared(message.fields, name)
        parent, _, last = name.rpartition(".")
        if field is None:
            assert last in TOPIC_FIELDS
            assert any(declared(message.fields, f"{parent}.{other}") for other in TOPIC_FIELDS), path
            assert path not in facts_paths(key, side)
        else:
            assert not field.secret or form == "span"
            assert not any(inner.secret for inner in field.fields)
            assert path in facts_paths(key, side)


def parts(*numbers: int, **more: Any) -> list[dict[str, Any]]:
    return [{"partition_index": number, **more} for number in numbers]


@pytest.mark.parametrize(
    ("key", "version", "request_view", "response_view", "facts"),
    [
        (0, 9, {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 3, "records": None}]}]},
         {"responses": [{"partition_responses": [{"base_offset": 1042}]}]}, "orders[3] 0 rec acks=all at 1042"),
        (1, 12, {"max_wait_ms": 500, "topics": [{"topic": "orders", "partitions": [
            {"partition": 0, "fetch_offset": 42}]}]}, {"throttle_time_ms": 0, "responses": []},
         "orders[0] from 42 → 0 rec (waited 500ms)"),
        (2, 7, {"topics": [{"name": "orders", "partitions": parts(0, timestamp=-1)}]},
         {"topics": [{"partitions": [{"offset": 99}]}]}, "orders[0] latest → 99"),
        (3, 12, {"topics": None}, {"brokers": [{}, {}], "topics": [{}]}, "all topics → 2 brokers, 1 topic"),
        (3, 0, {"topics": []}, None, "all topics"),
        (3, 12, {"topics": []}, {"brokers": [{}], "topics": []}, "brokers only → 1 broker"),
        (3, 12, {"topics": [{"topic_id": TOPIC, "name": None}]}, None, "known"),
        (8, 8, {"group_id": "g", "topics": [{"name": "orders", "partitions": parts(0, committed_offset=5)}],
                "generation_id_or_member_epoch": 3}, {}, "group g orders[0]@5 gen 3"),
        (9, 8, {"groups": [{"group_id": "g"}]},
         {"groups": [{"topics": [{"name": "a", "partitions": parts(0, 1, committed_offset=5)}]}]}, "group g a[0,1]"),
        (10, 2, {"key": "billing", "key_type": 0}, {"node_id": 2, "host": "10.0.0.2", "port": 9092},
         "group billing → node 2 10.0.0.2:9092"),
        (10, 4, {"key_type": 1, "coordinator_keys": ["t"]}, {"coordinators": [{"node_id": -1}]}, "transaction t"),
        (12, 4, {"group_id": "g", "generation_id": 5, "member_id": "m-1"}, {}, "group g gen 5 m-1"),
        (18, 3, {"client_software_name": "librdkafka", "client_software_version": "2.3.0"}, {}, "librdkafka 2.3.0"),
        (19, 5, {"topics": [{"name": "orders", "num_partitions": 6, "replication_factor": -1,
                             "configs": [{"name": "retention.ms"}]}]}, {}, "orders 6×default set retention.ms"),
        (26, 3, {"transactional_id": "t", "committed": False, "producer_id": 4000, "producer_epoch": 1}, {},
         "t abort pid 4000 epoch 1"),
        (32, 4, {"resources": [{"resource_type": 2, "resource_name": "orders"}]},
         {"results": [{"configs": [{"name": "a"}, {"name": "b"}]}]}, "topic orders → 2 entries"),
        (35, 4, {}, {"results": [{"log_dir": "/d", "topics": [{"partitions": [{"partition_size": 1500}]}]}]},
         "/d → 1.5kB"),
        (36, 2, {}, {"session_lifetime_ms": 3_600_000}, "51B → 999B session 1h"),
        (68, 0, {"group_id": "g", "member_epoch": 0, "subscribed_topic_names": ["a"]},
         {"member_epoch": 1, "member_id": "m",
          "assignment": {"topic_partitions": [{"topic_id": TOPIC, "partitions": [0]}]}},
         "group g → epoch 1 known[0] subscribes a joining m"),
        (45, 0, {"topics": [{"name": "a", "partitions": [*parts(0, replicas=[1, 2]), *parts(1, replicas=None)]}]}, {},
         "a[0]→1,2 a[1]→as before"),
        (56, 3, {"broker_id": 1, "topics": [{"topic_id": TOPIC, "partitions": parts(
            2, new_isr_with_epochs=[{"broker_id": 1}, {"broker_id": 3}])}]}, {}, "known[2]→1,3 broker 1"),
        (20, 6, {"topics": [{"topic_id": UUID(int=1)}]}, {}, "__cluster_metadata"),
        (None, None, None, None, "51B → 999B"),
    ],
)  # fmt: skip
def test_facts(key: int | None, version: int | None, request_view: Any, response_view: Any, facts: str) -> None:
    made = exchange(
        key, version, request_view=request_view, response_view=response_view, latency_ms=502.0, topics={TOPIC: "known"}
    )
    assert " ".join(facts_of(made, FactLimits())) == facts


@pytest.mark.parametrize("key", KEYS)
def test_views_with_nothing_in_them_say_nothing_false(key: int) -> None:
    """A side that is missing, or was not decoded beyond its first byte, gives no false fact."""
    for request_view, response_view in (({}, {}), (None, None), ({}, None), (None, {})):
        text = " ".join(
            facts_of(exchange(key, 0, request_view=request_view, response_view=response_view), FactLimits())
        )
        assert not re.search(r"None|\[\]|\?", text)


def test_a_narrow_shape_shortens_lists_and_ids() -> None:
    made = exchange(15, 5, request_view={"groups": ["a", "b", "c"]})
    assert facts_of(made, FactLimits(2, 8)) == ["group a,b,+1"]
    made = exchange(12, 4, request_view={"group_id": "g", "member_id": "consumer-1-aaaa"})
    assert facts_of(made, FactLimits(2, 8)) == ["group g", "consume…"]
