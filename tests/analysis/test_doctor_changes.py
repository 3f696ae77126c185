"""What was changed before a fault, as findings name it: what succeeded alone, whom it is about, in few words."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.analysis.doctor.doctor import Doctor
from decoders.protocol_facts.api_keys import HEARTBEAT, INCREMENTAL_ALTER_CONFIGS, OFFSET_DELETE, PRODUCE
from kwcli.analyses.format_findings import _list_finding_details
from kwcli.output.output_settings import Settings
from tests.analysis.record_scenes import batch_of, get
from tests.analysis.scenes import Scene

ALTER_PARTITION_REASSIGNMENTS, ALTER_CLIENT_QUOTAS = 45, 49


def observed(scene: Scene) -> Doctor:
    fold = Doctor()
    for exchange in scene.exchanges(fold):
        fold.add(exchange)
    return fold


def changes(scene: Scene) -> list[tuple[Any, ...]]:
    """Kind and name of what was changed, the kind of the change, the words for it."""
    return [key[:4] for key, _ in observed(scene)._seen.items_of_kind("changed")]


def moved(*codes: int, topics: int = 1) -> Scene:
    """A reassignment of a topic's partitions, each answered with a code."""
    names = [f"orders{number or ''}" for number in range(topics)]
    asked = [{"partition_index": number, "replicas": [7, 8]} for number in range(len(codes))]
    answered = [{"partition_index": number, "error_code": code} for number, code in enumerate(codes)]
    request = {"topics": [{"name": name, "partitions": asked} for name in names]}
    answer = {"error_code": 0, "responses": [{"name": name, "partitions": answered} for name in names]}
    return Scene().ask(0, (ALTER_PARTITION_REASSIGNMENTS, 0), request, answer, client="ops")


def offsets_deleted(*codes: int) -> Scene:
    """A deletion of a group's offsets of topics with a partition each, each answered with a code."""
    names = [f"t{number}" for number in range(len(codes))]
    request = {"topics": [{"name": name, "partitions": [{"partition_index": 0}]} for name in names]}
    rows = [
        {"name": name, "partitions": [{"partition_index": 0, "error_code": code}]}
        for name, code in zip(names, codes, strict=True)
    ]
    answer = {"error_code": 0, "topics": rows}
    return Scene().ask(0, (OFFSET_DELETE, 0), {"group_id": "billing", **request}, answer, client="ops")


def limited(*entities: tuple[str, str | None], client: str = "app") -> Scene:
    """A quota for entities, then a client without a login that is throttled."""
    entity = [{"entity_type": kind, "entity_name": name} for kind, name in entities]
    ops = [{"key": "producer_byte_rate", "value": 10.0, "remove": False}]
    request = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    answer = {"entries": [{"error_code": 0, "entity": []}]}
    scene = Scene().ask(0, (ALTER_CLIENT_QUOTAS, 0), request, answer, client="ops")
    for second in range(1, 6):
        scene.ask(second, (HEARTBEAT, 3), {"group_id": "g"}, {"throttle_time_ms": 900}, client=client)
    return scene


def test_what_was_refused_was_not_changed() -> None:
    assert changes(moved(39)) == []
    assert changes(moved(0, 39)) == [("topic", "orders", "replicas", "moved the replicas to 7, 8 (partition 0)")]
    assert changes(offsets_deleted(86, 86)) == []
    assert changes(offsets_deleted(0, 86)) == [("group", "billing", "offsets", "deleted its offsets of t0")]


def test_words_for_a_change_are_few() -> None:
    ((*_, words),) = changes(moved(*[0] * 500))
    assert words.endswith("moved the replicas to 7, 8 (partition 2) and 497 more")
    assert len(changes(moved(0, topics=500))) == 100
    assert changes(offsets_deleted(*[0] * 200))[0][3] == "deleted its offsets of t0, t1, t2 and 197 more"
    ((*_, words),) = changes(configured("x" * 30_000))
    assert words == f"set retention.ms={'x' * 183}..."


def configured(value: str) -> Scene:
    """A topic's setting is changed, then batches to it are refused."""
    config = {"name": "retention.ms", "config_operation": 0, "value": value}
    asked = {"resources": [{"resource_type": 2, "resource_name": "orders", "configs": [config]}]}
    answer = {"responses": [{"error_code": 0, "resource_type": 2, "resource_name": "orders"}]}
    scene = Scene().ask(0, (INCREMENTAL_ALTER_CONFIGS, 0), asked, answer, client="ops")
    for number in range(6):
        part = {"index": 0, "records": batch_of(1)}
        written = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
        refused = {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "error_code": 10}]}]}
        scene.ask(1 + 4 * number, (PRODUCE, 3), written, refused)
    return scene


def test_a_title_is_short_whatever_the_value() -> None:
    (title,) = (row["title"] for row in observed(configured("x" * 30_000)).rows() if row["id"] == "too-large")
    assert "ops set retention.ms=xxx" in title
    assert len(title) < 500


@pytest.mark.parametrize(
    ("entities", "named"),
    [
        ([("client-id", "app")], True),
        ([("client-id", None)], True),
        ([("user", None), ("client-id", "app")], True),
        ([("user", "alice")], False),
        ([("user", "alice"), ("client-id", None)], False),
        ([("client-id", None), ("user", "alice")], False),
        ([("user", None), ("client-id", "other")], False),
        ([("ip", "10.0.0.1")], False),
    ],
)
def test_a_quota_is_named_where_all_its_entities_are_the_throttled_client(
    entities: list[tuple[str, str | None]], named: bool
) -> None:
    (title,) = (row["title"] for row in observed(limited(*entities)).rows() if row["id"] == "throttled")
    assert ("ops set producer_byte_rate=10" in title) == named


def expired(setting: str, at: float, *, goes_on: bool = True) -> Scene:
    """A setting of a topic that somebody changes, then a position out of range; the client goes on elsewhere."""
    config = {"name": setting, "config_operation": 0, "value": "1000"}
    asked = {"resources": [{"resource_type": 2, "resource_name": "orders", "configs": [config]}]}
    answer = {"responses": [{"error_code": 0, "resource_type": 2, "resource_name": "orders"}]}
    scene = Scene().ask(0, (INCREMENTAL_ALTER_CONFIGS, 0), asked, answer, client="ops")
    get(scene, at, 3, 3, error=1, newest=-1)
    if goes_on:
        get(scene, at + 1, 20, 25)
    return scene.ask(at + 60, (HEARTBEAT, 3), {"group_id": "g"}, {}, client="other")


@pytest.mark.parametrize(
    ("setting", "at", "named"),
    [("retention.ms", 20, True), ("retention.bytes", 400, True), ("max.message.bytes", 20, False)],
)
def test_who_let_records_expire_is_told_to_set_that_back(setting: str, at: float, *, named: bool) -> None:
    (row,) = (row for row in observed(expired(setting, at)).rows() if row["id"] == "offset-out-of-range")
    assert (f"; ops set {setting}=1000 at " in row["title"]) == named
    assert row["remedy"].startswith(f"set {setting} of orders back at once") == named


def test_a_read_from_another_offset_is_not_said_to_be_the_same_request() -> None:
    (row,) = (row for row in observed(expired("retention.ms", 20)).rows() if row["id"] == "offset-out-of-range")
    assert row["went_on"]
    assert "reader does it without errors" not in row["meaning"]
    (over,) = (line for line in _list_finding_details(row, Settings()) if "over by now" in line)
    assert "the same request" not in over
