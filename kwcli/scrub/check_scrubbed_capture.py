"""A scrubbed capture and the first reading in, the problems of the capture out: with any it is given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from decoders.capture.segments_of_cut_out_packets import MARK, CutNote, format_note_comment
from decoders.exchanges.body_reader import Needs
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.limits import BATCH_INFLATED_MAX
from decoders.scrubbing.scrub_records import inflate_batches_anywhere
from decoders.scrubbing.search_names_in_bytes import NameSearch, select_searchable_names
from decoders.wire.format_and_escape_text import format_rfc3339
from kwcli.output.short_texts import count_of
from kwcli.reading.read_captures_by_time import Captures
from kwcli.scrub.make_scrubbed_payloads import FirstReading, KeptFacts
from kwcli.scrub.write_scrubbed_capture import PROGRAM

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.run_environment import Environment

__all__ = ["ScrubbedCaptureCheck"]

# Words that kw itself writes into the result: its own name, and those of a capture that was cut out of another one.
_WRITTEN: Final = (
    PROGRAM,
    MARK,
    format_note_comment(CutNote(0, client=True, ack=0, broker="-", rows=(0,))),
    "kw-cut: topics",
    "keeps",
)
_PIECE: Final = 1 << 20
_OVERLAP: Final = 256
_SHOWN_MAX: Final = 3


class ScrubbedCaptureCheck:
    """A check: `problems` in words; how many `names` and `secrets` were searched for, and how many names `left` out."""

    def __init__(self, path: str, reading: FirstReading, ports: frozenset[int] | None, env: Environment) -> None:
        self.problems: list[str] = []
        names = reading.names
        replaced = {
            text.encode("utf-8", "surrogateescape"): kind
            for kind, text in names.replaced
            if text not in names.kept and any(map(str.isalnum, text))
        }
        told = sum(map(len, names.replaced.values()))
        kept = (*names.kept, *_WRITTEN)
        wanted, self.left = select_searchable_names(replaced, kept, told)
        secrets, _ = select_searchable_names(names.overwritten_values, kept, told)
        self.names, self.secrets = len(wanted), len(secrets)
        self._kinds = replaced
        self._search = NameSearch({**secrets, **wanted})
        self._tally = KeptFacts()
        try:
            self._search_names_in_bytes(path)
            self._search_names_in_exchanges(path, ports, env)
            self._compare_kept_facts(reading.tally)
        finally:
            self._tally.close()
        found = Counter(replaced.get(name, "secret") for name in self._search.found)
        self.problems += [
            f"the result still has {count_of(count, _describe_name_kind(kind))}" for kind, count in found.items()
        ]

    def _search_names_in_bytes(self, path: str) -> None:
        before = b""
        with open(path, "rb") as file:
            while piece := file.read(_PIECE):
                self._search.feed(before + piece)
                before = piece[-_OVERLAP:]

    def _search_names_in_exchanges(self, path: str, ports: frozenset[int] | None, env: Environment) -> None:
        """Note facts of exchanges; search in their frames, of which packets have parts, and in compressed batches."""
        engine = Engine(ports=ports, needs=Needs())
        captures = Captures((path,), env, cut_receiver=engine)
        for segments in captures:
            self._search_names_and_count_facts(engine.feed(segments))
        self._search_names_and_count_facts(engine.finish())
        self.problems += [f"the result cannot be read: {problem}" for problem in captures.problems]
        self.problems += [f"the result cannot be read: {problem.text}" for _, problem in captures.cut_captures()]

    def _search_names_and_count_facts(self, rows: list[Settled]) -> None:
        for row in rows:
            if row.kind != "exchange":
                continue
            self._tally.add_exchange(row)
            for side in ("request", "response"):
                data = row.raw(side)
                if data is not None and not row.envelope:
                    self._search.feed(data)
                    for plain in inflate_batches_anywhere(data, BATCH_INFLATED_MAX):
                        self._search.feed(plain)

    def _compare_kept_facts(self, before: KeptFacts) -> None:
        missing = more = 0
        shown: list[str] = []
        for mine, its in before.find_records_only_one_has(self._tally):
            missing += mine is not None
            more += its is not None
            if mine is not None and len(shown) < _SHOWN_MAX:
                time_ns, what = KeptFacts.time_and_outcome_of(mine)
                shown.append(f"{what} at {format_rfc3339(time_ns)}")
        if missing or more:
            what = f": {', '.join(shown)}" if shown else ""
            self.problems.append(f"{missing:,} exchanges have changed, {more:,} others are in their place{what}")

    def format_search_report(self) -> Iterator[str]:
        """The line about the names and secrets that were searched for."""
        left = f"; {self.left:,} too short to search for, or a part of kept text" if self.left else ""
        yield f"none of {count_of(self.names, 'name')} and {count_of(self.secrets, 'secret')} is in the file{left}"


def _describe_name_kind(name_kind: str) -> str:
    return name_kind if name_kind == "secret" else f"{name_kind} name"
