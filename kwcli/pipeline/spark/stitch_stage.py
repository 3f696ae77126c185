"""The second stage of a job: the parts of connections in order in, verdicts on the splits' rows out.

Where a split decoded on an assumption that its past does not bear out, the connection's segments are read from the
capture again: this is rare, but then often concerns many connections at once. So a split is read once, to see where in
it each connection is; then only the windows of one connection. Where 0.3 % of the packets are missing this saves a
third of the CPU time of stitching 500 connections in splits of 256 MB, and a quarter where 0.1 % are:
`python -m tests.bench.rereading`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from decoders.errors import DecodeError
from decoders.named_tuple import NamedTuple
from decoders.schema.body_json_form import encode_text_for_cell
from decoders.splits.split_parts import Part, canonical_connection_key
from decoders.splits.stitch_rows import Stitcher
from decoders.tcp.connection_and_halves import format_endpoints
from kwcli.pipeline.read.filter_and_batch_rows import RowBatcher, RowFilter
from kwcli.pipeline.read.read_split_segments import ReadPosition, SplitReader, read_segments_between
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.pipeline.read.split_and_file_range import Problem
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.explain_failures import describe_split_place, turn_errors_into_failures
from kwcli.pipeline.spark.stage_schemas import STITCHED, pack_rows
from kwcli.pipeline.spark.tune_python_gc import collect_garbage_seldom
from kwcli.pipeline.tables.connection_columns import encode_text_cell
from kwcli.pipeline.tables.exchange_columns import split_address
from kwcli.reading.capture_sources import escape_non_utf8

if TYPE_CHECKING:
    from decoders.splits.split_parts import RowCorrection
    from decoders.tcp.stream_chunks import Segment
    from kwcli.pipeline.read.split_and_file_range import Split
    from kwcli.pipeline.spark.stage_schemas import StageInput

__all__ = ["Rereader", "stitch_partition"]

# Bytes of capture in one window, and of how many splits the windows are kept.
WINDOW: Final = 2 << 20
SPLITS_MAX: Final = 64
# A window has a bit for each connection, out of so many; connections with the same bit are read together.
_BITS: Final = 4096


class _Window(NamedTuple):
    """Some bytes of one piece: where they begin and end, their first and last packet, the bits of their connections."""

    begin: ReadPosition
    end: int | None
    first: int
    last: int
    keys: int


class Rereader:
    """Reads a connection's segments again when a stitcher calls it; `number` is the split of the current part."""

    def __init__(self, splits: Sequence[Split]) -> None:
        self._splits = {(split.point, split.ord): split for split in splits}
        self._windows = lru_cache(SPLITS_MAX)(_find_windows)
        self._point = ""
        self.number = 0
        self.count = 0

    def set_point(self, point: str) -> None:
        """Set the capture point of the next calls."""
        self._point = point

    def __call__(self, key: bytes, after: int, until: int | None) -> Iterator[list[Segment]]:
        """The segments of a connection behind packet `after` and before packet `until` (numbers; None: the end)."""
        self.count += 1
        split = self._splits[self._point, self.number]
        begun = False
        for batch in self._read_batches_around(split, key, after, until):
            found: list[Segment] = []
            for segment in batch:
                if begun and segment[2] == until:
                    yield found
                    return
                if begun and canonical_connection_key(segment[0]) == key:
                    found.append(segment)
                begun = begun or segment[2] == after
            if found:
                yield found

    def _read_batches_around(self, split: Split, key: bytes, after: int, until: int | None) -> Iterable[list[Segment]]:
        """Segments of the split from packet `after` on: at least those of the connection, and packet `until`."""
        reading = SplitReader(split)
        if not reading.repeats:
            yield from reading
            return
        begun = False
        for window in self._windows(split):
            begins = window.first <= after <= window.last
            begun = begun or begins
            info = until is not None and window.first <= until <= window.last
            if begun and (begins or info or window.keys & _hash_connection_key_to_bit(key)):
                yield from read_segments_between(split, window.begin, window.end)


