"""Serving as another release, by rows: versions offered, versions refused and how, and the messages."""

from __future__ import annotations

from typing import Any

import pytest

from decoders.analysis.client_compatibility import Audit, AuditedClient, AuditTarget
from decoders.apis import NAMES
from decoders.messages.whole_messages import decode_response, encode_message
from decoders.protocol_facts.guess_release_from_offered_versions import stable_versions_of_release
from decoders.protocol_facts.kafka_releases import RELEASES, api_versions_of_release, feature_levels_of_release
from decoders.schema.api_declaration import Versions
from kwcli.proxy.deciding.ask_deciders import Deciders
from kwcli.proxy.deciding.served_versions import ServedVersions, VersionDecider
from kwcli.proxy.listening_and_version_options import ServedOptions
from kwcli.proxy.relay.relay_state import CLOSE, SEND_CLIENT, SEND_SERVER
from kwcli.proxy.relay.rewrite_addresses import cap_api_versions
from kwcli.proxy.relay.rewrite_cache import RewrittenAnswers
from kwcli.proxy.relay.sans_io_connection import RelayCore
from kwcli.run_environment import Exit, Failure
from tests.proxy.stage import API_VERSIONS, FETCH, METADATA, PRODUCE, request, response

BROKERS = stable_versions_of_release("3.9")
DESCRIBE_CLUSTER = 60


class Node:
    title = "node 1"


class Client:
    """A connection, as deciders see it."""

    number = 1
    listener: Any = Node()
    peer = "10.0.0.7:5000"
    via_address: str | None = None
    connection_deciders: Any = None

    def __init__(self) -> None:
        self.refusals: list[tuple[int, str, str]] = []

    def log_refusal(self, correlation_id: int, by: str, reason: str) -> None:
        self.refusals.append((correlation_id, by, reason))

    def log_fault(self, correlation_id: int, rule: int, action: str, hit: int) -> None:
        raise AssertionError((correlation_id, rule, action, hit))

    def apply_decision(self, exchange: object, decision: object) -> None:
        raise AssertionError((exchange, decision))


def served(release: str | None = None, most: tuple[str, ...] = (), hide: tuple[str, ...] = ()) -> ServedVersions:
    found = ServedOptions(release, most, hide).read_served_versions()
    assert found is not None
    return found


