"""The tables of columns in, the README's section about them out: `python -m kwcli.pipeline.tables.readme`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from kwcli.pipeline.tables.columns import MEANINGS, TABLES

HEAD = """\
## The tables of `kw pipeline`

Parquet (zstd), readable by any Parquet reader, in a folder for each table and in it one for each UTC date of `time`:
`DIR/exchanges/date=2026-11-21/….parquet`. A table without rows is one empty file, of the date 1970-01-01. Columns are
added in later versions, and keep their names, types and meanings. Times are capture times in UTC; `_ns` are nanoseconds
since 1970. An exchange is identified by `point`, `client`, `broker`, `connection_began_ns` and `place`, with
`correlation_id` and `time_ns` for a response without its request; rows of `topic_partitions` have the same columns,
rows of `connections` the first four.
"""


def section() -> str:
    """All of it."""
    return "\n".join([HEAD, *(line for name in TABLES for line in _table(name))])


def _table(name: str) -> Iterator[str]:
    yield f"### `{name}`"
    yield ""
    yield f"{MEANINGS[name][0].upper()}{MEANINGS[name][1:]}."
    yield ""
    yield "| column | type | null | meaning |"
    yield "| --- | --- | --- | --- |"
    for column in TABLES[name]:
        yield f"| `{column.name}` | `{column.type}` | {'yes' if column.null else 'no'} | {column.text} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(section())
