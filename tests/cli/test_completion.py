"""Completion scripts: the files in `completions/` are what `kw completion` prints, and real shells run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from decoders import apis
from decoders.apis import KEYS, api
from decoders.protocol_facts.enum_words import ENUMS
from decoders.protocol_facts.errors.error_codes import ERRORS
from decoders.protocol_facts.kafka_releases import RELEASES
from decoders.schema.api_declaration import parse_api
from kwcli.completion import SHELLS, __main__, cluster_names
from kwcli.completion.__main__ import FILES
from kwcli.completion.completion_candidates import LIMIT_VARIABLE
from kwcli.completion.request_body_words import list_leaf_fields
from kwcli.main import COMMANDS
from kwcli.main import kw as program
from tests.cli.shells import COMPLETIONS, ROOT, Answer, ask
from tests.cli.worlds import kw, world

# Lines and bytes of a script: what a candidate is, is not known to it.
LINES = 45
LARGEST = 2_500


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shipped_script_is_what_the_command_prints(shell: str) -> None:
    text = (COMPLETIONS / FILES[shell]).read_text()
    assert text == kw("completion", shell).out, "`python -m kwcli.completion write` writes the files anew"
    assert (len(text.splitlines()) <= LINES, len(text.encode()) <= LARGEST) == (True, True)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_new_api_error_or_command_changes_no_script(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names, fields and options are not in the scripts: kw is asked for them."""
    before, declared = kw("completion", shell).out, apis._parse_declaration
    made = parse_api("api 95 AlterTeapot\nversions 0\nflexible 0\nrequest\n    short_and_stout bool 0+\n")
    monkeypatch.setattr(apis, "_parse_declaration", lambda key: made if key == 95 else declared(key))
    monkeypatch.setitem(apis.NAMES, 95, "alter_teapot")
    monkeypatch.setitem(apis._BY_NAME, "alterteapot", 95)
    monkeypatch.setitem(ERRORS, 999, ERRORS[1]._replace(name="TEAPOT_IS_SHORT"))
    monkeypatch.setitem(COMMANDS, "brew", ("commands.call", "Brew."))
    assert kw("completion", shell).out == before
    for line, word in (
        ("kw call altert", "AlterTeapot"),
        ("kw apis alter-teapot ", "0"),
        ("kw call AlterTeapot sh", "short_and_stout="),
        ("kw call AlterTeapot short_and_stout:=t", "true"),
        ("kw errors TEA", "TEAPOT_IS_SHORT"),
        ("kw br", "brew"),
    ):
        answer = kw("__complete", "bash", " =:", line, env=world(variables={LIMIT_VARIABLE: "30"})).out
        assert word in answer.splitlines(), line


