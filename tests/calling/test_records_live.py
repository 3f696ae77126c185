"""Records produced by hand, at every format, codec and version, are read by other consumers; and `kw call fetch
--records` shows the records of other producers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from decoders.records.codecs import NAMES
from tests.broker.clients import session, steps
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.calling.records_live import (
    Read,
    Row,
    answered,
    call,
    comparable,
    consumed,
    create,
    fetched,
    plain,
    read,
    rows,
    words_of,
)

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

# Broker → the Produce versions that it serves, a Java client, and the Fetch versions.
BROKERS: Final = {"3.9.1": ((0, 11), "java-3.9.1", (0, 17)), "4.3.1": ((3, 13), "java-4.4.0", (4, 18))}
LARGE: Final = 1 << 20
# Fetch versions below these get message sets of magic 0, of magic 1; neither can hold zstd.
MAGIC_1, MAGIC_2 = 2, 4


class Scene:
    """A broker on which everything that tests read has been produced: rows of kw, topics of the clients."""

    def __init__(self, version: str, bootstrap: str) -> None:
        (low, high), self.java, self.fetches = BROKERS[version]
        self.bootstrap = bootstrap
        self.rows = rows(low, high)
        self.expected: dict[int, list[Read]] = {}
        create(bootstrap, {"rows": len(self.rows), "large": 5, "made": 10, "committed": 1, "spread": 7})
        for number, row in enumerate(self.rows):
            words, self.expected[number] = words_of(row, number)
            self.produce("rows", number, row, *words)
        self.answers: dict[str, list[Any]] = {}

    def produce(self, topic: str, partition: int, row: Row, *words: str, stdin: bytes = b"") -> None:
        versions = ("--api-version", str(row.version), "--magic", str(row.magic))
        where = (f"topic={topic}", f"partition={partition}", "--compression", row.codec)
        record = answered(self.bootstrap, "produce", *where, *versions, *words, stdin=stdin)
        (data,) = record["request"]["topic_data"][0]["partition_data"]
        assert record["api_version"] == row.version
        assert {(batch["magic"], batch["codec"]) for batch in data["records"]} == {(row.magic, row.codec)}

    def clients(self) -> None:
        """Run Java and librdkafka, one process each: read the rows, write with every codec."""
        partitions = list(range(len(self.rows)))
        for name, first in ((self.java, 0), ("librdkafka", len(NAMES))):
            work: list[session.Step] = [
                ("consume", {"topics": ["rows"], "partitions": partitions, "count": 4 * len(partitions)}),
                (
                    "consume",
                    {"topics": ["large"], "partitions": list(range(5)), "count": 5, "config": {LIMIT: 9 << 20}},
                ),
            ]
            for number, codec in enumerate(NAMES):
                made = {"topic": "made", "partition": first + number, "headers": {"h": "x", "e": ""}, "count": 20}
                work.append(("produce", made | {"config": {"compression.type": codec}}))
            work.append(("produce", {"topic": "made", "partition": first, "tombstones": True, "null_keys": True}))
            work.append(("consume", {"topics": ["committed"], "partitions": [0], "count": 2, "config": COMMITTED}))
            if name == self.java:
                work.append(("produce", {"topic": "spread", "count": 40}))
            results = session.run(name, self.bootstrap, work)
            self.answers[name] = [each["result"] for each in results]


LIMIT: Final = "fetch.max.bytes"
# The number of steps before this one: two that read, one for each codec, one of tombstones.
AFTER_MADE: Final = 2 + len(NAMES) + 1
COMMITTED: Final = {"isolation.level": "read_committed"}


@pytest.fixture(scope="module", params=BROKERS)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    properties = {"message.max.bytes": str(4 << 20)}
    with Cluster(Options(version=request.param, class_archive=True, properties=properties)) as cluster:
        made = Scene(request.param, cluster.bootstrap())
        for number, codec in enumerate(NAMES):
            version = 0 if made.rows[0].version == 0 and codec != "zstd" else 9
            made.produce(
                "large", number, Row(version, 0 if version == 0 else 2, codec), "value=@-", stdin=large(number)
            )
        for value, committed in (("kept", "true"), ("undone", "false"), ("kept too", "true")):
            transaction(made.bootstrap, value, committed)
        made.clients()
        yield made


def large(number: int) -> bytes:
    """1 MiB that does not compress well."""
    return b"".join((b"%d %d\n" % (number, at * 2654435761 % 4294967291)) for at in range(100_000))[:LARGE]


@pytest.mark.parametrize("maker", ["java", "librdkafka"])
def test_consumers_read_what_kw_wrote(scene: Scene, maker: str) -> None:
    answers = scene.answers[scene.java if maker == "java" else maker]
    found = consumed(answers[0])
    assert found.keys() == scene.expected.keys()
    for number, row in enumerate(scene.rows):
        assert comparable(found[number], scene.expected[number]) == scene.expected[number], row
    values = consumed(answers[1])
    assert {number: held[0].value for number, held in values.items()} == {at: large(at) for at in range(5)}


def test_kw_reads_what_kw_wrote_at_every_fetch_version(scene: Scene) -> None:
    low, high = scene.fetches
    for version in range(low, high + 1):
        readable = [n for n, row in enumerate(scene.rows) if version >= MAGIC_2 or row.codec != "zstd"]
        named = [f"partition={number}" for number in readable]
        found = fetched(scene.bootstrap, "topic=rows", "offset=0", *named, "--api-version", str(version))
        assert found.keys() == set(readable)
        for number in readable:
            wanted = scene.expected[number]
            if version < MAGIC_2:
                wanted = [each._replace(headers=()) for each in wanted]
            if version < MAGIC_1:
                wanted = [each._replace(timestamp=None) for each in wanted]
            assert comparable(found[number], wanted) == wanted, (version, scene.rows[number])


def test_zstd_below_fetch_10_is_refused_and_explained(scene: Scene) -> None:
    """Brokers before 4.0 refuse such a Fetch if the topic's codec is zstd; later ones send the records as they are."""
    create(scene.bootstrap, {"zstd": 1}, {"compression.type": "zstd"})
    answered(scene.bootstrap, "produce", "topic=zstd", "value=v")
    outcome = call(scene.bootstrap, "fetch", "topic=zstd", "--api-version", "9")
    if scene.fetches[0] < MAGIC_2:
        assert outcome.code == 1
        assert outcome.err == (
            "kw: UNSUPPORTED_COMPRESSION_TYPE: the records are compressed with zstd, "
            "and zstd needs Fetch 10 or later (KIP-110)\n"
        )
    else:
        assert (outcome.code, outcome.err) == (0, "")
    assert [each.value for each in fetched(scene.bootstrap, "topic=zstd", "--api-version", "10")[0]] == [b"v"]


