"""`kw stats` as a whole, on the captures that ship: formats, dimensions, order, notes, refusals."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.analysis.dimension_and_metric_table import DIMENSION_ROWS, METRICS
from decoders.analysis.read_dimension_values import DIMENSIONS
from kwcli.declarations.make_published_schemas import PUBLISHED_STATISTICS, format_schema, make_statistics_schema
from kwcli.output.output_settings import Settings
from kwcli.output.short_texts import PLAIN
from kwcli.output.table import Column, draw_table
from kwcli.run_environment import Exit
from kwcli.stats import BY, SORTS, StatsOptions
from kwcli.stats.render_statistics import StatsResult, format_table
from kwcli.stats.statistics_as_text import columns_of_metric, draw_sparkline, format_text
from kwcli.stats.statistics_options import parse_options
from tests.cli.worlds import Outcome, kw, world
from tests.sampling import sampled

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TOUR = str(CAPTURES / "tour.pcapng")
THREE = str(CAPTURES / "three-nodes.pcapng.zst")
FIRST = str(CAPTURES / "first-steps.pcapng")
SCHEMA_FILE = "decoders/messages/statistics.schema.json"
SCHEMA = json.loads((CAPTURES.parent / SCHEMA_FILE).read_bytes())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def problems_of(row: dict[str, Any]) -> Iterator[str]:
    """A line for each field of a row that the JSON Schema does not allow."""
    kind = {"$ref": f"#/$defs/{row['kind']}", "$defs": SCHEMA["$defs"]}
    for problem in jsonschema.Draft202012Validator(kind).iter_errors(row):
        yield f"{problem.json_path}: {problem.message:.200}"


def rows(*words: str, kind: str = "statistics") -> list[dict[str, Any]]:
    """The rows of one kind that `kw stats WORDS… -o ndjson` prints."""
    outcome = kw("stats", *words, "-o", "ndjson")
    assert outcome.code == Exit.DONE, outcome.err
    found = [json.loads(line) for line in outcome.out.splitlines()]
    wrong = [problem for row in found if not VALIDATOR.is_valid(row) for problem in problems_of(row)]
    assert not wrong, "\n".join([f"in {SCHEMA_FILE}:", *dict.fromkeys(wrong)])
    return [row for row in found if row["kind"] == kind]


def sniffed(*words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kw("sniff", *words, "-o", "ndjson").out.splitlines()]


def shown(*words: str, columns: int) -> Outcome:
    """`kw stats WORDS…` on a terminal of this width, without colours."""
    return kw("stats", *words, env=world(terminal=True, columns=columns, variables={"NO_COLOR": "1"}))


@pytest.mark.long
def test_every_column_sorts() -> None:
    """Every numeric column sorts, largest first; so do the bytes of both sides; names sort by the alphabet."""
    (row, *_), (of_records, *_) = rows(TOUR), rows(TOUR, "--metric", "records")
    numbers = {name for name, value in (row | of_records).items() if isinstance(value, int | float)}
    assert set(SORTS) == (numbers - {"schema"}) | {"bytes", "name"}
    for name in SORTS:
        metric = "records" if name in ("batches", "record_bytes") else "latency"
        found = rows(TOUR, "--sort", name, "--metric", metric)
        assert len(found) == len(rows(TOUR, "--metric", metric))
        if name == "name":
            assert [each["api"] for each in found] == sorted(each["api"] for each in found)
            continue
        its = [each["request_bytes"] + each["response_bytes"] if name == "bytes" else each[name] for each in found]
        values = [value for value in its if value is not None]
        assert values == sorted(values, reverse=True)


def test_the_first_groups_are_the_first_of_all() -> None:
    every = rows(TOUR, "--by", "client,api", "--sort", "p95")
    assert rows(TOUR, "--by", "client,api", "--sort", "p95", "--top", "3") == every[:3]
    assert rows(TOUR, "--by", "client,api", "--sort", "p95", "--top", "10000") == every
    said = shown(TOUR, "--by", "client,api", "--top", "3", columns=120).out
    assert f"{len(every) - 3} more groups: not shown (--top 3)." in said


def test_a_partition_counts_what_is_its_own() -> None:
    """Records of partitions add up to those of their topic; an error counts for the partition that it names."""
    of_topic = {row["topic"]: row for row in rows(TOUR, "--by", "topic", "--metric", "records")}
    parts = rows(TOUR, "--by", "partition", "--metric", "records")
    assert all(row["partition"] is None or isinstance(row["partition"], int) for row in parts)
    for topic, row in of_topic.items():
        its = [each for each in parts if each["topic"] == topic]
        for name in ("sum", "batches", "record_bytes"):
            assert sum(each[name] for each in its) == row[name]
    names = rows(TOUR, "--by", "partition,topic,client")
    assert {(row["topic"], row["partition"]) for row in names} == {(row["topic"], row["partition"]) for row in parts}


def test_files_are_counted_apart() -> None:
    names = [TOUR, str(CAPTURES / "sasl-raw.pcap")]
    alone = {name: rows(name, "--by", "file")[0] for name in names}
    assert [alone[name]["file"] for name in names] == names
    both = {row["file"]: row for row in rows(*names, "--by", "file")}
    assert set(both) == set(names)
    for name in names:
        assert {key: value for key, value in both[name].items() if key != "rate"} == {
            key: value for key, value in alone[name].items() if key != "rate"
        }


def test_partitions_are_those_of_the_bodies() -> None:
    records = [record for record in sniffed(TOUR) if record["kind"] == "exchange" and record["api"] == "Produce"]
    expected: Counter[tuple[str, int]] = Counter()
    for record in records:
        names = record.get("topic_names", {})
        for topic in record["request"]["topic_data"]:
            name = topic.get("name") or names.get(topic["topic_id"], topic["topic_id"])
            expected.update((name, part["index"]) for part in topic["partition_data"])
    found = rows(TOUR, "--api", "produce", "--by", "partition")
    assert {(row["topic"], row["partition"]): row["count"] for row in found} == expected


def test_groups_are_those_of_the_records_of_sniff() -> None:
    records = [record for record in sniffed(TOUR) if record["kind"] == "exchange"]
    expected = Counter((record["api"], record["api_version"], record["broker"]) for record in records)
    found = {
        (row["api"], row["version"], row["broker"]): row["count"] for row in rows(TOUR, "--by", "api,version,broker")
    }
    assert found == expected


def test_filters_are_those_of_sniff() -> None:
    words = ("--api", "produce,fetch", "--topic", "orders*", "-f", "latency < 1s")
    records = [record for record in sniffed(TOUR, *words) if record["kind"] == "exchange"]
    assert records
    assert sum(row["count"] for row in rows(TOUR, *words)) == len(records)
    assert {row["api"] for row in rows(TOUR, *words)} == {record["api"] for record in records}


def test_rates_are_those_of_the_whole_capture() -> None:
    (alone,) = rows(TOUR, "--api", "fetch", "--client-id", "*")
    (among,) = [row for row in rows(TOUR) if row["api"] == "Fetch"]
    assert alone == among
    times = sorted(record["time"] for record in sniffed(TOUR))
    span = datetime.fromisoformat(times[-1]) - datetime.fromisoformat(times[0])
    assert among["rate"] == pytest.approx(among["count"] / span.total_seconds(), rel=1e-6)


def test_several_files_are_one() -> None:
    one, other = (sum(row["count"] for row in rows(name)) for name in (FIRST, TOUR))
    assert sum(row["count"] for row in rows(FIRST, TOUR)) == one + other


def test_every_dimension_and_metric_is_in_the_published_schema() -> None:
    assert PUBLISHED_STATISTICS.read_text() == format_schema(make_statistics_schema()), (
        "run python -m kwcli.declarations schema"
    )


def test_the_columns_of_a_metric_exist() -> None:
    for name, metric in METRICS.items():
        assert columns_of_metric(name)
        assert metric.sort in SORTS
        parse_options(StatsOptions(metric=name))  # a column to sort by that another metric alone has is refused


ADDED = """
import sys
from decoders.analysis import dimension_and_metric_table as table
table.METRICS["answer"] = table.Metric("bytes of the response", "bytes", 1, lambda x: x.response_size, sort="sum")
table.DIMENSION_ROWS["port"] = table.DimensionRow(
    lambda x: int(x.connection_info.broker.rpartition(":")[2]), "port of the broker", is_number=True, spellings="ports"
)
from decoders.filters import parse
from decoders.filters.filter_field_table import FIELDS
from kwcli.declarations.make_published_schemas import make_statistics_schema
from kwcli.help.handbook_pages import read_page
from kwcli.main import main

