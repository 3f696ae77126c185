"""Hanging transactions and share groups on a real broker: named, and the printed command ends the transaction."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.analysis.hanging_transactions import (
    HUNG,
    OPTIONS,
    check_last_attempts,
    count_committed_records,
    give_records_back,
    leave_transactions_open,
)
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.recorder import Recorder
from tests.cli.worlds import kw


class Scene(NamedTuple):
    """What `kw transactions` and `kw groups` say of a recording, by name, and what readers got before and after."""

    transactions: dict[str | None, dict[str, Any]]
    groups: dict[str, dict[str, Any]]
    text: str
    before: dict[str, int]
    after: dict[str, int]
    file: Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("transactions")
    with Cluster(OPTIONS, folder / "cluster") as cluster:
        place, file = cluster.bootstrap(), folder / "scene.pcap"
        with Recorder(file, [int(place.rpartition(":")[2])]):
            leave_transactions_open(place)
            before = {topic: count_committed_records(place, topic, 4) for topic in HUNG}
            give_records_back(place)
        found = json.loads(kw("transactions", str(file), "-o", "json", "-q").out)
        for row in found:
            if row["command"] is not None:
                for _ in range(3):  # InitProducerId is answered with CONCURRENT_TRANSACTIONS while the abort goes on
                    kw(*shlex.split(row["command"])[1:])
                    time.sleep(1)
        after = {topic: count_committed_records(place, topic, 4) for topic in HUNG}
    groups = json.loads(kw("groups", str(file), "-o", "json", "-q").out)
    text = kw("transactions", str(file), "-o", "text", "-q").out
    by_name = {row["transactional_id"]: row for row in found}
    return Scene(by_name, {row["group"]: row for row in groups}, text, before, after, file)


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
@pytest.mark.parametrize("topic", HUNG)
def test_a_hanging_transaction_is_named_and_the_printed_command_ends_it(scene: Scene, topic: str) -> None:
    name, api = HUNG[topic]
    row = scene.transactions[name]
    assert (row["state"], row["sure"]) == ("ongoing", True)
    assert [(hold["topic"], hold["partition"], hold["sure"]) for hold in row["holds"]] == [(topic, 0, True)]
    assert row["command"].startswith(f"kw call {api} ")
    assert row["command"] in scene.text
    committed = 2 if topic == "second-protocol" else 0  # those of the transaction before
    assert (scene.before[topic], scene.after[topic]) == (committed, committed + 5)


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
def test_records_of_share_groups_are_shown_at_their_last_attempt(scene: Scene) -> None:
    check_last_attempts(scene.groups)


@pytest.mark.broker
@pytest.mark.full
@needs_brokers
@pytest.mark.parametrize("command", ["transactions", "groups"])
def test_several_processes_give_the_same_bytes(scene: Scene, command: str) -> None:
    outs = {kw(command, str(scene.file), "-o", "json", "-q", "--jobs", jobs).out for jobs in ("1", "2", "3")}
    assert len(outs) == 1
