"""`python -m tests.pipeline.driving MASTER OUT SIZE CAPTURE…`: a separate driver, since a process has one session.

Runs the job three times: undisturbed, with a Python worker that is killed, with an executor that is killed; then reads
the first capture with the data source. Prints the places from which the tasks loaded kw.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tests.pipeline.mishaps
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.replace_folders_of_tables import open_store
from tests.pipeline.jobs import job_of
from tests.pipeline.mishaps import DeadlyFiles


def main() -> None:
    import pyarrow as pa
    from pyspark import cloudpickle

    from kwcli.pipeline.spark import session
    from kwcli.pipeline.spark.spark_engine import run_job

    cloudpickle.register_pickle_by_value(tests.pipeline.mishaps)  # type: ignore[no-untyped-call]  # it has no types
    master, out, size, *captures = sys.argv[1:]
    spark = session(master, conf={"spark.executor.memory": "512m", "spark.driver.memory": "512m"})
    job = job_of([], points=[(Path(name).name, name) for name in captures], size=int(size))
    for name, word, victim in (
        ("plain", "", None),
        ("worker", "/exchanges/", "worker"),
        ("executor", "/notes/", "executor"),
    ):
        with open_store(f"{out}/{name}") as store:
            staging = store.start_staging()
            kept = staging.files
            if victim:
                staging.files = DeadlyFiles(kept.root, word, victim, Path(out, f"{name}.killed"))  # type: ignore[arg-type]
            outcome = run_job(spark, job.spec, job.pending_plan, staging, partitions=3)
            staging.files = OutputFolder(kept.root)
            store.commit(staging, outcome.written, sources=[], options={}, tables=job.spec.tables, facts={})

    def where(batches: Iterator[Any]) -> Iterator[Any]:
        import kwcli

        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([kwcli.__file__] * batch.num_rows)], ["place"])

    places = spark.range(0, 4, 1, 4).mapInArrow(where, "place string").distinct().collect()
    count = spark.read.format("kafka_wire").load(captures[0]).count()
    sys.stdout.write(f"{sorted(row[0] for row in places)}\n{count}\n")


if __name__ == "__main__":
    main()
