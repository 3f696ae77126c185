"""Our declarations and a release's in; every difference out, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as slot

from decoders.embedded import STRUCTURES, parse_structure_declaration
from decoders.protocol_facts.header_versions import REQUEST_HEADER, RESPONSE_HEADER
from decoders.protocol_facts.kafka_releases import HISTORY, RELEASES, UNSTABLE, api_versions_of_release
from decoders.schema.api_declaration import NONE, Api, Field, Message, Side, Versions, parse_message
from kwcli.declarations.read_release_jar import Release


@dataclass(frozen=True, slots=True)
class FieldInVersion:
    """One field of one version. `default` is a literal or None; `has_default` False means the type's own."""

    name: str
    type: str
    nullable: bool
    tag: int | None
    default: object
    has_default: bool
    ignorable: bool
    key: bool
    entity: str
    cells: tuple[FieldInVersion, ...]
    was: tuple[str, ...] = slot(default=(), compare=False)


def fields_in_version(fields: Iterable[Field], version: int) -> tuple[FieldInVersion, ...]:
    """The fields of one version as cells: plain fields in wire order, then tagged fields by tag."""
    plain: list[FieldInVersion] = []
    tagged: list[FieldInVersion] = []
    for field in fields:
        if version not in field.versions:
            continue
        tag = field.tag if version in field.tagged else None
        cell = FieldInVersion(
            field.name,
            "[]" * field.array + field.kind,
            version in field.nullable,
            tag,
            field.default,
            field.has_default and (field.default is not None or version in field.nullable),
            field.ignorable,
            field.key,
            field.entity,
            fields_in_version(field.fields, version),
            field.was,
        )
        (plain if tag is None else tagged).append(cell)
    return *plain, *sorted(tagged, key=lambda cell: cell.tag or 0)


def message_fields_in_version(message: Message, version: int) -> tuple[FieldInVersion, ...]:
    return fields_in_version(message.fields, version)


def pair_fields(
    ours: Iterable[FieldInVersion], theirs: Iterable[FieldInVersion]
) -> Iterator[tuple[FieldInVersion | None, FieldInVersion | None]]:
    """Pairs of corresponding fields: plain fields by place, tagged fields by tag; None where a side has no more."""
    ours, theirs = list(ours), list(theirs)
    plain = [[cell for cell in side if cell.tag is None] for side in (ours, theirs)]
    for place in range(max(map(len, plain))):
        one, other = (side[place] if place < len(side) else None for side in plain)
        yield one, other
    tags = [{cell.tag: cell for cell in side if cell.tag is not None} for side in (ours, theirs)]
    for tag in sorted(tags[0].keys() | tags[1].keys()):
        yield tags[0].get(tag), tags[1].get(tag)


def normalize_type_for_comparison(type_name: str) -> str:
    """The type for comparison: definitions up to 2.7 call `records` `bytes`, which are the same on the wire."""
    return "bytes" if type_name == "records" else type_name


def are_compatible_on_wire(ours: Iterable[FieldInVersion], theirs: Iterable[FieldInVersion]) -> bool:
    """Whether bytes of `theirs` read as `ours` mean the same: the only difference allowed is more tags in `ours`."""
    for one, other in pair_fields(ours, theirs):
        if other is None:
            if one is None or one.tag is None:
                return False
        elif one is None or not _are_fields_alike(one, other):
            return False
    return True


def _are_fields_alike(one: FieldInVersion, other: FieldInVersion) -> bool:
    same = one.nullable == other.nullable and normalize_type_for_comparison(one.type) == normalize_type_for_comparison(
        other.type
    )
    return same and are_compatible_on_wire(one.cells, other.cells)


# Differences of APIs


_SIDES: tuple[Side, Side] = ("request", "response")
_WIRE = ("nullable", "tag")
_DETAILS = ("default", "ignorable", "key", "entity")


@dataclass(frozen=True, slots=True)
class DeclarationDifference:
    """One difference: `place` names API, side and field; `versions` are the versions that differ."""

    place: str
    versions: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        shown = ",".join(map(str, self.versions)) or "-"
        return f"{self.place} v{shown}: {self.text}"


def compare_apis_with_release(
    ours: dict[int, Api], release: Release, versions: Mapping[int, Sequence[int]], *, details: bool
) -> list[DeclarationDifference]:
    """All differences in the `versions` of each API key that this release is asked about.

    `details` compares also what the bytes do not show (defaults, ignorable, map keys, entity types), which Kafka
    refines over the years for versions long published; so only the newest release is asked about it.
    """
    found: list[DeclarationDifference] = []
    for key, theirs in release.apis.items():
        wanted = [version for version in versions.get(key, ()) if version in theirs.versions]
        if not wanted:
            continue
        api = ours.get(key)
        if api is None:
            found.append(DeclarationDifference(f"{key} {theirs.name}", tuple(wanted), "the API is missing"))
            continue
        found += _compare_api(api, theirs, wanted, release.minor_release, details=details)
    return found


def compare_messages(
    pairs: Iterable[tuple[int, Message, Message]], place: str, *, details: bool
) -> Iterator[DeclarationDifference]:
    """All differences in pairs of (version, our message, their message); the same one in several versions is one."""
    words = (*_WIRE, *_DETAILS) if details else _WIRE
    rows: dict[tuple[str, str], list[int]] = {}
    for version, mine, theirs in pairs:
        for row in _compare_fields(
            message_fields_in_version(mine, version), message_fields_in_version(theirs, version), "", words
        ):
            rows.setdefault(row, []).append(version)
    for (path, text), versions in rows.items():
        yield DeclarationDifference(f"{place} {path}", tuple(versions), text)