def test_the_command_writes_what_is_missing_or_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(__main__, "FOLDER", tmp_path)
    assert CliRunner().invoke(__main__.main, ["write"]).exit_code == 0
    written = {name: (tmp_path / name).read_text() for name in FILES.values()}
    (tmp_path / "_kw").write_text("old")
    (tmp_path / "kw.bash").unlink()
    done = CliRunner().invoke(__main__.main, ["write"])
    assert (done.exit_code, done.output) == (0, "written: completions/kw.bash\nwritten: completions/_kw\n")
    assert {name: (tmp_path / name).read_text() for name in FILES.values()} == written


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_parse_their_script(shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell} on the PATH")
    done = subprocess.run([found, "-n", str(COMPLETIONS / FILES[shell])], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


class Row(NamedTuple):
    """The line typed, the candidates (as a set, or their number), and the line that comes of it."""

    typed: str
    offered: set[str] | int
    line: str | None = None


ROWS = [
    Row("kw comp", {"completion"}, "kw completion "),
    Row("kw --ver", {"--version"}, "kw --version "),
    Row("kw help fil", {"filter"}, "kw help filter "),
    Row("kw completion z", {"zsh"}, "kw completion zsh "),
    Row("kw sniff --color ", {"auto", "always", "never"}),
    Row("kw sniff --color=al", {"always"}, "kw sniff --color=always "),
    Row("kw sniff --api Incr", {"IncrementalAlterConfigs"}, "kw sniff --api IncrementalAlterConfigs "),
    # API names, in any case; versions of the API that was named, in any spelling.
    Row("kw call ", len(KEYS)),
    Row("kw call find", {"FindCoordinator"}, "kw call FindCoordinator "),
    Row("kw apis Vote ", {"0", "1", "2"}),
    Row("kw encode list-offsets 1", {"1", "10", "11"}),
    Row("kw encode ListOffset 11", {"11"}, "kw encode ListOffset 11 "),
    Row("kw call Vote --api-version ", {"0", "1", "2"}),
    Row("kw apis Nonsense ", set()),
    # Paths of the request, with and without indices; options and their values may come before the API.
    Row("kw call Metadata allow", {"allow_auto_topic_creation="}, "kw call Metadata allow_auto_topic_creation="),
    Row("kw call -b host:9092 --records 3 topics[].n", {"topics[].name="}),
    Row("kw call Metadata topics[0].to", {"topics[0].topic_id="}),
    Row("kw encode Metadata 12 topics[].", {"topics[].name=", "topics[].topic_id="}),
    Row("kw call produce he", {"header="}, "kw call produce header="),
    Row("echo x | A=1 kw call --timeout=5 'Metadata' client_id=a topics[].n", {"topics[].name="}),
    Row("kw call Metadata 'topics[0].n", {"topics[0].name="}),
    # Values of a field.
    Row("kw call Fetch isolation_level=", {"0", "1"}),
    Row("kw call Metadata allow_auto_topic_creation=t", {"true"}),
    Row("kw call DescribeConfigs resources[0].resource_type=3", {"32"}),
    Row("kw call find_coordinator key_type:=2", {"2"}),
    Row("kw call Heartbeat group_id=@da", {"data.bin"}),
    Row("kw sniff da", {"data.bin"}, "kw sniff data.bin "),
    # Columns of tables and dimensions of statistics.
    Row("kw stats --by t", {"topic", "time"}),
    Row("kw stats --by part", {"partition"}, "kw stats --by partition "),
    Row("kw stats --sort p9", {"p90", "p95", "p99"}),
    Row("kw sniff -f part", {"partition"}),
    Row("kw stats --filter unde", {"undecoded", "undecoded_side"}),
    Row("kw stats --metric th", {"throttle"}, "kw stats --metric throttle "),
    Row("kw pipeline r", {"report", "run"}),
    Row("kw pipeline run da", {"data.bin"}, "kw pipeline run data.bin "),
    Row("kw pipeline run --tables ", {"exchanges", "topic_partitions", "connections", "skipped"}),
    Row("kw pipeline run --engine st", {"stitch"}, "kw pipeline run --engine stitch "),
    Row("kw pipeline report --target 4.", {release for release in RELEASES if release.startswith("4.")}),
    # Errors, releases, profiles.
    Row("kw errors ", len(ERRORS)),
    Row("kw errors not_l", {"NOT_LEADER_OR_FOLLOWER"}, "kw errors NOT_LEADER_OR_FOLLOWER "),
    Row("kw apis --release 2.", {f"2.{minor}" for minor in range(9)}),
    Row("kw apis --diff 3.9 4.", {release for release in RELEASES if release.startswith("4.")}),
    Row("kw call --profile p", {"prod"}, "kw call --profile prod "),
    Row("kw call Metadata --profile ", {"prod", "test"}),
    Row("kw decode --api Vote --version ", {"0", "1", "2"}),
    Row("kw decode --version 1", 0),
    Row("kw decode da", {"data.bin"}, "kw decode data.bin "),
    Row("kw profile sh", {"show"}, "kw profile show "),
    Row("kw profile show ", {"prod", "test"}),
    Row("kw profile import new da", {"data.bin"}),
    Row("kw profile remove --h", {"--help"}),
    Row("kw profile ren", {"rename"}, "kw profile rename "),
    Row("kw vers", {"version"}, "kw version "),
    # Candidates that kw itself gives: properties, filters,
    Row("kw call -X secur", {"security.protocol="}, "kw call -X security.protocol="),
    Row("kw call -X sasl.user", {"sasl.username="}, "kw call -X sasl.username="),
    Row("kw call -X security.protocol=SASL_", {"SASL_PLAINTEXT", "SASL_SSL"}),
    Row("kw call -X security.protocol=SASL_S", {"SASL_SSL"}, "kw call -X security.protocol=SASL_SSL "),
    Row("kw call --property sasl.mechanism=G", {"GSSAPI"}, "kw call --property sasl.mechanism=GSSAPI "),
    Row("kw call -X ssl.ca.location=da", {"data.bin"}, "kw call -X ssl.ca.location=data.bin "),
    Row("kw proxy -X lis", {"list"}, "kw proxy -X list "),
    Row("kw profile add new sasl.user", {"sasl.username="}),
    Row("kw sniff -f lat", {"latency", "latency_ms"}, "kw sniff -f latency"),
    Row("kw sniff -f 'api == Heartb", {"Heartbeat"}, "kw sniff -f 'api == Heartbeat' "),
    Row("kw sniff -f 'partition", {"==", "!=", "<", "<=", ">", ">=", "like", "~", "!~", "in", "and", "or"}),
    Row("kw stats x --filter='api == Heartb", {"Heartbeat"}),
    Row('kw sniff -f "not api == Heartb', {"Heartbeat"}),
    Row("kw sniff -f 'status == un", {"unanswered", "undecoded"}, "kw sniff -f 'status == un"),
    Row("kw sniff -f 'error == NOT_L", {"NOT_LEADER_OR_FOLLOWER"}),
    Row("kw sniff -f 'response.topics.num", {"response.topics.num_partitions"}),
    Row("kw proxy --faults da", {"data.bin"}, "kw proxy --faults data.bin "),
    Row("kw proxy --faults preset:leader", {"leader-election"}, "kw proxy --faults preset:leader-election "),
    Row(
        "kw proxy --faults preset:r",
        {"rolling-restart", "rebalance-storm"},
        "kw proxy --faults preset:r",
    ),
    Row("kw proxy --fault 'bla", {"blackhole"}, "kw proxy --fault 'blackhole' "),
    Row("kw proxy --fault 'error NOT_L", {"NOT_LEADER_OR_FOLLOWER"}),
    Row("kw proxy --fault 'delay 1s, first 3, when api == Heartb", {"Heartbeat"}),
    Row("kw proxy ctl fault 'bla", {"blackhole"}, "kw proxy ctl fault 'blackhole' "),
    Row("kw proxy ctl unfault a", {"all"}, "kw proxy ctl unfault all "),
    *(Row(f"kw proxy ctl {name} 'api == Heartb", {"Heartbeat"}) for name in ("hold", "wait")),
    Row("kw sniff x --columns time,lat", {"time,latency", "time,latency_ms"}),
    Row("kw sniff x --columns time,client_s", {"time,client_software"}, "kw sniff x --columns time,client_software "),
    Row("kw sniff x -o fields -e request.topics[].num", {"request.topics[].num_partitions"}),
    Row("kw stats x -o fields -e cl", 0),
    # and names of the cluster.
    Row("kw call -b host:1 produce topic=", {"orders", "payments"}, "kw call -b host:1 produce topic="),
    Row("kw call -b host:1 produce topic=o", {"orders"}, "kw call -b host:1 produce topic=orders "),
    Row("kw call -b host:1 Metadata topics[].name=p", {"payments"}),
    Row("kw call Metadata topics[0].name=p -b host:1 topics[1].name=o", {"orders"}),
    Row("kw call OffsetCommit -b host:1 group_id=", {"billing"}),
    Row("kw call -b host:1 --node ", {"any", "all", "controller", "coordinator:", "txn:", "leader:"} | {"1", "2"}),
    Row("kw call -b host:1 --node co", {"controller", "coordinator:"}),
    Row("kw call -b host:1 --node 2", {"2"}, "kw call -b host:1 --node 2 "),
    Row("kw call -b host:1 --node leader:o", {"orders-0"}, "kw call -b host:1 --node leader:orders-0 "),
    Row("kw call -b host:1 --node coordinator:", {"billing"}),
    # Another cluster, which is not there: no candidate, and no message.
    Row("kw call -b 127.0.0.1:1 produce topic=", set()),
]
NAMES = {"topics": ["orders", "payments"], "groups": ["billing"], "nodes": ["1\thost:1", "2\thost:2"]}


@pytest.mark.long
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("answer", ["exit 1", "echo", "printf 'other\\t=\\nword\\n'"])
def test_a_program_that_answers_otherwise_is_no_error(shell: str, answer: str, tmp_path: Path) -> None:
    """An older kw knows no lines and prints nothing; a later one may have more kinds of answers."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kw").write_text(f"#!/bin/sh\n{answer}\n")
    (tmp_path / "bin" / "kw").chmod(0o755)
    variables = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    (found,) = ask(shell, ["kw encode "], tmp_path, variables)
    assert set(found.offered) <= {"word"}


@pytest.mark.parametrize("shell", [SHELLS[0], *(pytest.param(each, marks=pytest.mark.long) for each in SHELLS[1:])])
def test_a_line_runs_the_program_whose_path_it_has_and_no_other_word(shell: str, tmp_path: Path) -> None:
    for folder, word in (("bin", "plain"), ("other", "of_the_path")):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "kw"
        first = "-o nospace" if shell == "bash" else "words"
        program.write_text(f"#!/bin/sh\necho '{first}'; echo {word}\n")
        program.chmod(0o755)
    touching = tmp_path / "bin" / "touch-it"
    touching.write_text(f"#!/bin/sh\ntouch {tmp_path}/PWNED\n")
    touching.chmod(0o755)
    variables = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    lines = ["kw ", "other/kw ", "~/other/kw ", "kw '$(touch-it)' `touch-it` "]
    found = [set(answer.offered) for answer in ask(shell, lines, tmp_path, variables)]
    assert found == [{"plain"}, {"of_the_path"}, {"of_the_path"}, {"plain"}]
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash on the PATH")
@pytest.mark.parametrize("option", ["-u", "-f", "-o noclobber"])
def test_bash_completes_whatever_its_options_are(option: str, tmp_path: Path) -> None:
    keep_names(tmp_path, {"XDG_CACHE_HOME": str(tmp_path)})
    typed = "kw completion z"
    script = (
        f"set {option}; source {COMPLETIONS}/kw.bash; unset LANG LC_ALL LC_CTYPE COMP_WORDBREAKS\n"
        f"COMP_LINE='{typed}' COMP_POINT={len(typed)}; _kw kw z completion; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    variables = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path), "XDG_CACHE_HOME": "/none"}
    variables["KW_COMPLETION_LIMIT"] = "30"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=variables, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("zsh\n", "")


@pytest.mark.long
def test_fish_shows_what_a_field_means(tmp_path: Path) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("needs fish on the PATH")
    script = f"source {COMPLETIONS}/kw.fish; complete -C 'kw encode Metadata 12 topics[].n'"
    keep_names(tmp_path, {"XDG_CACHE_HOME": str(tmp_path)})
    variables = {"KW_COMPLETION_LIMIT": "30", "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run([fish, "--no-config", "-c", script], capture_output=True, text=True, env=variables, cwd=ROOT)
    assert done.stdout == "topics[].name=\tThe topic name.\n"


@pytest.fixture(
    scope="module", params=[SHELLS[0], *(pytest.param(each, marks=pytest.mark.long) for each in SHELLS[1:])]
)
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """The answers of a shell to every row, all in one session."""
    folder = tmp_path_factory.mktemp("home")
    profiles = folder / "config" / "kw" / "profiles"
    profiles.mkdir(parents=True)
    for name in ("prod", "test"):
        (profiles / f"{name}.properties").touch()
    (folder / "data.bin").touch()
    lines = [row.typed for row in ROWS]
    variables = {
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "KW_COMPLETION_LIMIT": "30",  # a busy machine completes late, and a test waits
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
    }
    keep_names(folder, variables)
    found = ask(request.param, lines, folder, variables)
    return dict(zip(lines, found, strict=True))


def keep_names(folder: Path, variables: dict[str, str]) -> None:
    """Put names of a cluster at host:1 into the cache, and a `kw` on the path that keeps them fresh."""
    env = world(variables=variables)
    for what in NAMES:
        file = Path(cluster_names.find_cache_file_of_names(env, what, cluster_names.ClusterWords(servers=("host:1",))))  # type: ignore[arg-type]
        file.write_text(json.dumps(NAMES[what]))
    program = folder / "bin" / "kw"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ntouch "$XDG_CACHE_HOME"/kw/completion/*\nexec {sys.executable} -m kwcli.main "$@"\n'
    )
    program.chmod(0o755)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.typed)
def test_a_shell_completes(answers: dict[str, Answer], row: Row) -> None:
    answer = answers[row.typed]
    offered = {plain(word, row.typed) for word in answer.offered}
    if isinstance(row.offered, int):
        assert len(offered) == row.offered
    else:
        assert offered == row.offered
    if row.line is not None and answer.line is not None:
        assert answer.line == row.line


def plain(word: str, typed: str) -> str:
    """A candidate without the shell's quotes, and without the prefix that stays (`--color=`, `acks=`, `@`)."""
    word = re.sub(r"^(['\"])(.*)\1$", r"\2", re.sub(r"\\(.)", r"\1", word))
    word = word.rpartition(" ")[2] if word.strip() else word  # the last word of a quoted expression
    stays = re.match(r".*[=@:]", re.split(r"[ '\"]", typed)[-1])
    return word.removeprefix(stays[0]).removeprefix("@") if stays else word


def test_zsh_takes_the_script_as_a_startup_file_too(tmp_path: Path) -> None:
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("needs zsh on the PATH")
    script = f"autoload -U compinit; compinit -u -D; source {COMPLETIONS}/_kw; echo $_comps[kw]"
    done = subprocess.run([zsh, "-f", "-c", script], capture_output=True, text=True, env={"HOME": str(tmp_path)})
    assert (done.stdout, done.stderr) == ("_kw\n", "")


def test_versions_and_values_are_those_of_the_declarations() -> None:
    for key in KEYS:
        found = api(key)
        for name in (str(key), found.name, *found.was):
            assert words("", "apis", name, "") == [
                str(version) for version in range(found.versions.high, found.versions.low - 1, -1)
            ]
        for path, field in list_leaf_fields(found):
            numbers = ["true", "false"] if field.kind == "bool" else map(str, ENUMS.get(field.means, ()))
            if wanted := sorted(f"{path}={number}" for number in numbers):
                assert words("", "call", found.name, f"{path}=") == wanted
                assert words("", "call", found.name, f"{path}:=") == [each.replace("=", ":=", 1) for each in wanted]


def words(state: str, *line: str, shell: str = "fish") -> list[str]:
    """The candidates of a line."""
    out = kw("__complete", shell, state, *line, env=world(variables={LIMIT_VARIABLE: "30"})).out
    return [row.partition("\t")[0] for row in out.splitlines()[1:]]


def test_arguments_that_name_apis_are_recognised_in_every_command() -> None:
    for command in ("apis", "call", "encode"):
        assert set(words("", command, "")) == {api(key).name for key in KEYS}
    assert words("", "encode", "Vote", "") == ["2", "1", "0"]
    assert words("", "encode", "Vote", "2", "vot") == ["voter_id="]
    assert words("", "call", "Vote", "vot") == ["voter_id="]


def test_every_command_and_option_is_offered() -> None:
    def check(command: click.Command, ctx: click.Context, path: tuple[str, ...]) -> int:
        shown = [param for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
        assert set(words("", *path, "-")) == {name for option in shown for name in option.opts}
        if not isinstance(command, click.Group):
            return 1
        inner = {name: command.get_command(ctx, name) for name in command.list_commands(ctx)}
        below = {name: each for name, each in inner.items() if each is not None and not each.hidden}
        assert set(words("", *path, "")) == set(below)
        return 1 + sum(
            check(each, click.Context(each, ctx, info_name=name), (*path, name)) for name, each in below.items()
        )

    assert check(program, click.Context(program, **program.context_settings), ()) > 50


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sniff --color al", ["always"]),
        ("sniff --color=al", ["--color=always"]),
        ("sniff --color always --colo", []),  # once is enough
        ("sniff --api Vote --ap", ["--api"]),
        ("sniff --api Vote --api vot", ["Vote"]),
        ("decode --api Vote --version=", ["--version=2", "--version=1", "--version=0"]),
        ("decode -vx --api=Vote --version ", ["2", "1", "0"]),
        ("call -b --help Vote --api-version ", ["2", "1", "0"]),  # --help is the value of -b
        ("call -bhost:1 Vote --api-version ", ["2", "1", "0"]),
        ("call -Xtls=true Vote vot", ["voter_id="]),
        ("call -Xsecurity.pro", ["-Xsecurity.protocol="]),
        ("call -- Vote vot", ["voter_id="]),
        ("apis --diff 3.9 4.4 Vote ", ["2", "1", "0"]),
        ("profile --debug nonsense sho", ["show"]),
        ("nonsense snif", ["sniff"]),
        ("scrub ", []),
        ("sniff --since ", []),
        ("sniff --no-such-option al", []),
        ("apis Nonsense ", []),
        ("call Nonsense t", []),
    ],
)
def test_a_line_is_read_as_click_reads_it(line: str, offered: list[str]) -> None:
    *before, word = line.split(" ")
    assert [each for each in words("", *before, word) if each.lower().startswith(word.lower())] == offered
