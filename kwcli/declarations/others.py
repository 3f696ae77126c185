"""What a release says besides its APIs, in; its differences from our headers, structures and release table, out."""

from __future__ import annotations

from collections.abc import Iterator

from decoders.apis.headers import REQUEST_HEADER, RESPONSE_HEADER
from decoders.apis.releases import HISTORY, RELEASES, UNSTABLE, spoken
from decoders.embedded import STRUCTURES, structure
from decoders.schema.model import NONE, Message
from decoders.schema.vocabulary import parse_message
from kwcli.declarations.compare import Difference, compare_messages
from kwcli.declarations.definitions import Release

_TABLE = "decoders/apis/releases.py"


def compare_structures(release: Release) -> Iterator[Difference]:
    """Differences of headers and of the structures that we declare (others are none) from those of the newest release.

    Older releases are not asked: up to 2.8 control records of the KRaft preview had other layouts.
    """
    ours: dict[str, Message] = {name: structure(name) for name in STRUCTURES}
    ours |= {message.name: message for message in map(parse_message, (REQUEST_HEADER, RESPONSE_HEADER))}
    for name, mine in ours.items():
        theirs = release.structures.get(name)
        if theirs is None:
            continue
        versions = range(theirs.versions.low, theirs.versions.high + 1)
        lacking = tuple(version for version in versions if version not in mine.versions)
        if lacking:
            yield Difference(name, lacking, "versions are missing")
        known = [version for version in versions if version in mine.versions]
        flexible = tuple(version for version in known if (version in mine.flexible) != (version in theirs.flexible))
        if flexible:
            yield Difference(name, flexible, "flexible on one side only")
        yield from compare_messages(((version, mine, theirs) for version in known), name, details=True)


def compare_tables(release: Release) -> Iterator[Difference]:
    """Where the release table says something else about this release than the release does."""
    if release.minor not in RELEASES:
        yield Difference(release.minor, (), f"not in {_TABLE}: add it to RELEASES, and what it changes to HISTORY")
        before = spoken(RELEASES[-1])
    else:
        before = spoken(release.minor)
    for key in sorted(HISTORY.keys() | release.apis.keys()):
        has = release.apis[key].versions if key in release.apis else NONE
        name = release.apis[key].name if key in release.apis else str(key)
        if before.get(key, NONE) != has and (before.get(key) or has):
            change = f"{release.minor}:{f'{has.low}-{has.high}' if has else '-'}"
            yield Difference(name, (), f"{_TABLE} has versions {before.get(key, NONE)}, Kafka {has}: `{change}`")
    if UNSTABLE.get(release.minor, {}) != release.unstable:
        yield Difference(
            release.minor, (), f"UNSTABLE in {_TABLE} has {UNSTABLE.get(release.minor, {})}, Kafka {release.unstable}"
        )
