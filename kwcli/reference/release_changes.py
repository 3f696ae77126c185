"""Two releases in; which APIs, versions and fields appeared, went and changed between them, in JSON form, out.

A version that the newer release has and the older has not is compared with the version before it. A version that both
have is compared with itself: tags may have come, and a version that was still unstable may have been laid out anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from decoders.apis import KEYS
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.kafka_releases import UNSTABLE
from decoders.schema.api_declaration import Api, Field, Message, Side, Versions
from kwcli.reference.api_at_release import (
    find_api_in_release,
    find_api_name_in_release,
    find_message_in_release,
    find_older_field_names,
)
from kwcli.reference.api_rows import list_lowest_and_highest
from kwcli.reference.walk_field_paths import walk_field_paths
from kwcli.reference.wire_layout import SIDES

Row = dict[str, Any]
ORDER: Final = ("added", "removed", "changed", "renamed", "gone")


class FieldFacts(NamedTuple):
    """What one field is on the wire in one version."""

    type: str
    nullable: bool
    tag: int | None


Facts = dict[str, FieldFacts]


def compare_releases(older: str, newer: str, keys: Sequence[int] = KEYS) -> Row:
    """The differences of these APIs between two releases."""
    found: dict[str, list[Row]] = {"appeared": [], "gone": [], "changed": []}
    for key in keys:
        # Fields are matched by today's names; renamed fields are found separately.
        before, after = find_api_in_release(key, older, names=False), find_api_in_release(key, newer, names=False)
        if before is None and after is not None:
            found["appeared"].append(_make_new_api_row(after, newer))
        elif before is not None and after is None:
            found["gone"].append(
                {
                    "key": key,
                    "name": find_api_name_in_release(key, older),
                    "versions": list_lowest_and_highest(before.versions),
                }
            )
        elif before is not None and after is not None:
            row = _make_changed_api_row(before, after, older, newer)
            if row is not None:
                found["changed"].append(row)
    return {"from": older, "to": newer, **found}


def compare_api_versions(found: Api, older: int, newer: int) -> Row:
    """The differences between two versions of one API, in their stable layouts."""
    rows = [
        _make_field_change_row(side, change, path, [newer], was, now)
        for side in SIDES
        for change, path, was, now in _compare_field_facts(
            _collect_field_facts(find_message_in_release(found, side, older), older),
            _collect_field_facts(find_message_in_release(found, side, newer), newer),
        )
    ]
    flexible = [version in found.flexible for version in (older, newer)]
    return {"key": found.key, "name": found.name, "from": older, "to": newer, "flexible": flexible, "fields": rows}


def _make_field_change_row(
    side: Side, change: str, path: str, versions: list[int], was: FieldFacts | None, now: FieldFacts | None
) -> Row:
    row: Row = {"side": side, "change": change, "path": path, "versions": versions}
    return row | {"from": _make_fact_row(was), "to": _make_fact_row(now), "was": None}


def _make_new_api_row(after: Api, newer: str) -> Row:
    row: Row = {
        "key": after.key,
        "name": find_api_name_in_release(after.key, newer),
        "versions": list_lowest_and_highest(after.versions),
    }
    row["unstable"] = UNSTABLE.get(newer, {}).get(after.key)
    for side in SIDES:
        message = find_message_in_release(after, side, after.versions.high, newer)
        facts = _collect_field_facts(message, after.versions.high)
        row[side] = [
            {"path": _spell_path_in_release(path, after.key, side, newer), **fact._asdict()}
            for path, fact in facts.items()
        ]
    return row


def _make_changed_api_row(before: Api, after: Api, older: str, newer: str) -> Row | None:
    key = after.key
    names = find_api_name_in_release(key, older), find_api_name_in_release(key, newer)
    hidden = [UNSTABLE.get(release, {}).get(key) for release in (older, newer)]
    rows = _make_field_change_rows(before, after, older, newer)
    flexible = after.flexible.low if after.flexible else None
    if flexible is not None and not (flexible in after.versions and flexible > before.versions.high):
        flexible = None
    same = before.versions == after.versions and names[0] == names[1] and hidden[0] == hidden[1]
    if same and not rows:
        return None
    return {
        "key": key,
        "name": names[1],
        "was": names[0] if names[0] != names[1] else None,
        "versions": {"from": list_lowest_and_highest(before.versions), "to": list_lowest_and_highest(after.versions)},
        "unstable": {"from": hidden[0], "to": hidden[1]},
        "flexible_from": flexible,
        "fields": rows,
    }


def _make_field_change_rows(before: Api, after: Api, older: str, newer: str) -> list[Row]:
    """All differences of fields; a difference that is the same in several versions is one row."""
    found: dict[tuple[Side, str, str, FieldFacts | None, FieldFacts | None], list[int]] = {}
    for side in SIDES:
        for version in _list_version_numbers(after.versions):
            new = _collect_field_facts(find_message_in_release(after, side, version, newer), version)
            for change, path, was, now in _compare_field_facts(
                _find_earlier_facts(before, after, side, version, older, newer), new
            ):
                found.setdefault((side, change, path, was, now), []).append(version)
        for path, fact, versions in _find_removed_fields(before, after, side, older, newer):
            found[side, "gone", path, fact, None] = versions
    rows = [
        _make_field_change_row(side, change, _spell_path_in_release(path, after.key, side, newer), versions, was, now)
        for (side, change, path, was, now), versions in found.items()
    ]
    return sorted([*rows, *_find_renamed_fields(before, after, older, newer)], key=_make_sort_key_of_row)


def _make_sort_key_of_row(row: Row) -> tuple[bool, bool, int, int]:
    return (
        row["side"] == "response",
        row["change"] in ("renamed", "gone"),
        row["versions"][0],
        ORDER.index(row["change"]),
    )


def _find_earlier_facts(before: Api, after: Api, side: Side, version: int, older: str, newer: str) -> Facts | None:
    """The fields that a version of the newer release is compared with; None where there is nothing before it."""
    if version in before.versions:
        return _collect_field_facts(find_message_in_release(before, side, version, older), version)
    if version - 1 in after.versions:
        return _collect_field_facts(find_message_in_release(after, side, version - 1, newer), version - 1)
    if version - 1 in before.versions:
        return _collect_field_facts(find_message_in_release(before, side, version - 1, older), version - 1)
    return None


def _compare_field_facts(
    old: Facts | None, new: Facts
) -> Iterator[tuple[str, str, FieldFacts | None, FieldFacts | None]]:
    if old is None:
        old = {}
    for path, fact in new.items():
        was = old.get(path)
        if was is None:
            yield "added", path, None, fact
        elif was != fact:
            yield "changed", path, was, fact
    for path, fact in old.items():
        if path not in new:
            yield "removed", path, fact, None


def _find_removed_fields(
    before: Api, after: Api, side: Side, older: str, newer: str
) -> Iterator[tuple[str, FieldFacts, list[int]]]:
    """Fields that only those versions had which the newer release no longer has; with these versions."""
    left = [version for version in _list_version_numbers(before.versions) if version not in after.versions]
    if not left:
        return
    kept: set[str] = set()
    for version in _list_version_numbers(after.versions):
        kept.update(_collect_field_facts(find_message_in_release(after, side, version, newer), version))
    for version in _list_version_numbers(before.versions & after.versions):
        kept.update(_collect_field_facts(find_message_in_release(before, side, version, older), version))
    lost: dict[str, tuple[FieldFacts, list[int]]] = {}
    for version in left:
        for path, fact in _collect_field_facts(find_message_in_release(before, side, version, older), version).items():
            if path not in kept:
                lost.setdefault(path, (fact, []))[1].append(version)
    for path, (fact, versions) in lost.items():
        yield path, fact, versions


def _find_renamed_fields(before: Api, after: Api, older: str, newer: str) -> Iterator[Row]:
    for side in SIDES:
        names = [find_older_field_names(after.key, side, release) for release in (older, newer)]
        if names[0] == names[1]:
            continue
        message: Message = getattr(after, side)
        its = before.message(side)
        known = {path for path, _, _ in walk_field_paths(its.fields, before.versions)}
        seen: dict[str, tuple[str, list[int]]] = {}
        for path, field, versions in walk_field_paths(message.fields, after.versions):
            plain = tuple(path.replace("[]", "").split("."))
            was, now = (names[at].get(plain, field.name) for at in (0, 1))
            if was != now and path in known:
                seen.setdefault(path, (was, []))[1].extend(_list_version_numbers(versions & before.versions))
        for path, (was, numbers) in seen.items():
            if numbers:
                called = _spell_path_in_release(path, after.key, side, newer)
                row = {"side": side, "change": "renamed", "path": called, "versions": sorted(numbers)}
                yield row | {"from": None, "to": None, "was": was}


def _collect_field_facts(message: Message, version: int) -> Facts:
    return dict(_walk_fields(message.fields, version, ""))


def _walk_fields(fields: Sequence[Field], version: int, above: str) -> Iterator[tuple[str, FieldFacts]]:
    for field in fields:
        if version in field.versions:
            here = above + field.name
            tag = field.tag if version in field.tagged else None
            yield here, FieldFacts("[]" * field.array + field.kind, version in field.nullable, tag)
            yield from _walk_fields(field.fields, version, here + "[]" * field.array + ".")


def _spell_path_in_release(path: str, key: int, side: Side, release: str) -> str:
    """The path in the names of a release."""
    names = find_older_field_names(key, side, release)
    if not names:
        return path
    words = path.split(".")
    plain = tuple(word.removesuffix("[]") for word in words)
    spelt = (names.get(plain[: at + 1], word) for at, word in enumerate(plain))
    return ".".join(name + "[]" * word.endswith("[]") for name, word in zip(spelt, words, strict=True))


def _make_fact_row(fact: FieldFacts | None) -> Row | None:
    return None if fact is None else fact._asdict()


def _list_version_numbers(versions: Versions) -> range:
    return range(versions.low, versions.high + 1)
