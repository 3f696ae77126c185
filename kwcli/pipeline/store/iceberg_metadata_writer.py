"""Commits of a watch in, snapshots of Iceberg tables out: metadata beside the files that are there already.

The problem. An Iceberg table is Parquet files and metadata that names them: snapshots, lists of manifests, manifests.
A catalog says which metadata counts: a service that all readers have to reach; a folder has none.

The idea. The layout of Hadoop tables needs no catalog: `metadata/vN.metadata.json`, of which the highest number counts,
and `version-hint.text`, which says that number. pyiceberg writes manifests, lists and metadata; it asks a catalog to
put new metadata in the place of old, which is a rename here. Columns in files are found by their names (the table's
name mapping), partitions are the days of `time`, which no reader has to know of.

    commit N ─▶ what differs ─▶ manifest ─▶ list of manifests ─▶ vM.metadata.json ─▶ version-hint.text
                                └────────── pyiceberg ────────┘   └─────── one rename each ──────┘

table_log_writer.py says what always holds: a snapshot has the number of its commit, a snapshot that is not whole is not
there. Paths in metadata are absolute: a table that was moved gets new metadata. Columns that came with a later kw are
added to the table's schema; older files have null there.

What is given up: each table has snapshots of its own, since no catalog here commits several at once; files without rows
are not named; snapshots but for the latest `_KEPT` are dropped, with their metadata.
"""

from __future__ import annotations

import re
from typing import Final

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import CommitFailedException, ValidationError, ValidationException
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table import CommitTableResponse, Table, TableProperties
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, new_table_metadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.table.update.snapshot import ExpireSnapshots
from pyiceberg.transforms import DayTransform
from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.table_log_writer import LogChange, TableLogs
from kwcli.pipeline.tables.table_columns import ALL_TABLES
from kwcli.run_environment import Failure

__all__ = ["IcebergLogs"]

# Beside the folders of tables: inside of them, readers of plain Parquet would take the metadata for rows.
_FOLDER: Final = "iceberg"
_HINT: Final = "version-hint.text"
_VERSION: Final = re.compile(r"v(\d+)\.metadata\.json")
# Snapshots, and versions of metadata, that are kept: readers that began a while ago still use old ones.
_KEPT: Final = 100
# Types in table_columns.py → types of Iceberg.
_TYPES: Final[dict[str, IcebergType]] = {
    "string": StringType(),
    "bool": BooleanType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "double": DoubleType(),
    "timestamp": TimestamptzType(),
}


class IcebergLogs(TableLogs[Table]):
    """The Iceberg metadata of each table, in `iceberg/TABLE/metadata`."""

    name = "Iceberg"
    errors = (CommitFailedException, ValidationError, ValidationException, ValueError)

    def __init__(self, files: OutputFolder) -> None:
        super().__init__(files)
        if set("?#%") & set(files.root):
            raise Failure(f"{files.root}: tables of Iceberg cannot be in a folder with ?, # or % in its name")
        self._manifests: dict[str, dict[int, frozenset[str]]] = {}  # by table and snapshot

    def _is_file_logged(self, rows: int) -> bool:
        return rows > 0

    def _write_log(self, table: str, log: Table, change: LogChange) -> Table:
        location = _format_uri(self._files, table)
        gone = {f"{location}/{path}" for path in change.gone}
        with log.transaction() as changing:
            update = changing.update_snapshot({"kw_commit": str(change.commit)})
            with update.overwrite() if gone else update.merge_append() as producer:
                for path in change.added:
                    producer.append_data_file(parquet_file_to_data_file(log.io, log.metadata, f"{location}/{path}"))
                if gone:
                    for task in log.scan().plan_files():
                        if task.file.file_path in gone:
                            producer.delete_data_file(task.file)
            old = [one.snapshot_id for one in log.metadata.snapshots]
            if len(old) >= _KEPT:
                ExpireSnapshots(changing).by_ids(old[: len(old) + 1 - _KEPT]).commit()
        self._delete_unnamed_manifests(table, log)
        return log

    def _delete_unnamed_manifests(self, table: str, log: Table) -> None:
        """Delete manifests, and lists of manifests, that only dropped snapshots name."""
        before = self._manifests[table]
        now = {
            one.snapshot_id: before.get(one.snapshot_id) or _list_files_of_snapshot(log, one)
            for one in log.metadata.snapshots
        }
        for path in frozenset().union(*before.values()) - frozenset().union(*now.values()):
            self._files.unlink(self._relative_path(path))
        self._manifests[table] = now

    def _relative_path(self, path: str) -> str:
        return path.removeprefix(_format_uri(self._files, ""))

    def _open_log(self, table: str) -> tuple[Table, frozenset[str]]:
        self._files.create_folder(_metadata_folder(table))
        catalog = FolderCatalog(self._files)
        log = catalog.load_newest_table(table)
        if log is None or log.metadata.location != _format_uri(self._files, f"{_FOLDER}/{table}"):
            log = catalog.make_empty_table(table, log)
        _add_later_columns(table, log)
        self._manifests[table] = {one.snapshot_id: _list_files_of_snapshot(log, one) for one in log.metadata.snapshots}
        named = {self._relative_path(path) for its in self._manifests[table].values() for path in its}
        for name in self._files.list_names(_metadata_folder(table)):  # what a process that was killed has left
            path = f"{_metadata_folder(table)}/{name}"
            if name.endswith(".avro") and path not in named:
                self._files.unlink(path)
        begin = _format_uri(self._files, f"{table}/")
        return log, frozenset(task.file.file_path.removeprefix(begin) for task in log.scan().plan_files())


