"""Findings: scenes that show each, scenes that come near and show none; the same however exchanges are split."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.doctor.body_observers import BODY_OBSERVERS
from decoders.analysis.doctor.causes import find_causes
from decoders.analysis.doctor.diagnosis_input import Found
from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.finding_kinds import CODES, FINDINGS, OTHER
from decoders.analysis.doctor.observations import Observation
from decoders.analysis.doctor.resent_batches import SentBatches
from decoders.apis import api
from decoders.capture.read_capture import CaptureReader
from decoders.errors import Malformed
from decoders.exchanges.exchange import Ended, Exchange, Row
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.protocol_facts.api_keys import (
    ALTER_PARTITION,
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    FETCH,
    HEARTBEAT,
    JOIN_GROUP,
    LEADER_AND_ISR,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    PUSH_TELEMETRY,
    SASL_AUTHENTICATE,
)
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from decoders.wire.format_and_escape_text import format_rfc3339
from kwcli.analyses.format_findings import (
    _NAMED,
    LINES_MAX,
    _list_finding_details,
    format_findings,
    format_findings_in_brief,
)
from kwcli.output.output_settings import Settings
from kwcli.output.renderers import WantedPaths
from kwcli.run_environment import Exit
from tests.analysis import refusal_scenes
from tests.analysis.attack_scenes import ATTACK_BESIDES, ATTACK_NEAR, ATTACK_SCENES
from tests.analysis.cause_scenes import CAUSE_BESIDES, CAUSE_NEAR, CAUSE_SCENES
from tests.analysis.client_scenes import CLIENT_BESIDES, CLIENT_NEAR, CLIENT_SCENES, slow_revocation
from tests.analysis.cluster_scenes import CLUSTER_NEAR, CLUSTER_SCENES
from tests.analysis.further_scenes import FURTHER_BESIDES, FURTHER_NEAR, FURTHER_SCENES
from tests.analysis.identity_scenes import IDENTITY_BESIDES, IDENTITY_NEAR, IDENTITY_SCENES
from tests.analysis.key_scenes import KEY_NEAR, KEY_SCENES
from tests.analysis.network_scenes import (
    DEAD_ENTRY,
    NETWORK_BESIDES,
    NETWORK_NEAR,
    NETWORK_SCENES,
    cut_between_nodes,
    lossy,
)
from tests.analysis.reading_scenes import READING_NEAR, READING_SCENES
from tests.analysis.record_scenes import RECORD_BESIDES, RECORD_NEAR, RECORD_SCENES, damaged
from tests.analysis.refusal_scenes import COORDINATORS_DOWN, REFUSAL_BESIDES, REFUSAL_NEAR, REFUSAL_SCENES
from tests.analysis.scenes import BEGUN, BROKER, FIN, MS, NS, RST, Scene
from tests.analysis.silence_scenes import (
    LATE_LISTING,
    SILENCE_BESIDES,
    SILENCE_NEAR,
    SILENCE_SCENES,
    member_lost,
    two_went_away,
)
from tests.analysis.tls_scenes import TLS_NEAR, TLS_SCENES
from tests.analysis.topology_scenes import TOPOLOGY_BESIDES, TOPOLOGY_NEAR, TOPOLOGY_SCENES
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import kw, world
from tests.exchanges.test_remarks import batch_of_lz4
from tests.tls.wrapping import pcapng_of

SCHEMA_FILE = FOLDER.parent / "decoders" / "messages" / "doctor.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_bytes()))
NEEDS = WantedPaths(Doctor().needs)


@cache
def exchanges(name: str) -> list[Exchange | Ended]:
    """The exchanges of a capture, and the ends of its connections."""
    reader, engine = CaptureReader(), Engine(needs=NEEDS, connections=True)
    found: list[Row] = [*engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]), *engine.finish()]
    return [each for each in found if isinstance(each, Exchange | Ended)]


def folded(some: list[Exchange | Ended]) -> Doctor:
    fold = Doctor()
    for each in some:
        if isinstance(each, Ended):
            fold.observe_connection_end(each)
        else:
            fold.add(each)
    return fold


def merged(some: list[Exchange | Ended]) -> Doctor:
    """Four folds of parts of the exchanges, handed over and merged in any order."""
    draw = Random(len(some))
    parts: list[list[Exchange | Ended]] = [[] for _ in range(4)]
    for each in some:
        draw.choice(parts).append(each)
    whole = Doctor()
    for part in draw.sample(parts, 4):
        handed = Doctor()
        handed.resume(folded(part).export())
        whole.merge(handed)
    return whole


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CLEAN)
def test_any_split_gives_the_same_rows(name: str) -> None:
    assert merged(exchanges(name)).rows() == folded(exchanges(name)).rows()


def test_records_give_what_their_capture_gives() -> None:
    """`kw doctor` finds in exchange records what it finds in their capture."""
    tour = FOLDER / "tour.pcapng"
    records = kw("sniff", str(tour), "-o", "ndjson").out

    def find_problems(name: str, records: str = "") -> list[dict[str, Any]]:
        found = [
            *map(json.loads, kw("doctor", name, "-o", "ndjson", env=world(stdin=records.encode())).out.splitlines())
        ]
        for row in found:
            row.pop("command", None)
            assert {each.pop("file") for each in row["evidence"]} <= {str(tour) if name != "-" else "standard input"}
        return found

    assert find_problems("-", records) == find_problems(str(tour))


def test_what_is_not_a_state_is_refused() -> None:
    with pytest.raises(Malformed):
        Doctor().resume(b"\x93\x01\x02\x03")


def test_the_table_of_codes_names_codes_and_findings() -> None:
    assert set(CODES) <= set(ERRORS)
    assert {*CODES.values(), OTHER} <= set(FINDINGS)


@pytest.mark.parametrize("key", BODY_OBSERVERS)
@pytest.mark.parametrize("side", ["request", "response"])
def test_what_is_read_is_declared(key: int, side: Any) -> None:
    for path in BODY_OBSERVERS[key].needs(side):
        fields = api(key).message(side).fields
        for step in path.partition(":")[0].split("."):
            (field,) = (each for each in fields if each.name == step.removesuffix("[]"))
            fields = field.fields


# Scenes that show a finding, and scenes that come near.


def metadata(*topics: dict[str, Any], brokers: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    nodes = [{"node_id": 1, "host": "10.0.0.9", "port": 9092}]
    return {"brokers": nodes if brokers is None else brokers, "topics": list(topics), "controller_id": 1}


def topic(name: str, leader: int = 1, isr: tuple[int, ...] = (1, 2), code: int = 0) -> dict[str, Any]:
    part = {"partition_index": 0, "leader_id": leader, "replica_nodes": [1, 2], "isr_nodes": list(isr)}
    return {"name": name, "error_code": code, "partitions": [] if code else [part]}


def produce(name: str, *, count: int = 1, ahead_ms: int = 0, broken: bool = False) -> dict[str, Any]:
    stamp = BEGUN // MS + ahead_ms
    records = [Record(each, stamp, None, b"x" * 40) for each in range(count)]
    data = bytearray(encode_batch(records, Batch(codec="lz4")))
    if broken:
        data[-1] ^= 1
    return {"acks": 1, "topic_data": [{"name": name, "partition_data": [{"index": 0, "records": bytes(data)}]}]}


def sent(times: int, *, producer: int = -1, code: int = 0, alike: bool = False, late: bool = False) -> Scene:
    """Batches that are each sent twice (the first unanswered, refused or answered late), or that are alike."""
    scene = Scene()
    for number in range(times):
        record = Record(0, BEGUN // MS, None, b"x" * (40 + number))
        header = Batch(producer_id=producer, producer_epoch=min(producer, 0), base_sequence=number)
        batch = encode_batch([record], header)
        asked = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]}
        first = produced(code) if code or alike or late else None
        scene.ask(number, PRODUCE_9, asked, first, line=number, ends=0 if first else RST)
        scene.ask(number + (0.03 if alike else 0.3), PRODUCE_9, asked, produced(0), line=100 + number)
    return scene


def fetch(position: int, newest: int) -> tuple[dict[str, Any], dict[str, Any]]:
    asked = {
        "max_wait_ms": 500,
        "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": position}]}],
    }
    part = {"partition_index": 0, "high_watermark": newest, "records": None}
    return asked, {"responses": [{"topic": "orders", "partitions": [part]}]}


def join(generation: int, member: str = "m") -> tuple[dict[str, Any], dict[str, Any]]:
    return {"group_id": "billing", "member_id": member}, {"generation_id": generation, "member_id": "m", "leader": "m"}


LINKED: Any = batch_of_lz4(linked=True, checksum=None)
META, VERSIONS, PRODUCE_9, FETCH_11 = (METADATA, 9), (API_VERSIONS, 0), (PRODUCE, 8), (FETCH, 11)
SERVES = {"api_keys": [{"api_key": METADATA, "min_version": 8, "max_version": 12}]}
UNKNOWN = metadata(topic("ordres", code=3))


def asked_again(times: int, then: dict[str, Any] | None = None) -> Scene:
    scene = Scene().ask(0, META, {}, metadata(topic("orders"), topic("invoices")), client="other")
    for number in range(times):
        scene.ask(1 + number, META, {"topics": [{"name": "ordres"}]}, UNKNOWN)
    return scene.ask(1 + times, META, {"topics": [{"name": "ordres"}]}, then) if then else scene


def advertised(host: str, *, client: str = "10.0.0.1", port: int = 9092) -> Scene:
    answer = metadata(brokers=[{"node_id": 1, "host": host, "port": port}])
    return Scene().ask(0, META, {}, answer, host=client)


def lagging(*lags: int, every: float = 10) -> Scene:
    scene = Scene()
    for number, lag in enumerate(lags):
        scene.ask(number * every, FETCH_11, *fetch(1000 * number, 1000 * number + lag))
    return scene


def joined(generations: int, members: int = 1) -> Scene:
    scene = Scene()
    for number in range(generations):
        scene.ask(number * 2, (JOIN_GROUP, 5), *join(number + 1), client=f"member-{number % members}")
    return scene


def epochs_of_one_member(times: int, *, anew: bool = False) -> Scene:
    """A client in a group of the new protocol (KIP-848) that gets another epoch each time; `anew`: it joins for it."""
    scene = Scene()
    for number in range(times):
        request = {"group_id": "billing", "member_id": f"m-{number}", "member_epoch": 0 if anew else number + 1}
        scene.ask(number * 2, (68, 1), request, {"member_id": "m", "member_epoch": number + 2}, client="app")
    return scene


def latencies(slow: float, usual: float, times: int = 60, *, every: float = 1, pauses: int = 0) -> Scene:
    """A client's heartbeats to three brokers, the first of them slow, except for the last `pauses`."""
    scene = Scene()
    for number in range(times):
        took = usual if number >= times - pauses else slow
        for node, its in (("9092", took), ("9093", usual), ("9094", usual)):
            scene.ask(number * every, (HEARTBEAT, 3), {}, {}, broker=f"10.0.0.9:{node}", took=its)
    return scene


