"""The examples of the README and of the handbook show what the program prints."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir
from itertools import takewhile
from pathlib import Path

import click
import pytest

import decoders
from kwcli.main import kw as program
from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world
from tests.help.reading import README, ROOT, TEXTS, block, python_of

TOUR = str(ROOT / "captures" / "tour.pcapng")


def squeezed(line: str) -> str:
    """A line without the width of its columns, and without the duration of the run."""
    return re.sub(r" · [\d.]+ s$", "", " ".join(line.split()))


def test_the_tour_shows_real_lines_in_their_order() -> None:
    outcome = kw("sniff", TOUR, "-o", "text", env=world(columns=100, variables={"COLUMNS": "100"}))
    assert outcome.code == Exit.DONE
    _, *shown = map(squeezed, block(README, "$ kw sniff captures/tour.pcapng"))
    printed = [squeezed(line) for line in (outcome.out + outcome.err).splitlines()]
    places = [printed.index(line) for line in shown if line != "…"]
    assert len(places) > 10
    assert places == sorted(places)


def test_the_record_is_one_of_the_tour() -> None:
    shown = json.loads("".join(block(TEXTS["record"], '{"kind":"exchange"')))
    printed = [json.loads(line) for line in kw("sniff", TOUR, "-o", "ndjson").out.splitlines()]
    assert shown in printed
    assert list(shown) == list(printed[printed.index(shown)])


@pytest.mark.parametrize("text", [README, TEXTS["library"]], ids=["README", "library"])
def test_the_library_example_runs(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(python_of(text), "example", "exec"), {})
    *produced, body, versions = capsys.readouterr().out.splitlines()
    assert any(line.startswith("checkout-7 ") and " zstd " in line for line in produced)
    assert body.startswith("{'topics': None, 'allow_auto_topic_creation': True, ")
    assert versions == str(decoders.api("fetch").versions)


def test_what_decode_prints_is_what_is_shown() -> None:
    text = TEXTS["hex"] + TEXTS["decode"]
    commands = re.findall(r"^\$ kw (decode .*)$", text, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        words = shlex.split(command)
        env = world(columns=80 if "hex" in words else 100, terminal=True, variables={"NO_COLOR": "1"})
        assert kw(*words, env=env).out.rstrip().splitlines() == block(text, f"$ kw {command}")[1:]
    record = json.loads("".join(block(text, '{"kind":"message"')))
    assert record == json.loads(kw("decode", commands[0].split()[-1]).out)
    structure = json.loads("".join(block(text, '{"kind":"structure"')))
    given = next(command for command in commands if "--as" in command)
    assert structure == json.loads(kw(*shlex.split(given), "-o", "ndjson").out)


def test_what_stats_prints_is_what_is_shown() -> None:
    text = TEXTS["stats"]
    commands = re.findall(r"^\$ kw (stats .*)$", text, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        words = [str(ROOT / word) if word.startswith("captures/") else word for word in shlex.split(command)]
        env = world(columns=100, terminal=True, variables={"NO_COLOR": "1"})
        assert kw(*words, env=env).out.rstrip().splitlines() == block(text, f"$ kw {command}")[1:]
    record = json.loads("".join(block(text, '{"kind":"statistics"')))
    assert record == json.loads(kw("stats", TOUR, "--api", "fetch", "-o", "ndjson").out)


def test_what_doctor_prints_is_what_is_shown() -> None:
    text = TEXTS["doctor"]
    env = world(columns=100, terminal=True, variables={"NO_COLOR": "1"})
    tour = "captures/tour.pcapng"
    with chdir(ROOT):
        assert kw("doctor", tour, env=env).out.rstrip().splitlines() == block(text, "$ kw doctor")[1:]
        record = json.loads("".join(block(text, '{"kind":"finding"')))
        assert record in map(json.loads, kw("doctor", tour, "-o", "ndjson").out.splitlines())


def test_what_audit_prints_is_what_is_shown() -> None:
    text = TEXTS["audit"]
    env = world(columns=100, terminal=True, variables={"NO_COLOR": "1"})
    old = str(ROOT / "captures" / "old-clients.pcap.gz")
    assert kw("audit", old, "--target", "4.0", env=env).out.rstrip().splitlines() == block(text, "$ kw audit")[1:]
    record = json.loads("".join(block(text, '{"kind":"audit"')))
    assert record == json.loads(kw("audit", TOUR, "--target", "4.0", "-o", "ndjson").out.splitlines()[0])


def test_what_audit_prints_of_security_is_what_is_shown() -> None:
    text = TEXTS["audit"]
    env = world(columns=100, terminal=True, variables={"NO_COLOR": "1"})
    raw, gssapi = "captures/sasl-raw.pcap", "captures/sasl-gssapi.pcap.gz"
    shown = block(text, "$ kw audit captures/sasl-raw.pcap --security\n")[1:]
    with chdir(ROOT):
        assert kw("audit", raw, "--security", env=env).out.rstrip().splitlines() == shown
        record = json.loads("".join(block(text, '{"kind":"security"')))
        assert record == json.loads(kw("audit", gssapi, "--security", "-o", "ndjson").out.splitlines()[0])


@pytest.mark.parametrize(
    ("topic", "chosen"),
    [
        ("clients", ("--client-id", "ledger")),
        ("groups", ("--name", "fraud")),
        ("transactions", ("--name", "ledger")),
        ("topics", ("--topic", "order")),
        ("brokers", ("--name", "1")),
    ],
)
def test_what_portraits_print_is_what_is_shown(topic: str, chosen: tuple[str, str]) -> None:
    text = TEXTS[topic]
    for command in re.findall(r"^\$ kw (.*)$", text, re.MULTILINE):
        words = [str(ROOT / word) if word.startswith("captures/") else word for word in shlex.split(command)]
        env = world(columns=100, terminal=True, variables={"NO_COLOR": "1"})
        assert kw(*words, env=env).out.rstrip().splitlines() == block(text, f"$ kw {command}\n")[1:]
    record = json.loads("".join(block(text, '{"kind":')))
    assert record == json.loads(kw(topic, TOUR, *chosen, "-o", "ndjson").out.splitlines()[0])


def test_what_logins_print_is_what_is_shown() -> None:
    text = TEXTS["logins"]
    commands = re.findall(r"^\$ kw (.*)$", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        words = [str(ROOT / word) if word.startswith("captures/") else word for word in shlex.split(command)]
        assert kw(*words).out.rstrip().splitlines() == block(text, f"$ kw {command}\n")[1:]


def test_the_quick_start_of_the_pipeline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "captures").symlink_to(ROOT / "captures")
    text = TEXTS["pipeline"]
    (command,) = re.findall(r"^\$ kw (pipeline run .*)$", text, re.MULTILINE)
    outcome = kw(*shlex.split(command))
    assert outcome.code == Exit.DONE
    assert list(map(measured, outcome.err.splitlines())) == list(map(measured, block(text, f"$ kw {command}")[1:]))
    exec(compile(python_of(text), "example", "exec"), {})
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == block(
        text, "              count  median "
    )


def measured(line: str) -> str:
    """A line without a duration and without compressed sizes, which depend on the library."""
    return re.sub(r", [\d.]+[kM]?B\b|[\d.]+ s$", "", line)


def told() -> list[str]:
    """Every command line in the README, the handbook, and the help of every command, that can be typed as it is."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", "\n".join(TEXTS.values()), re.MULTILINE | re.DOTALL)
    shells = [re.sub(r"\\\n *", " ", text) for kind, text in blocks if kind in ("", "sh")]
    lines = [line.removeprefix("$ ") for text in shells for line in text.splitlines()]
    lines += [line.strip() for each in every(program) for line in (each.epilog or "").splitlines()]
    return sorted({line for line in lines if re.match(r"(sudo )?kw [a-z]", line) and "…" not in line})


