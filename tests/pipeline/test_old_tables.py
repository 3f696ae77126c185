"""Tables of every version are read by everything; watches go on with them; newer ones are refused and left alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwcli.pipeline.sql_views import VIEWS
from kwcli.pipeline.store.replace_folders_of_tables import find_tables
from kwcli.pipeline.store.tables_manifest import Manifest
from kwcli.pipeline.tables.table_columns import ALL_TABLES, TABLES, TABLES_VERSION
from kwcli.pipeline.tables.upgrade_table_rows import NewerTables, read_file_version
from kwcli.run_environment import Exit
from tests.cli.worlds import kw
from tests.pipeline.added_column import CODES, HERE, NOW, READERS, read_with
from tests.pipeline.old_tables import FIRST, FOLDER, SECOND, VERSIONS, make_tables, read_first_half, unpack, write_later
from tests.pipeline.watched import Watched, tables_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES: Final = [pytest.param(name, marks=() if name == "first" else pytest.mark.long) for name in VERSIONS]
# All columns but those that old tables lack, or that name files in another folder; and every view of rows.
QUERIES: Final = (
    "select * exclude (source_file) from exchanges where source = 'wire' order by all",
    "select * from topic_partitions order by all",
    "select * exclude (client_quiet_ns, server_quiet_ns, client_shut_ns, server_shut_ns) from connections order by all",
    "select * from skipped order by all",
    *(f"select * from {view} order by all" for view in VIEWS if view not in ("bins", "served", "joined")),
)


def run_here(*words: str) -> bool:
    """`kw WORDS…` of today in this process; whether it has done it."""
    return kw(*words).code == Exit.DONE


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of kw as it is; those of Delta and of Iceberg only by long tests."""
    folder = tmp_path_factory.mktemp("today")

    def quick(*words: str) -> bool:
        return "--format" not in words and run_here(*words)

    assert make_tables(folder, quick, log=False) == ["run", "watch"]
    return folder


# -- columns -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VERSIONS)
def test_a_file_lacks_exactly_the_columns_that_came_later(name: str, tmp_path: Path) -> None:
    files = sorted(unpack(name, tmp_path).glob("run/*/date=*/*.parquet"))
    assert {path.parent.parent.name for path in files} == set(TABLES)
    for path in files:
        table = path.parent.parent.name
        columns = ALL_TABLES[table]
        assert pq.read_schema(path).names == [column.name for column in columns if column.since <= VERSIONS[name]]
        later = [column.since for column in columns if column.since > VERSIONS[name]]
        numbered = b"kw_tables_version" in (pq.read_schema(path).metadata or {})
        version = VERSIONS[name] if numbered else min(*later, 4) - 1 if later else 3
        assert read_file_version(table, str(path), table) == version


def test_files_and_manifests_have_the_version(today: Path) -> None:
    assert json.loads((today / "run" / "_kw" / "manifest.json").read_text())["tables_version"] == TABLES_VERSION
    (commit,) = (today / "watch" / "_kw" / "commits").iterdir()
    assert json.loads(commit.read_text())["tables_version"] == TABLES_VERSION
    for path in [*today.glob("run/*/date=*/*.parquet"), *today.glob("watch/*/date=*/*.parquet")]:
        assert pq.read_schema(path).metadata[b"kw_tables_version"] == str(TABLES_VERSION).encode()


# -- reading -----------------------------------------------------------------------------------------------------------


