"""What findings cost and how large they are, whatever a capture has: steps of a diagnosis, observations, titles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from math import inf
from types import FrameType
from typing import Any

import pytest

from decoders.analysis.doctor.diagnosis_input import Case
from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.groups.added_partition_findings import ADDED_PARTITIONS
from decoders.analysis.doctor.groups.explain_late_acknowledgements import explain_late_acknowledgements
from decoders.analysis.doctor.groups.member_findings import MEMBERS
from decoders.analysis.doctor.observations import Observations
from decoders.analysis.doctor.outage_and_stopped_client_findings import ABSENCES
from decoders.analysis.doctor.records.new_codecs import find_readers_too_old_for_codec
from decoders.analysis.doctor.refused.explain_foreign_nodes import explain_foreign_nodes
from decoders.analysis.doctor.refused.explain_forgotten_producers import explain_forgotten_producers
from decoders.analysis.doctor.refused.explain_misleading_addresses import explain_misleading_addresses
from decoders.analysis.doctor.slow_brokers import BrokerLatencies
from decoders.analysis.doctor.thresholds import Thresholds
from decoders.analysis.doctor.topology.topology_findings import TOPOLOGY
from decoders.exchanges.exchange import Ended
from decoders.protocol_facts.api_keys import HEARTBEAT, JOIN_GROUP, METADATA, PRODUCE, SHARE_ACKNOWLEDGE
from tests.analysis.key_scenes import CORE, WEB, keyed
from tests.analysis.scenes import BEGUN, NS, RST, Scene


def make_members_outside(partitions: int) -> Observations:
    """A member whose positions are outside of the log in all partitions of a topic, and whose offsets somebody set."""
    seen = Observations()
    seen.get_or_make("joined", "g", "m").count_occurrence_at(BEGUN)
    alive = seen.get_or_make("alive", "g", "id")
    alive.count_name("clients", "m")
    alive.mark_second(BEGUN + 60 * NS)
    for number in range(partitions):
        for kind, subject, edge in (
            ("offset-set", ("g", "t", number, "tool"), "offset"),
            ("assigned", ("g", "m", "t", number), None),
            ("outside", ("m", "t", number), "position"),
            ("lag", ("r", "t", number), "lag"),
            ("sequence", ("p", "t", number, 7), "next"),
        ):
            its = seen.get_or_make(kind, *subject)
            its.count_occurrence_at(BEGUN)
            if edge is not None:
                its.keep_first_and_last(edge, BEGUN, 6)
            if kind == "assigned":
                its.count_name("from 6", "10.0.0.1:5")
            if kind == "lag":
                its.add_range(("got", "got-from", "got"), 0, 3)
    return seen


def count_lines(run: Callable[[], object]) -> int:
    """How many lines of Python a call runs."""
    lines = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return lines


def test_members_outside_of_their_logs_are_found_in_steps_by_the_number_of_partitions() -> None:
    def cost(count: int) -> int:
        case = Case(make_members_outside(count), {}, BrokerLatencies(), {}, [], Thresholds())
        return count_lines(lambda: [[*find(case)] for find in MEMBERS])

    assert cost(80) < 6 * cost(20)


def make_restarting_nodes(count: int) -> Observations:
    """Nodes that each refuse connections three times, and answer between."""
    seen = Observations()
    for number in range(count):
        broker = f"10.0.0.{number}:9092"
        seen.get_or_make("advertised", broker, number, f"10.0.0.{number}", 9092).count_occurrence_at(BEGUN)
        seen.get_or_make("client", f"c{number}", "10.0.1.1", broker).count_occurrence_at(BEGUN)
        seen.get_or_make("topic", f"t{number}").count_name("nodes", str(number))
        for at in range(0, 70, 10):
            refused = at // 10 % 2
            subject = ("no-entry", "10.0.1.1", broker, "refused") if refused else ("answered", broker)
            its = seen.get_or_make(*subject)
            its.count_occurrence_at(BEGUN + at * NS)
            its.mark_second(BEGUN + at * NS)
    return seen


def test_nodes_that_restart_are_found_in_steps_by_the_number_of_nodes() -> None:
    def cost(count: int) -> int:
        case = Case(make_restarting_nodes(count), {}, BrokerLatencies(), {}, [], Thresholds())
        found: list[str] = []
        lines = count_lines(lambda: found.extend(its.id for find in ABSENCES for its in find(case)))
        assert found.count("broker-restarts") == count
        return lines

    assert cost(80) < 5 * cost(20)


def observe_error(
    seen: Observations, code: int, api_key: int, client: str, subject: tuple[str, str], **names: str
) -> None:
    for at in (10, 12, 60):
        its = seen.get_or_make("error", code, api_key, client, *subject)
        its.count_occurrence_at(BEGUN + at * NS)
        its.mark_second(BEGUN + at * NS)
        for facet, name in names.items():
            its.count_name(facet, name)


def make_clusters(count: int) -> Observations:
    """As many brokers, each of a cluster of its own."""
    seen = Observations()
    for number in range(count):
        seen.get_or_make("cluster", f"10.0.0.{number}:9092", f"c{number}").count_occurrence_at(BEGUN)
        seen.get_or_make("advertised", f"10.0.0.{number}:9092", 1, f"10.0.0.{number}", 9092)
    return seen


def make_clients_at_wrong_nodes(count: int) -> Observations:
    """As many addresses at which a client is refused, and told that the leader is there."""
    seen = Observations()
    for number in range(count):
        address = f"10.0.0.{number}:9092"
        seen.get_or_make("advertised", address, number, f"10.0.0.{number}", 9092)
        for at in (10, 60):
            its = seen.get_or_make("leader-named", f"c{number}", address, number)
            its.count_occurrence_at(BEGUN + at * NS)
            its.count_name("places", "t-0")
        observe_error(seen, 6, PRODUCE, f"c{number}", ("topic", f"t{number}"), brokers=address)
    return seen


def make_groups_at_a_wrong_node(count: int) -> Observations:
    """As many groups that are refused where look-ups name their coordinator."""
    seen = Observations()
    seen.get_or_make("advertised", "10.0.0.9:9092", 1, "10.0.0.9", 9092)
    for number in range(count):
        for at in (10, 12, 60):
            its = seen.get_or_make("coordinator-named", 0, f"g{number}", "10.0.0.9:9092")
            its.count_occurrence_at(BEGUN + at * NS)
        observe_error(seen, 16, JOIN_GROUP, f"c{number}", ("group", f"g{number}"), brokers="10.0.0.9:9092")
    return seen


def make_forgotten_ids(count: int) -> Observations:
    """As many producers that are refused after a pause."""
    seen = Observations()
    for number in range(count):
        name = f"x{number}"
        seen.get_or_make("transaction-taken", name).mark_second(BEGUN)
        for user in map(str, range(10)):
            seen.get_or_make("name", "transactional.id", "b", name, f"c{number}", user).count_occurrence_at(BEGUN)
        observe_error(seen, 49, PRODUCE, f"c{number}", ("topic", "t"), transactional=name)
    return seen


def make_late_members(count: int) -> Observations:
    """As many share groups, of one member each, which acknowledges too late."""
    seen = Observations()
    for number in range(count):
        whose = f"g{number}", f"c{number}", f"t{number}"
        seen.get_or_make("not-held", *whose).count_name("ranges", f"0 1 {BEGUN + 60 * NS}")
        seen.get_or_make("acquired", *whose).count_name("ranges", f"0 1 2 {BEGUN}")
        seen.get_or_make("acquired", *whose).keep_greatest("lock", 30_000)
        seen.get_or_make("acquired", *whose).keep_greatest("deliveries", 1)
        observe_error(seen, 121, SHARE_ACKNOWLEDGE, f"c{number}", ("topic", f"t{number}"))
    return seen


def make_growing_topics(count: int) -> Observations:
    """As many topics that somebody gives more partitions, each with a group that does not ask for them."""
    seen = Observations()
    seen.get_or_make("client", "c0", "10.0.1.1", "10.0.0.9:9092").count_occurrence_at(BEGUN + 60 * NS)
    for number in range(count):
        topic, reader = f"t{number}", f"c{number}"
        for partitions, at in ((1, 1), (2, 5)):
            seen.get_or_make("partition-count", topic, partitions).count_occurrence_at(BEGUN + at * NS)
        seen.get_or_make("changed", "topic", topic, "partitions", "to 2", "ops").count_occurrence_at(BEGUN + 4 * NS)
        seen.get_or_make("skew", topic).count_name("partitions", "1")
        seen.get_or_make("sequence", f"w{number}", topic, 1, 7).count_occurrence_at(BEGUN)
        seen.get_or_make("asked", reader, topic, 0)
        seen.get_or_make("joined", f"g{number}", reader).keep_greatest("last", BEGUN)
        seen.get_or_make("reading", reader).mark_second(BEGUN + 60 * NS)
    return seen


def find_unread_partitions(case: Case) -> Iterator[object]:
    """The findings about partitions that were added."""
    return (row for find in ADDED_PARTITIONS for row in find(case))


@pytest.mark.parametrize(
    ("make", "explain", "found"),
    [
        (make_growing_topics, find_unread_partitions, 80),
        (make_clusters, explain_foreign_nodes, 0),
        (make_clients_at_wrong_nodes, explain_misleading_addresses, 80),
        (make_groups_at_a_wrong_node, explain_misleading_addresses, 1),
        (make_forgotten_ids, explain_forgotten_producers, 80),
        (make_late_members, explain_late_acknowledgements, 80),
    ],
)
def test_errors_are_explained_in_steps_by_their_number(
    make: Callable[[int], Observations], explain: Callable[[Case], Iterator[object]], found: int
) -> None:
    def cost(count: int) -> int:
        case = Case(make(count), {}, BrokerLatencies(), {}, [], Thresholds())
        rows: list[object] = []
        lines = count_lines(lambda: rows.extend(explain(case)))
        assert count < 80 or len(rows) == found
        return lines

    assert cost(80) < 6 * cost(20)


def test_a_client_that_always_resets_has_one_observation_and_not_one_for_each_connection() -> None:
    fold = Doctor()
    for row in reset_again_and_again(150).rows(fold):
        if isinstance(row, Ended):
            fold.observe_connection_end(row)
        else:
            fold.add(row)
    ((_, its),) = fold._seen.items_of_kind("cut-off")
    assert {facet: len(names) for facet, names in its.names.items()} == {"asked": 100, "ended": 100}


def reset_again_and_again(times: int) -> Scene:
    """Large batches without an answer, each on a connection of its own that ends by a reset."""
    topic = {"name": "orders", "partition_data": [{"index": 0, "records": bytes(70_000)}]}
    scene = Scene()
    for number in range(times):
        scene.ask(number, (PRODUCE, 9), {"acks": 1, "topic_data": [topic]}, line=number, took=0.1, ends=RST)
    return scene


def test_a_group_that_waits_for_a_member_without_a_known_time_out_waits_for_any() -> None:
    beat = {"group_id": "billing", "member_id": "m-1", "generation_id": 1}
    joins = {"group_id": "billing", "member_id": "", "protocol_type": "consumer", "protocols": []}
    scene = Scene().ask(4, (HEARTBEAT, 3), beat, {}, client="shop")
    scene.ask(4.5, (JOIN_GROUP, 5), joins, {}, client="shop", line=1, took=inf)
    scene.ask(4.95, (METADATA, 9), {}, {"brokers": [], "topics": []}, client="other", line=9)
    fold = Doctor(Thresholds({"gathering.least": 0.1}))
    for exchange in scene.exchanges(fold):
        fold.add(exchange)
    (row,) = (row for row in fold.rows() if row["id"] == "requests-pending")
    assert row["meaning"].startswith("the group likely waits")


def test_kinds_of_observations_of_an_older_state_have_their_new_names() -> None:
    old, seen = Observations(), Observations()
    for kind in ("deaf", "mute", "shut-out", "topic"):
        old.get_or_make(kind, "app", None, 1)
    seen.resume(old.export())
    assert [*seen._found] == [
        (kind, "app", None, 1) for kind in ("unacknowledged", "never-answered", "closed-at-once", "topic")
    ]


def test_partitions_without_a_committed_offset_are_not_explained_by_a_position_outside() -> None:
    seen = make_members_outside(2)
    for number in (7, 8):
        its = seen.get_or_make("assigned", "g", "m", "t", number)
        its.count_occurrence_at(BEGUN)
        its.count_name("from -1", "10.0.0.1:5")
    case = Case(seen, {}, BrokerLatencies(), {}, [], Thresholds())
    rows = [row for find in MEMBERS for row in find(case) if row.id == "position-missing"]
    found = [(row.values["places"], row.values["why"]) for row in rows]
    assert found[0] == (["t-7", "t-8"], ": the group has no committed offset there")
    assert found[1][0] == ["t-0", "t-1"]
    assert "position 6 of" in found[1][1] or "outside of the log" in found[1][1]
    assert len(found) == 2


@pytest.mark.parametrize(("writers", "records", "hashed"), [(1, 200, False), (2, 12, False), (2, 200, True)])
def test_keys_are_hashed_of_topics_whose_producers_are_compared(writers: int, records: int, *, hashed: bool) -> None:
    fold = Doctor()
    for exchange in keyed(*(CORE, WEB)[:writers], records=records).exchanges(fold):
        fold.add(exchange)
    fold.rows()
    found = [its for _, its in fold._seen.items_of_kind("keys")]
    assert {"placed" in its.names for its in found} == {hashed}
    fold.export()
    assert all(its.names["placed"] and 0 < its.sums["keys"] <= 64 for its in found)


def make_created_topics(count: int) -> Observations:
    """As many topics with names like each other, each of which Metadata created after all before it."""
    seen = Observations()
    for number in range(count):
        at = BEGUN + number * NS // 100
        seen.get_or_make("may-create", f"orders-{number}", "c").count_occurrence_at(at)
        seen.get_or_make("topic", f"orders-{number}").count_occurrence_at(at + NS)
    return seen


def test_created_topics_are_found_in_steps_by_their_number() -> None:
    def cost(count: int) -> int:
        case = Case(make_created_topics(count), {}, BrokerLatencies(), {}, [], Thresholds())
        found: list[str] = []
        lines = count_lines(lambda: found.extend(its.id for find in TOPOLOGY for its in find(case)))
        assert found.count("topic-created-unasked") == count
        return lines

    assert cost(400) < 4 * cost(100)


def make_old_readers(count: int) -> Observations:
    """As many clients that get batches with zstd, each of a topic of its own, with a Fetch that is too old."""
    seen = Observations()
    for number in range(count):
        unread = seen.get_or_make("codec-too-new", f"c{number}", f"t{number}", "zstd")
        unread.count_name("versions", "8")
        unread.count_name("partitions", "0")
        seen.get_or_make("read", f"c{number}", "10.0.0.1", f"t{number}", 0).add_range(("offsets", "start", "end"), 0, 5)
    return seen


def test_readers_too_old_for_a_codec_are_found_in_steps_by_their_number() -> None:
    def cost(count: int) -> int:
        case = Case(make_old_readers(count), {}, BrokerLatencies(), {}, [], Thresholds())
        return count_lines(lambda: [*find_readers_too_old_for_codec(case)])

    assert cost(160) < 6 * cost(40)
