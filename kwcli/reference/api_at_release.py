"""An API and a release in, the API as that release had it out: its versions, fields and names of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from decoders.apis import api
from decoders.protocol_facts.kafka_releases import RELEASES, versions_of_api_by_release
from decoders.protocol_facts.renamed_fields import RENAMED_APIS, RENAMED_FIELDS
from decoders.schema.api_declaration import Api, Field, Message, Side, Versions

Path = tuple[str, ...]


def find_api_name_in_release(key: int, release: str) -> str:
    """The name of an API in a release."""
    later = (RENAMED_APIS.get(one, {}).get(key) for one in _list_releases_after(release))
    return next((name for name in later if name), api(key).name)


@cache
def find_api_in_release(key: int, release: str, *, names: bool = True) -> Api | None:
    """The API as the release had it, None where it had none; `names` False keeps today's names.

    `early` holds only what this release laid out otherwise.
    """
    found = api(key)
    versions = versions_of_api_by_release(key).get(release)
    if versions is None:
        return None
    return found._replace(
        name=find_api_name_in_release(key, release) if names else found.name,
        versions=versions,
        request=_cut_message_to_release(found, "request", versions, release, names=names),
        response=_cut_message_to_release(found, "response", versions, release, names=names),
        early={place: message for place, message in found.early.items() if place[2] == release},
    )


def find_message_in_release(found: Api, side: Side, version: int, release: str | None = None) -> Message:
    """The message that describes this version: an early layout where the release had one."""
    stable = found.message(side)
    return found.early.get((side, version, release or ""), stable)


def find_older_field_names(key: int, side: Side, release: str) -> dict[Path, str]:
    """Paths in today's names → the field's name in that release, where it differs."""
    found = api(key)
    fields = found.message(side).fields
    today = list(dict.fromkeys(_walk_field_paths(fields, ())))
    now: dict[Path, str] = {path: path[-1] for path in today}
    for one in reversed(_list_releases_after(release)):
        older = {
            tuple(path.split(".")): old for k, its, path, old in RENAMED_FIELDS.get(one, ()) if (k, its) == (key, side)
        }
        if older:
            spelt = {path: tuple(now[path[: at + 1]] for at in range(len(path))) for path in today}
            now = {path: older.get(spelt[path], now[path]) for path in today}
    return {path: name for path, name in now.items() if name != path[-1]}


def read_abouts_in_release(key: int, release: str | None) -> dict[str, str]:
    """What each field of the API means, by side and path (`request.topics[].name`) in the names of the release."""
    from kwcli.reference.field_descriptions import read_api_abouts

    abouts = dict(read_api_abouts(key))
    if release is None:
        return abouts
    sides: tuple[Side, Side] = ("request", "response")
    names = {(side, *path): name for side in sides for path, name in find_older_field_names(key, side, release).items()}
    return abouts | {
        _spell_path_by_names(path, names): words for path, words in abouts.items()
    }  # early layouts keep their names


def _spell_path_by_names(path: str, names: dict[Path, str]) -> str:
    steps = path.split(".")
    bare = tuple(step.removesuffix("[]") for step in steps)
    spelt = (names.get(bare[: at + 1], bare[at]) + "[]" * step.endswith("[]") for at, step in enumerate(steps))
    return ".".join(spelt)


def _list_releases_after(release: str) -> Sequence[str]:
    return RELEASES[RELEASES.index(release) + 1 :]


def _walk_field_paths(fields: Sequence[Field], above: Path) -> Iterator[Path]:
    for field in fields:
        here = (*above, field.name)
        yield here
        yield from _walk_field_paths(field.fields, here)


def _cut_message_to_release(found: Api, side: Side, versions: Versions, release: str, *, names: bool) -> Message:
    message = found.message(side)
    older = find_older_field_names(found.key, side, release) if names else {}
    fields = tuple(_cut_fields_to_release(message.fields, versions, release, older, ()))
    return Message(message.name, versions, message.flexible, fields)


def _cut_fields_to_release(
    fields: Sequence[Field], versions: Versions, release: str, names: dict[Path, str], above: Path
) -> Iterator[Field]:
    for field in fields:
        newer = field.since and RELEASES.index(field.since) > RELEASES.index(release)
        if newer or not field.versions & versions:
            continue
        here = (*above, field.name)
        children = tuple(_cut_fields_to_release(field.fields, versions & field.versions, release, names, here))
        yield field._replace(name=names.get(here, field.name), fields=children)
