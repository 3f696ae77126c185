"""Recordings of libraries in, `decoders/exchanges/client_library_table.py` out: traits of releases that do not say
their name.

`python -m captures.make.libraries.table RECORDED.ndjson…` writes the table anew from the lines of `record`, and the
connections that tests try it on, those of held-out releases included.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from captures.make.libraries.releases import FAMILIES, HELD_OUT, MINORS, NAMES

__all__ = ["main", "table_of"]

_ROOT: Final = Path(__file__).resolve().parents[3]
TABLE: Final = _ROOT / "decoders" / "exchanges" / "client_library_table.py"
TRIED: Final = _ROOT / "tests" / "exchanges" / "libraries.ndjson"
_HEAD: Final = '''"""What client libraries do that do not say their name: a literal table.

Made by `captures/make/libraries/table.py`. Rows of a library stand in the order of its releases.
"""

from __future__ import annotations

from typing import Final

from decoders.exchanges.find_client_library import Fingerprint

__all__ = ["LIBRARIES"]

'''


class Shown(NamedTuple):
    """The traits that the connections of one release have shown together."""

    versions: dict[int, int]
    values: dict[int, list[str]]


def main(words: list[str]) -> None:
    """Write the table, and the recordings that tests try it on."""
    rows = [json.loads(line) for name in words for line in Path(name).read_text().splitlines()]
    TABLE.write_text(table_of(rows))
    lines = [json.dumps(_tried(row), separators=(",", ":")) for row in rows]
    TRIED.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)))


def table_of(rows: list[dict[str, Any]]) -> str:
    """The source text of the table, not yet formatted."""
    return _HEAD + "".join(_table(rows))


def _tried(row: dict[str, Any]) -> dict[str, Any]:
    """A recording as tests need it; a client that says its software is reduced to that."""
    keys = ("label", "broker", "software")
    more = () if row["software"] else ("client_id", "versions", "offered", "values", "replica")
    return {key: row[key] for key in (*keys, *more)}


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "LIBRARIES: Final[tuple[Fingerprint, ...]] = (\n"
    for family in FAMILIES:
        shown = {release: _shown(rows, f"{family} {release}") for release in FAMILIES[family]}
        merged: list[tuple[list[str], Shown]] = []
        for release, its in shown.items():
            if its is None or f"{family} {release}" in HELD_OUT:
                continue
            if merged and merged[-1][1] == its:
                merged[-1][0].append(release)
            else:
                merged.append(([release], its))
        for number, (releases, its) in enumerate(merged):
            before = merged[number - 1][0][-1] if number else None
            after = merged[number + 1][0][0] if number + 1 < len(merged) else _silent_until(rows, family)
            since, until = _bounds(family, before, releases, after)
            yield f'    Fingerprint(\n        "{NAMES[family]}", {_text(since)}, {_text(until)},\n'
            yield f"        {its.versions!r},\n        {{"
            yield ", ".join(f"{key}: ({', '.join(map(json.dumps, texts))},)" for key, texts in its.values.items())
            yield "},\n    ),\n"
    yield ")\n"


def _shown(rows: list[dict[str, Any]], label: str) -> Shown | None:
    """The traits of all connections of a release; None if one of them says its software, or none was recorded."""
    its = [row for row in rows if row["label"] == label]
    if not its or any(row["software"] for row in its):
        return None
    versions: dict[int, int] = {}
    values: dict[int, set[str]] = defaultdict(set)
    for row in its:
        for key, version in row["versions"].items():
            versions[int(key)] = max(versions.get(int(key), -1), version)
        for key, value in row["values"].items():
            values[int(key)].add(value)
    return Shown(dict(sorted(versions.items())), {key: sorted(values[key]) for key in sorted(values)})


def _silent_until(rows: list[dict[str, Any]], family: str) -> str | None:
    """The first release of a family that sends its software name."""
    speaking = {row["label"] for row in rows if row["software"]} - HELD_OUT
    return next((release for release in FAMILIES[family] if f"{family} {release}" in speaking), None)


def _bounds(family: str, before: str | None, releases: list[str], after: str | None) -> tuple[str | None, str | None]:
    """The range of minor releases that may have these traits, with the releases between that were not recorded."""
    minors = MINORS.get(family)
    if minors is None:
        return None, None
    since = None if before is None else minors[min(_at(minors, before) + 1, _at(minors, releases[0]))]
    until = None if after is None else minors[max(_at(minors, after) - 1, _at(minors, releases[-1]))]
    return since, until


def _at(minors: tuple[str, ...], release: str) -> int:
    return next(number for number, minor in enumerate(minors) if release == minor or release.startswith(f"{minor}."))


def _text(release: str | None) -> str:
    return "None" if release is None else f'"{release}"'


if __name__ == "__main__":
    main(sys.argv[1:])
