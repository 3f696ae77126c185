"""Lines that people paste: the answer of `kw decode --explain` and `kw errors`, and how sure it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.frames.explain_strange_numbers import explain_by_known_log_lines, list_findings_about_log_line
from decoders.protocol_facts.errors.client_texts import CLIENT_TEXTS
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.errors.error_names import LIBRDKAFKA_ERRORS
from decoders.protocol_facts.errors.find_errors_in_text import find_codes_of_client_texts, find_error_codes_in_line
from decoders.protocol_facts.errors.known_log_lines import LOG_LINES
from tests.cli.worlds import kw


class Pasted(NamedTuple):
    """The name of the answer, words of it, and the line; `-` for a line that says nothing."""

    what: str
    words: str
    line: str


def read_pasted_lines() -> list[Pasted]:
    text = Path(__file__).with_name("log_lines.txt").read_text()
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [Pasted(*(part.strip() for part in row.split("⇒", 2))) for row in rows]


PASTED = read_pasted_lines()
KNOWN = [row for row in PASTED if row.what != "-"]
# What is no answer of Kafka's, whatever code an exception beside it has.
NO_CODES = ("SASL token", "Confluent", "TLS", "HTTP/1", "Telnet", "layout", "lost framing")


@pytest.mark.parametrize("row", PASTED, ids=lambda row: row.line[:60])
def test_a_pasted_line_is_explained(row: Pasted) -> None:
    done = kw("decode", "--explain", row.line, "-o", "ndjson")
    found = [json.loads(line) for line in done.out.splitlines()]
    if row.what == "-":
        assert (found, done.code) == ([], 1), row.line
        assert "nothing recognised" in done.err
        return
    assert found, done.err
    assert found[0]["what"] == row.what, found[0]
    assert row.words in found[0]["detail"], found[0]
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.line[:60])
def test_errors_takes_the_same_lines(row: Pasted) -> None:
    done = kw("errors", row.line, "-o", "json")
    assert (done.code, done.err) == (0, ""), row.line
    found = json.loads(done.out)
    first = found if isinstance(found, dict) else found[0]
    if "no overload" in row.words:
        assert first["what"] == "metadata"
    if row.what in NO_CODES:
        assert first["what"] == row.what
    assert first.get("name") or (first["what"] == row.what and first["detail"])


def test_there_are_lines_of_each_library() -> None:
    assert len(PASTED) >= 150
    assert len({row.line for row in PASTED}) == len(PASTED)


def test_every_row_of_the_table_has_a_line() -> None:
    """A row that no line of the tests reaches may be dead, or hidden by one before it."""
    reached = {finding.detail for row in KNOWN for finding in explain_by_known_log_lines(row.line)}
    beginnings = {row.detail.partition("{")[0] for row in LOG_LINES}
    dead = {begin for begin in beginnings if not any(detail.startswith(begin) for detail in reached)}
    assert dead == set()


def test_what_words_do_not_prove_is_likely() -> None:
    """A bare break of a connection, a time-out or a length has several causes."""
    for row in LOG_LINES:
        if row.what in ("closed", "layout", "order", "memory", "corrupt"):
            assert row.detail.startswith("likely: "), row.detail


def test_every_code_has_the_texts_of_its_clients() -> None:
    assert set(CLIENT_TEXTS) >= set(ERRORS) - {0}
    assert set(CLIENT_TEXTS) <= set(ERRORS) | set(LIBRDKAFKA_ERRORS)
    for code, texts in CLIENT_TEXTS.items():
        for text in texts:
            assert find_codes_of_client_texts(f"{text}.") == [code], text
            assert code in find_error_codes_in_line(f"12:00:01 WARN failed: {text}"), text


def test_librdkafka_writes_these_texts() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    for code in CLIENT_TEXTS:
        text = confluent_kafka.KafkaError(code).str()
        if not text.startswith("Err-"):
            assert find_codes_of_client_texts(text) == [code], text


@pytest.mark.parametrize("number", ["1213486156", "1213486164", "1195725852", "1195725860"])
def test_a_number_of_four_more_or_less_is_likely(number: str) -> None:
    done = kw("decode", "--explain", number, "-o", "ndjson")
    first = json.loads(done.out.splitlines()[0])
    assert first["what"] == "HTTP/1"
    assert "likely" in first["detail"]


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("[27] Rebalance In Progress: the coordinator has begun rebalancing the group", [27]),
        ("[3] Unknown Topic Or Partition: the request is for a topic or partition that does not exist", [3]),
        ("[3] Shutting Down: the server ends", []),
        ("Produce failed with error code 6", [6]),
        ("process exited with code 1", []),
        ("curl: (7) error 7 failed to connect", []),
        ("java.sql.SQLException: error code 17", []),
        ("io.grpc.StatusRuntimeException: gRPC error code 14 unavailable", []),
        ("HTTP status code 5", []),
        ("<connecting> [IPv4 ('10.0.0.1', 9092)]> returned error 104. Disconnecting.", []),
        ("exit was fine, then error code 6", [6]),
    ],
)
def test_numbers_of_other_programs_are_no_codes(line: str, codes: list[int]) -> None:
    assert find_error_codes_in_line(line) == codes


def test_several_lines_are_told_once_each() -> None:
    line = "Connection to node -1 (localhost/127.0.0.1:9092) could not be established. Broker may not be available."
    from tests.cli.worlds import world

    done = kw("decode", "--explain", "-o", "text", env=world(f"{line}\nall is well\n{line}\n".encode()))
    assert done.out.count("no connection") == 1
    assert "next: kw call ApiVersions -b localhost:9092" in done.out


def test_words_without_quotes_are_one_line() -> None:
    words = ["Connection", "to", "node", "1", "(kafka/<unresolved>:9092)", "could", "not", "be", "established"]
    done = kw("errors", *words, "-o", "json")
    assert json.loads(done.out)["what"] == "name"


@pytest.mark.long
@settings(max_examples=300)
@given(st.sampled_from(PASTED), st.text(max_size=30), st.integers(0, 200), st.integers(0, 200), st.booleans())
def test_mutated_lines_do_no_harm(row: Pasted, noise: str, start: int, end: int, alone: bool) -> None:
    for line in (
        row.line[:start] + noise + row.line[end:],
        noise + row.line[start:],
        row.line[start:] + row.line[:end],
    ):
        for finding in list_findings_about_log_line(line, alone=alone):
            assert finding.what
            assert finding.text.isprintable()
            assert "{" in line or "{" not in finding.detail + finding.remedy  # a name in it may have one
        assert all(isinstance(code, int) for code in find_error_codes_in_line(line))
