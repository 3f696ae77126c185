"""More of a thing than a fold keeps: with the limit lowered to LIMIT, so many are kept, up to the last and no more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any, Final

import pytest

from decoders.analysis.client_uses import AuditedClient, ClientUses
from decoders.analysis.differences.traffic_profile import TrafficProfile
from decoders.analysis.doctor.observations import Observation, Observations
from decoders.analysis.doctor.resent_batches import Evidence
from decoders.analysis.doctor.slow_brokers import BrokerLatencies
from decoders.analysis.groups.group_events import GroupEvent
from decoders.analysis.groups.group_histories import GroupHistories, GroupMember
from decoders.analysis.groups.partition_offsets_and_lag import GroupOffsets, Moments, ShareCounts, merge_ranges
from decoders.analysis.groups.share_deliveries import ShareDeliveries, ShareEvent
from decoders.analysis.heavy_keys import HeavyKeys, fits_row_limit, has_too_many_keys, split_by_weight
from decoders.analysis.portraits import topic_schemas
from decoders.analysis.portraits.client_and_broker_portraits import Portrait
from decoders.analysis.portraits.topic_portraits import Written
from decoders.analysis.portraits.topic_schemas import TopicSchemas
from decoders.analysis.record_traces.found_records import FoundRecords
from decoders.analysis.record_traces.record_contents import BatchesWithoutFinds
from decoders.analysis.sequence_diagram_steps import Ladders, _Ladder
from decoders.analysis.statistics import GroupStatistics
from decoders.analysis.sum_amounts_by_key import BatchSizes, Tally, TopicBatches, make_sum_joins
from decoders.analysis.transactions.events import TransactionEvent
from decoders.analysis.transactions.stable_offsets import PartitionStability, StableOffsets
from decoders.analysis.transactions.transactions_fold import EventSet, Transactions
from decoders.errors import LimitExceeded

LIMIT: Final = 4
SECOND: Final = 10**9

Count = Callable[[int], int]
ROWS: dict[str, tuple[str, Count]] = {}


def limited_by(name: str) -> Callable[[Count], Count]:
    """Enter a function that gives a fold so many of a thing, and says how many it has then."""

    def enter(function: Count) -> Count:
        ROWS[function.__name__] = (f"decoders.analysis.{name}", function)
        return function

    return enter


def evidence_at(time_ns: int) -> Evidence:
    return (time_ns, 1, "10.0.0.1:1", "10.0.0.9:9092", None, None, None, None)


@limited_by("sum_amounts_by_key.GROUPS_MAX")
def keys_of_a_tally(count: int) -> int:
    tally = Tally(("name",), make_sum_joins("count"))
    with suppress(LimitExceeded):
        for number in range(count):
            tally.join_amounts((f"{number}",), [1])
    tally.join_amounts(("0",), [1])  # one that is there is counted
    assert sum(row["count"] for row in tally.rows()) == len(tally.rows()) + 1
    return len(tally.rows())


@limited_by("sum_amounts_by_key.GROUPS_MAX")
def batches_of_topics(count: int) -> int:
    sizes = BatchSizes()
    with suppress(LimitExceeded):
        for number in range(count):
            sizes.add_batches(("Produce", f"{number}"), TopicBatches(1, 1, 1))
    sizes.add_batches(("Produce", "0"), TopicBatches(1, 1, 1))
    return len(sizes.rows())


def schemas_of(monkeypatch: pytest.MonkeyPatch, values: list[tuple[str, str]]) -> TopicSchemas:
    """The schemas of values: the topic and the name of the type of each."""
    monkeypatch.setattr(
        topic_schemas,
        "decode_keys_and_values",
        lambda *_: [
            (topic, False, b"x", SimpleNamespace(format="avro", schema_id=1, name=name)) for topic, name in values
        ],
    )
    schemas = TopicSchemas()
    schemas.add(None, None)  # type: ignore[arg-type]  # neither is looked at
    return schemas


@limited_by("portraits.topic_schemas.GROUPS_MAX")
def topics_with_schemas(count: int) -> int:
    with pytest.MonkeyPatch.context() as monkeypatch:
        schemas = schemas_of(monkeypatch, [(f"{number}", "t") for number in [*range(count), 0]])
    assert schemas.rows_of("0")[0]["records"] == 2
    return sum(bool(schemas.rows_of(f"{number}")) for number in range(count))


@limited_by("portraits.topic_schemas.NAMES_OF_PORTRAIT_MAX")
def schemas_of_a_topic(count: int) -> int:
    with pytest.MonkeyPatch.context() as monkeypatch:
        schemas = schemas_of(monkeypatch, [("t", f"{number}") for number in [*range(count), 0]])
    rows = schemas.rows_of("t")
    assert rows[0]["records"] == 2
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    return len(rows)


@limited_by("doctor.observations.EVIDENCE_MAX")
def evidence_of_an_observation(count: int) -> int:
    """The earliest of it, in whatever order it comes."""
    its = Observation()
    for number in reversed(range(count)):
        its.count_evidence(evidence_at(number))
    assert [each[0] for each in its.evidence] == list(range(len(its.evidence)))
    assert (its.count, its.first, its.last) == (count, 0, count - 1)
    return len(its.evidence)


@limited_by("doctor.observations.NAMES_OBSERVED_MAX")
def names_of_an_observation(count: int) -> int:
    its = Observation()
    for number in [*range(count), 0]:
        its.count_name("topics", f"{number}", 2)
        its.count_name("users", "one")
    assert (its.names["topics"]["0"], its.names["users"]) == (4, {"one": count + 1})
    return len(its.names["topics"])


@limited_by("doctor.observations.MINUTES_MARKED_MAX")
def marked_minutes(count: int) -> int:
    """The seconds of a minute that is kept count on; past the limit no pause is told."""
    its = Observation()
    for minute in range(count):
        its.mark_second(minute * 60 * SECOND)
    its.mark_second(30 * SECOND)
    found = [*its.list_marked_seconds()]
    assert found == [0, 30, *(60 * minute for minute in range(1, len(found) - 1))]
    pauses = {1: (29, 0), 2: (29, 30), 3: (59, 60)}
    assert its.find_longest_pause() == (pauses.get(count, (59, 60 * count - 120)) if count < LIMIT else (0, 0))
    return len(found) - 1


@limited_by("doctor.observations.OBSERVATIONS_MAX")
def observations(count: int) -> int:
    found = Observations()
    for number in [*range(count), 0]:
        found.get_or_make("kind", number).count_occurrence_at(1)
    assert found.left_out == max(count - LIMIT, 0)
    assert found.get_or_make("kind", 0).count == 2
    return len([*found.items_of_kind("kind")])


@limited_by("doctor.slow_brokers.GROUPS_MAX")
def clients_of_a_broker(count: int) -> int:
    found = BrokerLatencies()
    for number in [*range(count), 0]:
        found.add_latency("b:1", 1, f"{number}", SECOND, 2048)
    _, clients, slices, *_ = found.state()
    assert isinstance(clients, list)
    assert clients[0][1] == (2, 2 * 11 * 1024)
    assert slices == [[("b:1", 1, 0), (count + 1, (count + 1) * 11 * 1024)]]
    return len(clients)


@limited_by("doctor.slow_brokers._HELD_MAX")
def latencies_that_wait(count: int) -> int:
    """They are counted together once there are so many."""
    found = BrokerLatencies()
    for number in range(count):
        found.add_latency("b:1", 1, f"{number % 2}", SECOND, 1)
    assert found._held == count % LIMIT
    counted = sum(each[0] for each in found._clients.values())
    assert counted == count - found._held
    return LIMIT if counted else count


@limited_by("record_traces.found_records.RECORDS_TRACED_MAX")
def records_that_meet_a_condition(count: int) -> int:
    found = FoundRecords(None)
    found.note_matches(("t", 0), [*range(count), 0])
    assert found.left_out == max(count - LIMIT, 0)
    return len(found.matches["t", 0])


@limited_by("differences.traffic_profile._THINGS_MAX")
def things_of_a_profile(count: int) -> int:
    profile = TrafficProfile()
    for number in [*range(count), 0]:
        profile._count_thing(("topic", f"{number}"), 7)
    assert profile.left_out == max(count - LIMIT, 0)
    assert profile.things["topic", "0"] == {7: 2}
    return len(profile.things)


@limited_by("groups.partition_offsets_and_lag.MOMENTS_MAX")
def moments(count: int) -> int:
    """Spans of about a second, which are joined in pairs where there are too many; the latest of each stays."""
    found = Moments()
    for number in range(count):
        found.add_moment((number << 30, number))
        found.add_moment((number << 30, number - 1))
    shift = 0 if count <= LIMIT else 1 if count <= 2 * LIMIT else 2
    assert found.shift == 30 + shift
    kept = [number for number in range(count) if number == count - 1 or number >> shift != number + 1 >> shift]
    assert sorted(found.points.values()) == [(number << 30, number) for number in kept]
    return min(count, LIMIT)


@limited_by("groups.partition_offsets_and_lag.RANGES_MAX")
def ranges_that_were_read(count: int) -> int:
    """The nearest become one where there are too many."""
    gaps = [10, 3, 5, 3, 8, 20, 20, 20]
    ranges, at = [], 0
    for gap in gaps[:count]:
        ranges.append((at, at + 2))
        at += 2 + gap
    made = merge_ranges(reversed(ranges))
    joined = {5: [(0, 2), (12, 19), (24, 26), (29, 31)], 6: [(0, 2), (12, 19), (24, 31), (39, 41)]}
    assert made == joined.get(count, ranges if count <= LIMIT else made)
    return len(made)


@limited_by("groups.partition_offsets_and_lag.PARTITIONS_KEPT_MAX")
def commits_of_groups(count: int) -> int:
    """Half of them, those told first, make room for others."""
    offsets = GroupOffsets()
    for number in range(count):
        offsets.commit_of_group("g", "t", number).add_commit((100 - number, 5), None)
        offsets.commit_of_group("g", "t", 0)
        assert len(offsets.commits) <= LIMIT
    if count <= LIMIT:
        assert offsets.left_out == 0
        return count
    assert offsets.left_out == 2 * (1 + (count - LIMIT - 1) // 2)
    assert {("g", "t", 0), ("g", "t", count - 1)} <= offsets.commits.keys()
    return LIMIT


@limited_by("groups.partition_offsets_and_lag.PARTITIONS_KEPT_MAX")
def ended_transactions(count: int) -> int:
    offsets = GroupOffsets()
    for number in [*range(count), 0]:
        offsets._note_transaction_end(f"{number}", 5 + number, 3)
    offsets._note_transaction_end("0", 9, 2)
    assert offsets.transactions["0"] == (9, 3)
    return len(offsets.transactions)


@limited_by("groups.partition_offsets_and_lag.PARTITIONS_KEPT_MAX")
def counts_of_share_groups(count: int) -> int:
    offsets = GroupOffsets()
    one = ShareCounts(*range(1, len(ShareCounts._fields) + 1))
    for number in [*range(count), 0]:
        offsets._add_share_counts(f"{number}", one)
    assert offsets.shares["0"] == tuple(2 * each for each in one)
    return len(offsets.shares)


def group_event(time_ns: int) -> GroupEvent:
    return GroupEvent(time_ns, "joined", "m", 1, time_ns, "classic", "app", "10.0.0.1", None, 0, None, ())


@limited_by("groups.group_histories.GROUP_EVENTS_MAX")
def events_of_a_group(count: int) -> int:
    """The latest of them, in whatever order they come."""
    histories = GroupHistories()
    for number in reversed(range(count)):
        histories.add_event("g", group_event(number), None)  # type: ignore[arg-type]  # an event tells its client
    assert histories._events == len(histories.by_group["g"].events)
    histories.make_timeline("g")
    history = histories.by_group["g"]
    assert history.total == count
    assert history.cut == ({"timeline"} if count > LIMIT else set())
    assert sorted(each.time_ns for each in history.events) == [*range(max(count - LIMIT, 0), count)]
    histories.drop_history("g")
    assert histories._events == 0
    return len(history.events)


@limited_by("groups.group_histories.GROUP_EVENTS_ALL_MAX")
def events_of_all_groups(count: int) -> int:
    histories = GroupHistories()
    for number in range(count):
        histories.add_event(f"{number}", group_event(number), None)  # type: ignore[arg-type]
    kept = [its for its in histories.by_group.values() if its.events]
    assert [its.cut for its in histories.by_group.values()] == [set()] * len(kept) + [{"timeline"}] * (
        count - len(kept)
    )
    return len(kept)


@limited_by("groups.group_histories.GROUP_MEMBERS_MAX")
def members_of_a_group(count: int) -> int:
    histories = GroupHistories()
    histories.add_event("g", group_event(1), None)  # type: ignore[arg-type]
    history = histories.by_group["g"]
    for number in [*range(count), 0]:
        history.add_member(f"{number}", GroupMember(1, 2, "app", "10.0.0.1", None, 1))
    assert history.members["0"].beats == 2
    assert history.cut == ({"members"} if count > LIMIT else set())
    return len(history.members)


def share_event(first: int) -> ShareEvent:
    return ShareEvent(first, 0, "m", "app", "10.0.0.1", first, first, 1, 30_000)


@limited_by("groups.share_deliveries.SHARE_EVENTS_MAX")
def deliveries_of_a_partition(count: int) -> int:
    found = ShareDeliveries()
    for number in [*range(count), 0]:
        found._keep_event("g", ("t", 0), share_event(number))
    events = found.events["g", "t", 0]
    assert found._count == len(events)
    found._drop_events_over_limit("g", events)
    assert found.cut == ({"g"} if count > LIMIT else set())
    found.drop_group("g")
    assert (found.events, found.cut) == ({}, set())
    return len(events)


@limited_by("groups.share_deliveries.SHARE_EVENTS_ALL_MAX")
def deliveries_of_all_partitions(count: int) -> int:
    found = ShareDeliveries()
    for number in range(count):
        found._keep_event("g", ("t", number), share_event(number))
    assert found.cut == ({"g"} if count > LIMIT else set())
    return len(found.events)


@limited_by("heavy_keys.KEYS_SHOWN_MAX")
def keys_with_rows(count: int) -> int:
    assert fits_row_limit(count) == (count <= LIMIT)
    assert has_too_many_keys(count) == (count > LIMIT + LIMIT // 4)
    assert has_too_many_keys(count, 1) == (count > 2 * LIMIT)
    weights = [((f"{number}",), number) for number in range(count)]
    kept, light = split_by_weight(weights)
    assert [key for key, _ in sorted(weights, key=lambda each: -each[1])] == [*kept, *light]
    heavy = HeavyKeys()
    assert heavy.leave_out_light_keys(weights) == light
    assert heavy._floor == max(count - LIMIT - 1, 0)
    assert heavy.left_out.estimate_count() == len(light)
    assert heavy.admit_key(("new",)) == (not light)
    assert heavy.admit_key(("new",))
    assert heavy.admit_key(("heavy",), 2)
    return len(kept)


@limited_by("heavy_keys._ONCE_MAX")
def keys_that_came_once(count: int) -> int:
    """The latest and as many before; one that comes again has a place."""
    heavy = HeavyKeys()
    heavy.left_out.add(("x",))
    assert [heavy.admit_key((number,)) for number in range(count)] == [False] * count
    assert heavy.admit_key((0,)) == (count <= 2 * LIMIT)
    return len(heavy._once | heavy._once_before) if count <= LIMIT else LIMIT


@limited_by("sequence_diagram_steps.LADDERS_MAX")
def ladders(count: int) -> int:
    """Those that began first, in whatever order they come."""
    for order in (1, -1):
        found = Ladders()
        for number in [*range(count)][::order]:
            found._find_ladder((number, "c", "b"), number)
        assert sorted(each[0] for each in found._found) == [*range(min(count, LIMIT))]
    return len(found._found)


@limited_by("sequence_diagram_steps.LADDER_FIRST_MAX")
def steps_of_a_ladder(count: int) -> int:
    ladder = _Ladder(1)
    for number in reversed(range(count)):
        ladder.keep_step((number, 0, b""), failed=False)
    assert ladder.first == [(number, 0, b"") for number in range(len(ladder.first))]
    return len(ladder.first)


@limited_by("sequence_diagram_steps.LADDER_FAILED_MAX")
def failed_steps_of_a_ladder(count: int) -> int:
    ladder = _Ladder(1)
    for number in range(count):
        ladder.keep_step((number, 0, b""), failed=True)
    assert (ladder.first, ladder.trouble[0]) == ([], (0, 0, b""))
    return len(ladder.trouble)


@limited_by("statistics.WAITING_MAX")
def values_that_wait(count: int) -> int:
    one, several = GroupStatistics(), GroupStatistics()
    for number in range(count):
        one.add_value(count - number)
    several.add_values([5])
    several.add_values([*range(1, count + 1)])
    assert len(one._waiting) == count % LIMIT
    assert len(several._waiting) == (count + 1 if count + 1 < LIMIT else 0)
    for its in (one, several):
        assert (its.low, its.high) == (1, max(count, 5) if its is several else count)
        assert sum(its.value_bins().values()) == its.values
    return min(count, LIMIT)


@limited_by("portraits.topic_portraits.PARTITIONS_KEPT_MAX")
def partitions_of_a_topic(count: int) -> int:
    written = Written()
    for number in [*range(count), 0]:
        written.count_batches(number, 1, 2, 3)
    assert written.partitions[0] == [2, 4, 6]
    return len(written.partitions)


@limited_by("portraits.client_and_broker_portraits.NAMES_OF_PORTRAIT_MAX")
def names_of_a_portrait(count: int) -> int:
    portrait = Portrait()
    new = [portrait.count_name("topics", f"{number}", 1, 10 - number, 20 + number) for number in range(count)]
    assert new == [1] * min(count, LIMIT) + [0] * max(count - LIMIT, 0)
    assert portrait.cut == ({"topics"} if count > LIMIT else set())
    assert portrait.count_name("topics", "0", 2, 5, 6) == 0
    assert portrait.facets["topics"]["0"] == [3, 5, 20]
    # Without room the first name of a facet is kept.
    assert [portrait.count_name("users", name, 1, 1, 1, room=False) for name in "ab"] == [1, 0]
    assert "users" in portrait.cut
    return len(portrait.facets["topics"])


def transaction_event(time_ns: int, kind: str) -> TransactionEvent:
    return TransactionEvent(time_ns, kind, 1, 0, 0, 0, 0, "app", "10.0.0.1", 0, ())


@limited_by("transactions.transactions_fold.TRANSACTION_EVENTS_MAX")
def events_of_a_transaction(count: int) -> int:
    events = EventSet()
    for number in range(count):
        for kind in ("produced", "ended"):
            events.add(transaction_event(number, kind))
        assert len(events) <= 2 * (2 * LIMIT - 1)
    kept = events.list_events()
    assert len(events.produced) == len(events.others) == min(count, LIMIT)
    assert min(each.time_ns for each in kept) == max(count - LIMIT, 0)
    assert events.cut == (count > LIMIT)
    return len(kept) // 2


@limited_by("transactions.transactions_fold.PARTITIONS_KEPT_MAX")
def transactional_ids(count: int) -> int:
    found = Transactions()
    for number in [*range(count), 0]:
        kept: dict[Any, EventSet] = found._events if number % 2 else found._markers
        found._keep_event(kept, number, transaction_event(number, "ended"))
    assert found._left_out == (count > LIMIT)
    return len(found._events) + len(found._markers)


@limited_by("transactions.stable_offsets.UNSTABLE_BATCHES_MAX")
def batches_behind_the_stable_offset(count: int) -> int:
    its = PartitionStability()
    its.add_offsets(1, 10, 99, "b:1")
    its.add_batch(9, (1, 0))  # before it
    for number in [*range(count), 0]:
        its.add_batch(10 + number, (number, 0))
    return len(its.batches)


@limited_by("transactions.stable_offsets.PARTITIONS_KEPT_MAX")
def partitions_with_stable_offsets(count: int) -> int:
    """Half of them, those told first, make room for others."""
    found = StableOffsets()
    for number in range(count):
        found._get_or_make_partition(("t", number)).add_offsets(100 - number, 1, 2, "b:1")
        assert len(found.found) <= LIMIT
    if count <= LIMIT:
        assert found.left_out == 0
        return count
    assert found.left_out == 2 * (1 + (count - LIMIT - 1) // 2)
    assert {("t", 0), ("t", count - 1)} <= found.found.keys()
    return LIMIT


@limited_by("client_uses._CHAIN_MAX")
def uses_of_a_client(count: int) -> int:
    """Those of a client that uses much are looked up, and counted all the same."""
    uses, client = ClientUses(), AuditedClient("app", str(ip_address("10.0.0.1")))
    for _ in range(2):
        for number in range(count):
            uses.count_use(client, ("b:1", 3, number), 1, 10 + number, 20 - number)
    assert bool(uses._rows) == (count > LIMIT + 1)
    assert list(uses) == [(client, ("b:1", 3, number), 2, 10 + number, 20 - number) for number in range(count)]
    return min(count, LIMIT)


@limited_by("record_traces.record_contents.BATCHES_KNOWN_AGAIN_MAX")
def batches_without_finds(count: int) -> int:
    """Where there is no room for one more, all are forgotten."""
    found = BatchesWithoutFinds()
    for number in range(count):
        found.add(number)
        assert number in found
    assert len(found) == (count - 1) % LIMIT + 1
    return min(count, LIMIT)


@pytest.mark.plain
@pytest.mark.parametrize("name", sorted(ROWS))
def test_so_many_are_kept_and_no_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, give = ROWS[name]
    monkeypatch.setattr(limit, LIMIT)
    assert [give(count) for count in (1, 2, 3, 4, 5, 6, 7, 9)] == [1, 2, 3, 4, 4, 4, 4, 4]
