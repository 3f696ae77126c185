"""Files by which a Spark job's driver and its tasks coordinate: the splits, the report on each split, the progress.

Spark ends all tasks that read before it starts one that joins or writes. So the later tasks find the facts of every
split here, without a second pass and without anything kept twice. The program that started the job sees its progress,
wherever the tasks run, by looking into the folder. A split is read as soon as it is known, while the driver looks for
the next ones.
"""

from __future__ import annotations

import hashlib
import pickle
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from decoders.splits.split_parts import SharedFacts
from kwcli.pipeline.store.output_folder import PARTIAL
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from kwcli.pipeline.read.split_and_file_range import Problem, Split
    from kwcli.pipeline.spark.stage_schemas import ReadReport
    from kwcli.pipeline.store.staging_folder import Staging

__all__ = ["Coordination"]

PERIOD_S: Final = 0.5
_DONE: Final = ".done"
_FACTS: Final = "facts"
_SPLIT: Final = ".split"
_SPLITS: Final = "splits"
_NO_SPLITS: Final = "no-splits"
_LOST: Final = ".lost"
# How often a task looks whether its split is known.
LOOK_S: Final = 0.02
# A folder that is missing for so long is gone; before that, a file server may not show it yet.
GONE_S: Final = 90.0


class Coordination:
    """Writes and reads the files of one Spark job, in its staging folder."""

    def __init__(self, staging: Staging) -> None:
        self._files = staging.files
        self._folder = f"{staging.folder}/notes"
        self._next = 0.0
        self._done: dict[str, int] = {}

    # -- splits --------------------------------------------------------------------------------------------------------

    def create_folder(self) -> None:
        """Make the folder: tasks may wait for files from now on."""
        self._files.create_folder(self._folder)

    def write_split(self, number: int, split: Split) -> None:
        """Write a split that is known."""
        self._write_file(f"{number}{_SPLIT}", pickle.dumps(split))

    def write_all_splits(self, splits: Sequence[Split]) -> None:
        """Write all splits: there are no others."""
        self._write_file(_SPLITS, pickle.dumps(tuple(splits)))

    def write_planning_failure(self, why: str) -> None:
        """Write why the other splits will never be known."""
        self._write_file(_NO_SPLITS, why.encode())

    def wait_for_split(self, number: int) -> Split | None:
        """Wait for a split; None when there are not so many splits. Raises Failure when the splits cannot be known."""
        seen = time.monotonic()
        while True:
            all_of_them = self._read_file(_SPLITS)
            if all_of_them is not None:
                splits: tuple[Split, ...] = pickle.loads(all_of_them)
                return splits[number] if number < len(splits) else None
            one = self._read_file(f"{number}{_SPLIT}")
            if one is not None:
                split: Split = pickle.loads(one)
                return split
            failed = self._read_file(_NO_SPLITS)
            if failed is not None:
                raise Failure(failed.decode())
            now = time.monotonic()
            if self._files.is_folder(self._folder):
                seen = now
            elif now - seen > GONE_S:
                raise Failure(f"{self._files.root}: files were deleted while kw wrote them")
            time.sleep(LOOK_S)

    def read_all_splits(self) -> tuple[Split, ...]:
        """All splits, once all of them are read."""
        splits: tuple[Split, ...] = pickle.loads(self._read_file(_SPLITS) or b"")
        return splits

    # -- reading -------------------------------------------------------------------------------------------------------

    def write_progress(self, split: int, size: int) -> None:
        """Write, now and then, how many bytes of a split are read."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PERIOD_S
            self._write_file(str(split), str(size).encode())

    def write_split_report(self, report: ReadReport) -> None:
        """Write the report on a split that is read to its end."""
        self._write_file(str(report.split), str(report.size).encode())
        self._write_file(f"{report.split}{_DONE}", pickle.dumps(report))

    def read_reports(self) -> list[ReadReport]:
        """The reports on all splits that are read to their end, in the order of the splits."""
        names = [name for name in self._files.list_names(self._folder) if name.endswith(_DONE)]
        found: list[ReadReport] = [pickle.loads(self._read_file(name) or b"") for name in names]
        return sorted(found, key=lambda report: report.split)

    def read_facts_by_point(self, splits: Sequence[Split]) -> dict[str, SharedFacts]:
        """The facts of each capture point; the first task that asks puts them together."""
        made = self._read_file(_FACTS)
        packed: dict[str, bytes] = {} if made is None else pickle.loads(made)
        if made is None:
            united: dict[str, SharedFacts] = {}
            for report in self.read_reports():
                for blob in report.facts:
                    united.setdefault(splits[report.split].point, SharedFacts()).add_fact_part(blob)
            packed = {point: facts.pack_fact_part() for point, facts in united.items()}
            self._write_file(_FACTS, pickle.dumps(packed))
        return {point: _unpack_facts(blob) for point, blob in packed.items()}

    def write_lost_connection(self, connection: tuple[str, bytes], problem: Problem) -> None:
        """Write the problem of a connection, given by its point and key, that has lost something."""
        name = hashlib.sha256(repr(connection).encode()).hexdigest()
        self._write_file(f"{name}{_LOST}", pickle.dumps(problem))

    def read_lost_connections(self) -> list[Problem]:
        """The problems of connections that have lost something, in the order of captures."""
        names = [name for name in self._files.list_names(self._folder) if name.endswith(_LOST)]
        found: list[Problem] = [pickle.loads(self._read_file(name) or b"") for name in names]
        return sorted(found)

    def read_progress(self) -> tuple[int, int]:
        """How many bytes of captures are read, and how many splits are read to their end."""
        under_way = 0
        names = set(self._files.list_names(self._folder))
        for name in names:
            if name.isdecimal() and name not in self._done:
                size = int(self._read_file(name) or b"0")
                if name + _DONE in names:
                    self._done[name] = size
                else:
                    under_way += size
        return sum(self._done.values()) + under_way, len(self._done)

    # -- files ---------------------------------------------------------------------------------------------------------

    def _read_file(self, name: str) -> bytes | None:
        return self._files.read(f"{self._folder}/{name}")

    def _write_file(self, name: str, data: bytes) -> None:
        """Write a file, which is seen whole or not at all. Attempts at a task write the same; the last one's stays."""
        partial = f"{self._folder}/{uuid.uuid4().hex}{PARTIAL}"
        with self._files.open_temporary(partial) as file:
            file.write(data)
        self._files.rename(partial, f"{self._folder}/{name}")


def _unpack_facts(blob: bytes) -> SharedFacts:
    facts = SharedFacts()
    facts.add_fact_part(blob)
    return facts
