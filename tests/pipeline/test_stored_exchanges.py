"""Tables as an input: every answer has the rows of the captures, split anywhere between both and merged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.analysis.client_compatibility import Audit, AuditTarget
from decoders.analysis.dimension_and_metric_table import METRICS
from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.groups.group_rows import Groups
from decoders.analysis.portraits.client_and_broker_portraits import Brokers, Clients
from decoders.analysis.portraits.topic_portraits import TopicPortraits
from decoders.analysis.record_traces.asked_records import AskedOffsets
from decoders.analysis.record_traces.downstream_traces import DownstreamTraces
from decoders.analysis.record_traces.record_ages import RecordAges
from decoders.analysis.record_traces.record_faults import MisroutedRecords, RecordFaults
from decoders.analysis.record_traces.record_traces import RecordTraces
from decoders.analysis.security_audit import Security
from decoders.analysis.slowest_exchanges import Slowest
from decoders.analysis.statistics import Statistics
from decoders.analysis.sum_amounts_by_key import ClientVersions
from decoders.analysis.transactions.transactions_fold import Transactions
from decoders.capture.read_capture import CaptureReader
from decoders.errors import Malformed
from decoders.exchanges.exchange import Ended, Exchange, Settled
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.messages.build_body_json import Options
from decoders.messages.decode_record_values import RecordValueReader
from kwcli.output.renderers import WantedPaths
from kwcli.pipeline.tables.connection_columns import ConnectionColumns, read_connection_end
from kwcli.pipeline.tables.exchange_attribute_columns import (
    COLUMN_PARTS,
    join_columns_into_attribute,
    split_attribute_into_columns,
)
from kwcli.pipeline.tables.stored_exchanges import StoredExchanges, StoredRowReader
from kwcli.reading.sinks.row_output import split_off_connection_ends
from kwcli.run_environment import Exit
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes, segments
from tests.cli.worlds import Outcome, kw
from tests.pipeline.jobs import job_of
from tests.pipeline.rows import batch_of, settled_for_tables
from tests.pipeline.test_spark_engines import run_spark
from tests.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOUR = str(FOLDER / "tour.pcapng")
TARGET = AuditTarget.of_release("4.0")
BYS = (("client", "topic", "partition"), ("api", "error"), ("group", "software", "user"), ("connection", "time"))
METRICS_OF_RECORDS: Final = [metric for metric, row in METRICS.items() if row.of_records]
# Fold → its factory, and its rows.
FOLDS: dict[str, tuple[Callable[[], Any], Callable[[Any], list[dict[str, Any]]]]] = {
    **{
        f"{metric} by {','.join(by)}": (
            lambda by=by, metric=metric: Statistics(by, metric, bucket_ns=10**9),  # type: ignore[misc]
            lambda fold: fold.rows(),
        )
        for metric, row in METRICS.items()
        if not row.of_records
        for by in BYS
    },
    **{
        make.__name__: (make, lambda fold: fold.rows())
        for make in (ClientVersions, Doctor, Security, Clients, Groups, Transactions, TopicPortraits, Brokers)
    },
    "slowest": (lambda: Slowest(7), lambda fold: fold.rows()),
    "trace": (
        lambda: RecordTraces(AskedOffsets("orders", 2, 0, 9)),
        lambda fold: [  # tables have the headers of batches without checksums, and no records
            {name: value for name, value in row.items() if name not in ("timestamp", "key", "value_size", "headers")}
            for row in fold.rows()
        ],
    ),
    "downstream": (
        lambda: DownstreamTraces(AskedOffsets("orders", 2, 0, 9)),
        lambda fold: [  # so records of tables have no headers either, by which others follow
            {name: value for name, value in row.items() if name not in ("timestamp", "key", "value_size", "headers")}
            for row in fold.rows()
            if row["downstream_of"] is None
        ],
    ),
    **{
        metric: (lambda metric=metric: RecordAges(("topic", "group"), metric), lambda fold: fold.rows())  # type: ignore[misc]
        for metric in METRICS_OF_RECORDS
    },
    "losses": (lambda: RecordFaults("loss"), lambda fold: fold.rows()),
    "duplicates": (lambda: RecordFaults("duplicate"), lambda fold: fold.rows()),
    "misrouted": (lambda: MisroutedRecords(RecordValueReader()), lambda fold: fold.rows()),
    "audit": (Audit, lambda fold: fold.rows(TARGET)),
    "audit of brokers": (Audit, lambda fold: fold.judge_brokers("4.4")),
}


@cache
def captured(name: str) -> list[Settled]:
    """Everything settled of a capture, with the fields that all folds need."""
    reader, engine = CaptureReader(), Engine(needs=WantedPaths(*(make().needs for make, _ in FOLDS.values())))
    return engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish()


@cache
def table_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a capture's tables, in the order of the exchanges."""
    rows: list[dict[str, Any]] = batch_of(settled_for_tables(segments(name)), bodies=Options(deferred=True)).to_pylist()
    return rows


