"""Helpers for tests of the store: rows in, folders of tables out, and the content of such a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.replace_folders_of_tables import JOURNAL, TableStore, open_store
from kwcli.pipeline.store.staging_folder import STAGING
from kwcli.pipeline.store.tables_manifest import CoveredCapture, Manifest
from kwcli.pipeline.tables.table_columns import TABLES
from tests.captures.shipped import segments
from tests.pipeline.rows import batch_of, settled_for_tables

ROWS: Final = batch_of(settled_for_tables(segments("sasl-raw.pcap"))[:20])
NAMES: Final = ("exchanges", "topic_partitions", "skipped")
# The number of rows of the run before, and of the one after it.
OLD: Final = 4
NEW: Final = 11


def source(name: str) -> CoveredCapture:
    return CoveredCapture("here", f"/captures/{name}", 100, f"fingerprint of {name}")


def put(store: TableStore, tag: str, count: int, tables: tuple[str, ...] = NAMES) -> Manifest:
    """Commit a run whose tables hold the first `count` rows, and whose manifest has the tag."""
    staging = store.start_staging()
    with staging.make_writer(tables) as writer:
        writer.write(ROWS.slice(0, count))
        written = writer.close()
    return store.commit(
        staging, written, sources=[source(tag)], options={"tag": tag}, tables=tables, facts={"told": [tag]}
    )


def seen(folder: Path) -> dict[str, int]:
    """The number of rows in each table's Parquet files."""
    return {
        name: sum(pq.ParquetFile(path).metadata.num_rows for path in (folder / name).rglob("*.parquet"))
        for name in TABLES
        if (folder / name).exists()
    }


class Quick(OutputFolder):
    """Files that do not wait for the disk."""

    def sync(self, path: str) -> None:
        assert self.exists(path)


def check_whole(folder: Path) -> str:
    """Assert that the next start leaves the tables of exactly one run; gives its tag."""
    with open_store(str(folder), Quick) as store:
        manifest = store.read_manifest()
        assert not store.files.exists(JOURNAL)
        assert not store.files.exists(STAGING)
    found = seen(folder)
    if manifest is None:
        assert found == {}
        return ""
    assert found == {name: table.rows for name, table in manifest.tables.items()}
    tag: str = manifest.options["tag"]
    assert found["exchanges"] == (OLD if tag == "old" else NEW)
    assert [source.path for source in manifest.sources] == [f"/captures/{tag}"]
    return tag
