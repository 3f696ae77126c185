"""Where the files of one run lie until they are its tables: every task writes into a folder of its own.

A staging can be pickled and goes to the workers of Spark; they see the same folder. A task that fails, is killed or
runs twice leaves files in its own folder, which nobody lists and the end of the run deletes.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from typing import Final

from kwcli.pipeline.store.files import Files
from kwcli.pipeline.tables.write import TableWriter, Written

CONTROL: Final = "_kw"
STAGING: Final = f"{CONTROL}/staging"


class Staging:
    """The files of one run."""

    def __init__(self, files: Files, run: str) -> None:
        self.files = files
        self.run = run

    @property
    def folder(self) -> str:
        """All of it."""
        return f"{STAGING}/{self.run}"

    @property
    def tables(self) -> str:
        """The tables as they will be."""
        return f"{self.folder}/tables"

    @property
    def old(self) -> str:
        """The tables as they were."""
        return f"{self.folder}/old"

    def writer(self, tables: Collection[str]) -> TableWriter:
        """A writer for one attempt at one task; what it lists is for `gather`."""
        name = uuid.uuid4().hex
        return TableWriter(lambda path: self.files.open_new(f"{self._task(name)}/{path}"), tables, name)

    def gather(self, written: Iterable[Written]) -> None:
        """Move the files listed to where they are in their tables."""
        for file in written:
            self.files.move(f"{self._task(file.writer)}/{file.path}", f"{self.tables}/{file.path}")

    def _task(self, name: str) -> str:
        return f"{self.folder}/tasks/{name}"
