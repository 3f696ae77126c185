"""What is said of a watch and of its tables, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.wire.units import format_size
from kwcli.output.units import count_of

if TYPE_CHECKING:
    from kwcli.pipeline.store.compaction import Compacted

__all__ = ["compacted_line"]


def compacted_line(done: Compacted) -> str:
    """`exchanges 2026-11-21: 1,200 files, 31.0MB → 1 file, 12.1MB`."""
    before = f"{count_of(done.files, 'file')}, {format_size(done.size)}"
    return f"{done.table} {done.day}: {before} → {count_of(done.now, 'file')}, {format_size(done.size_now)}"
