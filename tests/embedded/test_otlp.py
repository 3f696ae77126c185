"""Client metrics (PushTelemetry): read in every compression, encoded to the same bytes again, bounded in memory."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from random import Random
from struct import Struct
from typing import Any

import cramjam
import orjson
import pytest

from decoders import decode_message, encode_message
from decoders.embedded import encode_embedded_from_json, otlp_metrics
from decoders.embedded.otlp_metrics import METRICS, ORIGINAL, encode_metrics_from_json, metrics_json
from decoders.errors import EncodeError
from decoders.limits import METRICS_MESSAGES_MAX, METRICS_SIZE_MAX
from decoders.records.codecs import NAMES, deflate
from kwcli.output.format_client_metrics import client_metric_lines
from kwcli.output.short_texts import PLAIN
from tests.broker.jars import Missing, explain_missing_tools
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world
from tests.embedded.metrics import otlp as messages
from tests.embedded.metrics import random_metrics
from tests.oracle.java_oracle import Java

CAPTURE = str(FOLDER / "telemetry.pcapng")
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)


def pushes(*options: str) -> list[dict[str, Any]]:
    """The PushTelemetry exchanges of the capture: librdkafka 2.16 and Java 4.4.0."""
    messages()
    lines = kw("sniff", CAPTURE, "-q", "--api", "PushTelemetry", "-o", "ndjson", *options).out.splitlines()
    return [json.loads(line) for line in lines]


def metrics_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        metric
        for resource in record["request"]["metrics"]["resource_metrics"]
        for scope in resource["scope_metrics"]
        for metric in scope["metrics"]
    ]


def test_what_real_clients_push() -> None:
    records = pushes()
    assert {record["client_id"] for record in records} == {"shop", "billing-1", "billing-2"}
    for record in records:
        metrics = record["request"]["metrics"]
        assert (metrics["$type"], metrics["$codec"]) == ("MetricsData", "zstd")
        names = [metric["name"] for metric in metrics_of(record)]
        assert len(names) > 5
        assert all(name.startswith("org.apache.kafka.") for name in names)
    java = next(record for record in records if record["client_id"] == "billing-2")
    (total,) = (m for m in metrics_of(java) if m["name"] == "org.apache.kafka.consumer.request.total")
    assert total["sum"]["aggregation_temporality"] == 1
    assert total["sum"]["is_monotonic"] is True
    assert total["sum"]["data_points"][0]["as_double"] > 0


def test_captured_bytes_come_back() -> None:
    """Captured bytes are encoded again from the JSON of a record, as metrics, as a structure and by `kw encode`."""
    for record in pushes():
        metrics = record["request"]["metrics"]
        sent = b64decode(metrics[ORIGINAL]["base64"])
        assert encode_metrics_from_json(metrics, "metrics") == sent
        assert encode_embedded_from_json(metrics, "metrics") == sent
        line = json.dumps(record)
        assert sent.hex() in kw("encode", "PushTelemetry", "0", env=world(line.encode())).out


def test_changed_fields_are_what_is_encoded() -> None:
    metrics = pushes()[0]["request"]["metrics"]
    metrics_of({"request": {"metrics": metrics}})[0]["name"] = "mine"
    again = metrics_json(encode_metrics_from_json(metrics, ""), ZSTD)
    assert metrics_of({"request": {"metrics": again}})[0]["name"] == "mine"
    assert again["resource_metrics"] == metrics["resource_metrics"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("codec", range(len(NAMES)))
def test_random_metrics_in_each_compression(codec: int) -> None:
    messages()
    for seed in range(60):
        plain = random_metrics(Random(seed))
        assert plain
        data = deflate(NAMES[codec], plain)
        found = metrics_json(data, codec)
        assert found["$type"] == METRICS, found
        assert ORIGINAL not in found
        assert orjson.loads(orjson.dumps(found)) == found
        assert encode_metrics_from_json(json.loads(json.dumps(found)), "") == data
        assert metrics_json(plain, NONE) == {key: value for key, value in found.items() if key != "$codec"}


def test_bytes_of_other_writers_are_kept() -> None:
    """Bytes as other writers make them are kept: gzip with a time, raw snappy (librdkafka), fields out of order."""
    messages()
    plain = random_metrics(Random(3))
    for codec, data in ((GZIP, gzip.compress(plain, 1, mtime=7)), (SNAPPY, bytes(cramjam.snappy.compress_raw(plain)))):
        found = metrics_json(data, codec)
        assert found[ORIGINAL]
        assert encode_metrics_from_json(found, "") == data
    for odd in (
        plain + bytes.fromhex("fa01 03 616263"),  # field 31, which is not declared
        bytes.fromhex("0a04 1200 0a00"),  # the scopes before the resource
    ):
        assert encode_metrics_from_json(metrics_json(odd, NONE), "") == odd


@pytest.mark.long
@pytest.mark.one_in(2)
def test_the_original_is_kept_exactly_where_json_gives_other_bytes() -> None:
    """Bytes changed at random: whether `_original` is there says whether the other fields alone give the bytes."""
    messages()
    kept: list[bool] = []
    nan = Struct("<d").pack(float("nan"))
    for seed in range(400):
        rng = Random(seed)
        changed = bytearray(random_metrics(rng))
        for _ in range(rng.randrange(3)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            changed = changed.replace(nan, bytes([1, *nan[1:]]), 1)
        changed += bytes.fromhex(rng.choice(("", "", "", "fa0100")))
        found = metrics_json(bytes(changed), NONE)
        if "error" not in found:
            alone = {key: value for key, value in found.items() if key != ORIGINAL}
            kept.append(ORIGINAL in found)
            assert kept[-1] == (encode_metrics_from_json(alone, "") != changed), seed
    assert min(kept.count(True), kept.count(False)) > 50


# A gauge's data point with a double: NaN as JSON gives it, NaN with other bits, a NaN below zero, and an array of them.
@pytest.mark.parametrize(
    ("bits", "kept"),
    [("000000000000f87f", False), ("010000000000f87f", True), ("000000000000f8ff", True), ("010000000000f07f", True)],
)
@pytest.mark.parametrize("field", ["21", "explicit_bounds"])
def test_a_nan_with_other_bits_is_kept(bits: str, kept: bool, field: str) -> None:
    messages()
    if field == "21":
        point = bytes.fromhex("21" + bits)
        metric = b"\x2a" + bytes([2 + len(point)]) + b"\x0a" + bytes([len(point)]) + point  # gauge.data_points
    else:
        point = bytes.fromhex("3a08" + bits)  # explicit_bounds, packed
        metric = b"\x4a" + bytes([2 + len(point)]) + b"\x0a" + bytes([len(point)]) + point  # histogram.data_points
    scope = b"\x12" + bytes([len(metric)]) + metric
    resource = b"\x12" + bytes([len(scope)]) + scope
    data = b"\x0a" + bytes([len(resource)]) + resource
    found = metrics_json(data, NONE)
    assert "NaN" in str(found)
    assert (ORIGINAL in found) == kept
    assert encode_metrics_from_json(json.loads(json.dumps(found)), "") == data


@pytest.mark.parametrize("codec", [NONE, ZSTD])
@pytest.mark.parametrize("extra", ["fa01 03 616263", "0a05 fa01 02 6162", "0a07 1205 fa01 02 6162"])
def test_fields_that_are_not_declared_are_kept_at_any_depth(extra: str, codec: int) -> None:
    messages()
    data = deflate(NAMES[codec], bytes.fromhex("0a00") + bytes.fromhex(extra))
    found = metrics_json(data, codec)
    assert found[ORIGINAL]
    assert encode_metrics_from_json(json.loads(json.dumps(found)), "") == data


@pytest.mark.plain
def test_canonical_metrics_are_not_encoded_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    messages()
    monkeypatch.setattr(otlp_metrics, "_fill_message_from_json", lambda *_: pytest.fail("encoded from JSON"))
    for seed in range(20):
        assert ORIGINAL not in metrics_json(random_metrics(Random(seed)), NONE)


@pytest.mark.parametrize(
    ("data", "codec", "reason"),
    [
        (b"\x1f\x8b\x08nonsense", GZIP, "codec"),
        (b"nonsense", ZSTD, "codec"),
        (b"nonsense", 9, "codec"),
        (b"nonsense", -1, "codec"),
        (b"\x0a\xffnonsense", NONE, "malformed"),
        (bytes.fromhex("fa01 03 616263"), NONE, "malformed"),
        (deflate("zstd", bytes(METRICS_SIZE_MAX + 1)), ZSTD, "limit"),
        (deflate("gzip", bytes(64 * METRICS_SIZE_MAX)), GZIP, "limit"),
        (bytes(METRICS_SIZE_MAX + 1), NONE, "limit"),
        (deflate("zstd", bytes.fromhex("0a00") * (METRICS_MESSAGES_MAX + 1)), ZSTD, "limit"),
    ],
)
def test_bytes_that_cannot_be_read_say_why(data: bytes, codec: int, reason: str) -> None:
    messages()
    found = metrics_json(data, codec)
    assert (found["error"]["reason"], b64decode(found["base64"])) == (reason, data)
    sent = {"compression_type": 0, "metrics": data}
    body = json.dumps({"compression_type": 0, "metrics": found})
    outcome = kw("encode", "PushTelemetry", "0", env=world(body.encode()))
    assert bytes.fromhex(outcome.out) == encode_message(72, 0, "request", sent)


def test_no_metrics_at_all() -> None:
    assert metrics_json(None, NONE) is None
    assert metrics_json(b"", ZSTD) == ""


@pytest.mark.plain
def test_without_the_package_they_stay_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes.fromhex("0a00")
    monkeypatch.setattr(otlp_metrics, "_load_otlp_classes", lambda: None)
    assert metrics_json(data, NONE) == {
        "base64": "CgA=",
        "error": {"reason": "package", "text": "opentelemetry-proto is not installed"},
    }
    with pytest.raises(EncodeError, match="not installed"):
        encode_metrics_from_json({"$type": METRICS, "resource_metrics": []}, "metrics")


def test_values_inside_values_end_somewhere() -> None:
    messages()
    value: dict[str, Any] = {"int_value": 1}
    for _ in range(300):
        value = {"array_value": {"values": [value]}}
    deep = {"$type": METRICS, "resource_metrics": [{"resource": {"attributes": [{"key": "a", "value": value}]}}]}
    with pytest.raises(EncodeError, match="more than 100 deep"):
        encode_metrics_from_json(deep, "metrics")
    assert [*client_metric_lines(deep, 80, PLAIN)] == []


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"resource_metric": []}, 'metrics.resource_metric: MetricsData has no field "resource_metric"'),
        ({"resource_metrics": {}}, "metrics.resource_metrics: an array expected, not an object"),
        ({"resource_metrics": [7]}, "metrics.resource_metrics[0]: an object expected, not 7"),
        ({"resource_metrics": [{"schema_url": 7}]}, "metrics.resource_metrics[0].schema_url: 7 does not fit"),
        ({"resource_metrics": [{"schema_url": "\udc80"}]}, "metrics.resource_metrics[0].schema_url"),
        ({"$codec": "brotli"}, 'metrics.$codec: no compression is called "brotli"'),
        ({"$version": 2}, "metrics.$version: MetricsData has version 1, not 2"),
    ],
)
def test_values_that_are_no_metrics(value: dict[str, Any], error: str) -> None:
    messages()
    with pytest.raises(EncodeError) as failure:
        encode_metrics_from_json({"$type": METRICS, **value}, "metrics")
    assert error in str(failure.value)


def test_python_values_are_the_bytes() -> None:
    """The library decodes metrics to the bytes on the wire; only JSON has them decoded."""
    data = encode_message(72, 0, "request", {"metrics": b"\x0a\x00", "compression_type": 0})
    assert decode_message(72, 0, "request", data)["metrics"] == b"\x0a\x00"


def test_a_line_for_each_metric() -> None:
    messages()
    outcome = kw(
        "sniff", CAPTURE, "-q", "--api", "PushTelemetry", "-v", "-o", "text", "--client-id", "billing-2", "-n", "1"
    )
    record = pushes("--client-id", "billing-2")[0]
    for metric in metrics_of(record):
        assert metric["name"] in outcome.out
    assert f"MetricsData zstd · {len(metrics_of(record))} metrics · group_id=billing" in outcome.out
    assert "org.apache.kafka.consumer.request.total  delta sum" in outcome.out
    named = pushes("--client-id", "billing-2", "--names")[0]["names"]["request"]
    assert {"zstd", "delta"} == set(named.values())


def test_a_message_that_was_encoded_is_shown_again() -> None:
    line = json.dumps(pushes()[0])
    data = kw("encode", "PushTelemetry", "0", env=world(line.encode())).out.strip()
    shown = kw("decode", "--api", "PushTelemetry", "--version", "0", "--request", "-o", "text", data).out
    assert "MetricsData zstd · 10 metrics" in shown


@pytest.mark.parametrize("width", [20, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    messages()
    for seed in range(40):
        found = metrics_json(random_metrics(Random(seed)), NONE)
        for line in client_metric_lines(found, width, PLAIN):
            assert len(line) <= width
            assert line.isprintable()


@pytest.mark.parametrize(
    ("point", "shown"),
    [
        ({"as_int": 1234567}, "1,234,567"),
        ({"as_double": 0.0}, "0"),
        ({"as_double": 24894136.67}, "24,894,137"),
        ({"as_double": "NaN"}, "NaN"),
        ({"count": 3, "sum": 4.5, "min": 1.0, "max": 2.0, "bucket_counts": [3]}, "n=3 sum=4.5 min=1 max=2"),
        ({"count": 3, "quantile_values": [{"quantile": 0.99, "value": 7.5}]}, "n=3 q0.99=7.5"),
        ({}, "–"),
        ({"as_int": [{}]}, "[{}]"),
    ],
)
def test_values(point: dict[str, Any], shown: str) -> None:
    metric = {"name": "m", "histogram": {"data_points": [point]}}
    found = {"resource_metrics": [{"scope_metrics": [{"metrics": [metric]}]}]}
    assert [*client_metric_lines(found, None, PLAIN)] == [f"{shown}  m  histogram"]


def test_what_a_broker_wants() -> None:
    out = kw("sniff", CAPTURE, "-q", "--api", "GetTelemetrySubscriptions", "-v", "-n", "1", "-o", "text").out
    assert "every 1s all metrics" in out
    assert "accepted_compression_types  4 zstd,3 lz4,1 gzip,2 snappy" in out
    assert "requested_metrics           all metrics" in out


@pytest.mark.parametrize(
    ("wanted", "fact", "field"),
    [
        ([], "no metrics", "none"),
        (["*"], "all metrics", "all metrics"),
        ([""], "all metrics", "all metrics"),
        (["org.apache.", "x"], "org.apache.,x", "org.apache., x …"),
    ],
)
def test_masks(wanted: list[str], fact: str, field: str) -> None:
    from kwcli.output.body_printer import format_requested_metrics
    from kwcli.output.facts.compile_line_facts import NULL_FORMS, FactLimits

    assert NULL_FORMS["masks"](wanted, "", lambda _: None, FactLimits()) == fact
    assert format_requested_metrics(wanted) == field


@pytest.mark.long
def test_kafka_reads_and_writes_the_same() -> None:
    """Metrics compressed and encoded by Java are read here, and ours are read by Java."""
    messages()
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    try:
        java = Java("4.4.0")
    except Missing as missing:
        pytest.skip(str(missing))
    cases = [(codec, random_metrics(Random(seed))) for codec in range(len(NAMES)) for seed in range(20)]
    try:
        questions = [
            ["metrics", plain.hex(), deflate(NAMES[codec], plain).hex(), NAMES[codec]] for codec, plain in cases
        ]
        answers = java.ask(questions)
    finally:
        java.close()
    for (codec, plain), answer in zip(cases, answers, strict=True):
        assert "error" not in answer, answer
        sent = bytes.fromhex(answer["packed"])
        found = metrics_json(sent, codec)
        plainly = {key: value for key, value in found.items() if key not in ("$codec", ORIGINAL)}
        assert plainly == metrics_json(plain, NONE)
        assert encode_metrics_from_json(found, "") == sent
        assert metrics_json(bytes.fromhex(answer["read"]), NONE) == plainly
