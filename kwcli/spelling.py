"""An unknown word and the known words in, the known words that may have been meant out, nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.schema.model import Api

_LONGEST: Final = 80
_MOST: Final = 3


def nearest_words(word: str, candidates: Iterable[str]) -> list[str]:
    """At most three candidates that `word` may have been meant for, nearest first; case and separators count little."""
    if len(word) > _LONGEST:
        return []
    folded = _fold_word(word)
    found: list[tuple[int, int, str]] = []
    for order, candidate in enumerate(dict.fromkeys(candidates)):
        other = _fold_word(candidate)
        # A word of three letters may have one wrong, a longer one a third of its letters.
        most = max(1, min(len(folded), len(other)) // 3)
        if abs(len(folded) - len(other)) <= most and (steps := edit_distance(folded, other)) <= most:
            found.append((steps, order, candidate))
        elif len(folded) > 2 and (other.startswith(folded) or folded.startswith(other) or other.endswith(folded)):
            found.append((_LONGEST + abs(len(other) - len(folded)), order, candidate))
    return [candidate for _, _, candidate in sorted(found)[:_MOST]]


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """` (did you mean "topics"?)`, or nothing where no candidate is near."""
    found = nearest_words(word, candidates)
    return f" (did you mean {quote_words(found[:1])}?)" if found else ""


def find_api(word: str) -> Api:
    """The API with this name, in any spelling, or this number. Raises Failure (usage) with the nearest name."""
    from decoders.apis import NAMES, api
    from decoders.errors import UnknownApi

    try:
        return api(word)
    except UnknownApi:
        from kwcli.other_tools_hints import hint_for_api_word

        if word.isascii() and word.isdecimal():
            raise Failure(f"no API has the number {word:.20} (kw knows 0 to {max(NAMES)})", Exit.USAGE) from None
        hint = hint_for_api_word(word) or did_you_mean(word, (api(key).name for key in NAMES))
        raise Failure(f"no API has the name {word[:_LONGEST]!r}{hint}", Exit.USAGE) from None


def find_structure_name(word: str) -> str:
    """The exact name of the structure that a word names in any spelling. Raises Failure (usage)."""
    from decoders.embedded import STRUCTURES
    from decoders.embedded import exact_structure_name as known
    from decoders.errors import UnknownApi

    try:
        return known(word)
    except UnknownApi:
        near = did_you_mean(word, STRUCTURES)
        raise Failure(f"no structure {word[:_LONGEST]!r}{near}; kw decode --as list shows all", Exit.USAGE) from None


def find_release(word: str) -> str:
    """The release that `2.8`, `v2.8.2`, `0.10` (the last one of those) or `latest` means. Raises Failure (usage)."""
    from decoders.protocol_facts.parse_versions import parse_release_name
    from decoders.protocol_facts.releases import RELEASES

    try:
        return parse_release_name(word)
    except ValueError:
        major = word.strip().lower().removeprefix("v").partition(".")[0]
        same = [release for release in RELEASES if release.startswith(f"{major}.")]
        near = f' (did you mean "{same[-1]}"?)' if same else ""
        raise Failure(
            f"no release {word[:_LONGEST]}{near}; kw knows {RELEASES[0]} to {RELEASES[-1]}", Exit.USAGE
        ) from None


def find_version(api: Api, word: str | int) -> int:
    """The version of the API that `12`, `v12`, `latest` or `earliest` means. Raises Failure (usage) for all others."""
    version = parse_api_version(api, word)
    if version not in api.versions:
        raise Failure(f"{api.name} has versions {api.versions}, not {version}", Exit.USAGE)
    return version


def parse_api_version(api: Api, word: str | int) -> int:
    """The version that `12`, `v12`, `latest` or `earliest` means, in the API or not. Raises Failure (usage)."""
    from decoders.protocol_facts.parse_versions import parse_api_version

    try:
        return parse_api_version(str(word), api.versions)
    except ValueError:
        text = f"{str(word)[:_LONGEST]!r} is no version of {api.name}: write {api.versions.high}, v{api.versions.high}"
        raise Failure(f"{text} or latest", Exit.USAGE) from None


def quote_words(words: Iterable[str]) -> str:
    """The words, quoted, as a list in a sentence: `"a", "b" or "c"`."""
    quoted = [f'"{word}"' for word in words]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def edit_distance(one: str, other: str) -> int:
    """How many letters are changed, added, left out, or swapped with their neighbour (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        this = [row]
        for at in range(1, len(other) + 1):
            steps = min(last[at] + 1, this[at - 1] + 1, last[at - 1] + (letter != other[at - 1]))
            if row > 1 and at > 1 and letter == other[at - 2] and one[row - 2] == other[at - 1]:
                steps = min(steps, before[at - 2] + 1)
            this.append(steps)
        before, last = last, this
    return last[-1]


def _fold_word(word: str) -> str:
    return "".join(_letters_and_digits(word.lower()))


def _letters_and_digits(word: str) -> Iterator[str]:
    return (letter for letter in word if letter.isalnum())
