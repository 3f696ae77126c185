"""Real clients at a real broker of 3.9 that is served as another release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders.protocol_facts.kafka_releases import RELEASES
from tests.broker.clients.session import LongSession, Step, run
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.jars import explain_missing_tools
from tests.broker.options import Options
from tests.proxy.as_release import lasting, rows, work_as
from tests.proxy.hidden import ProxyProcess, port_base

pytestmark = [pytest.mark.broker, needs_brokers, pytest.mark.long]

ALL = [release for release in RELEASES if RELEASES.index("2.1") <= RELEASES.index(release) <= RELEASES.index("3.9")]
SOME = ("2.1", "2.8", "3.3")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    problem = explain_missing_tools()
    if problem:
        pytest.skip(problem)
    with Cluster(Options(version="3.9.1", class_archive=True)) as started:
        yield started


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest) -> Iterator[LongSession]:
    with lasting(request.param) as session:
        yield session


@pytest.mark.parametrize("client", ["java-4.0.2", pytest.param("librdkafka", marks=pytest.mark.full)], indirect=True)
@pytest.mark.parametrize("release", SOME)
def test_clients_work_as_with_the_release(cluster: Cluster, release: str, client: LongSession, tmp_path: Path) -> None:
    work_as(release, client, cluster.bootstrap(), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(
    "client", ["java-2.1.1", "java-4.4.0", "librdkafka", "python", "aiokafka", "go", "node"], indirect=True
)
@pytest.mark.parametrize("release", ALL)
def test_every_family_works_as_with_every_release(
    cluster: Cluster, release: str, client: LongSession, tmp_path: Path
) -> None:
    work_as(release, client, cluster.bootstrap(), tmp_path)


def test_a_client_that_audit_calls_broken_breaks(cluster: Cluster, tmp_path: Path) -> None:
    """Java 0.10.2 uses Produce 2, which 4.0 lists and does not serve: it fails, as `kw audit` says."""
    run("librdkafka", cluster.bootstrap(), [("create", {"topics": {"old": 1}})])
    before, through = tmp_path / "before.pcapng", tmp_path / "through.pcapng"
    steps: list[Step] = [("produce", {"topic": "old", "count": 2})]
    with ProxyProcess(["-b", cluster.bootstrap(), "-w", str(before)], port_base(1)) as proxy:
        assert run("java-0.10.2.2", proxy.bootstrap, steps)[0]["result"] == 2
    (verdict,) = rows("audit", str(before), "--target", "4.0")
    with ProxyProcess(["-b", cluster.bootstrap(), "--as-kafka", "4.0", "-w", str(through)], port_base(1)) as proxy:
        assert run("java-0.10.2.2", proxy.bootstrap, steps)[0]["result"] == 0
    (again,) = rows("audit", str(through), "--target", "4.0")
    assert [verdict["verdict"], again["verdict"]] == ["breaks", "breaks"]
    assert f"could not work: {again['why']}" in proxy.said
    assert "brokers lack what Kafka 4.0 served: Produce 3-12 (3-11 left), " in proxy.said
