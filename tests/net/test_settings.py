"""Flags, files and variables become a ClientConfig: precedence, refusals, messages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kwcli.net.config.build_config import build_client_config
from kwcli.net.config.client_config import ClientConfig, ConnectionOptions, KeyStoreFile, OAuthSettings, SaslSettings
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import world

JAAS = "org.apache.kafka.common.security"
SCRAM_JAAS = f'{JAAS}.scram.ScramLoginModule required username="alice" password="a\\"b;c";'


def config(variables: Mapping[str, str] | None = None, /, **told: Any) -> ClientConfig:
    return build_client_config(world(variables=variables), ConnectionOptions(**told))


def of(*pairs: tuple[str, str], **told: Any) -> ClientConfig:
    return config(properties=pairs, **told)


def test_nothing_said_is_the_local_broker_in_plain_text() -> None:
    assert config() == ClientConfig(servers=(("localhost", 9092),))


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("a:1", (("a", 1),)),
        ("a, b:2,", (("a", 9092), ("b", 2))),
        ("[::1]:5,::1", (("::1", 5), ("::1", 9092))),
        ("SSL://a:1,SSL://b:1", (("a", 1), ("b", 1))),
        ("a:1/", (("a", 1),)),
    ],
)
def test_servers(text: str, servers: tuple[tuple[str, int], ...]) -> None:
    assert config(servers=text).servers == servers


@pytest.mark.parametrize("name", ["BOOTSTRAP_SERVERS", "KAFKA_BOOTSTRAP_SERVERS"])
def test_variables_of_other_programs_are_told_of_where_no_server_is_given(name: str) -> None:
    warnings = config({name: "a:1"}).warnings
    assert warnings == (f"{name} is not read: KW_BOOTSTRAP_SERVER or -b says where the cluster is",)
    assert config({name: "a:1"}, servers="b:1").warnings == ()


@pytest.mark.parametrize("text", ["", "a:", "a:0", "a:65536", "a:x", "[::1:9", ":9092", "a b:1", "http://a/:1"])
def test_what_is_no_server_is_refused(text: str) -> None:
    with pytest.raises(Failure) as caught:
        config(servers=text)
    assert caught.value.code == Exit.USAGE
    assert caught.value.text.startswith("-b: ")


def test_the_highest_place_wins_name_by_name(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=file:1\nclient.id=file\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.jaas.config={SCRAM_JAAS.replace(chr(92), chr(92) * 2)}\nssl.truststore.location=/old.jks\n"
        "ssl.truststore.password=changeit\n"
    )
    variables = {"KW_BOOTSTRAP_SERVER": "variable:1", "KW_CLIENT_ID": "variable", "KW_SASL_MECHANISM": "PLAIN"}
    given = [("sasl.username", "bob"), ("ssl.ca.pem", "PEM")]
    got = config(variables, config_files=[str(file)], properties=given)
    assert (got.servers, got.origin, got.client_id) == ((("file", 1),), f"-F {file}", "file")
    assert got.sasl == SaslSettings("SCRAM-SHA-256", username="bob", password='a"b;c')
    assert got.tls is not None
    assert got.tls.authorities == KeyStoreFile(pem="PEM", password="changeit")
    assert config(variables).origin == "KW_BOOTSTRAP_SERVER"
    assert config(variables, servers="flag:1", client_id="flag").client_id == "flag"
    assert config(variables, servers="flag:1").origin == "-b"


def test_the_last_file_wins() -> None:
    assert of(("client.id", "a"), ("client.id", "b")).client_id == "b"


@pytest.mark.parametrize(
    ("pairs", "sasl"),
    [
        (
            [("sasl.mechanisms", "plain"), ("sasl.username", "u"), ("sasl.password", "p")],
            SaslSettings("PLAIN", "u", "p"),
        ),
        (
            [("sasl.jaas.config", f"{JAAS}.plain.PlainLoginModule required username=u password='p;';")],
            SaslSettings("PLAIN", "u", "p;"),
        ),
        (
            [
                ("sasl.mechanism", "SCRAM-SHA-512"),
                (
                    "sasl.jaas.config",
                    f'{JAAS}.scram.ScramLoginModule required username="id" password="mac" tokenauth="true";',
                ),
            ],
            SaslSettings("SCRAM-SHA-512", "id", "mac", token_auth=True),
        ),
        (
            [
                ("sasl.mechanism", "OAUTHBEARER"),
                ("sasl.oauthbearer.token.endpoint.url", "https://id/token"),
                (
                    "sasl.jaas.config",
                    f'{JAAS}.oauthbearer.OAuthBearerLoginModule required clientId="c" clientSecret="s" scope="x y" '
                    'extension_logicalCluster="lkc-1";',
                ),
            ],
            SaslSettings(
                "OAUTHBEARER",
                oauth=OAuthSettings(
                    endpoint="https://id/token",
                    client_id="c",
                    client_secret="s",
                    scope="x y",
                    extensions={"logicalCluster": "lkc-1"},
                ),
            ),
        ),
        (
            [
                ("sasl.mechanisms", "OAUTHBEARER"),
                ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
                ("sasl.oauthbearer.config", "principal=alice scope=a,b extension_k=v"),
            ],
            SaslSettings(
                "OAUTHBEARER", oauth=OAuthSettings(claims={"sub": "alice", "scope": ["a", "b"]}, extensions={"k": "v"})
            ),
        ),
        (
            [
                (
                    "sasl.jaas.config",
                    f'{JAAS}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice" '
                    'unsecuredLoginNumberClaim_n="3" unsecuredLoginListClaim_l=",a,b";',
                )
            ],
            SaslSettings("OAUTHBEARER", oauth=OAuthSettings(claims={"sub": "alice", "n": 3.0, "l": ["a", "b"]})),
        ),
        ([("sasl.oauthbearer.token", "abc")], SaslSettings("OAUTHBEARER", oauth=OAuthSettings(token="abc"))),
        (
            [
                (
                    "sasl.jaas.config",
                    'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="/k" '
                    'principal="alice@KW.TEST";',
                ),
                ("sasl.kerberos.service.name", "broker"),
            ],
            SaslSettings("GSSAPI", service="broker", principal="alice@KW.TEST", keytab="/k"),
        ),
    ],
)
def test_logins_in_both_spellings(pairs: list[tuple[str, str]], sasl: SaslSettings) -> None:
    got = of(("security.protocol", "sasl_plaintext"), *pairs)
    assert got.sasl == sasl
    assert got.warnings == ()


@pytest.mark.parametrize(
    ("pairs", "line"),
    [
        ([("security.protocol", "TLS")], "security.protocol (-X) is 'TLS': write one of PLAINTEXT, SSL, "),
        ([("security.protocol", "SASL_SSL"), ("sasl.username", "u")], "sasl.mechanism is missing: "),
        (
            [("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAINN")],
            "sasl.mechanism (-X) is 'PLAINN': kw knows ",
        ),
        ([("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN")], "PLAIN needs sasl.username: "),
        ([("security.protocol", "SASL_SSL"), ("sasl.mechanism", "OAUTHBEARER")], "OAUTHBEARER needs a token: "),
        (
            [("sasl.jaas.config", "x.PlainLoginModule required password=hunter2")],
            "sasl.jaas.config (-X) cannot be read: it ",
        ),
        (
            [("sasl.jaas.config", 'x.PlainLoginModule password="hunter2";')],
            "sasl.jaas.config (-X) cannot be read: Plain",
        ),
        ([("security.protocol", "SSL"), ("ssl.key.location", "k")], "ssl.key.location (-X) needs a certificate: "),
        ([("security.protocol", "SSL"), ("ssl.enabled.protocols", "TLSv1")], "ssl.enabled.protocols (-X) is 'TLSv1': "),
        (
            [("security.protocol", "SSL"), ("enable.ssl.certificate.verification", "maybe")],
            "enable.ssl.certificate.verification (-X) is 'maybe': write true or false",
        ),
        (
            [
                ("security.protocol", "SASL_SSL"),
                ("sasl.oauthbearer.token", "t"),
                ("sasl.oauthbearer.method", "azure"),
            ],
            "sasl.oauthbearer.method (-X) is 'azure': kw knows default and oidc",
        ),
        ([("default.api.timeout.ms", "soon")], "default.api.timeout.ms (-X) is 'soon': write a number of milliseconds"),
    ],
)
def test_settings_that_make_no_sense_are_usage_errors(pairs: list[tuple[str, str]], line: str) -> None:
    with pytest.raises(Failure) as caught:
        of(*pairs)
    assert caught.value.code == Exit.USAGE
    assert caught.value.text.startswith(line)
    assert "hunter2" not in caught.value.text


def test_what_tls_cannot_follow_is_told() -> None:
    got = of(
        ("security.protocol", "SSL"),
        ("ssl.enabled.protocols", "TLSv1.3,TLSv1.1"),
        ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_GCM_SHA256"),
    )
    assert got.tls is not None
    assert (got.tls.minimum, got.tls.maximum) == ("TLSv1.3", "TLSv1.3")
    assert got.remarks[1:] == (
        "ssl.enabled.protocols (-X): kw speaks TLSv1.3 of these",
        "ssl.cipher.suites (-X): it chooses suites of TLS 1.2 only; those of TLS 1.3 are all on",
    )


def test_host_name_check_and_verification() -> None:
    def tls(*pairs: tuple[str, str]) -> tuple[bool, bool]:
        got = of(("security.protocol", "SSL"), *pairs).tls
        assert got is not None
        return got.verify, got.check_hostname

    assert tls() == (True, True)
    assert tls(("ssl.endpoint.identification.algorithm", "HTTPS")) == (True, True)
    assert tls(("ssl.endpoint.identification.algorithm", "")) == (True, False)
    assert tls(("ssl.endpoint.identification.algorithm", "none")) == (True, False)
    assert tls(("enable.ssl.certificate.verification", "false")) == (False, False)


def test_librdkafka_may_ask_for_the_systems_authorities() -> None:
    got = of(("security.protocol", "SSL"), ("ssl.ca.location", "probe"))
    assert got.tls is not None
    assert got.tls.authorities is None


def test_no_property_is_dropped_in_silence() -> None:
    got = of(("boostrap.servers", "a"), ("acks", "all"), ("ssl.crl.location", "x"), ("topic.foo", "1"))
    assert got.warnings == (
        'unknown property boostrap.servers (-X) (did you mean "bootstrap.servers"?)',
        "ssl.crl.location (-X) is not followed: kw does not read revocation lists",
    )
    assert got.remarks == ("acks (-X) has no meaning for kw", "topic.foo (-X) has no meaning for kw")


def test_it_can_be_told_who_says_how_to_speak() -> None:
    variables = {"KW_SECURITY_PROTOCOL": "SASL_SSL", "KW_SASL_USERNAME": "u", "KW_SASL_PASSWORD": "p"}
    got = config(variables, properties=[("sasl.mechanism", "PLAIN")], servers="a:1")
    assert got.remarks == ("security.protocol SASL_SSL (from KW_SECURITY_PROTOCOL)", "sasl.mechanism PLAIN (from -X)")


def test_settings_without_their_protocol_are_told() -> None:
    line = (
        "sasl.username (-X) is not used: security.protocol is PLAINTEXT; set it by -X security.protocol=SASL_SSL, or "
    )
    forgotten = of(("sasl.username", "u"))
    assert forgotten.warnings == (f"{line}SASL_PLAINTEXT",)
    meant = of(("sasl.username", "u"), ("security.protocol", "plaintext"))
    assert meant.warnings == ()
    assert meant.remarks == ("security.protocol plaintext (from -X)", f"{line}SASL_PLAINTEXT")


@pytest.mark.parametrize(
    ("servers", "stated", "protocol"),
    [
        ("SSL://a:1,SSL://b:1", None, "SSL"),
        ("SSL://a:1", "PLAINTEXT", "SSL"),
        ("EXTERNAL://a:1", None, "PLAINTEXT"),
        ("SSL://a:1,PLAINTEXT://b:1", None, "PLAINTEXT"),
    ],
)
def test_a_protocol_before_a_server(servers: str, stated: str | None, protocol: str) -> None:
    stating = [("security.protocol", stated)] if stated else []
    assert of(*stating, servers=servers).protocol == protocol
    assert of(*stating, ("bootstrap.servers", servers)).protocol == (stated or protocol)


def test_no_secret_is_in_a_repr() -> None:
    pairs = [
        ("security.protocol", "SASL_SSL"),
        ("sasl.username", "u"),
        ("sasl.password", "hidden1"),
        ("sasl.mechanism", "PLAIN"),
        ("ssl.keystore.location", "x"),
        ("ssl.keystore.password", "hidden2"),
        ("ssl.key.password", "hidden3"),
        ("ssl.truststore.certificates", "hidden4"),
    ]
    assert "hidden" not in repr(of(*pairs))


def test_times_and_dial_maps() -> None:
    variables = {"KW_TIMEOUT": "500ms", "KW_DIAL_MAP": "a:1=b:2,c:1=d:2"}
    got = config(variables, connect_timeout_s=1.5, dial_map=[(("a", 1), ("x", 9))])
    assert (got.timeout_s, got.connect_timeout_s) == (0.5, 1.5)
    assert got.dial_map == {("a", 1): ("x", 9), ("c", 1): ("d", 2)}
    assert of(("socket.connection.setup.timeout.ms", "250")).connect_timeout_s == 0.25
    for bad in ({"KW_TIMEOUT": "soon"}, {"KW_TIMEOUT": "0"}, {"KW_DIAL_MAP": "a:1"}, {"KW_DIAL_MAP": "a=b:1"}):
        with pytest.raises(Failure):
            config(bad)