def offer(of: ServedVersions, brokers: dict[int, Versions] = BROKERS, version: int = 3, **more: Any) -> dict[str, Any]:
    """The ApiVersions body that clients get if the brokers offer these versions."""
    rows = [{"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in brokers.items()]
    frame = response(API_VERSIONS, version, {"api_keys": rows, **more}, id=7)
    made, _ = cap_api_versions(frame, version, of)
    assert int.from_bytes(made[:4], "big") == len(made) - 4
    return decode_response(made[4:], API_VERSIONS, version).body


def told(body: dict[str, Any]) -> dict[int, Versions]:
    return {row["api_key"]: Versions(row["min_version"], row["max_version"]) for row in body["api_keys"]}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("version", [0, 3])
def test_what_is_offered_is_what_both_serve(release: str, version: int) -> None:
    expected = {
        key: left
        for key, versions in BROKERS.items()
        if (left := stable_versions_of_release(release).get(key, Versions(0, -1)) & versions)
    }
    if RELEASES.index(release) >= RELEASES.index("4.0"):
        expected[PRODUCE] = expected[PRODUCE]._replace(low=0)  # listed for old librdkafka, but not served
    assert told(offer(served(release), version=version)) == expected


@pytest.mark.parametrize("release", ["2.1", "2.8", "3.9"])
def test_an_offer_that_fits_stays_as_it_is(release: str) -> None:
    rows = [
        {"api_key": key, "min_version": low, "max_version": high}
        for key, (low, high) in stable_versions_of_release(release).items()
    ]
    frame = response(API_VERSIONS, 2, {"api_keys": rows}, id=7)
    assert cap_api_versions(frame, 2, served(release)) == (frame, [])


LEVELS: dict[str, Any] = {
    "supported_features": [
        {"name": "metadata.version", "min_version": 1, "max_version": 30},
        {"name": "transaction.version", "min_version": 0, "max_version": 2},
        {"name": "group.version", "min_version": 0, "max_version": 1},
    ],
    "finalized_features_epoch": 99,
    "finalized_features": [
        {"name": "metadata.version", "min_version_level": 1, "max_version_level": 30},
        {"name": "transaction.version", "min_version_level": 0, "max_version_level": 2},
    ],
}


@pytest.mark.parametrize(
    ("release", "supported", "finalized", "epoch"),
    [
        ("2.8", [], [], None),
        ("3.3", [("metadata.version", 1, 7)], [("metadata.version", 7)], 99),
        ("3.9", [("metadata.version", 1, 21)], [("metadata.version", 21)], 99),
        (
            "4.0",
            [("metadata.version", 7, 25), ("transaction.version", 0, 2), ("group.version", 0, 1)],
            [("metadata.version", 25), ("transaction.version", 2)],
            99,
        ),
    ],
)
def test_features_are_those_of_the_release(
    release: str, supported: list[Any], finalized: list[Any], epoch: int | None
) -> None:
    body = offer(served(release), **LEVELS, zk_migration_ready=True)
    assert [tuple(each.values()) for each in body.get("supported_features", [])] == supported
    assert [(each["name"], each["max_version_level"]) for each in body.get("finalized_features", [])] == finalized
    assert body.get("finalized_features_epoch") == epoch


def test_limits_alone_leave_features_and_all_else() -> None:
    body = offer(served(None, ("fetch=11,Produce=8",), ("60",)), **LEVELS)
    assert told(body) == {
        key: versions & {FETCH: Versions(0, 11), PRODUCE: Versions(0, 8)}.get(key, versions)
        for key, versions in BROKERS.items()
        if key != DESCRIBE_CLUSTER
    }
    assert len(body["supported_features"]) == 3


def test_features_are_of_releases_that_exist() -> None:
    assert {
        release: feature_levels_of_release(release).get("metadata.version") for release in ("3.2", "3.3", "4.4")
    } == {
        "3.2": None,
        "3.3": Versions(1, 7),
        "4.4": Versions(7, 33),
    }


def play(
    of: ServedVersions, *frames: bytes, client: Client | None = None
) -> tuple[list[tuple[Any, ...]], VersionDecider]:
    """The commands of a connection for these requests, and its version_decider."""
    version_decider = VersionDecider(of)
    frame_decider = Deciders([version_decider]).make_connection_decider(client or Client())
    core = RelayCore(rewritten_answers=RewrittenAnswers(served=of), frame_decider=frame_decider)
    return [
        command for number, frame in enumerate(frames) for command in core.client_bytes(frame, number + 1)
    ], version_decider


ASKED = {"client_software_name": "lib", "client_software_version": "1.2"}


@pytest.mark.parametrize(
    ("of", "version", "told_range"),
    [
        (served("2.3"), 3, []),
        (served("2.4"), 4, [(18, 0, 3)]),
        (served("2.8"), 5, [(18, 0, 3)]),
        (served("3.9"), 5, [(18, 0, 4)]),
        (served(None, ("apiversions=1",)), 3, [(18, 0, 1)]),
    ],
)
def test_a_newer_api_versions_is_answered_as_the_release_did(
    of: ServedVersions, version: int, told_range: list[tuple[int, int, int]]
) -> None:
    commands, version_decider = play(of, request(API_VERSIONS, version, ASKED, id=5))
    ((what, frame),) = [each for each in commands if each[0] in (SEND_CLIENT, SEND_SERVER, CLOSE)]
    assert what == SEND_CLIENT
    answer = decode_response(frame[4:], API_VERSIONS, 0)
    assert (answer.correlation_id, answer.body["error_code"]) == (5, 35)
    assert [tuple(row.values()) for row in answer.body["api_keys"]] == told_range
    assert version_decider.format_closing_lines() == [
        "client c (lib 1.2, 10.0.0.7) asked for the versions (ApiVersions) and then nothing more"
    ]


@pytest.mark.parametrize(
    ("of", "key", "version", "why"),
    [
        (served("2.8"), FETCH, 12, None),
        (served("2.8"), FETCH, 13, "Fetch 13 (0 to 12 are served)"),
        (served("4.0"), FETCH, 3, "Fetch 3 (4 to 17 are served)"),
        (served("4.0"), PRODUCE, 2, "Produce 2 (3 to 12 are served)"),
        (served("2.3"), DESCRIBE_CLUSTER, 0, "DescribeCluster 0 (is not served)"),
        (served(None, ("fetch=11",)), FETCH, 12, "Fetch 12 (0 to 11 are served)"),
        (served(None, (), ("fetch",)), FETCH, 11, "Fetch 11 (is not served)"),
        (served("0.9.0"), API_VERSIONS, 0, "ApiVersions 0 (is not served)"),
    ],
)
def test_what_is_not_served_ends_the_connection(of: ServedVersions, key: int, version: int, why: str | None) -> None:
    frame = request(key, version, {"acks": 1} if key == PRODUCE else {}, id=5)
    commands, version_decider = play(of, frame)
    assert [each[:2] for each in commands if each[0] == SEND_SERVER and each[1]] == (
        [(SEND_SERVER, frame)] if why is None else []
    )
    assert [each[0] for each in commands if each[0] == CLOSE] == ([] if why is None else [CLOSE])
    assert version_decider.format_closing_lines() == (
        [] if why is None else [f"client c (10.0.0.7) could not work: {why}"]
    )


@pytest.mark.parametrize(
    ("of", "key", "version", "told"),
    [
        (served("2.8"), FETCH, 12, None),
        (served("2.8"), FETCH, 13, ("--as-kafka 2.8", "0 to 12 are served")),
        (served("2.8", ("fetch=11",)), FETCH, 13, ("--as-kafka 2.8", "0 to 11 are served")),
        (served("2.8", ("fetch=11",)), FETCH, 12, ("--max Fetch=11", "0 to 11 are served")),
        (served("2.8", (), ("1",)), FETCH, 12, ("--hide Fetch", "is not served")),
        (served(None, (), ("produce",)), PRODUCE, 9, ("--hide Produce", "is not served")),
        (served("2.8"), API_VERSIONS, 4, ("--as-kafka 2.8", "0 to 3 are served")),  # it is answered, though
    ],
)
def test_the_log_is_told_which_option_refuses(
    of: ServedVersions, key: int, version: int, told: tuple[str, str] | None
) -> None:
    client = Client()
    body = {"acks": 1} if key == PRODUCE else ASKED if key == API_VERSIONS else {}
    play(of, request(key, version, body, id=5), client=client)
    assert client.refusals == ([] if told is None else [(5, *told)])


def test_the_end_says_what_audit_says() -> None:
    """The line about a client that uses what 4.0 dropped has the words of `kw audit --target 4.0`."""
    _, version_decider = play(served("4.0"), request(METADATA, 1, {}, id=1), request(PRODUCE, 2, {"acks": 1}, id=2))
    audit = Audit()
    client = AuditedClient("c", "10.0.0.7")
    audit.count_use(client, "node 1", (METADATA, 1), 1)
    audit.count_use(client, "node 1", (PRODUCE, 2), 2)
    (row,) = audit.rows(AuditTarget.of_release("4.0"))
    assert version_decider.format_closing_lines() == [f"client c (10.0.0.7) could not work: {row['why']}"]


@pytest.mark.parametrize("release", RELEASES)
def test_audit_judges_by_the_same_versions(release: str) -> None:
    """Versions differ only where brokers hide them by default; clients use such versions if they are offered."""
    differ = {
        key
        for key in api_versions_of_release(release)
        if served(release).served_versions(key) != api_versions_of_release(release)[key]
    }
    assert differ == {
        key
        for key in api_versions_of_release(release)
        if stable_versions_of_release(release).get(key) != api_versions_of_release(release)[key]
    }


def test_what_brokers_lack_is_told_at_the_start() -> None:
    assert served("2.8").format_start_lines(BROKERS) == ["clients are served as by Kafka 2.8"]
    first, second = served("4.0").format_start_lines(BROKERS)
    assert first == "clients are served as by Kafka 4.0"
    assert second.startswith("brokers lack what Kafka 4.0 served: Produce 3-12 (3-11 left), ")
    assert served("0.9.0", hide=("fetch",)).format_start_lines(None) == [
        "clients are served as by Kafka 0.9.0, no Fetch",
        "the brokers' versions are not known yet: clients are offered only those that brokers have",
    ]
    assert "knew no ApiVersions" in served("0.9.0").format_start_lines(BROKERS)[-1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (ServedOptions("2.88"), f'no release 2.88 (did you mean "2.8"?); kw knows 0.8.2 to {RELEASES[-1]}'),
        (ServedOptions(None, ("fetsch=3",)), "no API has the name 'fetsch' (did you mean \"Fetch\"?)"),
        (ServedOptions(None, ("fetch=33",)), "Fetch has versions 0-18, not 33"),
        (ServedOptions(None, ("fetch",)), "--max fetch: write API=VERSION, as in fetch=11"),
        (ServedOptions(None, (), ("produce,268",)), f"no API has the number 268 (kw knows 0 to {max(NAMES)})"),
    ],
)
def test_words_that_are_wrong(options: ServedOptions, text: str) -> None:
    with pytest.raises(Failure) as failure:
        options.read_served_versions()
    assert (failure.value.text, failure.value.code) == (text, Exit.USAGE)


def test_nothing_asked_is_nothing_done() -> None:
    assert ServedOptions().read_served_versions() is None
    assert encode_message(API_VERSIONS, 0, "request", {}) == b""