def other_work(slow: float, usual: float) -> Scene:
    """One client with long waits asks the first broker only, another client asks all three."""
    scene = Scene()
    for number in range(120):
        scene.ask(number, (HEARTBEAT, 3), {}, {}, broker="10.0.0.9:9092", took=slow, client="heavy")
        for node in ("9092", "9093", "9094") if not number % 2 else ():
            scene.ask(number, (HEARTBEAT, 3), {}, {}, broker=f"10.0.0.9:{node}", took=usual)
    return scene


def connections(count: int, exchanges: int, every: float) -> Scene:
    scene = Scene()
    for number in range(count):
        for turn in range(exchanges):
            scene.ask(number * every + turn / 100, (HEARTBEAT, 3), {}, {}, line=number)
    return scene


def metadata_asked(count: int, every: float, *, on_each: int = 1000) -> Scene:
    """Requests for metadata, of which `on_each` are on each connection."""
    scene = Scene()
    for number in range(count):
        scene.ask(number * every, META, {}, metadata(), line=number // on_each)
    return scene


def batches(count: int, every: float, records: int = 1) -> Scene:
    scene = Scene()
    for number in range(count):
        scene.ask(number * every, PRODUCE_9, produce("orders", count=records), {})
    return scene


def transactions(aborts: int, commits: int) -> Scene:
    scene = Scene()
    for number in range(aborts + commits):
        asked = {"transactional_id": "ledger", "committed": number >= aborts}
        scene.ask(number, (26, 1), asked, {})
    return scene


def unanswered(count: int, ends: int, key: tuple[int, int] = META, *, took: float = 0.001) -> Scene:
    scene = Scene().ask(0, VERSIONS, {}, SERVES, client="other")
    for number in range(count):
        scene.ask(1 + number, key, {}, line=number, ends=ends, took=took)
    return scene


def in_sync(*sizes: int, begin: int = 0) -> Scene:
    scene = Scene()
    for number, size in enumerate(sizes, begin):
        part = {"partition_index": 0, "leader_epoch": 1, "new_isr": list(range(size)), "partition_epoch": number}
        asked = {"broker_id": 1, "topics": [{"topic_name": "orders", "partitions": [part]}]}
        scene.ask(number * 9, (ALTER_PARTITION, 1), asked, {}, client="broker-1-to-controller")
    return scene


def fetched(times: int, least: int, took: float = 0.5) -> Scene:
    scene = Scene()
    for number in range(times):
        asked, answer = fetch(number, number + 1)
        answer["responses"][0]["partitions"][0]["records"] = encode_batch([Record(number, 0, None, b"x", ())])
        scene.ask(number, FETCH_11, asked | {"min_bytes": least}, answer, took=took)
    return scene


def forgotten(times: int) -> Scene:
    scene = Scene()
    for number in range(times):
        scene.ask(number, FETCH_11, {}, {"error_code": 70})
        scene.ask(number + 0.5, FETCH_11, *fetch(200, 200))
    return scene


def sequences(*batches: tuple[int, int, int], other: int | None = None, lost: int | None = None) -> Scene:
    """Batches of a producer: base sequence, records, and the error code of the answer.

    From the one at the index `other` on records are others; the one at the index `lost` gets no answer.
    """
    scene = Scene()
    for at, (base, count, code) in enumerate(batches):
        text = b"x" if other is None or at < other else b"y"
        records = [Record(each, BEGUN // MS, None, text) for each in range(count)]
        batch = encode_batch(records, Batch(producer_id=74, producer_epoch=0, base_sequence=base))
        asked = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]}
        line = int(lost is not None and at > lost)
        scene.ask(
            at, PRODUCE_9, asked, None if at == lost else produced(code), ends=RST if at == lost else 0, line=line
        )
    return scene


def linked_blocks(code: int) -> Scene:
    asked = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": LINKED}]}]}
    return Scene().ask(0, PRODUCE_9, asked, produced(code)).ask(1, PRODUCE_9, asked, produced(code))


def coordinator_asked(code: int) -> Scene:
    """A group's coordinator is asked for, refused and then given."""
    wanted = {"key": "billing", "key_type": 0}
    refused = {"error_code": code, "node_id": -1, "host": "", "port": -1}
    found = {"node_id": 1, "host": "10.0.0.9", "port": 9092}
    return Scene().ask(0, (10, 2), wanted, refused).ask(1, (10, 2), wanted, found)


def committed_with(code: int) -> Scene:
    """A commit of a group that is refused, and then accepted."""
    asked = {"group_id": "billing", "topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}]}
    scene = Scene()
    for at, its in enumerate((code, 0)):
        done = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "error_code": its}]}]}
        scene.ask(at, (8, 2), asked, done)
    return scene


def sessions(times: int, *, every: float = 0.5, used: bool = False) -> Scene:
    """Fetches that open a session each, or go on with the first (`used`)."""
    scene = Scene()
    for number in range(times):
        asked, answer = fetch(5, 5)
        asked |= (
            {"session_id": 7, "session_epoch": number} if used and number else {"session_id": 0, "session_epoch": 0}
        )
        scene.ask(number * every, FETCH_11, asked, answer | {"session_id": 7 if used else 7 + number}, took=0.1)
    return scene


def logins(times: int) -> Scene:
    scene = Scene()
    for number in range(times):
        said = {"error_code": 58, "error_message": "no"}
        scene.ask(number * 2, (SASL_AUTHENTICATE, 1), {"auth_bytes": b"x"}, said)
    return scene


def beats(*seconds: float, timeout: int = 45_000, member: str = "m") -> Scene:
    """A member joins, and sends heartbeats at these seconds."""
    asked, answer = join(1, member)
    scene = Scene().ask(0, (JOIN_GROUP, 5), asked | {"session_timeout_ms": timeout}, answer)
    for second in seconds:
        scene.ask(second, (HEARTBEAT, 3), {"group_id": "billing", "member_id": member}, {})
    return scene


def read_from(*positions: int, connections: int = 1) -> Scene:
    """Fetches of 500 records each, from these offsets."""
    scene = Scene()
    for number, at in enumerate(positions):
        asked, answer = fetch(at, 10_000)
        batch = encode_batch([Record(at + each, 0, None, b"x", ()) for each in (0, 499)])
        answer["responses"][0]["partitions"][0]["records"] = batch
        scene.ask(number, FETCH_11, asked, answer, line=number % connections)
    return scene


def followed(behind: int, times: int = 8, topic: str = "orders") -> Scene:
    """A follower that fetches at an offset this far before the high watermark."""
    scene = Scene()
    for number in range(times):
        asked, answer = fetch(number, number + behind)
        for element in (asked["topics"][0], answer["responses"][0]):
            element["topic"] = topic
        scene.ask(number, FETCH_11, asked | {"replica_id": 2}, answer, client="broker-2-fetcher-0")
    return scene


def led(*epochs: int) -> Scene:
    """Metadata answers for a topic of one partition, with these leader epochs."""
    scene = Scene()
    for number, epoch in enumerate(epochs):
        answer = metadata(topic("orders"))
        answer["topics"][0]["partitions"][0]["leader_epoch"] = epoch
        scene.ask(number * 10, META, {}, answer)
    return scene


def assigned(*epochs: int) -> Scene:
    """Leaders as a controller of the ZooKeeper era announces them to brokers (LeaderAndIsr)."""
    scene = Scene()
    for number, epoch in enumerate(epochs):
        part = {"partition_index": 0, "leader": number % 2, "leader_epoch": epoch, "isr": [1, 2], "replicas": [1, 2]}
        asked = {"controller_id": 1, "topic_states": [{"topic_name": "orders", "partition_states": [part]}]}
        scene.ask(number * 10, (LEADER_AND_ISR, 4), asked, {}, client="controller-1")
    return scene


def under_way(count: int, every: float, took: float, *, idempotent: bool = False) -> Scene:
    """Produce requests that overlap on one connection, each answered `took` seconds later."""
    scene = Scene()
    if idempotent:
        scene.ask(0, (22, 1), {}, {"producer_id": 7})
    for number in range(count):
        scene.ask(1 + number * every, PRODUCE_9, produce("orders", count=20), {}, took=took)
    return scene


def cut_idle(times: int, silence: float, *, by_broker: bool = True) -> Scene:
    scene = Scene()
    for number in range(times):
        scene.ask(number * 400, META, {}, metadata(topic("orders")), line=number)
        scene.reset(number * 400 + silence, by_broker=by_broker)
    return scene


def shut(begin: float, end: float, *, broker: bool = True) -> Scene:
    return Scene().ask(0, META, {}, metadata(topic("orders"))).shut(begin, end, broker=broker)


def knocked(address: str, *, refused: bool = True) -> Scene:
    """Two nodes on one host, and one on a host that answers at another port than the one that is advertised."""
    nodes = [{"node_id": number, "host": "10.0.0.9", "port": 9091 + number} for number in (1, 2)]
    nodes += [{"node_id": 3, "host": "10.0.0.8", "port": 9099}]
    scene = Scene().ask(0, META, {}, metadata(brokers=nodes)).ask(0, VERSIONS, {}, SERVES, broker="10.0.0.8:9092")
    return scene.knock(1, address, refused=refused)


def produced(code: int) -> dict[str, Any]:
    return {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "error_code": code}]}]}


def nodes(*numbers: int) -> list[dict[str, Any]]:
    return [{"node_id": number, "host": "10.0.0.9", "port": 9091 + number} for number in numbers]


def listings(*answers: tuple[tuple[int, ...], tuple[int, ...]], every: float = 10, code: int = 0) -> Scene:
    """Metadata answers with these brokers and replicas in sync of a topic with replicas on nodes 1 and 2."""
    scene = Scene()
    for number, (brokers, isr) in enumerate(answers):
        scene.ask(number * every, META, {}, metadata(topic("orders", isr=isr), brokers=nodes(*brokers)))
        if code:
            refused = produced(code if 2 not in brokers else 0)
            scene.ask(number * every + 1, PRODUCE_9, produce("orders"), refused, client="shop", line=1)
    return scene


