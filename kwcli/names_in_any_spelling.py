"""A word that names an API, a structure, a release or a version in; what it names out, in any spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.wire.suggest_similar_words import LONGEST_WORD, did_you_mean
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.schema.api_declaration import Api


def find_api(word: str) -> Api:
    """The API with this name, in any spelling, or this number. Raises Failure (usage) with the nearest name."""
    from decoders.apis import NAMES, api
    from decoders.errors import UnknownApi
    from decoders.protocol_facts.api_keys import is_confluent_api_key

    try:
        return api(word)
    except UnknownApi:
        from kwcli.other_tools_hints import hint_for_api_word

        if word.isascii() and word.isdecimal():
            whose = "; Confluent's own APIs begin at 10000" if is_confluent_api_key(word) else ""
            raise Failure(f"no API has the number {word:.20} (kw knows 0 to {max(NAMES)}){whose}", Exit.USAGE) from None
        hint = hint_for_api_word(word) or did_you_mean(word, (api(key).name for key in NAMES))
        raise Failure(f"no API has the name {word[:LONGEST_WORD]!r}{hint}", Exit.USAGE) from None


def find_structure_name(word: str) -> str:
    """The exact name of the structure that a word names in any spelling. Raises Failure (usage)."""
    from decoders.embedded import STRUCTURES
    from decoders.embedded import exact_structure_name as known
    from decoders.errors import UnknownApi

    try:
        return known(word)
    except UnknownApi:
        near = did_you_mean(word, STRUCTURES)
        raise Failure(
            f"no structure {word[:LONGEST_WORD]!r}{near}; kw decode --as list shows all", Exit.USAGE
        ) from None


def find_release(word: str) -> str:
    """The release that `2.8`, `v2.8.2`, `0.10` (the last one of those) or `latest` means. Raises Failure (usage)."""
    from decoders.protocol_facts.kafka_releases import RELEASES
    from decoders.protocol_facts.parse_versions_and_releases import parse_release_name

    try:
        return parse_release_name(word)
    except ValueError:
        major = word.strip().lower().removeprefix("v").partition(".")[0]
        same = [release for release in RELEASES if release.startswith(f"{major}.")]
        near = f' (did you mean "{same[-1]}"?)' if same else ""
        raise Failure(
            f"no release {word[:LONGEST_WORD]}{near}; kw knows {RELEASES[0]} to {RELEASES[-1]}", Exit.USAGE
        ) from None


def find_version(api: Api, word: str | int) -> int:
    """The version of the API that `12`, `v12`, `latest` or `earliest` means. Raises Failure (usage) for all others."""
    version = parse_api_version(api, word)
    if version not in api.versions:
        raise Failure(f"{api.name} has versions {api.versions}, not {version}", Exit.USAGE)
    return version


def parse_api_version(api: Api, word: str | int) -> int:
    """The version that `12`, `v12`, `latest` or `earliest` means, in the API or not. Raises Failure (usage)."""
    from decoders.protocol_facts.parse_versions_and_releases import parse_api_version

    try:
        return parse_api_version(str(word), api.versions)
    except ValueError:
        text = (
            f"{str(word)[:LONGEST_WORD]!r} is no version of {api.name}: write {api.versions.high}, v{api.versions.high}"
        )
        raise Failure(f"{text} or latest", Exit.USAGE) from None
