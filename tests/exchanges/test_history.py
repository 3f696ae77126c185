"""The context of exchanges from earlier ones: sessions, members, transactions, nodes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from decoders.exchanges import facts_from_earlier_exchanges
from decoders.exchanges.body_reader import ApiReader
from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.exchange import Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.exchanges.topic_and_node_names import list_nodes_of_answer
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from tests.captures.shipped import CLEAN, segments
from tests.exchanges.chunked import Line, Row, exchanges
from tests.exchanges.talks import request, response

FETCH, METADATA, COMMIT, OFFSETS, JOIN, BEAT, LEAVE = 1, 3, 8, 9, 11, 12, 13
PRODUCE, INIT, END, MARKERS, HEARTBEAT, CLUSTER = 0, 22, 26, 27, 68, 60
ORDERS = UUID("00112233-4455-6677-8899-aabbccddeeff")
KEYS = ("fetch_session", "group", "transaction", "node", "library")


def remembered(rows: list[Settled]) -> list[dict[str, Any]]:
    """The keys of the records that come from earlier exchanges."""
    return [{key: value for key, value in to_json_dict(row).items() if key in KEYS} for row in rows]


def of_capture(name: str, size: int = 500, *, handed_over: bool = False) -> list[Settled]:
    """The rows of a capture, fed in pieces, and handed over to another engine between two of them."""
    every = segments(name)
    engine = Engine()
    engine.pairer.enable_noting_of_earlier_facts()
    rows: list[Settled] = []
    for at in range(0, len(every), size):
        rows += engine.feed(list(every[at : at + size]))
        if handed_over:
            state = engine.export()
            engine = Engine()
            engine.resume(state)
            assert engine.export() == state
    return rows + engine.finish()


class Talk:
    """Exchanges of several connections, one after the other."""

    def __init__(self) -> None:
        self.stage = Pairer(ports=[9092])
        self.stage.enable_noting_of_earlier_facts()
        self.lines: dict[str, Line] = {}
        self.number = 0
        self.rows: list[Settled] = []

    def say(self, line: str, key: int, version: int, value: dict[str, Any], answer: dict[str, Any] | None) -> Any:
        """One exchange of the client `line`; gives the keys of its record that come from earlier exchanges."""
        client, _, broker = line.partition("@")
        if line not in self.lines:
            self.lines[line] = Line(number=len(self.lines) + 1, broker=broker or "10.0.0.2:9092")
        self.number += 1
        rows: list[Row] = [("c", request(key, version, self.number, client, value))]
        if answer is not None:
            rows.append(("b", response(key, version, self.number, answer)))
        settled = self.stage.feed(self.lines[line].chunks(*rows))
        self.rows += settled
        return remembered(settled)[0] if settled else {}

    def fetch(self, epoch: int, *asked: int, forgotten: tuple[int, ...] = (), **answer: Any) -> Any:
        """A Fetch 12 of `orders` in session 7; gives the partitions in its record."""
        value: dict[str, Any] = {"session_id": 7 if epoch else 0, "session_epoch": epoch}
        value["topics"] = (
            [{"topic": "orders", "partitions": [{"partition": number} for number in asked]}] if asked else []
        )
        value["forgotten_topics_data"] = [{"topic": "orders", "partitions": list(forgotten)}] if forgotten else []
        return self.say("c", FETCH, 12, value, {"session_id": 7, **answer}).get("fetch_session", {}).get("partitions")


# Real traffic, in which the broker gives the same facts in another way.


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CLEAN)
def test_what_is_remembered_agrees_with_what_brokers_and_batches_say(name: str) -> None:
    rows = [row for row in of_capture(name) if isinstance(row, Exchange)]
    records = [to_json_dict(row) for row in rows]
    for row, record in zip(rows, records, strict=True):
        partitions = record.get("fetch_session", {}).get("partitions")
        if partitions is not None and record["status"] == "complete":
            for topic in record["response"]["responses"]:
                names = {
                    topic.get("topic"),
                    topic.get("topic_id"),
                    record.get("topic_names", {}).get(topic.get("topic_id")),
                }
                (asked,) = [numbers for name, numbers in partitions.items() if name in names]
                assert {part["partition_index"] for part in topic["partitions"]} <= set(asked)
        if row.api_key == PRODUCE and "transaction" in record:
            for topic in record["request"]["topic_data"]:
                for part in topic["partition_data"]:
                    for batch in part["records"]:
                        said = batch["producer_id"], batch["producer_epoch"]
                        assert said == (record["transaction"]["producer_id"], record["transaction"]["epoch"])
        named = (record["request"] or {}).get("group_id")
        if "group" in record and named is not None:
            assert record["group"]["id"] == named
        back = FromRecords().read(record)
        assert to_json_dict(back) == record


def test_real_traffic_has_all_of_it() -> None:
    records = [record for name in ("tour.pcapng", "three-nodes.pcapng.zst") for record in remembered(of_capture(name))]
    fetches = [each for each in records if "partitions" in each.get("fetch_session", {})]
    assert len(fetches) > 5
    assert {each["group"]["id"] for each in records if "group" in each} == {"billing", "audit", "fraud", "report"}
    assert {each["transaction"]["id"] for each in records if "transaction" in each} == {"ledger"}
    assert {each["node"]["id"] for each in records if "node" in each} == {1, 2, 3}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["first-steps.pcapng", "three-nodes.pcapng.zst", "share-groups.pcapng"])
def test_the_same_whichever_pieces_the_input_comes_in_and_whoever_goes_on(name: str) -> None:
    whole = remembered(of_capture(name, 10**9))
    assert remembered(of_capture(name, 37)) == whole
    assert remembered(of_capture(name, 211, handed_over=True)) == whole


# Sessions.


def test_a_session_is_followed() -> None:
    talk = Talk()
    assert talk.fetch(0, 0, 1) is None  # the request has them all
    assert talk.fetch(1) == {"orders": [0, 1]}
    assert talk.fetch(2, 1, 5) == {"orders": [0, 1, 5]}
    assert talk.fetch(3, forgotten=(0, 1)) == {"orders": [5]}
    assert talk.fetch(4, forgotten=(5,)) == {}
    assert talk.fetch(5, 2) == {"orders": [2]}
    assert talk.fetch(-1, 0) is None
    assert talk.fetch(1) is None


@pytest.mark.parametrize("answer", [{"session_id": 0}, {"error_code": 71}])
def test_a_session_that_the_broker_did_not_open(answer: dict[str, Any]) -> None:
    talk = Talk()
    assert talk.fetch(0, 0, 1, **answer) is None
    assert talk.fetch(1) is None


def test_a_session_of_which_a_request_is_missing_is_followed_no_further() -> None:
    talk = Talk()
    talk.fetch(0, 0, 1)
    assert talk.fetch(2, 4) is None
    assert talk.fetch(3) is None


def test_a_session_that_the_broker_has_lost() -> None:
    talk = Talk()
    talk.fetch(0, 0, 1)
    assert talk.fetch(1, error_code=70) == {"orders": [0, 1]}
    assert talk.fetch(2) is None


def test_topic_ids_have_the_names_known_when_they_are_asked_for() -> None:
    talk = Talk()
    asked = {"session_id": 0, "session_epoch": 0, "topics": [{"topic_id": ORDERS, "partitions": [{"partition": 3}]}]}
    talk.say("c", FETCH, 17, asked, {"session_id": 9})
    quiet = {"session_id": 9, "session_epoch": 1}
    first = talk.say("c", FETCH, 17, quiet, {"session_id": 9})
    talk.say("c", METADATA, 12, {}, {"topics": [{"name": "orders", "topic_id": ORDERS}]})
    then = talk.say("c", FETCH, 17, {**quiet, "session_epoch": 2}, {"session_id": 9})
    assert first["fetch_session"]["partitions"] == {"ABEiM0RVZneImaq7zN3u_w": [3]}
    assert then["fetch_session"]["partitions"] == {"orders": [3]}


@pytest.mark.plain
def test_a_large_session_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_from_earlier_exchanges, "SESSION_PARTITIONS_MAX", 3)
    talk = Talk()
    talk.fetch(0, 0, 1, 2)
    assert talk.fetch(1) == {"orders": [0, 1, 2]}
    assert talk.fetch(2, 3) is None
    assert talk.fetch(3) is None
    assert talk.stage.context.history is not None
    assert talk.stage.context.history._followed == 0


# Groups.


def beat(talk: Talk, line: str, group: str, generation: int, member: str, error_code: int = 0) -> Any:
    value = {"group_id": group, "generation_id": generation, "member_id": member}
    return talk.say(line, BEAT, 3, value, {"error_code": error_code}).get("group")


def fetched(talk: Talk, line: str) -> Any:
    return talk.say(line, FETCH, 12, {"session_epoch": -1}, {}).get("group")


ONE = {"id": "g", "generation": 5, "member": "m-1"}


def test_the_group_behind_a_fetch_is_that_of_its_client() -> None:
    talk = Talk()
    assert fetched(talk, "app@10.0.0.3:9092") is None
    joined = {"generation_id": 5, "member_id": "m-1"}
    value: dict[str, Any] = {"group_id": "g", "member_id": "", "protocol_type": "consumer"}
    assert talk.say("app", JOIN, 5, value, {**joined, "error_code": 79, "generation_id": -1}).get("group") is None
    assert talk.say("app", JOIN, 5, {**value, "member_id": "m-1"}, joined)["group"] == ONE
    assert fetched(talk, "app@10.0.0.3:9092") == ONE
    assert fetched(talk, "other@10.0.0.3:9092") is None
    assert beat(talk, "app", "g", 5, "m-1") == ONE
    assert talk.say("app", OFFSETS, 5, {"group_id": "g"}, {})["group"] == ONE
    assert talk.say("app", OFFSETS, 5, {"group_id": "another"}, {}).get("group") is None
    assert talk.say("app", LEAVE, 3, {"group_id": "g", "members": [{"member_id": "m-1"}]}, {})["group"] == ONE
    assert fetched(talk, "app@10.0.0.3:9092") is None


def test_several_members_of_a_client() -> None:
    talk = Talk()
    beat(talk, "app", "g", 5, "m-1")
    beat(talk, "app@10.0.0.3:9092", "g", 5, "m-2")
    assert fetched(talk, "app@10.0.0.4:9092") == {"id": "g", "generation": 5, "member": None}
    assert fetched(talk, "app") == ONE  # on the connection of that member
    beat(talk, "app@10.0.0.3:9092", "g", 6, "m-2")
    assert fetched(talk, "app@10.0.0.4:9092") == {"id": "g", "generation": None, "member": None}
    beat(talk, "app@10.0.0.5:9092", "h", 1, "m-3")
    assert fetched(talk, "app@10.0.0.4:9092") is None


@pytest.mark.parametrize("error_code", [22, 25, 82])
def test_a_member_that_the_broker_does_not_have(error_code: int) -> None:
    talk = Talk()
    beat(talk, "app", "g", 5, "m-1")
    assert beat(talk, "app", "g", 5, "m-1", 27) == ONE  # the group rebalances
    assert beat(talk, "app", "g", 5, "m-1", error_code) == ONE  # the values that the member believed
    assert fetched(talk, "app") is None


def test_members_of_the_new_protocol_have_epochs() -> None:
    talk = Talk()
    value: dict[str, Any] = {"group_id": "g", "member_id": "m-1", "member_epoch": 0}
    said = talk.say("app", HEARTBEAT, 1, value, {"member_id": "m-1", "member_epoch": 5})
    assert said["group"] == ONE
    assert fetched(talk, "app@10.0.0.3:9092") == ONE
    talk.say("app", HEARTBEAT, 1, {**value, "member_epoch": -1}, {"member_id": "m-1", "member_epoch": -1})
    assert fetched(talk, "app@10.0.0.3:9092") is None


def test_a_member_is_gone_with_its_connection() -> None:
    from decoders.tcp.stream_chunks import Close

    talk = Talk()
    beat(talk, "app", "g", 5, "m-1")
    talk.stage.feed(talk.lines["app"].chunks(("c", Close("fin"))))
    assert fetched(talk, "app@10.0.0.3:9092") is None


# Transactions.


def produced(talk: Talk, identity: str | None, version: int = 9) -> Any:
    value: dict[str, Any] = {"transactional_id": identity, "acks": -1, "topic_data": []}
    return talk.say("p", PRODUCE, version, value, {}).get("transaction")


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_produce_has_the_producer_of_its_transaction(version: int) -> None:
    talk = Talk()
    assert produced(talk, "t", version) is None
    talk.say("p", INIT, 4, {"transactional_id": "t"}, {"producer_id": 40, "producer_epoch": 1, "error_code": 51})
    assert produced(talk, "t", version) is None
    talk.say("p", INIT, 4, {"transactional_id": "t"}, {"producer_id": 40, "producer_epoch": 1})
    assert produced(talk, "t", version) == {"id": "t", "producer_id": 40, "epoch": 1}
    assert produced(talk, None, version) is None
    assert produced(talk, "u", version) is None


def test_the_end_of_a_transaction_may_change_the_epoch() -> None:
    talk = Talk()
    value = {"transactional_id": "t", "producer_id": 40, "producer_epoch": 1}
    ended = talk.say("p", END, 5, value, {"producer_id": 40, "producer_epoch": 2})
    assert ended["transaction"] == {"id": "t", "producer_id": 40, "epoch": 1}
    assert produced(talk, "t") == {"id": "t", "producer_id": 40, "epoch": 2}


def test_a_marker_has_its_transaction() -> None:
    talk = Talk()
    for identity, producer in (("t", 40), ("u", 41), ("v", 41)):
        talk.say("p", INIT, 4, {"transactional_id": identity}, {"producer_id": producer, "producer_epoch": 1})

    def marked(*producers: int) -> Any:
        markers = [{"producer_id": producer, "producer_epoch": 1} for producer in producers]
        return talk.say("b", MARKERS, 1, {"markers": markers}, {}).get("transaction")

    assert marked(40) == {"id": "t", "producer_id": 40, "epoch": 1}
    assert marked(40, 40) is None
    assert marked(41) is None  # of two clusters at once
    assert marked(42) is None


# Nodes.


def test_the_node_of_a_connection_is_what_answers_say() -> None:
    talk = Talk()
    nodes = [{"node_id": 2, "host": "10.0.0.2", "port": 9092, "rack": "a"}, {"node_id": 3, "host": "b3", "port": 9092}]
    told = {"brokers": nodes, "cluster_id": "lab"}
    assert talk.say("c", METADATA, 0, {}, {"brokers": [{**nodes[0], "rack": None}]})["node"] == {
        "id": 2,
        "rack": None,
        "cluster": None,
    }
    assert talk.say("c", METADATA, 12, {}, told)["node"] == {"id": 2, "rack": "a", "cluster": "lab"}
    assert talk.say("d", BEAT, 3, {}, {})["node"] == {"id": 2, "rack": "a", "cluster": "lab"}
    assert "node" not in talk.say("e@10.0.0.3:9092", BEAT, 3, {}, {})  # b3 may be at any address
    assert talk.say("e@10.0.0.3:9092", METADATA, 12, {}, told)["node"] == {"id": None, "rack": None, "cluster": "lab"}
    brokers = [{"broker_id": 4, "host": "10.0.0.3", "port": 9092}]
    told = {"brokers": brokers, "cluster_id": "lab"}
    assert talk.say("c", CLUSTER, 0, {}, told)["node"]["id"] == 2
    assert talk.say("e@10.0.0.3:9092", BEAT, 3, {}, {})["node"] == {"id": 4, "rack": None, "cluster": "lab"}


def test_nothing_is_noted_where_nobody_asks() -> None:
    every = segments("tour.pcapng")
    engine = Engine()
    rows = engine.feed(list(every)) + engine.finish()
    said = remembered(rows)
    assert not any(key in each for each in said for key in ("group", "transaction", "node"))
    assert len(exchanges(rows)) > 100
    assert all(one <= two for one, two in pairwise(row._topics_known for row in exchanges(rows)))


@pytest.mark.parametrize(
    ("row", "listed"),
    [
        ({"node_id": 3, "host": "k3", "port": 9092, "rack": "a"}, [(3, "k3", 9092, "a", "k3:9092")]),
        ({"broker_id": 3, "host": "::1", "port": 9092}, [(3, "::1", 9092, None, "[::1]:9092")]),
        ({"node_id": -1, "host": "k3", "port": 9092}, []),
        ({"node_id": 3, "host": "", "port": 9092}, []),
        ({"node_id": 3, "host": "k3"}, []),  # the answer is cut off after its host
    ],
)
def test_a_node_is_listed_where_it_has_an_id_and_an_address(row: dict[str, Any], listed: list[tuple[Any, ...]]) -> None:
    assert [(*node, node.address) for node in list_nodes_of_answer({"brokers": [row]})] == listed


@pytest.mark.plain  # compiled methods call each other directly
@pytest.mark.parametrize("version", [3, 4])
def test_heartbeats_that_repeat_what_is_known_are_compared_not_read(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast path: no field is read of a request that begins with the bytes of the one before."""
    talk = Talk()
    value = {"group_id": "g", "generation_id": 5, "member_id": "m-1"}
    assert talk.say("app", BEAT, version, value, {"error_code": 0})["group"] == ONE
    read: list[int | None] = []
    plain = ApiReader.read_wanted_fields

    def note_and_read(reader: ApiReader, exchange: Exchange, *words: Any) -> Any:
        read.append(exchange.api_key)
        return plain(reader, exchange, *words)

    monkeypatch.setattr(ApiReader, "read_wanted_fields", note_and_read)
    for _ in range(3):
        assert talk.say("app", BEAT, version, value, {"error_code": 0})["group"] == ONE
    assert read == []
    assert talk.say("app", BEAT, version, {**value, "generation_id": 6}, {"error_code": 0})["group"]["generation"] == 6
    assert BEAT in read
