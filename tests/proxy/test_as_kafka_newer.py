"""Real clients at brokers of 4.3 served as older releases, against what a real broker of 2.8 saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from decoders.apis import api
from decoders.protocol_facts.api_keys import PRODUCE
from decoders.protocol_facts.guess_release_from_offered_versions import OPTIONAL, stable_versions_of_release
from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.schema.api_declaration import NONE, Versions
from tests.broker.clients.session import LongSession
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import explain_missing_tools
from tests.broker.options import Options
from tests.proxy.as_release import lasting, offered, used, work, work_as
from tests.proxy.hidden import ProxyProcess, port_base

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.full]

NEWER: Final = "4.3.1"
OLD: Final = "2.8"
CLIENTS: Final = ("java-2.1.1", "java-4.4.0", "librdkafka", "python", "aiokafka", "go", "node")
RELEASED: Final = [release for release in RELEASES if RELEASES.index("2.1") <= RELEASES.index(release)]
SOME: Final = ("2.1", OLD, "3.3", "4.0")
# A broker of 4.x lists these versions of Produce for old librdkafka only (KAFKA-18659).
UNSERVED: Final = Versions(0, 2)
# Heartbeat and LeaveGroup depend on time.
BY_CHANCE: Final = frozenset({12, 13})


@pytest.fixture(scope="module")
def seen_by_old(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, set[int]]]:
    """The versions that each client used at a real broker of 2.8."""
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    folder = tmp_path_factory.mktemp("old")
    found = {}
    with Cluster(Options(version="2.8.2", mode="zookeeper", heap="256m")) as old:
        for client in CLIENTS:
            capture = folder / f"{client}.pcapng"
            words = ["-b", old.bootstrap(), "-w", str(capture)]
            with ProxyProcess(words, port_base(1)) as proxy, lasting(client) as session:
                work(session, proxy.bootstrap, client)
            found[client] = used(capture)
    return found


@pytest.fixture(scope="module")
def cluster(seen_by_old: Mapping[str, object]) -> Iterator[Cluster]:
    """A cluster that starts after the old broker has stopped."""
    assert set(seen_by_old) == set(CLIENTS)
    with Cluster(Options(version=NEWER, class_archive=True)) as started:
        yield started


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest) -> Iterator[LongSession]:
    with lasting(request.param) as session:
        yield session


@pytest.mark.parametrize("client", CLIENTS, indirect=True)
def test_a_client_does_what_it_does_before_a_broker_of_that_release(
    cluster: Cluster, seen_by_old: Mapping[str, Mapping[int, set[int]]], client: LongSession, tmp_path: Path
) -> None:
    found, _ = work_as(OLD, client, cluster.bootstrap(), tmp_path)
    keys = found.keys() | seen_by_old[client.client].keys()
    assert {key: found.get(key) for key in keys - BY_CHANCE} == {
        key: seen_by_old[client.client].get(key) for key in keys - BY_CHANCE
    }


@pytest.mark.parametrize("client", CLIENTS, indirect=True)
@pytest.mark.parametrize("release", [release for release in SOME if release != OLD])
def test_every_family_works(cluster: Cluster, release: str, client: LongSession, tmp_path: Path) -> None:
    work_as(release, client, cluster.bootstrap(), tmp_path)


@pytest.mark.parametrize("release", RELEASED)
def test_the_answer_is_the_intersection_and_what_brokers_lack_is_listed(cluster: Cluster, release: str) -> None:
    have = offered(cluster.bootstrap())
    with ProxyProcess(["-b", cluster.bootstrap(), "--no-log", "--as-kafka", release], port_base(1)) as proxy:
        told = offered(proxy.bootstrap)
    had = {
        key: versions for key, versions in stable_versions_of_release(release).items() if "broker" in api(key).listeners
    }
    both = {key: had[key] & have[key] for key in had.keys() & have.keys()}
    if RELEASES.index(release) >= RELEASES.index("4.0"):
        both[PRODUCE] = Versions(0, both[PRODUCE].high)
    assert told == {key: versions for key, versions in both.items() if versions}
    lacking = []
    for key in sorted(had.keys() - OPTIONAL):
        left = had[key] & have.get(key, NONE)
        if key == PRODUCE:
            left = Versions(UNSERVED.high + 1, left.high)
        if left != had[key]:
            lacking.append(f"{api(key).name} {had[key]}" + (f" ({left} left)" if left else ""))
    said = [line.partition("served: ")[2] for line in proxy.said.splitlines() if "brokers lack what" in line]
    assert said == ([", ".join(lacking)] if lacking else [])
