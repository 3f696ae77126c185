"""Command lines of `kw proxy` as people type them who know other tools: one line says what to write instead."""

from __future__ import annotations

import re
import shlex

import pytest

from kwcli.other_tools_hints import GROUP_COMMANDS, MISSING, OPTIONS
from kwcli.proxy.deciding.control.ctl_commands import command
from kwcli.proxy.deciding.faults.parse_rule import parse_rule
from tests.cli.worlds import kw

HINTS = {
    "--latency 100ms": "no such option '--latency': --fault 'delay 100ms' delays requests",
    "--daemon": "no such option '--daemon': it runs until Ctrl-C: put & behind it, or --run CMD",
    "--fail-on-errors": "no such option '--fail-on-errors': kw proxy ctl wait FILTER waits for an exchange",
    "--error 6": "no such option '--error': --fault 'error 6, rate 5%, when api == Produce'",
    "--fault": "option '--fault' requires an argument: --fault 'delay 200ms, when api == Fetch' (kw help faults)",
    "ctl status": "no such command 'status': connections, listeners, faults and held show it",
    "ctl clear": "no such command 'clear': unfault all ends all faults, unhold all all rules that hold",
    "ctl reset": "no such command 'reset': unfault all ends all faults, unhold all all rules that hold",
    "ctl shutdown": "no such command 'shutdown': stop ends the proxy",
    "ctl unfault x": "'x' is no number of a rule: write its ID, or all",
}


@pytest.mark.parametrize("line", HINTS)
def test_one_line_says_what_to_write(line: str) -> None:
    ran = kw("proxy", *shlex.split(line))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert HINTS[line] in ran.err


def test_rules_in_hints_are_rules() -> None:
    texts = [*MISSING.values(), *(text for table in OPTIONS["proxy"] for text in table.values())]
    rules = [rule for text in texts for rule in re.findall(r"--fault '([^']*)'", text)]
    assert len(rules) >= 3
    for rule in rules:
        parse_rule(rule)


def test_hints_for_commands_of_a_group_name_commands_that_there_are() -> None:
    for text in GROUP_COMMANDS["proxy ctl"].values():
        assert text.split()[0].strip(",") in command.commands
