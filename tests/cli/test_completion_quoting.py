"""Names that strangers chose, completed in real shells: TAB and Enter give kw exactly that name, or TAB gives nothing.

A name of a group or topic is free text to a broker, and a file's name is free text to the system that unpacked it. Each
name here would make a shell create the file PWNED, or give kw other words than the name, where it is not quoted as the
shell needs it at the cursor.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from kwcli.completion import SHELLS, cluster_names
from tests.cli.complete_server import program, serving
from tests.cli.shells import ROOT, Session
from tests.cli.test_candidates import broker
from tests.cli.worlds import world

# What a name has behind its first letters.
HOSTILE: Final = (
    *("$(touch PWNED)", "`touch PWNED`", ";touch PWNED;", "&touch PWNED&", "|touch PWNED", "&&touch PWNED"),
    *(">PWNED", ">>PWNED", "2>PWNED", "<(touch PWNED)", ">(touch PWNED)", "(touch PWNED)", "=(touch PWNED)"),
    *("$(touch${IFS}PWNED)", "${x:=$(touch PWNED)}", "$x", "${HOME}", "$HOME$", "$'x'", '$"x"', "$((1))", "$[1]", "$"),
    *("\\", "\\\\", "\\$(touch PWNED)", "\\`touch PWNED`", "x\\", "\\n", "\\x41", "\\'$(touch PWNED)"),
    *("'", "''", "';touch PWNED;'", "'$(touch PWNED)'", "'x", "x'", "$'\\x41'$(touch PWNED)"),
    *('"', '""', '";touch PWNED;"', '"$(touch PWNED)"', '"x', 'x"', "'\"$(touch PWNED)\"'", "\"';touch PWNED;'\""),
    *("!", "!!", "!$", "!x", "x!", "!!;touch PWNED", '!"', "x\\!y", "!'x!'y"),
    *(" ", "  ", " x", "a b", "x ", " #x", "#x", " ~", "~", ":~", "=~root", "~+", "^x", "^x^y^"),
    *("*", "?", "[a-z]", "[", "]", "x[0]", "{a,b}", "{1..3}", "{", "}", "{}", "@(x|y)", "!(x)", "+(x)", "(#i)x", "^*"),
    *("%", "%1", "%s%n", "-x", "--", ",", "a,b", "a=b", "a:b", "a==b", "::", "@x", "+", "=ls", "(", ")", "<", "|", "&"),
    *("é$(touch PWNED)", "日本;touch PWNED", "—`touch PWNED`", "ﬁ$x", "x" * 180 + "$(touch PWNED)"),
)  # fmt: skip
# These could not be shown on a terminal, or not be given to a shell, as they are.
UNPRINTABLE: Final = (
    *("\n", "\ntouch PWNED\n", "$(touch PWNED)\n", "x\ntouch PWNED", "\r", "\rtouch PWNED\r", "\t", "\tx", "\x1b[2J"),
    *("\x1b]0;x\x07", "\x7f", "\x01", "\x03", "\x04", "\x15touch PWNED", "\x9b2J", "\u202ex", "\u2028touch PWNED"),
    *("\udcff", "\udcc3(", "\udce2\udc82", "\udc9b2J"),
)  # fmt: skip
LONG: Final = 200  # bytes of a name: no file can have one that is much longer
# Behind these signs the shells neither close quotes nor end the word.
GOES_ON: Final = {"bash": "", "zsh": "=.:/(", "fish": "/=@:.,-"}
# What a name begins with; it is the only one in its place.
FIRST: Final = ("$(touch PWNED)", "`touch PWNED`", "~x", "~root", "#x", "!x", "=ls", "-x", "*", "'x", '"x', "\\x", ";x")


class State(NamedTuple):
    """How a word is typed: `opening` before its value, or before its head if `whole`, and `closing` at the cursor.

    `escaped`: the first sign of the name that a shell minds is typed too, behind a backslash.
    """

    name: str
    opening: str = ""
    closing: str = ""
    whole: bool = False
    escaped: bool = False


STATES: Final = (
    State("unquoted"),
    State("double quotes", '"'),
    State("single quotes", "'"),
    State("all in double quotes", '"', whole=True),
    State("all in single quotes", "'", whole=True),
    State("dollar quotes", "$'"),
    State("behind a backslash", "", "\\"),
    State("behind a sign with a backslash", escaped=True),
)
# In these a name is given; in the others it may be left out.
GIVEN: Final = STATES[:5]


class Place(NamedTuple):
    """A place where names are completed: the line before the word, the word's part before the name and behind it.

    `names` are those of a cluster, of files, or of profiles; `absent` are signs of names that kw would not take there
    as they are.
    """

    name: str
    line: str
    head: str = ""
    behind: str = ""
    names: str = "cluster"
    absent: str = ""


PLACES: Final = (
    Place("groups=", "call -b host:1 DescribeGroups", "groups="),
    Place("FILE", "sniff", names="files"),
    Place("group=", "call -b host:1 DescribeGroups", "group="),
    Place("topic=", "call -b host:1 produce", "topic=", absent=","),
    Place("--node coordinator:", "call -b host:1 --node", "coordinator:"),
    Place("--node leader:", "call -b host:1 --node", "leader:", "-0"),
    Place("-f topic==", "sniff -b host:1 -f", "topic==", absent=" \t()\"'=!<>~,&|"),
    Place("--fault … when", "proxy -b host:1 --fault", "blackhole, when topic==", absent=" \t()\"'=!<>~,&|"),
    Place("-X ssl.ca.location=", "call -X", "ssl.ca.location=", names="files"),
    Place("--keylog", "sniff --keylog", names="files"),
    Place("--keylog=", "sniff", "--keylog=", names="files"),
    Place("--faults", "proxy --faults", names="files"),
    Place("@", "call Heartbeat", "group_id=@", names="files"),
    Place("--profile", "call --profile", names="profiles"),
    Place("profile show", "profile show", names="profiles"),
)
BY_NAME: Final = {place.name: place for place in PLACES}


class World(NamedTuple):
    """What shells find: programs, and folders with files, profiles and a cluster's names, all with these names."""

    programs: Path
    folder: Path
    variables: Mapping[str, str]

    @contextmanager
    def session(self, shell: str) -> Iterator[Session]:
        """A shell in the folder; when it ends, nothing has been made there."""
        before = sorted(os.listdir(os.fsencode(self.folder)))
        with Session(shell, self.folder, self.programs, dict(self.variables)) as found:
            yield found
        assert sorted(os.listdir(os.fsencode(self.folder))) == before


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with serving(tmp_path_factory.mktemp("programs")) as folder:
        yield folder