@pytest.mark.parametrize("maker", ["java", "librdkafka"])
def test_kw_reads_what_producers_wrote(scene: Scene, maker: str) -> None:
    first = 0 if maker == "java" else len(NAMES)
    assert scene.answers[scene.java if maker == "java" else maker][2:AFTER_MADE] == [20] * len(NAMES) + [10]
    found = fetched(scene.bootstrap, "topic=made", "partition=all")
    headers = (("h", b"x"), ("e", b""))
    for number, codec in enumerate(NAMES):
        read = [(each.offset, each.key, each.value, each.headers) for each in found[first + number]]
        wanted = [(at, key, value, headers) for at, (key, value) in enumerate(steps.values(20, 0))]
        assert read[:20] == wanted, codec
    read = [(each.offset, each.key, each.value, each.headers) for each in found[first]]
    assert read[20:] == [(20 + at, None, None, ()) for at in range(10)]


def test_where_a_fetch_begins(scene: Scene) -> None:
    def offsets(*words: str) -> list[int]:
        record = answered(scene.bootstrap, "fetch", "topic=made", "partition=0", *words)
        return [each["fetch_offset"] for each in record["request"]["topics"][0]["partitions"]]

    assert offsets("offset=latest-10") == [20]
    assert offsets("offset=earliest+3") == [3]
    assert offsets("offset=latest-1000") == offsets("offset=@-1h") == [0]
    assert offsets("offset=@2100-01-01", "max_wait_ms=1") == offsets("offset=latest", "max_wait_ms=1") == [30]


def test_keys_find_the_partition_of_javas_partitioner(scene: Scene) -> None:
    """kw puts keys into the same partitions as the Java producer does."""
    create(scene.bootstrap, {"keyed": 7})
    words = [word for key, value in steps.values(40, 0) for word in (f"key={key.decode()}", f"value={value.decode()}")]
    answered(scene.bootstrap, "produce", "topic=keyed", *words)
    by_java = fetched(scene.bootstrap, "topic=spread", "partition=all")
    by_kw = fetched(scene.bootstrap, "topic=keyed", "partition=all")
    assert {number: [(each.key, each.value) for each in held] for number, held in by_kw.items()} == {
        number: [(each.key, each.value) for each in held] for number, held in by_java.items()
    }


def test_acks(scene: Scene) -> None:
    create(scene.bootstrap, {"acks": 1})
    for acks, status in (("0", "no_response_expected"), ("1", "complete"), ("all", "complete")):
        record = answered(scene.bootstrap, "produce", "topic=acks", f"value={acks}", "--acks", acks)
        assert (record["status"], record["request"]["acks"]) == (status, {"all": -1}.get(acks) or int(acks))
    found = fetched(scene.bootstrap, "topic=acks")
    assert [each.value for each in found[0]] == [b"0", b"1", b"all"]


