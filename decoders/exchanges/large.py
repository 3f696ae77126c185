"""A large side of an exchange in, what is looked up in it out: its error codes, and a body to find ids in.

The problem. What the record says beside the bodies (error codes, names of topic ids) is found by going through the
bodies. Those of a large message are not there as values (schema/deferred.py).

The idea. Ask a projection for just that: one for the error codes, one for the ids. Lists that could grow without bound
are cut at ERRORS_SHOWN_MAX and say by how much (`Most`).
"""

from __future__ import annotations

from typing import Any, Final

from decoders.apis.error_codes import error_name
from decoders.exchanges.bodies import bare
from decoders.exchanges.errors import error_finder
from decoders.exchanges.exchange import Exchange
from decoders.limits import ERRORS_SHOWN_MAX
from decoders.schema.compile import projector
from decoders.schema.deferred import is_large
from decoders.schema.model import Plan, Side

_NOTHING: Final[frozenset[str]] = frozenset()


def side_is_large(exchange: Exchange, side: Side) -> bool:
    """Whether the body of a side is read as it is written."""
    data = exchange.raw(side)
    return data is not None and is_large(len(data))


def large_errors(exchange: Exchange, plan: Plan) -> list[dict[str, Any]]:
    """The error codes of a large response that are not 0; a Most where there are more than are listed."""
    data = exchange.response_raw
    assert data is not None
    spec = exchange.spec
    at = spec.body("response", data)
    _, codes, _ = projector(plan, _NOTHING, True)(data, at, len(data))
    if codes is None or len(codes) < ERRORS_SHOWN_MAX:
        return [{"path": path, "code": code, "name": error_name(code)} for path, code in codes or ()]
    found = Most(ERRORS_SHOWN_MAX)
    finder = error_finder(plan)
    if finder is not None:
        finder(bare(spec, "response", plan, data, at, len(data)), found)
    return found


def read_fields(exchange: Exchange, side: Side, paths: frozenset[str]) -> dict[str, Any]:
    """Only these fields of a side that decodes, in the stable layout, however large the body is. Raises DecodeError."""
    data = exchange.raw(side)
    assert data is not None
    spec = exchange.spec
    view: dict[str, Any] = projector(spec.stable(side), paths, False)(data, spec.body(side, data), len(data))[0]
    return view


def bare_body(exchange: Exchange, side: Side, plan: Plan) -> dict[str, Any]:
    """The body without records, its long arrays deferred."""
    data = exchange.raw(side)
    assert data is not None
    return bare(exchange.spec, side, plan, data, exchange.spec.body(side, data), len(data))


class Most(list[Any]):
    """A list that takes no more than so many; `more` counts the others."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self.more = 0

    def append(self, value: Any) -> None:
        """Take one more, or count it."""
        if len(self) < self._most:
            super().append(value)
        else:
            self.more += 1
