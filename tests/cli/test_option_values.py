"""What each option of a command that reads captures does with values of all kinds, as a checksum for each.

`python -m tests.cli.test_option_values` writes option_values.txt again: the command, the option with a value; how
it ended, the first line that it says is wrong, and checksums of both outputs. An option that is new has no row before.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import chdir
from itertools import cycle
from pathlib import Path
from shutil import copy
from typing import Final

import click
import pytest

from kwcli.main import kw as program
from kwcli.options import OUTPUT_VARIABLE
from tests.captures.shipped import FOLDER
from tests.cli.worlds import kw, world
from tests.listed_answers import checksum_of, drop_duration, read_answers, write_answers

FILE: Final = Path(__file__).with_name("option_values.txt")
CAPTURES: Final = (
    *("first-steps.pcapng", "faults/sent-twice.pcap.zst", "values/confluent-avro.pcapng.zst", "telemetry.pcapng"),
    *("transactions/last-attempts.pcap.zst", "faults/records-corrupt.pcap.zst"),
)
# Command → what it is given besides captures; 2: two captures.
COMMANDS: Final = {
    **dict.fromkeys(("sniff", "stats", "clients", "groups", "transactions", "topics", "brokers", "doctor"), ""),
    "trace": "orders/0@0-3",
    "audit": "--target 4.0",
    "report": "-o md",
    "scrub": "-w out.pcap",
    "diff": "2",
    "apis": "Fetch",
    "errors": "6",
    "encode": "Metadata 12",
    "decode": "--explain 369295617",
}
# Options that wait for more, reach for the network, or say how fast they were.
LEFT_OUT: Final = frozenset(
    f"--{name}"
    for name in (
        *("follow", "interface", "watch", "metrics", "otlp", "names-from", "help", "jobs", "hosts", "bootstrap-server"),
        *("profile", "bootstrap-controller", "dial-map", "connect-timeout", "command-config", "restart", "listen"),
    )
) | {"-J"}
VALUES: Final = (
    *("0", "1", "-1", "2", "x", "", "10ms", "1s", "99999999999999999999", "1.5", "a,b", "latency", "all", "client"),
    *("api==Fetch", "Produce", "orders", "text", "json", "csv", "17:00", "2026-11-21", "5%", "4.0", "1k", "/none"),
    "topic,api",
)


def list_rows() -> Iterator[str]:
    """Command, words and capture of each row: every option with some of the values, all of them in turn."""
    values, captures = cycle(VALUES), cycle(CAPTURES)
    for command, besides in COMMANDS.items():
        for option in program.get_command(click.Context(program), command).params:  # type: ignore[union-attr]
            if not isinstance(option, click.Option) or option.hidden or not LEFT_OUT.isdisjoint(option.opts):
                continue
            name = max(option.opts, key=len)
            flag = option.is_flag or option.count
            for _ in range(1 if flag else 3):
                words = name if flag else f"{name}={next(values)}"
                yield f"{command} {next(captures)} · {besides} · {words}"


def describe_answer(row: str, folder: Path) -> str:
    command_line, besides, words = row.split(" · ")
    command, capture = command_line.split()
    name = "a" + "".join(Path(capture).suffixes)
    copy(FOLDER / capture, folder / name)
    files = [] if command in ("apis", "errors", "encode", "decode") else [name] * (2 if besides == "2" else 1)
    given = ["out" + "".join(Path(capture).suffixes[:1]) if word == "out.pcap" else word for word in besides.split()]
    with chdir(folder):
        text = world(variables={OUTPUT_VARIABLE: "text"})
        done = kw(command, *files, *([] if besides == "2" else given), words, env=text)
    out, err = map(drop_duration, (done.out, done.err))
    wrong = next((line for line in err.splitlines() if line.startswith("kw: ")), "-")[:70].strip()
    return f"{done.code} {wrong} {checksum_of(out)} {checksum_of(err)}"


LISTED: Final = read_answers(FILE)


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=[] if at % 30 == 7 else [pytest.mark.long]) for at, row in enumerate(LISTED)]
)
def test_an_option_does_with_a_value_what_it_did(row: str, tmp_path: Path) -> None:
    assert describe_answer(row, tmp_path) == LISTED[row], "where it is meant: python -m tests.cli.test_option_values"


if __name__ == "__main__":
    answers = []
    for its_row in list_rows():
        with tempfile.TemporaryDirectory() as its_folder:
            answers.append((its_row, describe_answer(its_row, Path(its_folder))))
    write_answers(FILE, answers)