if sys.argv[1:] != ["tables"]:
    main()
assert FIELDS["answer"].text == "bytes of the response, in bytes"
assert parse("answer > 5").text
row = make_statistics_schema()["$defs"]["statistics"]
assert "answer" in row["properties"]["metric"]["enum"]
assert row["properties"]["port"] == {"type": ["integer", "null"]}
assert {"required": ["port"]} in row["anyOf"]
assert "| `answer` | bytes | bytes of the response | `sum` | `answer` |" in read_page("stats")
assert "| `port` | port of the broker |" in read_page("stats")
assert "`answer`" in read_page("filter")
"""


@pytest.mark.long
def test_a_metric_and_a_dimension_are_one_row_each() -> None:
    """Added as a row they are in help, completion, filters, text, CSV, JSON, the schema and the pages."""

    def ran(*words: str) -> str:
        done = subprocess.run([sys.executable, "-c", ADDED, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    ran("tables")
    said = ran("stats", "--help")
    assert "answer" in said
    assert "port" in said
    words = ("stats", TOUR, "--metric", "answer", "--by", "ports", "-f", "answer > 100", "-q")
    assert "over time" in ran(*words, "-o", "text")
    (first, *_) = csv.DictReader(io.StringIO(ran(*words, "-o", "csv")))
    (row, *_) = map(json.loads, ran(*words, "-o", "ndjson").splitlines())
    assert (first["metric"], row["metric"], row["unit"]) == ("answer", "answer", "bytes")
    assert (int(first["port"]), int(first["sum"])) == (row["port"], row["sum"])
    assert row["sum"] == sum(
        record["response_size"] or 0
        for record in sniffed(TOUR)
        if (record["response_size"] or 0) > 100 and record["broker"].endswith(f":{row['port']}")
    )
    assert "answer" in ran("__complete", "fish", "", "stats", "--metric", "an")


# Each dimension and each metric once.
NAMES = tuple(METRICS)
PAIRS = [(BY[at % len(BY)], NAMES[at % len(NAMES)]) for at in range(max(len(BY), len(NAMES)))]


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize(("by", "metric"), PAIRS)
def test_every_dimension_and_metric_is_written(by: str, metric: str) -> None:
    words = (THREE, "--by", by, "--metric", metric)
    outcome = kw("stats", *words, "-o", "json")
    what = f"{by} or {metric} in read_dimension_values.py, whose functions give None if there is no value"
    assert outcome.code == Exit.DONE, f"{what}: {outcome.err}"
    outcome = kw("stats", *words, "-v", "--slowest", "2", env=world(terminal=True, columns=400))
    assert outcome.code == Exit.DONE, f"the columns of {metric} in kwcli/stats/statistics_as_text.py: {outcome.err}"
    assert rows(*words)


@pytest.mark.long
@pytest.mark.one_in(len(METRICS))
@pytest.mark.parametrize("metric", NAMES)
def test_the_schema_knows_every_dimension_with_every_metric(metric: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name in BY:
        assert rows(THREE, "--by", name, "--metric", metric)
    assert rows(TOUR, "--metric", metric, "--slowest", "5", kind="slowest")


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "exchange"},
        {"metric": "size"},
        {"count": None},
        {"api": 3},
        {"version": "3"},
        {"error_codes": {"NONE": 0}},
        {"waited": None},
        {"batches": 3},
        {"topics": "orders"},
        {"time": "yesterday"},
    ],
    ids=str,
)
def test_the_schema_refuses_other_rows(wrong: dict[str, Any]) -> None:
    row = rows(TOUR)[0]
    assert VALIDATOR.is_valid(row)
    assert not VALIDATOR.is_valid(row | wrong)
    for name in row:
        assert not VALIDATOR.is_valid({other: value for other, value in row.items() if other != name})


def dimensions_for(metric: str, by: str) -> str:
    """The dimensions of `by` that the metric has, or its topics."""
    names = [name for name in by.split(",") if DIMENSION_ROWS[name].of_records or not METRICS[metric].of_records]
    return ",".join(names) or "topic"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("metric", sampled(NAMES, 3))
@pytest.mark.parametrize("by", ["api", "client,topic", "time,broker", "error", "connection,group,software"])
def test_all_formats_say_the_same(metric: str, by: str) -> None:
    by = dimensions_for(metric, by)
    words = (TOUR, "--by", by, "--metric", metric, "-q")
    expected = rows(*words)
    assert json.loads(kw("stats", *words, "-o", "json").out) == expected
    read = list(csv.DictReader(io.StringIO(kw("stats", *words, "-o", "csv").out)))
    assert [row["count"] for row in read] == [str(row["count"]) for row in expected]
    assert [row["max"] for row in read] == ["" if row["max"] is None else str(row["max"]) for row in expected]
    lined = kw("stats", *words, "-o", "table").out.splitlines()
    assert len(lined) == len(expected) + 1
    drawn = kw("stats", *words, "-o", "text", "-v").out.split("\n\n")[0].splitlines()
    assert len(drawn) == len(expected) + 1
    assert drawn[0].split()[0] == by.split(",")[0]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("columns", sampled([60, 80, 100, 132, 200], 4))
@pytest.mark.parametrize("metric", sampled(NAMES, 3))
@pytest.mark.parametrize("by", ["api", "client,topic", "api,version,client,broker"])
def test_a_line_fits_the_terminal(columns: int, metric: str, by: str) -> None:
    by = dimensions_for(metric, by)
    outcome = shown(THREE, "--by", by, "--metric", metric, "--slowest", "3", columns=columns)
    assert outcome.code == Exit.DONE
    assert max(map(len, outcome.out.splitlines())) <= columns


def test_eighty_columns_have_the_numbers_and_how_it_went() -> None:
    header, *lined = shown(TOUR, columns=80).out.splitlines()
    assert header.split() == ["api", "count", "errors", "waited", "p50", "p99", "max", "max", "over", "time"]
    (produce,) = [line for line in lined if line.startswith("Produce")]
    assert re.search(r"^Produce +14 +– +– +199ms +1\.12s +1\.12s +█", produce)
    assert re.search(r"[▁▂▃▄▅▆▇█]$", produce)
    wide = shown(TOUR, columns=200).out.splitlines()[0].split()
    assert {"rate", "p90", "min", "sent", "got"} < set(wide)


def test_errors_are_named_beside_their_number() -> None:
    _, *lined = shown(TOUR, "--metric", "errors", columns=140).out.splitlines()
    assert any(re.match(r"Metadata .* UNKNOWN_TOPIC_OR_PA\S*", line) for line in lined)


def test_waits_are_told_as_inferred() -> None:
    (fetch,) = [row for row in rows(TOUR) if row["api"] == "Fetch"]
    assert fetch["waited"] + fetch["values"] == fetch["count"]
    told = shown(TOUR, columns=120).out
    assert "waited" in told
    assert "inferred" in told
    quiet = shown(TOUR, "--api", "produce", columns=120).out
    assert "waited" not in quiet.splitlines()[-1]
    assert "inferred" not in quiet


def test_the_slowest_have_their_packets() -> None:
    slowest = rows(TOUR, "--slowest", "4", kind="slowest")
    records = {(record["time"], record["correlation_id"]): record for record in sniffed(TOUR)}
    for row in slowest:
        record = records[row["time"], row["correlation_id"]]
        assert {name: record[name] for name in row if name not in ("kind", "schema")} == {
            name: value for name, value in row.items() if name not in ("kind", "schema")
        }
    assert len(slowest) == 4
    first = slowest[0]["packets"]["request"][0]
    assert f" {first} → " in shown(TOUR, "--slowest", "4", columns=80).out


def test_order() -> None:
    for sort in ("count", "rate", "errors", "p50", "p90", "p99", "max", "sum"):
        values = [row[sort] for row in rows(TOUR, "--sort", sort)]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=True)
        assert values[: len(known)] == known
    assert [row["p99"] for row in rows(TOUR)] == [row["p99"] for row in rows(TOUR, "--sort", "p99")]
    names = [row["api"] for row in rows(TOUR, "--sort", "name")]
    assert names == sorted(names)
    times = [row["time"] for row in rows(TOUR, "--bucket", "1s")]
    assert times == sorted(times)


def test_buckets_begin_at_their_multiples() -> None:
    found = rows(TOUR, "--bucket", "10s")
    assert len(found) > 3
    assert all(row["time"].endswith("0.000000Z") for row in found)
    assert [row["rate"] for row in found] == [row["count"] / 10 for row in found]
    assert list(found[0])[2] == "time"
    assert sum(row["count"] for row in rows(TOUR, "--by", "time")) == sum(row["count"] for row in found)


def test_nothing_counted() -> None:
    none = (TOUR, "--topic", "no-such-topic")
    assert kw("stats", *none, "-o", "ndjson").out == ""
    assert json.loads(kw("stats", *none, "-o", "json").out) == []
    assert kw("stats", *none, "-o", "text").out == ""
    assert kw("stats", *none, "-o", "table").out == ""
    assert kw("stats", *none, "-o", "csv").out.startswith("api,count")
    told = shown(TOUR, "--metric", "throttle", columns=80).out
    assert told == "18 groups without throttling: not shown (-v shows all).\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--by", "topik"),
            f'--by: there is no dimension topik (did you mean "topic"?); there are {", ".join(DIMENSIONS)}',
        ),
        (("--metric", "speed"), f"'speed' is not one of {', '.join(map(repr, METRICS))}"),
        (("--bucket", "x"), "'x' is no duration"),
        (("--bucket", "0s"), "--bucket: give a length above 0"),
        (("--metric", "bytes", "--sort", "waited"), "--sort waited goes with --metric latency"),
        (("--slowest", "3", "-o", "csv"), "--slowest prints a second table, and csv can hold only one"),
        (("-f", "latencie > 1s"), '(did you mean "latency"?)'),
        (("-i", "eth0"), "and -i eth0: not both; give files, or an interface"),
    ],
)
def test_what_it_refuses(words: tuple[str, ...], said: str) -> None:
    outcome = kw("stats", TOUR, *words)
    assert outcome.code == Exit.USAGE
    assert outcome.out == ""
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_bad_file_among_good_ones(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes((CAPTURES / "tour.pcapng").read_bytes()[:100_000])
    outcome = kw("stats", str(cut), str(tmp_path / "none.pcap"), FIRST, "-o", "ndjson")
    assert outcome.code == Exit.FAILURE
    assert "cut off" in outcome.err
    assert "none.pcap: no such file" in outcome.err.lower()
    counted = sum(json.loads(line)["count"] for line in outcome.out.splitlines())
    assert counted > sum(row["count"] for row in rows(FIRST))


@pytest.mark.plain
def test_too_many_groups_are_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoders.analysis.statistics.TIMED_GROUPS_MAX", 2)
    outcome = kw("stats", TOUR, "--by", "time", "--bucket", "1ms")
    assert outcome.code == Exit.FAILURE
    assert outcome.err == "kw: more than 2 groups by time: give fewer dimensions or a longer --bucket\n"


def test_names_from_the_wire_cannot_command_a_terminal() -> None:
    row = {"client": "\x1b[31mred\n", "count": 1, "values": 1, "errors": 0, "error_codes": {}, "unanswered": 0}
    row |= dict.fromkeys(
        ("rate", "sum", "min", "p50", "p90", "p95", "p99", "max", "waited", "waited_ms", "undecoded"), 0
    )
    row |= {"request_bytes": 1, "response_bytes": 1, "unit": "ms", "metric": "latency"}
    counted = StatsResult(parse_options(StatsOptions(("client",))), [row], [{}], (0, 0, 1), [])
    for show in (format_text, format_table):
        printed = show(counted, Settings(width=100))
        assert "\\x1b[31mred\\n" in printed
        assert "\x1b" not in printed


def test_names_are_cut_where_there_is_no_room() -> None:
    column = Column("client", ["a" * 40, "b"], 0, right=False, cut=8)
    assert [*draw_table([column], 20, PLAIN, dense=True)] == ["client", "a" * 19 + "…", "b"]


def test_a_sparkline_shows_every_slice_and_the_greatest_full() -> None:
    assert draw_sparkline({10: 1, 11: 8, 13: 4}, 10, 13, 10, max) == "▁█ ▄"
    assert draw_sparkline({0: 1, 1: 1, 2: 8, 3: 0}, 0, 3, 2, max) == "▁█"
    assert draw_sparkline({0: 4, 1: 4, 2: 4}, 0, 3, 2, lambda one, other: one + other) == "█▄"


def test_columns_go_by_what_matters() -> None:
    columns = [
        Column("name", ["abcdefghij"], 0, right=False, cut=6),
        Column("count", ["12"], 1, right=True),
        Column("more", ["34567890"], 9, right=True),
    ]
    assert [*draw_table(columns, 30, PLAIN, dense=True)] == ["name       count     more", "abcdefghij    12 34567890"]
    assert [*draw_table(columns, 21, PLAIN, dense=True)] == ["name   count     more", "abcde…    12 34567890"]
    assert [*draw_table(columns, 20, PLAIN, dense=True)] == ["name       count", "abcdefghij    12"]
