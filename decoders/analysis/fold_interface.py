"""The protocol of all folds: exchanges in, rows out, a state that merges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side


Row = dict[str, Any]
Value = TypeVar("Value")


def sort_by_key(found: Mapping[tuple[Any, ...], Value]) -> list[tuple[tuple[Any, ...], Value]]:
    """Keys and values, in the order of the keys; None comes before all else."""
    return sorted(found.items(), key=lambda item: [(part is not None, part) for part in item[0]])


class Fold(Protocol):
    """Exchanges in, rows out. `merge` is associative and commutative, for folds made with the same arguments.

    `needs` are the paths that `add` reads of a side of an API (exchanges/body_reader.py). `export` gives the state as
    bytes; `resume` takes a state into a fold that has seen nothing, and raises DecodeError for one of another fold.
    """

    def needs(self, api_key: int, side: Side) -> frozenset[str]: ...

    def add(self, exchange: Exchange) -> None: ...

    def merge(self, other: Self) -> None: ...

    def rows(self) -> list[Row]: ...

    def export(self) -> bytes: ...

    def resume(self, state: bytes) -> None: ...
