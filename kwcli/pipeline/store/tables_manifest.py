"""What a folder of tables covers: sources, options, tables; as a value and as the JSON of `_kw/manifest.json`."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import orjson

from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import json_text
from kwcli.pipeline.tables.table_columns import TABLES_VERSION
from kwcli.pipeline.tables.write_parquet import WrittenFile

# The format of the folder: kw reads its own format and earlier ones.
FORMAT: Final = 1


class SourceLike(Protocol):
    """A capture as read/find_captures.py finds it."""

    @property
    def point(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...


class CoveredCapture(NamedTuple):
    """A capture that the tables cover: its capture point, path or URL, size in bytes and fingerprint."""

    point: str
    path: str
    size: int
    fingerprint: str


class WrittenTable(NamedTuple):
    """One table: its rows, the bytes of its files, the files by path under the folder."""

    rows: int
    size: int
    files: tuple[str, ...]


class Manifest(NamedTuple):
    """What a run has left. `options` are those that the rows depend on; `facts` are its messages and counts.

    `version` is the version of the tables (tables/upgrade_table_rows.py), and `older` has the files that an earlier one
    wrote, each with its version. None: kw wrote no versions yet, so only the files themselves say which columns they
    have.
    """

    kw: str
    run: str
    sources: tuple[CoveredCapture, ...]
    options: Mapping[str, Any]
    tables: Mapping[str, WrittenTable]
    facts: Mapping[str, Any]
    version: int | None = TABLES_VERSION
    older: Mapping[str, int] = {}

    def to_json(self) -> dict[str, Any]:
        """The manifest as the JSON object that is written."""
        return {
            "format": FORMAT,
            "kw": self.kw,
            "run": self.run,
            "sources": [{**source._asdict(), "path": json_text(source.path)} for source in self.sources],
            "options": dict(self.options),
            "tables": {
                name: {"rows": table.rows, "bytes": table.size, "files": list(table.files)}
                for name, table in self.tables.items()
            },
            "facts": dict(self.facts),
            "tables_version": self.version,
            "older_files": dict(self.older),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Manifest:
        """The manifest of a JSON object that was read. Raises KeyError, TypeError and ValueError."""
        return cls(
            value["kw"],
            value["run"],
            tuple(CoveredCapture(**{**source, "path": _parse_path(source["path"])}) for source in value["sources"]),
            value["options"],
            {
                name: WrittenTable(table["rows"], table["bytes"], tuple(table["files"]))
                for name, table in value["tables"].items()
            },
            value["facts"],
            value.get("tables_version"),
            value.get("older_files", {}),
        )


def group_files_by_table(written: Iterable[WrittenFile], names: Iterable[str]) -> dict[str, WrittenTable]:
    """The tables that the files make up, by name; a table of `names` may have no files."""
    found: dict[str, list[WrittenFile]] = {name: [] for name in names}
    for file in written:
        found[file.table].append(file)
    return {
        name: WrittenTable(
            sum(file.rows for file in files), sum(file.size for file in files), tuple(sorted(f.path for f in files))
        )
        for name, files in found.items()
    }


def _parse_path(form: str | Mapping[str, str]) -> str:
    """A path from its JSON form; bytes that are no text are {"base64": …}. Raises KeyError, TypeError, ValueError."""
    return form if isinstance(form, str) else os.fsdecode(b64decode(form["base64"], validate=True))


def normalize_by_json(value: Any) -> Any:
    """A value after writing and reading it as JSON, so that options can be compared."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


# Captures that a run leaves out


def find_captures_left_out(manifest: Manifest | None, found: Iterable[SourceLike]) -> tuple[CoveredCapture, ...]:
    """The captures that the tables cover and that are not among those found now: a run reads them again.

    A capture is known by its path: a capture that has grown, or is of another point now, replaces its earlier version.
    """
    if manifest is None:
        return ()
    paths = {source.path for source in found}
    return tuple(source for source in manifest.sources if source.path not in paths)


def explain_missing_captures(folder: str, lost: Iterable[CoveredCapture]) -> str:
    """The message when captures that the tables cover are no longer there."""
    paths = [source.path for source in lost]
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return (
        f"{folder}: its tables cover {paths[0]}{more}, which cannot be read any more; "
        f"bring it back, or use another folder"
    )
