"""The words of `kw __complete` are an interface: scripts that another release of kw printed go on asking with them.

Each table has what a script asks, word by word as its shell gives it, and the lines that it gets. No row is changed or
taken away; a new form gets rows of its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwcli.completion import cluster_names
from kwcli.completion.cluster_names import ClusterWords
from kwcli.completion.completion_candidates import LIMIT_VARIABLE
from kwcli.run_environment import Exit
from tests.cli.worlds import kw, world

BREAKS = " \t\n\"'><=;|&(:"  # bash's $COMP_WORDBREAKS

# `KIND WORD LINE…`, of the scripts that knew commands, options and the protocol themselves. bash and fish leave the
# program out of the line; zsh gave the line from the command on, as it stood in `_arguments -C`.
KINDS = [
    (["property", "security.pro", "call", "-X"], ["security.protocol=\tprotocol of the connection"]),
    (["property", "ssl.ca.location=da", "call", "-X"], ["ssl.ca.location=data.bin"]),
    (["property", "sasl.mechanism=G", "profile", "add", "new"], ["sasl.mechanism=GSSAPI"]),
    (["node", "contr", "call", "--node"], ["controller\tthe active controller"]),
    (["node", "2", "call", "-b", "host:1", "--node"], ["2\thost:2"]),
    (["node", "leader:o", "call", "-b", "host:1", "--node"], ["leader:orders-0"]),
    (["node-quoted", "coordinator:", "call", "-b", "host:1", "--node"], ["coordinator:bill $x"]),
    (["body", "topics[].n", "encode", "Metadata", "12"], ["topics[].name=\tThe topic name."]),
    (["body", "topics[0].n", "call", "-b", "host:1", "Metadata"], ["topics[0].name=\tThe topic name."]),
    (["body", "topic=o", "call", "-b", "host:1", "produce"], ["topic=orders"]),
    (["body-quoted", "group_id:=", "call", "-b", "host:1", "Heartbeat"], ['group_id:="bill $x"']),
    (["body", "acks=", "call", "produce"], []),  # the scripts knew numbers themselves
    (["filter", "stat", "sniff", "-f"], ["status"]),
    (["filter-quoted", "api == Heartb", "sniff", "-f"], ["api == Heartbeat\t12"]),
    (["filter", "topic==o", "sniff", "-b", "host:1", "-f"], ["topic==orders"]),
    (["columns", "time,client_s", "sniff", "x", "--columns"], ["time,client_software"]),
    (["fault", "blackh", "proxy", "--fault"], ["blackhole"]),
    (["fault-quoted", "delay 1s, ev", "proxy", "--fault"], ["delay 1s, every\teach Nth of them"]),
    (["faults", "preset:lead", "proxy", "--faults"], ["preset:leader-election"]),
    (["faults", "da", "proxy", "--faults"], ["data.bin"]),
    (["kind-of-a-later-release", "x", "call"], []),
    (["filter"], None),
    ([], []),
]

# `zsh STATE WORD…` and `fish STATE WORD…`.
WORDS = [
    (["fish", "", "comple"], ["words\t", "completion\tPrint the completion script for a shell."]),
    (["zsh", "", "comple"], ["words\t", "completion\tcompletion    -- Print the completion script for a shell."]),
    (["fish", "", "sniff", "--color", ""], ["words\t", "always", "auto", "never"]),
    (["zsh", "", "sniff", "--color=al"], ["words\t--color=", "--color=always\talways", "--color=auto\tauto"]),
    (["fish", "", "apis", "Vote", ""], ["words\t", "2", "1", "0"]),
    (["fish", "'", "sniff", "-f", "partition"], ["words\t", "partition ==\tis"]),
    (["fish", "", "sniff", "-f", "partition"], ["words\t", "partition\tpartitions in request or response"]),
    (
        ["zsh", "'", "call", "Metadata", "topics[0].n"],
        ["words\t", "topics[0].name=\ttopics[0].name=  -- The topic name."],
    ),
    (
        ["zsh", "", "call", "Fetch", "isolation_level=0"],
        ["words\t", "isolation_level=0\tisolation_level=0  -- read_uncommitted"],
    ),
    (["fish", "", "call", "-b", "host:1", "produce", "topic=o"], ["words\t", "topic=orders"]),
    (["fish", '"', "call", "Fetch", "isolation_level=0"], ["words\t", "isolation_level=0\tread_uncommitted"]),
    (["fish", "", "sniff", "da"], ["files\t"]),
    (["fish", '"', "sniff", "--keylog=da"], ["files\t--keylog="]),
    (["zsh", "", "call", "Heartbeat", "group_id=@da"], ["files\tgroup_id=@"]),
    (["zsh", "'", "sniff", "da"], ["names\t", "data.bin"]),
    (["zsh", "\\", "sniff", "--keylog=folder/x"], ["names\t--keylog=", "in.side"]),
    (["fish", "", "sniff", "--since", ""], ["words\t"]),
    (["fish", ""], []),
    (["zsh"], []),
]

# `bash BREAKS LINE`; the candidates are what bash puts on the line.
LINES = [
    ("kw comple", ["", "completion"]),
    ("kw call -b host:1 Heartbeat group_id=", ["", "bill\\ $'\\x24'x"]),
    ("kw call -b host:1 Heartbeat group_id='bi", ["", "'bill $x'"]),
    ('kw call -b host:1 Heartbeat group_id="bi', ["", '"bill "$\'\\x24\'"x"']),
    ("kw call -b host:1 Heartbeat group_id=$'bi", ["", "'bill $x'"]),
    ("kw call -b host:1 Heartbeat 'group_id=bi", ["", "'group_id=bill $x'"]),
    ("kw call Metadata topics[0].n", ["-o nospace", "topics[0].name="]),
    ("kw apis Vote ", ["", "2", "1", "0"]),
    ("kw sniff --color=al", ["", "always"]),
    ("kw sniff da", ["-o filenames", "data.bin"]),
    ("kw sniff ./fo", ["-o nospace -o filenames", "./folder/"]),
    ("kw sniff fold\\er/i", ["-o filenames", "folder/in.side"]),
    ("kw sniff --keylog=folder/", ["-o filenames", "folder/in.side"]),
    ("kw sniff $'da\\'", []),  # readline ends the quotes there
    ("kw", []),
    ("", []),
]


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a folder with files, and of a cluster at host:1 whose names are known."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("data.bin", "folder/in.side", "other"):
        (tmp_path / name).touch()
    found = {
        LIMIT_VARIABLE: "30",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "LC_ALL": "C.UTF-8",
    }
    names: dict[cluster_names.What, list[str]] = {
        "topics": ["orders", "payments"],
        "groups": ["bill $x"],
        "nodes": ["1\thost:1", "2\thost:2"],
    }
    for what in names:
        path = cluster_names.find_cache_file_of_names(world(variables=found), what, ClusterWords(servers=("host:1",)))
        Path(path).write_text(json.dumps(names[what]))
    return found


def answer(variables: dict[str, str], *words: str) -> list[str]:
    done = kw("__complete", *words, env=world(variables=variables))
    assert (done.code, done.err) == (Exit.DONE, "")
    return done.out.splitlines()


@pytest.mark.parametrize(("words", "lines"), KINDS, ids=lambda each: " ".join(each or ())[:40])
def test_scripts_that_ask_for_a_kind(variables: dict[str, str], words: list[str], lines: list[str] | None) -> None:
    found = answer(variables, *words)
    if lines is None:
        assert found
    else:
        assert [row.partition("\t")[0] for row in found] == [row.partition("\t")[0] for row in lines]
        assert all("\t" in row for row, wanted in zip(found, lines, strict=True) if "\t" in wanted)


@pytest.mark.parametrize(("words", "lines"), WORDS, ids=lambda each: " ".join(each)[:40])
def test_scripts_that_ask_with_the_words_of_a_line(
    variables: dict[str, str], words: list[str], lines: list[str]
) -> None:
    found = answer(variables, *words)
    assert found[:1] == lines[:1]
    assert [row for row in lines[1:] if row not in found] == []


@pytest.mark.parametrize(("line", "lines"), LINES)
def test_scripts_that_ask_with_a_line_of_bash(variables: dict[str, str], line: str, lines: list[str]) -> None:
    assert answer(variables, "bash", BREAKS, line) == lines


@pytest.mark.parametrize("locale", ["zh_CN.GBK", "zh_TW.Big5", "ja_JP.SJIS", "C", "de_DE.UTF-8"])
def test_a_name_of_another_charset_is_left_out(variables: dict[str, str], tmp_path: Path, locale: str) -> None:
    """In GBK the last byte of 日 and the sign behind it are one character, which no quote protects."""
    for folder in ("", "config/kw/profiles/"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{folder}z日|x.properties").touch()
        (tmp_path / f"{folder}zé.properties").touch()
    path = cluster_names.find_cache_file_of_names(
        world(variables=variables), "groups", ClusterWords(servers=("host:1",))
    )
    Path(path).write_text(json.dumps(["z日|x", "zé", "z$"]))
    asked = {**variables, "LC_ALL": locale}
    utf8 = locale.endswith("UTF-8")
    for line in ("kw sniff z", "kw sniff 'z", "kw call --profile z", "kw call -b host:1 Heartbeat group_id=z"):
        (_, *found) = answer(asked, "bash", BREAKS, line)
        assert all(row.isascii() for row in found) or utf8, line
        assert not utf8 or len(found) > 1
    for shell, state in (("zsh", "'"), ("fish", "")):
        for words in (["sniff", "z"], ["call", "--profile", "z"], ["call", "-b", "host:1", "Heartbeat", "group_id=z"]):
            rows = answer(asked, shell, state, *words)
            assert all(row.isascii() for row in rows) or utf8 or locale == "C", words


@pytest.mark.parametrize("sign", [*map(chr, range(32)), "\x7f", "\x9b", "\u2028", "\u202e", "\udcff"])
def test_no_control_character_leaves_kw(variables: dict[str, str], tmp_path: Path, sign: str) -> None:
    names = [f"zz{sign}x", "zzz"]
    (tmp_path / "config/kw/profiles").mkdir(parents=True)
    for name in names:
        if sign != "\0":
            (tmp_path / name).touch()
            (tmp_path / f"config/kw/profiles/{name}.properties").touch()
    path = cluster_names.find_cache_file_of_names(
        world(variables=variables), "groups", ClusterWords(servers=("host:1",))
    )
    Path(path).write_text(json.dumps(names))
    for line in ("kw sniff zz", "kw call --profile zz", "kw call -b host:1 Heartbeat group_id=zz"):
        assert sign.strip("\n") not in "".join(answer(variables, "bash", BREAKS, line)) or sign == "\n"
        assert sum("zz" in row for row in answer(variables, "bash", BREAKS, line)) <= 1
        for shell, state in (("zsh", "'"), ("fish", "'")):
            rows = answer(variables, shell, state, *line.split()[1:])[1:]
            assert [row for row in rows if "zz" in row and "zzz" not in row] == []


def test_files_that_cannot_be_looked_at_hide_no_others(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("nowhere")
    (tmp_path / "log").mkdir()
    assert answer(variables, "bash", BREAKS, "kw sniff lo")[1:] == ["log/", "loop", "lost"]
    assert {"log/", "loop", "lost"} < set(answer(variables, "zsh", "'", "sniff", "lo"))
    assert answer(variables, "bash", BREAKS, "kw sniff nowhere/x") == []


def test_a_tilde_stands_for_the_home_where_the_shell_takes_it_so(variables: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("capture", "~x"):
        (home / name).touch()
        (tmp_path / name).touch()
    asked = {**variables, "HOME": str(home)}
    assert answer(asked, "bash", BREAKS, "kw sniff ~/cap") == ["", "~/capture"]
    assert answer(asked, "bash", BREAKS, "kw sniff '~/cap") == []
    assert answer(asked, "bash", BREAKS, "kw sniff ~") == ["", "\\~x"]  # no user of this name
    assert answer(asked, "bash", BREAKS, "kw sniff ~/") == ["", "~/capture", "~/~x"]
