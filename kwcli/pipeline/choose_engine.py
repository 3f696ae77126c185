"""The options and the bytes of captures in, the engine of the run and the reason for the choice out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.format_and_escape_text import format_size
from kwcli.output.short_texts import count_of
from kwcli.pip_extras import pip_command_for_extra
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from kwcli.pipeline.run_options import Engine, RunOptions

__all__ = ["LOCAL_MAX", "EngineChoice", "choose_engine", "find_required_java"]

# Up to this many bytes one process is faster or little slower, and with one core always: Spark takes seconds to start,
# and costs a quarter more for each byte (`python -m tests.bench.pipeline`).
LOCAL_MAX: Final = 8 * 10**9
CORES_MIN: Final = 2
MASTER: Final = "local[*]"


class EngineChoice(NamedTuple):
    """The engine, the reason for the choice, and Spark's master where there is one."""

    engine: Engine
    why: str
    master: str = ""

    @property
    def has_splits(self) -> bool:
        """Whether the engine reads captures in splits, and not each from end to end."""
        return self.engine != "local"

    def __str__(self) -> str:
        return f"engine {self.engine} ({self.why})"


def choose_engine(options: RunOptions, size: int, variables: Mapping[str, str]) -> EngineChoice:
    """The engine for `size` bytes of captures. Failure where Spark is asked for and cannot be had."""
    if options.engine == "local":
        return EngineChoice("local", "as asked")
    if options.engine != "auto":
        find_required_java(variables)
        return EngineChoice(options.engine, "as asked", options.master or MASTER)
    if options.master is not None:
        find_required_java(variables)
        return EngineChoice("stitch", "--master names a Spark", options.master)
    if size <= LOCAL_MAX:
        return EngineChoice("local", f"{format_size(size)} of captures, Spark from {format_size(LOCAL_MAX)} on")
    cores = os.cpu_count() or 1
    if cores < CORES_MIN:
        return EngineChoice("local", f"{count_of(cores, 'core')} here, Spark from {CORES_MIN} on")
    try:
        find_required_java(variables)
    except Failure as failure:
        return EngineChoice("local", f"no Spark: {failure.text}")
    return EngineChoice("stitch", f"{format_size(size)} of captures, more than {format_size(LOCAL_MAX)}", MASTER)


def find_required_java(variables: Mapping[str, str]) -> Path:
    """The `java` that Spark would run on. Failure says in one line what to install."""
    from importlib.util import find_spec

    from kwcli.pipeline.spark.find_java import find_java

    if find_spec("pyspark") is None:
        raise Failure(f"Spark is not installed: {pip_command_for_extra('spark')}")
    return find_java(variables)
