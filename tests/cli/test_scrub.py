"""`kw scrub IN OUT`: the exchanges of any capture stay as they are, and names and secrets do not."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest

from decoders import encode_embedded
from decoders.apis import KEYS, api
from decoders.capture.read_capture import CaptureReader
from decoders.embedded import parse_structure_declaration
from decoders.protocol_facts.api_keys import API_VERSIONS, ENVELOPE, FETCH, HEARTBEAT, METADATA, PRODUCE
from decoders.records.codecs import NUMBERS, deflate
from decoders.schema.api_declaration import resolve
from decoders.scrubbing import scrub_frames
from decoders.scrubbing.replace_names import NameReplacer
from decoders.scrubbing.scrub_frames import Scrubber
from decoders.splits.split_parts import canonical_connection_key
from decoders.tcp.reassembly import FIN, RST
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from kwcli.run_environment import Exit
from tests.capture.blocks import block, enhanced, interface, section, statistics
from tests.capture.frames import ipv4
from tests.capture.pcap_writer import PcapWriter
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE, capture_bytes, segments
from tests.cli.test_secret_fields import leaked, planted
from tests.cli.worlds import Outcome, kw, world
from tests.exchanges.mistreated import capture as mistreated
from tests.exchanges.talks import framed, plan, request, request_of_body, response
from tests.fuzz import relabelled as relabelled_frames
from tests.habits.faulty_captures import CAPTURES, packet
from tests.records.making import batch, record
from tests.scrubbing.planting import MARK, Planter
from tests.tls.wrapping import TLS12, pcapng_of, segments_of, wrap

PROMISED = ("time", "latency_ms", "duration_ms", "api_key", "api", "api_version", "correlation_id", "request_size",
            "response_size", "status", "reason", "errors", "envelope")  # fmt: skip
TLS = FOLDER / "tls" / "librdkafka-jsse.pcap"
KEYS_LOG = FOLDER / "tls" / "librdkafka-jsse.keys"


needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def exchanges(path: Path | str, *words: str) -> list[dict[str, Any]]:
    outcome = kw("sniff", str(path), "-o", "ndjson", "-q", *words)
    found = [json.loads(line) for line in outcome.out.split("\n")[:-1]]
    return [row for row in found if row["kind"] == "exchange"]


def promised(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The facts of exchanges that are kept; without the ids of responses that nobody asked for, which may be text."""
    kept = [{**row, "correlation_id": None} if row["status"] == "orphan_response" else row for row in rows]
    return sorted(json.dumps({name: row.get(name) for name in PROMISED}) for row in kept)


def relations(rows: Iterable[dict[str, Any]]) -> list[Any]:
    """The relations between rows: every address, client id and topic as the number of its first appearance."""
    seen: dict[str, int] = {}

    def number(text: Any) -> Any:
        return text and seen.setdefault(json.dumps(text), len(seen))

    out = []
    for row in sorted(rows, key=lambda each: [str(each[name]) for name in ("time", "correlation_id", "request_size")]):
        ends = [row[end].rpartition(":")[::2] for end in ("client", "broker")]
        brokers = row["response"].get("brokers") if isinstance(row["response"], dict) else None
        told = [(each.get("host"), each.get("port")) for each in brokers] if isinstance(brokers, list) else []
        out.append(([(number(host), port) for host, port in ends + told], number(row["client_id"])))
    return out


def scrubbed(data: bytes, folder: Path, *words: str) -> tuple[Path, Path, Outcome]:
    source, out = folder / "in.pcapng", folder / "out.pcapng"
    source.write_bytes(data)
    return source, out, kw("scrub", str(source), str(out), *words)


def check(data: bytes, folder: Path) -> Outcome:
    """Scrub a capture, and compare the exchanges of both files."""
    source, out, outcome = scrubbed(data, folder)
    assert outcome.code == Exit.DONE, outcome.err
    before, after = exchanges(source), exchanges(out)
    assert promised(after) == promised(before)
    assert relations(after) == relations(before)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert [path.name for path in sorted(folder.iterdir())] == ["in.pcapng", "out.pcapng"]
    said = " ".join(str(row.get("client_software")) for row in before)
    names = {
        text for row in before for text in (row["client_id"], row["client"], row["broker"]) if isinstance(text, str)
    }
    names = {text for text in names if text not in said}
    found = out.read_bytes()
    assert [name for name in names if len(name) > 5 and name.encode() in found] == []
    return outcome


