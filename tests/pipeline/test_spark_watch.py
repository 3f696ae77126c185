"""Batches of a watch on Spark: many points in few tasks, a killed worker; the tables are those of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwcli.pipeline.read.split_and_file_range import FileRange, Split
from kwcli.pipeline.spark import watch_batch
from kwcli.pipeline.spark.watch_batch import run_watch_batch, share_points_among_tasks
from kwcli.pipeline.watch.decode_batch import BatchInput, TaskReport, decode_points
from kwcli.pipeline.watch.track_captures import PointPlan
from tests.captures.shipped import FOLDER
from tests.pipeline.watched import Watched, run_over, tables_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DeadlyOnce:
    """Decodes points, but kills its process in the middle of the first batch."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, batch: BatchInput, points: Sequence[PointPlan]) -> TaskReport:
        report = decode_points(batch, points)
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return report


@pytest.mark.long
def test_batches_on_spark_leave_the_tables_of_a_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [(name.partition(".")[0], str(FOLDER / name)) for name in ("sasl-raw.pcap", "tour.pcapng")]
    monkeypatch.setattr(watch_batch, "decode_points", DeadlyOnce(tmp_path / "killed"))
    watched = Watched([], tmp_path / "out", *points, batch_size=1 << 17, finish=True)

    def decode(batch: BatchInput, plans: Any) -> list[TaskReport]:
        return run_watch_batch(spark, batch, plans, 2)

    with watched.started(decode) as watching:
        watching.run_batches()
        assert watching.batch > 1
    assert (tmp_path / "killed").exists()
    assert watched.said == ""
    run_over([], tmp_path / "run", *points)
    assert tables_in(tmp_path / "out") == tables_in(tmp_path / "run")


def test_points_are_shared_out_by_size() -> None:
    sizes = {"a": 10, "b": 70, "c": 30, "d": 40, "e": 0}
    points = [PointPlan(name, (Split(name, 0, (FileRange(0, name, name, 0, size),)),)) for name, size in sizes.items()]
    groups = share_points_among_tasks(points, 2)
    assert sorted(point for group in groups for point, _ in group) == [*sizes]
    assert sorted(sum(sizes[point] for point, _ in group) for group in groups) == [70, 80]
    assert len(share_points_among_tasks(points, 9)) == 5
