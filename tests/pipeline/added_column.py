"""kw with one more column in its tables, as a contributor adds one: its answers about tables of earlier versions.

`python -m tests.pipeline.added_column MEANING [spark] FOLDER` reads the tables of old_tables.py in FOLDER, with every
reader, goes on with the watches there, and writes what it found as JSON. The column is `colour`. MEANING is its value
in older files; empty: it is null there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import kwcli.pipeline.tables.table_columns as declared

NAME: Final = "colour"
# The value in the rows that are written, by captures of today.
NOW: Final = "red"
# The last two are of Spark.
READERS: Final = (
    *(("sniff",), ("stats",), ("clients",), ("groups",), ("topics",), ("brokers",)),
    *(("doctor", "--fail-on", "never"), ("audit", "--target", "3.9"), ("report", "-o", "json")),
    *(("sql", "{folder}", "select * from latency_by_api order by api"), ("pipeline", "report", "-o", "json")),
    *(("pipeline", "report", "-o", "json", "--master", "local[2]"),),
    ("pipeline", "sql", "{folder}", "select * from latency_by_api order by api", "--master", "local[2]"),
)
HERE: Final = READERS[:-2]


# The exit code of the audit: some clients break.
CODES: Final = {"audit": 4}


def read_with(reader: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """The command line of a reader for this folder."""
    words = [word.format(folder=folder) for word in reader]
    return tuple(words) if "{folder}" in reader else (*words, folder)


def _add_column(meaning: str | None) -> None:
    """Add the column to all tables, and its value where rows are built. No module may have read the tables before."""
    assert "kwcli.pipeline.tables.arrow_schemas" not in sys.modules
    version = declared.TABLES_VERSION + 1
    column = declared.TableColumn(NAME, "string", meaning is None, "the colour", version, meaning)
    tables: Any = declared
    for table, columns in declared.ALL_TABLES.items():
        # Of a partition, columns before its topic are those of the exchange.
        at = [each.name for each in columns].index("topic") if table == "topic_partitions" else len(columns)
        its = column._replace(null=True) if table == "findings" else column  # no value is made for its rows
        declared.ALL_TABLES[table] = (*columns[:at], its, *columns[at:])
        setattr(tables, table.upper(), declared.ALL_TABLES[table])
    declared.TABLES.update({table: declared.ALL_TABLES[table] for table in declared.TABLES})
    declared.COLUMNS_OF_QUERIES.update(declared.ALL_TABLES)
    tables.TABLES_VERSION = version

    import pyarrow as pa

    from kwcli.pipeline.tables import exchange_columns as rows
    from kwcli.pipeline.tables.connection_columns import ConnectionColumns

    add_times, make_batch = rows._add_time_columns, ConnectionColumns.take_batch

    def with_colour(arrays: rows.Arrays) -> None:
        arrays[NAME] = pa.repeat(NOW, len(arrays["kind"]))
        add_times(arrays)

    def coloured(self: ConnectionColumns) -> pa.RecordBatch:
        self._columns[NAME] = [NOW] * len(self)
        return make_batch(self)

    rows._add_time_columns = with_colour
    ConnectionColumns.take_batch = coloured  # type: ignore[method-assign]  # a value where rows are built


def _answers(folder: Path, *, spark: bool) -> dict[str, Any]:
    from tests.cli.worlds import kw
    from tests.pipeline.old_tables import FIRST, SECOND, read_first_half, write_later

    colours = f"select {NAME}, count(*) as rows from exchanges group by {NAME} order by 1"
    found: dict[str, Any] = {}

    def run(*words: str) -> str:
        outcome = kw(*words)
        found[" ".join(words).replace(str(folder), "")] = [outcome.code, outcome.err]
        return outcome.out

    for reader in READERS if spark else HERE:
        run(*read_with(reader, str(folder / "run")))
    for table in declared.ALL_TABLES:
        if (folder / "run" / table).exists():
            answer = run("sql", str(folder / "run"), f"select distinct {NAME} from {table}")
            found[table] = [json.loads(line)[NAME] for line in answer.splitlines()]
    words = ("--bodies", "--doctor", "--finish")
    for form in [form for form in ("watch", "delta", "iceberg") if (folder / form).exists()]:
        source, out = folder / f"{form}-in", str(folder / form)
        source.mkdir()
        (source / FIRST).write_bytes((folder / "captures" / FIRST).read_bytes())
        (source / SECOND).write_bytes((folder / "captures" / SECOND).read_bytes())
        read_first_half(folder / form, source / FIRST)
        more = () if form == "watch" else ("--format", form)
        run("pipeline", "watch", str(source), *words, "--out", out, *more)
        found[f"{form} colours"] = run("sql", out, colours).splitlines()
        if spark:
            found[f"{form} colours, Spark"] = run("pipeline", "sql", out, colours, "--master", "local[2]").splitlines()
        found[f"{form} as others see it"] = _seen(folder / form, form)
        write_later(folder / "captures" / SECOND, source)
        run("pipeline", "watch", str(source), *words, "--out", out, *more)
        run("pipeline", "compact", out)
        found[f"{form} compacted"] = run("sql", out, colours).splitlines()
        found[f"{form} compacted, as others see it"] = _seen(folder / form, form)
        for reader in HERE:
            run(*read_with(reader, out))
    return found


def _seen(folder: Path, form: str) -> list[list[Any]]:
    """The rows of each colour, as a reader of the format sees them."""
    import duckdb

    if form == "delta":
        from deltalake import DeltaTable

        rows = DeltaTable(folder / "exchanges").to_pyarrow_table()
    elif form == "iceberg":
        from pyiceberg.table import StaticTable

        rows = StaticTable.from_metadata(str(folder / "iceberg" / "exchanges")).scan().to_arrow()
    else:
        rows = duckdb.read_parquet(f"{folder}/exchanges/*/*.parquet", union_by_name=True).to_arrow_table()
    counts = rows.group_by(NAME).aggregate([(NAME, "count"), ("place", "count")]).sort_by(NAME)
    return [[row[NAME], row["place_count"]] for row in counts.to_pylist()]


if __name__ == "__main__":
    _add_column(sys.argv[1] or None)
    sys.stdout.write(json.dumps(_answers(Path(sys.argv[-1]), spark="spark" in sys.argv[2:-1])))
