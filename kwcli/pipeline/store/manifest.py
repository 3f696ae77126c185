"""What a folder of tables covers: sources, options, tables; as a value and as the JSON of `_kw/manifest.json`."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import orjson

from decoders.wire.text import json_text
from kwcli.pipeline.tables.write import WrittenFile

# Of the folder: a program knows its own and earlier ones.
FORMAT: Final = 1


class SourceLike(Protocol):
    """A capture as read/captures.py finds it."""

    @property
    def point(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...


class CoveredCapture(NamedTuple):
    """A capture: where it was taken, where it lies, how many bytes it has and what tells it from others."""

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
    """What a run has left. `options` are those that the rows depend on; `facts` is what it had to say at its end."""

    kw: str
    run: str
    sources: tuple[CoveredCapture, ...]
    options: Mapping[str, Any]
    tables: Mapping[str, WrittenTable]
    facts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
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
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Manifest:
        """As it is read. Raises KeyError, TypeError and ValueError."""
        return cls(
            value["kw"],
            value["run"],
            tuple(CoveredCapture(**{**source, "path": _path(source["path"])}) for source in value["sources"]),
            value["options"],
            {
                name: WrittenTable(table["rows"], table["bytes"], tuple(table["files"]))
                for name, table in value["tables"].items()
            },
            value["facts"],
        )


def tables_of(written: Iterable[WrittenFile], names: Iterable[str]) -> dict[str, WrittenTable]:
    """The tables that these files make; also those without any."""
    found: dict[str, list[WrittenFile]] = {name: [] for name in names}
    for file in written:
        found[file.table].append(file)
    return {
        name: WrittenTable(
            sum(file.rows for file in files), sum(file.size for file in files), tuple(sorted(f.path for f in files))
        )
        for name, files in found.items()
    }


def _path(form: str | Mapping[str, str]) -> str:
    """A path of its JSON form: what is no text is {"base64": …}. Raises KeyError, TypeError and ValueError."""
    return form if isinstance(form, str) else os.fsdecode(b64decode(form["base64"], validate=True))


def as_json_values(value: Any) -> Any:
    """A value as JSON gives it back, so that options compare."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


# What a run was asked for and what the folder covers in, all that the new tables are to cover out.


def captures_left_out(manifest: Manifest | None, found: Iterable[SourceLike]) -> tuple[CoveredCapture, ...]:
    """The captures that the tables cover and that are not among those found now: a run reads them again.

    A capture is known by its path: one that has grown, or is of another point now, takes the place of what it was.
    """
    if manifest is None:
        return ()
    paths = {source.path for source in found}
    return tuple(source for source in manifest.sources if source.path not in paths)


def missing_captures_message(folder: str, lost: Iterable[CoveredCapture]) -> str:
    """What to say when captures that the tables cover are no longer there."""
    paths = [source.path for source in lost]
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return (
        f"{folder}: its tables cover {paths[0]}{more}, which cannot be read any more; "
        f"bring it back, or use another folder"
    )