# Captures with records that were written with acks=0, of which tables have no age: they lack checksums of batches.
UNACKNOWLEDGED: Final = ("first-steps.pcapng",)


def folds_of_tables(name: str) -> dict[str, tuple[Callable[[], Any], Callable[[Any], list[dict[str, Any]]]]]:
    """The folds that give the same over the tables of a capture as over the capture itself."""
    return {kind: fold for kind, fold in FOLDS.items() if name not in UNACKNOWLEDGED or kind not in METRICS_OF_RECORDS}


def added(fold: Any, rows: list[Settled]) -> Any:
    for row in rows:
        if isinstance(row, Exchange):
            fold.add(row)
        elif isinstance(fold, Security):
            fold.observe_tls_connection(row)
    return fold


@cache
def expected(kind: str, name: str) -> list[dict[str, Any]]:
    make, rows = FOLDS[kind]
    return rows(added(make(), captured(name)))


QUICK = ("tour.pcapng", "share-groups.pcapng", "sasl-raw.pcap")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.long] * (each not in QUICK)) for each in CLEAN])
def test_every_fold_over_tables_gives_the_rows_of_the_capture(name: str) -> None:
    reader = StoredRowReader()
    read = [reader.read(row) for row in table_rows(name)]
    assert reader.bodiless == 0
    assert [(row.kind, row.time_ns, row.connection_info.client) for row in read] == [
        (row.kind, row.time_ns, row.connection_info.client) for row in captured(name)
    ]
    for kind, (make, rows) in folds_of_tables(name).items():
        assert rows(added(make(), read)) == expected(kind, name), kind


