"""Who used which versions, and a release in; which clients use what that release no longer serves out (KIP-896)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from decoders.analysis.fold import Row
from decoders.apis.keys import API_VERSIONS
from decoders.apis.releases import HISTORY, RELEASES, history, spoken

_WHO: Final = ("address", "client_id", "software", "software_version")


def served(release: str, key: int, version: int) -> bool:
    """Whether a release serves a version, or has never heard of such an API: that is no fault of the client."""
    versions = spoken(release).get(key)
    if versions is None:
        return not _gone(release, key)
    return version >= versions.low


def old_versions(rows: Sequence[Row], release: str) -> list[Row]:
    """The rows of `ClientVersions` by client, those with versions that a release does not serve any more.

    Each has `old`, a list of APIs and versions; `since`, the first release whose clients know served versions of all of
    them (null where an API is gone); `asks`, whether it asks brokers for the versions that they serve.
    """
    clients: dict[tuple[Any, ...], list[Row]] = {}
    asking = {_name(row) for row in rows if row["api_key"] == API_VERSIONS}
    for row in rows:
        clients.setdefault(tuple(row[name] for name in _WHO), []).append(row)
    found = []
    for who, used in clients.items():
        old = [row for row in used if not served(release, row["api_key"], row["api_version"])]
        if old:
            found.append(
                dict(zip(_WHO, who, strict=True)) | _verdict(used, old, release, asks=_name(used[0]) in asking)
            )
    return found


def _name(row: Row) -> tuple[Any, ...]:
    """Who it is, whatever it says of its software: that is not known before it asks for versions."""
    return row["address"], row["client_id"]


def _verdict(used: Sequence[Row], old: Sequence[Row], release: str, *, asks: bool) -> Row:
    since = [_since(release, row["api_key"]) for row in old]
    known = [each for each in since if each is not None]
    return {
        "count": sum(row["count"] for row in old),
        "of": sum(row["count"] for row in used),
        "first": min(row["first"] for row in old),
        "last": max(row["last"] for row in old),
        "asks": asks,
        "since": max(known, key=RELEASES.index) if len(known) == len(since) else None,
        "old": [
            {name: row[name] for name in ("api_key", "api", "api_version", "count", "first", "last")}
            | {"serves": _range(release, row["api_key"])}
            for row in old
        ],
    }


def _range(release: str, key: int) -> list[int] | None:
    versions = spoken(release).get(key)
    return [versions.low, versions.high] if versions else None


def _since(release: str, key: int) -> str | None:
    """The first release that knows a version of an API that `release` serves."""
    versions = spoken(release).get(key)
    if not versions:
        return None
    return next(name for name, its in history(key).items() if its.high >= versions.low)


def _gone(release: str, key: int) -> bool:
    """Whether releases before this one had the API."""
    if key not in HISTORY:
        return False
    return any(RELEASES.index(name) < RELEASES.index(release) for name in history(key))
