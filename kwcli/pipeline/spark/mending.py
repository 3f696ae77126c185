"""Batches of rows in that a split made without its past, the same batches whole out: a column at a time.

What lacks is the connection's identity, where its rows begin in what its client sent, its client's software; and of
topics that the bodies name by their id the names that other connections, or earlier splits, have shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from decoders.wire.primitives import uuid_text
from kwcli.pipeline.tables.build import shown, split_address
from kwcli.pipeline.tables.schemas import PARTITION

if TYPE_CHECKING:
    from decoders.exchanges.parts import Facts, Patch

__all__ = ["Mending"]

# What a patch says of the connection.
_IDENTITY: Final = (
    *("client", "client_ip", "client_port", "broker", "broker_ip", "broker_port", "connection_began_ns"),
)


class Mending:
    """What is known of one capture point."""

    def __init__(self, facts: Facts | None) -> None:
        topics = {} if facts is None else facts.topics
        rows = [(uuid_text(identity), name, since) for identity, (name, since) in sorted(topics.items())]
        self._ids = pa.array([row[0] for row in rows], pa.string())
        self._names = pa.array([shown(row[1]) for row in rows], pa.string())
        self._since = pa.array([row[2] for row in rows], pa.int64())

    def patched(self, some: Sequence[tuple[pa.RecordBatch, Patch | None]]) -> pa.RecordBatch:
        """All rows in one batch, each with what its past says; without a patch they are as they should be."""
        rows = pa.concat_batches([batch for batch, _ in some])
        patches = [patch for _, patch in some]
        if not any(patches):
            return rows
        which = pa.array([at for at, (batch, _) in enumerate(some) for _ in range(batch.num_rows)], pa.int32())
        is_patched = pa.array([patch is not None for patch in patches]).take(which)
        values = [_identity(patch) if patch is not None else (None,) * len(_IDENTITY) for patch in patches]
        columns = {}
        for name, column in zip(_IDENTITY, zip(*values, strict=True), strict=True):
            new = pa.array(column, rows.schema.field(name).type).take(which)
            columns[name] = pc.if_else(is_patched, new, rows.column(name))
        added = pa.array([0 if patch is None else patch.place_added for patch in patches], pa.int64())
        columns["place"] = pc.add(rows.column("place"), added.take(which))
        lacks = pc.and_(
            pc.and_(is_patched, pc.is_null(rows.column("client_software_name"))),
            pc.not_equal(rows.column("kind"), "skipped"),
        )
        software = [None if patch is None else patch.client_software for patch in patches]
        names = [None if one is None else shown(one["name"]) for one in software]
        versions = [None if one is None else shown(one["version"]) for one in software]
        for name, texts in (("client_software_name", names), ("client_software_version", versions)):
            columns[name] = pc.if_else(lacks, pa.array(texts, pa.string()).take(which), rows.column(name))
        return _with(rows, columns)

    def told(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as they go into the tables: with names of topics, without numbers of connections."""
        rows = self.unnumbered(rows)
        if not len(self._ids) or not pc.any(pc.greater(pc.list_value_length(rows.column("topic_ids")), 0)).as_py():
            return rows
        # When an exchange was settled, as far as its own packets say; not when it began: a fetch may wait for long.
        times = pc.coalesce(*(rows.column(name) for name in ("response_end_ns", "request_end_ns", "time_ns")))
        ids = rows.column("topic_ids")
        columns = {name: self._list(rows.column(name), times, rows.column(name)) for name in ("topics", "error_topics")}
        columns["topics"] = _once(columns["topics"])
        columns["topic_names"] = self._list(rows.column("topic_names"), times, ids)
        columns["partitions"] = self._partitions(rows.column("partitions"), times)
        return _with(rows, columns)

    @staticmethod
    def unnumbered(rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows without the number of their connection."""
        return _with(rows, {"connection": pa.nulls(rows.num_rows, rows.schema.field("connection").type)})

    def _list(self, lists: pa.Array, times: pa.Array, ids: pa.Array) -> pa.Array:
        """Lists with the names of `ids`, which go with their values, where those are known and no name is there."""
        named = self._named(lists.flatten(), times.take(pc.list_parent_indices(lists)), ids.flatten())
        return pa.ListArray.from_arrays(_offsets(lists), named, type=lists.type)

    def _named(self, values: pa.Array, times: pa.Array, ids: pa.Array) -> pa.Array:
        at = pc.index_in(ids, value_set=self._ids)
        known = pc.fill_null(pc.less(self._since.take(at), times), False)
        lacks = pc.or_(pc.invert(pc.is_valid(values)), pc.fill_null(pc.equal(values, ids), False))
        return pc.if_else(pc.and_(known, lacks), self._names.take(at), values)

    def _partitions(self, lists: pa.Array, times: pa.Array) -> pa.Array:
        structs = lists.flatten()
        fields = {field.name: pc.struct_field(structs, field.name) for field in PARTITION}
        fields["topic"] = self._named(fields["topic"], times.take(pc.list_parent_indices(lists)), fields["topic_id"])
        made = pa.StructArray.from_arrays(list(fields.values()), fields=list(PARTITION))
        return pa.ListArray.from_arrays(_offsets(lists), made, type=lists.type)


def _once(lists: pa.Array) -> pa.Array:
    """Lists with each value once: what had an id and what had a name may be one topic."""
    if not pc.any(pc.greater(pc.list_value_length(lists), 1)).as_py():
        return lists
    found = [None if names is None else list(dict.fromkeys(names)) for names in lists.to_pylist()]
    return pa.array(found, lists.type)


def _offsets(lists: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


def _identity(patch: Patch) -> tuple[Any, ...]:
    """The values of the columns above."""
    ends = patch.ends
    return (ends.client, *split_address(ends.client), ends.broker, *split_address(ends.broker), patch.began_ns)


def _with(rows: pa.RecordBatch, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    arrays = [columns.get(field.name, column) for field, column in zip(rows.schema, rows.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)