@pytest.mark.parametrize("name", ["tour.pcapng", "sasl-raw.pcap"])
def test_exchanges_are_what_they_were(name: str, tmp_path: Path) -> None:
    assert "exchanges with their versions" in check(capture_bytes(name), tmp_path).err


@pytest.mark.long
@pytest.mark.parametrize("name", CLEAN)
def test_exchanges_of_every_capture_are_what_they_were(name: str, tmp_path: Path) -> None:
    check(capture_bytes(name), tmp_path)


@pytest.mark.parametrize("name", ["cut-at-96.pcap", "lossy.pcap"])
def test_so_are_those_of_captures_with_faults(name: str, tmp_path: Path) -> None:
    check(CAPTURES[name](), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", CAPTURES)
def test_so_are_those_of_all_captures_with_faults(name: str, tmp_path: Path) -> None:
    check(CAPTURES[name](), tmp_path)


def random_capture(seed: int) -> bytes:
    return pcapng_of(mistreated(Random(seed), alone=False))


@pytest.mark.parametrize("seed", range(3))
def test_random_traffic(seed: int, tmp_path: Path) -> None:
    check(random_capture(seed), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [*range(100, 130), *(pytest.param(each, marks=pytest.mark.full) for each in range(130, 300))]
)
def test_much_random_traffic(seed: int, tmp_path: Path) -> None:
    check(random_capture(seed), tmp_path)


@pytest.mark.parametrize("name", ["negative/http1.pcap", "negative/zookeeper.pcap"])
def test_what_is_no_kafka_is_overwritten(name: str, tmp_path: Path) -> None:
    outcome = check(capture_bytes(name), tmp_path)
    assert "overwritten whole: not read as Kafka" in outcome.err
    payload = b"".join(segment[6] for segment in segments_of(tmp_path / "out.pcapng"))
    assert set(payload) == {0xFF}


@pytest.mark.long
@pytest.mark.parametrize("name", NEGATIVE)
def test_nor_are_the_others(name: str, tmp_path: Path) -> None:
    check(capture_bytes(name), tmp_path)


def bad_checksums(path: Path) -> str:
    """The packets whose checksums tshark finds wrong."""
    words = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    chosen = ["-Y", "tcp.checksum.status == Bad or ip.checksum.status == Bad"]
    found = subprocess.run(["tshark", "-r", str(path), *words, *chosen], capture_output=True, check=True, text=True)
    return found.stdout


@needs_tshark
def test_checksums_are_right(tmp_path: Path) -> None:
    """Checksums are right, also those that the sender's hardware was to fill in."""
    source, out, _ = scrubbed(capture_bytes("sasl-raw.pcap"), tmp_path)
    assert bad_checksums(out) == ""
    assert bad_checksums(source) != ""


@pytest.mark.long
@needs_tshark
@pytest.mark.parametrize("name", [*CLEAN, *NEGATIVE])
def test_checksums_of_every_capture_are_right(name: str, tmp_path: Path) -> None:
    _, out, _ = scrubbed(capture_bytes(name), tmp_path)
    assert bad_checksums(out) == ""


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("2001:db8::2", "2001:db8::2"),
        ("2001:db8::2", "2001:DB8:0:0:0:0:0:2"),
        ("2001:db8::2", "2001:0db8:0000:0000:0000:0000:0000:0002"),
        ("::1", "::1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.1.1", "::ffff:127.0.1.1"),
        ("10.1.2.3", "10.1.2.3"),
        ("10.1.2.3", "ip-10-1-2-3.internal"),
        ("10.1.2.3", "::ffff:10.1.2.3"),
    ],
)
def test_an_advertised_address_is_that_of_its_packets(host: str, text: str, tmp_path: Path) -> None:
    """An address in Metadata is the pseudonym of the address in packets, in every notation and at the same length."""
    ends = SyntheticTcp(f"[{host}]:50000", f"[{host}]:9092", time_ns=10**18)
    brokers = [{"node_id": 1, "host": text, "port": 9092, "rack": "zone-a"}]
    asked = {"topics": None, "allow_auto_topic_creation": False}
    answer = {"brokers": brokers, "cluster_id": "abc", "controller_id": 1, "topics": []}
    packets = ends.opening_packets()
    packets += [each for each, _ in ends.data_packets(CLIENT, request(METADATA, 4, 7, "app", asked))]
    packets += [
        each for each, _ in ends.data_packets(SERVER, response(METADATA, 4, 7, {"throttle_time_ms": 0, **answer}))
    ]
    pcap = PcapWriter(LINK_RAW)
    data = pcap.make_file_header() + b"".join(
        pcap.make_packet_block(10**18 + at * 1000, each) for at, each in enumerate(packets)
    )
    _, out, outcome = scrubbed(data, tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    (row,) = exchanges(out)
    (broker,) = row["response"]["brokers"]
    end = ip_address(row["broker"].rpartition(":")[0].strip("[]"))
    assert (end == ip_address(host)) is (host == "::1")
    assert end.is_loopback is ip_address(host).is_loopback
    assert len(broker["host"]) == len(text)
    assert (broker["port"], row["broker"].rpartition(":")[2]) == (9092, "9092")
    if text.startswith("ip-"):
        assert str(end).replace(".", "-") in broker["host"]
    else:
        told = ip_address(broker["host"])
        assert (getattr(told, "ipv4_mapped", None) or told) == end
        assert broker["host"].isupper() is text.isupper() or not any(map(str.isalpha, broker["host"]))


def connection(*frames: tuple[int, bytes], host: str = "10.1.2.3") -> bytes:
    """A capture of one connection to a broker, with these frames of the client and the broker."""
    ends = SyntheticTcp("10.0.0.1:50000", f"{host}:9092", time_ns=10**18)
    packets = ends.opening_packets()
    packets += [each for side, frame in frames for each, _ in ends.data_packets(side, frame)]
    packets += ends.closing_packets(reset=False)
    pcap = PcapWriter(LINK_RAW)
    return pcap.make_file_header() + b"".join(
        pcap.make_packet_block(10**18 + at * 1000, each) for at, each in enumerate(packets)
    )


METADATA_REQUEST = request(METADATA, 4, 7, "app", {"topics": None, "allow_auto_topic_creation": False})


def test_a_broker_that_is_advertised_as_localhost_still_is(tmp_path: Path) -> None:
    brokers = [{"node_id": at, "host": host, "port": 9092, "rack": None} for at, host in enumerate(
        ("localhost", "localhost.localdomain", "kafka.localhost", "notlocalhost"))]  # fmt: skip
    answer = {"throttle_time_ms": 0, "brokers": brokers, "cluster_id": "abc", "controller_id": 1, "topics": []}
    data = connection((CLIENT, METADATA_REQUEST), (SERVER, response(METADATA, 4, 7, answer)), host="127.0.0.1")
    _, out, outcome = scrubbed(data, tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    (row,) = exchanges(out)
    hosts = [broker["host"] for broker in row["response"]["brokers"]]
    assert hosts[:2] == ["localhost", "localhost.localdomain"]
    assert re.fullmatch(r"[a-z]{5}\.localhost", hosts[2])
    assert "localhost" not in hosts[3]
    assert row["broker"].startswith("127.")


# Frames that are not what their heads say.

SOFTWARE = {"client_software_name": "java", "client_software_version": "4.0"}
FETCH_13 = {
    "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1000, "isolation_level": 0, "session_id": 0,
    "session_epoch": -1, "topics": [], "forgotten_topics_data": [], "rack_id": "",
}  # fmt: skip
HELLO = (
    (CLIENT, request(API_VERSIONS, 3, 1, "app", SOFTWARE)),
    (SERVER, response(API_VERSIONS, 3, 1, {"error_code": 0, "api_keys": [], "throttle_time_ms": 0})),
)


def fetched(topic: str) -> bytes:
    """The response of Fetch 12, which has names where that of Fetch 13 has ids."""
    partition = {"partition_index": 0, "error_code": 0, "high_watermark": 5, "records": None}
    return response(FETCH, 12, 2, {"responses": [{"topic": topic, "partitions": [partition]}]})


def relabelled(frame: bytes, key: int, version: int) -> bytes:
    return frame[:4] + pack(">hh", key, version) + frame[8:]


FETCHED_0 = {"responses": [{"topic": "zqwkvyjm", "partitions": [{"partition_index": 7, "records": None}]}]}
HEARTBEAT_0 = {"group_id": "zqwkvyjm", "generation_id": 1, "member_id": "trwqpolk"}


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([(CLIENT, request(FETCH, 13, 2, "app", FETCH_13)), (SERVER, fetched("zqwk-vyjmtrwq-20"))], "zqwk vyjmtrwq"),
        # The name has the size of an id: the response decodes to its end.
        ([(CLIENT, request(FETCH, 13, 2, "app", FETCH_13)), (SERVER, fetched("zqwk-vyjmtrwqp"))], "zqwk vyjmtrwqp"),
        ([(CLIENT, relabelled(request(HEARTBEAT, 0, 2, "app", HEARTBEAT_0), METADATA, 12))], "zqwkvyjm trwqpolk"),
        ([(CLIENT, relabelled(request(HEARTBEAT, 0, 2, "app", HEARTBEAT_0), 999, 1))], "zqwkvyjm trwqpolk"),
        # A request without fields: all of it is behind its end.
        ([(CLIENT, relabelled(request(HEARTBEAT, 0, 2, "app", HEARTBEAT_0), 16, 0))], "zqwkvyjm trwqpolk"),
        # A head that does not decode: there is no such tagged field.
        ([(CLIENT, framed(pack(">hhih", 1, 13, 2, 3) + b"app\3\5\x08zqwkvyjm\6\x20trwqpolk"))], "zqwkvyjm trwqpolk"),
        # Bytes that are no frame, whose first ones were taken for its size and id.
        ([(CLIENT, b"zqwkvyjmtrwqpolkzqwkvyjm")], "zqwkvyjm trwqpolk"),
        ([(SERVER, b"\0\0\0\x10zqwkvyjmtrwqpolk")], "zqwk vyjmtrwqpolk"),
        ([(SERVER, b"\4zqwkvyjmtrwqpolk")], "zqwkvyjm trwqpolk"),
        ([(CLIENT, b"zqwk\0\0\0\1\0\0\0\2\xff\xffvyjm")], "zqwk vyjm"),
    ],
)  # fmt: skip
def test_nothing_of_a_frame_that_was_misread_stays(frames: list[tuple[int, bytes]], words: str, tmp_path: Path) -> None:
    source, out, outcome = scrubbed(connection(*HELLO, *frames), tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    given, found = source.read_bytes(), out.read_bytes()
    for word in words.split():
        for at in range(len(word) - 3):
            assert word[at : at + 4].encode() in given
            assert word[at : at + 4].encode() not in found
    before, after = exchanges(source), exchanges(out)
    assert [row["status"] for row in after] == [row["status"] for row in before]
    assert any(row["status"] == "undecoded" for row in after) is any(row["status"] == "undecoded" for row in before)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        # null where it is forbidden, before and behind a name
        ([(CLIENT, request_of_body(HEARTBEAT, 0, 2, "app", pack(">hih", -1, 1, 8) + b"trwqpolk"))], "trwqpolk"),
        ([(CLIENT, request_of_body(HEARTBEAT, 0, 2, "app", b"\0\x08zqwkvyjm" + pack(">ih", 1, -1)))], "zqwkvyjm"),
        # an answer in the layout of another version
        (
            [(CLIENT, request(FETCH, 1, 2, "app", {})), (SERVER, response(FETCH, 0, 2, FETCHED_0))],
            "zqwkvyjm",
        ),
        # bytes behind the bodies of both sides
        (
            [
                (CLIENT, framed(request(HEARTBEAT, 0, 2, "app", HEARTBEAT_0)[4:] + b"mwrtzqpl")),
                (SERVER, framed(response(HEARTBEAT, 0, 2, {})[4:] + b"qzwtlmrp")),
            ],
            "zqwkvyjm trwqpolk mwrtzqpl qzwtlmrp",
        ),
    ],
)  # fmt: skip
def test_nothing_of_a_body_that_is_read_with_a_remark_stays(
    frames: list[tuple[int, bytes]], words: str, tmp_path: Path
) -> None:
    source, out, outcome = scrubbed(connection(*HELLO, *frames), tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    for word in words.split():
        for at in range(len(word) - 3):
            assert word[at : at + 4].encode() in source.read_bytes()
            assert word[at : at + 4].encode() not in out.read_bytes()
    assert exchanges(source)[1]["remarks"]
    assert exchanges(out)[1]["status"] in ("undecoded", "unanswered", "complete")


def test_frames_relabelled_cut_and_mispaired_keep_nothing(tmp_path: Path) -> None:
    made = relabelled_frames.capture(Random(3))
    assert made.in_step
    assert made.harmed > 20
    assert made.forbidden > 3
    relabelled_frames.check_scrubbed(made, tmp_path)


@pytest.mark.parametrize("seed", [14143379, 14143532])
def test_a_size_and_an_api_key_that_spell_a_name_together(seed: int, tmp_path: Path) -> None:
    relabelled_frames.check_scrubbed(relabelled_frames.capture(Random(seed)), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(each, marks=pytest.mark.full) for each in range(40, 300))])