def make_world(programs: Path, folder: Path, names: Iterable[str]) -> World:
    """A folder with a file of each name, profiles and a cluster at host:1 with these names."""
    variables = {
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "KW_COMPLETION_LIMIT": "60",  # a busy machine completes late, and a test waits
    }
    files, profiles = folder / "files", folder / "config" / "kw" / "profiles"
    files.mkdir()
    profiles.mkdir(parents=True)
    names = list(names)
    for name in names:
        if len(os.fsencode(name)) < LONG:
            (files / name).touch()
            (profiles / f"{name}.properties").touch()
    env = world(variables=variables)
    for what in ("topics", "groups"):
        path = cluster_names.find_cache_file_of_names(env, what, cluster_names.ClusterWords(servers=("host:1",)))
        Path(path).write_text(json.dumps(names))
    return World(programs, files, variables)


def numbered(suffixes: Iterable[str]) -> list[str]:
    """Names that differ in their first letters, so that these say which name is meant."""
    return [f"z{number:03d}{suffix}" for number, suffix in enumerate(suffixes)]


BEGUN: Final = len("z000")


def check(session: Session, place: Place, state: State, name: str, begun: int = BEGUN) -> None:
    """Type `begun` letters of the name, TAB and Enter: kw gets the name, or TAB gave nothing where that may be."""
    typed, plain = name[:begun], name[:begun]
    if state.escaped:
        typed, plain = f"{typed}\\{name[begun]}", name[: begun + 1]
    line = line_of(place, state, typed)
    pressed = session.press(line)
    assert "PWNED" not in os.listdir(session.folder), (line, pressed)
    words = (*place.line.split(), place.head)
    given = [(*words[:-1], words[-1] + way + name + place.behind) for way in ("", "./" * (place.names == "files"))]
    # Nothing was given: the line is as it was, or means the same.
    nothing = (pressed.line.rstrip(" ") == line.rstrip(" "), (*words[:-1], words[-1] + plain) in pressed.calls)
    goes_on = state.opening and (name + place.behind)[-1] in GOES_ON[session.shell]
    if any(nothing) or goes_on:
        wanted = name.isprintable() and len(os.fsencode(name)) < LONG and not any(sign in place.absent for sign in name)
        home = session.shell == "fish" and place.names == "files" and name.startswith("~")  # left out
        assert not (wanted and state in GIVEN and not goes_on and not home), (line, pressed)
    else:
        assert len(pressed.calls) == 1, (line, pressed)
        assert pressed.calls[0] in given, (line, pressed)
        assert name.isprintable() or place.names != "cluster", (line, pressed)


def line_of(place: Place, state: State, typed: str) -> str:
    """The line before TAB."""
    word = f"{state.opening}{place.head}{typed}" if state.whole else f"{place.head}{state.opening}{typed}"
    return f"kw {place.line} {word}{state.closing}"


def states_of(shell: str, place: Place) -> list[State]:
    """The states that a shell has and in which the head can be typed."""
    found = [state for state in STATES if not (shell == "fish" and state.opening == "$'")]
    if shell == "zsh" and place.head.startswith("--"):  # it knows no options in quotes
        found = [state for state in found if not state.whole]
    return [state for state in found if state.whole] if " " in place.head else found


