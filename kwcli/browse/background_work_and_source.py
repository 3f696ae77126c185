"""What stands behind the screen: the processes that read and search, and the captures that are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from decoders.named_tuple import NamedTuple

if TYPE_CHECKING:
    from kwcli.capture_options import CaptureOptions

__all__ = ["BrowseOptions", "Source", "Work"]


class BrowseOptions(NamedTuple):
    """Options of `kw browse`: the size of the spool in bytes, the word of --sort, the files of --schemas."""

    spool: int
    sort: str | None = None
    schemas: tuple[str, ...] = ()


class Work(Protocol):
    """The other processes, as the screen knows them."""

    def collect_messages(self, most: int) -> list[Any]:
        """Up to so many messages that have come."""

    def send_question(self, question: Any) -> None:
        """Send a message to the searcher."""

    def stop(self) -> None:
        """End the other processes."""


class Source:
    """What is read: its name for people, its size in bytes where it has one, and the options that name it.

    `time_text`: makes the filter of --since and --until, empty where there is none; raises Failure. `schemas`: the
    files of --schemas.
    """

    def __init__(
        self,
        name: str,
        size: int | None,
        capture: CaptureOptions,
        time_text: Callable[[], str] = str,
        schemas: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.size = size
        self.capture = capture
        self.time_text = time_text
        self.schemas = schemas
        self.live = capture.is_live
