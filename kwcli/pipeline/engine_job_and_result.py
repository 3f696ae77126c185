"""What an engine shall make of captures, and what it has made of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections import Counter

    from decoders.values.schemas_and_decoded_values import RegisteredSchema
    from kwcli.pipeline.read.split_and_file_range import Problem
    from kwcli.pipeline.run_options import RunOptions
    from kwcli.pipeline.tables.run_counts import RunCounts
    from kwcli.pipeline.tables.write_parquet import WrittenFile

__all__ = ["EngineResult", "JobSpec", "Progress", "build_job_spec"]

# Called now and then with the bytes read and the splits done.
Progress = Callable[[int, int], None]


class JobSpec(NamedTuple):
    """What an engine shall make of captures. `files` are the captures' names, by the file number in packet numbers.

    `key_logs` and `secret_captures` name the files that hold the keys of TLS connections: no key itself is in here.
    Times are in nanoseconds since 1970, `until_ns` not included. With `doctor` exchanges are read for findings, too.
    `host_names` are addresses with their names, `topic_names` ids of topics as Kafka prints them, with names. With
    `records` bodies have records, whose keys and values are decoded by `schemas`.
    """

    files: tuple[str, ...]
    tables: tuple[str, ...]
    ports: frozenset[int] | None = None
    filter: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    bodies: bool = False
    reveal_secrets: bool = False
    key_logs: tuple[str, ...] = ()
    secret_captures: tuple[str, ...] = ()
    doctor: bool = False
    host_names: tuple[tuple[str, str], ...] = ()
    topic_names: tuple[tuple[str, str], ...] = ()
    records: bool = False
    schemas: tuple[RegisteredSchema, ...] = ()


def build_job_spec(options: RunOptions, files: tuple[str, ...], secret_captures: tuple[str, ...]) -> JobSpec:
    """What an engine shall make of `files` with the options of a run; `secret_captures` are those with TLS secrets."""
    return JobSpec(
        files=files,
        tables=options.tables,
        ports=frozenset(options.ports) or None,
        filter=options.filter,
        since_ns=options.since_ns,
        until_ns=options.until_ns,
        bodies=options.bodies,
        reveal_secrets=options.reveal_secrets,
        key_logs=tuple(map(os.path.abspath, options.keylogs)),
        secret_captures=secret_captures,
        host_names=options.host_names,
        topic_names=options.topic_names,
        records=options.records,
    )


class EngineResult(NamedTuple):
    """The files of the tables, the tally of their rows, the counts of all readers, problems of captures, bytes read."""

    written: list[WrittenFile]
    tally: RunCounts
    counts: Counter[str]
    problems: list[Problem]
    taken: int
