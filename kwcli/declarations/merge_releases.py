"""Releases and our declarations in; one Api object for each API out, which describes the API in all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from decoders.schema.api_declaration import NONE, Api, Field, Message, Side, Versions
from kwcli.declarations.compare_with_release import (
    FieldInVersion,
    are_compatible_on_wire,
    fields_in_version,
    message_fields_in_version,
    normalize_type_for_comparison,
    pair_fields,
)
from kwcli.declarations.read_release_jar import Release


class MergeError(Exception):
    """Definitions that no single declaration can describe."""


@dataclass(frozen=True, slots=True)
class ReleaseMessage:
    """One release's view of a message."""

    label: str
    message: Message


@dataclass(slots=True)
class _Merged:
    """A field over the versions covered so far."""

    field: Field
    versions: set[int]
    nullable: set[int]
    tagged: set[int]
    children: list[_Merged]


def merge_release_messages(sources: Sequence[ReleaseMessage]) -> Message:
    """One message that describes all versions of `sources`, which are ordered newest first. Raises MergeError."""
    names = _find_current_names(sources)
    level: list[_Merged] = []
    covered: set[int] = set()
    truths: list[tuple[ReleaseMessage, set[int]]] = []
    for source in sources:
        mine = _make_version_set(source.message.versions) - covered
        if not mine:
            continue
        truths.append((source, mine))
        level = _merge_fields_into_level(level, source.message.fields, mine, _MergePlace(names, source.label, ()))
        covered |= mine
    if not covered:
        raise MergeError(f"{sources[0].message.name}: no source has any version")
    span = _make_version_range(covered, sources[0].message.name)
    flexible = {version for source, mine in truths for version in mine if version in source.message.flexible}
    name = truths[0][0].message.name
    fields = tuple(_make_model_field(merged, span, names, ()) for merged in level)
    result = Message(name, span, _version_range_open_at_newest(flexible, covered, span, name), fields)
    for source, mine in truths:
        for version in mine:
            if not are_compatible_on_wire(
                message_fields_in_version(result, version), message_fields_in_version(source.message, version)
            ):
                raise MergeError(f"{name} v{version}: the merged declaration is not that of {source.label}")
    return result


_Path = tuple[str, ...]


def _make_version_set(versions: Versions) -> set[int]:
    return set(range(versions.low, min(versions.high, 255) + 1))


def _make_version_range(numbers: set[int], name: str) -> Versions:
    if not numbers:
        return NONE
    low, high = min(numbers), max(numbers)
    if len(numbers) != high - low + 1:
        raise MergeError(f"{name}: versions {sorted(numbers)} have a gap")
    return Versions(low, high)


def _version_range_open_at_newest(numbers: set[int], whole: set[int], span: Versions, name: str) -> Versions:
    """Version numbers as a range, which stays open (`5+`) where it reaches the newest version of the API."""
    found = _make_version_range(numbers & whole, name)
    return Versions.parse(f"{found.low}+") if found and found.high == span.high else found


@dataclass(slots=True)
class _CurrentNames:
    """Current names of renamed fields: {(a source's label, path of current names, the source's name): current name}."""

    now: dict[tuple[str, _Path, str], str]

    def current_name(self, label: str, path: _Path, name: str) -> str:
        return self.now.get((label, path, name), name)

    def older_names(self, path: _Path, name: str) -> tuple[str, ...]:
        found = (old for (_, place, old), new in self.now.items() if place == path and new == name)
        return tuple(dict.fromkeys(found))


def _find_current_names(sources: Sequence[ReleaseMessage]) -> _CurrentNames:
    """Current names, from versions that two sources both have: where the bytes agree, fields correspond by place."""
    names = _CurrentNames({})
    for at, newer in enumerate(sources):
        for older in sources[at + 1 :]:
            for version in _make_version_set(newer.message.versions & older.message.versions):
                now, was = (
                    message_fields_in_version(newer.message, version),
                    message_fields_in_version(older.message, version),
                )
                if are_compatible_on_wire(now, was):
                    _learn_names_from_pairs(names, (newer.label, older.label), now, was, ())
    return names


def _learn_names_from_pairs(
    names: _CurrentNames,
    labels: tuple[str, str],
    now: Sequence[FieldInVersion],
    was: Sequence[FieldInVersion],
    path: _Path,
) -> None:
    for one, other in pair_fields(now, was):
        if one is None or other is None:
            continue
        current = names.current_name(labels[0], path, one.name)
        if other.name != current:
            names.now.setdefault((labels[1], path, other.name), current)
        _learn_names_from_pairs(names, labels, one.cells, other.cells, (*path, current))


@dataclass(frozen=True, slots=True)
class _MergePlace:
    """The place of a merge: a source's label and the path of current names; and all current names known."""

    names: _CurrentNames
    label: str
    path: _Path

    def place_of_inner_field(self, name: str) -> _MergePlace:
        return replace(self, path=(*self.path, name))


def _merge_fields_into_level(
    level: list[_Merged], fields: Sequence[Field], mine: set[int], sight: _MergePlace
) -> list[_Merged]:
    """Put the fields that one source has in the versions `mine` into a level of merged fields."""
    found: list[_Merged] = []
    taken: set[int] = set()
    for field in fields:
        active = _make_version_set(field.versions) & mine
        if not active:
            continue
        merged = _find_or_make_merged_field(level, field, sight, taken)
        taken.add(id(merged))
        if merged.field.tag is None and field.tag is not None:
            merged.field = merged.field._replace(tag=field.tag)
        merged.versions |= active
        merged.nullable |= _make_version_set(field.nullable) & active
        merged.tagged |= _make_version_set(field.tagged) & active
        merged.children = _merge_fields_into_level(
            merged.children, field.fields, active, sight.place_of_inner_field(merged.field.name)
        )
        found.append(merged)
    return _insert_new_fields(level, found)


