"""Compressed inputs of kw, decompressed in pieces: what cannot be read of them is told with their names."""

from __future__ import annotations

from collections.abc import Iterator

from decoders.capture.decompress_gzip_zstd_lz4 import inflate_pieces
from decoders.errors import DecodeError
from kwcli.run_environment import Failure

__all__ = ["InputProblem", "inflate_input"]


class InputProblem(Failure):
    """An input, or the rest of it, cannot be read; the text begins with its name."""


def inflate_input(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The plain bytes of the input `name`, which begins with COMPRESSED; raises InputProblem where it ends badly."""
    try:
        yield from inflate_pieces(pieces)
    except DecodeError as problem:
        raise InputProblem(f"{name}: {problem.text}") from None
