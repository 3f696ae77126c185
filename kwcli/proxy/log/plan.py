"""What the log is to do, as one value that goes to its process as JSON: output settings, filters, the file to write."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from kwcli.config import Settings

__all__ = ["LogPlan", "Record"]

Record = Literal["client", "both"]


class LogPlan(NamedTuple):
    """`filters` are the arguments of `kwcli.selection.select`; sizes in bytes, times in seconds."""

    settings: Settings
    filters: dict[str, Any] = {}  # noqa: RUF012 - never changed
    rows: bool = True  # print exchanges
    write: str | None = None
    record: Record = "client"
    rotate_size: int | None = None
    rotate_interval: float | None = None
    debug: bool = False
    report: bool = False  # errors in answers, to the data path

    def to_json(self) -> bytes:
        """For `of_json`."""
        return json.dumps({**self._asdict(), "settings": self.settings._asdict()}).encode()

    @classmethod
    def of_json(cls, data: bytes) -> LogPlan:
        """The plan that gave this."""
        fields = json.loads(data)
        return cls(**{**fields, "settings": Settings(**fields["settings"])})