def answers(folder: Path, readers: tuple[tuple[str, ...], ...], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What each reader says of the tables in `folder / "run"`, with the same names of files for all folders."""
    monkeypatch.chdir(folder)
    found = {}
    for reader in readers:
        outcome = kw(*read_with(reader, "run"))
        assert outcome.code == CODES.get(reader[0], Exit.DONE), outcome.err
        found[" ".join(reader)] = outcome.out.replace(f"{folder}/captures", f"{FOLDER}/captures")
    return found


def without_quiet_ends(found: dict[str, str]) -> dict[str, Any]:
    """Answers without the finding for which tables have to say how long a connection was quiet."""
    values: dict[str, Any] = {
        name: [json.loads(text)] if text.startswith("{\n") else [json.loads(line) for line in text.splitlines()]
        for name, text in found.items()
    }
    for name, rows in values.items():
        values[name] = [row for row in rows if row.get("id") != "idle-cut"]
        for row in rows:
            if "findings" in row:
                row["findings"] = [each for each in row["findings"] if each["id"] != "idle-cut"]
    return values


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_reader_reads_old_tables(name: str, today: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answers(today, HERE, monkeypatch)
    found = answers(unpack(name, tmp_path), HERE, monkeypatch)
    assert "idle-cut" in expected["doctor --fail-on never"]
    assert without_quiet_ends(found) == without_quiet_ends(expected)
    assert ("idle-cut" in found["doctor --fail-on never"]) is (VERSIONS[name] >= 3)


@pytest.mark.parametrize(
    ("name", "queries"),
    [("first", QUERIES[:2]), *(pytest.param(name, QUERIES, marks=pytest.mark.long) for name in VERSIONS)],
)
def test_queries_read_old_tables(
    name: str, queries: tuple[str, ...], today: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tuple(("sql", "{folder}", query) for query in queries)
    assert answers(unpack(name, tmp_path), asked, monkeypatch) == answers(today, asked, monkeypatch)
    counts = "select source, count(*) as rows, count(server_total_ms) as timed from exchanges group by 1 order by 1"
    logged = [] if VERSIONS[name] == 1 else [{"source": "log", "rows": 6, "timed": 6}]
    wire = {"source": "wire", "rows": 38, "timed": 0}
    assert lines_of("sql", str(tmp_path / "run"), counts) == [*logged, wire]
    both = lines_of("sql", str(tmp_path / "run"), str(today / "run"), counts)
    assert both == [*logged, {**wire, "rows": 76}]


def lines_of(*words: str) -> list[Any]:
    """The rows of an answer."""
    outcome = kw(*words)
    assert outcome.code == Exit.DONE, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", VERSIONS)
def test_spark_reads_old_tables(
    name: str, today: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwcli.pipeline.spark.spark_sessions.session", lambda *_, **__: spark)
    readers = (*READERS[-2:], *(("pipeline", "sql", "{folder}", query) for query in SPARK_QUERIES))
    expected = without_quiet_ends(answers(today, readers, monkeypatch))
    assert without_quiet_ends(answers(unpack(name, tmp_path), readers, monkeypatch)) == expected
    (_, places) = going_on(name, "watch", tmp_path)
    monkeypatch.chdir(tmp_path)
    query = "select source, count(*) as rows, count(distinct client, connection_began_ns, place) as places"
    assert places == 30
    assert lines_of("pipeline", "sql", "watch", f"{query} from exchanges group by source") == [
        {"source": "wire", "rows": 30, "places": 30}
    ]
    quiet = "select count(*) as rows, count(client_quiet_ns) as quiet from connections"
    assert lines_of("pipeline", "sql", "watch", quiet) == [{"rows": 10, "quiet": 10 if VERSIONS[name] == 3 else 6}]


SPARK_QUERIES: Final = (
    "select client, api, place, source, server_total_ms from exchanges where source = 'wire' order by 1, 2, 3",
    "select * from topic_partitions order by 1, 2, 3, 4, 5, 6, 7, topic, partition",
    "select client, closed, client_packets from connections order by 1, 2, 3",
    *(f"select * from {view} order by 1, 2, 3" for view in ("latency_by_topic", "errors_by_api", "clients", "topics")),
)


# -- going on ----------------------------------------------------------------------------------------------------------


def going_on(name: str, form: str, folder: Path, *, grows: bool = False) -> tuple[Path, int]:
    """Have kw of today go on with a watch of another version; its folder, and how many exchanges it has then."""
    if not (folder / form).exists():
        unpack(name, folder)
    source, out = folder / f"{form}-in", folder / form
    source.mkdir()
    shutil.copy(folder / "captures" / FIRST, source / FIRST)
    read_first_half(out, source / FIRST)
    second = (folder / "captures" / SECOND).read_bytes()
    if grows:
        with open(source / FIRST, "ab") as file:
            file.write(second[24:])
    else:
        (source / SECOND).write_bytes(second)
    more = () if form == "watch" else ("--format", form)
    outcome = kw("pipeline", "watch", str(source), "--bodies", "--doctor", "--finish", "--out", str(out), *more)
    assert outcome.code == Exit.DONE, outcome.err
    assert "another version of kw" not in outcome.err or name == "first"  # only that one's state of findings
    found = find_tables(str(out))[1].tables["exchanges"].rows
    return out, found


FORMS: Final = (
    *(("first", "watch"), ("logs", "watch"), ("logs", "delta"), ("unnumbered", "watch"), ("unnumbered", "delta")),
    ("unnumbered", "iceberg"),
)


@pytest.mark.long
@pytest.mark.one_in(len(FORMS))
@pytest.mark.parametrize(("name", "form"), FORMS)
@pytest.mark.parametrize("grows", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_watch_goes_on_with_old_tables(name: str, form: str, grows: bool, tmp_path: Path) -> None:
    out, _ = going_on(name, form, tmp_path, grows=grows)
    captures = [str(tmp_path / "captures" / each) for each in (FIRST, SECOND)]
    assert run_here("pipeline", "run", *captures, "--bodies", "--out", str(tmp_path / "all"))
    ignored = "* exclude (source_file, response_file, response_end_file, request_end_file"
    packets = ", request_packet, request_packet_end, response_packet, response_packet_end" if grows else ""
    query = f"select {ignored}{packets}) from exchanges order by all"
    expected = lines_of("sql", str(tmp_path / "all"), query)
    assert len(expected) == 30
    assert lines_of("sql", str(out), query) == expected
    for command in (("stats",), ("clients",), ("groups",), ("topics",), ("brokers",)):
        assert lines_of(*command, str(out)) == lines_of(*command, str(tmp_path / "all"))
    manifest = find_tables(str(out))[1]
    assert manifest.version == TABLES_VERSION
    assert set(manifest.older.values()) == {1: {1, 2, 3}, 2: {2, 3}, 3: {3}}[VERSIONS[name]]
    write_later(tmp_path / "captures" / SECOND, tmp_path / f"{form}-in")
    more = () if form == "watch" else ("--format", form)
    words = ("pipeline", "watch", str(tmp_path / f"{form}-in"), "--bodies", "--doctor", "--finish", *more)
    assert run_here(*words, "--out", str(out))
    before = lines_of("sql", str(out), "select * from connections order by all")
    compacted = kw("pipeline", "compact", str(out))
    assert (compacted.code, "exchanges 2026-11-25" in compacted.err) == (Exit.DONE, True)
    assert lines_of("sql", str(out), "select * from connections order by all") == before
    for path in out.glob("exchanges/date=2026-11-25/*.parquet"):
        assert pq.read_schema(path).names == [column.name for column in ALL_TABLES["exchanges"]]
        assert set(pq.read_table(path, columns=["source"])["source"].to_pylist()) == {"wire"}
    assert {path.partition("/")[0] for path in find_tables(str(out))[1].older} <= {
        "topic_partitions",
        "skipped",
        "findings",
    }
    if form != "watch":
        assert_others_see(form, out)


def assert_others_see(form: str, out: Path) -> None:
    """Assert that a reader of Delta or Iceberg sees all rows, and all columns."""
    expected = tables_in(out)
    for table in TABLES:
        if form == "delta":
            from deltalake import DeltaTable

            rows = DeltaTable(out / table).to_pyarrow_table()
        else:
            from pyiceberg.table import StaticTable

            rows = StaticTable.from_metadata(str(out / "iceberg" / table)).scan().to_arrow()
        assert {column.name for column in ALL_TABLES[table]} <= set(rows.schema.names)
        assert rows.num_rows == len(expected[table])


@pytest.mark.parametrize("spoilt", ["connections", "findings", "reader"])
def test_a_state_that_cannot_be_read_is_told_and_nothing_counts_twice(spoilt: str, tmp_path: Path) -> None:
    unpack("unnumbered", tmp_path)
    out = tmp_path / "watch"
    (commit,) = (out / "_kw" / "commits").iterdir()
    value = json.loads(commit.read_text())
    kept = value["watch"]
    if spoilt == "reader":
        kept["captures"]["files"][0][9] = "AAAA"
        commit.write_text(json.dumps(value))
    else:
        path = kept["findings"] if spoilt == "findings" else kept["states"][""]
        (out / path).write_bytes(b"N")
    (tmp_path / "watch-in").mkdir()
    capture = tmp_path / "watch-in" / FIRST
    shutil.copy(tmp_path / "captures" / FIRST, capture)
    read_first_half(out, capture)
    with open(capture, "ab") as file:
        file.write((tmp_path / "captures" / SECOND).read_bytes()[24:])
    words = ("pipeline", "watch", str(tmp_path / "watch-in"), "--bodies", "--doctor", "--finish", "--strict", "-q")
    outcome = kw(*words, "--out", str(out))
    assert (outcome.code, outcome.err.removeprefix("kw: ")) == {
        "connections": (Exit.LOSSY, f"open connections: {ANEW}: requests that were open are lost\n"),
        "findings": (Exit.DONE, f"{out}: findings begin anew: another version of kw left their state\n"),
        "reader": (Exit.DONE, ""),  # the file is read once more up to there
    }[spoilt]
    whole = "select count(*) as rows, count(distinct (client, time_ns, correlation_id)) as different from exchanges"
    (found,) = lines_of("sql", str(out), whole)
    assert found["rows"] == found["different"] == (28 if spoilt == "connections" else 30)


ANEW: Final = "begins anew, since another version of kw left its state"


def test_a_run_into_old_tables_makes_them_anew(tmp_path: Path) -> None:
    unpack("first", tmp_path)
    manifest = tmp_path / "run" / "_kw" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f"{FOLDER}/captures", f"{tmp_path}/captures"))
    words = ("pipeline", "run", *(str(path) for path in sorted((tmp_path / "captures").glob("*.pcap"))), "--bodies")
    first = kw(*words, "--out", str(tmp_path / "run"))
    assert (first.code, "nothing to do" in first.err) == (Exit.DONE, False)
    assert find_tables(str(tmp_path / "run"))[1].version == TABLES_VERSION
    assert "nothing to do" in kw(*words, "--out", str(tmp_path / "run")).err


# -- one more column ---------------------------------------------------------------------------------------------------

ADDED: Final = [(name, meaning) for meaning in ("grey", "") for name in (*VERSIONS, "today")]


@pytest.mark.long
@pytest.mark.one_in(len(ADDED))
@pytest.mark.parametrize(("name", "meaning"), ADDED)
def test_a_column_that_is_added_leaves_all_tables_readable(name: str, meaning: str, tmp_path: Path) -> None:
    check_added(name, meaning, tmp_path)


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("meaning", ["grey", ""])
def test_spark_reads_tables_that_lack_an_added_column(meaning: str, tmp_path: Path, spark: SparkSession) -> None:
    assert spark.version  # else this is skipped
    found = check_added("logs", meaning, tmp_path, "spark")
    assert found["watch colours, Spark"] == sorted_colours(meaning, 13, 17)


def sorted_colours(meaning: str, old: int, new: int) -> list[dict[str, Any]]:
    return sorted([{"colour": meaning or None, "rows": old}, {"colour": NOW, "rows": new}], key=str)


def check_added(name: str, meaning: str, folder: Path, *more: str) -> dict[str, Any]:
    """Check the answers of a kw with one more column about the tables of a version; its answers."""
    if name == "today":
        assert make_tables(folder, run_here, log=False) == ["run", "watch", "delta", "iceberg"]
    else:
        unpack(name, folder)
    command = [sys.executable, "-m", "tests.pipeline.added_column", meaning, *more, str(folder)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    old = meaning or None
    for table in TABLES:
        assert found[table] == [old]
    forms = [form for form in ("watch", "delta", "iceberg") if (folder / form).exists()]
    for key in [key for key in found if "colours" in key or key.endswith("compacted")]:
        found[key] = sorted(map(json.loads, found[key]), key=str)
    for form in forms:
        assert found[f"{form} colours"] == sorted_colours(meaning, 13, 17)
        assert found[f"{form} as others see it"] == [[NOW, 17], [None, 13]]
        assert found[f"{form} compacted"] == sorted_colours(meaning, 13, 32)
        assert sorted(found[f"{form} compacted, as others see it"], key=str) == sorted([[NOW, 32], [old, 13]], key=str)
    runs = {key: value for key, value in found.items() if isinstance(value[0], int)}
    assert len(runs) >= len(HERE) * (1 + len(forms))
    for command_line, (code, said) in runs.items():
        assert code == CODES.get(command_line.partition(" ")[0], Exit.DONE), (command_line, said)
    return found


# -- what is refused ---------------------------------------------------------------------------------------------------


@contextmanager
def unchanged(folder: Path, *but: str) -> Iterator[None]:
    """Assert that no file comes, goes or changes meanwhile, `but` some."""

    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in but}

    before = content()
    yield
    assert content() == before


def assert_one_line(code: int, err: str, text: str) -> None:
    assert (code, len(err.splitlines())) == (Exit.FAILURE, 1), err
    assert text in err


def watch_words(folder: Path) -> tuple[str, ...]:
    return ("pipeline", "watch", str(folder / "captures" / SECOND), "--bodies", "--doctor", "--once", "-q", "--out")


def renumber(folder: Path, version: int) -> None:
    """Make the tables in `run` and `watch` those of another version, as far as their manifests say."""
    for path in (folder / "run" / "_kw" / "manifest.json", *(folder / "watch" / "_kw" / "commits").iterdir()):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"tables_version": version}))


def test_newer_tables_are_refused_in_one_line_and_nothing_is_written(today: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(today, tmp_path / "newer"))
    renumber(folder, 99)
    said = f"its tables have version 99, and this kw knows versions up to {TABLES_VERSION}"
    capture = str(folder / "captures" / SECOND)
    with unchanged(folder):
        for name in ("run", "watch"):
            for reader in READERS:  # Spark is not started
                outcome = kw(*read_with(reader, str(folder / name)))
                assert_one_line(outcome.code, outcome.err, said)
        for words in (
            (*watch_words(folder), str(folder / "watch")),
            ("pipeline", "compact", str(folder / "watch")),
            ("pipeline", "run", capture, "--out", str(folder / "run")),
            ("pipeline", "run", capture, "--explain", "--out", str(folder / "run")),
        ):
            outcome = kw(*words)
            assert_one_line(outcome.code, outcome.err, said)


def test_a_run_that_a_newer_kw_has_begun_to_put_in_place_is_left_to_it(today: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(today / "run", tmp_path / "run"))
    journal = {"format": 1, "run": "x", "tables": ["exchanges"], "tables_version": 99}
    (folder / "_kw" / "journal.json").write_text(json.dumps(journal))
    with unchanged(folder):
        for words in (("stats", str(folder)), ("pipeline", "run", str(today / "captures"), "--out", str(folder))):
            outcome = kw(*words)
            assert_one_line(outcome.code, outcome.err, "version 99")


def test_of_two_watches_the_older_one_ends_before_it_adds_to_newer_tables(tmp_path: Path) -> None:
    folder = unpack("unnumbered", tmp_path)
    captures, out = folder / "captures", folder / "new"
    source = folder / "in"
    source.mkdir()
    shutil.copy(captures / FIRST, source / FIRST)
    watched = Watched([str(source)], out)
    with watched.started() as watching:
        assert watching.run_next_batch() is not None
        (commit,) = (out / "_kw" / "commits").iterdir()
        commit.write_text(json.dumps(json.loads(commit.read_text()) | {"tables_version": TABLES_VERSION + 1}))
        shutil.copy(captures / SECOND, source / SECOND)
        watched.clock.now += 10
        tables = {path: path.read_bytes() for path in out.rglob("*.parquet")}
        with pytest.raises(NewerTables, match=f"version {TABLES_VERSION + 1}"):
            watching.run_batches()  # it does not try again
    assert "trying again" not in watched.said
    assert {path: path.read_bytes() for path in out.glob("*/date=*/*.parquet")} == tables
    assert list((out / "_kw" / "commits").iterdir()) == [commit]


def spoil(folder: Path, table: str, change: Any) -> None:
    """Change the schema of a table's file, and the manifest, which knows its size."""
    path = next((folder / table).rglob("*.parquet"))
    pq.write_table(change(pq.read_table(path)), path)
    for manifest in (folder / "_kw" / "manifest.json", *(folder / "_kw").glob("commits/*.json")):
        if manifest.exists():
            value = json.loads(manifest.read_text())
            size = path.stat().st_size
            name = path.relative_to(folder).as_posix()
            if "sizes" in value:
                value["sizes"][name][2] = size
            value["tables"][table]["bytes"] = sum(
                (folder / each).stat().st_size for each in value["tables"][table]["files"]
            )
            manifest.write_text(json.dumps(value))


QUERY: Final = ("sql", "{folder}", "select count(*) from exchanges")


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.drop_columns(["place"]), "no column place, which its version 1 of the tables has"),
        (
            lambda rows: rows.set_column(rows.schema.names.index("api"), "api", pa.repeat(7, rows.num_rows)),
            "column api is int64, not string",
        ),
        (
            lambda rows: rows.append_column("source", pa.repeat("wire", rows.num_rows)),
            "column source is of a later version than its file",
        ),
        (lambda rows: rows.replace_schema_metadata({"kw_tables_version": "99"}), "its tables have version 99"),
    ],
)
def test_any_other_column_that_is_missing_is_one_line(change: Any, said: str, tmp_path: Path) -> None:
    unpack("first", tmp_path)
    for name in ("run", "watch"):
        spoil(tmp_path / name, "exchanges", change)
    for name, readers in (("run", (("stats",), READERS[-1])), ("watch", (QUERY,))):
        for reader in readers:
            outcome = kw(*read_with(reader, str(tmp_path / name)))
            assert_one_line(
                outcome.code, outcome.err.partition(" exchanges, ")[0], f"{tmp_path / name}/exchanges: {said}"
            )
    with unchanged(tmp_path / "watch", "lock", "commit.lock", "compact.lock"):
        for words in (
            (*watch_words(tmp_path), str(tmp_path / "watch")),
            ("pipeline", "compact", str(tmp_path / "watch")),
        ):
            outcome = kw(*words)
            assert_one_line(outcome.code, outcome.err, f"{tmp_path / 'watch'}/exchanges: {said}")


def test_a_manifest_that_says_nothing_of_versions_is_one_of_before() -> None:
    value = Manifest("0.1.0", "x", (), {}, {}, {}).to_json()
    assert (value.pop("tables_version"), value.pop("older_files")) == (TABLES_VERSION, {})
    assert (Manifest.from_json(value).version, Manifest.from_json(value).older) == (None, {})
