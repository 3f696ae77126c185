"""The text of rules: their meaning, and the place of a mistake; files of rules, presets, reading again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kwcli.proxy.deciding.faults.decide_by_fault_rules import warn_about_rules
from kwcli.proxy.deciding.faults.fault_options import FaultOptions
from kwcli.proxy.deciding.faults.parse_rule import ACTIONS, RuleError, parse_rule
from kwcli.proxy.deciding.faults.rule_files import RuleFiles, list_presets, parse_rules_of_file
from kwcli.run_environment import Failure
from tests.help.reading import TEXTS

GOOD: dict[str, tuple[str, str, dict[str, Any]]] = {
    "error NOT_LEADER_OR_FOLLOWER": ("error", "request", {"code": 6}),
    "ERROR 6 After": ("error after", "answer", {"code": 6}),
    "lose answer": ("lose answer", "answer", {}),
    "lose  answer then close": ("lose answer", "answer", {"close": True}),
    "delay 1.5s": ("delay", "request", {"time_ns": 1_500_000_000}),
    "delay 100ms+-20ms answer": ("delay", "answer", {"time_ns": 100_000_000, "spread_ns": 20_000_000}),
    "delay 1s, when error": ("delay", "answer", {"time_ns": 10**9}),
    "throttle 2s mute": ("throttle", "answer", {"time_ns": 2 * 10**9, "mute": True}),
    "close": ("close", "request", {}),
    "close, when latency > 1s": ("close", "answer", {}),
    "reset, when topic == a": ("reset", "request", {}),
    "cut 10": ("cut", "answer", {"size": 10, "rate": 10}),
    "slice 1kB": ("slice", "answer", {"size": 1000, "rate": 1000}),
    "slow 10kB/s": ("slow", "answer", {"size": 10_000, "rate": 10_000}),
    "blackhole, when node.id == 1": ("blackhole", "request", {}),
    "refuse, when client == 10.0.0.0/8": ("refuse", "connection", {}),
    "leader -1": ("leader", "answer", {"node": -1}),
    "no such topic, when topic in (a, b)": ("no such topic", "request", {}),
    "rewrite request.acks=0": ("rewrite", "request", {"value": 0}),
    "rewrite response.topics[0].name='a, b'": ("rewrite", "answer", {"value": "a, b"}),
    "rewrite response.cluster_id=null": ("rewrite", "answer", {"value": None}),
}


@pytest.mark.parametrize("text", GOOD)
def test_what_a_rule_says(text: str) -> None:
    rule = parse_rule(text)
    name, side, wanted = GOOD[text]
    assert (rule.action.name, rule.side) == (name, side)
    said: dict[str, Any] = {key: value for key, value in rule.arguments._asdict().items() if value and key != "path"}
    assert said == {key: value for key, value in wanted.items() if value}


NAMES = ", ".join(action.name for action in ACTIONS)
BAD = {
    "": (1, "the action is missing"),
    "  clsoe": (3, "there is no action 'clsoe'"),
    "drop 10%": (1, f"there is no action 'drop', write lose answer; actions are {NAMES}"),
    "delay=100ms": (1, "write delay 100ms: a space, no '='"),
    "produce: NOT_LEADER_OR_FOLLOWER 50%": (1, f"there is no action 'produce:': {NAMES}"),
    "error 6 when api == Produce": (9, "a comma is missing before 'when'"),
    "error 6 first 2 when api == Produce": (9, "a comma is missing before 'first'"),
    "error 6 after 3": (9, "a comma is missing before 'after'"),
    "error 6 after, first 2 when api == Produce": (24, "a comma is missing before 'when'"),
    "close when api in (Produce, Fetch)": (7, "a comma is missing before 'when'"),
    "delay 1s rate 5%": (10, "a comma is missing before 'rate'"),
    "lose answer every 3": (13, "a comma is missing before 'every'"),
    "rewrite request.acks=0 when api == Produce": (24, "a comma is missing before 'when'"),
    "error": (6, "write error NAME"),
    "error NOT_LEADER": (7, "no error has the name 'NOT_LEADER'"),
    "error 0": (7, "NONE is no error"),
    "error 6 after that": (15, "write error after NAME after: leave 'that' out"),
    "close now": (7, "'close' takes no 'now'"),
    "lose answer later": (13, "write lose answer [then close]: leave 'later' out"),
    "delay soon": (7, "'soon' is no duration: write 250us, 100ms or 2m; 1.5 is seconds"),
    "delay 10ms±20ms": (7, "20ms around 10ms would be less than zero"),
    "delay 10ms both": (12, "it is the request or the answer that is delayed, not 'both'"),
    "cut": (4, "write cut N"),
    "slice 0": (7, "it has to be 1 byte or more"),
    "slow fast": (6, "'fast' is no size: write 512, 10kB or 1MiB"),
    "leader one": (8, "'one' is no node: write its number, or -1 for none"),
    "rewrite acks=0": (9, "write rewrite request.PATH=VALUE or rewrite response.PATH=VALUE"),
    "rewrite request.nothing=0": (9, "no request has a field 'nothing'"),
    "throttle 30000h": (10, "throttle_time_ms has room for 24 days"),
    "close,": (6, "a limit or a filter is missing behind this comma"),
    "close, frist 3": (8, "'frist' is no limit: first, every, rate, after, for, or when FILTER"),
    "close, first": (8, "write first N"),
    "close, first 0": (14, "'0' is no count: write first N"),
    "close, rate 10": (13, "'10' is no share: write rate 10%"),
    "close, rate 101%": (13, "'101%' is no share: write rate 5%"),
    "close, for ever": (12, "'ever' is no duration: write 250us, 100ms or 2m; 1.5 is seconds"),
    "close, first 1, first 2": (17, "there is a second 'first'"),
    "close, when": (12, "the filter is missing"),
    "close, when tpic == a": (13, "there is no field 'tpic'"),
    "close, when api == Produse": (20, "no API has the name 'Produse'"),
    "close, when (api == Produce": (13, "this parenthesis is not closed"),
    "error 6, when error == 3": (15, "error is not known yet when the request comes, which is when this happens"),
    "error 6, when api == Fetch and throttle > 1": (
        32,
        "response.throttle_time_ms is not known yet when the request comes, which is when this happens",
    ),
    "delay 1s request, when latency > 1s": (
        24,
        "latency is not known yet when the request comes, which is when this happens",
    ),
    "refuse, when api == Produce": (14, "api is not known yet when a client connects, which is when this happens"),
    "close, when status == complete": (13, "status is not known to faults"),
    "close, when user == alice": (13, "user is not known to faults"),
}


@pytest.mark.parametrize("text", BAD)
def test_where_a_bad_rule_is_wrong(text: str) -> None:
    with pytest.raises(RuleError) as found:
        parse_rule(text)
    assert (found.value.column, found.value.text) == BAD[text]


def test_a_filter_may_have_commas_and_a_value_the_word_when() -> None:
    rule = parse_rule("rewrite request.group_id='a, when b', first 1, when api in (Heartbeat, JoinGroup)")
    assert rule.arguments.value == "a, when b"
    assert rule.filter.may_pass_api(12)
    assert not rule.filter.may_pass_api(0)


def test_names_of_actions_are_told_apart() -> None:
    assert len({action.name for action in ACTIONS}) == len(ACTIONS)


def test_lines_of_a_file() -> None:
    rules = parse_rules_of_file("# one\n\n  close, first 1\r\n\treset\n", "f")
    assert [rule.text.strip() for rule in rules] == ["close, first 1", "reset"]
    with pytest.raises(Failure) as failure:
        parse_rules_of_file("close\n\n  clsoe, first 1\n", "f")
    assert failure.value.text == "f:3:3: there is no action 'clsoe' (did you mean \"close\"?)"


@pytest.mark.parametrize("name", list_presets())
def test_presets_can_be_read_and_say_what_they_are(name: str) -> None:
    found = list_presets()[name]
    assert found.about
    assert parse_rules_of_file(found.text, name)


def test_all_presets_are_there() -> None:
    names = "auth-expiry flaky-network leader-election lost-acks rebalance-storm rolling-restart slow-broker"
    assert list(list_presets()) == names.split()


def test_a_file_is_read_again_when_it_changed_and_a_bad_one_leaves_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules"
    file.write_text("close, first 1\nreset\n")
    rules = RuleFiles(["delay 1s"], [str(file)], 1, lambda: 1)
    said: list[str] = []

    def look(text: str) -> list[str]:
        file.write_text(text)
        os.utime(file, ns=(len(text), len(text)))
        for _ in range(3):
            rules.read_changed_files(said.append)
        found, said[:] = list(said), []
        return found

    def titles() -> list[tuple[int, str]]:
        return [(each.number, each.rule.title) for each in rules.faults.counted_rules]

    assert titles() == [(1, "delay 1s"), (2, "close"), (3, "reset")]
    assert look("close, first 1\nblackhol\n") == [
        f"{file}:2:1: there is no action 'blackhol' (did you mean \"blackhole\"?); the old rules stay in force"
    ]
    assert titles() == [(1, "delay 1s"), (2, "close"), (3, "reset")]
    assert look("blackhole\nclose, first 1\nduplicate answer\n") == [
        f"{file} was read again: 3 rules",
        "'duplicate answer' breaks the protocol: clients may react in any way",
    ]
    assert titles() == [(1, "delay 1s"), (4, "blackhole"), (2, "close"), (5, "duplicate answer")]
    file.unlink()
    rules.read_changed_files(said.append)
    assert said == [f"{file}: No such file or directory; the old rules stay in force"]


def test_rules_are_added_and_removed_while_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "rules"
    file.write_text("reset\n")
    rules = RuleFiles(["delay 1s"], [str(file)], 1, lambda: 1)

    def listed() -> list[tuple[int, str]]:
        return [(row["id"], row["rule"]) for row in rules.list_rows()]

    assert rules.add_rule("close, first 1") == {"id": 3, "rule": "close, first 1", "met": 0, "hit": 0}
    assert rules.add_rule("close, first 1")["id"] == 3  # it is there already
    assert rules.add_rule("reset")["id"] == 2
    assert listed() == [(1, "delay 1s"), (2, "reset"), (3, "close, first 1")]
    assert not rules.remove_rule(4)
    for number in (2, 3, 1):
        assert rules.remove_rule(number)
        assert not rules.remove_rule(number)
    assert listed() == []
    # Rules of the command line, of a file and of nobody can come back.
    for rule, number in (("delay 1s", 4), ("reset", 5), ("close, first 1", 6)):
        assert rules.add_rule(rule)["id"] == number
    assert listed() == [(4, "delay 1s"), (5, "reset"), (6, "close, first 1")]
    file.write_text("reset\nblackhole\n")
    rules.read_changed_files(lambda _line: None)
    assert [rule for _, rule in listed()] == ["delay 1s", "reset", "blackhole", "close, first 1"]
    with pytest.raises(RuleError):
        rules.add_rule("clsoe")


@pytest.mark.parametrize(
    ("rules", "names", "text"),
    [
        (["clsoe"], [], "--fault: column 1: there is no action 'clsoe' (did you mean \"close\"?)"),
        (["close", "cut x"], [], "--fault 2: column 5: 'x' is no size: write 512, 10kB or 1MiB"),
        ([], ["/nonexistent/rules"], "/nonexistent/rules: No such file or directory"),
        ([], ["preset:lost-ack"], "--faults: there is no preset 'lost-ack' (did you mean \"lost-acks\"?)"),
    ],
)
def test_what_is_wrong_is_said_before_anything_begins(rules: list[str], names: list[str], text: str) -> None:
    with pytest.raises(Failure) as failure:
        RuleFiles(rules, names, 1, lambda: 1)
    assert failure.value.text == text


def test_a_seed_is_for_faults_that_are_there_or_may_come() -> None:
    with pytest.raises(Failure, match=r"--seed is for faults: it needs --fault, --faults or --control"):
        FaultOptions((), (), 7).read_rules(lambda: 1)
    later = FaultOptions((), (), 7).read_rules(lambda: 1, controlled=True)
    assert later is not None
    assert (later.seed, later.list_rows()) == (7, [])


def test_the_handbook_has_every_action_and_preset() -> None:
    page = TEXTS["faults"]
    assert [action.name for action in ACTIONS if f"`{action.name}" not in page and action.name != "error after"] == []
    assert [name for name in list_presets() if f"| `{name}` |" not in page] == []


NOTED: dict[str, list[str]] = {
    "close": [],
    "duplicate answer": ["'duplicate answer' breaks the protocol: clients may react in any way"],
    "error 6": ["'error 6' closes the connection instead: where an answer has no field for it, or there is no answer"],
    "error 27, when api == Heartbeat": [],
    "error 6, when api == Produce": [
        "'error 6' closes the connection instead: where acks=0, since that Produce is never answered"
    ],
    "error 72 after, when api == Heartbeat": [
        "'error 72 after': brokers are not known to answer Heartbeat with this error (kw errors)"
    ],
}


@pytest.mark.parametrize("text", NOTED)
def test_what_is_said_of_a_rule_at_the_start(text: str) -> None:
    assert warn_about_rules([parse_rule(text)]) == NOTED[text]
