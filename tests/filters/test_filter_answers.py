"""Which exchanges each field of filters finds, by each operator and with values of all kinds, as checksums.

`python -m tests.filters.test_filter_answers` writes filter_answers.txt again: the filter; how many exchanges it finds
and a checksum of their numbers, or what is wrong with it. A field that is new has no row before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from decoders.filters.filter_field_table import FIELDS
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw
from tests.listed_answers import checksum_of, read_answers, write_answers

FILE: Final = Path(__file__).with_name("filter_answers.txt")
CAPTURES: Final = [str(FOLDER / name) for name in ("tour.pcapng", "telemetry.pcapng", "transactions/hanging.pcap.zst")]
OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=", "~", "!~", "in", "not in")
VALUES: Final = (
    *("0", "1", "-1", "3", "12", "100", "orders", '"orders"', "10ms", "1s", "4.0", "1k", "true", "127.0.0.1", ":9092"),
    *(
        "Fetch",
        "Produce",
        "*",
        "o*s",
        "17:34",
        "ok",
        "null",
        "5",
        "1-40",
        "2",
        "billing",
        "^b",
        "[",
        "99999999999999999999",
    ),
)
# Kind of a field → values that it may have.
FITTING: Final = {
    "number": ("0", "1", "3", "12", "9092"),
    "text": ("orders", '"billing"', "o*s", "127.0.0.1", "^b", "ok"),
    "record_content": ("orders", "b"),
    "version": ("4.0", "2.16.1", "12", "0"),
    "duration": ("1ms", "4ms", "100us", "1s", "500"),
    "size": ("100", "1k", "64", "4096"),
    "time": ("17:34", "2026-11-21", "17:34:50.5"),
    "address": ("127.0.0.1", ":9092", "127.0.0.0/8", "[::1]:9092"),
    "api": ("Fetch", "1", "Produce", "18"),
    "error": ("3", "UNKNOWN_TOPIC_OR_PARTITION", "0", "14"),
    "packet": ("5", "1-40", "tour.pcapng:60", "100-100000"),
}
BODY_PATHS: Final = (
    *("request.topics[].name", "request.topics[0].name", "response.error_code", "request.acks", "response.topics[]"),
    *("request.topic_data[].partition_data[].records[].record_count", "request", "response.nothing", "request.*"),
    *("response.throttle_time_ms", "request.group_id", "request.topics[].partitions[].fetch_offset", "errors[].code"),
)
MORE: Final = (
    *("", "(", ")", "()", "api ==", "== 3", "api == Fetch and", "not", "api api", "api == Fetch or or topic", "a.b.c"),
    *(
        "api == Fetch and topic == orders",
        "api == Fetch or topic == orders and group",
        "not (api == Fetch) and not error",
    ),
    *(
        "api in (Fetch, Produce)",
        "api in (Fetch,)",
        "api in ()",
        "api not in (Fetch, 3, x)",
        "api == (Fetch)",
        "!error",
    ),
    *("any topic == orders", "all topic == orders", "error and api", "api == Fetch && latency > 1ms || error", "topic"),
    *("latency > 1ms and latency < 10ms", "latency between 1ms and 10ms", "api == fetch", "api == fech", "topik == x"),
)


def list_filters() -> Iterator[str]:
    """Each field alone, and with each operator, with values in turn."""
    of_all = cycle(VALUES)
    for name in (*FIELDS, *BODY_PATHS):
        yield name
        fitting = cycle(FITTING.get(FIELDS[name].kind if name in FIELDS else "number", VALUES))
        for number, operator in enumerate(OPERATORS):
            values = of_all if number % 4 == 3 else fitting
            value = f"({next(values)}, {next(values)})" if "in" in operator else next(values)
            yield f"{name} {operator} {value}"
        next(of_all)
    yield from MORE


def describe_answer(text: str) -> str:
    done = kw(
        "sniff", *CAPTURES, "-q", "-f", text, "-o", "csv", "--columns", "connection,correlation_id", "--jobs", "1"
    )
    wrong = done.err.splitlines()[-1:] if done.err else []
    return " ".join([f"{done.out.count(chr(10))} {checksum_of(done.out)}", *wrong])[:160].strip()


LISTED: Final = read_answers(FILE)
ROWS: Final = [*LISTED]


@pytest.mark.parametrize(
    "rows", [pytest.param(ROWS[at::40], marks=[] if at == 7 else [pytest.mark.long], id=str(at)) for at in range(40)]
)
def test_a_filter_finds_what_it_found(rows: list[str]) -> None:
    found = {row: describe_answer(row) for row in rows}
    assert found == {row: LISTED[row] for row in rows}, "where it is meant: python -m tests.filters.test_filter_answers"


if __name__ == "__main__":
    write_answers(FILE, ((text, describe_answer(text)) for text in list_filters()))
