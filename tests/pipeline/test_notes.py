"""Notes between a job's driver and its tasks: splits waited for, progress of the tasks, their results."""

from __future__ import annotations

from pathlib import Path
from threading import Timer

import pytest

from kwcli.pipeline.read.split_and_file_range import Split
from kwcli.pipeline.spark import driver_task_coordination
from kwcli.pipeline.spark.driver_task_coordination import Coordination
from kwcli.pipeline.spark.stage_schemas import ReadReport
from kwcli.pipeline.store.output_folder import OutputFolder
from kwcli.pipeline.store.staging_folder import Staging
from kwcli.run_environment import Failure

SPLITS = [Split("", number, ()) for number in range(3)]


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(OutputFolder(str(tmp_path)), "run")


def test_a_task_waits_for_its_split(staging: Staging) -> None:
    driver, task = Coordination(staging), Coordination(staging)
    driver.write_split(0, SPLITS[0])
    assert task.wait_for_split(0) == SPLITS[0]
    timer = Timer(0.1, lambda: driver.write_split(1, SPLITS[1]))
    timer.start()
    assert task.wait_for_split(1) == SPLITS[1]
    timer.join()
    timer = Timer(0.1, lambda: driver.write_all_splits(SPLITS[:2]))  # fewer splits than there could have been
    timer.start()
    assert task.wait_for_split(2) is None
    timer.join()
    assert task.read_all_splits() == tuple(SPLITS[:2])
    assert task.wait_for_split(1) == SPLITS[1]


def test_a_task_says_why_there_is_no_split(staging: Staging) -> None:
    driver, task = Coordination(staging), Coordination(staging)
    driver.write_split(0, SPLITS[0])
    driver.write_planning_failure("big.pcap: input/output error at byte 7")
    assert task.wait_for_split(0) == SPLITS[0]
    with pytest.raises(Failure, match=r"^big\.pcap: input/output error at byte 7$"):
        task.wait_for_split(1)


def test_a_task_waits_for_nobody_whose_folder_is_gone(staging: Staging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_task_coordination, "GONE_S", 0.2)
    Coordination(staging).create_folder()
    timer = Timer(0.1, lambda: staging.files.remove(staging.folder))
    timer.start()
    with pytest.raises(Failure, match="files were deleted while kw wrote them"):
        Coordination(staging).wait_for_split(0)
    timer.join()


def test_how_far_the_tasks_are(staging: Staging) -> None:
    driver, task = Coordination(staging), Coordination(staging)
    assert driver.read_progress() == (0, 0)
    task.write_progress(1, 10)
    task.write_progress(1, 20)  # too soon for another note
    assert driver.read_progress() == (10, 0)
    reports = [ReadReport(number, 100 * number, {}, (), (), number) for number in (2, 1)]
    for report in reports:
        task.write_split_report(report)
    assert driver.read_progress() == (300, 2)
    assert driver.read_progress() == (300, 2)
    assert driver.read_reports() == reports[::-1]
