"""The version that is sent: what kw, the broker and the user allow, and the lines for an empty choice."""

from __future__ import annotations

import pytest

from decoders.apis import api
from decoders.protocol_facts.kafka_releases import api_versions_of_release
from decoders.schema.api_declaration import Versions
from kwcli.calling.choose_request_version import VersionChoice, find_common_versions
from kwcli.run_environment import Exit, Failure

MODERN = api_versions_of_release("4.3") | {0: Versions(0, 13)}  # as brokers from 4.0 on list it (KIP-896)
OLD = api_versions_of_release("2.8")
CONTROLLER = {18: Versions(0, 4), 52: Versions(0, 2)}


def choice(name: str, number: int | None = None, release: str | None = None, *, force: bool = False) -> VersionChoice:
    return VersionChoice.from_options(api(name), number, release, force=force)


@pytest.mark.parametrize(
    ("name", "number", "release", "force", "offered", "chosen"),
    [
        ("Metadata", None, None, False, MODERN, Versions(0, 13)),
        ("Metadata", None, None, False, OLD, Versions(0, 11)),
        ("Metadata", 4, None, False, OLD, Versions(4, 4)),
        ("Metadata", 13, None, True, OLD, Versions(13, 13)),
        ("Metadata", None, "2.8", False, MODERN, Versions(0, 11)),
        ("Metadata", None, "2.8.2", False, MODERN, Versions(0, 11)),
        ("Metadata", None, "0.10", False, MODERN, Versions(0, 2)),
        ("Fetch", None, "2.8", False, MODERN, Versions(4, 12)),
        ("Produce", None, None, False, MODERN, Versions(3, 13)),
        ("Produce", 0, None, True, MODERN, Versions(0, 0)),
        ("Produce", 0, None, False, OLD, Versions(0, 0)),
        ("DescribeTransactions", None, None, True, OLD, Versions(0, 0)),
        # 4.1 has OffsetFetch 10 and hides it.
        ("OffsetFetch", None, "4.1", False, MODERN, Versions(1, 9)),
    ],
)
def test_the_versions_that_are_left(
    name: str, number: int | None, release: str | None, force: bool, offered: dict[int, Versions], chosen: Versions
) -> None:
    assert (
        find_common_versions(api(name), offered, choice(name, number, release, force=force), "node 1 kafka1:9092")
        == chosen
    )


@pytest.mark.parametrize(
    ("name", "number", "release", "said"),
    [
        ("Metadata", 99, None, f"Metadata has versions {api('Metadata').versions}, not 99"),
        ("Metadata", 1, "2.8", "exclude each other"),
        ("Metadata", None, "7.0", "no release 7.0"),
        ("DescribeTransactions", None, "2.8", "Kafka 2.8 has no DescribeTransactions (first in 3.0)"),
        # 3.9 has only version 0 of it, which brokers hide.
        ("ShareFetch", None, "3.9", "Kafka 3.9 has no ShareFetch"),
    ],
)
def test_a_wish_that_nobody_can_fulfil_is_a_usage_error(
    name: str, number: int | None, release: str | None, said: str
) -> None:
    with pytest.raises(Failure, match=said.replace("(", r"\(").replace(")", r"\)")) as failure:
        choice(name, number, release)
    assert failure.value.code == Exit.USAGE


@pytest.mark.parametrize(
    ("name", "number", "offered", "said"),
    [
        ("DescribeTransactions", None, OLD, "does not offer DescribeTransactions (--force"),
        ("Metadata", 13, OLD, "offers Metadata 0-11, not version 13 (--force"),
        ("Produce", 2, MODERN, "lists Produce 2 but does not serve it"),
        ("Metadata", None, CONTROLLER, "is a controller, which has no Metadata: ask a broker (--force"),
        ("AddPartitionsToTxn", None, {3: Versions(0, 13)}, "does not offer AddPartitionsToTxn (--force"),
        ("Vote", None, {0: Versions(3, 13)}, "which is for controllers: give one by --bootstrap-controller (--force"),
    ],
)
def test_what_the_broker_does_not_take_is_said_in_one_line(
    name: str, number: int | None, offered: dict[int, Versions], said: str
) -> None:
    with pytest.raises(Failure) as failure:
        find_common_versions(api(name), offered, choice(name, number), "node 1 kafka1:9092")
    assert failure.value.code == Exit.FAILURE
    assert failure.value.text.startswith("node 1 kafka1:9092 ")
    assert said in failure.value.text