def test_an_idempotent_producer_by_hand(scene: Scene) -> None:
    create(scene.bootstrap, {"once": 1})
    mine = answered(scene.bootstrap, "InitProducerId", "transactional_id:=null")["response"]
    who = ["topic=once", f"producer_id={mine['producer_id']}", f"producer_epoch={mine['producer_epoch']}"]
    answered(scene.bootstrap, "produce", *who, "value=a", "value=b")
    for _ in range(2):  # the broker recognises the second one as a duplicate
        record = answered(scene.bootstrap, "produce", *who, "base_sequence=2", "value=c")
        assert record["response"]["responses"][0]["partition_responses"][0]["base_offset"] == 2
    outcome = call(scene.bootstrap, "produce", *who, "base_sequence=99", "value=d")
    assert outcome.code == 1
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in outcome.out
    assert [each.value for each in fetched(scene.bootstrap, "topic=once")[0]] == [b"a", b"b", b"c"]


def transaction(bootstrap: str, value: str, committed: str) -> None:
    """One transaction by hand: InitProducerId, AddPartitionsToTxn, Produce, EndTxn."""
    mine = answered(bootstrap, "InitProducerId", "transactional_id=tx")["response"]
    names = {name: mine[name] for name in ("producer_id", "producer_epoch")} | {"transactional_id": "tx"}
    said = [f"{name}={held}" for name, held in names.items()]
    part = ["v3_and_below_topics[].name=committed", "v3_and_below_topics[].partitions[]=0", "--api-version", "3"]
    answered(bootstrap, "AddPartitionsToTxn", *(f"v3_and_below_{each}" for each in said), *part)
    answered(bootstrap, "produce", "topic=committed", *said, f"value={value}")
    answered(bootstrap, "EndTxn", *said, f"committed={committed}", "--api-version", "3")


def test_transactions_by_hand(scene: Scene) -> None:
    """Consumers that read committed records do not see an aborted one."""
    for client in (scene.java, "librdkafka"):
        assert [each.value for each in consumed(scene.answers[client][AFTER_MADE])[0]] == [b"kept", b"kept too"]
    everything = fetched(scene.bootstrap, "topic=committed", "isolation_level=1")
    assert [each.value for each in everything[0]] == [b"kept", b"undone", b"kept too"]
    aborted = answered(scene.bootstrap, "fetch", "topic=committed", "isolation_level=1")["response"]["responses"][0]
    assert [each["first_offset"] for each in aborted["partitions"][0]["aborted_transactions"]] == [2]


def test_what_is_fetched_can_be_produced_again(scene: Scene) -> None:
    """The command line `kw call fetch --records | jq -c '…records[]' | kw call produce topic=copy` copies records."""
    import json

    create(scene.bootstrap, {"copy": 1})
    last = len(scene.rows) - 1
    record = answered(scene.bootstrap, "fetch", "topic=rows", f"partition={last}", "--records")
    batches = record["response"]["responses"][0]["partitions"][0]["records"]
    lines = "".join(json.dumps(each) + "\n" for batch in batches for each in batch["records"])
    answered(scene.bootstrap, "produce", "topic=copy", stdin=lines.encode())
    assert fetched(scene.bootstrap, "topic=copy")[0] == scene.expected[last]
    assert plain(json.loads(lines.splitlines()[0])["key"]) == b"k"


def test_message_sets_that_a_broker_keeps() -> None:
    """Records are stored without conversion: those read are those written, but for the offsets that the broker gives.

    3.9.1 on ZooKeeper, with the inter-broker protocol of a release before 3.0, keeps the topics' message formats.
    """
    made: dict[str, list[Row]] = {}
    expected: dict[str, dict[int, list[Read]]] = {}
    properties = {"inter.broker.protocol.version": "2.8"}
    options = Options(version="3.9.1", mode="zookeeper", class_archive=True, properties=properties)
    with Cluster(options) as cluster:
        keeper = cluster.bootstrap()
        for magic, release in enumerate(("0.9.0", "0.10.0")):
            topic = f"magic{magic}"
            create(keeper, {topic: 12}, {"message.format.version": release})
            made[topic] = [row for row in rows(0, 2) if row.magic == magic]
            expected[topic] = {}
            for number, row in enumerate(made[topic]):
                words, expected[topic][number] = words_of(row, number)
                where = (f"topic={topic}", f"partition={number}", "--compression", row.codec, "--magic", str(magic))
                answered(keeper, "produce", *where, "--api-version", str(row.version), *words)
        steps = [("consume", {"topics": [topic], "partitions": list(range(12)), "count": 48}) for topic in made]
        by_others = [session.run(client, keeper, steps) for client in ("java-3.9.1", "librdkafka")]
        stored = {topic: answered(keeper, "fetch", f"topic={topic}", "partition=all", "--records") for topic in made}
    for number, (topic, wanted) in enumerate(expected.items()):
        for partition in stored[topic]["response"]["responses"][0]["partitions"]:
            row = made[topic][partition["partition_index"]]
            kept = {(batch["magic"], batch["codec"], batch["crc"]) for batch in partition["records"]}
            assert kept == {(row.magic, row.codec, "ok")}
        for found in (read(stored[topic]), *(consumed(results[number]["result"]) for results in by_others)):
            assert {index: comparable(found[index], held) for index, held in wanted.items()} == wanted