@pytest.mark.long
@settings(max_examples=5, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.full] * (each != "tour.pcapng")) for each in CLEAN]
)
def test_split_anywhere_between_captures_and_tables_and_merged(name: str, data: st.DataObject) -> None:
    """Each part is read from the capture, or from the table by a new reader, as tasks of Spark do."""
    kind = data.draw(st.sampled_from(sorted(folds_of_tables(name))))
    make, rows = FOLDS[kind]
    draw = data.draw(st.randoms(use_true_random=False))
    count = draw.randint(1, 4)
    parts: list[list[Settled]] = [[] for _ in range(count)]
    readers = [StoredRowReader() if draw.random() < 0.7 else None for _ in parts]
    for settled, row in zip(captured(name), table_rows(name), strict=True):
        at = draw.randrange(count)
        reader = readers[at]
        parts[at].append(settled if reader is None else reader.read(row))
    merged = make()
    for part in parts:
        draw.shuffle(part)
        handed = make()
        handed.resume(added(make(), part).export())
        merged.merge(handed)
    assert rows(merged) == expected(kind, name)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of tables, with bodies and without."""
    found = {}
    for name, words in (("bodies", ("--bodies",)), ("plain", ())):
        found[name] = str(tmp_path_factory.mktemp(name) / "tables")
        assert kw("pipeline", "run", TOUR, "--out", found[name], "-q", *words).code == Exit.DONE
    return found


COMMANDS = (
    *("doctor", "audit --target 4.0", "audit --clients 4.4", "audit --security", "clients", "groups", "topics"),
    *("transactions", "transactions ledger"),
    *("brokers", "stats --by client,topic,partition --slowest 7", "stats --by file --metric records"),
    "stats --metric age --by topic,group",
    *("stats --topic orders --since 17:35", "clients --errors --until 5s", "topics --name orders"),
)


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("form", ["ndjson", pytest.param("text", marks=pytest.mark.long)])
def test_answers_are_those_of_the_capture(folders: dict[str, str], words: str, form: str) -> None:
    command, *options = words.split()
    found, wanted = (kw(command, source, *options, "-o", form, "-q") for source in (folders["bodies"], TOUR))
    assert without_commands(without_libraries(found)) == without_commands(without_libraries(wanted))
    assert found.out


def without_commands(outcome: Outcome) -> Outcome:
    """An outcome without the commands that show the evidence of findings: they name the source, which is another."""
    return outcome._replace(
        out=re.sub(r'"command":"(?:[^"\\]|\\.)*"|^ *see: kw sniff .*$', "", outcome.out, flags=re.M)
    )


def without_libraries(outcome: Outcome) -> Outcome:
    """An outcome without client libraries, which tables lack since they do not have how connections began."""
    cells = re.sub(r"~.*?(?=  |$)|(?<= )–(?= )", "", outcome.out, flags=re.MULTILINE)
    text = re.sub(r" +", " ", re.sub(r'"library":(\{[^}]*\}|null)', '"library":null', cells))
    return outcome._replace(out=text)


HISTORY = ("node", "group", "transaction", "library")


def test_rows_of_sniff_are_those_of_the_capture_without_what_came_before(folders: dict[str, str]) -> None:
    found, wanted = (
        [json.loads(line) for line in kw("sniff", source, "-o", "ndjson", "-q").out.splitlines()]
        for source in (folders["bodies"], TOUR)
    )
    for row in wanted:
        for name in HISTORY:
            row.pop(name, None)
        row.get("fetch_session", {}).pop("partitions", None)
    assert [list(row.items()) for row in found] == [list(row.items()) for row in wanted]


def said(outcome: Outcome) -> list[str]:
    return outcome.err.splitlines()


def test_what_tables_without_bodies_lack_is_null_and_told(folders: dict[str, str]) -> None:
    found = kw("sniff", folders["plain"], "-o", "ndjson")
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert [(row["request"], row["response"]) for row in rows] == [(None, None)] * 193
    assert sum(len(row["errors"]) for row in rows) == 28
    told, closing = said(found)
    assert told == (
        f"kw: {folders['plain']}: 193 exchanges without bodies, so what these said is not known"
        " (kw pipeline run --bodies)"
    )
    assert closing.startswith("193 exchanges, 13 clients, 3 brokers, 8 errors, 20 expected errors, 1 unanswered · ")
    assert " · 193 rows · " in closing
    assert said(kw("stats", folders["plain"], "-o", "csv", "-q")) == []
    plain, whole = (kw("stats", folders[name], "-o", "csv", "-q").out for name in ("plain", "bodies"))
    assert plain.splitlines()[0] == whole.splitlines()[0]


@pytest.mark.long
def test_tables_and_captures_and_records_are_read_together(folders: dict[str, str], tmp_path: Path) -> None:
    raw = str(FOLDER / "sasl-raw.pcap")
    (tmp_path / "old.ndjson").write_text(kw("sniff", str(FOLDER / "old-clients.pcap.gz"), "-o", "ndjson", "-q").out)
    others = (raw, str(tmp_path / "old.ndjson"))
    found, wanted = (kw("stats", source, *others, "-o", "ndjson") for source in (folders["bodies"], TOUR))
    assert found.out == wanted.out
    assert "packets, " in found.err
    assert "lines, 193 rows" in found.err
    assert kw("stats", *[folders["bodies"]] * 2, "-o", "ndjson", "-q") == kw("stats", TOUR, "-o", "ndjson", "-q")


def test_tables_in_a_folder_of_captures_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "tour.pcapng").write_bytes(Path(TOUR).read_bytes())
    wanted = kw("clients", str(tmp_path), "-o", "ndjson", "-q")
    assert kw("pipeline", "run", str(tmp_path), "--out", str(tmp_path / "tables"), "--bodies", "-q").code == Exit.DONE
    assert kw("clients", str(tmp_path), "-o", "ndjson", "-q") == wanted
    found = kw("clients", str(tmp_path / "tables"), "-o", "ndjson", "-q")
    assert without_libraries(found) == without_libraries(wanted)


def test_faults_of_the_captures_are_remembered(tmp_path: Path) -> None:
    cut = tmp_path / "tls.pcap"
    cut.write_bytes((FOLDER / "tls" / "librdkafka-jsse.pcap").read_bytes())
    kw("pipeline", "run", str(cut), "--out", str(tmp_path / "tables"), "-q")
    found, wanted = (kw("doctor", str(source), "-o", "ndjson", "-q") for source in (tmp_path / "tables", cut))
    assert found.out == wanted.out
    assert "none was decrypted" in found.out
    assert "none was decrypted" in kw("clients", str(tmp_path / "tables")).err


def test_secrets_in_tables_are_shown_to_nobody_who_does_not_ask(tmp_path: Path) -> None:
    words = ("pipeline", "run", str(FOLDER / "sasl-framed.pcapng"), "--bodies", "--reveal-secrets", "-q", "--out")
    assert kw(*words, str(tmp_path / "tables")).code == Exit.DONE
    shown, hidden = (
        kw("sniff", str(tmp_path / "tables"), "--api", "SaslAuthenticate", "-o", "ndjson", "-q", *more).out
        for more in (("--reveal-secrets",), ())
    )
    assert "redacted" not in shown
    for line in hidden.splitlines():
        assert "redacted" in json.loads(line)["request"]["auth_bytes"]


@pytest.mark.plain
def test_a_body_that_was_too_long_for_its_cell_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwcli.pipeline.tables.exchange_columns.BODY_TEXT_MAX", 200)
    monkeypatch.setattr("kwcli.pipeline.tables.exchange_columns.BODY_CUT", '{"limit":"more than 200 bytes as JSON"}')
    monkeypatch.setattr("kwcli.pipeline.tables.stored_exchanges.BODY_CUT", '{"limit":"more than 200 bytes as JSON"}')
    rows = batch_of(settled_for_tables(segments("tour.pcapng")), bodies=Options(deferred=True)).to_pylist()
    reader = StoredRowReader()
    read = [reader.read(row) for row in rows]
    cut = sum(
        "limit" in (row["request_body"] or "")[:10] or "limit" in (row["response_body"] or "")[:10] for row in rows
    )
    assert reader.bodiless == cut > 0
    assert len(read) == 193


def test_a_row_that_is_none_of_ours_is_an_error() -> None:
    row = dict(table_rows("tour.pcapng")[0])
    for broken in ({"status": "fine"}, {"request_body": "[]"}):
        with pytest.raises(Malformed, match="no exchange"):
            StoredRowReader().read({**row, **broken})
    with pytest.raises(orjson.JSONDecodeError):
        StoredRowReader().read({**row, "request_body": "{"})


def test_a_client_id_that_only_looks_like_bytes_is_a_text() -> None:
    row = dict(table_rows("tour.pcapng")[0])
    found = StoredRowReader().read({**row, "client_id": '{"base64":"a"}'})
    assert isinstance(found, Exchange)
    assert found.client_id == '{"base64":"a"}'


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("sniff", "-w", "out.pcapng"), "records have no packets that -w could write"),
        (("sniff", "-o", "hex"), "-o hex shows bytes, which NDJSON of kw lacks"),
    ],
)
def test_what_only_packets_can_do_is_refused(folders: dict[str, str], words: tuple[str, ...], text: str) -> None:
    outcome = kw(*words, folders["bodies"])
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert text in outcome.err


def test_tables_that_cannot_be_read_are_told_in_a_line(tmp_path: Path) -> None:
    out = tmp_path / "tables"
    kw("pipeline", "run", TOUR, "--out", str(out), "--tables", "connections", "-q")
    outcome = kw("doctor", str(out))
    assert outcome.code == Exit.FAILURE
    assert outcome.err.startswith(f"kw: {out}: no table of exchanges; kw pipeline run --tables exchanges")
    kw("pipeline", "run", TOUR, "--out", str(out), "--bodies", "-q")
    (file,) = (out / "exchanges").rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-100] + bytes(100))
    outcome = kw("clients", str(out), str(FOLDER / "sasl-raw.pcap"), "-o", "ndjson")
    assert outcome.code == Exit.FAILURE
    assert len(outcome.out.splitlines()) == 4  # the rows of the other input
    assert f"kw: {out}/exchanges: " in outcome.err
    file.unlink()
    assert kw("clients", str(out)).err.startswith(f"kw: {out}: exchanges/date=2026-11-21/")


FAULTS = FOLDER / "faults"
# Captures with findings about connections only.
ABOUT_CONNECTIONS = ("idle-cut", "no-connection")


def findings(source: Path) -> list[dict[str, Any]]:
    """Give what kw doctor finds, its source named SRC in the commands that show evidence."""
    outcome = kw("doctor", "--fail-on", "never", "-o", "ndjson", str(source))
    assert outcome.code == Exit.DONE, outcome.err
    return [orjson.loads(line.replace(str(source), "SRC")) for line in outcome.out.splitlines()]


@pytest.mark.parametrize("name", ABOUT_CONNECTIONS)
def test_findings_about_connections_are_made_of_tables_too(name: str, tmp_path: Path) -> None:
    capture = FAULTS / f"{name}.pcap.zst"
    assert kw("pipeline", "run", str(capture), "--bodies", "--out", str(tmp_path / "t")).code == Exit.DONE
    expected = findings(capture)
    assert name in [each["id"] for each in expected]
    assert findings(tmp_path / "t") == expected


def test_rows_of_the_ends_of_connections_in_tables_stand_at_their_times(tmp_path: Path) -> None:
    capture, tables = str(FOLDER / "incidents" / "advertised-port-closed.pcap.zst"), str(tmp_path / "t")
    assert kw("pipeline", "run", capture, "--out", tables, "-q").code == Exit.DONE

    def list_rows(source: str, *words: str) -> list[tuple[str, str, int]]:
        lines = kw("sniff", source, "-f", "connection > 0", "-o", "ndjson", *words).out.splitlines()
        return [(row["time"], row["kind"], row["connection"]) for row in map(orjson.loads, lines)]

    found = list_rows(tables)
    assert found == sorted(found)
    assert found == sorted(list_rows(capture))
    assert list_rows(tables, "--limit", "4") == found[:4]
    assert list_rows(tables, "--port", "23605") == sorted(list_rows(capture, "--port", "23605"))


@pytest.mark.parametrize("name", ["tour.pcapng", "sasl-raw.pcap", "three-nodes.pcapng.zst"])
def test_ends_of_connections_go_through_tables(name: str) -> None:
    reader, engine = CaptureReader(), Engine(connections=True)
    ends: list[Ended] = []
    split_off_connection_ends(
        engine.feed([*reader.feed(capture_bytes(name)), *reader.finish()]) + engine.finish(), ends.append
    )
    assert ends
    ends[0].client_id = "\udcff"  # not UTF-8
    columns = ConnectionColumns("here")
    for ended in ends:
        columns.add_connection(ended)
    stored = [
        read_connection_end(row, ended.connection_info.number)
        for row, ended in zip(columns.take_batch().to_pylist(), ends, strict=True)
    ]
    assert [(row.connection_info.number, row.client, row.broker, row.export()) for row in stored] == [
        (row.connection_info.number, row.client, row.broker, row.export()) for row in ends
    ]


def spark_tables(spark: SparkSession, folder: Path, name: str) -> str:
    """Tables of a capture that was cut into small splits and stitched again."""
    whole = folder / name
    whole.write_bytes(capture_bytes(name))
    tables = folder / f"{name}.tables"
    run_spark(spark, tables, job_of([str(whole)], size=60_000, bodies=True), raw=False)
    return str(tables)


@pytest.mark.long
@pytest.mark.parametrize("name", sampled(CLEAN, 4))
def test_folds_over_tables_of_a_capture_that_spark_has_cut(spark: SparkSession, tmp_path: Path, name: str) -> None:
    read = [row for _, rows in StoredExchanges(spark_tables(spark, tmp_path, name)).read() for row in rows]
    for kind, (make, rows) in folds_of_tables(name).items():
        assert rows(added(make(), read)) == expected(kind, name), kind


def test_remarks_have_columns_and_come_back() -> None:
    remarks = [
        {
            "side": "response",
            "path": "auth_bytes",
            "offset": 23,
            "id": "null",
            "text": "null where null is not allowed",
        },
        {"side": "request", "path": "", "offset": 41, "id": "trailing", "text": "3 bytes behind the last field"},
    ]
    values = split_attribute_into_columns("remarks", remarks)
    row = dict(zip((column for column, _ in COLUMN_PARTS["remarks"]), values, strict=True))
    assert row["remark_ids"] == ["null", "trailing"]
    assert join_columns_into_attribute("remarks", row) == remarks
    none = dict.fromkeys(row)
    assert split_attribute_into_columns("remarks", None) == list(none.values())
    assert join_columns_into_attribute("remarks", none) is None
