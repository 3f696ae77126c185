"""Exchanges of batch after batch in, the findings of each date out: each when it appears, and when it matters more.

The problem. The folds of `kw doctor` judge at the end, by all exchanges. A watch has no end; and a user who is told of
the same finding with every batch stops reading.

The idea. Each UTC date of the captures has a fold of its own, so that rates and counts are those of a day. The tasks of
a batch fold what they decode, the loop merges that into the date's fold, and the commit of the batch keeps it. After
each batch the dates that it touched are diagnosed, and compared with the findings that have been told of them:

    batch ─▶ fold by date (a task) ──merge──▶ fold of the date ─▶ findings ─▶ new, worse, 10 times as frequent? ─▶ told

What always holds: rows are told with the commit that has the fold they were found in, so each is told once, even if a
process dies. The last row of a finding has its final numbers: a finding that has changed is told once more when its
date is over.

What is given up: a date is over when two later ones have begun; exchanges of it that come later begin a new fold.
Exchanges that two points have captured count twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.find_problems import ABOUT
from decoders.analysis.doctor.finding_kinds import SEVERITIES
from decoders.errors import DecodeError
from decoders.named_tuple import NamedTuple
from decoders.wire.state_serialization import pack, state_fields, unpack

if TYPE_CHECKING:
    from decoders.analysis.doctor.thresholds import Thresholds
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Row as Settled

__all__ = ["DailyDoctors", "WatchFindings", "identify_finding"]

DAY_NS: Final = 86_400 * 10**9
# Dates whose folds are kept: the clocks of capture points differ.
DAYS_KEPT: Final = 2
# A finding that is so many times as frequent as when it was told is told again.
GROWTH: Final = 10
# Keys that say what a finding is about, without the keys that change as it grows.
_IDENTITY: Final = tuple(
    sorted(ABOUT - {"clients", "topics", "partitions", "users", "reasons", "went_on", "nearest_topic"})
)

# Words of a title that tell findings apart: `app produces records …`, `app fetches records …`. Numbers in them grow.
_WORDS: Final = 2
_NUMBER: Final = re.compile(r"[\d.,:]+")

Identity = tuple[object, ...]


def identify_finding(row: Row) -> Identity:
    """The identity of a finding among those of its date, which stays as it grows; its title's first words count."""
    words = (_NUMBER.sub("", word) for word in row["title"].split()[:_WORDS])
    return (row["id"], *(row.get(name) for name in _IDENTITY), " ".join(words))


class DailyDoctors:
    """Folds what a task decodes, with a fold for each date (by its number since 1970)."""

    def __init__(self) -> None:
        self._days: dict[int, Doctor] = {}

    def add_row(self, row: Settled) -> None:
        """Add an exchange or the end of a connection to the fold of its date."""
        if row.kind == "exchange":
            self._get_or_make_doctor_of_day(row.time_ns).add(row)
        elif row.kind == "connection":
            self._get_or_make_doctor_of_day(row.last_ns).observe_connection_end(row)

    def _get_or_make_doctor_of_day(self, time_ns: int) -> Doctor:
        day = time_ns // DAY_NS
        found = self._days.get(day)
        if found is None:
            found = self._days[day] = Doctor()
        return found

    def export(self, names: Sequence[str]) -> tuple[tuple[int, bytes], ...]:
        """The folds, each behind its date, for `WatchFindings.merge_folds`; `names` of files as in set_file_names()."""
        for doctor in self._days.values():
            doctor.set_file_names(names)
        return tuple((day, doctor.export()) for day, doctor in sorted(self._days.items()))


class _Told(NamedTuple):
    """How bad and how frequent a finding was when it was told last."""

    severity: int
    times: int


class _Day:
    """One date: its fold, and the findings that have been told of it."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.doctor = Doctor(thresholds)
        self.told: dict[Identity, _Told] = {}

    def take_changed_findings(self, *, over: bool) -> Iterator[Row]:
        """The findings that are to be told now; when the date is `over`, all that have changed since."""
        met: Counter[Identity] = Counter()
        for row in self.doctor.rows():
            about = identify_finding(row)
            met[about] += 1
            key, severity, count = (*about, met[about]), SEVERITIES.index(row["severity"]), row["count"]
            before = self.told.get(key)
            if before is None or severity < before.severity or count >= GROWTH * max(before.times, 1):
                news = True
            else:
                news = over and (severity, count) != before
            if news:
                # Findings come one by one here: what another one has to do with it is not known yet.
                row.pop("cause", None)
                row.pop("consequences", None)
                self.told[key] = _Told(severity, count)
                yield row


class WatchFindings:
    """The findings of a watch, by date."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._days: dict[int, _Day] = {}

    def merge_folds(self, seen: Iterable[tuple[int, bytes]], *, ends: bool) -> list[tuple[int, Row]]:
        """Merge the folds of a batch's tasks; the findings to tell, each behind the beginning of its date in ns.

        With `ends` the captures are over, and so are all dates.
        """
        touched = set()
        for day, state in seen:
            self._get_or_make_day(day).doctor.merge(_resume_doctor(state))
            touched.add(day)
        over = set(self._days) if ends else set(sorted(self._days)[:-DAYS_KEPT])
        found = [
            (day * DAY_NS, row)
            for day in sorted(touched | over)
            for row in self._days[day].take_changed_findings(over=day in over)
        ]
        for day in over:
            del self._days[day]
        return found

    def _get_or_make_day(self, day: int) -> _Day:
        found = self._days.get(day)
        if found is None:
            found = self._days[day] = _Day(self._thresholds)
        return found

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack(
            [
                [day, its.doctor.export(), [[list(key), list(told)] for key, told in its.told.items()]]
                for day, its in sorted(self._days.items())
            ]
        )

    def resume(self, state: bytes | None) -> bool:
        """Go on where `export` was called; None: at the beginning, as for a state that another version of kw has left.

        Whether the state could be read.
        """
        self._days = {}
        if state is None:
            return True
        try:
            (days,) = state_fields([unpack(state)], list)
            for item in days:
                day, doctor, told = state_fields(item, int, bytes, list)
                its = self._get_or_make_day(day)
                its.doctor.resume(doctor)
                for each in told:
                    key, numbers = state_fields(each, list, list)
                    its.told[tuple(key)] = _Told(*state_fields(numbers, int, int))
        except DecodeError:
            self._days = {}
            return False
        return True


def _resume_doctor(state: bytes) -> Doctor:
    made = Doctor()
    made.resume(state)
    return made