def refused_and_answers(first: float, last: float, answered: float | None) -> Scene:
    """A node that no answer lists any more, which refuses connections for a while, and then may answer again."""
    scene = listings(((1, 2), (1, 2)), ((1,), (1,)), ((1,), (1,)))
    scene.knock(first, "10.0.0.9:9093").knock(last, "10.0.0.9:9093")
    return scene if answered is None else scene.ask(answered, VERSIONS, {}, SERVES, broker="10.0.0.9:9093", line=2)


def polled(every: float, times: int, *, position: int = 5, newest: int = 5, took: float = 0.001) -> Scene:
    """Fetches without records, one after the other."""
    scene = Scene()
    for number in range(times):
        scene.ask(number * every, FETCH_11, *fetch(position, newest), took=took)
    return scene


def busy(times: int, clients: int, every: float = 0.005) -> Scene:
    """One client that asks many times, and others that ask once."""
    scene = Scene()
    for number in range(clients):
        scene.ask(0, (HEARTBEAT, 3), {}, {}, client=f"quiet-{number}", line=number + 1)
    for number in range(times):
        scene.ask(number * every, (HEARTBEAT, 3), {}, {}, client="busy")
    return scene


def left(silence: float, *, came: bool = False, fetches: int = 20, every: float = 0.5, took: float = 0.001) -> Scene:
    """A member that fetches, asks for nothing more, leaves its group, and perhaps joins again."""
    scene = polled(every, fetches, took=took)
    at = (fetches - 1) * every + silence
    scene.ask(at, (13, 1), {"group_id": "billing", "member_id": "m"}, {}, line=1)
    return scene.ask(at + 1, (JOIN_GROUP, 5), *join(2), line=1) if came else scene


HELLO = bytes.fromhex("1603010200010001fc0303") + bytes(506)  # the client's half of a TLS handshake
SERVER_HELLO = bytes.fromhex("160303007a020000760303") + bytes(116)
ALERT = bytes.fromhex("15030300020250")
COMMITTED = {"group_id": "g", "member_id": "m", "topics": []}


def refused(times: int, *, after: tuple[int, int] = VERSIONS, login: bool = False) -> Scene:
    """Connections on which an answer is followed by a request that the broker closes on."""
    scene = Scene()
    for number in range(times):
        scene.ask(number, after, {}, {"api_keys": []} if after == VERSIONS else {}, line=number)
        if login:
            scene.ask(number + 0.1, (17, 1), {"mechanism": "PLAIN"}, {"mechanisms": ["PLAIN"]}, line=number)
        scene.ask(number + 0.2, META, {}, line=number, ends=FIN)
    return scene


def lost_login(*, others: bool = True) -> Scene:
    """A client that has answers after a login, or of another kind, then connections without a login that are closed."""
    scene = refused(3)
    if others:
        scene.ask(5, (17, 1), {"mechanism": "PLAIN"}, {"mechanisms": ["PLAIN"]}, line=8)
        scene.ask(5.1, (SASL_AUTHENTICATE, 1), {"auth_bytes": b""}, {"session_lifetime_ms": 0}, line=8)
    return scene.ask(5.2, META, {}, metadata(), line=8)


def logged_in(lifetime_ms: int, *asked: float, answered: int, again: bool = False) -> Scene:
    """A login of this lifetime, requests at these seconds, and a close at the first that is not answered."""
    scene = Scene().ask(0, (17, 1), {"mechanism": "PLAIN"}, {"mechanisms": ["PLAIN"]})
    login = {"auth_bytes": b""}, {"session_lifetime_ms": lifetime_ms}
    scene.ask(0.1, (SASL_AUTHENTICATE, 1), *login)
    if again:
        scene.ask(lifetime_ms / 1000 - 5, (SASL_AUTHENTICATE, 1), *login)
    for number, at in enumerate(asked):
        scene.ask(at, META, {}, metadata() if number < answered else None, ends=0 if number < answered else FIN)
    return scene


def refused_alert(alert: bytes, times: int = 3, broker: str = BROKER) -> Scene:
    """TLS handshakes that the client breaks off with an alert."""
    scene = Scene(None)
    for number in range(times):
        scene.speak(number, HELLO, SERVER_HELLO, ends=FIN, then=alert, broker=broker)
    return scene


def too_large(times: int, *, taken: int = 0, size: int = 1_200_000, took: float = 0.001) -> Scene:
    """Produce requests of this size that the broker closes on; before, one with as many bytes was answered."""

    def asked(many: int) -> dict[str, Any]:
        batch = encode_batch([Record(0, BEGUN // MS, None, bytes(many))])
        return {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]}

    scene = Scene().ask(0, PRODUCE_9, asked(taken or 9), produced(0), line=99)
    for number in range(times):
        scene.ask(1 + number, META, {}, metadata(), line=number)
        scene.ask(1.1 + number, PRODUCE_9, asked(size), line=number, ends=RST, took=took)
    return scene


def unheard(tries: int, *, answered: bool = True, shut: bool = False) -> Scene:
    """A request that is sent again and again, maybe to a window of 0, and a new connection that is answered."""
    scene = Scene().ask(0, META, {}, metadata(topic("orders"))).lose(60, tries)
    if shut:
        scene.shut(60.2, 60 + tries, broker=True)
    return scene.ask(70, META, {}, metadata(topic("orders")), line=1) if answered else scene


def late_records(behind_ms: int, code: int = 32) -> Scene:
    return Scene().ask(0, PRODUCE_9, produce("orders", ahead_ms=-behind_ms), produced(code))


def committed(*offsets: int, every: float = 10, asked: int = 0) -> Scene:
    """A member joins each time, and gets these committed offsets; then it fetches this many partitions of two."""
    scene = Scene()
    for number, offset in enumerate(offsets):
        at = number * every
        scene.ask(at, META, {}, metadata(topic("orders")), line=number)
        scene.ask(at + 0.1, (JOIN_GROUP, 5), *join(number + 1), line=number)
        parts = [{"partition_index": each, "committed_offset": offset} for each in (0, 1)]
        wanted = {"group_id": "billing", "topics": [{"name": "orders", "partition_indexes": [0, 1]}]}
        scene.ask(
            at + 0.2, (OFFSET_FETCH, 7), wanted, {"topics": [{"name": "orders", "partitions": parts}]}, line=number
        )
    for second in range(15 if asked else 0):
        request, answer = fetch(5, 5)
        request["topics"][0]["partitions"] = [{"partition": each, "fetch_offset": 5} for each in range(asked)]
        scene.ask(at + 1 + second, FETCH_11, request, answer, took=0.5, line=number)
    return scene


def started(*offsets: int, newest: int = 9, lines: int = 9) -> Scene:
    """A program that is started again and again, each time on a connection of its own, and fetches once."""
    scene = Scene()
    for number, offset in enumerate(offsets):
        at, line = number * 10, min(number, lines)
        scene.ask(at, (JOIN_GROUP, 5), *join(number + 1), line=line)
        wanted = {"group_id": "billing", "topics": [{"name": "orders", "partition_indexes": [0]}]}
        parts = [{"partition_index": 0, "committed_offset": offset}]
        answer = {"topics": [{"name": "orders", "partitions": parts}]}
        scene.ask(at + 0.2, (OFFSET_FETCH, 7), wanted, answer, line=line)
        scene.ask(at + 1, FETCH_11, *fetch(offset, newest), line=line)
    return scene


def outside(position: int, listed: int, *, begin: bool) -> Scene:
    """A fetch at an offset that the log does not have, and what ListOffsets then says of it."""
    asked, answer = fetch(position, -1)
    answer["responses"][0]["partitions"][0]["error_code"] = 1
    part = {"partition_index": 0, "timestamp": -2 if begin else -1}
    scene = Scene().ask(0, FETCH_11, asked, answer)
    where = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, "offset": listed}]}]}
    return scene.ask(1, (2, 5), {"topics": [{"name": "orders", "partitions": [part]}]}, where)


