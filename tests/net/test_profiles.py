"""Profiles: stored, chosen, shown without secrets, made from other clients' files."""

from __future__ import annotations

import io
import json
import os
import stat
from argparse import Namespace
from pathlib import Path

import pytest

from kwcli.net.config import client_properties
from kwcli.net.config.build_config import build_client_config
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.config.connection_profiles import Profiles
from kwcli.private_files import can_be_changed_by_others, lock_file
from kwcli.run_environment import Environment, Exit, Failure
from tests.cli.worlds import Outcome, kw, world

KCAT = (
    "# kcat\nbootstrap.servers=a:1,b:2\nsecurity.protocol=SASL_SSL\nsasl.mechanisms=PLAIN\nsasl.username=me\n"
    "sasl.password=hunter2\\n#=x\nssl.ca.location=ca.pem\nenable.idempotence=true\ntopic.acks=all\n"
)
JAVA = (
    "bootstrap.servers = a:1, \\\n   b:2\nsecurity.protocol: SASL_SSL\nsasl.mechanism PLAIN\n! a comment\n"
    "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
    '  username="me" \\\n  password="hunter2\\u0021";\n'
    "ssl.truststore.location=trust.jks\nssl.truststore.password=changeit\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def run(home: Path, *words: str, stdin: bytes = b"", terminal: bool = True) -> Outcome:
    env = world(stdin, variables={"XDG_CONFIG_HOME": str(home)}, terminal=terminal)
    return kw("profile", *words, env=env)


def env_of(home: Path, **variables: str) -> Environment:
    return world(variables={"XDG_CONFIG_HOME": str(home), **variables})


@pytest.mark.parametrize("text", [KCAT, JAVA])
def test_import_show_and_use(home: Path, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "client.conf"
    file.write_text(text)
    (tmp_path / "ca.pem").touch()
    (tmp_path / "trust.jks").touch()
    monkeypatch.chdir("/")
    done = run(home, "import", "prod", str(file), "--use", "-v")
    assert done.code == Exit.DONE
    kept = home / "kw/profiles/prod.properties"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert f"the active profile is prod: {kept}" in done.err
    shown = run(home, "show")
    assert "hunter2" not in shown.out
    assert "changeit" not in shown.out
    if text is JAVA:
        assert 'sasl.jaas.config=PlainLoginModule required username="me" password={redacted 8};\n' in shown.out
    assert str(tmp_path) in shown.out  # relative file names are made absolute
    assert "hunter2" in run(home, "show", "prod", "--reveal-secrets").out
    config = build_client_config(env_of(home), ConnectionOptions())
    assert (config.servers, config.origin) == ((("a", 1), ("b", 2)), "active profile prod")
    assert config.sasl is not None
    assert config.sasl.password == ("hunter2\\n#=x" if text is KCAT else "hunter2!")


def test_kcats_irrelevant_properties_are_told(home: Path) -> None:
    done = run(home, "import", "k", "-", stdin=KCAT.encode())
    assert "kw: 2 properties have no meaning for kw (-v lists them)" in done.err
    again = run(home, "import", "k", "-", "-v", "--force", stdin=KCAT.encode())
    assert "kw: enable.idempotence (standard input:8) has no meaning for kw\n" in again.err
    assert ("topic.acks", "all") in Profiles(home / "kw").read_pairs("k")


@pytest.mark.parametrize(
    ("words", "stdin", "line"),
    [
        (["import", "prod", "-"], KCAT, "kw: there is a profile prod already; --force replaces it"),
        (["import", "../x", "-"], KCAT, "kw: '../x' is no name of a profile: letters, digits and . _ -"),
        (["import", "x", "-"], "hello", "kw: standard input has no property of a Kafka client in it"),
        (["import", "x", "/no/file"], "", "kw: /no/file: No such file or directory"),
        (["use", "prd"], "", 'kw: there is no profile prd (did you mean "prod"?)'),
        (["show", "other"], "", "kw: there is no profile other; kw profile list shows all"),
        (["show"], "", "kw: no profile is active: name one; see kw profile show --help"),
        (["use"], "", "kw: give a name, or --none; see kw profile use --help"),
        (["remove", "prd"], "", 'kw: there is no profile prd (did you mean "prod"?)'),
    ],
)
def test_what_cannot_be_done_is_a_usage_error(home: Path, words: list[str], stdin: str, line: str) -> None:
    Profiles(home / "kw").write("prod", {"bootstrap.servers": "p:1"})
    done = run(home, *words, stdin=stdin.encode())
    assert done.code == Exit.USAGE
    assert line in done.err.splitlines()
    assert done.out == ""


def test_list(home: Path) -> None:
    assert run(home, "list").out.startswith("no profiles yet; ")
    profiles = Profiles(home / "kw")
    profiles.write("prod", {"bootstrap.servers": "p:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"})
    profiles.write("dev", [("bootstrap.servers", "d:1")])
    profiles.set_active("prod")
    assert run(home, "list").out == (
        "  profile  protocol   mechanism  servers\n"
        "  dev      PLAINTEXT  -          d:1\n"
        "* prod     SASL_SSL   PLAIN      p:1\n"
    )
    rows = [json.loads(line) for line in run(home, "list", terminal=False).out.splitlines()]
    assert [(row["profile"], row["active"]) for row in rows] == [("dev", False), ("prod", True)]
    assert json.loads(run(home, "list", "-o", "json").out) == rows
    assert run(home, "use", "--none").err == "kw: no profile is active\n"
    assert "*" not in run(home, "list").out
    profiles.set_active("dev")
    profiles.remove("dev")
    assert (profiles.list_names(), profiles.read_active_name()) == (["prod"], None)


def test_who_wins(home: Path, tmp_path: Path) -> None:
    profiles = Profiles(home / "kw")
    for name in ("asked", "variable", "active"):
        profiles.write(name, {"bootstrap.servers": f"{name}:1", "client.id": name})
    profiles.set_active("active")
    file = tmp_path / "f.properties"
    file.write_text("bootstrap.servers=file:1\n")

    def origin(env: Environment, profile: str | None = None, **more: object) -> tuple[str, str, str]:
        found = build_client_config(env, ConnectionOptions(profile=profile, **more))  # type: ignore[arg-type]  # as options give them
        return found.servers[0][0], found.origin, found.client_id

    plain, variable = env_of(home), env_of(home, KW_BOOTSTRAP_SERVER="env:1", KW_PROFILE="variable")
    assert origin(plain) == ("active", "active profile active", "active")
    assert origin(env_of(home, KW_PROFILE="variable")) == ("variable", "KW_PROFILE=variable", "variable")
    assert origin(variable) == ("env", "KW_BOOTSTRAP_SERVER", "variable")
    assert origin(variable, "asked") == ("asked", "--profile asked", "asked")
    assert origin(variable, "asked", config_files=[str(file)]) == ("file", f"-F {file}", "asked")
    told = [("bootstrap.servers", "x:1")]
    assert origin(variable, "asked", config_files=[str(file)], properties=told) == ("x", "-X", "asked")
    assert origin(variable, "asked", servers="flag:1", properties=told) == ("flag", "-b", "asked")


def test_a_profile_that_is_not_there(home: Path) -> None:
    Profiles(home / "kw").write("prod", {"bootstrap.servers": "p:1"})
    with pytest.raises(Failure) as caught:
        build_client_config(env_of(home), ConnectionOptions(profile="prid"))
    assert (caught.value.text, caught.value.code) == ('there is no profile prid (did you mean "prod"?)', Exit.USAGE)
    Profiles(home / "kw").set_active("prod")
    (home / "kw/profiles/prod.properties").unlink()
    config = build_client_config(env_of(home), ConnectionOptions())
    assert config.origin == "default"
    assert config.warnings == ("the active profile prod is gone: kw profile use NAME, or --none",)


def test_a_profile_that_others_may_read(home: Path) -> None:
    path = Profiles(home / "kw").write("p", {"bootstrap.servers": "p:1"})
    os.chmod(path, 0o644)
    assert build_client_config(env_of(home), ConnectionOptions(profile="p")).warnings == (
        f"other users may read {path}: chmod 600 it",
    )


@pytest.mark.parametrize(
    ("place", "mode", "said"),
    [
        ("profiles/p.properties", 0o666, "chmod 600 "),
        ("profiles/p.properties", 0o602, "chmod 600 "),
        ("profiles", 0o777, "chmod 700 "),
        (".", 0o777, "chmod 700 "),
    ],
)
@pytest.mark.parametrize("how", ["flag", "variable", "active", "show"])
def test_a_profile_that_others_can_change_is_not_used(place: str, mode: int, said: str, how: str, home: Path) -> None:
    profiles = Profiles(home / "kw")
    profiles.write("p", {"bootstrap.servers": "p:1", "sasl.password": "hunter2"})
    if how == "active":
        profiles.set_active("p")
    file = home / "kw" / place
    os.chmod(file, mode)
    words = ["profile", "show", "p"] if how == "show" else ["call", "Metadata", *(["--profile", "p"] * (how == "flag"))]
    done = kw(*words, env=env_of(home, **({"KW_PROFILE": "p"} if how == "variable" else {})))
    assert (done.code, done.out) == (Exit.USAGE, "")
    assert done.err == f"kw: other users can change {file}: {said}{file}\n"
    os.chmod(file, 0o700 if file.is_dir() else 0o600)
    assert build_client_config(env_of(home), ConnectionOptions(profile="p")).servers == (("p", 1),)


def test_a_folder_in_which_others_can_only_add_is_taken(home: Path) -> None:
    Profiles(home / "kw").write("p", {"bootstrap.servers": "p:1"})
    os.chmod(home / "kw", 0o1777)
    assert build_client_config(env_of(home), ConnectionOptions(profile="p")).warnings == ()


@pytest.mark.parametrize("place", ["profiles/p.properties", "profiles", "."])
def test_a_profile_of_another_user_is_not_used(place: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Profiles(home / "kw").write("p", {"bootstrap.servers": "p:1"})
    whose = (home / "kw" / place).stat().st_ino

    def owned(status: os.stat_result) -> os.stat_result:
        values = list(status)
        if status.st_ino == whose:
            values[stat.ST_UID] = 4242
        return os.stat_result(values)

    fstat, plain = os.fstat, os.stat
    monkeypatch.setattr("kwcli.net.config.connection_profiles.os.fstat", lambda handle: owned(fstat(handle)))
    monkeypatch.setattr("kwcli.net.config.connection_profiles.os.stat", lambda path, **more: owned(plain(path, **more)))
    monkeypatch.setattr("kwcli.net.config.connection_profiles.os.geteuid", lambda: plain(home).st_uid or 1000)
    with pytest.raises(Failure, match="belongs to another user, who can change it"):
        Profiles(home / "kw").read_pairs("p")


@pytest.mark.parametrize(
    ("mode", "user", "group", "members", "others"),
    [
        (0o100664, "ada", "ada", [], False),
        (0o100664, "ada", "ada", ["ada"], False),
        (0o100664, "ada", "ada", ["bob"], True),
        (0o100664, "ada", "users", [], True),
        (0o100644, "ada", "users", ["bob"], False),
        (0o100646, "ada", "ada", [], True),
        (0o040775, "ada", "ada", [], False),
        (0o041777, "ada", "users", [], False),
    ],
)
def test_who_can_change_a_file(
    mode: int, user: str, group: str, members: list[str], others: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda _: Namespace(pw_name=user, pw_gid=7))
    monkeypatch.setattr("grp.getgrgid", lambda _: Namespace(gr_name=group, gr_mem=members))
    assert can_be_changed_by_others(os.stat_result((mode, 0, 0, 1, 5, 7, 0, 0, 0, 0))) == others


def test_a_file_that_others_can_change_is_told(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\n")
    for mode, warnings in ((0o644, ()), (0o666, (f"other users can change -F {file}: chmod go-w it",))):
        os.chmod(file, mode)
        assert build_client_config(env_of(home), ConnectionOptions(config_files=[str(file)])).warnings == warnings


def test_a_misspelt_variable_is_told(home: Path) -> None:
    config = build_client_config(env_of(home, KW_BOOSTRAP_SERVER="x", KW_SOMETHING_ELSE="y"), ConnectionOptions())
    assert config.warnings == ('unknown variable KW_BOOSTRAP_SERVER (did you mean "KW_BOOTSTRAP_SERVER"?)',)


@pytest.mark.parametrize(
    "pairs",
    [
        [("a", "b")],
        [("sasl.password", " leading # ! = : \\ and\nlines\ttabs\r\f")],
        [("k ey=:#!\\", "")],
        [("pem", "-----BEGIN X-----\nabc=\n-----END X-----\n")],
        [("ü", "ö\u20ac")],
    ],
)
def test_what_is_written_is_read_again(pairs: list[tuple[str, str]]) -> None:
    assert (
        client_properties.parse_properties_with_lines(client_properties.format_properties(pairs), java=True)[0] == pairs
    )


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=b\n c = d \n#x\n!y\n\n", [("a", "b"), ("c", "d ")]),
        ("a:b\ne f\ng\n", [("a", "b"), ("e", "f"), ("g", "")]),
        ("a=b\\\n   c\\\r\n d", [("a", "bcd")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a\\ b\\=c = \\u00e9\\t\\x", [("a b=c", "é\tx")]),
        ("a==b", [("a", "=b")]),
        ("a=x\\\n# no comment", [("a", "x# no comment")]),
        ("a=b\\", [("a", "b")]),
        ("", []),
    ],
)
def test_javas_rules(text: str, pairs: list[tuple[str, str]]) -> None:
    assert client_properties.parse_properties_with_lines(text, java=True)[0] == pairs


def test_the_two_kinds_are_told_apart_by_their_names() -> None:
    assert client_properties.parse_properties_with_lines("sasl.username=a\\b\nssl.ca.location=C:\\x\n")[0] == [
        ("sasl.username", "a\\b"),
        ("ssl.ca.location", "C:\\x"),
    ]
    assert client_properties.parse_properties_with_lines("ssl.truststore.location=C\\:\\\\x\n")[0] == [
        ("ssl.truststore.location", "C:\\x")
    ]


def test_standard_input_in_pieces(home: Path) -> None:
    env = env_of(home)
    env.stdin = io.BytesIO(KCAT.encode() * 1000)
    assert kw("profile", "import", "big", "-", env=env).code == Exit.DONE


def test_a_file_in_latin_1_as_java_reads_it(home: Path, tmp_path: Path) -> None:
    for data in ("client.id=caf\u00e9\n".encode("latin-1"), "\ufeffclient.id=caf\u00e9\n".encode()):
        file = tmp_path / "client.properties"
        file.write_bytes(data)
        assert build_client_config(env_of(home), ConnectionOptions(config_files=[str(file)])).client_id == "caf\u00e9"


def test_what_a_killed_kw_left_of_a_profile_is_swept(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "client.conf"
    file.write_text("bootstrap.servers=a:1\n")
    folder = home / "kw" / "profiles"
    folder.mkdir(parents=True)
    left, writing = folder / "other.properties.kw-0123abcd", folder / "prod.properties.kw-4567abcd"
    for each in (left, writing):
        each.write_text("sasl.password=half\n")
    with writing.open("rb+") as writer:
        lock_file(writer.fileno())
        assert run(home, "import", "prod", str(file)).code == Exit.DONE
        assert [left.exists(), writing.exists()] == [False, True]