def _find_or_make_merged_field(level: list[_Merged], field: Field, sight: _MergePlace, taken: set[int]) -> _Merged:
    """The merged field in `level` that `field` continues, or a new one."""
    current = sight.names.current_name(sight.label, sight.path, field.name)
    for name in (current, field.name):
        for merged in level:
            known = merged.field
            same = (
                known.name == name
                and known.array == field.array
                and normalize_type_for_comparison(known.kind) == normalize_type_for_comparison(field.kind)
            )
            if same and id(merged) not in taken:
                return merged
    return _Merged(field._replace(name=current, fields=()), set(), set(), set(), [])


def _insert_new_fields(level: list[_Merged], found: list[_Merged]) -> list[_Merged]:
    """`level` with the new fields of `found` put in, each after the fields before it in `found`."""
    result = list(level)
    for at, merged in enumerate(found):
        if any(merged is known for known in result):
            continue
        low = 0
        for before in found[:at]:
            low = max(low, 1 + next(i for i, known in enumerate(result) if known is before))
        result.insert(low, merged)
    return result


def _make_model_field(merged: _Merged, span: Versions, names: _CurrentNames, path: _Path) -> Field:
    """The merged field as a model field, its ranges open where they reach the newest version."""
    field = merged.field
    name = ".".join((*path, field.name))
    versions = _version_range_open_at_newest(merged.versions, merged.versions, span, name)
    here = (*path, field.name)
    return field._replace(
        versions=versions,
        nullable=_version_range_open_at_newest(merged.nullable, merged.versions, span, name),
        tagged=_version_range_open_at_newest(merged.tagged, merged.versions, span, name),
        was=names.older_names(path, field.name),
        fields=tuple(_make_model_field(child, span, names, here) for child in merged.children),
    )


def find_early_layouts(result: Message, sources: Sequence[ReleaseMessage]) -> dict[tuple[int, str], Message]:
    """Versions that an older source lays out differently, {(version, label): its message}."""
    found: dict[tuple[int, str], Message] = {}
    for source in sources:
        for version in sorted(_make_version_set(source.message.versions & result.versions)):
            theirs = fields_in_version(source.message.fields, version)
            if not are_compatible_on_wire(message_fields_in_version(result, version), theirs):
                found[version, source.label] = source.message
    return found


# The declarations of all APIs


_DECLARED = "ours"


def unite_apis(ours: dict[int, Api], releases: Sequence[Release], newest: tuple[int, ...]) -> Iterator[Api]:
    """Every API that our declarations or a release knows, with the versions of all of them.

    A release speaks for all versions that it has and no newer release has. Our own declarations speak for the rest;
    they precede releases older than `newest`, the release they were last written from.
    """
    ordered = sorted(releases, key=lambda one: one.version, reverse=True)
    for key in sorted(set(ours).union(*(release.apis for release in ordered))):
        views: list[tuple[str, Api]] = [(one.minor_release, one.apis[key]) for one in ordered if key in one.apis]
        if key in ours:
            place = sum(1 for one in ordered if key in one.apis and one.version[:2] >= newest[:2])
            views.insert(place, (_DECLARED, ours[key]))
        yield _unite_views_of_api(views, ours.get(key))


def _unite_views_of_api(views: Sequence[tuple[str, Api]], mine: Api | None) -> Api:
    newest = next(api for _, api in views if api.versions)
    sides: dict[Side, Message] = {}
    early: dict[tuple[Side, int, str], Message] = dict(mine.early) if mine else {}
    for side in ("request", "response"):
        sources = [ReleaseMessage(label, getattr(api, side)) for label, api in views]
        result = merge_release_messages([source for source in sources if source.message.versions])
        sides[side] = _copy_own_marks_of_message(result, getattr(mine, side)) if mine else result
        for (version, label), message in find_early_layouts(result, sources).items():
            if label != _DECLARED:
                early[side, version, label] = (
                    _copy_own_marks_of_message(message, mine.message(side)) if mine else message
                )
    request = sides["request"]
    was = [api.name for _, api in views if api.name != newest.name]
    was += mine.was if mine else ()
    return Api(
        newest.key,
        newest.name,
        request.versions,
        request.flexible,
        request,
        sides["response"],
        newest.listeners,
        tuple(dict.fromkeys(was)),
        dict(sorted(early.items())),
    )


def _copy_own_marks_of_message(message: Message, mine: Message) -> Message:
    return Message(
        message.name, message.versions, message.flexible, _copy_own_marks_of_fields(message.fields, mine.fields)
    )


def _copy_own_marks_of_fields(fields: Sequence[Field], mine: Sequence[Field]) -> tuple[Field, ...]:
    """`fields` with what no definition file says, from `mine`: secrets, words, `since`, names of older releases."""
    exact = {field.name: field for field in reversed(mine)}
    older = {name: field for field in reversed(mine) for name in field.was}
    marked = []
    for field in fields:
        old = next((exact[name] for name in (field.name, *field.was) if name in exact), older.get(field.name))
        if old is not None:
            names = (name for name in (*field.was, old.name, *old.was) if name != field.name)
            field = field._replace(
                secret=old.secret,
                unless=old.unless,
                means=old.means,
                since=old.since,
                was=tuple(dict.fromkeys(names)),
                fields=_copy_own_marks_of_fields(field.fields, old.fields),
            )
        marked.append(field)
    return tuple(marked)