def _compare_api(
    api: Api, theirs: Api, wanted: Sequence[int], release: str, *, details: bool
) -> Iterator[DeclarationDifference]:
    if theirs.name not in (api.name, *api.was):
        yield DeclarationDifference(api.name, (), f"{release} calls it {theirs.name}")
    lacking = tuple(version for version in wanted if version not in api.versions)
    if lacking:
        yield DeclarationDifference(api.name, lacking, "versions are missing")
    known = [version for version in wanted if version in api.versions]
    flexible = tuple(version for version in known if (version in api.flexible) != (version in theirs.flexible))
    if flexible:
        yield DeclarationDifference(api.name, flexible, "flexible on one side only")
    for side in _SIDES:
        mine: Message = getattr(api, side)
        other: Message = getattr(theirs, side)
        pairs = ((version, api.early.get((side, version, release), mine), other) for version in known)
        yield from compare_messages(pairs, f"{api.name} {side}", details=details)


def _compare_fields(
    ours: Sequence[FieldInVersion], theirs: Sequence[FieldInVersion], path: str, words: Sequence[str]
) -> Iterator[tuple[str, str]]:
    for one, other in pair_fields(ours, theirs):
        if one is None or other is None:
            known, text = (other, "is missing") if one is None else (one, "is not in Kafka's definition")
            assert known is not None
            if one is None or one.tag is None:  # an older release may know fewer tags
                yield path + known.name, text
            continue
        if other.name not in (one.name, *one.was):
            yield path + one.name, f"Kafka calls it {other.name}"
        if normalize_type_for_comparison(one.type) != normalize_type_for_comparison(other.type):
            yield path + one.name, f"type is {one.type}, Kafka says {other.type}"
        for word in words:
            mine, its = _format_field_difference(one, word), _format_field_difference(other, word)
            if mine != its:
                yield path + one.name, f"{word} is {mine}, Kafka says {its}"
        yield from _compare_fields(one.cells, other.cells, f"{path}{one.name}.", words)


def _format_field_difference(cell: FieldInVersion, word: str) -> str:
    if word == "default" and not cell.has_default:
        return "the type's own"
    return repr(getattr(cell, word))


def versions_to_ask_each_release(releases: Sequence[Release]) -> list[tuple[Release, dict[int, list[int]]]]:
    """Each release, newest first, with the versions of each API that no newer release among them has."""
    newer: set[tuple[int, int]] = set()
    found = []
    for release in sorted(releases, key=lambda one: one.version, reverse=True):
        mine: dict[int, list[int]] = {}
        for key, api in release.apis.items():
            versions = [v for v in _list_version_numbers(api.versions) if (key, v) not in newer]
            newer |= {(key, version) for version in versions}
            mine[key] = versions
        found.append((release, mine))
    return found


def _list_version_numbers(versions: Versions) -> range:
    return range(versions.low, versions.high + 1)


# Differences of headers, structures and the release table


_TABLE = "decoders/protocol_facts/kafka_releases.py"


def compare_structures_with_release(release: Release) -> Iterator[DeclarationDifference]:
    """Differences of our headers and structures from the newest release's; a structure not declared here is one.

    Older releases are not asked: up to 2.8 control records of the KRaft preview had other layouts.
    """
    ours: dict[str, Message] = {name: parse_structure_declaration(name) for name in STRUCTURES}
    ours |= {message.name: message for message in map(parse_message, (REQUEST_HEADER, RESPONSE_HEADER))}
    for name, theirs in release.structures.items():
        mine = ours.get(name)
        if mine is None:
            yield DeclarationDifference(name, tuple(_list_version_numbers(theirs.versions)), "the structure is missing")
            continue
        versions = range(theirs.versions.low, theirs.versions.high + 1)
        lacking = tuple(version for version in versions if version not in mine.versions)
        if lacking:
            yield DeclarationDifference(name, lacking, "versions are missing")
        known = [version for version in versions if version in mine.versions]
        flexible = tuple(version for version in known if (version in mine.flexible) != (version in theirs.flexible))
        if flexible:
            yield DeclarationDifference(name, flexible, "flexible on one side only")
        yield from compare_messages(((version, mine, theirs) for version in known), name, details=True)


def compare_release_table(release: Release) -> Iterator[DeclarationDifference]:
    """Differences between our release table and what the release itself says of its API versions."""
    if release.minor_release not in RELEASES:
        yield DeclarationDifference(
            release.minor_release, (), f"not in {_TABLE}: add it to RELEASES, and what it changes to HISTORY"
        )
        before = api_versions_of_release(RELEASES[-1])
    else:
        before = api_versions_of_release(release.minor_release)
    for key in sorted(HISTORY.keys() | release.apis.keys()):
        has = release.apis[key].versions if key in release.apis else NONE
        name = release.apis[key].name if key in release.apis else str(key)
        if before.get(key, NONE) != has and (before.get(key) or has):
            change = f"{release.minor_release}:{f'{has.low}-{has.high}' if has else '-'}"
            yield DeclarationDifference(
                name, (), f"{_TABLE} has versions {before.get(key, NONE)}, Kafka {has}: `{change}`"
            )
    if UNSTABLE.get(release.minor_release, {}) != release.unstable:
        yield DeclarationDifference(
            release.minor_release,
            (),
            f"UNSTABLE in {_TABLE} has {UNSTABLE.get(release.minor_release, {})}, Kafka {release.unstable}",
        )
