"""Text lines: the content of a row, its width, and that colours add nothing but colour."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from decoders.exchanges.body_reader import DecodeFailure
from decoders.exchanges.exchange import Exchange, Settled
from decoders.records.encode_batches import encode_batch
from decoders.records.record_and_batch import Batch, Record
from kwcli.output.output_settings import Settings
from kwcli.output.renderers import open_renderer
from kwcli.output.short_texts import cell_width
from kwcli.output.text import TextLines, lay_out_line
from tests.capture.spoken import spoken
from tests.cli.worlds import kw
from tests.exchanges.talks import request, segments
from tests.output.fakes import TIME_NS, exchange, skipped

WIDTHS = [60, 72, 80, 96, 100, 116, 120, 150, 180, 200, 250]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

PRODUCE = {"acks": -1, "topic_data": [{"name": "orders", "partition_data": [{"index": n} for n in (0, 3, 5)]}]}
ROWS: list[tuple[str, Exchange]] = [
    ("produce", exchange(0, 9, request_view=PRODUCE, client_id="checkout-7")),
    ("slow fetch", exchange(1, 13, latency_ms=502.0, client_id="billing-1")),
    (
        "error",
        exchange(
            19,
            7,
            request_view={"topics": [{"name": "orders"}]},
            codes=[("topics[0].error_code", 36)],
            client_id="admin",
        ),
    ),
    ("no answer wanted", exchange(0, 3, request_view=PRODUCE, latency_ms=None, status="no_response_expected")),
    (
        "unanswered",
        exchange(11, 9, request_view={"group_id": "billing"}, status="unanswered", closed="fin", latency_ms=None),
    ),
    ("orphan", exchange(3, 12, status="orphan_response", request_view=None, latency_ms=None, request_size=None)),
    (
        "undecoded",
        exchange(
            3,
            12,
            request_view={"topics": [{"name": "orders"}]},
            status="undecoded",
            failures={"response": DecodeFailure("malformed", 17, "brokers[0].host", "no UTF-8")},
        ),
    ),
    ("token", exchange(None, None, status="token", client_id=None)),
    ("long names", exchange(12, 4, request_view={"group_id": "g" * 300}, client_id="c" * 300)),
    ("wide letters", exchange(12, 4, request_view={"group_id": "注文" * 60}, client_id="注文処理" * 5)),
    ("nasty letters", exchange(12, 4, request_view={"group_id": "a\x1b[2Jb\udcff"}, client_id="x\ny")),
    (
        "many errors",
        exchange(3, 12, request_view={"topics": [{"name": "t"}]}, codes=[("a", 3), ("b", 5), ("c", 6), ("d", 3)]),
    ),
    (
        "far address",
        exchange(client="[2001:db8::1234:5678]:54321", broker="[2001:db8::8765:4321]:9092", client_id=None),
    ),
    ("large numbers", exchange(correlation_id=2**31 - 1, connection=123456, request_size=2**31 - 1, response_size=0)),
]


def line(made: Exchange, width: int | None, *, color: bool = False) -> str:
    return TextLines(width, color=color).exchange_line(made)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("made", [made for _, made in ROWS], ids=[name for name, _ in ROWS])
def test_nothing_wraps(made: Exchange, width: int) -> None:
    assert max(map(cell_width, line(made, width).splitlines())) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("name", ["error", "unanswered"])
def test_a_topic_and_its_error_are_whole(name: str, width: int) -> None:
    made = dict(ROWS)[name]
    words = {"error": ("orders", "TOPIC_ALREADY_EXISTS"), "unanswered": ("billing", "unanswered at close")}
    lines = line(made, width).splitlines()
    assert [word for word in words[name] if not any(word in each for each in lines)] == []
    assert max(map(cell_width, lines)) <= width
    assert all(each.startswith("  ") for each in lines[1:])


@pytest.mark.parametrize("width", [80, 200, None])
@pytest.mark.parametrize("made", [made for _, made in ROWS], ids=[name for name, _ in ROWS])
def test_colours_add_nothing_but_colour(made: Exchange, width: int | None) -> None:
    colored = line(made, width, color=True)
    assert colored != line(made, width)
    assert ESCAPE.sub("", colored) == line(made, width)
    assert all(each.isprintable() for each in ESCAPE.sub("", colored).splitlines())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("produce", "03:04:05.123  1.2ms checkout-7    …1:9092   Produce 9        orders[0,3,5] 0 rec acks=all"),
        ("slow fetch", "03:04:05.123  502ms billing-1     …1:9092   Fetch 13         "),
        ("error", "03:04:05.123  1.2ms admin         …1:9092 ✗ CreateTopics 7   orders TOPIC_ALREADY_EXISTS"),
        ("no answer wanted", "03:04:05.123      – rdkafka       …1:9092   Produce 3        orders[0,3,5] 0 rec"),
        ("unanswered", "03:04:05.123      – rdkafka       …1:9092 ? JoinGroup 9      group billing unanswered"),
        ("orphan", "03:04:05.123      – rdkafka       …1:9092 ← Metadata 12      its request is not in the capture"),
        ("undecoded", "03:04:05.123  1.2ms rdkafka       …1:9092 ! Metadata 12      orders response undecoded: malf"),
        ("token", "03:04:05.123  1.2ms 127.0.0.1     …1:9092   SASL token       51B → 999B"),
        ("nasty letters", "03:04:05.123  1.2ms x\\ny          …1:9092   Heartbeat 4      group a\\x1b[2Jb\\xff"),
    ],
)
def test_a_line_says_what_matters(name: str, text: str) -> None:
    assert line(dict(ROWS)[name], 100).startswith(text.rstrip())


def test_what_matters_least_goes_first() -> None:
    made = dict(ROWS)["produce"]
    assert line(made, 100).endswith("orders[0,3,5] 0 rec acks=all")
    assert line(made, 80).endswith("orders[0,3,5] 0 rec")
    assert line(made, 60).endswith("orders[0,3,5] 0 rec")


def test_an_error_is_seen_however_long_the_names_are() -> None:
    made = exchange(20, 6, request_view={"topic_names": ["t" * 249]}, codes=[("responses[0].error_code", 3)])
    assert "UNKNOWN_TOPIC_OR_PARTITION" in line(made, 100)


def test_without_a_width_nothing_is_cut() -> None:
    text = line(dict(ROWS)["long names"], None)
    assert "g" * 300 in text
    assert "c" * 300 in text


@pytest.mark.parametrize("width", [200, 250])
def test_a_wide_terminal_has_more_columns(width: int | None) -> None:
    made = exchange(client_software={"name": "librdkafka", "version": "2.3.0"})
    words = line(made, width).split()
    for word in ("127.0.0.1:54321", "127.0.0.1:9092", "3", "7", "51B", "999B", "librdkafka", "2.3.0"):
        assert word in words


def test_the_columns_stand_under_their_names() -> None:
    lines = TextLines(100, color=False)
    header = lines.column_titles_line()
    text = lines.exchange_line(dict(ROWS)["produce"])
    assert text.index("checkout-7") == header.index("client")
    assert text.index("Produce") == header.index("request")
    wide = TextLines(200, color=False)
    header = wide.column_titles_line()
    text = wide.exchange_line(dict(ROWS)["produce"])
    for title, value in (("address", "127.0.0.1:54321"), ("broker", "127.0.0.1:9092"), ("request", "Produce")):
        assert text.index(value) == header.index(title)
    assert text.index("999B") + 4 == header.index("got") + 3


def test_a_node_is_known_by_its_id_once_metadata_has_told() -> None:
    lines = TextLines(100, color=False)
    brokers = [{"node_id": 2, "host": "127.0.0.1", "port": 9092}, {"node_id": 3, "host": "kafka3", "port": 9092}]
    lines.exchange_line(exchange(3, 12, response_view={"brokers": brokers}))
    text = lines.exchange_line(exchange(12, 4))
    assert " 2       " in text
    text = lines.exchange_line(exchange(12, 4, broker="10.0.0.3:9092"))
    assert "…3:9092" in text


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (68, "Cons…Heartbeat 1"),
        (69, "Consu…Describe 1"),
        (10, "FindCoordinat… 1"),
        (3, "Metadata 1"),
        (61, "Desc…Producers 1"),
    ],
)
def test_a_long_name_keeps_its_last_word(key: int, name: str) -> None:
    assert f" {name} " in line(exchange(key, 1), 100)


def test_a_new_day_has_a_line_of_its_own() -> None:
    lines = TextLines(100, color=False)
    assert len(lines.exchange_line(exchange()).splitlines()) == 1
    day, _ = lines.exchange_line(exchange(time_ns=TIME_NS + 86_400 * 10**9)).splitlines()
    assert day == "── 2026-11-22 UTC ──"


def test_a_time_beyond_all_calendars() -> None:
    assert line(exchange(time_ns=2**90), 100).startswith("??:??:??.")


@pytest.mark.parametrize("width", [72, 80, 100, 200, None])
def test_skipped_bytes(width: int | None) -> None:
    text = TextLines(width, color=False).skipped_line(skipped())
    assert "… skipped" in text
    assert width in (72, 80) or "1.4kB to broker: lost" in text
    assert width is None or cell_width(text) <= width


def written(rows: list[Settled], **settings: Any) -> str:
    out: list[bytes] = []
    renderer = open_renderer(Settings(**settings), out.append)
    renderer.write(rows)
    renderer.close()
    return b"".join(out).decode()


def test_skipped_bytes_are_shown_only_with_v() -> None:
    rows = cast(list[Settled], [skipped()])
    assert "skipped" not in written(rows)
    assert "skipped" in written(rows, verbose=1)


def test_the_header_comes_once() -> None:
    rows = cast(list[Settled], [exchange()])
    assert written(rows).count("request") == 1
    assert written(rows, heading=False).count("request") == 0


@pytest.mark.parametrize("width", range(20, 260, 7))
def test_layouts_leave_room(width: int) -> None:
    room = lay_out_line(width).facts
    assert room is not None
    assert room >= 12


def test_table_and_csv() -> None:
    rows = cast(list[Settled], [dict(ROWS)["error"], skipped(), dict(ROWS)["wide letters"]])
    table = written(rows, format="table").splitlines()
    assert [text.split()[0] for text in table] == ["time", *["2026-11-21T03:04:05.123456Z"] * 3]
    assert "TOPIC_ALREADY_EXISTS" in table[1]
    assert "(skipped)" in table[2]
    assert all(cell_width(text) <= 80 for text in written(rows, format="table", width=80).splitlines())
    csv = written(rows, format="csv").splitlines()
    assert csv[0].split(",")[:6] == ["kind", "schema", "time", "latency_ms", "duration_ms", "client"]
    assert csv[1].split(",")[:4] == ["exchange", "1", "2026-11-21T03:04:05.123456Z", "1.234"]
    assert csv[2].startswith("skipped,1,2026-11-21T03:04:05.123456Z,,,10.0.0.9:40000,127.0.0.1:9092,4,")
    assert written([], format="csv") == csv[0] + "\n"


@pytest.mark.long
def test_records_of_a_body_too_large_to_be_held(tmp_path: Path) -> None:
    """Its arrays are decoded while they are written."""
    records = encode_batch([Record(0, 0, b"k", b"value")], Batch())
    parts = [{"index": at, "records": records if at == 7 else None} for at in range(140_000)]
    body = {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": "orders", "partition_data": parts}]}
    path = tmp_path / "large.pcap"
    path.write_bytes(spoken(segments([(True, request(0, 3, 1, "app", body))], Random(1), most=60_000)))
    shown = kw("sniff", str(path), "-o", "text", "--records", "-q")
    assert "  orders[7]@0  k  value\n" in shown.out
