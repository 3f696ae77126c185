"""`kw errors`: every code is explained, found in any spelling, and reported as unknown if it is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from decoders import read_exchanges
from decoders.apis import KEYS as API_KEYS
from decoders.apis import api
from decoders.protocol_facts.errors.error_codes import ERRORS, find_error_code
from decoders.protocol_facts.errors.error_names import LIBRDKAFKA_ERRORS, OTHER_NAMES
from decoders.protocol_facts.errors.errors_by_api import (
    GENERIC,
    errors_listed_by_definition,
    errors_observed_from_brokers,
    expected_errors,
)
from decoders.protocol_facts.errors.remedies import REMEDIES
from decoders.protocols.recognise_protocols import Finding
from kwcli.output.short_texts import PLAIN
from kwcli.reference.error_rows import cause_lines, error_description_lines, error_list_lines, make_error_row
from kwcli.run_environment import Exit
from tests.broker.jars import client_jars
from tests.captures.shipped import CLEAN, capture_bytes
from tests.cli.worlds import kw, world
from tests.reference.jars import release_jars

ROOT = Path(__file__).resolve().parents[2]
NAMES = {error.name for error in ERRORS.values()}


@pytest.mark.oracle
@pytest.mark.long
def test_what_definitions_list_is_what_is_listed() -> None:
    found: dict[int, set[str]] = {}
    for path in release_jars().values():
        with zipfile.ZipFile(path) as jar:
            for name in jar.namelist():
                if re.fullmatch(r"common/message/\w+Response\.json", name):
                    text = jar.read(name).decode()
                    key = re.search(r'"apiKey": (\d+)', text)
                    for error in re.findall(r"^\s*//\s+-\s+([A-Z_]+)", text, re.MULTILINE):
                        assert key is not None
                        found.setdefault(int(key[1]), set()).add(error)
    assert {key: set(errors_listed_by_definition(key)) for key in API_KEYS if errors_listed_by_definition(key)} == found


@pytest.mark.parametrize("names_of", [errors_listed_by_definition, errors_observed_from_brokers])
def test_declarations_name_real_errors_once(names_of: Callable[[int], tuple[str, ...]]) -> None:
    for key in API_KEYS:
        names = names_of(key)
        assert len(set(names)) == len(names), api(key).name
        assert set(names) <= NAMES, api(key).name
        if names_of is errors_observed_from_brokers:
            assert not set(names) & set(errors_listed_by_definition(key)), api(key).name
            assert not set(names) & set(GENERIC), api(key).name


def test_what_is_expected_is_answered() -> None:
    """An error that is the protocol as designed is one that the API is known to carry; it says where that stands."""
    found = [(api(key).name, each) for key in API_KEYS for each in expected_errors(key)]
    assert len(found) >= 15
    assert {each.source for _, each in found} > {"KIP-227", "group membership protocol, KIP-62"}
    assert all(each.text and "  " not in each.text for _, each in found)


@pytest.mark.parametrize("name", CLEAN)
def test_what_brokers_answered_in_captures_is_in_the_tables(name: str) -> None:
    for exchange in read_exchanges(capture_bytes(name)):
        for error in exchange.errors:
            assert exchange.api_key is not None
            known = (
                *errors_listed_by_definition(exchange.api_key),
                *errors_observed_from_brokers(exchange.api_key),
                *GENERIC,
            )
            assert error.name in known, (exchange.api, error)


def test_every_error_but_none_has_a_remedy() -> None:
    assert set(REMEDIES) == set(ERRORS) - {0}
    assert len(set(REMEDIES.values())) > 120


def test_the_list_in_json_is_every_code() -> None:
    rows = json.loads(kw("errors", "-o", "json").out)
    assert [row["code"] for row in rows] == sorted(ERRORS)
    assert all([*row] == KEYS for row in rows)
    assert all(row["apis"] or row["name"] in UNUSED for row in rows)


KEYS = ["code", "name", "retriable", "meaning", "remedy", "apis", "apis_from", "also"]
# Errors that clients make themselves, or that no current broker answers, or about which nothing is known.
UNUSED = {
    *("INVALID_FETCH_SIZE", "BROKER_NOT_AVAILABLE", "NETWORK_EXCEPTION", "UNKNOWN_CONTROLLER_ID"),
}


@pytest.mark.parametrize(
    ("word", "codes"),
    [
        ("6", [6]),
        ("-1", [-1]),
        ("NOT_LEADER_OR_FOLLOWER", [6]),
        ("not-leader-or-follower", [6]),
        ("NotLeaderOrFollower", [6]),
        ("not leader or follower", [6]),
        ("NOT_LEADER…", [6]),
        ("NOT_LEADER...", [6]),
        ("not_l*", [6]),
        ("fenced", [74, 82, 110, 124]),
        ("none", [0]),
        ("NOT_LEADER_FOR_PARTITION", [6]),
        ("NOT_COORDINATOR_FOR_GROUP", [16]),
        ("GroupLoadInProgressException", [14]),
        ("org.apache.kafka.common.errors.NotLeaderOrFollowerException", [6]),
        ("ERR_TOPIC_ALREADY_EXISTS", [36]),
        ("RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE", [10]),
        ("ErrConsumerCoordinatorNotAvailable", [15]),
        ("UnknownTopicOrPartitionError", [3]),
        ("UNKNOWN", [-1]),
        ("-195", [-195]),
        ("_TRANSPORT", [-195]),
        ("ERR__MAX_POLL_EXCEEDED", [-147]),
        ("Offset commit failed: NOT_COORDINATOR, then error code 27", [16, 27]),
        ("KafkaError{code=_TIMED_OUT,val=-185,str=x}", [-185]),
        ("caused by: org.apache.kafka.common.errors.TimeoutException: Failed", [7]),
    ],
)
def test_an_error_is_found_in_any_spelling(word: str, codes: list[int]) -> None:
    outcome = kw("errors", word, "-o", "ndjson")
    assert outcome.code == Exit.DONE
    assert [json.loads(line)["code"] for line in outcome.out.splitlines()] == codes


@pytest.mark.parametrize("word", ["137", "-2", "-136", "-200", "NOT_A_CODE", "…", "32768"])
def test_an_unknown_code_is_said_to_be_unknown(word: str) -> None:
    outcome = kw("errors", word, "-o", "json")
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert outcome.err.startswith(f"kw: no error '{word}' is known")
    assert outcome.err.count("\n") == 1


def test_each_of_several_words_is_looked_up() -> None:
    outcome = kw("errors", "6", "NOT_COORDINATOR_FOR_GROUP", "999", "ERR__TRANSPORT", "-o", "json")
    assert [row["code"] for row in json.loads(outcome.out)] == [6, 16, -195]
    assert (outcome.code, outcome.err.count("\n")) == (Exit.FAILURE, 1)
    assert "'999'" in outcome.err


def test_retriable_errors_and_others_make_up_all() -> None:
    again, given_up = (
        [row["code"] for row in json.loads(kw("errors", flag, "-o", "json").out)]
        for flag in ("--retriable", "--not-retriable")
    )
    assert sorted(again + given_up) == sorted(set(ERRORS) - {0})
    assert (6 in again, 36 in given_up) == (True, True)


def test_other_names_are_listed_only_where_they_say_something() -> None:
    standard = {find_error_code(error.name): code for code, error in ERRORS.items()}
    assert standard == {code: code for code in ERRORS}
    for code, names in OTHER_NAMES.items():
        assert [find_error_code(name) for name in names.split()] == [code] * len(names.split()), code
        plain = {re.sub("[^a-z]", "", word.lower()) for word in (ERRORS[code].name, *names.split())}
        assert len(plain) == 1 + len(names.split()), code


def test_librdkafka_knows_its_own_errors_by_these_names() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    theirs = {
        value: name
        for name, value in vars(confluent_kafka.KafkaError).items()
        if name.startswith("_") and name[1:2].isupper() and isinstance(value, int)
    }
    assert {code: row.name for code, row in LIBRDKAFKA_ERRORS.items() if code in theirs} == theirs


@pytest.mark.oracle
@pytest.mark.long
def test_every_name_that_a_release_had_is_known() -> None:
    jars = release_jars()
    (logging,) = (str(path) for path in client_jars("4.4.0") if path.name.startswith("slf4j-api"))
    command = [sys.executable, "-m", "tests.reference.java_errors", logging, *map(str, jars.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    for release, rows in zip(jars, json.loads(done.stdout), strict=True):
        assert len(rows) > 10, release
        for code, name, exception in rows:
            assert find_error_code(name) == code, (release, name)
            if exception not in SHARED:
                assert find_error_code(exception) == code, (release, exception)


# Exceptions with more than one code in some release.
SHARED = {"-", "ApiException", "AuthorizationException", "ProducerFencedException", "IllegalStateException"}


def test_an_unknown_option_is_a_usage_error() -> None:
    outcome = kw("errors", "--bogus")
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert outcome.err == "kw: no such option '--bogus'; see kw errors --help\n"


def test_grep_looks_at_names_meanings_and_remedies() -> None:
    rows = json.loads(kw("errors", "--grep", "fence", "-o", "json").out)
    assert {"PRODUCER_FENCED", "FENCED_INSTANCE_ID", "FENCED_LEADER_EPOCH"} <= {row["name"] for row in rows}
    rows = json.loads(kw("errors", "--grep", "max.poll.interval.ms", "-o", "json").out)
    assert [row["name"] for row in rows] == ["ILLEGAL_GENERATION"]


def test_where_it_stands_is_said() -> None:
    row = json.loads(kw("errors", "NOT_COORDINATOR", "-o", "json").out)
    assert "OffsetCommit" in row["apis_from"]["definition"]
    assert "JoinGroup" in row["apis_from"]["behaviour"]
    text = kw("errors", "16", "-o", "text", env=world(columns=80)).out
    assert "OffsetCommit," in text
    assert "JoinGroup*" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    for words in ((), ("-1",), ("--grep", "a")):
        out = kw("errors", *words, "-o", "text", env=world(columns=columns)).out
        assert max(map(len, out.splitlines())) <= columns


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            0,
            """\
