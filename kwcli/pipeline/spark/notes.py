"""Where the tasks of a job leave notes for each other and for the driver: what each split gave, and how far it is.

Spark ends all tasks that read before it starts one that writes tables, so those find the facts of every split here,
without a second pass and without anything kept twice; and who started the job sees how far it is, wherever its tasks
run, by looking into the folder.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from decoders.exchanges.parts import Facts
from kwcli.pipeline.store.files import PARTIAL

if TYPE_CHECKING:
    from kwcli.pipeline.spark.job import ReadReport
    from kwcli.pipeline.store.staging import Staging

__all__ = ["Notes"]

PERIOD_S: Final = 0.5
_DONE: Final = ".done"
_FACTS: Final = "facts"


class Notes:
    """The notes of one job."""

    def __init__(self, staging: Staging) -> None:
        self._files = staging.files
        self._folder = f"{staging.folder}/notes"
        self._next = 0.0
        self._done: dict[str, int] = {}

    def progress(self, split: int, size: int) -> None:
        """So many bytes of a split are read: noted now and then."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PERIOD_S
            self._put(str(split), str(size).encode())

    def report(self, report: ReadReport) -> None:
        """A split is read to its end."""
        self._put(f"{report.split}{_DONE}", pickle.dumps(report))

    def reports(self) -> list[ReadReport]:
        """What was told of all splits that are read to their end, in their order."""
        found: list[ReadReport] = [pickle.loads(data) for name, data in self._all() if name.endswith(_DONE)]
        return sorted(found, key=lambda report: report.split)

    def facts(self, points: tuple[str, ...]) -> dict[str, Facts]:
        """The facts of each capture point, `points` being those of the splits; put together by who asks first."""
        made = self._files.read(f"{self._folder}/{_FACTS}")
        packed: dict[str, bytes] = {} if made is None else pickle.loads(made)
        if made is None:
            united: dict[str, Facts] = {}
            for report in self.reports():
                for blob in report.facts:
                    united.setdefault(points[report.split], Facts()).add(blob)
            packed = {point: facts.pack() for point, facts in united.items()}
            self._put(_FACTS, pickle.dumps(packed))
        return {point: _unpacked(blob) for point, blob in packed.items()}

    def so_far(self) -> tuple[int, int]:
        """Bytes of capture that are read, and how many splits to their end."""
        under_way = 0
        names = self._files.names(self._folder)
        for name in names:
            if name.endswith(_DONE) and name not in self._done:
                data = self._files.read(f"{self._folder}/{name}")
                self._done[name] = pickle.loads(data).size if data else 0
        for name in names:
            if name.isdecimal() and name + _DONE not in self._done:
                under_way += int(self._files.read(f"{self._folder}/{name}") or b"0")
        return sum(self._done.values()) + under_way, len(self._done)

    def _put(self, name: str, data: bytes) -> None:
        """Whole or not at all for who looks. Several attempts at a task say the same; the last one's stays."""
        partial = f"{self._folder}/{uuid.uuid4().hex}{PARTIAL}"
        self._files.make_folder(self._folder)
        with open(self._files.path(partial), "wb") as file:  # nothing that must outlive a power cut
            file.write(data)
        self._files.rename(partial, f"{self._folder}/{name}")

    def _all(self) -> Iterator[tuple[str, bytes]]:
        for name in self._files.names(self._folder):
            data = self._files.read(f"{self._folder}/{name}")
            if data is not None:
                yield name, data


def _unpacked(blob: bytes) -> Facts:
    facts = Facts()
    facts.add(blob)
    return facts
