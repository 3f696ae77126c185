"""Cells of -o csv and -o table: one text or number each, no dump of a list or an object; what a narrow table keeps."""

from __future__ import annotations

import ast
import csv
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
import duckdb
import pytest

from decoders.analysis.doctor.find_problems import ABOUT
from kwcli.analyses.csv_and_table_columns import FLAT_COLUMNS
from kwcli.main import kw as commands
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world

SCHEMAS: Final = Path(__file__).resolve().parents[2] / "decoders" / "messages"
TOUR: Final = str(FOLDER / "tour.pcapng")
OLD: Final = str(FOLDER / "old-clients.pcap.gz")
SHARE: Final = str(FOLDER / "share-groups.pcapng")
# Command → the words of its runs.
RUNS: Final[dict[str, list[tuple[str, ...]]]] = {
    "sniff": [("sniff", TOUR), ("sniff", TOUR, "--columns", "api,topic,errors,library.name")],
    "call": [("call", "Metadata", "--dry-run"), ("call", "-X", "list"), ("call", "-X", "dump")],
    "stats": [("stats", TOUR), ("stats", TOUR, "--by", "error,client"), ("stats", TOUR, "--metric", "records")],
    **{
        word: [(word, TOUR), (word, OLD), (word, SHARE)]
        for word in ("clients", "groups", "transactions", "topics", "brokers")
    },
    "diff": [("diff", OLD, TOUR, "-v")],
    "trace": [("trace", TOUR, "orders/0@0")],
    "doctor": [("doctor", TOUR), ("doctor", OLD)],
    "audit": [
        *(("audit", TOUR), ("audit", OLD)),
        *(("audit", OLD, "--clients", "4.0"), ("audit", TOUR, "--security"), ("audit", OLD, "--security")),
        ("audit", OLD, "--advisories"),
    ],
    "sql": [
        ("sql", TOUR, "select api, count(*) as exchanges, max(latency_ms) as latency_ms from exchanges group by 1"),
        ("sql", TOUR, "select * from exchanges"),
        ("sql", TOUR, "select * from topic_partitions"),
        (
            "sql",
            TOUR,
            "select api, list(distinct api_version) as used, map([api], [1]) as one from exchanges group by 1",
        ),
        ("sql", TOUR, "select {'a': [1, 2], 'b': {'c': [true, null]}} as s, [[1, 2], [3]] as n, '[1]'::json as j"),
        ("sql", "--views"),
    ],
    "apis": [
        *(("apis",), ("apis", "Fetch"), ("apis", "Fetch", "12"), ("apis", "--grep", "leader")),
        *(("apis", "--diff", "3.9", "4.0"), ("apis", "Fetch", "12..13")),
    ],
    "errors": [("errors",), ("errors", "3")],
}
# Commands that serve, or ask one that does: their rows come from the renderer of `kw sniff`.
SERVING: Final = {"mock", "proxy", "proxy ctl exchanges", "proxy ctl wait"}
# Command → the one whose rows it shows, of tables.
SAME: Final = {"pipeline sql": "sql"}
# Kind of row → columns of CSV that scripts have read since there is CSV.
KEPT: Final = {
    "client": "client_id client_software library addresses connections brokers apis writes reads administers groups"
    " transactional_ids users count errors error_codes unanswered undecoded request_bytes response_bytes p50 p99 max"
    " first last",
    "group": "group type state protocol coordinator members generation rebalances timeline refused partitions"
    " commit_lag position_lag refetched shared clients asked_by apis count errors error_codes unanswered undecoded"
    " request_bytes response_bytes p50 p99 max first last",
    "transaction": "transactional_id producer_id producer_epoch state sure why began ended age_ms timeout_ms implicit"
    " client_id address client_software coordinator partitions groups holds command transactions commits aborts"
    " timeline clients asked_by apis count errors error_codes unanswered undecoded request_bytes response_bytes p50 p99"
    " max first last",
    "topic": "topic topic_id writes reads administers asks groups partitions written lag apis count errors error_codes"
    " unanswered undecoded request_bytes response_bytes p50 p99 max first last",
    "broker": "broker node_id rack advertised controller release clients apis count errors error_codes unanswered"
    " undecoded request_bytes response_bytes p50 p99 max first last",
    "finding": "id severity title count first last clients topic broker api evidence meaning remedy",
    "security": "id severity title count first last broker clients evidence meaning remedy",
    "trace": "topic partition offset timestamp key value_size headers produced_by produced acknowledged tries"
    " transaction read_by downstream_of events not_in_capture",
    "duplicate": "topic partition offset last_offset copy_offset records client_id producer_id sequence time copy_time"
    " apart_ms why evidence",
    "loss": "topic partition offset last_offset records group produced_by produced passed_by passed why evidence",
    "misrouted": "topic partition offset records rightful_topic rightful_partition client_id producer_id producer_epoch"
    " sequence time sure why evidence",
    "difference": "change client_id broker api topic group error metric unit before after ratio delta p significant"
    " count_before count_after",
    "advisory": "id verdict seen where client_id client_software library addresses broker release topics count first"
    " last effect affected fixed since url why findings evidence",
    "audit": "client_id client_software library addresses verdict why needs apis",
    "audit_broker": "broker verdict apis",
}


