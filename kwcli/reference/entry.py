"""An API's declaration and the release table in; its line of the list of all APIs, in JSON form, out."""

from __future__ import annotations

from typing import Any

from decoders.apis import KEYS, api
from decoders.apis.releases import RELEASES, UNSTABLE, history
from decoders.apis.routing import route
from decoders.schema.model import Api, Versions

Entry = dict[str, Any]


def entries() -> list[Entry]:
    """All APIs by key."""
    return [entry(api(key)) for key in KEYS]


def entry(found: Api) -> Entry:
    """What there is to say of an API without its fields.

    `versions` over all releases; `flexible_from` null where no version is; `unstable` the version that a release hides;
    `sent_by`, `to` and `mutates` in the words of decoders/apis/routing.py.
    """
    return {
        "key": found.key,
        "name": found.name,
        "was": list(found.was),
        "versions": pair(found.versions),
        "flexible_from": found.flexible.low if found.flexible else None,
        "sent_by": list(route(found.key).sent_by),
        "listeners": list(found.listeners),
        "to": route(found.key).to,
        "mutates": route(found.key).mutates,
        "since": next(iter(history(found.key)), None),
        "until": until(found),
        "releases": {release: pair(versions) for release, versions in history(found.key).items()},
        "unstable": {release: hidden[found.key] for release, hidden in UNSTABLE.items() if found.key in hidden},
    }


def pair(versions: Versions) -> list[int]:
    """[lowest, highest]."""
    return [versions.low, versions.high]


def until(found: Api) -> str | None:
    """The last release that has the API, where the newest one has it no more."""
    last = next(reversed(history(found.key)), None)
    return None if last == RELEASES[-1] else last
