"""An unknown word and the known words in, the known words that may have been meant out, nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["LONGEST_WORD", "did_you_mean", "edit_distance", "nearest_words", "quote_words"]

# A word that is longer resembles none.
LONGEST_WORD: Final = 80
_MOST: Final = 3


def nearest_words(word: str, candidates: Iterable[str]) -> list[str]:
    """At most three candidates that `word` may have been meant for, nearest first; case and separators count little."""
    if len(word) > LONGEST_WORD:
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
            found.append((LONGEST_WORD + abs(len(other) - len(folded)), order, candidate))
    return [candidate for _, _, candidate in sorted(found)[:_MOST]]


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """` (did you mean "topics"?)`, or nothing where no candidate is near."""
    found = nearest_words(word, candidates)
    return f" (did you mean {quote_words(found[:1])}?)" if found else ""


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