def commands_with_csv() -> Iterator[str]:
    def walk(group: click.Group, context: click.Context, before: str) -> Iterator[str]:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                yield from walk(command, click.Context(command, parent=context), f"{before}{name} ")
            for option in command.params:
                if option.name == "output" and "csv" in getattr(option.type, "choices", ()):
                    yield f"{before}{name}"

    yield from walk(commands, click.Context(commands), "")


@cache
def csv_of(*words: str) -> str:
    outcome = kw(*words, "-o", "csv")
    assert outcome.out, outcome.err
    return outcome.out


def is_dump(cell: str) -> bool:
    """Whether a cell reads as a list or an object, of JSON or of Python, or as Python's words for no text."""
    if cell in ("True", "False", "None"):
        return True
    for read in (json.loads, ast.literal_eval):
        try:
            value: Any = read(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, list | dict | set) or (isinstance(value, tuple) and cell.startswith("(")):
            return True
    return '{"' in cell or "{'" in cell


def test_a_dump_is_known() -> None:
    assert all(map(is_dump, ('{"a": 1}', "[1, 2]", "{'a': 1}", "(1, 2)", "True", 'x, {"a": 1}')))
    assert not any(map(is_dump, ("a, b", "1, 2", "orders[0-2]", "true", "", "NONE:1", "12")))


def test_every_command_with_csv_is_run() -> None:
    known = {*RUNS, *SERVING, *SAME}
    new, gone = sorted({*commands_with_csv()} - known), sorted(known - {*commands_with_csv()})
    assert not new, f"no row in RUNS of tests/cli/test_flat_cells.py (the words of its runs): {', '.join(new)}"
    assert not gone, f"rows of tests/cli/test_flat_cells.py for commands without csv: {', '.join(gone)}"


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words", [each for runs in RUNS.values() for each in runs], ids=lambda each: "-".join(each[::2])
)
def test_no_cell_of_csv_is_a_dump(words: tuple[str, ...], tmp_path: Path) -> None:
    text = csv_of(*words)
    header, *rows = csv.reader(io.StringIO(text))
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert [cell for row in rows for cell in row if is_dump(cell)] == []
    file = tmp_path / "answer.csv"
    file.write_text(text)
    read = duckdb.read_csv(str(file), header=True, delimiter=",", sample_size=-1)
    assert (read.columns, len(read.fetchall())) == (header, len(rows))
    assert [kind for kind in map(str, read.types) if any(word in kind for word in ("[", "STRUCT", "MAP", "JSON"))] == []


@pytest.mark.parametrize("kind", FLAT_COLUMNS)
def test_columns_that_scripts_read_stay_in_their_order(kind: str) -> None:
    names = [column.name for column in FLAT_COLUMNS[kind]]
    assert kind in KEPT, f"no row in KEPT of tests/cli/test_flat_cells.py (its columns, as in FLAT_COLUMNS): {kind}"
    assert [name for name in names if name in KEPT[kind].split()] == KEPT[kind].split()


