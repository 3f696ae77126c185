"""Brokers side by side on a terminal of 80 cells, beside any release."""

from __future__ import annotations

import pytest

from decoders.protocol_facts.guess_release_from_offered_versions import (
    find_most_alike_releases,
    stable_versions_of_release,
)
from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.schema.api_declaration import Versions
from kwcli.calling.offered_version_table import BrokerOffer, VersionTable, format_version_table
from kwcli.output.output_settings import Settings
from kwcli.output.short_texts import cell_width, palette

FEATURES = {"eligible.leader.replicas.version": "1", "metadata.version": "29"}


@pytest.mark.parametrize("against", [None, "0.10.0", "3.9", "4.4"])
@pytest.mark.parametrize("release", RELEASES)
def test_three_nodes_and_a_release_fit_into_80_columns(release: str, against: str | None) -> None:
    offer = stable_versions_of_release(release)
    looks = str(find_most_alike_releases(offer))
    nodes = [BrokerOffer(f"{number} 127.0.0.1:{49091 + number}", offer, FEATURES, looks) for number in (1, 2, 3)]
    lines = list(format_version_table(nodes, against, 80, palette(False)))
    assert max(map(cell_width, lines)) <= 80
    assert [line.split()[0] for line in lines if "metadata.version" in line] == ["metadata.version"]
    keys = {line.removeprefix("≠").split()[0] for line in lines}
    assert {str(key) for key in offer} <= keys


@pytest.mark.parametrize(
    ("era", "lacking", "shown"),
    [
        ("4.0", 0, True),  # Produce: every broker of the release has it
        ("4.0", 71, False),  # GetTelemetrySubscriptions: only where a receiver of metrics is set up
        ("4.0", 4, False),  # LeaderAndIsr: no broker of the release has it
        ("4.0", 55, True),  # DescribeQuorum is of brokers, too, Vote (52) of controllers alone
        ("4.0", 52, False),
        ("2.8", 0, False),  # with ZooKeeper what brokers leave out may be an API of controllers
    ],
)
def test_what_a_broker_lacks_of_a_release_is_in_the_table(era: str, lacking: int, shown: bool) -> None:
    offer = {key: versions for key, versions in stable_versions_of_release(era).items() if key != lacking}
    node = BrokerOffer("1 127.0.0.1:9092", offer, {}, era)
    lines = format_version_table([node], "4.0", 80, palette(False))
    assert any(line.removeprefix("≠").split()[0] == str(lacking) for line in lines) is shown


# The versions of librdkafka 2.16's mock cluster.
MOCK = {
    0: (0, 10),
    1: (0, 16),
    2: (0, 7),
    3: (0, 13),
    8: (0, 9),
    9: (0, 6),
    10: (0, 3),
    11: (0, 6),
    12: (0, 5),
    13: (0, 4),
    14: (0, 4),
    18: (0, 2),
    22: (0, 4),
    23: (2, 2),
    24: (0, 1),
    25: (0, 1),
    26: (0, 1),
    28: (0, 3),
    68: (1, 1),
    71: (0, 0),
    72: (0, 0),
    76: (1, 1),
    78: (1, 1),
    79: (1, 1),
}


def test_a_broker_that_is_no_release_looks_like_none() -> None:
    assert str(find_most_alike_releases({key: Versions(*versions) for key, versions in MOCK.items()})) == "no release"
    assert str(find_most_alike_releases({})) == "no release"


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_with_a_few_changes_is_still_one(release: str) -> None:
    offer = stable_versions_of_release(release)
    assert release in find_most_alike_releases(offer).releases
    assert "~" not in str(find_most_alike_releases(offer))
    key = max(offer)
    changed = {**offer, key: Versions(offer[key].low, offer[key].high + 1)}
    assert str(find_most_alike_releases(changed)) != "no release"


def test_features_whose_names_are_no_text() -> None:
    written: list[bytes] = []
    table = VersionTable(Settings(), written.append)
    rows = [{"name": name, "max_version_level": 1} for name in ("kraft.version", {"base64": "/w=="})]
    table.add_broker_answer("node 1", {"api_keys": [], "finalized_features": rows})
    table.close()
    assert [line.split() for line in b"".join(written).decode().splitlines()[2:]] == [
        ["base64:/w==", "1"],
        ["kraft.version", "1"],
    ]