NONE · error code 0
  meaning      no error
  returned by  any API whose answer has an error code
  also called  NO_ERROR""",
        ),
        (
            67,
            """\
INVALID_PRINCIPAL_TYPE · error code 67
  meaning      the principal type is not supported here
  remedy       use the principal type User
  retriable    no: clients report it
  returned by  CreateDelegationToken*
  * from the behaviour of brokers; the others are listed in Kafka's definitions""",
        ),
        (
            -195,
            """\
_TRANSPORT · error code -195
  meaning      the connection to a broker failed or was lost; librdkafka connects again
  returned by  no broker: librdkafka makes it itself
  also called  ERR__TRANSPORT, RD_KAFKA_RESP_ERR__TRANSPORT""",
        ),
    ],
)
def test_all_that_is_said_of_a_code(code: int, lines: str) -> None:
    assert "\n".join(error_description_lines(make_error_row(code), None, PLAIN)) == lines


def test_a_list_of_codes_says_of_each_whether_clients_send_again() -> None:
    rows = [make_error_row(code) for code in (3, 67, -195)]
    assert list(error_list_lines(rows, None, PLAIN)) == [
        "code  name                        retry  meaning",
        "   3  UNKNOWN_TOPIC_OR_PARTITION  yes    "
        "this broker does not know the topic or partition, or the client may not see it",
        "  67  INVALID_PRINCIPAL_TYPE      no     the principal type is not supported here",
        "-195  _TRANSPORT                  no     "
        "the connection to a broker failed or was lost; librdkafka connects again",
    ]
    assert list(error_list_lines([], None, PLAIN)) == []


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        # The least of all its columns; below it goes the one that says least.
        (
            69,
            [
                "code  name                  retry  meaning",
                "  67  INVALID_PRINCIPAL_T…  no     the principal type is not",
                "                                   supported here",
            ],
        ),
        (
            60,
            [
                "code  name                  meaning",
                "  67  INVALID_PRINCIPAL_T…  the principal type is not",
                "                            supported here",
            ],
        ),
    ],
)
def test_a_list_of_codes_in_narrow_terminals(width: int, lines: list[str]) -> None:
    rows = [make_error_row(3), make_error_row(67)]
    head, *rest = error_list_lines(rows, width, PLAIN)
    assert [head, *rest[-2:]] == lines


def test_a_code_in_a_narrow_terminal() -> None:
    assert list(error_description_lines(make_error_row(67), 50, PLAIN)) == [
        "INVALID_PRINCIPAL_TYPE · error code 67",
        "  meaning      the principal type is not supported",
        "               here",
        "  remedy       use the principal type User",
        "  retriable    no: clients report it",
        "  returned by  CreateDelegationToken*",
        "  * from the behaviour of brokers; the others are",
        "  listed in Kafka's definitions",
    ]


def test_a_cause_that_a_line_of_a_log_tells() -> None:
    causes = [Finding("no connection", "nothing took it", "is the broker running and the port right?", "kw call x")]
    assert list(cause_lines(causes, 40, PLAIN)) == [
        "no connection",
        "  meaning  nothing took it",
        "  remedy   is the broker running and the",
        "           port right?",
        "  next     kw call x",
    ]
    assert list(cause_lines([Finding("lost", "", "look")], 40, PLAIN)) == ["lost", "  remedy  look"]
