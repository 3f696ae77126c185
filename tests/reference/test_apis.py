"""`kw apis`: its JSON, its text at every width, its refusals."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

from decoders.apis import KEYS, api
from decoders.protocol_facts.kafka_releases import RELEASES, api_versions_of_release
from decoders.protocol_facts.request_routing import route_of_api
from kwcli.help.handbook_pages import read_page
from kwcli.reference.api_rows import find_apis_and_fields
from kwcli.reference.api_text import format_release_range
from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world
from tests.help.reading import block

PAGES = read_page("apis") + read_page("errors")
ESCAPES = re.compile(r"\x1b\[[\d;]*m")


def rows(*words: str) -> Any:
    outcome = kw("apis", *words, "-o", "json")
    assert (outcome.code, outcome.err) == (Exit.DONE, "")
    return json.loads(outcome.out)


def text(*words: str, columns: int | None = None, terminal: bool = False, **variables: str) -> str:
    env = world(columns=columns, terminal=terminal, variables=variables)
    outcome = kw("apis", *words, "-o", "text", env=env)
    assert (outcome.code, outcome.err) == (Exit.DONE, "")
    return outcome.out


def test_the_list_holds_every_api_with_its_versions_in_every_release() -> None:
    listed = rows()
    assert [row["key"] for row in listed] == list(KEYS)
    for row in listed:
        found = api(row["key"])
        assert (row["name"], row["was"]) == (found.name, list(found.was))
        assert row["versions"] == [found.versions.low, found.versions.high]
        assert row["flexible_from"] == (found.flexible.low if found.flexible else None)
        assert row["listeners"] == list(found.listeners)
        where = route_of_api(found.key)
        assert (row["sent_by"], row["mutates"], row["to"]) == (list(where.sent_by), where.mutates, where.to)
        assert row["releases"] == {
            release: [api_versions_of_release(release)[found.key].low, api_versions_of_release(release)[found.key].high]
            for release in RELEASES
            if found.key in api_versions_of_release(release)
        }
        assert row["since"] == next(iter(row["releases"]))
        assert row["until"] == (None if RELEASES[-1] in row["releases"] else list(row["releases"])[-1])
    assert [json.loads(line) for line in kw("apis").out.splitlines()] == listed


def field(row: dict[str, Any], path: str) -> dict[str, Any]:
    """The field at a path such as `response.responses.partitions.snapshot_id`."""
    side, *names = path.split(".")
    among = row[side]
    for name in names:
        found: dict[str, Any] = next(one for one in among if one["name"] == name)
        among = found["fields"]
    return found


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("request.max_bytes", {"versions": "3+", "type": "int32", "default": 2147483647, "since": "0.10.1"}),
        ("request.replica_id", {"versions": "0-14", "since": "0.8.2", "until": None, "entity": "brokerId"}),
        ("request.cluster_id", {"nullable": "12+", "tag": 0, "tagged": "12+", "default": None, "since": "2.7"}),
        ("request.isolation_level", {"values": {"0": "read_uncommitted", "1": "read_committed"}}),
        ("request.topics.topic_id", {"versions": "13+", "since": "3.1", "default": "A" * 22}),
        ("request.topics.topic", {"versions": "0-12", "was": ["name"], "until": None}),
        ("response.responses.partitions.snapshot_id", {"versions": "12+", "tag": 2, "since": "2.8"}),
        ("response.responses.partitions.records", {"type": "records", "nullable": "0+"}),
    ],
)
def test_a_field_of_the_tree(path: str, expected: dict[str, Any]) -> None:
    found = field(rows("Fetch"), path)
    assert {word: found[word] for word in expected} == expected


def test_a_field_that_went_with_its_versions_says_until_when() -> None:
    found = field(rows("ListOffsets"), "request.topics.partitions.max_num_offsets")
    assert (found["since"], found["until"]) == ("0.8.2", "3.9")


@pytest.mark.parametrize("word", ["AlterPartition", "alter-isr", "ALTER_PARTITION", "56"])
def test_an_api_goes_by_every_name(word: str) -> None:
    assert rows(word)["name"] == "AlterPartition"


def test_a_release_shows_apis_by_their_names_and_versions_of_then() -> None:
    listed = rows("--release", "2.8")
    assert [row["key"] for row in listed] == sorted(api_versions_of_release("2.8"))
    assert rows("--release", "2.8.1") == listed
    then = rows("AlterPartition", "--release", "3.1")
    assert (then["name"], then["versions"]) == ("AlterIsr", [0, 0])
    assert field(then, "response.topics.partitions.current_isr_version")["versions"] == "0+"
    shown = text("--release", "4.1")
    assert re.search(r"^ *22 +InitProducerId +0-6\*", shown, re.MULTILINE)
    assert "unstable" in shown


def test_an_early_layout_is_shown_when_asked_for() -> None:
    early = rows("EndQuorumEpoch", "0", "--release", "2.7")
    stable = rows("EndQuorumEpoch", "0")
    assert stable["early"] == ["2.7"]
    assert early["early"] == []
    assert early["request"] != stable["request"]
    assert early["response"] == stable["response"]
    assert "kw apis EndQuorumEpoch 0 --release 2.7" in text("EndQuorumEpoch", "0")
    assert "kw apis EndQuorumEpoch 0 --release 2.7" in text("EndQuorumEpoch")


def test_a_version_of_one_release_names_it_once() -> None:
    assert (format_release_range("4.4", "4.4"), format_release_range("3.9", "4.4")) == ("4.4", "3.9–4.4")
    assert text("Fetch", "4").splitlines()[0].endswith(f" · Kafka 0.11.0–{RELEASES[-1]}")


def test_headers_belong_to_the_layout() -> None:
    row = rows("ApiVersions", "3")
    assert [row[side]["header_version"] for side in ("request", "response")] == [2, 0]
    assert [one["name"] for one in row["response"]["header"]] == ["correlation_id"]
    assert row["request"]["header"][0]["constant"] == 18
    assert row["request"]["header"][1]["constant"] == 3


def test_grep_finds_names_and_older_names() -> None:
    found = rows("--grep", "LeaderEpoch")
    assert {row["api"] for row in found} > {"Fetch", "Metadata", "OffsetForLeaderEpoch"}
    places = [(row["api"], row["side"], row["path"]) for row in found]
    assert ("Fetch", "request", "topics[].partitions[].current_leader_epoch") in places
    assert ("OffsetForLeaderEpoch", None, None) in places
    older = [row for row in rows("--grep", "zk_version") if row["path"]]
    assert [row["was"] for row in older if row["path"].endswith("partition_epoch")] == ["zk_version"] * 2
    assert rows("--grep", "no such thing") == []
    assert "nothing is called" in text("--grep", "no such thing")


def test_a_difference_of_one_api() -> None:
    whole = rows("--diff", "3.9", "4.0")
    one = rows("Vote", "--diff", "3.9", "4.0")
    assert one["changed"] == [row for row in whole["changed"] if row["name"] == "Vote"]
    assert one["appeared"] == one["gone"] == []
    nothing = rows("--diff", "4.0", "4.0")
    assert (nothing["appeared"], nothing["gone"], nothing["changed"]) == ([], [], [])


def test_a_difference_of_two_versions() -> None:
    row = rows("Fetch", "--diff", "12", "13")
    assert (row["from"], row["to"], row["flexible"]) == (12, 13, [True, True])
    assert [(one["side"], one["change"], one["path"]) for one in row["fields"]] == [
        (side, change, f"{place}[].{name}")
        for side, places in (("request", ("topics", "forgotten_topics_data")), ("response", ("responses",)))
        for change, name in (("added", "topic_id"), ("removed", "topic"))
        for place in places
    ]
    assert text("Fetch", "--diff", "11", "12", columns=80).startswith("Fetch 11 → 12 · now flexible\n    request")
    assert text("Fetch", "--diff", "12", "12").endswith("the same fields\n")
    assert kw("apis", "Fetch", "--diff", "12", "99").err == f"kw: Fetch has versions {api('Fetch').versions}, not 99\n"


def test_the_errors_of_an_api() -> None:
    row = rows("TxnOffsetCommit")
    assert "INVALID_TXN_STATE" in row["errors"]["definition"]
    assert "CONCURRENT_TRANSACTIONS" in row["errors"]["behaviour"]
    shown = text("TxnOffsetCommit", columns=80)
    assert "INVALID_TXN_STATE," in shown
    assert "CONCURRENT_TRANSACTIONS*" in shown


def test_a_difference_may_go_back() -> None:
    back = rows("--diff", "4.0", "3.9")
    assert [row["name"] for row in back["appeared"]] == [
        "LeaderAndIsr",
        "StopReplica",
        "UpdateMetadata",
        "ControlledShutdown",
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["Fetchh"], "kw: no API has the name 'Fetchh' (did you mean \"Fetch\"?)"),
        (["Fetch", "99"], f"kw: Fetch has versions {api('Fetch').versions}, not 99\n"),
        (["Fetch", "0", "--release", "4.0"], "kw: Fetch has versions 4-17 in 4.0, not 0\n"),
        (["LeaderAndIsr", "--release", "4.0"], "kw: Kafka 4.0 has no LeaderAndIsr: it is in 0.9.0 to 3.9\n"),
        (
            ["UnregisterController", "--release", "4.0"],
            "kw: Kafka 4.0 has no UnregisterController: it is in 4.4",
        ),
        (["--release", "5.0"], "kw: no release 5.0; kw knows 0.8.2 to "),
        (["--diff", "3.9", "9.9"], "kw: no release 9.9; kw knows 0.8.2 to "),
        (["--diff", "3.9", "4.0", "--grep", "a"], "kw: --diff and --grep do not go together; see"),
        (["Fetch", "--grep", "a"], "kw: --grep does not go with an API; see"),
        (["Fetch", "3", "--diff", "3.9", "4.0"], "kw: --diff does not go with a version; see"),
        (["Fetch", "x"], "kw: 'x' is no version of Fetch: write 18, v18 or latest"),
    ],
)
def test_what_is_refused(words: list[str], line: str) -> None:
    outcome = kw("apis", *words)
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert outcome.err.startswith(line)


SHOWN = [
    (),
    ("--release", "3.9"),
    ("--grep", "leader"),
    ("--diff", "2.3", "2.4"),
    ("--diff", "4.3", "4.4"),
    *((name,) for name in ("Fetch", "DescribeConfigs", "StreamsGroupHeartbeat", "LeaderAndIsr", "ApiVersions")),
    *((name, str(api(name).versions.high)) for name in ("Fetch", "Metadata", "ConsumerGroupDescribe", "Envelope")),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_text_fits_and_says_the_same_without_colours(words: tuple[str, ...]) -> None:
    for columns in (80, 100, 200):
        coloured = text(*words, "--color", "always", columns=columns)
        plain = text(*words, columns=columns, terminal=True, NO_COLOR="1")
        assert ESCAPES.sub("", coloured) == plain != coloured
        assert max(map(len, plain.splitlines())) <= columns
        assert all(line == line.rstrip() for line in plain.splitlines())


@pytest.mark.one_in(5)
@pytest.mark.parametrize("key", KEYS)
def test_every_field_is_in_the_text_at_80_columns(key: int) -> None:
    """Every field has a line with its name, versions and type."""
    shown = text(str(key), columns=80).splitlines()

    def check(among: list[dict[str, Any]], depth: int) -> None:
        for one in among:
            start = "  " * (depth + 1) + one["name"] + " "
            lines = [line for line in shown if line.startswith(start)]
            assert any(line.split()[1:3] == [one["versions"], one["type"]] for line in lines), (start, lines)
            check(one["fields"], depth + 1)

    row = rows(str(key))
    check(row["request"], 0)
    check(row["response"], 0)


@pytest.mark.parametrize("command", re.findall(r"^\$ (kw (?:apis|errors) .*|kw apis)$", PAGES, re.MULTILINE))
def test_the_handbook_shows_what_is_printed(command: str) -> None:
    words = shlex.split(command)[1:]
    printed = kw(*words, "-o", "text", env=world(columns=80)).out.splitlines()
    shown = [line for line in block(PAGES, f"$ {command}\n")[1:] if line != "…"]
    assert len(shown) > 3
    assert printed[: len(shown)] == shown


@pytest.mark.parametrize(
    ("word", "api_name", "was"),
    [
        ("AlterIsr", "AlterPartition", "AlterIsr"),
        ("alter_isr", "AlterPartition", "AlterIsr"),
        ("alterpart", "AlterPartition", None),
        # Both names hold it: the older one is not worth a word.
        ("listoffset", "ListOffsets", None),
        ("PREFERRED-LEADERS", "ElectLeaders", "ElectPreferredLeaders"),
    ],
)
def test_an_older_name_is_said_where_it_alone_matches(word: str, api_name: str, was: str | None) -> None:
    (row,) = (row for row in find_apis_and_fields(word) if row["side"] is None and row["api"] == api_name)
    assert (row["path"], row["type"], row["was"]) == (None, None, was)


@pytest.mark.parametrize(
    ("word", "path", "was"),
    [
        ("topic_data", "topic_data", None),
        ("topicdata", "topic_data", None),
        ("topics", "topic_data", "topics"),
        ("partition_index", "topic_data[].partition_data[].index", "partition_index"),
        ("partitionINDEX", "topic_data[].partition_data[].index", "partition_index"),
    ],
)
def test_an_older_name_of_a_field_is_said_where_it_alone_matches(word: str, path: str, was: str | None) -> None:
    (row,) = (
        row for row in find_apis_and_fields(word) if (row["key"], row["side"], row["path"]) == (0, "request", path)
    )
    assert row["was"] == was