def test_many_frames_relabelled_cut_and_mispaired_keep_nothing(seed: int, tmp_path: Path) -> None:
    relabelled_frames.check_scrubbed(relabelled_frames.capture(Random(seed)), tmp_path)


def test_out_is_not_there_when_a_misread_frame_would_be_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub_frames, "_UNREADABLE", bytes(10) + b"\1\0")
    frames = [(CLIENT, request(FETCH, 13, 2, "app", FETCH_13)), (SERVER, framed(pack(">ibi", 2, 0, 0) + b"\xff" * 8))]
    source, out, outcome = scrubbed(connection(*HELLO, *frames), tmp_path)
    assert [row["status"] for row in exchanges(source)] == ["complete", "undecoded"]
    assert outcome.code == Exit.FAILURE
    assert "1 exchanges have changed, 1 others are in their place: Fetch" in outcome.err
    assert not out.exists()


def test_numbers_that_spell_text_are_told(tmp_path: Path) -> None:
    """A session id that is text by its bytes becomes -1, and a correlation id another one: both still pair."""
    asked = request(FETCH, 13, 0x61626364, "app", {**FETCH_13, "session_id": 0x71777274})
    answer = response(FETCH, 13, 0x61626364, {"session_id": 0x71777274, "responses": []})
    _, out, outcome = scrubbed(connection(*HELLO, (CLIENT, asked), (SERVER, answer)), tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    assert "4 numbers replaced: bytes that spell text" in outcome.err
    _, row = exchanges(out)
    assert row["status"] == "complete"
    assert (row["request"]["session_id"], row["response"]["session_id"]) == (-1, -1)
    assert row["correlation_id"] != 0x61626364


# Names and secrets in every place.


def planted_capture() -> tuple[bytes, Planter]:
    """An exchange for every version of every API, with a different text in each field, and records in all codecs."""
    planter, pcap = Planter(), PcapWriter(LINK_RAW)
    packets: list[bytes] = []
    every = [(key, version) for key in KEYS for version in range(api(key).versions.low, api(key).versions.high + 1)]
    for number, (key, version) in enumerate(every):
        ends = SyntheticTcp(f"10.9.{number >> 8}.{number & 255}:40000", "10.1.2.3:9092", time_ns=10**18)
        asked = planter.value(plan(key, version, "request"), f"{api(key).name} {version} request")
        answered = planter.value(plan(key, version, "response"), f"{api(key).name} {version} response")
        if key == ENVELOPE:
            asked["request_data"] = request(METADATA, 12, 3, planter.text("Envelope client").decode(), planter.value(
                plan(METADATA, 12, "request"), "Envelope"))[4:]  # fmt: skip
            answered["response_data"] = response(METADATA, 12, 3, planter.value(
                plan(METADATA, 12, "response"), "Envelope"))[4:]  # fmt: skip
        sent = request(key, version, 7, planter.text("client id").decode(), asked)
        packets += ends.opening_packets()
        packets += [packet for packet, _ in ends.data_packets(CLIENT, sent)]
        packets += [packet for packet, _ in ends.data_packets(SERVER, response(key, version, 7, answered))]
        packets += ends.closing_packets(reset=False)
    for codec in NUMBERS:
        ends = SyntheticTcp(f"10.8.0.{NUMBERS[codec]}:40000", "10.1.2.3:9092", time_ns=10**18)
        packets += ends.opening_packets()
        for topic, name in (("__consumer_offsets", "OffsetCommitKey"), ("__transaction_state", "TransactionLogKey")):
            key_data = encode_embedded(name, 0, planter.value(resolve(parse_structure_declaration(name), 0), name))
            value_name = f"{name.removesuffix('Key')}Value"
            value_data = encode_embedded(
                value_name, 1, planter.value(resolve(parse_structure_declaration(value_name), 1), value_name)
            )
            rows = b"".join(record(at, key=key_data, value=value_data) for at in range(9))
            internal = batch(payload=deflate(codec, rows), attributes=NUMBERS[codec], count=9)
            mine = planter.records("record", attributes=0)
            inner = record(0, key=planter.text("key"), value=planter.text("value") * 20)
            own = batch(payload=deflate(codec, inner), attributes=NUMBERS[codec], count=1)
            for which, field in ((topic, internal), (planter.text("topic").decode(), mine + own)):
                partition = {"index": 0, "records": field}
                value = {"acks": 0, "timeout_ms": 1, "topic_data": [{"name": which, "partition_data": [partition]}]}
                sent = request(PRODUCE, 3, 7, "app", {"transactional_id": None, **value})
                packets += [packet for packet, _ in ends.data_packets(CLIENT, sent)]
        packets += ends.closing_packets(reset=False)
    dns = planter.text("DNS")
    packets.append(ipv4("10.0.0.1", "10.0.0.2", b"\0\x35\0\x35\0\x40\0\0" + dns, protocol=17))
    made = pcap.make_file_header() + b"".join(
        pcap.make_packet_block(10**18 + at * 1000, data) for at, data in enumerate(packets)
    )
    return made, planter


@pytest.mark.long
def test_a_text_planted_anywhere_is_nowhere(tmp_path: Path) -> None:
    data, planter = planted_capture()
    assert len(planter.where) > 2000
    source, out, outcome = scrubbed(data, tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    assert "left out: not TCP" in outcome.err
    assert promised(exchanges(out)) == promised(exchanges(source))
    found = MARK.findall(out.read_bytes())
    shown = [kw("sniff", str(out), "--reveal-secrets", *words).out for words in (
        ("-o", "ndjson", "--records", "--names"), ("-o", "hex"), ("-o", "text", "-vv"))]  # fmt: skip
    found += [mark for text in shown for mark in MARK.findall(text.encode())]
    assert [planter.where[mark] for mark in found] == []
    records = [row["request"] for row in exchanges(out, "--records", "-f", "topic == __consumer_offsets")]
    told = [each for body in records for topic in body["topic_data"] for part in topic["partition_data"]
            for held in part["records"] for each in held["records"]]  # fmt: skip
    assert len(told) == 9 * len(NUMBERS)
    assert {each["key"]["$type"] for each in told if isinstance(each["key"], dict)} == {"OffsetCommitKey"}


@pytest.mark.long
def test_secrets_of_logins_and_configs_are_nowhere(tmp_path: Path) -> None:
    source, out, outcome = scrubbed(planted()[0], tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    assert promised(exchanges(out)) == promised(exchanges(source))
    assert leaked(out.read_bytes()) == []
    users = {row.get("user") for row in exchanges(source)}
    assert users & {"alice"}
    assert not {row.get("user") for row in exchanges(out)} & {"alice"}


def test_blocks_of_a_capture_that_name_somebody_are_left_out(tmp_path: Path) -> None:
    """Comments, names of interfaces, systems and programs, resolved names, keys and statistics are left out."""
    texts = [f"Zq9x-{word}-of-somebody".encode() for word in ("section", "system", "interface", "packet", "resolved")]
    keys = KEYS_LOG.read_bytes()
    blocks = [
        section("<", ((1, texts[0]), (3, texts[1]), (4, texts[1]))),
        interface("<", rows=((2, texts[2]), (3, texts[2]), (9, b"\x09"))),
        block("<", 4, pack("<HH", 1, 40) + bytes((10, 0, 0, 1)) + texts[4] + bytes(36 - len(texts[4]) + 4)),
        block("<", 10, pack("<II", 0x544C534B, len(keys)) + keys),
        *(enhanced("<", 0, each[1], packet(each), rows=((1, texts[3]),)) for each in segments("tour.pcapng")),
        statistics("<", 0, 5, 0, 0),
    ]
    source, out, outcome = scrubbed(b"".join(blocks), tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    found, given = out.read_bytes(), source.read_bytes()
    assert all(text in given and text not in found for text in texts)
    assert keys[:40] not in found
    assert promised(exchanges(out)) == promised(exchanges(source))
    assert len(exchanges(out)) > 100


# TLS.


def test_tls_with_keys_is_plaintext_afterwards(tmp_path: Path) -> None:
    source, out = str(TLS), tmp_path / "out.pcapng"
    outcome = kw("scrub", source, str(out), "--keylog", str(KEYS_LOG))
    assert outcome.code == Exit.DONE, outcome.err
    assert "62 exchanges decrypted and written as plaintext TCP" in outcome.err
    before, after = exchanges(source, "--keylog", str(KEYS_LOG)), exchanges(out)
    assert promised(after) == promised(before)
    assert all("tls" not in row for row in after)
    flags = defaultdict[bytes, int](int)
    for key, _, _, _, _, its, *_ in CaptureReader().feed(out.read_bytes()):
        flags[canonical_connection_key(key)] |= its
    assert len(flags) == 14
    assert all(each & (FIN | RST) for each in flags.values())  # a connection that was closed is closed
    assert not re.search(rb"localhost|kw-ca|billing|orders", out.read_bytes())


def test_tls_without_keys_has_the_heads_of_its_records(tmp_path: Path) -> None:
    _, out, outcome = scrubbed(capture_bytes("tls/librdkafka-jsse.pcap"), tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    assert "14 TLS connections overwritten" in outcome.err
    assert not re.search(rb"localhost|kw-ca", out.read_bytes())
    rows = [json.loads(line) for line in kw("sniff", str(out), "-o", "ndjson", "-v", "-q").out.split("\n")[:-1]]
    assert [row["reason"] for row in rows] == ["tls"] * 14


# Options.


def test_the_same_salt_makes_the_same_pseudonyms(tmp_path: Path) -> None:
    salt = tmp_path / "salt"
    made = []
    for number in range(3):
        words = ["--salt-file", str(salt)] if number < 2 else []
        out = tmp_path / f"{number}.pcapng"
        assert kw("scrub", str(FOLDER / "tour.pcapng"), str(out), *words).code == Exit.DONE
        made.append(out.read_bytes())
    assert made[0] == made[1] != made[2]
    assert stat.S_IMODE(salt.stat().st_mode) == 0o600
    assert len(salt.read_bytes()) == 32


def test_the_table_of_names(tmp_path: Path) -> None:
    out, table = tmp_path / "out.pcapng", tmp_path / "names"
    assert kw("scrub", str(FOLDER / "tour.pcapng"), str(out), "--names", str(table)).code == Exit.DONE
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    names = {(row["kind"], row["name"]): row["pseudonym"] for row in rows}
    assert len(names) == len(rows)
    assert all(len(name) == len(pseudonym) for (_, name), pseudonym in names.items())
    clients = {row["client_id"] for row in exchanges(out)}
    assert {pseudonym for (kind, _), pseudonym in names.items() if kind == "clients"} == clients
    assert ("topics", "orders") in names
    ids = {uuid for row in exchanges(out) for uuid in row.get("topic_names", {})}
    assert ids
    assert ids <= {pseudonym for (kind, _), pseudonym in names.items() if kind == "uuid"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kinds", "name"), [("topics", "orders"), ("clients", "checkout-7"), ("hosts", "127.0.0.1")])
def test_kinds_of_names_may_be_kept(kinds: str, name: str, tmp_path: Path) -> None:
    source, out = FOLDER / "tour.pcapng", tmp_path / "out.pcapng"
    outcome = kw("scrub", str(source), str(out), "--keep", kinds)
    assert outcome.code == Exit.DONE, outcome.err
    assert f"(kept: {kinds})" in outcome.err
    text = kw("sniff", str(out), "-o", "ndjson").out
    assert f'"{name}' in text
    others = {"orders", "checkout-7", "127.0.0.1"} - {name}
    assert not [other for other in others if f'"{other}' in text]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["IN"], "missing argument 'OUT'"),
        (["IN", "OUT", "--keep", "topic"], "--keep topic: there are topics"),
        (["IN", "IN"], "this is one of the captures"),
        (["IN", "-"], "name a file"),
        (["IN", "/dev/null"], "name a regular file"),
        (["nowhere.pcap", "OUT"], "nowhere.pcap: no such file"),
        (["IN", "nowhere/OUT"], "nowhere/OUT: no such file"),
        (["IN", "OUT.gz"], "kw writes captures uncompressed"),
        (["IN", "OUT", "--salt-file", "SHORT"], "a salt has at least 16 bytes, this has 5"),
        (["README.md", "OUT"], "not a capture"),
        (["IN", "OUT", "--names", "OUT"], "must be different files"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "SHORT").write_bytes(b"short")
    paths = {"IN": str(FOLDER / "tour.pcapng"), "OUT": str(tmp_path / "OUT"), "SHORT": str(tmp_path / "SHORT")}
    paths |= {"OUT.gz": str(tmp_path / "OUT.gz"), "README.md": str(FOLDER / "README.md")}
    outcome = kw("scrub", *(paths.get(word, word) for word in words))
    assert outcome.code in (Exit.USAGE, Exit.FAILURE)
    assert said in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["SHORT"]


@pytest.mark.parametrize("name", ["sasl-raw.pcap", pytest.param("sasl-framed.pcapng", marks=pytest.mark.long)])
def test_what_was_scrubbed_can_be_scrubbed_again(name: str, tmp_path: Path) -> None:
    _, out, _ = scrubbed(capture_bytes(name), tmp_path)
    (folder := tmp_path / "again").mkdir()
    check(out.read_bytes(), folder)


def test_standard_input_and_a_capture_that_is_cut_off(tmp_path: Path) -> None:
    data = capture_bytes("tour.pcapng")
    out = tmp_path / "out.pcapng"
    outcome = kw("scrub", "-", str(out), env=world(data[:-333]))
    assert outcome.code == Exit.FAILURE
    assert "cut off inside a packet" in outcome.err
    assert len(exchanges(out)) > 180


def test_a_capture_that_was_cut_out(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    kw("sniff", str(FOLDER / "tour.pcapng"), "-f", "api == Fetch", "-w", str(cut))
    folder = tmp_path / "scrubbed"
    folder.mkdir()
    check(cut.read_bytes(), folder)
    # The names of topic ids, which only the comments of this capture say, are those of its new ids.
    before, after = (
        [row.get("topic_names") for row in exchanges(folder / name)] for name in ("in.pcapng", "out.pcapng")
    )
    assert any(before)
    assert [each and len(each) for each in after] == [each and len(each) for each in before]


@pytest.mark.parametrize("leak", ["name", "exchange"])
def test_out_is_not_there_when_the_check_finds_something(
    leak: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that was there before stays."""
    if leak == "name":
        plain = NameReplacer._replace_name
        monkeypatch.setattr(
            NameReplacer, "_replace_name", lambda its, text: text if text == "payments" else plain(its, text)
        )
    else:
        monkeypatch.setattr(Scrubber, "scrub_response", lambda _self, data, *_words, **_more: b"\xff" * len(data))
    out = tmp_path / "out.pcapng"
    out.write_bytes(b"before")
    outcome = kw("scrub", str(FOLDER / "tour.pcapng"), str(out), "--force", "--names", str(tmp_path / "names"))
    assert outcome.code == Exit.FAILURE
    assert ("the result still has 1" if leak == "name" else "exchanges have changed") in outcome.err
    assert "it is not written" in outcome.err
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out.pcapng", b"before")]


@pytest.mark.parametrize("options", [{}, pytest.param({"version": TLS12}, marks=pytest.mark.long)], ids=["1.3", "1.2"])
def test_keys_in_the_capture_make_plaintext_of_it(options: dict[str, Any], tmp_path: Path) -> None:
    """A capture in TLS is scrubbed to its plaintext exchanges; neither keys nor ciphertext are in the output."""
    found = wrap(list(segments("tour.pcapng"))[:400], **options)
    source, out, outcome = scrubbed(pcapng_of(found.segments, [found.key_log]), tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    before = exchanges(source)
    assert len(before) > 50
    assert promised(exchanges(out)) == promised(before)
    assert found.key_log[:60] not in out.read_bytes()
    assert not re.search(rb"\x17\x03\x03", out.read_bytes())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_tls_with_losses(seed: int, tmp_path: Path) -> None:
    found = wrap(list(segments("tour.pcapng")))
    rng = Random(seed)
    left = [each for each in found.segments if rng.random() > 0.01 or each[5] & 2]
    source, out, outcome = scrubbed(pcapng_of(left, [found.key_log]), tmp_path)
    assert outcome.code == Exit.DONE, outcome.err
    before, after = exchanges(source), exchanges(out)
    for row in (*before, *after):
        if row["status"] == "unanswered" and row["reason"] == "lost":
            row["reason"] = None  # the plaintext has holes of other sizes where records of TLS are missing, or none
    assert promised(after) == promised(before)