def _find_windows(split: Split) -> list[_Window]:
    """The windows of a whole split."""
    found: list[_Window] = []
    reading = SplitReader(split)
    begin, end = ReadPosition(0, None), ReadPosition(0, None)
    first = last = size = 0
    keys: set[bytes] = set()

    def close() -> None:
        nonlocal first, size
        if first:
            found.append(_Window(begin, end.at, first, last, _combine_bits_of_connection_keys(keys)))
        keys.clear()
        first = size = 0

    for batch in reading:
        now = reading.position
        if now.piece != begin.piece:
            close()
            begin = ReadPosition(now.piece, None)
        size += (now.at or 0) - (end.at or 0 if now.piece == end.piece else split.pieces[now.piece].begin)
        end = now
        if batch:
            first, last = first or batch[0][2], batch[-1][2]
            keys.update({segment[0] for segment in batch})
        if size >= WINDOW:
            close()
            begin = reading.position_with_state()
    close()
    return found


def _hash_connection_key_to_bit(key: bytes) -> int:
    return 1 << hash(key) % _BITS


def _combine_bits_of_connection_keys(keys: Iterable[bytes]) -> int:
    bits = 0
    for key in keys:
        bits |= _hash_connection_key_to_bit(canonical_connection_key(key))
    return bits


# Stitching the connections of a task

_PLAIN: Final = ("point", "key", "ord", "seq", "kind", "run")
# The size of one batch out: verdicts, and bytes of rows.
VERDICTS_MAX: Final = 8192
BATCH_SIZE: Final = 4 << 20


