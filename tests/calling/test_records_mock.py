"""Records by hand on librdkafka's mock: no Java needed, three nodes, and a different broker's answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwcli.main import run
from kwcli.playground.run_playground import LibrdkafkaMock
from tests.calling.records_live import answered, call, fetched
from tests.cli.worlds import Outcome, kw, world
from tests.reading.captures_with_values import ORDER


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with LibrdkafkaMock(3) as cluster:
        for topic in ("orders", "lines", "bytes", "large", "shown", "batches", "ends", "avro"):
            cluster.create_topic(topic)
        yield cluster.bootstrap()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_is_fetched(mock: str, codec: str) -> None:
    words = ["topic=orders", "key=k", f"value={codec}", "header=a:b", "timestamp=5", "--compression", codec]
    record = answered(mock, "produce", *words)
    (topic,) = record["response"]["responses"]
    (partition,) = topic["partition_responses"]
    place = [f"partition={partition['index']}", f"offset={partition['base_offset']}"]
    found = fetched(mock, "topic=orders", *place)[partition["index"]]
    assert [(each.timestamp, each.key, each.value, each.headers) for each in found] == [
        (5, b"k", codec.encode(), (("a", b"b"),))
    ]


def test_what_cannot_be_done_is_said(mock: str) -> None:
    outcome = call(mock, "produce", "topic=nobody", "value=v")
    assert (outcome.code, outcome.out, outcome.err) == (
        1,
        "",
        "kw: the cluster has no topic 'nobody'; there are avro, batches, bytes, ends, large, lines, orders, shown\n",
    )
    outcome = call(mock, "produce", "topic=orders", "value=v", "--magic", "0", "--api-version", "9")
    assert (outcome.code, outcome.err) == (2, "kw: message format 0 needs Produce 0-2, not 9\n")


def typed(mock: str, *words: str, stdin: bytes = b"") -> Outcome:
    """Run `kw call`, with text output unless the words name a format."""
    output = () if "-o" in words else ("-o", "text")
    return kw("call", *words, *output, "-b", mock, env=world(stdin))


def values(mock: str, *words: str, stdin: bytes = b"") -> tuple[int, list[str], str]:
    """The lines that a fetch prints, in order of their text: partitions have no order among themselves."""
    outcome = typed(mock, "fetch", *words, stdin=stdin)
    return outcome.code, sorted(outcome.out.splitlines()), outcome.err


def test_lines_are_sent_and_printed_again(mock: str) -> None:
    for number in range(3):
        sent = typed(mock, "produce", "topic=lines", f"partition={number}", stdin=b"a%d\n\nc%d" % (number, number))
        assert (sent.code, sent.err) == (0, "")
        assert "→ Produce" in sent.out
        assert "topic_data" not in sent.out
    everything = ["", "", "", "a0", "a1", "a2", "c0", "c1", "c2"]
    assert values(mock, "topic=lines", "--values") == (0, everything, "")
    assert values(mock, "topic=lines", "--values", "offset=-1") == (0, ["c0", "c1", "c2"], "")
    assert values(mock, "topic=lines", "--values", "offset=+1", "partition=0,2")[1] == ["", "", "c0", "c2"]
    assert values(mock, "topic=lines", "--values", "offset=-1", "partition=1", "-o", "ndjson")[1] == ['"c1"']
    assert values(mock, "topic=lines", "-K", ":", "offset=-1", "partition=1")[1] == [":c1"]
    code, lines, said = values(mock, "topic=lines", "--values", "offset=end")
    assert (code, lines) == (0, [])
    assert "kw: no record from that offset on in lines[" in said
    code, lines, said = values(mock, "topic=lines", "partition=0", "offset=77", "--values")
    assert (code, lines) == (1, [])
    assert "lines[0]: OFFSET_OUT_OF_RANGE" in said
    assert "offset=beginning" in said


def test_all_answers_that_it_takes_are_read(mock: str) -> None:
    for number in range(5):
        sent = typed(mock, "produce", "topic=large", "partition=0", stdin=b"%d" % number + b"x" * 600_000)
        assert sent.code == 0
    code, lines, said = values(mock, "topic=large", "partition=0", "--values")
    assert (code, [line[:2] for line in lines], said) == (0, ["0x", "1x", "2x", "3x", "4x"], "")
    assert len(values(mock, "topic=large", "partition=0", "offset=-4", "--values")[1]) == 4
    words = ("topics[].topic=large", "topics[].partitions[].partition=0", "--api-version", "11", "--values")
    code, lines, said = values(mock, *words)
    assert code == 0
    assert 0 < len(lines) < 5
    assert f"large[0]: {len(lines)} record" in said
    assert f"and there are more: offset={len(lines)} goes on" in said


def test_bytes_are_sent_and_printed_as_they_are(mock: str) -> None:
    data = b"x\0y\n\xff\xfe\r\nk=v=w\n"
    assert typed(mock, "produce", "topic=bytes", "partition=0", stdin=data).code == 0
    env = world(b"")
    assert run(["call", "fetch", "topic=bytes", "--values", "-o", "text", "-b", mock], env) == 0
    assert env.stdout.getvalue() == data  # type: ignore[attr-defined]  # a stream of memory
    assert typed(mock, "produce", "topic=bytes", "partition=1", "-K", "=", stdin=data).code == 0
    shown = typed(mock, "fetch", "topic=bytes", "partition=1", "-K", "\\t", "-o", "json").out
    assert json.loads(shown) == [
        {"key": None, "value": {"base64": "eAB5"}},
        {"key": None, "value": {"base64": "//4N"}},
        {"key": "k", "value": "v=w"},
    ]


def test_bytes_of_decoded_values_have_their_fields(mock: str, tmp_path: Path) -> None:
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "ids.json").write_text('{"17": "order.avsc"}')
    place, schemas = ("topic=avro", "partition=0"), ("--schemas", str(tmp_path))
    words = (*place, 'value:={"id":41,"customer":"Ann"}', "--schema", str(tmp_path / "order.avsc"))
    field = re.compile(r"^[0-9a-f]{4}  06 41 6e 6e  +\.Ann +customer +string +Ann$", re.MULTILINE)
    for more in ((), ("-v",)):
        sent = typed(mock, "produce", *words, *schemas, "-o", "hex", *more).out
        assert field.search(sent)
        shown = typed(mock, "fetch", *place, *schemas, "-o", "hex", *more).out
        assert field.search(shown)
        assert "avro #17 shop.Order" in shown
        assert not field.search(typed(mock, "fetch", *place, "-o", "hex", "--raw-values", *more).out)


def test_what_is_shown_of_the_request(mock: str) -> None:
    plain = typed(mock, "fetch", "topic=orders", "partition=0").out
    assert plain.startswith("→ Fetch")
    assert "max_wait_ms" not in plain
    assert "max_wait_ms" in typed(mock, "fetch", "topic=orders", "partition=0", "-v").out
    assert "max_wait_ms" in typed(mock, "fetch", "topic=orders", "partition=0", "--only", "request").out
    assert "value" in typed(mock, "produce", "topic=orders", "partition=0", "value=v", "--records").out


def test_a_fetch_in_text_shows_a_line_for_each_record(mock: str) -> None:
    words = ["topic=shown", "partition=0", "timestamp=86400000"]
    answered(mock, "produce", *words, "key=k1", "value=one", "header=a:b", "value=two\x1b", "value:=null")
    outcome = typed(mock, "fetch", "topic=shown", "partition=0")
    request, response, *records = outcome.out.splitlines()
    assert (request[:8], response[0]) == ("→ Fetch ", "←")
    assert [line.split(maxsplit=4) for line in records] == [
        ["shown[0]", "0", "1970-01-02", "00:00:00.000", "k1 → one  a=b"],
        ["shown[0]", "1", "1970-01-02", "00:00:00.000", "base64:dHdvGw=="],
        ["shown[0]", "2", "1970-01-02", "00:00:00.000", "–"],
    ]
    assert (outcome.code, outcome.err) == (0, "")
    behind = typed(mock, "fetch", "topic=shown", "partition=0", "offset=3", "max_wait_ms=0")
    assert behind.err == "kw: no record from that offset on in shown[0]\n"
    assert "batches" not in behind.out


def test_with_v_or_records_a_fetch_in_text_shows_its_batches(mock: str) -> None:
    answered(mock, "produce", "topic=batches", "partition=0", "value=v")
    for option in ("-v", "--records"):
        assert "base_offset" in typed(mock, "fetch", "topic=batches", "partition=0", option).out


def test_offsets_of_a_topic_are_those_of_all_its_partitions(mock: str) -> None:
    answered(mock, "produce", "topic=ends", "partition=1", "value=a", "value=b")
    rows: dict[int, int] = {}
    outcome = call(mock, "offsets", "topic=ends")
    for line in outcome.out.splitlines():
        for topic in json.loads(line)["response"]["topics"]:
            rows |= {row["partition_index"]: row["offset"] for row in topic["partitions"]}
    assert (outcome.code, rows) == (0, {0: 0, 1: 2, 2: 0, 3: 0})
    first = answered(mock, "ListOffsets", "topic=ends", "partition=1", "timestamp=earliest")
    assert first["response"]["topics"][0]["partitions"][0]["offset"] == 0
