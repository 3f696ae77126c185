"""Batches of rows in that a split made without its past, the same batches complete out: a column at a time.

The rows lack the connection's identity, the place where they begin in what its client sent, the client's software and
the user who had logged in; and, for topics that the bodies name by id, the names that other connections, or earlier
splits, have shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from decoders.schema.body_json_form import encode_text_for_cell
from decoders.wire.primitive_types import format_uuid
from kwcli.pipeline.spark.stage_schemas import IDENTITY
from kwcli.pipeline.tables.arrow_schemas import PARTITION

if TYPE_CHECKING:
    from decoders.splits.split_parts import SharedFacts

__all__ = ["RowCompletion"]


class RowCompletion:
    """Completes the rows of one capture point by what is known of the point."""

    def __init__(self, facts: SharedFacts | None) -> None:
        topics = {} if facts is None else facts.topics
        rows = [(format_uuid(identity), name, since) for identity, (name, since) in sorted(topics.items())]
        self._ids = pa.array([row[0] for row in rows], pa.string())
        self._names = pa.array([encode_text_for_cell(row[1]) for row in rows], pa.string())
        self._since = pa.array([row[2] for row in rows], pa.int64())

    @staticmethod
    def apply_verdicts(rows: pa.RecordBatch, runs: pa.Array, verdicts: pa.Table) -> pa.RecordBatch:
        """The rows that count, completed by the verdicts on their runs: verdict n (`STITCHED`) is of run n."""
        if verdicts.column("run").to_pylist() != list(range(verdicts.num_rows)):
            raise RuntimeError("a run without a verdict, or with several")
        counts = verdicts.column("counts").take(runs)
        if not pc.all(counts).as_py():
            rows, runs = rows.filter(counts.combine_chunks()), runs.filter(counts)
        said = verdicts.take(runs).combine_chunks()
        new = {name: _combine_chunks(said.column(name)) for name in said.column_names}
        columns = {name: new[name] for name in IDENTITY}
        columns["place"] = pc.add(rows.column("place"), new["place_added"])
        # An exchange inside an Envelope is of a client of another connection.
        its_own = pc.and_(pc.not_equal(rows.column("kind"), "skipped"), pc.is_null(rows.column("envelope")))
        lacks = pc.and_(pc.is_null(rows.column("client_software_name")), its_own)
        for name in ("client_software_name", "client_software_version"):
            columns[name] = pc.if_else(lacks, new[name], rows.column(name))
        nobody = pc.and_(pc.is_null(rows.column("user")), pc.is_null(rows.column("mechanism")))
        lacks = pc.and_(nobody, its_own)
        for name in ("user", "mechanism"):
            columns[name] = pc.if_else(lacks, new[name], rows.column(name))
        return _replace_columns(rows, columns)

    def complete_rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as they go into the tables: with names of topics, and no numbers of connections."""
        rows = self.drop_connection_numbers(rows)
        if not len(self._ids) or not pc.any(pc.greater(pc.list_value_length(rows.column("topic_ids")), 0)).as_py():
            return rows
        # When an exchange was settled, as far as its own packets say; not when it began: a fetch may wait for long.
        times = pc.coalesce(*(rows.column(name) for name in ("response_end_ns", "request_end_ns", "time_ns")))
        ids = rows.column("topic_ids")
        columns = {
            name: self._fill_topic_names_in_lists(rows.column(name), times, rows.column(name))
            for name in ("topics", "error_topics")
        }
        columns["topics"] = _drop_duplicates(columns["topics"])
        columns["topic_names"] = self._fill_topic_names_in_lists(rows.column("topic_names"), times, ids)
        columns["partitions"] = self._complete_partitions(rows.column("partitions"), times)
        return _replace_columns(rows, columns)

    @staticmethod
    def drop_connection_numbers(rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows without the number of their connection."""
        return _replace_columns(rows, {"connection": pa.nulls(rows.num_rows, rows.schema.field("connection").type)})

    def _fill_topic_names_in_lists(self, lists: pa.Array, times: pa.Array, ids: pa.Array) -> pa.Array:
        """Lists in which the elements without a name get the known name of their topic id; `ids` has the id of each."""
        named = self._fill_topic_names(lists.flatten(), times.take(pc.list_parent_indices(lists)), ids.flatten())
        return pa.ListArray.from_arrays(_compute_list_offsets(lists), named, type=lists.type)

    def _fill_topic_names(self, values: pa.Array, times: pa.Array, ids: pa.Array) -> pa.Array:
        at = pc.index_in(ids, value_set=self._ids)
        known = pc.fill_null(pc.less(self._since.take(at), times), False)
        lacks = pc.or_(pc.invert(pc.is_valid(values)), pc.fill_null(pc.equal(values, ids), False))
        return pc.if_else(pc.and_(known, lacks), self._names.take(at), values)

    def _complete_partitions(self, lists: pa.Array, times: pa.Array) -> pa.Array:
        structs = lists.flatten()
        fields = {field.name: pc.struct_field(structs, field.name) for field in PARTITION}
        fields["topic"] = self._fill_topic_names(
            fields["topic"], times.take(pc.list_parent_indices(lists)), fields["topic_id"]
        )
        made = pa.StructArray.from_arrays(list(fields.values()), fields=list(PARTITION))
        return pa.ListArray.from_arrays(_compute_list_offsets(lists), made, type=lists.type)


def _drop_duplicates(lists: pa.Array) -> pa.Array:
    """Lists with each value once: an element with an id and one with a name may be the same topic."""
    if not pc.any(pc.greater(pc.list_value_length(lists), 1)).as_py():
        return lists
    found = [None if names is None else list(dict.fromkeys(names)) for names in lists.to_pylist()]
    return pa.array(found, lists.type)


def _compute_list_offsets(lists: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


def _combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    """A column of at most one chunk."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _replace_columns(rows: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    arrays = [columns.get(field.name, column) for field, column in zip(rows.schema, rows.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)
