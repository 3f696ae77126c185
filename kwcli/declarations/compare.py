"""Our API and a release's definition of it in; every difference out, one line of text each, versions together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from decoders.schema.model import Api, Message, Side, Versions
from kwcli.declarations.definitions import Release
from kwcli.declarations.layout import Cell, layout, paired, wire_type

_SIDES: tuple[Side, Side] = ("request", "response")
_WIRE = ("nullable", "tag")
_DETAILS = ("default", "ignorable", "key", "entity")


@dataclass(frozen=True, slots=True)
class Difference:
    """`place` names API, side and field; `versions` where it differs."""

    place: str
    versions: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        shown = ",".join(map(str, self.versions)) or "-"
        return f"{self.place} v{shown}: {self.text}"


def compare(
    ours: dict[int, Api], release: Release, versions: Mapping[int, Sequence[int]], *, details: bool
) -> list[Difference]:
    """All differences in the `versions` of each API key that this release is asked about.

    `details` compares also what the bytes do not show (defaults, ignorable, map keys, entity types), which Kafka
    refines over the years for versions long published; so only the newest release is asked about it.
    """
    found: list[Difference] = []
    for key, theirs in release.apis.items():
        wanted = [version for version in versions.get(key, ()) if version in theirs.versions]
        if not wanted:
            continue
        api = ours.get(key)
        if api is None:
            found.append(Difference(f"{key} {theirs.name}", tuple(wanted), "the API is missing"))
            continue
        found += _compare_api(api, theirs, wanted, release.minor, details=details)
    return found


def compare_messages(
    pairs: Iterable[tuple[int, Message, Message]], place: str, *, details: bool
) -> Iterator[Difference]:
    """All differences between ours and theirs of (version, our message, their message), versions together."""
    words = (*_WIRE, *_DETAILS) if details else _WIRE
    rows: dict[tuple[str, str], list[int]] = {}
    for version, mine, theirs in pairs:
        for row in _compare_cells(layout(mine, version), layout(theirs, version), "", words):
            rows.setdefault(row, []).append(version)
    for (path, text), versions in rows.items():
        yield Difference(f"{place} {path}", tuple(versions), text)


def _compare_api(api: Api, theirs: Api, wanted: Sequence[int], release: str, *, details: bool) -> Iterator[Difference]:
    if theirs.name not in (api.name, *api.was):
        yield Difference(api.name, (), f"{release} calls it {theirs.name}")
    lacking = tuple(version for version in wanted if version not in api.versions)
    if lacking:
        yield Difference(api.name, lacking, "versions are missing")
    known = [version for version in wanted if version in api.versions]
    flexible = tuple(version for version in known if (version in api.flexible) != (version in theirs.flexible))
    if flexible:
        yield Difference(api.name, flexible, "flexible on one side only")
    for side in _SIDES:
        mine: Message = getattr(api, side)
        other: Message = getattr(theirs, side)
        pairs = ((version, api.early.get((side, version, release), mine), other) for version in known)
        yield from compare_messages(pairs, f"{api.name} {side}", details=details)


def _compare_cells(
    ours: Sequence[Cell], theirs: Sequence[Cell], path: str, words: Sequence[str]
) -> Iterator[tuple[str, str]]:
    for one, other in paired(ours, theirs):
        if one is None or other is None:
            known, text = (other, "is missing") if one is None else (one, "is not in Kafka's definition")
            assert known is not None
            if one is None or one.tag is None:  # an older release may know fewer tags
                yield path + known.name, text
            continue
        if other.name not in (one.name, *one.was):
            yield path + one.name, f"Kafka calls it {other.name}"
        if wire_type(one.type) != wire_type(other.type):
            yield path + one.name, f"type is {one.type}, Kafka says {other.type}"
        for word in words:
            mine, its = _shown(one, word), _shown(other, word)
            if mine != its:
                yield path + one.name, f"{word} is {mine}, Kafka says {its}"
        yield from _compare_cells(one.cells, other.cells, f"{path}{one.name}.", words)


def _shown(cell: Cell, word: str) -> str:
    if word == "default" and not cell.has_default:
        return "the type's own"
    return repr(getattr(cell, word))


def truth(releases: Sequence[Release]) -> list[tuple[Release, dict[int, list[int]]]]:
    """Each release, newest first, with the versions of each API for which no newer one given speaks."""
    spoken: set[tuple[int, int]] = set()
    found = []
    for release in sorted(releases, key=lambda one: one.version, reverse=True):
        mine: dict[int, list[int]] = {}
        for key, api in release.apis.items():
            versions = [v for v in _numbers(api.versions) if (key, v) not in spoken]
            spoken |= {(key, version) for version in versions}
            mine[key] = versions
        found.append((release, mine))
    return found


def _numbers(versions: Versions) -> range:
    return range(versions.low, versions.high + 1)
