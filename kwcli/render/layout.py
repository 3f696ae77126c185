"""A terminal's width in, the columns of a text line out: which are shown and how wide each is."""

from __future__ import annotations

from typing import Final, NamedTuple

from kwcli.render.facts import Shape


class Layout(NamedTuple):
    """Widths in cells, 0 for a column that is not shown; `facts` None when nothing is ever cut."""

    took: int
    client: int  # the client's id, or its address
    software: int
    address: int  # the client's address, beside its id
    broker: int
    connection: int
    correlation: int
    sizes: int  # of the request and of the response, each
    api: int
    facts: int | None
    shape: Shape


TIME_WIDTH: Final = 12
SIGN_WIDTH: Final = 1
FACTS_LEAST: Final = 12

# From this width on: took, client, software, address, broker, connection, correlation id, sizes, API, shape.
_STEPS: Final[tuple[tuple[int, tuple[int, ...], Shape], ...]] = (
    (0, (6, 6, 0, 0, 0, 0, 0, 0, 10), Shape(2, 8)),
    (72, (6, 9, 0, 0, 6, 0, 0, 0, 13), Shape(2, 10)),
    (96, (6, 13, 0, 0, 7, 0, 0, 0, 16), Shape(3, 12)),
    (116, (6, 16, 0, 0, 15, 0, 0, 0, 20), Shape(4, 14)),
    (150, (6, 16, 0, 21, 21, 0, 0, 7, 20), Shape(4, 16)),
    (180, (6, 16, 24, 21, 21, 4, 6, 7, 22), Shape(6, 24)),
)
# No terminal: the columns that people read; programs have the other formats.
_UNLIMITED: Final = (6, 16, 0, 0, 15, 0, 0, 0, 20)


def layout(width: int | None) -> Layout:
    """The layout for a terminal of `width` columns (60 at least); None: nothing is cut."""
    if width is None:
        return _made(_UNLIMITED, None, Shape())
    widths, shape = next((widths, shape) for least, widths, shape in reversed(_STEPS) if width >= least)
    columns = [TIME_WIDTH, SIGN_WIDTH, *(w for w in widths if w)]
    if widths[7]:
        columns.append(widths[7])  # there are two sizes
    used = sum(columns) + len(columns) + (widths[4] == 0)  # one blank after each
    return _made(widths, max(width - used, FACTS_LEAST), shape)


def _made(widths: tuple[int, ...], facts: int | None, shape: Shape) -> Layout:
    took, client, software, address, broker, connection, correlation, sizes, api = widths
    return Layout(took, client, software, address, broker, connection, correlation, sizes, api, facts, shape)