class FolderCatalog(NoopCatalog):
    """A catalog, for pyiceberg, of the tables of one folder: their metadata is in numbered files."""

    def __init__(self, files: OutputFolder) -> None:
        super().__init__("kw")
        self._files = files

    def load_newest_table(self, table: str) -> Table | None:
        """A table by its newest metadata that is whole; None where there is none."""
        for number in sorted(self._list_metadata_numbers(table), reverse=True):
            data = self._files.read(f"{_metadata_folder(table)}/v{number}.metadata.json") or b""
            try:
                metadata = TableMetadataUtil.parse_raw(data.decode())
            except (ValueError, ValidationError):
                continue  # its writer was killed, where a rename is not atomic
            return self._make_pyiceberg_table(table, metadata, number)
        return None

    def make_empty_table(self, table: str, before: Table | None) -> Table:
        """A new table without files; the version numbers of a table that was there before go on."""
        schema = _build_iceberg_schema(table)
        time = schema.find_field("time")
        metadata = new_table_metadata(
            schema,
            PartitionSpec(PartitionField(time.field_id, 1000, DayTransform(), "time_day")),
            UNSORTED_SORT_ORDER,
            _format_uri(self._files, f"{_FOLDER}/{table}"),
            {
                TableProperties.MANIFEST_MERGE_ENABLED: "true",
                TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
                TableProperties.METADATA_PREVIOUS_VERSIONS_MAX: str(_KEPT),
                TableProperties.DEFAULT_NAME_MAPPING: schema.name_mapping.model_dump_json(),
            },
        )
        number = 1 if before is None else 1 + max(self._list_metadata_numbers(table))
        self._write_metadata(table, metadata, number)
        return self._make_pyiceberg_table(table, metadata, number)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Write the new metadata of a table, in place of the old."""
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location)
        snapshot = metadata.current_snapshot()
        if snapshot is not None:  # the manifests that it has added outlive a power cut before it is there
            for path in _list_files_of_snapshot(table, snapshot, snapshot.snapshot_id):
                self._files.sync(path.removeprefix(_format_uri(self._files, "")))
        (name,) = table.name()
        number = 1 + max(self._list_metadata_numbers(name))
        self._write_metadata(name, metadata, number)
        return CommitTableResponse.model_validate(
            {"metadata": metadata, "metadata-location": self._format_metadata_uri(name, number)}
        )

    def _list_metadata_numbers(self, table: str) -> list[int]:
        return [
            int(found[1])
            for name in self._files.list_names(_metadata_folder(table))
            if (found := _VERSION.fullmatch(name))
        ]

    def _write_metadata(self, table: str, metadata: TableMetadata, number: int) -> None:
        self._files.replace(
            f"{_metadata_folder(table)}/v{number}.metadata.json", metadata.model_dump_json(exclude_none=True).encode()
        )
        self._files.replace(f"{_metadata_folder(table)}/{_HINT}", str(number).encode())

    def _format_metadata_uri(self, table: str, number: int) -> str:
        return _format_uri(self._files, f"{_metadata_folder(table)}/v{number}.metadata.json")

    def _make_pyiceberg_table(self, table: str, metadata: TableMetadata, number: int) -> Table:
        place = self._format_metadata_uri(table, number)
        return Table((table,), metadata, place, load_file_io(metadata.properties, place), self)


def _metadata_folder(table: str) -> str:
    """The folder of a table's metadata, below the folder of tables."""
    return f"{_FOLDER}/{table}/metadata"


def _format_uri(files: OutputFolder, path: str) -> str:
    """The URI of a path below the folder, as in metadata."""
    return f"file://{files.root}/{path}"


def _add_later_columns(table: str, log: Table) -> None:
    """Add the columns that the table does not know yet, and its name mapping too."""
    there = {column.name for column in log.schema().columns}
    later = [column for column in ALL_TABLES[table] if column.name not in there]
    if later:
        with log.update_schema() as update:
            for column in later:
                update.add_column(column.name, _choose_iceberg_type(column.type, 0))


def _build_iceberg_schema(table: str) -> Schema:
    """The columns of a table, numbered as pyiceberg numbers them; one that older files lack may be null."""
    columns = ALL_TABLES[table]
    fields = [
        NestedField(
            *(number, column.name, _choose_iceberg_type(column.type, len(columns) + number)),
            required=not column.null and column.since == 1,
        )
        for number, column in enumerate(columns, 1)
    ]
    return assign_fresh_schema_ids(Schema(*fields))


def _choose_iceberg_type(word: str, element: int) -> IcebergType:
    if word.startswith("list<"):
        return ListType(element, _TYPES[word[len("list<") : -1]], element_required=False)
    return _TYPES[word]


def _list_files_of_snapshot(log: Table, snapshot: Snapshot, added_by: int | None = None) -> frozenset[str]:
    """The list of manifests of a snapshot and its manifests; with `added_by` only the manifests of that snapshot."""
    manifests = snapshot.manifests(log.io)
    return frozenset(
        [snapshot.manifest_list]
        + [one.manifest_path for one in manifests if added_by is None or one.added_snapshot_id == added_by]
    )
