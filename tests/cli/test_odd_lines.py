"""Odd values in NDJSON and in request logs: their lines are told with their numbers, the others are shown as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world
from tests.fuzz import odd_values

CAPTURES: Final = odd_values.CAPTURES
YEAR_1: Final = "0001-01-21T17:34:43.293343Z"


@pytest.fixture(scope="module")
def good() -> str:
    """A line of NDJSON, of a Metadata exchange with its facts."""
    made = kw("sniff", str(CAPTURES / "tour.pcapng"), "--api", "Metadata", "-n", "1", "-o", "ndjson", "-q").out
    return json.dumps(json.loads(made) | {"server": SERVER})


SERVER: Final = dict.fromkeys(
    (
        *("listener", "security_protocol", "principal", "total_ms", "request_queue_ms", "local_ms", "remote_ms"),
        *("throttle_ms", "response_queue_ms", "send_ms"),
    )
)
LIBRARY: Final = {"name": "sarama", "from": None, "to": None, "sure": True, "why": "x"}


@pytest.mark.parametrize(
    ("path", "odd", "words", "told"),
    [
        (
            ("server", "remote_ms"),
            "9",
            ["sniff", "-f", "server.remote_ms > 20"],
            'server.remote_ms is "9", not a number or null',
        ),
        (
            ("server", "local_ms"),
            [1],
            ["stats", "--metric", "local"],
            "server.local_ms is an array, not a number or null",
        ),
        (("server", "local_ms"), 1e308, ["stats", "--metric", "local"], "server.local_ms is 1e+308, not -9,223,"),
        (("library",), 7, ["clients"], "library is 7, not an object"),
        (("library",), {"name": "x"}, ["audit", "--target", "4.0"], "library has no from"),
        (("library",), {**LIBRARY, "to": "newest"}, ["clients"], 'library.to is "newest", not of the form'),
        (("api_version",), None, ["replay", "--dry-run", "-b", "x:1"], "api_version is null, not an integer"),
        (("client_id",), ["x"], ["doctor"], "client_id is an array, not text or null or {base64}"),
        (
            ("client_software", "name"),
            7,
            ["stats", "--by", "software"],
            "client_software.name is 7, not text or {base64}",
        ),
        (("response", "brokers", 0, "host"), 7, ["topics"], "response.brokers[0].host is 7"),
        (("response", "brokers", 0, "host"), ["x"], ["doctor"], "response.brokers[0].host is an array"),
        (("response", "controller_id"), 2**40, ["brokers"], "response.controller_id is 1099511627776"),
        (("time",), YEAR_1, ["report", "-o", "text"], f'time is "{YEAR_1}", not a time from 1970 on'),
        (("time",), "9999-12-31T23:59:59.999999Z", ["report", "-o", "md"], "a time before 1970 or after 2262"),
        (("latency_ms",), 9e12, ["stats"], "a time before 1970 or after 2262"),
        (("node", "id"), 2**70, ["brokers"], "node.id is 1.1"),
        (
            ("errors",),
            [{"path": "x", "code": 99999, "name": "x"}],
            ["stats", "--by", "error"],
            "errors[0].code is 99999",
        ),
        (("status",), "done", ["stats"], 'status is "done", not one of "complete"'),
        (("schema",), 2, ["sniff"], "schema is 2, not 1"),
        (
            ("topic_names",),
            {"\x1b[2J": "x"},
            ["sniff"],
            'topic_names["\\x1b[2J"] is a key that the schema does not allow',
        ),
    ],
)
def test_a_line_of_ndjson_with_an_odd_value(
    good: str, path: tuple[Any, ...], odd: Any, words: list[str], told: str, tmp_path: Path
) -> None:
    file = tmp_path / "rows.ndjson"
    file.write_text("\n".join([good, odd_values.put(json.loads(good), path, odd), good]))
    found = kw(words[0], str(file), *words[1:])
    assert found.code == Exit.FAILURE
    assert f"{file}: line 2: no exchange record: {told}" in found.err
    assert found.err.count("no exchange record") == 1
    assert "2 exchanges" in found.err or words[0] in ("replay", "sniff")
    shown = kw("sniff", str(file), "-o", "ndjson")
    assert [json.loads(line) for line in shown.out.splitlines()] == [json.loads(good)] * 2


@pytest.mark.parametrize(
    ("path", "odd", "words", "told"),
    [
        (("totalTimeMs",), 1e308, ["stats"], "totalTimeMs is 1e+308, not 0 to 9,223,372,036,854"),
        (("totalTimeMs",), 9e12, ["stats"], "a time before 1970 or after 2262"),
        (("localTimeMs",), [1], ["stats", "--metric", "local"], "localTimeMs is an array, not a number or null"),
        (("remoteTimeMs",), "9", ["sniff", "-f", "server.remote_ms > 20"], 'remoteTimeMs is "9", not a number or null'),
        (("principal",), {"a": 1}, ["doctor"], "principal is an object, not text or null"),
        (("listener",), ["x"], ["audit", "--security"], "listener is an array, not text or null"),
        (("clientInformation",), 7, ["clients"], "clientInformation is 7, not an object or null"),
        (("clientInformation", "softwareName"), [], ["clients"], "clientInformation.softwareName is an array"),
        (("requestHeader", "clientId"), 7, ["clients"], "requestHeader.clientId is 7, not text or null"),
        (("requestHeader", "correlationId"), 2**31, ["sniff"], "requestHeader.correlationId is 2147483648, not "),
        (("requestHeader", "requestApiKey"), [], ["sniff"], "requestHeader.requestApiKey is an array"),
        (("response",), 7, ["sniff"], "response is 7, not an object or text or null"),
        (("connection",), "1.2.3.4:99999999-1.2.3.4:5-0", ["sniff"], 'broker is "1.2.3.4:99999999", not an address'),
    ],
)
def test_a_line_of_a_request_log_with_an_odd_value(
    path: tuple[Any, ...], odd: Any, words: list[str], told: str, tmp_path: Path
) -> None:
    line = odd_values.logged()[0]
    head, said = odd_values.split_log(line)
    file = tmp_path / "requests.log"
    file.write_text("\n".join([line, head + odd_values.put(said, path, odd), line]))
    found = kw(words[0], str(file), *words[1:])
    assert found.code == Exit.FAILURE
    assert f"{file}: line 2: no " in found.err
    assert told in found.err
    assert len(kw("sniff", str(file), "-o", "ndjson").out.splitlines()) == 2


def test_a_line_too_deep_to_be_written_again_is_told(good: str, tmp_path: Path) -> None:
    """Deep values in an unknown key of a record in a batch, which no schema describes."""
    produced = kw(
        "sniff", str(CAPTURES / "tour.pcapng"), "--api", "Produce", "-n", "1", "-o", "ndjson", "--records", "-q"
    )
    line = json.loads(produced.out)
    batch = line["request"]["topic_data"][0]["partition_data"][0]["records"][0]
    batch["records"][0]["more"] = json.loads("[" * 400 + "]" * 400)
    rows = tmp_path / "rows.ndjson"
    rows.write_text(f"{good}\n{json.dumps(line)}\n{good}\n")
    outcome = kw("sniff", str(rows), "-o", "ndjson")
    assert (outcome.code, len(outcome.out.splitlines())) == (Exit.FAILURE, 2)
    assert "line 2: more than 200 arrays and objects inside each other" in outcome.err


def test_a_codec_that_is_none_and_texts_with_control_characters(tmp_path: Path) -> None:
    """A codec that kw does not know is told; texts that may be anything are shown escaped."""
    made = kw("sniff", str(CAPTURES / "tour.pcapng"), "--api", "Produce", "-n", "1", "-o", "ndjson", "--records").out
    record = json.loads(made)
    file = tmp_path / "rows.ndjson"
    batches = ("request", "topic_data", 0, "partition_data", 0, "records")
    texts = [(*batches, 0, "codec"), ("client_id",), ("request", "newer\x1b[2J"), ("user",), ("library", "name")]
    lines = [odd_values.without(record, (*batches, 0, "base_sequence"), None)]
    assert kw("report", "-", env=world(lines.pop().encode())).err.count("has no base_sequence") == 1
    lines = [odd_values.put(record | {"library": LIBRARY}, path, odd_values.HOSTILE) for path in texts]
    for odd in (
        {"$type": odd_values.HOSTILE},
        {"base64": odd_values.HOSTILE},
        {"base64": odd_values.HOSTILE, "error": 7},
    ):
        lines.append(odd_values.put(record, ("request", "newer"), odd))
    file.write_text("\n".join(lines))
    for words in (
        ["sniff", "-v"],
        ["sniff", "-o", "table"],
        ["report"],
        ["report", "-o", "md"],
        ["clients"],
        ["audit"],
    ):
        form = [] if "-o" in words else ["-o", "text"]
        found = kw(words[0], str(file), *words[1:], *form)
        odd_values.check_run([*words, *form], found)
        assert found.code == Exit.FAILURE
        told = "line 1: no exchange record: request.topic_data[0].partition_data[0].records[0]: codec is "
        assert told in found.err


@pytest.mark.parametrize("key", ["format", "schema_id", "name", "error"])
@pytest.mark.parametrize("odd", [7.5, ["x"], {"a": 1}])
def test_decoded_values_with_an_odd_key_are_somebody_elses(key: str, odd: object, tmp_path: Path) -> None:
    made = kw("sniff", str(CAPTURES / "tour.pcapng"), "--api", "Produce", "-n", "1", "-o", "ndjson", "--records").out
    record = ("request", "topic_data", 0, "partition_data", 0, "records", 0, "records", 0, "value_decoded")
    decoded = {"format": "avro", "schema_id": 7, "name": "shop.Order", "schema_from": None, "value": {"id": 1}}
    file = tmp_path / "rows.ndjson"
    file.write_text(odd_values.put(json.loads(made), record, decoded | {key: odd}))
    found = kw("sniff", str(file), "-v", "--records", "-o", "text")
    assert (found.code, "shop.Order {" in found.out) == (Exit.DONE, False)


def test_faulty_lines_are_told_up_to_a_number(good: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.ndjson"
    file.write_text("\n".join([good, *[odd_values.put(json.loads(good), ("node",), None)] * 9, good]))
    found = kw("stats", str(file))
    assert found.err.count("node is null, not an object") == 3
    assert f"{file}: 6 more lines are no exchanges" in found.err


def test_keys_that_a_newer_kw_may_have_written(good: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.ndjson"
    newer = json.loads(good) | {"omens": [{"side": "request", "id": "x"}], "point": "b1"}
    newer["node"]["zone"] = newer["response"]["newer"] = {"a": [1]}
    file.write_text(json.dumps(newer))
    found = kw("sniff", str(file), "-o", "ndjson")
    assert (found.code, json.loads(found.out)) == (Exit.DONE, newer)
    odd_values.check_run(["sniff", "-v"], kw("sniff", str(file), "-v", "-o", "text"))


PARTS: Final = 12
LINES: Final[dict[str, Callable[[int, int], Sequence[str]]]] = {
    "records": lambda part, parts: list(odd_values.odd_records(part, parts * 3)),
    "logs": lambda part, parts: list(odd_values.odd_log_lines(part, parts)),
    "bodies": lambda part, parts: list(odd_values.odd_bodies(odd_values.recorded(), part, parts * 60)),
    "bodies of logs": lambda part, parts: list(odd_values.odd_bodies(odd_values.logged(), part, parts * 30)),
}


@pytest.mark.full
@pytest.mark.parametrize(
    "number", range(len(odd_values.COMMANDS)), ids=lambda number: " ".join(odd_values.COMMANDS[number])
)
@pytest.mark.parametrize("kind", LINES)
def test_every_key_with_every_odd_value(kind: str, number: int) -> None:
    """Each command reads one part of all lines with an odd value; several commands read each part."""
    lines = LINES[kind](number % PARTS, PARTS)
    assert len(lines) > 20
    odd_values.try_lines(lines, [odd_values.COMMANDS[number]], log="log" in kind)


QUICK: Final = (["sniff", "-v", "-o", "text"], ["stats", "--by", "client,topic", "-o", "text"], ["report", "-o", "md"])


@pytest.mark.parametrize("kind", LINES)
def test_a_few_keys_with_odd_values(kind: str) -> None:
    odd_values.try_lines(LINES[kind](5, PARTS * 8), QUICK, log="log" in kind)
