"""The program as a whole: help, version, exit codes, one line for every error, a quick start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

import kwcli.commands.sniff  # noqa: F401  # its module is extended
from kwcli import VERSION
from kwcli.main import COMMANDS
from kwcli.main import kw as program
from kwcli.options import FilterOptions, filter_options
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw, world

ROOT = Path(__file__).resolve().parents[2]

# The modules that `kw --help` may import besides those of the interpreter and click: none that takes long.
START_UP = {"kwcli", "kwcli.main", "kwcli.run_environment"}
# Libraries that no command may load before it needs them.
HEAVY = {"rich", "scapy", "orjson", "numpy", "pyspark", "zstandard", "lz4", "asyncio", "ssl", "decoders"}
# What may be loaded of the library of decoders: its front, which loads the rest when it is used, named tuples, and the
# words for "did you mean".
LIGHT = {"decoders", "decoders.named_tuple", "decoders.wire", "decoders.wire.suggest_similar_words"}


def loaded_by(*words: str) -> set[str]:
    """The modules that `kw WORDS…` has loaded when it ends."""
    code = (
        "import sys; from kwcli.run_environment import Environment; from kwcli.main import run;"
        f"run({list(words)!r}, Environment.of_process()); sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def heavy(modules: set[str]) -> set[str]:
    """The modules that are not to be loaded before they are needed."""
    return {name for name in modules - LIGHT if name.split(".")[0] in HEAVY}


def test_help_loads_no_command_and_no_library() -> None:
    modules = loaded_by("--help")
    assert {name for name in modules if name.split(".")[0] == "kwcli"} == START_UP
    assert heavy(modules) == set()


# The modules of kwcli that completing a command or an option may import, besides those of the commands on the line.
COMPLETING = {
    *START_UP,
    *("kwcli.user_folders", "kwcli.completion", "kwcli.completion.complete", "kwcli.completion.completion_candidates"),
    "kwcli.completion.half_typed_command_line",
}


@pytest.mark.long
@pytest.mark.parametrize("shell", [["bash", " ="], ["fish", ""], ["zsh", ""]], ids=lambda words: words[0])
def test_a_tab_loads_the_command_of_the_line_and_no_library(shell: list[str]) -> None:
    installed = loaded_by("--help")  # an editable installation loads some of its own

    def tab(line: str) -> set[str]:
        modules = loaded_by("__complete", *shell, *([f"kw {line}"] if shell[0] == "bash" else line.split(" ")))
        slow = {"pathlib", "dataclasses", "subprocess", "uuid", "socket", "hashlib"}
        assert not (modules - installed) & slow, line
        light = {"kwcli.completion.bash_quoting", "kwcli.output", "kwcli.output.output_settings"}
        return {name for name in modules if name.split(".")[0] == "kwcli"} - light

    assert tab("sni") == COMPLETING
    assert heavy(loaded_by("__complete", *shell, "kw sni")) == set()
    assert "kwcli.commands.sniff" in tab("sniff --col")
    assert not {name for name in tab("sniff --col") if name.startswith(("kwcli.sniff", "kwcli.output", "kwcli.net"))}
    assert not {name for name in tab("errors NOT_") if name.startswith(("kwcli.reference.", "kwcli.net"))}
    assert not {name for name in tab("call Metadata topics[].n") if name.startswith(("kwcli.calling", "kwcli.output"))}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["apis", "Produce", "13"], False),
        (["call", "Metadata", "--dry-run"], False),
        (["apis", "Produce", "13", "--about"], True),
        (["call", "Metadata", "--skeleton"], True),
    ],
)
def test_what_fields_mean_is_loaded_when_it_is_shown(words: list[str], shown: bool) -> None:
    assert ("kwcli.reference.field_descriptions" in loaded_by(*words)) == shown


@pytest.mark.parametrize("output", ["text", "ndjson"])
def test_rows_are_written_without_the_schema_of_their_attributes(output: str) -> None:
    loaded = loaded_by("sniff", str(ROOT / "captures" / "tour.pcapng"), "-o", output)
    assert "decoders.exchanges.exchange_attribute_table" in loaded
    assert "decoders.exchanges.exchange_attribute_schemas" not in loaded
    # A class that it makes costs as much as the decoding of a hundred exchanges; orjson loads it for its own use.
    assert output == "ndjson" or "dataclasses" not in loaded


@pytest.mark.one_in(4)
@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_help_of_a_command_loads_no_library(command: str) -> None:
    assert heavy(loaded_by(command, "--help")) == TABLES_OF_OPTIONS.get(command, set())


# The options of these commands say what is in a table of the library, which loads nothing else.
TABLES_OF_OPTIONS = {
    "stats": {"decoders.analysis", "decoders.analysis.dimension_and_metric_table", "decoders.analysis.time_slices"},
}


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help_with_two_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert kw(command, "--help").code == Exit.DONE
    examples = capsys.readouterr().out.partition("Examples:")[2]
    assert sum(f"kw {command}" in line for line in examples.splitlines()) >= 2


def test_the_list_of_commands_says_what_each_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert kw("--help").code == Exit.DONE
    text = capsys.readouterr().out
    for name, (_, line) in COMMANDS.items():
        assert f"{name} " in text
        assert line in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert kw("--version").code == Exit.DONE
    assert capsys.readouterr().out == f"kw {VERSION}\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["snif"], "kw: no such command 'snif' (did you mean kw sniff?); see kw --help\n"),
        (["--wat"], "kw: no such option '--wat'; see kw --help"),
        (["completion", "tcsh"], "kw: invalid value for '[bash|zsh|fish]': 'tcsh' is not one of"),
    ],
)
def test_a_usage_error_is_one_line_and_code_2(words: list[str], line: str) -> None:
    outcome = kw(*words)
    assert outcome.code == Exit.USAGE
    assert outcome.out == ""
    assert outcome.err.startswith(line)
    assert outcome.err.count("\n") == 1


def test_without_words_the_help_is_shown() -> None:
    outcome = kw()
    assert outcome.code == Exit.USAGE
    assert outcome.out == ""
    assert "Commands:" in outcome.err


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (Failure("x.pcap: no such file"), Exit.FAILURE, "kw: x.pcap: no such file\n"),
        (Failure("nobody there", Exit.UNREACHABLE), Exit.UNREACHABLE, "kw: nobody there\n"),
        (KeyError("topics"), Exit.FAILURE, "kw: defect: KeyError: 'topics' (--debug shows where)\n"),
        (RuntimeError("a\nb"), Exit.FAILURE, "kw: defect: RuntimeError: a\\nb (--debug shows where)\n"),
        (KeyboardInterrupt(), Exit.INTERRUPTED, ""),
        (BrokenPipeError(), Exit.DONE, ""),
    ],
)
def test_whatever_a_command_raises_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: Exit, line: str
) -> None:
    def fail(*_words: object, **_options: object) -> None:
        raise raised

    monkeypatch.setattr(program, "main", fail)
    outcome = kw("anything")
    assert (outcome.code, outcome.out, outcome.err) == (code, "", line)


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object, **_options: object) -> None:
        raise KeyError("topics")

    monkeypatch.setattr(program, "main", fail)
    env = world()
    env.debug = True
    outcome = kw("anything", env=env)
    assert outcome.code == Exit.FAILURE
    assert "Traceback" in outcome.err
    assert outcome.err.endswith("kw: defect: KeyError: 'topics'\n")


@pytest.mark.parametrize("words", [["--debug", "apis"], ["apis", "--debug"]], ids=" ".join)
def test_debug_stands_before_the_command_or_behind_it(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object, **_options: object) -> None:
        raise KeyError("topics")

    monkeypatch.setattr("kwcli.reference.show_reference.show_apis", fail)
    outcome = kw(*words)
    assert outcome.code == Exit.FAILURE
    assert outcome.err.startswith("Traceback")


def test_a_diagnostic_cannot_command_the_terminal() -> None:
    env = world()
    env.report("kw: \x1b[2Jx\udcff.pcap")
    assert env.stderr.getvalue() == b"kw: \\x1b[2Jx\\xff.pcap\n"  # type: ignore[attr-defined]  # a BytesIO


def test_every_command_is_a_click_command() -> None:
    ctx = click.Context(program)
    assert all(isinstance(program.get_command(ctx, name), click.Command) for name in COMMANDS)
    assert program.get_command(ctx, "nonsense") is None


def test_errors_all_is_understood_by_every_command_that_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new command with the options of filters takes `--errors all` without being listed anywhere."""
    taken: list[FilterOptions] = []

    @click.command("newcomer")
    @filter_options()
    def newcomer(filters: FilterOptions) -> None:
        taken.append(filters)

    monkeypatch.setattr(sys.modules["kwcli.commands.sniff"], "newcomer", newcomer, raising=False)
    monkeypatch.setitem(COMMANDS, "newcomer", ("commands.sniff:newcomer", "A command that filters."))
    assert kw("newcomer", "--errors", "all").code == Exit.DONE
    assert kw("newcomer", "--errors").code == Exit.DONE
    assert [(each.errors, each.errors_all) for each in taken] == [(False, True), (True, False)]
