"""The folder of one run's files until they are in its tables.

A staging can be pickled and goes to the workers of Spark; they see the same folder. The files of a task that fails, is
killed or runs twice are listed nowhere: they stay in the tasks' folder, even when they come late, and are deleted with
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.tables.write_parquet import TableWriter, WrittenFile

CONTROL: Final = "_kw"
STAGING: Final = f"{CONTROL}/staging"


class Staging:
    """The staging folder of one run."""

    def __init__(self, files: OutputFolder, run: str) -> None:
        self.files = files
        self.run = run

    @property
    def folder(self) -> str:
        """The path of the staging folder of this run."""
        return f"{STAGING}/{self.run}"

    @property
    def tables(self) -> str:
        """The folder of the tables as they will be."""
        return f"{self.folder}/tables"

    @property
    def old(self) -> str:
        """The folder of the tables as they were."""
        return f"{self.folder}/old"

    @property
    def tasks(self) -> str:
        """The folder of the files that tasks have written; only the files listed by tasks that ended well are used."""
        return f"{self.folder}/tasks"

    def make_writer(self, tables: Collection[str]) -> TableWriter:
        """A writer for one attempt at one task; the files that it lists are for `move_into_tables`."""
        return TableWriter(lambda path: self.files.open_new(f"{self.tasks}/{path}"), tables)

    def move_into_tables(self, written: Iterable[WrittenFile]) -> None:
        """Move the listed files to their places in the tables."""
        for file in written:
            self.files.sync(f"{self.tasks}/{file.path}")
            self.files.move(f"{self.tasks}/{file.path}", f"{self.tables}/{file.path}")