def every(command: click.Command) -> Iterator[click.Command]:
    """A command and all its subcommands, at any depth."""
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from every(below)


@pytest.mark.parametrize("line", told())
def test_every_command_that_is_shown_is_one(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    command: click.Command | None = program
    lexer = shlex.shlex(line.removeprefix("sudo "), posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    words = [*takewhile(lambda word: word not in ("|", ">", "<", "&&", ";"), lexer)]
    name, *rest = words
    # As the program does it: a command keeps the names of its help option from the first use.
    ctx = click.Context(program, info_name=name, obj=world(), **program.context_settings)
    while isinstance(command, click.Group):
        if command.invoke_without_command and not set(rest[:1]) & set(command.commands):
            break
        name, *rest = rest
        parent = ctx
        command = command.get_command(parent, name)
        if isinstance(command, click.Group):
            ctx = click.Context(command, parent, info_name=name)
    assert command is not None
    command.make_context(name, rest, parent=parent)


def test_what_audit_prints_of_advisories_is_what_is_shown() -> None:
    text = TEXTS["advisories"]
    env = world(columns=100, terminal=True, variables={"NO_COLOR": "1"})
    words = ("audit", "captures/sasl-gssapi.pcap.gz", "--advisories", "--client-id", "producer-1")
    with chdir(ROOT):
        assert kw(*words, env=env).out.rstrip().splitlines() == block(text, "$ kw audit captures/sasl-gssapi")[1:]
        record = json.loads("".join(block(text, '{"kind":"advisory"')))
        rows = [json.loads(line) for line in kw(*words, "-o", "ndjson").out.splitlines()]
    assert record in rows
