"""The parts of one connection's key, split by split, in; the rows that the whole capture gives of it out.

The problem. A split (splitting.py) has decoded runs of a connection without knowing what came before. Only whoever has
the exact state at the beginning of a run can say whether its rows are those of the whole capture.

The idea. A stitcher has one engine with the exact state of one key, and goes through the parts in their order:

```
SEGMENTS  feed them to the engine
RUN       does the run stand on what the engine has now (absorbing.py)?
ROWS        yes: they count, patched by what only the engine knows (number, client software, requests before the run)
END         yes: the engine takes over the state behind the run, without having seen its segments
            no:  the segments of the run are read again from the capture (`reread`) and fed
```

What always holds: the engine's state behind a run is the one that feeding its segments would have given. Nothing of a
run that does not agree is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import cast

from decoders.errors import Malformed
from decoders.exchanges.absorbing import AdoptedConnection, AdoptedStretch
from decoders.exchanges.ended import Ended, Row
from decoders.exchanges.engine import Engine
from decoders.exchanges.needs import Needs
from decoders.exchanges.parts import END, ROWS, RUN, SEGMENTS, Facts, Part, Patch, unpack_segments
from decoders.streams.chunks import Segment
from decoders.wire.state import unpack

__all__ = ["Reread", "Stitcher"]

# Gives segments of a key once more, of the split that the part at hand is of: those behind the segment with one packet
# number, and before the segment (of whatever key) with another, or to the end of the split where that is None.
Reread = Callable[[bytes, int, int | None], Iterable[list[Segment]]]


class Stitcher:
    """One canonical key of one timeline; parts come in the order of their splits and of their `seq`.

    `facts` are those of all splits. `reread` gives segments of the key from the capture again, see `Reread`.
    """

    def __init__(
        self,
        key: bytes,
        ports: Iterable[int] | None = None,
        needs: Needs | None = None,
        *,
        facts: Facts | None = None,
        reread: Reread | None = None,
    ) -> None:
        self.key = key
        self._reread = reread
        self._facts = facts or Facts()
        self._run: AdoptedStretch | AdoptedConnection | None = None
        self._engine = Engine(ports, needs, connections=True)
        self._engine.pairer.context.brokers.update(self._facts.others(key))

    def take(self, part: Part) -> tuple[list[Row], Patch | None]:
        """What settles with a part; and, of ROWS, what makes the part's own rows true (None: they do not count).

        Raises DecodeError when the part cannot be taken: then this stitcher is of no more use.
        """
        if part.kind == SEGMENTS:
            return self._feed(unpack_segments(self.key, part.blob)), None
        if part.kind == ROWS:
            return self._rows(part.blob)
        state = unpack(part.blob)
        if not isinstance(state, list) or part.kind not in (RUN, END):
            raise Malformed(f"no part of a connection: kind {part.kind}")
        return self._begin(state) if part.kind == RUN else self._end(state), None

    def finish(self) -> list[Row]:
        """What the end of the capture settles."""
        last_ns, packet = self._facts.last
        if last_ns:
            self._engine.reassembly.until(last_ns, packet)
        return cast(list[Row], self._engine.finish())

    def _feed(self, segments: list[Segment]) -> list[Row]:
        return cast(list[Row], self._engine.feed(segments))

    def _begin(self, state: list[object]) -> list[Row]:
        """A run begins: see whether it is one that the exact state would have taken."""
        with _read():
            if not state or state[0] is not True:
                self._run = AdoptedStretch(self._engine, state)
                return []
            if len(state) > 1 and state[1] is True and isinstance(self._run, AdoptedConnection):
                self._run.go_on(state)
                return []
            self._run = AdoptedConnection(self._engine, state)
        return cast(list[Row], self._run.rows)

    def _rows(self, blob: bytes) -> tuple[list[Row], Patch | None]:
        run = self._run
        if run is None:
            raise Malformed("rows of no run")
        if not run.agreed:
            return [], None
        more = unpack(blob) if blob else []
        if not isinstance(more, list):
            raise Malformed("a run with something else beside its rows")
        if isinstance(run, AdoptedConnection):
            return [Ended.resumed(run.patch().ends, row) for row in more], run.patch()
        with _read():
            run.answer(more)
        return cast(list[Row], self._engine.pairer.feed([])), run.patch()

    def _end(self, state: list[object]) -> list[Row]:
        """A run is over: take over what it leaves, or take its segments instead."""
        run, self._run = self._run, None
        if run is None or not state or not isinstance(state[0], int | None):
            raise Malformed("the end of no run")
        if run.agreed:
            with _read():
                run.absorb(state)
            return []
        if self._reread is None:
            raise Malformed("a run does not fit what was before it, and nobody reads the capture again")
        rows = self._feed(run.segments)
        for segments in self._reread(self.key, run.after, state[0]):
            rows += self._feed(segments)
        return rows


@contextmanager
def _read() -> Iterator[None]:
    """What is wrong in a part that is read becomes Malformed."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        raise Malformed(f"no part of a connection: {problem}") from problem