def test_every_key_of_a_row_has_a_column() -> None:
    """By the published schemas: no answer has a value that its CSV cannot show."""

    def properties(name: str) -> dict[str, Any]:
        made: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_bytes())
        return made

    portraits = properties("portraits")["$defs"]
    kinds = {
        "finding": properties("doctor")["properties"],
        "security": properties("security")["properties"],
        **{kind: portraits[kind]["properties"] for kind in ("client", "group", "transaction", "topic", "broker")},
        **{kind: properties("audit")["$defs"][kind]["properties"] for kind in ("audit", "audit_broker", "advisory")},
        "difference": properties("diff")["properties"],
    }
    for kind, keys in kinds.items():
        assert {*keys} - {"kind", "schema"} <= {column.key for column in FLAT_COLUMNS[kind]}, kind
    assert {column.key for column in FLAT_COLUMNS["finding"]} >= ABOUT


def read_csv(*words: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_of(*words))))


def test_cells_keep_the_names() -> None:
    clients = {row["client_id"]: row for row in read_csv("clients", TOUR)}
    assert clients["checkout-7"]["apis"] == "ApiVersions 3, Metadata 13, Produce 10"
    assert clients["billing-1"]["library"] == "aiokafka ≥ 0.12"
    assert clients["billing-1"]["library_sure"] == "true"
    topics = {row["topic"]: row for row in read_csv("topics", TOUR)}
    assert topics["orders"]["error_codes"] == "TOPIC_ALREADY_EXISTS:1"
    assert (topics["orders"]["written"], topics["orders"]["written_codecs"]) == ("420", "zstd:6 none:3")
    groups = {row["group"]: row for row in read_csv("groups", TOUR)}
    assert groups["billing"]["partitions"] == "orders[0-2]"
    (broken,) = [row for row in read_csv("audit", TOUR) if row["verdict"] == "breaks"]
    assert broken["apis"] == "ListOffsets 0"
    found = {row["id"]: row for row in read_csv("doctor", TOUR)}
    assert found["topic-unknown"]["evidence"] == f"{TOUR}:760-761,772-773,775-776"
    assert found["topic-unknown"]["command"] == f"kw sniff {TOUR} --packet 760,772,775 -v"
    assert {row["controller"] for row in read_csv("brokers", TOUR)} == {"true", "false"}
    assert {row["followed"] for row in read_csv("call", "-X", "list")} == {"true", "false"}
    assert read_csv("apis", "--diff", "3.9", "4.0")[0]["gone"].startswith("LeaderAndIsr,StopReplica")


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (("audit", TOUR), ("client_id", "verdict", "why", "needs")),
        (("audit", OLD, "--clients", "4.0"), ("broker", "verdict")),
        (("doctor", TOUR), ("id", "severity", "title", "count")),
        (("clients", TOUR), ("client_id", "count", "errors", "p99")),
        (("groups", TOUR), ("group", "state", "commit_lag")),
        (("topics", TOUR), ("topic", "count", "errors")),
        (("brokers", TOUR), ("broker", "node_id", "count", "errors")),
    ],
    ids=lambda words: words[0],
)
def test_a_table_of_80_cells_keeps_the_columns_that_matter(words: tuple[str, ...], columns: tuple[str, ...]) -> None:
    env = world(terminal=True, columns=80, variables={"NO_COLOR": "1"})
    heading, *lines = kw(*words, "-o", "table", "-q", env=env).out.splitlines()
    assert lines
    assert max(map(len, [heading, *lines])) <= 80
    assert set(columns) <= {*heading.split()}


def test_cells_of_queries_have_the_values_of_lists_and_objects() -> None:
    (row,) = read_csv("sql", TOUR, "select {'a': [1, 2], 'b': {'c': [true, null]}} s, [[1, 2], [3]] n, [{'x': 1.5}] o")
    assert row == {"s": "a:1,2 b.c:true,null", "n": "1 2, 3", "o": "x:1.5"}
    query = "select ['a', null, 'b'] as names, [] as empty, null as missing, true as yes"
    assert read_csv("sql", TOUR, query) == [{"names": "a, null, b", "empty": "", "missing": "", "yes": "true"}]
    assert kw("sql", TOUR, "select [1, 2] a, map(['k'], ['v']) m", "-o", "table").out.splitlines()[1].split("  ") == [
        *("1, 2", "k:v")
    ]


def test_an_answer_without_rows_has_a_header() -> None:
    assert csv_of("clients", TOUR, "-f", "client_id == nobody").splitlines() == [
        ",".join(column.name for column in FLAT_COLUMNS["client"] if not column.optional)
    ]
