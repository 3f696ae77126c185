"""The splits of batches in, the schemas of keys and values that are known by then out: before a batch is decoded.

Whichever task decodes a value has to know the same schemas, wherever in the batch they are. So one process reads each
batch once more before, from the states of its connections on. What captures taught is kept with the commit; values of
batches before stay as they were written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from decoders.errors import DecodeError
from decoders.messages.decode_record_values import RecordValueReader
from decoders.values.schemas_and_decoded_values import RegisteredSchema, SchemaOrigin, SchemaReference
from kwcli.pipeline.local_engine import make_engine_of_job
from kwcli.pipeline.read.filter_and_batch_rows import RowFilter
from kwcli.pipeline.read.read_split_segments import SplitReader
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.reading.schema_files import add_schema_files
from kwcli.reading.schemas_of_run import RunSchemas
from kwcli.run_environment import Failure

if TYPE_CHECKING:
    from decoders.exchanges.segments_to_exchanges import Engine
    from decoders.tls.key_log import KeyLog
    from kwcli.pipeline.engine_job_and_result import JobSpec
    from kwcli.pipeline.tables.topic_partition_rows import TableNeeds
    from kwcli.pipeline.watch.track_captures import PointPlan
    from kwcli.run_environment import Environment

__all__ = ["WatchSchemas"]

_REFERENCES: Final = RegisteredSchema._fields.index("references")
_ORIGIN: Final = RegisteredSchema._fields.index("origin")


class WatchSchemas:
    """The schemas of the files that a watch names, and of the batches so far. Failure for files that have none."""

    def __init__(self, env: Environment, schema_files: Sequence[str]) -> None:
        self._reader = RecordValueReader()
        if schema_files:
            add_schema_files(schema_files, self._reader.store, env)
        self._of_files = self._list_schemas()
        self._kept = 0  # changes of the store that the latest state has

    def _list_schemas(self) -> tuple[RegisteredSchema, ...]:
        return tuple(stored.registered for stored in self._reader.store)

    def learn_from_batch(
        self, spec: JobSpec, points: Sequence[PointPlan], read_state: Callable[[str], bytes | None], *, ends: bool
    ) -> tuple[RegisteredSchema, ...]:
        """All schemas that are known once these points are read on; `read_state` gives the state of a point."""
        needs = RowFilter(spec).needs
        read_keys.cache_clear()  # key logs grow
        keys = read_keys(spec.key_logs, spec.secret_captures)
        for point, splits in points:
            self._reader.look_further = None  # of the point before
            schemas = RunSchemas(self._reader, spec.ports, keys)
            schemas.set_file_names(spec.files)
            engine = _resume_engine(spec, needs, keys, read_state(point))
            schemas.learn_from_engine(engine)
            for split in splits:
                if not split.pieces[0].log:
                    for segments in SplitReader(split, engine):
                        schemas.learn_from_rows(engine.feed(segments))
            if ends:
                schemas.learn_from_rows(engine.finish())
        return self._list_schemas()

    @property
    def have_changed(self) -> bool:
        """Whether the latest state lacks schemas."""
        return self._reader.store.changes != self._kept

    def export(self) -> bytes:
        """What captures taught so far, for `resume`."""
        self._kept = self._reader.store.changes
        return json.dumps([each for each in self._list_schemas() if each.origin.kind != "file"]).encode()

    def resume(self, state: bytes | None) -> None:
        """Go on with the schemas of files and of a state. Raises Failure where the state is damaged."""
        self._reader = RecordValueReader()
        store = self._reader.store
        for schema in self._of_files:
            store.add_schema(schema)
        try:
            for row in [] if state is None else json.loads(state):
                row[_ORIGIN] = SchemaOrigin(*row[_ORIGIN])
                row[_REFERENCES] = tuple(SchemaReference(*each) for each in row[_REFERENCES])
                store.add_schema(RegisteredSchema(*row))
        except (TypeError, ValueError, IndexError):
            raise Failure("the schemas of the last batch are damaged: watch into another folder") from None
        self._kept = store.changes


def _resume_engine(spec: JobSpec, needs: TableNeeds, keys: KeyLog, state: bytes | None) -> Engine:
    engine = make_engine_of_job(spec, needs, keys)
    if state is not None:
        try:
            engine.resume(state)
            engine.pairer.context.topics.add_missing_names(spec.topic_names)
        except DecodeError:  # another version of kw left it: what decodes the batch says so
            engine = make_engine_of_job(spec, needs, keys)
    return engine