def check_terminal(session: Session) -> None:
    """What the shell drew has no control sequence of a name."""
    for sign in (b"\x1b[2J", b"\x1b]0;x", b"\x9b2J"):
        assert sign not in session.drawn.replace("\u009b".encode(), b"\x9b"), sign


def check_names(session: Session, place: Place, names: Iterable[str], each: int) -> None:
    """`check` all these names, each in `each` states: the first one in the first, and so on around."""
    states = states_of(session.shell, place)
    for number, name in enumerate(names):
        for at in range(each):
            state = states[(number * each + at) % len(states)]
            if not (state.escaped and (name[BEGUN].isalnum() or not name[BEGUN].isprintable())):
                check(session, place, state, name)
    check_terminal(session)


NAMES: Final = numbered((*HOSTILE, *UNPRINTABLE))
FEW: Final = numbered(("$(touch PWNED)", "`touch PWNED`", ";touch PWNED;'", '"!!\\', "\ntouch PWNED\n", "\x1b[2J"))


# Many rows of all shells take a quarter of an hour: those of zsh and fish, which quote by themselves, are `.ci/full`'s.
BASH_AND_OTHERS: Final = [SHELLS[0], *(pytest.param(each, marks=pytest.mark.full) for each in SHELLS[1:])]


@pytest.mark.parametrize("shell", [SHELLS[0], *(pytest.param(each, marks=pytest.mark.long) for each in SHELLS[1:])])
def test_a_name_is_given_as_it_is_or_not_at_all(shell: str, programs: Path, tmp_path: Path) -> None:
    with make_world(programs, tmp_path, FEW).session(shell) as session:
        check_names(session, BY_NAME["groups="], FEW, 1)
        check_names(session, BY_NAME["FILE"], FEW[3:0:-1], 1)


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
@pytest.mark.parametrize("shell", BASH_AND_OTHERS)
def test_names_in_every_place(shell: str, place: Place, programs: Path, tmp_path: Path) -> None:
    """In each place a share of the names and states, in the first two each name."""
    share = 1 if place in PLACES[:2] else 5
    with make_world(programs, tmp_path, NAMES).session(shell) as session:
        check_names(session, place, NAMES[PLACES.index(place) % share :: share], 1)


# A word is quoted by its state and its letters alone; a place adds its head. So in the first two places each name is
# typed in each state, and in the others each name and each state, in all pairs: the product would take hours.
@pytest.mark.full
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
@pytest.mark.parametrize("shell", SHELLS)
def test_all_names_in_all_places_and_states(shell: str, place: Place, programs: Path, tmp_path: Path) -> None:
    number = PLACES.index(place)
    with make_world(programs, tmp_path, NAMES).session(shell) as session:
        check_names(session, place, NAMES[number:] + NAMES[:number], len(STATES) if number < 2 else 1)


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("shell", BASH_AND_OTHERS)
def test_a_name_that_begins_so(shell: str, first: str, programs: Path, tmp_path: Path) -> None:
    with make_world(programs, tmp_path, [first]).session(shell) as session:
        for place in PLACES[:2] + PLACES[4:5] + PLACES[8:9]:
            for state in GIVEN[:3]:
                check(session, place, state, first, 0)


@pytest.mark.long
@pytest.mark.parametrize(
    "shell", ["bash", *(pytest.param(each, marks=pytest.mark.full) for each in SHELLS if each != "bash")]
)
def test_lists_of_names(shell: str, programs: Path, tmp_path: Path) -> None:
    """Of several names the shell inserts what they have in common, if anything; Enter then runs no part of a name."""
    names = ["zz$(touch PWNED)", "zz$(touch PWNED;)", "zz`touch PWNED`", "zz;touch PWNED", "zz\x1b[2J", "zz'a", 'zz"b']
    with make_world(programs, tmp_path, names).session(shell) as session:
        for place in PLACES[:2]:
            for state in states_of(shell, place):
                for typed in ("z", "zz\\$"):
                    line = line_of(place, state, typed)
                    pressed = session.press(line)
                    assert "PWNED" not in os.listdir(session.folder), (line, pressed)
        check_terminal(session)


@pytest.mark.parametrize("shell", [SHELLS[0], *(pytest.param(each, marks=pytest.mark.long) for each in SHELLS[1:])])
def test_groups_of_a_broker(shell: str, tmp_path: Path) -> None:
    """The whole way, without the server: kw asks a broker for its groups, a shell completes, and kw gets the name."""
    programs, files = tmp_path / "bin", tmp_path / "files"
    program(programs, f"{sys.executable} -m kwcli.main")
    files.mkdir()
    variables = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "KW_COMPLETION_LIMIT": "60",
        "PYTHONPATH": str(ROOT),
    }
    with broker("zz$(touch PWNED)", "billing", "yy`touch PWNED`\n") as (_, where):
        names = World(programs, files, variables)
        with names.session(shell) as session:
            place = Place("groups=", f"call -b {where} DescribeGroups", "groups=")
            for state in STATES[:2]:
                check(session, place, state, "zz$(touch PWNED)", 2)
                check(session, place, state, "yy`touch PWNED`\n", 2)