def stitch_partition(stage_input: StageInput, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of one task: whole connections in, each in the order of the capture, batches of STITCHED out."""
    stitching = PartitionStitcher(stage_input)
    with collect_garbage_seldom(), turn_errors_into_failures(stitching.describe_place):
        for batch in batches:
            stitching.add_batch(batch)
            yield from stitching.take_full_batches()
        stitching.finish()
        yield from stitching.take_batches()


class PartitionStitcher:
    """Puts the parts of connections together, one connection after the other, each walked once however large it is.

    Batches of STITCHED have a verdict on every run of which a pool has rows, and the rows that only the connection's
    exact state could settle. At a part that cannot be taken, the connection loses what was known of it up to there,
    which is reported as a problem of the capture; its other parts begin anew.
    """

    def __init__(self, stage_input: StageInput) -> None:
        spec = self._spec = stage_input.spec
        self._row_filter = RowFilter(spec)
        coordination = Coordination(stage_input.staging)
        splits = coordination.read_all_splits()
        self._facts = coordination.read_facts_by_point(splits)
        self._rereading = Rereader(splits)
        self._splits = splits
        self._numbers = {(split.point, split.ord): number for number, split in enumerate(splits)}
        self._coordination = coordination
        self._lost = False  # a part of the current connection could not be taken
        self._split = 0  # of the current part
        self._at: tuple[str, bytes] | None = None
        self._stitcher: Stitcher | None = None
        self._batchers: dict[str, RowBatcher] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._size = 0

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Take the next parts."""
        blobs = batch.column("blob")
        columns = [batch.column(name).to_pylist() for name in _PLAIN]
        for at, (point, key, number, seq, kind, run) in enumerate(zip(*columns, strict=True)):
            self._add_part(point, number, Part(key, seq, kind, blobs[at].as_py(), []), run)

    def finish(self) -> None:
        """Settle what is open: no part follows."""
        self._end_connection()
        for batcher in self._batchers.values():
            batcher.write_pending_rows()

    def take_full_batches(self) -> Iterator[pa.RecordBatch]:
        """A batch, when there is enough for one."""
        if len(self._rows) >= VERDICTS_MAX or self._size >= BATCH_SIZE:
            yield from self.take_batches()

    def take_batches(self) -> Iterator[pa.RecordBatch]:
        """The verdicts and rows that wait, as a batch."""
        rows, self._rows, self._size = self._rows, [], 0
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, STITCHED, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=STITCHED)

    def _add_part(self, point: str, number: int, part: Part, run: int | None) -> None:
        """Take the next part, which is of split `number` of its point."""
        if self._at != (point, part.key):
            self._end_connection()
            self._begin_connection(point, part.key)
        assert self._stitcher is not None
        self._rereading.number = number
        self._split = self._numbers[point, number]
        try:
            settled, correction = self._stitcher.feed(part)
        except DecodeError as problem:
            settled, correction = [], None
            self._restart_broken_connection(part.key, problem)
        self._batchers[point].add_rows(settled)
        if run is not None:
            self._rows.append((self._split, run, *_pack_verdict(correction), None, None))

    def describe_place(self) -> str:
        """The place that the current part is from, for error messages."""
        at = describe_split_place(self._splits[self._split])
        return at if self._at is None else f"{at}: {' → '.join(format_endpoints(self._at[1]))}"

    def _restart_broken_connection(self, key: bytes, problem: DecodeError) -> None:
        """After a part that cannot be taken: drop what is known of its connection, report that once, and begin anew."""
        assert self._at is not None
        if not self._lost:
            piece = self._splits[self._split].pieces[-1]
            text = f"{' → '.join(format_endpoints(key))}: its state up to byte {piece.end:,} is lost: {problem.text}"
            self._coordination.write_lost_connection(self._at, Problem(piece.name, None, escape_non_utf8(text)))
        self._lost = True
        self._stitcher = self._make_stitcher(*self._at)

    def _begin_connection(self, point: str, key: bytes) -> None:
        self._at = (point, key)
        self._lost = False
        if point not in self._batchers:
            self._batchers[point] = RowBatcher(
                self._spec,
                point,
                self._row_filter,
                partial(self._add_batch_to_output, ended=False),
                partial(self._add_batch_to_output, ended=True),
            )
        self._rereading.set_point(point)
        self._stitcher = self._make_stitcher(point, key)

    def _make_stitcher(self, point: str, key: bytes) -> Stitcher:
        facts = self._facts.get(point)
        spec = self._spec
        keys = read_keys(spec.key_logs, spec.secret_captures, spec.files)
        return Stitcher(
            key,
            spec.ports,
            self._row_filter.needs,
            facts=facts,
            reread=self._rereading,
            keys=keys,
            topic_names=spec.topic_names,
        )

    def _end_connection(self) -> None:
        if self._stitcher is not None and self._at is not None:
            self._batchers[self._at[0]].add_rows(self._stitcher.finish())
        self._stitcher = None

    def _add_batch_to_output(self, batch: pa.RecordBatch, *, ended: bool) -> None:
        """Add a batch to the output under the current split, whichever splits its rows are of."""
        blob = pack_rows(batch)
        self._size += len(blob)
        self._rows.append((self._split, None, *_pack_verdict(None), *((None, blob) if ended else (blob, None))))


def _pack_verdict(correction: RowCorrection | None) -> tuple[Any, ...]:
    """The columns of a verdict; without a correction the rows do not count."""
    if correction is None:
        return (False, *(None,) * 13)
    info, software, login = correction.connection_info, correction.client_software, correction.login
    return (
        True,
        *(
            info.client,
            *split_address(info.client),
            info.broker,
            *split_address(info.broker),
            correction.connection_began_ns,
            info.via_address,
        ),
        correction.place_added,
        *(
            (None, None)
            if software is None
            else (encode_text_for_cell(software["name"]), encode_text_for_cell(software["version"]))
        ),
        *((None, None) if login is None else (encode_text_cell(login["user"]), encode_text_cell(login["mechanism"]))),
    )
