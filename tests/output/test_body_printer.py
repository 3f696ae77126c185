"""Bodies under a line: trees with tables, defaults dim, errors by name, everything within the width."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.apis import api
from decoders.schema.api_declaration import resolve
from kwcli.output.body_printer import BodyPrinter
from kwcli.output.short_texts import COLORED, PLAIN, cell_width

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

METADATA: dict[str, Any] = {
    "throttle_time_ms": 0,
    "brokers": [
        {"node_id": 1, "host": "localhost", "port": 9092, "rack": None},
        {"node_id": 2, "host": "localhost", "port": 9093, "rack": "eu"},
    ],
    "cluster_id": "5L6g3nShT-eMCtK--X86sw",
    "controller_id": 1,
    "topics": [
        {
            "error_code": 3,
            "name": "orders",
            "topic_id": "Uy1vS0x1QnG5nYz3kq0b0A",
            "is_internal": False,
            "partitions": [
                {
                    "error_code": 0,
                    "partition_index": number,
                    "leader_id": 1,
                    "leader_epoch": 4,
                    "replica_nodes": [1, 2, 3],
                    "isr_nodes": [1, 2],
                    "offline_replicas": [],
                }
                for number in range(2)
            ],
            "topic_authorized_operations": -2147483648,
        }
    ],
    "error_code": 0,
}
PLAN = resolve(api("Metadata").response, 13)


def lines(value: dict[str, Any], width: int | None = None) -> list[str]:
    return list(BodyPrinter(width, PLAIN).struct_lines(value, PLAN))


def test_a_body() -> None:
    assert lines(METADATA) == [
        "  throttle_time_ms  0",
        "  brokers           node_id  host       port  rack",
        "                    1        localhost  9092  –",
        "                    2        localhost  9093  eu",
        "  cluster_id        5L6g3nShT-eMCtK--X86sw",
        "  controller_id     1",
        "  topics",
        "    orders · error_code UNKNOWN_TOPIC_OR_PARTITION · topic_id Uy1vS0x1QnG5nYz3kq0b0A · is_internal false"
        " · topic_authorized_operations not_asked_for",
        "      error_code  partition_index  leader_id  leader_epoch  replica_nodes  isr_nodes  offline_replicas",
        "      –           0                1          4             1,2,3          1,2        []",
        "      –           1                1          4             1,2,3          1,2        []",
        "  error_code        –",
    ]


def test_a_narrow_terminal_has_shorter_headings() -> None:
    table = lines(METADATA, 72)[-4:-1]
    assert table == [
        "      error  partition  leader  epoch  replicas  isr  offline",
        "      –      0          1       4      1,2,3     1,2  []",
        "      –      1          1       4      1,2,3     1,2  []",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_everything_fits(width: int) -> None:
    assert max(map(cell_width, lines(METADATA, width))) <= width


@pytest.mark.parametrize("width", [None, 50, 80])
def test_colours_add_nothing_but_colour(width: int | None) -> None:
    colored = list(BodyPrinter(width, COLORED).struct_lines(METADATA, PLAN))
    assert [ESCAPE.sub("", line).rstrip() for line in colored] == lines(METADATA, width)


def test_defaults_are_dim_and_errors_red() -> None:
    text = "\n".join(BodyPrinter(None, COLORED).struct_lines(METADATA, PLAN))
    assert f"{COLORED.dim}not_asked_for{COLORED.off}" in text
    assert f"{COLORED.bad}UNKNOWN_TOPIC_OR_PARTITION{COLORED.off}" in text
    assert f"{COLORED.dim}5L6g" not in text


def test_what_an_error_means_is_told() -> None:
    body = BodyPrinter(60, PLAIN)
    list(body.struct_lines(METADATA, PLAN))
    assert body.mentioned == {3: "UNKNOWN_TOPIC_OR_PARTITION"}
    told = list(body.error_meaning_lines(set()))
    assert told[0].startswith("  UNKNOWN_TOPIC_OR_PARTITION 3: ")
    assert all(len(line) <= 60 for meaning in told for line in meaning.splitlines())
    assert list(BodyPrinter(60, PLAIN).error_meaning_lines(set())) == []


def test_values_that_are_no_plain_text() -> None:
    value = {
        "secret": {"redacted": 32},
        "bytes": {"base64": "AAE="},
        "text": "a\x1b[2J",
        "empty": "",
        "null": None,
        "yes": True,
        "inner": {"$type": "ConsumerProtocolSubscription", "$version": 3, "topics": ["a", "b"]},
        "headers": [{"key": "k", "value": "v"}, {"key": "s", "value": {"\u202e": [1, {"base64": "AA"}]}}],
        "batches": [{"base_offset": 0, "magic": 2, "record_count": 1, "size": 70, "codec": "none"}],
    }
    assert list(BodyPrinter(None, PLAIN).struct_lines(value, None)) == [
        "  secret   ‹32 bytes redacted›",
        "  bytes    base64:AAE=",
        "  text     a\\x1b[2J",
        '  empty    ""',
        "  null     –",
        "  yes      true",
        "  inner ConsumerProtocolSubscription",
        "    $version  3",
        "    topics    a,b",
        '  headers  k=v s={"\\u202e":[1,{"base64":"AA"}]}',
        "  batches  base_offset  record_count  size  codec  magic",
        "           0            1             70    none   2",
    ]


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text("ab \n\x1b漢\udcff", max_size=30)
    | st.lists(st.integers(), max_size=5)
)
VALUES = st.recursive(
    st.dictionaries(st.sampled_from("abcdef"), SCALARS, max_size=4),
    lambda inner: st.dictionaries(st.sampled_from("abcdef"), SCALARS | inner | st.lists(inner, max_size=3), max_size=4),
    max_leaves=10,
)


@given(VALUES, st.sampled_from([None, 40, 80]))
def test_whatever_a_body_holds_is_written(value: dict[str, Any], width: int | None) -> None:
    for line in BodyPrinter(width, PLAIN).struct_lines(value, None):
        assert line.isprintable()
        assert width is None or cell_width(line) <= width
