"""APIs in; their list, their fields over all versions, and what is found by a word, in JSON form, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from decoders.apis import KEYS, api
from decoders.protocol_facts.enum_words import ENUMS
from decoders.protocol_facts.kafka_releases import RELEASES, UNSTABLE, versions_of_api_by_release
from decoders.protocol_facts.request_routing import route_of_api
from decoders.schema.api_declaration import FOREVER, Api, Field, Message, Versions, default_value
from kwcli.reference.walk_field_paths import walk_field_paths
from kwcli.reference.wire_layout import SIDES, make_json_default

Entry = dict[str, Any]


def make_api_entries() -> list[Entry]:
    """The entries of all APIs, by key."""
    return [make_api_entry(api(key)) for key in KEYS]


def make_api_entry(found: Api) -> Entry:
    """The facts of an API, without its fields.

    `versions` are those of all releases; `flexible_from` is null where no version is flexible; `unstable` is the
    version that a release hides; `sent_by`, `to` and `mutates` are in the words of
    decoders/protocol_facts/request_routing.py.
    """
    return {
        "key": found.key,
        "name": found.name,
        "was": list(found.was),
        "versions": list_lowest_and_highest(found.versions),
        "flexible_from": found.flexible.low if found.flexible else None,
        "sent_by": list(route_of_api(found.key).sent_by),
        "listeners": list(found.listeners),
        "to": route_of_api(found.key).to,
        "mutates": route_of_api(found.key).mutates,
        "since": next(iter(versions_of_api_by_release(found.key)), None),
        "until": find_last_release(found),
        "releases": {
            release: list_lowest_and_highest(versions)
            for release, versions in versions_of_api_by_release(found.key).items()
        },
        "unstable": {release: hidden[found.key] for release, hidden in UNSTABLE.items() if found.key in hidden},
    }


def list_lowest_and_highest(versions: Versions) -> list[int]:
    """A range of versions as [lowest, highest]."""
    return [versions.low, versions.high]


def find_last_release(found: Api) -> str | None:
    """The last release that has the API; None where that is the newest release, or where no release has it."""
    last = next(reversed(versions_of_api_by_release(found.key)), None)
    return None if last == RELEASES[-1] else last


# Searches


Row = dict[str, Any]


def find_apis_and_fields(word: str) -> list[Row]:
    """Matches in the order of keys: APIs (`side` and `path` null) before their fields.

    Case does not count, nor do `_` and `-`: `leaderEpoch` finds `leader_epoch`. `was` is the older name that matched.
    """
    folded = _fold_name(word)
    return [
        row for key in KEYS for row in (*_find_api_by_name(api(key), folded), *_find_fields_by_name(api(key), folded))
    ]


def _find_api_by_name(found: Api, word: str) -> Iterator[Row]:
    was = next((name for name in found.was if word in _fold_name(name)), None)
    if word in _fold_name(found.name) or was:
        yield {
            "key": found.key,
            "api": found.name,
            "side": None,
            "path": None,
            "versions": list_lowest_and_highest(found.versions),
            "type": None,
            "was": None if word in _fold_name(found.name) else was,
        }


def _find_fields_by_name(found: Api, word: str) -> Iterator[Row]:
    for side in SIDES:
        message: Message = getattr(found, side)
        for path, field, versions in walk_field_paths(message.fields, found.versions):
            was = next((name for name in field.was if word in _fold_name(name)), None)
            if word in _fold_name(field.name) or was:
                yield {
                    "key": found.key,
                    "api": found.name,
                    "side": side,
                    "path": path,
                    "versions": list_lowest_and_highest(versions),
                    "type": "[]" * field.array + field.kind,
                    "was": None if word in _fold_name(field.name) else was,
                }


def _fold_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


# Fields


def make_api_tree(found: Api) -> Entry:
    """The API's entry, and the fields of both sides."""
    early = sorted({(version, side, release) for side, version, release in found.early})
    return make_api_entry(found) | {
        "early": [{"side": side, "version": version, "release": release} for version, side, release in early],
        "request": make_field_rows(found, found.request),
        "response": make_field_rows(found, found.response),
    }


def make_field_rows(found: Api, message: Message) -> list[Row]:
    """The fields of one side in the order of the declaration: wire order, with tagged fields in between."""
    return _make_rows_of_fields(found, message.fields, found.versions)


def _make_rows_of_fields(found: Api, among: Sequence[Field], whole: Versions, above: str = "") -> list[Row]:
    return [
        _make_field_row(found, field, field.versions & whole, above + field.name)
        for field in among
        if field.versions & whole
    ]


def _make_field_row(found: Api, field: Field, versions: Versions, path: str) -> Row:
    since, last_release = _find_first_and_last_release(found.key, versions, field.since)
    return {
        "name": field.name,
        "type": "[]" * field.array + field.kind,
        "versions": _format_versions(versions, found),
        "nullable": _format_versions(field.nullable & versions, found),
        "tag": field.tag,
        "tagged": _format_versions(field.tagged & versions, found),
        "default": make_json_default(default_value(field, nullable=bool(field.nullable & versions))),
        "ignorable": field.ignorable,
        "map_key": field.key,
        "secret": field.secret,
        "entity": field.entity or None,
        "since": since,
        "until": last_release,
        "was": list(field.was),
        "values": list_enum_words(field),
        "fields": _make_rows_of_fields(found, field.fields, versions, path + "[]" * field.array + "."),
    }


def list_enum_words(field: Field) -> dict[str, str] | None:
    """What the numbers of a field stand for, by number as text; None where no number has a word."""
    known = ENUMS.get(field.means)
    return None if known is None else {str(number): word for number, word in known.items()}


def _format_versions(versions: Versions, found: Api) -> str | None:
    """Versions as text, `9+` where they reach the newest version of the API; None where there are none."""
    if not versions:
        return None
    return str(Versions(versions.low, FOREVER if versions.high == found.versions.high else versions.high))


def _find_first_and_last_release(key: int, versions: Versions, since: str) -> tuple[str | None, str | None]:
    """The first release that has the field, and the last; the last is None where it is the newest release."""
    first = RELEASES.index(since) if since else 0
    having = [
        release
        for release, its in versions_of_api_by_release(key).items()
        if its & versions and RELEASES.index(release) >= first
    ]
    if not having:
        return None, None
    return having[0], None if having[-1] == RELEASES[-1] else having[-1]
