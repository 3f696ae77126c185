"""What a scene is: a play with a broker and a registry, of which a part is recorded, and the values that it wrote."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Literal, NamedTuple

__all__ = ["Row", "Scene", "Stage"]

Row = dict[str, Any]


class Stage(NamedTuple):
    """The addresses of the broker and of the registry (Confluent's API), and Apicurio's own where it is one.

    `at_end` closes what a play has opened.
    """

    bootstrap: str
    registry: str
    at_end: ExitStack
    apicurio: str = ""


class Scene(NamedTuple):
    """A play, and its surroundings: `registry` answers; `http` says whether its traffic is recorded.

    Where it is not, the play is given the double as well, whose schemas it writes to the broker.
    """

    play: Callable[..., Any]
    registry: Literal["apicurio", "double"]
    http: bool = True
    schema_comes: Literal["before", "after"] = "before"