def held(
    seconds: int,
    *,
    level: int = 1,
    newest: int = 9,
    written: dict[float, int] | None = None,
    ended: float | None = None,
) -> Scene:
    """Fetches at the last stable offset, 5; `written`: offsets of a transactional producer's batches by second."""
    scene = Scene()
    for at, offset in (written or {}).items():
        record = Record(0, BEGUN // MS, None, b"x")
        batch = encode_batch(
            [record], Batch(producer_id=74, producer_epoch=3, base_sequence=offset, transactional=True)
        )
        part = {"index": 0, "records": batch}
        asked = {"transactional_id": "ledger", "acks": -1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
        answer = produced(0)
        answer["responses"][0]["partition_responses"][0]["base_offset"] = offset
        scene.ask(at, PRODUCE_9, asked, answer, line=1)
    if ended is not None:
        scene.ask(ended, (26, 1), {"transactional_id": "ledger", "committed": True}, {}, line=1)
    for second in range(seconds):
        asked, answer = fetch(5, newest)
        answer["responses"][0]["partitions"][0]["last_stable_offset"] = 5
        scene.ask(second, FETCH_11, asked | {"isolation_level": level}, answer, took=0.5)
    return scene


def away(seconds: float, *, line: int = 1) -> Scene:
    """A member that leaves its group, and joins it again on a connection."""
    scene = polled(0.5, 20).ask(0, (JOIN_GROUP, 5), *join(1), line=1)
    scene.ask(10, (13, 1), {"group_id": "billing", "member_id": "m"}, {}, line=1)
    return scene.ask(10 + seconds, (JOIN_GROUP, 5), *join(2), line=line)


def only_metadata(times: int, every: float = 0.5, *, more: bool = False) -> Scene:
    """A client that gets a name as the broker's address, and asks for metadata alone."""
    scene = Scene()
    for number in range(times):
        answer = metadata(topic("orders"), brokers=[{"node_id": 1, "host": "kafka-0.internal", "port": 9092}])
        scene.ask(number * every, META, {}, answer)
    return scene.ask(times, PRODUCE_9, produce("orders"), produced(0)) if more else scene


def offered(*low: int) -> Scene:
    """A broker that offers Produce and Fetch from these versions on, and closes on Produce 2."""
    keys = [{"api_key": key, "min_version": least, "max_version": 13} for key, least in enumerate(low)]
    scene = Scene().ask(0, VERSIONS, {}, {"api_keys": keys}, client="other")
    return scene.ask(1, (PRODUCE, 2), {"acks": 1, "topic_data": []}, ends=FIN, line=1)


def knocked_by_brokers(times: int, address: str = "10.0.0.9:19093", *, refused: bool = False) -> Scene:
    """Connections from a broker's host that another port of a broker's host does not answer."""
    scene = Scene().ask(0, META, {}, metadata()).ask(0, META, {}, metadata(), broker="10.0.0.1:9092", host="10.0.0.5")
    for number in range(times):
        scene.knock(1 + number, address, refused=refused)
    return scene


def spoken(data: bytes, answer: bytes = b"", *, times: int = 2, ends: int = RST) -> Scene:
    """Connections with other bytes than Kafka's to a broker that speaks Kafka."""
    scene = Scene(None).ask(0, META, {}, metadata())
    for number in range(times):
        scene.speak(1 + number, data, answer, ends=ends)
    return scene


PART = {"transactional_id": "ledger", "topics": []}
BEGIN = {f"v3_and_below_{name}": value for name, value in PART.items()}
THROTTLED = {"throttle_time_ms": 400, "brokers": [], "topics": []}

SCENES: list[tuple[str, Scene, str, str]] = [
    *ATTACK_SCENES,
    *NETWORK_SCENES,
    *RECORD_SCENES,
    *KEY_SCENES,
    *IDENTITY_SCENES,
    *CLUSTER_SCENES,
    *CLIENT_SCENES,
    *REFUSAL_SCENES,
    *CAUSE_SCENES,
    *FURTHER_SCENES,
    *TOPOLOGY_SCENES,
    *SILENCE_SCENES,
    *TLS_SCENES,
    *READING_SCENES,
    # finding, scene, severity, text in the title
    ("topic-unknown", asked_again(4), "error", "topic ordres does not exist (did the client mean orders?)"),
    ("topic-unknown", asked_again(2), "warning", "topic ordres"),
    ("topic-unknown", asked_again(8, metadata(topic("ordres"))), "note", "topic ordres does not exist"),
    (
        "access-denied",
        Scene().ask(0, META, {"topics": [{"name": "pay"}]}, metadata(topic("pay", code=29))),
        *("warning", "topic pay is denied to app: TOPIC_AUTHORIZATION_FAILED"),
    ),
    (
        "login-failed",
        Scene().ask(0, (SASL_AUTHENTICATE, 1), {"auth_bytes": b"x"}, {"error_code": 58, "error_message": "no"}),
        *("warning", "logins of app fail with SASL_AUTHENTICATION_FAILED"),
    ),
    ("advertised-wildcard", advertised("0.0.0.0"), "error", "node 1 advertises 0.0.0.0:9092"),
    ("advertised-loopback", advertised("localhost"), "error", "node 1 advertises localhost:9092"),
    ("advertised-elsewhere", advertised("10.0.0.9", port=19092), "note", "advertises 10.0.0.9:19092"),
    ("version-refused", unanswered(1, RST, (METADATA, 1)), "error", "Metadata 1 of app is not served by 10.0.0.9:9092"),
    (
        *("unanswered", unanswered(3, RST), "warning"),
        "Metadata of app stays unanswered by 10.0.0.9:9092; the broker reset the connection 1.0ms later",
    ),
    (
        *("unanswered", unanswered(3, RST).knock(3.5, BROKER).knock(5, BROKER), "warning"),
        "the broker reset the connection 1.0ms later, and new ones were refused from 14:13:23 UTC on",
    ),
    (
        "unanswered",
        unanswered(3, FIN),
        "warning",
        "stays unanswered by 10.0.0.9:9092; the connection was closed 1.0ms later",
    ),
    ("unanswered", unanswered(3, FIN, took=30), "warning", "; the connection was closed 30s later"),
    ("connection-churn", connections(40, 2, 0.5), "warning", "app opens 2.1 connections a second, each for 2.0"),
    (
        "partition-offline",
        Scene().ask(0, META, {}, metadata(topic("orders", -1))),
        "error",
        "orders-0 without a leader",
    ),
    (
        "partition-offline",
        Scene().ask(0, META, {}, metadata(topic("orders", -1))).ask(1, META, {}, metadata(topic("orders"))),
        *("note", "orders-0"),
    ),
    (
        "under-replicated",
        Scene().ask(0, META, {}, metadata(topic("orders", isr=(1,)), brokers=nodes(1, 2))),
        *("warning", "orders-0 under-replicated: node 2 is not in sync"),
    ),
    ("lag-growing", lagging(100, 20_000), "warning", "app falls behind on orders: 20,000 records, 100 at first"),
    ("rebalance-storm", joined(8), "warning", "group billing rebalances again and again: 8 generations, 1 members"),
    (
        *("slow-broker", latencies(0.1, 0.01), "warning"),
        "10.0.0.9:9092 takes 100.0 ms for Heartbeat, its peers 10.0 ms (medians)",
    ),
    ("slow-broker", latencies(0.1, 0.01, times=100, pauses=20), "warning", "10.0.0.9:9092 takes"),
    ("metadata-storm", metadata_asked(60, 0.1), "warning", "app asks for metadata 10.2 times a second"),
    ("small-batches", batches(600, 0.005), "note", "app sends 1.0 records a batch to orders"),
    ("transactions-abort", transactions(5, 5), "warning", "5 of 10 transactions of ledger were aborted"),
    (
        "transaction-hangs",
        Scene().ask(0, (24, 3), BEGIN, {}).ask(100, META, {}, metadata()),
        *("warning", "a transaction of ledger is open for 100s"),
    ),
    (
        "records-corrupt",
        Scene().ask(0, PRODUCE_9, produce("a", broken=True), {}),
        "error",
        "batches produced by app on a",
    ),
    ("clock-ahead", Scene().ask(0, PRODUCE_9, produce("a", ahead_ms=120_000), {}), "warning", "is 2 minutes ahead"),
    (
        "throttled",
        Scene().ask(0, META, {}, THROTTLED).ask(1, META, {}, THROTTLED).ask(2, META, {}, THROTTLED),
        *("warning", "10.0.0.9:9092 throttles app: 1.2s in all, 400ms at most"),
    ),
    ("login-failed", logins(12), "error", "fail with SASL_AUTHENTICATION_FAILED, 12 times, every 2s"),
    (
        *("unanswered", unanswered(3, RST).ask(10, META, {}, metadata(), line=9), "warning"),
        "the broker reset the connection 1.0ms later; asked again, it was answered",
    ),
    ("rebalance-storm", joined(8), "warning", "1 members; most often member-0 joins again (8 times)"),
    ("rebalance-storm", epochs_of_one_member(8), "warning", "group billing rebalances again and again: 8 generations"),
    (
        "isr-flapping",
        in_sync(*[2, 1] * 5),
        "warning",
        "replicas of orders-0 fall out of sync and come back: 10 changes",
    ),
    ("isr-shrunk", in_sync(3, 2), "warning", "orders-0: replicas fell out of sync"),
    (
        *("isr-shrunk", in_sync(1, begin=1).ask(0, META, {}, metadata(topic("orders"))), "warning"),
        "orders-0: replicas fell out of sync",
    ),
    (
        "fetch-waits",
        fetched(25, 1000),
        "note",
        "app gets records only after 500ms, because they are below",
    ),
    ("fetch-sessions-lost", forgotten(12), "warning", "has forgotten the fetch session of app 12 times"),
    (
        "sequence-broken",
        Scene().ask(0, PRODUCE_9, produce("a"), produced(45)),
        *("warning", "topic orders: OUT_OF_ORDER_SEQUENCE_NUMBER (Produce)"),
    ),
    (
        *("sequence-broken", sequences((154, 2, 0), (156, 1, 0), (158, 2, 45)), "warning"),
        "(Produce): partition 0 expected 157, 158 came: 157 was never accepted",
    ),
    (
        *("sequence-broken", sequences((0, 2, 6), (2, 2, 0), (0, 2, 45)), "warning"),
        "(Produce): partition 0 expected 4, 0 came: a batch was sent again behind later ones",
    ),
    (
        "producer-fenced",
        Scene().ask(0, PRODUCE_9, produce("a"), produced(90)),
        *("note", "topic orders: PRODUCER_FENCED (Produce)"),
    ),
    (
        "quota-exceeded",
        Scene().ask(0, (19, 6), {}, {"topics": [{"name": "a", "error_code": 89}]}),
        *("note", "topic a: THROTTLING_QUOTA_EXCEEDED (CreateTopics)"),
    ),
    (
        "telemetry-refused",
        Scene().ask(0, (PUSH_TELEMETRY, 0), {}, {"error_code": 118}),
        *("note", "client app: TELEMETRY_TOO_LARGE (PushTelemetry)"),
    ),
    (
        "heartbeats-late",
        beats(3, 6, 9, 50, 53),
        "warning",
        "app in group billing was not heard for 40s; its session",
    ),
    ("heartbeats-late", beats(2, 4, 10, 12, timeout=6000), "warning", "for 5s; its session times out after 6s"),
    (
        "read-again",
        read_from(*range(0, 3000, 500), 0, 500),
        "note",
        "app fetched records of orders again on the same connection: 4,000 offsets, 3,000 different",
    ),
    (
        *("follower-behind", followed(5000), "warning"),
        "node 2 is up to 5,000 records behind the in-sync replicas of orders-0",
    ),
    ("leaders-move", led(1, 4, 9), "warning", "the leaders of orders moved 8 times (1 partitions)"),
    ("leaders-move", assigned(1, 2, 5, 9), "warning", "the leaders of orders moved 8 times"),
    ("many-in-flight", under_way(300, 0.01, 0.1), "note", "app has 9.7 Produce requests under way"),
    (
        "one-in-flight",
        under_way(300, 0.0101, 0.01),
        "note",
        "app waits for each Produce answer of 10.0.0.9:9092 (10.0ms)",
    ),
    (
        "idle-cut",
        cut_idle(3, 350),
        "warning",
        "3 connections of app to 10.0.0.9:9092 were reset from the broker's side",
    ),
    ("idle-cut", cut_idle(2, 60, by_broker=False), "warning", "from the client's side after 60s"),
    ("zero-window", shut(1, 3), "warning", "10.0.0.9:9092 took nothing from app for 2s in all at least"),
    ("zero-window", shut(1, 3, broker=False), "warning", "app took nothing from 10.0.0.9:9092"),
    (
        "no-connection",
        knocked("10.0.0.9:9093"),
        "warning",
        "10.0.0.1 cannot connect to node 2 at 10.0.0.9:9093: refused",
    ),
    (
        *("no-connection", knocked("10.0.0.9:9093", refused=False), "warning"),
        "10.0.0.1 cannot connect to node 2 at 10.0.0.9:9093: not answered",
    ),
    (
        *("no-connection", knocked("10.0.0.8:9099"), "error"),
        "10.0.0.1 cannot connect to node 3 at 10.0.0.8:9099: refused; its host answers at 10.0.0.8:9092",
    ),
    (
        "no-connection",
        knocked("10.0.0.9:9093").ask(9, META, {}, metadata(topic("orders")), broker="10.0.0.9:9093"),
        *("note", "cannot connect to node 2 at 10.0.0.9:9093: refused"),
    ),
    ("sent-again", sent(2, producer=7), "note", "app sent 2 batches to orders again, because no answer came"),
    ("sent-again", sent(2, producer=7, late=True), "note", "app sent 2 batches to orders again"),
    ("sent-again", sent(4, code=6), "note", "app sent 4 batches to orders again, after they had been refused"),
    ("sent-twice", sent(2), "warning", "app sent 2 batches to orders again without idempotence; the first try may"),
    ("sent-twice", sent(4, code=7), "warning", "app sent 4 batches to orders again without idempotence"),
    (
        *(
            "request-closed",
            Scene().ask(0, META, {}, metadata(), line=5).ask(1, (8, 2), COMMITTED, cut=3, ends=FIN),
            "error",
        ),
        "10.0.0.9:9092 closes the connection on OffsetCommit 2 of app: cut off at byte 31 in topics",
    ),
    (
        *(
            "request-closed",
            Scene().ask(0, META, {}, cut=1, ends=RST).ask(1, META, {}, cut=1, ends=RST, line=1),
            "error",
        ),
        "of app: cut off at byte 18 in _tagged_fields, 2 of 2 times",
    ),
    (
        *("request-odd", Scene().ask(0, META, {}, metadata()).ask(1, (8, 2), COMMITTED, {}, behind=b"x"), "note"),
        "OffsetCommit 2 of app has bytes behind the last field; 10.0.0.9:9092 did not close the connection",
    ),
    (
        *("answer-odd", Scene().ask(0, (FETCH, 1), *fetch(7, 9), answered_in=0), "warning"),
        "10.0.0.9:9092 answers Fetch 1 of app with the layout of another version",
    ),
    (
        *("answers-misplaced", Scene().ask(0, META, {}, metadata(), answered_as=4697), "error"),
        "10.0.0.9:9092 answers with correlation ids that no request has",
    ),
    (
        *("tls-to-plaintext", spoken(HELLO), "error"),
        "10.0.0.7 speaks TLS to 10.0.0.9:9092, which speaks plaintext: 2 connections, closed by the broker without an",
    ),
    ("tls-to-plaintext", Scene().speak(0, HELLO), "error", "10.0.0.9:9092, which gives no byte of TLS back"),
    (
        *("plaintext-to-tls", Scene().speak(0, HELLO, SERVER_HELLO).ask(1, VERSIONS, {}, ends=FIN), "error"),
        "10.0.0.1 speaks plaintext to 10.0.0.9:9092, which speaks TLS: 1 connection, closed by the broker",
    ),
    (
        *("not-kafka", spoken(b"GET /health HTTP/1.1\r\nHost: kafka\r\n\r\n"), "warning"),
        "10.0.0.7 sends HTTP/1 to 10.0.0.9:9092, which speaks Kafka: 2 connections, closed by the broker without an",
    ),
    (
        "not-kafka",
        spoken(bytes.fromhex("0e000000 0300 0100 01000000 0400 6d79676f")),
        "warning",
        "10.0.0.7 sends bytes that are no frame (the size 14 is written little-endian) to 10.0.0.9:9092",
    ),
    (
        *("versions-closed", Scene().ask(0, META, {}, metadata()).ask(1, (API_VERSIONS, 3), {}, ends=FIN), "error"),
        "10.0.0.9:9092 closes the connection on ApiVersions 3 of app",
    ),
    ("login-missing", refused(3), "error", "on the first request of app after ApiVersions (Metadata), 3 of 3 times"),
    ("login-missing", lost_login(), "error", "on the first request of app after ApiVersions (Metadata), 3 of 3 times"),
    ("login-missing", refused(1), "warning", "10.0.0.9:9092 closes the connection on the first request of app"),
    (
        *("login-expired", logged_in(60_000, 30, 61, answered=1), "warning"),
        "app does not log in again: 10.0.0.9:9092 closes 1 of its connections, whose logins are older than 60s",
    ),
    (
        *("broker-gone", listings(((1, 2), (1, 2)), ((1,), (1,)), ((1,), (1,))), "error"),
        "node 2 (10.0.0.9:9093) is gone: brokers no longer list it; a replica of orders-0 is there",
    ),
    (
        *("broker-back", refused_and_answers(25, 30, 31), "warning"),
        "node 2 (10.0.0.9:9093) was gone for at least 20s; a replica of orders-0 is there",
    ),
    (
        *("broker-gone", listings(((1,), (1,)), ((1,), (1,))), "error"),
        "node 2 is gone since before the capture: brokers no longer list it; a replica of orders-0 is there",
    ),
    (
        *("broker-back", listings(((1, 2), (1, 2)), *[((1,), (1,))] * 9, ((1, 2), (1, 2)), code=19), "warning"),
        "node 2 (10.0.0.9:9093) was gone for at least 80s; a replica of orders-0 is there",
    ),
    (
        *("fetch-sessions-unused", sessions(30), "warning"),
        "app opens a fetch session at 10.0.0.9:9092 with each Fetch and never uses it: 30 sessions",
    ),
    (
        *("fetch-loop", polled(0.002, 400, position=357, newest=356), "warning"),
        "app asks 10.0.0.9:9092 400 times a second and gets nothing at once: it reads orders-0 at 357, beyond the high",
    ),
    ("fetch-loop", polled(0.01, 300), "warning", "app asks 10.0.0.9:9092 100 times a second and gets nothing at once"),
    ("busiest-client", busy(600, 3), "note", "busy makes 100% of all exchanges: 200 a second"),
    ("poll-stopped", left(8), "warning", "app fetched nothing for more than 7s, then left group billing"),
    ("poll-stopped", left(8, came=True), "warning", "then left group billing, and came back"),
    (
        *("tls-refused", refused_alert(bytes.fromhex("15030300020230")), "error"),
        "10.0.0.7 breaks off the TLS handshake with 10.0.0.9:9092 (unknown_ca), as it refuses the certificate: 3 conn",
    ),
    (
        *("request-too-large", too_large(3, size=90_000, taken=70_000), "error"),
        "on Produce of app to orders from 90.1kB on, 3 of 3 times, and answers those of up to 70.1kB",
    ),
    (
        *("request-too-large", too_large(3), "error"),
        "10.0.0.9:9092 closes the connection on Produce of app to orders from 1.2MB on, 3 of 3 times",
    ),
    (
        *("idle-dropped", unheard(5), "warning"),
        "requests of app (10.0.0.1) on 1 of its connections to 10.0.0.9:9092 are not acknowledged, after 59s of silence"
        " or more, and new ones are answered: likely a NAT or firewall forgot them",
    ),
    (
        *("clock-behind", late_records(7_200_000), "warning"),
        "app writes time stamps that are 2 hours behind, and brokers refuse them",
    ),
    ("timestamp-refused", late_records(7_200_000), "note", "topic orders: INVALID_TIMESTAMP (Produce)"),
    (
        *("commit-lost", committed(7, -1), "warning"),
        "group billing had committed offsets 7 of orders-0, 7 of orders-1 at 14:13:20 UTC, and has none any more",
    ),
    (
        *("start-repeated", started(3, 5, 5, 5), "warning"),
        "app in group billing began 3 times at orders-0 offset 5, and committed nothing behind it",
    ),
    (
        *("assigned-unread", committed(5, asked=1), "warning"),
        "app in group billing has orders-1 and asked for no record of it in 14.8s, while it reads others",
    ),
    (
        *("offset-out-of-range", outside(5, 9, begin=True), "note"),
        "the position 5 of partition 0 is before the begin of the log, 9: retention",
    ),
    (
        *("offset-out-of-range", outside(50, 9, begin=False), "note"),
        "the position 50 of partition 0 is behind the end of the log, 9",
    ),
    (
        *("offset-out-of-range", outside(5, 9, begin=False), "note"),
        "the position 5 of partition 0 is not behind the end of the log, 9 soon after, so it is likely before its"
        " begin: retention (or DeleteRecords) removed its records before they were read, and a client that goes on",
    ),
    (
        *("transaction-hangs", held(70), "warning"),
        "readers of committed records wait at orders-0 offset 5 for 69s",
    ),
    ("transaction-hangs", held(15), "note", "readers of committed records wait at orders-0 offset 5 for 14s"),
    (
        *("transaction-hangs", held(15, written={0.1: 5}), "warning"),
        "the open transaction of ledger holds readers of committed records at orders-0 offset 5 for 14s; app, whose"
        " it is, wrote nothing there for 13.9s",
    ),
    (
        *("transaction-hangs", held(15, written={0.1: 5, 9.1: 7}), "note"),
        "likely the open transaction of ledger holds readers of committed records at orders-0 offset 5",
    ),
    (
        *("transaction-hangs", held(15, written={0.1: 5}, ended=3.1), "note"),
        "readers of committed records wait at orders-0 offset 5 for 14s",
    ),
    (
        *("transaction-hangs", held(15, written={0.1: 4}), "note"),
        "readers of committed records wait at orders-0 offset 5 for 14s",
    ),
    (
        *("sequence-restarted", sequences((0, 2, 0), (2, 2, 0), (0, 2, 45), (2, 2, 45)), "error"),
        "app counts its batches to orders from 0 again without a new epoch (producer id 74, partition 0 expected 4)",
    ),
    (
        *("lz4-refused", linked_blocks(-1), "error"),
        "10.0.0.9:9092 refuses batches of app: their LZ4 frames have linked blocks",
    ),
    (
        *("request-closed", Scene().ask(0, VERSIONS, {}, SERVES).ask(1, META, {}, says=(1, 99), ends=FIN), "error"),
        "10.0.0.9:9092 closes the connection on Fetch 99 of app: a version that no release of Kafka has that kw knows",
    ),
    (
        *("coordinator-moved", coordinator_asked(15), "note"),
        "group billing: COORDINATOR_NOT_AVAILABLE (FindCoordinator)",
    ),
    (
        *("coordinator-moved", committed_with(16), "note"),
        "group billing: NOT_COORDINATOR (OffsetCommit)",
    ),
    (
        *("access-denied", coordinator_asked(30), "warning"),
        "group billing is denied to app: GROUP_AUTHORIZATION_FAILED",
    ),
    (
        *("sequence-reused", sequences((0, 2, 0), (2, 2, 0), (2, 2, 46), other=2), "error"),
        "app gives new records of orders sequence numbers that it has used (producer id 74, DUPLICATE_SEQUENCE_NUMBER):"
        " partition 0, 2 came again with other records, 4 was expected",
    ),
    (
        *("sequence-reused", sequences((0, 2, 0), (2, 2, 0), (0, 2, 0), other=2), "error"),
        "(producer id 74): partition 0, 0 came again with other records, 4 was expected",
    ),
    (
        *("sequence-reused", sequences((0, 3, 0), (3, 4, 0), (5, 1, 46)), "warning"),
        "that it likely has used (producer id 74, DUPLICATE_SEQUENCE_NUMBER): partition 0, 5 came as a batch of its"
        " own, after batches around it, 7 was expected",
    ),
    (
        *("poll-stopped", away(3), "warning"),
        "app left group billing while it went on running, and came back 3s later on the same connection",
    ),
    (
        *("advertised-elsewhere", only_metadata(10), "note"),
        "node 1 answers at 10.0.0.9:9092 and advertises kafka-0.internal:9092, to which nobody connected",
    ),
    ("version-refused", offered(0, 4), "error", "Produce 2 of app is not served by 10.0.0.9:9092"),
    (
        "no-connection",
        knocked_by_brokers(3),
        "warning",
        "10.0.0.1 cannot connect to node 1 at 10.0.0.9:19093: not answered",
    ),
    ("election", Scene().ask(0, (52, 0), {}, {}, client="raft-client-1"), "warning", "10.0.0.1 ask for votes"),
]
# Findings that come with another one as its cause.
BESIDES = {
    "unanswered": {"no-connection"},
    "clock-behind": {"timestamp-refused"},
    "timestamp-refused": {"clock-behind"},
    "sequence-restarted": {"sequence-broken"},
    "lz4-refused": {"broker-failed"},
    "sequence-reused": {"sequence-broken"},
    "sent-twice": {"timed-out"},
    "broker-gone": {"under-replicated"},
    "broker-back": {"replicas-missing", "under-replicated"},
    **ATTACK_BESIDES,
    **RECORD_BESIDES,
    **IDENTITY_BESIDES,
    **CLIENT_BESIDES,
    **REFUSAL_BESIDES,
    **CAUSE_BESIDES,
    **FURTHER_BESIDES,
    **TOPOLOGY_BESIDES,
    **SILENCE_BESIDES,
    **NETWORK_BESIDES,
}
NEAR: list[tuple[str, Scene]] = [
    *ATTACK_NEAR,
    *RECORD_NEAR,
    *KEY_NEAR,
    *IDENTITY_NEAR,
    *CLUSTER_NEAR,
    *CLIENT_NEAR,
    *REFUSAL_NEAR,
    *CAUSE_NEAR,
    *FURTHER_NEAR,
    *TOPOLOGY_NEAR,
    *SILENCE_NEAR,
    *TLS_NEAR,
    *READING_NEAR,
    *NETWORK_NEAR,
    ("tls-refused", refused_alert(b"")),
    ("tls-refused", refused_alert(bytes.fromhex("15030300020100"))),  # an orderly end
    ("tls-refused", refused_alert(bytes.fromhex("15030300020230"), broker="10.0.0.9:443")),
    ("request-too-large", too_large(1)),
    ("request-too-large", too_large(3, taken=1_300_000)),
    ("request-too-large", too_large(3, size=60_000)),
    ("request-too-large", too_large(2, size=90_000)),
    ("request-too-large", too_large(3, size=90_000, taken=100_000)),
    ("request-too-large", too_large(3, size=90_000, took=5)),  # the client may have waited for so long
    ("idle-dropped", unheard(3)),
    ("idle-dropped", unheard(5, answered=False)),
    ("idle-dropped", unheard(5, shut=True)),
    ("clock-behind", late_records(7_200_000, code=0)),
    ("timestamp-refused", late_records(7_200_000, code=0)),
    ("commit-lost", committed(-1, 7)),
    ("commit-lost", committed(-1, -1)),
    ("start-repeated", started(3, 5, 5)),
    ("start-repeated", started(5, 5, 5, 6)),
    ("start-repeated", started(5, 5, 5, newest=5)),
    ("start-repeated", started(5, 5, 5, lines=1)),
    ("assigned-unread", committed(5, asked=2)),
    ("assigned-unread", committed(5)),
    ("assigned-unread", only_metadata(10)),
    ("transaction-hangs", held(9)),
    ("transaction-hangs", held(70, level=0)),
    ("transaction-hangs", held(70, newest=5)),
    ("sequence-restarted", sequences((0, 2, 0), (2, 2, 0), (0, 2, 45))),
    ("sequence-restarted", sequences((0, 2, 45), (2, 2, 45))),
    ("lz4-refused", linked_blocks(0)),
    ("request-closed", Scene().ask(0, VERSIONS, {}, SERVES).ask(1, META, {}, {}, says=(1, 99))),
    ("sequence-reused", sequences((0, 2, 0), (2, 2, 0), (2, 2, 46))),
    ("sequence-broken", sequences((0, 2, 0), (2, 2, 0), (2, 2, 46), lost=1)),
    ("sequence-reused", sequences((0, 2, 0), (2, 2, 0), (2, 2, 46), lost=1)),
    ("sequence-reused", sequences((0, 2, 0), (2, 2, 0), (2, 2, 0), lost=1)),
    ("sequence-reused", sequences((0, 2, 6), (0, 2, 0), other=1)),
    ("sequence-reused", sequences((4, 2, 0), (2, 2, 46), other=1)),
    ("poll-stopped", away(0.2)),
    ("poll-stopped", away(3, line=2)),
    ("advertised-elsewhere", only_metadata(4)),
    ("advertised-elsewhere", only_metadata(10, every=30)),
    ("advertised-elsewhere", only_metadata(10, more=True)),
    ("version-refused", offered(0, 0)),
    ("no-connection", knocked_by_brokers(2)),
    ("no-connection", knocked_by_brokers(3, refused=True)),
    ("no-connection", knocked_by_brokers(3, "10.0.0.7:19093")),
    ("request-closed", Scene().ask(0, META, {}, ends=FIN)),
    ("request-closed", Scene().ask(0, (8, 2), COMMITTED, {}, behind=b"x")),
    ("request-odd", Scene().ask(0, (8, 2), COMMITTED, {})),
    ("answer-odd", Scene().ask(0, (FETCH, 1), *fetch(7, 9))),
    ("answers-misplaced", Scene().ask(0, META, {}, metadata()).ask(1, META, {}, metadata())),
    ("tls-to-plaintext", spoken(HELLO, SERVER_HELLO)),
    ("tls-to-plaintext", spoken(HELLO, ends=0)),
    ("tls-to-plaintext", Scene().speak(0, HELLO, broker="10.0.0.9:443")),
    ("plaintext-to-tls", Scene().ask(0, META, {}, metadata()).ask(1, VERSIONS, {}, line=1, ends=FIN)),
    ("plaintext-to-tls", Scene().ask(1, VERSIONS, {}, ends=FIN)),
    ("not-kafka", Scene(None).speak(0, b"GET / HTTP/1.1\r\n\r\n")),
    ("versions-closed", refused(3)),
    ("versions-closed", Scene().ask(0, (API_VERSIONS, 3), {}, {}).ask(1, (API_VERSIONS, 3), {}, ends=FIN)),
    ("login-missing", refused(3, login=True)),
    ("login-missing", lost_login(others=False)),
    ("login-missing", refused(3).ask(9, META, {}, metadata(), line=9)),
    ("login-missing", refused(3, after=(HEARTBEAT, 3))),
    ("broker-gone", listings(((1, 2), (1, 2)), ((1,), (1,)), ((1, 2), (1, 2)))),
    ("broker-gone", refused_and_answers(25, 30, 31)),
    ("broker-back", refused_and_answers(25, 30, None)),
    ("broker-gone", listings(((1, 2), (1,)), ((1, 2), (1,)))),
    ("broker-gone", listings(((1, 2), (1, 2)), ((1,), (1, 2)))),
    ("broker-back", listings(((1,), (1,)), ((1,), (1,)))),
    ("fetch-sessions-unused", sessions(30, used=True)),
    ("fetch-sessions-unused", sessions(10)),
    ("fetch-sessions-unused", sessions(30, every=4)),
    ("fetch-loop", polled(0.002, 150)),
    ("fetch-loop", polled(0.05, 300)),
    ("fetch-loop", polled(0.01, 300, took=0.03)),
    ("busiest-client", busy(600, 1)),
    ("busiest-client", busy(600, 3, every=0.1)),
    ("poll-stopped", left(2)),
    ("poll-stopped", left(6, every=6, took=5.9)),  # brokers hold its fetches, then it closes
    ("poll-stopped", left(8, fetches=0)),
    ("login-expired", logged_in(60_000, 30, 40, answered=1)),
    ("login-expired", logged_in(60_000, 30, 61, answered=1, again=True)),
    ("login-expired", logged_in(0, 30, 61, answered=1)),
    ("advertised-loopback", advertised("localhost", client="127.0.0.1")),
    ("advertised-elsewhere", advertised("10.0.0.9")),
    ("advertised-elsewhere", advertised("kafka-1.example")),
    ("version-refused", unanswered(1, RST)),
    ("unanswered", unanswered(2, RST)),
    ("unanswered", unanswered(4, FIN, FETCH_11)),
    ("connection-churn", connections(40, 6, 0.5)),
    ("connection-churn", connections(40, 2, 5)),
    ("connection-churn", connections(20, 2, 0.5)),
    ("lag-growing", lagging(100, 9_000)),
    ("lag-growing", lagging(19_000, 20_000)),
    ("lag-growing", lagging(100, 20_000, every=5)),
    ("rebalance-storm", joined(5)),
    ("rebalance-storm", epochs_of_one_member(8, anew=True)),
    ("rebalance-storm", joined(8, members=4)),
    ("slow-broker", latencies(0.025, 0.01)),
    ("slow-broker", latencies(0.1, 0.01, times=40)),
    ("slow-broker", latencies(0.024, 0.005)),
    # For 20 seconds only, half of the time, or in other work than the peers'.
    ("slow-broker", latencies(0.1, 0.01, every=0.3)),
    ("slow-broker", latencies(0.1, 0.01, times=100, pauses=45)),
    ("slow-broker", other_work(0.1, 0.01)),
    ("metadata-storm", metadata_asked(60, 1)),
    ("metadata-storm", metadata_asked(40, 0.1)),
    ("small-batches", batches(600, 0.005, records=3)),
    ("small-batches", batches(600, 0.05)),
    ("transactions-abort", transactions(2, 8)),
    ("transactions-abort", transactions(5, 30)),
    ("transaction-hangs", Scene().ask(0, (24, 3), BEGIN, {}).ask(30, META, {}, metadata())),
    (
        "transaction-hangs",
        Scene()
        .ask(0, (24, 3), BEGIN, {})
        .ask(1, (26, 1), {"transactional_id": "ledger"}, {})
        .ask(100, META, {}, metadata()),
    ),
    ("isr-flapping", in_sync(*[3, 2, 3] * 2)),
    ("isr-shrunk", in_sync(3, 2, 3)),
    ("isr-shrunk", in_sync(2, begin=1).ask(0, META, {}, metadata(topic("orders")))),
    ("isr-shrunk", in_sync(3, 2).ask(30, META, {}, metadata(topic("orders")))),
    ("fetch-sessions-lost", forgotten(5)),
    ("fetch-waits", fetched(25, 1)),
    ("fetch-waits", fetched(15, 1000)),
    ("fetch-waits", fetched(25, 1000, took=0.3)),
    ("records-corrupt", Scene().ask(0, PRODUCE_9, produce("a"), {})),
    ("clock-ahead", Scene().ask(0, PRODUCE_9, produce("a", ahead_ms=30_000), {})),
    ("throttled", Scene().ask(0, META, {}, THROTTLED)),
    ("heartbeats-late", beats(3, 6, 9, 38, 41)),
    ("heartbeats-late", beats(3, 40)),
    ("heartbeats-late", beats(*range(3, 100, 3))),
    ("read-again", read_from(*range(0, 4000, 500))),
    ("read-again", read_from(*range(0, 6000, 500), 0, 500)),
    ("read-again", read_from(0, 0, 500, 500, 1000, 1000, 1500, 1500, connections=2)),
    ("follower-behind", followed(500)),
    ("follower-behind", followed(5000, times=4)),
    ("follower-behind", followed(5000, topic="__cluster_metadata")),
    ("leaders-move", led(1, 4, 7)),
    ("leaders-move", led(9, 4, 1)),
    ("leaders-move", assigned(1, 2, 3)),
    ("many-in-flight", under_way(300, 0.01, 0.1, idempotent=True)),
    ("many-in-flight", under_way(300, 0.025, 0.1)),
    ("many-in-flight", under_way(100, 0.01, 0.1)),
    ("one-in-flight", under_way(300, 0.02, 0.01)),
    ("one-in-flight", under_way(100, 0.0101, 0.01)),
    ("sent-again", sent(1, producer=7)),
    ("sent-again", sent(4, producer=7, alike=True)),
    ("sent-twice", sent(4, producer=7)),
    ("sent-twice", sent(4, code=6)),
    ("sent-twice", sent(4, alike=True)),
    ("sent-twice", sent(1)),
    ("idle-cut", cut_idle(3, 15)),
    ("idle-cut", cut_idle(1, 350)),
    ("zero-window", shut(1, 1.6)),
    ("zero-window", shut(1, 1.2).ask(5, META, {}, metadata()).shut(8, 8.2, broker=True)),
    ("no-connection", knocked("10.0.0.7:80")),
]


def test_what_an_answer_says_is_dated_by_the_answer() -> None:
    (row,) = (row for row in folded(LATE_LISTING.rows(Doctor())).rows() if row["id"] == "broker-gone")
    times = BEGUN + 18 * NS, BEGUN + 30 * NS + MS
    assert (row["first"], row["last"]) == tuple(map(format_rfc3339, times))


@pytest.mark.parametrize(("what", "scene", "severity", "title"), SCENES, ids=[f"{row[0]}-{row[2]}" for row in SCENES])
def test_a_scene_shows_its_finding(what: str, scene: Scene, severity: str, title: str) -> None:
    settled = scene.rows(Doctor())
    rows = folded(settled).rows()
    assert merged(settled).rows() == rows
    (row,) = (row for row in rows if row["id"] == what)
    assert row["severity"] == severity
    assert title in row["title"]
    assert row["count"] > 0
    assert row["evidence"]
    SCHEMA.validate({"kind": "finding", "schema": 1, **row})
    others = Counter(each["id"] for each in rows if each["id"] != what and each["severity"] != "note")
    assert set(others) <= BESIDES.get(what, set())


@pytest.mark.parametrize(("what", "scene"), NEAR, ids=[row[0] for row in NEAR])
def test_what_comes_near_is_none(what: str, scene: Scene) -> None:
    rows = folded(scene.rows(Doctor())).rows()
    assert what not in {row["id"] for row in rows}


@pytest.mark.parametrize(
    ("on_each", "meaning", "remedy"),
    [
        (1, "it opens connections about as often: likely it creates a new client", "keep one client object for"),
        (3, "it looks for a topic or leader again and again, or creates a new client", "look at the errors of"),
        (50, "it looks for a topic or leader again and again, on the connections that it has", "look at the errors"),
    ],
)
def test_who_asks_for_metadata_often_is_a_new_client_or_asks_again(on_each: int, meaning: str, remedy: str) -> None:
    rows = folded(metadata_asked(150, 0.1, on_each=on_each).rows(Doctor())).rows()
    (row,) = (row for row in rows if row["id"] == "metadata-storm")
    assert row["meaning"].startswith(meaning)
    assert row["remedy"].startswith(remedy)


def test_clients_without_answers_do_not_go_on() -> None:
    rows = [row for row in folded(DEAD_ENTRY.rows(Doctor())).rows() if row["id"] == "entry-unanswered"]
    assert [row["clients"] for row in rows] == [["new"], ["newer"]]
    assert not [row["title"] for row in rows if "go on" in row["title"]]


def test_brokers_that_are_down_are_of_the_cluster() -> None:
    (row,) = (row for row in folded(COORDINATORS_DOWN.rows(Doctor())).rows() if row["id"] == "coordinator-never")
    assert "more replicas" not in row["title"]


def test_batches_of_an_older_state_are_taken_for_batches_sent_again() -> None:
    sent_batches = folded(sent(4, code=6).rows(Doctor()))._seen.sent
    state: Any = sent_batches.state()
    older = [[number, fields[:8]] for number, fields in state]
    resumed = [*SentBatches.make_resumed(older).find_batches_sent_again()]
    added = dict.fromkeys(("checksums", "ended", "newest_ms", "first", "offsets"))
    unknown: dict[str, Any] = {**added, "place": (None, -1, -1), "epoch": -1, "records": 0, "senders": 1}
    known = [*sent_batches.find_batches_sent_again()]
    for its in known:
        for name, value in unknown.items():
            setattr(its, name, value)
    assert [its.state() for its in resumed] == [its.state() for its in known]
    assert len(resumed) == 4


def test_a_quiet_cluster_has_nothing() -> None:
    scene = Scene().ask(0, VERSIONS, {}, SERVES).ask(1, META, {}, metadata(topic("orders")))
    scene.ask(1.5, (DESCRIBE_CLUSTER, 0), {}, {"brokers": [{"broker_id": 1, "host": "10.0.0.9", "port": 9092}]})
    for second in range(2, 60, 3):
        scene.ask(second, (HEARTBEAT, 3), {"group_id": "billing"}, {})
        scene.ask(second + 1, PRODUCE_9, produce("orders", count=20), {}, client="shop")
        scene.ask(second + 2, FETCH_11, *fetch(second, second))
    assert folded(scene.rows(Doctor())).rows() == []


def linked(scene: Scene) -> dict[str, str]:
    """The findings of a scene that have a cause, and the causes; each cause names the findings that it brought."""
    settled = scene.rows(Doctor())
    rows = folded(settled).rows()
    assert merged(settled).rows() == rows
    names = [(row["cause"]["title"], row["id"]) for row in rows if "cause" in row]
    assert sorted(names) == sorted((row["title"], its["id"]) for row in rows for its in row.get("consequences", ()))
    for at, row in enumerate(rows):
        if "cause" in row:
            assert rows[at - 1]["title"] == row["cause"]["title"] or rows[at - 1]["cause"] == row["cause"]
    return {row["id"]: row["cause"]["id"] for row in rows if "cause" in row}


GONE = (((1, 2), (1, 2)), *[((1,), (1,))] * 9)


def test_what_a_broker_that_is_gone_brings_follows_it() -> None:
    assert linked(listings(*GONE, code=19)) == {"under-replicated": "broker-gone", "replicas-missing": "broker-gone"}
    assert linked(listings(*GONE, ((1, 2), (1, 2)), code=19)) == {
        "under-replicated": "broker-back",
        "replicas-missing": "broker-back",
    }


def test_retransmissions_are_those_of_the_exchanges_that_had_some() -> None:
    (row,) = (row for row in folded(lossy(60, 30).rows(Doctor())).rows() if row["id"] == "retransmissions")
    assert (row["count"], row["first"], row["last"]) == (
        30,
        format_rfc3339(BEGUN + 60 * NS),
        format_rfc3339(BEGUN + 118 * NS),
    )
    assert [each["time"] for each in row["evidence"]] == [format_rfc3339(BEGUN + at * NS) for at in (60, 62, 64)]
    assert row["title"].startswith("50% of the exchanges")


def test_writes_fail_where_a_follower_does_not_reach_its_leader() -> None:
    assert linked(cut_between_nodes())["replicas-missing"] == "connection-filtered"


def test_a_broker_reads_nothing_of_whom_it_throttles() -> None:
    throttled = Scene().ask(0, META, {}, metadata(topic("orders")) | {"throttle_time_ms": 4000})
    throttled.ask(0.1, META, {}, metadata(topic("orders")) | {"throttle_time_ms": 4000})
    assert linked(throttled.shut(1, 4, broker=True)) == {"zero-window": "throttled"}


def test_what_shares_neither_place_nor_time_has_its_own_cause() -> None:
    asked = {"acks": 1, "topic_data": [{"name": "other", "partition_data": [{"index": 0, "records": None}]}]}
    answer = {"responses": [{"name": "other", "partition_responses": [{"index": 0, "error_code": 19}]}]}
    elsewhere = listings(*GONE).ask(30, PRODUCE_9, asked, answer, client="shop", line=1)
    assert linked(elsewhere) == {"under-replicated": "broker-gone"}
    later = listings(*GONE).ask(300, PRODUCE_9, produce("orders"), produced(19), client="shop", line=1)
    assert linked(later) == {"under-replicated": "broker-gone"}


def test_what_two_brokers_bring_that_went_away_together_stands_below_both() -> None:
    """A commit waits for replicas of a topic that no client names."""
    scene = two_went_away()
    for line in range(3, 6):
        scene.ask(line, (OFFSET_COMMIT, 8), {"group_id": "billing"}, client="app", line=line, took=20, ends=RST)
    rows = {row["title"]: row for row in folded(scene.rows(Doctor())).rows()}
    (commit,) = (row for title, row in rows.items() if title.startswith("OffsetCommit of app stays unanswered"))
    causes = [row for row in rows.values() if row["id"] == "broker-down"]
    assert [row["node_id"] for row in causes] == [2, 3]
    assert commit["cause"]["title"] in {row["title"] for row in causes}
    for row in causes:
        assert {"id": commit["id"], "title": commit["title"]} in row["consequences"]


@pytest.mark.parametrize(
    "scene",
    [member_lost(leaves=True), member_lost(timeout=10_000), member_lost(again="m-1")],
    ids=["it left", "its session is over", "it waits itself"],
)
def test_a_group_does_not_wait_for_who_left_or_waits(scene: Scene) -> None:
    (row,) = (row for row in folded(scene.rows(Doctor())).rows() if row["id"] == "requests-pending")
    assert row["title"].endswith("after 34s")
    assert row["meaning"].startswith("the group likely waits")


@pytest.mark.parametrize("cause", ["start-repeated", "poll-stopped", "rebalance-storm", "requests-pending"])
@pytest.mark.parametrize(("group", "causes"), [("billing", {1: [0]}), ("mail", {})])
def test_what_stops_a_group_is_why_it_falls_behind(cause: str, group: str, causes: dict[int, list[int]]) -> None:
    seen = Observation()
    seen.count_occurrence_at(BEGUN)
    found = [
        Found(each, "warning", seen, {"group": its}) for each, its in ((cause, "billing"), ("group-behind", group))
    ]
    assert find_causes(found) == causes


def test_a_request_without_a_coordinator_has_its_own_cause() -> None:
    scene = two_went_away()
    for line in range(3, 6):
        scene.ask(line, META, {}, client="app", line=line, took=20, ends=RST)
    (row,) = (row for row in folded(scene.rows(Doctor())).rows() if row["id"] == "unanswered")
    assert "cause" not in row


def test_a_loop_of_fetches_explains_the_busiest_client() -> None:
    scene = polled(0.002, 600)
    for number in range(3):
        scene.ask(0, (HEARTBEAT, 3), {}, {}, client=f"quiet-{number}", line=number + 1)
    assert linked(scene) == {"busiest-client": "fetch-loop"}


@pytest.mark.parametrize(("every", "severity"), [(10, "note"), (40, "warning")])
def test_a_restart_that_nobody_felt_is_a_note(every: float, severity: str) -> None:
    scene = listings(((1, 2), (1, 2)), ((1,), (1,)), ((1,), (1,)), ((1,), (1,)), ((1, 2), (1, 2)), every=every)
    (row,) = (row for row in folded(scene.rows(Doctor())).rows() if row["id"] == "broker-back")
    assert row["severity"] == severity


@pytest.mark.parametrize(("count", "whole"), [(2, 2), (4, 4), (9, 3), (40, 3)])
def test_text_has_as_many_lines_as_a_terminal(count: int, whole: int) -> None:
    usual: dict[str, Any] = {"first": None, "last": None, "evidence": [], "count": 1, "meaning": "m", "remedy": "r"}
    rows = [{"id": "unanswered", "severity": "warning", "title": f"no answer {n}", **usual} for n in range(count)]
    rows[0]["consequences"] = [{"id": "x", "title": "and so on"}]
    brief = format_findings_in_brief(rows, Settings(width=80)).splitlines()
    assert len(brief) <= LINES_MAX
    assert "   so: and so on" in brief
    assert brief.count("   means: m") >= whole
    named = sum(line.startswith("!  no answer") for line in brief)
    assert named == count or brief[-1] == f"   and {count - named} warnings more; -v explains each"
    every = format_findings_in_brief(rows, Settings(width=80, verbose=True)).splitlines()
    assert every.count("   means: m") == count


def test_a_hello_that_was_refused_wants_no_key_log() -> None:
    alone, answered = (
        kw("sniff", "-", env=world(stdin=pcapng_of(Scene().speak(0, HELLO, answer).segments()))).err
        for answer in (b"", SERVER_HELLO)
    )
    assert "closed it without an answer" in alone
    assert "--keylog" not in alone
    assert "give its key log with --keylog" in answered


def test_thresholds_are_what_decides() -> None:
    tour = str(FOLDER / "old-clients.pcap.gz")
    few = kw("doctor", tour, "--threshold", "connections.least=1000", "-o", "ndjson")
    assert "connection-churn" in kw("doctor", tour, "-o", "ndjson").out
    assert "connection-churn" not in few.out
    wrong = kw("doctor", tour, "--threshold", "connection.least=1000")
    assert (wrong.code, wrong.err) == (
        Exit.USAGE,
        "kw: --threshold: no threshold 'connection.least' (did you mean \"connections.least\"?);"
        " kw help doctor lists them\n",
    )


@pytest.mark.parametrize(("word", "code"), [("error", 4), ("warning", 4), ("never", 0)])
def test_the_exit_code_follows_the_worst(word: str, code: int) -> None:
    assert kw("doctor", str(FOLDER / "tour.pcapng"), "--fail-on", word).code == code
    clean = kw("doctor", str(FOLDER / "old-clients.pcap.gz"), "--fail-on", word)
    assert clean.code == (4 if word == "warning" else 0)


def test_notes_of_one_error_are_one_line() -> None:
    three = str(FOLDER / "three-nodes.pcapng.zst")
    rows = [json.loads(row) for row in kw("doctor", three, "-o", "ndjson").out.splitlines()]
    brief, whole = format_findings(rows, Settings()), kw("doctor", three, "-o", "text", "-v").out
    assert "·  topic payments: CONCURRENT_TRANSACTIONS (AddPartitionsToTxn) ×5\n" in brief
    assert "and 2 more: FENCED_LEADER_EPOCH (Fetch) ×11 ·" in " ".join(brief.split())
    assert whole.count("·  topic") > brief.count("·  topic")
    assert sum(row.get("error") == "FENCED_LEADER_EPOCH" and row["severity"] == "note" for row in rows) == 5


@pytest.mark.plain
def test_successes_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.analysis.doctor.doctor.GROUPS_MAX", 2)
    scene = Scene()
    for second, name in enumerate(("a", "b", "c", "a")):
        scene.ask(second, META, {"topics": [{"name": name}]}, metadata(topic(name)))
    fold = folded(scene.rows(Doctor()))
    assert {subject: time_ns // NS - BEGUN // NS for (_, _, subject), time_ns in fold._done.items()} == {"a": 3, "b": 1}


def test_reasons_that_members_gave_are_said_in_text() -> None:
    reasons = ["left\n", "b", "c", "d", "e"]
    row = {
        "title": "group billing",
        "severity": "note",
        "first": None,
        "last": None,
        "clients": ["app"],
        "reasons": reasons,
    }
    (line,) = _list_finding_details({**row, "meaning": "", "remedy": "", "evidence": []}, Settings())
    assert line.startswith("clients: app, reasons: left\\n; b")
    assert line.count("; ") + 1 == _NAMED


@pytest.mark.parametrize(
    ("title", "counted"),
    [
        ("topic a: X (Fetch): the position 5", "topic a: X (Fetch) ×6: the position 5"),
        ("topic a: X", "topic a: X ×6"),
        ("a closes, 6 of 6 times, and more", "a closes, 6 of 6 times, and more"),
        ("logins fail with X, 6 times, every 2s: no", "logins fail with X, 6 times, every 2s: no"),
        ("a asks 6 times a second", "a asks 6 times a second ×6"),
        ("a breaks off: 6 connections", "a breaks off: 6 connections"),
        ("a breaks off on 16 connections", "a breaks off on 16 connections ×6"),
    ],
)
def test_how_often_stands_once_and_beside_what_it_counts(title: str, counted: str) -> None:
    row: dict[str, Any] = {"id": "x", "severity": "error", "title": title, "count": 6, "first": None, "last": None}
    row |= {"error": "X", "clients": [], "evidence": [], "meaning": "", "remedy": ""}
    row |= {"api": "Fetch"} if "Fetch" in title else {}
    assert format_findings_in_brief([row], Settings()).splitlines()[0] == f"✗  {counted}"


@pytest.mark.parametrize(
    ("what", "scene"),
    [("revocation-pending", slow_revocation()), ("transaction-expired", refusal_scenes.transactions(1, 9, 9))],
)
def test_what_may_be_lost_is_not_missed(what: str, scene: Scene) -> None:
    fold = folded(scene.rows(Doctor()))
    assert what in {row["id"] for row in fold.rows()}
    fold.set_capture_faults(["packets were lost"])
    assert what not in {row["id"] for row in fold.rows()}


def list_rows_in_any_order(what: str) -> Iterator[list[list[dict[str, Any]]]]:
    for kind, scene, _, _ in SCENES:
        if kind == what:
            settled = scene.rows(Doctor())
            yield [folded(some).rows() for some in (settled, settled[::-1])]


@pytest.mark.parametrize("what", ["codec-too-new", "partitions-added", "topic-created-unasked"])
def test_what_was_first_does_not_depend_on_the_order(what: str) -> None:
    for rows, others in list_rows_in_any_order(what):
        assert rows == others


def test_a_batch_that_came_through_a_proxy_may_be_damaged_on_the_way() -> None:
    (row,) = (
        row for row in folded(damaged(1, 1, proxied=True).rows(Doctor())).rows() if row["id"] == "records-corrupt"
    )
    assert row["title"].endswith("orders-0 offsets 20 to 22")
    assert row["meaning"].startswith("bytes changed after the checksum was computed")
