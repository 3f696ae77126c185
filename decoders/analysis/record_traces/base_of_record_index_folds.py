"""What the folds have in common whose answers are made of the index of records: they give it all that they get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.record_traces.record_index import RecordIndex
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["RecordFold"]


class RecordFold:
    """Exchanges in, an index of records of them; a subclass makes its rows. `question` is noted in its state."""

    def __init__(self, index: RecordIndex, question: str) -> None:
        self.index = index
        self.file_names: Sequence[str] = ()
        self._question = question

    @property
    def left_out(self) -> Counter[str]:
        """How much there was no room for, by what it is: one of it, as a noun."""
        return self.index.left_out

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths of records, offsets, groups and names."""
        return self.index.needs(api_key, side)

    def add(self, exchange: Exchange) -> None:
        """Add what an exchange says of offsets."""
        self.index.add(exchange)

    def learn(self, exchange: Exchange) -> None:
        """Learn names and members of groups from an exchange, whether or not it counts."""
        self.index.learn(exchange)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen."""
        self.index.merge(other.index)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack([self._question, self.index.state()])

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        _, index = state_fields(unpack(state), str, list)
        self.index.resume_state(index)

    def set_file_names(self, names: Sequence[str]) -> None:
        """Take the names of the captures, by their numbers in packets; the list may grow."""
        self.file_names = names
