"""Groups: the cause of each generation, how members left, lag from the wire; and what must not be taken for those."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import encode_embedded
from decoders.analysis.groups import group_histories, partition_offsets_and_lag
from decoders.analysis.groups.group_rows import Groups
from decoders.analysis.groups.partition_offsets_and_lag import Moments, merge_ranges
from decoders.analysis.portraits.topic_portraits import TopicPortraits
from decoders.analysis.security_audit import Security
from decoders.capture.read_capture import CaptureReader
from decoders.exchanges.exchange import Exchange
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.limits import MOMENTS_MAX
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from kwcli.output.renderers import WantedPaths
from tests.analysis.scenes import BEGUN, FIN, NS, Scene
from tests.captures.shipped import FOLDER, capture_bytes
from tests.cli.worlds import kw

PRODUCE, FETCH, LIST_OFFSETS = (0, 9), (1, 12), (2, 7)
COMMIT, JOIN, BEAT, LEAVE, SYNC = (8, 8), (11, 9), (12, 4), (13, 5), (14, 5)
TXN_COMMIT, END_TXN, NEW_BEAT = (28, 3), (26, 3), (68, 1)
SHIPPED = ("tour.pcapng", "share-groups.pcapng", "first-steps.pcapng", "old-clients.pcap.gz")


def rows(scene: Scene) -> dict[str, dict[str, Any]]:
    """The rows of a scene, by group; asserts that split and merged folds give the same."""
    fold = Groups()
    exchanges = scene.exchanges(fold)
    for each in exchanges:
        fold.add(each)
    parts = [Groups(), Groups(), Groups()]
    draw = Random(len(exchanges))
    for each in draw.sample(exchanges, len(exchanges)):
        draw.choice(parts).add(each)
    whole = Groups()
    for part in parts:
        handed = Groups()
        handed.resume(part.export())
        whole.merge(handed)
    found = fold.rows()
    assert whole.rows() == found
    return {row["group"]: row for row in found}


def join(
    scene: Scene,
    at: float,
    member: str,
    generation: int,
    *,
    took: float = 0.5,
    known: bool = True,
    leader: str = "a",
    members: tuple[str, ...] = (),
    reason: str | None = None,
    instance: str | None = None,
    error: int = 0,
    **more: Any,
) -> None:
    """Add a JoinGroup to the scene; `member` is the client id too."""
    request = {
        "group_id": "billing",
        "member_id": member if known else "",
        "group_instance_id": instance,
        "protocol_type": "consumer",
        "session_timeout_ms": 10_000,
        "reason": reason,
        "protocols": [
            {"name": "range", "metadata": encode_embedded("ConsumerProtocolSubscription", 1, {"topics": ["orders"]})}
        ],
    }
    answer = {
        "error_code": error,
        "generation_id": generation,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "leader": leader,
        "member_id": member,
        "members": [{"member_id": name, "group_instance_id": None, "metadata": b""} for name in members],
    }
    scene.ask(at, JOIN, request, answer, client=member, took=took, **more)


def sync(scene: Scene, at: float, member: str, generation: int, has: dict[str, list[int]], took: float = 0.1) -> None:
    given = encode_embedded(
        "ConsumerProtocolAssignment", 1, {"assigned_partitions": [{"topic": "orders", "partitions": has[member]}]}
    )
    every = [
        {
            "member_id": name,
            "assignment": encode_embedded(
                "ConsumerProtocolAssignment", 1, {"assigned_partitions": [{"topic": "orders", "partitions": its}]}
            ),
        }
        for name, its in has.items()
    ]
    request = {"group_id": "billing", "generation_id": generation, "member_id": member}
    leads = member == min(has)
    scene.ask(
        at, SYNC, {**request, "assignments": every if leads else []}, {"assignment": given}, client=member, took=took
    )


def beat(scene: Scene, at: float, member: str, generation: int, error: int = 0) -> None:
    request = {"group_id": "billing", "generation_id": generation, "member_id": member}
    scene.ask(at, BEAT, request, {"error_code": error}, client=member)


def two_members() -> Scene:
    """Members a and b form generation 1 at 1 s."""
    scene = Scene()
    join(scene, 0, "a", 1, took=0.6, known=False, members=("a", "b"))
    join(scene, 0.2, "b", 1, took=0.4, known=False)
    has = {"a": [0, 1], "b": [2]}
    sync(scene, 0.7, "a", 1, has)
    sync(scene, 0.7, "b", 1, has, took=0.3)
    return scene


def names(members: list[dict[str, Any]]) -> list[str]:
    return [member["member_id"] for member in members]


def test_who_joined_and_how_long_each_waited() -> None:
    row = rows(two_members())["billing"]
    (first,) = row["timeline"]
    assert (row["type"], row["state"], row["protocol"], row["generation"]) == ("classic", "Stable", "range", 1)
    assert (first["leader"], first["took_ms"], names(first["joined"])) == ("a", pytest.approx(1000), ["a", "b"])
    waits = {member["member_id"]: member["waited_ms"] for member in first["members"]}
    assert waits == {"a": pytest.approx(700), "b": pytest.approx(700)}
    assert [member["assignment"] for member in first["members"]] == [{"orders": [0, 1]}, {"orders": [2]}]
    assert (first["cause"]["what"], first["cause"]["member_id"]) == ("joined", "a")


def test_a_member_that_leaves_causes_the_next_generation_with_its_reason() -> None:
    scene = two_members()
    leaving = {"group_id": "billing", "members": [{"member_id": "b", "reason": "the consumer is being closed"}]}
    scene.ask(5, LEAVE, leaving, {"members": [{"member_id": "b", "group_instance_id": None}]}, client="b")
    beat(scene, 6, "a", 1, error=27)
    join(scene, 6.1, "a", 2, members=("a",))
    sync(scene, 6.7, "a", 2, {"a": [0, 1, 2]})
    row = rows(scene)["billing"]
    second = row["timeline"][1]
    assert [(each["member_id"], each["how"], each["reason"]) for each in second["left"]] == [
        ("b", "left", "the consumer is being closed")
    ]
    assert (second["cause"]["what"], second["cause"]["reason"]) == ("left", "the consumer is being closed")
    assert second["reasons"] == ["the consumer is being closed"]
    assert [(each["member_id"], each["present"]) for each in row["members"]] == [("a", True), ("b", False)]


def test_a_member_that_says_nothing_is_gone() -> None:
    scene = two_members()
    beat(scene, 12, "a", 1, error=27)
    join(scene, 12.1, "a", 2, members=("a",), reason="group is already rebalancing")
    sync(scene, 12.7, "a", 2, {"a": [0, 1, 2]})
    second = rows(scene)["billing"]["timeline"][1]
    assert [(each["member_id"], each["how"], each["time"]) for each in second["left"]] == [("b", "gone", None)]
    assert (second["cause"]["what"], second["cause"]["member_id"]) == ("gone", "b")


def test_a_fenced_member_is_no_silent_one() -> None:
    scene = two_members()
    beat(scene, 12, "a", 1, error=27)
    join(scene, 12.1, "a", 2, members=("a",))
    beat(scene, 12.2, "b", 1, error=25)
    sync(scene, 12.7, "a", 2, {"a": [0, 1, 2]})
    row = rows(scene)["billing"]
    assert [each["how"] for each in row["timeline"][1]["left"]] == ["fenced"]
    assert [(each["api"], each["error"], each["count"]) for each in row["refused"]] == [
        ("Heartbeat", "UNKNOWN_MEMBER_ID", 1)
    ]


def test_a_member_that_joins_again_by_itself_is_the_cause() -> None:
    scene = two_members()
    join(scene, 5, "b", 2, took=1.2, reason="topics changed")
    beat(scene, 6, "a", 1, error=27)
    join(scene, 6.1, "a", 2, took=0.1, members=("a", "b"))
    second = rows(scene)["billing"]["timeline"][1]
    assert (second["cause"]["what"], second["cause"]["member_id"], second["cause"]["reason"]) == (
        *("rejoined", "b"),
        "topics changed",
    )
    assert second["left"] == second["joined"] == []
    assert second["ready"] is None  # no SyncGroup was seen


def test_a_group_that_waits_is_not_stable() -> None:
    scene = two_members()
    beat(scene, 5, "a", 1, error=27)
    assert rows(scene)["billing"]["state"] == "PreparingRebalance"
    scene = two_members()
    scene.ask(5, JOIN, {"group_id": "billing", "member_id": "b"}, client="b", took=4, ends=FIN)
    assert rows(scene)["billing"]["state"] == "PreparingRebalance"


def test_epochs_of_a_consumer_group() -> None:
    def new_beat(at: float, member: str, epoch: int, answer: dict[str, Any]) -> None:
        request = {"group_id": "new", "member_id": member, "member_epoch": epoch}
        scene.ask(at, NEW_BEAT, request, {"member_id": member, "heartbeat_interval_ms": 5, **answer}, client=member)

    scene = Scene()
    nothing: dict[str, Any] = {"topic_partitions": []}
    new_beat(0, "a", 0, {"member_epoch": 1, "assignment": nothing})
    new_beat(1, "b", 0, {"member_epoch": 2, "assignment": nothing})
    new_beat(2, "a", 1, {"member_epoch": 2})
    new_beat(3, "b", -1, {"member_epoch": -1})
    new_beat(4, "a", 2, {"member_epoch": 3, "assignment": nothing})
    new_beat(5, "a", 3, {"member_epoch": 0, "error_code": 110})
    row = rows(scene)["new"]
    assert row["type"] == "consumer"
    assert [each["generation"] for each in row["timeline"]] == [1, 2, 3]
    assert [(names(each["joined"]), names(each["left"])) for each in row["timeline"]] == [
        (["a"], []),
        (["b"], []),
        ([], ["b"]),
    ]
    assert row["timeline"][2]["cause"]["what"] == "left"
    assert row["refused"][0]["error"] == "FENCED_MEMBER_EPOCH"
    assert row["state"] == "Empty"


# Offsets.


def commit(
    scene: Scene,
    at: float,
    offset: int,
    *,
    partition: int = 0,
    group: str = "billing",
    error: int = 0,
    client: str = "a",
) -> None:
    topics = [{"name": "orders", "partitions": [{"partition_index": partition, "committed_offset": offset}]}]
    answer = [{"name": "orders", "partitions": [{"partition_index": partition, "error_code": error}]}]
    scene.ask(at, COMMIT, {"group_id": group, "member_id": "a", "topics": topics}, {"topics": answer}, client=client)


def batch(count: int, first: int) -> bytes:
    return encode_batch([Record(first + at, 0, None, b"x") for at in range(count)], Batch(base_offset=first))


def fetch(
    scene: Scene, at: float, position: int, end: int, *, partition: int = 0, got: int = 0, client: str = "a"
) -> None:
    records = batch(got, position) if got else b""
    asked = [{"topic": "orders", "partitions": [{"partition": partition, "fetch_offset": position}]}]
    part = {"partition_index": partition, "high_watermark": end, "records": records}
    scene.ask(at, FETCH, {"topics": asked}, {"responses": [{"topic": "orders", "partitions": [part]}]}, client=client)


def the_partition(scene: Scene, number: int = 0) -> dict[str, Any]:
    return next(each for each in rows(scene)["billing"]["partitions"] if each["partition"] == number)


def test_lag_of_commits_and_of_reading_in_records_and_in_time() -> None:
    scene = two_members()
    fetch(scene, 2, 100, 100)
    commit(scene, 2.5, 100)
    fetch(scene, 12, 100, 200, got=40)
    commit(scene, 13, 120)
    fetch(scene, 22, 140, 300)
    its = the_partition(scene)
    assert (its["high_watermark"], its["committed"], its["position"]) == (300, 120, 140)
    assert (its["commit_lag"], its["position_lag"], its["position_lag_max"]) == (180, 160, 160)
    # Offset 120 was written between 2 s (100) and 12 s (200), in equal steps at 4.1 s; the end is known at 22 s.
    assert its["commit_lag_ms"] == pytest.approx(17_900, abs=5)
    assert its["position_lag_ms"] == pytest.approx(15_900, abs=5)
    assert rows(scene)["billing"]["commit_lag"] == 180


def test_lag_in_time_is_not_known_from_one_moment() -> None:
    scene = two_members()
    commit(scene, 1.5, 10)
    fetch(scene, 2, 100, 100)
    its = the_partition(scene)
    assert (its["commit_lag"], its["commit_lag_ms"]) == (90, None)


def test_producers_prove_the_end_while_nobody_reads() -> None:
    scene = two_members()
    commit(scene, 1.5, 10)
    fetch(scene, 2, 10, 10)
    data = {"topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch(5, 0)}]}]}
    answer = {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "base_offset": 10}]}]}
    scene.ask(8, PRODUCE, {"acks": -1, **data}, answer, client="shop")
    assert the_partition(scene)["commit_lag"] == 5


def test_a_commit_that_was_refused_counts_for_nothing() -> None:
    scene = two_members()
    commit(scene, 1.5, 10)
    commit(scene, 2.5, 20, error=22)
    row = rows(scene)["billing"]
    assert row["partitions"][0]["committed"] == 10
    assert [(each["api"], each["error"]) for each in row["refused"]] == [("OffsetCommit", "ILLEGAL_GENERATION")]


@pytest.mark.parametrize(("committed", "expected"), [(True, 50), (False, 10)])
def test_commits_of_a_transaction_hold_when_it_has_committed(committed: bool, expected: int) -> None:
    scene = two_members()
    commit(scene, 1.5, 10)
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 50}]}]
    answer = [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": 0}]}]
    request = {"transactional_id": "t", "group_id": "billing", "member_id": "a", "topics": topics}
    scene.ask(2, TXN_COMMIT, request, {"topics": answer}, client="a")
    scene.ask(3, END_TXN, {"transactional_id": "t", "committed": committed}, {}, client="a")
    assert the_partition(scene)["committed"] == expected


def test_what_is_read_again_is_counted_over_members() -> None:
    scene = two_members()
    fetch(scene, 2, 0, 100, got=40, partition=2, client="b")
    fetch(scene, 3, 20, 100, got=40, partition=2)
    fetch(scene, 3.5, 0, 100, got=40, partition=2, client="stranger")  # no member of a group
    row = rows(scene)["billing"]
    assert row["refetched"] == pytest.approx(20 / 80)


def test_one_client_in_two_groups_reads_for_the_one_that_has_the_partition() -> None:
    scene = two_members()
    commit(scene, 1.5, 10, group="other", partition=7)
    fetch(scene, 2, 40, 100)
    fetch(scene, 3, 30, 100, partition=7)
    fetch(scene, 4, 20, 100, partition=9)  # no member has it: the group is unknown
    found = rows(scene)
    assert {(each["partition"], each["position"]) for each in found["billing"]["partitions"]} == {
        (0, 40),
        (1, None),
        (2, None),
    }
    assert [(each["partition"], each["position"]) for each in found["other"]["partitions"]] == [(7, 30)]


def test_who_only_asks_is_no_reader_of_the_group() -> None:
    scene = two_members()
    asked = {"group_id": "billing", "topics": [{"name": "orders", "partition_indexes": [0]}]}
    part = {"partition_index": 0, "committed_offset": 25, "metadata": ""}
    answer = {"topics": [{"name": "orders", "partitions": [part]}]}
    scene.ask(2, (9, 6), asked, answer, client="admin")
    fetch(scene, 3, 0, 100, client="admin")
    row = rows(scene)["billing"]
    assert (row["partitions"][0]["committed"], row["partitions"][0]["position"]) == (25, None)
    assert (row["clients"], row["asked_by"]) == (["a", "b"], ["admin"])


@pytest.mark.parametrize(
    ("what", "request_body"),
    [
        ((15, 5), {"groups": ["billing"]}),
        ((42, 2), {"groups_names": ["billing"]}),
        ((47, 0), {"group_id": "billing", "topics": []}),
        ((69, 0), {"group_ids": ["billing"]}),
        ((77, 1), {"group_ids": ["billing"]}),
        ((89, 0), {"group_ids": ["billing"]}),
        ((90, 0), {"groups": [{"group_id": "billing", "topics": []}]}),
        ((91, 0), {"group_id": "billing", "topics": []}),
        ((92, 0), {"group_id": "billing", "topics": []}),
    ],
    ids=lambda each: "" if isinstance(each, dict) else str(each[0]),
)
def test_who_describes_or_changes_a_group_from_outside_takes_no_part(
    what: tuple[int, int], request_body: dict[str, Any]
) -> None:
    row = rows(two_members().ask(2, what, request_body, {}, client="admin"))["billing"]
    assert (row["clients"], row["asked_by"]) == (["a", "b"], ["admin"])


def test_records_that_a_share_group_was_given_again() -> None:
    def acquired(first: int, last: int, times: int) -> dict[str, Any]:
        return {"first_offset": first, "last_offset": last, "delivery_count": times}

    topic_id = UUID(int=7)
    asked = {"topic_id": topic_id, "partitions": [{"partition_index": 0}]}
    part = {"partition_index": 0, "acquired_records": [acquired(0, 5, 1), acquired(6, 8, 2), acquired(9, 9, 3)]}
    answer = {"responses": [{"topic_id": topic_id, "partitions": [part]}], "node_endpoints": []}
    scene = Scene().ask(0, (78, 1), {"group_id": "shared", "member_id": "m", "topics": [asked]}, answer)
    row = rows(scene)["shared"]
    assert (row["shared"]["acquired"], row["shared"]["again"], row["refetched"]) == (10, 4, 0.4)


def test_what_a_filter_leaves_out_is_learnt_from_but_not_what_is_out_of_time() -> None:
    tour = str(FOLDER / "tour.pcapng")
    (whole,) = map(json.loads, kw("groups", tour, "--name", "fraud", "-o", "ndjson").out.splitlines())
    (one,) = map(json.loads, kw("groups", tour, "--group", "fraud", "-o", "ndjson").out.splitlines())
    assert one == whole
    early = kw("groups", tour, "--group", "fraud", "--until", "2026-11-21T17:35:17.5Z", "-o", "ndjson").out
    (part,) = json.loads(early)["partitions"]
    assert part["high_watermark_time"] < "2026-11-21T17:35:17.5Z"
    assert part["position"] is None


@pytest.mark.parametrize("name", SHIPPED)
def test_rows_of_records_are_those_of_the_capture(name: str, tmp_path: Any) -> None:
    lines = tmp_path / "lines.ndjson"
    lines.write_text(kw("sniff", str(FOLDER / name), "-o", "ndjson", "-q").out)
    rounded = [
        [
            json.loads(line, parse_float=lambda text: round(float(text)))
            for line in kw("groups", path, "-o", "ndjson").out.splitlines()
        ]
        for path in (str(FOLDER / name), str(lines))
    ]
    for row in (*rounded[0], *rounded[1]):
        del row["p50"], row["p99"], row["max"]  # the request's last byte is not in a record
    assert rounded[0]
    assert [row["group"] for row in rounded[0]] == [row["group"] for row in rounded[1]]
    for one, other in zip(*rounded, strict=True):
        for key in ("state", "members", "partitions", "refused", "shared", "generation", "clients"):
            assert one[key] == other[key]
        assert [each["members"] for each in one["timeline"]] == [each["members"] for each in other["timeline"]]


def cut(value: Any, draw: Random) -> Any:
    """A decoded value with fields missing at random, as of a message that is cut."""
    if isinstance(value, dict):
        return {name: cut(each, draw) for name, each in value.items() if draw.random() > 0.15}
    return [cut(each, draw) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("make", [Groups, TopicPortraits, Security])
@pytest.mark.parametrize("name", [*SHIPPED, "sasl-framed.pcapng"])
def test_sides_that_end_in_the_middle_stop_nobody(name: str, make: type[Groups | TopicPortraits | Security]) -> None:
    fold, draw = make(), Random(name)
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(fold.needs))
    for each in engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish():
        if isinstance(each, Exchange):
            each._read_sides()
            each._request_view, each._response_view = cut(each._request_view, draw), cut(each._response_view, draw)
            fold.add(each)
    assert fold.rows()


# Limits.


@pytest.mark.plain
def test_what_is_beyond_the_limits_is_said_to_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_histories, "GROUP_EVENTS_MAX", 2)
    monkeypatch.setattr(group_histories, "GROUP_MEMBERS_MAX", 1)
    monkeypatch.setattr(partition_offsets_and_lag, "PARTITIONS_KEPT_MAX", 1)
    scene = two_members()
    commit(scene, 2, 5)
    commit(scene, 3, 6, partition=1)
    fold = Groups()
    for each in scene.exchanges(fold):
        fold.add(each)
    (row,) = fold.rows()
    assert row["cut"] == ["members", "partitions", "timeline"]
    assert [each["committed"] for each in row["partitions"] if each["committed"]] == [6]


@given(st.lists(st.tuples(st.integers(0, 10**13), st.integers(0, 10**6)), max_size=60), st.randoms())
def test_moments_do_not_depend_on_the_order(points: list[tuple[int, int]], draw: Any) -> None:
    whole, parts = Moments(), [Moments(), Moments()]
    for point in points:
        whole.add_moment(point)
    for point in draw.sample(points, len(points)):
        draw.choice(parts).add_moment(point)
    parts[0].merge(parts[1])
    assert (parts[0].points, parts[0].shift) == (whole.points, whole.shift)
    assert len(whole.points) <= MOMENTS_MAX
    if points:
        assert max(points) in whole.points.values()


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=20))
def test_ranges_hold_the_same_offsets(spans: list[tuple[int, int]]) -> None:
    ranges = [(start, start + size) for start, size in spans]
    made = merge_ranges(ranges)
    assert {at for span in made for at in range(*span)} == {at for span in ranges for at in range(*span)}
    assert all(one[1] < other[0] for one, other in pairwise(made))


def test_time_that_is_between_moments() -> None:
    moments = Moments()
    for at, end in ((0, 10), (10, 20), (20, 20), (30, 40)):
        moments.add_moment((BEGUN + at * NS, end))
    assert moments.time_of_offset(9) is None
    assert moments.time_of_offset(14) == BEGUN + 5 * NS
    assert moments.time_of_offset(20) == BEGUN + 20 * NS + NS // 2
    assert moments.time_of_offset(40) is None
