"""Profiles edited, renamed, and converted to other clients' formats."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kwcli.net.config.build_config import build_client_config
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.config.client_properties import Pair, parse_properties_with_lines
from kwcli.net.config.connection_profiles import Profiles
from kwcli.net.config.export_profile import KINDS, export_profile
from kwcli.run_environment import Exit
from tests.cli.worlds import Outcome, kw, world

JAAS = "org.apache.kafka.common.security"


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(tmp_path / "kw")


def run(home: Path, *words: str, **variables: str) -> Outcome:
    return kw("profile", *words, env=world(variables={"XDG_CONFIG_HOME": str(home), **variables}))


def editor(folder: Path, code: str) -> str:
    """An $EDITOR that runs this code on the text of its file."""
    script = folder / "editor.py"
    script.write_text(
        "import os, stat, sys\npath = sys.argv[1]\nassert stat.S_IMODE(os.stat(path).st_mode) == 0o600\n"
        f"text = open(path).read()\n{code}\nopen(path, 'w').write(text)\n"
    )
    return f"{sys.executable} {script}"


def test_edit(tmp_path: Path, profiles: Profiles) -> None:
    path = profiles.write("p", [("bootstrap.servers", "a:1")], comment="mine")
    done = run(tmp_path, "edit", "p", EDITOR=editor(tmp_path, "text += '# yours\\nclient.id=me\\n'"))
    assert (done.code, done.err) == (Exit.DONE, f"kw: wrote profile p: {path}\n")
    assert Path(path).read_text() == "# mine\nbootstrap.servers=a:1\n# yours\nclient.id=me\n"
    assert Path(path).stat().st_mode & 0o777 == 0o600
    same = run(tmp_path, "edit", "p", VISUAL=editor(tmp_path, "pass"), EDITOR="false")
    assert (same.code, same.err) == (Exit.DONE, "kw: profile p is unchanged\n")


def test_a_copy_to_edit_is_where_the_next_kw_sweeps(
    tmp_path: Path, profiles: Profiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    profiles.write("p", [("bootstrap.servers", "a:1"), ("sasl.password", "hunter2")])
    program = editor(tmp_path, "text += '# ' + os.path.relpath(path, os.environ['PLACE']) + '\\n'")
    monkeypatch.setenv("PLACE", str(place))
    assert run(tmp_path, "edit", "p", EDITOR=program).code == Exit.DONE
    folder, _, name = Path(profiles.path_of_profile("p")).read_text().splitlines()[-1].removeprefix("# ").partition("/")
    assert (folder[:8], name) == ("kw-edit-", "p.properties")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("text += 'tls=true\\n'", ":2): write security.protocol=SSL, or SASL_SSL where you log in"),
        ("text = ''", "the profile names no broker"),
        ("text += 'security.protocol=TLS\\n'", "write one of PLAINTEXT, "),
        ("text += 'sasl.mechanism=LDAP\\n'", "is 'LDAP': kw knows PLAIN, "),
        ("text = 'bootstrap.servers=a:b\\n'", "bootstrap.servers ("),
    ],
)
def test_what_is_wrong_is_not_kept(tmp_path: Path, profiles: Profiles, code: str, text: str) -> None:
    path = profiles.write("p", [("bootstrap.servers", "a:1")])
    done = run(tmp_path, "edit", "p", EDITOR=editor(tmp_path, code))
    assert done.code == Exit.USAGE
    assert text in done.err
    copy = Path(done.err.rpartition("your text is in ")[2].strip())
    assert copy.read_text() != Path(path).read_text() == "bootstrap.servers=a:1\n"
    copy.unlink()


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("false", "kw: the editor false ended with 1; the profile is unchanged\n"),
        ("no-such-editor", "kw: cannot start the editor no-such-editor: No such file or directory (set $EDITOR)\n"),
    ],
)
def test_an_editor_that_fails(tmp_path: Path, profiles: Profiles, program: str, line: str) -> None:
    profiles.write("p", [("bootstrap.servers", "a:1")])
    profiles.set_active("p")
    done = run(tmp_path, "edit", EDITOR=program)
    assert (done.code, done.err) == (Exit.FAILURE, line)


def test_a_file_and_words_together(tmp_path: Path, profiles: Profiles) -> None:
    file = tmp_path / "c.properties"
    file.write_text("bootstrap.servers=file:1\nclient.id=file\nssl.ca.location=ca.pem\n")
    done = run(tmp_path, "add", "p", "-F", str(file), "-b", "me:1", "client.id=me")
    assert done.code == Exit.DONE
    assert dict(profiles.read_pairs("p")) == {
        "bootstrap.servers": "me:1",
        "client.id": "me",
        "ssl.ca.location": str(Path("ca.pem").absolute()),
    }


SCRAM = [
    ("bootstrap.servers", "a:1"),
    ("security.protocol", "SASL_SSL"),
    ("sasl.mechanism", "SCRAM-SHA-512"),
    ("sasl.username", "al\\ice"),
    ("sasl.password", 'hun"ter\\2'),
]
OAUTH = [
    ("bootstrap.servers", "a:1"),
    ("security.protocol", "SASL_SSL"),
    ("sasl.mechanism", "OAUTHBEARER"),
    ("sasl.oauthbearer.token.endpoint.url", "https://idp/token"),
    ("sasl.oauthbearer.client.id", "me"),
    ("sasl.oauthbearer.client.secret", "hunter2"),
    ("sasl.oauthbearer.scope", "x y"),
]
MUTUAL = [
    ("bootstrap.servers", "a:1"),
    ("security.protocol", "SSL"),
    ("ssl.truststore.location", "/t.p12"),
    ("ssl.truststore.password", "changeit"),
    ("ssl.keystore.location", "/k.p12"),
    ("ssl.keystore.password", "changeit"),
    ("acks", "all"),
]
AWS = [
    ("bootstrap.servers", "a:1"),
    ("security.protocol", "SASL_SSL"),
    ("sasl.mechanism", "AWS_MSK_IAM"),
    ("sasl.aws.region", "eu-west-1"),
    ("sasl.aws.profile", "ops"),
]
KERBEROS = [
    ("bootstrap.servers", "a:1"),
    ("security.protocol", "SASL_PLAINTEXT"),
    ("sasl.mechanism", "GSSAPI"),
    ("sasl.kerberos.principal", "me@X"),
    ("sasl.kerberos.keytab", "/k"),
]


SAYABLE = [
    (pairs, kind)
    for pairs in (SCRAM, OAUTH, MUTUAL, AWS, KERBEROS)
    for kind in ("kw", "java", "librdkafka")
    if not export_profile("p", pairs, kind, reveal=True).notes  # settings that the other client does not have are told
]


def test_most_can_be_said() -> None:
    assert len(SAYABLE) == 13


@pytest.mark.parametrize(("pairs", "kind"), SAYABLE)
def test_what_is_written_says_the_same_again(pairs: list[Pair], kind: str) -> None:
    exported = export_profile("p", pairs, kind, reveal=True)
    again = parse_properties_with_lines(exported.text)[0]
    before, after = (
        build_client_config(world(), ConnectionOptions(properties=pairs)),
        build_client_config(world(), ConnectionOptions(properties=again)),
    )
    assert after._replace(remarks=()) == before._replace(remarks=())
    if kind == "java":
        assert [name for name, _ in again if name in ("sasl.username", "sasl.password", "ssl.ca.location")] == []


@pytest.mark.parametrize("pairs", [SCRAM, OAUTH, MUTUAL])
@pytest.mark.parametrize("kind", KINDS)
def test_secrets_are_left_out(pairs: list[Pair], kind: str) -> None:
    exported = export_profile("p", pairs, kind, reveal=False)
    assert exported.left_out > 0
    assert not any(secret in exported.text for secret in ("hun", "changeit"))
    live = [line for line in exported.text.splitlines() if not line.startswith("#")]
    assert not any("redacted" in line for line in live)


@pytest.mark.parametrize(
    ("pairs", "kind", "notes"),
    [
        ([("ssl.key.location", "/k.pem")], "java", ["ssl.key.location: Java reads certificate and key from one file"]),
        ([("enable.ssl.certificate.verification", "false")], "java", ["enable.ssl.certificate.verification: Java "]),
        ([("bootstrap.controllers", "c:1")], "librdkafka", ["bootstrap.controllers: librdkafka has no such property"]),
        (AWS, "librdkafka", ["sasl.aws.region: ", "sasl.aws.profile: ", "sasl.mechanism: librdkafka has no AWS"]),
        ([("client.id", "a"), ("ssl.ca.pem", "-----\nA\n-----\n")], "librdkafka", ["ssl.ca.pem: it has several lines"]),
    ],
)
def test_what_cannot_be_said_is_told(pairs: list[Pair], kind: str, notes: list[str]) -> None:
    told = export_profile("p", pairs, kind, reveal=True).notes
    for note in notes:
        assert any(line.startswith(note) for line in told), told


def test_variables_for_a_shell() -> None:
    exported = export_profile("p", [*SCRAM, ("client.id", "it's")], "env", reveal=True)
    lines = exported.text.splitlines()
    assert "export KW_SASL_PASSWORD='hun\"ter\\2'" in lines
    assert "export KW_CLIENT_ID='it'\"'\"'s'" in lines
