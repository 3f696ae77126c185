"""Unknown properties: one of security stops the command, others are reported, each with its file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from kwcli.net.config.build_config import build_client_config
from kwcli.net.config.client_config import ConnectionOptions
from kwcli.net.config.client_properties import PROPERTIES
from kwcli.net.config.connection_profiles import Profiles
from kwcli.net.config.unknown_properties import _MEANT, is_property_about_security, propose_property
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw, world

TLS = ": write -X security.protocol=SSL, or SASL_SSL where you log in"


@pytest.mark.parametrize(
    ("name", "value", "rest"),
    [
        ("tls", "true", TLS),
        ("ssl", "1", TLS),
        ("tls.enabled", "true", TLS),
        ("use_tls", "on", TLS),
        ("ssl", "false", ": write -X security.protocol=PLAINTEXT"),
        ("ssl.ca", "ca.pem", ": write -X ssl.ca.location=FILE"),
        ("ssl_cafile", "ca.pem", ": write -X ssl.ca.location=FILE"),
        ("tls.cert", "c.pem", ": write -X ssl.certificate.location=FILE"),
        ("tls_client_key_path", "k.pem", ": write -X ssl.key.location=FILE"),
        ("insecure", "true", ": write -X enable.ssl.certificate.verification=false"),
        ("ssl_check_hostname", "false", ": write -X ssl.endpoint.identification.algorithm=none"),
        ("sasl.user", "me", ": write -X sasl.username=NAME"),
        ("sasl_plain_username", "me", ": write -X sasl.username=NAME"),
        ("password", "hunter2", ": write -X sasl.password=…"),
        ("sasl.pass", "hunter2", ": write -X sasl.password=…"),
        ("sasl", "PLAIN", ": write -X sasl.mechanism=PLAIN"),
        ("token", "abc", ": write -X sasl.oauthbearer.token=…"),
        ("sasl.pasword", "hunter2", ' (did you mean "sasl.password"?)'),
        ("security_protocol", "SSL", ' (did you mean "security.protocol"?)'),
        ("securityProtocol", "SSL", ' (did you mean "security.protocol"?)'),
        ("security.protcol", "SSL", ' (did you mean "security.protocol"?)'),
        ("sasl.mechansim", "PLAIN", ' (did you mean "sasl.mechanism"?)'),
        ("spring.kafka.security.protocol", "SSL", ' (did you mean "security.protocol"?)'),
        ("scurity.potocol", "SSL", ' (did you mean "security.protocol"?)'),
    ],
)
def test_one_of_security_stops_the_command(name: str, value: str, rest: str) -> None:
    done = kw("call", "Metadata", "-b", "localhost:1", "-X", f"{name}={value}")
    assert (done.code, done.out) == (Exit.USAGE, "")
    assert done.err == f"kw: unknown property {name} (-X){rest}\n"


NOT_SHOWN: Final = [
    ("ssl.zzz.frobnicate.what.now", "ssl.zzz.{redacted 10}.{redacted 4}.now"),
    ("sasl.password-hunter2secret", "sasl.password-{redacted 13}"),
    ("sasl.password_Hunter2Secret", "sasl.password_{redacted 7}Secret"),
    ("sasl.passwordhunter2secret", "sasl.{redacted 21}"),
    ("password.hunter2secret", "password.{redacted 13}"),
    ("hunter2.secret", "{redacted 7}.secret"),
    ("hunter2.pasword", "{redacted 7}.pasword"),
    ("ssl.key.password.hunter2", "ssl.key.password.{redacted 7}"),
    ("correct.horse.battery.staple", "{redacted 28}"),
    ("hunter", "{redacted 6}"),
    ("spring.kafka.acme", "spring.kafka.{redacted 4}"),
]


@pytest.mark.parametrize(("name", "said"), NOT_SHOWN, ids=[name for name, _ in NOT_SHOWN])
def test_words_that_no_property_has_are_not_shown(name: str, said: str, tmp_path: Path) -> None:
    """A password may have got into the name: `sasl.password-hunter2=x`, or a line that begins with it."""
    file = tmp_path / "client.conf"
    file.write_text(f"\n{name}=x1y2\n")
    done = kw("call", "Metadata", "--dry-run", "-F", str(file), "-v")
    assert f"unknown property {said} (-F {file}:2)" in done.err
    assert (name in done.err + done.out, "x1y2" in done.err + done.out) == (False, False)
    asked = kw("call", "Metadata", "--dry-run", "-X", f"{name}=x1y2")
    assert f"unknown property {said} (-X)" in asked.err
    assert name not in asked.err


def test_what_follows_a_stray_quotation_mark_in_a_login_is_not_shown() -> None:
    login = (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="hun"ter2secret="x";'
    )
    words = ("-X", "security.protocol=SASL_PLAINTEXT", "-X", f"sasl.jaas.config={login}")
    done = kw("call", "Metadata", "--dry-run", *words)
    assert "{redacted 10} in sasl.jaas.config (-X) is not followed" in done.err
    assert "ter2secret" not in done.err + done.out


USER: Final = "ada:hunter2secret@"


@pytest.mark.parametrize(
    "words",
    [
        ("call", "Metadata", "-b", f"{USER}kafka:9092"),
        ("call", "Metadata", "-b", f"localhost:1,SASL_SSL://{USER}kafka:9092"),
        ("call", "Metadata", "-b", f"{USER}kafka:port"),
        ("call", "Metadata", "-b", f"{USER}[::1"),
        ("call", "Metadata", "--dial-map", f"a:1={USER}kafka:9092"),
        ("call", "Metadata", "-X", f"bootstrap.servers={USER}kafka:9092"),
        ("proxy", "-b", f"{USER}kafka:9092"),
        ("sniff", f"https://{USER}kafka/orders.pcap"),
        ("sniff", "none.pcap", "--otlp", f"htp://{USER}kafka"),
        ("pipeline", "run", f"s3://{USER}bucket/orders.pcap", "--out", "out"),
        ("pipeline", "run", f"xyz://{USER}bucket/orders.pcap", "--out", "out"),
        ("pipeline", "report", f"s3://{USER}bucket/tables"),
        ("stats", f"postgres://{USER}host/x"),
    ],
    ids=" ".join,
)
def test_the_user_of_an_address_is_not_shown(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = kw(*words)
    assert done.code in (Exit.USAGE, Exit.FAILURE)
    assert "hunter2" not in done.err + done.out
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("foo", ""),
        ("brokers", ": write -X bootstrap.servers=HOST:PORT"),
        ("boostrap.servers", ' (did you mean "bootstrap.servers"?)'),
        ("bootstrap_servers", ' (did you mean "bootstrap.servers"?)'),
        ("client_id", ' (did you mean "client.id"?)'),
        ("linger", ' (did you mean "linger.ms"?)'),
    ],
)
def test_another_one_is_told(name: str, rest: str) -> None:
    config = build_client_config(world(), ConnectionOptions(properties=[(name, "x:1")]))
    assert config.warnings == (f"unknown property {name} (-X){rest}",)


@pytest.mark.parametrize("command", [("call", "Metadata"), ("call", "Metadata", "--dry-run"), ("proxy", "--check")])
def test_every_command_that_connects_stops(command: tuple[str, ...]) -> None:
    done = kw(*command, "-b", "localhost:1", "-X", "tls=true")
    assert (done.code, done.out, done.err) == (Exit.USAGE, "", f"kw: unknown property tls (-X){TLS}\n")


@pytest.mark.parametrize("word", ["tls", "ssl", "insecure", "sasl"])
def test_a_word_without_a_value(word: str) -> None:
    done = kw("call", "Metadata", "-X", word)
    assert done.code == Exit.USAGE
    assert done.err.startswith(f"kw: invalid value for '-X' / '--property': {word!r} is no key=value: write -X ")


def test_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("# c\nbootstrap.servers=a:1\n\nfoo=\\\n  1\nbar: 2\n")
    config = build_client_config(world(), ConnectionOptions(config_files=[str(file)]))
    assert config.warnings == (f"unknown property foo (-F {file}:4)", f"unknown property bar (-F {file}:6)")
    file.write_text("bootstrap.servers=a:1\nsasl.username=me\ntls.enabled=true\n")  # a file in librdkafka's format
    with pytest.raises(Failure) as caught:
        build_client_config(world(), ConnectionOptions(config_files=[str(file)]))
    assert caught.value.text.startswith(f"unknown property tls.enabled (-F {file}:3): write security.protocol=SSL")
    file.write_text("bootstrap.servers=a:1\nsecurity.protocol=SSL3\n")
    with pytest.raises(Failure) as caught:
        build_client_config(world(), ConnectionOptions(config_files=[str(file)]))
    assert caught.value.text.startswith(f"security.protocol (-F {file}:2) is 'SSL3': write one of PLAINTEXT, ")


def test_a_profile_is_told_with_its_line(tmp_path: Path) -> None:
    path = Profiles(tmp_path / "kw").write("p", [("bootstrap.servers", "a:1"), ("foo", "1")], comment="made by a test")
    env = world(variables={"XDG_CONFIG_HOME": str(tmp_path)})
    assert build_client_config(env, ConnectionOptions(profile="p")).warnings == (
        f"unknown property foo (--profile p, {path}:3)",
    )
    Profiles(tmp_path / "kw").set_active("p")
    assert build_client_config(env, ConnectionOptions()).warnings == (
        f"unknown property foo (active profile p, {path}:3)",
    )
    Profiles(tmp_path / "kw").write("p", [("sasl.pasword", "hunter2")])
    done = kw("call", "Metadata", env=world(variables={"XDG_CONFIG_HOME": str(tmp_path)}))
    assert (done.code, "hunter2" in done.err) == (Exit.USAGE, False)
    assert f"unknown property sasl.pasword (active profile p, {path}:1)" in done.err


def test_a_variable_of_security_stops_the_command() -> None:
    env = world(variables={"KW_SASL_PASWORD": "hunter2"})
    done = kw("call", "Metadata", env=env)
    assert done.code == Exit.USAGE
    assert done.err == 'kw: unknown variable KW_SASL_PASWORD (did you mean "KW_SASL_PASSWORD"?)\n'


def test_an_import_of_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("bootstrap.servers=a:1\nsasl.pasword=hunter2\n")
    done = kw("profile", "import", "p", str(file), env=world(variables={"XDG_CONFIG_HOME": str(tmp_path)}))
    assert done.code == Exit.USAGE
    assert done.err == f'kw: unknown property sasl.pasword ({file}:2) (did you mean "sasl.password"?)\n'
    assert Profiles(tmp_path / "kw").list_names() == []


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("security.protocol", "SSL")], True),
        ([("security.protocol", "SASL_SSL"), ("sasl.oauthbearer.token", "abc")], True),
        ([("security.protocol", "PLAINTEXT")], False),
        ([("security.protocol", "SSL"), ("enable.ssl.certificate.verification", "false")], False),
    ],
)
def test_an_empty_host_name_check_is_said_where_it_is_used(pairs: list[tuple[str, str]], told: bool) -> None:
    config = build_client_config(
        world(), ConnectionOptions(properties=[*pairs, ("ssl.endpoint.identification.algorithm", "")])
    )
    line = "ssl.endpoint.identification.algorithm (-X) is empty, so brokers' host names are not checked"
    assert [warning.startswith(line) for warning in config.warnings] == [True] * told


@pytest.mark.parametrize("value", ["https", "none", "HTTPS"])
def test_a_host_name_check_that_is_said_needs_no_words(value: str) -> None:
    pairs = [("security.protocol", "SSL"), ("ssl.endpoint.identification.algorithm", value)]
    assert build_client_config(world(), ConnectionOptions(properties=pairs)).warnings == ()


@pytest.mark.parametrize("command", [("call", "Metadata"), ("proxy", "--check"), ("call", "Metadata", "--dry-run")])
def test_every_command_says_that_the_check_is_empty(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("security.protocol=SSL\nssl.endpoint.identification.algorithm=\n")
    done = kw(*command, "-b", "localhost:1", "-F", str(file))
    assert f"kw: warning: ssl.endpoint.identification.algorithm (-F {file}:2) is empty, so " in done.err
    own = world(variables={"XDG_CONFIG_HOME": str(tmp_path)})
    assert f"algorithm ({file}:2) is empty, so " in kw("profile", "import", "p", str(file), env=own).err


def test_an_empty_protocol_is_said() -> None:
    warnings = build_client_config(world(), ConnectionOptions(properties=[("security.protocol", "")])).warnings
    assert warnings == ("security.protocol (-X) is empty: kw speaks PLAINTEXT",)


def test_what_brokers_and_other_programs_read_stops_nothing() -> None:
    names = (
        *("ssl.client.auth", "sasl.enabled.mechanisms", "listener.name.x.sasl.jaas.config", "admin.ssl.ca", "acks"),
        *("listeners.https.ssl.keystore.location", "zookeeper.ssl.client.enable"),
    )
    config = build_client_config(world(), ConnectionOptions(properties=[(name, "x") for name in names]))
    assert config.warnings == ()
    assert len(config.remarks) == len(names)


@pytest.mark.long
def test_what_is_proposed_is_known() -> None:
    known = {name for row in PROPERTIES for name in row.names}
    assert {meant.partition("=")[0] for meant in _MEANT.values()} <= known
    for row in PROPERTIES:
        security = row.meaning not in ("servers", "controllers", "client id", "connect timeout", "timeout")
        if row.name.startswith(("ssl.", "sasl.", "security.", "enable.s", "https.")):
            assert security
            assert is_property_about_security(f"{row.name}x", "1"), row.name
            assert propose_property(f"{row.name}x", "1")
