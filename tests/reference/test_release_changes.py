"""The reference about releases, and the differences between them, against the definitions in their jars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from decoders.apis import KEYS
from decoders.protocol_facts.kafka_releases import RELEASES
from kwcli.reference.api_at_release import find_api_in_release
from kwcli.reference.wire_layout import make_wire_layouts
from tests.cli.worlds import kw
from tests.reference.definitions import Defined, Spot, definitions
from tests.reference.jars import FIRST_DEFINITIONS, release_jars

DEFINED = RELEASES[RELEASES.index(FIRST_DEFINITIONS) :]
PAIRS = list(pairwise(DEFINED))
Release = dict[int, Defined]
Facts = dict[str, tuple[str, bool, int | None]]


@pytest.fixture(scope="module")
def jars() -> dict[str, Release]:
    """The definitions of each release's jar, by API key."""
    return {release: definitions(path) for release, path in release_jars().items() if release in DEFINED}


def spots(rows: list[dict[str, Any]], above: str = "") -> Iterator[Spot]:
    """The rows of a wire layout in the form of the definitions."""
    for row in rows:
        if row["type"] == "tags":
            yield from spots(row["fields"], above)
            continue
        kind = row["type"].replace("records", "bytes")
        yield Spot(above + row["name"], kind, row["nullable"], row["tag"])
        yield from spots(row["fields"], f"{above}{row['name']}{'[]' * kind.startswith('[]')}.")


@pytest.mark.oracle
@pytest.mark.long
@pytest.mark.parametrize("release", DEFINED)
def test_every_layout_of_a_release_is_that_of_its_jar(jars: dict[str, Release], release: str) -> None:
    """Names, order, types, nulls and tags of all fields, of every version of every API, as that release had them."""
    theirs = jars[release]
    assert {key for key in KEYS if find_api_in_release(key, release)} == theirs.keys()
    for key, defined in theirs.items():
        mine = find_api_in_release(key, release)
        assert mine is not None
        assert (mine.name, (mine.versions.low, mine.versions.high)) == (defined.name, defined.versions)
        for version in range(mine.versions.low, mine.versions.high + 1):
            row = make_wire_layouts(mine, version, release)
            low, high = defined.flexible
            assert row["flexible"] == (low <= version <= high), (defined.name, version)
            for side in ("request", "response"):
                assert list(spots(row[side]["body"])) == defined.spots[side, version], (defined.name, side, version)


def facts(defined: Defined, side: str, version: int) -> Facts:
    return {spot.path: spot[1:] for spot in defined.spots[side, version]}


def fact(shown: dict[str, Any]) -> tuple[str, bool, int | None]:
    return shown["type"].replace("records", "bytes"), shown["nullable"], shown["tag"]


def translated(path: str, names: dict[tuple[str, str], str]) -> str:
    """A path in the names of the older release as one in those of the newer; `names` {(new parent, old name): new}."""
    parent = ""
    for word in path.split("."):
        name, array = word.removesuffix("[]"), "[]" * word.endswith("[]")
        parent += names.get((parent, name), name) + array + "."
    return parent[:-1]


def applied(base: Facts, rows: list[dict[str, Any]]) -> Facts:
    """The facts of a version with the rows of a difference applied; each row must change something."""
    now = dict(base)
    for row in rows:
        path = row["path"]
        if row["change"] == "added":
            assert path not in now
            now[path] = fact(row["to"])
        else:
            assert now[path] == fact(row["from"])
            if row["change"] == "removed":
                del now[path]
            else:
                assert row["change"] == "changed"
                assert fact(row["to"]) != now[path]
                now[path] = fact(row["to"])
    return now


def numbers(defined: Defined) -> range:
    return range(defined.versions[0], defined.versions[1] + 1)


@pytest.mark.oracle
@pytest.mark.long
@pytest.mark.parametrize(("older", "newer"), PAIRS, ids=lambda release: str(release))
def test_the_difference_of_neighbours_is_that_of_their_jars(jars: dict[str, Release], older: str, newer: str) -> None:
    """The printed difference, applied to the older definitions, gives the newer ones, and has no further rows."""
    shown = json.loads(kw("apis", "--diff", older, newer, "-o", "json").out)
    before, after = jars[older], jars[newer]
    assert [{word: row[word] for word in ("key", "name", "versions")} for row in shown["appeared"]] == [
        named(key, after[key]) for key in sorted(after.keys() - before.keys())
    ]
    for row in shown["appeared"]:
        defined = after[row["key"]]
        assert row["unstable"] == defined.unstable
        for side in ("request", "response"):
            listed = {one["path"]: fact(one) for one in row[side]}
            assert listed == facts(defined, side, defined.versions[1])
    assert shown["gone"] == [named(key, before[key]) for key in sorted(before.keys() - after.keys())]
    changed = {row["key"]: row for row in shown["changed"]}
    for key in sorted(before.keys() & after.keys()):
        row = changed.pop(key, None)
        if row is None:
            same = (before[key].name, before[key].versions, before[key].unstable, before[key].spots)
            assert same == (after[key].name, after[key].versions, after[key].unstable, after[key].spots)
        else:
            check_changed(row, before[key], after[key])
    assert not changed


def named(key: int, defined: Defined) -> dict[str, Any]:
    return {"key": key, "name": defined.name, "versions": [*defined.versions]}


def check_changed(row: dict[str, Any], before: Defined, after: Defined) -> None:
    assert row["name"] == after.name
    assert row["was"] == (before.name if before.name != after.name else None)
    assert row["versions"] == {"from": [*before.versions], "to": [*after.versions]}
    assert row["unstable"] == {"from": before.unstable, "to": after.unstable}
    first = after.flexible[0] if after.flexible[1] >= 0 else -1
    assert row["flexible_from"] == (first if before.versions[1] < first <= after.versions[1] else None)
    something = row["fields"] or row["was"] or before.versions != after.versions or before.unstable != after.unstable
    assert something, after.name
    for side in ("request", "response"):
        check_fields([one for one in row["fields"] if one["side"] == side], side, before, after)


def check_fields(rows: list[dict[str, Any]], side: str, before: Defined, after: Defined) -> None:
    renamed = [one for one in rows if one["change"] == "renamed"]
    names = {
        (one["path"].rpartition(".")[0] + "." * ("." in one["path"]), one["was"]): one["path"].rpartition(".")[2]
        for one in renamed
    }
    older = {
        version: {translated(path, names): value for path, value in facts(before, side, version).items()}
        for version in numbers(before)
    }
    newer = {version: facts(after, side, version) for version in numbers(after)}
    for version in newer:
        base = older.get(version, newer.get(version - 1, older.get(version - 1, {})))
        its = [one for one in rows if version in one["versions"] and one["change"] not in ("renamed", "gone")]
        assert applied(base, its) == newer[version], (after.name, side, version)
    for one in renamed:
        assert one["was"] != one["path"].rpartition(".")[2]
        assert one["versions"] == [version for version in newer if one["path"] in newer[version] and version in older]
        spelt = {path.rpartition(".")[2] for version in one["versions"] for path in facts(before, side, version)}
        assert one["was"] in spelt
    kept = {path for version in newer for path in newer[version]}
    kept |= {path for version in older if version in newer for path in older[version]}
    lost: dict[str, list[int]] = {}
    for version in older:
        for path in older[version].keys() - kept:
            lost.setdefault(path, []).append(version)
    assert {one["path"]: one["versions"] for one in rows if one["change"] == "gone"} == lost
