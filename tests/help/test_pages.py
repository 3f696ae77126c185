"""The handbook: every page is a topic, every option of every command is on a page, and `kw help` shows them."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

import kwcli.help
from decoders.analysis.dimension_and_metric_table import METRICS
from decoders.analysis.read_dimension_values import DIMENSIONS
from decoders.filters import FIELDS
from kwcli.help.handbook_pages import ALIASES, TOPICS, describe_topic, read_page
from kwcli.main import COMMANDS
from kwcli.main import kw as program
from kwcli.output import FORMATS
from kwcli.pipeline.tables.table_columns import ALL_TABLES, TABLES_VERSION
from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world
from tests.help.reading import README, ROOT, TEXTS, options_in

FOLDER: Final = Path(kwcli.help.__file__).parent
# Pages with a command's options besides its own page.
SHARED: Final = ("options", "connect", "columns")
MORE: Final = {"call": ("produce-fetch", "words"), "mock": ("proxy",), "proxy": ("scripts", "control")}
# Options of other programs in examples, such as tcpdump.
FOREIGN: Final = {
    *("--inject-secrets", "--tls-keylog", "--immediate-mode", "--describe", "--list", "--rm", "--net", "--image"),
    *("--target", "--python", "--for", "--podname", "--pf", "--reset-offsets"),
}
# Pages with command lines of the project's own programs.
OF_PROGRAMS: Final = {"contributing", "changes"}


def every(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all its subcommands, at any depth, with the words that call them."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from every(below, (*path, name))


COMMAND_ROWS: Final = [row for row in every(program) if row[0]]


def test_every_page_is_a_topic_and_every_topic_a_page() -> None:
    assert sorted(TOPICS) == sorted(path.stem for path in FOLDER.glob("*.md"))
    assert len(set(TOPICS)) == len(TOPICS)
    assert set(ALIASES.values()) <= set(TOPICS)
    assert not set(ALIASES) & set(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_begins_with_its_topic(topic: str) -> None:
    assert read_page(topic).startswith(f"# {topic}: ")
    assert describe_topic(topic)


def test_every_command_has_a_page() -> None:
    assert set(COMMANDS) - {"help"} <= {*TOPICS, *ALIASES}


@pytest.mark.parametrize(("path", "command"), COMMAND_ROWS, ids=[" ".join(path) for path, _ in COMMAND_ROWS])
def test_every_option_is_on_a_page(path: tuple[str, ...], command: click.Command) -> None:
    own = {ALIASES.get(word, word) for word in path} & set(TOPICS)
    told = options_in("\n".join(read_page(topic) for topic in {*own, *SHARED, *MORE.get(path[0], ())}))
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    assert [each.opts for each in options if not told & {*each.opts, *each.secondary_opts}] == []


def test_every_option_that_a_page_names_exists() -> None:
    known = {
        name for _, command in COMMAND_ROWS for each in command.params for name in (*each.opts, *each.secondary_opts)
    }
    known |= {"--help", *FOREIGN}
    wrong = {
        (topic, name)
        for topic in {*TEXTS} - OF_PROGRAMS
        for name in options_in(TEXTS[topic])
        if name.startswith("--") and name not in known
    }
    assert wrong == set()


def test_the_readme_is_one_page() -> None:
    assert len(README.splitlines()) <= 200


def test_the_columns_of_the_tables_are_those_declared() -> None:
    page = read_page("tables")
    assert f"an integer, which is {TABLES_VERSION} now" in page
    for columns in ALL_TABLES.values():
        for column in columns:
            line = f"| `{column.name}` | `{column.type}` | {'yes' if column.null else 'no'} | {column.text}"
            assert f"{line} |" in page or f"{line} (since version {column.since}; in older files " in page


def test_every_field_and_dimension_is_on_its_page() -> None:
    lacking = [f"{name}: not on the page kwcli/help/filter.md" for name in FIELDS if f"`{name}`" not in TEXTS["filter"]]
    lacking += [
        f"{name}: not on the page kwcli/help/stats.md" for name in DIMENSIONS if f"`{name}`" not in TEXTS["stats"]
    ]
    lacking += [f"{name}: not on the page kwcli/help/stats.md" for name in METRICS if f"`{name}`" not in TEXTS["stats"]]
    assert lacking == []


CONTRIBUTING: Final = read_page("contributing")
# A row of the contributors' table: a description with names in it, and its one file.
HOMES: Final = re.findall(r"^\| (.*) \| `(\S+\.py)` \|$", CONTRIBUTING, re.MULTILINE)


def test_contributors_find_every_file_that_is_named() -> None:
    """Each path occurs once, and leads to a file, or to several if it has a `<word>`."""
    files = re.findall(r"`([\w<>./-]+\.py)`", CONTRIBUTING)
    assert len(files) > 20
    assert sorted(files) == sorted({*files})
    assert [path for path in files if not [*ROOT.glob(re.sub(r"<\w+>", "*", path))]] == []
    folders = re.findall(r"(?<![\w/])tests/[\w/]+", CONTRIBUTING)
    assert len(folders) > 10
    assert [path for path in folders if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists()] == []
    modules = re.findall(r"python -m ((?:kwcli|tests)\.[\w.]+)|`(tests\.bench\.\w+)`", CONTRIBUTING)
    paths = [(one or other).replace(".", "/") for one, other in modules]
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists()] == []


@pytest.mark.parametrize("name", FORMATS)
def test_the_pages_list_every_format(name: str) -> None:
    assert f"| `{name}`" in read_page("columns"), "the table of formats in kwcli/help/columns.md"
    (formats,) = re.findall(r"^\| `-o (\S+)` \|", read_page("sniff"), re.MULTILINE)
    assert name in formats.split("\\|"), "the row of -o in kwcli/help/sniff.md"


def test_contributors_find_every_table_in_its_file() -> None:
    wrong = [
        f"{path} has no {name}"
        for what, path in HOMES
        for name in re.findall(r"`([A-Z]+)`", what)
        if not re.search(rf"^{name}\b.* = ", (ROOT / path).read_text(), re.MULTILINE)
    ]
    assert wrong == []
    tables = {name for what, _ in HOMES for name in re.findall(r"`([A-Z]+)`", what)}
    used = set(re.findall(r"`([A-Z]{4,})`", CONTRIBUTING))
    assert used - tables == set(), "named on the page, and in no file of it"
    assert tables - set(re.findall(r"`([A-Z]+)`", CONTRIBUTING.partition("## Adding")[2])) <= {"FORMS"}


# -- kw help -----------------------------------------------------------------------------------------------------------


def test_topics_are_listed() -> None:
    outcome = kw("help")
    assert (outcome.code, outcome.err) == (Exit.DONE, "")
    assert [line.split()[0] for line in outcome.out.splitlines()[: len(TOPICS)]] == list(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_in_a_pipe_is_its_markdown(topic: str) -> None:
    assert kw("help", topic) == (Exit.DONE, read_page(topic), "")


@pytest.mark.one_in(6)
@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_on_a_terminal_is_laid_out(topic: str) -> None:
    outcome = kw("help", topic, env=world(columns=80, terminal=True, variables={"NO_COLOR": "1"}))
    assert (outcome.code, outcome.err) == (Exit.DONE, "")
    assert topic in outcome.out.splitlines()[0]
    code = "".join(re.findall(r"```\w*\n(.*?)```", read_page(topic), re.DOTALL))
    assert outcome.out.count("| --- |") == code.count("| --- |")  # code stays as it is
    assert "\x1b" not in outcome.out
    examples = {f"  {line}".rstrip() for line in read_page(topic).splitlines()}
    assert [line for line in outcome.out.splitlines() if len(line) > 80 and line not in examples] == []


@pytest.mark.one_in(6)
@pytest.mark.parametrize("topic", TOPICS)
def test_colours_are_those_that_a_terminal_is_given(topic: str) -> None:
    out = kw("help", topic, "--color", "always", env=world(columns=100, terminal=True)).out
    assert re.search(r"\\u001b[\[\]]", out) is None  # no code is shown as text
    codes = set(re.findall(r"\x1b\[[^a-z]*[a-z]", out))
    assert codes
    assert codes <= {"\x1b[0m", "\x1b[1m", "\x1b[2m", *(f"\x1b[3{number}m" for number in range(1, 7))}


@pytest.mark.parametrize(("word", "topic"), ALIASES.items())
def test_other_words_for_a_topic(word: str, topic: str) -> None:
    assert kw("help", word).out == read_page(topic)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("help", "filters"), Exit.USAGE, "kw: no topic 'filters' (did you mean \"filter\"?)"),
        (("help", "--search", "zebra crossing"), Exit.FAILURE, "kw: no page of the handbook holds 'zebra crossing'"),
        (("help", "sniff", "--search", "x"), Exit.USAGE, "kw: give a topic or --search, not both"),
    ],
)
def test_what_is_not_there(words: tuple[str, ...], code: int, said: str) -> None:
    outcome = kw(*words)
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith(said)
    assert outcome.err.count("\n") == 1


def test_a_word_is_found() -> None:
    found = kw("help", "--search", "SSLkeylogfile").out.splitlines()
    assert {line.partition(":")[0] for line in found} >= {"connect", "proxy", "options"}
    assert all("SSLKEYLOGFILE" in line for line in found)


@pytest.mark.parametrize(("words", "paged"), [((), True), (("--no-pager",), False)])
def test_a_terminal_gets_a_pager(words: tuple[str, ...], paged: bool, tmp_path: Path) -> None:
    """The pager runs, and reads the whole page."""
    seen = tmp_path / "seen"
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {seen}\n")
    pager.chmod(0o755)
    first, second = pty.openpty()
    try:
        run = [sys.executable, "-m", "kwcli.main", "help", "exit-codes", *words]
        variables = {**os.environ, "PAGER": str(pager), "COLUMNS": "80", "NO_COLOR": "1"}
        assert subprocess.run(run, stdin=second, stdout=second, env=variables).returncode == Exit.DONE
    finally:
        os.close(second)
        os.close(first)
    assert seen.exists() is paged
    if paged:
        assert "authentication refused" in seen.read_text()
