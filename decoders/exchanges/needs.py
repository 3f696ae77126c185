"""What views, filters and folds ask of exchanges, united: {(API key, side): paths} of fields to project.

A path is written without indices (`topics[].name`); one of a struct or array takes all of it. A path that a version
does not have asks for nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from decoders.schema.model import Side

Paths = Mapping[tuple[int, Side], Iterable[str]]


class Needs:
    """A set of wishes; `|` unites two."""

    __slots__ = ("_paths",)

    def __init__(self, paths: Paths | None = None) -> None:
        self._paths = {key: frozenset(wanted) for key, wanted in (paths or {}).items()}

    def __or__(self, other: Needs) -> Needs:
        united = Needs()
        united._paths = dict(self._paths)
        for key, wanted in other._paths.items():
            united._paths[key] = united._paths.get(key, frozenset()) | wanted
        return united

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needs) and self._paths == other._paths

    def of(self, key: int, side: Side) -> frozenset[str]:
        """The paths wanted of a side of an API."""
        return self._paths.get((key, side), frozenset())
