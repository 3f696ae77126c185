"""Files of schemas and the captures of a run in, all schemas of keys and values out: before an engine begins.

Whichever process decodes a value has to know the same schemas, wherever in the captures they are: so captures are read
once more before the run, by one process. Captures of more than LOCAL_MAX bytes, and URLs, are not: files name the
schemas there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from decoders.messages.decode_record_values import RecordValueReader
from kwcli.pipeline.choose_engine import LOCAL_MAX
from kwcli.pipeline.read.read_tls_keys import read_keys
from kwcli.reading.read_captures_by_time import Captures
from kwcli.reading.schema_files import add_schema_files
from kwcli.reading.schemas_of_run import RunSchemas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decoders.values.schemas_and_decoded_values import RegisteredSchema
    from kwcli.pipeline.engine_job_and_result import JobSpec
    from kwcli.pipeline.read.find_captures import SourceFile
    from kwcli.run_environment import Environment

__all__ = ["find_schemas_of_run", "make_value_reader"]


def find_schemas_of_run(
    env: Environment, spec: JobSpec, captures: Sequence[SourceFile], schema_files: Sequence[str], *, quiet: bool
) -> tuple[RegisteredSchema, ...]:
    """The schemas of these files and captures. Failure for files that have none."""
    reader = RecordValueReader()
    if schema_files:
        add_schema_files(tuple(schema_files), reader.store, env)
    local = [file.path for file in captures if "://" not in file.path]
    if sum(file.size for file in captures) > LOCAL_MAX or len(local) < len(captures):
        if not quiet:
            env.report("kw: captures so large, or of URLs, are not searched for schemas: give files by --schemas")
    elif local:
        keys = read_keys(spec.key_logs, spec.secret_captures, spec.files)
        schemas = RunSchemas(reader, spec.ports, keys)
        schemas.set_file_names(local)
        schemas.learn_from_captures(partial(Captures, local, env, numbered=True))
    return tuple(stored.registered for stored in reader.store)


def make_value_reader(schemas: Sequence[RegisteredSchema]) -> RecordValueReader:
    """A reader of keys and values that knows these schemas."""
    reader = RecordValueReader()
    for schema in schemas:
        reader.store.add_schema(schema)
    return reader
