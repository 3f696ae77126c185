"""Where the files of one run lie until they are its tables.

A staging can be pickled and goes to the workers of Spark; they see the same folder. What a task leaves that fails, is
killed or runs twice nobody lists: it stays where tasks write, also when it comes late, and is deleted with that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from kwcli.pipeline.store.files import OutputFolder
from kwcli.pipeline.tables.write import TableWriter, WrittenFile

CONTROL: Final = "_kw"
STAGING: Final = f"{CONTROL}/staging"


class Staging:
    """The files of one run."""

    def __init__(self, files: OutputFolder, run: str) -> None:
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

    @property
    def tasks(self) -> str:
        """What tasks have written: of use are the files that those list which ended well."""
        return f"{self.folder}/tasks"

    def writer(self, tables: Collection[str]) -> TableWriter:
        """A writer for one attempt at one task; what it lists is for `gather`."""
        return TableWriter(lambda path: self.files.open_new(f"{self.tasks}/{path}"), tables)

    def gather(self, written: Iterable[WrittenFile]) -> None:
        """Move the files listed to where they are in their tables."""
        for file in written:
            self.files.sync(f"{self.tasks}/{file.path}")
            self.files.move(f"{self.tasks}/{file.path}", f"{self.tables}/{file.path}")
