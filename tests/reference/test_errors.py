"""`kw errors`: every code is explained, found in any spelling, and said to be unknown when it is."""

from __future__ import annotations

import json
import re
import zipfile

import pytest

from decoders import read_exchanges
from decoders.apis import api
from decoders.apis.error_codes import ERRORS
from decoders.apis.remedies import REMEDIES
from decoders.apis.returned import GENERIC, LISTED, OBSERVED
from kwcli.env import Exit
from tests.captures.shipped import CLEAN, capture_bytes
from tests.cli.worlds import kw, world
from tests.reference.jars import release_jars

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
    assert {key: set(names.split()) for key, names in LISTED.items()} == found


@pytest.mark.parametrize("table", [LISTED, OBSERVED])
def test_the_tables_name_real_errors_and_apis_once(table: dict[int, str]) -> None:
    for key, text in table.items():
        names = text.split()
        assert len(set(names)) == len(names), api(key).name
        assert set(names) <= NAMES, api(key).name
        if table is OBSERVED:
            assert not set(names) & set(LISTED.get(key, "").split()), api(key).name
            assert not set(names) & set(GENERIC), api(key).name


@pytest.mark.parametrize("name", CLEAN)
def test_what_brokers_answered_in_captures_is_in_the_tables(name: str) -> None:
    for exchange in read_exchanges(capture_bytes(name)):
        for error in exchange.errors:
            assert exchange.api_key is not None
            known = f"{LISTED.get(exchange.api_key, '')} {OBSERVED.get(exchange.api_key, '')}".split()
            assert error.name in (*known, *GENERIC), (exchange.api, error)


def test_every_error_but_none_has_a_remedy() -> None:
    assert set(REMEDIES) == set(ERRORS) - {0}
    assert len(set(REMEDIES.values())) > 120


def test_the_list_in_json_is_every_code() -> None:
    rows = json.loads(kw("errors", "-o", "json").out)
    assert [row["code"] for row in rows] == sorted(ERRORS)
    assert all([*row] == ["code", "name", "retriable", "meaning", "remedy", "apis", "apis_from"] for row in rows)
    assert all(row["apis"] or row["name"] in UNUSED for row in rows)


# Clients make them themselves, no broker of today answers them, or nothing is known.
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
    ],
)
def test_an_error_is_found_in_any_spelling(word: str, codes: list[int]) -> None:
    outcome = kw("errors", word, "-o", "ndjson")
    assert outcome.code == Exit.DONE
    assert [json.loads(line)["code"] for line in outcome.out.splitlines()] == codes


@pytest.mark.parametrize("word", ["137", "-2", "NOT_A_CODE", "…", "32768"])
def test_an_unknown_code_is_said_to_be_unknown(word: str) -> None:
    outcome = kw("errors", word, "-o", "json")
    assert (outcome.code, outcome.out) == (Exit.FAILURE, "")
    assert outcome.err.startswith(f"kw: no error '{word}' is known")
    assert outcome.err.count("\n") == 1


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
