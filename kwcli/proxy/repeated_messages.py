"""Lines about connections in; the same lines out, less those that were said already, which are counted.

Notes are said once. Other lines (a broker refused, a client was cut off) may come thousands of times a minute, so equal
lines are folded: said at once, counted for a while, then said with their count, in pauses that grow as long as they
keep coming.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

# How many different texts are remembered.
_MOST: Final = 1000
# A number that stands alone: how many bytes, how many requests. Addresses, names and durations are no counts.
_COUNT: Final = re.compile(r"(?<!\S)\d[\d,]*(?=[,;]|\s(?!m?s\b)|$)")
# How long (s) equal lines are only counted, at first and at most.
PAUSE_FIRST_S: Final = 10.0
PAUSE_MOST_S: Final = 600.0


class SeenTexts:
    """Texts and how often they came."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def count_text_and_check_new(self, text: str) -> bool:
        """Count a text; whether it is new, and should be said."""
        count = self._counts.get(text, 0)
        if not count and len(self._counts) >= _MOST:
            return False
        self._counts[text] = count + 1
        return not count

    def say_repeats(self, say: Callable[[str], None]) -> None:
        """Say the texts that came more than once, with their counts."""
        for text, count in self._counts.items():
            if count > 1:
                say(f"{count} times: {text}")


class _Pause:
    """The state of one line: when its pause ends, how long the pause is, how often the line came meanwhile."""

    __slots__ = ("length_s", "more", "until_s")

    def __init__(self, now_s: float) -> None:
        self.length_s = PAUSE_FIRST_S
        self.until_s = now_s + PAUSE_FIRST_S
        self.more = 0


class RepeatFilter:
    """Says equal lines once, then only their counts; `now_s` is a clock that never goes back."""

    def __init__(self, now_s: Callable[[], float], say: Callable[[str], None]) -> None:
        self._now_s = now_s
        self._say = say
        self._known: OrderedDict[str, _Pause] = OrderedDict()

    def say_unless_repeated(self, text: str, line: str) -> None:
        """Say `line`, unless a line with the same `text`, apart from counts in it, was said a short while ago."""
        text = _COUNT.sub("N", text)
        known = self._known.get(text)
        if known is not None and self._now_s() < known.until_s:
            known.more += 1
            return
        if known is None:
            known = self._known[text] = _Pause(self._now_s())
            if len(self._known) > _MOST:
                self._say_count(*self._known.popitem(last=False))
        else:
            self._begin_longer_pause(text, known)
        self._say(line)

    def say_due_counts(self) -> None:
        """Say the counts of lines that came again, forget lines that did not; called now and then."""
        now_s = self._now_s()
        for text, known in list(self._known.items()):
            if now_s < known.until_s:
                continue
            if known.more:
                self._begin_longer_pause(text, known)
            else:
                del self._known[text]

    def finish(self) -> None:
        """Say the counts of all lines, and forget them."""
        for text, known in self._known.items():
            self._say_count(text, known)
        self._known.clear()

    def _begin_longer_pause(self, text: str, known: _Pause) -> None:
        self._say_count(text, known)
        known.length_s = min(2 * known.length_s, PAUSE_MOST_S) if known.more else PAUSE_FIRST_S
        known.until_s = self._now_s() + known.length_s
        known.more = 0

    def _say_count(self, text: str, known: _Pause) -> None:
        if known.more:
            self._say(f"{known.more} more {'times' if known.more > 1 else 'time'}: {text}")
