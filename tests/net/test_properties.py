"""The table of properties against the clients' own lists, and against its own rules."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import confluent_kafka
import pytest

from kwcli.net.config import client_properties
from kwcli.net.config.jaas_logins import JaasError, JaasLogin, parse_jaas
from tests.broker.fixture import needs_brokers
from tests.broker.jars import client_jars


def librdkafka() -> set[str]:
    """The properties in librdkafka's own list that the table has too."""
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    (library,) = folder.glob("librdkafka*")
    client, system = ctypes.CDLL(str(library)), ctypes.CDLL(None)
    system.tmpfile.restype = ctypes.c_void_p
    file = ctypes.c_void_p(system.tmpfile())
    client.rd_kafka_conf_properties_show(file)
    system.rewind(file)
    lines = []
    line = ctypes.create_string_buffer(65536)
    system.fgets.restype = ctypes.c_void_p
    while system.fgets(line, len(line), file):
        lines.append(line.value.decode())
    system.fclose(file)
    names = {line.split("|")[0].strip() for line in lines if "|" in line}
    return {name for name in names if re.fullmatch(r"[a-z0-9._]+", name)}


def unheard_of(names: set[str]) -> set[str]:
    return {name for name in names if name not in client_properties.list_known_property_names()}


def test_everything_that_librdkafka_knows_is_known() -> None:
    names = librdkafka()
    assert len(names) > 180
    assert unheard_of(names) == set()


@needs_brokers
@pytest.mark.oracle
@pytest.mark.long
@pytest.mark.parametrize("release", ["2.8.2", "4.4.0"])
def test_everything_that_the_java_client_knows_is_known(release: str) -> None:
    path = ":".join(map(str, client_jars(release)))
    program = Path(__file__).parent / "ConfigNames.java"
    done = subprocess.run(["java", "-cp", path, str(program)], capture_output=True, text=True, check=True)
    names = set(done.stdout.split())
    assert len(names) > 90
    assert unheard_of(names) == set()


def test_the_table_says_one_thing_of_each_name() -> None:
    told = [*client_properties.BY_NAME, *client_properties.UNSUPPORTED, *client_properties.IRRELEVANT]
    assert len(told) == len(set(told))
    names = [(row.meaning, name) for row in client_properties.PROPERTIES for name in {*row.librdkafka, *row.java}]
    assert len({name for _, name in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("sasl.password", True),
        ("sasl.jaas.config", True),
        ("ssl.key.pem", True),
        ("ssl.keystore.key", True),
        ("sasl.oauthbearer.client.secret", True),
        ("sasl.oauthbearer.assertion.private.key.passphrase", True),
        ("schema.registry.basic.auth.user.info", True),
        ("my.own.password", True),
        ("sasl.username", False),
        ("ssl.key.location", False),
        ("ssl.ca.pem", False),
        ("bootstrap.servers", False),
    ],
)
def test_what_is_a_secret(name: str, secret: bool) -> None:
    assert client_properties.is_secret_property(name) is secret


@pytest.mark.parametrize(
    ("text", "login"),
    [
        ("a.b.PlainLoginModule required;", JaasLogin("PlainLoginModule", {})),
        ("PlainLoginModule REQUIRED username=me ;", JaasLogin("PlainLoginModule", {"username": "me"})),
        (
            'a.M required\n  username="a b" // a comment\n  password="x;\\"y\\\\" /* more\n */ k=\'it"s\' ;',
            JaasLogin("M", {"username": "a b", "password": 'x;"y\\', "k": 'it"s'}),
        ),
        ('KafkaClient {\n a.M required\n k="v";\n};', JaasLogin("M", {"k": "v"})),
        ('a.M required k = "v" ; a.N optional x="y";', JaasLogin("M", {"k": "v"})),
        (
            'a.M required ssl.truststore.location="/t" storeKey=true;',
            JaasLogin("M", {"ssl.truststore.location": "/t", "storeKey": "true"}),
        ),
    ],
)
def test_login_configurations(text: str, login: JaasLogin) -> None:
    assert parse_jaas(text) == login


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "it must begin with the class of a login module"),
        ("=;", "it must begin with the class of a login module"),
        ("a.PlainLoginModule", "PlainLoginModule must be followed by `required`"),
        ('a.PlainLoginModule username="x";', "PlainLoginModule must be followed by `required`"),
        ("hunter2", "its first word must be followed by `required`"),
        ('a.M required password="a b" hunter2;', 'an option must be followed by ="its value"'),
        ('a.M required username="x"', "it must end with a semicolon; "),
        ("a.M required username;", 'the option username must be followed by ="its value"'),
        ("a.M required username=;", 'the option username must be followed by ="its value"'),
        ('a.M required username="hunter2;', "a quotation mark has no partner"),
        ("a.M required password='hunter2;", "a quotation mark has no partner"),
        ('a.M required password="a" "b";', "it must end with a semicolon; "),
    ],
)
def test_what_is_no_login_configuration(text: str, line: str) -> None:
    with pytest.raises(JaasError) as caught:
        parse_jaas(text)
    assert str(caught.value).startswith(line)
    assert "hunter2" not in str(caught.value)
