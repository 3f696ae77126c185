"""What a run was asked for and what the folder covers in, all that the new tables are to cover out."""

from __future__ import annotations

from collections.abc import Iterable

from kwcli.pipeline.store.manifest import CoveredCapture, Manifest, SourceLike


def left_out(manifest: Manifest | None, found: Iterable[SourceLike]) -> tuple[CoveredCapture, ...]:
    """The captures that the tables cover and that are not among those found now: a run reads them again.

    A capture is known by its path: one that has grown, or is of another point now, takes the place of what it was.
    """
    if manifest is None:
        return ()
    paths = {source.path for source in found}
    return tuple(source for source in manifest.sources if source.path not in paths)


def gone(folder: str, lost: Iterable[CoveredCapture]) -> str:
    """What to say when captures that the tables cover are no longer there."""
    paths = [source.path for source in lost]
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return (
        f"{folder}: its tables cover {paths[0]}{more}, which cannot be read any more; "
        f"bring it back, or use another folder"
    )
