"""What all folds have in common: exchanges in, rows out, a state that merges and can be handed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Side

Row = dict[str, Any]
Value = TypeVar("Value")


def in_order(found: Mapping[tuple[Any, ...], Value]) -> list[tuple[tuple[Any, ...], Value]]:
    """What was found, in the order of its keys; None comes before all else."""
    return sorted(found.items(), key=lambda item: [(part is not None, part) for part in item[0]])


class Fold(Protocol):
    """`merge` is associative and commutative; folds that are merged were made with the same arguments.

    `needs` are the paths that `add` reads of a side of an API (needs.py). `export` gives the state as bytes; `resume`
    takes one into a fold that has seen nothing, and raises DecodeError when it is none of this fold's.
    """

    def needs(self, key: int, side: Side) -> frozenset[str]: ...

    def add(self, exchange: Exchange) -> None: ...

    def merge(self, other: Self) -> None: ...

    def rows(self) -> list[Row]: ...

    def export(self) -> bytes: ...

    def resume(self, state: bytes) -> None: ...
