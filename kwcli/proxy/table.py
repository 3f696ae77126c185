"""The table that the proxy begins with: node, where it really is, where clients find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kwcli.net.core.addresses import shown

if TYPE_CHECKING:
    from kwcli.proxy.listeners import Listener


def table(listeners: Sequence[Listener]) -> list[str]:
    """Lines; the column of racks only where one is known."""
    rows = [["node", "real", "local", "rack"]]
    for each in listeners:
        rows.append([each.name, ",".join(map(shown, each.targets)), shown(each.address), each.rack or ""])
    if not any(each.rack for each in listeners):
        rows = [row[:3] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows]
