"""Headers, error codes, secrets and public config names: tables against literal rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from decoders.apis import KEYS, NAMES, api
from decoders.protocol_facts import api_keys
from decoders.protocol_facts.errors.error_codes import ERRORS, error_name, find_error_code
from decoders.protocol_facts.header_versions import (
    request_header_plan,
    request_header_version,
    response_header_plan,
    response_header_version,
)
from decoders.protocol_facts.public_configs import PUBLIC_CONFIGS, is_public_config
from decoders.schema.api_declaration import Field


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (0, 8, 1, 0),
        (0, 9, 2, 1),
        (7, 0, 0, 0),  # ControlledShutdown 0: no client id
        (7, 1, 1, 0),
        (7, 3, 2, 1),
        (17, 1, 1, 0),  # SaslHandshake: never flexible
        (18, 2, 1, 0),
        (18, 3, 2, 0),  # ApiVersions: the response never is
        (18, 5, 2, 0),
        (47, 0, 1, 0),
        (50, 0, 2, 1),
        (999, 0, 1, 0),
    ],
)
def test_header_versions(key: int, version: int, request_header: int, response_header: int) -> None:
    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header


def test_only_two_apis_have_other_headers_than_their_flexibility_says() -> None:
    odd = set()
    for key in KEYS:
        found = api(key)
        for version in range(found.versions.low, found.versions.high + 1):
            flexible = version in found.flexible
            if request_header_version(key, version) != 1 + flexible:
                odd.add((found.name, "request", version))
            if response_header_version(key, version) != flexible:
                odd.add((found.name, "response", version))
    assert odd == {
        ("ControlledShutdown", "request", 0),
        ("ApiVersions", "response", 3),
        ("ApiVersions", "response", 4),
        ("ApiVersions", "response", 5),
    }


def test_header_plans() -> None:
    names = [[field.name for field in request_header_plan(version).fields] for version in range(3)]
    assert names == [
        ["request_api_key", "request_api_version", "correlation_id"],
        ["request_api_key", "request_api_version", "correlation_id", "client_id"],
        ["request_api_key", "request_api_version", "correlation_id", "client_id"],
    ]
    assert [request_header_plan(version).flexible for version in range(3)] == [False, False, True]
    client_id = request_header_plan(2).fields[-1]
    assert (client_id.nullable, client_id.compact) == (True, False)
    assert [response_header_plan(version).flexible for version in range(2)] == [False, True]


RETRIABLE = [
    *(2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89),
    *(100, 103, 106, 122, 123, 133),
]


def test_error_codes() -> None:
    assert list(ERRORS) == list(range(-1, 137))
    assert [code for code, error in ERRORS.items() if error.retriable] == RETRIABLE
    assert len({error.name for error in ERRORS.values()}) == len({error.meaning for error in ERRORS.values()}) == 138
    assert all(error.meaning and not error.meaning.endswith(".") for error in ERRORS.values())


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (0, "NONE"),
        (3, "UNKNOWN_TOPIC_OR_PARTITION"),
        (35, "UNSUPPORTED_VERSION"),
        (74, "FENCED_LEADER_EPOCH"),
        (100, "UNKNOWN_TOPIC_ID"),
        (136, "CONTROLLER_ID_NOT_REGISTERED"),
    ],
)
def test_error_names(code: int, name: str) -> None:
    assert error_name(code) == name
    assert (
        find_error_code(name) == find_error_code(name.lower().replace("_", "-")) == find_error_code(str(code)) == code
    )


def test_unknown_errors() -> None:
    assert error_name(137) == "UNKNOWN(137)"
    assert find_error_code("137") is find_error_code("NO_SUCH_ERROR") is None


def secrets(fields: Sequence[Field], path: str) -> Iterator[str]:
    for field in fields:
        here = f"{path}{field.name}"
        if field.secret:
            yield here + (f" unless {field.unless}" if field.unless else "")
        yield from secrets(field.fields, here + ".")


# All fields that are declared `secret`, as `API side path`.
SECRETS: Final = [
    "CreateTopics request topics.configs.value unless name",
    "CreateTopics response topics.configs.value unless name",
    "DescribeConfigs response results.configs.value unless name",
    "DescribeConfigs response results.configs.synonyms.value unless name",
    "AlterConfigs request resources.configs.value unless name",
    "SaslAuthenticate request auth_bytes",
    "SaslAuthenticate response auth_bytes",
    "CreateDelegationToken response hmac",
    "RenewDelegationToken request hmac",
    "ExpireDelegationToken request hmac",
    "DescribeDelegationToken response tokens.hmac",
    "IncrementalAlterConfigs request resources.configs.value unless name",
    "AlterUserScramCredentials request upsertions.salt",
    "AlterUserScramCredentials request upsertions.salted_password",
    "Envelope request request_data",
    "Envelope response response_data",
    "StreamsGroupHeartbeat request topology.subtopologies.state_changelog_topics.topic_configs.value unless key",
    "StreamsGroupHeartbeat request topology.subtopologies.repartition_source_topics.topic_configs.value unless key",
    "StreamsGroupDescribe response groups.topology.subtopologies.state_changelog_topics.topic_configs.value unless key",
    "StreamsGroupDescribe response "
    "groups.topology.subtopologies.repartition_source_topics.topic_configs.value unless key",
]


def test_what_is_secret() -> None:
    found = [
        f"{api(key).name} {text}"
        for key in KEYS
        for side in (api(key).request, api(key).response)
        for text in secrets(side.fields, side.name.removeprefix(api(key).name).lower() + " ")
    ]
    assert found == SECRETS, "SECRETS in tests/protocol_facts/test_tables.py has all fields declared `secret`"


@pytest.mark.parametrize(
    ("name", "public"),
    [
        ("retention.ms", True),
        ("cleanup.policy", True),
        ("advertised.listeners", True),
        ("consumer.session.timeout.ms", True),
        ("interval.ms", True),
        ("listener.name.client.ssl.protocol", True),
        ("listener.name.client.ssl.keystore.password", False),
        ("listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", False),
        ("sasl.jaas.config", False),
        ("ssl.keystore.key", False),
        ("ssl.truststore.password", False),
        ("delegation.token.secret.key", False),
        ("my.plugin.setting", False),
        ("RETENTION.MS", False),
        ("", False),
        (None, False),
    ],
)
def test_public_configs(name: str | None, public: bool) -> None:
    assert is_public_config(name) is public


def test_no_public_name_speaks_of_secrets() -> None:
    words = ("password", "secret", "jaas", "key", "token", "credential", "certificate")
    assert [name for name in PUBLIC_CONFIGS if any(word in name for word in words)] == []
    assert len(PUBLIC_CONFIGS) == 413


def test_keys_are_named_as_the_declarations_name_them() -> None:
    named = {key: name.lower() for name, key in vars(api_keys).items() if name.isupper() and key.__class__ is int}
    assert named
    assert named == {key: NAMES[key] for key in named}
