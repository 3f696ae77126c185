"""Bytes of a direction that has lost its step in, the offset of the next frame out.

The problem. Behind a lost size field any offset may be the next head, and many byte patterns look like one: four small
bytes and a key below 100 are common in records.

The idea. Try the likely offsets first, and believe a place the more slowly the less speaks for it:

```
1. the segment's first byte    senders write whole messages, so most segments begin with one
2. offsets inside it that a cheap look allows (places.py: the known client id, a correlation id that is waited for)
      YES   whole, decodes to its last byte, and followed by the segment's end or another head → believed
      FITS  much of it there, all of that decodes, and it claims at most INNER_MAX               → believed
      HEAD  only the head fits                                                             → not inside a segment
```

Whether bytes are a frame is asked of the connection's pairing object, which knows what was asked (verdict.py).

What is given up: a true frame inside a segment of which too little is there is skipped; the next segment has another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

# Verdicts about bytes that may be a frame.
NO: Final = 0
HEAD: Final = 1  # the head fits what is known; too little of the body to say more, or a version that nobody knows
FITS: Final = 2  # the head fits and so does a good part of the body, whose end is not there
YES: Final = 3  # whole, and it decodes to its last byte

# A frame that begins inside a segment and is not whole there is believed up to this size: a wrong one hides so much.
INNER_MAX: Final = 4 << 20

Judge = Callable[[Any, bytes, int], int]


def find(plausible: Judge, candidates: Callable[[Any, bytes, int], list[int]], lane: Any, data: bytes, at: int) -> int:
    """The offset of the first frame in `data` from `at` on, -1 when there is none."""
    if at == 0 and plausible(lane, data, 0) != NO:
        return 0
    for place in candidates(lane, data, max(at, 1)):
        verdict = plausible(lane, data, place)
        size = int.from_bytes(data[place : place + 4], "big")
        if verdict == FITS and size <= INNER_MAX:
            return place
        if verdict == YES:
            after = place + 4 + size
            if after >= len(data) or len(data) - after < 14 or plausible(lane, data, after) != NO:
                return place
    return -1
